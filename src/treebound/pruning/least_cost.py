"""Prunings that minimise a sum of costs of leaves and inner nodes, in one bottom-up pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import treebound.pruning._dp as _dp
from treebound.pruning.base import Found
from treebound.pruning.by_size import BestBySize
from treebound.pruning.path import NEVER, NestedPath, PruningPath
from treebound.tree.model import Tree

__all__ = ["least_cost"]

Floats = NDArray[np.float64]


class LeastCostPath(NestedPath):
    """A path of collapses whose score is a sum over leaves and inner nodes."""

    def set_costs(self, as_leaf: Floats, as_node: Floats, *, chosen: int) -> None:
        """Set the costs of each node, and the chosen step."""
        self._costs = as_leaf, as_node
        self.set_scores(self.along(as_leaf) + self.along_inner(as_node), chosen=chosen)

    def _extended(self, leaves: int) -> PruningPath:
        """The path with one more step: the least cost with at most ``leaves`` leaves."""
        as_leaf, as_node = self._costs
        tree = self.first
        inside = np.where(tree.is_leaf, 0.0, as_node)[:, None]
        _dp.add_up(tree.left, tree.right, inside)
        # Charge for all inner nodes; a leaf gets back the cost of those below it.
        cost = as_leaf - inside[:, 0]
        lift = max(0.0, -float(cost.min()))  # the same for each leaf
        sizes = BestBySize(tree, cost + lift)
        scores = sizes.errors(leaves) - lift * np.arange(1, leaves + 1) + inside[0, 0]
        size = int(np.argmin(scores)) + 1
        return self._with_step(sizes.cuts(size), float(scores[size - 1]))


def least_cost(
    tree: Tree,
    as_leaf: Floats,
    *,
    as_node: Floats | None = None,
    errors: Floats | None = None,
    slack: float = 0.0,
    unit: str = "errors",
) -> Found:
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
    path = LeastCostPath(tree, when, tree.node_losses if errors is None else errors, unit=unit)
    path.set_costs(leaf_cost, inside, chosen=len(nodes))
    return Found(path.tree(), path, path.scores[-1], gap=0.0 if slack == 0.0 else np.nan)
