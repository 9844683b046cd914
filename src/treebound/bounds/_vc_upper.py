"""Upper bounds on VC dimensions: the first sample size with too few labellings for all.

Algorithm VCdimUpperBound of the paper, on the least of its partition bounds and the chain lemma
(:mod:`treebound.bounds._chain_shares`). Two classes are enough: with ``G = 2 + 2 pi^2`` a sample
of ``m`` examples can be shattered only if ``G(m) = 2^m``. A subtree is a function of the sample
size, not a number, so that a shape costs one kernel call a form. Numbers below 2**53 are exact;
larger ones carry a relative error far below the margin they are given.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import comb, log, prod
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound.bounds import _convolve
from treebound.bounds._chain_shares import chain_shares, ratios, shares
from treebound.bounds._closed import log_closed_growth
from treebound.bounds._recursion import Features, children, with_categories
from treebound.bounds._scaled import NOTHING, Scaled
from treebound.bounds.partitioning import is_one_threshold, one_feature_partitions
from treebound.bounds.related import sauer_shelah
from treebound.bounds.splits import feature_split_table, node_budget_table, node_split_table
from treebound.shapes import TreeShape

__all__ = ["EXACT", "UpperBound", "largest_shattered"]

FloatArray = NDArray[np.float64]
_lock = Lock()
# Ways to share categories, over all subtrees and landscapes, up to which they are followed down.
_MOST_WAYS = 20_000
# (subtree, landscape) pairs kept for other shapes.
_MOST_KEPT = 10_000
# Multiplications up to which sums over part sizes are tried at all.
_MOST_WORK = 4e9
# Whole numbers above 2**53 are rounded: a count this close to 2**m is taken to reach it.
_MARGIN = 1e-9

# VC dimensions known by exhaustive search over all samples, for every shape of that many leaves on
# that many real features (benchmarks/exhaustive.cpp).
EXACT = {(3, 2): 5, (3, 3): 7, (4, 2): 8, (5, 2): 10}


class UpperBound(NamedTuple):
    """An upper bound and the theorem it rests on."""

    size: int
    by: str


def largest_shattered(shape: TreeShape, features: Features, at_least: int) -> UpperBound:
    """Upper bound on the VC dimension; no sample size up to ``at_least`` need be tried."""
    if is_one_threshold(features):
        # Leaves are intervals: L of them never alternate L + 1 labels (one_feature_partitions).
        return UpperBound(min(shape.leaves, *(features.ordinal or (shape.leaves,))), "intervals")
    if features.is_real and (shape.leaves, features.real) in EXACT:
        return UpperBound(EXACT[shape.leaves, features.real], "exhaustive search")
    size = first_unshattered(shape, features)
    work = sum(not part.is_leaf for part in shape.subshapes()) * float(size) ** 2
    if work > _MOST_WORK:
        return UpperBound(size - 1, "closed form")
    growth, by_chains = growth_of(shape, features, size)
    for m in range(max(at_least, 1) + 1, size):
        mantissa, power = growth.mantissa[m] * 2, growth.power[m] - 1
        if power < m and mantissa * 2.0 ** max(power - m, -1000) < 1 - _MARGIN * (m > 53):
            if shape.leaves == 2:
                return UpperBound(m - 1, "stump theorem")
            return UpperBound(m - 1, "chain lemma" if by_chains[m] else "partition theorems")
    return UpperBound(size - 1, "closed form")


def growth_of(
    shape: TreeShape, features: Features, size: int, *, chains: bool = True
) -> tuple[Scaled, NDArray[np.bool_]]:
    """``G`` for two classes up to ``size`` at least, and where the chain lemma gives it."""
    # Few different lengths, so that shapes share what they have in common.
    length = 16
    while length < size:
        length += max(16, length // 4)
    features = _merged(features)
    with _lock:
        for refine in (length, 12, 8, 6, 5, 4, 3, 0):
            growth = _growth(length, refine, chains)
            if growth.require(shape, features):
                break
        return growth.of(shape, features), growth.by_chains[shape, features]


def first_unshattered(shape: TreeShape, features: Features) -> int:
    """A sample size whose ``2^m`` labellings the closed form rules out; not always the least."""

    def possible(m: int) -> bool:
        return log_closed_growth(shape, m, 2, features) >= m * log(2) * (1 - 1e-12)

    low, high = 1, 2
    while possible(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if possible(middle) else (low, middle)
    return high


@lru_cache(maxsize=16)
def _growth(size: int, refine: int, chains: bool) -> _Growth:
    return _Growth(size, refine, chains)


class _Growth:
    """``G`` for two classes of every subtree under every landscape that splitting leaves it.

    Parameters
    ----------
    size : int
        The largest sample size.
    refine : int
        Features with more categories than this keep them all in both parts of a split.
    chains : bool
        Whether to use the chain lemma and known VC dimensions, or the partition theorems alone.
    """

    def __init__(self, size: int, refine: int, chains: bool) -> None:
        self.size = size
        self.refine = refine
        self.chains = chains
        self.cap = Scaled.powers(2, size + 1)
        self.two = Scaled.constant(2, size + 1)
        self.values: dict[tuple[TreeShape, Features], Scaled] = {}
        self.by_chains: dict[tuple[TreeShape, Features], NDArray[np.bool_]] = {}
        self.shares: dict[tuple[TreeShape, Features], FloatArray] = {}
        self.rooms: dict[tuple[Features, int], tuple[FloatArray, FloatArray]] = {}

    def require(self, shape: TreeShape, features: Features) -> bool:
        """Compute a shape and all below it; False, and nothing done, if that is too much."""
        needed = self._needed(shape, features)
        if needed is None:
            return False
        if len(self.values) > _MOST_KEPT:
            self.values.clear()
            self.by_chains.clear()
            self.shares.clear()
            self.rooms.clear()
        for part in shape.subshapes():
            for one in needed.get(part, ()):
                if (part, one) not in self.values:
                    self.values[part, one], self.by_chains[part, one] = self._least(part, one)
        return True

    def of(self, shape: TreeShape, features: Features) -> Scaled:
        """The function of one subtree."""
        if shape.is_leaf or features.is_empty:
            return self.two
        return self.values[shape, features]

    def _needed(
        self, shape: TreeShape, features: Features
    ) -> dict[TreeShape, dict[Features, None]] | None:
        """The landscapes each subtree is asked for, or None if there are too many."""
        needed: dict[TreeShape, dict[Features, None]] = {shape: {features: None}}
        total = 0
        for part in reversed(_by_leaves(shape)):
            if part.is_leaf:
                continue
            below: dict[Features, None] = {}
            for one in needed.get(part, ()):
                if part.leaves == 2:
                    total += len(set(one.ordinal + one.nominal)) // 2
                    continue
                sides = [side for pair in self._all_sides(one) for side in pair]
                below.update((left, None) for left in (one, *sides) if not left.is_empty)
                total += 1 + len(sides) // 2
                if total > _MOST_WAYS and self.refine:
                    return None
            if total > _MOST_WAYS and self.refine:
                return None
            for child in children(part):
                if not child.is_leaf:
                    needed.setdefault(child, {}).update(below)
        return needed

    def _all_sides(self, features: Features) -> Iterable[tuple[Features, Features]]:
        for kind, at, _ in _distinct(features):
            yield from self._sides(features, kind, at)

    def _sides(self, features: Features, kind: str, at: int) -> list[tuple[Features, Features]]:
        return _sides(features, kind, at, self.refine)

    def _least(self, shape: TreeShape, features: Features) -> tuple[Scaled, NDArray[np.bool_]]:
        """The least of all forms for one subtree, and where it is the chain lemma."""
        simple = features.is_real or shape.leaves == 2 or is_one_threshold(features)
        pairs = [] if simple else self._pairs(shape, features)
        found = self._by_partitions(shape, features, pairs)
        if not self.chains or shape.leaves == 2 or is_one_threshold(features):
            return found, np.zeros(self.size + 1, dtype=bool)
        chains = self._by_chains(shape, features, pairs)
        known = EXACT.get((shape.leaves, features.real)) if features.is_real else None
        if known is not None:
            sums = [sauer_shelah(m, known) for m in range(1, self.size + 1)]
            chains = chains.least(Scaled.of_integers([1, *sums]))
        return chains.least(found), chains.less_than(found)

    def _by_partitions(self, shape: TreeShape, features: Features, pairs: list[_Pair]) -> Scaled:
        """The least of the partition theorems, as a function of the sample size."""
        if shape.leaves == 2:
            return self._stump(features)
        if is_one_threshold(features):
            return self._one_threshold(shape, features)
        found = self._by_size(shape, features).least(self._total(shape, features))
        if not features.is_real:
            found = found.least(self._by_feature(shape, features, pairs))
        found = found.least(self.cap)
        if features.is_real:
            # Below its leaves a tree on a real feature does everything.
            few = slice(1, shape.leaves + 1)
            found.mantissa[few], found.power[few] = self.cap.mantissa[few], self.cap.power[few]
        else:
            found.mantissa[1], found.power[1] = 0.5, 2
        if not features.real:
            # No more than this many examples differ; the others repeat them.
            rows = min(self.size, prod(features.ordinal + features.nominal))
            found.mantissa[rows:], found.power[rows:] = found.mantissa[rows], found.power[rows]
        return found

    def _one_threshold(self, shape: TreeShape, features: Features) -> Scaled:
        shown = [min(m, *(features.ordinal or (m,))) for m in range(1, self.size + 1)]
        counts = [2 + 2 * one_feature_partitions(shape.leaves, 2, m) for m in shown]
        return Scaled.of_integers([2, *counts])

    def _stump(self, features: Features) -> Scaled:
        return Scaled.of(2.0 + 2.0 * _attributions(features, self.size)).least(self.cap)

    def _by_size(self, shape: TreeShape, features: Features) -> Scaled:
        """Splits by part size within the node's budget."""
        left, right = children(shape)
        first = shape.leaves + 1 if features.is_real else 2
        found = Scaled(self.cap.mantissa.copy(), self.cap.power.copy())
        if first > self.size:
            return found
        least = (left.leaves, right.leaves) if features.is_real else (1, 1)
        _convolve.by_size(
            *self.of(left, features),
            *self.of(right, features),
            *self._rooms(features, first),
            2.0,
            *least,
            left is right,
            not features.real,
            *found,
            first,
        )
        return found

    def _rooms(self, features: Features, first: int) -> tuple[FloatArray, FloatArray]:
        """Splits by size and in all, kept while the tables are small."""
        found = self.rooms.get((features, first))
        if found is None:
            found = (
                node_split_table(features, first, self.size),
                node_budget_table(features, np.arange(first, self.size + 1)),
            )
            if self.size <= 128:
                self.rooms[features, first] = found
        return found

    def _total(self, shape: TreeShape, features: Features) -> Scaled:
        """``2 B(m)`` splits, each as heavy as the heaviest."""
        left, right = children(shape)
        m = np.arange(self.size + 1)
        if features.is_real:
            splits = 2.0 * features.real * (m - shape.leaves + 1)
            of_left, of_right = m - right.leaves, m - left.leaves
        else:
            splits = 2.0 * node_budget_table(features, m)
            of_left = of_right = m - 1
        joint = self.of(left, features).at(np.maximum(of_left, 1))
        joint = joint.times(self.of(right, features).at(np.maximum(of_right, 1))).minus(2.0)
        factor = np.maximum(splits, 0.0) * (0.5 if left is right else 1.0)
        return joint.times(factor).plus(self.two)

    def _pairs(self, shape: TreeShape, features: Features) -> list[_Pair]:
        """What the splits of each kind of categorical feature weigh, both directions."""
        found = []
        for kind, at, times in _distinct(features):
            rooms = feature_split_table(kind, getattr(features, kind)[at], self.size)
            pair = self._fill(shape, self._sides(features, kind, at), *rooms)
            found.append(_Pair(kind, float(times), *pair))
        return found

    def _by_feature(self, shape: TreeShape, features: Features, pairs: list[_Pair]) -> Scaled:
        """Each feature within its own budget, subtrees with the categories left to them."""
        left, right = children(shape)
        size = self.size
        every = inner = _zeros(size + 1)
        if features.real:
            rooms = feature_split_table("ordinal", size + 1, size)
            pair = self._fill(shape, [(features, features)], *rooms)
            every = pair[0].times(float(features.real))
        for one in pairs:
            every = every.plus(one.every.times(one.times))
            inner = inner.plus(one.inner.times(one.times))
        if not features.real:
            sizes = np.maximum(np.arange(size + 1) - 1, 1)
            ones = np.ones(size + 1, dtype=np.int64)
            for some, rest in ((ones, sizes), (sizes, ones)):
                alone = self.of(left, features).at(some).times(self.of(right, features).at(rest))
                inner = inner.plus(alone.minus(2.0))
            every = every.most(inner)
        return every.times(0.5 if left is right else 1.0).plus(self.two)

    def _by_chains(self, shape: TreeShape, features: Features, pairs: list[_Pair]) -> Scaled:
        """Chain lemma for real features; for the others the better of it and their own splits."""
        left, right = children(shape)
        same = left is right
        one, other = self._shares(left, features), self._shares(right, features)
        if features.real:
            total = chain_shares(one, other, features.real, same)
        else:  # a one-sided root test leaves everything to one child
            total = one if same else one + other
        single = chain_shares(one, other, 1, same) if features.ordinal else total
        for pair in pairs:
            # Constant labellings are counted above.
            own = pair.times * ratios(pair.every.times(0.5 if same else 1.0))
            total = total + (
                np.minimum(own, pair.times * single) if pair.kind == "ordinal" else own
            )
        return self._whole(np.minimum(total * (1 + _MARGIN / 1000), 1.0))

    def _shares(self, shape: TreeShape, features: Features) -> FloatArray:
        key = (shape, features)
        if key not in self.shares:
            self.shares[key] = shares(self.of(shape, features))
        return self.shares[key]

    def _whole(self, share: FloatArray) -> Scaled:
        """Counts from shares; a class has as many labellings as opposite ones: an even number."""
        m = np.arange(self.size + 1)
        found = Scaled.of(share.copy(), m.copy())
        exact = slice(1, 53)
        halves = np.floor(np.ldexp(share[exact], m[exact] - 1))
        few = Scaled.of(2.0 * halves)
        found.mantissa[exact], found.power[exact] = few.mantissa, few.power
        return found

    def _fill(
        self,
        shape: TreeShape,
        sides: list[tuple[Features, Features]],
        room: FloatArray,
        budget: FloatArray,
    ) -> tuple[Scaled, Scaled]:
        left, right = children(shape)
        small, large = zip(*sides, strict=True)
        every, inner = _zeros(self.size + 1), _zeros(self.size + 1)
        _convolve.by_feature(
            *self._stack(left, small),
            *self._stack(right, large),
            *self._stack(left, large),
            *self._stack(right, small),
            room,
            budget,
            2.0,
            *every,
            *inner,
            2,
        )
        return every, inner

    def _stack(self, shape: TreeShape, landscapes: tuple[Features, ...]) -> Scaled:
        if shape.is_leaf:
            return _repeated(self.size, len(landscapes))
        found = [self.of(shape, one) for one in landscapes]
        return Scaled(
            np.array([one.mantissa for one in found]), np.array([one.power for one in found])
        )


class _Pair(NamedTuple):
    """Splits of one kind of feature: how many such features, all splits, those of larger parts."""

    kind: str
    times: float
    every: Scaled
    inner: Scaled


@lru_cache(maxsize=64)
def _repeated(size: int, rows: int) -> Scaled:
    """A leaf, once for every way to share categories: two labels whatever the sample."""
    one = Scaled.constant(2, size + 1)
    return Scaled(np.tile(one.mantissa, (rows, 1)), np.tile(one.power, (rows, 1)))


def _zeros(count: int) -> Scaled:
    return Scaled(np.zeros(count), np.full(count, NOTHING, dtype=np.int64))


def _distinct(features: Features) -> Iterable[tuple[str, int, int]]:
    """Each kind of categorical feature once: its name, where one stands, how many there are."""
    for kind in ("ordinal", "nominal"):
        counts = getattr(features, kind)
        for one in dict.fromkeys(counts):
            yield kind, counts.index(one), counts.count(one)


def _attributions(features: Features, size: int) -> FloatArray:
    """The largest attribution of splits to features (stumps.best_attribution) for every m."""
    m = np.arange(size + 1)
    even = (m % 2 == 0) & (m > 0)
    halves = np.where(even, [comb(int(one), int(one) // 2) // 2 for one in np.minimum(m, 60)], 0.0)
    best = np.full(size + 1, np.inf)
    whole, choices, t = np.zeros(size + 1), np.ones(size + 1), 0
    while True:
        best = np.minimum(best, whole + _made_beyond(features, size, t, even))
        best = np.minimum(best, whole + halves + _made_beyond(features, size, t, even & False))
        t += 1
        choices = np.maximum(choices * (m - t + 1) / t, 0.0)
        whole = whole + choices
        if not ((whole < best) & (2 * t < m)).any():
            return best


def _made_beyond(features: Features, size: int, t: int, with_half: NDArray[np.bool_]) -> FloatArray:
    """Splits that features make with part sizes above ``t``, each feature within its budget."""
    m = np.arange(size + 1)
    sizes = np.maximum((m - 1) // 2 - t, 0)
    made = features.real * (2.0 * sizes + with_half)
    for kind, at, times in _distinct(features):
        categories = getattr(features, kind)[at]
        if kind == "ordinal":
            each = np.minimum(categories - 1, min(2, categories - 1) * sizes + with_half)
        else:
            sums, budget = _nominal_sums(categories, size)
            last = np.maximum((m - 1) // 2, 0)
            each = np.minimum(budget, sums[m, last] - sums[m, np.minimum(t, last)] + with_half)
        made = made + times * each
    return made


@lru_cache(maxsize=64)
def _nominal_sums(categories: int, size: int) -> tuple[FloatArray, FloatArray]:
    """For every m, splits of a nominal feature with part sizes up to k, and how many in all."""
    room, budget = feature_split_table("nominal", categories, size)
    sums = np.zeros((size + 1, room.shape[1]))
    sums[2:, 1:] = np.cumsum(room[:, 1:], axis=1)
    return sums, np.concatenate(([0.0, 0.0], budget))


@lru_cache(maxsize=1 << 14)
def _merged(features: Features) -> Features:
    """Two categories make the same tests whether ordered or not: one name for both."""
    nominal = tuple(n for n in features.nominal if n > 2)
    twos = len(features.nominal) - len(nominal)
    return Features(features.real, features.ordinal + (2,) * twos, nominal)


@lru_cache(maxsize=1 << 16)
def _sides(features: Features, kind: str, at: int, refine: int) -> list[tuple[Features, Features]]:
    """How the two parts of a split on one feature can share its categories."""
    categories = getattr(features, kind)[at]
    if categories > refine:
        return [(features, features)]
    if kind == "ordinal":
        shares = [(theta, categories - theta) for theta in range(1, categories)]
    else:
        shares = [(1, categories - 1), (categories - 1, 1)]

    def left_with(some: int) -> Features:
        return _merged(with_categories(features, kind, at, some))

    return [(left_with(x), left_with(y)) for x, y in dict.fromkeys(shares)]


def _by_leaves(shape: TreeShape) -> list[TreeShape]:
    """The distinct subtrees, smaller ones first."""
    return sorted(shape.subshapes(), key=lambda part: part.leaves)
