"""The best tree of each size in a graph of candidate trees, and its path."""

from __future__ import annotations

from functools import cached_property
from math import frexp

import numpy as np
from numpy.typing import NDArray

import treebound.pruning._dp as _dp
from treebound._utils.arrays import Floats
from treebound.data.weights import heaviest
from treebound.growing.graph import CandidateGraph
from treebound.pruning.costs import Costs
from treebound.pruning.optimal import CurvePath
from treebound.pruning.scores import Objective
from treebound.tree.model import Tree

# Of trees with equal errors the one whose leaves have the least entropy is taken: bits for it.
_TIE_BITS = 22
# A path has trees of up to so many leaves, or so many times those of the chosen one.
FEW_SIZES, TIMES = 64, 2
# Bits for fractional losses.
_LOSS_BITS = 38


class BestOfGraph:
    """For each number of leaves, the tree of a graph with the least loss.

    On ties, the one with the least entropy of the classes in its leaves, then the one of the first
    candidates. Each curve is the pointwise minimum over the candidates of a node, so the result is
    exact: no tree of the graph with as many leaves has a smaller loss.
    """

    def __init__(self, graph: CandidateGraph, costs: Costs) -> None:
        self.graph = graph
        masses = graph.counts if graph.factors is None else graph.counts * graph.factors
        total = np.einsum("ij->i", masses)
        if costs.chosen:
            self.label = costs.labels(graph.counts)
            losses = costs.of_counts(graph.counts, self.label)
        else:
            weighted = graph.weighted or graph.factors is not None
            label = heaviest(masses) if weighted else graph.counts.argmax(axis=1)
            self.label = graph.ordered_labels(np.asarray(label, dtype=np.int32))
            losses = total - masses[np.arange(graph.n_nodes), self.label]
        self._losses = np.maximum(losses, 0.0)
        self.packed = self._packed(masses, total)
        self._plan = _dp.best_of_graph(graph.first, graph.left, graph.right, self.packed, 1 << 20)

    @property
    def n_leaves(self) -> int:
        """Leaves of the largest tree."""
        return len(self._plan.best) - 1

    @cached_property
    def _curve(self) -> Floats:
        return self.losses(self._plan.best[1:])

    def integers(self, packed: NDArray[np.int64]) -> NDArray[np.int64]:
        """The losses in packed numbers as integers: the losses times a scale."""
        return packed >> _TIE_BITS

    def losses(self, packed: NDArray[np.int64]) -> Floats:
        """The losses in packed numbers, without what breaks ties."""
        return np.asarray(self.integers(packed) / self.scale)

    def errors(self, cap: int | None = None) -> Floats:
        """Least loss with 1, 2, ..., ``cap`` leaves (by default, every size)."""
        return self._curve[:cap]

    def pruned(self, leaves: int) -> Tree:
        """The best tree with that many leaves."""
        return self.graph.tree(self._plan.tree(leaves), self.label)

    def _packed(self, masses: Floats, total: Floats) -> NDArray[np.int64]:
        """Losses in the high bits, the entropy of the classes in the low ones."""
        losses, top = self._losses, float(self._losses[-1])
        self.scale = 1.0
        if not bool((losses == np.floor(losses)).all()) or top >= 2.0**_LOSS_BITS:
            self.scale = 2.0 ** (_LOSS_BITS - max(frexp(top)[1], -900))
        nats = _nats(masses, total, not self.graph.weighted and self.graph.factors is None)
        unit = (2.0**_TIE_BITS - 1.0) / max(float(nats[-1]), 1e-300)
        ties = np.minimum(np.floor(nats * unit), 2.0**_TIE_BITS - 1.0)
        return (np.rint(losses * self.scale).astype(np.int64) << _TIE_BITS) + ties.astype(np.int64)


def _nats(masses: Floats, total: Floats, whole: bool) -> Floats:
    """Entropy of the classes at each node, times its mass."""
    from scipy.special import xlogy

    if whole:  # of few numbers
        terms = xlogy(np.arange(total[-1] + 1.0), np.arange(total[-1] + 1.0))
        of_total, of_masses = terms[total.astype(np.int64)], terms[masses.astype(np.int64)]
    else:
        of_total, of_masses = xlogy(total, total), xlogy(masses, masses)
    nats = of_total - np.einsum("ij->i", of_masses)
    return np.asarray(np.maximum(nats, 0.0), dtype=np.float64)


def best_on_curve(errors: Floats, objective: Objective, weights: Floats) -> NDArray[np.int64]:
    """The leaves of the tree with the lowest score, for each weight of the tree term."""
    return np.asarray(objective.at_weights(errors, weights).argmin(axis=1), dtype=np.int64) + 1


class SearchedPath(CurvePath):
    """The best tree of each size, from the largest down to a single leaf.

    Neighbouring trees may differ at the root: they are not prunings of one tree.
    """

    searched = True

    def __init__(
        self, sizes: BestOfGraph, objective: Objective, *, chosen: int, largest: int
    ) -> None:
        super().__init__(sizes, objective, sizes.pruned(largest), largest, chosen=chosen)

    @classmethod
    def around(cls, sizes: BestOfGraph, objective: Objective, size: int) -> SearchedPath:
        """The path that chooses a size; much larger trees are omitted."""
        largest = min(sizes.n_leaves, max(FEW_SIZES, TIMES * size))
        return cls(sizes, objective, chosen=largest - size, largest=largest)

    def cuts(self, step: int) -> None:
        """None: the trees are not prunings of the first one."""
        return

    def _tree(self, step: int) -> Tree:
        return self._sizes.pruned(len(self) - step)
