"""Subtrees grown at a node, and the best split of every column there."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treebound.data import Sample
from treebound.edit.nodes import Nodes, rows_at, sides
from treebound.edit.rules import Rules
from treebound.growing import GrowOptions, grow
from treebound.model import Model
from treebound.show.words import answer
from treebound.tree import Tree
from treebound.tree.impurity import impurity
from treebound.tree.parsing import SplitTest
from treebound.tree.split import Split, one_line, split_of

__all__ = ["Candidate", "best_split", "candidates", "grown_nodes"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """The best split of a column at a node."""

    test: SplitTest
    split: Split
    gain: float
    errors: float
    rows: tuple[int, int]
    agreement: float | None  # with the split in place, None at a leaf

    def entry(self) -> dict[str, Any]:
        """The candidate as a line of a table."""
        name = one_line(self.split.column.name)
        return {
            "column": self.split.column.name,
            "split": f"{name} {answer(self.split, left=True)}",
            "gain": self.gain,
            "errors": self.errors,
            "rows_left": self.rows[0],
            "rows_right": self.rows[1],
            "agreement": self.agreement,
        }


def grown_nodes(
    here: Sample, total: float, columns: Sequence[int], options: GrowOptions, leaves: int
) -> tuple[Nodes, Tree]:
    """A subtree grown on some rows and columns, and the same as a tree of these columns alone.

    ``total`` is the mass of all training rows, which the options of growing refer to.
    """
    matrix = here.X.select([here.columns[at].name for at in columns])
    scale = total / here.mass
    fraction = options.min_weight_fraction_leaf * scale
    if fraction > 0.5:  # no split leaves so much on both sides
        leaves, fraction = 1, 0.0
    options = replace(
        options, max_leaves=leaves, max_depth=None, min_gain=options.min_gain * scale,
        min_weight_fraction_leaf=fraction,
    )  # fmt: skip
    tree = grow(replace(here, X=matrix), options)
    return Nodes.of(tree, 0, np.array(columns, dtype=np.intp)), tree


def best_split(
    here: Sample, total: float, column: int, options: GrowOptions
) -> tuple[SplitTest, Tree] | None:
    """The best split of one column for some rows, and its stump; None if there is none."""
    nodes, stump = grown_nodes(here, total, [column], options, 2)
    if stump.n_leaves < 2:
        return None
    test = SplitTest(
        column, float(nodes.threshold[0]), int(nodes.category[0]), bool(nodes.missing_left[0])
    )
    return test, stump


def candidates(
    model: Model, rules: Rules, tree: Tree, node: int, sample: Sample, threads: int = 1
) -> list[Candidate]:
    """The best split of every column at a node, by gain.

    Agreement is the share of the rows that go to the same side as by the split in place, or to
    the other one, where that is more.
    """
    here = sample.part(rows_at(tree, node, sample))
    in_place = None
    if tree.feature[node] >= 0:
        in_place = sides(_test_of(tree, node), here, tree)

    def best_of(column: int) -> Candidate | None:
        best = best_split(here, sample.mass, column, rules.options(tree, node, [column]))
        if best is None:
            return None
        test, stump = best
        mass = stump.mass * impurity(stump.masses, model.options.criterion)
        agreement = None
        if in_place is not None:
            same = float((sides(test, here, tree) == in_place).mean())
            agreement = max(same, 1.0 - same)
        return Candidate(
            test,
            split_of(stump, 0, unknown=model.unknown),
            float(mass[0] - mass[1] - mass[2]) / sample.mass,
            stump.errors,
            (int(stump.rows[1]), int(stump.rows[2])),
            agreement,
        )

    with ThreadPoolExecutor(threads) as pool:
        listed = [best for best in pool.map(best_of, rules.columns(tree, node)) if best is not None]
    return sorted(listed, key=lambda candidate: -candidate.gain)


def _test_of(tree: Tree, node: int) -> SplitTest:
    return SplitTest(
        int(tree.feature[node]), float(tree.threshold[node]), int(tree.category[node]),
        bool(tree.missing_left[node]),
    )  # fmt: skip
