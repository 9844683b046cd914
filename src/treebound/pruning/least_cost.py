"""Prunings with the least sum of a cost of their leaves (and nodes): one pass from below."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import treebound.pruning._dp as _dp
from treebound.pruning.base import Found
from treebound.pruning.path import NEVER, NestedPath
from treebound.tree.model import Tree

__all__ = ["least_cost"]

Floats = NDArray[np.float64]


def least_cost(
    tree: Tree,
    as_leaf: Floats,
    *,
    as_node: Floats | None = None,
    errors: Floats | None = None,
    slack: float = 0.0,
    unit: str = "errors",
) -> Found:
    """Collapse, from below, every node that costs no more as a leaf than what is left under it.

    The steps of the path are the collapses in the order they are made. With no slack the pruning
    has the least cost of all; of equally good ones, the smallest.

    Parameters
    ----------
    as_leaf, as_node : ndarray of float, one a node
        Cost of a leaf and of an inner node.
    errors : ndarray of float, one a node
        What the path shows as errors; by default the training errors of the tree.
    slack : float
        How much more a leaf may cost.
    """
    inside = np.zeros(tree.n_nodes) if as_node is None else as_node
    leaf_cost = np.ascontiguousarray(as_leaf, dtype=np.float64)
    cuts = _dp.least_additive(tree.left, tree.right, leaf_cost, inside, slack)
    nodes = np.flatnonzero(cuts)[::-1]
    when = np.full(tree.n_nodes, NEVER)
    when[nodes] = np.arange(1, len(nodes) + 1)
    path = NestedPath(tree, when, tree.node_errors if errors is None else errors, unit=unit)
    path.set_scores(path.along(leaf_cost) + path.along_inner(inside), chosen=len(nodes))
    return Found(path.tree(), path, path.scores[-1], gap=0.0 if slack == 0.0 else np.nan)
