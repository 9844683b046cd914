"""The growth function by part sizes: a table over all sample sizes for every subtree, kept.

With ``G = sum_c (n)_c pi^c`` a node is ``G(m) = n + 2^-[T_l=T_r] sum_k D_k (G_l(k) G_r(m-k) - n)``
(theory notes, section 1), one kernel call per subtree for all sample sizes. A table belongs to the
subtree, the classes and the features alone: another shape, or another sample size, continues it.

==============  ==========================================================================
kind            what a node takes
==============  ==========================================================================
``tight``       the sum over part sizes, ``D_k`` of the errata
``chain-sum``   the chain lemma
``best``        the smaller of the sum within the node's budget ``B(m)`` and the chain lemma
==============  ==========================================================================

No kind exceeds the number of labellings with at most ``L`` classes. Every number is raised by a
bound on its rounding error, so that no growth function is rounded below its formula.

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
from math import inf, isqrt, log, perm
from typing import NamedTuple

import numpy as np

from treebound._validation import invalid
from treebound.bounds import _sums
from treebound.bounds._cache import SizedCache, from_below
from treebound.bounds._closed import log_closed_growth, pairs_of
from treebound.bounds._recursion import merge_ways
from treebound.bounds._scaled import ONE, ROUNDING, FloatArray, Scaled, log_above
from treebound.bounds.splits import Features, node_budget_table, node_split_table
from treebound.shapes import TreeShape, children

# Multiplications up to which the parts of a shape are followed one by one: a tenth of a second.
_PARTS_WORK = 2e7
# Tables have that many numbers at most.
_MOST_SIZES = 10**6
# Sizes in a row at which no cap may bind before the parts are summed.
_QUIET = 16
# Numbers kept, 16 bytes each.
_kept: SizedCache[Scaled] = SizedCache(1 << 22)
_kept_parts: SizedCache[tuple[Scaled, int]] = SizedCache(1 << 22)
# Twice the entries of a part of the table of splits.
_TABLE = 1 << 20


def growth_by_size(
    shape: TreeShape, m: int, n_classes: int, features: Features, kind: str
) -> float:
    """Natural log of the growth function of a shape."""
    if n_classes == 1 or m == 1 or shape.is_leaf or features.is_empty:
        return log(n_classes)
    if m > _MOST_SIZES:
        must = f"at most {_MOST_SIZES:,} for form={kind!r}, which sums over part sizes"
        raise invalid("m", "log_growth", must, m, "form='best'.")
    tables = _Tables(n_classes, features, kind)
    table = tables.kept(shape, m)
    if table is None:
        # The shape needs a single sample size, its subtrees all.
        below = {child: tables.of(child, m) for child in children(shape)}
        table = tables.extended(shape, below, m, m)
    return log_above(float(table.mantissa[m]), int(table.power[m]))


class _Tables(NamedTuple):
    """The tables of one kind for some number of classes and some features."""

    n_classes: int
    features: Features
    kind: str

    def kept(self, shape: TreeShape, m: int) -> Scaled | None:
        """The table of a shape if it reaches ``m``."""
        table = _kept.get((shape, *self))
        return table if table is not None and len(table) > m else None

    def of(self, shape: TreeShape, m: int) -> Scaled:
        """The table of a shape for 1 to ``m`` examples at least."""
        return from_below(
            shape,
            lambda part: self.kept(part, m),
            lambda part, below: self._compute(part, below, m),
        )

    def _compute(self, shape: TreeShape, below: dict[TreeShape, Scaled], m: int) -> Scaled:
        if shape.is_leaf:
            table = Scaled.constant(self.n_classes, m + 1)
        else:
            old = _kept.get((shape, *self))
            table = self.extended(shape, below, 2 if old is None else len(old), m, old)
        _kept.put((shape, *self), table, m + 1)
        return table

    def extended(
        self,
        shape: TreeShape,
        below: dict[TreeShape, Scaled],
        first: int,
        last: int,
        old: Scaled | None = None,
    ) -> Scaled:
        """A table with the sizes ``first`` to ``last`` filled in, those before from ``old``."""
        table, counted = self._caps(shape, last)
        if old is not None:
            table[:first] = old
        if self.kind == "tight":
            first = max(first, counted + 1)
        if self.features.is_real:
            first = max(first, shape.leaves + 1)
        if first <= last:
            rows = slice(first, last + 1)
            # Not below what the numbers are the rounded values of.
            above = 1.0 + (16.0 * np.arange(first, last + 1) + 64.0) * ROUNDING
            for form in self._forms(shape, below, first, last):
                table[rows] = table[rows].least(form[rows] * above)
        return table

    def _forms(
        self, shape: TreeShape, below: dict[TreeShape, Scaled], first: int, last: int
    ) -> list[Scaled]:
        left, right = (below[child] for child in children(shape))
        n, features, equal = self.n_classes, self.features, shape.left is shape.right
        forms = []
        if self.kind != "tight":
            sides, tests = (left, right, equal), pair_table(features, last)
            forms.append(chain_sums(*sides, n, features.real, tests, first, last))
        if self.kind != "chain-sum":
            budgeted = self.kind == "best" and not features.is_real
            rows = left[None], right[None]
            every, inner = sum_over_sizes(shape, rows, 0, features, n, first, last, budgeted)
            if len(inner):
                every = every.most(inner + alone(left, right, n, last + 1))
            forms.append(every * (0.5 if equal else 1.0) + Scaled.constant(n, 1))
        return forms

    def _caps(self, shape: TreeShape, m: int) -> tuple[Scaled, int]:
        """What no growth function exceeds, and up to which size every ``pi^c`` was counted."""
        two_parts = min(self.n_classes, shape.leaves) <= 2
        table = _labellings(self.n_classes, two_parts, m).copy()
        if two_parts or self.kind == "chain-sum":
            return table, 1
        counted = _counted_growth(shape, self.n_classes, self.features)
        if counted is None:
            return table, 1
        size = min(m, len(counted) - 1)
        table[1 : size + 1] = counted[1 : size + 1]
        return table, size


@lru_cache(maxsize=8)
def _labellings(n_classes: int, two_parts: bool, m: int) -> Scaled:
    """All labellings: ``n^k``, or those with at most two classes, ``n + n (n-1) (2^(k-1) - 1)``."""
    if not two_parts:
        return Scaled.powers(n_classes, m + 1)
    pairs = float(n_classes * (n_classes - 1))
    return (Scaled.powers(2, m + 1) * (pairs / 2)).minus(pairs - n_classes)


# -- one node ------------------------------------------------------------------------------------


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
    """``sum_k D_k (G_l G_r - n)`` of a node, its children a row of ``sides``, both directions."""
    # Budgeted: at most B(m) splits, the heaviest first; then, without real features, also the sum
    # of those that isolate no single example. With real features only the budget is never short.
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
        _sums.by_size(*arrays, splits, budgets, n, low, high, *every.arrays, *inner.arrays, first)
        first += len(splits)
    return every, inner


_split_table = lru_cache(maxsize=20)(node_split_table)


@lru_cache(maxsize=64)
def node_budgets(features: Features, size: int) -> FloatArray:
    """``B(m)`` for ``m = 0 .. size``."""
    return node_budget_table(features, np.arange(size + 1))


def rows_at(m: int) -> tuple[int, int]:
    """The first and last row of the part of the table of splits that has row ``m``."""
    if m < isqrt(_TABLE):
        return 2, isqrt(_TABLE) - 1
    rows = max(1, _TABLE >> m.bit_length())
    return m - m % rows, m - m % rows + rows - 1


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
    thresholds: int,
    tests: FloatArray,
    first: int,
    last: int,
) -> Scaled:
    """The chain lemma for sample sizes ``first`` to ``last``, ``tests`` by :func:`pair_table`."""
    sums = Scaled.zeros(last + 1)
    sides = (*left.arrays, *right.arrays, equal)
    _sums.chains(*sides, float(thresholds), tests, float(n_classes), *sums.arrays, first, last)
    return sums


@lru_cache(maxsize=64)
def pair_table(features: Features, last: int) -> FloatArray:
    """``B`` for sample sizes up to ``last``."""
    pairs = [float(pairs_of(features, m).categorical) for m in range(1, last + 1)]
    return np.array([0.0, *pairs])


# -- every number of parts on its own ------------------------------------------------------------


def _counted_growth(shape: TreeShape, n_classes: int, features: Features) -> Scaled | None:
    """``sum_c (n)_c pi^c`` by size, capped for every ``c``, as far as caps bind and time allows."""
    enough, size, counts = _quiet_size(shape, features), 16, None
    while _work(shape, n_classes, size) <= _PARTS_WORK:
        if size >= enough:
            parts, binding = _parts(shape, n_classes, features, size)
            counts = parts
            if binding + _QUIET <= size:
                break
        size *= 2
    if counts is None and size > 16:
        counts, _ = _parts(shape, n_classes, features, size // 2)
    return None if counts is None else _joined(counts, n_classes)


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


def _parts(shape: TreeShape, n_classes: int, features: Features, size: int) -> tuple[Scaled, int]:
    """``pi^c`` up to a sample size, a row for each ``c``, and the last size a cap binds at."""

    def key(part: TreeShape) -> tuple[object, ...]:
        return part, min(n_classes, part.leaves), features, size

    def compute(part: TreeShape, below: dict[TreeShape, tuple[Scaled, int]]) -> tuple[Scaled, int]:
        if part.is_leaf:
            return _one_part(1, size), 1
        left, right = children(part)
        most = min(n_classes, part.leaves)
        counts = _parts_of_node(part, most, below[left][0], below[right][0], features, size)
        _kept_parts.put(key(part), counts, (most + 1) * (size + 1))
        return counts

    return from_below(shape, lambda part: _kept_parts.get(key(part)), compute)


def _one_part(most: int, size: int) -> Scaled:
    """Zeros for every number of parts but one."""
    parts = Scaled.zeros(most + 1, size + 1)
    parts[1] = ONE
    return parts


def _parts_of_node(
    shape: TreeShape, most: int, left: Scaled, right: Scaled, features: Features, size: int
) -> tuple[Scaled, int]:
    values = _one_part(most, size)
    low, high = children(shape)
    binding = free = min(shape.leaves, size) if features.is_real else 1
    rows = slice(free + 1, size + 1)
    stirlings = _stirling_rows(size, 1 << most.bit_length())
    for c in range(2, most + 1):
        counts = stirlings[c].copy()
        if free < size:
            sums = Scaled.zeros(size + 1)
            for a, b, ways in merge_ways(low.leaves, high.leaves, c):
                sides = left[[a]], right[[b]]
                products, _ = sum_over_sizes(shape, sides, 0, features, 0.0, free + 1, size)
                sums += products * float(ways)
            counts[rows] = (sums * (0.5 if low is high else 1.0))[rows]
            binds = np.flatnonzero(stirlings[c].less_than(counts))
            binding = max(binding, int(binds.max(initial=0)))
            counts = counts.least(stirlings[c])
        values[c] = counts
        # A sample of c examples has one partition into c parts.
        values[c, c : c + 1] = ONE
    return values, binding


@lru_cache(maxsize=8)
def _stirling_rows(size: int, parts: int) -> list[Scaled]:
    """``S(m, c)`` for ``m = 0 .. size``; entry ``c`` of the list."""
    rows = [[0] * (size + 1) for _ in range(parts + 1)]
    rows[0][0] = 1
    for m in range(1, size + 1):
        for c in range(1, min(m, parts) + 1):
            rows[c][m] = c * rows[c][m - 1] + rows[c - 1][m - 1]
    return [Scaled.of_integers(row) for row in rows]


def _joined(parts: Scaled, n_classes: int) -> Scaled:
    """``G = sum_c (n)_c pi^c``."""
    total = parts[1] * float(n_classes)
    for c in range(2, len(parts)):
        total += parts[c] * Scaled.of_integers([perm(n_classes, c)])
    return total
