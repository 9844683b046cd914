"""Columns and classes in a model file: their values with their type, and back."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from treebound.data.columns import Column
from treebound.exchange import document as doc
from treebound.exchange.document import FormatError

_DTYPES = {"O": "object", "U": "str"}
_VALUES: dict[type, Any] = {
    str: doc.Strings, int: doc.Integers, float: doc.Numbers, bool: doc.Booleans,
}  # fmt: skip


def column_document(column: Column, listed: bool) -> doc.ColumnDocument:
    """A column, with its categories or their number."""
    categories: Any = None
    if column.categories is not None:
        size = column.n_categories
        if listed or not size:
            categories = _values(list(column.categories), f"columns[{column.name!r}].categories")
        else:
            categories = size
    return doc.ColumnDocument(column.name, column.kind, column.declared, column.missing, categories)


def columns_of(columns: list[doc.ColumnDocument]) -> tuple[Column, ...]:
    """The columns of a document; their names must differ."""
    read = []
    for at, item in enumerate(columns):
        where, categories = f"columns[{at}].categories", item.categories
        if (categories is None) != (item.kind == "real"):
            raise FormatError(where, "must be null exactly when the kind is 'real'")
        column = Column(item.name, item.kind, None, item.declared, item.missing)
        if isinstance(categories, int):
            column = replace(column, categories=(), unlisted=categories)
        elif categories is not None:
            column = replace(column, categories=tuple(_distinct(categories, where)))
        read.append(column)
    names = [column.name for column in read]
    if len(set(names)) != len(names):
        twice = doc.first_repeated(names)
        at = len(names) - 1 - names[::-1].index(twice)
        raise FormatError(f"columns[{at}].name", f"{twice!r:.60} is given twice")
    return tuple(read)


def classes_document(classes: NDArray[Any]) -> doc.Classes:
    """The classes: the values, and the numpy type that the labels had."""
    values = msgspec.to_builtins(_values(classes.tolist(), "classes"))
    dtype = _DTYPES.get(classes.dtype.kind, classes.dtype.name)
    return msgspec.convert({**values, "dtype": dtype}, doc.Classes)  # type: ignore[no-any-return]


def classes_of(classes: Any) -> NDArray[Any]:
    """The classes of a document, in the type that the labels had."""
    values, dtype = _distinct(classes, "classes"), classes.dtype
    if not values:
        raise FormatError("classes.values", "must have at least one class")
    longest = max(map(len, values)) if isinstance(classes, doc.Strings) else 0
    # a text array allocates the longest label for every entry: too much for a single long one
    if dtype == "str" and longest * len(values) > 2**18 + 16 * sum(map(len, values)):
        raise FormatError("classes.dtype", "takes too much memory, use 'object'")
    try:
        typed = np.array(values, dtype=dtype)
    except (ValueError, TypeError, OverflowError):
        typed = np.empty(0)
    if typed.tolist() != values:
        raise FormatError("classes.dtype", f"{dtype!r} cannot hold the values")
    return typed


def _values(values: list[Any], where: str) -> doc.Categories:
    """Categories or labels with their JSON type, to distinguish 1, 1.0, "1" and true."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    kinds = {type(value) for value in plain} or {str}
    kind = _VALUES.get(kinds.pop()) if len(kinds) == 1 else None
    if kind is None:
        types = ", ".join(sorted({type(value).__name__ for value in plain}))
        raise ValueError(
            "A model file can hold strings, integers, finite numbers or booleans, all of one "
            f"kind, in {where}. Found {types} instead. Hint: convert them before fitting."
        )
    if kind is doc.Numbers and not all(map(math.isfinite, plain)):
        raise ValueError(f"A model file cannot hold NaN or infinity in {where}.")
    document: doc.Categories = kind(plain)
    return document


def _distinct(values: Any, where: str) -> list[Any]:
    """The values, which must differ; integers of 64 bits."""
    listed: list[Any] = values.values
    if isinstance(values, doc.Integers):
        for at, value in enumerate(listed):
            if not -(2**63) <= value < 2**64:
                raise FormatError(f"{where}.values[{at}]", "must fit in 64 bits")
    if len(set(listed)) != len(listed):
        raise FormatError(f"{where}.values", "must be distinct")
    return listed
