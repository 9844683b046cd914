"""Fitting regression trees inside a database.

A relation of at most 10^7 values is fetched, as its rows are needed again for the folds, unless the
user limits the rows that are fetched. Of one that stays, rows may be drawn by number: calibration
rows to certify the tree, and validation rows to choose its size. These are fetched, or, if they are
more than may be fetched, only their numbers and nodes.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from math import inf
from typing import Any

from treebound._utils.choices import Unknown
from treebound.data.draws import Draw
from treebound.data.findings import warn_of_identifiers
from treebound.data.number_findings import warn_of_constant
from treebound.estimators.number_fitting import (
    check_calibration,
    fit_numbers,
    fit_training_rows,
    with_calibration,
)
from treebound.estimators.numbers_elsewhere import EngineRows, refuse_what_needs_a_table
from treebound.growing import GrowOptions, Limits, grow_numbers_on_engine
from treebound.model.regression import RegressionModel
from treebound.model.regression_parameters import (
    RegressionParameters,
    certificate_kind,
    checked_parameters,
    column_parameters,
)
from treebound.tree.regression import RegressionTree

_NO_CALIBRATION = (
    "There is no certificate: calibration rows are marked in a temporary table, and none can be "
    "written in this database. Hint: certify the regressor with other rows."
)
# Cells are divided when they matter, so finer ones for all rows are of no use; a query costs more
# than values.
_LIMITS = Limits(max_live=inf, max_values=1 << 20)


def fit_number_relation(
    parameters: RegressionParameters,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    columns: Any = None,
    groups: Any = None,
) -> RegressionModel:
    """Fit inside a database; y, sample_weight and groups name columns."""
    from treebound.engines.sql import Relation, RelationRows, SqlEngine

    pruner, _ = checked_parameters(parameters)
    relation = Relation.of(X)
    named = y, sample_weight, columns
    with RelationRows(relation, *named, groups=groups, numeric=True) as rows:
        if relation.is_fetched(rows.n_rows, len(rows.names), again=True):
            model = fit_numbers(parameters, *rows.fetched())
            return replace(model, reading=replace(model.reading, target=y))
        kind = certificate_kind(parameters, rows.n_rows)
        stay = (
            f"for rows that stay in the database, here {rows.n_rows:,}, more than the "
            f"{relation.max_fetched_rows:,} of Relation's 'max_fetched_rows'"
        )
        refuse_what_needs_a_table(pruner, kind, stay)
        if kind == "held-out" and parameters.certificate == "auto" and not rows.can_draw:
            warnings.warn(_NO_CALIBRATION, UserWarning, stacklevel=4)
            kind = None
        held_out, draw = kind == "held-out", Draw.start(parameters.random_state)
        if kind is not None:
            check_calibration(kind, rows.n_rows)
        validates = pruner is not None and pruner.folds is not None
        if held_out or validates:
            draw = rows.select(draw, column_parameters(parameters), held_out, validates)
        if parameters.y_range is not None:
            rows.check_range(parameters.y_range)
        clip = None if parameters.clip is None else rows.clip_range(parameters.clip)
        coded = rows.code(**column_parameters(parameters), clip=clip)
        schema = coded.schema
        warn_of_identifiers(schema.identifiers, schema.n_rows, stacklevel=5)
        if coded.numbers is not None:
            ends = coded.numbers.least, coded.numbers.greatest
            warn_of_constant(*ends, schema.n_rows, y, stacklevel=3)
        engine = SqlEngine(coded, relation.max_fetched_rows, rows)

        def grow(rows: EngineRows, options: GrowOptions, min_weight: float) -> RegressionTree:
            return grow_numbers_on_engine(
                rows.engine, schema.columns, options, min_weight=min_weight, limits=_LIMITS
            )

        most = relation.max_fetched_rows
        validation = rows.drawn_numbers("validation", schema, "other", most)
        model = fit_training_rows(
            parameters, EngineRows(engine), grow, replace(draw, calibration=None), validation, clip
        )
        engine.check_unchanged()
        if held_out:
            unknown: Unknown = parameters.handle_unknown
            unknown = "other" if unknown == "error" else unknown
            drawn = rows.drawn_numbers("calibration", schema, unknown, most)
            assert drawn is not None
            nodes = drawn.nodes_of(model.grown)
            model = with_calibration(parameters, model, draw, drawn.y, nodes)
    return replace(model, reading=replace(model.reading, target=y, named=True))
