"""Reading a table: a data frame of any library, an array or nested lists become raw columns.

The kind of a column is decided elsewhere (see ``encoding.py``). Numbers keep their dtype, so
that identifiers are compared exactly.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils._pool import each
from treebound._utils.jobs import take
from treebound.data._factorize import factorize_bytes, factorize_views
from treebound.data.raw import (
    MISSING,
    RawColumn,
    boolean_column,
    coded_column,
    column_of,
    empty_column,
    family_of,
    found_column,
    mixed_types,
    no_dates,
    no_duplicates,
    number_column,
    some_names,
)


@dataclass(frozen=True)
class Table:
    """A table as it was read: one matrix of numbers, or a list of columns."""

    names: tuple[str, ...] | None  # the column names, if the table has any and all are strings
    shape: tuple[int, int]  # rows and columns
    matrix: NDArray[Any] | None = None  # the whole table, if it consists of numbers of one type
    raw: tuple[RawColumn, ...] = ()  # the columns, otherwise

    @property
    def labels(self) -> tuple[str, ...]:
        """The column names, or ``x0``, ``x1``, ... if there are none."""
        return self.names or tuple(f"x{i}" for i in range(self.shape[1]))

    def column(self, i: int) -> RawColumn:
        """Column ``i``."""
        if self.matrix is not None:
            return RawColumn(self.matrix[:, i])
        return self.raw[i]

    def floats(self) -> NDArray[np.floating[Any]] | None:
        """The table as one array of float64 or float32; None if it has other columns."""
        if self.matrix is None or self.matrix.dtype in (np.float64, np.float32):
            return self.matrix
        return self.matrix.astype(np.float32 if self.matrix.dtype == np.float16 else np.float64)

    def select(self, names: Sequence[str]) -> Table:
        """The table restricted to columns with these names, in this order."""
        if tuple(names) == self.labels:
            return self
        at = {name: place for place, name in enumerate(self.labels)}
        for name in names:
            if name not in at:
                raise ValueError(f"The table has no column {name!r}. Hint: give it.")
        places = [at[name] for name in names]
        shape = (self.shape[0], len(places))
        if self.matrix is not None:
            return Table(tuple(names), shape, self.matrix[:, places])
        return Table(tuple(names), shape, raw=tuple(self.raw[at] for at in places))

    def rows(self, keep: NDArray[np.bool_]) -> Table:
        """The table restricted to some rows."""
        places = np.flatnonzero(keep)
        shape = (len(places), self.shape[1])
        if self.matrix is not None:
            return Table(self.names, shape, take(self.matrix, places))
        raw = each(lambda column: column.rows(places), self.raw)
        return Table(self.names, shape, raw=tuple(raw))


def read_table(X: Any) -> Table:
    """Read a data frame (anything narwhals supports), an array or nested lists."""
    if isinstance(X, Table):
        return X
    if type(X) is np.ndarray and X.dtype in (np.float64, np.float32) and X.ndim == 2 and X.size:
        return Table(None, X.shape, X)
    if isinstance(X, np.ma.MaskedArray):
        return _read_array(_unmasked(X))
    if not isinstance(X, np.ndarray | list | tuple):
        import narwhals as nw

        if nw.dependencies.is_into_dataframe(X) or isinstance(X, nw.DataFrame):
            return _read_frame(X)
        if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
            raise TypeError(
                f"A lazy table has no rows to learn from yet. Got {type(X).__name__} instead of a "
                "data frame. Hint: collect it first."
            )
        if nw.dependencies.is_into_series(X):
            raise ValueError(
                "X must be a table of rows. Expected 2D array, got a series instead. Hint: a table "
                "of one row is X.iloc[[0]]; explain takes a single row."
            )
        if hasattr(X, "scanner") or hasattr(X, "to_batches"):
            raise TypeError(
                f"X must be a table in memory. Got {type(X).__name__} instead, which is read in "
                "batches. Hint: give each of its batches, or X.to_table()."
            )
    elif isinstance(X, list | tuple) and any(isinstance(row, dict) for row in X):
        raise ValueError(
            "X must be a data frame, a two-dimensional array or nested lists. Got a list of "
            "dictionaries instead. Hint: make a data frame of it, such as pandas.DataFrame(X)."
        )
    return _read_array(X)


# -- arrays and lists --------------------------------------------------------------------------


def _read_array(X: Any) -> Table:
    array = _as_array(X)
    if X is None or isinstance(X, str | bytes | dict | set):
        raise ValueError(
            f"X must be a data frame, a two-dimensional array or nested lists. Got {X!r} instead."
        )
    if array is not None and array.dtype.kind in "mM":
        raise ValueError(no_dates("X", str(array.dtype)))
    if array is None or array.dtype.kind not in "bOSUT" or array.ndim != 2:
        matrix = _numeric(X, array)
        return Table(None, matrix.shape, matrix)
    _not_empty(array.shape)
    if array.dtype.kind == "b":
        raw = tuple(boolean_column(array[:, i]) for i in range(array.shape[1]))
    else:
        raw = tuple(
            column_of(array[:, i].tolist(), f"Column 'x{i}'") for i in range(array.shape[1])
        )
    return Table(None, array.shape, raw=raw)


def _unmasked(X: Any) -> NDArray[Any]:
    """The values of a masked array; NaN or None where masked."""
    number = X.dtype.kind in "iuf"
    values = np.array(X.data, dtype=np.float64 if number else object)
    values[np.ma.getmaskarray(X)] = np.nan if number else None
    return values


def _numeric(X: Any, array: NDArray[Any] | None) -> NDArray[Any]:
    """A matrix of numbers; scikit-learn raises the errors for sparse or ragged X."""
    if type(array) is np.ndarray and array.dtype.kind in "fiu" and array.ndim == 2 and array.size:
        return array.astype(np.float64) if array.dtype.itemsize > 8 else array
    from sklearn.utils import check_array

    matrix: NDArray[Any] = check_array(X, dtype=np.float64, ensure_all_finite=False, input_name="X")
    return matrix


def _as_array(X: Any) -> NDArray[Any] | None:
    """X as an array that keeps the types of its values; None if it is not an array."""
    if isinstance(X, np.ndarray):
        return X
    if not isinstance(X, list | tuple) and not hasattr(X, "__array__"):
        return None
    try:
        array = np.asarray(X)
        # numpy would turn the numbers of [[1, "a"], [2, "b"]] into text.
        return np.array(X, dtype=object) if array.dtype.kind in "SU" else array
    except ValueError:
        return None


def _not_empty(shape: tuple[int, ...]) -> None:
    """Raise scikit-learn's error for a table without rows or columns."""
    for noun, count in (("sample", shape[0]), ("feature", shape[1])):
        if count == 0:
            raise ValueError(
                f"Found array with 0 {noun}(s) (shape={shape}) while a minimum of 1 is required."
            )


# -- data frames -------------------------------------------------------------------------------


def frame_of(X: Any) -> Any:
    """A data frame of any library as narwhals' own; names must be unique."""
    import narwhals as nw

    try:
        frame = nw.from_native(X, eager_only=True)
        names = list(frame.columns)
    except nw.exceptions.DuplicateError:
        names = list(getattr(X, "column_names", None) or X.columns)
    no_duplicates(names, "The table")
    return frame


def read_columns(X: Any) -> Table:
    """Read a data frame column by column, without making one array of them."""
    return _read_frame(X, as_matrix=False)


def _read_frame(X: Any, *, as_matrix: bool = True) -> Table:
    import narwhals as nw

    native = nw.to_native(X, pass_through=True)
    pandas = nw.dependencies.is_pandas_dataframe(native)
    frame = native if pandas else frame_of(X)
    names = list(frame.columns)
    no_duplicates(names, "The table")
    _not_empty(frame.shape)
    strings = all(isinstance(name, str) for name in names)
    labels = tuple(names) if strings else tuple(f"x{i}" for i in range(len(names)))
    own_names = tuple(names) if strings else None
    if pandas and as_matrix and _is_one_array(frame):
        return Table(own_names, frame.shape, frame.to_numpy())
    read = _read_pandas if pandas else read_series
    columns = (series for _, series in frame.items()) if pandas else frame.iter_columns()
    named = zip(columns, labels, strict=True)
    raw = each(lambda column: read(column[0], f"Column {column[1]!r}"), named)
    return Table(own_names, frame.shape, raw=tuple(raw))


def _is_one_array(frame: Any) -> bool:
    """Return True if a pandas frame is one array of floats, row by row."""
    first = next(frame.items())[1]
    if first.dtype not in (np.float64, np.float32):
        return False
    values = first.to_numpy()
    return values.strides[0] != values.itemsize and bool((frame.dtypes == first.dtype).all())


def _read_pandas(series: Any, label: str) -> RawColumn:
    """Read a pandas column; for plain ones narwhals takes longer than all the rest of a fit."""
    import narwhals as nw

    dtype = series.dtype
    if isinstance(dtype, np.dtype) and (dtype.kind in "iu" or dtype in (np.float64, np.float32)):
        return RawColumn(series.to_numpy())
    if hasattr(series.array, "categories"):
        return _pandas_codes(series.array)
    return read_series(nw.from_native(series, series_only=True), label)


def _pandas_codes(array: Any) -> RawColumn:
    categories = tuple(array.categories.tolist())
    return coded_column(np.asarray(array.codes), categories, ordered=bool(array.ordered))


def read_series(series: Any, label: str = "y") -> RawColumn:
    """Read one column of a data frame; ``label`` is its name in errors."""
    import narwhals as nw

    native, dtype = series.to_native(), series.dtype
    if str(getattr(native, "dtype", "")) == "object":
        return column_of(native.tolist(), label)
    if dtype.is_numeric():
        return _numbers(series)
    if dtype == nw.Boolean:
        missing = series.is_null().to_numpy()
        values = series.fill_null(False).to_numpy() if missing.any() else series.to_numpy()
        return boolean_column(values.astype(bool), missing)
    if dtype == nw.String:
        return _text(series, label)
    if dtype == nw.Categorical or dtype == nw.Enum:
        return _categorical(series, dtype, label)
    if dtype in (nw.Date, nw.Datetime, nw.Duration, nw.Time):
        raise ValueError(no_dates(label, str(dtype)))
    if bool(series.is_null().all()):
        return empty_column(len(series))
    raise ValueError(
        f"{label} must hold numbers, text, booleans or categories. Got {dtype} instead. "
        "Hint: drop it, or make such columns from it."
    )


def _numbers(series: Any) -> RawColumn:
    """A column of numbers; nullable integers stay integers."""
    if series.dtype.is_integer():
        null = series.is_null().to_numpy()
        missing = null if null.any() else None
        whole = series if missing is None else series.fill_null(0)
        return RawColumn(np.asarray(whole.to_numpy()), missing=missing)
    values = series.to_numpy()
    if values.dtype.kind != "f":  # decimals, or a nullable type with missing values
        return number_column(series.to_list())
    return RawColumn(values)


def _text(series: Any, label: str) -> RawColumn:
    """A text column, factorized by Arrow or by the library that holds it."""
    native = series.to_native()
    library = series.implementation
    if library.is_pyarrow():
        return _arrow_text(native, label)
    if library.is_polars():
        return _short_texts(native) or _arrow_text(native.to_arrow(), label)
    if library.is_pandas_like():
        if getattr(native.dtype, "storage", "") == "pyarrow":
            return _arrow_text(native.array.__arrow_array__(), label)
        codes, distinct = native.factorize()
        return found_column(np.asarray(codes), list(distinct))
    return column_of(series.to_list(), label)


def _short_texts(native: Any) -> RawColumn | None:
    """A few distinct polars texts of at most twelve bytes, which its views contain."""
    import polars as pl

    if native.null_count() or not len(native) or sys.byteorder != "little":
        return None
    views = native.to_arrow(compat_level=pl.CompatLevel.newest())
    words: NDArray[Any] = np.frombuffer(views.buffers()[1], np.uint64)
    coded = factorize_views(words[2 * views.offset : 2 * (views.offset + len(views))])
    return coded and found_column(coded[1], native.gather(coded[0]).to_list())


def _arrow_text(texts: Any, label: str) -> RawColumn:
    """Texts of pyarrow; a few distinct ones are found faster than by its dictionaries."""
    import pyarrow as pa

    array = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    if isinstance(array, pa.ChunkedArray):  # no rows, or too many bytes for one array
        return _arrow_codes(array.dictionary_encode(), label)
    wide = pa.types.is_large_string(array.type)
    if not array.null_count and (wide or pa.types.is_string(array.type)):
        _, ends, data = array.buffers()
        last = array.offset + len(array) + 1
        places: NDArray[Any] = np.frombuffer(ends, np.int64 if wide else np.int32, last)[
            array.offset :
        ]
        data_bytes = np.frombuffer(b"" if data is None else data, dtype=np.uint8)
        coded = factorize_bytes(places, data_bytes)
        if coded is not None:
            return found_column(coded[1], array.take(pa.array(coded[0])).to_pylist())
    return _arrow_codes(pa.chunked_array([array.dictionary_encode()]), label)


def _categorical(series: Any, dtype: Any, label: str) -> RawColumn:
    import narwhals as nw

    native = series.to_native()
    library = series.implementation
    if library.is_pandas_like():
        # pandas' own array: the accessor would build a series for each attribute.
        array = native.array if library.is_pandas() else native.cat
        if not hasattr(array, "categories"):  # an Arrow dictionary inside pandas
            import pyarrow

            return _arrow_codes(pyarrow.chunked_array([pyarrow.array(array)]), label)
        return _pandas_codes(array)
    if library.is_pyarrow():
        return _arrow_codes(native, label)
    if library.is_polars():
        codes = native.to_physical().cast(int).fill_null(MISSING).to_numpy()
        if dtype == nw.Enum:
            return coded_column(codes, tuple(native.dtype.categories.to_list()), ordered=True)
        # A Categorical shares its categories with other columns: keep only those found.
        used = native.unique().drop_nulls()
        places = used.to_physical().to_numpy()
        used = used.gather(places.argsort()).cast(str).to_list()
        if len(used) <= codes.max(initial=MISSING):
            rank = np.full(codes.max() + 2, MISSING)
            rank[np.sort(places)] = np.arange(len(used))
            codes = rank[codes]
        return found_column(codes, used)
    return _text(series.cast(nw.String), label)


def _arrow_codes(chunked: Any, label: str) -> RawColumn:
    """A dictionary-encoded pyarrow column; the dictionary counts as declared only if ordered."""
    array = chunked.unify_dictionaries().combine_chunks()
    if hasattr(array, "chunks"):  # no rows in the last of several chunks
        array = array.chunk(0)
    codes = array.indices.fill_null(MISSING).to_numpy(zero_copy_only=False)
    categories = array.dictionary.to_pylist()
    if array.type.ordered:
        return coded_column(codes, tuple(categories), ordered=True)
    if family_of(categories) == "other":
        raise ValueError(mixed_types(label, categories))
    return _used(codes, array.dictionary)


def _used(codes: NDArray[Any], dictionary: Any) -> RawColumn:
    """A column with those values of a dictionary of pyarrow that occur."""
    counts = np.bincount(codes.astype(np.int64) + 1, minlength=len(dictionary) + 1)[1:]
    if counts.all():
        return found_column(codes, dictionary.to_pylist())
    used = np.flatnonzero(counts)
    rank = np.full(len(counts) + 1, MISSING)
    rank[used] = np.arange(len(used))
    return found_column(rank[codes], dictionary.take(used).to_pylist())


# -- one row -----------------------------------------------------------------------------------


def read_row(row: Any, names: Sequence[str], needed: Collection[str] | None = None) -> Table:
    """Read one row: a mapping by column name, values in order, or a table of one row.

    Columns that are not ``needed`` (by default all are) may be absent, which reads as missing; a
    mapping may have others.
    """
    needed = names if needed is None else needed
    if getattr(row, "ndim", 0) == 1 and hasattr(row, "to_dict"):  # a row of a pandas frame
        row = row.to_dict()
    if isinstance(row, Mapping):
        lacking = [name for name in names if name not in row and name in needed]
        if lacking:
            every = some_names(name for name in names if name in needed)
            raise ValueError(
                f"The row has no value for column {lacking[0]!r}. Hint: give a value, or None "
                f"where it is missing, for each of {every}."
            )
        values = [row.get(name) for name in names]
    elif isinstance(row, list | tuple | np.ndarray) and not any(
        isinstance(value, list | tuple | np.ndarray | Mapping) for value in row
    ):
        values = list(row)
    elif row is None or isinstance(row, str | bytes | set):
        raise ValueError(
            "The 'row' must be a mapping, the values in order, or a table of one row. "
            f"Got {row!r} instead."
        )
    else:
        table = read_table(row)
        if table.shape[0] != 1:
            raise ValueError(
                f"The 'row' must be one row. Got {table.shape[0]} rows instead. Hint: choose one, "
                "such as X.iloc[0] or X[0]."
            )
        if table.names is None:
            return table
        have = [name for name in names if name in table.names or name in needed]
        by_name = dict(zip(have, map(table.select(have).column, range(len(have))), strict=True))
        raw = tuple(by_name.get(name) or empty_column(1) for name in names)
        return Table(tuple(names), (1, len(names)), raw=raw)
    if len(values) != len(names):
        raise ValueError(
            f"The row has {len(values):,} values, but there are {len(names):,} columns. Hint: give "
            f"one for each, in this order: {some_names(names)}."
        )
    columns = tuple(
        column_of([value], f"Column {name!r}") for name, value in zip(names, values, strict=True)
    )
    return Table(tuple(names), (1, len(names)), raw=columns)
