"""Several good trees of a graph of candidates that differ from each other.

The list is greedy: it starts with the tree of the lowest score, and each further tree is the one of
the lowest score, among all prunings of all trees of the graph, that differs from those before it. A
tree *differs* if there is a column that it avoids, together with near copies of it, such that it
disagrees on at least 5 % of the rows with every earlier tree that avoids the column too; or if it
disagrees with every earlier tree on so many rows.

Most good trees of a graph are near copies of the best one, so they are not listed one by one.
Disagreement with an earlier tree is a sum over leaves, as the loss is. So a dynamic programme finds
the lowest score under these conditions: for each node it keeps the subtrees that no other one
dominates, which has as few leaves, as little loss and as much disagreement with each earlier tree.
Subtrees that no tree within the tolerance can have are skipped. To avoid columns, the programme
runs on the graph without their splits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

import treebound.pruning._dp as _dp
from treebound._utils.arrays import Codes, Ints
from treebound.data import Sample
from treebound.pruning.scores import Objective
from treebound.pruning.searched import BestOfGraph
from treebound.pruning.similarity import Similarity
from treebound.tree._structure import add_up
from treebound.tree.model import Tree

# No loss: there is no tree of this size.
_NONE = np.iinfo(np.int64).max // 8
# Trees have at most so many leaves.
_MAX_LEAVES = 256
# A tree differs from another one if so many rows get other predictions.
MIN_DISAGREEMENT = 0.05
# Subtrees of a node that are kept; of more, those that are closest to the lowest score.
MAX_SUBTREES = 4000
# Pairs of subtrees that are compared with the budget at a time.
_PAIRS = 1 << 20
# Parts of the tolerance that are searched one after the other: a small one takes less time.
_PARTS = (1 / 16, 1 / 4, 1)
# Steps to find the largest loss with a score.
_HALVINGS = 60


@dataclass(frozen=True, eq=False)
class ScoredTree:
    """A tree of a graph and its score."""

    tree: Tree
    score: float


@dataclass(frozen=True, eq=False)
class _Chosen:
    """A tree of the list, and what it predicts for the training rows."""

    scored: ScoredTree
    columns: frozenset[int]
    labels: Codes


def differing_trees(
    sizes: BestOfGraph,
    rows: Sample,
    objective: Objective,
    *,
    first: Tree | None = None,
    k: int,
    within: float,
    max_leaves: int | None = None,
) -> list[ScoredTree]:
    """Return up to k trees that differ, in the order of their scores.

    Parameters
    ----------
    sizes : BestOfGraph
        The graph.
    rows : Sample
        The training rows.
    objective : Objective
        The score.
    first : Tree, optional
        The first tree of the list, whatever its score; by default the one with the lowest score.
    k : int
        Maximum number of trees.
    within : float
        How much larger their score may be than the lowest one, per effective row.
    max_leaves : int, optional
        Maximum number of leaves.
    """
    cap = min(max_leaves or _MAX_LEAVES, _MAX_LEAVES)
    search = _Search(sizes, rows, objective, cap)
    best = _Restricted(sizes, objective, cap).best()
    worst = best.score + within * objective.m
    chosen = [search.chosen(best if first is None else replace(best, tree=first))]
    while len(chosen) < k:
        low, following = chosen[-1].scored.score, None  # no score is below the last one
        for part in _PARTS:
            following = following or search.following(chosen, low + part * (worst - low))
        if following is None:
            break
        chosen.append(search.chosen(following))
    return [one.scored for one in chosen]


def columns_of(tree: Tree) -> frozenset[int]:
    """The columns that a tree splits on."""
    return frozenset(tree.feature[tree.feature >= 0].tolist())


class _Search:
    """Searches for the next tree of the list."""

    def __init__(self, sizes: BestOfGraph, rows: Sample, objective: Objective, cap: int) -> None:
        self._sizes, self._rows, self._objective, self._cap = sizes, rows, objective, cap
        self._similarity = Similarity(rows.X)
        self._splitting: list[int] = np.unique(sizes.graph.feature).tolist()
        self._lowest: dict[frozenset[int], float] = {}  # score, by the columns avoided

    def chosen(self, scored: ScoredTree) -> _Chosen:
        tree = scored.tree
        return _Chosen(scored, columns_of(tree), tree.label[tree.apply(self._rows.X)])

    def following(self, chosen: Sequence[_Chosen], bound: float) -> ScoredTree | None:
        """The tree of the lowest score that differs from those chosen; None: none up to a bound."""
        used = frozenset[int]().union(*(one.columns for one in chosen))
        problems = [(frozenset[int](), list(chosen))]
        problems += [
            (self._with_copies(column), [one for one in chosen if column not in one.columns])
            for column in sorted(used)
        ]
        problems.sort(key=lambda problem: len(problem[1]))  # the easy ones first
        following: ScoredTree | None = None
        for avoided, far in problems:
            if self._lowest.get(avoided, -np.inf) > bound:
                continue
            graph = _Restricted(self._sizes, self._objective, self._cap, avoided)
            self._lowest[avoided] = graph.lowest
            if graph.lowest > bound:
                continue
            disagreement = [self._covering.disagreement(one.labels) for one in far]
            enough = self._covering.enough
            candidate = graph.best_far(disagreement, enough, bound) if far else graph.best()
            if candidate is not None and (following is None or candidate.score < following.score):
                following, bound = candidate, candidate.score
        return following

    def _with_copies(self, column: int) -> frozenset[int]:
        """A column and near copies of it."""
        copies = (at for at in self._splitting if self._similarity.is_copy(column, at))
        return frozenset((column, *copies))

    @cached_property
    def _covering(self) -> _Covering:
        return _Covering.of(self._sizes, self._rows)


# -- disagreement ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Covering:
    """Trees that contain every node of a graph, and the leaves that the rows reach in them."""

    sizes: BestOfGraph
    trees: list[tuple[Ints, Tree, Codes]]  # nodes of the graph, the tree, leaf of each row

    @classmethod
    def of(cls, sizes: BestOfGraph, rows: Sample) -> _Covering:
        graph = sizes.graph
        n_uses = np.zeros(len(graph.feature), dtype=np.int64)
        seen = np.zeros(graph.n_nodes, dtype=bool)
        trees = []
        while not seen.all():
            nodes = _tree_through(graph.first, graph.left, graph.right, n_uses)
            tree = graph.tree(nodes, sizes.label)
            if not seen[nodes[0]].all():
                trees.append((nodes[0].astype(np.int64), tree, tree.apply(rows.X)))
            seen[nodes[0]] = True
        return cls(sizes, trees)

    @property
    def enough(self) -> int:
        """Rows on which trees that differ disagree."""
        n_rows = len(self.trees[0][2])
        fewest = int(MIN_DISAGREEMENT * n_rows)
        return next(n for n in range(fewest, n_rows + 2) if n / n_rows >= MIN_DISAGREEMENT)

    def disagreement(self, labels: Codes) -> Ints:
        """For each node as a leaf, the number of its rows that other labels disagree with."""
        graph = self.sizes.graph
        result = np.zeros(graph.n_nodes, dtype=np.int64)
        n_classes = len(graph.classes)
        for nodes, tree, leaves in self.trees:
            cells = leaves.astype(np.int64) * n_classes + labels
            counts = np.bincount(cells, minlength=tree.n_nodes * n_classes)
            counts = counts.reshape(tree.n_nodes, n_classes).astype(np.int64)
            add_up(tree.left, tree.right, counts)
            agreeing = counts[np.arange(tree.n_nodes), self.sizes.label[nodes]]
            result[nodes] = graph.rows[nodes] - agreeing
        return result


def _tree_through(
    first: NDArray[np.int32], left: NDArray[np.int32], right: NDArray[np.int32], n_uses: Ints
) -> NDArray[np.int32]:
    """A tree of a graph that splits each node by the candidate that was used least often."""
    table: list[list[int]] = []
    stack = [(len(first) - 2, -1)]  # a node, and the parent of a right child
    while stack:
        node, parent = stack.pop()
        at = len(table)
        if parent >= 0:
            table[parent][3] = at
        start, stop = int(first[node]), int(first[node + 1])
        table.append([node, -1, -1, -1])
        if start < stop:
            split = start + int(n_uses[start:stop].argmin()) if stop - start > 1 else start
            n_uses[split] += 1
            table[at][1:3] = split, at + 1
            stack += [(int(right[split]), at), (int(left[split]), -1)]
    return np.array(table, dtype=np.int32).T.copy()


# -- the dynamic programme -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Subtrees:
    """Subtrees of a node: leaves, loss, disagreement with each tree, and how they are split."""

    leaves: Ints
    loss: Ints
    far: Ints  # one row per tree, at most what is enough
    how: Ints  # split, and the subtrees on the left and on the right; split -1: a leaf

    def __len__(self) -> int:
        return len(self.leaves)

    def part(self, at: NDArray[Any]) -> _Subtrees:
        return _Subtrees(self.leaves[at], self.loss[at], self.far[:, at], self.how[:, at])


class _Restricted:
    """The graph without the splits on some columns."""

    def __init__(
        self, sizes: BestOfGraph, objective: Objective, cap: int, avoided: Iterable[int] = ()
    ) -> None:
        graph = sizes.graph
        self._sizes, self._objective, self._cap = sizes, objective, cap
        self._splits = np.flatnonzero(~np.isin(graph.feature, list(avoided)))
        self._first = np.searchsorted(self._splits, graph.first).astype(np.int32)
        self._left, self._right = graph.left[self._splits], graph.right[self._splits]
        self._plan = _dp.best_of_graph(
            self._first, self._left, self._right, sizes.packed, cap, True
        )
        curve = sizes.losses(np.asarray(self._plan.best[1:]))
        scores = objective.by_leaves(curve)
        self._size = int(np.argmin(scores)) + 1
        self.lowest = float(scores[self._size - 1])

    def best(self) -> ScoredTree:
        """The tree of the lowest score."""
        nodes = self._plan.tree(self._size)
        nodes[1] = np.where(nodes[1] < 0, -1, np.append(self._splits, -1)[nodes[1]])
        return ScoredTree(self._sizes.graph.tree(nodes, self._sizes.label), self.lowest)

    def best_far(
        self, disagreement: Sequence[Ints], enough: int, bound: float
    ) -> ScoredTree | None:
        """The tree of the lowest score that disagrees on enough rows; None: none up to a bound."""
        far = np.minimum(np.array(disagreement), enough)
        subtrees = self._subtrees(far, enough, self._budget(bound))
        root = subtrees.get(len(self._first) - 2)
        if root is None:
            return None
        root = root.part(np.flatnonzero((root.far >= enough).all(axis=0)))
        if not len(root):
            return None
        errors = root.loss / self._sizes.scale
        scores = [
            float(self._objective.by_leaves(np.full(leaves, loss))[-1])
            for leaves, loss in zip(root.leaves.tolist(), errors.tolist(), strict=True)
        ]
        at = int(np.argmin(scores))
        if scores[at] > bound:
            return None
        nodes = self._table(subtrees, root.how[:, at])
        return ScoredTree(self._sizes.graph.tree(nodes, self._sizes.label), scores[at])

    def _budget(self, bound: float) -> Ints:
        """The largest loss with 0, 1, ... leaves whose score is within a bound; -1: none."""
        low = np.full(self._cap, -1.0)
        high = np.full(self._cap, float(self._sizes.losses(self._sizes.packed[-1:])[0]))
        fits = self._objective.by_leaves(high) <= bound
        low[fits] = high[fits]
        none = self._objective.by_leaves(np.zeros(self._cap)) > bound
        high[none] = 0.0
        for _ in range(_HALVINGS):
            middle = np.maximum(0.5 * (low + high), 0.0)
            fits = (self._objective.by_leaves(middle) <= bound) & ~none
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        budget = np.where(none | (low < 0.0), -1, np.ceil(low * self._sizes.scale))
        last = np.flatnonzero(budget >= 0)
        return np.append(-1, budget[: last[-1] + 1 if len(last) else 0]).astype(np.int64)

    # -- which nodes matter --------------------------------------------------------------------

    def _curve(self, node: int) -> Ints:
        return self._sizes.integers(np.asarray(self._plan.curve(node)))

    def _slack(self, budget: Ints) -> dict[int, tuple[Ints, list[int]]]:
        """By node: the largest loss with 0, 1, ... leaves below it, and its splits that are useful.

        The rest of the tree has the least loss that is possible, and the tree is within the budget.
        """
        curve = self._curve(len(self._first) - 2)[: len(budget) - 1]
        within = np.flatnonzero(curve <= budget[1 : len(curve) + 1])
        if not len(within):
            return {}
        largest = int(within[-1]) + 1
        padded = np.append(budget[: largest + 1], np.full(largest, -1))
        windows = sliding_window_view(padded, largest + 1)  # of the budget, from each size on
        outside = {len(self._first) - 2: np.zeros(1, dtype=np.int64)}
        result: dict[int, tuple[Ints, list[int]]] = {}
        for node in range(len(self._first) - 2, -1, -1):
            rest = outside.pop(node, None)  # its parents, which come later in the graph, are done
            if rest is None:
                continue
            slack = (windows[:, : len(rest)] - rest).max(axis=1)
            result[node] = (slack, [])
            for split in range(int(self._first[node]), int(self._first[node + 1])):
                sides = int(self._left[split]), int(self._right[split])
                curves = [self._curve(side)[:largest] for side in sides]
                both = _joined(curves[0], curves[1])[: largest - 1]
                if not (both <= slack[2 : 2 + len(both)]).any():
                    continue
                result[node][1].append(split)
                for side, other in zip(sides, reversed(curves), strict=True):
                    around = np.append(_NONE, _joined(rest, other))[: largest + 1]
                    before = outside.get(side)
                    outside[side] = around if before is None else _lower(before, around)
        return result

    # -- subtrees that are not dominated -------------------------------------------------------

    def _subtrees(self, far: Ints, enough: int, budget: Ints) -> dict[int, _Subtrees]:
        """The subtrees that no other one dominates, of nodes that a tree in the budget may have."""
        result: dict[int, _Subtrees] = {}
        needed = self._slack(budget)
        for node in sorted(needed):
            slack, splits = needed[node]
            loss = self._sizes.integers(self._sizes.packed[node : node + 1])
            leaf = _Subtrees(
                np.ones(1, dtype=np.int64),
                loss,
                far[:, node : node + 1],
                np.full((3, 1), -1, dtype=np.int64),
            )
            parts = [leaf.part(loss <= slack[1:2])]
            for split in splits:
                left, right = (result.get(int(side[split])) for side in (self._left, self._right))
                if left is not None and right is not None:
                    parts.append(_split_by(split, left, right, enough, slack))
            subtrees = _undominated(_together(parts), slack)
            if len(subtrees):
                result[node] = subtrees
        return result

    def _table(self, subtrees: dict[int, _Subtrees], how: Ints) -> NDArray[np.int32]:
        """The nodes of a tree, as :meth:`CandidateGraph.tree` takes them."""
        table: list[list[int]] = []
        stack = [(len(self._first) - 2, how, -1)]
        while stack:
            node, how, parent = stack.pop()
            at = len(table)
            if parent >= 0:
                table[parent][3] = at
            table.append([node, -1, -1, -1])
            split, on_left, on_right = how.tolist()
            if split >= 0:
                left, right = int(self._left[split]), int(self._right[split])
                table[at][1:3] = int(self._splits[split]), at + 1
                stack.append((right, subtrees[right].how[:, on_right], at))
                stack.append((left, subtrees[left].how[:, on_left], -1))
        return np.array(table, dtype=np.int32).T.copy()


def _joined(a: Ints, b: Ints) -> Ints:
    """The least sum of two curves for each sum of their places."""
    if len(a) > len(b):
        a, b = b, a
    result = np.full(len(a) + len(b) - 1, _NONE, dtype=np.int64)
    for at, loss in enumerate(a.tolist()):
        part = result[at : at + len(b)]
        np.minimum(part, b + loss, out=part)
    return np.minimum(result, _NONE)


def _lower(a: Ints, b: Ints) -> Ints:
    """The pointwise minimum of two curves."""
    if len(a) < len(b):
        a, b = b, a
    result = a.copy()
    np.minimum(result[: len(b)], b, out=result[: len(b)])
    return result


def _split_by(split: int, left: _Subtrees, right: _Subtrees, enough: int, slack: Ints) -> _Subtrees:
    """Each subtree on the left with each one on the right, if the loss is not too large."""
    pairs = []
    step = max(1, _PAIRS // max(len(right), 1))
    for start in range(0, len(left), step):
        part = slice(start, start + step)
        leaves = left.leaves[part, None] + right.leaves
        loss = left.loss[part, None] + right.loss
        fits = (leaves < len(slack)) & (loss <= slack[np.minimum(leaves, len(slack) - 1)])
        of_part, b = fits.nonzero()
        pairs.append(np.array([of_part + start, b]))
    a, b = np.concatenate(pairs, axis=1)
    return _Subtrees(
        left.leaves[a] + right.leaves[b],
        left.loss[a] + right.loss[b],
        np.minimum(left.far[:, a] + right.far[:, b], enough),
        np.stack([np.full(len(a), split), a, b]),
    )


def _together(parts: Sequence[_Subtrees]) -> _Subtrees:
    return _Subtrees(
        np.concatenate([part.leaves for part in parts]),
        np.concatenate([part.loss for part in parts]),
        np.concatenate([part.far for part in parts], axis=1),
        np.concatenate([part.how for part in parts], axis=1),
    )


def _undominated(subtrees: _Subtrees, slack: Ints) -> _Subtrees:
    """Drop a subtree if another one is as good in every respect."""
    room = slack[subtrees.leaves] - subtrees.loss
    order = np.lexsort((-subtrees.far.sum(axis=0), subtrees.loss, subtrees.leaves))
    undominated: list[int] = []
    loss, far = subtrees.loss[order], subtrees.far[:, order]
    waiting = np.arange(len(order))
    while len(waiting):  # the first one is not dominated by those behind it
        first = int(waiting[0])
        undominated.append(first)
        better = loss[waiting] < loss[first]
        farther = (far[:, waiting] > far[:, first : first + 1]).any(axis=0)
        waiting = waiting[better | farther]
    at = order[np.array(undominated, dtype=np.int64)]
    if len(at) > MAX_SUBTREES:
        at = at[np.argsort(-room[at], kind="stable")[:MAX_SUBTREES]]
    return subtrees.part(at)
