"""Targets of numbers: regression trees for ``treebound fit`` and ``treebound check``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from math import isfinite, sqrt
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from treebound._utils.quantities import quantity
from treebound.cli.options import quoted
from treebound.data.files import RawTable, Source
from treebound.data.number_findings import number_findings
from treebound.data.number_sample import NumberSample
from treebound.data.roles import ColumnRoles
from treebound.data.sample import LabelledRows
from treebound.data.schema import Schema
from treebound.data.streams import Batch
from treebound.data.targets import Labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treebound.data.check import TableReport
    from treebound.data.findings import Finding
    from treebound.data.frames import Table
    from treebound.estimators.progress import Watch
    from treebound.model import RegressionModel
    from treebound.model.regression_parameters import RegressionParameters

Task = Literal["classify", "regress"]
AS_CLASSES = "Hint: --task classify makes classes of the numbers."
# A target with more distinct numbers, and more than the square root of the rows, is no class.
_MAX_CLASSES = 100
_MANY_ROWS = 10**9  # more numbers than the root of these are no classes of any table


def is_number_target(table: RawTable, labels: Labels, task: Task | None) -> bool:
    """Return True if a regression tree is to be fitted: by ``--task``, or by the target's values.

    Those are numbers of which one has a fraction, or more than 100 and more than the square root
    of the number of rows.
    """
    if task is not None or table.schema.classes is not None or table.schema.text_labels:
        return task == "regress"
    values = _numbers(labels, table.schema)
    return values is not None and _is_quantity(_has_fraction(values), len(values), len(labels))


def _has_fraction(values: list[float]) -> bool:
    return any(value % 1 for value in values)


def _is_quantity(fraction: bool, n_values: int, n_rows: int) -> bool:
    return fraction or n_values > max(_MAX_CLASSES, sqrt(n_rows))


def is_number_relation(relation: Any, schema: Schema, task: Task | None) -> bool:
    """Return True if a regression tree is to be fitted to a DuckDB relation, by the same rule."""
    if task is not None or schema.classes is not None or schema.text_labels:
        return task == "regress"
    import narwhals as nw

    dtype = nw.from_native(relation).collect_schema()[str(schema.target)]
    if not dtype.is_numeric():
        return False
    name = quoted(str(schema.target))
    [(n_rows, n_values, fractions)] = relation.aggregate(
        f"COUNT(*), COUNT(DISTINCT {name}), COUNT(*) FILTER ({name} <> FLOOR({name}))"
    ).fetchall()
    return _is_quantity(fractions > 0, n_values, n_rows)


class NumericLabels(Exception):
    """The target of a table that is read in batches is numbers and not classes."""


class LabelSource(Source):
    """A table that is read in batches, with a target of classes unless its values are numbers.

    The first reading raises :class:`NumericLabels` by the rule of :func:`is_number_target`, at the
    first number with a fraction or when the distinct numbers are known. Otherwise it calls
    ``on_classes``.
    """

    def __init__(self, paths: list[str], schema: Schema, on_classes: Callable[[], None]) -> None:
        super().__init__(paths, schema)
        self._on_classes, self._settled = on_classes, False
        if schema.classes is not None or schema.text_labels:
            self._settle()

    def read(self, columns: list[str] | None = None) -> Generator[RawTable]:
        values, n_rows = set[float](), 0
        for batch in super().read(columns):
            labels = None if self._settled or not len(batch) else batch.labels()
            if labels is not None:
                numbers = _numbers(labels, batch.schema)
                if numbers is None:
                    self._settle()
                else:
                    values.update(numbers)
                    n_rows += len(batch)
                    if _is_quantity(_has_fraction(numbers), len(values), _MANY_ROWS):
                        raise NumericLabels
            yield batch
        if not self._settled:
            if _is_quantity(False, len(values), n_rows):
                raise NumericLabels
            self._settle()

    def _settle(self) -> None:
        self._settled = True
        self._on_classes()


class NumberSource(Source):
    """A table that is read in batches, with a target of numbers."""

    def __init__(self, paths: list[str], schema: Schema) -> None:
        super().__init__(paths, schema, numeric=True)

    def split(
        self, batch: RawTable, columns: list[str], target: str | None, weight: str | None
    ) -> Batch:
        X, labels, weights = super().split(batch, columns, target, weight)
        return X, None if labels is None else numbers_of(labels, batch.schema), weights


def _numbers(labels: Labels, schema: Schema) -> list[float] | None:
    """Return the distinct labels as numbers; None if one is no number, or infinite."""
    values = [_number(value, schema.layout.decimal) for value in labels.distinct.tolist()]
    numbers = [value for value in values if value is not None]
    return numbers if len(numbers) == len(values) else None


def numbers_of(labels: Labels, schema: Schema) -> NDArray[np.float64]:
    """Return the number of each row; texts have the decimal mark of the schema."""
    values = _numbers(labels, schema)
    if values is None:
        decimal = schema.layout.decimal
        text = next(value for value in labels.distinct.tolist() if _number(value, decimal) is None)
        raise ValueError(
            f"The target column {labels.name!r} holds {text!r}, which is no number. "
            "Hint: --task regress needs numbers; leave it out to predict classes."
        )
    numbers: NDArray[np.float64] = np.array(values)[labels.codes]
    return numbers


def _number(value: Any, decimal: str) -> float | None:
    """Return a label as a number; None if it is no number, or infinite."""
    with suppress(TypeError, ValueError):
        number = float(value.replace(decimal, ".") if isinstance(value, str) else value)
        return number if isfinite(number) and not isinstance(value, bool) else None
    return None


def described(name: str, y: NDArray[np.float64]) -> str:
    """Return the target in words."""
    return (
        f"target {name!r} with {len(np.unique(y)):,} numbers from {quantity(y.min())} "
        f"to {quantity(y.max())}: a regression tree"
    )


def read_number_sample(
    table: Table,
    y: NDArray[np.float64],
    weights: NDArray[Any] | None,
    columns: Mapping[str, Any],
    groups: NDArray[Any] | None = None,
) -> tuple[LabelledRows, NumberSample, list[Finding]]:
    """Return the rows, the same with their numbers, and what is suspicious about columns."""
    from treebound.data.findings import findings

    rows = LabelledRows.of(table, np.zeros(len(y), dtype=int), weights, groups)
    learned = rows.learn(**columns)
    sample = NumberSample.of(learned, y[rows.row_numbers])
    return rows, sample, findings(learned, numbers=sample.y)


def check_numbers(
    table: RawTable, y: NDArray[np.float64], columns: Mapping[str, Any], lost: Sequence[Finding]
) -> TableReport:
    """Return the report of ``check`` for a target of numbers."""
    from treebound.data.check import check_sample

    target = str(table.schema.target)
    learned = LabelledRows.of(table.table(), np.zeros(len(y), dtype=int), None).learn(**columns)
    of_target = target_findings(NumberSample.of(learned, y), target)
    return replace(check_sample(learned, None, (*lost, *of_target), y), target=target)


def target_row(target: str, y: NDArray[np.float64]) -> tuple[str, ...]:
    """Return the target as a row of the table of ``check``."""
    return (
        target,
        "target",
        f"{len(np.unique(y)):,}",
        "",
        f"{quantity(y.min())} to {quantity(y.max())}",
    )


def fit_read_numbers(
    parameters: RegressionParameters, rows: LabelledRows, sample: NumberSample, target: str
) -> RegressionModel:
    """Fit a regression tree to rows in memory."""
    from treebound.estimators.number_fitting import fit_number_rows

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is suspicious was printed before
        model = fit_number_rows(parameters, rows, sample)
    return replace(model, reading=replace(model.reading, target=target))


def fit_number_stream(
    parameters: RegressionParameters, source: NumberSource, watch: Watch
) -> RegressionModel:
    """Fit a regression tree to rows that are read in batches."""
    from treebound.estimators.numbers_elsewhere import fit_numbers_elsewhere

    return fit_numbers_elsewhere(parameters, source, ColumnRoles(source.declared.target), watch)


def fit_number_table(
    parameters: RegressionParameters, relation: Any, roles: ColumnRoles
) -> RegressionModel:
    """Fit a regression tree to a table of a database."""
    from treebound.estimators.numbers_in_database import fit_number_relation

    return fit_number_relation(parameters, relation, roles)


def target_findings(sample: NumberSample, target: str) -> list[Finding]:
    """Return what is suspicious about the numbers, with remedies of the command line."""
    named = {
        "if they are classes, use BoundTreeClassifier": "if they are classes, use --task classify",
        "check them, or learn without them: clip=(0.01, 0.99)": "check these rows",
    }
    return [
        replace(finding, remedy=named.get(finding.remedy, finding.remedy))
        for finding in number_findings(sample, target)
    ]


def summary_values(model: RegressionModel) -> dict[str, Any]:
    """Return the summary of a regression tree as plain values."""
    tree, estimate, certificate = model.tree, model.estimate, model.certificate
    return {
        "task": "regress",
        "target": model.reading.target,
        "rows": int(tree.rows[0]),
        "leaves": tree.n_leaves,
        "depth": tree.depth,
        "estimate": None if estimate is None else asdict(estimate),
        "no_estimate": model.no_estimate,
        "certificate": None if certificate is None else asdict(certificate),
        "no_certificate": model.certificate_reason,
        "sizes": [asdict(size) for size in model.evidence.sizes],
    }
