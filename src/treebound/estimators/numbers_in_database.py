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
from typing import TYPE_CHECKING, Any

from treebound.data.draws import Draw, unknown_in_calibration
from treebound.data.findings import warn_of_identifiers
from treebound.data.number_findings import warn_of_constant
from treebound.data.roles import ColumnRoles
from treebound.estimators.number_fitting import (
    check_calibration,
    fit_numbers,
    fit_training_rows,
    takes_validation_rows,
    with_calibration_rows,
)
from treebound.estimators.numbers_elsewhere import (
    EngineRows,
    refuse_what_needs_a_table,
    with_missing,
)
from treebound.growing import GrowOptions, Limits, grow_numbers_on_engine
from treebound.model.regression import RegressionModel
from treebound.model.regression_parameters import (
    RegressionParameters,
    certificate_kind,
    checked_parameters,
    column_parameters,
)
from treebound.pruning.bound import is_large
from treebound.tree.regression import RegressionTree

if TYPE_CHECKING:
    from treebound.engines.sql import RelationRows

_NO_CALIBRATION = (
    "There is no certificate: calibration rows are marked in a temporary table, and none can be "
    "written in this database. Hint: certify the regressor with other rows."
)
# Cells are divided when they matter, so finer ones for all rows are of no use; a query costs more
# than values.
_LIMITS = Limits(max_live=inf, max_values=1 << 20)


def fit_number_relation(
    parameters: RegressionParameters, X: Any, roles: ColumnRoles
) -> RegressionModel:
    """Fit inside a database."""
    from treebound.engines.sql import Relation, RelationRows, SqlEngine

    pruner, _ = checked_parameters(parameters)
    relation, of_columns = Relation.of(X), column_parameters(parameters)
    with RelationRows(relation, roles, numeric=True) as rows:
        size = rows.n_rows, len(rows.names)
        if relation.is_fetched(*size, again=True):
            return _fit_fetched(parameters, rows)
        kind = certificate_kind(parameters, rows.n_groups or rows.n_rows)
        stay = f"for rows that stay in the database, here {rows.n_rows:,}"
        if relation.stays:
            most = f"{relation.max_fetched_rows:,} of Relation's 'max_fetched_rows'"
            stay = f"{stay}, more than the {most}"
        refuse_what_needs_a_table(pruner, kind, stay)
        if kind == "held-out" and parameters.certificate == "auto" and not rows.can_draw:
            warnings.warn(_NO_CALIBRATION, UserWarning, stacklevel=4)
            kind = None
        held_out, large = kind == "held-out", is_large(*size)
        start = calibrated = Draw.start(parameters.random_state)
        if held_out:
            unit = "groups" if rows.n_groups else "rows"
            check_calibration("held-out", rows.n_groups or rows.n_rows, unit)
            calibrated = rows.draw_calibration(start, of_columns, large=large)
            large = is_large(rows.n_rows, size[1])
            if pruner is not None and not large and not relation.stays:  # for its folds
                return _fit_fetched(parameters, rows)
        draw = replace(calibrated, calibration=None)
        if takes_validation_rows(pruner, rows.n_rows, size[1]):
            draw = rows.draw_tenth(start, of_columns, parameters.random_state)
        elif pruner is not None and pruner.folds is not None:
            draw = rows.draw_validation(calibrated, of_columns)
            draw = replace(draw, calibration=None)
        if parameters.y_range is not None:
            rows.check_range(parameters.y_range)
        clip = None if parameters.clip is None else rows.clip_range(parameters.clip)
        coded = rows.code(**of_columns, clip=clip)
        schema = coded.schema
        warn_of_identifiers(schema.identifiers, schema.n_rows, stacklevel=5)
        if coded.numbers is not None:
            ends = coded.numbers.least, coded.numbers.greatest
            warn_of_constant(*ends, schema.n_rows, roles.target, stacklevel=3)
        engine = SqlEngine(coded, relation.max_fetched_rows, rows)
        known = schema.columns
        if rows.summary is not None:
            known = with_missing(known, rows.summary)

        def grow(rows: EngineRows, options: GrowOptions, min_weight: float) -> RegressionTree:
            return grow_numbers_on_engine(
                rows.engine, known, options, min_weight=min_weight, limits=_LIMITS
            )

        validation = rows.drawn_numbers("validation", schema, "other", relation)
        model = fit_training_rows(parameters, EngineRows(engine), grow, draw, validation, clip)
        engine.check_unchanged()
        if held_out:
            unknown = unknown_in_calibration(parameters.handle_unknown)
            drawn = rows.drawn_numbers("calibration", schema, unknown, relation)
            assert drawn is not None
            model = with_calibration_rows(parameters, model, calibrated, drawn)
        model = replace(model, provenance=replace(model.provenance, groups=rows.n_groups))
    return replace(model, reading=replace(model.reading, target=roles.target, named=True))


def _fit_fetched(parameters: RegressionParameters, rows: RelationRows) -> RegressionModel:
    """Fit a relation that is read into memory."""
    model = fit_numbers(parameters, rows.fetched())
    return replace(model, reading=replace(model.reading, target=rows.target))
