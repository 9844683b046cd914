"""Fitting on rows that are not in memory at once: streams, partitions, databases, engines."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

from treebound._utils._pool import Threads
from treebound._utils.arrays import Ints
from treebound._utils.choices import CertificateKind
from treebound._utils.jobs import effective_jobs
from treebound._utils.validation import InWords, invalid
from treebound.certificate.held_out import HeldOut
from treebound.certificate.row_record import RowRecord
from treebound.data.draws import Draw, unknown_in_calibration
from treebound.data.findings import warn_of_findings, warn_of_identifiers
from treebound.data.learned import LearnedSchema
from treebound.data.parts import PartReader, as_table, join_parts
from treebound.data.roles import ColumnRoles
from treebound.data.sample import RawRows
from treebound.data.streams import (
    in_database,
    is_on_dask,
    open_stream,
)
from treebound.data.weights import warn_of_common_factor
from treebound.estimators.estimation import without_estimate
from treebound.estimators.fitting import (
    check_watch,
    fit_sample,
    fit_table,
    pruned,
)
from treebound.estimators.parted_table import (
    PartedTable,
    RecordedStream,
    check_number_of_groups,
)
from treebound.estimators.progress import UNWATCHED, Watch
from treebound.growing import Limits, grow_on_engine, make_bins
from treebound.growing._layout import FINE_BINS
from treebound.growing.checkpoint import check_checkpoint
from treebound.growing.engine import Engine
from treebound.model import Model
from treebound.model.parameters import (
    FitParameters,
    certificate_kind,
    checked_parameters,
    column_parameters,
)
from treebound.pruning import PRUNERS, BoundPruner, Pruner
from treebound.pruning.base import BasePruner
from treebound.pruning.bound import MAX_VALUES, is_large

# The default limit: with noisy labels, a tree would grow a leaf for nearly every row.
MAX_GROWN_LEAVES = 1 << 16
_NO_CALIBRATION = (
    "The certificate is computed from the training rows: calibration rows are marked in a "
    "temporary table, and none can be written in this database. Hint: certify the classifier with "
    "other rows."
)
# Smaller nodes are always finished in one place.
_FEW_ROWS = 1 << 11
_NO_VALIDATION = "the rows are not in memory, and none of them are validation rows"


def fit_elsewhere(
    parameters: FitParameters,
    X: Any,
    roles: ColumnRoles,
    watch: Watch = UNWATCHED,
) -> Model:
    """Fit on a table that is read in batches, or inside its database or cluster."""
    check_watch(parameters, watch)
    if in_database(X):
        return _fit_relation(parameters, X, roles, watch)
    checked_parameters(parameters)
    check_checkpoint(watch.checkpoint)
    if is_on_dask(X):
        from treebound.engines.dask.table import DaskTable

        with DaskTable(X, roles) as on_dask:
            return _fit_parts(parameters, on_dask, watch)
    batches = open_stream(X)
    assert batches is not None
    table = RecordedStream(batches, roles, watch)
    with Threads(effective_jobs(parameters.n_jobs)):
        model = _fit_parts(parameters, table, watch)
    # rows are noted as they are coded; those of a small table in memory, by its sample
    provenance = model.provenance
    if provenance.row_record is not None:
        return model
    return replace(model, provenance=replace(provenance, row_record=table.record))


def _needs_rows(pruner: Pruner | None) -> bool:
    """Return True if a pruner needs the rows again."""
    return isinstance(pruner, BasePruner) and pruner.needs_rows


def _refuse_what_needs_rows(pruner: Pruner | None) -> None:
    """Raise a ValueError for a pruner that needs the rows again, in a table of many values."""
    if _needs_rows(pruner):
        able = [name for name, kind in PRUNERS.items() if not kind().needs_rows]
        raise ValueError(
            f"The pruner {pruner!r} needs the rows again, and they are not in memory. "
            f"Hint: these need only the counts in the tree: {', '.join(map(repr, able))}, None; "
            "or give the constant that the pruner would look for."
        )


def _refuse_what_needs_a_table(kind: CertificateKind, why: str) -> None:
    """Raise a ValueError for certificates that need the rows of a table in memory."""
    if kind not in ("training", "held-out"):
        must = f"'auto', 'training' or 'held-out' for rows that are not in memory: {why}"
        hint = "'held-out' has nearly the bound of 'folds' with so many rows."
        raise invalid("certificate", "", must, kind, hint)


def _fit_parts(parameters: FitParameters, table: PartedTable, watch: Watch) -> Model:
    """Fit on rows in parts, by the method that the same table has in memory.

    A small table is read into memory if the rows are needed again. Of a large one, a tenth may be
    drawn for calibration or validation and counted at the nodes of the tree: then the summary of
    all rows comes first, and columns are learned again without calibration rows.
    """
    pruner, _ = checked_parameters(parameters)
    learn = partial(table.learn, **column_parameters(parameters))
    schema = learn()
    schema.check_classes()
    size = schema.n_rows, len(schema.columns)
    kind = certificate_kind(parameters, schema.n_rows)
    large = f"the table has more than {MAX_VALUES:,} values"
    groups = table.groups()
    if groups is not None:
        _refuse_groups(is_large(*size), large)
    if groups is not None or _needs_rows_again(parameters, *size):
        return _fit_joined(parameters, schema, table, watch, groups)
    _refuse_what_needs_a_table(kind, large)
    _refuse_what_needs_rows(pruner)
    warn_of_identifiers(schema.identifiers, schema.n_rows, stacklevel=5)
    validates = isinstance(pruner, BoundPruner) and pruner.takes_validation_rows(*size)
    draw, calibration, validation = Draw.start(parameters.random_state), None, None
    if kind == "held-out" or validates:
        draw = draw.keyed(table.summary(schema))
    if kind == "held-out":
        calibration = draw.tenth()
        schema = learn(calibration=calibration)
    if validates:
        assert isinstance(pruner, BoundPruner)
        assert draw.key is not None
        validation = pruner.select_validation(draw.key)
    draw = replace(draw, calibration=calibration, validation=validation)
    engine = table.engine(
        PartReader(
            schema, calibration, validation, unknown_in_calibration(parameters.handle_unknown)
        ),
        make_bins(schema.columns, schema.sample),
        n_threads=effective_jobs(parameters.n_jobs),
        gather_rows=_rows_to_gather(parameters, size[0]),
    )
    model = fit_engine(parameters, engine, schema, table.target, watch)
    model = replace(model, provenance=replace(model.provenance, draw=draw))
    if calibration is None:
        return model
    counts = HeldOut.by_counts(engine.calibration_counts, model.tree, model.grown)
    return replace(model, evidence=replace(model.evidence, calibration=counts))


def _needs_rows_again(parameters: FitParameters, rows: int, columns: int) -> bool:
    """Return True if rows are needed again and they are few enough to read into memory."""
    pruner, _ = checked_parameters(parameters)
    large = is_large(rows, columns)
    if not large and certificate_kind(parameters, rows) != "training":
        return True
    if _needs_rows(pruner):
        return not large
    if not isinstance(pruner, BoundPruner):
        return False
    return pruner.selects_weight and not pruner.takes_validation_rows(rows, columns)


def _refuse_groups(refused: bool, why: str) -> None:
    """Raise a ValueError for groups of rows that are not read into memory."""
    if refused:
        must = f"None for rows that are not read into memory: {why}"
        hint = "BoundTreeRegressor takes groups there."
        raise invalid("groups", "fit", must, InWords("groups"), hint)


def _fit_joined(
    parameters: FitParameters,
    schema: LearnedSchema,
    table: PartedTable,
    watch: Watch,
    groups: Ints | None = None,
) -> Model:
    """Fit on rows in parts that are read into memory."""
    check_number_of_groups(groups, schema.n_rows)
    calibrated = certificate_kind(parameters, schema.n_rows) in ("held-out", "folds")
    calibrated = calibrated or groups is not None
    plain = replace(schema, scale=None, factors=None) if calibrated else schema  # weights as given
    sample = join_parts(list(table.rows(PartReader(plain.with_identifiers())))).training
    named = schema.names is not None
    if calibrated:  # columns are learned again, without some rows
        labels, columns = sample.classes[sample.y], as_table(sample, schema)
        model = fit_table(parameters, RawRows(columns, labels, sample.weight, groups), watch)
    else:
        record = RowRecord.of(sample, named)
        warn_of_findings(sample, record.sketches["training"], stacklevel=6)
        warn_of_common_factor(sample.weight, stacklevel=6)
        model = fit_sample(parameters, sample, rows=record, watch=watch)
    return replace(model, reading=replace(model.reading, target=table.target, named=named))


def _rows_to_gather(parameters: FitParameters, n_rows: int) -> int:
    """Return the number of rows up to which a node is finished in one place.

    With few leaves allowed, a subtree of many rows would grow mostly leaves that are cut off.
    """
    rows = n_rows // (4 * (checked_parameters(parameters)[1].max_leaves or MAX_GROWN_LEAVES))
    most = Engine.gather_rows
    return min(rows, most) if rows >= _FEW_ROWS else most


def _fit_relation(parameters: FitParameters, X: Any, roles: ColumnRoles, watch: Watch) -> Model:
    """Fit inside a database.

    A relation of few rows is fetched, and one of at most 10^7 values if its rows are needed again.
    Of one that stays, rows may be drawn by number: calibration rows to certify the tree, and
    validation rows to choose the weight of the pruner.
    """
    from treebound.engines.sql import Relation, RelationRows, SqlEngine

    pruner, options = checked_parameters(parameters)
    relation = Relation.of(X)
    with RelationRows(relation, roles) as rows:
        size = rows.n_rows, len(rows.names)
        again = roles.groups is not None or _needs_rows_again(parameters, *size)
        if relation.is_fetched(*size, again=again):
            model = fit_table(parameters, rows.fetched(), watch)
            return replace(model, reading=replace(model.reading, target=roles.target))
        _refuse_what_needs_rows(pruner)
        stay = (
            f"the {rows.n_rows:,} rows stay in the database, as they are more than the "
            f"{relation.max_fetched_rows:,} of Relation's 'max_fetched_rows'"
        )
        _refuse_groups(roles.groups is not None, stay)
        kind = certificate_kind(parameters, rows.n_rows)
        _refuse_what_needs_a_table(kind, stay)
        if kind == "held-out" and parameters.certificate == "auto" and not rows.can_draw:
            warnings.warn(_NO_CALIBRATION, UserWarning, stacklevel=4)
            kind = "training"
        held_out = kind == "held-out"
        if options.thresholds == "observed":
            must = "'decimal' or 'midpoint' in a database, whose rows have no numbers"
            raise invalid("thresholds", "BoundTreeClassifier", must, options.thresholds)
        validates = isinstance(pruner, BoundPruner) and pruner.validates(rows.n_rows)
        validates = validates and roles.weight is None  # validation rows are counted
        draw = Draw.start(parameters.random_state)
        if held_out:
            draw = rows.draw_calibration(draw, column_parameters(parameters))
        if validates:
            draw = rows.draw_validation(draw, column_parameters(parameters))
        coded = rows.code(**column_parameters(parameters))
        warn_of_identifiers(coded.schema.identifiers, coded.schema.n_rows, stacklevel=5)
        # cells are divided when they matter, so finer ones for all rows are of no use; a query
        # costs more than values
        limits = Limits(max_live=inf, max_values=1 << 20)
        engine = SqlEngine(coded, relation.max_fetched_rows, rows)
        model = fit_engine(parameters, engine, coded.schema, roles.target, watch, limits)
        model = replace(model, provenance=replace(model.provenance, draw=draw))
        engine.check_unchanged()
        if held_out:
            counted = partial(rows.count_selected, handle_unknown=parameters.handle_unknown)
            counts = HeldOut.by_counts(counted, model.tree, model.grown)
            model = replace(model, evidence=replace(model.evidence, calibration=counts))
    return model


def fit_engine(
    parameters: FitParameters,
    engine: Engine,
    schema: LearnedSchema,
    target: str | None = None,
    watch: Watch = UNWATCHED,
    limits: Limits | None = None,
) -> Model:
    """Grow on the rows of an engine, and prune by the counts alone.

    Validation rows of the engine choose the weight of the pruner.
    """
    pruner, options = checked_parameters(parameters)
    unlimited = options.max_leaves is None
    if unlimited:
        options = replace(options, max_leaves=MAX_GROWN_LEAVES)
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
    if unlimited and grown.n_leaves >= MAX_GROWN_LEAVES:
        warnings.warn(
            f"Growing stopped at {MAX_GROWN_LEAVES:,} leaves, the limit for rows that are not in "
            "memory. Hint: set 'min_samples_leaf' or 'max_depth' if labels are noisy.",
            UserWarning,
            stacklevel=5,
        )
    model = pruned(parameters, grown, pruner, options, validation=engine.validation_sums(grown))
    reason = "it was fitted without folds" if parameters.cv is None else _NO_VALIDATION
    model = model if model.evidence.estimate is not None else without_estimate(model, reason)
    counts = engine.class_rows(grown) if grown.weighted else None
    return replace(
        model,
        reading=replace(model.reading, target=target, named=schema.names is not None),
        evidence=replace(model.evidence, row_counts=counts),
    )
