"""Tables and nodes in the types of scikit-learn's trees, of classes and of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats
from treebound.data.frames import Table
from treebound.exchange.indicators import preorder
from treebound.tree.base import NO_SPLIT, BaseTree
from treebound.tree.split import SplitTest


def sklearn_table(X: Any, names: Sequence[str]) -> Table:
    """Return X as scikit-learn reads it: numbers, of a data frame the named columns it has."""
    if type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.size:
        return Table(None, X.shape, X)
    import narwhals as nw
    from sklearn.utils import check_array

    labels = None
    if nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        labels = tuple(name for name in names if name in frame.columns)
        X = frame.select(*labels).to_native() if labels else X
    matrix = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan", input_name="X")
    return Table(labels or None, matrix.shape, matrix)


def float64_threshold(threshold: Floats) -> Floats:
    """Return the greatest float64 whose float32 rounding is at most the threshold."""
    with np.errstate(over="ignore"):
        low = threshold.astype(np.float32)
        low = np.where(low > threshold, np.nextafter(low, np.float32(-np.inf)), low)
        high = np.nextafter(low, np.float32(np.inf))
        # Halfway between two float32 neighbours; check which of them it rounds to.
        half = low.astype(np.float64) / 2 + high.astype(np.float64) / 2
        half = np.where(half.astype(np.float32) <= threshold, half, np.nextafter(half, -np.inf))
    finite = np.isfinite(low) & np.isfinite(high)
    return np.where(finite, half, threshold)


def split_arrays(inner: Any) -> tuple[NDArray[np.intp], dict[str, Any]]:
    """Return the order of the nodes of a scikit-learn tree, and its splits in pre-order."""
    order, left, right = preorder(inner.children_left, inner.children_right)
    given = {
        "feature": inner.feature,
        "threshold": float64_threshold(inner.threshold),
        "category": np.full(inner.node_count, -1),
        "missing_left": inner.missing_go_to_left != 0,
    }
    leaf = left < 0
    splits = {
        name: np.where(leaf, NO_SPLIT[name], given[name][order]) for name in SplitTest._fields
    }
    return order, {**splits, "left": left, "right": right}


def with_tree(
    estimator: Any,
    tree: BaseTree,
    values: Floats,
    impurity: Floats,
    *,
    named: bool,
) -> Any:
    """Fit an estimator by hand: it gets the nodes of a tree, and a value per class or number."""
    make, state = _template()
    n_features = len(tree.columns)
    inner = make(n_features, np.array([values.shape[1]], dtype=np.intp), 1)
    inner.__setstate__(
        {
            **state,
            "max_depth": tree.depth,
            "node_count": tree.n_nodes,
            "nodes": _nodes(tree, state["nodes"].dtype, impurity),
            "values": np.ascontiguousarray(values[:, None, :]),
        }
    )
    estimator.n_features_in_ = n_features
    if named:
        names = [column.name for column in tree.columns]
        estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator.n_outputs_ = 1
    estimator.max_features_ = n_features
    estimator.tree_ = inner
    return estimator


def check_no_nominal(tree: BaseTree) -> None:
    """Raise a ValueError if a split is on a nominal column."""
    used = np.unique(tree.feature[~tree.is_leaf])
    nominal = [tree.columns[i].name for i in used if tree.columns[i].kind == "nominal"]
    if nominal:
        raise ValueError(
            f"A scikit-learn tree has no split 'x == category', as on column {nominal[0]!r}. "
            "Hint: to_sklearn(tree, indicators=True) makes a column of zeros and ones for each "
            "category."
        )


@cache
def _template() -> tuple[Any, dict[str, Any]]:
    """The constructor and the state of a tiny fitted tree, in the installed version's types."""
    from sklearn.tree import DecisionTreeClassifier

    make, _, state = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]).tree_.__reduce__()
    return make, state


def _nodes(tree: BaseTree, dtype: np.dtype[Any], impurity: Floats) -> NDArray[Any]:
    """The nodes, in the record type of the installed scikit-learn."""
    leaf = tree.is_leaf
    nodes = np.zeros(tree.n_nodes, dtype=dtype)
    nodes["left_child"] = tree.left
    nodes["right_child"] = tree.right
    nodes["feature"] = np.where(leaf, -2, tree.feature)  # -2: scikit-learn's mark of a leaf
    nodes["threshold"] = np.where(leaf, -2.0, tree.threshold)
    nodes["impurity"] = impurity
    nodes["n_node_samples"] = tree.rows
    nodes["weighted_n_node_samples"] = tree.mass
    nodes["missing_go_to_left"] = tree.missing_left & ~leaf
    return nodes
