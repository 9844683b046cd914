"""Conversion from and to scikit-learn's regression trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from treebound._utils.validation import InWords, invalid
from treebound.data import Column, Matrix, read_matrix
from treebound.data.numbers import read_numbers
from treebound.data.numeric_target import NumericTarget
from treebound.data.sample import LabelledRows
from treebound.exchange.indicators import Indicators
from treebound.exchange.sklearn_arrays import (
    check_no_nominal,
    sklearn_table,
    split_arrays,
    with_tree,
)
from treebound.model import RegressionModel
from treebound.tree.regression import RegressionTree


def tree_of_regressor(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> RegressionTree:
    """Return the tree of a fitted ``DecisionTreeRegressor``, with the moments of the given rows."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    if estimator.n_outputs_ != 1:
        outputs, hint = InWords(f"{estimator.n_outputs_} outputs"), "fit one tree for each output."
        raise invalid("estimator", "from_sklearn", "a tree of one output", outputs, hint)
    names = vars(estimator).get("feature_names_in_")
    labels = [f"x{i}" for i in range(estimator.n_features_in_)] if names is None else names
    columns = tuple(Column(str(name)) for name in labels)
    order, splits = split_arrays(estimator.tree_)
    value = estimator.tree_.value[order, 0, 0]
    bare = RegressionTree(
        **splits,
        moments=np.zeros((len(order), 3)),
        rows=np.zeros(len(order), dtype=np.int64),
        columns=columns,
    )
    matrix, target = _rows(columns, names is not None, X, y, sample_weight)
    return bare.recounted(matrix, target).with_values(value)


def _rows(
    columns: tuple[Column, ...], named: bool, X: Any, y: Any, sample_weight: Any
) -> tuple[Matrix, NumericTarget]:
    """Read rows as scikit-learn does; those of weight zero do not count."""
    table = sklearn_table(X, [column.name for column in columns] if named else ())
    numbers = read_numbers(y)
    rows = LabelledRows.of(table, np.zeros(len(numbers), dtype=int), sample_weight)
    matrix = read_matrix(rows.table, columns, named=named)
    return matrix, NumericTarget.of(numbers[rows.row_numbers], rows.weight)


def to_regressor(model: RegressionModel, *, like: Any, indicators: bool) -> Any:
    """Return a fitted ``DecisionTreeRegressor`` with the splits and numbers of a tree."""
    from sklearn.base import clone
    from sklearn.tree import DecisionTreeRegressor

    tree = Indicators(model).tree if indicators else model.tree
    assert isinstance(tree, RegressionTree)
    check_no_nominal(tree)
    estimator = DecisionTreeRegressor() if like is None else clone(like)
    weight = np.maximum(tree.weight, np.finfo(float).tiny)
    return with_tree(
        estimator,
        tree,
        tree.value[:, None],
        tree.squares / weight,
        named=model.has_names or indicators,
    )
