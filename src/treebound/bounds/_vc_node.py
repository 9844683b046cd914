"""The forms of a growth function for two classes at one node, on several landscapes at once.

Numbers below 2**53 are exact; larger ones are never rounded below their formula. Arrays have a row
for each landscape and a column for each sample size.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound.bounds import _convolve
from treebound.bounds._chain_sum import chain_counts
from treebound.bounds._recursion import Features, children
from treebound.bounds._scaled import Scaled, alone
from treebound.bounds.splits import feature_split_table, node_budget_table, node_split_table
from treebound.shapes import TreeShape

FloatArray = NDArray[np.float64]
# Raises a sum of counts above its rounding errors.
_ABOVE = 1 + 1e-12
# Tables of splits up to this sample size are kept.
_SMALL = 128
_TWO = Scaled.constant(2.0, 1)


class CategoricalTests(NamedTuple):
    """The tests of one kind of categorical feature at a node."""

    kind: str
    categories: int
    times: int
    """How many such features there are."""
    sides: list[tuple[Features, Features]]
    """What the two parts of a split can have left of the landscape."""


class Node:
    """One node with its two children."""

    def __init__(
        self,
        shape: TreeShape,
        landscapes: list[Features],
        tests: list[list[CategoricalTests]],
        growth_of: Callable[[TreeShape, Features], Scaled],
        cap: Scaled,
    ) -> None:
        self.shape = shape
        self.children = children(shape)
        self.equal = shape.left is shape.right
        self.landscapes = landscapes
        self.tests = tests
        self.cap = cap
        self.size = len(cap.power) - 1
        self.real = landscapes[0].real
        self.is_real = landscapes[0].is_real
        sides = [side for row in tests for one in row for pair in one.sides for side in pair]
        self.index = {one: at for at, one in enumerate(dict.fromkeys([*landscapes, *sides]))}
        # The children on every landscape of the index; the first rows are those of the node.
        self.left, self.right = (
            Scaled.stack([growth_of(child, one) for one in self.index]) for child in self.children
        )
        self.half = 0.5 if self.equal else 1.0
        self.splits = None if self.is_real else self._categorical_splits()

    def by_partitions(self) -> Scaled:
        """The least of the partition theorems."""
        growth = self._by_size().least(self._total())
        if self.splits is not None:
            growth = growth.least(self._by_feature(self.splits))
        growth = growth.raised(4.0 * np.arange(self.size + 1) + 64.0).least(self.cap)
        if self.splits is None:
            # Below its leaves a tree on a real feature does everything.
            few = slice(1, self.shape.leaves + 1)
            growth.put(few, self.cap.at(np.arange(self.size + 1)[few]))
            return growth
        growth.mantissa[:, 1], growth.power[:, 1] = 0.5, 2
        if not self.real:
            for row, features in enumerate(self.landscapes):
                # No more than this many examples differ; the others repeat them.
                most = min(self.size, prod(features.ordinal + features.nominal))
                growth.mantissa[row, most:] = growth.mantissa[row, most]
                growth.power[row, most:] = growth.power[row, most]
        return growth

    def by_chains(self) -> Scaled:
        """The chain lemma for real features; for the others at most their splits."""
        rows = np.arange(len(self.landscapes))
        if self.real:
            total = self._chains(self.real)
        elif self.equal:  # a one-sided root test leaves everything to one child
            total = self.left.row(rows)
        else:
            total = self.left.row(rows).plus(self.right.row(rows)).minus(2.0)
        if self.splits is not None:
            # Constant labellings are counted above.
            own = self.splits.every.times(self.half)
            at = self.splits.ordinal
            if len(at):
                chains = self._chains(1).row(self.splits.owner[at]).times(self.splits.times[at])
                own.mantissa[at], own.power[at] = own.row(at).least(chains)
            total = total.plus(own.sums(self.splits.starts))
        return self._whole(total.times(_ABOVE).least(self.cap))

    def _chains(self, thresholds: int) -> Scaled:
        return Scaled.stack(
            [
                chain_counts(
                    self.left.row(row), self.right.row(row), self.equal, 2, thresholds, 1, self.size
                )
                for row in range(len(self.landscapes))
            ]
        )

    def _whole(self, counts: Scaled) -> Scaled:
        """A class has as many labellings as opposite ones: an even number."""
        few = slice(1, min(53, self.size + 1))
        by = np.clip(counts.power[:, few] - 1, -1100, 60).astype(np.int32)
        counts.put(few, Scaled.of(2.0 * np.floor(np.ldexp(counts.mantissa[:, few], by))))
        return counts

    def _by_size(self) -> Scaled:
        """Splits by part size within the node's budget."""
        left, right = self.children
        first = self.shape.leaves + 1 if self.is_real else 2
        if first > self.size:
            return Scaled.stack([self.cap] * len(self.landscapes))
        least = (left.leaves, right.leaves) if self.is_real else (1, 1)
        every = Scaled.zeros(len(self.landscapes), self.size + 1)
        inner = Scaled.zeros(len(self.landscapes), 0 if self.real else self.size + 1)
        for row, features in enumerate(self.landscapes):
            same = np.array([row], dtype=np.int32)
            rooms = _rooms(features, first, self.size)
            self._fill(same, same, rooms, every.row(row), inner.row(row), least, first)
        if not self.real:
            every = every.most(inner.plus(self._alone()))
        growth = every.times(self.half).plus(_TWO)
        growth.put(slice(first), self.cap.at(np.arange(first)))
        return growth

    def _alone(self) -> Scaled:
        rows = np.arange(len(self.landscapes))
        return alone(self.left.row(rows), self.right.row(rows), 2.0, self.size + 1)

    def _total(self) -> Scaled:
        """``2 B(m)`` splits, each as heavy as the heaviest."""
        m = np.arange(self.size + 1)
        of_left = of_right = m - 1
        if self.is_real:
            left, right = self.children
            splits = 2.0 * self.real * (m - self.shape.leaves + 1)[None, :]
            of_left, of_right = m - right.leaves, m - left.leaves
        else:
            splits = 2.0 * np.array([_budgets(features, self.size) for features in self.landscapes])
        rows = np.arange(len(self.landscapes))
        joint = self.left.row(rows).at(np.maximum(of_left, 1))
        joint = joint.times(self.right.row(rows).at(np.maximum(of_right, 1))).minus(2.0)
        return joint.times(np.maximum(splits, 0.0) * self.half).plus(_TWO)

    def _by_feature(self, splits: _Splits) -> Scaled:
        """Each feature within its own budget, subtrees with the categories left to them."""
        every = splits.every.sums(splits.starts)
        if self.real:
            every = every.plus(self._splits_of_real_features())
        else:
            every = every.most(splits.inner.sums(splits.starts).plus(self._alone()))
        return every.times(self.half).plus(_TWO)

    def _splits_of_real_features(self) -> Scaled:
        """What the splits of the real features weigh."""
        rooms = feature_split_table("ordinal", self.size + 1, self.size)
        every = Scaled.zeros(len(self.landscapes), self.size + 1)
        nothing = Scaled.zeros(0)
        for row in range(len(self.landscapes)):
            same = np.array([row], dtype=np.int32)
            self._fill(same, same, rooms, every.row(row), nothing)
        return every.times(float(self.real))

    def _categorical_splits(self) -> _Splits:
        """What the splits of each kind of categorical feature weigh, both directions."""
        kinds = [(row, test) for row, tests in enumerate(self.tests) for test in tests]
        every = Scaled.zeros(len(kinds), self.size + 1)
        # Without a real feature, a one-sided test may replace a split that isolates one example.
        inner = Scaled.zeros(len(kinds), 0 if self.real else self.size + 1)
        for at, (_, test) in enumerate(kinds):
            rooms = feature_split_table(test.kind, test.categories, self.size)
            small, large = (
                np.array([self.index[pair[side]] for pair in test.sides], dtype=np.int32)
                for side in (0, 1)
            )
            self._fill(small, large, rooms, every.row(at), inner.row(at))
        owner = np.array([row for row, _ in kinds])
        times = np.array([[float(test.times)] for _, test in kinds])
        return _Splits(
            owner,
            np.searchsorted(owner, np.arange(len(self.landscapes))),
            times,
            np.flatnonzero([test.kind == "ordinal" for _, test in kinds]),
            every.times(times),
            inner.times(times),
        )

    def _fill(
        self,
        small: NDArray[np.int32],
        large: NDArray[np.int32],
        rooms: tuple[FloatArray, FloatArray],
        every: Scaled,
        inner: Scaled,
        least: tuple[int, int] = (1, 1),
        first: int = 2,
    ) -> None:
        sides = (*self.left, *self.right, small, large)
        _convolve.by_size(*sides, *rooms, 2.0, *least, *every, *inner, first)


class _Splits(NamedTuple):
    """Splits of categorical features, a row for each kind of feature of each landscape."""

    owner: NDArray[np.int64]
    """The landscape."""
    starts: NDArray[np.int64]
    """The first row of every landscape."""
    times: FloatArray
    """How many such features there are."""
    ordinal: NDArray[np.int64]
    """The rows of ordinal features."""
    every: Scaled
    """What all splits of these features weigh."""
    inner: Scaled
    """The same without splits that isolate one example; empty with real features."""


def _rooms(features: Features, first: int, size: int) -> tuple[FloatArray, FloatArray]:
    """Splits by size and in all, for sample sizes from ``first``."""
    table = _small_table if size <= _SMALL else node_split_table
    return table(features, first, size), _budgets(features, size)[first:]


@lru_cache(maxsize=1 << 12)
def _small_table(features: Features, first: int, size: int) -> FloatArray:
    return node_split_table(features, first, size)


@lru_cache(maxsize=1 << 12)
def _budgets(features: Features, size: int) -> FloatArray:
    """``B(m)`` by sample size."""
    return node_budget_table(features, np.arange(size + 1))
