"""The oracle: every partition a shape realizes on a given sample, exactly.

=============  ==================================================================================
``S``          a sample of m rows; T a shape
``P^c_T(S)``   the c-partitions of S that trees of shape T can make, :func:`realizable_partitions`
``pi^c_T(m)``  the most of them over all samples of m rows; a sample gives a lower bound
rows, mask     a set of rows as the bits of an int
test           the mask of the rows for which it is true; never row 0, as both directions are tried
one-sided      a test with the same result for all rows, mask 0; free at every node (erratum 10)
=============  ==================================================================================

Only the partitions that a class of trees can make of these rows matter, so a column is the set of
its tests. The cost grows exponentially with the leaves; 12 rows and 6 leaves take little time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product
from math import perm
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treebound._utils.validation import InWords, as_int, invalid
from treebound.bounds._checks import check_shape
from treebound.shapes import TreeShape

Partition = tuple[tuple[int, ...], ...]
"""The parts of a sample as rows in ascending order, the part of the first row first."""

KINDS = ("real", "ordinal", "nominal")
Masks = tuple[int, ...]
# Above this many rows a table of all subsets is too large.
_TABLE_ROWS = 20


def realizable_partitions(
    X: ArrayLike, kinds: Sequence[str], shape: TreeShape, c: int
) -> frozenset[Partition]:
    """Definition of realizable partitions: all c-partitions of this sample the shape can make.

    Parameters
    ----------
    X : array of shape (m, d)
        The sample; only the order of real and ordinal values and the equality of nominal ones
        matter.
    kinds : sequence of {"real", "ordinal", "nominal"}
        The kind of each column: threshold tests on the first two, ``x == category`` on the third.
        A node may also send all its rows to one side (erratum 10), as a real feature always can,
        and a categorical one that declares a category the sample lacks.
    shape : TreeShape
        The shape of the trees.
    c : int
        Number of parts.

    Returns
    -------
    frozenset of tuple of tuple of int
        Each partition is a tuple of parts, each part a tuple of rows in ascending order; the parts
        are in the order of their first row.

    Raises
    ------
    ValueError
        If the sample is empty or has missing values, or ``kinds`` does not match its columns.

    Examples
    --------
    >>> import treebound as tb
    >>> stump = tb.TreeShape.parse("(..)")
    >>> X = [[1.0, 0], [2.0, 1], [3.0, 0]]
    >>> sorted(tb.bounds.realizable_partitions(X, ["real", "nominal"], stump, 2))
    [((0,), (1, 2)), ((0, 1), (2,)), ((0, 2), (1,))]
    """
    where = "realizable_partitions"
    m, tests = _checked(X, kinds, shape, where)
    masks = partition_masks(tests, m, shape, as_int("c", where, c, 1))
    return frozenset(tuple(sorted(tuple(rows_of(part)) for part in parts)) for parts in masks)


def realizable_growth(X: ArrayLike, kinds: Sequence[str], shape: TreeShape, n_classes: int) -> int:
    """Labellings of this sample the shape can make, ``sum_c (n)_c |P^c_T(S)|``: at most ``tau``."""
    where = "realizable_growth"
    m, tests = _checked(X, kinds, shape, where)
    return growth_masks(tests, m, shape, as_int("n_classes", where, n_classes, 1))


def _checked(
    X: ArrayLike, kinds: Sequence[str], shape: TreeShape, where: str
) -> tuple[int, frozenset[int]]:
    """Number of rows and the tests of the whole sample."""
    check_shape(shape, where)
    table = np.asarray(X)
    if table.ndim != 2 or len(table) == 0:
        raise invalid("X", where, "an array of shape (m, d) with m >= 1", table.shape)
    if isinstance(kinds, str) or len(kinds) != table.shape[1]:
        must = f"the kind of each of the {table.shape[1]} columns"
        raise invalid("kinds", where, must, kinds)
    for i, kind in enumerate(kinds):
        if kind not in KINDS:
            raise invalid("kinds", where, f"among {KINDS}", InWords(f"{kind!r} for column {i}"))
    if table.dtype.kind == "f" and np.isnan(table).any():
        row, column = np.argwhere(np.isnan(table))[0]
        place = InWords(f"nan in row {row}, column {column}")
        raise invalid("X", where, "a table of no missing values", place)
    columns = zip(table.T, kinds, strict=True)
    tests: frozenset[int] = frozenset({0})
    return len(table), tests.union(*(column_tests(values, kind) for values, kind in columns))


def column_tests(values: NDArray[Any], kind: str) -> frozenset[int]:
    """The tests of a column, the one-sided test among them."""
    everyone = (1 << len(values)) - 1
    tests = {0}
    for level in np.unique(values):
        yes = values == level if kind == "nominal" else values <= level
        mask = sum(1 << int(i) for i in np.flatnonzero(yes))
        tests.add(everyone ^ mask if mask & 1 else mask)
    return frozenset(tests)


def rows_of(mask: int) -> list[int]:
    """The rows of a mask."""
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


# --- partitions as algebra on masks -----------------------------------------------------------


def partition_masks(tests: Iterable[int], m: int, shape: TreeShape, c: int) -> set[Masks]:
    """All c-partitions, as sorted tuples of masks, from the tests of a sample of m rows."""
    everyone = (1 << m) - 1
    if c == 2 and m <= _TABLE_ROWS:
        ones = _Dichotomies(tests, m).of(shape, everyone).tolist()
        return {(some, everyone ^ some) for some in ones if 0 < some < everyone ^ some}
    return {parts for parts in _Partitions(tests, c).of(shape, everyone) if len(parts) == c}


def count_masks(tests: Iterable[int], m: int, shape: TreeShape, c: int) -> int:
    """How many :func:`partition_masks` gives."""
    if c == 2 and m <= _TABLE_ROWS:  # all but the two one-sided ones come with their opposite
        return (len(_Dichotomies(tests, m).of(shape, (1 << m) - 1)) - 2) // 2
    return len(partition_masks(tests, m, shape, c))


def growth_masks(tests: Iterable[int], m: int, shape: TreeShape, n_classes: int) -> int:
    """Number of labellings with ``n_classes`` labels, from the tests of a sample of m rows."""
    most = min(m, n_classes, shape.leaves)
    if most <= 2:
        pairs = count_masks(tests, m, shape, 2) if most == 2 else 0
        return n_classes + n_classes * (n_classes - 1) * pairs
    parts = _Partitions(tests, most).of(shape, (1 << m) - 1)
    return sum(perm(n_classes, len(partition)) for partition in parts)


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
            result = self.cached[key] = set()
            for low, high in _sides(self.tests, shape, rows):
                self._join(self.of(shape.left, low), self.of(shape.right, high), result)
        return self.cached[key]

    def _join(self, lefts: set[Masks], rights: set[Masks], result: set[Masks]) -> None:
        """Add every union of parts from both sides (the set Q^c of the paper's appendix)."""
        for left, right in product(lefts, rights):
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
        for low, high in _sides(self.tests, shape, rows):
            seen[self.of(shape.left, low)[:, None] | self.of(shape.right, high)] = True
        return np.flatnonzero(seen)


def _sides(tests: Iterable[int], shape: TreeShape, rows: int) -> list[tuple[int, int]]:
    """Rows and tests of the two children after each test, in both directions if they differ."""
    lowest = rows & -rows
    # The side without the lowest row names the split, for any test and direction that makes it.
    sides = {rows & ~test if rows & test & lowest else rows & test for test in tests}
    splits = [(rows ^ side, side) for side in sides]
    return splits if shape.left is shape.right else splits + [split[::-1] for split in splits]


@cache
def _joins(a: int, b: int, most: int) -> tuple[tuple[int, ...], ...]:
    """Ways to give b parts to a parts: each to a part of its own (-1) or to one not yet taken."""
    result: list[tuple[int, ...]] = [()]
    for _ in range(b):
        result = [
            (*taken, to) for taken in result for to in range(-1, a) if to < 0 or to not in taken
        ]
    return tuple(joins for joins in result if a + joins.count(-1) <= most)
