"""Putting other nodes in the place of a subtree, and counting the tree again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.data import Sample
from treebound.pruning.costs import Costs
from treebound.tree import Tree
from treebound.tree.naming import naming_rows
from treebound.tree.split import SplitTest

# The class of a node that answers with its majority.
MAJORITY = -1


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes of a subtree in pre-order, without counts; ``label`` is -1 for the majority."""

    tests: dict[str, Any]  # what they ask, by the fields of ``SplitTest``
    label: NDArray[np.int32]

    @classmethod
    def of(
        cls,
        tree: Tree,
        node: int,
        features: NDArray[np.intp] | None = None,
        costs: Costs | None = None,
    ) -> Nodes:
        """The subtree of a node; ``features`` are the columns of the tree in another table.

        A class that is neither the majority's nor that of least cost was chosen by someone, and is
        kept.
        """
        inside = slice(node, node + int(tree.size[node]))
        tests = {name: vars(tree)[name][inside] for name in SplitTest._fields}
        if features is not None:
            tests["feature"] = np.where(tests["feature"] >= 0, features[tests["feature"]], -1)
        label, majority = tree.label[inside], _usual(tree, costs)[inside]
        return cls(tests, np.where(label == majority, MAJORITY, label))

    @classmethod
    def leaf(cls, label: int = MAJORITY) -> Nodes:
        """A single leaf."""
        return cls.single(SplitTest(-1), label)

    @classmethod
    def single(cls, test: SplitTest, label: int = MAJORITY) -> Nodes:
        """One node."""
        test = test._replace(missing_left=bool(test.missing_left))
        tests = {name: np.array([value]) for name, value in test._asdict().items()}
        return cls(tests, np.array([label], dtype=np.int32))

    @classmethod
    def split(cls, test: SplitTest, left: Nodes, right: Nodes) -> Nodes:
        """A split and what stands below it."""
        return cls.joined(cls.single(test), left, right)

    @classmethod
    def joined(cls, *parts: Nodes) -> Nodes:
        """Nodes one after the other."""
        tests = {
            name: np.concatenate([part.tests[name] for part in parts]) for name in SplitTest._fields
        }
        return cls(tests, np.concatenate([part.label for part in parts]))

    def taken(self, places: list[int] | slice) -> Nodes:
        """Some of the nodes."""
        return Nodes({name: own[places] for name, own in self.tests.items()}, self.label[places])

    def children(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The left and right child of each node, -1 for leaves."""
        feature = self.tests["feature"]
        left = np.full(len(feature), -1, dtype=np.int32)
        right = left.copy()
        waiting: list[int] = []
        for node in range(len(left) - 1, -1, -1):
            if feature[node] >= 0:
                left[node], right[node] = waiting.pop(), waiting.pop()
            waiting.append(node)
        return left, right


def _bare_tree(nodes: Nodes, like: Tree) -> Tree:
    """The tree of the nodes without counts."""
    left, right = nodes.children()
    n = len(left)
    return Tree(
        **nodes.tests, left=left, right=right, counts=np.zeros((n, like.n_classes)),
        rows=np.zeros(n, dtype=np.int64), columns=like.columns, classes=like.classes,
        weighted=like.weighted, factors=like.factors, monotone=like.monotone,
    )  # fmt: skip


def _usual(tree: Tree, costs: Costs | None) -> NDArray[np.int32]:
    """The class of each node without a choice by hand: of least cost, or the majority's."""
    if costs is not None and costs.chosen:
        return costs.labels(tree.counts)
    return replace(tree, label=None).label  # type: ignore[arg-type]


def counted_tree(nodes: Nodes, sample: Sample, like: Tree, costs: Costs | None = None) -> Tree:
    """The tree of the nodes with the counts of a sample."""
    tree = _bare_tree(nodes, like).recounted(sample)
    return replace(tree, label=np.where(nodes.label >= 0, nodes.label, _usual(tree, costs)))


def planted(
    tree: Tree, node: int, nodes: Nodes, sample: Sample, costs: Costs | None = None
) -> Tree:
    """The tree with other nodes in the place of a subtree, counted on the training rows.

    Splits with an empty side are left out. Where rows name the splits they are looked up again:
    a threshold that is no training value has none, and the tree then has no compression
    certificate, while that of tail inversion keeps its half of delta.
    """
    # the counts outside of the subtree do not change, and neither do the answers
    whole = replace(Nodes.of(tree, 0), label=tree.label)
    before, after = slice(0, node), slice(node + int(tree.size[node]), None)
    joined = Nodes.joined(whole.taken(before), nodes, whole.taken(after))
    edited = counted_tree(joined, sample, tree, costs)
    kept = _with_rows(edited)
    if len(kept) < edited.n_nodes:
        edited = counted_tree(joined.taken(kept), sample, tree, costs)
    if tree.names is not None:
        edited = replace(edited, names=naming_rows(edited, sample))
    return edited


def _with_rows(tree: Tree) -> list[int]:
    """The nodes of the tree without splits that have an empty side, in pre-order."""
    kept, stack = [], [0]
    while stack:
        node = stack.pop()
        left, right = int(tree.left[node]), int(tree.right[node])
        if left < 0 or (tree.rows[left] and tree.rows[right]):
            kept.append(node)
            stack += [] if left < 0 else [right, left]
        else:
            stack.append(left if tree.rows[left] else right)
    return kept


def rows_at(tree: Tree, node: int, sample: Sample) -> NDArray[np.intp]:
    """The rows of a sample that pass a node."""
    policy = "other" if sample.X.unknown == "stop" else None
    reached = tree.apply(sample.X, policy)
    return np.flatnonzero((reached >= node) & (reached < node + tree.size[node]))


def stump(test: SplitTest, sample: Sample, like: Tree) -> tuple[Tree, NDArray[np.bool_]]:
    """A split with two leaves, counted on some rows, and which of them go left."""
    bare = _bare_tree(Nodes.split(test, Nodes.leaf(), Nodes.leaf()), like)
    left = bare.apply(sample.X, "other") == bare.left[0]
    cells = left.view(np.int8) * np.int32(like.n_classes) + sample.y
    counts = np.bincount(cells, sample.weight, minlength=2 * like.n_classes).reshape(2, -1)[::-1]
    counts = np.concatenate([counts.sum(axis=0, keepdims=True), counts])
    n_left = np.count_nonzero(left)
    rows = np.array([len(left), n_left, len(left) - n_left])
    return replace(bare, counts=counts, rows=rows, label=None), left  # type: ignore[arg-type]
