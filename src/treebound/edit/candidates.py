"""Candidates for a node, from its rows: splits of every column, subtrees, edited trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.data import Sample
from treebound.edit.nodes import (
    LEAF,
    DefaultLabels,
    Nodes,
    majority,
    nodes_of,
    planted,
    rows_at,
    split_nodes,
    stump,
)
from treebound.edit.rules import EditRules
from treebound.growing import GrowOptions, grow
from treebound.model import Model
from treebound.show.words import branch_condition
from treebound.tree import Tree
from treebound.tree.impurity import impurity
from treebound.tree.split import Split, SplitTest, one_line, split_of, test_of


@dataclass(frozen=True, eq=False)
class Candidate:
    """A split at a node; the last two compare it with the current split, None at a leaf."""

    test: SplitTest
    split: Split
    gain: float
    errors: float
    rows: tuple[int, int]
    agreement: float | None = None  # the share of the rows that go the same way
    adjusted: float | None = None  # the same, from 0 for "all rows go with the most" to 1

    def entry(self) -> dict[str, Any]:
        """The candidate as a line of a table."""
        name = one_line(self.split.column.name)
        return {
            "column": self.split.column.name,
            "split": f"{name} {branch_condition(self.split, left=True)}",
            "gain": self.gain,
            "errors": self.errors,
            "rows_left": self.rows[0],
            "rows_right": self.rows[1],
            "agreement": self.agreement,
            "adjusted": self.adjusted,
        }


class NodeRows:
    """The training rows of a node, and subtrees grown on them by the rules of fit."""

    def __init__(self, rules: EditRules, tree: Tree, node: int, sample: Sample) -> None:
        self.tree, self.node, self._rules = tree, node, rules
        self.sample = sample.part(rows_at(tree, node, sample)) if node else sample
        self._total = sample.mass

    def grown(self, columns: Sequence[int], leaves: int) -> tuple[Nodes, int]:
        """A subtree grown on some columns, and its number of leaves."""
        options = self._rules.options(self.tree, self.node, columns, ahead=True)
        tree = self._grown(self.sample, columns, options, leaves)
        return nodes_of(tree, 0, majority, np.array(columns, dtype=np.intp)), tree.n_leaves

    def best_split(self, column: int) -> SplitTest | None:
        """The best split of a column; None if there is none."""
        options = self._rules.options(self.tree, self.node, [column])
        return self._best(self.sample, column, options)

    def candidates(self, threads: int = 1) -> list[Candidate]:
        """The best split of every column, by gain."""
        listed = self._listed(self.best_split, threads)
        return sorted(listed, key=lambda candidate: -candidate.gain)

    def surrogates(self) -> list[Candidate]:
        """The split of every other column that divides the rows most like the current one."""
        current = test_of(self.tree, self.node)
        left = self.divided(current)[0].astype(np.int32)
        sides = replace(self.sample, y=left, classes=np.array([0, 1]), factors=None)
        options = GrowOptions("misclassification", thresholds=self._rules.model.options.thresholds)

        def closest_split(column: int) -> SplitTest | None:
            return None if column == current.feature else self._best(sides, column, options)

        listed = self._listed(closest_split)
        return sorted(listed, key=lambda candidate: -(candidate.agreement or 0.0))

    def divided(self, test: SplitTest) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Which rows a split sends left, and the classes on the left and the right."""
        tree, left = stump(test, self.sample, self.tree)
        return left, tree.counts[1:]

    # -- parts -----------------------------------------------------------------------------

    def _grown(
        self, rows: Sample, columns: Sequence[int], options: GrowOptions, leaves: int
    ) -> Tree:
        """A tree of some columns alone."""
        matrix = rows.X.select([rows.columns[at].name for at in columns])
        options = replace(options, max_leaves=leaves, max_depth=None)
        ordered = options.monotonic_cst is not None
        limits = self._rules.limits(self.tree, self.node) if ordered else None
        return grow(replace(rows, X=matrix), options, limits=limits)

    def _best(self, rows: Sample, column: int, options: GrowOptions) -> SplitTest | None:
        tree = self._grown(rows, [column], options, 2)
        return None if tree.n_leaves < 2 else test_of(tree, 0)._replace(feature=column)

    def _listed(self, best: Callable[[int], SplitTest | None], threads: int = 1) -> list[Candidate]:
        """The splits of the columns that have one, with their figures."""
        current = None
        if self.tree.feature[self.node] >= 0:
            current = self.divided(test_of(self.tree, self.node))[0]

        def candidate(column: int) -> Candidate | None:
            test = best(column)
            return None if test is None else self._candidate(test, current)

        columns = self._rules.columns(self.tree, self.node)
        with ThreadPoolExecutor(threads) as pool:
            return [some for some in pool.map(candidate, columns) if some is not None]

    def _candidate(self, test: SplitTest, current: NDArray[np.bool_] | None) -> Candidate:
        tree, left = stump(test, self.sample, self.tree)
        mass = tree.mass * impurity(tree.masses, self._rules.model.options.criterion)
        agreement = adjusted = None
        if current is not None:
            weight = self.sample.weight
            same = float(np.average(left == current, weights=weight))
            most = float(np.average(current, weights=weight))
            agreement, most = max(same, 1.0 - same), max(most, 1.0 - most)
            adjusted = (agreement - most) / (1.0 - most) if most < 1.0 else None
        return Candidate(
            test,
            split_of(tree, 0, handle_unknown=self._rules.model.reading.handle_unknown),
            float(mass[0] - mass[1] - mass[2]) / self._total,
            tree.errors,
            (int(tree.rows[1]), int(tree.rows[2])),
            agreement,
            adjusted,
        )


class EditedTrees:
    """Makes trees that differ at one node."""

    def __init__(self, model: Model, sample: Sample, default: DefaultLabels) -> None:
        self._sample, self._default = sample, default
        self.rules = EditRules(model, sample)
        self._last: NodeRows | None = None

    def rows_of(self, tree: Tree, node: int) -> NodeRows:
        """The training rows of a node; the last ones are cached."""
        last = self._last
        if last is None or last.tree is not tree or last.node != node:
            last = self._last = NodeRows(self.rules, tree, node, self._sample)
        return last

    def planted(self, tree: Tree, node: int, nodes: Nodes) -> Tree:
        """The tree with other nodes in the place of a subtree."""
        return planted(tree, node, nodes, self._sample, self._default)

    def split(self, tree: Tree, node: int, test: SplitTest, keep: bool) -> Tree:
        """The tree with another split at a node, above the old subtrees or new ones."""
        below = [LEAF, LEAF]
        if tree.feature[node] >= 0 and keep:
            children = (tree.left[node], tree.right[node])
            below = [nodes_of(tree, int(child), self._default) for child in children]
        elif tree.feature[node] >= 0:
            below = self._grown_again(tree, node, test)
        return self.planted(tree, node, split_nodes(test, *below))

    def _grown_again(self, tree: Tree, node: int, test: SplitTest) -> list[Nodes]:
        """Subtrees grown on both sides of a split, with as many leaves as the old ones."""
        # the path now includes the column of the new split
        bare = self.planted(tree, node, split_nodes(test, LEAF, LEAF))
        grown = []
        for link, new in ((tree.left, bare.left), (tree.right, bare.right)):
            leaves, place = int(tree.size[link[node]] + 1) // 2, int(new[node])
            columns = self.rules.columns(bare, place)
            grown.append(self.rows_of(bare, place).grown(columns, leaves)[0])
        return grown

    def grown(self, tree: Tree, node: int, columns: Sequence[int], leaves: int) -> tuple[Tree, int]:
        """The tree with a new subtree at a node, and the leaves of the subtree."""
        nodes, leaves = self.rows_of(tree, node).grown(columns, leaves)
        return self.planted(tree, node, nodes), leaves
