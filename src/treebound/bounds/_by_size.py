"""The growth function by part sizes: a table over all sample sizes for every subtree, kept.

With ``G = sum_c (n)_c pi^c`` a node is ``G(m) = n + 2^-[T_l=T_r] sum_k D_k (G_l(k) G_r(m-k) - n)``
(theory notes, section 1), one kernel call per subtree for all sample sizes. A table belongs to the
subtree, the classes and the features alone: another shape, or another sample size, continues it.

==============  ==========================================================================
kind            what a node takes
==============  ==========================================================================
``tight``       the sum over part sizes, ``D_k`` of the errata
``chain-sum``   the chain lemma, see :mod:`treebound.bounds._chain_sum`
``best``        the smaller of the sum within the node's budget ``B(m)`` and the chain lemma
==============  ==========================================================================

No kind exceeds the number of labellings with at most ``L`` classes. Every number is raised by a
bound on its rounding error, so that no growth function is rounded below its formula.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf

import numpy as np
from numpy.typing import NDArray

from treebound.bounds import _convolve
from treebound.bounds._cache import SizedCache, from_below
from treebound.bounds._chain_sum import chain_sums
from treebound.bounds._part_counts import counted_growth
from treebound.bounds._recursion import Features, children
from treebound.bounds._scaled import ROUNDING, Scaled, alone
from treebound.bounds.splits import node_budget_table, node_split_table
from treebound.shapes import TreeShape

FloatArray = NDArray[np.float64]
# Entries of the table of splits that are held at once.
_TABLE = 1 << 20
# The two parts of a split have the same features.
_SAME = np.zeros(1, dtype=np.int32)
# Numbers kept, 16 bytes each.
_kept: SizedCache[Scaled] = SizedCache(1 << 22)


def growth_by_size(
    shape: TreeShape, m: int, n_classes: int, features: Features, kind: str
) -> float:
    """Natural log of the growth function of a shape that is not a leaf, ``m >= 2``."""
    tables = _Tables(n_classes, features, kind)
    table = tables.kept(shape, m)
    if table is None:
        # The shape needs a single sample size, its subtrees all.
        below = tables.below(shape, m)
        table = tables.extended(shape, below, m, m)
    return table.log(m)


class _Tables:
    """The tables of one kind for some number of classes and some features."""

    def __init__(self, n_classes: int, features: Features, kind: str) -> None:
        self.n_classes = n_classes
        self.features = features
        self.kind = kind

    def kept(self, shape: TreeShape, m: int) -> Scaled | None:
        """The table of a shape if it reaches ``m``."""
        table = _kept.get(self._key(shape))
        return table if table is not None and len(table.mantissa) > m else None

    def of(self, shape: TreeShape, m: int) -> Scaled:
        """The table of a shape for 1 to ``m`` examples at least."""
        return from_below(
            shape,
            lambda part: self.kept(part, m),
            lambda part, below: self._compute(part, below, m),
        )

    def below(self, shape: TreeShape, m: int) -> dict[TreeShape, Scaled]:
        """The tables of both children for 1 to ``m`` examples at least."""
        few = len(shape.subshapes()) * m <= _kept.limit // 2
        if few and self.kind != "chain-sum":
            # All subtrees use one table of splits before the next one is made.
            until = _rows_at(2)[1]
            while until < m:
                for child in children(shape):
                    self.of(child, until)
                until = _rows_at(until + 1)[1]
        return {child: self.of(child, m) for child in children(shape)}

    def _key(self, shape: TreeShape) -> tuple[object, ...]:
        return shape, self.n_classes, self.features, self.kind

    def _compute(self, shape: TreeShape, below: dict[TreeShape, Scaled], m: int) -> Scaled:
        if shape.is_leaf:
            table = Scaled.constant(self.n_classes, m + 1)
        else:
            old = _kept.get(self._key(shape))
            table = self.extended(shape, below, 2 if old is None else len(old.mantissa), m, old)
        _kept.put(self._key(shape), table, m + 1)
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
        caps, counted = self._caps(shape, last)
        table = Scaled(caps.mantissa.copy(), caps.power.copy())
        if old is not None:
            table.mantissa[:first], table.power[:first] = old
        if self.kind == "tight":
            first = max(first, counted + 1)
        if self.features.is_real:
            first = max(first, shape.leaves + 1)
        if first <= last:
            for form in self._forms(shape, below, first, last):
                rows = slice(first, last + 1)
                table.mantissa[rows], table.power[rows] = Scaled(
                    table.mantissa[rows], table.power[rows]
                ).least(_raised(Scaled(form.mantissa[rows], form.power[rows]), first))
        return table

    def _forms(
        self, shape: TreeShape, below: dict[TreeShape, Scaled], first: int, last: int
    ) -> list[Scaled]:
        left, right = children(shape)
        forms = []
        if self.kind != "tight":
            chains = chain_sums(
                below[left], below[right], left is right, self.n_classes, self.features, first, last
            )
            forms.append(chains)
        if self.kind != "chain-sum":
            forms.append(self._sum(shape, below, first, last))
        return forms

    def _sum(
        self, shape: TreeShape, below: dict[TreeShape, Scaled], first: int, last: int
    ) -> Scaled:
        """The sum over part sizes, within the budget for ``best``."""
        left, right = children(shape)
        features, n = self.features, float(self.n_classes)
        least = (left.leaves, right.leaves) if features.is_real else (1, 1)
        # With real features only the budget is never short.
        budgeted = self.kind == "best" and not features.is_real
        one_sided = budgeted and not features.real
        sides = (*Scaled.stack([below[left]]), *Scaled.stack([below[right]]), _SAME, _SAME)
        every, inner = Scaled.zeros(last + 1), Scaled.zeros(last + 1 if one_sided else 0)
        while first <= last:
            start, until = _rows_at(first) if first < last else (first, last)
            splits = _split_table(features, start, min(until, last))[first - start :]
            budgets = np.full(len(splits), inf)
            if budgeted:
                budgets = node_budget_table(features, np.arange(first, first + len(splits)))
            _convolve.by_size(*sides, splits, budgets, n, *least, *every, *inner, first)
            first += len(splits)
        if one_sided:
            every = every.most(inner.plus(alone(below[left], below[right], n, last + 1)))
        return every.times(0.5 if left is right else 1.0).plus(Scaled.constant(n, 1))

    def _caps(self, shape: TreeShape, m: int) -> tuple[Scaled, int]:
        """What no growth function exceeds, and up to which size every ``pi^c`` was counted."""
        caps = _labellings(self.n_classes, min(self.n_classes, shape.leaves) <= 2, m)
        if min(self.n_classes, shape.leaves) <= 2 or self.kind == "chain-sum":
            return caps, 1
        counted = counted_growth(shape, self.n_classes, self.features)
        if counted is None:
            return caps, 1
        table = Scaled(caps.mantissa.copy(), caps.power.copy())
        size = min(m, len(counted.mantissa) - 1)
        rows = slice(1, size + 1)
        table.mantissa[rows], table.power[rows] = counted.mantissa[rows], counted.power[rows]
        return table, size


@lru_cache(maxsize=8)
def _labellings(n_classes: int, two_parts: bool, m: int) -> Scaled:
    """All labellings: ``n^k``, or those with at most two classes, ``n + n (n-1) (2^(k-1) - 1)``."""
    if not two_parts:
        return Scaled.powers(n_classes, m + 1)
    pairs = float(n_classes * (n_classes - 1))
    return Scaled.powers(2, m + 1).times(pairs / 2).minus(pairs - n_classes)


@lru_cache(maxsize=1024)
def _rows_at(m: int) -> tuple[int, int]:
    """The first and last row of the table of splits that has row ``m``."""
    start = 2
    while True:
        # As many rows as fill the table: r rows have (start + r) / 2 columns.
        rows = int((start * start + 8 * _TABLE) ** 0.5 - start) // 2
        until = start + max(rows, 1) - 1
        if m <= until:
            return start, until
        start = until + 1


@lru_cache(maxsize=4)
def _split_table(features: Features, first: int, last: int) -> FloatArray:
    return node_split_table(features, first, last)


def _raised(form: Scaled, first: int) -> Scaled:
    """The numbers, not below what they are the rounded values of."""
    m = np.arange(first, first + len(form.mantissa))
    return form.times(1.0 + (16.0 * m + 64.0) * ROUNDING)
