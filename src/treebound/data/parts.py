"""Learning a table in parts: what each part knows of its columns and classes, put together.

A table in memory is one part: :meth:`Sample.learn` takes the same steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound.data.columns import Column, Unknown
from treebound.data.encoding import read_matrix
from treebound.data.folds import LeftOut
from treebound.data.frames import Table, read_columns, read_table
from treebound.data.matrix import Matrix
from treebound.data.raw import RawColumn, family_of, smallest_ints
from treebound.data.sample import LearnedRows, Sample, same_length, without_zeros
from treebound.data.targets import learn_classes, read_classes
from treebound.data.weights import (
    check_total,
    class_factors,
    is_whole,
    row_weights,
    scaled_weights,
)  # fmt: skip


@dataclass(frozen=True)
class PartFacts:
    """What is learned from one part of the rows, those of weight zero left out."""

    number: int  # the number of the part, for errors
    n_rows: int
    names: tuple[str, ...] | None = None  # the names of the columns, where the table has them
    columns: tuple[Column, ...] = ()  # as far as this part tells
    classes: NDArray[Any] | None = None  # labels that occur
    totals: tuple[Fraction, ...] = ()  # the weight of each of them
    whole: bool = True  # whether all weights are whole numbers
    sample: tuple[NDArray[Any], ...] = ()  # values of some rows of each real column
    held_out: int = 0  # rows that nothing was learned from
    held_out_classes: NDArray[Any] | None = None  # but their labels


@dataclass(frozen=True)
class Schema:
    """What all parts together are."""

    columns: tuple[Column, ...]
    names: tuple[str, ...] | None  # the names of the columns, where the table has them
    classes: NDArray[Any]  # the labels, sorted
    factors: NDArray[np.float64] | None  # the class weights
    scale: float | None  # what weights are multiplied by to have mean 1; None for whole numbers
    sample: tuple[NDArray[Any], ...]  # values of some rows of each real column
    part_rows: tuple[int, ...]  # the rows of every part
    held_out: int = 0  # further rows, that nothing was learned from

    @property
    def n_rows(self) -> int:
        """The rows of all parts."""
        return sum(self.part_rows)


def learn_part(
    X: Any,
    y: Any,
    weight: Any = None,
    *,
    number: int = 0,
    categorical_features: Any = "from_dtype",
    ordinal_features: Any = None,
    sample_rows: int = 4096,
    held_out: LeftOut | None = None,
    first: int = 0,
) -> PartFacts:
    """Learn from one part of the rows; of those held out only the labels."""
    if held_out is not None and len(y):
        held = _left_out(held_out, len(y), weight, first)
        classes, codes = learn_classes(y)
        facts = learn_part(
            X,
            y,
            np.where(held, 0.0, 1.0 if weight is None else weight),
            number=number,
            categorical_features=categorical_features,
            ordinal_features=ordinal_features,
            sample_rows=sample_rows,
        )
        labels = classes[np.unique(codes[held])]
        return replace(facts, held_out=int(held.sum()), held_out_classes=labels)
    if _is_empty_part(y, weight):
        return PartFacts(number, 0)
    rows = LearnedRows.of(
        X,
        y,
        weight,
        part=True,
        categorical_features=categorical_features,
        ordinal_features=ordinal_features,
    )
    n, matrix, whole = len(rows.codes), rows.matrix, is_whole(rows.weight)
    some = np.unique(np.linspace(0, n - 1, min(n, max(sample_rows, 1))).astype(np.int64))
    sample = tuple(
        values[some].astype(np.float64) if column.kind == "real" else np.empty(0)
        for column, values in zip(matrix.columns, matrix.values, strict=True)
    )
    return PartFacts(
        number, n, rows.names, matrix.columns, rows.classes, rows.totals(), whole, sample
    )


def _is_empty_part(y: Any, weight: Any) -> bool:
    """Whether no row has a weight above zero."""
    return len(y) == 0 or (weight is not None and not np.any(np.asarray(weight)))


def _left_out(rows: LeftOut, n: int, weight: Any, first: int) -> NDArray[np.bool_]:
    """Which of n rows are left out; only those of a weight above zero have numbers."""
    counted = np.ones(n, dtype=bool) if weight is None else np.asarray(weight) > 0
    return counted & rows.has(first + np.cumsum(counted) - counted)


# -- putting together --------------------------------------------------------------------------


def put_together(
    parts: Sequence[PartFacts], *, class_weight: Any = None, sample_rows: int = 65536
) -> Schema:
    """What all parts are."""
    full = [part for part in parts if part.n_rows]
    if not full:
        raise ValueError(
            f"Found no rows of a weight above zero in {len(parts)} parts while a minimum of 1 is "
            "required."
        )
    first = full[0]
    for part in full[1:]:
        if [c.name for c in part.columns] != [c.name for c in first.columns]:
            raise ValueError(
                f"Every part must have the same columns in the same order. Part {first.number} has "
                f"{[c.name for c in first.columns]}, part {part.number} has "
                f"{[c.name for c in part.columns]}."
            )
    columns = tuple(
        _one_column([(part.number, part.columns[j]) for part in full])
        for j in range(len(first.columns))
    )
    classes = _all_classes(parts)
    rows = tuple(part.n_rows for part in parts)
    n_rows = sum(rows)
    sample = _samples(full, columns, n_rows, sample_rows)
    totals = _totals(classes, full)
    total = sum(totals, Fraction(0))
    check_total(float(total))
    scale = None if all(part.whole for part in full) else float(n_rows / total)
    factors = class_factors(class_weight, classes, totals)
    held_out = sum(part.held_out for part in parts)
    return Schema(columns, first.names, classes, factors, scale, sample, rows, held_out)


def _one_column(found: Sequence[tuple[int, Column]]) -> Column:
    """A column as all parts know it; a part where every value is missing knows nothing."""
    telling = [(number, column) for number, column in found if not _is_empty(column)]
    missing = any(column.missing for _, column in found)
    if not telling:
        return found[0][1].with_missing(missing)
    number, first = telling[0]
    for other, column in telling[1:]:
        if _what(column) != _what(first):
            raise ValueError(
                f"Column {first.name!r} must be of one type in every part. It is {_what(first)} "
                f"in part {number} and {_what(column)} in part {other}. "
                "Hint: read it with one type."
            )
    if first.kind == "real" or all(c.categories == first.categories for _, c in telling):
        declared = all(column.declared for _, column in telling)
        return replace(first, declared=declared, missing=missing)
    if first.kind == "ordinal" and any(column.declared for _, column in telling):
        raise ValueError(
            f"Column {first.name!r} has categories in an order that differs from part to part. "
            "Hint: declare them with 'ordinal_features'."
        )
    union = {value for _, column in telling for value in column.categories or ()}
    return replace(first, categories=_in_order(union), declared=False, missing=missing)


def _is_empty(column: Column) -> bool:
    return column.kind == "nominal" and not column.categories and not column.declared


def _what(column: Column) -> str:
    """Kind and type, in words."""
    if column.kind == "real":
        return "numbers"
    return f"{column.kind} with {family_of(column.categories or ())} categories"


def _in_order(values: set[Any]) -> tuple[Any, ...]:
    """Sorted; a fraction among whole numbers makes all of them floats."""
    if any(isinstance(value, float) for value in values):
        return tuple(sorted(float(value) for value in values))
    return tuple(sorted(values))


def _all_classes(parts: Sequence[PartFacts]) -> NDArray[Any]:
    labels = [labels for part in parts for labels in (part.classes, part.held_out_classes)]
    found = [some for some in labels if some is not None and len(some)]
    kinds = {"number" if one.dtype.kind in "iuf" else one.dtype.kind for one in found}
    if len(kinds) > 1:
        raise ValueError(
            "Unknown label type: y must hold labels of one type in every part. Got arrays of "
            f"{', '.join(sorted({str(one.dtype) for one in found}))} instead. "
            "Hint: convert y with astype(str)."
        )
    classes, _ = learn_classes(np.concatenate(found))
    return classes


def _samples(
    parts: Sequence[PartFacts], columns: Sequence[Column], n_rows: int, most: int
) -> tuple[NDArray[Any], ...]:
    """Values of real columns, from every part in proportion to its rows."""
    chosen: list[list[NDArray[Any]]] = [[] for _ in columns]
    for part in parts:
        share = int(np.ceil(most * (part.n_rows / n_rows)))
        for j, values in enumerate(part.sample):
            at = np.linspace(0, len(values) - 1, min(share, len(values))).astype(np.int64)
            chosen[j].append(values[at])
    return tuple(np.concatenate(some) for some in chosen)


def _totals(classes: NDArray[Any], parts: Sequence[PartFacts]) -> list[Fraction]:
    """The weight of every class."""
    totals = dict.fromkeys(classes.tolist(), Fraction(0))
    for part in parts:
        assert part.classes is not None
        for label, total in zip(part.classes.tolist(), part.totals, strict=True):
            totals[label] += total
    return list(totals.values())


# -- columns of numbers ------------------------------------------------------------------------


def nothing_but_rows(n_rows: int) -> Table:
    """A table to learn from where only labels are of interest."""
    return Table(None, (n_rows, 1), np.zeros((n_rows, 1)))


def some_numbers(
    X: Any, weight: Any, names: Sequence[str], most: int = 4096
) -> dict[str, NDArray[np.float64]]:
    """Values of some rows of real columns, those of weight zero left out."""
    if not len(X):
        return {name: np.empty(0) for name in names}
    table = read_columns(X)
    kept = np.arange(len(X)) if weight is None else np.flatnonzero(np.asarray(weight) > 0)
    rows = kept[np.linspace(0, len(kept) - 1, min(most, len(kept))).astype(np.int64)]
    return {name: table.column(j).floats()[rows].astype(np.float64) for j, name in enumerate(names)}


def with_numbers(
    schema: Schema,
    names: Sequence[str],
    samples: Sequence[Mapping[str, NDArray[np.float64]]],
) -> Schema:
    """A schema of other columns, and columns of numbers that nothing must be learned of."""
    plain = samples[0].keys()
    rest = [name for name in names if name not in plain]
    found: dict[str, tuple[Column, NDArray[Any]]] = {
        name: (Column(name), np.concatenate([some[name] for some in samples])) for name in plain
    }
    known = zip(schema.columns, schema.sample, strict=True)
    found |= dict(zip(rest, known, strict=False))  # of labels alone, what was learned is left out
    return replace(
        schema,
        columns=tuple(found[name][0] for name in names),
        sample=tuple(found[name][1] for name in names),
        names=tuple(names),
    )


# -- reading -----------------------------------------------------------------------------------


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

    schema: Schema
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


def read_part(X: Any, y: Any, weight: Any, schema: Schema, *, unknown: Unknown = "error") -> Sample:
    """One part of the rows with the columns and classes of all; it may have no rows."""
    if _is_empty_part(y, weight):
        return empty_sample(schema)
    table = read_table(X)
    same_length(table.shape[0], len(y))
    table, weights, keep = without_zeros(table, row_weights(weight, len(y), part=True))
    if keep is not None:  # labels of the others may be none of the classes
        labels, which = learn_classes(y)
        y = labels[which[keep]]
    codes = read_classes(y, schema.classes)
    if schema.scale is not None:
        weights = scaled_weights(np.ones(len(codes)) if weights is None else weights, schema.scale)
    matrix = read_matrix(table, schema.columns, named=False, unknown=unknown)
    return Sample(matrix, codes, weights, schema.classes, schema.factors)


def join_samples(samples: Sequence[Sample], schema: Schema) -> Sample:
    """All rows in memory."""
    weight = None
    if any(sample.weight is not None for sample in samples):
        weight = np.concatenate([sample.weights for sample in samples])
    X = Matrix.stacked([sample.X for sample in samples])
    y = np.concatenate([sample.y for sample in samples])
    return Sample(X, y, weight, schema.classes, schema.factors)


def as_table(sample: Sample, schema: Schema) -> Table:
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


def empty_sample(schema: Schema) -> Sample:
    """No rows."""
    values = tuple(
        np.empty(
            0, dtype=np.float64 if c.kind == "real" else smallest_ints(len(c.categories or ()))
        )
        for c in schema.columns
    )
    return Sample(Matrix(schema.columns, values), np.empty(0, dtype=np.int32), None, schema.classes)
