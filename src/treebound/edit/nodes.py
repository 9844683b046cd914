"""Putting other nodes in the place of a subtree, and counting the tree again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.edit.kind import AnySample, AnyTree, TargetKind
from treebound.tree.base import BaseTree
from treebound.tree.split import SplitTest

# The nodes of a subtree in pre-order: their splits and what they predict.
NODE = np.dtype(
    [("feature", np.int32), ("threshold", np.float64), ("category", np.int32),
     ("missing_left", np.bool_), ("prediction", np.float64)]
)  # fmt: skip
Nodes = NDArray[np.void]
# The prediction of a node for which it follows from its rows.
DEFAULT = np.nan
LEAF: Nodes = np.array([(*SplitTest(-1), DEFAULT)], dtype=NODE)
EditedKind = TargetKind[Any, AnyTree, AnySample]


def nodes_of(
    tree: AnyTree,
    node: int,
    kind: EditedKind[AnyTree, Any],
    features: NDArray[np.intp] | None = None,
) -> Nodes:
    """The subtree of a node; ``features``: of a grown tree, its columns in another table.

    A prediction that differs from the default was set by hand and does not change.
    """
    nodes = _splits(tree)
    by_hand = kind.by_hand(tree, plain=features is not None)
    nodes["prediction"] = np.where(by_hand, kind.predictions(tree), DEFAULT)
    if features is not None:
        nodes["feature"] = np.where(tree.feature >= 0, features[tree.feature], -1)
    return nodes[node : node + int(tree.size[node])]


def _splits(tree: BaseTree) -> Nodes:
    nodes = np.empty(tree.n_nodes, dtype=NODE)
    for name in SplitTest._fields:
        nodes[name] = vars(tree)[name]
    return nodes


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


def _bare_tree(nodes: Nodes, like: AnyTree, kind: EditedKind[AnyTree, Any]) -> AnyTree:
    """The tree of the nodes without counts."""
    left, right = _children(nodes)
    tests: dict[str, Any] = {name: nodes[name] for name in SplitTest._fields}
    return kind.bare({**tests, "left": left, "right": right}, like)


def planted(
    tree: AnyTree, node: int, nodes: Nodes, sample: AnySample, kind: EditedKind[AnyTree, AnySample]
) -> AnyTree:
    """The tree with other nodes in the place of a subtree, counted on the training rows.

    Splits with an empty side are removed. If rows name the splits, they are looked up again:
    a threshold that is no training value has none, and the tree then has no compression
    certificate, while that of tail inversion keeps its half of delta.
    """
    # the counts outside of the subtree do not change, and neither do the predictions
    whole = _splits(tree)
    whole["prediction"] = kind.predictions(tree)
    joined = np.concatenate([whole[:node], nodes, whole[node + int(tree.size[node]) :]])
    bare = _bare_tree(joined, tree, kind)
    remaining = _with_rows(bare, _rows_of(bare, sample))
    if len(remaining) < bare.n_nodes:
        joined = joined[remaining]
        bare = _bare_tree(joined, tree, kind)
    edited = kind.counted(bare, sample, tree)
    chosen = joined["prediction"]
    predictions = np.where(np.isnan(chosen), kind.defaults(edited), chosen)
    return kind.with_predictions(edited, predictions)


def _reached(tree: BaseTree, sample: Any) -> NDArray[np.int32]:
    """The node that each row of a sample reaches; unknown categories stop nowhere."""
    return tree.apply(sample.X, "other" if sample.X.handle_unknown == "stop" else None)


def _rows_of(tree: BaseTree, sample: Any) -> NDArray[np.int64]:
    """The number of rows at each node."""
    ends = np.bincount(_reached(tree, sample), minlength=tree.n_nodes)
    before = np.concatenate([[0], ends.cumsum()])
    nodes = np.arange(tree.n_nodes)
    rows: NDArray[np.int64] = before[nodes + tree.size] - before[nodes]
    return rows


def _with_rows(tree: BaseTree, rows: NDArray[np.int64]) -> list[int]:
    """The nodes of the tree without splits that have an empty side, in pre-order."""
    remaining, stack = [], [0]
    while stack:
        node = stack.pop()
        left, right = int(tree.left[node]), int(tree.right[node])
        if left < 0 or (rows[left] and rows[right]):
            remaining.append(node)
            stack += [] if left < 0 else [right, left]
        else:
            stack.append(left if rows[left] else right)
    return remaining


def rows_at(tree: BaseTree, node: int, sample: Any) -> NDArray[np.bool_]:
    """Mask of the rows of a sample that pass a node."""
    reached = _reached(tree, sample)
    return np.asarray((reached >= node) & (reached < node + tree.size[node]))


def stump(
    test: SplitTest, sample: AnySample, like: AnyTree, kind: EditedKind[AnyTree, AnySample]
) -> tuple[AnyTree, NDArray[np.bool_]]:
    """A split with two leaves, counted on some rows, and which of them go left."""
    bare = _bare_tree(split_nodes(test, LEAF, LEAF), like, kind)
    left = bare.apply(sample.X, "other") == bare.left[0]
    return kind.stump(bare, sample, left), left
