"""Prunings that minimise a sum of costs of leaves and inner nodes, in one bottom-up pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import treebound.pruning._dp as _dp
from treebound.pruning.base import PruningResult
from treebound.pruning.by_size import BestBySize
from treebound.pruning.path import NEVER, NestedPath, PruningPath
from treebound.tree._structure import add_up
from treebound.tree.model import Tree

Floats = NDArray[np.float64]


class LeastCostPath(NestedPath):
    """A path of collapses whose score is a sum over leaves and inner nodes.

    Errors are those of the training rows, or the scores where these count errors on other rows.
    """

    def __init__(
        self, tree: Tree, when: NDArray[Any], as_leaf: Floats, as_node: Floats, **options: Any
    ) -> None:
        super().__init__(tree, when, tree.node_losses, **options)
        self._costs = as_leaf, as_node
        self.scores = self.along(as_leaf) + self.along_inner(as_node)
        self.errors = self.errors if self.unit == "errors" else self.scores

    def _extended(self, leaves: int) -> PruningPath:
        """The path with one more step: the least cost with at most ``leaves`` leaves."""
        as_leaf, as_node = self._costs
        tree = self.first
        inside = np.where(tree.is_leaf, 0.0, as_node)[:, None]
        add_up(tree.left, tree.right, inside)
        # Charge for all inner nodes; a leaf gets back the cost of those below it.
        cost = as_leaf - inside[:, 0]
        lift = max(0.0, -float(cost.min()))  # the same for each leaf
        sizes = BestBySize(tree, cost + lift)
        scores = sizes.errors(leaves) - lift * np.arange(1, leaves + 1) + inside[0, 0]
        size = int(np.argmin(scores)) + 1
        score = float(scores[size - 1])
        return self._with_step(sizes.cuts(size), score, None if self.unit == "errors" else score)


def least_cost(
    tree: Tree,
    as_leaf: Floats,
    *,
    as_node: Floats | None = None,
    slack: float = 0.0,
    unit: str = "errors",
) -> PruningResult:
    """Collapse, bottom-up, each node that costs no more as a leaf than its pruned subtree.

    The steps of the path are the collapses in order. Without ``slack``, which a leaf may cost
    more, the pruning has the least cost of all; on ties, the smallest.
    """
    inside = np.zeros(tree.n_nodes) if as_node is None else as_node
    leaf_cost = np.ascontiguousarray(as_leaf, dtype=np.float64)
    cuts = _dp.least_additive(tree.left, tree.right, leaf_cost, inside, slack)
    nodes = np.flatnonzero(cuts)[::-1]
    when = np.full(tree.n_nodes, NEVER)
    when[nodes] = np.arange(1, len(nodes) + 1)
    path = LeastCostPath(tree, when, leaf_cost, inside, chosen=len(nodes), unit=unit)
    return PruningResult(path.tree(), path, path.scores[-1], gap=0.0 if slack == 0.0 else np.nan)
