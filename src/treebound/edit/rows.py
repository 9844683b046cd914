"""The rows of an editor: training rows, test rows, and the calibration rows of ``fit``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, cast

import numpy as np
from numpy.typing import NDArray

from treebound._utils.validation import Setting, WordedError, invalid
from treebound.certificate.row_record import Role, RowRecord
from treebound.data import Column, learn_matrix
from treebound.data.draws import Draw, one_of_each
from treebound.data.frames import read_table
from treebound.data.sample import LabelledRows
from treebound.edit.kind import AnyModel, AnySample, TargetKind
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
class EditedRows(Generic[AnySample]):
    """The rows of an editor."""

    sample: AnySample  # the training rows
    numbers: NDArray[np.intp] | None  # theirs in the table; None if there are validation rows
    test: AnySample | None = None  # each row counted once
    calibration: AnySample | None = None  # nothing is computed from these rows while editing
    record: RowRecord | None = None  # that of the model with the test rows
    test_is_calibration: bool = False  # whether the test rows are calibration rows of fit


def with_categories(model: AnyModel, X: Any) -> AnyModel:
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
    listing: AnyModel = replace(cast("Any", model), tree=recoded(model.tree, columns))
    return listing


def _lists_more(learned: Column, column: Column) -> bool:
    """Return True if a column of the rows has the categories that the file does not list."""
    if column.identifier or not column.unlisted or learned.kind != column.kind:
        return False
    if learned.n_categories < column.n_categories:
        return False
    return {*(column.categories or ())} <= {*(learned.categories or ())}


def read_rows(
    kind: TargetKind[Any, Any, AnySample],
    rows: LabelledRows,
    test: tuple[Any, Any] | None = None,
) -> EditedRows[AnySample]:
    """Read the rows of an editor; other rows than those of fit are refused."""
    model = kind.model
    _check_known(kind, rows)
    trained = _drawn_again(kind, rows)
    if not kind.counts_agree(trained.sample):
        why = (
            f"The tree was counted on {int(model.tree.rows[0]):,} rows and has other counts than "
            f"these {rows.n_rows:,} give."
        )
        raise _other_rows(why)
    if test is None:
        return replace(trained, record=model.provenance.row_record)
    if not (isinstance(test, tuple) and len(test) == 2):
        raise invalid("test", "edit", "a pair (X, y)", type(test).__name__)
    hashes = kind.hashes(read_table(test[0]), test[1])
    if _are(kind, "training", hashes, len(test[1])):
        raise ValueError(
            "The 'test' rows of edit must not be rows that the tree was fitted on. Hint: their "
            "error is the training error."
        )
    return replace(
        trained,
        test=kind.read_test(*test),
        record=_record(kind, hashes),
        test_is_calibration=_are(kind, "calibration", hashes, len(test[1])),
    )


def _check_known(kind: TargetKind[Any, Any, Any], rows: LabelledRows) -> None:
    """Refuse rows that the record of the model does not know."""
    record: RowRecord | None = kind.model.provenance.row_record
    if record is None:
        return
    hashes = kind.hashes(rows.table, rows.labels)
    comparable, unknown = (0, 0) if hashes is None else record.unknown(hashes)
    if unknown:
        why = f"{unknown:,} of the {comparable:,} rows that can be compared are not among them."
        raise _other_rows(why)


def _drawn_again(
    kind: TargetKind[Any, Any, AnySample], rows: LabelledRows
) -> EditedRows[AnySample]:
    """The training and calibration rows among those of fit, by the key that the model keeps."""
    model = kind.model
    draw, calibration = model.provenance.draw or Draw(), None
    if draw.calibration is not None:
        units = rows.units
        inside = draw.calibration.mask(int(units.max(initial=-1)) + 1)[units]
        reader = model
        if model.reading.handle_unknown == "error":
            reader = replace(model, reading=replace(model.reading, handle_unknown="other"))
        calibration = kind.read(reader, rows.part(inside))
        if rows.groups is not None:
            chosen = np.zeros(calibration.n_rows, dtype=bool)
            chosen[one_of_each(units[inside], draw.calibration.key)] = True
            calibration = kind.part(calibration, chosen)
        rows = rows.part(~inside)
    sample = kind.training_rows(kind.read(model, rows), draw.validation)
    numbers = rows.row_numbers if draw.validation is None else None
    return EditedRows(sample, numbers, calibration=calibration)


def _record(kind: TargetKind[Any, Any, Any], hashes: NDArray[np.uint64] | None) -> RowRecord | None:
    """The record of the model with the test rows: showing figures of them spends them."""
    record: RowRecord | None = kind.model.provenance.row_record
    return None if record is None else record.with_rows("validation", hashes)


def _are(
    kind: TargetKind[Any, Any, Any], role: Role, hashes: NDArray[np.uint64] | None, rows: int
) -> bool:
    """Return True if fit used rows in this role."""
    record: RowRecord | None = kind.model.provenance.row_record
    return record is not None and role in {some.role for some in record.compare(hashes, rows).used}
