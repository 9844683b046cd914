"""Fitting regression trees on rows in memory: a table in, ``RegressionModel`` out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from treebound.data.draws import Draw, Tenth, derived
from treebound.data.findings import warn_of_findings
from treebound.data.frames import read_table
from treebound.data.number_findings import warn_of_number_findings
from treebound.data.number_sample import NumberSample
from treebound.data.numbers import read_numbers
from treebound.data.row_hashes import RowSketch, row_hashes
from treebound.data.sample import LabelledRows, Sample
from treebound.data.weights import warn_of_common_factor
from treebound.growing import grow_numbers
from treebound.model.number_estimate import NumberEstimate, scaled_residuals
from treebound.model.options import ReadingOptions
from treebound.model.provenance import Provenance
from treebound.model.regression import NumberSizeEstimate, RegressionModel
from treebound.model.regression_parameters import (
    RegressionParameters,
    checked_parameters,
    column_parameters,
    leaf_sizes,
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
    learned = rows.learn(**column_parameters(parameters))
    sample = NumberSample.of(learned, numbers[rows.row_numbers])
    name = y.name if hasattr(y, "name") else None
    target = name if isinstance(name, str) and name else None
    _warn(learned, sample, stacklevel=5)
    warn_of_number_findings(sample, target or "y", stacklevel=3)
    warn_of_common_factor(sample.weight, stacklevel=4)
    model = fit_sample(parameters, sample)
    reading = replace(model.reading, named=table.names is not None, target=target)
    return replace(model, reading=reading)


def _warn(rows: Sample, sample: NumberSample, *, stacklevel: int) -> None:
    """Warn of what is suspicious about the columns, and of rows that occur several times."""
    sketch = RowSketch.of(row_hashes(rows.X, rows.classes, rows.y, names=None))
    # rows are copies only if their numbers are equal too
    distinct, codes = np.unique(sample.y, return_inverse=True)
    numbered = replace(rows, y=codes.astype(np.int32), classes=distinct)
    warn_of_findings(numbered, sketch, stacklevel=stacklevel)


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
        model = of_fit(fit)
    return replace(
        model,
        options=options,
        reading=ReadingOptions(parameters.handle_unknown),
        provenance=Provenance(parameter_values(parameters), draw=draw),
        clip=clip,
    )


def _leaf_size(parameters: RegressionParameters) -> int:
    size = parameters.min_samples_leaf
    return DEFAULT_LEAF_SIZE if size == "auto" else int(size)


def _unpruned(parameters: RegressionParameters, tree: RegressionTree) -> RegressionModel:
    smoothing = parameters.smoothing
    shrinkage = DEFAULT_SHRINKAGE if smoothing == "auto" else Shrinkage.of(smoothing)
    return RegressionModel(with_shrunk_values(tree, shrinkage))


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
        max_leaves=parameters.max_leaves,
        validation=validation,
    )
    return draw, fit


def of_fit(fit: NumberFit) -> RegressionModel:
    """Return the model of a pruned tree, with the estimates of its validation rows."""
    model = RegressionModel(fit.result.tree, pruning=fit.result)
    choice = fit.result.choice
    if fit.validated is None or choice is None:
        return model
    return replace(
        model,
        estimate=NumberEstimate.of(fit.validated, choice.reason),
        sizes=tuple(NumberSizeEstimate(leaves, float(np.sqrt(loss))) for leaves, loss in fit.sizes),
        residuals=scaled_residuals(fit.validated),
    )
