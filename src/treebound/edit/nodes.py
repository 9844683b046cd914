"""Putting other nodes in the place of a subtree, and counting the tree again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.data import Sample
from treebound.tree import Tree
from treebound.tree.naming import naming_rows
from treebound.tree.split import SplitTest

# The nodes of a subtree in pre-order: their splits and the classes that they predict.
NODE = np.dtype(
    [("feature", np.int32), ("threshold", np.float64), ("category", np.int32),
     ("missing_left", np.bool_), ("label", np.int32)]
)  # fmt: skip
Nodes = NDArray[np.void]
# The label of a node whose class follows from its rows, and the rule for these classes.
DEFAULT = -1
DefaultLabels = Callable[[Tree], NDArray[np.int32]]
LEAF: Nodes = np.array([(*SplitTest(-1), DEFAULT)], dtype=NODE)


def majority(tree: Tree) -> NDArray[np.int32]:
    """The class of most training rows at each node."""
    return tree.by_majority().label


def nodes_of(
    tree: Tree, node: int, default: DefaultLabels, features: NDArray[np.intp] | None = None
) -> Nodes:
    """The subtree of a node; ``features`` are the columns of the tree in another table.

    A class that differs from the default was set by hand and does not change.
    """
    nodes = np.empty(tree.n_nodes, dtype=NODE)
    for name in NODE.names or ():
        nodes[name] = vars(tree)[name]
    nodes["label"][tree.label == default(tree)] = DEFAULT
    if features is not None:
        nodes["feature"] = np.where(tree.feature >= 0, features[tree.feature], -1)
    return nodes[node : node + int(tree.size[node])]


def split_nodes(test: SplitTest, left: Nodes, right: Nodes) -> Nodes:
    """A split and the subtrees below it."""
    return np.concatenate([np.array([(*test, DEFAULT)], dtype=NODE), left, right])


def _children(nodes: Nodes) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The left and right child of each node, -1 for leaves."""
    left, right = np.full((2, len(nodes)), -1, dtype=np.int32)
    inner, waiting = (nodes["feature"] >= 0).tolist(), list[int]()
    for node in range(len(nodes) - 1, -1, -1):
        if inner[node]:
            left[node], right[node] = waiting.pop(), waiting.pop()
        waiting.append(node)
    return left, right


def _bare_tree(nodes: Nodes, like: Tree) -> Tree:
    """The tree of the nodes without counts."""
    (left, right), n = _children(nodes), len(nodes)
    tests: dict[str, Any] = {name: nodes[name] for name in SplitTest._fields}
    return Tree(
        **tests, left=left, right=right, counts=np.zeros((n, like.n_classes)),
        rows=np.zeros(n, dtype=np.int64), columns=like.columns, classes=like.classes,
        weighted=like.weighted, factors=like.factors, monotone=like.monotone,
    )  # fmt: skip


def counted_tree(nodes: Nodes, sample: Sample, like: Tree, default: DefaultLabels) -> Tree:
    """The tree of the nodes with the counts of a sample."""
    tree = _bare_tree(nodes, like).recounted(sample)
    label = np.where(nodes["label"] == DEFAULT, default(tree), nodes["label"])
    return replace(tree, label=label)


def planted(tree: Tree, node: int, nodes: Nodes, sample: Sample, default: DefaultLabels) -> Tree:
    """The tree with other nodes in the place of a subtree, counted on the training rows.

    Splits with an empty side are removed. If rows name the splits, they are looked up again:
    a threshold that is no training value has none, and the tree then has no compression
    certificate, while that of tail inversion keeps its half of delta.
    """
    # the counts outside of the subtree do not change, and neither do the labels
    whole = nodes_of(tree, 0, default)
    whole["label"] = tree.label
    joined = np.concatenate([whole[:node], nodes, whole[node + int(tree.size[node]) :]])
    edited = counted_tree(joined, sample, tree, default)
    remaining = _with_rows(edited)
    if len(remaining) < edited.n_nodes:
        edited = counted_tree(joined[remaining], sample, tree, default)
    if tree.names is not None:
        edited = replace(edited, names=naming_rows(edited, sample))
    return edited


def _with_rows(tree: Tree) -> list[int]:
    """The nodes of the tree without splits that have an empty side, in pre-order."""
    remaining, stack = [], [0]
    while stack:
        node = stack.pop()
        left, right = int(tree.left[node]), int(tree.right[node])
        if left < 0 or (tree.rows[left] and tree.rows[right]):
            remaining.append(node)
            stack += [] if left < 0 else [right, left]
        else:
            stack.append(left if tree.rows[left] else right)
    return remaining


def rows_at(tree: Tree, node: int, sample: Sample) -> NDArray[np.intp]:
    """The rows of a sample that pass a node."""
    policy = "other" if sample.X.handle_unknown == "stop" else None
    reached = tree.apply(sample.X, policy)
    return np.flatnonzero((reached >= node) & (reached < node + tree.size[node]))


def stump(test: SplitTest, sample: Sample, like: Tree) -> tuple[Tree, NDArray[np.bool_]]:
    """A split with two leaves, counted on some rows, and which of them go left."""
    bare = _bare_tree(split_nodes(test, LEAF, LEAF), like)
    left = bare.apply(sample.X, "other") == bare.left[0]
    cells = left.view(np.int8) * np.int32(like.n_classes) + sample.y
    counts = np.bincount(cells, sample.weight, minlength=2 * like.n_classes).reshape(2, -1)[::-1]
    counts = np.concatenate([counts.sum(axis=0, keepdims=True), counts])
    n_left = np.count_nonzero(left)
    rows = np.array([len(left), n_left, len(left) - n_left])
    return replace(bare, counts=counts, rows=rows, label=None), left  # type: ignore[arg-type]
