"""Sending the rows of an encoded matrix down a tree."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treebound.tree._route import add_to_parents, route

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from treebound.tree.model import Tree

__all__ = ["apply", "decision_path", "recounted"]

# One node as the kernel reads it; the same fields in the same order as ``Test`` there.
_TEST = np.dtype(
    [
        ("low", np.float64),
        ("high", np.float64),
        ("known", np.float64),
        ("column", np.int32),
        ("child", np.int32, 2),
        ("missing", np.int32),
        ("unknown", np.int32),
    ]
)


def apply(tree: Tree, X: NDArray[np.float64], unknown: str = "majority") -> NDArray[np.int32]:
    """The node every row reaches; see `Tree.apply`."""
    X = _matrix(tree, X)
    if unknown not in ("majority", "stop"):
        raise ValueError(
            "The 'unknown' parameter of Tree.apply must be 'majority' or 'stop'. "
            f"Got {unknown!r} instead.\n"
            "Hint: 'missing' and 'error' are dealt with when a table is encoded."
        )
    reached = np.empty(len(X), dtype=np.int32)
    route(X, _tests(tree, unknown), reached)
    return reached


def decision_path(tree: Tree, X: NDArray[np.float64], unknown: str = "majority") -> csr_matrix:
    """The nodes every row passes; see `Tree.decision_path`."""
    from scipy.sparse import csr_matrix

    reached = apply(tree, X, unknown)
    parent = _parents(tree)
    # the path to each node, one after the other, from its own place in ``paths``
    length = tree.depth.astype(np.int64) + 1
    start = np.cumsum(length) - length
    paths = np.empty(int(length.sum()), dtype=np.int32)
    for node in range(tree.n_nodes):
        stop = start[node] + length[node]
        if node:
            above = start[parent[node]]
            paths[start[node] : stop - 1] = paths[above : above + length[node] - 1]
        paths[stop - 1] = node
    lengths = length[reached]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    inside = np.arange(indptr[-1]) - np.repeat(indptr[:-1], lengths)
    indices = paths[np.repeat(start[reached], lengths) + inside]
    ones = np.ones(len(indices), dtype=np.int64)
    return csr_matrix((ones, indices, indptr), shape=(len(reached), tree.n_nodes))


def recounted(
    tree: Tree, X: NDArray[np.float64], y: NDArray[Any], sample_weight: ArrayLike | None = None
) -> Tree:
    """The same tests with counts from other data; see `Tree.recounted`."""
    y = np.asarray(y)
    reached = apply(tree, X)
    cells = reached.astype(np.int64) * tree.n_classes + y
    size = tree.n_nodes * tree.n_classes
    weight, present = None, reached
    if sample_weight is not None:
        weight = np.asarray(sample_weight, dtype=np.float64)
        present = reached[weight > 0]
    counts = np.bincount(cells, weights=weight, minlength=size).astype(np.float64)
    counts = counts.reshape(tree.n_nodes, tree.n_classes)
    rows = np.bincount(present, minlength=tree.n_nodes).astype(np.int64)
    add_to_parents(counts, rows, _parents(tree))
    return replace(tree, counts=counts, rows=rows, label=None)  # type: ignore[arg-type]


def _parents(tree: Tree) -> NDArray[np.int32]:
    parent = np.full(tree.n_nodes, -1, dtype=np.int32)
    inner = np.flatnonzero(~tree.is_leaf)
    parent[tree.left[inner]] = inner
    parent[tree.right[inner]] = inner
    return parent


def _tests(tree: Tree, unknown: str) -> NDArray[np.void]:
    """The tests of all nodes with the rules for missing and unknown values written out."""
    if unknown in tree._tests:
        return tree._tests[unknown]
    tests = np.zeros(tree.n_nodes, dtype=_TEST)
    tests["column"] = tree.feature
    tests["child"] = np.column_stack([tree.right, tree.left])
    inner = np.flatnonzero(~tree.is_leaf)
    column = tree.feature[inner]
    nominal = np.array([c.kind == "nominal" for c in tree.columns], dtype=bool)[column]
    real = np.array([c.kind == "real" for c in tree.columns], dtype=bool)[column]
    # in a nominal column that was missing in training, missing is the category after the last
    last = np.array([len(c.categories or ()) for c in tree.columns], dtype=np.int64)[column]
    as_category = nominal & np.array([c.missing for c in tree.columns], dtype=bool)[column]
    missing_left = np.where(as_category, tree.category[inner] == last, tree.missing_left[inner])
    heavier_left = tree.weight[tree.left[inner]] >= tree.weight[tree.right[inner]]
    left, right = tree.left[inner], tree.right[inner]
    tests["low"][inner] = np.where(nominal, tree.category[inner], -np.inf)
    tests["high"][inner] = np.where(nominal, tree.category[inner], tree.threshold[inner])
    tests["known"][inner] = np.where(real, -np.inf, 0.0)
    tests["missing"][inner] = np.where(missing_left, left, right)
    tests["unknown"][inner] = inner if unknown == "stop" else np.where(heavier_left, left, right)
    tree._tests[unknown] = tests
    return tests


def _matrix(tree: Tree, X: NDArray[np.float64]) -> NDArray[np.float64]:
    X = np.asarray(X)
    if X.dtype not in (np.float64, np.float32):
        X = X.astype(np.float64)
    if X.ndim != 2 or X.shape[1] != len(tree.columns):
        raise ValueError(
            "The 'X' parameter of Tree.apply must be an encoded matrix of "
            f"{len(tree.columns)} columns. Got an array of shape {X.shape} instead."
        )
    return X
