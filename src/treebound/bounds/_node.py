"""What a node makes of its two children, for all sample sizes: sums over part sizes, and chains.

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
from math import inf

import numpy as np

from treebound.bounds import _node_sums
from treebound.bounds._cache import SizedCache, Table
from treebound.bounds._closed import pairs_of
from treebound.bounds._scaled import Scaled
from treebound.bounds.splits import Features, node_budget_table, node_split_table
from treebound.shapes import TreeShape, children

# Entries of the table of splits that are held at once.
_TABLE = 1 << 20
_tables: SizedCache[Table] = SizedCache(4 * _TABLE)
_split_table = _tables.of_tables(node_split_table)


def sum_over_sizes(
    shape: TreeShape,
    sides: tuple[Scaled, Scaled],
    row: int,
    features: Features,
    n: float,
    first: int,
    last: int,
    budgeted: bool = False,
) -> tuple[Scaled, Scaled]:
    """``sum_k D_k (G_l G_r - n)`` of a node, its children a row of ``sides``, both directions.

    ``budgeted``: at most ``B(m)`` splits, the heaviest first; then, without real features, also
    the sum of those that isolate no single example. With real features only the budget is never
    short, and each part has an example for each leaf.
    """
    every = Scaled.zeros(last + 1)
    inner = Scaled.zeros(last + 1 if budgeted and not features.real else 0)
    low, high = (child.leaves if features.is_real else 1 for child in children(shape))
    arrays = (*sides[0].arrays, *sides[1].arrays, np.array([[row, row]], dtype=np.int32))
    while first <= last:
        start, until = rows_at(first) if first < last else (first, last)
        splits = _split_table(features, start, min(until, last))[first - start :]
        budgets = np.full(len(splits), inf)
        if budgeted:
            budgets = node_budgets(features, last)[first : first + len(splits)]
        _node_sums.by_size(
            *arrays, splits, budgets, n, low, high, *every.arrays, *inner.arrays, first
        )
        first += len(splits)
    return every, inner


@_tables.of_tables
def node_budgets(features: Features, size: int) -> Table:
    """``B(m)`` for ``m = 0 .. size``."""
    return node_budget_table(features, np.arange(size + 1))


@lru_cache(maxsize=1024)
def rows_at(m: int) -> tuple[int, int]:
    """The first and last row of the table of splits that has row ``m``."""
    start = 2
    while True:
        # As many rows as fill the table: r rows have (start + r) / 2 columns.
        rows = int((start * start + 8 * _TABLE) ** 0.5 - start) // 2
        until = start + max(rows, 1) - 1
        if m <= until:
            return start, until
        start = until + 1


def alone(left: Scaled, right: Scaled, n: float, count: int) -> Scaled:
    """What splits that isolate one example weigh, both directions, by sample size."""
    rest = (..., np.maximum(np.arange(count) - 1, 1))
    single = (..., np.ones(count, dtype=np.int64))
    return (left[single] * right[rest]).minus(n) + (left[rest] * right[single]).minus(n)


def chain_sums(
    left: Scaled,
    right: Scaled,
    equal: bool,
    n_classes: int,
    features: Features,
    first: int,
    last: int,
) -> Scaled:
    """The chain lemma, categorical tests included, for sample sizes ``first`` to ``last``."""
    sums = Scaled.zeros(last + 1)
    if features.real:
        sums = chain_counts(left, right, equal, n_classes, features.real, first, last)
    if features.is_real:
        return sums
    left = _steady(left, n_classes)
    right = left if equal else _steady(right, n_classes)
    heaviest, tests = Scaled.zeros(last + 1), _categorical_pairs(features, last)
    _node_sums.heaviest(*left.arrays, *right.arrays, *heaviest.arrays, first, last)
    sums += heaviest * (tests * 0.5 if equal else tests)
    if features.real:
        return sums
    left, right = left[: last + 1], right[: last + 1]
    return sums + (left if equal else (left + right).minus(float(n_classes)))


def chain_counts(
    left: Scaled, right: Scaled, equal: bool, n_classes: int, thresholds: int, first: int, last: int
) -> Scaled:
    """The chain lemma for a number of threshold features, never rounded below."""
    sums = Scaled.constant(0.0, last + 1)
    count = float(thresholds if equal else 2 * thresholds)
    _node_sums.chains(
        *left.arrays, *right.arrays, equal, count, float(n_classes), *sums.arrays, first, last
    )
    return sums


@lru_cache(maxsize=64)
def _categorical_pairs(features: Features, last: int) -> Table:
    """``B`` for sample sizes up to ``last``."""
    pairs = [float(pairs_of(features, m).categorical) for m in range(1, last + 1)]
    return np.array([0.0, *pairs])


def _steady(values: Scaled, n_classes: int) -> Scaled:
    """Bounds that never fall and grow at most ``n``-fold from one sample size to the next."""
    steady = values.copy()
    _node_sums.steady(*steady.arrays, float(n_classes))
    return steady
