"""Sending the rows of an encoded matrix down a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treebound.tree import _route

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from treebound.tree.model import Tree

__all__ = ["Unknown", "apply", "decision_path", "recounted"]

Unknown = Literal["majority", "stop"]


def apply(tree: Tree, X: NDArray[np.float64], unknown: str = "majority") -> NDArray[np.int32]:
    """The node every row reaches; see `Tree.apply`."""
    X = _matrix(tree, X)
    nominal_missing = [
        float(len(column.categories or ())) if column.kind == "nominal" and column.missing else -1.0
        for column in tree.columns
    ]
    is_real = [column.kind == "real" for column in tree.columns]
    heavier_left = np.zeros(tree.n_nodes, dtype=np.uint8)
    inner = np.flatnonzero(~tree.is_leaf)
    heavier_left[inner] = tree.weight[tree.left[inner]] >= tree.weight[tree.right[inner]]
    return _route.apply(
        X,
        tree.feature,
        tree.threshold,
        tree.category,
        tree.missing_left.view(np.uint8),
        tree.left,
        tree.right,
        heavier_left,
        np.array(nominal_missing, dtype=np.float64),
        np.array(is_real, dtype=np.uint8),
        unknown == "stop",
    )


def decision_path(tree: Tree, X: NDArray[np.float64], unknown: str = "majority") -> csr_matrix:
    """The nodes every row passes; see `Tree.decision_path`."""
    from scipy.sparse import csr_matrix

    parent = _parents(tree)
    reached = apply(tree, X, unknown)
    paths = [np.empty(0, dtype=np.int32)] * tree.n_nodes
    for node in range(tree.n_nodes):
        above = paths[parent[node]] if node else paths[0]
        paths[node] = np.append(above, np.int32(node))
    lengths = tree.depth[reached] + 1
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.concatenate([paths[node] for node in reached.tolist()] or [paths[0][:0]])
    ones = np.ones(len(indices), dtype=np.int64)
    return csr_matrix((ones, indices, indptr), shape=(len(reached), tree.n_nodes))


def recounted(
    tree: Tree, X: NDArray[np.float64], y: NDArray[Any], sample_weight: ArrayLike | None = None
) -> Tree:
    """The same tests with counts from other data; see `Tree.recounted`."""
    from dataclasses import replace

    y = np.asarray(y)
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    reached = apply(tree, X)
    cells = reached.astype(np.int64) * tree.n_classes + y
    size = tree.n_nodes * tree.n_classes
    counts = np.bincount(cells, weights=weight, minlength=size).reshape(tree.n_nodes, -1)
    rows = np.bincount(reached[weight > 0], minlength=tree.n_nodes)
    parent = _parents(tree)
    for node in range(tree.n_nodes - 1, 0, -1):
        counts[parent[node]] += counts[node]
        rows[parent[node]] += rows[node]
    return replace(tree, counts=counts, rows=rows, label=None)


def _parents(tree: Tree) -> NDArray[np.intp]:
    parent = np.full(tree.n_nodes, -1, dtype=np.intp)
    inner = np.flatnonzero(~tree.is_leaf)
    parent[tree.left[inner]] = inner
    parent[tree.right[inner]] = inner
    return parent


def _matrix(tree: Tree, X: NDArray[np.float64]) -> NDArray[np.float64]:
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != len(tree.columns):
        raise ValueError(
            f"The 'X' parameter of a tree must be a matrix of {len(tree.columns)} columns. "
            f"Got an array of shape {X.shape} instead."
        )
    return X
