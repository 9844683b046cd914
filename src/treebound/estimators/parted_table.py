"""Tables in parts, of classes and of numbers: batches that are read, and partitions of Dask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from treebound._utils.arrays import Ints
from treebound._utils.validation import InWords, invalid
from treebound.certificate.row_record import Role, RowRecord
from treebound.data import Matrix, Sample
from treebound.data.draws import Tenth
from treebound.data.frames import Table
from treebound.data.learned import LearnedSchema
from treebound.data.number_sample import AnySample, NumberSample, number_hashes
from treebound.data.parts import BaseReader, PartRows
from treebound.data.roles import ColumnRoles
from treebound.data.row_hashes import RowSketch, row_hashes
from treebound.data.streams import Batches, TableStream
from treebound.data.summaries import TableSummary
from treebound.estimators.progress import Watch
from treebound.growing import Progress
from treebound.growing._bins import Bins
from treebound.growing.engine import Engine, stream_engine


class PartedTable(Protocol):
    """A table in parts: batches, or partitions of Dask."""

    target: str | None

    def learn(self, *, calibration: Tenth | None = None, **of_columns: Any) -> LearnedSchema:
        """Columns and classes, without calibration rows."""
        ...

    def groups(self) -> Ints | None:
        """The group of each row of a weight above zero; None if rows are independent."""
        ...

    def summary(self, schema: LearnedSchema, calibration: Tenth | None = None) -> TableSummary:
        """The summary of the rows whose columns and classes were learned."""
        ...

    def quantiles(
        self, quantiles: Sequence[float], n_rows: int, calibration: Tenth | None
    ) -> list[float] | None:
        """Quantiles of a target of numbers, without calibration rows; None if it is read here."""
        ...

    def rows(self, reader: BaseReader[AnySample]) -> Iterable[PartRows[AnySample]]:
        """The rows of each part, here."""
        ...

    def engine(
        self, reader: BaseReader[AnySample], bins: Bins, *, n_threads: int, gather_rows: int
    ) -> Engine:
        """The coded rows, wherever they are."""
        ...


class RecordedStream(TableStream):
    """A table that is read batch by batch; the coded rows are recorded."""

    def __init__(
        self, batches: Batches, roles: ColumnRoles, watch: Watch, *, numeric: bool = False
    ) -> None:
        n_rows = batches.n_rows()

        def report(phase: str, rows: int) -> None:
            if watch.progress is not None:
                watch.progress(Progress(phase, rows, n_rows))

        super().__init__(batches, roles, report=report, numeric=numeric)
        self._sketches: dict[Role, RowSketch] = {}

    def quantiles(self, *_: Any) -> None:
        """Return None: the target is read here."""

    @property
    def record(self) -> RowRecord:
        """Return the record of the rows that were used."""
        return RowRecord(self._sketches)

    def engine(
        self, reader: BaseReader[AnySample], bins: Bins, *, n_threads: int, gather_rows: int
    ) -> Engine:
        """Codes in memory, values in a temporary file."""
        n_rows = reader.schema.n_rows + reader.schema.calibration
        return stream_engine(self._noted(reader), bins, n_rows, n_threads=n_threads)

    def _noted(self, reader: BaseReader[AnySample]) -> Iterator[PartRows[AnySample]]:
        """Yield the parts; add the rows of each to the sketches, validation rows as in memory."""
        for part in self.rows(reader):
            self._note("training", part.training_table or part.training.X, part.training)
            if part.validation is not None:
                table = part.validation_table or part.validation.X
                self._note("training", table, part.validation)
            if part.calibration is not None and part.calibration_table is not None:
                self._note("calibration", part.calibration_table, part.calibration)
            yield part

    def _note(self, role: Role, rows: Matrix | Table, sample: Sample | NumberSample) -> None:
        if not sample.n_rows:
            return
        names = [column.name for column in sample.columns]
        if isinstance(sample, NumberSample):
            hashes = number_hashes(rows, sample.y, names)
        else:
            hashes = row_hashes(rows, sample.classes, sample.y, names=names)
        sketch, earlier = RowSketch.of(hashes), self._sketches.get(role)
        self._sketches[role] = sketch if earlier is None else earlier.merge(sketch)


def check_number_of_groups(groups: Ints | None, n_rows: int) -> None:
    """Raise a ValueError unless there is a group for each row."""
    if groups is not None and len(groups) != n_rows:
        must = f"a group for each of the {n_rows:,} rows of a weight above zero"
        raise invalid("groups", "fit", must, InWords(f"{len(groups):,}"))
