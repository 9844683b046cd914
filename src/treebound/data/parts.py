"""A table in parts: the facts of each, and its rows with the columns and classes of all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound._utils.choices import Unknown
from treebound.data.draws import Tenth
from treebound.data.encoding import learn_matrix, read_matrix
from treebound.data.frames import Table
from treebound.data.learned import LearnedSchema, PartFacts
from treebound.data.number_sample import AnySample, NumberSample
from treebound.data.numbers import read_numbers
from treebound.data.numeric_target import N_CHANNELS
from treebound.data.raw import RawColumn
from treebound.data.sample import LabelledRows, Sample
from treebound.data.summaries import TargetSummary
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
    numeric: bool = False,
    **kinds: Any,
) -> PartFacts:
    """Learn from one part of the rows; of calibration rows only the labels.

    ``first`` is where it starts, ``kinds`` are the features of :meth:`Sample.learn`. If the target
    is ``numeric`` its rows have one class.
    """
    if _is_empty_part(y, weight):
        return PartFacts()
    numbers = read_numbers(y) if numeric else None
    labels = y if numbers is None else np.zeros(len(numbers), dtype=int)
    labelled = LabelledRows.of(X, labels, weight, part=True)
    if is_number_label(labelled.classes):
        refuse_quantity(len(labelled.classes))
    rows, calibration_rows = _split(labelled, calibration, first.row)
    facts = PartFacts()
    if rows.n_rows:
        facts = rows.facts(learn_matrix(rows.table, **kinds), sample_rows)
        if numbers is not None:
            facts = replace(facts, target=TargetSummary.of(numbers[rows.row_numbers]))
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


class PartRows(NamedTuple, Generic[AnySample]):
    """One part of the rows by their roles, and the rows as they were read, if that differs."""

    training: AnySample
    calibration: AnySample | None = None
    validation: AnySample | None = None
    calibration_table: Table | None = None  # also with categories that training rows do not have
    training_table: Table | None = None  # if there are identifiers
    validation_table: Table | None = None
    # the numbers of these rows: among all, and among all but calibration rows
    calibration_numbers: NDArray[np.int64] | None = None
    validation_numbers: NDArray[np.int64] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows, of weight zero none."""
        samples = (self.training, self.calibration, self.validation)
        return sum(sample.n_rows for sample in samples if sample is not None)


@dataclass(frozen=True)
class BaseReader(ABC, Generic[AnySample]):
    """Reads parts of the rows with the columns of all."""

    schema: LearnedSchema
    calibration: Tenth | None = None
    validation: Tenth | None = None  # of the other rows, by their numbers without calibration rows
    handle_unknown: Unknown = "error"  # how categories are read that only calibration rows have

    def read(self, X: Any, y: Any, weight: Any, first: PartStart = START) -> PartRows[AnySample]:
        """One part, and where it starts."""
        if _is_empty_part(y, weight):
            nothing, none = self._nothing, np.empty(0, dtype=np.int64)
            part = PartRows(nothing)
            if self.calibration is not None:
                part = part._replace(calibration=nothing, calibration_numbers=none)
            if self.validation is not None:
                part = part._replace(validation=nothing, validation_numbers=none)
            return part
        target = self._target(y)
        all_rows = LabelledRows.of(X, self._labels(target), weight, part=True)
        rows, calibration = _split(all_rows, self.calibration, first.row)
        training, validation = _split(rows, self.validation, first.training)
        part = PartRows(self._sample(training, target, "error"))
        if calibration is not None and self.calibration is not None:
            part = part._replace(
                calibration=self._sample(calibration, target, self.handle_unknown),
                calibration_table=calibration.table,
                calibration_numbers=_selected(self.calibration, first.row, all_rows.n_rows),
            )
        if validation is not None and self.validation is not None:
            part = part._replace(
                validation=self._sample(validation, target, "error"),
                validation_numbers=_selected(self.validation, first.training, rows.n_rows),
            )
        if not self.schema.identifiers:
            return part
        table = None if validation is None else validation.table
        return part._replace(training_table=training.table, validation_table=table)

    def after(self, part: PartRows[AnySample], first: PartStart) -> PartStart:
        """Start of the part after one."""
        calibration = 0 if part.calibration is None else part.calibration.n_rows
        return PartStart(first.row + part.n_rows, first.training + part.n_rows - calibration)

    @property
    @abstractmethod
    def n_channels(self) -> int:
        """The number of integers that growing adds for each row."""

    @property
    @abstractmethod
    def _nothing(self) -> AnySample:
        """A part of no rows."""

    @abstractmethod
    def _target(self, y: Any) -> Any:
        """The target of the rows of a part, checked."""

    @abstractmethod
    def _labels(self, target: Any) -> Any:
        """The class of each row."""

    @abstractmethod
    def _with_target(self, sample: Sample, target: Any, rows: LabelledRows) -> AnySample:
        """The rows with their target."""

    def _sample(self, rows: LabelledRows, target: Any, handle_unknown: Unknown) -> AnySample:
        if not rows.n_rows:
            return self._nothing
        matrix = read_matrix(
            rows.table, self.schema.columns, named=False, handle_unknown=handle_unknown
        )
        return self._with_target(rows.sample(matrix, self.schema), target, rows)


class PartReader(BaseReader[Sample]):
    """Reads parts of the rows with the columns and classes of all."""

    @property
    def n_channels(self) -> int:
        return len(self.schema.classes)

    @property
    def _nothing(self) -> Sample:
        return Sample.empty(self.schema.columns, self.schema.classes, self.schema.factors)

    def _target(self, y: Any) -> Any:
        return y

    def _labels(self, target: Any) -> Any:
        return target

    def _with_target(self, sample: Sample, target: Any, rows: LabelledRows) -> Sample:
        return sample


@dataclass(frozen=True)
class NumberReader(BaseReader[NumberSample]):
    """Reads parts of the rows with the columns of all, and a target of numbers.

    Numbers of training rows are moved into the range ``clip``.
    """

    clip: tuple[float, float] | None = None

    def read(self, X: Any, y: Any, weight: Any, first: PartStart = START) -> PartRows[NumberSample]:
        part = super().read(X, y, weight, first)
        if self.clip is None:
            return part
        return part._replace(training=part.training.clipped(*self.clip))

    @property
    def n_channels(self) -> int:
        return N_CHANNELS

    @property
    def _nothing(self) -> NumberSample:
        return NumberSample.empty(self.schema.columns)

    def _target(self, y: Any) -> Any:
        return read_numbers(y)

    def _labels(self, target: Any) -> Any:
        return np.zeros(len(target), dtype=int)

    def _with_target(self, sample: Sample, target: Any, rows: LabelledRows) -> NumberSample:
        return NumberSample.of(sample, target[rows.row_numbers])


def _selected(selection: Tenth, first: int, n_rows: int) -> NDArray[np.int64]:
    """The numbers of the selected rows of a part."""
    numbers = first + np.arange(n_rows)
    return numbers[selection.has(numbers)]


def join_parts(parts: Sequence[PartRows[AnySample]]) -> PartRows[AnySample]:
    """The rows of several parts, in memory."""
    return PartRows(
        _joined([part.training for part in parts]),
        _joined_role([part.calibration for part in parts]),
        _joined_role([part.validation for part in parts]),
        calibration_numbers=_all_numbers([part.calibration_numbers for part in parts]),
        validation_numbers=_all_numbers([part.validation_numbers for part in parts]),
    )


def _joined(samples: Sequence[AnySample]) -> AnySample:
    joined: Any = type(samples[0]).joined
    whole: AnySample = joined(samples)
    return whole


def _joined_role(samples: Sequence[AnySample | None]) -> AnySample | None:
    """The rows of one role of several parts."""
    present = [sample for sample in samples if sample is not None]
    return _joined(present) if present else None


def _all_numbers(numbers: Sequence[NDArray[np.int64] | None]) -> NDArray[np.int64] | None:
    present = [some for some in numbers if some is not None]
    return np.concatenate(present) if present else None


def as_table(sample: Sample | NumberSample, schema: LearnedSchema) -> Table:
    """The rows of a sample as if they were read in memory; its columns can be learned again."""
    columns = []
    for column, values in zip(sample.columns, sample.X.values, strict=True):
        ordered = column.kind == "ordinal"
        columns.append(RawColumn(values, column.categories, ordered, column.declared))
    return Table(schema.names, (sample.n_rows, len(columns)), raw=tuple(columns))
