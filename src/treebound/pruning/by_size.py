"""The best pruning of every size: which subtrees to collapse for the least errors."""

from __future__ import annotations

from functools import cached_property
from math import frexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

import treebound.pruning._dp as _dp
from treebound.pruning.path import NestedPath, weakest_link_steps
from treebound.tree._structure import add_up
from treebound.tree.model import Tree

Floats = NDArray[np.float64]
# Fractional errors are rounded to their sum divided by 2 to this power: coarser than their
# rounding errors, finer than any score can resolve.
_BITS = 48


class BestBySize:
    """For each number of leaves, the pruning of a tree with the fewest errors.

    On ties, the one that collapses the shallower nodes (least total depth of the new leaves).
    Computed on demand, up to the requested size, in O(L^2) time at most.
    """

    def __init__(self, tree: Tree, errors: Floats) -> None:
        self.tree = tree
        self.node_errors = np.ascontiguousarray(errors, dtype=np.float64)
        self._cap = 0
        self._plan: Any = None

    def errors(self, cap: int | None = None) -> Floats:
        """Fewest errors with 1, 2, ..., ``cap`` leaves (by default, every size)."""
        cap = self.tree.n_leaves if cap is None else min(cap, self.tree.n_leaves)
        self._solve(cap)
        return np.asarray((self._plan.best[1 : cap + 1] >> self._shift) / self._scale)

    def cuts(self, leaves: int) -> NDArray[np.intp]:
        """The nodes to collapse for that many leaves."""
        if leaves > self._cap:
            step = np.flatnonzero(self._hull.leaves == leaves)
            if len(step):  # a corner has one best pruning only
                return self._hull.cuts(int(step[0]))
        self._solve(leaves)
        return np.flatnonzero(self._plan.cuts(leaves))

    def pruned(self, leaves: int) -> Tree:
        """The best pruning with that many leaves."""
        return self.tree.collapsed(self.cuts(leaves))

    def hull(self) -> tuple[NDArray[np.int64], Floats]:
        """Leaves and errors at the corners of the convex hull of the curve, in O(L log L).

        The weakest-link path; no pruning lies below the line through its points.
        """
        return self._hull.leaves[::-1], self._hull.errors[::-1]

    @cached_property
    def _hull(self) -> NestedPath:
        return weakest_link_steps(self.tree, self.node_errors)[0]

    def _solve(self, cap: int) -> None:
        if self._plan is None or cap > self._cap:
            tree, leaves = self.tree, (self.tree.size + 1) // 2  # of a binary tree
            self._plan = _dp.best_prunings(tree.left, tree.right, leaves, self._packed(), cap)
            self._cap = cap

    def _packed(self) -> NDArray[np.int64]:
        """Errors in the high bits, the depth of a collapsed inner node in the low ones."""
        tree, errors = self.tree, self.node_errors
        depth = np.where(tree.is_leaf, 0, tree.node_depth).astype(np.int64)
        room = 61 - int(errors.sum()).bit_length()
        self._shift = int(depth.sum()).bit_length()
        if self._shift > room:  # more than 10^15 examples: ignore the depth
            self._shift, depth = 0, np.zeros_like(depth)
        if bool((errors == np.floor(errors)).all()):
            self._scale = 2.0 ** min(room, 0)
            counted = np.rint(errors * self._scale)
        else:
            size = max(frexp(float(errors.sum()))[1], -900)
            self._scale = 2.0 ** (min(61 - self._shift, _BITS) - size)
            counted = self._additive(errors * self._scale)
        return (counted.astype(np.int64) << self._shift) + depth

    def _additive(self, errors: Floats) -> Floats:
        """Integers for fractional errors: round the errors of leaves and the gains of splits.

        Prunings with the same gain then have the same sum. With errors rounded node by node,
        rounding would decide ties.
        """
        tree = self.tree
        inner = ~tree.is_leaf
        below = errors[tree.left[inner]] + errors[tree.right[inner]]
        parts = errors.copy()
        parts[inner] -= below
        whole = np.rint(parts)[:, None]
        add_up(tree.left, tree.right, whole)
        return np.maximum(whole[:, 0], 0.0)

    def __getstate__(self) -> dict[str, Any]:
        # The plan is large for a deep tree and quick to recompute.
        state = {**self.__dict__, "_plan": None, "_cap": 0}
        state.pop("_hull", None)
        return state
