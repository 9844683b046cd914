"""Fitting on rows in memory: a table or a sample in, ``Model`` out."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound._utils.jobs import effective_jobs
from treebound._utils.validation import invalid
from treebound.certificate import Frontier
from treebound.certificate.held_out import HeldOut, best_of_folds, draw_apart, learn_apart
from treebound.certificate.prior import Prior, PriorOptions, search_trees
from treebound.certificate.row_record import RowRecord
from treebound.data import Sample
from treebound.data.findings import warn_of_findings
from treebound.data.folds import LeftOut, folds
from treebound.data.frames import Table, read_table
from treebound.data.sample import group_codes
from treebound.data.weights import is_whole, row_weights, warn_of_common_factor
from treebound.estimators.progress import Watch
from treebound.growing import GrowOptions, grow, grow_on_engine, make_bins
from treebound.growing.engine import LocalEngine
from treebound.model import Model
from treebound.model.model import row_counts, with_probable_answers, with_smoothing
from treebound.model.parameters import FitParameters
from treebound.pruning import BoundPruner, Pruner
from treebound.pruning.base import BasePruner
from treebound.pruning.bound import is_large
from treebound.tree.model import Tree
from treebound.tree.node_sums import NodeSums

UNWATCHED = Watch()
_GROUPED = (
    "Rows of one group are not independent, and certificates count independent rows. Hint: "
    "certificate='held-out' holds out groups and counts one row of each."
)


def fit_table(
    parameters: FitParameters,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    groups: Any = None,
    watch: Watch = UNWATCHED,
) -> Model:
    """Grow a tree on a table and prune it."""
    if groups is not None and parameters.certificate == "prior":
        must = "'held-out', 'folds' or 'training' with groups"
        raise invalid("certificate", "BoundTreeClassifier", must, parameters.certificate, _GROUPED)
    checked = parameters.checked()
    table = read_table(X)
    name = y.name if hasattr(y, "name") else None
    target = name if isinstance(name, str) and name else None
    named = table.names is not None
    if parameters.certificate in ("held-out", "folds"):
        model = _fit_apart(parameters, table, y, sample_weight, groups)
    else:
        sample = Sample.learn(table, y, sample_weight, groups=groups, **parameters.of_columns())
        rows = RowRecord.of(sample, named)
        warn_of_findings(sample, rows.sketches["training"], stacklevel=4)
        model = fit_sample(parameters, sample, checked=checked, rows=rows, watch=watch)
    return replace(model, target=target, named=named)


def _fit_apart(
    parameters: FitParameters, table: Table, y: Any, sample_weight: Any, groups: Any
) -> Model:
    """Fit without one fold, or without each of several, and keep the tree of the least limit."""
    n_rows, named, seed = table.shape[0], table.names is not None, parameters.random_state
    weight, members = row_weights(sample_weight, n_rows), group_codes(groups, n_rows)
    rows = np.arange(n_rows) if weight is None else np.flatnonzero(weight)
    place = np.arange(len(rows))  # of the row, or of its group, among those that are independent
    if members is not None:
        place = np.unique(members[rows], return_inverse=True)[1]
    m = int(place.max(initial=-1)) + 1
    if m < 2:
        what = "rows" if members is None else "groups"
        raise ValueError(
            f"certificate={parameters.certificate!r} needs at least 2 {what} to set some aside. "
            f"Got {m} instead."
        )
    in_folds = parameters.certificate == "folds"
    drawn = draw_apart(m, seed, in_folds=in_folds)
    folds = [np.flatnonzero(np.isin(place, fold)) for fold in drawn]
    size = len(rows), table.shape[1]
    large = is_large(*size) and not in_folds
    if large:  # by the rule of tables that are not in memory
        folds = [np.flatnonzero(LeftOut.draw(seed).has(place))]
    chooses = large and chooses_on_aside(parameters, size)
    learn = partial(Sample.learn, **parameters.of_columns())

    def fit(fold: NDArray[np.intp]) -> tuple[Model, int]:
        sample, aside, hashes = learn_apart(
            learn, table, y, sample_weight, fold, parameters.handle_unknown, members
        )
        validation = aside if chooses else None
        if members is not None:  # what is counted must be independent
            aside = aside.part(_one_of_each(place[fold], seed))
        record = RowRecord.of(sample, named).with_rows("calibration", hashes)
        if fold is folds[0]:
            warn_of_findings(sample, record.sketches["training"], stacklevel=7)
        model = fit_sample(parameters, sample, aside, validation, rows=record)
        assert model.held_out is not None
        return model, model.held_out.errors

    model: Model = best_of_folds(fit, folds, parameters.delta).fitted
    assert model.held_out is not None
    held_out = replace(model.held_out, folds=len(folds), grouped=members is not None)
    return replace(model, held_out=held_out)


def chooses_on_aside(parameters: FitParameters, size: tuple[int, int]) -> bool:
    """Whether rows that are held out of a large table choose the weight of the pruner too."""
    pruner, _ = parameters.checked()
    return isinstance(pruner, BasePruner) and pruner.leaves_out(*size) is not None


def _one_of_each(groups: NDArray[np.intp], seed: int | None) -> NDArray[np.intp]:
    """The place of one row of each group, drawn by number."""
    order = np.random.default_rng(seed).permutation(len(groups))
    return np.sort(order[np.unique(groups[order], return_index=True)[1]])


def fit_sample(
    parameters: FitParameters,
    sample: Sample,
    aside: Sample | None = None,
    validation: Sample | None = None,
    *,
    checked: tuple[Pruner | None, GrowOptions] | None = None,
    rows: RowRecord | None = None,
    watch: Watch = UNWATCHED,
) -> Model:
    """Grow a tree on a sample and prune it; rows set aside are counted."""
    pruner, options = checked or parameters.checked()
    sample = sample.without_identifiers()
    aside, validation = (
        None if rows is None else rows.without_identifiers() for rows in (aside, validation)
    )
    warn_of_common_factor(sample.weight, stacklevel=5)
    if parameters.certificate == "prior":
        costs = pruner.costs if isinstance(pruner, BoundPruner) else None
        model = _by_prior(parameters, sample, options, costs)
    else:
        chosen_on = validation
        if chosen_on is None and isinstance(pruner, BasePruner):
            sample, chosen_on = pruner.hold_out(sample)
        grown = _grown(sample, options, watch)
        model = pruned(parameters, grown, pruner, options, sample, chosen_on)
    if aside is not None:
        counts = HeldOut.of(aside, model.tree, model.grown)
        model = replace(model, held_out=tested_aside(counts, model, validation is not None))
    return replace(
        model,
        rows=rows,
        row_counts=row_counts(model.grown, sample),
        no_certificate=_GROUPED if sample.groups is not None else "",
    )


def tested_aside(held_out: HeldOut, model: Model, chose: bool) -> HeldOut:
    """The counts of rows set aside, which may have chosen the model."""
    choice = None if model.pruning is None else model.pruning.choice
    if not chose or choice is None or choice.rule is None:
        return held_out
    return replace(held_out, choices=len(choice.weights), labellings=choice.labellings)


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


def _by_prior(parameters: FitParameters, sample: Sample, options: GrowOptions, costs: Any) -> Model:
    """Search for a tree with a small limit from a prior that a fifth of the rows defines."""
    seed = parameters.random_state
    limits = PriorOptions.of(options.thresholds, options.max_depth)
    prior = Prior(sample, seed, limits, costs=costs)
    trees = search_trees(prior, parameters.delta, seed=seed or 0)
    if parameters.max_leaves is not None:
        trees = [tree for tree in trees if tree.leaves <= parameters.max_leaves]
    frontier = Frontier.of(trees, parameters.target_risk)
    chosen = frontier[frontier.chosen]
    return replace(_model(parameters, chosen.tree, options), proof=chosen.proof, frontier=frontier)


def pruned(
    parameters: FitParameters,
    grown: Tree,
    pruner: Pruner | None,
    options: GrowOptions,
    sample: Sample | None = None,
    validation: Sample | NodeSums | None = None,
) -> Model:
    """The model of a grown tree, pruned."""
    model = _model(parameters, grown, options)
    if pruner is None:
        return model
    if parameters.smoothing != "shrinkage":
        pruner = with_smoothing(pruner, parameters.smoothing)
    again = None if sample is None else partial(grow, options=_beside(pruner, options))
    result = pruner.prune(grown, sample, validation=validation, grow=again)
    if parameters.max_leaves is not None:
        result = result.within(parameters.max_leaves)
    result, strength = with_probable_answers(result, pruner)
    model = replace(model, tree=result.tree, pruning=result)
    if strength is None:
        return model
    return replace(model, smoothing=strength, free_shrinkage=True)


def _model(parameters: FitParameters, tree: Tree, options: GrowOptions) -> Model:
    return Model(
        tree,
        options=options,
        handle_unknown=parameters.handle_unknown,
        smoothing=parameters.smoothing,
        delta=parameters.delta,
        parameters=parameters.values(),
    )


def _beside(pruner: Pruner, options: GrowOptions) -> GrowOptions:
    """The options of growing in folds: one thread where the folds have threads themselves."""
    in_threads = isinstance(pruner, BoundPruner) and effective_jobs(pruner.n_jobs) > 1
    return replace(options, n_jobs=1 if in_threads else effective_jobs(options.n_jobs))


class Fold(NamedTuple):
    """Results of a tree on a validation fold."""

    rows: int
    errors: int
    leaves: int
    truth: NDArray[np.int32]
    shares: NDArray[np.float64]


def cross_validated(parameters: FitParameters, sample: Sample, k: int) -> list[Fold]:
    """Cross-validate with k folds."""
    results = []
    for outside, inside in folds(sample, k, parameters.random_state):
        model = fit_sample(parameters, outside)
        nodes = model.apply(inside.X)
        wrong = int((model.tree.label[nodes] != inside.y).sum())
        shares = model.node_probabilities[nodes]
        results.append(Fold(inside.n_rows, wrong, model.tree.n_leaves, inside.y, shares))
    return results
