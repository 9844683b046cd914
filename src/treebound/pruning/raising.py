"""Subtree raising: nodes are replaced by a leaf or by one of their children."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound.data import Matrix, Sample
from treebound.pruning._raising import Raiser
from treebound.pruning.by_size import BestBySize
from treebound.pruning.costs import Costs
from treebound.pruning.path import PruningPath
from treebound.tree._structure import add_up
from treebound.tree.model import Tree, arranged
from treebound.tree.route import float_rows, splits

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BY = ("left", "right", "leaf")


class Replacement(NamedTuple):
    """One step: a node of the first tree, its replacement, and the recounted nodes."""

    node: int
    by: int
    changed: Ints
    counts: Floats
    rows: Ints
    label: NDArray[np.int32]


def raiser_for(
    tree: Tree,
    sample: Sample | None,
    *,
    validation: Sample | None = None,
    costs: Costs | None = None,
    relabel: bool = True,
) -> Raiser:
    """A mutable copy of a tree: counts and labels from ``sample``, errors on ``validation`` or it.

    Without a sample the labels are kept; so they are if ``relabel`` is false. Rows that would stop
    at an inner node go on as other categories do.
    """
    if tree.monotone is not None:
        raise ValueError(
            "Subtrees of a monotone tree cannot be raised: the order of its columns would not "
            "hold. Hint: use a pruner that only cuts."
        )
    X, y, learned, judged = _merged(sample, validation)
    matrix = (costs or Costs.of(tree, None)).matrix
    return Raiser(
        np.asarray(float_rows(tree, X), dtype=np.float64),
        splits(tree, "other" if X.unknown == "stop" else X.unknown), y, learned, judged,
        tree.left, tree.right, tree.label, np.ascontiguousarray(matrix),
        relabel and sample is not None,
    )  # fmt: skip


def _merged(
    sample: Sample | None, validation: Sample | None
) -> tuple[Matrix, NDArray[np.int32], Floats, Floats]:
    """The rows of both samples, with their training and validation weights."""
    if sample is not None and validation is None:
        weights = np.ascontiguousarray(sample.weights)
        return sample.X, np.ascontiguousarray(sample.y), weights, weights
    assert validation is not None
    seen, judging = np.zeros(validation.n_rows), validation.weights
    if sample is None:
        return validation.X, np.ascontiguousarray(validation.y), seen, np.ascontiguousarray(judging)
    return (
        Matrix.stacked([sample.X, validation.X]),
        np.concatenate([sample.y, validation.y]),
        np.concatenate([sample.weights, seen]),
        np.concatenate([np.zeros(sample.n_rows), judging]),
    )


def replaced(state: Raiser, node: int, by: int) -> Replacement:
    """Replace a node of the state, and record the change."""
    changed = state.replace(node, by)
    return Replacement(
        node,
        by,
        changed,
        state.arrays["learned"][changed],
        state.arrays["rows"][changed],
        state.arrays["label"][changed],
    )


def raised(tree: Tree, steps: list[Replacement], *, counted: bool) -> Tree:
    """The tree after some replacements.

    If no sample was counted, leaves keep their original counts.
    """
    if not steps:
        return tree
    left, right, alive = _linked(tree, steps)
    counts, rows, label = tree.counts.copy(), tree.rows.copy(), tree.label.copy()
    touched = np.zeros(tree.n_nodes, dtype=bool)
    for step in steps:
        if BY[step.by] == "leaf":
            continue
        touched[step.changed] = True
        if counted:
            counts[step.changed], rows[step.changed] = step.counts, step.rows
            label[step.changed] = step.label
    if not counted:
        counts[left >= 0], rows[left >= 0] = 0.0, 0
        add_up(left, right, counts)
        add_up(left, right, rows[:, None])
    inner = left >= 0
    new = np.cumsum(alive) - 1
    weight = (counts if tree.factors is None else counts * tree.factors).sum(axis=1)
    # Without missing training values, missing goes to the larger child, which may have changed.
    unmet = np.array([not column.missing for column in tree.columns])
    moved = touched & inner & unmet[np.maximum(tree.feature, 0)]
    missing_left = np.where(moved, weight[left] >= weight[right], tree.missing_left)

    # The row that named a split may no longer be in its left child.
    names = None if tree.names is None else np.where(touched, -1, tree.names)
    children = (np.where(inner, new[link], -1)[alive] for link in (left, right))
    return arranged(
        tree, alive, *children, missing_left=missing_left, counts=counts, rows=rows, label=label,
        names=names, counted=counted or not touched.any(),
    )  # fmt: skip


def _linked(
    tree: Tree, steps: list[Replacement]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    """The children of each node after some replacements, and which nodes are left."""
    left, right = tree.left.copy(), tree.right.copy()
    alive = np.ones(tree.n_nodes, dtype=bool)
    for step in steps:
        node, end = step.node, step.node + int(tree.size[step.node])
        if BY[step.by] == "leaf":
            alive[node + 1 : end] = False
            left[node] = right[node] = -1
            continue
        kept = int((left if BY[step.by] == "left" else right)[node])
        alive[node:kept] = False
        alive[kept + int(tree.size[kept]) : end] = False
        for links in (left, right):
            links[links == node] = kept
    return left, right, alive


class RaisedPath(PruningPath):
    """A path of replacements, each applied to the tree of the previous step.

    ``table`` has leaves, errors and score of each step.
    """

    def __init__(
        self,
        tree: Tree,
        steps: list[Replacement],
        table: list[tuple[int, float, float]],
        *,
        unit: str = "errors",
        counted: bool = True,
    ) -> None:
        super().__init__(tree, chosen=len(steps), unit=unit)
        self._steps, self._counted, self._table = steps, counted, table
        leaves, errors, scores = zip(*table, strict=True)
        self.leaves, self.errors, self.scores = map(np.array, (leaves, errors, scores))

    def cuts(self, step: int) -> NDArray[np.intp] | None:
        if any(BY[one.by] != "leaf" for one in self._steps[:step]):
            return None
        nodes = np.array([one.node for one in self._steps[:step]], dtype=np.intp)
        ends = nodes + self.first.size[nodes]
        # a later replacement may be an ancestor of an earlier one
        inside = (nodes[:, None] > nodes) & (nodes[:, None] < ends)
        return np.sort(nodes[~inside.any(axis=1)])

    def _tree(self, step: int) -> Tree:
        return raised(self.first, self._steps[:step], counted=self._counted)

    def _extended(self, leaves: int) -> PruningPath:
        """The path with one more step for each subtree that becomes a leaf."""
        last = self._tree(len(self._steps))
        sizes = BestBySize(last, last.node_losses)
        cuts = sizes.cuts(int(np.argmin(sizes.errors(leaves))) + 1)
        alive = np.flatnonzero(_linked(self.first, self._steps)[2])
        none: Any = np.empty(0)
        steps, table = list(self._steps), list(self._table)
        plain = float(last.node_losses[last.is_leaf].sum()) == self.errors[-1]  # no costs
        for at, node in enumerate(alive[cuts].tolist(), 1):
            steps.append(Replacement(node, BY.index("leaf"), none, none, none, none))
            smaller = last.collapsed(cuts[:at])
            losses = smaller.node_losses[smaller.is_leaf].sum()
            table.append((smaller.n_leaves, float(losses) if plain else np.nan, np.nan))
        return RaisedPath(self.first, steps, table, unit=self.unit, counted=self._counted)

    def _replacements(self) -> list[tuple[int | None, str | None]]:
        rows: list[tuple[int | None, str | None]] = [(None, None)]
        return rows + [(one.node, BY[one.by]) for one in self._steps]
