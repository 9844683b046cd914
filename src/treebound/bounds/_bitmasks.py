"""Partitions of a sample as algebra on bits; what :mod:`~treebound.bounds.enumerate` stands on.

=============  ==================================================================================
rows, mask     a set of rows as the bits of an int
test           the mask of the rows that answer yes; without row 0, since directions are both tried
one-sided      a test that all rows of the sample answer alike, mask 0
split          two disjoint masks; one may be empty
=============  ==================================================================================

Only the partitions that a class of trees can make of these rows matter, so a column is the set of
its tests.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import product
from math import perm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.shapes import TreeShape

Masks = tuple[int, ...]
# Above this many rows a table of all subsets is too large.
_TABLE_ROWS = 20


def column_tests(values: NDArray[Any], kind: str, codes: int | None = None) -> frozenset[int]:
    """The tests of a column; with ``codes`` exactly those of that many declared categories.

    Without ``codes`` the one-sided test is in the set: a real feature always has it.
    """
    everyone = (1 << len(values)) - 1
    if codes is None:
        levels = np.unique(values)
    else:
        levels = np.arange(codes - 1 if kind == "ordinal" else codes)
    yes = [_mask(values == v if kind == "nominal" else values <= v) for v in levels]
    if codes is None:
        yes.append(0)
    return frozenset(everyone ^ mask if mask & 1 else mask for mask in yes)


def partition_masks(tests: Iterable[int], m: int, shape: TreeShape, c: int) -> set[Masks]:
    """All c-partitions, as sorted tuples of masks, from the tests of a sample of m rows."""
    everyone = (1 << m) - 1
    if c == 2 and m <= _TABLE_ROWS:
        ones = _Dichotomies(tests, m).of(shape, everyone).tolist()
        return {(some, everyone ^ some) for some in ones if 0 < some < everyone ^ some}
    return {parts for parts in _Partitions(tests, c).of(shape, everyone) if len(parts) == c}


def count_masks(tests: Iterable[int], m: int, shape: TreeShape, c: int) -> int:
    """How many :func:`partition_masks` gives."""
    if c > min(m, shape.leaves):
        return 0
    if c == 1:
        return 1
    if c == 2 and m <= _TABLE_ROWS:  # all but the two one-sided ones come with their opposite
        return (len(_Dichotomies(tests, m).of(shape, (1 << m) - 1)) - 2) // 2
    return len(partition_masks(tests, m, shape, c))


def growth_masks(tests: Iterable[int], m: int, shape: TreeShape, n_classes: int) -> int:
    """Number of labellings with ``n_classes`` labels, from the tests of a sample of m rows."""
    most = min(m, n_classes, shape.leaves)
    if most <= 2:
        counts = {c: count_masks(tests, m, shape, c) for c in range(1, most + 1)}
    else:
        counts = dict.fromkeys(range(1, most + 1), 0)
        for parts in _Partitions(tests, most).of(shape, (1 << m) - 1):
            counts[len(parts)] += 1
    return sum(count * perm(n_classes, c) for c, count in counts.items())


class _Partitions:
    """Partitions of any set of rows by any shape into at most ``most`` parts, cached."""

    def __init__(self, tests: Iterable[int], most: int) -> None:
        self.tests = sorted(tests)
        self.most = most
        self.cached: dict[tuple[TreeShape, int], set[Masks]] = {}

    def of(self, shape: TreeShape, rows: int) -> set[Masks]:
        if rows & (rows - 1) == 0 or shape.left is None or shape.right is None:
            return {(rows,)} if rows else {()}
        key = (shape, rows)
        if key not in self.cached:
            result: set[Masks] = set()
            for yes, no in splits(self.tests, rows):
                self._join(self.of(shape.left, yes), self.of(shape.right, no), result)
                if shape.left is not shape.right:
                    self._join(self.of(shape.left, no), self.of(shape.right, yes), result)
            self.cached[key] = result
        return self.cached[key]

    def _join(self, ones: set[Masks], others: set[Masks], result: set[Masks]) -> None:
        """Add every union of parts from both sides (the set Q^c of the paper's appendix)."""
        for left, right in product(ones, others):
            for joins in _joins(len(left), len(right), self.most):
                parts = list(left)
                for part, to in zip(right, joins, strict=True):
                    if to < 0:
                        parts.append(part)
                    else:
                        parts[to] |= part
                result.add(tuple(sorted(parts)))


class _Dichotomies:
    """The sets of rows that trees of a shape can label 1, the rest 0: two parts, but faster."""

    def __init__(self, tests: Iterable[int], m: int) -> None:
        self.tests = sorted(tests)
        self.m = m
        self.cached: dict[tuple[TreeShape, int], NDArray[np.int64]] = {}

    def of(self, shape: TreeShape, rows: int) -> NDArray[np.int64]:
        """Masks within ``rows``."""
        key = (shape, rows)
        if key not in self.cached:
            self.cached[key] = self._masks(shape, rows)
        return self.cached[key]

    def _masks(self, shape: TreeShape, rows: int) -> NDArray[np.int64]:
        if rows & (rows - 1) == 0 or shape.left is None or shape.right is None:
            return np.unique(np.array([0, rows], dtype=np.int64))
        seen = np.zeros(1 << self.m, dtype=bool)
        for yes, no in splits(self.tests, rows):
            sides = [(yes, no)] if shape.left is shape.right else [(yes, no), (no, yes)]
            for low, high in sides:
                masks = self.of(shape.left, low)[:, None]
                seen[masks | self.of(shape.right, high)] = True
        return np.flatnonzero(seen)


def splits(tests: Iterable[int], rows: int) -> list[tuple[int, int]]:
    """The different ways the tests divide ``rows``, each once; one side may be empty."""
    lowest = rows & -rows
    # The side without the lowest row names the split, for any test and direction that makes it.
    sides = {rows & ~test if rows & test & lowest else rows & test for test in tests}
    return [(rows ^ side, side) for side in sides]


@cache
def _joins(a: int, b: int, most: int) -> tuple[tuple[int, ...], ...]:
    """Ways to give b parts to a parts: each to a part of its own (-1) or to one not yet taken."""
    result: list[tuple[int, ...]] = [()]
    for _ in range(b):
        result = [
            (*taken, to) for taken in result for to in range(-1, a) if to < 0 or to not in taken
        ]
    return tuple(joins for joins in result if a + joins.count(-1) <= most)


def _mask(rows: NDArray[np.bool_]) -> int:
    return sum(1 << int(i) for i in np.flatnonzero(rows))
