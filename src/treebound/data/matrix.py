"""Encoded columns, the input of growing and routing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.frozen import set_fields
from treebound._utils.jobs import take
from treebound.data.columns import Column, may_miss
from treebound.data.finite import missing_columns
from treebound.data.raw import MISSING, UNKNOWN, smallest_ints

# A part of a matrix with fewer values is copied.
_MANY_VALUES = 2**12


def type_of(column: Column) -> np.dtype[Any]:
    """Maximum number of bytes of the values of a column."""
    return np.dtype(
        np.float64 if column.kind == "real" else smallest_ints(len(column.categories or ()))
    )


@dataclass(frozen=True, eq=False)
class Matrix:
    """The columns of a table, encoded and checked.

    Real values are float64 or float32, NaN where missing, never infinite. Categories are codes of
    the smallest integer type: -1 is missing, -2 an unknown category.
    """

    columns: tuple[Column, ...]  # ``missing`` is set where values are missing here
    arrays: tuple[NDArray[Any], ...] = ()  # one per column; empty if there is ``dense``
    dense: NDArray[np.floating[Any]] | None = None  # of real columns of the same type
    handle_unknown: str = "other"  # how routing handles unknown categories: or "majority", "stop"
    # Only between reading and routing: by column of ``dense`` whether it is not checked yet that
    # its values are finite, nor marked that some are missing.
    unchecked: tuple[bool, ...] = ()

    @cached_property
    def values(self) -> tuple[NDArray[Any], ...]:
        """One array per column."""
        return self.arrays if self.dense is None else tuple(self.dense.T)

    @cached_property
    def complete(self) -> bool:
        """Return True if no column is marked as having missing values."""
        return not any(column.missing for column in self.columns)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.arrays[0] if self.dense is None else self.dense)

    @cached_property
    def kernel_cache(self) -> dict[str, Any]:
        """Data that kernels derive from the values and reuse, such as the codes of bins.

        It has no effect on results, and is not copied or pickled with the matrix.
        """
        return {}

    def checked(self) -> Matrix:
        """The matrix with marks of missing values; infinity is an error."""
        if self.dense is None or not self.unchecked:
            return self
        missing = missing_columns(self.dense, [c.name for c in self.columns], self.unchecked)
        return Matrix(may_miss(self.columns, missing), dense=self.dense)

    @staticmethod
    def empty(columns: Sequence[Column]) -> Matrix:
        """A matrix of no rows."""
        return Matrix(tuple(columns), tuple(np.empty(0, dtype=type_of(c)) for c in columns))

    def select(self, names: Sequence[str]) -> Matrix:
        """The columns with these names, in this order."""
        place_of = {column.name: at for at, column in enumerate(self.columns)}
        if list(names) == list(place_of):
            return self
        places = [place_of[name] for name in names]
        columns = tuple(self.columns[at] for at in places)
        if self.dense is not None:
            return Matrix(columns, dense=self.dense[:, places])
        return Matrix(columns, tuple(self.arrays[at] for at in places))

    def part(self, rows: NDArray[Any] | slice) -> Matrix:
        """Select rows by an index array, a slice or a mask; see :class:`MatrixPart` for a mask."""
        if isinstance(rows, np.ndarray) and rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
            if self.n_rows * len(self.columns) >= _MANY_VALUES:
                return MatrixPart(self, rows)
        return self.copy_of(rows)

    def copy_of(self, rows: NDArray[Any] | slice) -> Matrix:
        """Select rows by an index array or a slice."""
        if self.dense is None:
            values = tuple(column[rows] for column in self.arrays)
            return Matrix(self.columns, values, handle_unknown=self.handle_unknown)
        if isinstance(rows, slice):
            dense = self.dense[rows]
        elif self.dense.flags.c_contiguous:
            dense = take(self.dense, rows)  # several times faster than an index
        else:
            dense = self.dense.T.take(rows, axis=1).T
        return Matrix(self.columns, dense=dense, handle_unknown=self.handle_unknown)

    def without_identifiers(self) -> Matrix:
        """The matrix to grow trees on: all values of identifiers are missing."""
        columns = self.columns
        if not any(column.identifier and column.is_read for column in columns):
            return self
        blank = np.full(self.n_rows, MISSING, dtype=np.int8)
        values = tuple(
            blank if column.identifier else column_values
            for column, column_values in zip(columns, self.values, strict=True)
        )
        stripped = tuple(c.without_values() if c.identifier else c for c in columns)
        return Matrix(stripped, values, handle_unknown=self.handle_unknown)

    def check_codes(self) -> None:
        """Raise a ValueError if a code of a category is out of range."""
        if self.dense is not None:
            return
        for column, values in zip(self.columns, self.arrays, strict=True):
            last = len(column.categories or ()) - 1
            whole = values.dtype.kind == "i"
            if column.kind == "real" or not len(values):
                continue
            if not (whole and values.min() >= UNKNOWN and values.max() <= last):
                raise ValueError(
                    f"The codes of the {column.kind} column {column.name!r} must be whole numbers "
                    f"from -2 to {last}. Got {values.min()} to {values.max()} instead."
                )

    def __reduce__(self) -> tuple[Any, ...]:
        return Matrix, (self.columns, self.arrays, self.dense, self.handle_unknown)

    @staticmethod
    def stacked(parts: Sequence[Matrix]) -> Matrix:
        """Join matrices with the same columns by rows."""
        columns = tuple(
            same[0].with_missing(any(column.missing for column in same))
            for same in zip(*(part.columns for part in parts), strict=True)
        )
        if all(part.dense is not None for part in parts):
            dense = np.concatenate([part.dense for part in parts if part.dense is not None])
            return Matrix(columns, dense=dense, handle_unknown=parts[0].handle_unknown)
        values = zip(*(part.values for part in parts), strict=True)
        joined = tuple(np.concatenate(column) for column in values)
        return Matrix(columns, joined, handle_unknown=parts[0].handle_unknown)


class MatrixPart(Matrix):
    """Some rows of a matrix, in their order; copied only when their values are used.

    Growing and routing read the rows of the whole matrix.
    """

    whole: Matrix
    rows: NDArray[np.intp]

    def __init__(self, whole: Matrix, rows: NDArray[np.intp]) -> None:
        if isinstance(whole, MatrixPart):
            rows, whole = whole.rows[rows], whole.whole
        policy = whole.handle_unknown
        set_fields(self, columns=whole.columns, handle_unknown=policy, whole=whole, rows=rows)

    @cached_property
    def _copied(self) -> Matrix:
        return self.whole.copy_of(self.rows)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """One array per column; empty if there is ``dense``."""
        return self._copied.arrays

    @property
    def dense(self) -> NDArray[np.floating[Any]] | None:
        """All values in one array, if every column is real and of the same type."""
        return self._copied.dense

    @property
    def n_rows(self) -> int:
        return len(self.rows)

    def copied(self, places: NDArray[np.integer[Any]]) -> Matrix:
        """The rows as a matrix of which only some columns are read; if few, others are blank."""
        few = self.n_rows * len(self.columns) < _MANY_VALUES
        if few or 2 * len(places) >= len(self.columns):
            return self._copied
        values = [np.broadcast_to(np.int8(0), self.n_rows)] * len(self.columns)
        for at in places.tolist():
            values[at] = take(self.whole.values[at], self.rows)
        return Matrix(self.columns, tuple(values), handle_unknown=self.handle_unknown)

    def in_place(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the rows in their places among all rows, zero elsewhere."""
        every = np.zeros(self.whole.n_rows, dtype=values.dtype)
        every[self.rows] = values
        return every

    def check_codes(self) -> None:
        """Nothing: those of the whole matrix were checked."""
