"""The rows of an editor: those the tree was trained on, test rows, and rows that fit held out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.validation import invalid
from treebound.certificate.held_out import LabelledRows, draw_apart
from treebound.certificate.row_record import Role, RowRecord
from treebound.data import Column, Sample, learn_matrix
from treebound.data.frames import read_table
from treebound.model import Model
from treebound.pruning import make_pruner
from treebound.pruning.base import BasePruner
from treebound.tree.recoding import recoded

_OTHER_ROWS = (
    "Editing needs the rows that the tree was trained on, with their weights. {why} "
    "Hint: give the X, y and sample_weight of fit."
)


@dataclass(frozen=True, eq=False)
class EditedRows:
    """The rows of an editor."""

    sample: Sample  # the training rows
    numbers: NDArray[np.intp] | None  # theirs in the table; None if the pruner kept rows back
    test: Sample | None = None  # each row counted once
    aside: Sample | None = None  # held out by fit: nothing is computed from them while editing
    record: RowRecord | None = None  # that of the model with the test rows
    were_held_out: bool = False  # whether the test rows are rows that fit held out


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
    chosen = {name: model.parameters[name] for name in kinds if name in model.parameters}
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


def read_rows(model: Model, X: Any, y: Any, test: Any, sample_weight: Any) -> EditedRows:
    """Read the rows of an editor; other rows than those of fit are refused."""
    rows = LabelledRows.of(read_table(X), y, sample_weight)
    _check_known(model, rows)
    trained = next(_trained(model, rows), None)
    if trained is None:
        tree = model.tree
        why = (
            f"The tree was counted on {int(tree.rows[0]):,} rows and has other counts than these "
            f"{len(rows.numbers):,} give."
        )
        raise ValueError(_OTHER_ROWS.format(why=why))
    if test is None:
        return replace(trained, record=model.rows)
    sample = _read_test(model, test)
    were_held_out = _are(model, "calibration", test)
    return replace(trained, test=sample, record=_record(model, test), were_held_out=were_held_out)


def _check_known(model: Model, rows: LabelledRows) -> None:
    """Refuse rows that the record of the model does not know."""
    if model.rows is None:
        return
    hashes = model.hashes(*rows.part(rows.numbers)[:2])
    comparable, unknown = (0, 0) if hashes is None else model.rows.unknown(hashes)
    if unknown:
        why = f"{unknown:,} of the {comparable:,} rows that can be compared are not among them."
        raise ValueError(_OTHER_ROWS.format(why=why))


def _trained(model: Model, rows: LabelledRows) -> Iterator[EditedRows]:
    """The training rows among those of fit: each way that gives the counts of the tree."""
    for fold in _folds(model, len(rows.numbers)):
        numbers, aside = np.delete(rows.numbers, fold), None
        sample = model.read_sample(*rows.part(numbers), whole=True)
        if len(fold):
            reader = (
                replace(model, handle_unknown="other") if model.handle_unknown == "error" else model
            )
            aside = reader.read_sample(*rows.part(rows.numbers[fold]), whole=True)
        for kept in (sample, _without_validation(model, sample)):
            if kept is not None and _counts_agree(model, kept):
                yield EditedRows(kept, numbers if kept is sample else None, aside=aside)


def _folds(model: Model, m: int) -> list[NDArray[np.intp]]:
    """The places of the rows that fit may have held out, drawn again."""
    if model.held_out is None:
        return [np.empty(0, dtype=np.intp)]
    seed = model.parameters.get("random_state")
    if seed is None:
        raise ValueError(
            "The rows that fit held out cannot be drawn again: the classifier was fitted with "
            "random_state=None. Hint: fit it with a number."
        )
    return draw_apart(m, seed, in_folds=model.held_out.folds > 1)


def _without_validation(model: Model, sample: Sample) -> Sample | None:
    """The rows without those that the pruner of fit kept back; None if it kept none."""
    pruner = make_pruner(model.parameters.get("pruning"))
    if not isinstance(pruner, BasePruner):
        return None
    kept, validation = pruner.hold_out(sample)
    return None if validation is None else kept


def _counts_agree(model: Model, sample: Sample) -> bool:
    """Whether the rows give the counts of the tree; a tree without counts agrees with all."""
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
    if model.rows is None:
        return None
    return model.rows.with_rows("validation", model.hashes(*test))


def _are(model: Model, role: Role, rows: tuple[Any, Any]) -> bool:
    """Return True if fit used rows in this role."""
    if model.rows is None:
        return False
    used = model.rows.compare(model.hashes(*rows), len(rows[1])).used
    return role in {own.role for own in used}
