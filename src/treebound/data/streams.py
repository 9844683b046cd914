"""Tables that are read batch by batch.

They are read twice to learn from: once for columns and classes, once for the rows. If only some
columns have something to learn, as text in Parquet files, the first reading is of these alone. If
rows are drawn, a summary of all columns comes first: columns that were left unread are then read
for it, and if the drawn rows are calibration rows, columns and classes are learned again without
them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from numpy.typing import NDArray

from treebound._utils._pool import threads_in_context
from treebound._utils.ahead import read_ahead
from treebound._utils.arrays import Ints
from treebound._utils.validation import error_context
from treebound.data.draws import Tenth
from treebound.data.frames import Table, read_columns
from treebound.data.groups import column_labels, group_codes
from treebound.data.learned import (
    LearnedSchema,
    PartFacts,
    merge_facts,
    nothing_but_rows,
    number_summaries,
    some_numbers,
    with_numbers,
)
from treebound.data.number_sample import AnySample
from treebound.data.parts import START, BaseReader, PartRows, PartStart, learn_part
from treebound.data.roles import ColumnRoles
from treebound.data.summaries import TableSummary, merged
from treebound.data.targets import is_number_label, refuse_quantity

T = TypeVar("T")
# Columns (None without rows), labels and weights of some rows.
Batch = tuple[Table | None, Any, Any]

# Rows of a batch: enough that a batch costs little compared with its rows.
BATCH_ROWS = 1 << 17
# Batches in memory in addition to the one in use, if several threads may be used.
_AHEAD = 2


class TypesChanged(Exception):
    """A later batch showed that columns have other types; all batches must be read again."""


def until_settled(function: Callable[[], T]) -> T:
    """Call again what reads a table, until the types of its columns are settled."""
    while True:
        try:
            return function()
        except TypesChanged:
            continue


class Batches(ABC):
    """Something that can be read again and again, batch by batch."""

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The names of its columns."""

    @abstractmethod
    def read(self, columns: list[str] | None = None) -> Iterator[Any]:
        """Some of the rows each."""

    def split(
        self, batch: Any, columns: list[str], target: str | None, weight: str | None
    ) -> Batch:
        """The columns of a batch, its labels and its weights; here of data frames."""
        return split_frame(batch, columns, target, weight)

    def n_rows(self) -> int | None:
        """The number of rows, if it is known without reading them; None otherwise."""
        return None

    def plain_numbers(self) -> list[str]:
        """Columns of which nothing must be learned, and that can be left unread."""
        return []

    def some_rows(self, columns: list[str]) -> Iterator[Any]:
        """Data frames with a few rows from all over the table, where columns are left unread."""
        return iter(())


def split_frame(frame: Any, columns: list[str], target: str | None, weight: str | None) -> Batch:
    """The columns of a data frame, labels and weights."""
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    return (
        read_columns(table.select(columns)) if len(table) and columns else None,
        None if target is None else table.get_column(target),
        None if weight is None else table.get_column(weight).to_numpy(),
    )


class LazyBatches(Batches):
    """A lazy polars frame."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return list(self._frame.collect_schema().names())

    def read(self, columns: list[str] | None = None) -> Iterator[Any]:
        """polars data frames."""
        frame = self._frame if columns is None else self._frame.select(columns)
        yield from frame.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True)


def is_stream(X: Any) -> bool:
    """Return True for tables read in batches: pyarrow datasets and lazy polars frames."""
    module, name = type(X).__module__.partition(".")[0], type(X).__name__
    dataset = module == "pyarrow" and hasattr(X, "scanner") and hasattr(X, "get_fragments")
    return dataset or (module, name) == ("polars", "LazyFrame") or isinstance(X, Batches)


def open_stream(X: Any) -> Batches | None:
    """The batches of a table; None if it is in memory."""
    if isinstance(X, Batches):
        return X
    if not is_stream(X):
        return None
    if type(X).__name__ == "LazyFrame":
        return LazyBatches(X)
    from treebound.data.arrow_dataset import DatasetBatches

    return DatasetBatches(X)


def is_on_dask(X: Any) -> bool:
    """Return True if a table is a Dask collection."""
    return hasattr(type(X), "dask")  # that of X itself would be made of all its tasks


def in_database(X: Any) -> bool:
    """Return True if a table is a database relation, or has settings for one."""
    module = type(X).__module__
    if module.partition(".")[0] in ("duckdb", "_duckdb", "pyspark", "ibis", "sqlframe", "narwhals"):
        import narwhals as nw

        frame = nw.from_native(X, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            return not (frame.implementation.is_polars() or frame.implementation.is_dask())
    return module.startswith("treebound.engines.sql.")


class TableStream:
    """A table of which one column is the target and one may be the weight."""

    def __init__(
        self,
        batches: Batches,
        roles: ColumnRoles,
        *,
        report: Callable[[str, int], None] | None = None,
        numeric: bool = False,
    ) -> None:
        self._batches, self._numeric = batches, numeric  # whether the target is of numbers
        self._report = report or (lambda *_: None)  # with what is done, and the rows so far
        self.target, self.weight, self._groups = roles.target, roles.weight, roles.groups
        self._samples: list[dict[str, NDArray[Any]]] = []  # values of columns left unread
        named = batches.names, "a table that is streamed"
        roles.check(*named)
        self.columns = roles.columns_to_learn(*named)

    def learn(
        self, *, class_weight: Any = None, calibration: Tenth | None = None, **kinds: Any
    ) -> LearnedSchema:
        """Columns and classes, without calibration rows; ``kinds`` as in :meth:`Sample.learn`."""
        return until_settled(lambda: self._learn(kinds, class_weight, calibration))

    def groups(self) -> Ints | None:
        """The group of each row of a weight above zero; None if rows are independent."""
        return None if self._groups is None else group_codes(self._labels_of_groups())

    def _labels_of_groups(self) -> Iterator[NDArray[Any]]:
        wanted = [self._groups, *([self.weight] if self.weight else [])]
        for number, frame in self._numbered("reading groups", wanted):
            with error_context(f"Batch {number} of the table"):
                _, column, weights = self._batches.split(frame, [], self._groups, self.weight)
                yield column_labels(column, weights, self._groups)

    def summary(self, schema: LearnedSchema, calibration: Tenth | None = None) -> TableSummary:
        """The summary of the rows that were learned from; columns left unread are read for it."""
        names, parts = schema.unread, [number_summaries(None, None, schema.unread)]
        wanted = [*names, *([self.weight] if self.weight else [])]
        first = 0
        for number, frame in self._numbered("drawing", wanted) if names else ():
            with error_context(f"Batch {number} of the table"):
                table, _, weights = self._batches.split(frame, names, None, self.weight)
                parts.append(number_summaries(table, weights, names, calibration, first))
                first += len(frame) if weights is None else int((weights > 0).sum())
        return schema.summary(dict(zip(names, merged(parts), strict=True)))

    def _learn(
        self, kinds: dict[str, Any], class_weight: Any, calibration: Tenth | None
    ) -> LearnedSchema:
        nominal, ordinal = (
            kinds.get("categorical_features", "from_dtype"),
            kinds.get("ordinal_features"),
        )
        by_type = isinstance(nominal, str) and ordinal is None
        typed = {*self._batches.plain_numbers()} if by_type else set()
        plain = [name for name in self.columns if name in typed]
        rest = [name for name in self.columns if name not in typed]
        facts: list[PartFacts] = []
        first, labels_so_far = START, set[Any]()
        for number, frame in self._numbered("learning", [*rest, *self._others()]):
            with error_context(f"Batch {number} of the table"):
                table, labels, weights = self._batches.split(frame, rest, self.target, self.weight)
                rows = nothing_but_rows(len(labels)) if table is None else table
                part = learn_part(
                    rows,
                    labels,
                    weights,
                    calibration=calibration,
                    first=first,
                    numeric=self._numeric,
                    **kinds,
                )
            facts.append(part)
            if is_number_label(part.classes):  # before the facts of many of them fill the memory
                labels_so_far.update(part.classes.tolist())
                refuse_quantity(len(labels_so_far))
            first = PartStart(first.row + part.n_rows + part.calibration)
        schema = merge_facts(facts, class_weight=class_weight, categorical_features=nominal)
        return self._with_plain(schema, plain) if plain else schema

    def _with_plain(self, schema: LearnedSchema, plain: list[str]) -> LearnedSchema:
        """A schema with columns of numbers, which are known by their type."""
        if not self._samples:  # the same without calibration rows
            wanted = [*plain, *([self.weight] if self.weight else [])]
            for frame in self._batches.some_rows(wanted):
                weight = None if self.weight is None else frame.column(self.weight).to_numpy()
                self._samples.append(some_numbers(frame.select(plain), weight, plain))
        return with_numbers(schema, self.columns, self._samples)

    def _numbered(self, phase: str, columns: list[str]) -> Iterator[tuple[int, Any]]:
        """Batches with their numbers."""
        rows, batches = 0, self._batches.read(columns)
        if threads_in_context() > 1:
            batches = read_ahead(batches, _AHEAD)
        for number, frame in enumerate(batches):
            yield number, frame
            rows += len(frame)
            self._report(phase, rows)

    def rows(self, reader: BaseReader[AnySample]) -> Iterator[PartRows[AnySample]]:
        """The rows, batch by batch."""
        first = START
        for number, frame in self._numbered("coding", [*self.columns, *self._others()]):
            with error_context(f"Batch {number} of the table"):
                columns = (self.columns, self.target, self.weight)
                part = reader.read(*self._batches.split(frame, *columns), first)
            del frame
            first = reader.after(part, first)
            yield part

    def _others(self) -> list[str]:
        return [name for name in (self.target, self.weight) if name is not None]
