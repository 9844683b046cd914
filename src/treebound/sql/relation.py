"""A relation of a database, and how the values of its columns become codes there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from treebound._validation import Whole, check, invalid
from treebound.data import Column, learn_matrix
from treebound.data.streams import in_database
from treebound.sql.stores import Store

__all__ = [
    "CELLS",
    "Coding",
    "Relation",
    "categories_of",
    "cell_of",
    "coded_columns",
    "fetch",
    "is_number",
    "number_codings",
    "plain_value",
]

# Cells of equal width in which a column of numbers is counted.
CELLS = 255
# Codes of categories have 16 bits in memory, and one of them is for missing values.
_MOST_CATEGORIES = 65534


class Relation:
    """A relation of a database with settings, for ``fit``.

    Parameters
    ----------
    frame : object
        A relation of DuckDB, a data frame of PySpark, a table of Ibis, or another lazy frame of
        a database that narwhals knows.
    id : str, optional
        A column that tells rows apart. It is no column to learn from. Held-out rows are drawn by
        it; without it they are drawn by row numbers in a temporary table.
    max_fetched_rows : int
        The rows of nodes with at most this many of them are fetched, and the tree below is grown
        in memory; 0 fetches none.

    Examples
    --------
    >>> import duckdb
    >>> import treebound as tb
    >>> from treebound.sql import Relation
    >>> rows = duckdb.sql("SELECT i, i % 7 AS day, i % 7 > 4 AS free FROM range(70) AS t(i)")
    >>> clf = tb.BoundTreeClassifier().fit(Relation(rows, id="i", max_fetched_rows=0), y="free")
    >>> clf.n_leaves_
    2
    """

    def __init__(
        self, frame: Any, *, id: str | None = None, max_fetched_rows: int = 1 << 16
    ) -> None:
        check("Relation", {"max_fetched_rows": max_fetched_rows}, {"max_fetched_rows": Whole(0)})
        if not in_database(frame):
            must = "a relation of a database, such as one of DuckDB, PySpark or Ibis"
            raise invalid("frame", "Relation", must, type(frame))
        self.frame, self.id, self.max_fetched_rows = nw.from_native(frame), id, max_fetched_rows


def fetch(frame: Any) -> dict[str, NDArray[Any]]:
    """The columns of a small result: whole numbers as int64, texts and others as objects."""
    table = frame.collect(backend="pyarrow").to_native()
    return {name: _array(table.column(name)) for name in table.column_names}


def _array(column: Any) -> NDArray[Any]:
    import pyarrow.types as types

    if types.is_decimal(column.type):
        return np.array(column.to_pylist(), dtype=object)
    array: NDArray[Any] = column.to_numpy()
    return array


# -- how values become codes -----------------------------------------------------------------------


class Coding(NamedTuple):
    """How the values of a column are stored: in cells of equal width, or as codes of categories.

    Attributes
    ----------
    column : Column
    low, high : float
        The least and the greatest number.
    rate : float
        Cells for a unit; 0 where floats have no cells of equal width.
    codes : ndarray of int64 or None
        The code of each stored one, which are numbered in the order of the database.
    """

    column: Column
    low: float = 0.0
    high: float = 0.0
    rate: float = 0.0
    codes: NDArray[np.int64] | None = None

    @property
    def width(self) -> int:
        """Stored codes, with that of missing values, which is -1."""
        return 1 + (CELLS if self.codes is None else len(self.codes))


def is_number(dtype: Any, name: str) -> bool:
    """Whether a column holds numbers; text, booleans and enums have categories."""

    if dtype.is_numeric():
        return True
    if dtype in (nw.String, nw.Boolean, nw.Categorical, nw.Enum):
        return False
    raise ValueError(
        f"Column {name!r} of the relation has the type {dtype}. A tree takes numbers, text, "
        "booleans and enums. Hint: convert it in the query, or leave it out."
    )


def _number(j: int, dtype: Any) -> Any:
    """A column as float64, with NULL for NaN."""

    value = nw.col(f"x{j}")
    if dtype.is_float():
        value = nw.when(~value.is_nan()).then(value)
    return value.cast(nw.Float64)


def number_codings(frame: Any, types: Any, names: Sequence[str], js: Sequence[int]) -> list[Coding]:
    """The cells of some columns of numbers, by their ends."""
    if not js:
        return []
    wanted = []
    for j in js:
        value = _number(j, types[f"x{j}"])
        wanted += [value.min().alias(f"low{j}"), value.max().alias(f"high{j}")]
    ends = fetch(frame.select(wanted))
    return [_cells(names[j], ends[f"low{j}"][0], ends[f"high{j}"][0]) for j in js]


def _cells(name: str, low: float | None, high: float | None) -> Coding:
    """Cells from the least to the greatest value of a column; one if all are missing."""
    if low is None or high is None or np.isnan(low):
        return Coding(Column(name))
    if not np.isfinite([low, high]).all():
        raise ValueError(
            f"Column {name!r} of the relation contains infinity. Hint: make it missing (NULL) or "
            "a number."
        )
    with np.errstate(over="ignore"):
        width = np.float64(high) - low
    # a little less than so many cells, so that the greatest value is inside the last one
    rate = float(CELLS * (1.0 - 2.0**-40) / width) if 1e-290 < width < 1e290 else 0.0
    return Coding(Column(name), float(low), float(high), rate)


def categories_of(
    store: Store, frame: Any, at: str, name: str, dtype: Any, options: dict[str, Any]
) -> tuple[Any, Coding]:
    """The distinct values of a column with numbers: as a table there, and a coding here."""
    import pyarrow

    counted = frame.group_by(at).agg(nw.len().alias("n")).drop("n")
    n = int(fetch(counted.select(nw.len().alias("n")))["n"][0])
    if n > _MOST_CATEGORIES:
        raise ValueError(
            f"Column {name!r} of the relation has {n} categories. Growing in a database takes at "
            f"most {_MOST_CATEGORIES}. Hint: leave the column out, or put rare categories together."
        )
    table = store.keep(counted.with_row_index("code", order_by=[at]))
    found = fetch(table)
    values = [plain_value(value) for value in found[at][np.argsort(found["code"])]]
    if isinstance(dtype, nw.Enum) and not options:
        options = {"ordinal_features": {name: list(dtype.categories)}}
    matrix = learn_matrix(pyarrow.table({name: _arrow(values, dtype)}), **options)
    return table, Coding(matrix.columns[0], codes=matrix.values[0].astype(np.int64))


def plain_value(value: Any) -> Any:
    """A text that was fetched as bytes, or the value itself."""
    return bytes(value).decode() if isinstance(value, bytes | bytearray | memoryview) else value


def _arrow(values: list[Any], dtype: Any) -> Any:
    """Values with their type, even where all of them are missing."""
    import pyarrow

    if dtype.is_float():
        return pyarrow.array([np.nan if v is None else v for v in values], pyarrow.float64())
    flags = pyarrow.bool_() if str(dtype) == "Boolean" else pyarrow.string()
    return pyarrow.array(values, None if dtype.is_numeric() else flags)


def coded_columns(j: int, coding: Coding, dtype: Any) -> list[Any]:
    """The stored code of a column, -1 where it is missing, and its numbers if it is real."""

    if coding.codes is not None:
        return [nw.col(f"code_x{j}").cast(nw.Int32).fill_null(-1).alias(f"c{j}")]
    value = _number(j, dtype)
    cell = cell_of(value, coding, 0).cast(nw.Int16).fill_null(-1)
    return [cell.alias(f"c{j}"), value.alias(f"v{j}")]


def cell_of(value: Any, coding: Coding, level: int) -> Any:
    """The cell of a number, each of the cells divided in 2^level.

    Differences and products are rounded alike in every database, and keep the order of values.
    """
    if not coding.rate:
        return value * 0.0
    return ((value - coding.low) * (coding.rate * 2.0**level)).floor()
