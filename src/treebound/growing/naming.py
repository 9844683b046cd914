"""The row that names each split: what a compression certificate counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treebound.data import Sample
from treebound.tree.model import Tree

__all__ = ["naming_rows"]

# Rows are numbered by a shuffle, fixed once: a table may be sorted by its values.
_SEED = 20_220


def naming_rows(tree: Tree, sample: Sample) -> NDArray[np.int64]:
    """The row that names the split of every node; -1 where none does.

    A split ``x <= t`` is named by the last row of its left child in the order of the values, then
    of the shuffled row numbers; ``x == c`` by the last row of its left child in the order of the
    numbers. A split of missing against present values needs no name, and a declared column none
    either.

    Parameters
    ----------
    tree : Tree
        Grown on the sample.
    sample : Sample
    """
    reached = tree.apply(sample.X)
    number = np.random.default_rng(_SEED).permutation(sample.n_rows)
    order = np.argsort(reached, kind="stable")  # the rows of a subtree lie side by side
    ends = np.searchsorted(reached[order], np.arange(tree.n_nodes + 1))
    names = np.full(tree.n_nodes, -1, dtype=np.int64)
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        column = tree.columns[tree.feature[node]]
        if column.declared or np.isinf(tree.threshold[node]):
            continue
        first = tree.left[node]
        rows = order[ends[first] : ends[first + tree.size[first]]]
        if column.kind != "nominal":
            values = sample.X.values[tree.feature[node]][rows]
            missing = np.isnan(values) if values.dtype.kind == "f" else values < 0
            if missing.all():
                continue
            largest = values[~missing].max()
            rows = rows[values == largest]
        names[node] = rows[np.argmax(number[rows])]
    return names
