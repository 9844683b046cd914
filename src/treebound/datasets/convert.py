"""From raw values to typed columns; every error names the column, the row and the value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treebound._extras import require
from treebound.data.columns import Column
from treebound.data.raw import RawColumn, coded_column, column_of
from treebound.data.raw import is_missing as no_value
from treebound.data.targets import Labels
from treebound.datasets.schema import Schema
from treebound.datasets.text_column import TextColumn

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "is_missing", "label_series", "labels_of", "numbers", "pandas", "plain_series", "typed_column",
    "typed_series",
]  # fmt: skip

# Values, and the index of each row's value; None: one value per row.
_Coded = tuple[list[Any], NDArray[np.int64] | None]


def pandas() -> Any:
    """The pandas module, or an error that says how to install it."""
    return require("pandas", extra="study", why="Reading tables")


def is_missing(value: Any, markers: frozenset[str]) -> bool:
    """Whether a raw value is missing."""
    return value.strip() in markers if isinstance(value, str) else no_value(value)


def typed_series(
    values: Sequence[Any],
    column: Column,
    schema: Schema,
    *,
    first_row: int = 1,
    unknown: str = "error",
) -> pd.Series:
    """One column with the dtype of its kind.

    Real columns become float64, declared categories a CategoricalDtype (ordered for ordinal
    columns), categories that are only found in the data plain text.

    Parameters
    ----------
    values : sequence
        Texts, or the values of a frame's column.
    column : Column
    schema : Schema
        For the missing markers and the decimal mark.
    first_row : int
        Row number of the first value, for errors.
    unknown : {"error", "keep"}
        What to do with a value that is not a declared category. If kept, the column is plain text
        or, where the categories are numbers, of dtype object; a text among numbers is an error.
    """
    pd = pandas()
    if column.kind == "real":
        found = numbers(values, column.name, schema, first_row)
        return pd.Series(found, name=column.name)
    if column.categories is not None and column.declared and unknown != "keep":
        codes = _declared_codes(values, column, schema, first_row)
        dtype = pd.CategoricalDtype(list(column.categories), ordered=column.kind == "ordinal")
        return pd.Series(pd.Categorical.from_codes(codes, dtype=dtype), name=column.name)
    kept, which = _plain_values(values, column, schema, first_row)
    text = all(isinstance(category, str) for category in column.categories or ())
    each = pd.Series(kept, name=column.name, dtype=_text_dtype() if text else object)
    return each if which is None else each.take(which).reset_index(drop=True)


def typed_column(
    values: Sequence[Any],
    column: Column,
    schema: Schema,
    *,
    first_row: int = 1,
    unknown: str = "error",
) -> RawColumn:
    """The column of :func:`typed_series`, without pandas."""
    if column.kind == "real":
        return RawColumn("number", numbers(values, column.name, schema, first_row))
    if column.categories is not None and column.declared and unknown != "keep":
        codes = _declared_codes(values, column, schema, first_row)
        return coded_column(codes, column.categories, ordered=column.kind == "ordinal")
    kept, which = _plain_values(values, column, schema, first_row)
    each = column_of(kept, f"Column {column.name!r}")
    return each if which is None else each.take(which)


def _declared_codes(
    values: Sequence[Any], column: Column, schema: Schema, first_row: int
) -> NDArray[np.int64]:
    codes, strange = _codes(values, column.categories or (), frozenset(schema.missing))
    if strange:
        raise _unknown_category(values, column, strange[0], first_row)
    return codes


def _plain_values(values: Sequence[Any], column: Column, schema: Schema, first_row: int) -> _Coded:
    """Texts, or categories and other values; None if missing."""
    markers = frozenset(schema.missing)
    coded = values.codes if isinstance(values, TextColumn) else None
    if column.categories is not None:
        return _with_unknown(values, column, markers, first_row), coded
    each = values.distinct if isinstance(values, TextColumn) else values
    return [None if is_missing(value, markers) else _text(value) for value in each], coded


def plain_series(values: Sequence[Any]) -> pd.Series:
    """The values, unchanged."""
    found: Any = values.texts.to_pandas() if isinstance(values, TextColumn) else values
    return pandas().Series(found)


def _with_unknown(
    values: Sequence[Any], column: Column, markers: frozenset[str], first_row: int
) -> list[Any]:
    """Categories and other values as plain values."""
    each = values.distinct if isinstance(values, TextColumn) else values
    categories = column.categories or ()
    codes, strange = _codes(each, categories, markers)
    kept = [categories[code] if code >= 0 else None for code in codes]
    text = all(isinstance(category, str) for category in categories)
    number = not text and not any(isinstance(category, str | bool) for category in categories)
    for at in strange:
        try:
            kept[at] = _text(each[at]) if text or not number else _number(each[at], ".")
        except (TypeError, ValueError):
            row = values.first_row([at]) if isinstance(values, TextColumn) else at
            raise _unknown_category(values, column, row, first_row) from None
    return kept


def numbers(
    values: Sequence[Any], name: str, schema: Schema, first_row: int = 1
) -> NDArray[np.float64]:
    """The values as float64, NaN where they are missing."""
    plain = getattr(values, "dtype", None)
    if isinstance(plain, np.dtype) and plain.kind in "fiub":
        return np.asarray(values, dtype=np.float64)
    if isinstance(values, TextColumn):
        return _numbers_of_texts(values, name, schema, first_row)
    return _numbers_of_objects(list(values), name, schema, lambda at: first_row + at)


def _numbers_of_texts(
    values: TextColumn, name: str, schema: Schema, first_row: int
) -> NDArray[np.float64]:
    if schema.layout.decimal == ".":
        found = values.numbers(schema.missing)
        if found is not None:
            return found
    distinct = values.distinct
    each = _numbers_of_objects(
        distinct, name, schema, lambda at: first_row + values.first_row([at])
    )
    return each[values.codes] if len(values) else each


def _numbers_of_objects(
    values: list[Any], name: str, schema: Schema, row_of: Callable[[int], int]
) -> NDArray[np.float64]:
    markers = frozenset(schema.missing)
    found = np.empty(len(values))
    for at, value in enumerate(values):
        if is_missing(value, markers):
            found[at] = np.nan
            continue
        try:
            found[at] = _number(value, schema.layout.decimal)
        except (TypeError, ValueError):
            raise ValueError(
                f"Column {name!r}, row {row_of(at)}: {value!r} is not a number. Hint: call "
                "the column nominal, or list the text under 'missing' in the schema."
            ) from None
    return found


def label_series(
    values: Sequence[Any], name: str, schema: Schema, *, first_row: int = 1
) -> pd.Series:
    """The target as a series, see :func:`labels_of`."""
    labels = labels_of(values, name, schema, first_row=first_row)
    each = pandas().Series(labels.distinct.tolist(), name=name)
    return each.take(labels.codes).reset_index(drop=True)


def labels_of(values: Sequence[Any], name: str, schema: Schema, *, first_row: int = 1) -> Labels:
    """The target: its declared classes, or numbers if all are, or texts."""
    markers = frozenset(schema.missing)
    if schema.classes is not None:
        codes, strange = _codes(values, schema.classes, markers)
        _no_missing_label(codes < 0, strange, name, first_row)
        if strange:
            known = ", ".join(map(repr, schema.classes[:12]))
            raise ValueError(
                f"The target column {name!r} holds {values[strange[0]]!r} in row "
                f"{first_row + strange[0]}, which is not one of its classes ({known}"
                f"{', ...' if len(schema.classes) > 12 else ''}). Hint: leave such rows out, or "
                "learn from them."
            )
        used = np.unique(codes)
        found = [schema.classes[code] for code in used]
        return Labels(_as_array(found), np.searchsorted(used, codes), name)
    if isinstance(values, TextColumn):
        gone = np.array([is_missing(text, markers) for text in values.distinct], dtype=bool)
        _no_missing_label(gone[values.codes] if len(values) else gone, [], name, first_row)
        return Labels(_as_array(_label_values(values.distinct)), values.codes, name)
    listed = list(values)
    gone = np.array([is_missing(value, markers) for value in listed], dtype=bool)
    _no_missing_label(gone, [], name, first_row)
    if all(isinstance(value, str) for value in listed):
        listed = _label_values(listed)
    return Labels(_as_array(listed), np.arange(len(listed)), name)


def _as_array(labels: list[Any]) -> NDArray[Any]:
    """Numbers and booleans as such, anything else as objects."""
    array = np.array(labels) if labels else np.empty(0, dtype=object)
    if array.dtype.kind in "biuf" and array.ndim == 1 and len({type(v) for v in labels}) == 1:
        return array
    objects = np.empty(len(labels), dtype=object)
    objects[:] = labels
    return objects


def _no_missing_label(
    gone: NDArray[np.bool_], strange: list[int], name: str, first_row: int
) -> None:
    absent = sorted(set(np.flatnonzero(gone).tolist()) - set(strange))
    if absent:
        raise ValueError(
            f"The target column {name!r} has no value in row {first_row + absent[0]}"
            + (f" and {len(absent) - 1} more" if len(absent) > 1 else "")
            + ". Hint: leave these rows out, or name another target."
        )


def _codes(
    values: Sequence[Any], categories: Sequence[Any], markers: frozenset[str]
) -> tuple[NDArray[np.int64], list[int]]:
    """Category codes, -1 where missing, and the positions of values that are not categories."""
    lookup = _Lookup(categories, markers)
    if isinstance(values, TextColumn):
        each = np.array([*(lookup[text] for text in values.distinct), 0], dtype=np.int64)
        codes = each[values.codes]
    else:
        codes = np.array([lookup[value] for value in values], dtype=np.int64)
    strange = np.flatnonzero(codes == _STRANGE).tolist()
    codes[codes == _STRANGE] = -1
    return codes, strange


_STRANGE = -2


class _Lookup(dict[Any, int]):
    """Map a raw value to its code, by value, text or number, with a cache."""

    def __init__(self, categories: Sequence[Any], markers: frozenset[str]) -> None:
        super().__init__((category, code) for code, category in enumerate(categories))
        self.texts = {_text(category): code for code, category in enumerate(categories)}
        self.numbers = {
            float(category): code
            for code, category in enumerate(categories)
            if isinstance(category, int | float)
        }
        self.markers = markers

    def __missing__(self, value: Any) -> int:
        code = self._find(value)
        if not no_value(value):
            self[value] = code
        return code

    def _find(self, value: Any) -> int:
        if no_value(value):
            return -1
        text = _text(value).strip()
        if text in self.texts:
            return self.texts[text]
        if is_missing(value, self.markers):
            return -1
        if self.numbers:
            try:
                return self.numbers.get(_number(value, "."), _STRANGE)
            except (TypeError, ValueError):
                return _STRANGE
        return _STRANGE


def _unknown_category(values: Sequence[Any], column: Column, at: int, first_row: int) -> ValueError:
    listed = ", ".join(repr(category) for category in (column.categories or ())[:12])
    more = ", ..." if len(column.categories or ()) > 12 else ""
    return ValueError(
        f"Column {column.name!r}, row {first_row + at}: {values[at]!r} is not one of its "
        f"categories ({listed}{more}). Hint: add it to the schema's "
        "categories, or to 'missing'."
    )


def _text(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


def _number(value: Any, decimal: str) -> float:
    if isinstance(value, str):
        if "_" in value:  # only Python reads 1_000
            raise ValueError(value)
        if decimal != ".":
            value = value.replace(decimal, ".")
    return float(value)


def _label_values(texts: list[str]) -> list[Any]:
    """Integers if all texts are, floats if all are numbers, else texts.

    Floats with a fraction are rejected as classes when learning.
    """
    stripped = [text.strip() for text in texts]
    try:
        whole = [int(text) for text in stripped]
        return whole if [str(number) for number in whole] == stripped else list(stripped)
    except ValueError:
        pass
    try:
        numbers = [_number(text, ".") for text in stripped]
    except ValueError:
        return list(stripped)
    return numbers if any(number % 1 for number in numbers) else list(stripped)


def _text_dtype() -> Any:
    """The dtype of text in pandas: "str" since version 3, else object."""
    return pandas().Series(["text"]).dtype
