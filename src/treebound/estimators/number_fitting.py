"""Fitting regression trees on rows in memory: a table in, ``RegressionModel`` out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from treebound._utils._pool import Threads
from treebound._utils.jobs import effective_jobs
from treebound._utils.validation import Setting, WordedError
from treebound.certificate.held_out import best_of_folds
from treebound.certificate.row_record import RowRecord
from treebound.data.draws import Draw, Slice, Tenth, derived, learn_without, one_of_each
from treebound.data.findings import warn_of_findings
from treebound.data.frames import read_table
from treebound.data.number_findings import warn_of_number_findings
from treebound.data.number_sample import NumberSample, WeightedNumbers, number_hashes
from treebound.data.numbers import check_spread, read_numbers
from treebound.data.row_hashes import RowSketch
from treebound.data.sample import LabelledRows, RawRows, Sample
from treebound.data.summaries import TableSummary
from treebound.data.weights import warn_of_common_factor
from treebound.estimators.estimation import with_places
from treebound.growing import GrowOptions, grow_numbers
from treebound.model.number_evidence import NumberCalibration, NumberEvidence
from treebound.model.options import ReadingOptions
from treebound.model.parameters import check_fold_count
from treebound.model.provenance import Provenance
from treebound.model.regression import (
    RegressionModel,
    check_in_range,
    default_tolerance,
)
from treebound.model.regression_parameters import (
    RegressionParameters,
    certificate_kind,
    checked_parameters,
    column_parameters,
    leaf_sizes,
    max_leaves,
    parameter_values,
)
from treebound.pruning.bound import is_large
from treebound.pruning.number_pruner import DEFAULT_LEAF_SIZE, SquaredErrorPruner, TrainingRows
from treebound.tree.leaf_values import DEFAULT_SHRINKAGE, Shrinkage, with_shrunk_values
from treebound.tree.regression import RegressionTree


def fit_numbers(parameters: RegressionParameters, given: RawRows) -> RegressionModel:
    """Grow a regression tree on a table and prune it."""
    checked_parameters(parameters)
    with Threads(effective_jobs(parameters.n_jobs)):
        table, numbers = read_table(given.table), read_numbers(given.y)
        # rows of one class: weights, groups and columns are read as for a classifier
        one_class = np.zeros(len(numbers), dtype=int)
        rows = LabelledRows.of(table, one_class, given.weight, given.groups)
        placed = with_places(parameters, rows)
        learned = rows.learn(**column_parameters(placed))
        sample = NumberSample.of(learned, numbers[rows.row_numbers])
        hashes = number_hashes(sample.X, sample.y, _names(sample, rows.table.names is not None))
        _warn(learned, sample, hashes, stacklevel=5)
        warn_of_number_findings(sample, given.target or "y", stacklevel=3)
        warn_of_common_factor(sample.weight, stacklevel=4)
        model = fit_number_rows(placed, rows, sample, hashes)
        if placed is not parameters:
            provenance = replace(model.provenance, parameters=parameter_values(parameters))
            model = replace(model, provenance=provenance)
        return replace(model, reading=replace(model.reading, target=given.target))


def fit_number_rows(
    parameters: RegressionParameters,
    rows: LabelledRows,
    sample: NumberSample,
    hashes: NDArray[np.uint64] | None = None,
) -> RegressionModel:
    """Fit rows that were read, with the certificate that the parameters name.

    ``hashes`` are those of the rows, if they are known.
    """
    check_fold_count(parameters.cv, "BoundTreeRegressor", rows)
    if sample.n_rows:
        check_spread(float(sample.y.min()), float(sample.y.max()))
    if parameters.y_range is not None:
        check_in_range(sample.y, parameters.y_range)
    kind, named = certificate_kind(parameters, rows.n_units), rows.table.names is not None
    if kind is None:
        model = _recorded(fit_sample(parameters, sample), sample, named, hashes)
    else:
        model = _calibrated(parameters, rows, sample, kind)
    groups = 0 if rows.groups is None else rows.n_units
    return replace(
        model,
        reading=replace(model.reading, named=named),
        provenance=replace(model.provenance, groups=groups),
    )


def _names(sample: NumberSample, named: bool) -> list[str] | None:
    """Return the names of the columns that the hash of a row is of."""
    return [column.name for column in sample.columns] if named else None


def _recorded(
    model: RegressionModel,
    sample: NumberSample,
    named: bool,
    hashes: NDArray[np.uint64] | None = None,
) -> RegressionModel:
    """Return the model with a record of its training rows."""
    if hashes is None:
        hashes = number_hashes(sample.X, sample.y, _names(sample, named))
    record = RowRecord().with_rows("training", hashes)
    return replace(model, provenance=replace(model.provenance, row_record=record))


def _calibrated(
    parameters: RegressionParameters, rows: LabelledRows, sample: NumberSample, kind: str
) -> RegressionModel:
    """Fit without calibration rows, or without each of several folds, and keep the best tree."""
    numbers, units, named = sample.y, rows.units, rows.table.names is not None
    m = int(units.max(initial=-1)) + 1
    check_calibration(kind, m, "rows" if rows.groups is None else "groups")
    draw = Draw.start(parameters.random_state)
    draw = replace(draw, key=draw.key_of(sample.summary))
    large = is_large(rows.n_rows, rows.table.shape[1]) and rows.groups is None
    selections: Sequence[Slice | Tenth]
    if kind == "folds":
        selections = draw.folds(m)
    else:
        selections = [draw.tenth() if large else draw.calibration_rows(m)]
    folds = [np.flatnonzero(selection.mask(m)) for selection in selections]
    turns = iter(selections)

    def fit(fold: NDArray[np.intp]) -> tuple[RegressionModel, int]:
        selection, inside = next(turns), np.isin(units, fold)
        training, calibration, _ = learn_without(
            rows, inside, parameters.handle_unknown, **column_parameters(parameters)
        )
        outside = NumberSample.of(training, numbers[~inside])
        model = _recorded(fit_sample(parameters, outside), outside, named)
        X, y = calibration.X, numbers[inside]
        table = rows.table.rows(inside)
        record = model.provenance.row_record
        assert record is not None
        hashes = number_hashes(table, y, _names(outside, named))
        if rows.groups is not None:
            chosen = one_of_each(units[inside], selections[0].key)
            X, y = X.part(chosen), y[chosen]
        provenance = replace(model.provenance, row_record=record.with_rows("calibration", hashes))
        model = with_calibration(
            parameters,
            replace(model, provenance=provenance),
            replace(draw, calibration=selection),
            y,
            model.grown.apply(X.without_identifiers()),
            folds=len(folds),
            grouped=rows.groups is not None,
        )
        assert model.certificate is not None
        return model, model.certificate.exceeded

    fitted: RegressionModel = best_of_folds(fit, folds).fitted
    return fitted


def check_calibration(kind: str, m: int, unit: str = "rows") -> None:
    """Raise a ValueError if there are too few rows, or groups, for a certificate."""
    if m < 2:
        chosen = Setting("certificate", kind)
        raise WordedError(chosen, f" needs at least 2 {unit} to calibrate on. Got {m} instead.")


def with_calibration(
    parameters: RegressionParameters,
    model: RegressionModel,
    draw: Draw,
    y: NDArray[np.float64],
    nodes: NDArray[np.int32],
    *,
    folds: int = 1,
    grouped: bool = False,
) -> RegressionModel:
    """Return the model with calibration rows, of which these are the numbers and nodes."""
    tolerance, y_range = parameters.tolerance, None
    if tolerance is None:
        tolerance = default_tolerance(model.tree)
    if parameters.y_range is not None:
        y_range = float(parameters.y_range[0]), float(parameters.y_range[1])
    calibration = NumberCalibration(y, nodes, tolerance, y_range, folds, grouped)
    earlier = model.provenance.draw or draw
    drawn = replace(earlier, key=draw.key, calibration=draw.calibration)
    return replace(
        model,
        evidence=replace(model.evidence, calibration=calibration),
        provenance=replace(model.provenance, draw=drawn),
    )


def with_calibration_rows(
    parameters: RegressionParameters,
    model: RegressionModel,
    draw: Draw,
    rows: WeightedNumbers,
) -> RegressionModel:
    """Return the model with calibration rows that may be elsewhere, one row of each group."""
    y, nodes, grouped = rows.y, rows.nodes_of(model.grown), rows.groups is not None
    if rows.groups is not None:
        assert draw.calibration is not None
        chosen = one_of_each(rows.groups, draw.calibration.key)
        y, nodes = y[chosen], nodes[chosen]
    return with_calibration(parameters, model, draw, y, nodes, grouped=grouped)


def _warn(
    rows: Sample, sample: NumberSample, hashes: NDArray[np.uint64], *, stacklevel: int
) -> None:
    """Warn of what is suspicious about the columns, and of rows that occur several times."""
    distinct = sample.distinct
    if 10 * len(distinct) <= sample.n_rows:  # a column may determine so few numbers
        codes = np.searchsorted(distinct, sample.y).astype(np.int32)
        rows = replace(rows, y=codes, classes=distinct)
    warn_of_findings(rows, RowSketch.of(hashes), sample.y, stacklevel=stacklevel)


def fit_sample(parameters: RegressionParameters, sample: NumberSample) -> RegressionModel:
    """Grow a regression tree on a sample and prune it."""
    pruner, _ = checked_parameters(parameters)
    sample = sample.without_identifiers()
    clip = clip_range(parameters, sample.y)

    def grow(rows: NumberSample, options: GrowOptions, min_weight: float) -> RegressionTree:
        rows = rows if clip is None else rows.clipped(*clip)
        return grow_numbers(rows.X, rows.target, options, min_weight=min_weight)

    draw, validation = Draw.start(parameters.random_state), None
    if takes_validation_rows(pruner, sample.n_rows, len(sample.columns)):
        draw, selection = draw_validation(parameters, draw, sample.summary)
        sample, validation = sample.split(selection)
    return fit_training_rows(parameters, sample, grow, draw, validation, clip)


def clip_range(
    parameters: RegressionParameters, y: NDArray[np.float64]
) -> tuple[float, float] | None:
    """Return the range into which the numbers of the training rows are moved."""
    if parameters.clip is None:
        return None
    low, high = np.quantile(y, parameters.clip)
    return float(low), float(high)


def takes_validation_rows(pruner: SquaredErrorPruner | None, rows: int, columns: int) -> bool:
    """Return True if a tenth of the rows of a large table chooses the size of the tree."""
    return pruner is not None and is_large(rows, columns) and isinstance(pruner.folds, int)


def draw_validation(
    parameters: RegressionParameters, draw: Draw, summary: TableSummary
) -> tuple[Draw, Tenth]:
    """Draw the validation rows of a large table, by its summary."""
    key = draw.key_of(summary)
    selection = Tenth(derived(key, "validation", parameters.random_state))
    return replace(draw, key=key, validation=selection), selection


class GrowRows(Protocol):
    """Grows a regression tree on some rows, wherever they are."""

    def __call__(self, rows: Any, options: GrowOptions, min_weight: float) -> RegressionTree:
        """Grow a tree whose leaves have at least so much weight."""
        ...


class WeightedRows(TrainingRows, Protocol):
    """Rows to grow on, wherever they are."""

    @property
    def is_weighted(self) -> bool:
        """Return True if some row has another weight than 1."""
        ...


def fit_training_rows(
    parameters: RegressionParameters,
    rows: WeightedRows,
    grow_rows: GrowRows,
    draw: Draw,
    validation: WeightedNumbers | None,
    clip: tuple[float, float] | None = None,
) -> RegressionModel:
    """Grow a regression tree on training rows, wherever they are, and prune it.

    Rows of ``clip`` were moved into this range.
    """
    pruner, options = checked_parameters(parameters)
    if pruner is not None and validation is None and not isinstance(rows, NumberSample):
        pruner = replace(pruner, folds=None)  # rows that are elsewhere are not grown on again

    def grow(sample: WeightedRows, min_samples_leaf: int) -> RegressionTree:
        if parameters.min_samples_leaf == "auto" and sample.is_weighted:
            # a row of weight two counts as two rows
            return grow_rows(sample, options, float(min_samples_leaf))
        return grow_rows(sample, replace(options, min_samples_leaf=min_samples_leaf), 0.0)

    if pruner is None:
        leaf_size = _leaf_size(parameters)
        model = _unpruned(parameters, grow(rows, leaf_size))
    else:
        fit = pruner.fit(
            rows,
            grow,
            leaf_sizes(parameters),
            max_leaves=max_leaves(parameters),
            validation=validation,
            clip=clip,
        )
        choice = fit.result.choice
        assert choice is not None
        leaf_size = choice.min_samples_leaf
        evidence = NumberEvidence.of_fit(fit)
        model = RegressionModel(fit.result.tree, pruning=fit.result, evidence=evidence)
    if parameters.y_range is not None:
        model = _within(model, parameters.y_range)
    return replace(
        model,
        options=replace(options, min_samples_leaf=leaf_size),
        reading=ReadingOptions(parameters.handle_unknown),
        provenance=Provenance(parameter_values(parameters), draw=draw),
        clip=clip,
    )


def _within(model: RegressionModel, y_range: tuple[float, float]) -> RegressionModel:
    """Return the model with predictions inside the range of the target."""
    if model.pruning is None:
        return replace(model, tree=model.tree.with_values(np.clip(model.tree.value, *y_range)))
    path = model.pruning.path
    path = path.with_first(path.first.with_values(np.clip(path.first.value, *y_range)))
    return replace(model, tree=path.tree(), pruning=replace(model.pruning, path=path))


def _leaf_size(parameters: RegressionParameters) -> int:
    size = parameters.min_samples_leaf
    return DEFAULT_LEAF_SIZE if size == "auto" else int(size)


def _unpruned(parameters: RegressionParameters, tree: RegressionTree) -> RegressionModel:
    smoothing = parameters.smoothing
    shrinkage = DEFAULT_SHRINKAGE if smoothing == "auto" else Shrinkage.of(smoothing)
    return RegressionModel(with_shrunk_values(tree, shrinkage))
