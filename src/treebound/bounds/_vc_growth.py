"""Growth functions for two classes of all subtrees of a shape, from the leaves up.

A subtree has a function of the sample size for every landscape that the splits above can leave
it. All these landscapes are computed together: arrays have a row for each landscape and a column
for each sample size. Numbers below 2**53 are exact; larger ones are never rounded below their
formula.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound.bounds import _sums
from treebound.bounds._by_size import alone, chain_sums, node_budgets, sum_over_sizes
from treebound.bounds._scaled import TWO, Scaled
from treebound.bounds.counting import sauer_shelah
from treebound.bounds.partitioning import one_feature_partitions
from treebound.bounds.splits import (
    Features,
    distinct_features,
    feature_split_table,
    shares,
    with_categories,
)
from treebound.bounds.stumps import best_attribution
from treebound.shapes import TreeShape, children

FloatArray = NDArray[np.float64]
# Raises a sum of counts above its rounding errors.
_ABOVE = 1 + 1e-12
_lock = Lock()
# VC dimensions known by exhaustive search over all samples, for every shape of that many leaves on
# that many real features (benchmarks/exhaustive.cpp).
EXACT = {(3, 2): 5, (3, 3): 7, (4, 2): 8, (5, 2): 10}
# Ways to share categories, over all subtrees and landscapes, up to which they are followed down.
_MOST_WAYS = 20_000
# (subtree, landscape) pairs kept for other shapes.
_MOST_KEPT = 10_000
# Numbers in a function of the sample size, over the landscapes computed together.
_TOGETHER = 1 << 15


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
        if not self.is_real:
            self._weigh_categorical_splits()

    def by_partitions(self) -> Scaled:
        """The least of the partition theorems."""
        growth = self._by_size().least(self._total())
        if not self.is_real:
            growth = growth.least(self._by_feature())
        growth = growth.raised(4.0 * np.arange(self.size + 1) + 64.0).least(self.cap)
        if self.is_real:
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
        if not self.is_real:
            # Constant labellings are counted above.
            own = self.every * self.half
            at = np.flatnonzero([test.kind == "ordinal" for _, test in self.tests])
            if len(at):
                chains = self._chains(1)[self.owner[at]] * self.times[at]
                own[at] = own[at].least(chains)
            total += own.sums(self.starts)
        return self._whole((total * _ABOVE).least(self.cap))

    def _chains(self, thresholds: int) -> Scaled:
        none = np.zeros(self.size + 1)
        return Scaled.stack(
            [
                chain_sums(
                    self.left[row], self.right[row], self.equal, 2, thresholds, none, 1, self.size
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

    def _by_feature(self) -> Scaled:
        """Each feature within its own budget, subtrees with the categories left to them."""
        every, inner = self.every.sums(self.starts), self.inner.sums(self.starts)
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

    def _weigh_categorical_splits(self) -> None:
        """What the splits of each kind of categorical feature weigh, both directions."""
        # inner: without splits that isolate one example; empty with real features
        every = Scaled.zeros(len(self.tests), self.size + 1)
        inner = Scaled.zeros(len(self.tests), 0 if self.real else self.size + 1)
        for at, (_, test) in enumerate(self.tests):
            rooms = feature_split_table(test.kind, test.categories, self.size)
            ways = [[self.index[side] for side in pair] for pair in test.sides]
            self._fill(ways, rooms, every[at], inner[at])
        # The landscape of each row, and the first row of each landscape.
        self.owner = np.array([row for row, _ in self.tests])
        self.starts = np.searchsorted(self.owner, np.arange(len(self.landscapes)))
        self.times = np.array([[float(test.times)] for _, test in self.tests])
        self.every, self.inner = every * self.times, inner * self.times

    def _fill(
        self,
        ways: list[list[int]],
        rooms: tuple[FloatArray, FloatArray],
        every: Scaled,
        inner: Scaled,
    ) -> None:
        sides = (*self.sides[0].arrays, *self.sides[1].arrays, np.array(ways, dtype=np.int32))
        _sums.by_size(*sides, *rooms, 2.0, 1, 1, *every.arrays, *inner.arrays, 2)


class Growth:
    """``G`` for two classes of every subtree under every landscape that splitting leaves it."""

    def __init__(self, size: int, refine: int) -> None:
        self.size = size
        self.refine = refine
        self.cap = Scaled.powers(2, size + 1)
        self.two = Scaled.constant(2, size + 1)
        self.values: dict[tuple[TreeShape, Features], Scaled] = {}
        # Where the chain lemma gives the value.
        self.by_chains: dict[tuple[TreeShape, Features], NDArray[np.bool_]] = {}

    def require(self, shape: TreeShape, features: Features) -> bool:
        """Compute a shape and all below it; False, and nothing done, if that is too much."""
        needed = self._needed(shape, features)
        if needed is None:
            return False
        if len(self.values) > _MOST_KEPT:
            self.values.clear()
            self.by_chains.clear()
        for part in shape.subshapes():
            new = [some for some in needed.get(part, ()) if (part, some) not in self.values]
            self._add(part, new)
        return True

    def of(self, shape: TreeShape, features: Features) -> Scaled:
        """The function of one subtree."""
        if shape.is_leaf or features.is_empty:
            return self.two
        return self.values[shape, features]

    def _needed(
        self, shape: TreeShape, features: Features
    ) -> dict[TreeShape, dict[Features, None]] | None:
        """The landscapes that each subtree needs, or None if there are too many."""
        needed: dict[TreeShape, dict[Features, None]] = {shape: {features: None}}
        total = 0
        for part in sorted(shape.subshapes(), key=lambda part: -part.leaves):
            if part.is_leaf:
                continue
            below: dict[Features, None] = {}
            for landscape in needed.get(part, ()):
                if part.leaves == 2:
                    total += len(set(landscape.ordinal + landscape.nominal)) // 2
                    continue
                pairs = [pair for test in tests_of(landscape, self.refine) for pair in test.sides]
                sides = (landscape, *(side for pair in pairs for side in pair))
                below.update((side, None) for side in sides if not side.is_empty)
                total += 1 + len(pairs)
                if total > _MOST_WAYS and self.refine:
                    return None
            if total > _MOST_WAYS and self.refine:
                return None
            for child in children(part):
                if not child.is_leaf:
                    needed.setdefault(child, {}).update(below)
        return needed

    def _add(self, shape: TreeShape, landscapes: list[Features]) -> None:
        """Compute one subtree on new landscapes."""
        together = []
        for features in landscapes:
            if shape.leaves == 2:
                growth = _stump_growth(features, self.size).least(self.cap)
                self.values[shape, features] = growth
            elif features.is_one_threshold:
                self.values[shape, features] = self._one_threshold(shape, features)
            elif features.is_real:
                self._add_together(shape, [features])
            else:
                together.append(features)
        step = max(1, _TOGETHER // self.size)
        for at in range(0, len(together), step):
            self._add_together(shape, together[at : at + step])

    def _add_together(self, shape: TreeShape, landscapes: list[Features]) -> None:
        node = Node(shape, landscapes, self.refine, self.of, self.cap)
        growth, chains = node.by_partitions(), node.by_chains()
        exact = EXACT.get((shape.leaves, landscapes[0].real)) if landscapes[0].is_real else None
        if exact is not None:
            sums = [sauer_shelah(m, exact) for m in range(1, self.size + 1)]
            chains = chains.least(Scaled.of_integers([1, *sums]).raised(1))
        least, by_chains = chains.least(growth), chains.less_than(growth)
        for row, features in enumerate(landscapes):
            self.values[shape, features] = least[row]
            self.by_chains[shape, features] = by_chains[row]

    def _one_threshold(self, shape: TreeShape, features: Features) -> Scaled:
        shown = [min(m, *(features.ordinal or (m,))) for m in range(1, self.size + 1)]
        return _labellings([one_feature_partitions(shape.leaves, 2, m) for m in shown])


@lru_cache(maxsize=1 << 12)
def _stump_growth(features: Features, size: int) -> Scaled:
    """Stump theorem: ``2 + 2 pi^2`` by sample size, ``pi^2`` the largest attribution."""
    return _labellings([best_attribution(m, features) for m in range(1, size + 1)])


def _labellings(partitions: list[int]) -> Scaled:
    return Scaled.of_integers([2, *(2 + 2 * count for count in partitions)]).raised(1)


def growth_of(
    shape: TreeShape, features: Features, size: int, *, follow: bool = True
) -> tuple[Scaled, NDArray[np.bool_] | None]:
    """``G`` for two classes up to ``size`` at least, and where the chain lemma gives it."""
    # follow: subtrees have the categories that the splits above leave them; features with many
    # categories keep them all where there are too many ways
    # Few different lengths, so that shapes share what they have in common.
    length = 16
    while length < size:
        length += length if length < 64 else length // 4
    features = merged(features)
    with _lock:
        for refine in (length, 12, 8, 6, 5, 4, 3, 0) if follow else (0,):
            growth = _growth(length, refine)
            if growth.require(shape, features):
                break
        return growth.of(shape, features), growth.by_chains.get((shape, features))


@lru_cache(maxsize=16)
def _growth(size: int, refine: int) -> Growth:
    return Growth(size, refine)
