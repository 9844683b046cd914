"""What a model does on labelled rows, in figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treebound.data import Sample
from treebound.data.targets import read_classes
from treebound.tree.smoothing import probabilities

if TYPE_CHECKING:
    from treebound.classifier.model import TreeModel
    from treebound.data.files import RawTable

__all__ = ["are_training_rows", "figures_of", "truth_and_nodes"]


def truth_and_nodes(
    model: TreeModel, rows: RawTable
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    return read_classes(rows.labels(), model.tree_.classes), model.apply(rows.table())


def are_training_rows(model: TreeModel, rows: RawTable) -> bool:
    """Whether a table has, in every leaf, as many rows of each class as the model was fitted to."""
    tree = model.tree_
    sample = Sample.read(
        rows.table(), rows.labels(), columns=tree.columns, classes=tree.classes, named=True
    )
    counts, reached = tree.counts_on(sample)
    if tree.weighted:
        return bool(np.array_equal(reached, tree.rows))
    return bool(np.array_equal(counts, tree.counts))


def figures_of(model: TreeModel, rows: RawTable) -> dict[str, Any]:
    """All that is said of a test set."""
    tree = model.tree_
    truth, nodes = truth_and_nodes(model, rows)
    answer, n = tree.label[nodes], tree.n_classes
    table = np.bincount(truth * n + answer, minlength=n * n).reshape(n, n)
    right, asked, given = table.diagonal(), table.sum(axis=1), table.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        recall, precision = right / asked, right / given
        f1 = 2 * right / (asked + given)
        shares = probabilities(tree.counts, model.smoothing)[nodes, truth]
        log_loss = float(-np.log(shares).mean())
    most = int(np.argmax(tree.counts[0]))  # the commonest class in training
    errors = int(len(truth) - right.sum())
    labels = tree.classes.tolist()
    return {
        "rows": len(truth),
        "errors": errors,
        "error": errors / len(truth),
        "majority": labels[most],
        "majority_error": 1.0 - float(asked[most]) / len(truth),
        "log_loss": log_loss if np.isfinite(log_loss) else None,
        "classes": labels,
        "rows_of_class": asked.tolist(),
        "precision": _shares(precision),
        "recall": _shares(recall),
        "f1": _shares(f1),
        "confusion": table.tolist(),
    }


def _shares(values: NDArray[np.float64]) -> list[float | None]:
    """Shares; None where there is nothing to take a share of."""
    return [None if np.isnan(value) else float(value) for value in values]
