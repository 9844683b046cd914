"""Losses of prunings on rows that the tree was not grown on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import treebound.pruning._dp as _dp
from treebound._utils.arrays import Floats
from treebound.data import Sample
from treebound.data.draws import Splitter, folds
from treebound.pruning.base import Grow
from treebound.tree._structure import add_up
from treebound.tree.base import rows_at_rest
from treebound.tree.model import Tree
from treebound.tree.node_sums import NodeSums


def errors_on(tree: Tree, sample: Sample) -> tuple[Floats, Floats]:
    """Mass of the rows that each node misclassifies: as a leaf, and of those that stay at it."""
    counts, _ = tree.counts_on(sample)
    masses = counts if sample.factors is None else counts * sample.factors
    rest = (
        rows_at_rest(tree, masses) if sample.X.handle_unknown == "stop" else np.zeros_like(masses)
    )
    of_nodes, staying = (
        table.sum(axis=1) - table[np.arange(tree.n_nodes), tree.label] for table in (masses, rest)
    )
    return of_nodes, staying


def losses_on(tree: Tree, rows: NodeSums, loss: Floats, other: Floats) -> tuple[Floats, Floats]:
    """Sums of losses, of their squares, and of their squared differences from ``other``.

    First of all rows of a node, shape (n_nodes, 3), then of those that stay at it. ``loss`` and
    ``other`` are losses of a row of each class at each node. A row of whole weight is so many rows;
    any other weight multiplies its loss.
    """
    of_nodes = _dp.moments_of_losses(rows.weights, rows.squares, loss, other)
    if all(column.kind == "real" for column in tree.columns):
        return of_nodes, np.zeros_like(of_nodes)
    weights, squares = (rows_at_rest(tree, table) for table in rows)
    return of_nodes, _dp.moments_of_losses(weights, squares, loss, other)


class PrunedSums:
    """Sums of node values over the leaves of prunings of one tree, and over their inner nodes."""

    def __init__(self, tree: Tree, values: Floats, inner: Floats) -> None:
        self._values = np.ascontiguousarray(values if values.ndim == 2 else values[:, None])
        self._below = np.where(
            tree.is_leaf[:, None], self._values, inner.reshape(values.shape[0], -1)
        )
        add_up(tree.left, tree.right, self._below)

    def __call__(self, cuts: NDArray[np.intp]) -> Floats:
        """The sum after collapsing the topmost nodes ``cuts``, for each column of values."""
        return _dp.sums_after(self._values, self._below, cuts)


def cross_validated(
    sample: Sample,
    k: int | Splitter,
    seed: int | None,
    grow: Grow,
    n: int,
    errors: Callable[[Tree, Sample], Floats | list[float]],
) -> tuple[Floats, float]:
    """Error rates of all folds together, and the mass of their rows.

    ``errors(tree, inside)`` are those of n prunings of the tree grown outside a fold.
    """
    total, validated = np.zeros(n), 0.0
    for outside, inside in folds(sample, k, seed):
        total += errors(grow(outside), inside)
        validated += inside.mass
    return total / (validated or sample.mass), validated
