"""The score of regression trees and its path: against all prunings of small trees."""

from __future__ import annotations

from itertools import product
from math import lgamma, log, pi

import numpy as np
import pytest

from treebound.data import Sample
from treebound.data.numeric_target import NumericTarget
from treebound.growing import GrowOptions, grow_numbers
from treebound.landscape import Landscape
from treebound.pruning.squared_error import SquaredErrorPath, SquaredErrorScore, additive_losses

WEIGHTS = (0.05, 0.1, 0.3, 0.6, 1.0, 3.0)


def grown(seed, n=60, max_leaves=9, **options):
    rng = np.random.default_rng(seed)
    X = Sample.learn(rng.normal(size=(n, 3)).round(1), np.zeros(n)).X
    y = np.where(X.values[0] > 0, X.values[1], 2.0) * 2 + rng.normal(size=n)
    y = y.round(1) if seed % 2 else y
    return grow_numbers(X, NumericTarget.of(y), GrowOptions(max_leaves=max_leaves, **options))


def prunings(tree, node=0):
    """Yield the leaves of every pruning of a subtree."""
    yield (node,)
    if tree.left[node] >= 0:
        both = product(prunings(tree, tree.left[node]), prunings(tree, tree.right[node]))
        yield from (left + right for left, right in both)


def slow_score(k, share, n, real, weight):
    """The formula of the module, with Catalan numbers and binomials by the gamma function."""
    inner = k - 1
    catalan = lgamma(2 * inner + 1) - lgamma(inner + 1) - lgamma(inner + 2)
    rows = lgamma(n) - lgamma(inner + 1) - lgamma(n - inner)
    growth = catalan + inner * log(real) + rows
    tree = growth + log(pi**2 * k**2 / 6) + (k - 1) / 2 * log(n)
    return (n - 1) / 2 * log(1 / n + share) + weight * tree


def test_score_is_the_formula():
    score = SquaredErrorScore(500, Landscape(real=4), 0.7)
    leaves, shares = np.arange(1, 40), np.linspace(1.0, 0.01, 39)
    expected = [slow_score(k, share, 500, 4, 0.7) for k, share in zip(leaves, shares, strict=True)]
    np.testing.assert_allclose(score(leaves, shares), expected, rtol=1e-10)


@pytest.mark.parametrize("seed", range(12))
def test_the_best_step_is_the_best_of_all_prunings(seed):
    tree = grown(seed)
    losses = additive_losses(tree)
    path = SquaredErrorPath(tree, SquaredErrorScore.of(tree, 0.6))
    every = list(prunings(tree))
    leaves = np.array([len(cut) for cut in every])
    shares = np.array([losses[list(cut)].sum() for cut in every]) / losses[0]
    for weight in WEIGHTS:
        score = SquaredErrorScore.of(tree, weight)
        least = score(leaves, shares).min()
        chosen = path.weighted(weight)
        assert chosen.scores[chosen.chosen] == pytest.approx(least, abs=1e-9)
        assert chosen.tree().n_leaves == chosen.leaves[chosen.chosen]


@pytest.mark.parametrize("seed", range(8))
def test_every_size_is_reached_with_the_least_squared_error(seed):
    tree = grown(seed, max_leaves=10)
    losses = additive_losses(tree)
    path = SquaredErrorPath(tree, SquaredErrorScore.of(tree, 0.6))
    least = dict.fromkeys(range(1, tree.n_leaves + 1), np.inf)
    for cut in prunings(tree):
        least[len(cut)] = min(least[len(cut)], losses[list(cut)].sum())
    for size, error in least.items():
        other, step = path.reaching(size)
        assert other.leaves[step] == other.tree(step).n_leaves == size
        assert other.errors[step] * tree.weight[0] == pytest.approx(error, rel=1e-9, abs=1e-9)
        pruned = other.tree(step)
        assert pruned.squares[pruned.is_leaf].sum() == pytest.approx(error, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_a_limit_on_leaves_gives_the_best_score_within_it(seed):
    tree = grown(seed, max_leaves=10)
    losses = additive_losses(tree)
    score = SquaredErrorScore.of(tree, 0.2)
    path = SquaredErrorPath(tree, score)
    every = list(prunings(tree))
    scores = score(
        np.array([len(cut) for cut in every]),
        np.array([losses[list(cut)].sum() for cut in every]) / losses[0],
    )
    for limit in range(1, 11):
        best = min(s for s, cut in zip(scores, every, strict=True) if len(cut) <= limit)
        limited = path.within(limit)
        assert limited.tree().n_leaves <= limit
        assert limited.scores[limited.chosen] == pytest.approx(best, abs=1e-9)


def test_nodes_at_a_step():
    tree = grown(3)
    path = SquaredErrorPath(tree, SquaredErrorScore.of(tree, 0.6))
    for step in range(len(path)):
        cuts = {*path.cuts(step).tolist()}
        parents = {int(c): p for p in range(tree.n_nodes) for c in (tree.left[p], tree.right[p])}
        for node, stands_for in enumerate(path.nodes_at(step).tolist()):
            expected, at = node, node
            while at:
                expected = at if at in cuts else expected
                at = parents[at]
            expected = 0 if 0 in cuts else expected
            assert stands_for == expected


def test_losses_add_up_and_equal_the_squares():
    tree = grown(2, n=200, max_leaves=40)
    np.testing.assert_allclose(additive_losses(tree), tree.squares, rtol=1e-9, atol=1e-9)


def test_equal_numbers_are_one_leaf_at_every_weight():
    X = Sample.learn(np.arange(20.0)[:, None], np.zeros(20)).X
    tree = grow_numbers(X, NumericTarget.of(np.full(20, 3.0)))
    path = SquaredErrorPath(tree, SquaredErrorScore.of(tree, 0.6))
    assert path.leaves.tolist() == [1]
    assert path.shares.tolist() == [1.0]
