"""How many splits a node makes: the counts that every theorem shares, exact and as tables.

==================  ======================================================================
symbol              meaning
==================  ======================================================================
``m``, ``k``        examples; the size of a part
``ell``             number of real features
``O_i``, ``N_i``    categories of the ordinal and of the nominal features
``R_N``             2-partitions a nominal feature with ``N`` categories can make
``R_{N,k}``         those of them with one part of size ``k``
``D_k``             (2-partition, direction) pairs of a node whose left part has size ``k``
``B(m)``            2-partitions a node makes in all
==================  ======================================================================

All are exact; the kernels of :mod:`treebound.bounds._sums` count the same in doubles.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import comb, prod
from typing import NamedTuple

import numpy as np

from treebound._utils.arrays import Floats, Ints
from treebound.landscape import Landscape

# More categories than any sample shows: an undeclared nominal column.
UNBOUNDED = 1 << 400


class Features(NamedTuple):
    """An informative landscape in canonical order, light enough to be a dictionary key."""

    real: int
    ordinal: tuple[int, ...]
    nominal: tuple[int, ...]

    @property
    def is_empty(self) -> bool:
        return not (self.real or self.ordinal or self.nominal)

    @property
    def is_real(self) -> bool:
        return self.real > 0 and not self.ordinal and not self.nominal

    @property
    def is_one_threshold(self) -> bool:
        """Return True if a single feature is tested, and by thresholds."""
        return self.real + len(self.ordinal) == 1 and not self.nominal

    @property
    def width(self) -> int:
        """Number of features."""
        return self.real + len(self.ordinal) + len(self.nominal)

    def combinations(self, limit: int) -> int:
        """Distinct examples there can be, or ``limit`` when there are more."""
        if self.real:
            return limit
        return min(limit, prod(min(count, limit) for count in self.ordinal + self.nominal))


def features_of(landscape: Landscape) -> Features:
    """The informative features of a landscape; undeclared columns as unbounded."""
    informative = landscape.informative
    nominal = (UNBOUNDED if n is None else n for n in informative.nominal)
    return _canonical(informative.real, informative.ordinal, tuple(nominal))


def _canonical(real: int, ordinal: Iterable[int], nominal: Iterable[int]) -> Features:
    return Features(
        real,
        tuple(sorted((o for o in ordinal if o > 1), reverse=True)),
        tuple(sorted((n for n in nominal if n > 1), reverse=True)),
    )


@lru_cache(maxsize=1 << 16)
def cut(features: Features, m: int) -> Features:
    """``(O^m, N^m)``: the features as ``m`` examples can show them."""
    real, ordinal, nominal = features
    if (not ordinal or ordinal[0] <= m) and (not nominal or nominal[0] <= m):
        return features
    return _canonical(real, (min(o, m) for o in ordinal), (min(n, m) for n in nominal))


def with_categories(features: Features, kind: str, at: int, categories: int) -> Features:
    """The features with another number of categories in one of them."""
    counts = list(getattr(features, kind))
    counts[at] = categories
    if kind == "ordinal":
        return _canonical(features.real, counts, features.nominal)
    return _canonical(features.real, features.ordinal, counts)


def distinct_features(features: Features) -> Iterable[tuple[str, int, int]]:
    """Each kind of categorical feature once: its name, the index of one, and their number."""
    for kind in ("ordinal", "nominal"):
        counts = getattr(features, kind)
        for categories in dict.fromkeys(counts):
            yield kind, counts.index(categories), counts.count(categories)


def shares(kind: str, categories: int) -> list[tuple[int, int]]:
    """How the two parts of a split on a feature can share its categories."""
    if kind == "ordinal":
        return [(theta, categories - theta) for theta in range(1, categories)]
    return list(dict.fromkeys([(1, categories - 1), (categories - 1, 1)]))


# -- one feature -------------------------------------------------------------------------------


def nominal_splits(categories: int, m: int) -> int:
    """``R_N``: 2-partitions that one nominal feature can make."""
    return categories - 1 if categories <= 2 else min(categories, m)


def nominal_splits_of_size(categories: int, m: int, k: int) -> int:
    """``R_{N,k}``: 2-partitions with a part of size ``k <= m/2`` by one nominal feature."""
    if 2 * k == m and categories != 1:
        return 1
    return categories - 1 if m > categories * k else m // k


def _sum_of_quotients(m: int, first: int, last: int, enough: int) -> int:
    """``sum_k floor(m / k)`` for ``k = first .. last``, or any part of it that is ``enough``."""
    # The quotient is the same on long ranges of k: about 2 sqrt(m) steps.
    total, k = 0, first
    while k <= last and total < enough:
        each = m // k
        until = min(last, m // each)
        total += each * (until - k + 1)
        k = until + 1
    return total


def nominal_splits_beyond(categories: int, m: int, t: int) -> int:
    """``sum_k R_{N,k}`` over ``t < k < m/2``, or ``R_N`` where it is at least that."""
    enough, last = nominal_splits(categories, m), (m - 1) // 2
    few = min(last, (m - 1) // categories)
    total = max(0, few - t) * (categories - 1)
    if total < enough:
        total += _sum_of_quotients(m, max(t, few) + 1, last, enough)
    return min(total, enough)


# -- a node ------------------------------------------------------------------------------------


def binomial_at_most(m: int, k: int, limit: int) -> int:
    """``min(binom(m, k), limit)`` for ``1 <= k < m``, without the large binomial."""
    if m >= limit:
        return limit
    k = min(k, m - k)
    # binom(m, k) >= (m/k)^k >= 2^k, so a large k need not be tried.
    return limit if k >= limit.bit_length() else min(comb(m, k), limit)


def node_splits_of_size(m: int, k: int, features: Features) -> int:
    """``D_k``: (2-partition, direction) pairs of one node whose left part has size ``k``."""
    small = min(k, m - k)
    twice = 2 if 2 * k == m else 1
    splits = 2 * features.real
    splits += sum(min(twice * (o - 1), 2) for o in features.ordinal)
    splits += sum(twice * nominal_splits_of_size(n, m, small) for n in features.nominal)
    return binomial_at_most(m, k, splits)


def node_budget(m: int, features: Features) -> int:
    """``B(m)``: proper 2-partitions that one node makes in all."""
    splits = features.real * (m - 1) + categorical_tests(features, m)
    # 2^(m-1) is only computed where it is smaller.
    return splits if splits.bit_length() < m else (1 << (m - 1)) - 1


@lru_cache(maxsize=1024)
def categorical_tests(features: Features, m: int) -> int:
    """``sum_i (min(O_i, m) - 1) + sum_i R(N_i)``: tests on categorical features."""
    ordinal = sum(min(o, m) - 1 for o in features.ordinal)
    return ordinal + sum(nominal_splits(n, m) for n in features.nominal)


def node_budget_table(features: Features, m: Floats | Ints) -> Floats:
    """``B(m)`` for an array of sample sizes."""
    splits = features.real * (m - 1.0)
    for o in features.ordinal:
        splits += np.minimum(float(o), m) - 1
    for n in features.nominal:
        splits += 1.0 if n == 2 else np.minimum(float(n), m)
    return np.minimum(splits, np.exp2(np.minimum(m, 1000) - 1.0) - 1.0)
