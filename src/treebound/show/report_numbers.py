"""The data of the report on a regression tree, as plain values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

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
from treebound.show.report_words import Tile
from treebound.show.words import count, rounded
from treebound.tree.recoding import listed_columns
from treebound.tree.regression import RegressionTree
from treebound.tree.split import one_line

_COVERAGE = 0.9


class _NumberStore(NodeStore[RegressionModel]):
    """The nodes of regression trees."""

    def stats_of(self, tree: RegressionTree) -> list[tuple[Any, ...]]:
        """Rows, a label and weight like those of one class, then value, error and interval."""
        scale = float(tree.deviation[0])
        error = tree.squares + tree.weight * (tree.mean - tree.value) ** 2
        intervals: list[str | None] = [None] * tree.n_nodes
        model = self.model
        if model.estimate is not None and np.array_equal(tree.value, model.tree.value):
            ends = model.node_intervals(_COVERAGE).tolist()
            intervals = [" to ".join(rounded(end, scale) for end in pair) for pair in ends]
        return [
            (
                int(tree.rows[node]), 0, (float(tree.weight[node]),), (1.0,),
                rounded(float(tree.value[node]), scale), float(tree.value[node]),
                float(tree.squares[node]), float(error[node]), *value_tint(tree, node),
                intervals[node],
            )
            for node in range(tree.n_nodes)
        ]  # fmt: skip

    def _baseline(self) -> str:
        """The RMSE of always predicting the mean, as in the estimate of the fitted tree."""
        estimate = self.model.estimate
        rmse = float(self.model.tree.deviation[0]) if estimate is None else estimate.baseline_rmse
        return f"baseline {rmse:.4g} (always the mean)"

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
                "root": store.add(one.tree, one.swapped),
                "step": at,
                "leaves": one.tree.n_leaves,
                **store.head(one),
                "cost": None,
                "estimated": _estimated(one),
                "score": score if math.isfinite(score) else None,
                "certificate": None,
                "certified": [],
                "test": None,
                "quality": None,
            }
        )
    start = start_of(store.add(tree, model.swapped), steps, chosen)
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
        "reason": "",
        "abstention": None,
        "abstains": None,
        "handle_unknown": model.reading.handle_unknown,
        "factors": None,
        "choice": None,
        "criterion": "squared error",
        "settings": [],
        "rules": [],
        "edits": [one_line(edit) for edit in model.provenance.edits],
        "made_by": f"treebound {__version__}",
    }


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


def _training_rmse(tree: RegressionTree) -> float:
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
            Tile("Mean absolute error", str(estimate.mae), f"baseline {estimate.baseline_mae:.4g}"),
            Tile(
                "R²", f"{r2.value:.2f} ± {r2.standard_error:.2f}", "share of the variance explained"
            ),
        ]
    elif size is not None:
        errors = [Tile("Estimated RMSE", f"{size.rmse:.4g}", baseline)]
    else:
        errors = [Tile("Training RMSE", f"{_training_rmse(tree):.4g}", baseline)]
    return [
        *errors,
        Tile("Leaves", count(tree.n_leaves), f"depth {tree.depth}"),
        Tile("Rows", count(int(tree.rows[0])), "used for training"),
    ]
