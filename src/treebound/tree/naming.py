"""The training rows that name splits, for compression certificates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treebound.data import Matrix, Sample
from treebound.tree.model import Tree

__all__ = ["naming_rows", "naming_rows_of_part", "needs_name", "row_numbers"]

# Seed of the shuffle that numbers the rows: a table may be sorted by its values.
_SEED = 20_220


def needs_name(tree: Tree) -> NDArray[np.bool_]:
    """Mask of the splits that must be named by a row.

    Not those of declared columns, whose splits can be counted, nor those of missing against
    present values.
    """
    countable = [one.declared and one.kind != "real" for one in tree.columns]
    return ~np.array([*countable, True])[tree.feature] & ~np.isinf(tree.threshold)


def row_numbers(rows: int) -> NDArray[np.int64]:
    """The shuffled row numbers that order rows with equal values."""
    return np.random.default_rng(_SEED).permutation(rows)


def naming_rows(tree: Tree, sample: Sample) -> NDArray[np.int64]:
    """The row that names the split of each node; -1 if there is none.

    A split ``x <= t`` is named by the last row of its left child by value, then by shuffled row
    number, without missing values; ``x == c`` by the last row of its left child by number. Splits
    of missing against present values and of declared columns need no name. There is none if t is
    not a value of the left child: no row determines such a threshold.

    Parameters
    ----------
    tree : Tree
        Grown on the sample.
    sample : Sample
    """
    return naming_rows_of_part(tree, sample.X, row_numbers(sample.n_rows))


def naming_rows_of_part(tree: Tree, X: Matrix, number: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same where only these rows are known, whose shuffled numbers are given.

    Of the rows that parts of a sample give for a node, the one of the greatest number names it.
    """
    reached = tree.apply(X)
    order = np.argsort(reached, kind="stable")  # the rows of a subtree lie side by side
    ends = np.searchsorted(reached[order], np.arange(tree.n_nodes + 1))
    names = np.full(tree.n_nodes, -1, dtype=np.int64)
    for node in np.flatnonzero(needs_name(tree)).tolist():
        first = tree.left[node]
        rows = order[ends[first] : ends[first + tree.size[first]]]
        if tree.columns[tree.feature[node]].kind != "nominal":
            values = X.values[tree.feature[node]][rows]
            rows = rows[values == tree.threshold[node]]
        if len(rows):
            names[node] = rows[np.argmax(number[rows])]
    return names
