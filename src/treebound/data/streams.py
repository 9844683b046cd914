"""Tables that are read batch by batch: datasets of pyarrow and lazy frames of polars.

They are read twice: once to learn columns and classes, once for the rows. Where only some columns
have something to learn, as text in Parquet files, the first reading is of these alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from treebound._validation import invalid
from treebound.data.frames import Table, read_columns
from treebound.data.parts import (
    Schema,
    learn_part,
    nothing_but_rows,
    put_together,
    read_part,
    some_numbers,
    with_numbers,
)
from treebound.data.sample import Sample

__all__ = [
    "BATCH_ROWS",
    "Batch",
    "Batches",
    "TableStream",
    "TypesChanged",
    "in_database",
    "open_stream",
]

# Columns (None without rows), labels and weights of some rows.
Batch = tuple[Table | None, Any, Any]

# Rows of a batch: enough that a batch costs little beside its rows.
BATCH_ROWS = 1 << 17

# Row groups that values are taken from to choose bins, and values of each.
_PIECES, _PIECE_ROWS = 16, 4096


class TypesChanged(Exception):
    """A later batch showed that columns have other types; all batches must be read again."""


class Batches(Protocol):
    """Something that can be read again and again, batch by batch."""

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        ...

    def read(self, columns: list[str] | None = None) -> Iterator[Any]:
        """Some of the rows each."""
        ...

    def split(self, batch: Any, columns: list[str], target: str, weight: str | None) -> Batch:
        """The columns of a batch, its labels and its weights."""
        ...

    def plain_numbers(self) -> list[str]:
        """Columns of which nothing must be learned, and that can be left unread."""
        ...

    def some_rows(self, columns: list[str]) -> Iterator[Any]:
        """Data frames with a few rows from all over the table."""
        ...


class _FrameBatches:
    """Batches that are data frames."""

    def split(self, batch: Any, columns: list[str], target: str, weight: str | None) -> Batch:
        """The columns of a batch, its labels and its weights."""
        import narwhals as nw

        table = nw.from_native(batch, eager_only=True)
        labels = table.get_column(target)
        weights = None if weight is None else table.get_column(weight).to_numpy()
        return (
            read_columns(table.select(columns)) if len(labels) and columns else None,
            labels,
            weights,
        )


class DatasetBatches(_FrameBatches):
    """A ``pyarrow.dataset.Dataset``."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return list(self._dataset.schema.names)

    def read(self, columns: list[str] | None = None) -> Iterator[Any]:
        """Tables of pyarrow; small batches are put together."""
        import pyarrow

        waiting: list[Any] = []
        scanner = self._dataset.scanner(
            columns=columns,
            batch_size=BATCH_ROWS,
            batch_readahead=1,
            fragment_readahead=1,
            fragment_scan_options=self._reading(),
        )
        for number, batch in enumerate(scanner.to_batches()):
            waiting.append(batch)
            if sum(map(len, waiting)) >= BATCH_ROWS // 2:
                yield pyarrow.Table.from_batches(waiting)
                waiting = []
            if number % 16 == 15:
                pyarrow.default_memory_pool().release_unused()
        if waiting:
            yield pyarrow.Table.from_batches(waiting)
        pyarrow.default_memory_pool().release_unused()

    def _reading(self) -> Any:
        """Parquet files without whole row groups in memory beside what was decoded."""
        if not self._is_parquet:
            return None
        from pyarrow.dataset import ParquetFragmentScanOptions

        return ParquetFragmentScanOptions(pre_buffer=False)

    @property
    def _is_parquet(self) -> bool:
        form = getattr(self._dataset, "format", None)
        return getattr(form, "default_extname", "") == "parquet"

    def plain_numbers(self) -> list[str]:
        """Columns of Parquet files that are floats or integers."""
        from pyarrow import types

        if not self._is_parquet:
            return []
        return [
            field.name
            for field in self._dataset.schema
            if types.is_floating(field.type) or types.is_integer(field.type)
        ]

    def some_rows(self, columns: list[str]) -> Iterator[Any]:
        """The first rows of some row groups."""
        pieces = [
            piece
            for fragment in self._dataset.get_fragments()
            for piece in fragment.split_by_row_group()
        ]
        chosen = np.unique(np.linspace(0, len(pieces) - 1, min(_PIECES, len(pieces))).astype(int))
        for at in chosen.tolist():
            scanner = pieces[at].scanner(
                schema=self._dataset.schema,
                columns=columns,
                batch_size=_PIECE_ROWS,
                fragment_scan_options=self._reading(),
            )
            yield scanner.head(_PIECE_ROWS)


class LazyBatches(_FrameBatches):
    """A lazy frame of polars."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return list(self._frame.collect_schema().names())

    def read(self, columns: list[str] | None = None) -> Iterator[Any]:
        """Data frames of polars."""
        frame = self._frame if columns is None else self._frame.select(columns)
        yield from frame.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True)

    def plain_numbers(self) -> list[str]:
        """None: what a lazy frame must do for a column is not known."""
        return []

    def some_rows(self, columns: list[str]) -> Iterator[Any]:
        """None, as no column is left unread."""
        return iter(())


def open_stream(X: Any) -> Batches | None:
    """The batches of a pyarrow dataset or a polars lazy frame; None for anything else."""
    module, _, _ = type(X).__module__.partition(".")
    if module == "pyarrow" and hasattr(X, "scanner") and hasattr(X, "get_fragments"):
        return DatasetBatches(X)
    if module == "polars" and type(X).__name__ == "LazyFrame":
        return LazyBatches(X)
    return None


def in_database(X: Any) -> bool:
    """Whether a table is a relation of a database, or has settings for one."""
    module = type(X).__module__
    if module.partition(".")[0] in ("duckdb", "_duckdb", "pyspark", "ibis", "sqlframe", "narwhals"):
        import narwhals as nw

        frame = nw.from_native(X, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            return not (frame.implementation.is_polars() or frame.implementation.is_dask())
    return module.startswith("treebound.sql.")


class TableStream:
    """A table of which one column is the target and one may be the weight.

    Parameters
    ----------
    batches : Batches
    target : str
        The column of labels.
    weight : str, optional
        The column of weights.
    tell : callable, optional
        Called with the rows read so far, after every batch.
    """

    def __init__(
        self,
        batches: Batches,
        target: Any,
        weight: Any = None,
        *,
        tell: Callable[[int], None] | None = None,
    ) -> None:
        self._batches = batches
        self._tell = tell or (lambda _: None)
        for parameter, name in (("y", target), ("sample_weight", weight)):
            if name is None and parameter == "sample_weight":
                continue
            if not isinstance(name, str) or name not in batches.names:
                some = ", ".join(map(repr, batches.names[:10]))
                must = f"the name of one of its columns, {some}, for a table that is streamed"
                found = name if isinstance(name, str | None) else type(name)
                raise invalid(parameter, "fit", must, found)
        self.target, self.weight = target, weight
        self.columns = [name for name in batches.names if name not in (target, weight)]
        if not self.columns:
            raise ValueError(f"The table has no column beside {target!r}.")

    def learn(
        self,
        *,
        categorical_features: Any = "from_dtype",
        ordinal_features: Any = None,
        class_weight: Any = None,
    ) -> Schema:
        """What the table is.

        Parameters
        ----------
        categorical_features, ordinal_features
            See :func:`learn_matrix`.
        class_weight : "balanced", mapping of class to weight, or None
        """
        while True:
            try:
                return self._learn(categorical_features, ordinal_features, class_weight)
            except TypesChanged:  # a later batch showed other types: learn again with these
                continue

    def _learn(self, categorical_features: Any, ordinal_features: Any, class_weight: Any) -> Schema:
        by_type = ordinal_features is None and isinstance(categorical_features, str)
        plain = [c for c in self._batches.plain_numbers() if c in self.columns] if by_type else []
        if plain:
            return self._learn_rest(plain, class_weight)
        facts = []
        for number, frame in self._numbered([*self.columns, *self._others()]):
            with _in_batch(number):
                facts.append(
                    learn_part(
                        *self._apart(frame, self.columns),
                        number=number,
                        categorical_features=categorical_features,
                        ordinal_features=ordinal_features,
                    )
                )
        return put_together(facts, class_weight=class_weight)

    def _numbered(self, columns: list[str] | None) -> Iterator[tuple[int, Any]]:
        """Batches with their numbers."""
        rows = 0
        for number, frame in enumerate(self._batches.read(columns)):
            yield number, frame
            rows += len(frame)
            self._tell(rows)

    def _apart(self, batch: Any, columns: list[str]) -> Batch:
        return self._batches.split(batch, columns, self.target, self.weight)

    def _learn_rest(self, plain: list[str], class_weight: Any) -> Schema:
        """Learn from the columns that are not plain numbers; those are known by their type."""
        rest = [name for name in self.columns if name not in plain]
        wanted = [*rest, *self._others()]
        facts = []
        for number, frame in self._numbered(wanted):
            with _in_batch(number):
                table, labels, weights = self._apart(frame, rest)
                rows = nothing_but_rows(len(labels)) if table is None else table
                facts.append(learn_part(rows, labels, weights, number=number))
        schema = put_together(facts, class_weight=class_weight)
        wanted = [*plain, *([self.weight] if self.weight else [])]
        samples = []
        for frame in self._batches.some_rows(wanted):
            weight = None if self.weight is None else frame.column(self.weight).to_numpy()
            samples.append(some_numbers(frame.select(plain), weight, plain))
        return with_numbers(schema, self.columns, samples)

    def samples(self, schema: Schema) -> Iterator[Sample]:
        """The rows, batch by batch."""
        for number, frame in self._numbered([*self.columns, *self._others()]):
            with _in_batch(number):
                sample = read_part(*self._apart(frame, self.columns), schema)
            del frame
            yield sample

    def _others(self) -> list[str]:
        return [name for name in (self.target, self.weight) if name is not None]


@contextmanager
def _in_batch(number: int) -> Iterator[None]:
    """An error tells the number of the batch."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"Batch {number} of the table: {error}") from error
