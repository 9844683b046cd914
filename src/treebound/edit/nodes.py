"""Putting other nodes in the place of a subtree, and counting the tree again."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from treebound.data import Sample
from treebound.data.raw import MISSING
from treebound.pruning.costs import Costs
from treebound.tree import Tree
from treebound.tree.naming import naming_rows
from treebound.tree.parsing import SplitTest
from treebound.tree.route import splits

# The class of a node that answers with its majority.
MAJORITY = -1


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes of a subtree in pre-order, without counts; ``label`` is -1 for the majority."""

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    category: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
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
        feature = tree.feature[inside]
        if features is not None:
            feature = np.where(feature >= 0, features[feature], -1)
        label = tree.label[inside]
        majority = _usual(tree, costs)[inside]
        return cls(
            feature.astype(np.int32), tree.threshold[inside], tree.category[inside],
            tree.missing_left[inside], np.where(label == majority, MAJORITY, label),
        )  # fmt: skip

    @classmethod
    def leaf(cls, label: int = MAJORITY) -> Nodes:
        """A single leaf."""
        return cls.single(SplitTest(-1), label)

    @classmethod
    def single(cls, test: SplitTest, label: int = MAJORITY) -> Nodes:
        """One node."""
        return cls(
            np.array([test.feature], dtype=np.int32), np.array([test.threshold]),
            np.array([test.category], dtype=np.int32), np.array([bool(test.missing_left)]),
            np.array([label], dtype=np.int32),
        )  # fmt: skip

    @classmethod
    def split(cls, test: SplitTest, left: Nodes, right: Nodes) -> Nodes:
        """A split and what stands below it."""
        return cls.joined(cls.single(test), left, right)

    @classmethod
    def joined(cls, *parts: Nodes) -> Nodes:
        """Nodes one after the other."""
        return cls(*(np.concatenate([vars(part)[item.name] for part in parts])
                     for item in fields(cls)))  # fmt: skip

    def taken(self, places: list[int]) -> Nodes:
        """Some of the nodes."""
        return Nodes(*(vars(self)[item.name][places] for item in fields(Nodes)))

    def children(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The left and right child of each node, -1 for leaves."""
        left = np.full(len(self.feature), -1, dtype=np.int32)
        right = left.copy()
        waiting: list[int] = []
        for node in range(len(left) - 1, -1, -1):
            if self.feature[node] >= 0:
                left[node], right[node] = waiting.pop(), waiting.pop()
            waiting.append(node)
        return left, right


def _bare_tree(nodes: Nodes, like: Tree) -> Tree:
    """The tree of the nodes without counts."""
    left, right = nodes.children()
    n = len(left)
    return Tree(
        nodes.feature, nodes.threshold, nodes.category, nodes.missing_left, left, right,
        np.zeros((n, like.n_classes)), np.zeros(n, dtype=np.int64), columns=like.columns,
        classes=like.classes, weighted=like.weighted, factors=like.factors, monotone=like.monotone,
    )  # fmt: skip


def _usual(tree: Tree, costs: Costs | None) -> NDArray[np.int32]:
    """The class of each node that nobody chose: of least cost, or the majority's."""
    if costs is not None and costs.given:
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
    before, after = slice(0, node), slice(node + int(tree.size[node]), None)
    whole = Nodes.of(tree, 0)
    # the counts outside of the subtree do not change, and neither do the answers
    whole = replace(whole, label=tree.label)
    ends = [Nodes(*(vars(whole)[item.name][part] for item in fields(Nodes)))
            for part in (before, after)]  # fmt: skip
    joined = Nodes.joined(ends[0], nodes, ends[1])
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
    left = _sides(bare, sample)
    cells = left.view(np.int8) * np.int32(like.n_classes) + sample.y
    counts = np.bincount(cells, sample.weight, minlength=2 * like.n_classes).reshape(2, -1)[::-1]
    counts = np.concatenate([counts.sum(axis=0, keepdims=True), counts])
    n_left = np.count_nonzero(left)
    rows = np.array([len(left), n_left, len(left) - n_left])
    return replace(bare, counts=counts, rows=rows, label=None), left  # type: ignore[arg-type]


def _sides(bare: Tree, sample: Sample) -> NDArray[np.bool_]:
    """Which rows go left at the root."""
    split = splits(bare)[0]
    raw = sample.X.values[int(bare.feature[0])]
    values = raw.astype(np.float64, copy=False)
    left: NDArray[np.bool_] = values <= split["high"]
    left &= values >= max(split["low"], split["known"])  # codes below zero are no categories
    if split["missing"]:
        left |= np.isnan(values) if raw.dtype.kind == "f" else raw == MISSING
    return left


def test_of(tree: Tree, node: int) -> SplitTest:
    """What a node asks."""
    return SplitTest(
        int(tree.feature[node]), float(tree.threshold[node]), int(tree.category[node]),
        bool(tree.missing_left[node]),
    )  # fmt: skip
