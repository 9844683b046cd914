"""The rows of an editor: training rows, test rows, and the calibration rows of ``fit``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.validation import Setting, WordedError, invalid
from treebound.certificate.row_record import Role, RowRecord
from treebound.data import Column, Sample, learn_matrix
from treebound.data.draws import Draw, one_of_each
from treebound.data.frames import read_table
from treebound.data.sample import LabelledRows
from treebound.model import Model
from treebound.tree.recoding import recoded


def _other_rows(why: str) -> WordedError:
    """Return the error for rows that the tree was not trained on."""
    return WordedError(
        "These must be the rows that the tree was trained on, with their weights and groups, in "
        f"the same order. {why} Hint: give the table of fit, and its weights (",
        Setting("weight_column", python="'sample_weight'"),
        ").",
    )


@dataclass(frozen=True, eq=False)
class EditedRows:
    """The rows of an editor."""

    sample: Sample  # the training rows
    numbers: NDArray[np.intp] | None  # theirs in the table; None if there are validation rows
    test: Sample | None = None  # each row counted once
    calibration: Sample | None = None  # nothing is computed from these rows while editing
    record: RowRecord | None = None  # that of the model with the test rows
    test_is_calibration: bool = False  # whether the test rows are calibration rows of fit


def with_categories(model: Model, X: Any) -> Model:
    """The model with the categories that its file does not list, learned from the rows of fit."""
    if not any(column.unlisted and not column.identifier for column in model.columns):
        return model
    table, names = read_table(X), [column.name for column in model.columns]
    if model.has_names and table.names is not None:
        if not {*names} <= {*table.names}:
            return model
        table = table.select(names)
    elif table.shape[1] != len(names):
        return model
    kinds = ("categorical_features", "ordinal_features")
    parameters = model.provenance.parameters
    chosen = {name: parameters[name] for name in kinds if name in parameters}
    columns = tuple(
        replace(column, categories=other.categories, unlisted=0)
        if _lists_more(other, column)
        else column
        for column, other in zip(model.columns, learn_matrix(table, **chosen).columns, strict=True)
    )
    return replace(model, tree=recoded(model.tree, columns))


def _lists_more(learned: Column, column: Column) -> bool:
    """Return True if a column of the rows has the categories that the file does not list."""
    if column.identifier or not column.unlisted or learned.kind != column.kind:
        return False
    if learned.n_categories < column.n_categories:
        return False
    return {*(column.categories or ())} <= {*(learned.categories or ())}


def read_rows(
    model: Model, X: Any, y: Any, test: Any, sample_weight: Any, groups: Any = None
) -> EditedRows:
    """Read the rows of an editor; other rows than those of fit are refused."""
    rows = LabelledRows.of(read_table(X), y, sample_weight, groups)
    _check_known(model, rows)
    trained = _drawn_again(model, rows)
    if not _counts_agree(model, trained.sample):
        why = (
            f"The tree was counted on {int(model.tree.rows[0]):,} rows and has other counts than "
            f"these {rows.n_rows:,} give."
        )
        raise _other_rows(why)
    if test is None:
        return replace(trained, record=model.provenance.row_record)
    return replace(
        trained,
        test=_read_test(model, test),
        record=_record(model, test),
        test_is_calibration=_are(model, "calibration", test),
    )


def _check_known(model: Model, rows: LabelledRows) -> None:
    """Refuse rows that the record of the model does not know."""
    if model.provenance.row_record is None:
        return
    hashes = model.hashes(rows.table, rows.labels)
    comparable, unknown = (0, 0) if hashes is None else model.provenance.row_record.unknown(hashes)
    if unknown:
        why = f"{unknown:,} of the {comparable:,} rows that can be compared are not among them."
        raise _other_rows(why)


def _drawn_again(model: Model, rows: LabelledRows) -> EditedRows:
    """The training and calibration rows among those of fit, by the key that the model keeps."""
    draw, calibration = model.provenance.draw or Draw(), None
    if draw.calibration is not None:
        units = rows.units
        inside = draw.calibration.mask(int(units.max(initial=-1)) + 1)[units]
        reader = model
        if model.reading.handle_unknown == "error":
            reader = replace(model, reading=replace(model.reading, handle_unknown="other"))
        calibration = _sample(reader, rows.part(inside))
        if rows.groups is not None:
            calibration = calibration.part(one_of_each(units[inside], draw.calibration.key))
        rows = rows.part(~inside)
    sample = _sample(model, rows)
    if draw.validation is None:
        return EditedRows(sample, rows.row_numbers, calibration=calibration)
    return EditedRows(draw.validation.split(sample)[0], None, calibration=calibration)


def _sample(model: Model, rows: LabelledRows) -> Sample:
    """The rows as the model reads them, with their groups."""
    sample = model.read_sample(rows.table, rows.labels, rows.weight, whole=True)
    return replace(sample, groups=rows.groups)


def _counts_agree(model: Model, sample: Sample) -> bool:
    """Return True if the rows give the counts of the tree, or if it has no counts."""
    tree = model.tree
    if not tree.counted:
        return True
    again = tree.recounted(sample)
    same = np.array_equal(again.rows, tree.rows) and again.weighted == tree.weighted
    slack = 1e-9 * sample.total
    return same and np.allclose(again.counts, tree.counts, rtol=1e-9, atol=slack)


def _read_test(model: Model, test: Any) -> Sample:
    """The test rows, each counted once."""
    if not (isinstance(test, tuple) and len(test) == 2):
        raise invalid("test", "edit", "a pair (X, y)", type(test).__name__)
    if _are(model, "training", test):
        raise ValueError(
            "The 'test' rows of edit must not be rows that the tree was fitted on. Hint: their "
            "error is the training error."
        )
    return replace(model.read_sample(*test, whole=True), factors=None)


def _record(model: Model, test: tuple[Any, Any]) -> RowRecord | None:
    """The record of the model with the test rows: showing figures of them spends them."""
    if model.provenance.row_record is None:
        return None
    return model.provenance.row_record.with_rows("validation", model.hashes(*test))


def _are(model: Model, role: Role, rows: tuple[Any, Any]) -> bool:
    """Return True if fit used rows in this role."""
    if model.provenance.row_record is None:
        return False
    used = model.provenance.row_record.compare(model.hashes(*rows), len(rows[1])).used
    return role in {record.role for record in used}
