"""Losses of prunings on rows that the tree was not grown on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import treebound.pruning._dp as _dp
from treebound.data import Sample
from treebound.data.folds import Splitter, folds
from treebound.pruning.base import Grow
from treebound.tree.model import Tree
from treebound.tree.node_sums import NodeSums

__all__ = ["PrunedSums", "errors_on", "fold_trees", "losses_on"]

Floats = NDArray[np.float64]


def errors_on(tree: Tree, sample: Sample) -> Floats:
    """Mass of the rows that each node would misclassify as a leaf."""
    counts, _ = tree.counts_on(sample)
    masses = counts if sample.factors is None else counts * sample.factors
    wrong: Floats = masses.sum(axis=1) - masses[np.arange(tree.n_nodes), tree.label]
    return wrong


def losses_on(rows: NodeSums, loss: Floats) -> Floats:
    """Sum of the losses of the rows at each node, and of their squares: shape (n_nodes, 2).

    ``loss`` is the loss of a row of each class at each node. A row of whole weight is so many
    rows; any other weight multiplies its loss.
    """
    sums = [(rows.weights * loss).sum(axis=1), (rows.squares * loss**2).sum(axis=1)]
    return np.ascontiguousarray(np.stack(sums, axis=1))


class PrunedSums:
    """Sums of node values over the leaves of prunings of one tree."""

    def __init__(self, tree: Tree, values: Floats) -> None:
        self._values = values if values.ndim == 2 else values[:, None]
        self._below = np.where(tree.is_leaf[:, None], self._values, 0.0)
        _dp.add_up(tree.left, tree.right, self._below)

    def __call__(self, cuts: NDArray[np.intp]) -> Floats:
        """The sum after collapsing the topmost nodes ``cuts``, for each column of values."""
        change = (self._values[cuts] - self._below[cuts]).sum(axis=0)
        return np.asarray(self._below[0] + change)


def fold_trees(
    sample: Sample, k: int | Splitter, seed: int | None, grow: Grow
) -> Iterator[tuple[Tree, Sample]]:
    """For each fold, the tree grown on the rows outside it, and the rows inside it."""
    for outside, inside in folds(sample, k, seed):
        yield grow(outside), inside
