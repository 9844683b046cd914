"""Edited trees, counted on the training rows and grown by the rules of fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from treebound.data import Sample
from treebound.edit.candidates import Candidate, best_split, candidates, grown_nodes
from treebound.edit.nodes import Nodes, planted, rows_at, sides
from treebound.edit.rules import Rules
from treebound.model import Model
from treebound.pruning.costs import Costs
from treebound.tree import Tree
from treebound.tree.parsing import SplitTest

__all__ = ["EditedTrees"]


class EditedTrees:
    """Makes trees that differ at one node."""

    def __init__(self, model: Model, sample: Sample, costs: Costs | None) -> None:
        self._model, self._sample, self._costs = model, sample, costs
        self.rules = Rules(model)
        self._here: tuple[Tree, int, Sample] | None = None  # the rows that were asked for last

    def rows_of(self, tree: Tree, node: int) -> Sample:
        """The training rows of a node."""
        if self._here is None or self._here[0] is not tree or self._here[1] != node:
            rows = self._sample.part(rows_at(tree, node, self._sample)) if node else self._sample
            self._here = tree, node, rows
        return self._here[2]

    def planted(self, tree: Tree, node: int, nodes: Nodes) -> Tree:
        """The tree with other nodes in the place of a subtree."""
        return planted(tree, node, nodes, self._sample, self._costs)

    def candidates(self, tree: Tree, node: int, threads: int) -> list[Candidate]:
        """The best split of every column at a node, by gain."""
        here = self.rows_of(tree, node)
        return candidates(self._model, self.rules, tree, node, here, self._sample.mass, threads)

    def best_split(self, tree: Tree, node: int, column: int) -> SplitTest | None:
        """The best split of a column at a node."""
        options = self.rules.options(tree, node, [column])
        best = best_split(self.rows_of(tree, node), self._sample.mass, column, options)
        return None if best is None else best[0]

    def parted(
        self, tree: Tree, node: int, test: SplitTest
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Which rows of a node a split sends left, and the classes on the left and the right."""
        here = self.rows_of(tree, node)
        left = sides(test, here, tree)
        counts = [
            np.bincount(here.y[side], here.weights[side], minlength=here.n_classes)
            for side in (left, ~left)
        ]
        return left, np.array(counts)

    def split(self, tree: Tree, node: int, test: SplitTest, keep: bool) -> Tree:
        """The tree with another split at a node, above what stood there or what grows anew."""
        below = [Nodes.leaf(), Nodes.leaf()]
        if tree.feature[node] >= 0 and keep:
            children = (tree.left[node], tree.right[node])
            below = [Nodes.of(tree, int(child), costs=self._costs) for child in children]
        elif tree.feature[node] >= 0:
            below = self._grown_again(tree, node, test)
        return self.planted(tree, node, Nodes.split(test, *below))

    def _grown_again(self, tree: Tree, node: int, test: SplitTest) -> list[Nodes]:
        """What grows on both sides of a split, to as many leaves as stood there."""
        # below the new split its column has been asked
        bare = self.planted(tree, node, Nodes.split(test, Nodes.leaf(), Nodes.leaf()))
        grown = []
        for link, new in ((tree.left, bare.left), (tree.right, bare.right)):
            leaves, place = int(tree.size[link[node]] + 1) // 2, int(new[node])
            columns = self.rules.columns(bare, place)
            grown.append(self._grown_nodes(bare, place, columns, leaves)[0])
        return grown

    def _grown_nodes(
        self, tree: Tree, node: int, columns: Sequence[int], leaves: int
    ) -> tuple[Nodes, Tree]:
        options = self.rules.options(tree, node, columns)
        return grown_nodes(self.rows_of(tree, node), self._sample.mass, columns, options, leaves)

    def grown(self, tree: Tree, node: int, columns: Sequence[int], leaves: int) -> tuple[Tree, int]:
        """The tree with a new subtree at a node, and the leaves of the subtree."""
        nodes, subtree = self._grown_nodes(tree, node, columns, leaves)
        return self.planted(tree, node, nodes), subtree.n_leaves
