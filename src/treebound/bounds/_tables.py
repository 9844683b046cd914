"""Growth functions by sample size: a table for every subtree and landscape, kept.

With ``G = sum_c (n)_c pi^c`` a node is ``G(m) = n + 2^-[T_l=T_r] sum_k D_k (G_l(k) G_r(m-k) - n)``
(theory notes, section 1), one call of a kernel for all sample sizes. A table belongs to the
subtree, the classes and the features: another shape, or another sample size, continues it.

==============  ==========================================================================
kind            what a node takes
==============  ==========================================================================
``tight``       the sum over part sizes, ``D_k`` of the errata
``chain-sum``   the chain lemma
``best``        the smaller of the sum within the node's budget ``B(m)`` and the chain lemma
``vc``          for two classes: also each feature within its own budget, the fast total, what
                is known of stumps, of one threshold feature and by exhaustive search
==============  ==========================================================================

In kind ``vc`` a subtree has a table for every landscape that the splits above can leave it, and
numbers below 2**53 are exact. Larger ones, and those of the chain lemma, are raised by a bound on
their rounding error, so that no growth function is rounded below its formula.

With ``G`` the sum over ``c`` disappears from the recursion, and with it the cap of ``pi^c`` by
``S(m, c)``. That matters only while the sample is about as small as the VC dimension of the shape,
so up to some size every ``pi^c`` is followed, and kept by subtree.

The chain lemma as a count (ours; proved in the theory notes, "Upper bounds: chains"): fix a real
feature and a direction; ``T_l`` gets the low side. Then it has, at most,

    q_1 = G_l(m) + sum_{k=1}^{m-1} d_k G_r(m-k),        d_k = G_l(k) - G_l(k+1) / n

labellings, for any bounds with ``G(k+1) <= n G(k)``. There are ``C = 2 ell`` such chains, ``ell``
where the children are equal. Two bounds on their union, with the children in either role:

- *star*: what ``T_r`` realizes alone is in every chain and counts once. With ``s`` the least ``k``
  for which ``C (d_1 + .. + d_k) >= C - 1``, its number is taken as ``G_r(m-s)``, as ``n`` where
  there is no such ``k < m``;
- *cap*: a chain whose prefixes below ``s`` were all met before adds at most
  ``q_s = G_l(m) + sum_{k>=s} d_k G_r(m-k)``; only ``binom(m, s)`` chains start new at size ``s``.

Categorical tests add at most ``B max_k G_l(k) G_r(m-k)`` (half for equal children). Without real
features tests that send all examples to one side add ``G_l(m) + G_r(m) - n``.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, log, perm, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats
from treebound._utils.validation import invalid
from treebound.bounds import _sums
from treebound.bounds._cache import SizedCache, from_below
from treebound.bounds._closed import log_closed_growth
from treebound.bounds._recursion import merge_ways
from treebound.bounds._scaled import Numbers, constant, log_above, of_integers, zeros
from treebound.bounds.counting import sauer_shelah, stirling
from treebound.bounds.partitioning import one_feature_partitions
from treebound.bounds.splits import Features, distinct_features, shares, with_categories
from treebound.bounds.stumps import best_attribution
from treebound.shapes import TreeShape, children

_BUDGETED = _sums.SIZES | _sums.BUDGET
KINDS = {
    "tight": _sums.SIZES,
    "chain-sum": _sums.CHAINS,
    "best": _BUDGETED | _sums.CHAINS,
    "vc": _BUDGETED | _sums.CHAINS | _sums.FEATURES,
}
# VC dimensions known by exhaustive search over all samples, for every shape of that many leaves on
# that many real features (benchmarks/exhaustive.cpp).
EXACT = {(3, 2): 5, (3, 3): 7, (4, 2): 8, (5, 2): 10}
# Multiplications up to which the parts of a shape are followed one by one: a tenth of a second.
_PARTS_WORK = 2e7
# Tables have that many numbers at most.
_MAX_SIZES = 10**6
# Ways to share categories, over all subtrees and landscapes, up to which they are followed down.
_MAX_WAYS = 20_000
# Numbers kept, 16 bytes each.
_kept: SizedCache[GrowthTable] = SizedCache(1 << 22)
_kept_parts: SizedCache[Numbers] = SizedCache(1 << 22)


class GrowthTable(NamedTuple):
    """``G`` by sample size, and where the chain lemma gives it."""

    growth: Numbers
    by_chains: NDArray[np.bool_]


def growth_by_size(
    shape: TreeShape, m: int, n_classes: int, features: Features, kind: str
) -> float:
    """Natural log of the growth function of a shape."""
    if n_classes == 1 or m == 1 or shape.is_leaf or features.is_empty:
        return log(n_classes)
    if m > _MAX_SIZES:
        must = f"at most {_MAX_SIZES:,} for form={kind!r}, which sums over part sizes"
        raise invalid("m", "log_growth", must, m, "form='best'.")
    tables = Tables(n_classes, kind)
    table = tables.stored(shape, features, m)
    if table is None:
        # The shape needs a single sample size, its subtrees all.
        for child in children(shape):
            tables.require(child, features, m)
        table = tables.extended(shape, features, m, m)
    mantissa, power = table.growth[m]
    return log_above(float(mantissa), int(power))


def growth_of_two_classes(
    shape: TreeShape, features: Features, size: int, *, follow: bool = True, kind: str = "vc"
) -> GrowthTable:
    """``G`` for two classes up to ``size`` at least."""
    # follow: subtrees have the categories that the splits above leave them; features with many
    # categories keep them all where there are too many ways
    # Few different lengths, so that shapes share what they have in common.
    length = 16
    while length < size:
        length += length if length < 64 else length // 4
    features = merged(features)
    for refine in (length, 12, 8, 6, 5, 4, 3, 0) if follow else (0,):
        tables = Tables(2, kind, refine)
        if tables.require(shape, features, length):
            break
    return tables.of(shape, features, length)


class Tests(NamedTuple):
    """The tests of a node, as the kernels take them."""

    table: Floats
    """For each kind of feature: whether nominal, its categories, and how many there are."""
    ways: NDArray[np.int32]
    """The test, and what it leaves its two parts: places in ``sides``."""
    sides: tuple[Features, ...]
    """The landscape itself, and the others that the tests leave."""


@lru_cache(maxsize=1 << 14)
def tests_of(features: Features, refine: int) -> Tests:
    """The tests of a node; features of over ``refine`` categories keep them all."""
    table, ways = [], []
    places = {features: 0}
    if features.real:
        table.append((0.0, inf, float(features.real)))
        ways.append((0, 0, 0))
    for kind, at, count in distinct_features(features):
        categories = getattr(features, kind)[at]
        pairs = [(features, features)]
        if categories <= refine:
            left = [merged(with_categories(features, kind, at, x)) for x in range(1, categories)]
            pairs = [(left[x - 1], left[y - 1]) for x, y in shares(kind, categories)]
        for some, rest in pairs:
            at_some = places.setdefault(some, len(places))
            ways.append((len(table), at_some, places.setdefault(rest, len(places))))
        table.append((float(kind == "nominal"), float(categories), float(count)))
    return Tests(np.array(table), np.array(ways, dtype=np.int32), tuple(places))


@lru_cache(maxsize=1 << 14)
def merged(features: Features) -> Features:
    """Two categories make the same tests whether ordered or not: one name for both."""
    nominal = tuple(n for n in features.nominal if n > 2)
    twos = len(features.nominal) - len(nominal)
    return Features(features.real, features.ordinal + (2,) * twos, nominal)


class Tables:
    """The tables of one kind; ``refine`` as in :func:`tests_of`."""

    def __init__(self, n_classes: int, kind: str, refine: int = 0) -> None:
        self.n_classes = n_classes
        self.kind = kind
        self.refine = refine
        self.for_two_classes = bool(KINDS[kind] & _sums.FEATURES)
        self._here: dict[tuple[TreeShape, Features], GrowthTable] = {}

    def stored(self, shape: TreeShape, features: Features, size: int) -> GrowthTable | None:
        """The table of a shape if it reaches ``size``."""
        table = _kept.get(self._key(shape, features))
        return table if table is not None and len(table.growth) > size else None

    def _key(self, shape: TreeShape, features: Features) -> tuple[object, ...]:
        return shape, features, self.n_classes, self.kind, self.refine

    def of(self, shape: TreeShape, features: Features, size: int) -> GrowthTable:
        """The table of a shape that was required."""
        if shape.is_leaf or features.is_empty:
            return _of_a_leaf(self.n_classes, size)
        return self._here[shape, features]

    def require(self, shape: TreeShape, features: Features, size: int) -> bool:
        """Compute a shape and all below it; False, and nothing done, if that is too much."""
        if shape.is_leaf:
            return True
        table = self.stored(shape, features, size)
        if table is not None:
            self._here[shape, features] = table
            return True
        needed = self._needed(shape, features)
        if needed is None:
            return False
        for part in shape.subshapes():
            for landscape in needed.get(part, ()):
                table = self.stored(part, landscape, size)
                if table is None:
                    old = _kept.get(self._key(part, landscape))
                    first = 2 if old is None else len(old.growth)
                    table = self.extended(part, landscape, first, size, old)
                    _kept.put(self._key(part, landscape), table, size + 1)
                self._here[part, landscape] = table
        return True

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
                else:
                    tests = tests_of(landscape, self.refine)
                    below.update((side, None) for side in tests.sides if not side.is_empty)
                    total += len(tests.ways) + (not landscape.real)
                if total > _MAX_WAYS and self.refine:
                    return None
            for child in children(part):
                if not child.is_leaf:
                    needed.setdefault(child, {}).update(below)
        return needed

    def extended(
        self,
        shape: TreeShape,
        features: Features,
        first: int,
        last: int,
        old: GrowthTable | None = None,
    ) -> GrowthTable:
        """A table with the sizes ``first`` to ``last`` filled in, those before from ``old``."""
        if self.for_two_classes and (shape.leaves == 2 or features.is_one_threshold):
            return GrowthTable(
                _two_classes(shape, features, last), np.zeros(last + 1, dtype=np.bool_)
            )
        growth, counted = self._caps(shape, features, last)
        by_chains = np.zeros(last + 1, dtype=np.bool_)
        left, right = children(shape)
        low, high, most = 1, 1, last
        if self.for_two_classes and not features.real:
            # No more than this many examples differ; the others repeat them.
            most = min(last, prod(features.ordinal + features.nominal))
            first = min(first, most)
        if old is not None:
            growth[:first], by_chains[:first] = old.growth[:first], old.by_chains[:first]
        if self.kind == "tight":
            first = max(first, counted + 1)
        if features.is_real:
            low, high = left.leaves, right.leaves
            first = max(first, shape.leaves + 1)
        tests = tests_of(features, self.refine)
        below_left, below_right = (
            np.array([self.of(child, side, last).growth[: last + 1] for side in tests.sides])
            for child in (left, right)
        )
        n, kind = float(self.n_classes), KINDS[self.kind]
        arrays = (below_left, below_right, tests.table, tests.ways)
        equal, sizes = left is right, (first, last)
        _sums.node(*arrays, n, equal, low, high, kind, most, growth, by_chains, *sizes)
        return GrowthTable(growth, by_chains)

    def _caps(self, shape: TreeShape, features: Features, size: int) -> tuple[Numbers, int]:
        """The maximum of every growth function, and the size up to which ``pi^c`` was counted."""
        two_parts = min(self.n_classes, shape.leaves) <= 2
        table = _labellings(self.n_classes, two_parts, size).copy()
        counted = None
        if self.for_two_classes and features.is_real and (shape.leaves, features.real) in EXACT:
            exact = EXACT[shape.leaves, features.real]
            counted = of_integers([1, *(sauer_shelah(m, exact) for m in range(1, size + 1))])
        elif not two_parts and self.kind != "chain-sum":
            counted = _counted_growth(shape, self.n_classes, features)
        if counted is None:
            return table, 1
        size = min(size, len(counted) - 1)
        table[1 : size + 1] = counted[1 : size + 1]
        return table, size


@lru_cache(maxsize=64)
def _of_a_leaf(n_classes: int, size: int) -> GrowthTable:
    return GrowthTable(constant(float(n_classes), size + 1), np.zeros(size + 1, dtype=np.bool_))


@lru_cache(maxsize=8)
def _labellings(n_classes: int, two_parts: bool, size: int) -> Numbers:
    """All labellings: ``n^k``, or those with at most two classes, ``n + n (n-1) (2^(k-1) - 1)``."""
    table = zeros(size + 1)
    n = float(n_classes)
    if two_parts:
        _sums.labellings(n, 2.0, n * (n - 2.0), table)
    else:
        _sums.labellings(n, n, 0.0, table)
    return table


@lru_cache(maxsize=1 << 12)
def _two_classes(shape: TreeShape, features: Features, size: int) -> Numbers:
    """``2 + 2 pi^2``: of a stump by the largest attribution, of one threshold feature exact."""
    if shape.leaves == 2:
        counts = [best_attribution(m, features) for m in range(1, size + 1)]
    else:
        shown = [min(m, *(features.ordinal or (m,))) for m in range(1, size + 1)]
        counts = [one_feature_partitions(shape.leaves, 2, m) for m in shown]
    most = ((2 << (m - 1)) for m in range(1, size + 1))
    return of_integers([2, *(min(2 + 2 * pi, cap) for pi, cap in zip(counts, most, strict=True))])


# -- every number of parts on its own ------------------------------------------------------------


def _counted_growth(shape: TreeShape, n_classes: int, features: Features) -> Numbers | None:
    """``sum_c (n)_c pi^c`` by size, capped for every ``c``, as far as caps bind and time allows."""
    size, enough = 16, _quiet_size(shape, features)
    while size < enough and _work(shape, n_classes, 2 * size) <= _PARTS_WORK:
        size *= 2
    if _work(shape, n_classes, size) > _PARTS_WORK:
        return None
    counts = from_below(
        shape,
        lambda part: _kept_parts.get((part, min(n_classes, part.leaves), features, size)),
        lambda part, below: _parts(part, below, min(n_classes, part.leaves), features, size),
    )
    growth = zeros(size + 1)
    labels = of_integers([perm(n_classes, c) for c in range(len(counts))])
    _sums.weighted(counts, labels, growth)
    return growth


def _quiet_size(shape: TreeShape, features: Features) -> int:
    """About the size past which ``S(m, c)`` cuts nothing: where two classes stop being free."""
    size = 16
    while log_closed_growth(shape, size, 2, features) > size * log(2):
        size *= 2
    return size + shape.leaves


@lru_cache(maxsize=1024)
def _pairs(shape: TreeShape, n_classes: int) -> int:
    """Products for each pair of part sizes, over all subtrees."""
    total = 0
    for part in shape.subshapes():
        if part.left is not None and part.right is not None:
            a, b = min(part.left.leaves, n_classes), min(part.right.leaves, n_classes)
            total += a * b * min(a + b, n_classes)
    return total


def _work(shape: TreeShape, n_classes: int, size: int) -> float:
    return _pairs(shape, n_classes) * float(size) * size / 2.0


def _parts(
    shape: TreeShape, below: dict[TreeShape, Numbers], most: int, features: Features, size: int
) -> Numbers:
    """``pi^c`` up to a sample size, a row for each ``c`` up to ``most``; they are kept."""
    counts: Numbers = _stirlings(1 << most.bit_length(), size)[: most + 1].copy()
    if shape.left is not None and shape.right is not None:
        left, right = shape.left, shape.right
        low, high, first = 1, 1, 2
        if features.is_real:
            low, high, first = left.leaves, right.leaves, shape.leaves + 1
        tests, merges = tests_of(features, 0).table, _merges(1 << most.bit_length())
        sides, equal = (below[left], below[right]), left is right
        _sums.parts(*sides, tests, merges, equal, low, high, counts, first)
    _kept_parts.put((shape, most, features, size), counts, counts.size)
    return counts


@lru_cache(maxsize=16)
def _stirlings(parts: int, size: int) -> Numbers:
    """``S(m, c)`` for ``m = 0 .. size``, a row for each ``c``."""
    return np.array(
        [of_integers([stirling(m, c) for m in range(size + 1)]) for c in range(parts + 1)]
    )


@lru_cache(maxsize=16)
def _merges(parts: int) -> Floats:
    """``K(a, b, c)``."""
    table = np.zeros((parts + 1, parts + 1, parts + 1))
    for c in range(2, parts + 1):
        for a, b, ways in merge_ways(parts, parts, c):
            table[a, b, c] = ways
    return table
