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

from treebound.bounds import _node_sums
from treebound.bounds._node import alone, chain_counts, node_budgets, sum_over_sizes
from treebound.bounds._scaled import TWO, Scaled
from treebound.bounds.splits import (
    Features,
    distinct_features,
    feature_split_table,
    shares,
    with_categories,
)
from treebound.shapes import TreeShape, children

FloatArray = NDArray[np.float64]
# Raises a sum of counts above its rounding errors.
_ABOVE = 1 + 1e-12


class CategoricalTests(NamedTuple):
    """The tests of one kind of categorical feature at a node."""

    kind: str
    categories: int
    times: int
    """How many such features there are."""
    sides: list[tuple[Features, Features]]
    """What the two parts of a split can have left of the landscape."""


@lru_cache(maxsize=1 << 14)
def merged(features: Features) -> Features:
    """Two categories make the same tests whether ordered or not: one name for both."""
    nominal = tuple(n for n in features.nominal if n > 2)
    twos = len(features.nominal) - len(nominal)
    return Features(features.real, features.ordinal + (2,) * twos, nominal)


@lru_cache(maxsize=1 << 14)
def tests_of(features: Features, refine: int) -> list[CategoricalTests]:
    """The categorical tests of a node; features of over ``refine`` categories keep them all."""
    tests = []
    for kind, at, times in distinct_features(features):
        categories = getattr(features, kind)[at]
        sides = [(features, features)]
        if categories <= refine:
            left = {x: merged(with_categories(features, kind, at, x)) for x in range(1, categories)}
            sides = [(left[x], left[y]) for x, y in shares(kind, categories)]
        tests.append(CategoricalTests(kind, categories, times, sides))
    return tests


class Node:
    """One node with its two children."""

    def __init__(
        self,
        shape: TreeShape,
        landscapes: list[Features],
        refine: int,
        growth_of: Callable[[TreeShape, Features], Scaled],
        cap: Scaled,
    ) -> None:
        self.shape = shape
        self.equal = shape.left is shape.right
        self.landscapes = landscapes
        self.tests = [
            (row, test)
            for row, features in enumerate(landscapes)
            for test in tests_of(features, refine)
        ]
        self.cap = cap
        self.size = len(cap) - 1
        self.real = landscapes[0].real
        self.is_real = landscapes[0].is_real
        sides = [side for _, test in self.tests for pair in test.sides for side in pair]
        self.index = {side: at for at, side in enumerate(dict.fromkeys([*landscapes, *sides]))}
        # The children on every landscape of the index; the first rows are those of the node.
        left, right = children(shape)
        self.sides = (
            Scaled.stack([growth_of(left, side) for side in self.index]),
            Scaled.stack([growth_of(right, side) for side in self.index]),
        )
        self.left: Scaled = self.sides[0][: len(landscapes)]
        self.right: Scaled = self.sides[1][: len(landscapes)]
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
            growth[:, few] = self.cap[few]
            return growth
        growth[:, 1:2] = TWO
        if not self.real:
            for row, features in enumerate(self.landscapes):
                # No more than this many examples differ; the others repeat them.
                most = min(self.size, prod(features.ordinal + features.nominal))
                growth[row, most:] = growth[row, most : most + 1]
        return growth

    def by_chains(self) -> Scaled:
        """The chain lemma for real features; for the others at most their splits."""
        if self.real:
            total = self._chains(self.real)
        elif self.equal:  # a one-sided root test leaves everything to one child
            total = self.left
        else:
            total = (self.left + self.right).minus(2.0)
        if self.splits is not None:
            # Constant labellings are counted above.
            own = self.splits.every * self.half
            at = self.splits.ordinal
            if len(at):
                chains = self._chains(1)[self.splits.owner[at]] * self.splits.times[at]
                own[at] = own[at].least(chains)
            total += own.sums(self.splits.starts)
        return self._whole((total * _ABOVE).least(self.cap))

    def _chains(self, thresholds: int) -> Scaled:
        return Scaled.stack(
            [
                chain_counts(
                    self.left[row], self.right[row], self.equal, 2, thresholds, 1, self.size
                )
                for row in range(len(self.landscapes))
            ]
        )

    def _whole(self, counts: Scaled) -> Scaled:
        """A class has as many labellings as opposite ones: an even number."""
        few = slice(1, min(53, self.size + 1))
        by = np.clip(counts.power[:, few] - 1, -1100, 60).astype(np.int32)
        counts[:, few] = Scaled.of(2.0 * np.floor(np.ldexp(counts.mantissa[:, few], by)))
        return counts

    def _by_size(self) -> Scaled:
        """Splits by part size within the node's budget."""
        first = self.shape.leaves + 1 if self.is_real else 2
        sums = [
            sum_over_sizes(
                self.shape, self.sides, row, features, 2.0, first, self.size, not self.is_real
            )
            for row, features in enumerate(self.landscapes)
        ]
        every, inner = (Scaled.stack(kind) for kind in zip(*sums, strict=True))
        growth = self._with_one_sided(every, inner)
        growth[:, :first] = self.cap[:first]
        return growth

    def _with_one_sided(self, every: Scaled, inner: Scaled) -> Scaled:
        """From the weights of splits; without real features a one-sided test may replace one."""
        if not self.real:
            every = every.most(inner + alone(self.left, self.right, 2.0, self.size + 1))
        return every * self.half + TWO

    def _total(self) -> Scaled:
        """``2 B(m)`` splits, each as heavy as the heaviest."""
        m = np.arange(self.size + 1)
        of_left = of_right = m - 1
        if self.is_real:
            left, right = children(self.shape)
            splits = 2.0 * self.real * (m - self.shape.leaves + 1)[None, :]
            of_left, of_right = m - right.leaves, m - left.leaves
        else:
            splits = 2.0 * np.array([node_budgets(some, self.size) for some in self.landscapes])
        splits = np.maximum(splits, 0.0) * self.half
        joint = self.left[:, np.maximum(of_left, 1)] * self.right[:, np.maximum(of_right, 1)]
        growth: Scaled = joint.minus(2.0) * splits + TWO
        return growth

    def _by_feature(self, splits: _Splits) -> Scaled:
        """Each feature within its own budget, subtrees with the categories left to them."""
        every, inner = splits.every.sums(splits.starts), splits.inner.sums(splits.starts)
        if self.real:
            every += self._splits_of_real_features()
        return self._with_one_sided(every, inner)

    def _splits_of_real_features(self) -> Scaled:
        """What the splits of the real features weigh."""
        rooms = feature_split_table("ordinal", self.size + 1, self.size)
        every = Scaled.zeros(len(self.landscapes), self.size + 1)
        for row in range(len(self.landscapes)):
            self._fill([[row, row]], rooms, every[row], Scaled.zeros(0))
        return every * float(self.real)

    def _categorical_splits(self) -> _Splits:
        """What the splits of each kind of categorical feature weigh, both directions."""
        every = Scaled.zeros(len(self.tests), self.size + 1)
        inner = Scaled.zeros(len(self.tests), 0 if self.real else self.size + 1)
        for at, (_, test) in enumerate(self.tests):
            rooms = feature_split_table(test.kind, test.categories, self.size)
            ways = [[self.index[side] for side in pair] for pair in test.sides]
            self._fill(ways, rooms, every[at], inner[at])
        owner = np.array([row for row, _ in self.tests])
        times = np.array([[float(test.times)] for _, test in self.tests])
        return _Splits(
            owner,
            np.searchsorted(owner, np.arange(len(self.landscapes))),
            times,
            np.flatnonzero([test.kind == "ordinal" for _, test in self.tests]),
            every * times,
            inner * times,
        )

    def _fill(
        self,
        ways: list[list[int]],
        rooms: tuple[FloatArray, FloatArray],
        every: Scaled,
        inner: Scaled,
    ) -> None:
        sides = (*self.sides[0].arrays, *self.sides[1].arrays, np.array(ways, dtype=np.int32))
        _node_sums.by_size(*sides, *rooms, 2.0, 1, 1, *every.arrays, *inner.arrays, 2)


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
