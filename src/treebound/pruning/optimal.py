"""Exact search: the best pruning of each number of leaves, and over all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from math import frexp
from typing import Any, Generic, Protocol

import numpy as np
from numpy.typing import NDArray

import treebound.pruning._dp as _dp
from treebound._utils._pool import each
from treebound._utils.arrays import Floats, Ints
from treebound.pruning.base import PruningResult
from treebound.pruning.costs import Costs
from treebound.pruning.path import (
    NestedPath,
    PathTree,
    PruningPath,
    count,
    number,
    signed,
    weakest_link_steps,
)
from treebound.pruning.scores import Objective, leaf_code
from treebound.tree._structure import add_up
from treebound.tree.model import Tree

# Fractional errors are rounded to their sum divided by 2 to this power: coarser than their
# rounding errors, finer than any score can resolve.
_BITS = 48

# Below this size the whole curve is cheaper than finding out how much of it is needed.
SMALL = 256


class BestBySize(Generic[PathTree]):
    """For each number of leaves, the pruning of a tree with the fewest errors.

    On ties, the one that collapses the shallower nodes (least total depth of the new leaves).
    Computed on demand, up to the requested size, in O(L^2) time at most.
    """

    def __init__(self, tree: PathTree, errors: Floats) -> None:
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
            step = self._corner_steps.get(leaves)
            if step is not None:
                return self._hull.cuts(step)
        self._solve(leaves)
        cuts: NDArray[np.intp] = self._plan.cuts(leaves).nonzero()[0]
        return cuts

    def pruned(self, leaves: int) -> PathTree:
        """The best pruning with that many leaves."""
        return self.tree.collapsed(self.cuts(leaves))

    @cached_property
    def _corners(self) -> NDArray[np.bool_]:
        """Which steps of the weakest-link path are corners, with one best pruning only.

        Steps between two corners, on the line through them, may have several. Rounding errors make
        a corner of fractional errors at most a step that is solved for.
        """
        leaves, errors = self._hull.leaves.astype(np.float64), self._hull.errors
        slopes = np.diff(errors) / -np.diff(leaves)  # errors for each leaf less
        corners = np.ones(len(leaves), dtype=bool)
        corners[1:-1] = slopes[1:] > slopes[:-1] * (1 + 1e-9)
        return corners

    @cached_property
    def _corner_steps(self) -> dict[int, int]:
        """The step of each corner, by its leaves."""
        steps = np.flatnonzero(self._corners)
        return dict(zip(self._hull.leaves[steps].tolist(), steps.tolist(), strict=True))

    @cached_property
    def counted(self) -> bool:
        """True if errors are whole numbers, whose sums are exact."""
        return bool((self.node_errors == np.floor(self.node_errors)).all())

    def quick_size(self, leaves: int) -> int:
        """The largest number of leaves up to this one whose pruning is quick to compute.

        All small ones are, and the corners of the curve, which are close to each other.
        """
        if leaves <= max(SMALL, self._cap):
            return leaves
        corners = self._hull.leaves[self._corners]
        return int(corners[corners <= leaves].max())

    def hull(self) -> tuple[NDArray[np.int64], Floats]:
        """Leaves and errors at the corners of the convex hull of the curve, in O(L log L).

        The weakest-link path; no pruning is below the line through its points.
        """
        return self._hull.leaves[::-1], self._hull.errors[::-1]

    @cached_property
    def _hull(self) -> NestedPath[PathTree]:
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
        if self.counted:
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
        return {"tree": self.tree, "node_errors": self.node_errors, "_plan": None, "_cap": 0}


def best_by_size(tree: Tree, costs: Costs, score: str | Callable[..., Any]) -> BestBySize:
    """The best prunings by the loss of a score: the cost of errors, or the code of the leaves."""
    if score == "log-loss":
        return BestBySize(tree, leaf_code(tree.counts * costs.worst))
    return BestBySize(tree, costs.losses(tree))


def optimal(sizes: BestBySize, objective: Objective) -> PruningResult:
    """The pruning with the lowest score, if the score depends only on leaves and errors."""
    whole = sizes.tree.n_leaves
    if objective.score == "tail-inversion":
        size, score = _minimum_by_halves(sizes, objective)
    elif whole > SMALL and (corner := _best_corner(sizes, objective)) is not None:
        size, score = corner
    else:
        cap = whole if whole <= SMALL else _largest_size(sizes, objective)
        scores = objective.by_leaves(sizes.errors(cap))
        size = int(np.argmin(scores)) + 1  # on ties the first, with the fewest leaves
        score = float(scores[size - 1])
    path = OptimalPath(sizes, objective, chosen=whole - size)
    gap = 0.0 if objective.monotone else np.nan
    return PruningResult(sizes.pruned(size), path, score, gap)


def best_sizes(sizes: BestBySize, objective: Objective, weights: Floats) -> Ints:
    """The leaves of the pruning with the lowest score, for each weight of the tree term.

    If the hull of the error curve shows that its lowest corner is the best of all, the curve
    between the corners is not needed.
    """
    whole = sizes.tree.n_leaves
    if whole <= SMALL:
        return _first_least(objective.at_weights(sizes.errors(), weights)) + 1
    leaves = np.arange(1, whole + 1)
    corners, errors = sizes.hull()
    labels, tree = objective.terms(np.interp(leaves, corners, errors))

    def compared(weight: float) -> tuple[Floats, float]:
        """The scores at the corners, and the least one between them."""
        lower = labels + weight * tree
        at_corners = lower[corners - 1]
        lower[corners - 1] = np.inf
        return at_corners, float(lower.min())

    at_each, between = zip(*each(compared, weights.tolist()), strict=True)
    at_corners = np.array(at_each)
    reached = at_corners.min(axis=1)
    slack = 1e-9 * (1.0 + np.abs(reached))  # for rounding errors of the hull
    settled = np.array(between) > reached + slack  # as nothing between the corners is lower
    settled &= _rising(objective, errors)
    best = corners[_first_least(at_corners)]
    if not settled.all():
        open_weights = weights[~settled]
        cap = _largest_size(sizes, replace(objective, weight=float(open_weights.min())))
        scores = objective.at_weights(sizes.errors(cap), open_weights)
        best[~settled] = _first_least(scores) + 1
    return best


def _best_corner(sizes: BestBySize, objective: Objective) -> tuple[int, float] | None:
    """The size and score of the lowest corner of the error curve's hull, if nothing is lower.

    Then the curve between the corners, O(L^2), is not needed. Fractional errors are rounded
    differently there, so that scores would not be equal to the last bit.
    """
    corners, errors = sizes.hull()
    if not sizes.counted or not _rising(objective, errors):
        return None
    leaves = np.arange(1, sizes.tree.n_leaves + 1)
    lower = objective.by_leaves(np.interp(leaves, corners, errors))
    scores = lower[corners - 1]
    at = int(np.argmin(scores))  # on ties the first, with the fewest leaves
    lower[corners - 1] = np.inf
    slack = 1e-9 * (1.0 + abs(scores[at]))  # for rounding errors of the hull
    if lower.min() <= scores[at] + slack:
        return None
    return int(corners[at]), float(scores[at])


def _first_least(scores: Floats) -> Ints:
    """The place of the lowest score in each row; on ties the first."""
    return np.asarray(scores.argmin(axis=1), dtype=np.int64)


def _largest_size(sizes: BestBySize, objective: Objective) -> int:
    """An upper bound on the number of leaves of the best pruning.

    The convex hull of the error curve bounds it from below, takes O(L log L) instead of O(L^2),
    and its corners are prunings themselves.
    """
    whole = sizes.tree.n_leaves
    corners, errors = sizes.hull()
    if not objective.monotone or not _rising(objective, errors):
        return whole
    lower = objective.by_leaves(np.interp(np.arange(1, whole + 1), corners, errors))
    reached = lower[corners - 1].min()
    slack = 1e-9 * (1.0 + abs(reached))  # for rounding errors of the hull
    return int(np.flatnonzero(lower <= reached + slack)[-1]) + 1


def _rising(objective: Objective, errors: Floats) -> bool:
    """Return True if the score rises with the errors; the entropy falls beyond a share."""
    many = float(objective.m) * (objective.n_classes - 1) / max(objective.n_classes, 1)
    return objective.score == "log-loss" or bool(errors.max() <= many)


def _minimum_by_halves(sizes: BestBySize, objective: Objective) -> tuple[int, float]:
    """The lowest score, if scores are expensive to compute (tail inversion).

    In a range of sizes no score is below that of the errors at its upper end with the growth
    function at its lower end; ranges that cannot beat the best known score are skipped.
    """
    errors = sizes.errors()
    leaves = np.arange(1, len(errors) + 1)
    penalty = objective.log_growth_leaves(leaves)
    best, size = np.inf, 0
    ranges = [(1, len(errors))]
    while ranges:
        low, high = ranges.pop()
        least = objective.of_tree(low, errors[high - 1], penalty[low - 1])
        if size and (least, low) >= (best, size):
            continue
        if low == high:
            best, size = least, low
        else:
            middle = (low + high) // 2
            ranges += [(middle + 1, high), (low, middle)]
    return size, best


# -- the path --------------------------------------------------------------------------------------


class Sizes(Protocol):
    """The tree of least loss for each number of leaves."""

    def errors(self, cap: int | None = None) -> Floats:
        """Least loss with 1, 2, ..., ``cap`` leaves."""
        ...

    def pruned(self, leaves: int) -> Tree:
        """The best tree with that many leaves."""
        ...


class CurvePath(PruningPath):
    """The best tree of each size, from the largest down to a single leaf."""

    def __init__(
        self, sizes: Sizes, objective: Objective, first: Tree, largest: int, *, chosen: int
    ) -> None:
        super().__init__(first, chosen=chosen, unit=objective.unit)
        self._sizes, self._objective = sizes, objective
        self.leaves = np.arange(largest, 0, -1)

    @cached_property
    def errors(self) -> Floats:  # type: ignore[override]
        return self._sizes.errors(len(self))[::-1].copy()

    @cached_property
    def scores(self) -> Floats:  # type: ignore[override]
        return self._scores(self.leaves, self.errors)

    def __getstate__(self) -> dict[str, Any]:
        # equal paths have equal pickles, whatever was computed of them
        return {
            name: value for name, value in vars(self).items() if name not in {"errors", "scores"}
        }

    def _scores(self, leaves: Ints, errors: Floats) -> Floats:
        return self._objective(leaves, errors, self._objective.log_growth_leaves(leaves))

    def measured(self, steps: Ints) -> tuple[Floats, Floats]:
        leaves = self.leaves[steps]
        if not len(leaves):
            return np.empty(0), np.empty(0)
        errors = self._sizes.errors(int(leaves.max()))[leaves - 1]
        return errors, self._scores(leaves, errors)

    def explain(self) -> str:
        """Compare the chosen size with the neighbouring ones."""
        at = self.chosen
        near = np.array([step for step in (at, at + 1, at - 1) if 0 <= step < len(self)])
        leaves, (errors, scores) = self.leaves[near], self.measured(near)
        lines = [
            f"{count(leaves[0], 'leaf')} with {self._loss(errors[0])}: "
            f"score {number(scores[0])}, the least over the best trees of 1 to "
            f"{count(min(len(self), self.limit or len(self)), 'leaf')}."
        ]
        # what the other errors would cost at the chosen size
        only_errors = self._scores(np.full(len(near), leaves[0]), errors)
        for size, change, score, halfway in zip(
            leaves[1:], errors[1:] - errors[0], scores[1:], only_errors[1:], strict=True
        ):
            words = f"the same {self.counted}"
            if change:
                words = f"{self._loss(abs(change))} {'more' if change > 0 else 'fewer'} "
                words += _pays(halfway - scores[0])
            lines.append(
                f"{count(size, 'leaf')}: {words}, the tree {_pays(score - halfway)}; "
                f"score {number(score)}, {signed(score - scores[0])}."
            )
        return "\n".join(lines)

    def _loss(self, value: float) -> str:
        return count(value, self.counted.removesuffix("s"))


class OptimalPath(CurvePath):
    """The best pruning of each size of one tree; the prunings need not be nested."""

    def __init__(self, sizes: BestBySize, objective: Objective, *, chosen: int) -> None:
        super().__init__(sizes, objective, sizes.tree, sizes.tree.n_leaves, chosen=chosen)
        self._prunings = sizes

    def cuts(self, step: int) -> NDArray[np.intp]:
        return self._prunings.cuts(len(self) - step)

    def offered_size(self, leaves: int) -> int:
        return super().offered_size(self._prunings.quick_size(min(leaves, len(self))))


def _pays(change: float) -> str:
    return f"costs {number(change)}" if change >= 0 else f"gains {number(-change)}"
