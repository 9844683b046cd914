"""Edited trees, counted on the training rows and grown by the rules of fit."""

from __future__ import annotations

from collections.abc import Sequence

from treebound.data import Sample
from treebound.edit.candidates import NodeRows
from treebound.edit.nodes import Nodes, planted
from treebound.edit.rules import Rules
from treebound.model import Model
from treebound.pruning.costs import Costs
from treebound.tree import Tree
from treebound.tree.parsing import SplitTest


class EditedTrees:
    """Makes trees that differ at one node."""

    def __init__(self, model: Model, sample: Sample, costs: Costs | None) -> None:
        self._sample, self._costs = sample, costs
        self.rules = Rules(model, sample)
        self._last: NodeRows | None = None

    def rows_of(self, tree: Tree, node: int) -> NodeRows:
        """The training rows of a node; those asked for last are kept."""
        last = self._last
        if last is None or last.tree is not tree or last.node != node:
            last = self._last = NodeRows(self.rules, tree, node, self._sample)
        return last

    def planted(self, tree: Tree, node: int, nodes: Nodes) -> Tree:
        """The tree with other nodes in the place of a subtree."""
        return planted(tree, node, nodes, self._sample, self._costs)

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
            grown.append(self.rows_of(bare, place).grown(columns, leaves)[0])
        return grown

    def grown(self, tree: Tree, node: int, columns: Sequence[int], leaves: int) -> tuple[Tree, int]:
        """The tree with a new subtree at a node, and the leaves of the subtree."""
        nodes, leaves = self.rows_of(tree, node).grown(columns, leaves)
        return self.planted(tree, node, nodes), leaves
