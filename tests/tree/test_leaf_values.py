"""Shrunk leaf values, against the formula node by node."""

from __future__ import annotations

import numpy as np
import pytest

from treebound.data import Sample
from treebound.data.numeric_target import NumericTarget
from treebound.growing import GrowOptions, grow_numbers
from treebound.tree.leaf_values import SHRINKAGES, Shrinkage, shrunk_values, with_shrunk_values


def grown(seed=0, n=150, weight=None, **options):
    rng = np.random.default_rng(seed)
    X = Sample.learn(rng.normal(size=(n, 3)).round(1), np.zeros(n)).X
    y = X.values[0] + rng.normal(size=n)
    return grow_numbers(X, NumericTarget.of(y, weight), GrowOptions(**options))


def slow_values(tree, shrinkage):
    """Recursion from the root, in plain Python."""
    values = [0.0] * tree.n_nodes
    values[0] = float(tree.mean[0])
    for node in range(tree.n_nodes):
        if tree.left[node] < 0:
            continue
        a, b = int(tree.left[node]), int(tree.right[node])
        few, many = float(tree.weight[a]), float(tree.weight[b])
        examples = few * many / (few + many)
        if shrinkage.kind == "rows":
            share = examples / (examples + shrinkage.strength)
        else:
            noise = float(tree.squares[a] + tree.squares[b])
            if noise <= 0 or few + many <= 2:
                share = 1.0
            else:
                f = examples * float(tree.mean[a] - tree.mean[b]) ** 2 / (noise / (few + many - 2))
                share = f / (f + shrinkage.strength)
        for child in (a, b):
            step = share * float(tree.mean[child] - tree.mean[node])
            values[child] = values[node] + step
    return np.array(values)


@pytest.mark.parametrize("shrinkage", SHRINKAGES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_values_are_those_of_the_formula(shrinkage, weighted):
    for seed in range(5):
        weight = np.random.default_rng(seed).integers(1, 4, 150) * 1.0 if weighted else None
        tree = grown(seed, weight=weight, min_samples_leaf=1 + 2 * seed)
        np.testing.assert_allclose(
            shrunk_values(tree, shrinkage), slow_values(tree, shrinkage), rtol=1e-9, atol=1e-9
        )


def test_no_shrinkage_gives_the_means():
    tree = grown()
    np.testing.assert_array_equal(shrunk_values(tree, Shrinkage()), tree.mean)


def test_pruning_below_changes_no_value():
    tree = with_shrunk_values(grown(), Shrinkage("F", 4.0))
    small = tree.collapsed([1])
    assert small.value[1] == tree.value[1]
    np.testing.assert_array_equal(with_shrunk_values(small, Shrinkage("F", 4.0)).value, small.value)


def test_splits_without_noise_are_not_shrunk_by_f():
    X = Sample.learn(np.arange(20.0)[:, None], np.zeros(20)).X
    tree = grow_numbers(X, NumericTarget.of(np.repeat([1.0, 2.0, 5.0, 9.0], 5)))
    leaves = tree.leaves
    np.testing.assert_allclose(shrunk_values(tree, Shrinkage("F", 8.0))[leaves[0]], 1.0, atol=0.5)
    stump = tree.collapsed([int(tree.left[0]), int(tree.right[0])])
    assert with_shrunk_values(stump, Shrinkage("F", 8.0)).value[0] == stump.mean[0]


def test_shrunk_values_of_a_monotone_tree_are_in_order():
    tree = grown(1, min_samples_leaf=3, monotonic_cst=[1, 0, 0])
    for shrinkage in SHRINKAGES:
        values = shrunk_values(tree, shrinkage)
        for node in np.flatnonzero(tree.feature == 0):
            left = values[node + 1 : node + 1 + tree.size[node + 1]]
            right = values[tree.right[node] : node + tree.size[node]]
            leaf = tree.is_leaf
            assert left[leaf[node + 1 : node + 1 + tree.size[node + 1]]].max() <= (
                right[leaf[tree.right[node] : node + tree.size[node]]].min() + 1e-12
            )


@pytest.mark.parametrize("smoothing", ["shrinkage", 0.0, -1.0, ("G", 2.0), ("F", 0.0), True])
def test_another_parameter_is_refused(smoothing):
    with pytest.raises(ValueError, match="'smoothing'"):
        Shrinkage.of(smoothing)
