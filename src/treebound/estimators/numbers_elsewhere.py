"""Fitting regression trees on rows that are not in memory: streams and partitions of Dask.

A table of at most 10^7 values is read into memory, as its rows are needed again for the folds. Of a
larger one a tenth chooses the size of the tree, in memory as here: the rows are read, drawn and
coded in parts, and the tree, its path and its estimates are those of the same rows in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from treebound._utils._pool import Threads
from treebound._utils.arrays import Ints
from treebound._utils.jobs import effective_jobs
from treebound._utils.validation import invalid
from treebound.data.columns import Column
from treebound.data.draws import Draw, RowsOfGroups, Slice, Tenth, unknown_in_calibration
from treebound.data.findings import warn_of_identifiers
from treebound.data.learned import LearnedSchema
from treebound.data.number_findings import warn_of_constant
from treebound.data.number_sample import NumberSample
from treebound.data.numbers import check_spread
from treebound.data.parts import NumberReader, as_table, join_parts
from treebound.data.roles import ColumnRoles
from treebound.data.sample import RawRows
from treebound.data.streams import is_on_dask, open_stream
from treebound.data.summaries import TableSummary
from treebound.estimators.number_fitting import (
    check_calibration,
    draw_validation,
    fit_numbers,
    fit_training_rows,
    takes_validation_rows,
    with_calibration_rows,
)
from treebound.estimators.parted_table import (
    PartedTable,
    RecordedStream,
    check_number_of_groups,
)
from treebound.estimators.progress import UNWATCHED, Watch
from treebound.growing import GrowOptions, grow_numbers_on_engine, make_bins
from treebound.growing._bins import Bins
from treebound.growing._layout import FINE_BINS
from treebound.growing.engine import Engine, LocalEngine
from treebound.model.regression import RegressionModel, check_in_range
from treebound.model.regression_parameters import (
    RegressionParameters,
    certificate_kind,
    checked_parameters,
    column_parameters,
)
from treebound.pruning.bound import MAX_VALUES, is_large
from treebound.pruning.number_pruner import SquaredErrorPruner
from treebound.tree.regression import RegressionTree


def fit_numbers_elsewhere(
    parameters: RegressionParameters,
    X: Any,
    roles: ColumnRoles,
    watch: Watch = UNWATCHED,
) -> RegressionModel:
    """Fit on a table that is read in batches, or on its cluster."""
    checked_parameters(parameters)
    if is_on_dask(X):
        from treebound.engines.dask.table import DaskTable

        with DaskTable(X, roles, numeric=True) as on_dask:
            return _fit_parts(parameters, on_dask)
    batches = open_stream(X)
    assert batches is not None
    table = RecordedStream(batches, roles, watch, numeric=True)
    with Threads(effective_jobs(parameters.n_jobs)):
        model = _fit_parts(parameters, table)
    provenance = model.provenance
    if provenance.row_record is not None:  # of a small table, read into memory
        return model
    return replace(model, provenance=replace(provenance, row_record=table.record))


def _fit_parts(parameters: RegressionParameters, table: PartedTable) -> RegressionModel:
    """Fit on rows in parts, by the method that the same table has in memory."""
    pruner, _ = checked_parameters(parameters)
    learn = partial(table.learn, **column_parameters(parameters))
    schema, groups = learn(), table.groups()
    size = schema.n_rows, len(schema.columns)
    check_number_of_groups(groups, schema.n_rows)
    if not is_large(*size):
        return _fit_joined(parameters, schema, table, groups)
    n_groups = 0 if groups is None else int(groups.max()) + 1
    kind = certificate_kind(parameters, n_groups or schema.n_rows)
    _check_large_table(parameters, schema, kind, table.target or "y")
    start = Draw.start(parameters.random_state)
    calibrated, draw, calibration, validation = start, start, None, None
    if kind == "held-out":
        check_calibration("held-out", n_groups or schema.n_rows, "groups" if n_groups else "rows")
        calibrated = start.keyed(table.summary(schema))
        part = calibrated.calibration_rows(n_groups) if n_groups else calibrated.tenth()
        calibrated, calibration = replace(calibrated, calibration=part), _rows_of(part, groups)
        all_rows, schema = schema, learn(calibration=calibration)
        if pruner is not None and not is_large(schema.n_rows, size[1]):  # for its folds
            return _fit_joined(parameters, all_rows, table, groups)
    columns, training_groups = schema.columns, _groups_of(groups, calibration, inside=False)
    if takes_validation_rows(pruner, schema.n_rows, size[1]):
        summary = table.summary(schema, calibration)
        draw, part = draw_validation(parameters, start, summary)
        validation = _rows_of(part, training_groups)
        columns = with_missing(columns, summary)
    unknown = unknown_in_calibration(parameters.handle_unknown)
    clip = None
    if parameters.clip is not None:
        ends = table.quantiles(parameters.clip, schema.n_rows, calibration)
        clip = None if ends is None else (ends[0], ends[1])
    engine = table.engine(
        NumberReader(schema, calibration, validation, unknown, clip),
        make_bins(schema.columns, schema.sample),
        n_threads=effective_jobs(parameters.n_jobs),
        gather_rows=Engine.gather_rows,
    )
    validation_groups = _groups_of(training_groups, validation)
    model = _fit_engine(parameters, engine, columns, schema, draw, clip, validation_groups)
    if calibration is not None:
        rows = engine.drawn_numbers("calibration")
        rows = rows.with_groups(_groups_of(groups, calibration))
        model = with_calibration_rows(parameters, model, calibrated, rows)
    model = replace(model, provenance=replace(model.provenance, groups=n_groups))
    reading = replace(model.reading, target=table.target, named=schema.names is not None)
    return replace(model, reading=reading)


def _check_large_table(
    parameters: RegressionParameters, schema: LearnedSchema, kind: str | None, target: str
) -> None:
    """Raise an error for parameters and numbers that are refused; warn of suspicious columns."""
    pruner, _ = checked_parameters(parameters)
    why = f"for a table of more than {MAX_VALUES:,} values that is not in memory"
    refuse_what_needs_a_table(pruner, kind, why)
    _check_range(parameters, schema)
    warn_of_identifiers(schema.identifiers, schema.n_rows, stacklevel=6)
    if schema.target is not None:
        values = schema.target.values
        warn_of_constant(values.low, values.high, schema.n_rows, target, stacklevel=5)


def refuse_what_needs_a_table(
    pruner: SquaredErrorPruner | None, kind: str | None, why: str
) -> None:
    """Raise a ValueError for parameters that need the rows of a table in memory."""
    if kind == "folds":
        hint = "'held-out' has nearly the bound of 'folds' with so many rows."
        raise invalid("certificate", "", f"'auto', 'held-out' or None {why}", kind, hint)
    if pruner is not None and not isinstance(pruner.folds, int | None):
        hint = "a number: a tenth of the rows then chooses the size."
        raise invalid("cv", "", f"a number of folds or None {why}", pruner.folds, hint)


def _rows_of(selection: Slice | Tenth, groups: Ints | None) -> Tenth:
    """Return the selection of rows that a selection of groups stands for."""
    if groups is not None:
        return RowsOfGroups.of(selection, groups)
    assert isinstance(selection, Tenth)
    return selection


def _groups_of(groups: Ints | None, selection: Tenth | None, *, inside: bool = True) -> Ints | None:
    """Return the groups of the rows inside or outside a selection; all if nothing is selected."""
    if groups is None or selection is None:
        return groups
    part: Ints = groups[selection.mask(len(groups)) == inside]
    return part


def _check_range(parameters: RegressionParameters, schema: LearnedSchema) -> None:
    """Raise a ValueError if numbers differ too little, or one is outside a declared range."""
    if schema.target is None:
        return
    values = schema.target.values
    check_spread(values.low, values.high)
    if parameters.y_range is not None:
        check_in_range(np.array([values.low, values.high]), parameters.y_range)


def with_missing(columns: tuple[Column, ...], summary: TableSummary) -> tuple[Column, ...]:
    """Return the columns; those that are missing in training or validation rows state it."""
    return tuple(
        column.with_missing(column.missing or values.missing > 0)
        for column, values in zip(columns, summary.columns, strict=False)
    )


def _fit_joined(
    parameters: RegressionParameters,
    schema: LearnedSchema,
    table: PartedTable,
    groups: Ints | None = None,
) -> RegressionModel:
    """Fit on rows in parts that are read into memory."""
    plain = replace(schema, scale=None).with_identifiers()  # weights as they were given
    sample = join_parts(list(table.rows(NumberReader(plain)))).training
    rows = RawRows(as_table(sample, schema), sample.y, sample.weight, groups)
    model = fit_numbers(parameters, rows)
    return replace(model, reading=replace(model.reading, target=table.target))


@dataclass(frozen=True)
class EngineRows:
    """The training rows of an engine."""

    engine: Engine

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.engine.facts.total.total)

    @property
    def is_constant(self) -> bool:
        """Return True if all numbers are equal."""
        numbers = self.engine.facts.numbers
        assert numbers is not None
        return numbers.least == numbers.greatest

    @property
    def is_weighted(self) -> bool:
        """Return True if some row has another weight than 1."""
        return not self.engine.facts.total.ones


def _fit_engine(
    parameters: RegressionParameters,
    engine: Engine,
    columns: tuple[Column, ...],
    schema: LearnedSchema,
    draw: Draw,
    clip: tuple[float, float] | None,
    groups: Ints | None = None,
) -> RegressionModel:
    """Grow on the rows of an engine; its validation rows, of these groups, choose the size.

    Training rows that are not here were moved into the range ``clip``.
    """
    validation = None
    if draw.validation is not None:
        validation = engine.drawn_numbers("validation").with_groups(groups)
    sample, grown_on = engine.sample, engine
    if parameters.clip is not None and isinstance(sample, NumberSample):
        numbers = [sample.y] if validation is None else [sample.y, validation.y]
        low, high = np.quantile(np.concatenate(numbers), parameters.clip).tolist()
        clip = low, high
        grown_on = LocalEngine([sample.clipped(low, high)], engine.bins, engine.n_channels)

    def finer() -> Bins:
        return make_bins(schema.columns, schema.sample, FINE_BINS)

    def grow(rows: Any, options: GrowOptions, min_weight: float) -> RegressionTree:
        return grow_numbers_on_engine(
            grown_on, columns, options, min_weight=min_weight, finer=finer
        )

    rows = sample if isinstance(sample, NumberSample) else EngineRows(engine)
    return fit_training_rows(parameters, rows, grow, draw, validation, clip)
