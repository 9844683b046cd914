"""Hashes of rows, and a sketch of them, to recognise rows that were used for fitting.

A hash is made of the values and the class of a row, not of their codes, so it depends neither on
the order of named columns nor on batches, libraries or the order of categories. Numbers count with
their first six significant digits, so it does not depend on their precision either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import nan
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from treebound._utils._pool import blocks, each
from treebound.data._row_hashes import add_codes, add_rows, finish, text_words
from treebound.data.frames import Table
from treebound.data.matrix import Matrix
from treebound.data.raw import as_float

Words = NDArray[np.uint64]

_LABEL, _POSITION, _NAME = b"label:", b"position:", b"name:"
# The words of a category that is not known and of a missing value.
_UNKNOWN, _MISSING = text_words([b"unknown:"])[0], np.uint64(0x7FF8_0000_7FF8_0000)


def row_hashes(
    X: Table | Matrix,
    classes: NDArray[Any],
    y: NDArray[np.int32],
    *,
    names: Sequence[str] | None,
    exact: bool = False,
) -> Words:
    """Return a hash of the values and the class of each row.

    Numbers are rounded to six significant digits unless ``exact``.
    """
    hashes = np.zeros(len(y), dtype=np.uint64)
    terms = _words(classes.tolist(), exact) * _keys(_LABEL, [""])[0]
    of_labels = np.concatenate([np.zeros(2, dtype=np.uint64), terms])
    width = X.shape[1] if isinstance(X, Table) else len(X.columns)
    keys = _position_keys(width) if names is None else _keys(_NAME, names)
    if names is not None and not (isinstance(X, Table) and X.names is None):
        X = X.select(names)
    dense = X.floats() if isinstance(X, Table) else X.dense
    # numbers that are stored row by row with their keys, and codes with the terms of categories
    numbers: list[tuple[NDArray[Any], Words]] = []
    codes: list[tuple[NDArray[Any], Words]] = [(y, of_labels)]
    if dense is not None and dense.flags.c_contiguous:
        numbers.append((dense, keys))
    else:
        for at, (values, categories) in enumerate(_columns(X)):
            if categories is None:
                numbers.append((np.ascontiguousarray(values)[:, None], keys[at : at + 1]))
            else:
                words = np.concatenate([[_UNKNOWN, _MISSING], _words(categories, exact)])
                codes.append((values, words * keys[at]))

    def hash_block(ends: tuple[int, int]) -> None:
        block = slice(*ends)
        for values, its_keys in numbers:
            add_rows(values[block], its_keys, hashes[block], exact)
        for values, its_terms in codes:
            add_codes(values[block], its_terms, hashes[block])
        finish(hashes[block])

    each(hash_block, blocks(len(y), width))
    return hashes


def _columns(X: Table | Matrix) -> Iterator[tuple[NDArray[Any], Sequence[Any] | None]]:
    """Numbers, or codes and their categories."""
    if isinstance(X, Matrix):
        for column, values in zip(X.columns, X.values, strict=True):
            yield values, None if column.kind == "real" else column.categories or ()
        return
    for at in range(X.shape[1]):
        raw = X.column(at)
        if raw.categories is not None:
            yield raw.values, raw.categories
        elif raw.values.dtype == object:  # integers past 64 bits
            distinct, codes = raw.distinct()
            yield codes.astype(np.int32), distinct
        else:
            yield raw.floats(), None


def _keys(kind: bytes, names: Any) -> Words:
    """An odd number for each name."""
    return text_words([kind + _utf8(name) for name in names]) | np.uint64(1)


@lru_cache(maxsize=8)
def _position_keys(width: int) -> Words:
    return _keys(_POSITION, map(str, range(width)))


def _words(values: Sequence[Any], exact: bool) -> Words:
    """Return a word for each value: for numbers, booleans and texts of such, that of the number.

    So a row has one hash, whether a file has the types of its columns or texts only.
    """
    numbers = np.array([_number(value) for value in values], dtype=np.float64)
    of_numbers = np.zeros(len(numbers), dtype=np.uint64)
    add_rows(numbers[:, None], np.ones(1, dtype=np.uint64), of_numbers, exact)
    words = text_words([_utf8(str(value)) for value in values])
    return np.where(np.isnan(numbers), words, of_numbers)


_BOOLEANS = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}


def _number(value: Any) -> float:
    """Return a category as a number; NaN if it is a name."""
    if isinstance(value, str) and (value in _BOOLEANS or "_" in value):
        return _BOOLEANS.get(value, nan)
    try:
        return as_float(value)
    except (TypeError, ValueError):
        return nan


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _below(hashes: Words, limit: np.uint64) -> Words:
    """The hashes below a limit, found by the threads of the context."""

    def below(ends: tuple[int, int]) -> Words:
        block = hashes[slice(*ends)]
        return block[block < limit]

    return np.concatenate(each(below, blocks(len(hashes))))


@dataclass(frozen=True, eq=False)
class RowSketch:
    """The smallest hashes of some rows, how often each occurs, and how many rows there were."""

    hashes: Words  # the smallest distinct hashes, sorted; at most RowSketch.SIZE
    counts: NDArray[np.int64]  # the number of rows with each of them
    rows: int  # the number of all rows

    SIZE: ClassVar[int] = 1024

    @classmethod
    def of(cls, hashes: Words) -> RowSketch:
        """Return the sketch of some rows."""
        limit = min(1.0, 2 * cls.SIZE / max(len(hashes), 1))
        while True:  # look only at hashes that are small enough to matter
            least = hashes if limit == 1.0 else _below(hashes, np.uint64(limit * 2.0**64))
            distinct, counts = np.unique(least, return_counts=True)
            if limit == 1.0 or len(distinct) >= cls.SIZE:
                return cls(distinct[: cls.SIZE], counts[: cls.SIZE], len(hashes))
            limit = min(1.0, 8 * limit)

    def merge(self, other: RowSketch) -> RowSketch:
        """Return the sketch of the rows of both tables."""
        hashes, counts = self._joined(other)
        return RowSketch(
            hashes[: self.SIZE], counts.sum(axis=0)[: self.SIZE], self.rows + other.rows
        )

    def union(self, other: RowSketch) -> RowSketch:
        """Return the sketch of the rows of both tables, where rows of both are the same ones."""
        hashes, counts = self._joined(other)
        hashes, counts = hashes[: self.SIZE], counts[:, : self.SIZE]
        rows = self.rows + other.rows - int(counts.min(axis=0).sum())
        return RowSketch(hashes, counts.max(axis=0), rows)

    def _joined(self, other: RowSketch) -> tuple[Words, NDArray[np.int64]]:
        """Return the hashes of both, and how often each occurs in the one and in the other."""
        hashes = np.union1d(self.hashes, other.hashes)
        counts = np.zeros((2, len(hashes)), dtype=np.int64)
        for row, sketch in zip(counts, (self, other), strict=True):
            row[np.searchsorted(hashes, sketch.hashes)] = sketch.counts
        return hashes, counts

    @property
    def complete(self) -> bool:
        """True if every row is in the sketch."""
        return int(self.counts.sum()) == self.rows

    def covered(self, hashes: Words) -> Words:
        """Return the hashes that would be in the sketch if its rows had them."""
        return hashes if self.complete else hashes[hashes <= self.hashes[-1]]
