"""From raw values to typed columns; every error names the column, the row and the value."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treebound._utils.validation import Setting, WordedError
from treebound.data._factorize import factorize_objects
from treebound.data.columns import Column
from treebound.data.raw import MISSING, RawColumn, coded_column, column_of, some_names
from treebound.data.raw import UNKNOWN as _STRANGE
from treebound.data.raw import is_missing as no_value
from treebound.data.schema import DECIMAL_COMMA, Schema, has_decimal_comma
from treebound.data.targets import Labels, as_objects, used_labels

# Columns so short that Python takes no longer than Arrow.
_SHORT = 256


@dataclass(frozen=True, eq=False)
class TextColumn:
    """Texts in an Arrow array."""

    texts: pa.ChunkedArray

    def __len__(self) -> int:
        return len(self.texts)

    def distinct(self) -> tuple[list[str], NDArray[np.int32]]:
        """The distinct texts, and which of them every row has."""
        return self._coded

    @cached_property
    def _coded(self) -> tuple[list[str], NDArray[np.int32]]:
        if len(self) <= _SHORT or self.texts.null_count:  # a key that its folder leaves open
            return factorize_objects(self.texts.to_pylist())  # type: ignore[return-value]
        coded = self.texts.dictionary_encode().unify_dictionaries()
        if not coded.num_chunks:
            return [], np.empty(0, dtype=np.int32)
        codes = [_as_numpy(chunk.indices, np.int32) for chunk in coded.chunks]
        return coded.chunk(0).dictionary.to_pylist(), np.concatenate(codes)

    def numbers(self, missing: Sequence[str], decimal: str = ".") -> NDArray[np.float64] | None:
        """All texts as numbers, NaN where missing; None unless all are plain finite numbers.

        Texts that only Python can parse (surrounding spaces, other digits) are left to Python, and
        so are short columns.
        """
        if len(self) <= _SHORT:
            return None
        gone = pc.or_(pc.is_null(self.texts), pc.is_in(self.texts, _text_array(missing)))
        texts = self.texts if decimal == "." else pc.replace_substring(self.texts, decimal, ".")
        try:
            floats = pc.cast(pc.if_else(gone, _text_array(["nan"])[0], texts), pa.float64())
        except pa.ArrowInvalid:
            return None
        if not pc.all(pc.or_(gone, pc.is_finite(floats))).as_py():
            return None
        return np.concatenate([_as_numpy(chunk, np.float64) for chunk in floats.chunks])


# pyarrow's conversions from and to Python import pandas, which takes longer than small tables.


def _as_numpy(array: Any, dtype: Any) -> NDArray[Any]:
    """The values of an array of numbers without missing ones."""
    stop = array.offset + len(array)
    return np.frombuffer(array.buffers()[1], dtype=dtype, count=stop)[array.offset :]


def _text_array(texts: Sequence[str]) -> Any:
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    buffers = (pa.py_buffer(part) for part in (ends.tobytes(), b"".join(encoded)))
    return pa.StringArray.from_buffers(len(encoded), *buffers)


# A column as a text file or a data frame has it.
Values = TextColumn | RawColumn
_WHOLE = re.compile(r"0|-?[1-9][0-9]*")


def typed_column(
    values: Values, column: Column, schema: Schema, *, first_row: int = 1, unknown: str = "error"
) -> RawColumn:
    """One column with the values of its kind."""
    if column.kind == "real":
        return RawColumn(numbers(values, column.name, schema, first_row))
    each, codes = values.distinct()
    markers = frozenset(schema.missing)
    if column.categories is None:
        values_: list[Any] = [None if _gone(value, markers) else _text(value) for value in each]
        return _of_distinct(values_, codes, column)
    category_codes = _codes_among(column.categories, each, schema)
    strange = np.flatnonzero(category_codes == _STRANGE).tolist()
    if column.declared and unknown != "keep":
        if strange:
            raise _unknown_category(each, codes, strange[0], column, first_row)
        return coded_column(
            category_codes[codes], column.categories, ordered=column.kind == "ordinal"
        )
    values_ = [
        None if code < 0 else column.categories[code] for code in category_codes[:-1].tolist()
    ]
    are_texts = any(isinstance(category, str) for category in column.categories)
    decimal = schema.layout.decimal
    for at in strange:  # of the type of those that are categories
        try:
            values_[at] = _text(each[at]) if are_texts else _number(each[at], decimal)
        except (TypeError, ValueError):
            raise _unknown_category(each, codes, at, column, first_row) from None
    return _of_distinct(values_, codes, column)


def _of_distinct(each: list[Any], codes: NDArray[Any], column: Column) -> RawColumn:
    return column_of([*each, None], f"Column {column.name!r}").take(codes)  # -1: the last, None


def _gone(value: Any, markers: frozenset[str]) -> bool:
    return value.strip() in markers if isinstance(value, str) else no_value(value)


def infer_column(name: str, values: Values, schema: Schema) -> Column:
    """The kind of a column, and the categories that are declared or found."""
    if isinstance(values, RawColumn):
        if values.categories is None:
            return Column(name)
        kind = "ordinal" if values.ordered else "nominal"
        if values.declared:
            return Column(name, kind, values.categories, declared=True)  # type: ignore[arg-type]
    markers = frozenset(schema.missing)
    present = (value for value in values.distinct()[0] if not _gone(value, markers))
    return Column(name, "nominal", tuple(sorted(present)))


# -- numbers -----------------------------------------------------------------------------------


def numbers(values: Values, name: str, schema: Schema, first_row: int = 1) -> NDArray[np.float64]:
    """The values as float64, NaN where they are missing."""
    if isinstance(values, TextColumn):
        quick = values.numbers(schema.missing, schema.layout.decimal)
        if quick is not None:
            return quick
    elif values.categories is None:
        return values.floats().astype(np.float64, copy=False)
    each, codes = values.distinct()
    markers = frozenset(schema.missing)
    floats = np.full(len(each) + 1, np.nan)
    for at, value in enumerate(each):
        try:
            floats[at] = np.nan if _gone(value, markers) else _number(value, schema.layout.decimal)
        except (TypeError, ValueError):
            place = f"Column {name!r}, row {first_row + _first(codes, at):,}"
            beginning = f"{place}: {value!r} is not a number. Hint: "
            if schema.layout.decimal == "." and has_decimal_comma(value):
                raise WordedError(
                    beginning, "use ", DECIMAL_COMMA, " for a decimal comma."
                ) from None
            raise WordedError(
                beginning,
                "declare the column as nominal (",
                Setting("nominal", python="its kind in the schema"),
                "), or the text as missing (",
                Setting("missing", python="'missing' in the schema"),
                ").",
            ) from None
    chosen: NDArray[np.float64] = floats[codes]
    return chosen


def _first(codes: NDArray[Any], at: int) -> int:
    """The first row with a distinct value."""
    return int((codes == at).argmax())


def _number(value: Any, decimal: str) -> float:
    if isinstance(value, str):
        if "_" in value:  # only Python reads 1_000
            raise ValueError(value)
        if decimal != ".":
            value = value.replace(decimal, ".")
    return float(value)


def _texts(category: Any) -> list[str]:
    """The texts that tables have for a category: ``true``, ``True`` and ``TRUE`` are one."""
    text = _text(category)
    return [text, text.title(), text.upper()] if isinstance(category, bool | np.bool_) else [text]


def _text(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


# -- labels ------------------------------------------------------------------------------------


def stripped(values: Values) -> list[str]:
    """The distinct texts of a column without spaces around them."""
    return [text.strip() for text in values.distinct()[0]]


def label_kind(texts: Collection[str], decimal: str) -> str:
    """The kind of the labels of a text file: whole numbers, numbers with a fraction, or texts."""
    if all(map(_WHOLE.fullmatch, texts)):
        return "whole"
    try:
        fractions = [_number(text, decimal) % 1 for text in texts]
        return "number" if any(fractions) else "text"
    except (OverflowError, ValueError):
        return "text"


def labels_of(
    values: Values, name: str, schema: Schema, *, first_row: int = 1, kind: str | None = None
) -> Labels:
    """The target: its declared classes, or whole numbers if all texts are, or texts.

    Numbers with a fraction are kept as such, and rejected as classes when learning. ``kind`` is
    the :func:`label_kind` of the whole table.
    """
    each, codes = values.distinct()
    class_codes = _codes_among(schema.classes or (), each, schema)
    gone = (class_codes == MISSING)[codes]
    if gone.any():
        more = int(gone.sum()) - 1
        raise WordedError(
            f"The target column {name!r} has no value in row {first_row + int(gone.argmax()):,}"
            + (f" and {more:,} more" if more else "")
            + ". Hint: drop these rows (",
            Setting("drop_unlabelled", python="'drop_unlabelled' of the schema"),
            "), or name another target. If no value means a class, write the class into the table.",
        )
    if schema.classes is not None:
        strange = np.flatnonzero(class_codes == _STRANGE)
        if len(strange):
            at = int(strange[0])
            raise ValueError(
                f"The target column {name!r} holds {each[at]!r} in row "
                f"{first_row + _first(codes, at)}, which is not one of its classes "
                f"({some_names(schema.classes)}). Hint: leave such rows out, or learn from them."
            )
        return Labels(*used_labels(as_objects(schema.classes), class_codes[codes]), name)
    if schema.text_labels and schema.classes is None:
        each = [_text(value).strip() for value in each]
    elif isinstance(values, TextColumn):
        texts, decimal = stripped(values), schema.layout.decimal
        kind = kind or label_kind(texts, decimal)
        if kind == "number":
            each = [_number(text, decimal) for text in texts]
        else:
            each = [int(text) if kind == "whole" else text for text in texts]
    return Labels(as_objects(each), codes, name)


def unlabelled(values: Values, schema: Schema) -> NDArray[np.bool_]:
    """Return a mask of the rows whose target is missing."""
    each, codes = values.distinct()
    missing = _codes_among(schema.classes or (), each, schema) == MISSING
    return np.asarray(missing[codes])


def observed_labels(values: Values, name: str, schema: Schema, first_row: int = 1) -> NDArray[Any]:
    """Labels as the declared classes, or others of their type; None for those not known.

    A label of another type is an error: a text among classes that are numbers or booleans.
    """
    classes = schema.classes or ()
    each, codes = values.distinct()
    labels: list[Any] = [None] * (len(each) + 1)  # the last is of code -1
    kinds, decimal = {type(label) for label in classes}, schema.layout.decimal
    for at, code in enumerate(_codes_among(classes, each, schema)[:-1].tolist()):
        if code == MISSING:
            continue
        try:
            labels[at] = classes[code] if code >= 0 else _of_type(each[at], kinds, decimal)
        except (TypeError, ValueError):
            raise ValueError(
                f"The target column {name!r} holds {each[at]!r} in row "
                f"{first_row + _first(codes, at)}, which is not of the type of its classes "
                f"({some_names(classes)}). Hint: correct it, or leave it empty if it is not known."
            ) from None
    return as_objects(labels)[codes]


def _of_type(value: Any, kinds: set[type], decimal: str) -> Any:
    """A label that is no class, as text or number as the classes are."""
    if kinds <= {str}:
        return _text(value).strip()
    if bool in kinds:
        raise TypeError(value)
    return _number(value, decimal)


# -- categories --------------------------------------------------------------------------------


def _codes_among(
    categories: Sequence[Any], values: Sequence[Any], schema: Schema
) -> NDArray[np.int64]:
    """The codes of raw values among categories, by value, text or number; and that of missing.

    -1 is missing, -2 is none of the categories.
    """
    markers, decimal = frozenset(schema.missing), schema.layout.decimal
    texts = {text: code for code, category in enumerate(categories) for text in _texts(category)}
    plain = {
        category: code
        for code, category in enumerate(categories)
        if isinstance(category, int | float)
    }

    def code_of(value: Any) -> int:
        if no_value(value):
            return MISSING
        text = _text(value)
        for form in (text, text.strip()):
            if form in texts:
                return texts[form]
        if _gone(value, markers):
            return MISSING
        try:
            return plain.get(_number(value, decimal), _STRANGE) if plain else _STRANGE
        except (TypeError, ValueError):
            return _STRANGE

    return np.array([*map(code_of, values), MISSING], dtype=np.int64)


def _unknown_category(
    each: list[Any], codes: NDArray[Any], at: int, column: Column, first_row: int
) -> ValueError:
    return WordedError(
        f"Column {column.name!r}, row {first_row + _first(codes, at):,}: {each[at]!r} is not one "
        f"of its categories ({some_names(column.categories or ())}). Hint: declare it "
        "too, or make it a missing value with ",
        Setting("missing", python="'missing' of the schema"),
        ".",
    )
