"""What a model does on labelled rows, in figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treebound.data.targets import read_classes

if TYPE_CHECKING:
    from treebound.data.files import RawTable
    from treebound.model import Model

__all__ = ["figures_of", "quality_line", "quality_words"]

_BINS = 10  # of the calibration


def figures_of(model: Model, rows: RawTable) -> dict[str, Any]:
    """All that is said of a test set."""
    tree = model.tree
    truth, nodes = read_classes(rows.labels(), model.classes), model.apply(rows.table())
    answer, n = tree.label[nodes], tree.n_classes
    table = np.bincount(truth * n + answer, minlength=n * n).reshape(n, n)
    right, asked, given = table.diagonal(), table.sum(axis=1), table.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        recall, precision = right / asked, right / given
        f1 = 2 * right / (asked + given)
        shares = model.node_probabilities[nodes, truth]
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
        **quality(truth, model.node_probabilities[nodes], answer),
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


def quality(
    truth: NDArray[np.int32], shares: NDArray[np.float64], answer: NDArray[np.int32]
) -> dict[str, Any]:
    """Balanced accuracy, AUC, Brier score and calibration of answers with probabilities."""
    present = np.unique(truth)
    recalls = [float((answer[truth == k] == k).mean()) for k in present.tolist()]
    hit = np.zeros_like(shares)
    hit[np.arange(len(truth)), truth] = 1.0
    top = shares.max(axis=1)
    part = np.minimum((top * _BINS).astype(np.int64), _BINS - 1)
    right = answer == truth
    return {
        "balanced_accuracy": float(np.mean(recalls)),
        "auc": _auc(truth, shares, present),
        "brier": float(((shares - hit) ** 2).sum(axis=1).mean()),
        "calibration": [
            {
                "rows": int((part == at).sum()),
                "probability": float(top[part == at].mean()),
                "right": float(right[part == at].mean()),
            }
            for at in np.unique(part).tolist()
        ],
    }


def _auc(
    truth: NDArray[np.int32], shares: NDArray[np.float64], present: NDArray[np.int32]
) -> float | None:
    """Area under the curve of each class against the others, on average; None for one class."""
    if len(present) < 2:
        return None
    from scipy.stats import rankdata

    areas = []
    for k in present.tolist() if shares.shape[1] > 2 else [1]:
        of_class = truth == k
        n = int(of_class.sum())
        ranks = float(rankdata(shares[:, k])[of_class].sum())
        areas.append((ranks - n * (n + 1) / 2) / (n * (len(truth) - n)))
    return float(np.mean(areas))


def quality_line(truths: list[NDArray[np.int32]], shares: list[NDArray[np.float64]]) -> str:
    """The quality of probabilities on some folds, in one line."""
    truth, chances = np.concatenate(truths), np.concatenate(shares)
    found = quality(truth, chances, chances.argmax(axis=1).astype(np.int32))
    loss = float(-np.log(chances[np.arange(len(truth)), truth]).mean())
    return quality_words({**found, "log_loss": loss if np.isfinite(loss) else None})


def quality_words(figures: dict[str, Any]) -> str:
    """Balanced accuracy, AUC, log-loss and Brier score, in words."""
    names = {"balanced_accuracy": "Balanced accuracy", "auc": "AUC", "log_loss": "log-loss",
             "brier": "Brier score"}  # fmt: skip
    parts = [
        f"{word} {figures[name]:.3f}" for name, word in names.items() if figures[name] is not None
    ]
    return ", ".join(parts) + "."
