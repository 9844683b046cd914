"""Impurity of nodes, and feature importances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treebound._utils.choices import Criterion
from treebound.tree._structure import sums_over_classes
from treebound.tree.model import Tree


def impurity(counts: NDArray[np.float64], criterion: Criterion) -> NDArray[np.float64]:
    """Impurity of nodes from their class weights."""
    total = np.maximum(counts.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    share = np.ascontiguousarray(counts / total)
    values: NDArray[np.float64]
    if criterion == "gini":
        values = 1.0 - sums_over_classes(share, True)
    elif criterion == "entropy":
        values = -sums_over_classes(share, False)
    else:
        values = 1.0 - share.max(axis=1)
    return values


def importances(tree: Tree, criterion: Criterion) -> NDArray[np.float64]:
    """Share of each column in the decrease of impurity; all are zero for a single leaf."""
    mass = tree.mass * impurity(tree.masses, criterion)
    inner = np.flatnonzero(~tree.is_leaf)
    decrease = mass[inner] - mass[tree.left[inner]] - mass[tree.right[inner]]
    by_column = np.bincount(tree.feature[inner], weights=decrease, minlength=len(tree.columns))
    shares: NDArray[np.float64] = np.maximum(by_column, 0.0).astype(np.float64)  # rounding errors
    total = shares.sum()
    return shares / total if total > 0 else shares
