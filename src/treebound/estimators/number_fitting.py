"""Fitting regression trees on rows in memory: a table in, ``RegressionModel`` out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.validation import Setting, WordedError
from treebound.certificate.held_out import best_of_folds
from treebound.certificate.row_record import RowRecord
from treebound.data.draws import Draw, Slice, Tenth, derived, learn_without, one_of_each
from treebound.data.findings import warn_of_findings
from treebound.data.frames import read_table
from treebound.data.number_findings import warn_of_number_findings
from treebound.data.number_sample import NumberSample, number_hashes
from treebound.data.numbers import read_numbers
from treebound.data.row_hashes import RowSketch
from treebound.data.sample import LabelledRows, Sample
from treebound.data.weights import warn_of_common_factor
from treebound.estimators.estimation import with_places
from treebound.growing import grow_numbers
from treebound.model.number_evidence import NumberCalibration, NumberEvidence
from treebound.model.options import ReadingOptions
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
from treebound.pruning.number_pruner import DEFAULT_LEAF_SIZE, NumberFit, SquaredErrorPruner
from treebound.tree.leaf_values import DEFAULT_SHRINKAGE, Shrinkage, with_shrunk_values
from treebound.tree.regression import RegressionTree


def fit_numbers(
    parameters: RegressionParameters,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    groups: Any = None,
) -> RegressionModel:
    """Grow a regression tree on a table and prune it."""
    checked_parameters(parameters)
    table, numbers = read_table(X), read_numbers(y)
    # rows of one class: weights, groups and columns are read as for a classifier
    rows = LabelledRows.of(table, np.zeros(len(numbers), dtype=int), sample_weight, groups)
    given, parameters = parameters, with_places(parameters, rows)
    learned = rows.learn(**column_parameters(parameters))
    sample = NumberSample.of(learned, numbers[rows.row_numbers])
    name = y.name if hasattr(y, "name") else None
    target = name if isinstance(name, str) and name else None
    _warn(learned, sample, stacklevel=5)
    warn_of_number_findings(sample, target or "y", stacklevel=3)
    warn_of_common_factor(sample.weight, stacklevel=4)
    model = fit_number_rows(parameters, rows, sample)
    if parameters is not given:
        provenance = replace(model.provenance, parameters=parameter_values(given))
        model = replace(model, provenance=provenance)
    return replace(model, reading=replace(model.reading, target=target))


def fit_number_rows(
    parameters: RegressionParameters, rows: LabelledRows, sample: NumberSample
) -> RegressionModel:
    """Fit rows that were read, with the certificate that the parameters name."""
    if parameters.y_range is not None:
        check_in_range(sample.y, parameters.y_range)
    kind, named = certificate_kind(parameters, rows.n_units), rows.table.names is not None
    if kind is None:
        model = _recorded(fit_sample(parameters, sample), sample, named)
    else:
        model = _calibrated(parameters, rows, sample, kind)
    return replace(model, reading=replace(model.reading, named=named))


def _recorded(model: RegressionModel, sample: NumberSample, named: bool) -> RegressionModel:
    """Return the model with a record of its training rows."""
    names = [column.name for column in sample.columns] if named else None
    record = RowRecord().with_rows("training", number_hashes(sample.X, sample.y, names))
    return replace(model, provenance=replace(model.provenance, row_record=record))


def _calibrated(
    parameters: RegressionParameters, rows: LabelledRows, sample: NumberSample, kind: str
) -> RegressionModel:
    """Fit without calibration rows, or without each of several folds, and keep the best tree."""
    numbers, units, named = sample.y, rows.units, rows.table.names is not None
    m = int(units.max(initial=-1)) + 1
    if m < 2:
        unit = "rows" if rows.groups is None else "groups"
        chosen = Setting("certificate", kind)
        raise WordedError(chosen, f" needs at least 2 {unit} to calibrate on. Got {m} instead.")
    draw = Draw.start(parameters.random_state)
    draw = replace(draw, key=draw.key_of(sample.summary))
    large = is_large(rows.n_rows, rows.table.shape[1])
    selections: Sequence[Slice | Tenth]
    if kind == "folds":
        selections = draw.folds(m)
    else:
        selections = [draw.tenth() if large else draw.calibration_rows(m)]
    folds = [np.flatnonzero(selection.mask(m)) for selection in selections]
    turns = iter(selections)
    y_range = None
    if parameters.y_range is not None:
        y_range = float(parameters.y_range[0]), float(parameters.y_range[1])

    def fit(fold: NDArray[np.intp]) -> tuple[RegressionModel, int]:
        selection, inside = next(turns), np.isin(units, fold)
        training, held_out, _ = learn_without(
            rows, inside, parameters.handle_unknown, **column_parameters(parameters)
        )
        outside = NumberSample.of(training, numbers[~inside])
        model = _recorded(fit_sample(parameters, outside), outside, named)
        X, y = held_out.X, numbers[inside]
        table = rows.table.rows(inside)
        record = model.provenance.row_record
        assert record is not None
        hashes = number_hashes(table, y, [c.name for c in training.columns] if named else None)
        if rows.groups is not None:
            chosen = one_of_each(units[inside], selections[0].key)
            X, y = X.part(chosen), y[chosen]
        tolerance = parameters.tolerance
        if tolerance is None:
            tolerance = default_tolerance(model.tree)
        calibration = NumberCalibration(
            y,
            model.grown.apply(X.without_identifiers()),
            tolerance,
            y_range,
            len(folds),
            rows.groups is not None,
        )
        provenance = replace(
            model.provenance,
            row_record=record.with_rows("calibration", hashes),
            draw=replace(model.provenance.draw or draw, key=draw.key, calibration=selection),
        )
        evidence = replace(model.evidence, calibration=calibration)
        model = replace(model, evidence=evidence, provenance=provenance)
        assert model.certificate is not None
        return model, model.certificate.exceeded

    fitted: RegressionModel = best_of_folds(fit, folds, parameters.delta).fitted
    return fitted


def _warn(rows: Sample, sample: NumberSample, *, stacklevel: int) -> None:
    """Warn of what is suspicious about the columns, and of rows that occur several times."""
    sketch = RowSketch.of(number_hashes(sample.X, sample.y, None))
    distinct, codes = np.unique(sample.y, return_inverse=True)
    if 10 * len(distinct) <= sample.n_rows:  # a column may determine so few numbers
        rows = replace(rows, y=codes.astype(np.int32), classes=distinct)
    warn_of_findings(rows, sketch, stacklevel=stacklevel)


def fit_sample(parameters: RegressionParameters, sample: NumberSample) -> RegressionModel:
    """Grow a regression tree on a sample and prune it."""
    pruner, options = checked_parameters(parameters)
    sample = sample.without_identifiers()
    clip = None
    if parameters.clip is not None:
        low, high = np.quantile(sample.y, parameters.clip)
        clip = float(low), float(high)

    def grow(rows: NumberSample, min_samples_leaf: int) -> RegressionTree:
        # losses are measured on the numbers as they are
        rows = rows if clip is None else rows.clipped(*clip)
        if parameters.min_samples_leaf == "auto" and rows.weight is not None:
            # a row of weight two counts as two rows
            return grow_numbers(rows.X, rows.target, options, min_weight=float(min_samples_leaf))
        limited = replace(options, min_samples_leaf=min_samples_leaf)
        return grow_numbers(rows.X, rows.target, limited)

    draw = Draw.start(parameters.random_state)
    if pruner is None:
        model = _unpruned(parameters, grow(sample, _leaf_size(parameters)))
        options = replace(options, min_samples_leaf=_leaf_size(parameters))
    else:
        draw, fit = _pruned(parameters, pruner, sample, grow, draw)
        choice = fit.result.choice
        assert choice is not None
        options = replace(options, min_samples_leaf=choice.min_samples_leaf)
        evidence = NumberEvidence.of_fit(fit, parameters.delta)
        model = RegressionModel(fit.result.tree, pruning=fit.result, evidence=evidence)
    if parameters.y_range is not None:
        model = _within(model, parameters.y_range)
    return replace(
        model,
        options=options,
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
    evidence = NumberEvidence(parameters.delta)
    return RegressionModel(with_shrunk_values(tree, shrinkage), evidence=evidence)


def _pruned(
    parameters: RegressionParameters,
    pruner: SquaredErrorPruner,
    sample: NumberSample,
    grow: Any,
    draw: Draw,
) -> tuple[Draw, NumberFit]:
    """Return the fit by folds, or on a tenth of the rows of a large table."""
    validation = None
    if is_large(sample.n_rows, len(sample.columns)) and isinstance(pruner.folds, int):
        draw = replace(draw, key=draw.key_of(sample.summary))
        assert draw.key is not None
        selection = Tenth(derived(draw.key, "validation", parameters.random_state))
        draw = replace(draw, validation=selection)
        sample, validation = sample.split(selection)
    fit = pruner.fit(
        sample,
        grow,
        leaf_sizes(parameters),
        max_leaves=max_leaves(parameters),
        validation=validation,
    )
    return draw, fit
