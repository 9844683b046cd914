"""Subtrees grown at a node, and the best split of every column there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.data import Sample
from treebound.edit.nodes import Nodes, rows_at, sides
from treebound.growing import GrowOptions, grow
from treebound.model import Model
from treebound.show.words import answer, one_line
from treebound.tree import Tree
from treebound.tree.impurity import impurity
from treebound.tree.parsing import SplitTest
from treebound.tree.split import split_of

__all__ = ["ALTERNATIVE", "best_split", "grown_nodes", "usable_columns", "alternatives"]

ALTERNATIVE = ("column", "split", "gain", "errors", "rows_left", "rows_right", "agreement")


def usable_columns(tree: Tree) -> list[int]:
    """The columns whose values could be read."""
    return [at for at, column in enumerate(tree.columns) if not column.unlisted]


def grown_nodes(
    sample: Sample,
    rows: NDArray[np.intp],
    columns: Sequence[int],
    options: GrowOptions,
    leaves: int,
) -> tuple[Nodes, Tree]:
    """A subtree grown on some rows and columns, and the same as a tree of these columns alone."""
    part = sample.part(rows)
    matrix = part.X.select([sample.columns[at].name for at in columns])
    scale = sample.mass / part.mass
    fraction = options.min_weight_fraction_leaf * scale
    if fraction > 0.5:  # no split leaves so much on both sides
        leaves, fraction = 1, 0.0
    options = replace(
        options, max_leaves=leaves, max_depth=None, min_gain=options.min_gain * scale,
        min_weight_fraction_leaf=fraction,
    )  # fmt: skip
    tree = grow(replace(part, X=matrix), options)
    return Nodes.of(tree, 0, np.array(columns, dtype=np.intp)), tree


def best_split(
    sample: Sample, rows: NDArray[np.intp], column: int, options: GrowOptions
) -> tuple[SplitTest, Tree] | None:
    """The best split of one column for some rows, and its stump; None if there is none."""
    nodes, stump = grown_nodes(sample, rows, [column], options, 2)
    if stump.n_leaves < 2:
        return None
    test = SplitTest(
        column, float(nodes.threshold[0]), int(nodes.category[0]), bool(nodes.missing_left[0])
    )
    return test, stump


def alternatives(model: Model, tree: Tree, node: int, sample: Sample) -> list[dict[str, Any]]:
    """The best split of every column at a node, by gain.

    Agreement is the share of the rows that go to the same side as by the split in place, or to
    the other one, where that is more.
    """
    rows = rows_at(tree, node, sample)
    here = sample.part(rows)
    in_place = None
    if tree.feature[node] >= 0:
        in_place = sides(_test_of(tree, node), here, tree)
    listed = []
    for column in usable_columns(tree):
        best = best_split(sample, rows, column, model.options)
        if best is None:
            continue
        test, stump = best
        split = split_of(stump, 0, unknown=model.unknown)
        mass = stump.mass * impurity(stump.masses, model.options.criterion)
        entry = {
            "column": split.column.name,
            "split": f"{one_line(split.column.name)} {answer(split, left=True)}",
            "gain": float(mass[0] - mass[1] - mass[2]) / sample.mass,
            "errors": stump.errors,
            "rows_left": int(stump.rows[1]),
            "rows_right": int(stump.rows[2]),
            "agreement": None,
        }
        if in_place is not None:
            same = float((sides(test, here, tree) == in_place).mean())
            entry["agreement"] = max(same, 1.0 - same)
        listed.append(entry)
    return sorted(listed, key=lambda entry: -entry["gain"])


def _test_of(tree: Tree, node: int) -> SplitTest:
    return SplitTest(
        int(tree.feature[node]), float(tree.threshold[node]), int(tree.category[node]),
        bool(tree.missing_left[node]),
    )  # fmt: skip
