"""Several good trees of a graph of candidates that differ from each other.

At the searched levels a tree makes choices: which candidate splits a node, or none. A list of
trees, one per combination of these choices, takes the place of the minimum in the dynamic
programme of :class:`~treebound.pruning.searched.BestOfGraph`; below, each node has one candidate
and the best pruning of each size is exact. So the list contains the best tree of every combination.
A tree that avoids a column may need another pruning than the best one: for each column of the best
tree, the best tree of the graph without its splits is exact too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import treebound.pruning._dp as _dp
from treebound._utils.arrays import Ints
from treebound.data import Matrix, Sample
from treebound.growing.graph import WIDTHS
from treebound.pruning.scores import Objective
from treebound.pruning.searched import BestOfGraph
from treebound.tree.model import Tree

# Nodes of a tree in pre-order: the node of the graph and its candidate, -1 for a leaf.
Nodes = list[tuple[int, int]]

# No cost: there is no tree of this size.
_NONE = np.iinfo(np.int64).max // 4
# Trees of a combination of choices have at most so many leaves.
_MAX_LEAVES = 256
# A tree differs from another one if so many rows get other predictions ...
MIN_DISAGREEMENT = 0.05
# ... or if it avoids a column and uses none that is so similar to it.
_COPY = 0.95
_BINS = 10


@dataclass(frozen=True, eq=False)
class _Variant:
    """The trees below a node with the same choices at the searched levels."""

    curve: Ints  # least packed loss with 1, 2, ... leaves
    nodes: Callable[[int], Nodes]  # the tree with that many leaves


@dataclass(frozen=True, eq=False)
class ScoredTree:
    """A tree of a graph and its score."""

    tree: Tree
    score: float


class Variants:
    """The best tree of a graph for each combination of choices at the searched levels."""

    def __init__(self, sizes: BestOfGraph, levels: int = len(WIDTHS)) -> None:
        self._sizes, self._graph, self._levels = sizes, sizes.graph, levels
        self._known: dict[tuple[int, int], list[_Variant]] = {}

    def scored(self, objective: Objective, max_leaves: int | None = None) -> list[ScoredTree]:
        """The best tree of each combination within a number of leaves, lowest score first."""
        best = []
        for variant in self._variants(self._graph.n_nodes - 1, 0):
            lowest = self._lowest(variant.curve, objective, max_leaves)
            if lowest is not None:
                best.append((*lowest, variant))
        best.sort(key=lambda entry: entry[:2])
        return [ScoredTree(self._tree(variant.nodes(n)), score) for score, n, variant in best]

    def avoiding(
        self, column: int, objective: Objective, max_leaves: int | None = None
    ) -> ScoredTree:
        """The best tree of the graph that does not split on a column."""
        graph = self._graph
        allowed = np.flatnonzero(graph.feature != column)
        first = np.searchsorted(allowed, graph.first).astype(np.int32)
        plan = _dp.best_of_graph(
            first, graph.left[allowed], graph.right[allowed], self._sizes.packed, _MAX_LEAVES
        )
        lowest = self._lowest(np.asarray(plan.best[1:]), objective, max_leaves)
        assert lowest is not None  # the root is a leaf in one of them
        nodes = plan.tree(lowest[1])
        nodes[1] = np.where(nodes[1] < 0, -1, np.append(allowed, -1)[nodes[1]])
        return ScoredTree(graph.tree(nodes, self._sizes.label), lowest[0])

    def _lowest(
        self, curve: Ints, objective: Objective, max_leaves: int | None
    ) -> tuple[float, int] | None:
        """The lowest score of a curve and its number of leaves; None if there is no tree."""
        curve = curve[: _MAX_LEAVES if max_leaves is None else max_leaves]
        feasible = curve < _NONE
        if not feasible.any():
            return None
        errors = self._sizes.losses(np.where(feasible, curve, 0))
        scores = np.where(feasible, objective.by_leaves(errors), np.inf)
        size = int(np.argmin(scores)) + 1
        return float(scores[size - 1]), size

    def _variants(self, node: int, level: int) -> list[_Variant]:
        if (node, level) not in self._known:
            below = level >= self._levels
            variants = [self._greedy(node)] if below else self._choices(node, level)
            self._known[node, level] = variants
        return self._known[node, level]

    def _choices(self, node: int, level: int) -> list[_Variant]:
        """Node as a leaf, or split by each of its candidates."""
        graph = self._graph
        cost = np.array([self._sizes.packed[node]], dtype=np.int64)
        variants = [_Variant(cost, lambda _: [(node, -1)])]
        for split in range(int(graph.first[node]), int(graph.first[node + 1])):
            for left in self._variants(int(graph.left[split]), level + 1):
                for right in self._variants(int(graph.right[split]), level + 1):
                    variants.append(_joined(node, split, left, right))
        return variants

    def _greedy(self, node: int) -> _Variant:
        """The prunings of a greedy subtree."""
        graph = self._graph
        nodes = _reachable(graph.first, graph.left, graph.right, node)
        number = np.full(node + 1, -1, dtype=np.int32)
        number[nodes] = np.arange(len(nodes), dtype=np.int32)
        n_splits = (graph.first[nodes + 1] - graph.first[nodes]).astype(np.int32)
        splits = np.repeat(graph.first[nodes], n_splits) + _ranges(n_splits)
        first = np.append(0, n_splits.cumsum()).astype(np.int32)
        plan = _dp.best_of_graph(
            first, number[graph.left[splits]], number[graph.right[splits]],
            np.ascontiguousarray(self._sizes.packed[nodes]), _MAX_LEAVES,
        )  # fmt: skip

        def tree(leaves: int) -> Nodes:
            at, split = plan.tree(leaves)[:2].tolist()
            return [
                (int(nodes[a]), -1 if s < 0 else int(splits[s]))
                for a, s in zip(at, split, strict=True)
            ]

        return _Variant(np.asarray(plan.best[1:]), tree)

    def _tree(self, nodes: Nodes) -> Tree:
        table = np.full((4, len(nodes)), -1, dtype=np.int32)
        table[:2] = np.array(nodes, dtype=np.int32).T
        waiting: list[int] = []  # inner nodes whose right child comes next
        for at, (_, split) in enumerate(nodes):
            if split >= 0:
                table[2, at] = at + 1
                waiting.append(at)
            elif waiting:
                table[3, waiting.pop()] = at + 1
        return self._graph.tree(table, self._sizes.label)


def _joined(node: int, split: int, left: _Variant, right: _Variant) -> _Variant:
    """The trees that start with a split."""
    a, b = left.curve, right.curve
    size = min(len(a) + len(b), _MAX_LEAVES)
    curve = np.full(size, _NONE, dtype=np.int64)
    on_left = np.zeros(size, dtype=np.int64)
    for i, cost in enumerate(a[: size - 1].tolist(), 1):
        if cost >= _NONE:
            continue
        sums = np.minimum(b[: size - i] + cost, _NONE)
        better = np.flatnonzero(sums < curve[i : i + len(sums)])
        curve[i + better], on_left[i + better] = sums[better], i

    def nodes(leaves: int) -> Nodes:
        few = int(on_left[leaves - 1])
        return [(node, split), *left.nodes(few), *right.nodes(leaves - few)]

    return _Variant(curve, nodes)


def _ranges(sizes: NDArray[np.int32]) -> NDArray[np.int32]:
    """0, 1, ... for each size, one after the other."""
    starts = np.repeat(sizes.cumsum() - sizes, sizes)
    return (np.arange(int(sizes.sum())) - starts).astype(np.int32)


def _reachable(
    first: NDArray[np.int32], left: NDArray[np.int32], right: NDArray[np.int32], node: int
) -> NDArray[np.int64]:
    """The nodes below a node and itself, in the order of the graph."""
    seen, stack = {node}, [node]
    while stack:
        at = stack.pop()
        for split in range(first[at], first[at + 1]):
            for child in (int(left[split]), int(right[split])):
                if child not in seen:
                    seen.add(child)
                    stack.append(child)
    return np.array(sorted(seen), dtype=np.int64)


# -- trees that differ -----------------------------------------------------------------------------


def differing_trees(trees: Sequence[Tree], rows: Sample, k: int) -> list[Tree]:
    """The first k trees each of which differs from all before it.

    A tree differs if it predicts other classes for at least 5 % of the rows than each of them, or
    avoids a column that all with closer predictions use, and uses no near copy of it instead.
    """
    chosen: list[tuple[Tree, NDArray[np.int32], frozenset[int]]] = []
    similarity = _Similarity(rows.X)
    candidates = ((tree, tree.label[tree.apply(rows.X)], columns_of(tree)) for tree in trees)
    for tree, labels, columns in candidates:
        if len(chosen) == k:
            break
        close = [
            used
            for _, predictions, used in chosen
            if float((labels != predictions).mean()) < MIN_DISAGREEMENT
        ]
        if not close or similarity.avoids(columns, frozenset.intersection(*close)):
            chosen.append((tree, labels, columns))
    return [tree for tree, _, _ in chosen]


def columns_of(tree: Tree) -> frozenset[int]:
    """The columns that a tree splits on."""
    return frozenset(tree.feature[tree.feature >= 0].tolist())


class _Similarity:
    """How far one column determines another one: rank correlation, or Cramér's V of bins."""

    def __init__(self, X: Matrix) -> None:
        self._X = X
        self._known: dict[tuple[int, int], float] = {}

    def avoids(self, columns: frozenset[int], common: frozenset[int]) -> bool:
        """Return True if a tree avoids one of the common columns, and near copies of it."""
        return any(
            all(self.of(column, instead) < _COPY for instead in columns)
            for column in common - columns
        )

    def of(self, a: int, b: int) -> float:
        """The similarity of two columns, from 0 to 1."""
        key = min(a, b), max(a, b)
        if key not in self._known:
            self._known[key] = self._measure(*key)
        return self._known[key]

    def _measure(self, a: int, b: int) -> float:
        from scipy.stats import rankdata
        from scipy.stats.contingency import association, crosstab

        nominal = [self._X.columns[at].kind == "nominal" for at in (a, b)]
        values = [np.asarray(self._X.values[at], dtype=np.float64) for at in (a, b)]
        known = ~(np.isnan(values[0]) | np.isnan(values[1]))
        ranks = [rankdata(value[known]) for value in values]
        if known.sum() < 2 or any(np.ptp(rank) == 0 for rank in ranks):
            return 0.0
        if not any(nominal):
            return abs(float(np.corrcoef(ranks[0], ranks[1])[0, 1]))
        codes = [
            value[known] if is_nominal else np.ceil(_BINS * rank / len(rank))
            for value, rank, is_nominal in zip(values, ranks, nominal, strict=True)
        ]
        table = crosstab(*codes).count
        return float(association(table, method="cramer")) if min(table.shape) > 1 else 0.0
