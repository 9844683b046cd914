"""Tables of the user: CSV, Parquet or a frame to typed columns, whole or in chunks."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from treebound._extras import require
from treebound._validation import Whole, check
from treebound.data.frames import Table
from treebound.data.targets import Labels
from treebound.datasets.convert import (
    label_series,
    labels_of,
    numbers,
    pandas,
    plain_series,
    typed_column,
    typed_series,
)
from treebound.datasets.dataset import Dataset
from treebound.datasets.infer import infer_column
from treebound.datasets.schema import Layout, Schema, read_schema
from treebound.datasets.text import Raw, no_duplicates, text_chunks

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RawTable", "infer_schema", "iter_raw", "iter_table", "read_raw", "read_table"]

_PARQUET = (".parquet", ".pq")


def read_table(
    table: Any,
    schema: Schema | str | os.PathLike[str] | None = None,
    *,
    target: str | None = None,
    unknown: str = "error",
) -> Dataset:
    """Read a table with typed columns.

    Parameters
    ----------
    table : path-like, "-" or data frame
        A CSV file (also gzipped), a Parquet file, ``"-"`` for either on standard input, or a
        pandas, polars or pyarrow table.
    schema : Schema or path-like, optional
        Kinds and categories of the columns, or a TOML file with them (see :class:`Schema`).
        Other columns are inferred as by :func:`infer_schema`.
    target : str, optional
        The column to predict; overrides that of the schema.
    unknown : {"error", "keep"}
        What to do with a value that is not a declared category, see :func:`iter_table`.

    Returns
    -------
    Dataset
        Its ``schema`` has every column; print it to see the inferred kinds.

    Examples
    --------
    >>> import pandas as pd
    >>> from treebound.datasets import read_table
    >>> frame = pd.DataFrame({"age": [31, 40], "colour": ["red", "blue"], "label": ["no", "yes"]})
    >>> table = read_table(frame, target="label")
    >>> print(table.schema)
    column  kind     categories
    age     real
    colour  nominal  blue, red (found in the data)
    label   target   (found in the data)
    >>> table.target.tolist()
    ['no', 'yes']
    """
    read = read_raw(table, schema, target=target, unknown=unknown)
    name, full = read.name, read.schema
    frame, labels = read.frame(), None
    if full.target is not None:
        labels = label_series(read.target_values(), full.target, full)
    return Dataset(Path(name).stem, name, frame, labels, full, source=name)


def iter_table(
    table: Any,
    schema: Schema | str | os.PathLike[str],
    chunk_rows: int = 100_000,
    *,
    unknown: str = "keep",
    others: bool = False,
) -> Iterator[pd.DataFrame]:
    """Read a table in chunks, for tables larger than memory.

    Parameters
    ----------
    table : path-like, "-" or data frame
        As for :func:`read_table`.
    schema : Schema or path-like
        The columns to read; others are skipped, the target is not needed.
    chunk_rows : int
        Rows per chunk (the last may have fewer). A table without rows is one empty chunk.
    unknown : {"keep", "error"}
        How to handle a value that is not a declared category: keep it, in a column of plain
        values (but a text among numbers is an error), or raise an error that names the row.
    others : bool
        Whether to include the other columns of the table unchanged, in the table's order.

    Yields
    ------
    pandas.DataFrame
        The columns of the schema in its order (with ``others``, in the table's). The index
        counts the rows from 0.
    """
    check("iter_table", {"chunk_rows": chunk_rows}, {"chunk_rows": Whole(1)})
    for read in iter_raw(table, schema, chunk_rows, unknown=unknown):
        frame = read.frame(others=others)
        frame.index = frame.index + (read.first_row - 1)
        yield frame


def infer_schema(frame: Any, *, target: str | None = None) -> Schema:
    """Infer a schema from the dtypes of a frame; ``to_toml`` writes it for editing.

    Numbers are real, booleans and text nominal, categorical dtypes ordinal if ordered, else
    nominal. Other columns, such as dates and lists, are ignored.

    Parameters
    ----------
    frame : data frame
        pandas, polars or pyarrow.
    target : str, optional
        The column to predict.

    Returns
    -------
    Schema

    Examples
    --------
    >>> import pandas as pd
    >>> from treebound.datasets import infer_schema
    >>> frame = pd.DataFrame({"age": [31, 40], "colour": ["red", "blue"], "smokes": [True, False]})
    >>> print(infer_schema(frame))
    column  kind     categories
    age     real
    colour  nominal  blue, red (found in the data)
    smokes  nominal  False, True
    """
    return read_table(frame, target=target).schema


# -- without pandas ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RawTable:
    """Raw rows of a table, and their schema.

    Attributes
    ----------
    name : str
        What errors call the table.
    raw : dict
        The columns by name, as the file or frame has them.
    schema : Schema
    first_row : int
        The number of the first row, for errors.
    unknown : {"error", "keep"}
        What to do with a value that is not a declared category.
    """

    name: str
    raw: Raw
    schema: Schema
    first_row: int = 1
    unknown: str = "error"

    def __len__(self) -> int:
        return len(next(iter(self.raw.values()))) if self.raw else 0

    def table(self) -> Table:
        """The typed columns, for ``fit`` and ``predict``."""
        how = {"first_row": self.first_row, "unknown": self.unknown}
        _need(self.raw, self.schema.names, self.name)
        columns = tuple(
            typed_column(self.raw[column.name], column, self.schema, **how)  # type: ignore[arg-type]
            for column in self.schema.columns
        )
        shape = (len(self), len(columns))
        if columns and all(column.kind == "real" for column in self.schema.columns):
            matrix = np.stack([column.values for column in columns]).T
            return Table(tuple(self.schema.names), shape, matrix)
        return Table(tuple(self.schema.names), shape, raw=columns)

    def frame(self, *, others: bool = False) -> pd.DataFrame:
        """The typed columns as a pandas frame, with the other columns if requested."""
        pd = pandas()
        how = {"first_row": self.first_row, "unknown": self.unknown}
        _need(self.raw, self.schema.names, self.name)
        typed = {
            column.name: typed_series(self.raw[column.name], column, self.schema, **how)  # type: ignore[arg-type]
            for column in self.schema.columns
        }
        if others:
            typed = {
                name: typed[name] if name in typed else plain_series(self.raw[name])
                for name in self.raw
            }
        return pd.DataFrame(typed, index=pd.RangeIndex(len(self)))

    def labels(self) -> Labels | None:
        """The target; None if the schema has none."""
        if self.schema.target is None:
            return None
        return labels_of(self.target_values(), self.schema.target, self.schema)

    def target_values(self) -> Sequence[Any]:
        """The raw target."""
        target = str(self.schema.target)
        _need(self.raw, [target], self.name)
        return self.raw[target]


def read_raw(
    table: Any, schema: Any = None, *, target: str | None = None, unknown: str = "error"
) -> RawTable:
    """Read the raw table of :func:`read_table`, with all columns in its schema."""
    given = _schema(schema).with_target(target)
    with _raw_chunks(table, given, None) as (chunks, from_text, name):
        raw = next(iter(chunks))
    return RawTable(name, raw, _completed(raw, given, from_text, name), unknown=unknown)


def iter_raw(
    table: Any, schema: Any, chunk_rows: int, *, unknown: str = "keep"
) -> Iterator[RawTable]:
    """Read the raw chunks of :func:`iter_table`."""
    given = _schema(schema)
    done = 0
    with _raw_chunks(table, given, chunk_rows) as (chunks, _, name):
        for raw in chunks:
            chunk = RawTable(name, raw, given, done + 1, unknown)
            yield chunk
            done += len(chunk)


# -- typing --------------------------------------------------------------------------------


def _schema(schema: Any) -> Schema:
    if schema is None:
        return Schema()
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, str | os.PathLike):
        return read_schema(schema)
    raise TypeError(
        f"The 'schema' parameter must be a Schema or the path of a TOML file. Got {schema!r} "
        "instead."
    )


def _completed(raw: Raw, schema: Schema, from_text: bool, name: str) -> Schema:
    """The schema with all columns of the table, in the table's order.

    Text columns that hold numbers are converted in ``raw``.
    """
    _need(raw, [n for n in schema.order if n != schema.target], name)
    known = {column.name: column for column in schema.columns}
    columns, ignored = [], []
    for column in raw:
        if column == schema.target:
            continue
        if column in known:
            columns.append(known[column])
        elif column in schema.ignored or schema.others == "ignore":
            ignored.append(column)
        else:
            if from_text:
                raw[column] = _as_numbers(raw[column], column, schema)
            found = infer_column(column, raw[column], schema)
            ignored += [column] if found is None else []
            columns += [] if found is None else [found]
    return replace(schema, columns=tuple(columns), ignored=tuple(ignored), order=tuple(raw))


def _as_numbers(texts: Sequence[Any], column: str, schema: Schema) -> Sequence[Any]:
    """The texts as numbers if all are numbers or missing, else unchanged."""
    try:
        return numbers(texts, column, schema)  # type: ignore[return-value]
    except ValueError:
        return texts


def _need(raw: Raw, names: Sequence[str], table: str) -> None:
    absent = [name for name in names if name not in raw]
    if absent and len(raw) == 1:
        (only,) = raw
        for separator in (";", "\t", "|"):
            if separator in only:
                raise ValueError(
                    f"{table} has one column only, {only[:60]!r}. Hint: its fields are probably "
                    f"separated by {separator!r} ([read] separator in the schema)."
                )
    if absent:
        has = ", ".join(repr(name) for name in list(raw)[:20])
        more = ", ..." if len(raw) > 20 else ""
        raise ValueError(
            f"{table} has no column {', '.join(repr(name) for name in absent)}. "
            f"Hint: it has {has}{more}."
        )


# -- reading -------------------------------------------------------------------------------


@contextmanager
def _raw_chunks(
    table: Any, schema: Schema, chunk_rows: int | None
) -> Iterator[tuple[Iterator[Raw], bool, str]]:
    """The table as chunks of raw columns, whether they are text, and the table's name."""
    if not isinstance(table, str | os.PathLike):
        yield _frame_chunks(table, chunk_rows), False, "the table"
    elif str(table) == "-":
        with _piped_chunks(schema, chunk_rows, "standard input") as found:
            yield found
    elif Path(table).suffix.lower() in _PARQUET:
        with _opened(table, _open_parquet) as file:
            yield _parquet_chunks(file, chunk_rows, str(table)), False, str(table)
    else:
        layout = _layout_for(table, schema.layout)
        with _opened(table, _open_binary) as file:
            chunks = text_chunks(file, replace(schema, layout=layout), chunk_rows, str(table))
            yield chunks, True, str(table)


@contextmanager
def _piped_chunks(
    schema: Schema, chunk_rows: int | None, name: str
) -> Iterator[tuple[Iterator[Raw], bool, str]]:
    """Standard input: Parquet if it starts as such, else text."""
    source: Any = sys.stdin.buffer
    pipe = source if hasattr(source, "peek") else io.BufferedReader(source)
    if pipe.peek(4)[:4] == b"PAR1":
        with tempfile.TemporaryFile() as file:  # reading Parquet needs seeking
            shutil.copyfileobj(pipe, file)
            yield _parquet_chunks(_parquet_file(file, name), chunk_rows, name), False, name
        return
    yield text_chunks(pipe, schema, chunk_rows, name), True, name


def _frame_chunks(table: Any, chunk_rows: int | None) -> Iterator[Raw]:
    import narwhals.stable.v1 as nw

    try:
        native = nw.from_native(table, eager_only=True)
    except TypeError:
        raise TypeError(
            "The 'table' parameter must be a path, '-' or a data frame (pandas, polars, pyarrow). "
            f"Got {type(table).__name__} instead."
        ) from None
    except Exception as error:  # narwhals' error for duplicate names
        raise ValueError(f"The table cannot be read: {error}") from None
    frame = native.to_pandas()
    names = [str(name) for name in frame.columns]
    no_duplicates(names, "the table")
    step = chunk_rows or max(len(frame), 1)
    for start in range(0, max(len(frame), 1), step):
        part = frame.iloc[start : start + step]
        yield {name: _values(part.iloc[:, at]) for at, name in enumerate(names)}


def _values(series: pd.Series) -> Sequence[Any]:
    plain = isinstance(series.dtype, np.dtype)
    values: Sequence[Any] = series.to_numpy() if plain else series.array
    return values


def _parquet_chunks(file: Any, chunk_rows: int | None, name: str) -> Iterator[Raw]:
    names = list(file.schema_arrow.names)
    no_duplicates(names, name)
    rows = chunk_rows or max(file.metadata.num_rows, 1)
    some = False
    try:
        for batch in file.iter_batches(batch_size=rows):
            some = True
            frame = batch.to_pandas()
            yield {column: _values(frame[column]) for column in names}
    except OSError as error:
        raise ValueError(f"Cannot read {name}: {error}") from None
    if not some:
        yield dict.fromkeys(names, ())


@contextmanager
def _opened(path: Any, opener: Callable[[Path], Any]) -> Iterator[Any]:
    try:
        file = opener(Path(path))
    except OSError as error:
        raise OSError(f"Cannot read {path}: {error.strerror or error}.") from None
    with file:
        yield file


def _open_binary(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.suffix.lower() == ".gz" else open(path, "rb")  # type: ignore[return-value]


def _open_parquet(path: Path) -> Any:
    with open(path, "rb"):  # the usual errors for a missing or unreadable file
        pass
    return _parquet_file(path, str(path))


def _parquet_file(source: Any, name: str) -> Any:
    parquet = require("pyarrow.parquet", extra="study", why="Reading Parquet")
    try:
        return parquet.ParquetFile(source)
    except (OSError, ValueError) as error:
        raise ValueError(f"{name} is not a Parquet file, or is damaged: {error}") from None


def _layout_for(path: Any, layout: Layout) -> Layout:
    if layout.separator is None and ".tsv" in Path(path).suffixes:
        return replace(layout, separator="\t")
    return layout
