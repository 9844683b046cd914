"""Tables in files or data frames: whole or in chunks, with one rule for types.

A text column is of numbers if every text of the table is a number or a missing marker, otherwise of
categories. The types of other files are those of their columns, unified over all files.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.validation import InWords, WordedError, error_context, invalid
from treebound.data.columns import Column
from treebound.data.formats import FileReader, files_of
from treebound.data.frames import Table, frame_of, read_series
from treebound.data.raw import RawColumn, some_names
from treebound.data.schema import SEPARATOR, Schema, read_schema
from treebound.data.streams import BATCH_ROWS, Batch, Batches, TypesChanged
from treebound.data.targets import Labels
from treebound.data.typed import (
    TextColumn,
    Values,
    infer_column,
    label_kind,
    labels_of,
    numbers,
    observed_labels,
    stripped,
    typed_column,
    unlabelled,
)

if TYPE_CHECKING:
    from treebound.data.arrow_dataset import Fragments

_NUMBERS = (None, "real")  # kinds of columns that the schema does not make categories


@dataclass(frozen=True, eq=False)
class RawTable:
    """Rows of a table as a file or a data frame has them, and their schema."""

    name: str  # what errors call the table
    rows: Any  # the rows; a pyarrow table if they are from a file
    from_text: bool  # whether all columns are texts of a text file
    schema: Schema
    first_row: int = 1  # the number of the first row, for errors
    unknown: str = "error"  # what to do with a value that is not a declared category
    labels_are: str | None = None  # the label_kind of the whole table, if it is a text file
    _read: dict[str, Values] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    def with_rows(self) -> RawTable:
        """The table itself; a ValueError if it has no rows."""
        if not len(self):
            raise no_rows(self.name, self.schema)
        return self

    @cached_property
    def names(self) -> list[str]:
        """The names of all columns."""
        rows = self.rows
        return list(rows.column_names if hasattr(rows, "column_names") else rows.columns)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.names)}

    def values(self, name: str) -> Values:
        """A column as it was read."""
        if name not in self._read:
            if name not in self._places:
                need(self.names, [name], self.name)
            if self.from_text:
                self._read[name] = TextColumn(self.rows[self._places[name]])
            else:
                import narwhals as nw

                series = nw.from_native(self.rows[name], series_only=True)
                self._read[name] = read_series(series, f"Column {name!r}")
        return self._read[name]

    def columns(self, names: Collection[str] | None = None) -> dict[str, RawColumn]:
        """The typed columns of the schema, or some of them."""
        chosen = [c for c in self.schema.columns if names is None or c.name in names]
        need(self.names, [column.name for column in chosen], self.name)
        values = {column.name: self.values(column.name) for column in chosen}
        typed = partial(typed_column, first_row=self.first_row, unknown=self.unknown)
        with error_context(self.name):
            return {
                column.name: typed(values[column.name], column, self.schema) for column in chosen
            }

    def table(self, names: Collection[str] | None = None) -> Table:
        """The typed columns, for ``fit`` and ``predict``."""
        columns = self.columns(names)
        shape, own_names = (len(self), len(columns)), tuple(columns)
        if columns and all(column.categories is None for column in columns.values()):
            matrix = np.stack([column.floats() for column in columns.values()]).T
            return Table(own_names, shape, matrix)
        return Table(own_names, shape, raw=tuple(columns.values()))

    def native(self) -> Any:
        """All columns as the file has them, as a pyarrow table."""
        return self.rows if hasattr(self.rows, "column_names") else self.rows.to_arrow()

    def arrow(self) -> Any:
        """The same, with the texts of real columns as numbers."""
        import pyarrow as pa

        table = self.native()
        real = {column.name for column in self.schema.columns if column.kind == "real"}
        for at, name in enumerate(table.column_names):
            if self.from_text and name in real:
                values = numbers(self.values(name), name, self.schema, self.first_row)
                table = table.set_column(at, name, pa.array(values, from_pandas=True))
        return table

    def labels(self) -> Labels | None:
        """The target; None if the schema has none."""
        target = self.schema.target
        if target is None:
            return None
        values = self.values(target)
        with error_context(self.name):
            return labels_of(
                values, target, self.schema, first_row=self.first_row, kind=self.labels_are
            )

    def labelled(self) -> RawTable:
        """The rows that have a label."""
        target = self.schema.target
        if target is None or target not in self._places:
            return self
        missing = unlabelled(self.values(target), self.schema)
        if not missing.any():
            return self
        keep = (~missing).tolist()
        return replace(self, rows=self.rows.filter(keep), _read={})

    def observed_labels(self) -> NDArray[Any]:
        """Labels of the type of the declared classes, perhaps others; None if not known."""
        target = str(self.schema.target)
        with error_context(self.name):
            return observed_labels(self.values(target), target, self.schema, self.first_row)


def read_raw(
    table: Any, schema: Any = None, *, target: str | None = None, unknown: str = "error"
) -> RawTable:
    """Read a whole table; its schema has all columns, with the categories that are found."""
    source = Source(table, as_schema(schema).with_target(target), unknown=unknown)
    (whole,) = source.chunks(None)  # read to the end, so that its file is closed
    return whole


def no_rows(table: object, schema: Schema | None = None) -> ValueError:
    """The error for a table without rows; perhaps those without a label were dropped."""
    if schema is not None and schema.drop_unlabelled and schema.target is not None:
        return ValueError(
            f"{table}: The target column {schema.target!r} has no label in any row. Hint: name "
            "another target, or a table with labels."
        )
    return ValueError(f"{table} has no rows, only the names of its columns.")


def as_schema(schema: Any) -> Schema:
    """A schema, or that of a file."""
    if schema is None:
        return Schema()
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, str | os.PathLike):
        return read_schema(schema)
    raise TypeError(invalid("schema", "", "a Schema or the path of a TOML file", schema))


class Source(Batches):
    """A table that can be read whole or in chunks, again and again, with the same types.

    ``complete``: the schema of the chunks has every column of the table, others inferred or
    ignored; otherwise those of the given schema alone, of which the ``optional`` may be absent. If
    the target is ``numeric`` the type of its labels is not settled over all chunks.
    """

    def __init__(
        self,
        table: Any,
        schema: Schema,
        *,
        unknown: str = "error",
        complete: bool = True,
        optional: Collection[str] = (),
        numeric: bool = False,
    ) -> None:
        self._optional, self._numeric = frozenset(optional), numeric
        self.declared, self.unknown, self._complete = schema, unknown, complete
        paths = [table] if isinstance(table, str | os.PathLike) else table
        in_files = isinstance(paths, list | tuple) and all(
            isinstance(path, str | os.PathLike) for path in paths
        )
        self.files = files_of(paths) if in_files else None
        self.native = None if self.files else table
        self.inferred: set[str] | None = None  # columns that are not in the given schema
        self._kinds: dict[str, str] = {}
        self._labels: set[str] = set()  # texts of the target
        self._changed = False

    @property
    def name(self) -> str:
        """The name of the table in messages."""
        if self.files is None:
            return "the table"
        return self.files[0].name + (", ..." if len(self.files) > 1 else "")

    @cached_property
    def columns(self) -> list[str]:
        """The names of the columns to learn from, in the order of the first file."""
        if not self._complete:
            return self.declared.names
        return self._schema(self._first_chunk()).names

    @property
    def names(self) -> list[str]:
        """The names of the columns to learn from, and of the target."""
        return [*self.columns, str(self.declared.target)]

    @property
    def unusable(self) -> list[str]:
        """The columns that no tree can split on, such as dates."""
        ignored = self._schema(self._first_chunk()).ignored
        return [name for name in ignored if name not in self.declared.ignored]

    def read(self, columns: list[str] | None = None) -> Generator[RawTable]:
        """Some of the rows each; a ValueError if there are none."""
        count = 0
        for chunk in self.chunks(BATCH_ROWS, columns):
            count += len(chunk)
            yield chunk
        if not count:
            raise no_rows(self.name, self.declared)

    def chunks(self, rows: int | None, columns: Sequence[str] | None = None) -> Iterator[RawTable]:
        """The rows, ``rows`` at a time (None: all); at least one chunk."""
        if columns is not None and self.inferred is None and self._complete:
            self._first_chunk()  # with all columns, as a chunk of some lacks those of the schema
        for chunk in self._tables(rows, columns):
            if columns is None or self.inferred is None:
                self._check(chunk)
            self._see(chunk)
            if not self._changed:
                settled = chunk.from_text and not self._numeric
                kind = self._label_kind(self._labels) if settled else None
                schema = self._schema(chunk, whole=rows is None)
                yield replace(chunk, schema=schema, labels_are=kind, _read=chunk._read)
        if self._changed:
            self._changed = False
            raise TypesChanged

    def split(
        self, batch: RawTable, columns: list[str], target: str | None, weight: str | None
    ) -> Batch:
        """The columns of a batch, its labels, and no weights."""
        X = batch.table(set(columns)) if len(batch) and columns else None
        return X, None if target is None else batch.labels(), None

    def plain_numbers(self) -> list[str]:
        """Columns of Parquet files that are numbers by their type."""
        plain = {*(self._fragments.number_columns() if self._fragments else ())}
        kinds = {column.name: column.kind for column in self.declared.columns}
        return [name for name in self.columns if name in plain and kinds.get(name) in _NUMBERS]

    def some_rows(self, columns: list[str]) -> Iterator[Any]:
        """The first rows of some row groups."""
        return self._fragments.some_rows(columns) if self._fragments else iter(())

    def n_rows(self) -> int | None:
        """The number of rows, if the files store it; None otherwise."""
        return self._fragments.n_rows() if self._fragments else None

    def _tables(
        self, rows: int | None, columns: Sequence[str] | None = None
    ) -> Generator[RawTable]:
        if self.files is None:
            frame = _frame(self.native)
            step = rows or max(len(frame), 1)
            for start in range(0, max(len(frame), 1), step):
                yield self._chunk("the table", frame[start : start + step], False, start + 1)
            return
        if rows is None and len(self.files) > 1:
            import pyarrow as pa

            table = pa.concat_tables([table for _, table in self._reader.tables(None)])
            yield self._chunk(self.name, table, self.files[0].is_text, 1)
            return
        first, last = 1, None
        for file, table in self._reader.tables(rows, columns):
            first = 1 if file is not last else first
            yield self._chunk(file.name, table, file.is_text, first)
            first, last = first + len(table), file

    @cached_property
    def _reader(self) -> FileReader:
        assert self.files is not None
        return FileReader(self.files, self.declared)

    @property
    def _fragments(self) -> Fragments | None:
        return self._reader.fragments

    def _first_chunk(self) -> RawTable:
        """A row with all columns, which are checked."""
        with closing(self._tables(1)) as chunks:
            chunk = next(chunks)
        self._check(chunk)
        return chunk

    def _chunk(self, name: str, rows: Any, from_text: bool, first: int) -> RawTable:
        chunk = RawTable(name, rows, from_text, self.declared, first, self.unknown)
        return chunk.labelled() if self.declared.drop_unlabelled else chunk

    # -- types ---------------------------------------------------------------------------------

    def _check(self, chunk: RawTable) -> None:
        """Find the columns of the schema, and those that are not in it."""
        schema, names = self.declared, chunk.names
        self.inferred = set()
        if self._complete:
            # a column that is ignored may be in other files only
            several = self.files is not None and len(self.files) > 1
            exempt = {schema.target, *(schema.ignored if several else ())}
            need(names, [name for name in schema.order if name not in exempt], chunk.name)
            if schema.undeclared == "infer":
                self.inferred = {*names} - {*schema.names, *schema.ignored, schema.target or ""}

    def _see(self, chunk: RawTable) -> None:
        """Settle the types of columns that are inferred from texts, and of the labels."""
        if not chunk.from_text or not len(chunk):
            return
        for name in self.inferred or ():
            self._see_texts(chunk, name)
        target = self.declared.target
        if target in chunk.names and self.declared.classes is None and not self._numeric:
            texts = stripped(chunk.values(str(target)))
            both = self._labels.union(texts).difference(self.declared.missing)
            kind = self._label_kind
            self._changed |= bool(self._labels) and kind(both) != kind(self._labels)
            self._labels = both

    def _label_kind(self, texts: Collection[str]) -> str:
        return label_kind(texts, self.declared.layout.decimal)

    def _see_texts(self, chunk: RawTable, name: str) -> None:
        kind = self._kinds.get(name)
        if kind == "nominal":
            return
        try:
            values = numbers(chunk.values(name), name, self.declared)
        except ValueError:
            self._kinds[name] = "nominal"
            self._changed |= kind == "real"
            return
        if not np.isnan(values).all():
            self._kinds[name] = "real"
            chunk._read[name] = RawColumn(values)

    def _schema(self, chunk: RawTable, *, whole: bool = False) -> Schema:
        """The schema with all columns of the table, in its order; categories of a whole table."""
        schema, names = self.declared, chunk.names
        if not self._complete:
            absent = self._optional.difference(names)
            present = tuple(column for column in schema.columns if column.name not in absent)
            return replace(schema, columns=present) if absent else schema
        columns = {column.name: column for column in schema.columns}
        for name in self.inferred or ():
            column = self._inferred(chunk, name, whole)
            columns |= {} if column is None else {name: column}
        used = {*columns, schema.target}
        return replace(
            schema,
            columns=tuple(columns[name] for name in names if name in columns),
            ignored=tuple(name for name in names if name not in used),
            order=tuple(names),
        )

    def _inferred(self, chunk: RawTable, name: str, whole: bool) -> Column | None:
        """A column; None where a tree cannot use it."""
        if chunk.from_text and (not whole or self._kinds.get(name) == "real"):
            return Column(name, "real" if self._kinds.get(name) == "real" else "nominal")
        try:
            column = infer_column(name, chunk.values(name), self.declared)
        except ValueError:  # dates, lists and the like
            return None
        undeclared = column.kind != "real" and not column.declared
        return replace(column, categories=None) if undeclared and not whole else column


def _frame(table: Any) -> Any:
    try:
        return frame_of(table)
    except TypeError:
        must = "a path, '-' or a data frame (pandas, polars, pyarrow)"
        raise TypeError(invalid("table", "", must, InWords(type(table).__name__))) from None


def need(names: Sequence[str], wanted: Sequence[str], table: str) -> None:
    """Raise a ValueError that names columns that are not there."""
    has = set(names)
    absent = [name for name in wanted if name not in has]
    if absent and len(names) == 1:
        (only,) = names
        for separator in (";", "\t", "|"):
            if separator in only:
                raise WordedError(
                    f"{table} has one column only, {only[:60]!r}. Hint: its fields are probably "
                    f"separated by {separator!r} (",
                    SEPARATOR,
                    ").",
                )
    if absent:
        raise ValueError(
            f"{table} has no column{'s' * (len(absent) > 1)} {', '.join(map(repr, absent))}. "
            f"Hint: it has {some_names(names)}."
        )
