"""The graph of candidate trees: its best tree of each size is that of an exhaustive search."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_samples import random_options, random_sample
from slow_tree import BreaksOrder, SlowTree
from test_rules import random_rules

from treebound.data import Column, Matrix, Sample
from treebound.growing import GrowOptions, grow
from treebound.growing.graph import search
from treebound.pruning.costs import Costs
from treebound.pruning.optimal import BestBySize
from treebound.pruning.searched import BestOfGraph


class SlowGraph(SlowTree):
    """Tries several splits at the top, and every pruning of every tree.

    A candidate is the best split of a real or ordinal column, or a category of a nominal one.
    """

    def __init__(self, *sample, widths, **options):
        self.widths, self.excluded, self.solved = widths, set(), {}
        super().__init__(*sample, max_leaves=1, **options)
        self.root = replace(self.root, split=None, forced=False, waiting=tuple(options["first"]))

    def candidates(self, node):
        for split in super().candidates(node):
            if self.key(node, split) not in self.excluded:
                yield split

    def key(self, node, split):
        """The column that a candidate excludes, or its category among three or more."""
        values = {self.X[i][split.column] for i in node.rows}
        known = {value for value in values if value == value}
        n_values = len(known) + (len(known) < len(values))
        several = self.columns[split.column].kind == "nominal" and n_values > 2
        return (split.column, split.category) if several else split.column

    def ranked(self, node):
        """The splits of the node: as many as its depth allows, the best first."""
        width = self.widths[node.depth] if node.depth < len(self.widths) else 1
        candidates, self.excluded = [], set()
        for _ in range(width):
            copy = replace(node, split=None, forced=False)
            self.search(copy)
            if copy.split is None:
                break
            candidates.append(copy)
            if copy.forced:
                break
            self.excluded.add(self.key(node, copy.split))
        self.excluded = set()
        return candidates

    def curve(self, node):
        """Fewest errors with each number of leaves."""
        key = min(node.depth, len(self.widths)) if self.max_depth == np.inf else node.depth
        key = key, *node.rows, *node.limits, node.used, node.waiting
        if key not in self.solved:
            self.solved[key] = self.solve(node)
        return self.solved[key]

    def label_in(self, node):
        """The most probable class after the shares of the highest classes obey their limits."""
        counts = self.counts(node.rows)
        if self.signs is None:
            return counts.index(max(counts))
        sums = [
            min(max(share, low), high)
            for share, (low, high) in zip(self.upper_shares(node.rows), node.limits, strict=True)
        ]
        sums = [1.0, *sums, 0.0]
        shares = [a - b for a, b in pairwise(sums)]
        label = counts.index(max(counts))
        return label if shares[label] >= max(shares) - 1e-9 else shares.index(max(shares))

    def solve(self, node):
        counts = self.counts(node.rows)
        best = {1: sum(counts) - counts[self.label_in(node)]}
        for chosen in self.ranked(node):
            left = self.curve(self.child(chosen, chosen.split.left, -1))
            right = self.curve(self.child(chosen, chosen.split.right, 1))
            for i, a in left.items():
                for j, b in right.items():
                    best[i + j] = min(best.get(i + j, np.inf), a + b)
        return best


def best_of(sample, options, widths):
    graph = search(sample, options, widths=widths)
    return BestOfGraph(graph, Costs.of(graph.root, None))


def options_of(rng):
    options = random_options(rng)
    return replace(
        options, max_leaves=None, growth_order="gain", thresholds="decimal", criterion="entropy"
    )


def as_floats(sample):
    values = [np.asarray(x, dtype=float) for x in sample.X.values]
    for x, column in zip(values, sample.columns, strict=True):
        if column.kind != "real":
            x[x < 0] = np.nan
    return np.column_stack(values)


@given(
    seed=st.integers(0, 10**6),
    widths=st.sampled_from([(1,), (3,), (2, 2), (8, 4), (3, 2, 2), ()]),
)
@settings(max_examples=25)
def test_best_trees_are_those_of_an_exhaustive_search(seed, widths):
    rng = np.random.default_rng(seed)
    sample, options = random_sample(rng, 14), options_of(rng)
    twin = SlowGraph(
        as_floats(sample), sample.y, sample.columns, sample.n_classes, widths=widths,
        sample_weight=sample.weight, criterion="entropy", max_depth=options.max_depth,
        min_samples_leaf=options.min_samples_leaf, first=(),
    )  # fmt: skip
    curve = twin.curve(twin.root)
    sizes = best_of(sample, options, widths)
    assert sizes.n_leaves == max(curve)
    assert np.allclose(sizes.errors(), [curve[k] for k in range(1, max(curve) + 1)], atol=1e-6)


@pytest.mark.parametrize("seed", range(60))
def test_rules_hold_in_an_exhaustive_search(seed):
    """Monotone columns, groups of columns and forced splits, with and without weights."""
    rng = np.random.default_rng([7, seed])
    sample = random_sample(rng, 14)
    if len({column.name for column in sample.columns}) < len(sample.columns):
        sample = replace(sample, X=Matrix(sample.columns[:-1], sample.X.values[:-1]))
    rules, slow = random_rules(rng, sample)
    options = replace(options_of(rng), **rules)
    widths = [(3,), (8, 4), (3, 2, 2)][seed % 3]
    try:
        twin = SlowGraph(
            as_floats(sample), sample.y, sample.columns, sample.n_classes, widths=widths,
            sample_weight=sample.weight, criterion="entropy", max_depth=options.max_depth,
            min_samples_leaf=options.min_samples_leaf, **slow,
        )  # fmt: skip
        curve = twin.curve(twin.root)
    except BreaksOrder:
        with pytest.raises(ValueError, match="breaks the order"):
            search(sample, options, widths=widths)
        return
    sizes = best_of(sample, options, widths)
    assert sizes.n_leaves == max(curve)
    assert np.allclose(sizes.errors(), [curve[k] for k in range(1, max(curve) + 1)], atol=1e-5)
    if any(rules["monotonic_cst"].values()):
        tree = sizes.pruned(sizes.n_leaves)
        assert tree.monotone is None or tree.monotone.broken(tree) == -1
        assert np.array_equal(tree.label, replace(tree, label=None).label)


def test_categories_of_a_nominal_column_are_candidates():
    """One nominal column of four categories: each may be the first to be split off."""
    x = np.repeat(np.arange(4, dtype=np.int8), 5)
    y = (np.arange(20) % 5 < x).astype(np.int32)
    column = Column("c", "nominal", ("a", "b", "c", "d"), declared=True)
    sample = Sample(Matrix((column,), (x,)), y, None, np.arange(2))
    graph = search(sample, GrowOptions("entropy"), widths=(3,))
    at_root = slice(graph.first[-2], graph.first[-1])
    assert len(set(graph.category[at_root].tolist())) == 3
    two = replace(sample, X=Matrix((column,), ((x % 2).astype(np.int8),)))
    graph = search(two, GrowOptions("entropy"), widths=(3,))
    assert graph.first[-1] - graph.first[-2] == 1  # the other category is the same split


@given(seed=st.integers(0, 10**6), widths=st.sampled_from([(1,), (8, 4), (2, 3, 2)]))
@settings(max_examples=30)
def test_every_tree_of_the_path_is_counted_on_its_rows(seed, widths):
    rng = np.random.default_rng(seed)
    sample, options = random_sample(rng, 120), options_of(rng)
    sizes = best_of(sample, options, widths)
    for leaves in {1, sizes.n_leaves // 2 + 1, sizes.n_leaves}:
        tree = sizes.pruned(leaves)
        again = tree.recounted(sample)
        assert tree.n_leaves == leaves
        assert np.array_equal(tree.rows, again.rows)
        assert np.allclose(tree.counts, again.counts, rtol=1e-9)
        lost = tree.node_losses[tree.is_leaf].sum()
        assert lost == pytest.approx(sizes.errors()[leaves - 1], rel=1e-9, abs=1e-6)


@given(seed=st.integers(0, 10**6), widths=st.sampled_from([(1,), (8, 4)]))
@settings(max_examples=30)
def test_no_size_is_worse_than_greedy_growth(seed, widths):
    rng = np.random.default_rng(seed)
    sample, options = random_sample(rng, 300), options_of(rng)
    if rng.random() < 0.5:
        sample = replace(sample, factors=rng.integers(1, 5, sample.n_classes).astype(float))
    if rng.random() < 0.5 and len({c.name for c in sample.columns}) == len(sample.columns):
        options = replace(options, **random_rules(rng, sample)[0] | {"forced_splits": []})
    greedy = grow(sample, options)
    errors = BestBySize(greedy, greedy.node_losses).errors()
    searched = best_of(sample, options, widths).errors()
    assert len(searched) >= len(errors)
    rounding = 1e-6 + 1e-10 * errors[0]  # fractional losses are rounded to 38 bits of their sum
    assert (searched[: len(errors)] <= errors + rounding).all()
    if widths == (1,):  # one candidate: the graph is the greedy tree
        assert np.allclose(searched, errors, rtol=0.0, atol=rounding)


def test_equal_rows_are_grown_once():
    rng = np.random.default_rng(0)
    sample = random_sample(rng, 300)
    columns = tuple(replace(sample.columns[0], name=f"c{j}") for j in range(4))
    copies = replace(sample, X=type(sample.X)(columns, (sample.X.values[0],) * 4))
    one = replace(sample, X=type(sample.X)(columns[:1], sample.X.values[:1]))
    options = options_of(rng)
    graphs = [search(each, options, widths=(4, 4)) for each in (one, copies)]
    assert graphs[0].n_nodes == graphs[1].n_nodes


@pytest.mark.parametrize("rows", [3, 20, 150, 1500, 5000])
@pytest.mark.parametrize("seed", range(4))
def test_tables_of_small_nodes_give_the_splits_of_a_scan(seed, rows):
    """With a rule, here one that allows all, nodes are scanned and not searched by tables."""
    rng = np.random.default_rng([5, seed, rows])
    sample = random_sample(rng, rows)
    if len({column.name for column in sample.columns}) < len(sample.columns):
        sample = replace(sample, X=Matrix(sample.columns[:-1], sample.X.values[:-1]))
    sample, options = replace(sample, weight=None), options_of(rng)
    names = [column.name for column in sample.columns]
    tabled, scanned = (
        search(sample, replace(options, interaction_cst=groups), widths=(3, 2))
        for groups in (None, [names])
    )
    for name in ("first", "feature", "category", "missing_left", "left", "right", "rows", "counts"):
        assert np.array_equal(getattr(tabled, name), getattr(scanned, name)), name
    assert np.array_equal(tabled.threshold, scanned.threshold, equal_nan=True)


def test_equal_rows_below_the_searched_levels_are_grown_once():
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 3, size=(200, 4)).astype(float)
    sample = Sample.learn(rows, rng.integers(0, 2, 200))
    options = GrowOptions("entropy")
    # with a limit, which no node reaches, a subtree may depend on its depth
    graph, limited = (search(sample, replace(options, max_depth=at)) for at in (None, 199))
    assert 1.2 * graph.n_nodes < limited.n_nodes
    curves = [BestOfGraph(each, Costs.of(each.root, None)).errors() for each in (graph, limited)]
    assert np.array_equal(*curves)
