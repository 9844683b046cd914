"""Facts about the columns and classes of a table, learned from its parts and merged.

A table in memory is one part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils._pool import each
from treebound.data.columns import Column, is_identifier
from treebound.data.encoding import chosen_columns
from treebound.data.frames import Table, read_columns
from treebound.data.raw import family_of, spread
from treebound.data.summaries import ColumnSummary, TableSummary, TargetSummary, merged
from treebound.data.targets import is_number_label, learn_classes, refuse_quantity
from treebound.data.weights import check_total, class_factors

if TYPE_CHECKING:
    from treebound.data.draws import Tenth

SAMPLE_ROWS = 65536  # to choose bins by


@dataclass(frozen=True)
class PartFacts:
    """Facts learned from one part of the rows, without rows of weight zero."""

    n_rows: int = 0
    names: tuple[str, ...] | None = None  # the names of the columns, where the table has them
    columns: tuple[Column, ...] = ()  # as far as this part shows
    classes: NDArray[Any] = field(default_factory=partial(np.empty, 0))  # labels that occur
    totals: tuple[Fraction, ...] = ()  # the weight of each of them
    whole: bool = True  # whether all weights are whole numbers
    sample: tuple[NDArray[Any], ...] = ()  # values of some rows of each real column
    summary: TableSummary | None = None  # of its rows; None if it is all of the table
    calibration: int = 0  # rows that nothing was learned from
    calibration_classes: NDArray[Any] = field(default_factory=partial(np.empty, 0))  # but labels
    target: TargetSummary | None = None  # of a target of numbers, whose rows have one class


@dataclass(frozen=True)
class LearnedSchema:
    """The columns and classes of all parts."""

    columns: tuple[Column, ...]
    names: tuple[str, ...] | None  # the names of the columns, where the table has them
    classes: NDArray[Any]  # the labels, sorted
    factors: NDArray[np.float64] | None  # the class weights
    scale: float | None  # what weights are multiplied by to have mean 1; None for whole numbers
    sample: tuple[NDArray[Any], ...]  # values of some rows of each real column
    part_rows: tuple[int, ...]  # the rows of every part
    calibration: int = 0  # further rows, that nothing was learned from
    class_rows: tuple[int, ...] = ()  # the rows of each class
    summaries: tuple[ColumnSummary | None, ...] = ()  # of the columns; None of one left unread
    identifiers: tuple[Column, ...] = ()  # with the categories that ``columns`` does not list
    target: TargetSummary | None = None  # of a target of numbers, whose rows have one class

    @property
    def n_rows(self) -> int:
        """The rows of all parts."""
        return sum(self.part_rows)

    def check_classes(self) -> None:
        """Raise a ValueError if the labels are a quantity and not classes."""
        if is_number_label(self.classes):
            refuse_quantity(len(self.classes), self.n_rows + self.calibration)

    @property
    def unread(self) -> list[str]:
        """The columns whose values were left unread."""
        each = zip(self.columns, self.summaries, strict=True)
        return [column.name for column, summary in each if summary is None]

    def summary(self, unread: Mapping[str, ColumnSummary]) -> TableSummary:
        """The summary of all rows, with those of columns that were left unread."""
        each = zip(self.columns, self.summaries, strict=True)
        columns = tuple(summary or unread[column.name] for column, summary in each)
        summary = TableSummary(self.class_rows, columns)
        return summary if self.target is None else summary.with_target(self.target)

    def with_identifiers(self) -> LearnedSchema:
        """The schema with the categories of identifiers, to read their values too."""
        known = {column.name: column for column in self.identifiers}
        columns = tuple(known.get(column.name, column) for column in self.columns)
        return replace(self, columns=columns, identifiers=())


def merge_facts(
    parts: Sequence[PartFacts],
    *,
    class_weight: Any = None,
    categorical_features: Any = "from_dtype",
) -> LearnedSchema:
    """Merge the facts of all parts.

    No column of ``categorical_features`` is an identifier.
    """
    numbers = [number for number, part in enumerate(parts) if part.n_rows]
    full = [parts[number] for number in numbers]
    if not full:
        raise ValueError(
            f"Found no rows of a weight above zero in {len(parts)} parts while a minimum of 1 is "
            "required."
        )
    first = full[0]
    names = [[column.name for column in part.columns] for part in full]
    for number, part_names in zip(numbers, names, strict=True):
        if part_names != names[0]:
            raise ValueError(
                f"Every part must have the same columns in the same order. Part {numbers[0]} has "
                f"{names[0]}, part {number} has {part_names}."
            )
    columns, classes, totals = first.columns, first.classes, first.totals
    if len(parts) > 1 or len(first.calibration_classes):
        each = zip(*(part.columns for part in full), strict=True)
        columns = tuple(_one_column(list(zip(numbers, same, strict=True))) for same in each)
        classes = _all_classes(parts)
        totals = _totals(classes, full)
    rows = tuple(part.n_rows for part in parts)
    n_rows = sum(rows)
    sample = _samples(full, n_rows)
    total = sum(totals, Fraction(0))
    check_total(float(total))
    scale = None if all(part.whole for part in full) else float(n_rows / total)
    factors = class_factors(class_weight, classes, totals)
    class_rows: tuple[int, ...] = ()
    summaries: tuple[ColumnSummary, ...] = ()
    if all(part.summary is not None for part in full):
        class_rows = _class_rows(classes, full)
        summaries = merged([part.summary.columns for part in full if part.summary is not None])
    columns, identifiers = _without_identifiers(columns, n_rows, categorical_features)
    summaries = tuple(
        ColumnSummary() if column.identifier else summary
        for column, summary in zip(columns, summaries, strict=bool(summaries))
    )
    return LearnedSchema(
        columns,
        first.names,
        classes,
        factors,
        scale,
        sample,
        rows,
        sum(part.calibration for part in parts),
        class_rows,
        summaries,
        identifiers,
        _target([part.target for part in full]),
    )


def _target(parts: Sequence[TargetSummary | None]) -> TargetSummary | None:
    """The summary of a target of numbers; None for classes."""
    present = [part for part in parts if part is not None]
    return sum(present, TargetSummary()) if present else None


def _without_identifiers(
    columns: tuple[Column, ...], n_rows: int, categorical_features: Any
) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """The columns, identifiers without their categories; and the identifiers with them."""
    insisted, _ = chosen_columns(tuple(c.name for c in columns), categorical_features, None)
    identifiers = {
        at: replace(column, identifier=True)
        for at, column in enumerate(columns)
        if at not in insisted
        and is_identifier(column.kind, column.declared, column.n_categories, n_rows)
    }
    stripped = tuple(
        identifiers[at].without_values() if at in identifiers else column
        for at, column in enumerate(columns)
    )
    return stripped, tuple(identifiers.values())


def _one_column(of_parts: Sequence[tuple[int, Column]]) -> Column:
    """A column as all parts know it; a part where every value is missing knows nothing."""
    telling = [
        (number, column)
        for number, column in of_parts
        if column.kind != "nominal" or column.categories or column.declared
    ]
    missing = any(column.missing for _, column in of_parts)
    if not telling:
        return of_parts[0][1].with_missing(missing)
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
    each = [
        labels
        for part in parts
        for labels in (part.classes, part.calibration_classes)
        if len(labels)
    ]
    kinds = {"number" if labels.dtype.kind in "iuf" else labels.dtype.kind for labels in each}
    if len(kinds) > 1:
        raise ValueError(
            "Unknown label type: y must hold labels of one type in every part. Got arrays of "
            f"{', '.join(sorted({str(labels.dtype) for labels in each}))} instead. "
            "Hint: convert y with astype(str)."
        )
    return learn_classes(np.concatenate(each))[0]


def _samples(parts: Sequence[PartFacts], n_rows: int) -> tuple[NDArray[Any], ...]:
    """Values of real columns, from every part in proportion to its rows."""
    chosen = []
    for part in parts:
        share = int(np.ceil(SAMPLE_ROWS * (part.n_rows / n_rows)))
        chosen.append([values[spread(len(values), share)] for values in part.sample])
    return tuple(np.concatenate(values) for values in zip(*chosen, strict=True))


def _totals(classes: NDArray[Any], parts: Sequence[PartFacts]) -> tuple[Fraction, ...]:
    """The weight of every class."""
    totals = dict.fromkeys(classes.tolist(), Fraction(0))
    for part in parts:
        for label, total in zip(part.classes.tolist(), part.totals, strict=True):
            totals[label] += total
    return tuple(totals.values())


def _class_rows(classes: NDArray[Any], parts: Sequence[PartFacts]) -> tuple[int, ...]:
    """The rows of every class."""
    rows = dict.fromkeys(classes.tolist(), 0)
    for part in parts:
        assert part.summary is not None
        for label, count in zip(part.classes.tolist(), part.summary.class_rows, strict=True):
            rows[label] += count
    return tuple(rows.values())


# -- columns of numbers ------------------------------------------------------------------------


def nothing_but_rows(n_rows: int) -> Table:
    """A table to learn from where only labels are of interest."""
    return Table(None, (n_rows, 1), np.zeros((n_rows, 1)))


def some_numbers(
    X: Any, weight: Any, names: Sequence[str], most: int = 4096
) -> dict[str, NDArray[np.float64]]:
    """Values of some rows of real columns, without rows of weight zero."""
    if not len(X):
        return {name: np.empty(0) for name in names}
    table = read_columns(X)
    positive = np.arange(len(X)) if weight is None else np.flatnonzero(np.asarray(weight) > 0)
    rows = positive[spread(len(positive), most)]
    return {name: table.column(j).floats()[rows].astype(np.float64) for j, name in enumerate(names)}


def number_summaries(
    table: Table | None,
    weight: Any,
    names: Sequence[str],
    calibration: Tenth | None = None,
    first: int = 0,
) -> tuple[ColumnSummary, ...]:
    """The summaries of columns of numbers, without rows of weight zero and calibration rows.

    ``first`` is the number of the first row of a weight above zero.
    """
    if table is None:
        return tuple(ColumnSummary() for _ in names)
    rows = np.arange(table.shape[0])
    if weight is not None:
        rows = rows[np.asarray(weight) > 0]
    if calibration is not None:
        rows = rows[~calibration.has(first + np.arange(len(rows)))]

    def summary(j: int) -> ColumnSummary:
        numbers = table.column(j).floats()
        return ColumnSummary.of_numbers(numbers if len(rows) == len(numbers) else numbers[rows])

    return tuple(each(summary, range(len(names))))


def with_numbers(
    schema: LearnedSchema,
    names: Sequence[str],
    samples: Sequence[Mapping[str, NDArray[np.float64]]],
) -> LearnedSchema:
    """A schema of other columns, and columns of numbers that nothing must be learned of."""
    plain = samples[0].keys()
    rest = [name for name in names if name not in plain]
    values = {name: np.concatenate([some[name] for some in samples]) for name in plain}
    learned: dict[str, tuple[Column, NDArray[Any], ColumnSummary | None]] = {
        name: (Column(name), values[name], None) for name in plain
    }
    learned_columns = zip(schema.columns, schema.sample, schema.summaries, strict=True)
    learned |= dict(
        zip(rest, learned_columns, strict=False)
    )  # facts learned from labels alone are dropped
    columns, some, summaries = zip(*(learned[name] for name in names), strict=True)
    return replace(schema, columns=columns, sample=some, summaries=summaries, names=tuple(names))
