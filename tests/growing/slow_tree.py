"""A slow, obvious decision tree: it tries every split of every column, in plain Python.

The twin of the compiled kernel. Scores are rounded to nine digits, so that equal gains are equal
whatever the order of the sums; of equal candidates the first one counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import floor, inf, isnan, log2, nan

import numpy as np


@dataclass
class SlowNode:
    """A node with the rows that reach it, and its split once it has one."""

    rows: list[int]
    depth: int
    split: SlowSplit | None = None
    left: SlowNode | None = None
    right: SlowNode | None = None
    forced: bool = False
    limits: list = field(default_factory=list)  # of P(y >= 1), P(y >= 2), ...
    used: frozenset = frozenset()  # columns on the path
    waiting: tuple = ()  # splits that come first


@dataclass
class SlowSplit:
    column: int
    threshold: float
    category: int
    missing_left: bool
    name: int
    left: list[int] = field(repr=False)
    right: list[int] = field(repr=False)


class BreaksOrder(Exception):
    """A split that comes first is not in order."""


class SlowTree:
    """Grows on an encoded matrix with the options of ``treebound.growing.grow``."""

    def __init__(
        self, X, y, columns, n_classes, *, sample_weight=None, criterion="gini",
        growth_order="gain", max_leaves=None, max_depth=None, min_samples_leaf=1,
        thresholds="decimal", signs=None, groups=None, first=(),
    ):  # fmt: skip
        """``first`` are (column, threshold, category, missing_left); a path stays in a group."""
        self.X, self.y, self.columns, self.n_classes = X, y, columns, n_classes
        self.weight = [1.0] * len(y) if sample_weight is None else [float(w) for w in sample_weight]
        self.criterion, self.growth_order = criterion, growth_order
        self.max_leaves = inf if max_leaves is None else max_leaves
        self.max_depth = inf if max_depth is None else max_depth
        self.min_samples_leaf = min_samples_leaf
        self.thresholds = thresholds
        self.signs, self.groups = signs, groups
        rows = [i for i in range(len(y)) if self.weight[i] > 0]
        self.root = SlowNode(rows, 0, limits=[(0.0, 1.0)] * (n_classes - 1), waiting=tuple(first))
        self.missing = [any(isnan(X[i][j]) for i in self.root.rows) for j in range(len(columns))]
        self.grow()

    # -- impurity ----------------------------------------------------------------------------

    def counts(self, rows):
        counts = [0.0] * self.n_classes
        for i in rows:
            counts[self.y[i]] += self.weight[i]
        return counts

    def impurity(self, rows):
        """Weight times impurity."""
        counts = self.counts(rows)
        total = sum(counts)
        shares = [c / total for c in counts if c > 0]
        if self.criterion == "gini":
            return total * (1 - sum(p * p for p in shares))
        if self.criterion == "entropy":
            return -total * sum(p * log2(p) for p in shares)
        return total * (1 - max(shares))

    def gain(self, node, split):
        after = self.impurity(split.left) + self.impurity(split.right)
        return round(self.impurity(node.rows) - after, 9)

    def priority(self, node):
        if node.forced:
            return inf
        if self.growth_order == "gain":
            return self.gain(node, node.split)
        after = self.impurity(node.split.left) + self.impurity(node.split.right)
        return round(-after / sum(self.counts(node.rows)), 9)

    # -- splits ------------------------------------------------------------------------------

    def candidates(self, node):
        """Every split, in the order of the tie rule."""
        for j, column in enumerate(self.columns):
            if column.kind == "nominal":
                yield from self.nominal_candidates(node, j, len(column.categories))
            else:
                yield from self.threshold_candidates(node, j, column.kind)

    def nominal_candidates(self, node, j, n_categories):
        may_miss = self.columns[j].missing or self.missing[j]
        for category in range(n_categories + may_miss):
            left, right = [], []
            for i in node.rows:
                code = n_categories if isnan(self.X[i][j]) else int(self.X[i][j])
                (left if code == category else right).append(i)
            missing_left = category == n_categories if may_miss else self.heavier(left, right)
            name = max(left, default=-1)
            yield SlowSplit(j, nan, category, missing_left, name, left, right)

    def threshold_candidates(self, node, j, kind):
        values = sorted({self.X[i][j] for i in node.rows if not isnan(self.X[i][j])})
        has_missing = any(isnan(self.X[i][j]) for i in node.rows)
        rule = "ordinal" if kind == "ordinal" and self.thresholds != "observed" else self.thresholds
        thresholds = [THRESHOLDS[rule](a, b) for a, b in pairwise(values)]
        for threshold in [*thresholds, inf] if has_missing else thresholds:
            for missing_left in (False, True) if has_missing else (None,):
                left, right = [], []
                for i in node.rows:
                    x = self.X[i][j]
                    (left if (missing_left if isnan(x) else x <= threshold) else right).append(i)
                side = self.heavier(left, right) if missing_left is None else missing_left
                known = [(self.X[i][j], i) for i in left if not isnan(self.X[i][j])]
                name = max(known, default=(nan, -1))[1]
                yield SlowSplit(j, threshold, -1, side, name, left, right)

    def heavier(self, left, right):
        return round(sum(self.counts(left)) - sum(self.counts(right)), 9) >= 0

    def search(self, node):
        """Give the node its best split, if it may have one and one gains."""
        if len(set(np.take(self.y, node.rows))) < 2 or node.depth >= self.max_depth:
            return
        must_gain = self.criterion == "misclassification" or self.growth_order == "impurity"
        least = 1e-9 if must_gain else 0.0
        if self.take_first(node):
            return
        best = {}
        for split in self.candidates(node):
            if not self.may_split_on(node, split.column) or not self.keeps_order(node, split):
                continue
            if not (self.may_be_leaf(split.left) and self.may_be_leaf(split.right)):
                continue
            gain = self.gain(node, split)
            current = best.get(split.column, (-1.0, None))[0]
            if gain > current and gain >= least:
                best[split.column] = gain, split
        for gain, split in best.values():
            current = -1.0 if node.split is None else self.gain(node, node.split)
            if gain > current or (gain == current and self.wins_tie(node.split, split)):
                node.split = split

    # -- rules -------------------------------------------------------------------------------

    def take_first(self, node):
        """Take the first waiting split that leaves enough rows on both sides."""
        while node.waiting:
            (j, threshold, category, missing_left), *rest = node.waiting
            node.waiting = tuple(rest)
            left, right = [], []
            for i in node.rows:
                x, n_categories = self.X[i][j], len(self.columns[j].categories or ())
                if category >= 0:
                    goes_left = (n_categories if isnan(x) else x) == category
                else:
                    goes_left = missing_left if isnan(x) else x <= threshold
                (left if goes_left else right).append(i)
            if min(len(left), len(right)) >= max(1, self.min_samples_leaf):
                side = self.heavier(left, right) if missing_left is None else missing_left
                node.split = SlowSplit(j, threshold, category, side, -1, left, right)
                node.forced = True
                if not self.keeps_order(node, node.split):
                    raise BreaksOrder
                return True
        return False

    def may_split_on(self, node, column):
        if self.groups is None:
            return True
        return any(node.used | {column} <= group for group in self.groups)

    def upper_shares(self, rows):
        counts = self.counts(rows)
        return [sum(counts[k:]) / sum(counts) for k in range(1, self.n_classes)]

    def sign(self, split):
        """Of a split by values; missing against present has none."""
        nominal = self.columns[split.column].kind == "nominal"
        return (
            0
            if self.signs is None or nominal or split.threshold == inf
            else (self.signs[split.column])
        )

    def keeps_order(self, node, split):
        if not self.sign(split):  # other splits may lead out of the limits
            return True
        for (low, high), p, q in zip(
            node.limits, self.upper_shares(split.left), self.upper_shares(split.right), strict=True
        ):
            if not low <= min(p, q) <= max(p, q) <= high:
                return False
            if self.sign(split) * (q - p) < 0:
                return False
        return True

    def child(self, node, rows, side):
        """``side`` is -1 for the child of the lower values and 1 for the other one."""
        split, limits = node.split, list(node.limits)
        left, right = self.upper_shares(split.left), self.upper_shares(split.right)
        if self.sign(split):
            middles = [(p + q) / 2 for p, q in zip(left, right, strict=True)]
            above = side * self.sign(split) > 0
            limits = [
                (middle, high) if above else (low, middle)
                for (low, high), middle in zip(limits, middles, strict=True)
            ]
        used = node.used | {split.column}
        return SlowNode(rows, node.depth + 1, limits=limits, used=used, waiting=node.waiting)

    def may_be_leaf(self, rows):
        """Enough rows."""
        return len(rows) >= max(1, self.min_samples_leaf)

    def wins_tie(self, current, split):
        """The split with the widest gap wins, in the paper's order that with least weight left."""
        if self.growth_order == "gain":
            return self.gap(split) > self.gap(current)
        return self.present_left(split) < self.present_left(current)

    def gap(self, split):
        """Between the two sides, as a share of the column's range; 1 for a category."""
        if self.columns[split.column].kind == "nominal":
            return 1.0
        if split.threshold == inf:
            return 0.0

        def known(rows):
            values = [self.X[i][split.column] for i in rows]
            return [x for x in values if not isnan(x)]

        low, high = max(known(split.left)), min(known(split.right))
        everywhere = known(self.root.rows)
        return (high - low) / (max(everywhere) - min(everywhere))

    def present_left(self, split):
        """Weight on the left whose value is known; in a nominal column missing is a value."""
        nominal = self.columns[split.column].kind == "nominal"
        known = [i for i in split.left if nominal or not isnan(self.X[i][split.column])]
        return round(sum(self.weight[i] for i in known), 9)

    # -- growth ------------------------------------------------------------------------------

    def grow(self):
        self.search(self.root)
        frontier, n_leaves = [self.root], 1
        while n_leaves < self.max_leaves:
            open_leaves = [node for node in frontier if node.split is not None]
            if not open_leaves:
                return
            node = max(open_leaves, key=self.priority)  # the first, which is the oldest, of a tie
            node.left = self.child(node, node.split.left, -1)
            node.right = self.child(node, node.split.right, 1)
            self.search(node.left)
            self.search(node.right)
            frontier.remove(node)
            frontier += [node.left, node.right]
            n_leaves += 1

    def preorder(self):
        stack = [self.root]
        while stack:
            node = stack.pop()
            yield node
            if node.left is not None:
                stack += [node.right, node.left]


def middle(low, high):
    """Halfway, but never ``high``."""
    threshold = low / 2 + high / 2
    return threshold if low <= threshold < high else low


def shortest_decimal(low, high):
    """Every decimal of 0, 1, 2, ... digits next to the middle, in exact fractions."""
    if low < 0 < high:
        return 0.0
    exact = (Fraction(low) + Fraction(high)) / 2
    power = max(e for e in range(-330, 310) if Fraction(10) ** e <= abs(exact))
    for digits in range(1, 18):
        unit = Fraction(10) ** (power + 1 - digits)
        near = [(exact // unit + k) * unit for k in range(-11, 12)]
        inside = [d for d in near if abs(d) < 2**1024 - 2**970 and low < float(d) < high]
        inside = [d for d in inside if len(str(abs(d) / unit).rstrip("0")) <= digits]
        if inside:
            return float(min(inside, key=lambda d: (abs(d - exact), d)))
    return low


THRESHOLDS = {
    "decimal": shortest_decimal,
    "midpoint": middle,
    "observed": lambda low, high: low,
    "ordinal": lambda low, high: float(floor(middle(low, high))),
}


def slow_route(tree, x, handle_unknown="other"):
    """The node that a row of codes reaches, by the rules as they are written."""
    node = 0
    while tree.left[node] >= 0:
        column = tree.columns[tree.feature[node]]
        value = x[tree.feature[node]]
        left, right = int(tree.left[node]), int(tree.right[node])
        if column.kind != "real" and value == -1:
            if handle_unknown == "stop":
                return node
            heavier_left = tree.counts[left].sum() >= tree.counts[right].sum()
            node = left if handle_unknown == "majority" and heavier_left else right
        elif column.kind == "nominal":
            if isnan(value) and not column.missing:
                node = left if tree.missing_left[node] else right
            else:
                code = len(column.categories) if isnan(value) else int(value)
                node = left if code == tree.category[node] else right
        elif isnan(value):
            node = left if tree.missing_left[node] else right
        else:
            node = left if value <= tree.threshold[node] else right
    return node
