"""A table in parts: what each tells, and its rows with the columns and classes of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from treebound._utils.choices import Unknown
from treebound.data.encoding import learn_matrix, read_matrix
from treebound.data.folds import LeftOut
from treebound.data.frames import Table
from treebound.data.learned import LearnedSchema, PartFacts
from treebound.data.matrix import Matrix, type_of
from treebound.data.raw import RawColumn
from treebound.data.sample import Rows, Sample


def learn_part(
    X: Any,
    y: Any,
    weight: Any = None,
    *,
    sample_rows: int = 4096,
    held_out: LeftOut | None = None,
    first: int = 0,
    **kinds: Any,
) -> PartFacts:
    """Learn from one part of the rows; of those held out only the labels.

    ``kinds`` are the features of :meth:`Sample.learn`.
    """
    if _is_empty_part(y, weight):
        return PartFacts()
    rows, aside = _apart(Rows.of(X, y, weight, part=True), held_out, first)
    facts = PartFacts()
    if len(rows.codes):
        facts = rows.facts(learn_matrix(rows.table, **kinds), sample_rows)
    if aside is None:
        return facts
    return replace(facts, held_out=len(aside.codes), held_out_classes=aside.classes)


def count_rows(X: Any, y: Any, weight: Any, first: int = 0) -> int:
    """How many rows of a part have a weight above zero."""
    return len(y) if weight is None else int((np.asarray(weight) > 0).sum())


def _is_empty_part(y: Any, weight: Any) -> bool:
    """Whether no row has a weight above zero."""
    return len(y) == 0 or (weight is not None and not np.any(np.asarray(weight)))


def _apart(rows: Rows, left_out: LeftOut | None, first: int) -> tuple[Rows, Rows | None]:
    """The rows to learn from, and those left out; ``first`` is the number of the first row."""
    if left_out is None:
        return rows, None
    held = left_out.has(first + np.arange(len(rows.codes)))
    return rows.part(~held), rows.part(held)


class PartRows(NamedTuple):
    """One part of the rows: those to grow on, and those left out, also as they were read."""

    kept: Sample
    aside: Sample | None = None
    table: Table | None = None  # those left out
    kept_table: Table | None = None  # those to grow on, if there are identifiers

    @property
    def n_rows(self) -> int:
        """How many rows have a number."""
        return self.kept.n_rows + (0 if self.aside is None else self.aside.n_rows)


@dataclass(frozen=True)
class PartReader:
    """Reads parts of the rows with the columns and classes of all."""

    schema: LearnedSchema
    rows: LeftOut | None = None  # which are left out
    handle_unknown: Unknown = "error"  # how categories are read that only these have

    def read(self, X: Any, y: Any, weight: Any, first: int = 0) -> PartRows:
        """One part; ``first`` is the number of its first row."""
        if _is_empty_part(y, weight):
            nothing = empty_sample(self.schema)
            return PartRows(nothing, None if self.rows is None else nothing)
        rows, aside = _apart(Rows.of(X, y, weight, part=True), self.rows, first)
        table = rows.table if self.schema.identifiers else None
        if aside is None:
            return PartRows(self._sample(rows, self.handle_unknown), kept_table=table)
        kept, others = self._sample(rows, "error"), self._sample(aside, self.handle_unknown)
        return PartRows(kept, others, aside.table, table)

    def _sample(self, rows: Rows, handle_unknown: Unknown) -> Sample:
        if not len(rows.codes):
            return empty_sample(self.schema)
        matrix = read_matrix(
            rows.table, self.schema.columns, named=False, handle_unknown=handle_unknown
        )
        return rows.sample(matrix, self.schema)


def join_parts(parts: Sequence[PartRows]) -> PartRows:
    """The rows of several parts, in memory."""
    asides = [part.aside for part in parts if part.aside is not None]
    kept = _join_samples([part.kept for part in parts])
    return PartRows(kept, _join_samples(asides) if asides else None)


def _join_samples(samples: Sequence[Sample]) -> Sample:
    samples = [sample for sample in samples if sample.n_rows] or samples[:1]
    if len(samples) == 1:
        return samples[0]
    weight = None
    if any(sample.weight is not None for sample in samples):
        weight = np.concatenate([sample.weights for sample in samples])
    X = Matrix.stacked([sample.X for sample in samples])
    y = np.concatenate([sample.y for sample in samples])
    return Sample(X, y, weight, samples[0].classes, samples[0].factors)


def as_table(sample: Sample, schema: LearnedSchema) -> Table:
    """The rows of a sample as if they were read in memory; its columns can be learned again."""
    columns = []
    for column, values in zip(sample.columns, sample.X.values, strict=True):
        ordered = column.kind == "ordinal"
        columns.append(RawColumn(values, column.categories, ordered, column.declared))
    return Table(schema.names, (sample.n_rows, len(columns)), raw=tuple(columns))


def empty_sample(schema: LearnedSchema) -> Sample:
    """No rows."""
    values = tuple(np.empty(0, dtype=type_of(column)) for column in schema.columns)
    X, labels = Matrix(schema.columns, values), np.empty(0, dtype=np.int32)
    return Sample(X, labels, None, schema.classes, schema.factors)
