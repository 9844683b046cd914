"""Candidates of the bound pruner: the best tree of each size, from one tree or from a graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Codes, Floats, Ints
from treebound.data import Sample
from treebound.growing.graph import CandidateGraph
from treebound.pruning.base import PruningResult
from treebound.pruning.costs import Costs, probable_labels
from treebound.pruning.optimal import best_by_size, best_sizes, optimal
from treebound.pruning.scores import Objective
from treebound.pruning.searched import BestOfGraph, SearchedPath, best_on_curve
from treebound.pruning.validation import PrunedSums, losses_on
from treebound.pruning.weight import Measured
from treebound.tree.base import standing_nodes
from treebound.tree.model import Tree
from treebound.tree.node_sums import NodeSums
from treebound.tree.smoothing import SHRINKAGE

Predict = Callable[[int], Codes]


class Candidates(Protocol):
    """The best tree of each number of leaves."""

    @property
    def m(self) -> int:
        """Effective number of rows, rounded."""
        ...

    def best_sizes(self, objective: Objective, weights: Floats) -> Ints:
        """Return the leaves of the tree with the lowest score, for each weight of the tree term."""
        ...

    def best(self, objective: Objective) -> PruningResult:
        """Return the tree with the lowest score, and its path."""
        ...

    def reached(self, rows: Sample) -> Codes | None:
        """Return the node that each row reaches; None if the trees are not prunings of one tree."""
        ...

    def measure(
        self, leaves: Ints, rows: Sample | NodeSums, reached: Codes | None = None
    ) -> Measured:
        """Return the losses of the trees of some sizes on other rows, which reach some nodes."""
        ...

    def errors(self, cap: int) -> Floats:
        """Return the least loss with 1, 2, ..., ``cap`` leaves."""
        ...

    def predict(
        self, rows: Sample, strength: float | None = None, reached: Codes | None = None
    ) -> Predict:
        """Return a function of the number of leaves: classes that the tree of that size predicts.

        A strength of shrinkage above the usual one makes its labels the most probable classes.
        """
        ...


class Prunings:
    """The prunings of one tree, whose labels are those of least cost.

    For log-loss, ``shares(tree)`` are the probabilities of its nodes with each smoothing that is
    tried.
    """

    def __init__(
        self,
        tree: Tree,
        costs: Costs,
        score: str | Callable[..., Any] = "code-length",
        shares: Callable[[Tree], list[Floats]] | None = None,
    ) -> None:
        self.tree, self.costs, self.shares = tree, costs, shares
        self.sizes = best_by_size(tree, costs, score)

    @property
    def m(self) -> int:
        return max(1, round(float(self.tree.counts[0] @ self.costs.worst)))

    def best_sizes(self, objective: Objective, weights: Floats) -> Ints:
        return best_sizes(self.sizes, objective, weights)

    def best(self, objective: Objective) -> PruningResult:
        return optimal(self.sizes, objective)

    def reached(self, rows: Sample) -> Codes:
        return self.tree.apply(rows.X)

    def measure(
        self, leaves: Ints, rows: Sample | NodeSums, reached: Codes | None = None
    ) -> Measured:
        sums = rows if isinstance(rows, NodeSums) else NodeSums.of(self.tree, rows, reached)
        losses, unit = [self.costs.by_class(self.tree)], self.costs.unit
        if self.shares is not None:
            unit = self.costs.worst
            losses = [-np.log(shares) * unit for shares in self.shares(self.tree)]
        cuts = {size: self.sizes.cuts(size) for size in set(leaves.tolist())}
        moments = np.array([self._moments(leaves, cuts, sums, loss, losses[0]) for loss in losses])
        return Measured(moments, sums.total, float(sums.weights[0] @ unit))

    def errors(self, cap: int) -> Floats:
        return self.sizes.errors(cap)

    def predict(
        self, rows: Sample, strength: float | None = None, reached: Codes | None = None
    ) -> Predict:
        label = self.tree.label
        if strength is not None and strength > SHRINKAGE:
            label = probable_labels(self.tree, strength, self.costs)
        return partial(self._predicted, self.reached(rows) if reached is None else reached, label)

    def _predicted(self, nodes: Codes, label: Codes, leaves: int) -> Codes:
        """The classes of rows that reach some nodes, with the tree of that many leaves."""
        cuts = self.sizes.cuts(self.sizes.quick_size(min(leaves, self.tree.n_leaves)))
        return label.take(standing_nodes(self.tree, cuts)).take(nodes)

    def _moments(
        self,
        leaves: Ints,
        cuts: dict[int, NDArray[np.intp]],
        rows: NodeSums,
        loss: Floats,
        first: Floats,
    ) -> Floats:
        """Sums of one loss of the tree of each size, and of a single leaf."""
        moments, staying = losses_on(self.tree, rows, loss, first)
        sums = PrunedSums(self.tree, moments, staying)
        at_size = {size: sums(cut) for size, cut in cuts.items()}
        return np.array([*(at_size[size] for size in leaves.tolist()), moments[0]])


class GraphTrees:
    """The trees of a graph of candidate splits."""

    def __init__(self, graph: CandidateGraph, costs: Costs) -> None:
        self.graph, self.costs = graph, costs
        self.sizes = BestOfGraph(graph, costs)

    @property
    def m(self) -> int:
        return max(1, round(float(self.graph.counts[-1] @ self.costs.worst)))

    def best_sizes(self, objective: Objective, weights: Floats) -> Ints:
        return best_on_curve(self.sizes.errors(), objective, weights)

    def best(self, objective: Objective) -> PruningResult:
        size = int(np.argmin(objective.by_leaves(self.sizes.errors()))) + 1
        path = SearchedPath.around(self.sizes, objective, size)
        return PruningResult(self.sizes.pruned(size), path, float(path.scores[path.chosen]), 0.0)

    def reached(self, rows: Sample) -> None:
        return None

    def measure(
        self, leaves: Ints, rows: Sample | NodeSums, reached: Codes | None = None
    ) -> Measured:
        assert isinstance(rows, Sample)
        at_size = {size: self._moments(size, rows) for size in {1, *leaves.tolist()}}
        moments = np.array([[*(at_size[size] for size in leaves.tolist()), at_size[1]]])
        mass = NodeSums.of(self.sizes.pruned(1), rows).weights[0] @ self.costs.unit
        return Measured(moments, float(rows.weights.sum()), float(mass))

    def errors(self, cap: int) -> Floats:
        return self.sizes.errors(cap)

    def predict(
        self, rows: Sample, strength: float | None = None, reached: Codes | None = None
    ) -> Predict:
        return partial(self._predicted, rows)

    def _predicted(self, rows: Sample, leaves: int) -> Codes:
        tree = self.sizes.pruned(min(leaves, self.sizes.n_leaves))
        return tree.label[tree.apply(rows.X)]

    def _moments(self, size: int, rows: Sample) -> Floats:
        """Sums of the losses of the tree of one size."""
        tree = self.sizes.pruned(size)
        loss = self.costs.by_class(tree)
        of_nodes, staying = losses_on(tree, NodeSums.of(tree, rows), loss, loss)
        total: Floats = of_nodes[tree.is_leaf].sum(axis=0) + staying[~tree.is_leaf].sum(axis=0)
        return total
