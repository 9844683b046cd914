"""Chains of splits that each take one category away: the trees are those of other searches."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from random_samples import ARRAYS
from slow_tree import SlowTree
from support import coded_sample
from test_grow_against_slow_tree import assert_same_tree

from treebound.data import Column, Matrix, Sample
from treebound.growing import GrowOptions, grow

CRITERIA = ("gini", "entropy", "misclassification")
RULES = list(product(CRITERIA, ("gain", "impurity")))


def nominal_column(rng, n, name, rows_a_category=2.0, missing=0.0):
    """Codes of few rows each; a tenth of the rows shares a few categories."""
    size = max(1, int(n / rows_a_category))
    codes = rng.integers(0, size, n).astype(np.int32)
    codes[rng.random(n) < 0.1] = rng.integers(0, min(size, 3))
    codes[rng.random(n) < missing] = -1
    return codes, Column(name, "nominal", tuple(range(size)), declared=True, missing=missing > 0)


def other_column(rng, n, name):
    """A column of thresholds, kept as codes or sorted, that now and then has the best split."""
    few = rng.integers(0, 4, n) * (rng.random(n) < 0.05)
    values = [few.astype(float), rng.normal(size=n), few + rng.normal(size=n) * (few > 2)]
    x = values[rng.integers(3)].copy()
    missing = rng.random() < 0.5
    if missing:
        x[rng.random(n) < 0.02] = np.nan
    return x, Column(name, "real", None, missing=missing)


def labels_of(rng, codes, n_classes):
    """Noise, or classes of the categories, or nearly all of one class."""
    noise = rng.integers(0, n_classes, len(codes))
    labels = [
        noise,
        np.where(rng.random(len(codes)) < 0.7, np.abs(codes) % n_classes, noise),
        np.where(rng.random(len(codes)) < 0.9, 0, noise),
    ]
    return labels[rng.integers(3)].astype(np.int32)


def weights_of(rng, n):
    """None; whole ones, so that counts repeat; or real ones, which seldom do."""
    weights = [None, rng.integers(1, 4, n).astype(float), rng.choice([0.1, 0.3], n), rng.random(n)]
    return weights[rng.integers(4)]


def random_sample(rng, n, n_nominal, n_others):
    columns = [
        nominal_column(rng, n, f"c{j}", rng.choice([1.3, 2, 4]), rng.choice([0, 0.02]))
        for j in range(n_nominal)
    ] + [other_column(rng, n, f"x{j}") for j in range(n_others)]
    values, columns = zip(*columns, strict=True)
    n_classes = int(rng.choice([2, 2, 3, 5]))
    y = labels_of(rng, values[0], n_classes)
    return Sample(Matrix(columns, values), y, weights_of(rng, n), np.arange(n_classes))


def by_histograms(sample, options):
    """The same growth without chains: with a constant column, all nodes have histograms."""
    constant = Column("constant", "real", None)
    columns = (*sample.columns, constant)
    values = (*sample.X.values, np.zeros(sample.n_rows))
    beside = Sample(Matrix(columns, values), sample.y, sample.weight, sample.classes)
    return grow(beside, options, crossing=2)


def assert_same_arrays(tree, other):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(tree, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize(("criterion", "order"), RULES)
@pytest.mark.parametrize(("n_nominal", "n_others"), [(1, 0), (2, 0), (3, 0), (1, 2), (2, 1)])
def test_chains_give_the_tree_of_histograms(criterion, order, n_nominal, n_others):
    rng = np.random.default_rng([len(criterion), len(order), n_nominal, n_others])
    for _ in range(12):
        sample = random_sample(rng, int(rng.integers(100, 1500)), n_nominal, n_others)
        options = GrowOptions(
            criterion=criterion,
            growth_order=order,
            max_leaves=[None, None, 30, 200][rng.integers(4)],
            max_depth=[None, None, 50][rng.integers(3)],
            min_samples_leaf=int(rng.choice([1, 1, 1, 2])),
        )
        assert_same_arrays(grow(sample, options), by_histograms(sample, options))


@pytest.mark.parametrize("n_nominal", [1, 2])
def test_large_nodes_of_nominal_columns_are_sorted_in_a_chain(n_nominal):
    rng = np.random.default_rng(n_nominal)
    columns = [nominal_column(rng, 6000, f"c{j}", 40.0, 0.01) for j in range(n_nominal)]
    values, columns = zip(*columns, strict=True)
    y = rng.integers(0, 2, 6000).astype(np.int32)
    sample = Sample(Matrix(columns, values), y, None, np.arange(2))
    tree = grow(sample, crossing=500)
    assert tree.node_depth.max() > 32 * n_nominal
    assert_same_arrays(tree, by_histograms(sample, None))


@pytest.mark.parametrize(("criterion", "order"), RULES)
@pytest.mark.parametrize("weighted", [False, True])
def test_chains_give_the_tree_of_the_slow_twin(criterion, order, weighted):
    rng = np.random.default_rng(len(criterion) + len(order))
    n = 110
    X = np.column_stack([rng.integers(0, 60, n), rng.integers(0, 50, n)]).astype(float)
    X[rng.random(n) < 0.05, 0] = np.nan
    y = rng.integers(0, 3, n)
    columns = (
        Column("a", "nominal", tuple(range(60)), missing=True),
        Column("b", "nominal", tuple(range(50))),
    )
    weight = rng.integers(1, 4, n).astype(float) if weighted else None
    for used in (1, 2):
        table = X[:, :used], y, columns[:used]
        kwargs = {"criterion": criterion, "growth_order": order}
        tree = grow(coded_sample(*table, range(3), weight), GrowOptions(**kwargs))
        slow = SlowTree(table[0].tolist(), y, columns[:used], 3, sample_weight=weight, **kwargs)
        assert_same_tree(tree, slow)


def test_a_chain_may_be_as_long_as_there_are_categories():
    codes = np.repeat(np.arange(20_000, dtype=np.int32), 2)
    y = np.tile(np.array([0, 1, 0, 0], dtype=np.int32), 10_000)
    column = Column("c", "nominal", tuple(range(20_000)), declared=True)
    tree = grow(Sample(Matrix((column,), (codes,)), y, None, np.arange(2)))
    # every other category has all rows of the second class: they go one by one, the lowest first
    np.testing.assert_array_equal(tree.category[tree.left >= 0], np.arange(0, 20_000, 2))
    assert tree.n_leaves == 10_001
