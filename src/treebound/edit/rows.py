"""The rows of an editor: those the tree was trained on, test rows, and rows that fit held out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.certificate import HeldOut, RowRecord
from treebound.certificate.held_out import drawn_apart
from treebound.data import Sample
from treebound.data.frames import read_table
from treebound.data.sample import same_length
from treebound.data.targets import learn_classes
from treebound.data.weights import row_weights
from treebound.growing.naming import naming_rows
from treebound.model import Model

__all__ = ["EditedRows", "read_rows"]

_OTHER_ROWS = (
    "Editing needs the rows that the tree was trained on, with their weights. {found} "
    "Hint: give the X, y and sample_weight of fit."
)
_SPENT = (
    "The {rows} were looked at before the edits ended, so they promise nothing about the edited "
    "tree. Hint: certify it with rows that took no part."
)


@dataclass(frozen=True, eq=False)
class EditedRows:
    """The rows of an editor.

    Attributes
    ----------
    sample : Sample
        The training rows.
    numbers : ndarray of int
        The number of each training row in the table.
    in_order : bool
        Whether the rows stand in the order they were fitted in.
    test : Sample or None
        Test rows, each counted once.
    aside : Sample or None
        The rows that fit held out; nothing is computed from them while the tree is edited.
    record : RowRecord or None
        The record of the model with the test rows.
    spent : str
        Why rows that were held out promise nothing any more; empty if they do.
    """

    sample: Sample
    numbers: NDArray[np.intp]
    in_order: bool
    test: Sample | None
    aside: Sample | None
    record: RowRecord | None
    spent: str


def read_rows(model: Model, X: Any, y: Any, test: Any, sample_weight: Any) -> EditedRows:
    """Read the rows of an editor; other rows than those of fit are refused."""
    table, (classes, codes) = read_table(X), learn_classes(y)
    same_length(table.shape[0], len(codes))
    labels = classes[codes]
    weight = row_weights(sample_weight, len(codes))
    rows = np.arange(len(codes)) if weight is None else np.flatnonzero(weight)
    _check_known(model, table, labels, rows)
    numbers, aside = rows, None
    if model.held_out is not None:
        numbers, apart = _apart(model, rows)
        reader = replace(model, unknown="other") if model.unknown == "error" else model
        aside = reader.read_sample(*_part(table, labels, None, apart), whole=True)
    sample = model.read_sample(*_part(table, labels, weight, numbers), whole=True)
    _check_counts(model, sample)
    names = model.tree.names
    record, spent = model.rows, ""
    if model.held_out is not None and "certificate" in vars(model):  # it was computed, and read
        spent = _SPENT.format(rows="rows that fit held out")
    tested = None
    if test is not None:
        tested, record = _read_test(model, test)
        if model.held_out is not None and _are(model, "held-out", test):
            spent = _SPENT.format(rows="rows that fit held out")
    return EditedRows(
        sample,
        numbers,
        names is None or np.array_equal(naming_rows(model.tree, sample), names),
        tested,
        aside,
        record,
        spent,
    )


def _part(table: Any, labels: Any, weight: Any, rows: NDArray[np.intp]) -> tuple[Any, Any, Any]:
    mask = np.zeros(len(labels), dtype=bool)
    mask[rows] = True
    return table.rows(mask), labels[mask], None if weight is None else weight[mask]


def _apart(model: Model, rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows that fit trained on and those that it held out, drawn again."""
    seed = model.parameters.get("random_state")
    if seed is None:
        raise ValueError(
            "The rows that fit held out cannot be drawn again: the classifier was fitted with "
            "random_state=None. Hint: fit it with a number."
        )
    training, apart = drawn_apart(rows, seed)
    return np.sort(training), np.sort(apart)


def _check_known(model: Model, table: Any, labels: Any, rows: NDArray[np.intp]) -> None:
    """Refuse rows that the record of the model does not know."""
    if model.rows is None:
        return
    part, kept, _ = _part(table, labels, None, rows)
    seen = model.rows.recognise(model.hashes(part, kept))
    if seen.matches < seen.comparable:
        found = (
            f"{seen.comparable - seen.matches:,} of the {seen.comparable:,} rows that can be "
            "compared are not among them."
        )
        raise ValueError(_OTHER_ROWS.format(found=found))


def _check_counts(model: Model, sample: Sample) -> None:
    """Refuse rows that do not give the counts of the tree."""
    tree = model.tree
    if not tree.counted:
        return
    again = tree.recounted(sample)
    same = np.array_equal(again.rows, tree.rows) and again.weighted == tree.weighted
    close = np.allclose(again.counts, tree.counts, rtol=1e-9, atol=1e-9 * sample.total)
    if not (same and close):
        found = (
            f"The tree has {int(tree.rows[0]):,} rows at its root and its nodes count other rows "
            f"than these {sample.n_rows:,}."
        )
        raise ValueError(_OTHER_ROWS.format(found=found))


def _read_test(model: Model, test: Any) -> tuple[Sample, RowRecord | None]:
    """The test rows, and the record with them: showing figures of them spends them."""
    if not (isinstance(test, tuple) and len(test) == 2):
        raise ValueError(
            f"The 'test' parameter of edit must be a pair (X, y). Got {type(test).__name__!r} "
            "instead."
        )
    if _are(model, "training", test):
        raise ValueError(
            "The 'test' rows of edit must not be rows that the tree was fitted on. Hint: their "
            "figures are the training error."
        )
    record = model.rows
    if record is not None:
        record = record.with_rows("validation", model.hashes(*test))
    return replace(model, class_factors=None).read_sample(*test, whole=True), record


def _are(model: Model, role: Any, rows: tuple[Any, Any]) -> bool:
    """Whether rows are some that fit used in this role."""
    if model.rows is None or role not in model.rows.sketches:
        return False
    own = RowRecord({role: model.rows.sketches[role]})
    return own.recognise(model.hashes(*rows)).significant


def counted_aside(aside: Sample, model: Model) -> HeldOut:
    """The results of an edited tree on the rows that fit held out."""
    return HeldOut.of(aside, model.tree, model.tree)
