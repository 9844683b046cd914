"""Fitting: rows in, ``Model`` out; the one place that makes the fitted state."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial, reduce
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound._jobs import effective_jobs
from treebound._validation import invalid
from treebound.certificate import (
    Frontier,
    HeldOut,
    Prior,
    PriorOptions,
    RowRecord,
    best_of_folds,
    default_folds,
    draw_folds,
    draw_tenth,
    learn_apart,
    search_trees,
)
from treebound.data import Sample
from treebound.data.findings import warn_of_findings
from treebound.data.folds import LeftOut, folds
from treebound.data.frames import Table, read_table
from treebound.data.parts import Schema, join_samples
from treebound.data.row_hashes import RowSketch, row_hashes
from treebound.data.sample import group_codes
from treebound.data.streams import Batches, TableStream, in_database, open_stream
from treebound.data.weights import is_whole, row_weights, warn_of_common_factor
from treebound.growing import GrowOptions, Limits, Progress, grow, grow_on_engine, make_bins
from treebound.growing._bins import Bins
from treebound.growing.checkpoint import check_checkpoint
from treebound.growing.engine import Engine, LocalEngine, stream_engine
from treebound.growing.grow import FINE_BINS
from treebound.growing.progress import Watch
from treebound.model import Model, row_counts
from treebound.parameters import FitParameters
from treebound.pruning import PRUNERS, BoundPruner, Pruner, PruningResult, make_pruner
from treebound.pruning.base import BasePruner
from treebound.pruning.bound import is_large
from treebound.tree.model import Tree
from treebound.tree.node_sums import NodeSums

__all__ = [
    "MOST_GROWN_LEAVES",
    "Fold",
    "cross_validated",
    "fit_engine",
    "fit_relation",
    "fit_sample",
    "fit_stream",
    "fit_table",
    "fit_parts",
    "refuse_what_needs_a_table",
]

# Without another limit: labels that are noise would be grown to a leaf for nearly every row.
MOST_GROWN_LEAVES = 1 << 16
_GROUPED = (
    "Rows of one group are not independent, and certificates count independent rows. Hint: "
    "certify='held-out' holds out groups and counts one row of each."
)


# -- rows in memory --------------------------------------------------------------------------------


def fit_table(
    parameters: FitParameters,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    groups: Any = None,
    columns: Any = None,
    watch: Watch | None = None,
) -> Model:
    """Grow a tree on a table and prune it; a dataset or lazy frame is read in batches."""
    watch = watch or Watch()
    batches = open_stream(X)
    stored = batches is None and in_database(X)
    if groups is not None:
        refuse_groups(parameters, in_memory=batches is None and not stored)
    if stored:
        return fit_relation(parameters, X, y, sample_weight, columns=columns, watch=watch)
    if batches is not None:
        return fit_stream(
            parameters,
            batches,
            y,
            sample_weight,
            columns=columns,
            progress=watch.progress,
            checkpoint=watch.checkpoint,
        )
    if columns is not None:
        hint = "choose them before: X[columns]."
        raise invalid("columns", "fit", "None for a table in memory", columns, hint)
    parameters.checked()
    table = read_table(X)
    learn = partial(
        Sample.learn,
        class_weight=parameters.class_weight,
        categorical_features=parameters.categorical_features,
        ordinal_features=parameters.ordinal_features,
    )
    name = getattr(y, "name", None)
    target = name if isinstance(name, str) and name else None
    named = table.names is not None
    if parameters.certify in ("held-out", "folds"):
        return _fit_apart(parameters, learn, table, y, sample_weight, groups, target)
    sample = learn(table, y, sample_weight, groups=groups)
    warn_of_findings(sample, stacklevel=4)
    rows = RowRecord.of(sample, named)
    return fit_sample(parameters, sample, target=target, named=named, rows=rows, watch=watch)


def _fit_apart(
    parameters: FitParameters,
    learn: Callable[..., Sample],
    table: Table,
    y: Any,
    sample_weight: Any,
    groups: Any,
    target: str | None,
) -> Model:
    """Fit without one fold, or without each of several, and keep the tree of the least limit."""
    n_rows, named = table.shape[0], table.names is not None
    weight, members = row_weights(sample_weight, n_rows), group_codes(groups, n_rows)
    m = n_rows if weight is None else int(np.count_nonzero(weight))
    if members is not None:
        held = members if weight is None else members[weight > 0]
        group = np.unique(held, return_inverse=True)[1]
        m = int(group.max()) + 1
    if m < 2:
        what = "rows" if members is None else "groups"
        raise ValueError(
            f"certify={parameters.certify!r} needs at least 2 {what} to set some aside. "
            f"Got {m} instead."
        )
    seed = parameters.random_state
    several = parameters.certify == "folds"
    folds = draw_folds(m, default_folds(m), seed) if several else draw_tenth(m, seed)
    if members is not None:
        folds = [np.flatnonzero(np.isin(group, fold)) for fold in folds]
    pruner, rows = parameters.checked()[0], np.arange(n_rows)
    rows, chooses = rows if weight is None else rows[weight > 0], None
    if isinstance(pruner, BasePruner) and not several:
        chooses = pruner.leaves_out(len(rows), table.shape[1])
    if chooses is not None:  # the rows that choose the weight of a large table certify it too
        folds = [np.flatnonzero(chooses.has(rows if members is None else group))]

    def fit(fold: NDArray[np.intp]) -> tuple[Model, int]:
        sample, aside, hashes = learn_apart(
            learn, table, y, sample_weight, fold, parameters.unknown, members
        )
        validation = None if chooses is None else aside
        if members is not None:  # what is counted must be independent
            aside = aside.part(_one_of_each(group[fold], seed))
        if fold is folds[0]:
            warn_of_findings(sample, stacklevel=7)
        record = RowRecord.of(sample, named).with_rows("held-out", hashes)
        model = fit_sample(
            parameters, sample, aside, validation, target=target, named=named, rows=record
        )
        assert model.held_out is not None
        return model, model.held_out.errors

    model = best_of_folds(fit, folds, parameters.delta).fitted
    assert model.held_out is not None
    return replace(model, held_out=replace(model.held_out, folds=len(folds)))


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
    target: str | None = None,
    named: bool = True,
    rows: RowRecord | None = None,
    watch: Watch | None = None,
) -> Model:
    """Grow a tree on a sample and prune it; rows set aside are counted."""
    pruner, options = parameters.checked()
    warn_of_common_factor(sample.weight, stacklevel=5)
    if parameters.certify == "prior":
        costs = pruner.costs if isinstance(pruner, BoundPruner) else None
        model = _by_prior(parameters, sample, options, costs)
    else:
        chosen_on = validation
        if chosen_on is None and isinstance(pruner, BasePruner):
            sample, chosen_on = pruner.hold_out(sample)
        grown = _grown(sample, options, watch or Watch())
        model = _pruned(parameters, grown, pruner, options, sample, chosen_on)
    return replace(
        model,
        target=target,
        named=named,
        held_out=None if aside is None else _held_out(aside, model, validation is not None),
        rows=rows,
        row_counts=row_counts(model.grown, sample),
        no_certificate=_GROUPED if sample.groups is not None else "",
    )


def _held_out(aside: Sample, model: Model, chose: bool) -> HeldOut:
    """The rows set aside at the nodes of the model, which they may have chosen."""
    held_out = HeldOut.of(aside, model.tree, model.grown)
    choice = None if model.pruning is None else model.pruning.choice
    if not chose or choice is None or choice.rule is None:
        return held_out
    # no other tree may be certified by rows that had a part in this one
    return replace(held_out, choices=len(choice.weights), shown_before=True)


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
        progress=watch.progress,
        checkpoint=watch.checkpoint,
    )


def _by_prior(parameters: FitParameters, sample: Sample, options: GrowOptions, costs: Any) -> Model:
    """Search for a tree with a small limit from a prior that a fifth of the rows defines."""
    seed = parameters.random_state
    limits = PriorOptions.of(options.thresholds, options.max_depth)
    prior = Prior(sample, seed, limits, costs=costs)
    trees = search_trees(prior, parameters.delta, seed=seed or 0)
    if parameters.max_leaves is not None:
        trees = [one for one in trees if one.leaves <= parameters.max_leaves]
    frontier = Frontier.of(trees, parameters.target_risk)
    chosen = frontier[frontier.chosen]
    return replace(
        _model(parameters, chosen.tree, None, options), proof=chosen.proof, frontier=frontier
    )


def _pruned(
    parameters: FitParameters,
    grown: Tree,
    pruner: Pruner | None,
    options: GrowOptions,
    sample: Sample | None = None,
    validation: Sample | NodeSums | None = None,
) -> Model:
    """The model of a grown tree, pruned."""
    tree, result = grown, None
    if pruner is not None:
        again = None if sample is None else partial(grow, options=_beside(pruner, options))
        result = pruner.prune(grown, sample, validation=validation, grow=again)
        if parameters.max_leaves is not None:
            result = result.within(parameters.max_leaves)
        tree = result.tree
    return _model(parameters, tree, result, options)


def _model(
    parameters: FitParameters, tree: Tree, result: PruningResult | None, options: GrowOptions
) -> Model:
    return Model(
        tree,
        pruning=result,
        options=options,
        unknown=parameters.unknown,
        smoothing=parameters.smoothing,
        delta=parameters.delta,
        parameters=parameters.values(),
    )


def _beside(pruner: Pruner, options: GrowOptions) -> GrowOptions:
    """The options of growing in folds: one thread where the folds have threads themselves."""
    in_threads = isinstance(pruner, BoundPruner) and effective_jobs(pruner.n_jobs) > 1
    return replace(options, n_jobs=1 if in_threads else effective_jobs(options.n_jobs))


def refuse_groups(parameters: FitParameters, *, in_memory: bool) -> None:
    """Raise a ValueError where groups cannot be kept together."""
    if not in_memory:
        raise ValueError("The 'groups' parameter must be None for rows that are not in memory.")
    if parameters.certify == "prior":
        must = "'held-out', 'folds' or 'training' with groups"
        raise invalid("certify", "BoundTreeClassifier", must, parameters.certify, _GROUPED)


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


# -- rows that are not in memory at once -----------------------------------------------------------


def refuse_what_needs_rows(parameters: FitParameters, pruner: Pruner | None) -> None:
    """Raise a ValueError for parameters that need the rows again, in a table of many values."""
    if getattr(pruner, "needs_rows", False):
        able = [name for name in PRUNERS if not getattr(make_pruner(name), "needs_rows", False)]
        raise ValueError(
            f"The pruner {pruner!r} looks at the rows again, and they are not in memory. "
            f"Hint: these need only the counts in the tree: {', '.join(map(repr, able))}, None; "
            "others too where the constant they would look for is given."
        )


def refuse_what_needs_a_table(parameters: FitParameters) -> None:
    """Raise a ValueError for parameters that need a table in memory before anything is read."""
    if parameters.certify != "training":
        raise ValueError(
            "The 'certify' parameter must be 'training' for rows that are not in memory. Got "
            f"{parameters.certify!r} instead. Hint: certify the fitted classifier with other rows."
        )


def fit_stream(
    parameters: FitParameters,
    batches: Batches,
    y: Any,
    sample_weight: Any = None,
    *,
    columns: Any = None,
    progress: Callable[[Progress], None] | None = None,
    limits: Limits | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Model:
    """Fit on a table that is read batch by batch; y and sample_weight name columns.

    ``progress`` is called after every batch and every pass of growing. Growing goes on from a
    checkpoint that exists.
    """
    parameters.checked()
    refuse_what_needs_a_table(parameters)
    check_checkpoint(checkpoint)
    phase = ["learning"]

    def read(rows: int) -> None:
        if progress is not None:
            progress(Progress.of_reading(phase[0], rows))

    stream = TableStream(batches, y, sample_weight, columns=columns, tell=read)
    schema = stream.learn(
        categorical_features=parameters.categorical_features,
        ordinal_features=parameters.ordinal_features,
        class_weight=parameters.class_weight,
    )
    phase[0] = "coding"
    threads, sketches = effective_jobs(parameters.n_jobs), list[RowSketch]()
    model = fit_parts(
        parameters,
        schema,
        lambda: stream.samples(schema),
        lambda bins, rows: stream_engine(
            _noted(stream.samples(schema), sketches),
            bins,
            schema.n_rows,
            n_threads=threads,
            rows=rows,
        ),
        target=y,
        progress=progress,
        limits=limits,
        checkpoint=checkpoint,
    )
    return replace(model, rows=RowRecord({"training": sketches[0]})) if sketches else model


def _noted(samples: Iterator[Sample], sketches: list[RowSketch]) -> Iterator[Sample]:
    """The samples; a sketch of each is kept."""
    for sample in samples:
        if sample.n_rows:
            names = [column.name for column in sample.columns]
            hashes = row_hashes(sample.X, sample.classes, sample.y, names=names)
            sketches[:] = [reduce(RowSketch.merge, [*sketches, RowSketch.of(hashes)])]
        yield sample


def fit_parts(
    parameters: FitParameters,
    schema: Schema,
    samples: Callable[[], Iterable[Sample]],
    make_engine: Callable[[Bins, LeftOut | None], Engine],
    *,
    target: str | None = None,
    **options: Any,
) -> Model:
    """Fit on rows in parts, by the method that the same table has in memory.

    Pruners that look at rows again get those of a small table in memory. Of a large one, a tenth
    may be left out and counted at the nodes of the tree. ``options`` are those of ``fit_engine``.
    """
    pruner, _ = parameters.checked()
    size = schema.n_rows, len(schema.columns)
    aside = pruner.leaves_out(*size) if isinstance(pruner, BasePruner) else None
    folds = isinstance(pruner, BoundPruner) and pruner.chooses and aside is None
    again = getattr(pruner, "needs_rows", False)
    if (again and not is_large(*size)) or (folds and not again):
        sample = join_samples(list(samples()), schema)
        warn_of_findings(sample, stacklevel=6)
        named = schema.names is not None
        rows = RowRecord.of(sample, named)
        return fit_sample(parameters, sample, target=target, named=named, rows=rows)
    refuse_what_needs_rows(parameters, pruner)
    engine = make_engine(make_bins(schema.columns, schema.sample), aside)
    return fit_engine(parameters, engine, schema, target=target, **options)


def fit_relation(
    parameters: FitParameters,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    columns: Any = None,
    watch: Watch | None = None,
) -> Model:
    """Fit inside a database; y and sample_weight name columns.

    A relation of few rows is fetched. Of another one, rows may be set aside by number: to certify
    the tree, and to choose the weight of the pruner.
    """
    from treebound.sql import Relation, RelationRows, SqlEngine

    pruner, options = parameters.checked()
    relation = X if isinstance(X, Relation) else Relation(X)
    with RelationRows(relation, y, sample_weight, columns) as rows:
        if rows.n_rows <= relation.max_fetched_rows:
            return replace(fit_table(parameters, *rows.fetched()), target=y)
        refuse_what_needs_rows(parameters, pruner)
        held_out = parameters.certify == "held-out"
        if not held_out:
            refuse_what_needs_a_table(parameters)
        if options.thresholds == "observed":
            must = "'decimal' or 'midpoint' in a database, whose rows have no numbers"
            raise invalid("thresholds", "BoundTreeClassifier", must, options.thresholds)
        chooses = isinstance(pruner, BoundPruner) and pruner.validates(rows.n_rows)
        chooses = chooses and sample_weight is None  # rows that are set aside are counted
        rows.set_aside(parameters.random_state, certify=held_out, choose=chooses)
        coded = rows.code(
            categorical_features=parameters.categorical_features,
            ordinal_features=parameters.ordinal_features,
            class_weight=parameters.class_weight,
        )
        # cells are divided where it matters: finer ones for all rows are of no use
        limits = Limits(most_live=inf)
        with SqlEngine(coded, relation.max_fetched_rows, rows) as engine:
            told = {} if watch is None else watch._asdict()
            model = fit_engine(parameters, engine, coded.schema, target=y, limits=limits, **told)
            engine.check_unchanged()
        if held_out:
            counted = partial(rows.count_aside, unknown=parameters.unknown)
            model = replace(model, held_out=HeldOut.by_counts(counted, model.tree, model.grown))
    return model


def fit_engine(
    parameters: FitParameters,
    engine: Engine,
    schema: Schema,
    *,
    target: str | None = None,
    progress: Callable[[Progress], None] | None = None,
    limits: Limits | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Model:
    """Grow on the rows of an engine, and prune by the counts alone."""
    pruner, options = parameters.checked()
    unlimited = options.max_leaves is None
    if unlimited:
        options = replace(options, max_leaves=MOST_GROWN_LEAVES)
    grown = grow_on_engine(
        engine,
        schema.columns,
        schema.classes,
        options,
        factors=schema.factors,
        whole=schema.scale is None,
        limits=limits,
        progress=progress,
        checkpoint=checkpoint,
        finer=lambda: make_bins(schema.columns, schema.sample, FINE_BINS),
    )
    if unlimited and grown.n_leaves >= MOST_GROWN_LEAVES:
        warnings.warn(
            f"Growth was stopped at {MOST_GROWN_LEAVES} leaves. Hint: set 'max_grown_leaves' to "
            "grow on, or to a smaller number where labels are noisy.",
            UserWarning,
            stacklevel=4,
        )
    aside = engine.left_out(grown)
    return replace(
        _pruned(parameters, grown, pruner, options, validation=aside),
        target=target,
        named=schema.names is not None,
        row_counts=engine.class_rows(grown) if grown.weighted else None,
    )
