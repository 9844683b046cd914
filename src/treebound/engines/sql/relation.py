"""A relation of a database with settings, and how its columns become codes there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow
import pyarrow.compute
from numpy.typing import NDArray

from treebound._utils.validation import Whole, check, invalid
from treebound.data import Column, learn_matrix
from treebound.data.columns import is_identifier
from treebound.data.roles import check_names
from treebound.data.streams import in_database
from treebound.engines.sql.stores import ROWS, SqlStore
from treebound.growing._layout import MAX_CATEGORIES
from treebound.pruning.bound import is_large

# Cells of equal width in which a column of numbers is counted.
CELLS = 1023
# Rows of a node that are fetched, unless the user sets another number.
MAX_FETCHED_ROWS = 1 << 16
# Bits of codes in one number: whole floats are exact so far.
_WORD_BITS = 52


class Relation:
    """A relation of a database with settings, for ``fit``.

    Parameters
    ----------
    frame : object
        A DuckDB relation, a PySpark data frame, or an Ibis table.
    id : str, optional
        A column with a different value in every row; it is not learned from. Calibration and
        validation rows are drawn by it, or by row numbers in a temporary table without it.
    max_fetched_rows : int, optional
        The rows of nodes with at most this many are fetched, and the tree below them is grown in
        memory; so are calibration and validation rows. 0 fetches none. By default 65,536, and a
        relation of at most 10^7 values is fetched as a whole if the rows are needed again, such as
        for folds: then it is fitted as in memory.

    Examples
    --------
    >>> import duckdb
    >>> import treebound as tb
    >>> from treebound.engines.sql import Relation
    >>> rows = duckdb.sql("SELECT i, i % 7 AS day, i % 7 > 4 AS free FROM range(70) AS t(i)")
    >>> clf = tb.BoundTreeClassifier().fit(Relation(rows, id="i", max_fetched_rows=0), y="free")
    >>> clf.n_leaves_
    2
    """

    def __init__(
        self, frame: Any, *, id: str | None = None, max_fetched_rows: int | None = None
    ) -> None:
        most = {"max_fetched_rows": max_fetched_rows}
        check("Relation", most, {"max_fetched_rows": Whole(0, optional=True)})
        if not in_database(frame):
            must = "a relation of a database, such as one of DuckDB, PySpark or Ibis"
            raise invalid("frame", "Relation", must, type(frame))
        self.frame, self.id = nw.from_native(frame), id
        self.stays = max_fetched_rows is not None  # a relation of more rows
        self.max_fetched_rows = MAX_FETCHED_ROWS if max_fetched_rows is None else max_fetched_rows

    @classmethod
    def of(cls, frame: Any) -> Relation:
        """Return the relation itself, or wrap a bare one with the default settings."""
        return frame if isinstance(frame, cls) else cls(frame)

    def is_fetched(self, rows: int, columns: int, *, again: bool) -> bool:
        """Return True if a relation of this size is read into memory to fit it.

        ``again``: whether its rows are needed again when a tree is grown.
        """
        if rows <= self.max_fetched_rows:
            return True
        return again and not self.stays and not is_large(rows, columns)

    def types(self, caller: str, **columns: Any) -> Any:
        """The types of all columns; an error if a parameter names none of them."""
        types = self.frame.collect_schema()
        check_names(caller, types.names(), "the relation", **columns)
        return types


def fetch_table(frame: Any, types: Mapping[str, Any]) -> Any:
    """All rows as a table in memory; enums have an order."""
    table = frame.collect(backend="pyarrow").to_native()
    for j, name in enumerate(table.column_names):
        dtype = types[name]
        if isinstance(dtype, nw.Enum):
            categories = pyarrow.array(list(dtype.categories))
            codes = pyarrow.compute.index_in(table.column(name).cast("string"), categories)
            ordered = pyarrow.DictionaryArray.from_arrays(
                codes.combine_chunks(), categories, ordered=True
            )
            table = table.set_column(j, name, ordered)
    return table


class Coding(NamedTuple):
    """How the values of a column are stored: in cells of equal width, or as numbers of categories.

    A unit of numbers has ``rate`` cells, 0 if floats have no cells of equal width. ``codes`` has
    the code of each stored number of a category: those are in the order of the database. Codes are
    bits of whole numbers (``word``, ``shift``), since a database copies few columns faster.
    """

    column: Column
    low: float = 0.0
    high: float = 0.0
    rate: float = 0.0
    codes: NDArray[np.int64] | None = None
    rows: NDArray[np.int64] | None = None  # of each of them
    word: str = "w0"
    shift: int = 0

    @property
    def width(self) -> int:
        """Return the number of stored codes, including 0 for missing values."""
        return 1 + (CELLS if self.codes is None else len(self.codes))

    @property
    def bits(self) -> int:
        """The bits of a stored code."""
        return (self.width - 1).bit_length()

    def code(self, store: SqlStore) -> str:
        """SQL of the stored code."""
        return store.bits(self.word, self.shift, self.bits)

    def stored(self, j: int, store: SqlStore) -> str:
        """SQL of the code in its place, as a float; rounding keeps the order of values."""
        if self.column.identifier:  # nothing is stored: every value counts as missing
            return store.number(0.0)
        code = f"CAST(t{j}.code AS {store.double})"
        if self.codes is None:
            low, rate = store.number(self.low), store.number(self.rate)
            code = f"FLOOR((x{j} - {low}) * {rate})" if self.rate else f"x{j} * 0"
        return f"COALESCE({code} + 1, 0) * {store.number(2.0**self.shift)}"


def in_words(codings: Sequence[Coding]) -> list[Coding]:
    """Codings with places in words, whose floats are exact."""
    placed: list[Coding] = []
    word = shift = 0
    for coding in codings:
        if shift + coding.bits > _WORD_BITS:
            word, shift = word + 1, 0
        placed.append(coding._replace(word=f"w{word}", shift=shift))
        shift += coding.bits
    return placed


def can_split(dtype: Any) -> bool:
    """Return True if a tree can split on columns of a type."""
    return bool(dtype.is_numeric()) or dtype in (nw.String, nw.Boolean, nw.Categorical, nw.Enum)


def usable_columns(frame: Any, names: Sequence[str]) -> list[str]:
    """Return the columns of a relation, of these names, that a tree can split on."""
    types = nw.from_native(frame).collect_schema()
    return [name for name in names if can_split(types[name])]


def is_number(dtype: Any, name: str) -> bool:
    """Return True for a column of numbers; text, booleans and enums have categories."""
    if can_split(dtype):
        return bool(dtype.is_numeric())
    raise ValueError(
        f"Column {name!r} of the relation has the type {dtype}. A tree takes numbers, text, "
        "booleans and enums. Hint: convert it in the query, or leave it out."
    )


def number_codings(
    store: SqlStore, native: Any, names: Sequence[str], numbers: Sequence[int]
) -> dict[int, Coding]:
    """The cells of columns of numbers, by their ends."""
    if not numbers:
        return {}
    wanted = ", ".join(f"MIN(x{j}) AS low{j}, MAX(x{j}) AS high{j}" for j in numbers)
    fetched = store.fetch(f"SELECT {wanted} FROM {ROWS}", native)
    return {j: _cells(names[j], fetched[f"low{j}"][0], fetched[f"high{j}"][0]) for j in numbers}


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
    store: SqlStore,
    native: Any,
    at: str,
    name: str,
    dtype: Any,
    options: dict[str, Any],
    n_rows: int,
) -> tuple[str, Coding]:
    """The distinct values of a column with numbers: a table there, and a coding here.

    Of an identifier, unless ``options`` choose its kind, only the number of values is fetched.
    """
    table = _numbered_values(store, native, at)
    if isinstance(dtype, nw.Enum) and not options:
        options = {"ordinal_features": {name: list(dtype.categories)}}
    if not options:
        n = int(store.fetch(f"SELECT COUNT(value) AS n FROM {table} AS t")["n"][0])
        if is_identifier("nominal", False, n, n_rows):
            column = Column(name, "nominal", missing=True, unlisted=n, identifier=True)
            return table, Coding(column, codes=np.array([-1]), rows=np.array([n_rows]))
    values, rows = _fetched_values(store, table, name)
    matrix = learn_matrix(pyarrow.table({name: _arrow(values.tolist(), dtype)}), **options)
    codes = matrix.values[0].astype(np.int64)
    return table, Coding(matrix.columns[0], codes=codes, rows=rows)


def distinct(
    store: SqlStore, native: Any, at: str, name: str
) -> tuple[str, NDArray[Any], NDArray[np.int64]]:
    """A table of the values of a column with their numbers; the values, and the rows of each."""
    table = _numbered_values(store, native, at)
    return table, *_fetched_values(store, table, name)


def _numbered_values(store: SqlStore, native: Any, at: str) -> str:
    """A table of the distinct values of a column, numbered in order, with the rows of each."""
    return store.keep(
        f"SELECT value, n, ROW_NUMBER() OVER (ORDER BY value) - 1 AS code FROM (SELECT {at} AS "
        f"value, COUNT(*) AS n FROM {ROWS} GROUP BY {at}) AS d",
        native,
    )


def _fetched_values(
    store: SqlStore, table: str, name: str
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The values of such a table in order, and the rows of each; an error if they are too many."""
    # one more than there may be, and missing values
    most = f"code <= {MAX_CATEGORIES + 1}"
    fetched = store.fetch(f"SELECT value, n, code FROM {table} AS t WHERE {most}")
    if len(fetched["code"]) > MAX_CATEGORIES + 1:
        raise ValueError(
            f"Column {name!r} of the relation has more than {MAX_CATEGORIES} different values. "
            "Growing in a database takes no more. Hint: leave the column out, or merge rare "
            "values."
        )
    order = np.argsort(fetched["code"])
    return fetched["value"][order], fetched["n"][order].astype(np.int64)


def _arrow(values: list[Any], dtype: Any) -> Any:
    """Return values with their type, even if all of them are missing."""
    if dtype.is_float():
        return pyarrow.array([np.nan if v is None else v for v in values], pyarrow.float64())
    if dtype.is_numeric():
        return pyarrow.array(values)
    return pyarrow.array(values, pyarrow.bool_() if dtype == nw.Boolean else pyarrow.string())
