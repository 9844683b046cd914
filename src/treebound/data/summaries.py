"""Summaries of a table: rows of each class, and the range and counts of each column.

Every engine knows them after its first pass over the rows, and all engines find the same: numbers
are compared as float64, categories by type and text, so that ``1`` is ``1.0`` and ``-0.0`` is 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from hashlib import blake2b
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils._pool import blocks, each
from treebound.data._factorize import summarise_numbers
from treebound.data.columns import Column
from treebound.data.matrix import Matrix
from treebound.data.raw import count_of_codes
from treebound.data.weights import exact_sum


@dataclass(frozen=True)
class ColumnSummary:
    """Range, missing values and category counts of a column; those of parts can be added."""

    low: float = inf  # the least value of a column of numbers
    high: float = -inf
    missing: int = 0
    counts: Mapping[Any, int] = field(default_factory=dict)  # rows of each category that occurs
    at_low: int = 0  # rows with the least value, and with the greatest
    at_high: int = 0

    @classmethod
    def of_numbers(cls, values: NDArray[Any]) -> ColumnSummary:
        """The summary of numbers; NaN is missing."""
        missing = int(np.isnan(values).sum())
        if missing == len(values):
            return cls(missing=missing)
        low, high = np.fmin.reduce(values), np.fmax.reduce(values)
        at_low, at_high = (int(np.count_nonzero(values == end)) for end in (low, high))
        return cls(float(low), float(high), missing, at_low=at_low, at_high=at_high)

    @classmethod
    def of_codes(
        cls, column: Column, codes: NDArray[Any], rows: NDArray[np.int64] | None = None
    ) -> ColumnSummary:
        """The summary of categories, of one row or several each; None counts unknown ones."""
        names = (None, None, *(column.categories or ()))
        sums = np.bincount(codes.astype(np.int64) + 2, rows, minlength=2).astype(np.int64).tolist()
        counts = {names[at]: n for at, n in enumerate(sums) if n and at != 1}
        return cls(missing=sums[1], counts=counts)

    def __add__(self, other: ColumnSummary) -> ColumnSummary:
        counts = dict(self.counts)
        for category, rows in other.counts.items():
            counts[category] = counts.get(category, 0) + rows
        low, high = min(self.low, other.low), max(self.high, other.high)
        return ColumnSummary(
            low,
            high,
            self.missing + other.missing,
            counts,
            sum(part.at_low for part in (self, other) if part.low == low),
            sum(part.at_high for part in (self, other) if part.high == high),
        )

    def words(self) -> str:
        """The summary as a text that is the same in every engine."""
        ends = (float(value + 0.0).hex() for value in (self.low, self.high))  # -0.0 is 0.0
        counts = sorted((_text(category), rows) for category, rows in self.counts.items())
        return repr((*ends, self.at_low, self.at_high, self.missing, counts))


def _text(category: Any) -> str:
    """The type and the text of a category."""
    if category is None:
        return "unknown"
    if isinstance(category, bool | np.bool_):
        return f"bool {bool(category)}"
    if isinstance(category, int | float | np.number):
        return f"number {float(category + 0.0).hex()}"
    return f"text {category}"


@dataclass(frozen=True)
class TargetSummary:
    """The summary of a target of numbers; those of parts can be added, in any order."""

    values: ColumnSummary = field(default_factory=ColumnSummary)
    total: Fraction = Fraction(0)  # without rounding

    @classmethod
    def of(cls, y: NDArray[np.float64]) -> TargetSummary:
        """The summary of finite numbers."""
        return cls(ColumnSummary.of_numbers(y), exact_sum(y)) if len(y) else cls()

    def __add__(self, other: TargetSummary) -> TargetSummary:
        return TargetSummary(self.values + other.values, self.total + other.total)


@dataclass(frozen=True)
class TableSummary:
    """Rows of each class, in the order of the classes, and the summary of each column."""

    class_rows: tuple[int, ...]
    columns: tuple[ColumnSummary, ...]
    target_sum: float | None = None  # of a target of numbers, rounded once: in any order the same

    @classmethod
    def of(cls, matrix: Matrix, codes: NDArray[np.integer[Any]], n_classes: int) -> TableSummary:
        """The summary of rows in memory, of weight zero none."""
        rows = count_of_codes(codes, n_classes).tolist()
        return cls(tuple(rows), column_summaries(matrix))

    def with_target(self, target: TargetSummary) -> TableSummary:
        """The summary with a target of numbers, which is like one more column."""
        columns = (*self.columns, target.values)
        return replace(self, columns=columns, target_sum=float(target.total))

    def hashed(self, salt: int) -> int:
        """A hash of a salt and the summary, of 53 bits: a whole number that JSON can hold."""
        state = blake2b(digest_size=8)
        state.update(repr((salt, sum(self.class_rows), self.class_rows)).encode())
        if self.target_sum is not None:
            state.update(float(self.target_sum + 0.0).hex().encode())
        for column in self.columns:
            state.update(b"\n" + column.words().encode("utf-8", "surrogatepass"))
        return int.from_bytes(state.digest(), "little") >> 11


def column_summaries(matrix: Matrix) -> tuple[ColumnSummary, ...]:
    """The summary of each column."""
    if matrix.dense is not None and matrix.n_rows:  # all at once, in the order of memory
        return _dense_summaries(matrix.dense)
    columns = zip(matrix.columns, matrix.values, strict=True)
    return tuple(each(lambda column: _column_summary(*column), columns))


def _dense_summaries(dense: NDArray[Any]) -> tuple[ColumnSummary, ...]:
    """The summaries of the columns of a matrix of numbers."""

    def extremes(ends: tuple[int, int]) -> tuple[NDArray[Any], ...]:
        width = dense.shape[1]
        low, high = np.full(width, inf), np.full(width, -inf)
        rows = np.zeros((3, width), dtype=np.int64)
        summarise_numbers(dense[slice(*ends)], low, high, rows)
        return low, high, *rows

    lows, highs, at_low, at_high, missing = (
        np.array(part) for part in zip(*each(extremes, blocks(*dense.shape)), strict=True)
    )
    low, high = lows.min(axis=0), highs.max(axis=0)
    at_low = np.where(lows == low, at_low, 0).sum(axis=0)
    at_high = np.where(highs == high, at_high, 0).sum(axis=0)
    return tuple(
        ColumnSummary(missing=n)
        if n == len(dense)
        else ColumnSummary(float(a), float(b), n, at_low=int(at_a), at_high=int(at_b))
        for a, b, n, at_a, at_b in zip(
            low, high, missing.sum(axis=0).tolist(), at_low, at_high, strict=True
        )
    )


def _column_summary(column: Column, values: NDArray[Any]) -> ColumnSummary:
    """The summary of a column; an identifier, which no tree splits on, has an empty one."""
    if column.identifier:
        return ColumnSummary()
    if column.kind == "real":
        return ColumnSummary.of_numbers(values)
    return ColumnSummary.of_codes(column, values)


def merged(parts: Sequence[tuple[ColumnSummary, ...]]) -> tuple[ColumnSummary, ...]:
    """The summaries of the columns of all parts."""
    return tuple(sum(same, ColumnSummary()) for same in zip(*parts, strict=True))
