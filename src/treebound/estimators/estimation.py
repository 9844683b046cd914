"""The estimated error of a fitted model, from folds or validation rows."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from treebound.certificate.held_out import counts_at
from treebound.data import Sample
from treebound.data.sample import LabelledRows
from treebound.data.weights import is_whole
from treebound.model import Model
from treebound.model.parameters import FitParameters, listed_folds
from treebound.model.regression_parameters import RegressionParameters
from treebound.pruning import BoundPruner, Pruner
from treebound.pruning.estimate import (
    Estimate,
    FoldPrediction,
    estimate_by_counts,
    estimate_error,
    sizes_of_interest,
)
from treebound.tree.model import Tree
from treebound.tree.node_sums import NodeSums

_P = TypeVar("_P", FitParameters, RegressionParameters)


def shares_folds(parameters: FitParameters, pruner: Pruner | None) -> bool:
    """Return True if the trees of the folds that choose the weight also give the estimate."""
    return parameters.cv is not None and isinstance(pruner, BoundPruner) and pruner.has_weight


def with_places(parameters: _P, rows: LabelledRows) -> _P:
    """The parameters with listed folds by the places of rows of positive weight."""
    name = listed_folds(parameters)
    if not name or rows.numbers is None:
        return parameters
    place = {int(number): at for at, number in enumerate(rows.row_numbers)}

    def placed(folds: Any) -> list[tuple[NDArray[Any], ...]]:
        return [
            tuple(np.array([place[row] for row in map(int, part) if row in place]) for part in fold)
            for fold in folds
        ]

    changed: Any
    if name == "cv":
        changed = placed(parameters.cv)
    else:
        pruner: Any = parameters.pruning
        changed = copy(pruner).set_params(folds=placed(pruner.folds))
    copied: _P = copy(parameters).set_params(**{name: changed})
    return copied


def prediction_of(model: Model, rows: Sample) -> FoldPrediction:
    """The predictions of a model for rows that it was fitted without."""
    has_sizes = model.path is not None or model.evidence.frontier is not None
    of_size = partial(_predicted, model, rows) if has_sizes else None
    return FoldPrediction(rows, model.tree.label[model.tree.apply(rows.X)], of_size)


def with_estimate(model: Model, predictions: Iterable[FoldPrediction], k: int) -> Model:
    """The model with the estimate from trees that were fitted without each of k folds."""
    costs, balanced = _losses(model)
    estimate = estimate_error(
        predictions,
        model.classes,
        chosen=model.tree.n_leaves,
        sizes=_sizes(model),
        method=f"{k}-fold cross-validation",
        folds=k,
        costs=costs,
        balanced=balanced,
    )
    return _with(model, estimate, "there are too few rows for folds")


def with_validation_estimate(model: Model, validation: Sample | NodeSums) -> Model:
    """The model with the estimate from the rows that chose its size."""
    path = model.path
    assert path is not None
    counts = _row_counts(path.first, validation)
    if counts is None:
        return without_estimate(model, "the validation rows have fractional weights")
    costs, balanced = _losses(model)
    at_sizes = []
    for size in _sizes(model):
        longer, step = path.reaching(size)
        table = counts_at(longer, step, counts)
        if table is not None:
            at_sizes.append((size, table, longer.tree(step)))
    table = counts_at(path, path.chosen, counts)
    if table is None:
        return model
    estimate = estimate_by_counts(
        table, model.tree, at_sizes, method="validation rows", costs=costs, balanced=balanced
    )
    return _with(model, estimate, "there are no validation rows")


def without_estimate(model: Model, reason: str) -> Model:
    """The model with the reason why it has no estimate, unless it has one."""
    if model.evidence.no_estimate:
        return model
    return replace(model, evidence=replace(model.evidence, no_estimate=reason))


def _with(model: Model, estimate: Estimate | None, otherwise: str) -> Model:
    if estimate is None:
        return without_estimate(model, otherwise)
    return replace(model, evidence=replace(model.evidence, estimate=estimate, no_estimate=""))


def _row_counts(tree: Tree, rows: Sample | NodeSums) -> NDArray[np.int64] | None:
    """Rows of each class at each node; None if only fractional weights are known."""
    if isinstance(rows, Sample):
        counted = rows if is_whole(rows.weight) else replace(rows, weight=None)
        rows = NodeSums.of(tree, counted)
    if not np.array_equal(rows.weights, rows.squares):
        return None
    return np.rint(rows.weights).astype(np.int64)


def _sizes(model: Model) -> tuple[int, ...]:
    """The sizes whose error is estimated: those of trees that ``prune_to`` gives."""
    chosen, frontier = model.tree.n_leaves, model.evidence.frontier
    if frontier is not None:
        largest = max(certified.leaves for certified in frontier)
    elif model.path is not None:
        largest = int(model.path.leaves.max())
    else:
        return (chosen,)
    wanted = [size for size in sizes_of_interest(chosen, largest) if size != chosen]
    if model.path is not None and frontier is None:
        reachable = {model.path.offered_size(size) for size in wanted}
    else:
        reachable = {model.prune_to(size).tree.n_leaves for size in wanted}
    return tuple(sorted({chosen, *reachable}))


def _losses(model: Model) -> tuple[NDArray[np.float64] | None, bool]:
    """The costs of the model, and True if classes have weights."""
    return model.costs, model.tree.factors is not None


def _predicted(model: Model, rows: Sample, leaves: int) -> NDArray[np.int32]:
    """The classes that the tree of at most so many leaves predicts."""
    tree = model.prune_to(leaves).tree
    return tree.label[tree.apply(rows.X)]
