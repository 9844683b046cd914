"""Typed columns: any table in, one float64 matrix and a schema out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from treebound.landscape import Landscape
from treebound.tree.tables import Family, RawColumn, Table, family_of, read_table

__all__ = ["Column", "Kind", "Unknown", "encode", "landscape_of", "learn_columns"]

Kind = Literal["real", "ordinal", "nominal"]
Unknown = Literal["other", "majority", "stop", "missing", "error"]


@dataclass(frozen=True)
class Column:
    """What is known of one input column.

    Attributes
    ----------
    name : str
        The column's name; ``"x0"``, ``"x1"``, ... where the table had none.
    kind : {"real", "ordinal", "nominal"}
        Threshold tests for real and ordinal columns, ``x == category`` for nominal ones.
    categories : tuple or None
        The categories of an ordinal (in order) or nominal column; None for a real one.
    declared : bool
        Whether the categories were declared before the data were seen (by the dtype or the user).
        Categories merely found in the data count as unbounded in a certificate.
    missing : bool
        Whether a value was missing in training.
    """

    name: str
    kind: Kind = "real"
    categories: tuple[Any, ...] | None = None
    declared: bool = False
    missing: bool = False

    def with_missing(self, missing: bool) -> Column:
        """The same column, with or without missing values in training."""
        return replace(self, missing=missing)


def landscape_of(columns: Sequence[Column], *, observed: bool = False) -> Landscape:
    """The landscape of a set of columns, missing values included.

    A real column that may be missing is, as a set of tests, two real columns; an ordinal one, two
    ordinal columns with one category more; in a nominal one, missing is one more category.

    Parameters
    ----------
    columns : sequence of Column
    observed : bool
        If False, categories that were not declared count as unbounded: an undeclared nominal
        column is None in the landscape, an undeclared ordinal one counts as real. If True, the
        categories found in the data are taken as if declared: fit for a score to prune by, not
        for a certificate.
    """
    real = 0
    ordinal: list[int] = []
    nominal: list[int | None] = []
    for column in columns:
        copies = 2 if column.missing else 1
        known = column.declared or observed
        size = len(column.categories or ())
        if column.kind == "real" or (column.kind == "ordinal" and not known):
            real += copies
        elif column.kind == "ordinal":
            ordinal += [max(size + column.missing, 1)] * copies
        else:
            nominal.append(max(size + column.missing, 1) if known else None)
    return Landscape(real, tuple(ordinal), tuple(nominal))


# -- training: the schema and the matrix -------------------------------------------------------


def learn_columns(
    X: Any, *, categorical_features: Any = "from_dtype", ordinal_features: Any = None
) -> tuple[tuple[Column, ...], NDArray[np.float64]]:
    """Read a training table: what its columns are, and the encoded matrix.

    Ordered categoricals and enums are ordinal, unordered categoricals, text and booleans nominal,
    numbers real. The categories are those of the dtype where it declares them, else those found,
    sorted. In the matrix a real value is itself, a category its code, and NaN is missing.

    Parameters
    ----------
    X : table
        Anything narwhals knows (pandas, polars, pyarrow), an array, or nested lists. A float64
        array without categorical columns is not copied.
    categorical_features : "from_dtype", or a sequence of names, of indices, or a boolean mask
        Columns that are nominal whatever their dtype; the others keep the kind of their dtype.
    ordinal_features : sequence of names or indices, or mapping to ordered categories
        Columns that are ordinal whatever their dtype. A mapping declares the categories, in order.

    Examples
    --------
    >>> from treebound.tree.columns import learn_columns
    >>> columns, encoded = learn_columns(
    ...     [[1.5, "red", "low"], [2.5, "blue", "high"]],
    ...     ordinal_features={"x2": ["low", "high"]},
    ... )
    >>> [(c.kind, c.categories) for c in columns]
    [('real', None), ('nominal', ('blue', 'red')), ('ordinal', ('low', 'high'))]
    >>> encoded.tolist()
    [[1.5, 1.0, 0.0], [2.5, 0.0, 1.0]]
    """
    table = read_table(X)
    labels = table.labels
    nominal = _chosen(categorical_features, labels, "categorical_features")
    ordinal = _declared(ordinal_features, labels)
    both = sorted(nominal & ordinal.keys())
    if both:
        raise ValueError(
            f"Column {labels[both[0]]!r} is named in both 'categorical_features' and "
            "'ordinal_features'. Hint: keep it in one of them."
        )
    if table.matrix is not None and not nominal and not ordinal:
        missing = _missing_columns(table.matrix, labels)
        return tuple(map(_real_column, labels, missing)), table.matrix
    learned = [
        _learn_column(table.column(i), label, i in nominal, i in ordinal, ordinal.get(i))
        for i, label in enumerate(labels)
    ]
    encoded = np.empty(table.shape, order="F")
    for i, (_, values) in enumerate(learned):
        encoded[:, i] = values
    return tuple(column for column, _ in learned), encoded


def _real_column(label: str, missing: bool) -> Column:
    return Column(label, missing=missing)


def _learn_column(
    raw: RawColumn,
    label: str,
    nominal: bool,
    ordinal: bool,
    declared: tuple[Any, ...] | None,
) -> tuple[Column, NDArray[np.float64]]:
    if raw.categories is None and not nominal and not ordinal:
        _finite(raw.values, label)
        return Column(label, missing=bool(np.isnan(raw.values).any())), raw.values
    kind: Kind = "ordinal" if ordinal or (raw.ordered and not nominal) else "nominal"
    if declared is not None:
        column = Column(label, kind, declared, declared=True)
        values = _codes(raw, column, unknown="error", hint=_ADD_TO_MAPPING)
    elif raw.categories is not None:
        column = Column(label, kind, raw.categories, raw.declared)
        values = raw.values
    else:
        _finite(raw.values, label)
        values, found = _factorized(raw.values)
        column = Column(label, kind, found)
    return column.with_missing(bool(np.isnan(values).any())), values


def _factorized(numbers: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[Any, ...]]:
    """Codes and sorted categories of numbers; whole numbers become ints, to read well."""
    known = ~np.isnan(numbers)
    found, inverse = np.unique(numbers[known], return_inverse=True)
    codes = np.full(len(numbers), np.nan)
    codes[known] = inverse
    whole = bool((found == np.round(found)).all() and (np.abs(found) < 2**53).all())
    return codes, tuple((found.astype(np.int64) if whole else found).tolist())


def _chosen(choice: Any, labels: tuple[str, ...], parameter: str) -> set[int]:
    """The columns that a parameter names, by name, by index or by mask."""
    if isinstance(choice, str) and choice == "from_dtype":
        return set()
    wrong = (
        f"The {parameter!r} parameter must be "
        + ("'from_dtype', or " if parameter == "categorical_features" else "None, a mapping, or ")
        + f"a sequence of column names or indices, or a boolean mask. Got {choice!r} instead."
    )
    if isinstance(choice, str | Mapping) or not isinstance(choice, Iterable):
        raise ValueError(wrong)
    items = [item.item() if isinstance(item, np.generic) else item for item in choice]
    if items and all(isinstance(item, bool) for item in items):
        if len(items) != len(labels):
            raise ValueError(
                f"The {parameter!r} parameter must be a boolean mask with one entry a column, "
                f"{len(labels)} in all. Got {len(items)} instead."
            )
        return {i for i, item in enumerate(items) if item}
    if not all(isinstance(item, str | int) and not isinstance(item, bool) for item in items):
        raise ValueError(wrong)
    return {_position(item, labels, parameter) for item in items}


def _position(item: str | int, labels: tuple[str, ...], parameter: str) -> int:
    if isinstance(item, str) and item in labels:
        return labels.index(item)
    if isinstance(item, int) and 0 <= item < len(labels):
        return item
    names = ", ".join(labels[:10]) + (", ..." if len(labels) > 10 else "")
    raise ValueError(
        f"The {parameter!r} parameter names a column that is not in the table: {item!r}. "
        f"Hint: the {len(labels)} columns are {names}."
    )


def _declared(choice: Any, labels: tuple[str, ...]) -> dict[int, tuple[Any, ...] | None]:
    """The ordinal columns, with their categories in order where the user declared them."""
    if choice is None:
        return {}
    if not isinstance(choice, Mapping):
        return dict.fromkeys(_chosen(choice, labels, "ordinal_features"))
    found: dict[int, tuple[Any, ...] | None] = {}
    for item, categories in choice.items():
        at = _position(item, labels, "ordinal_features")
        found[at] = tuple(np.asarray(categories, dtype=object).tolist())
        if not found[at] or len(set(found[at] or ())) < len(found[at] or ()):
            raise ValueError(
                f"The 'ordinal_features' parameter must map a column to its categories in order, "
                f"each once. Got {categories!r} for {item!r} instead."
            )
    return found


# -- prediction: a table through a known schema ------------------------------------------------


def encode(
    X: Any, columns: Sequence[Column], *, unknown: Unknown = "majority"
) -> NDArray[np.float64]:
    """Encode a table with the schema of the training table.

    Parameters
    ----------
    X : table
        The same columns in the same order; a table without names is taken as it is.
    columns : sequence of Column
        What :func:`learn_columns` found.
    unknown : {"majority", "stop", "missing", "error"}
        What becomes of a category that is not in the schema: an error, missing (NaN), or -1,
        which the tree deals with when it meets it.

    Raises
    ------
    ValueError
        If the columns differ from those of the schema, or one changed its type.
    """
    table = read_table(X)
    _same_columns(table, columns)
    if table.matrix is not None and all(column.kind == "real" for column in columns):
        _finite_matrix(table.matrix, table.labels)
        return table.matrix
    encoded = np.empty(table.shape, order="F")
    for i, column in enumerate(columns):
        encoded[:, i] = _encode_column(table.column(i), column, unknown)
    return encoded


def _same_columns(table: Table, columns: Sequence[Column]) -> None:
    if table.shape[1] != len(columns):
        raise ValueError(
            f"X has {table.shape[1]} columns, but the tree was grown on {len(columns)}. "
            f"Hint: give exactly these, in this order: {_some(c.name for c in columns)}."
        )
    for at, (label, column) in enumerate(zip(table.names or (), columns, strict=False)):
        if label != column.name and column.name != f"x{at}":
            raise ValueError(
                f"Column {at} of X is {label!r}, but the tree was grown with {column.name!r} "
                f"there. Hint: give exactly these, in this order: {_some(c.name for c in columns)}."
            )


def _some(names: Any) -> str:
    names = list(names)
    return ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")


def _encode_column(raw: RawColumn, column: Column, unknown: Unknown) -> NDArray[np.float64]:
    if column.kind != "real":
        return _codes(raw, column, unknown=unknown, hint=_CHOOSE_UNKNOWN)
    if raw.family not in ("number", "empty") or (raw.categories and raw.family != "empty"):
        raise ValueError(_changed(column, "numbers", raw.family))
    _finite(raw.values, column.name)
    return raw.values


_CHOOSE_UNKNOWN = "choose another 'unknown' than 'error' to predict such rows too."
_ADD_TO_MAPPING = "add it to 'ordinal_features', or make the value missing."


def _codes(raw: RawColumn, column: Column, *, unknown: Unknown, hint: str) -> NDArray[np.float64]:
    """The codes of the values of a categorical column; -1 or NaN for those not in the schema."""
    family = family_of(column.categories or ())
    if not _compatible(raw.family, family):
        raise ValueError(_changed(column, family, raw.family))
    if raw.categories is None:
        codes = _codes_of_numbers(raw.values, column.categories or ())
    elif raw.categories == column.categories:
        return raw.values
    else:
        code_of = {category: code for code, category in enumerate(column.categories or ())}
        table = np.array([code_of.get(c, -1) for c in raw.categories] + [np.nan])
        at = np.where(np.isnan(raw.values), len(raw.categories), raw.values)
        codes = table[at.astype(np.intp)]
    if unknown in ("error", "missing"):
        strange = codes == -1
        if unknown == "error" and strange.any():
            raise ValueError(_unknown(raw, column, int(strange.argmax()), hint))
        codes[strange] = np.nan
    return codes


def _codes_of_numbers(
    numbers: NDArray[np.float64], categories: tuple[Any, ...]
) -> NDArray[np.float64]:
    known = np.array([float(c) for c in categories])
    order = np.argsort(known, kind="stable")
    at = np.searchsorted(known, numbers, sorter=order).clip(max=max(len(known) - 1, 0))
    codes = np.full(len(numbers), -1.0)
    if len(known):
        found = order[at]
        codes = np.where(known[found] == numbers, found, codes)
    codes[np.isnan(numbers)] = np.nan
    return codes


def _compatible(found: Family, expected: Family) -> bool:
    """Whether values can be compared with the categories; True == 1 and False == 0 can."""
    numeric = ("number", "bool")
    return (
        found == expected
        or "empty" in (found, expected)
        or "other" in (found, expected)
        or (found in numeric and expected in numeric)
    )


def _changed(column: Column, expected: str, found: str) -> str:
    words = {"number": "numbers", "text": "text", "bool": "booleans", "other": "categories"}
    return (
        f"Column {column.name!r} changed its type: it is {column.kind} and held "
        f"{words.get(expected, expected)} in training. Got {words.get(found, found)} instead. "
        "Hint: read it with the type it had in training."
    )


def _unknown(raw: RawColumn, column: Column, row: int, hint: str) -> str:
    value: Any = raw.values[row]
    if raw.categories is not None:
        value = raw.categories[int(value)]
    else:
        value = value.item()
    return (
        f"Column {column.name!r} holds a category that is not among its "
        f"{len(column.categories or ())} known ones: {value!r}, in row {row}. Hint: {hint}"
    )


# -- infinities and missing values -------------------------------------------------------------


def _missing_columns(matrix: NDArray[np.float64], labels: Sequence[str]) -> list[bool]:
    """Which columns have a missing value; an infinity is an error."""
    # One pass: a sum is finite unless a value is not (or the sum overflows: then look closer).
    with np.errstate(over="ignore", invalid="ignore"):
        sums = matrix.sum(axis=0)
    missing = [False] * len(sums)
    for i in np.flatnonzero(~np.isfinite(sums)).tolist():
        _finite(matrix[:, i], labels[i])
        missing[i] = bool(np.isnan(matrix[:, i]).any())
    return missing


def _finite_matrix(matrix: NDArray[np.float64], labels: Sequence[str]) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(matrix.sum())
    if not finite:
        for i, label in enumerate(labels):
            _finite(matrix[:, i], label)


def _finite(values: NDArray[np.float64], label: str) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(values.sum())
    if not finite and np.isinf(values).any():
        row = int(np.isinf(values).argmax())
        raise ValueError(
            f"Input X contains infinity or a value too large for dtype('float64'): column "
            f"{label!r}, row {row}. Hint: make it missing (NaN) or a number."
        )
