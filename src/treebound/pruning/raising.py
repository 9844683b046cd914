"""Subtree raising: nodes are replaced by a leaf or by one of their children."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats, Ints
from treebound.data import Matrix, Sample
from treebound.pruning.costs import Costs
from treebound.tree._route import route
from treebound.tree._structure import add_up
from treebound.tree.base import arranged
from treebound.tree.model import Tree
from treebound.tree.route import float_rows, parents, splits

Links = NDArray[np.int32]

BY = ("left", "right", "leaf")
_ALL = slice(None)


class Replacement(NamedTuple):
    """One step: a node of the first tree, its replacement, and the recounted nodes."""

    node: int
    by: int
    changed: Ints
    counts: Floats
    rows: Ints
    label: NDArray[np.int32]


class Raiser:
    """A tree whose nodes are replaced one by one, with its rows.

    Counts and labels come from ``sample``, errors from ``validation`` or the sample. Without a
    sample the labels are kept; so they are if ``relabel`` is false. Rows that would stop at an
    inner node go on as other categories do.

    Nodes keep their numbers, and ascending numbers stay in pre-order: a raised subtree is inside
    the subtree that it replaces. Only what a replacement changes is counted again: what is below
    the raised child and, for each node above, the errors after raising the changed side.
    """

    def __init__(
        self,
        tree: Tree,
        sample: Sample | None,
        *,
        validation: Sample | None = None,
        costs: Costs | None = None,
        relabel: bool = True,
    ) -> None:
        if tree.monotone is not None:
            raise ValueError(
                "Subtrees of a monotone tree cannot be raised: the order of its columns would not "
                "hold. Hint: use a pruner that only cuts."
            )
        samples = [part for part in (sample, validation) if part is not None]
        X = samples[0].X if len(samples) == 1 else Matrix.stacked([part.X for part in samples])
        self._y = np.concatenate([part.y for part in samples])
        training, validated = (
            np.concatenate([part.weights * (part is chosen) for part in samples])
            for chosen in (sample, samples[-1])
        )
        # to learn from, whether it is a row to learn from, to count errors on
        self._weights = np.stack([training, training > 0.0, validated])
        # those that errors need; without validation rows the first and the last are the same
        self._compared = slice(0, 1) if validation is None else slice(0, 3, 2)
        self._X = np.asarray(float_rows(tree, X), dtype=np.float64)
        self._splits = splits(
            tree, "other" if X.handle_unknown == "stop" else X.handle_unknown
        ).copy()
        self._costs = Costs.of(tree, None) if costs is None else costs
        self._relabel = relabel and sample is not None
        self._end = np.arange(tree.n_nodes) + tree.size
        self.links = _Links(tree)
        self.root = 0
        self.label = tree.label.copy()
        # the rows in the order of the leaves that they reach
        self._order, self._reached = np.arange(len(self._y)), np.zeros(len(self._y), dtype=np.int32)
        self._counts = np.zeros((3, *tree.counts.shape))  # with each of the weights
        self.as_leaf, self._sums = np.zeros(tree.n_nodes), np.zeros((tree.n_nodes, 2))
        self._raised = np.full((tree.n_nodes, 2), np.nan)  # errors after it; NaN: not counted
        self._settle(0, 0, relabel=False)

    @property
    def errors(self) -> float:
        """Errors of the current tree."""
        return float(self._sums[self.root, 1])

    @property
    def leaves(self) -> int:
        """Number of leaves of the current tree."""
        return int(self._sums[self.root, 0])

    def inner(self) -> Ints:
        """The inner nodes in pre-order."""
        return np.flatnonzero(self.links.present & (self.links.left >= 0))

    def candidates(self, nodes: Ints) -> tuple[Ints, Floats]:
        """Leaves and errors with each node replaced by its left child, right child, leaf."""
        for at, by in np.argwhere(np.isnan(self._raised[nodes])).tolist():
            self._raised[nodes[at], by] = self._errors_after(int(nodes[at]), by)
        sizes = self._sums[:, 0].astype(np.int64)
        children = (self.links.left[nodes], self.links.right[nodes])
        below = np.stack([sizes[children[0]], sizes[children[1]], np.ones_like(nodes)], axis=1)
        after = np.column_stack([self._raised[nodes], self.as_leaf[nodes]])
        leaves = below + (sizes[self.root] - sizes[nodes])[:, None]
        errors = (self.errors - self._sums[nodes, 1])[:, None] + after
        return leaves.ravel(), errors.ravel()

    def _errors_after(self, node: int, by: int) -> float:
        """Errors of the rows of a node if all of them go through one of its children."""
        links = self.links.left, self.links.right
        child, gone = int(links[by][node]), int(links[1 - by][node])
        here = slice(child, self._end[child])
        rows, tables = self._order[self._slice(gone)], self._counts[self._compared, here]
        counts = tables + self._tally(rows, here, self._compared)[1]
        leaves = np.flatnonzero(self.links.present[here] & (self.links.left[here] < 0))
        label = self.label[here][leaves]
        if self._relabel:
            label = self._costs.labels(counts[0, leaves])
        return float(self._costs.of_counts(counts[-1, leaves], label).sum())

    def replace(self, node: int, by: int) -> Replacement:
        """Replace a node by its left child (0), its right child (1) or a leaf (2)."""
        above = self.links.parent(node)
        child = self.links.replace(node, by)
        if BY[by] == "leaf":
            self._splits["column"][node] = -1
            self._reached[self._slice(node)] = node
            changed = np.empty(0, dtype=np.int64)
            self._add_up()
        else:
            if above < 0:
                self.root = child
            else:
                self._splits["child"][above, int(self.links.left[above] == child)] = child
            self._settle(node, child, relabel=self._relabel)
            changed = child + np.flatnonzero(self.links.present[child : self._end[child]])
        below = child
        while above >= 0:
            self._raised[above, int(self.links.right[above] == below)] = np.nan
            below, above = above, self.links.parent(above)
        counts, rows, _ = self._counts[:, changed]
        return Replacement(
            node, by, changed, counts, rows.sum(axis=1).astype(np.int64), self.label[changed]
        )

    def _slice(self, node: int) -> slice:
        """The slice of the rows of a node."""
        ends = np.array([node, self._end[node]], dtype=np.int32)  # of one type: nothing is copied
        return slice(*self._reached.searchsorted(ends).tolist())

    def _tally(
        self, rows: NDArray[np.intp], here: slice, weights: slice = _ALL
    ) -> tuple[Links, Floats]:
        """Route rows through a subtree: the leaves that they reach, and their weights there."""
        reached = np.empty(len(rows), dtype=np.int32)
        route(self._X, self._splits, reached, rows, here.start)
        tables = np.empty_like(self._counts[weights, here])
        cells = (reached - here.start).astype(np.int64) * tables.shape[2] + self._y[rows]
        for table, weight in zip(tables, self._weights[weights], strict=True):
            table.flat = np.bincount(cells, weight[rows], table.size)
        return reached, tables

    def _settle(self, node: int, child: int, *, relabel: bool) -> None:
        """Route the rows of a node through the subtree in its place, and count there."""
        span, here = self._slice(node), slice(child, int(self._end[child]))
        rows = self._order[span].copy()
        reached, self._counts[:, here] = self._tally(rows, here)
        by_leaf = np.argsort(reached, kind="stable")
        self._order[span], self._reached[span] = rows[by_leaf], reached[by_leaf]
        links = self.links.left, self.links.right
        left, right = (np.maximum(link[here] - child, -1) for link in links)
        for table in self._counts:
            add_up(left, right, table[here])
        if relabel:
            self.label[here] = self._costs.labels(self._counts[0, here])
        self.as_leaf[here] = self._costs.of_counts(self._counts[2, here], self.label[here])
        self._raised[here] = np.nan
        self._add_up()

    def _add_up(self) -> None:
        """Leaves and errors of each subtree."""
        leaf = self.links.left < 0
        self._sums[:, 0], self._sums[:, 1] = leaf, np.where(leaf, self.as_leaf, 0.0)
        add_up(self.links.left, self.links.right, self._sums)


class _Links:
    """The children of the nodes of a tree after some replacements, and which nodes are left."""

    def __init__(self, tree: Tree) -> None:
        self._size, self.left, self.right = tree.size, tree.left.copy(), tree.right.copy()
        self._parent = parents(tree)
        self.present = np.ones(tree.n_nodes, dtype=bool)

    def parent(self, node: int) -> int:
        """The node above, -1 for the root."""
        return int(self._parent[node])

    def replace(self, node: int, by: int) -> int:
        """Replace a node; the node in its place."""
        end = node + int(self._size[node])
        if BY[by] == "leaf":
            self.present[node + 1 : end] = False
            self.left[node] = self.right[node] = -1
            return node
        child = int((self.left, self.right)[by][node])
        self.present[node:child] = False
        self.present[child + int(self._size[child]) : end] = False
        above = self._parent[child] = self._parent[node]
        if above >= 0:
            (self.left if self.left[above] == node else self.right)[above] = child
        return child


def raised(tree: Tree, steps: list[Replacement], number: int, *, counted: bool) -> Tree:
    """The tree after a number of replacements.

    If no sample was counted, leaves keep their original counts.
    """
    links = _Links(tree)
    counts, rows, label = tree.counts.copy(), tree.rows.copy(), tree.label.copy()
    touched = np.zeros(tree.n_nodes, dtype=bool)
    for step in steps[:number]:
        links.replace(step.node, step.by)
        touched[step.changed] = True
        if counted:
            counts[step.changed], rows[step.changed] = step.counts, step.rows
            label[step.changed] = step.label
    left, right, present = links.left, links.right, links.present
    inner = left >= 0
    if not counted:
        counts[inner], rows[inner] = 0.0, 0
        add_up(left, right, counts)
        add_up(left, right, rows[:, None])
    new = np.cumsum(present) - 1
    weight = (counts if tree.factors is None else counts * tree.factors).sum(axis=1)
    # Without missing training values, missing goes to the larger child, which may have changed.
    unmet = np.array([not column.missing for column in tree.columns])
    moved = touched & inner & unmet[np.maximum(tree.feature, 0)]
    missing_left = np.where(moved, weight[left] >= weight[right], tree.missing_left)

    # The row that named a split may no longer be in its left child.
    names = None if tree.names is None else np.where(touched, -1, tree.names)
    children = (np.where(inner, new[link], -1)[present] for link in (left, right))
    return arranged(
        tree, present, *children, missing_left=missing_left, counts=counts, rows=rows, label=label,
        names=names, counted=counted,
    )  # fmt: skip
