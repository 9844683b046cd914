"""Fitting on rows in memory: a table or a sample in, ``Model`` out."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils._pool import Threads
from treebound._utils.choices import CertificateKind
from treebound._utils.jobs import effective_jobs
from treebound._utils.progress import Report
from treebound._utils.validation import Setting, WordedError, as_clause, invalid
from treebound.certificate import Frontier
from treebound.certificate.certificate import DEPENDENT_ROWS, NONE_OF_GROUPS
from treebound.certificate.held_out import HeldOut, best_of_folds
from treebound.certificate.prior import Prior, PriorOptions, search_trees
from treebound.certificate.row_record import RowRecord
from treebound.data import Sample
from treebound.data.draws import Draw, Slice, Tenth, folds, learn_without, one_of_each
from treebound.data.findings import warn_of_findings
from treebound.data.sample import LabelledRows, RawRows
from treebound.data.weights import is_whole, warn_of_common_factor
from treebound.estimators.estimation import (
    prediction_of,
    shares_folds,
    with_estimate,
    with_places,
    with_validation_estimate,
    without_estimate,
)
from treebound.estimators.progress import UNWATCHED, Watch
from treebound.growing import GrowOptions, grow, grow_on_engine, make_bins
from treebound.growing.engine import LocalEngine
from treebound.growing.graph import search
from treebound.model import Model
from treebound.model.model import row_counts, with_probable_labels, with_smoothing
from treebound.model.options import PredictionOptions, ReadingOptions
from treebound.model.parameters import (
    FitParameters,
    certificate_kind,
    check_fold_count,
    checked_parameters,
    column_parameters,
    leaf_limit,
    parameter_values,
    with_search,
)
from treebound.model.provenance import Provenance
from treebound.pruning import BoundPruner, Pruner, PruningResult
from treebound.pruning.base import BasePruner, PruningRows
from treebound.pruning.bound import is_large
from treebound.tree.model import Tree
from treebound.tree.node_sums import NodeSums

_IN_MEMORY = "'greedy' for more than 10^7 values, or rows that are not in memory"


def fit_table(parameters: FitParameters, given: RawRows, watch: Watch = UNWATCHED) -> Model:
    """Grow a tree on a table and prune it."""
    check_watch(parameters, watch)
    checked_parameters(parameters)
    with Threads(effective_jobs(parameters.n_jobs)):
        rows = LabelledRows.of(*given)
        rows.check_classes()
        placed = with_places(parameters, rows)
        model = fit_rows(placed, rows, rows.learn(**column_parameters(parameters)), watch)
        if placed is not parameters:
            provenance = replace(model.provenance, parameters=parameter_values(parameters))
            model = replace(model, provenance=provenance)
        return replace(model, reading=replace(model.reading, target=given.target))


def check_watch(parameters: FitParameters, watch: Watch) -> None:
    """Raise a ValueError for a checkpoint that would not be written."""
    if parameters.certificate == "prior" and watch.checkpoint is not None:
        must = "None with certificate='prior', which searches trees and grows none in rounds"
        raise invalid("checkpoint", "fit", must, watch.checkpoint)


def fit_rows(
    parameters: FitParameters, rows: LabelledRows, sample: Sample, watch: Watch = UNWATCHED
) -> Model:
    """Grow a tree on labelled rows and prune it; ``sample`` is what was learned from all of them.

    Its summary is the key to draw rows with. What the tree knows of columns is learned again
    without the calibration rows.
    """
    if rows.groups is not None and parameters.certificate == "prior":
        must = "'held-out', 'folds' or 'training' with groups"
        raise invalid(
            "certificate", "BoundTreeClassifier", must, "prior", as_clause(DEPENDENT_ROWS)
        )
    check_fold_count(parameters.cv, "BoundTreeClassifier", rows)
    named, draw = rows.table.names is not None, Draw.start(parameters.random_state)
    kind = certificate_kind(parameters, rows.n_units)
    warn_of_common_factor(rows.weight, stacklevel=5)
    if kind in ("held-out", "folds"):
        draw = draw.keyed(sample)
        del sample  # its values are of no more use
        model = _fit_calibrated(parameters, kind, rows, draw, watch)
    else:
        record = RowRecord.of(sample, named)
        warn_of_findings(sample, record.sketches["training"], stacklevel=5)
        model = fit_sample(parameters, sample, draw=draw, rows=record, watch=watch)
    groups = 0 if rows.groups is None else rows.n_units
    return replace(
        model,
        reading=replace(model.reading, named=named),
        provenance=replace(model.provenance, groups=groups),
    )


def _fit_calibrated(
    parameters: FitParameters, kind: CertificateKind, rows: LabelledRows, draw: Draw, watch: Watch
) -> Model:
    """Fit without calibration rows, or without each of several folds, and keep the best tree."""
    units, m, in_folds = rows.units, rows.n_units, kind == "folds"
    if m < 2:
        unit = "rows" if rows.groups is None else "groups"
        chosen = Setting("certificate", kind)
        raise WordedError(chosen, f" needs at least 2 {unit} to calibrate on. Got {m} instead.")
    selections: Sequence[Slice | Tenth]
    if in_folds:
        selections = draw.folds(m)
    else:  # large tables by the rule of those that are not in memory
        large = is_large(rows.n_rows, rows.table.shape[1]) and rows.groups is None
        selections = [draw.tenth() if large else draw.calibration_rows(m)]
    folds = [np.flatnonzero(selection.mask(m)) for selection in selections]
    turns = iter(range(1, len(folds) + 1))

    def fit(fold: NDArray[np.intp]) -> tuple[Model, int]:
        at, inside = next(turns), np.isin(units, fold)
        sample, calibration, hashes = learn_without(
            rows, inside, parameters.handle_unknown, **column_parameters(parameters)
        )
        if rows.groups is not None:
            calibration = calibration.part(one_of_each(units[inside], selections[0].key))
        record = RowRecord.of(sample, rows.table.names is not None).with_rows("calibration", hashes)
        if at == 1:
            warn_of_findings(sample, record.sketches["training"], stacklevel=9)
        model = fit_sample(
            parameters,
            sample,
            calibration,
            n_rows=rows.n_rows,
            draw=replace(draw, calibration=selections[at - 1]),
            rows=record,
            watch=watch.of_fold(at, len(folds)),
        )
        assert model.evidence.calibration is not None
        return model, model.evidence.calibration.errors

    model: Model = best_of_folds(fit, folds).fitted
    counts = model.evidence.calibration
    assert counts is not None
    counts = replace(counts, folds=len(folds), grouped=rows.groups is not None)
    return replace(model, evidence=replace(model.evidence, calibration=counts))


def fit_sample(
    parameters: FitParameters,
    sample: Sample,
    calibration: Sample | None = None,
    *,
    n_rows: int | None = None,
    draw: Draw | None = None,
    rows: RowRecord | None = None,
    watch: Watch = UNWATCHED,
) -> Model:
    """Grow a tree on a sample and prune it; count the calibration rows, which choose nothing.

    Validation rows are drawn from the sample if the pruner takes any of a table of ``n_rows``.
    """
    draw = Draw.start(parameters.random_state) if draw is None else draw
    table = sample.without_identifiers()
    n_rows = table.n_rows if n_rows is None else n_rows
    given, parameters = parameters, with_search(parameters, n_rows, len(sample.columns))
    if parameters.search == "wide" and is_large(n_rows, len(sample.columns)):
        raise invalid("search", "", _IN_MEMORY, parameters.search)
    model, sample, draw = _fit_tree(parameters, table, n_rows, draw, watch)
    if model.evidence.estimate is None:
        model = _cross_validated(parameters, model, table, n_rows, watch)
    counts = None
    if calibration is not None:
        counted = calibration.without_identifiers()
        counts = HeldOut.of(counted, model.tree, *model.counted_trees)
    return replace(
        model,
        evidence=replace(
            model.evidence,
            calibration=counts,
            row_counts=row_counts(sample, *model.counted_trees),
            no_certificate=str(NONE_OF_GROUPS) if sample.groups is not None else "",
        ),
        provenance=replace(
            model.provenance, parameters=parameter_values(given), row_record=rows, draw=draw
        ),
    )


def _fit_tree(
    parameters: FitParameters, sample: Sample, n_rows: int, draw: Draw, watch: Watch = UNWATCHED
) -> tuple[Model, Sample, Draw]:
    """Fit a model on a sample; return also the rows that it was grown on, and the draw."""
    pruner, options = checked_parameters(parameters)
    if parameters.certificate == "prior":
        costs = pruner.costs if isinstance(pruner, BoundPruner) else None
        draw = draw.keyed(sample)
        return _by_prior(parameters, sample, draw, options, costs, watch), sample, draw
    validation, n_columns = None, len(sample.columns)
    if isinstance(pruner, BasePruner) and pruner.takes_validation_rows(n_rows, n_columns):
        draw = draw.keyed(sample) if draw.key is None else draw
        assert draw.key is not None
        selection = pruner.select_validation(draw.key)
        draw = replace(draw, validation=selection)
        sample, validation = selection.split(sample)
    grown = _grown(sample, options, watch)
    model = pruned(parameters, grown, pruner, options, sample, validation, progress=watch.progress)
    return model, sample, draw


def _cross_validated(
    parameters: FitParameters, model: Model, sample: Sample, n_rows: int, watch: Watch
) -> Model:
    """Return the model with the estimate of its error, by fitting again without each fold."""
    if parameters.cv is None:
        return without_estimate(model, "it was fitted without folds")
    if is_large(n_rows, len(sample.columns)):
        return without_estimate(model, "a table of more than 10^7 values is not fitted again")
    without_folds = copy(parameters).set_params(cv=None)
    start = Draw.start(parameters.random_state)
    parts = list(folds(sample, parameters.cv, parameters.random_state))
    predictions = []
    for at, (outside, inside) in enumerate(parts, start=1):
        watched = Watch(watch.progress).of_fold(at, len(parts))
        fitted = _fit_tree(without_folds, outside, outside.n_rows, start, watched)[0]
        predictions.append(prediction_of(fitted, inside))
    return with_estimate(model, predictions, len(predictions))


def _grown(sample: Sample, options: GrowOptions, watch: Watch) -> Tree:
    """The tree of a sample; in rounds if there is a checkpoint."""
    if watch.checkpoint is None:
        return grow(sample, options, progress=watch.progress)
    bins = make_bins(sample.columns, sample.X.values)
    threads = effective_jobs(options.n_jobs)
    return grow_on_engine(
        LocalEngine([sample], bins, sample.n_classes, n_threads=threads),
        sample.columns,
        sample.classes,
        options,
        factors=sample.factors,
        whole=is_whole(sample.weight),
        **watch._asdict(),
    )


def _by_prior(
    parameters: FitParameters,
    sample: Sample,
    draw: Draw,
    options: GrowOptions,
    costs: Any,
    watch: Watch,
) -> Model:
    """Search for a tree with a small certified error, from a prior by a fifth of the rows."""
    limits = PriorOptions.of(options.thresholds, options.max_depth)
    prior = Prior(sample, draw, limits, costs=costs)
    trees = search_trees(prior, seed=draw.salt, progress=watch.report_search())
    max_leaves = leaf_limit(parameters)
    if max_leaves is not None:
        trees = [tree for tree in trees if tree.leaves <= max_leaves]
    frontier = Frontier.of(trees)
    chosen = frontier[frontier.chosen]
    model = _model(parameters, chosen.tree, options)
    evidence = replace(model.evidence, proof=chosen.proof, frontier=frontier)
    return replace(model, evidence=evidence)


def pruned(
    parameters: FitParameters,
    grown: Tree,
    pruner: Pruner | None,
    options: GrowOptions,
    sample: Sample | None = None,
    validation: Sample | NodeSums | None = None,
    *,
    progress: Report | None = None,
) -> Model:
    """The model of a grown tree, pruned; a wide search and the trees of folds report progress."""
    model = _model(parameters, grown, options)
    if pruner is None:
        return model
    if parameters.smoothing != "shrinkage":
        pruner = with_smoothing(pruner, parameters.smoothing)
    # trees on folds share the threads of the folds: no more run than there are jobs
    options = replace(options, n_jobs=effective_jobs(options.n_jobs))
    again = None if sample is None else partial(grow, options=options)
    wide, folds_grown = None, None
    if parameters.search == "wide":
        if sample is None or validation is not None:
            raise invalid("search", "", _IN_MEMORY, parameters.search)
        wide = partial(search, options=options, progress=progress)
    max_leaves = leaf_limit(parameters)
    if not isinstance(pruner, BoundPruner):
        result = pruner.prune(grown, sample, validation=validation, grow=again)
        return _with_result(model, result, pruner, max_leaves)
    if isinstance(validation, Sample) and is_whole(validation.weight):
        validation = NodeSums.of(grown, validation)  # enough for the weight and the estimate
    if shares_folds(parameters, pruner) and sample is not None and again and validation is None:
        k = None if pruner.selects_weight else parameters.cv
        folds_grown = pruner.grow_folds(grown, sample, again, search=wide, k=k, progress=progress)
    result = pruner.prune_on(grown, PruningRows(sample, validation, again, wide, folds_grown))
    model = _with_result(model, result, pruner, max_leaves)
    if folds_grown is not None:
        predictions = pruner.predictions(folds_grown, max_leaves)
        return with_estimate(model, predictions, len(folds_grown))
    if validation is not None and parameters.cv is not None:
        return with_validation_estimate(model, validation)
    return model


def _with_result(
    model: Model, result: PruningResult, pruner: Pruner, max_leaves: int | None
) -> Model:
    """Return the model with the pruned tree, of at most so many leaves."""
    if max_leaves is not None:
        result = result.within(max_leaves)
    result, strength = with_probable_labels(result, pruner)
    model = replace(model, tree=result.tree, pruning=result)
    if strength is None:
        return model
    return replace(model, prediction=PredictionOptions(strength, free_shrinkage=True))


def _model(parameters: FitParameters, tree: Tree, options: GrowOptions) -> Model:
    return Model(
        tree,
        options=options,
        reading=ReadingOptions(parameters.handle_unknown),
        prediction=PredictionOptions(parameters.smoothing),
        provenance=Provenance(parameter_values(parameters)),
    )
