"""Sums over rows at the nodes of a tree; exact, so that they can be added up from parts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Codes, Floats
from treebound.data import Matrix, Sample
from treebound.data.weights import WeightTotal
from treebound.tree._structure import add_up
from treebound.tree.model import Tree


class WeightTotals(NamedTuple):
    """The totals of weights, and of their squares."""

    weights: WeightTotal = WeightTotal()
    squares: WeightTotal = WeightTotal()

    @classmethod
    def of(cls, weight: Floats | None, rows: int) -> WeightTotals:
        """Of some rows."""
        squares = None if weight is None else weight**2
        return cls(WeightTotal.of(weight, rows), WeightTotal.of(squares, rows))

    def plus(self, other: WeightTotals) -> WeightTotals:
        """Those of the rows of both."""
        return WeightTotals(self.weights + other.weights, self.squares + other.squares)


class NodeSums(NamedTuple):
    """Weights of rows of each class at each node of a tree, and squares of weights.

    Whole weights are repeated rows, so each square is the weight itself.
    """

    weights: Floats
    squares: Floats

    @classmethod
    def of(cls, tree: Tree, sample: Sample, reached: Codes | None = None) -> NodeSums:
        """Of the rows of a sample; ``reached`` are the nodes that they reach, if known."""
        totals = WeightTotals.of(sample.weight, sample.n_rows)
        reached = tree.apply(sample.X) if reached is None else reached
        return cls.combined(tree, _sums_at(tree, reached, sample.y, sample.weight, totals), totals)

    @classmethod
    def combined(cls, tree: Tree, sums: Floats, totals: WeightTotals) -> NodeSums:
        """From the :func:`class_sums` of all rows."""
        tables = [
            summed_up(tree, table) * total.unit for table, total in zip(sums, totals, strict=False)
        ]
        return cls(tables[0], tables[-1])

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.weights[0].sum())


def class_sums(
    tree: Tree, X: Matrix, y: NDArray[np.integer], weight: Floats | None, totals: WeightTotals
) -> Floats:
    """Weights of some rows, as integers, by class at their node; their squares too if not whole."""
    return _sums_at(tree, tree.apply(X), y, weight, totals)


def _sums_at(
    tree: Tree,
    reached: Codes,
    y: NDArray[np.integer],
    weight: Floats | None,
    totals: WeightTotals,
) -> Floats:
    """The same of rows that reach some nodes."""
    cells = reached.astype(np.int64) * tree.n_classes + y
    tables = []
    for power, total in enumerate(totals[:1] if totals.weights.whole else totals, start=1):
        # sums of integers below 2^53 are exact in floats
        units = total.integers(None if weight is None else weight**power, len(y))
        table = np.bincount(cells, units, minlength=tree.n_nodes * tree.n_classes)
        tables.append(table.reshape(tree.n_nodes, tree.n_classes).astype(np.float64))
    return np.array(tables)


def summed_up(tree: Tree, counts: NDArray[Any]) -> Floats:
    """Counts of the rows that end at each node, with those of the nodes below it."""
    counts = np.array(counts, dtype=np.float64, order="C")
    add_up(tree.left, tree.right, counts)
    return counts
