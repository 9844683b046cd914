"""Encoded columns: what every room below the border reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.data.columns import Column
from treebound.data.frames import UNKNOWN

__all__ = ["Matrix"]


@dataclass(frozen=True, eq=False)
class Matrix:
    """The columns of a table, encoded and checked.

    A real value is itself, float64 or float32 as it came, NaN where missing, never infinite. A
    category is its code, in the smallest integers: -1 is missing, -2 a category that the column
    does not know. Made by :func:`treebound.data.learn` and :func:`treebound.data.read`.

    Attributes
    ----------
    columns : tuple of Column
        What each column is; one that has missing values here says so.
    values : tuple of ndarray
        One array a column.
    dense : ndarray or None
        All values in one array, where every column is real and of one type.
    """

    columns: tuple[Column, ...]
    given: tuple[NDArray[Any], ...] = ()
    dense: NDArray[np.floating[Any]] | None = None

    @cached_property
    def values(self) -> tuple[NDArray[Any], ...]:
        """One array a column."""
        return self.given if self.dense is None else tuple(self.dense.T)

    @cached_property
    def complete(self) -> bool:
        """Whether no value is missing, as far as the columns tell."""
        return not any(column.missing for column in self.columns)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.given[0] if self.dense is None else self.dense)

    def part(self, rows: NDArray[Any]) -> Matrix:
        """Some of the rows."""
        if self.dense is not None:
            return Matrix(self.columns, dense=self.dense[rows])
        return Matrix(self.columns, tuple(column[rows] for column in self.given))

    def check_codes(self) -> None:
        """Raise a ValueError where a code stands for no category of its column."""
        if self.dense is not None:
            return
        for column, values in zip(self.columns, self.given, strict=True):
            last = len(column.categories or ()) - 1
            whole = values.dtype.kind == "i"
            if column.kind == "real" or not len(values):
                continue
            if not (whole and values.min() >= UNKNOWN and values.max() <= last):
                raise ValueError(
                    f"The codes of the {column.kind} column {column.name!r} must be whole numbers "
                    f"from -2 to {last}. Got {values.min()} to {values.max()} instead."
                )

    @staticmethod
    def stacked(parts: Sequence[Matrix]) -> Matrix:
        """The rows of several matrices of the same columns, one after the other."""
        columns = tuple(
            same[0].with_missing(any(column.missing for column in same))
            for same in zip(*(part.columns for part in parts), strict=True)
        )
        if all(part.dense is not None for part in parts):
            dense = np.concatenate([part.dense for part in parts if part.dense is not None])
            return Matrix(columns, dense=dense)
        values = zip(*(part.values for part in parts), strict=True)
        return Matrix(columns, tuple(np.concatenate(column) for column in values))
