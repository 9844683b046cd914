"""A table in parts: the facts of each, and its rows with the columns and classes of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from treebound._utils.choices import Unknown
from treebound.data.draws import Tenth
from treebound.data.encoding import learn_matrix, read_matrix
from treebound.data.frames import Table
from treebound.data.learned import LearnedSchema, PartFacts
from treebound.data.raw import RawColumn
from treebound.data.sample import LabelledRows, Sample
from treebound.data.targets import is_number_label, refuse_quantity


class PartStart(NamedTuple):
    """The number of the first row of a part: among all rows, and without calibration rows."""

    row: int = 0
    training: int = 0


START = PartStart()


def learn_part(
    X: Any,
    y: Any,
    weight: Any = None,
    *,
    sample_rows: int = 4096,
    calibration: Tenth | None = None,
    first: PartStart = START,
    **kinds: Any,
) -> PartFacts:
    """Learn from one part of the rows; of calibration rows only the labels.

    ``first`` is where it starts, ``kinds`` are the features of :meth:`Sample.learn`.
    """
    if _is_empty_part(y, weight):
        return PartFacts()
    labelled = LabelledRows.of(X, y, weight, part=True)
    if is_number_label(labelled.classes):
        refuse_quantity(len(labelled.classes))
    rows, calibration_rows = _split(labelled, calibration, first.row)
    facts = PartFacts()
    if rows.n_rows:
        facts = rows.facts(learn_matrix(rows.table, **kinds), sample_rows)
    if calibration_rows is None:
        return facts
    return replace(
        facts, calibration=calibration_rows.n_rows, calibration_classes=calibration_rows.classes
    )


def count_rows(X: Any, y: Any, weight: Any) -> int:
    """How many rows of a part have a weight above zero."""
    return len(y) if weight is None else int((np.asarray(weight) > 0).sum())


def _is_empty_part(y: Any, weight: Any) -> bool:
    """Return True if no row has a weight above zero."""
    return len(y) == 0 or (weight is not None and not np.any(np.asarray(weight)))


def _split(
    rows: LabelledRows, selected: Tenth | None, first: int
) -> tuple[LabelledRows, LabelledRows | None]:
    """The training rows, and the selected rows; ``first`` is the number of the first row."""
    if selected is None:
        return rows, None
    inside = selected.has(first + np.arange(rows.n_rows))
    return rows.part(~inside), rows.part(inside)


class PartRows(NamedTuple):
    """One part of the rows by their roles, and the rows as they were read, if that differs."""

    training: Sample
    calibration: Sample | None = None
    validation: Sample | None = None
    calibration_table: Table | None = None  # also with categories that training rows do not have
    training_table: Table | None = None  # if there are identifiers
    validation_table: Table | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows, of weight zero none."""
        samples = (self.training, self.calibration, self.validation)
        return sum(sample.n_rows for sample in samples if sample is not None)


@dataclass(frozen=True)
class PartReader:
    """Reads parts of the rows with the columns and classes of all."""

    schema: LearnedSchema
    calibration: Tenth | None = None
    validation: Tenth | None = None  # of the other rows, by their numbers without calibration rows
    handle_unknown: Unknown = "error"  # how categories are read that only calibration rows have

    def read(self, X: Any, y: Any, weight: Any, first: PartStart = START) -> PartRows:
        """One part, and where it starts."""
        if _is_empty_part(y, weight):
            nothing = self._nothing
            return PartRows(
                nothing,
                None if self.calibration is None else nothing,
                None if self.validation is None else nothing,
            )
        rows, held_out = _split(
            LabelledRows.of(X, y, weight, part=True), self.calibration, first.row
        )
        calibration, held_out_table = None, None
        if held_out is not None:
            calibration = self._sample(held_out, self.handle_unknown)
            held_out_table = held_out.table
        training, validation = _split(rows, self.validation, first.training)
        part = PartRows(self._sample(training, "error"), calibration, None, held_out_table)
        if validation is not None:
            part = part._replace(validation=self._sample(validation, "error"))
        if not self.schema.identifiers:
            return part
        table = None if validation is None else validation.table
        return part._replace(training_table=training.table, validation_table=table)

    def after(self, part: PartRows, first: PartStart) -> PartStart:
        """Start of the part after one."""
        held_out = 0 if part.calibration is None else part.calibration.n_rows
        return PartStart(first.row + part.n_rows, first.training + part.n_rows - held_out)

    @property
    def _nothing(self) -> Sample:
        """A part of no rows."""
        return Sample.empty(self.schema.columns, self.schema.classes, self.schema.factors)

    def _sample(self, rows: LabelledRows, handle_unknown: Unknown) -> Sample:
        if not rows.n_rows:
            return self._nothing
        matrix = read_matrix(
            rows.table, self.schema.columns, named=False, handle_unknown=handle_unknown
        )
        return rows.sample(matrix, self.schema)


def join_parts(parts: Sequence[PartRows]) -> PartRows:
    """The rows of several parts, in memory."""
    return PartRows(
        Sample.joined([part.training for part in parts]),
        _joined([part.calibration for part in parts]),
        _joined([part.validation for part in parts]),
    )


def _joined(samples: Sequence[Sample | None]) -> Sample | None:
    """The rows of one role of several parts."""
    present = [sample for sample in samples if sample is not None]
    return Sample.joined(present) if present else None


def as_table(sample: Sample, schema: LearnedSchema) -> Table:
    """The rows of a sample as if they were read in memory; its columns can be learned again."""
    columns = []
    for column, values in zip(sample.columns, sample.X.values, strict=True):
        ordered = column.kind == "ordinal"
        columns.append(RawColumn(values, column.categories, ordered, column.declared))
    return Table(schema.names, (sample.n_rows, len(columns)), raw=tuple(columns))
