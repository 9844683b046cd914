"""The training rows that get another answer after edits, by leaf."""

from __future__ import annotations

from typing import Any

import numpy as np

from treebound.edit.places import path_of
from treebound.edit.rows import EditedRows
from treebound.tree import Tree

CHANGES = ("leaf", "path", "before", "now", "rows", "became_right", "became_wrong", "numbers")


def changed_rows(first: Tree, tree: Tree, rows: EditedRows) -> list[dict[str, Any]]:
    """A line for each leaf and answer before, with the fields of ``CHANGES``."""
    sample = rows.sample
    before = first.label[first.apply(sample.X, "other")]
    leaf = tree.apply(sample.X, "other")
    labels, listed = tree.classes.tolist(), []
    other = before != tree.label[leaf]
    for end, was in np.unique(np.c_[leaf[other], before[other]], axis=0).tolist():
        there = np.flatnonzero((leaf == end) & (before == was))
        now = int(tree.label[end])
        values = (
            end, path_of(tree, end), labels[was], labels[now], len(there),
            int((sample.y[there] == now).sum()), int((sample.y[there] == was).sum()),
            None if rows.numbers is None else rows.numbers[there].tolist(),
        )  # fmt: skip
        listed.append(dict(zip(CHANGES, values, strict=True)))
    return listed
