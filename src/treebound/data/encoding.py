"""Encoding a table: learn the columns from a training table, or read with known columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils._pool import each
from treebound._utils.choices import Unknown
from treebound._utils.validation import invalid
from treebound.data.columns import Column, Kind, may_miss, place_of
from treebound.data.finite import check_finite, missing_columns
from treebound.data.frames import Table, read_table
from treebound.data.matrix import Matrix
from treebound.data.raw import (
    MISSING,
    UNKNOWN,
    RawColumn,
    family_of,
    smallest_ints,
    some_names,
)

# -- training ----------------------------------------------------------------------------------


def learn_matrix(
    X: Any, *, categorical_features: Any = "from_dtype", ordinal_features: Any = None
) -> Matrix:
    """Learn the columns of a training table and encode its values; see :meth:`Sample.learn`."""
    table = read_table(X)
    labels = table.labels
    nominal, ordinal = chosen_columns(labels, categorical_features, ordinal_features)
    dense = table.floats() if not nominal and not ordinal else None
    if dense is not None:
        return Matrix(_real_columns(labels, tuple(missing_columns(dense, labels))), dense=dense)

    def learn(i: int) -> tuple[Column, NDArray[Any]]:
        return _learn_column(table.column(i), labels[i], i in nominal, i in ordinal, ordinal.get(i))

    learned = each(learn, range(len(labels)))
    return Matrix(tuple(column for column, _ in learned), tuple(values for _, values in learned))


@lru_cache(maxsize=8)  # tables often have the same columns, and making them takes time
def _real_columns(labels: tuple[str, ...], missing: tuple[bool, ...]) -> tuple[Column, ...]:
    return tuple(Column(name, missing=has) for name, has in zip(labels, missing, strict=True))


def chosen_columns(
    labels: tuple[str, ...], categorical_features: Any, ordinal_features: Any
) -> tuple[set[int], dict[int, tuple[Any, ...] | None]]:
    """The columns that are nominal by choice, and the ordinal ones with their categories."""
    nominal = _chosen(categorical_features, labels, "categorical_features")
    ordinal = _declared(ordinal_features, labels)
    both = sorted(nominal & ordinal.keys())
    if both:
        raise ValueError(
            f"Column {labels[both[0]]!r} is named in both 'categorical_features' and "
            "'ordinal_features'. Hint: keep it in one of them."
        )
    return nominal, ordinal


def _learn_column(
    raw: RawColumn,
    label: str,
    nominal: bool,
    ordinal: bool,
    declared: tuple[Any, ...] | None,
) -> tuple[Column, NDArray[Any]]:
    if raw.categories is None and not nominal and not ordinal:
        values = raw.floats()
        return Column(label, missing=check_finite(values, label)), values
    kind: Kind = "ordinal" if ordinal or (raw.ordered and not nominal) else "nominal"
    if declared is not None:
        column = Column(label, kind, declared, declared=True)
        codes = _codes(raw, column, handle_unknown="error", hint=_ADD_TO_MAPPING)
    elif raw.categories is not None:
        column = Column(label, kind, raw.categories, raw.declared)
        codes = raw.values
    else:
        if raw.values.dtype.kind == "f":
            check_finite(raw.values, label)
        categories, codes = raw.distinct()
        column = Column(label, kind, tuple(categories))
        codes = codes.astype(smallest_ints(len(categories)))
    return column.with_missing(bool((codes == MISSING).any())), codes


def _chosen(choice: Any, labels: tuple[str, ...], parameter: str) -> set[int]:
    """Indices of the columns selected by name, index or mask."""
    if isinstance(choice, str) and choice == "from_dtype":
        return set()
    first = "'from_dtype', or " if parameter == "categorical_features" else "None, a mapping, or "
    wrong = invalid(
        parameter, "", f"{first}a sequence of column names or indices, or a boolean mask", choice
    )
    if isinstance(choice, str | Mapping) or not isinstance(choice, Iterable):
        raise wrong
    chosen = [item.item() if isinstance(item, np.generic) else item for item in choice]
    if chosen and all(isinstance(column, bool) for column in chosen):
        if len(chosen) != len(labels):
            must = f"a boolean mask with one entry for each of the {len(labels):,} columns"
            raise invalid(parameter, "", must, chosen)
        return {i for i, column in enumerate(chosen) if column}
    if not all(isinstance(column, str | int) and not isinstance(column, bool) for column in chosen):
        raise wrong
    return {place_of(column, labels, parameter) for column in chosen}


def _declared(choice: Any, labels: tuple[str, ...]) -> dict[int, tuple[Any, ...] | None]:
    """The ordinal columns, with their declared categories (or None)."""
    if choice is None:
        return {}
    if not isinstance(choice, Mapping):
        return dict.fromkeys(_chosen(choice, labels, "ordinal_features"))
    declared: dict[int, tuple[Any, ...] | None] = {}
    for column, categories in choice.items():
        listed = tuple(np.asarray(categories, dtype=object).tolist())
        if not listed or len(set(listed)) < len(listed):
            raise ValueError(
                "The 'ordinal_features' parameter must map a column to its categories in order, "
                f"each once. Got {categories!r} for {column!r} instead."
            )
        declared[place_of(column, labels, "ordinal_features")] = listed
    return declared


# -- prediction --------------------------------------------------------------------------------


def read_matrix(
    X: Any,
    columns: Sequence[Column],
    *,
    named: bool,
    needed: Sequence[bool] | NDArray[np.bool_] | None = None,
    handle_unknown: Unknown = "other",
    check: bool = True,
) -> Matrix:
    """Read a table with known columns; see :meth:`Sample.read`.

    Columns that are not needed are filled with missing values, without a mark. If it is not to
    ``check`` that values are finite, routing will; see ``Matrix.unchecked``.
    """
    table = read_table(X)
    columns = tuple(columns)
    wanted = [True] * len(columns) if needed is None else [bool(flag) for flag in needed]
    wanted = [want and c.is_read for want, c in zip(wanted, columns, strict=True)]
    places = _places(table, columns, wanted, named)
    dense = table.floats() if all(column.kind == "real" for column in columns) else None
    if dense is not None and None not in places:
        if places != list(range(dense.shape[1])):
            dense = dense[:, np.array(places)]
        unchecked = Matrix(columns, dense=dense, unchecked=tuple(wanted))
        return unchecked.checked() if check else unchecked

    def read(at: int | None, column: Column, want: bool) -> tuple[NDArray[Any], bool]:
        if at is not None and want:
            return _read_column(table.column(at), column, handle_unknown)
        blank = np.nan if column.kind == "real" else np.int8(MISSING)
        return np.broadcast_to(blank, table.shape[0]), False

    columns_read = each(lambda args: read(*args), zip(places, columns, wanted, strict=True))
    values, missing = zip(*columns_read, strict=True) if columns_read else ((), ())
    routed = handle_unknown if handle_unknown in ("majority", "stop") else "other"
    return Matrix(may_miss(columns, missing), values, handle_unknown=routed)


def _places(
    table: Table, columns: Sequence[Column], needed: Sequence[bool], named: bool
) -> list[int | None]:
    """Where each column is in a table; None where it is absent."""
    if not named or table.names is None:
        if table.shape[1] == len(columns):
            return list(range(len(columns)))
        raise ValueError(
            f"X has {table.shape[1]:,} columns, but the tree was grown on {len(columns):,}. "
            f"Hint: give exactly these, in this order: {some_names(c.name for c in columns)}."
        )
    at = {name: place for place, name in enumerate(table.names)}
    wanted = [column.name for column in compress(columns, needed)]
    lacking = [name for name in wanted if name not in at]
    if lacking:
        raise ValueError(
            f"X has no column {lacking[0]!r}, which the tree needs. "
            f"Hint: give these, in any order: {some_names(wanted)}."
        )
    return [at.get(column.name) for column in columns]


def _read_column(
    raw: RawColumn, column: Column, handle_unknown: Unknown
) -> tuple[NDArray[Any], bool]:
    """The values of a column, and whether some are missing."""
    if column.kind != "real":
        codes = _codes(raw, column, handle_unknown=handle_unknown, hint=_CHOOSE_UNKNOWN)
        return codes, bool((codes == MISSING).any())
    if raw.categories:
        raise ValueError(_changed(column, "numbers", raw.family))
    values = raw.floats()
    return values, check_finite(values, column.name)


_CHOOSE_UNKNOWN = "choose another 'handle_unknown' than 'error' to predict such rows too."
_ADD_TO_MAPPING = "add it to 'ordinal_features', or make the value missing."


def _codes(raw: RawColumn, column: Column, *, handle_unknown: Unknown, hint: str) -> NDArray[Any]:
    """Category codes of a column."""
    categories = column.categories or ()
    families = {raw.family, family_of(categories)}
    comparable = len(families) == 1 or families == {"number", "bool"}
    if not comparable and not families & {"empty", "other"}:
        raise ValueError(_changed(column, family_of(categories), raw.family))
    if raw.categories is not None and raw.categories == categories:
        return raw.values
    values, which = raw.distinct()
    code_of = {category: code for code, category in enumerate(categories)}
    lookup = [code_of.get(value, UNKNOWN) for value in values]
    codes = np.array([*lookup, MISSING], dtype=smallest_ints(len(categories)))[which]
    if handle_unknown in ("error", "missing"):
        strange = codes == UNKNOWN
        if handle_unknown == "error" and strange.any():
            raise ValueError(_unknown(raw, column, int(strange.argmax()), hint))
        codes[strange] = MISSING
    return codes


def _changed(column: Column, expected: str, family: str) -> str:
    words = {"number": "numbers", "text": "text", "bool": "booleans", "other": "categories"}
    return (
        f"Column {column.name!r} changed its type: it is {column.kind} and held "
        f"{words.get(expected, expected)} in training. Got {words.get(family, family)} instead. "
        "Hint: read it with the type it had in training."
    )


def _unknown(raw: RawColumn, column: Column, row: int, hint: str) -> str:
    value: Any = raw.values[row]
    if raw.categories is not None:
        value = raw.categories[int(value)]
    elif isinstance(value, np.generic):
        value = value.item()
    return (
        f"Column {column.name!r} holds a category that is not among its "
        f"{len(column.categories or ()):,} known ones: {value!r}, in row {row:,}. Hint: {hint}"
    )
