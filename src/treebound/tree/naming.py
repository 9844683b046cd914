"""The training rows that name splits, for compression certificates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound.data import Matrix, Sample
from treebound.data.row_hashes import row_hashes
from treebound.tree.model import Tree
from treebound.tree.split import by_presence, by_threshold


def needs_name(tree: Tree) -> NDArray[np.bool_]:
    """Mask of the splits that must be named by a row: those that cannot be counted without."""
    countable = [column.declared and column.kind != "real" for column in tree.columns]
    return ~np.array([*countable, True])[tree.feature] & ~by_presence(tree)


def row_keys(X: Matrix) -> NDArray[np.int64]:
    """A number for each row, by all of its values, that orders rows with equal values."""
    # not by their order in the table, which may be sorted
    one_class = np.zeros(X.n_rows, dtype=np.int32)
    hashes = row_hashes(X, np.zeros(1), one_class, names=None, exact=True)
    return (hashes >> np.uint64(1)).astype(np.int64)


def naming_rows(tree: Tree, sample: Sample) -> NDArray[np.int64]:
    """The row that names the split of each node; -1 if there is none.

    A split ``x <= t`` is named by the last row of its left child by value, then by key, without
    missing values; ``x == c`` by the last row of its left child by key. Splits
    of missing against present values and of declared columns need no name. There is none if t is
    not a value of the left child: no row determines such a threshold.
    """
    return names_of_part(tree, sample.X).rows


class Names(NamedTuple):
    """The row that names each split as far as some rows determine it, and its key; or -1."""

    rows: NDArray[np.int64]
    keys: NDArray[np.int64]


def names_of_part(tree: Tree, X: Matrix) -> Names:
    """The names of splits if only these rows are known."""
    keys = row_keys(X)
    reached = tree.apply(X)
    order = np.argsort(reached, kind="stable")  # the rows of a subtree are adjacent
    ends = np.searchsorted(reached[order], np.arange(tree.n_nodes + 1))
    names = Names(*np.full((2, tree.n_nodes), -1, dtype=np.int64))
    has_threshold = by_threshold(tree)
    for node in np.flatnonzero(needs_name(tree)).tolist():
        first = tree.left[node]
        rows = order[ends[first] : ends[first + tree.size[first]]]
        if has_threshold[node]:
            values = X.values[tree.feature[node]][rows]
            rows = rows[values == tree.threshold[node]]
        if len(rows):
            row = rows[np.argmax(keys[rows])]
            names.rows[node], names.keys[node] = row, keys[row]
    return names


def last_names(many: Sequence[Names]) -> Names:
    """Of the rows that parts of a sample give, the lowest ones of the greatest keys."""
    rows = np.array([names.rows for names in many])
    keys = np.array([names.keys for names in many])
    greatest = keys.max(axis=0)
    lowest = np.where(keys == greatest, rows, np.iinfo(np.int64).max).min(axis=0)
    return Names(lowest, greatest)
