"""Figures of a model on labelled rows: errors, recall, quality of probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.extras import require
from treebound.show.display import CHOSEN, LINE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from treebound.model import Model
    from treebound.model.rows import Tested
    from treebound.tree import Tree

_BINS = 10  # of the calibration


def figures_of(model: Model, tested: Tested) -> dict[str, Any]:
    """All figures of a test set."""
    tree, counts = model.tree, tested.counts
    table = confusion(tree, counts)
    right, actual, predicted = table.diagonal(), table.sum(axis=1), table.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        recall, precision = right / actual, right / predicted
        f1 = 2 * right / (actual + predicted)
    most = int(np.argmax(tree.counts[0]))  # the commonest class in training
    rows = int(counts.sum())
    errors = rows - int(right.sum())
    labels = tree.classes.tolist()
    return {
        "rows": rows,
        "errors": errors,
        "error": errors / rows,
        "majority": labels[most],
        "majority_error": 1.0 - float(actual[most]) / rows,
        **quality_at(model, counts),
        "classes": labels,
        "rows_of_class": actual.tolist(),
        "precision": _shares(precision),
        "recall": _shares(recall),
        "f1": _shares(f1),
        "confusion": table.tolist(),
    }


def confusion(tree: Tree, counts: NDArray[Any]) -> NDArray[Any]:
    """Confusion matrix, from the rows of each class that end at each node."""
    table = np.zeros((tree.n_classes, tree.n_classes), dtype=counts.dtype)
    np.add.at(table.T, tree.label, counts)
    return table


def quality_at(model: Model, counts: NDArray[np.int64]) -> dict[str, Any]:
    """Quality of predictions and probabilities, from the rows of each class at each node."""
    node, truth = np.nonzero(counts)  # rows that are alike count once, with their number
    shares, prediction = model.node_probabilities[node], model.tree.label[node]
    return quality(truth, shares, prediction, counts[node, truth].astype(np.float64))


def _shares(values: NDArray[np.float64]) -> list[float | None]:
    """Shares; None if there are no rows."""
    return [None if np.isnan(value) else float(value) for value in values]


def quality(
    truth: NDArray[np.integer[Any]],
    shares: NDArray[np.float64],
    prediction: NDArray[np.integer[Any]],
    rows: NDArray[np.float64],
) -> dict[str, Any]:
    """Quality of predictions and their probabilities, each for a number of ``rows``."""
    present, right = np.unique(truth), prediction == truth
    recalls = [float(np.average(right[truth == k], weights=rows[truth == k])) for k in present]
    hit = np.zeros_like(shares)
    hit[np.arange(len(truth)), truth] = 1.0
    top = shares.max(axis=1)
    part = np.minimum((top * _BINS).astype(np.int64), _BINS - 1)
    with np.errstate(divide="ignore"):
        log_loss = float(-np.average(np.log(shares[np.arange(len(truth)), truth]), weights=rows))
    return {
        "log_loss": log_loss if np.isfinite(log_loss) else None,
        "balanced_accuracy": float(np.mean(recalls)),
        "auc": _auc(truth, shares, rows, present),
        "brier": _brier(shares, hit, rows),
        "calibration": [
            {
                "rows": int(rows[part == at].sum()),
                "probability": float(np.average(top[part == at], weights=rows[part == at])),
                "right": float(np.average(right[part == at], weights=rows[part == at])),
            }
            for at in np.unique(part).tolist()
        ],
    }


def _brier(
    shares: NDArray[np.float64], hit: NDArray[np.float64], rows: NDArray[np.float64]
) -> float:
    """The Brier score as scikit-learn defines it: of two classes, that of the second one."""
    squares = (shares - hit) ** 2
    each = squares[:, 1] if shares.shape[1] == 2 else squares.sum(axis=1)
    return float(np.average(each, weights=rows))


def _auc(
    truth: NDArray[np.integer[Any]],
    shares: NDArray[np.float64],
    rows: NDArray[np.float64],
    present: NDArray[np.integer[Any]],
) -> float | None:
    """Area under the curve of each class against the others, on average; None for one class."""
    if len(present) < 2:
        return None
    from sklearn.metrics import roc_auc_score

    areas = []
    for k in present.tolist() if shares.shape[1] > 2 else [1]:
        areas.append(roc_auc_score(truth == k, shares[:, k], sample_weight=rows))
    return float(np.mean(areas))


def quality_line(truths: list[NDArray[np.int32]], shares: list[NDArray[np.float64]]) -> str:
    """The quality of probabilities on some folds, in one line."""
    truth, chances = np.concatenate(truths), np.concatenate(shares)
    return quality_words(quality(truth, chances, chances.argmax(axis=1), np.ones(len(truth))))


def quality_words(figures: dict[str, Any]) -> str:
    """Balanced accuracy, AUC, log-loss and Brier score, in words."""
    names = {"balanced_accuracy": "Balanced accuracy", "auc": "AUC", "log_loss": "log-loss",
             "brier": "Brier score"}  # fmt: skip
    parts = [
        f"{word} {figures[name]:.3f}" for name, word in names.items() if figures[name] is not None
    ]
    return ", ".join(parts) + "."


def calibration_plot(figures: dict[str, Any]) -> Figure:
    """Plot the share of correct predictions against their probability."""
    pyplot = require("matplotlib.pyplot", extra="plot", why="A plot of the calibration")
    figure: Figure = pyplot.figure(layout="constrained", figsize=(5.0, 5.0))
    ax = figure.subplots()
    parts = figures["calibration"]
    chances, right = ([part[name] for part in parts] for name in ("probability", "right"))
    ax.plot([0, 1], [0, 1], color=CHOSEN, ls=":", label="perfect calibration")
    ax.plot(chances, right, marker="o", color=LINE, label="this tree")
    for part in parts:
        place = (part["probability"], part["right"])
        ax.annotate(f"{part['rows']:,}", place, (4, -12), textcoords="offset points", fontsize=8)
    ax.set(xlabel="probability of the predicted class", ylabel="share of correct predictions",
           xlim=(0, 1.02), ylim=(0, 1.02))  # fmt: skip
    ax.legend(frameon=False)
    return figure
