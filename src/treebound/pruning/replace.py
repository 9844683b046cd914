"""Subtree replacement: a node gives way to a leaf or to one of its children, again and again."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound.pruning._raise import Raiser
from treebound.pruning.base import Examples
from treebound.pruning.costs import Costs
from treebound.pruning.path import PruningPath
from treebound.tree.model import Tree

__all__ = ["RaisedPath", "Replacement", "raiser_for", "raised"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BY = ("left", "right", "leaf")


class Replacement(NamedTuple):
    """One step: a node of the first tree, what took its place, and what was counted anew there."""

    node: int
    by: int
    changed: Ints
    counts: Floats
    rows: Ints
    label: NDArray[np.int32]


def raiser_for(
    tree: Tree,
    learn: Examples | None,
    *,
    judge: Examples | None = None,
    costs: Costs | None = None,
) -> Raiser:
    """A copy of a tree that can be pruned in place, with the examples inside it.

    Parameters
    ----------
    learn : Examples or None
        What decides the answers of nodes that get other examples; None keeps the answers.
    judge : Examples, optional
        Where errors are counted; by default on ``learn``.
    """
    together, weights, judged = _merged(learn, judge)
    columns = tree.columns
    missing_code = [
        float(len(one.categories or ())) if one.kind == "nominal" and one.missing else -1.0
        for one in columns
    ]
    inner = ~tree.is_leaf
    heavier = np.zeros(tree.n_nodes, dtype=np.uint8)
    heavier[inner] = tree.weight[tree.left[inner]] >= tree.weight[tree.right[inner]]
    routing = (
        together.X,
        tree.feature,
        tree.threshold,
        tree.category,
        tree.missing_left.view(np.uint8),
        heavier,
        np.array(missing_code, dtype=np.float64),
        np.array([one.kind == "real" for one in columns], dtype=np.uint8),
    )
    matrix = 1.0 - np.eye(tree.n_classes) if costs is None else costs.matrix
    return Raiser(
        routing, together.y, weights, judged, tree.left, tree.right, tree.label,
        np.ascontiguousarray(matrix), learn is not None,
    )  # fmt: skip


def _merged(learn: Examples | None, judge: Examples | None) -> tuple[Examples, Floats, Floats]:
    """One set of rows, with a weight for learning and one for judging."""
    if learn is not None and judge is None:
        weights = np.ascontiguousarray(learn.weights)
        return learn, weights, weights
    assert judge is not None
    if learn is None:
        return judge, np.zeros(len(judge.y)), np.ascontiguousarray(judge.weights)
    nothing = np.zeros(len(learn.y)), np.zeros(len(judge.y))
    both = Examples(np.concatenate([learn.X, judge.X]), np.concatenate([learn.y, judge.y]), None)
    return (
        both,
        np.concatenate([learn.weights, nothing[1]]),
        np.concatenate([nothing[0], judge.weights]),
    )


def replaced(state: Raiser, node: int, by: int, *, keep_counts: bool = False) -> Replacement:
    """Replace a node of the state, and write down what changed."""
    changed = state.replace(node, by)
    if keep_counts:
        changed = changed[:0]
    return Replacement(
        node,
        by,
        changed,
        state.arrays["learned"][changed],
        state.arrays["rows"][changed],
        state.arrays["label"][changed],
    )


def raised(tree: Tree, steps: list[Replacement]) -> Tree:
    """The tree after some replacements."""
    if not steps:
        return tree
    left, right = tree.left.copy(), tree.right.copy()
    counts, rows, label = tree.counts.copy(), tree.rows.copy(), tree.label.copy()
    alive = np.ones(tree.n_nodes, dtype=bool)
    touched = np.zeros(tree.n_nodes, dtype=bool)
    for step in steps:
        node, end = step.node, step.node + int(tree.size[step.node])
        if BY[step.by] == "leaf":
            alive[node + 1 : end] = False
            left[node] = right[node] = -1
            continue
        kept = int((left if BY[step.by] == "left" else right)[node])
        alive[node:kept] = False
        alive[kept + int(tree.size[kept]) : end] = False
        _relink(left, right, node, kept)
        counts[step.changed], rows[step.changed] = step.counts, step.rows
        label[step.changed] = step.label
        touched[step.changed] = True
    return _assembled(tree, left, right, counts, rows, label, alive, touched)


def _relink(left: NDArray[np.int32], right: NDArray[np.int32], old: int, new: int) -> None:
    for links in (left, right):
        links[links == old] = new


def _assembled(
    tree: Tree,
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    counts: Floats,
    rows: Ints,
    label: NDArray[np.int32],
    alive: NDArray[np.bool_],
    touched: NDArray[np.bool_],
) -> Tree:
    inner = left >= 0
    new = np.cumsum(alive) - 1
    weight = counts.sum(axis=1)
    # A missing value that was never met goes to the larger child, which may be another one now.
    unmet = np.array([not one.missing for one in tree.columns])
    moved = touched & inner & unmet[np.maximum(tree.feature, 0)]
    missing_left = np.where(moved, weight[left] >= weight[right], tree.missing_left)

    def blank(values: NDArray[Any], empty: Any) -> NDArray[Any]:
        return np.where(inner, values, empty)[alive]

    return Tree(
        feature=blank(tree.feature, -1),
        threshold=blank(tree.threshold, np.nan),
        category=blank(tree.category, -1),
        missing_left=blank(missing_left, False),
        left=blank(new[left], -1),
        right=blank(new[right], -1),
        counts=counts[alive],
        rows=rows[alive],
        label=label[alive],
        columns=tree.columns,
        classes=tree.classes,
    )


class RaisedPath(PruningPath):
    """A path of replacements, each on the tree the one before left behind."""

    def __init__(
        self,
        tree: Tree,
        steps: list[Replacement],
        *,
        leaves: list[int],
        errors: list[float],
        scores: list[float],
        unit: str = "errors",
    ) -> None:
        self._first = tree
        self._steps = steps
        self._table = (np.array(leaves, dtype=np.int64), np.array(errors), np.array(scores))
        self.chosen = len(steps)
        self.unit = unit

    @property
    def leaves(self) -> Ints:
        return self._table[0]

    @property
    def errors(self) -> Floats:
        return self._table[1]

    @property
    def scores(self) -> Floats:
        return self._table[2]

    def _tree(self, step: int) -> Tree:
        return raised(self._first, self._steps[:step])

    def _replacements(self) -> list[tuple[int | None, str | None]]:
        rows: list[tuple[int | None, str | None]] = [(None, None)]
        return rows + [(one.node, BY[one.by]) for one in self._steps]
