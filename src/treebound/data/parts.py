"""A table in parts: what each tells, and its rows with the columns and classes of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound.data.columns import Unknown
from treebound.data.encoding import learn_matrix, read_matrix
from treebound.data.folds import LeftOut
from treebound.data.frames import Table, read_table
from treebound.data.learned import LearnedSchema, PartFacts
from treebound.data.matrix import Matrix
from treebound.data.raw import RawColumn, family_of, smallest_ints
from treebound.data.sample import Rows, Sample
from treebound.data.targets import learn_classes
from treebound.data.weights import row_weights


def learn_part(
    X: Any,
    y: Any,
    weight: Any = None,
    *,
    number: int = 0,
    sample_rows: int = 4096,
    held_out: LeftOut | None = None,
    first: int = 0,
    **kinds: Any,
) -> PartFacts:
    """Learn from one part of the rows; of those held out only the labels.

    ``kinds`` are the features of :meth:`Sample.learn`.
    """
    if held_out is not None and len(y):
        held = _left_out(held_out, len(y), weight, first)
        classes, codes = learn_classes(y)
        rest = np.where(held, 0.0, 1.0 if weight is None else weight)
        facts = learn_part(X, y, rest, number=number, sample_rows=sample_rows, **kinds)
        labels = classes[np.unique(codes[held])]
        return replace(facts, held_out=int(held.sum()), held_out_classes=labels)
    if _is_empty_part(y, weight):
        return PartFacts(number, 0)
    rows = Rows.of(X, y, weight, part=True)
    return rows.facts(learn_matrix(rows.table, **kinds), number, sample_rows)


def _is_empty_part(y: Any, weight: Any) -> bool:
    """Whether no row has a weight above zero."""
    return len(y) == 0 or (weight is not None and not np.any(np.asarray(weight)))


def _left_out(rows: LeftOut, n: int, weight: Any, first: int) -> NDArray[np.bool_]:
    """Which of n rows are left out; only those of a weight above zero have numbers."""
    counted = np.ones(n, dtype=bool) if weight is None else np.asarray(weight) > 0
    return counted & rows.has(first + np.cumsum(counted) - counted)


class PartRows(NamedTuple):
    """One part of the rows: those to grow on, and those left out, also as they were read."""

    kept: Sample
    aside: Sample | None = None
    table: Table | None = None

    @property
    def n_rows(self) -> int:
        """How many rows have a number."""
        return self.kept.n_rows + (0 if self.aside is None else self.aside.n_rows)


@dataclass(frozen=True)
class PartReader:
    """Reads parts of the rows with the columns and classes of all."""

    schema: LearnedSchema
    rows: LeftOut | None = None  # which are left out
    unknown: Unknown = "error"  # how categories are read that only these have

    def read(self, X: Any, y: Any, weight: Any, first: int = 0) -> PartRows:
        """One part; ``first`` is the number of its first row."""
        if self.rows is None:
            return PartRows(read_part(X, y, weight, self.schema))
        if _is_empty_part(y, weight):
            return PartRows(empty_sample(self.schema), empty_sample(self.schema))
        table = read_table(X)
        classes, codes = learn_classes(y)
        weights = row_weights(weight, len(codes), part=True)
        held = _left_out(self.rows, len(codes), weights, first)

        def part(chosen: NDArray[np.bool_], unknown: Unknown) -> Sample:
            own = None if weights is None else weights[chosen]
            labels = classes[codes[chosen]]
            return read_part(table.rows(chosen), labels, own, self.schema, unknown=unknown)

        return PartRows(part(~held, "error"), part(held, self.unknown), table.rows(held))


def read_part(
    X: Any, y: Any, weight: Any, schema: LearnedSchema, *, unknown: Unknown = "error"
) -> Sample:
    """One part of the rows with the columns and classes of all; it may have no rows."""
    if _is_empty_part(y, weight):
        return empty_sample(schema)
    rows = Rows.of(X, y, weight, part=True)
    matrix = read_matrix(rows.table, schema.columns, named=False, unknown=unknown)
    return rows.sample(matrix, schema)


def join_samples(samples: Sequence[Sample], schema: LearnedSchema) -> Sample:
    """All rows in memory."""
    weight = None
    if any(sample.weight is not None for sample in samples):
        weight = np.concatenate([sample.weights for sample in samples])
    X = Matrix.stacked([sample.X for sample in samples])
    y = np.concatenate([sample.y for sample in samples])
    return Sample(X, y, weight, schema.classes, schema.factors)


def as_table(sample: Sample, schema: LearnedSchema) -> Table:
    """The rows of a sample as if they were read in memory; its columns can be learned again."""
    columns = [
        RawColumn("number", values)
        if column.kind == "real"
        else RawColumn(
            family_of(column.categories or ()),
            values,
            column.categories,
            ordered=column.kind == "ordinal",
            declared=column.declared,
        )
        for column, values in zip(sample.columns, sample.X.values, strict=True)
    ]
    return Table(schema.names, (sample.n_rows, len(columns)), raw=tuple(columns))


def empty_sample(schema: LearnedSchema) -> Sample:
    """No rows."""
    values = tuple(
        np.empty(
            0, dtype=np.float64 if c.kind == "real" else smallest_ints(len(c.categories or ()))
        )
        for c in schema.columns
    )
    return Sample(Matrix(schema.columns, values), np.empty(0, dtype=np.int32), None, schema.classes)
