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


def learn_part(
    X: Any,
    y: Any,
    weight: Any = None,
    *,
    sample_rows: int = 4096,
    calibration: Tenth | None = None,
    first: int = 0,
    **kinds: Any,
) -> PartFacts:
    """Learn from one part of the rows; of calibration rows only the labels.

    ``first`` is the number of its first row, ``kinds`` are the features of :meth:`Sample.learn`.
    """
    if _is_empty_part(y, weight):
        return PartFacts()
    rows, calibration_rows = _split(LabelledRows.of(X, y, weight, part=True), calibration, first)
    facts = PartFacts()
    if rows.n_rows:
        facts = rows.facts(learn_matrix(rows.table, **kinds), sample_rows)
    if calibration_rows is None:
        return facts
    return replace(
        facts, calibration=calibration_rows.n_rows, calibration_classes=calibration_rows.classes
    )


def count_rows(X: Any, y: Any, weight: Any, first: int = 0) -> int:
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
    """One part of the rows: training rows, and selected ones, also as they were read."""

    training: Sample
    selected: Sample | None = None  # calibration or validation rows
    table: Table | None = None  # the selected rows
    training_table: Table | None = None  # the training rows, if there are identifiers

    @property
    def n_rows(self) -> int:
        """Number of rows, of weight zero none."""
        return self.training.n_rows + (0 if self.selected is None else self.selected.n_rows)


@dataclass(frozen=True)
class PartReader:
    """Reads parts of the rows with the columns and classes of all."""

    schema: LearnedSchema
    selection: Tenth | None = None  # calibration or validation rows
    handle_unknown: Unknown = "error"  # how categories are read that only these have

    def read(self, X: Any, y: Any, weight: Any, first: int = 0) -> PartRows:
        """One part; ``first`` is the number of its first row."""
        if _is_empty_part(y, weight):
            nothing = self._nothing
            return PartRows(nothing, None if self.selection is None else nothing)
        rows, calibration_rows = _split(
            LabelledRows.of(X, y, weight, part=True), self.selection, first
        )
        table = rows.table if self.schema.identifiers else None
        if calibration_rows is None:
            return PartRows(self._sample(rows, self.handle_unknown), training_table=table)
        training, selected = (
            self._sample(rows, "error"),
            self._sample(calibration_rows, self.handle_unknown),
        )
        return PartRows(training, selected, calibration_rows.table, table)

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
    selected = [part.selected for part in parts if part.selected is not None]
    training = Sample.joined([part.training for part in parts])
    return PartRows(training, Sample.joined(selected) if selected else None)


def as_table(sample: Sample, schema: LearnedSchema) -> Table:
    """The rows of a sample as if they were read in memory; its columns can be learned again."""
    columns = []
    for column, values in zip(sample.columns, sample.X.values, strict=True):
        ordered = column.kind == "ordinal"
        columns.append(RawColumn(values, column.categories, ordered, column.declared))
    return Table(schema.names, (sample.n_rows, len(columns)), raw=tuple(columns))
