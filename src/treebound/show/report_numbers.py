"""The data of the report on a regression tree, as plain values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from treebound._utils.quantities import quantity
from treebound._utils.versions import __version__
from treebound.data import Matrix
from treebound.model import RegressionModel
from treebound.show.colours import value_tint
from treebound.show.report_data import (
    NodeStore,
    column_data,
    described_columns,
    picked_steps,
    start_of,
)
from treebound.show.report_words import Tile, rows_of_fit, settings, without_hint
from treebound.show.words import count, rounded, rules_in_words
from treebound.tree.recoding import listed_columns
from treebound.tree.regression import RegressionTree
from treebound.tree.split import one_line

_COVERAGE = 0.9
_MAX_POINTS = 300  # of a plot of residuals


class _NumberStore(NodeStore[RegressionModel]):
    """The nodes of regression trees."""

    _ends: list[tuple[float, float]] | None = None  # the intervals of the tree that is added

    def add_model(self, model: RegressionModel) -> int:
        """Add the tree of a model with its intervals; return the number of its root."""
        self._ends = model.node_intervals(_COVERAGE).tolist() if model.has_intervals else None
        return self.add(model.tree, model.swapped)

    def stats_of(self, tree: RegressionTree) -> list[tuple[Any, ...]]:
        """Rows, a label and weight like those of one class, then figures of the value.

        These are the value as text and as number, squares about the mean, squared error, colour and
        its opacity, the interval as text, the mean, and the ends of the interval or null.
        """
        scale = float(tree.deviation[0])
        error = tree.squares + tree.weight * (tree.mean - tree.value) ** 2
        intervals: list[str | None] = [None] * tree.n_nodes
        ends: list[list[float | None]] = [[None, None]] * tree.n_nodes
        if self._ends is not None:
            intervals = [" to ".join(rounded(end, scale) for end in pair) for pair in self._ends]
            ends = [[*pair] for pair in self._ends]
        return [
            (
                int(tree.rows[node]), 0, (float(tree.weight[node]),), (1.0,),
                rounded(float(tree.value[node]), scale), float(tree.value[node]),
                float(tree.squares[node]), float(error[node]), *value_tint(tree, node),
                intervals[node], float(tree.mean[node]), *ends[node],
            )
            for node in range(tree.n_nodes)
        ]  # fmt: skip

    def _baseline(self) -> str:
        """The RMSE of always predicting the mean, as in the estimate of the fitted tree."""
        estimate = self.model.estimate
        rmse = float(self.model.tree.deviation[0]) if estimate is None else estimate.baseline_rmse
        return f"baseline {quantity(rmse)} (always the mean)"

    def head(self, model: RegressionModel) -> dict[str, Any]:
        """The first sentence about a model and its first figures, as numbers of lines."""
        (first,) = self.numbers_of([_headline(model)])
        tiles = _tiles(model, self._baseline())
        return {"headline": first, "tiles": [self.numbers_of(tile) for tile in tiles]}


def number_report_data(
    model: RegressionModel, max_steps: int, rows: Matrix | None = None
) -> dict[str, Any]:
    """The data of the report on a regression tree, as read by ``report_model.js``."""
    tree, path = model.tree, model.path
    picked, chosen, last = [0], 0, 0
    shown = [model]
    if path is not None:
        picked, chosen, last = picked_steps(path, model.step, max_steps)
        fitted = int(path.chosen) if model.step is None else None
        shown = [model if at == fitted else model.prune_to(step=at) for at in picked]
    trees = [tree, *(one.tree for one in shown)]
    columns = listed_columns(tree.columns, trees, model.reading.handle_unknown)
    described = {} if rows is None else described_columns(rows, trees)
    store = _NumberStore(model, columns)
    steps = []
    for one, at in zip(shown, picked, strict=True):
        score = math.nan if path is None else float(path.scores[at])
        steps.append(
            {
                "root": store.add_model(one),
                "step": at,
                "leaves": one.tree.n_leaves,
                **store.head(one),
                "cost": None,
                "estimated": _estimated(one),
                "score": score if math.isfinite(score) else None,
                "certificate": None,
                "certified": store.numbers_of(_certified(one)),
                "residuals": _residuals(one),
                "test": None,
                "quality": None,
            }
        )
    start = start_of(store.add_model(model), steps, chosen)
    return {
        "kind": "numbers",
        "target": None if model.reading.target is None else one_line(model.reading.target),
        "classes": ["value"],
        "colours": ["#0072B2"],
        "columns": [
            {**column_data(column), **described.get(at, {})} for at, column in enumerate(columns)
        ],
        "weighted": tree.weighted,
        "stats": list(store.stats),
        "splits": store.splits,
        "nodes": list(store.nodes),
        "steps": steps,
        "alternatives": [],
        "start": start,
        "chosen": chosen,
        "last": last,
        "grown": model.grown.n_leaves,
        "frontier": False,
        "unit": "squared error",
        "estimate": _sizes(model),
        "limit": None if path is None or path.limit is None else int(path.limit),
        "lines": list(store.lines),
        "reason": without_hint(model.certificate_reason),
        "abstention": None,
        "abstains": None,
        "handle_unknown": model.reading.handle_unknown,
        "factors": None,
        "choice": None,
        "criterion": "squared error",
        "fit_rows": rows_of_fit(model),
        "settings": settings(model),
        "rules": rules_in_words(model.options, tree),
        "edits": [one_line(edit) for edit in model.provenance.edits],
        "made_by": f"treebound {__version__}",
    }


def _certified(model: RegressionModel) -> list[str]:
    """The certificate of a model, in lines."""
    return [] if model.certificate is None else str(model.certificate).split("\n")


def _residuals(model: RegressionModel) -> dict[str, Any] | None:
    """Predictions and residuals of rows the tree was not grown on; None if there are none."""
    pairs, role = model.unseen_predictions
    if not len(pairs):
        return None
    total = len(pairs)
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    pairs = pairs[np.linspace(0, total - 1, min(total, _MAX_POINTS)).round().astype(np.intp)]
    points = [[float(f"{p:.6g}"), float(f"{y - p:.6g}")] for p, y in pairs.tolist()]
    estimate = model.estimate
    rows = estimate.rows if estimate is not None and "calibration" not in role else total
    return {"role": role, "rows": rows, "points": points}


def _sizes(model: RegressionModel) -> dict[str, Any] | None:
    """The estimated errors of other sizes; None if there is no estimate."""
    if model.estimate is None:
        return None
    sizes = model.evidence.sizes
    return {"sizes": [[size.leaves, size.rmse, size.difference] for size in sizes]}


def _estimated(model: RegressionModel) -> float | None:
    """The estimated RMSE; None if the size was not estimated."""
    if model.estimate is not None:
        return model.estimate.rmse.value
    size = model.size_estimate
    return None if size is None else size.rmse


def training_rmse(tree: RegressionTree) -> float:
    """Return the root mean squared error on the training rows."""
    leaves = tree.leaves
    error = tree.squares + tree.weight * (tree.mean - tree.value) ** 2
    return float(np.sqrt(error[leaves].sum() / (float(tree.weight[0]) or 1.0)))


def _headline(model: RegressionModel) -> str:
    """The sentence that the report begins with."""
    certified = model.certificate
    lines = [] if model.estimate is None else [str(model.estimate)]
    lines += [] if certified is None else [str(certified).split("\n")[0]]
    return " ".join(lines) or model.summary().split("\n")[0]


def _tiles(model: RegressionModel, baseline: str) -> list[Tile]:
    """The first figures of a model: its error, its leaves and its rows."""
    tree, estimate, size = model.tree, model.estimate, model.size_estimate
    if estimate is not None:
        r2 = estimate.r2
        errors = [
            Tile("Estimated RMSE", str(estimate.rmse), baseline),
            Tile(
                "Mean absolute error",
                str(estimate.mae),
                f"baseline {quantity(estimate.baseline_mae)}",
            ),
            Tile(
                "R²", f"{r2.value:.2f} ± {r2.standard_error:.2f}", "share of the variance explained"
            ),
        ]
    elif size is not None:
        errors = [Tile("Estimated RMSE", quantity(size.rmse), baseline)]
    else:
        errors = [Tile("Training RMSE", quantity(training_rmse(tree)), baseline)]
    return [
        *errors,
        Tile("Leaves", count(tree.n_leaves), f"depth {tree.depth}"),
        Tile("Rows", count(int(tree.rows[0])), "used for training"),
    ]
