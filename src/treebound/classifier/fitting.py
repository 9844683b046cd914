"""Fitting: rows in, ``Model`` out; the one place that makes the fitted state."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
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
    Role,
    RowRecord,
    best_of_folds,
    default_folds,
    draw_folds,
    draw_tenth,
    learn_apart,
    search_trees,
)
from treebound.data import Matrix, Sample
from treebound.data.findings import warn_of_findings
from treebound.data.folds import LeftOut, folds
from treebound.data.frames import Table, read_table
from treebound.data.learned import Schema
from treebound.data.parts import PartReader, PartRows, as_table, join_samples
from treebound.data.row_hashes import RowSketch, row_hashes
from treebound.data.sample import group_codes
from treebound.data.streams import Batches, TableStream, in_database, open_stream
from treebound.data.weights import is_whole, row_weights, warn_of_common_factor
from treebound.growing import GrowOptions, Limits, Progress, grow, grow_on_engine, make_bins
from treebound.growing._kernels import Bins
from treebound.growing.checkpoint import check_checkpoint
from treebound.growing.engine import Engine, LocalEngine, stream_engine
from treebound.growing.grow import FINE_BINS
from treebound.growing.progress import Watch
from treebound.model import Model, row_counts
from treebound.parameters import FitParameters
from treebound.pruning import PRUNERS, BoundPruner, Pruner, PruningResult
from treebound.pruning.base import BasePruner
from treebound.pruning.bound import MOST_VALUES, is_large
from treebound.tree.model import Tree
from treebound.tree.node_sums import NodeSums

# Without another limit: labels that are noise would be grown to a leaf for nearly every row.
MOST_GROWN_LEAVES = 1 << 16
UNWATCHED = Watch()
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
    watch: Watch = UNWATCHED,
) -> Model:
    """Grow a tree on a table and prune it; a dataset or lazy frame is read in batches."""
    batches = open_stream(X)
    stored = batches is None and in_database(X)
    if groups is not None:
        refuse_groups(parameters, in_memory=batches is None and not stored)
    if stored:
        return fit_relation(parameters, X, y, sample_weight, columns, watch)
    if batches is not None:
        return fit_stream(parameters, batches, y, sample_weight, columns, watch)
    if columns is not None:
        hint = "choose them before: X[columns]."
        raise invalid("columns", "fit", "None for a table in memory", columns, hint)
    parameters.checked()
    table = read_table(X)
    name = y.name if hasattr(y, "name") else None
    target = name if isinstance(name, str) and name else None
    if parameters.certify in ("held-out", "folds"):
        return _fit_apart(parameters, table, y, sample_weight, groups, target)
    sample = Sample.learn(table, y, sample_weight, groups=groups, **parameters.of_columns())
    warn_of_findings(sample, stacklevel=4)
    named = table.names is not None
    rows = RowRecord.of(sample, named)
    return fit_sample(parameters, sample, target=target, named=named, rows=rows, watch=watch)


def _fit_apart(
    parameters: FitParameters,
    table: Table,
    y: Any,
    sample_weight: Any,
    groups: Any,
    target: str | None,
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
            f"certify={parameters.certify!r} needs at least 2 {what} to set some aside. "
            f"Got {m} instead."
        )
    several = parameters.certify == "folds"
    drawn = draw_folds(m, default_folds(m), seed) if several else draw_tenth(m, seed)
    folds = [np.flatnonzero(np.isin(place, fold)) for fold in drawn]
    size = len(rows), table.shape[1]
    large = is_large(*size) and not several
    if large:  # by the rule of tables that are not in memory
        folds = [np.flatnonzero(LeftOut.draw(seed).has(place))]
    chooses = large and _chooses_on_aside(parameters, size)
    learn = partial(Sample.learn, **parameters.of_columns())

    def fit(fold: NDArray[np.intp]) -> tuple[Model, int]:
        sample, aside, hashes = learn_apart(
            learn, table, y, sample_weight, fold, parameters.unknown, members
        )
        validation = aside if chooses else None
        if members is not None:  # what is counted must be independent
            aside = aside.part(_one_of_each(place[fold], seed))
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


def _chooses_on_aside(parameters: FitParameters, size: tuple[int, int]) -> bool:
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
    target: str | None = None,
    named: bool = True,
    rows: RowRecord | None = None,
    watch: Watch = UNWATCHED,
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
        grown = _grown(sample, options, watch)
        model = _pruned(parameters, grown, pruner, options, sample, chosen_on)
    return replace(
        model,
        target=target,
        named=named,
        held_out=None
        if aside is None
        else _held_out(HeldOut.of(aside, model.tree, model.grown), model, validation is not None),
        rows=rows,
        row_counts=row_counts(model.grown, sample),
        no_certificate=_GROUPED if sample.groups is not None else "",
    )


def _held_out(held_out: HeldOut, model: Model, chose: bool) -> HeldOut:
    """The counts of rows set aside, which may have chosen the model."""
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
        **watch._asdict(),
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


def _needs_rows(pruner: Pruner | None) -> bool:
    """Whether a pruner looks at the rows again."""
    return isinstance(pruner, BasePruner) and pruner.needs_rows


def refuse_what_needs_rows(pruner: Pruner | None) -> None:
    """Raise a ValueError for a pruner that needs the rows again, in a table of many values."""
    if _needs_rows(pruner):
        able = [name for name, kind in PRUNERS.items() if not kind().needs_rows]
        raise ValueError(
            f"The pruner {pruner!r} looks at the rows again, and they are not in memory. "
            f"Hint: these need only the counts in the tree: {', '.join(map(repr, able))}, None; "
            "others too where the constant they would look for is given."
        )


def _refuse_what_needs_a_table(parameters: FitParameters) -> None:
    """Raise a ValueError for certificates that need the rows of a table in memory."""
    if parameters.certify not in ("training", "held-out"):
        raise ValueError(
            "The 'certify' parameter must be 'training' or 'held-out' for rows that are not in "
            f"memory, as those of a table of more than {MOST_VALUES:,} values. Got "
            f"{parameters.certify!r} instead. Hint: 'held-out' has nearly the limit of 'folds' "
            "with so many rows."
        )


def fit_stream(
    parameters: FitParameters,
    batches: Batches,
    y: Any,
    sample_weight: Any = None,
    columns: Any = None,
    watch: Watch = UNWATCHED,
) -> Model:
    """Fit on a table that is read batch by batch; y and sample_weight name columns."""
    parameters.checked()
    check_checkpoint(watch.checkpoint)
    phase = "learning"

    def read(rows: int) -> None:
        if watch.progress is not None:
            watch.progress(Progress.of_reading(phase, rows))

    stream = TableStream(batches, y, sample_weight, columns=columns, tell=read)
    threads, record = effective_jobs(parameters.n_jobs), _Record()

    def learn(held_out: LeftOut | None) -> Schema:
        return stream.learn(held_out=held_out, **parameters.of_columns())

    def rows(reader: PartReader) -> Iterator[PartRows]:
        nonlocal phase
        phase = "coding"
        return stream.rows(reader)

    def engine(reader: PartReader, bins: Bins) -> Engine:
        schema, held_out = reader.schema, parameters.certify == "held-out"
        parts = record.noted(rows(reader), held_out=held_out)
        return stream_engine(parts, bins, schema.n_rows + schema.held_out, n_threads=threads)

    model = fit_parts(parameters, learn, rows, engine, target=y, watch=watch)
    return replace(model, rows=RowRecord(record.sketches)) if record.sketches else model


class _Record:
    """Sketches of rows that are read in parts."""

    def __init__(self) -> None:
        self.sketches: dict[Role, RowSketch] = {}

    def noted(self, parts: Iterable[PartRows], *, held_out: bool) -> Iterator[PartRows]:
        """The parts; the rows of each are noted."""
        for part in parts:
            self._add("training", part.kept.X, part.kept)
            if part.aside is not None and part.table is not None:
                self._add("held-out" if held_out else "training", part.table, part.aside)
            yield part

    def _add(self, role: Role, rows: Matrix | Table, sample: Sample) -> None:
        if sample.n_rows:
            names = [column.name for column in sample.columns]
            sketch = RowSketch.of(row_hashes(rows, sample.classes, sample.y, names=names))
            before = self.sketches.get(role)
            self.sketches[role] = sketch if before is None else before.merge(sketch)


def fit_parts(
    parameters: FitParameters,
    learn: Callable[[LeftOut | None], Schema],
    rows: Callable[[PartReader], Iterable[PartRows]],
    make_engine: Callable[[PartReader, Bins], Engine],
    *,
    target: str | None = None,
    watch: Watch = UNWATCHED,
) -> Model:
    """Fit on rows in parts, by the method that the same table has in memory.

    Columns are learned without rows that are held out. What looks at rows again gets those of a
    small table in memory. Of a large one, a tenth may be left out and counted at the nodes of the
    tree.
    """
    pruner, _ = parameters.checked()
    held_out = LeftOut.draw(parameters.random_state) if parameters.certify == "held-out" else None
    schema = learn(held_out)
    size = schema.n_rows + schema.held_out, len(schema.columns)
    rows_again = not is_large(*size) and parameters.certify != "training"
    if rows_again or _looks_again(pruner, *size):
        schema = schema if held_out is None else learn(None)
        return _fit_joined(parameters, schema, rows, target)
    _refuse_what_needs_a_table(parameters)
    refuse_what_needs_rows(pruner)
    bins = make_bins(schema.columns, schema.sample)
    if held_out is None:
        aside = pruner.leaves_out(*size) if isinstance(pruner, BasePruner) else None
        engine = make_engine(PartReader(schema, aside), bins)
        return fit_engine(parameters, engine, schema, target=target, watch=watch)
    unknown = "other" if parameters.unknown == "error" else parameters.unknown
    engine = make_engine(PartReader(schema, held_out, unknown), bins)
    chooses = _chooses_on_aside(parameters, size)
    model = fit_engine(parameters, engine, schema, target=target, watch=watch, validate=chooses)
    counts = HeldOut.by_counts(engine.left_out_rows, model.tree, model.grown)
    return replace(model, held_out=_held_out(counts, model, chooses))


def _looks_again(pruner: Pruner | None, rows: int, columns: int) -> bool:
    """Whether pruning looks at the rows again, and they are few enough to be read into memory."""
    if _needs_rows(pruner):
        return not is_large(rows, columns)
    if not isinstance(pruner, BoundPruner):
        return False
    return pruner.chooses and pruner.leaves_out(rows, columns) is None


def _fit_joined(
    parameters: FitParameters,
    schema: Schema,
    rows: Callable[[PartReader], Iterable[PartRows]],
    target: str | None,
) -> Model:
    """Fit on rows in parts that are read into memory."""
    apart = parameters.certify in ("held-out", "folds")
    own = replace(schema, scale=None, factors=None) if apart else schema  # weights as they are
    sample = join_samples([part.kept for part in rows(PartReader(own))], own)
    named = schema.names is not None
    if apart:  # columns are learned again, without some rows
        labels = sample.classes[sample.y]
        model = fit_table(parameters, as_table(sample, schema), labels, sample.weight)
        return replace(model, target=target, named=named)
    warn_of_findings(sample, stacklevel=7)
    record = RowRecord.of(sample, named)
    return fit_sample(parameters, sample, target=target, named=named, rows=record)


def fit_relation(
    parameters: FitParameters,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    columns: Any = None,
    watch: Watch = UNWATCHED,
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
        refuse_what_needs_rows(pruner)
        _refuse_what_needs_a_table(parameters)
        held_out = parameters.certify == "held-out"
        if options.thresholds == "observed":
            must = "'decimal' or 'midpoint' in a database, whose rows have no numbers"
            raise invalid("thresholds", "BoundTreeClassifier", must, options.thresholds)
        chooses = isinstance(pruner, BoundPruner) and pruner.validates(rows.n_rows)
        chooses = chooses and sample_weight is None  # rows that are set aside are counted
        rows.set_aside(parameters.random_state, certify=held_out, choose=chooses)
        coded = rows.code(**parameters.of_columns())
        # cells are divided where it matters: finer ones for all rows are of no use; a query costs
        # more than values
        limits = Limits(most_live=inf, most_values=1 << 20)
        with SqlEngine(coded, relation.max_fetched_rows, rows) as engine:
            model = fit_engine(parameters, engine, coded.schema, y, watch, limits)
            engine.check_unchanged()
        if held_out:
            counted = partial(rows.count_aside, unknown=parameters.unknown)
            model = replace(model, held_out=HeldOut.by_counts(counted, model.tree, model.grown))
    return model


def fit_engine(
    parameters: FitParameters,
    engine: Engine,
    schema: Schema,
    target: str | None = None,
    watch: Watch = UNWATCHED,
    limits: Limits | None = None,
    validate: bool = True,
) -> Model:
    """Grow on the rows of an engine, and prune by the counts alone.

    Rows that are left out may choose the weight of the pruner (``validate``).
    """
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
        **watch._asdict(),
        finer=lambda: make_bins(schema.columns, schema.sample, FINE_BINS),
    )
    if unlimited and grown.n_leaves >= MOST_GROWN_LEAVES:
        warnings.warn(
            f"Growth was stopped at {MOST_GROWN_LEAVES} leaves. Hint: set 'max_grown_leaves' to "
            "grow on, or to a smaller number where labels are noisy.",
            UserWarning,
            stacklevel=4,
        )
    aside = engine.left_out(grown) if validate else None
    return replace(
        _pruned(parameters, grown, pruner, options, validation=aside),
        target=target,
        named=schema.names is not None,
        row_counts=engine.class_rows(grown) if grown.weighted else None,
    )
