"""The graph of candidate trees: its best tree of each size is that of an exhaustive search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_samples import random_options, random_sample
from slow_tree import SlowTree

from treebound.growing import grow
from treebound.growing.graph import search
from treebound.pruning.costs import Costs
from treebound.pruning.optimal import BestBySize
from treebound.pruning.searched import BestOfGraph


class SlowGraph(SlowTree):
    """Tries the best split of the best columns at the top, and every pruning of every tree."""

    def __init__(self, *sample, widths, **options):
        self.widths, self.excluded, self.solved = widths, set(), {}
        super().__init__(*sample, max_leaves=1, **options)

    def may_split_on(self, node, column):
        return column not in self.excluded and super().may_split_on(node, column)

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
            self.excluded.add(copy.split.column)
        self.excluded = set()
        return candidates

    def curve(self, node):
        """Fewest errors with each number of leaves."""
        key = min(node.depth, len(self.widths)) if self.max_depth == np.inf else node.depth
        key = key, *node.rows
        if key not in self.solved:
            self.solved[key] = self.solve(node)
        return self.solved[key]

    def solve(self, node):
        counts = self.counts(node.rows)
        best = {1: sum(counts) - max(counts)}
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
        min_samples_leaf=options.min_samples_leaf,
    )  # fmt: skip
    curve = twin.curve(twin.root)
    sizes = best_of(sample, options, widths)
    assert sizes.n_leaves == max(curve)
    assert np.allclose(sizes.errors(), [curve[k] for k in range(1, max(curve) + 1)], atol=1e-6)


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
