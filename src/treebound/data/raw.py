"""One column as it was read: numbers, or codes of categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from treebound._utils._pool import blocks, each
from treebound.data._factorize import code_integers, count_codes, factorize_objects

# Type of the values of a column; "empty" when every value is missing.
Family = Literal["number", "text", "bool", "other", "empty"]

_TEXT = (str,)
_BOOL = (bool, np.bool_)
_NUMBER = (int, float, np.integer, np.floating, Decimal, Fraction)
# Codes that stand for no category.
MISSING = -1
UNKNOWN = -2
# Integers within this span are looked up in a table instead of sorted.
_SPAN = 1 << 16


@dataclass(frozen=True)
class RawColumn:
    """A column as it was read."""

    values: NDArray[Any]  # numbers, or codes of the categories
    categories: tuple[Any, ...] | None = None
    ordered: bool = False  # whether the dtype orders the categories
    declared: bool = False  # whether the dtype declares them
    missing: NDArray[np.bool_] | None = None

    @cached_property
    def family(self) -> Family:
        """The type of the values."""
        return "number" if self.categories is None else family_of(self.categories)

    def rows(self, places: NDArray[np.intp]) -> RawColumn:
        """The column restricted to some rows, with the categories that are declared or occur."""
        part = self.take(places)
        if self.categories is None or self.declared:
            return part
        used = np.unique(part.values[part.values >= 0]).astype(np.intp)
        codes = np.where(part.values < 0, MISSING, np.searchsorted(used, part.values))
        return RawColumn(_narrow(codes, len(used)), tuple(self.categories[i] for i in used))

    def take(self, rows: NDArray[Any]) -> RawColumn:
        """Select rows by their places; the categories are kept."""
        missing = None if self.missing is None else self.missing.take(rows)
        return replace(self, values=self.values.take(rows), missing=missing)

    def floats(self) -> NDArray[np.floating[Any]]:
        """The numbers as float64 (float32 stays float32); NaN where missing."""
        if self.values.dtype in (np.float64, np.float32):
            return self.values
        if self.categories is not None:  # and every value is missing
            return np.full(len(self.values), np.nan)
        if self.values.dtype == object:  # integers over 64 bits, perhaps past the floats
            floats: NDArray[np.floating[Any]] = np.array([as_float(v) for v in self.values])
        else:
            floats = self.values.astype("f4" if self.values.dtype == np.float16 else "f8")
        if self.missing is not None:
            floats[self.missing] = np.nan
        return floats

    @property
    def present(self) -> NDArray[np.bool_]:
        """Mask of the numbers that are not missing."""
        if self.missing is not None:
            return ~self.missing
        if self.values.dtype.kind == "f":
            missing: NDArray[np.bool_] = np.isnan(self.values)
            return ~missing
        return np.ones(len(self.values), dtype=bool)

    def distinct(self) -> tuple[list[Any], NDArray[np.int64]]:
        """The distinct values, and the index of each row's value among them, -1 where missing."""
        if self.categories is not None:
            return list(self.categories), self.values
        present = self.present
        values, inverse = distinct_values(self.values[present])
        codes = np.full(len(self.values), MISSING, dtype=np.int64)
        codes[present] = inverse
        return _plain(values), codes


def distinct_values(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.integer[Any]]]:
    """The sorted distinct values, and which of them every row has."""
    if values.dtype.kind in "iub" and len(values):
        ends = [slice(*end) for end in blocks(len(values))]
        lows, highs = zip(*each(lambda at: (values[at].min(), values[at].max()), ends), strict=True)
        low, high = int(min(lows)), int(max(highs))
        if high - low < _SPAN and high < 2**63:
            at = np.empty(len(values), dtype=np.int32)
            native = np.uint8 if values.dtype.kind == "b" else values.dtype.newbyteorder("=")

            def code(rows: slice) -> NDArray[np.uint8]:
                present = np.zeros(high - low + 1, dtype=np.uint8)
                numbers = values[rows].astype(native, copy=False)
                code_integers(numbers, low, at[rows], present)
                return present

            present = np.logical_or.reduce(each(code, ends))
            distinct = (np.flatnonzero(present) + low).astype(values.dtype)
            codes = (np.cumsum(present) - 1).astype(np.int32)
            return distinct, at if present.all() else codes[at]
    return np.unique(values, return_inverse=True)


def count_of_codes(codes: NDArray[np.integer[Any]], n_codes: int) -> NDArray[np.int64]:
    """How often each code occurs, counted by the threads of the context."""

    def count(ends: tuple[int, int]) -> NDArray[np.int64]:
        counts = np.zeros(n_codes, dtype=np.int64)
        count_codes(codes[slice(*ends)], counts)
        return counts

    counts: NDArray[np.int64] = np.sum(each(count, blocks(len(codes))), axis=0)
    return counts


def spread(n: int, most: int) -> NDArray[np.int64]:
    """The places of at most so many of n things, from the first to the last."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))


def as_float(value: Any) -> float:
    """A number as a float; infinite if it is an integer past the floats."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def _plain(values: NDArray[Any]) -> list[Any]:
    """Distinct numbers as Python numbers; whole floats as ints."""
    if values.dtype.kind == "f":
        whole = bool((values == np.round(values)).all() and (np.abs(values) < 2**53).all())
        if whole:
            return list(values.astype(np.int64).tolist())
    return list(values.tolist())


def smallest_ints(n_categories: int) -> type[np.signedinteger[Any]]:
    """The smallest integer type for the codes of ``n_categories`` categories."""
    if n_categories <= 127:
        return np.int8
    return np.int16 if n_categories <= 32767 else np.int32


def _narrow(codes: NDArray[Any], n_categories: int) -> NDArray[Any]:
    return codes.astype(smallest_ints(n_categories), copy=False)


def coded_column(codes: NDArray[Any], categories: tuple[Any, ...], *, ordered: bool) -> RawColumn:
    """A column with categories declared by its dtype."""
    inside = np.where((codes < 0) | (codes >= len(categories)), MISSING, codes)
    return RawColumn(_narrow(inside, len(categories)), categories, ordered, declared=True)


def found_column(codes: NDArray[Any], categories: Sequence[Any]) -> RawColumn:
    """A column with categories found in the data, sorted: row order must not matter."""
    n = len(categories)
    order = sorted(range(n), key=categories.__getitem__)
    rank = np.full(n + 1, MISSING, dtype=smallest_ints(n))
    rank[order] = np.arange(n)
    if len(codes) and (codes.min() < MISSING or codes.max() >= n):
        codes = np.where((codes < 0) | (codes >= n), n, codes)
    return RawColumn(rank[codes], tuple(categories[i] for i in order))


def boolean_column(
    values: NDArray[np.bool_], missing: NDArray[np.bool_] | None = None
) -> RawColumn:
    codes = values.astype(np.int8)
    if missing is not None:
        codes[missing] = MISSING
    return RawColumn(codes, (False, True), declared=True)


def empty_column(rows: int) -> RawColumn:
    return RawColumn(np.full(rows, MISSING, dtype=np.int8), ())


def column_of(values: list[Any], label: str) -> RawColumn:
    """A column of Python objects: numbers, text or booleans, but not a mix."""
    coded = factorize_objects(values)
    if coded is not None:
        return found_column(coded[1], coded[0])
    types = set(map(type, values))
    if not types <= {str}:
        values = [None if is_missing(v) else v for v in values]
        types = set(map(type, values)) - {type(None)}
    if not types:
        return empty_column(len(values))
    if all(issubclass(t, _BOOL) for t in types):
        flags = np.array([bool(v) for v in values])
        return boolean_column(flags, np.array([v is None for v in values]))
    if all(issubclass(t, _NUMBER) and not issubclass(t, _BOOL) for t in types):
        return number_column(values)
    if not all(issubclass(t, _TEXT) for t in types):
        raise ValueError(mixed_types(label, [v for v in values if v is not None]))
    return column_of([None if v is None else str(v) for v in values], label)  # as of numpy


def number_column(values: list[Any]) -> RawColumn:
    """Python numbers, None where missing; integers of any size stay integers."""
    missing = np.array([v is None for v in values])
    whole = all(v is None or isinstance(v, int | np.integer) for v in values)
    if not whole:
        return RawColumn(np.array([np.nan if v is None else float(v) for v in values]))
    ints = [0 if v is None else int(v) for v in values]
    fits = all(-(2**63) <= v < 2**63 for v in ints)
    numbers = np.array(ints, dtype=np.int64 if fits else object)
    return RawColumn(numbers, missing=missing if missing.any() else None)


def is_missing(value: Any) -> bool:
    """Return True if a Python value is missing: None, NaN, ``pandas.NA`` or ``NaT``."""
    if value is None:
        return True
    if isinstance(value, _TEXT):
        return False
    try:
        return not bool(value == value)
    except (TypeError, ValueError):  # pandas.NA has no truth value
        return type(value).__name__ == "NAType"


def family_of(values: Iterable[Any]) -> Family:
    """Type of a set of categories."""
    types = {type(v) for v in values}
    if not types:
        return "empty"
    if all(issubclass(t, _TEXT) for t in types):
        return "text"
    if all(issubclass(t, _BOOL) for t in types):
        return "bool"
    if all(issubclass(t, _NUMBER) and not issubclass(t, _BOOL) for t in types):
        return "number"
    return "other"


def mixed_types(label: str, values: Iterable[Any]) -> str:
    examples: dict[str, Any] = {}
    for value in values:
        examples.setdefault(type(value).__name__, value)
    listed = ", ".join(f"{name} ({value!r})" for name, value in sorted(examples.items()))
    return (
        f"{label} must hold numbers, text, booleans or categories, of one type only. "
        f"Got {listed} instead. Hint: convert it to one type, for example with astype(str)."
    )


def no_dates(subject: str, dtype: str) -> str:
    return (
        f"{subject} must hold numbers, text, booleans or categories. Got {dtype} instead. Hint: "
        "make numbers of it, for example days since a date, or month and weekday as columns."
    )


def some_names(names: Iterable[Any]) -> str:
    """The first few names or values, for an error message."""
    names = list(names)
    return ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")


def no_duplicates(names: Iterable[Any], table: str) -> None:
    """Raise if a column name occurs twice."""
    twice = sorted(repr(name) for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ValueError(
            f"{table} has more than one column named {', '.join(twice)}. "
            "Hint: give each column a unique name."
        )
