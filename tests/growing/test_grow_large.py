"""Samples too large for the slow tree: the best gain from cumulative sums, and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier
from support import coded_matrix, grow_coded

from treebound.data import Column

grow = grow_coded

CRITERIA = ("gini", "entropy", "misclassification")


def impurities(counts, criterion):
    """Weight times impurity, for every row of counts."""
    total = counts.sum(axis=-1, keepdims=True)
    shares = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    if criterion == "gini":
        return total[..., 0] * (1 - (shares**2).sum(axis=-1))
    if criterion == "entropy":
        logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
        return -total[..., 0] * (shares * logs).sum(axis=-1)
    return total[..., 0] * (1 - shares.max(axis=-1))


def best_gain(X, y, weight, n_classes, criterion):
    """The greatest gain of a threshold test, missing on either side, by cumulative sums."""
    hot = np.eye(n_classes)[y] * weight[:, None]
    total = hot.sum(axis=0)
    best = 0.0
    for x in X.T:
        present = ~np.isnan(x)
        order = np.argsort(x[present], kind="stable")
        values = x[present][order]
        lefts = np.cumsum(hot[present][order], axis=0)
        boundary = np.append(values[1:] != values[:-1], True)
        missing = hot[~present].sum(axis=0)
        for left in (lefts[boundary], lefts[boundary] + missing):
            right = total - left
            keep = (right.sum(axis=1) > 1e-9) & (left.sum(axis=1) > 1e-9)
            after = impurities(left, criterion) + impurities(np.maximum(right, 0), criterion)
            if keep.any():
                best = max(best, impurities(total, criterion) - after[keep].min())
    return best


def node_gains(tree, criterion):
    """The gain of every inner node; NaN for leaves."""
    impurity = impurities(tree.counts, criterion)
    inner = ~tree.is_leaf
    gains = np.full(tree.n_nodes, np.nan)
    gains[inner] = impurity[inner] - impurity[tree.left[inner]] - impurity[tree.right[inner]]
    return gains


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("weights", ["none", "whole", "float"])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_every_node_takes_the_best_split(criterion, n_classes, weights, missing):
    rng = np.random.default_rng(n_classes)
    n = 3000
    X = rng.normal(size=(n, 4))
    X[:, 1] = np.round(X[:, 1], 1)
    X[:, 3] = np.exp(20 * X[:, 3])
    score = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.4 * rng.normal(size=n)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    X[rng.random(X.shape) < missing] = np.nan
    weight = {"none": np.ones(n), "whole": rng.integers(1, 5, n), "float": rng.random(n)}[weights]
    columns = [Column(f"x{j}") for j in range(4)]
    tree = grow(
        X, y, columns, range(n_classes), sample_weight=weight, criterion=criterion, max_leaves=6
    )
    gains = node_gains(tree, criterion)
    path = tree.decision_path(coded_matrix(X, columns)).toarray().astype(bool)
    for node in np.flatnonzero(~tree.is_leaf):
        rows = path[:, node]
        best = best_gain(X[rows], y[rows], weight[rows].astype(float), n_classes, criterion)
        assert gains[node] == pytest.approx(best, rel=1e-9)


# -- scikit-learn --------------------------------------------------------------------------


def data_sets():
    for load in (load_iris, load_wine, load_breast_cancer, load_digits):
        data = load()
        yield pytest.param(data.data, data.target, id=load.__name__)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n, d, n_classes = rng.integers(30, 600), rng.integers(1, 8), rng.integers(2, 6)
        X = rng.normal(size=(n, d)).round(rng.integers(0, 4))
        noise = rng.normal(size=(d, n_classes))
        y = (X @ noise + rng.normal(size=(n, n_classes))).argmax(axis=1)
        yield pytest.param(X, np.unique(y, return_inverse=True)[1], id=f"random-{seed}")


def stump_gain(X, y, criterion):
    """The gain of scikit-learn's best split of a node."""
    stump = DecisionTreeClassifier(max_depth=1, criterion=criterion, random_state=0).fit(X, y).tree_
    if stump.node_count == 1:
        return 0.0
    impurity = stump.impurity * stump.weighted_n_node_samples
    return impurity[0] - impurity[1] - impurity[2]


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize(("X", "y"), list(data_sets()))
def test_every_expansion_gains_what_scikit_learn_gains(X, y, criterion):
    """At every step the leaf that is expanded has the greatest gain scikit-learn finds."""
    X = X.astype(np.float32).astype(np.float64)
    columns = [Column(f"x{j}") for j in range(X.shape[1])]
    tree = grow(X, y, columns, np.unique(y), criterion=criterion, max_leaves=25)
    path = tree.decision_path(coded_matrix(X, columns)).toarray().astype(bool)
    gains = [stump_gain(X[path[:, i]], y[path[:, i]], criterion) for i in range(tree.n_nodes)]
    inner = ~tree.is_leaf
    np.testing.assert_allclose(
        node_gains(tree, criterion)[inner], np.array(gains)[inner], rtol=1e-7, atol=1e-7
    )
    frontier = {0}
    for _ in range(tree.n_leaves - 1):
        greatest = max(gains[node] for node in frontier)
        chosen = [n for n in frontier if inner[n] and gains[n] >= greatest - 1e-7]
        assert chosen, "a leaf with a greater gain was left"
        frontier.remove(chosen[0])
        frontier |= {int(tree.left[chosen[0]]), int(tree.right[chosen[0]])}
    if tree.n_leaves < 25:
        assert max(gains[node] for node in frontier) < 1e-7


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_grows_the_tree_of_scikit_learn(criterion, weighted, n_classes):
    """Large nodes of continuous columns have no ties: the whole tree is the same."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(4000, 5)).astype(np.float32).astype(np.float64)
    score = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=4000)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    weight = rng.random(4000) + 0.1 if weighted else None
    columns = [Column(f"x{j}") for j in range(5)]
    options = {"criterion": criterion, "max_leaves": 15, "thresholds": "midpoint"}
    tree = grow(X, y, columns, range(n_classes), sample_weight=weight, **options)
    other = DecisionTreeClassifier(max_leaf_nodes=15, criterion=criterion, random_state=0)
    other = other.fit(X, y, sample_weight=weight).tree_
    order = preorder(other)
    np.testing.assert_array_equal(tree.feature, np.maximum(other.feature[order], -1))
    inner = ~tree.is_leaf
    np.testing.assert_array_equal(tree.threshold[inner], other.threshold[order][inner])
    np.testing.assert_array_equal(tree.rows, other.n_node_samples[order])


def preorder(tree):
    """scikit-learn numbers nodes in the order of their creation."""
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if tree.children_left[node] >= 0:
            stack += [tree.children_right[node], tree.children_left[node]]
    return np.array(order)


# -- sorting -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).normal(size=5000),
        np.random.default_rng(1).standard_cauchy(size=5000) * 1e200,
        1.0 + np.arange(5000) * 2.0**-52,
        np.exp(np.random.default_rng(2).uniform(-700, 700, size=5000)),
        np.random.default_rng(3).integers(-(2**62), 2**62, size=5000).astype(float),
        np.repeat(np.random.default_rng(4).normal(size=1250), 4),
        np.nextafter(0, 1) * np.arange(-2500, 2500),
        np.concatenate([[1e300], 1.0 + 1e-13 * np.arange(4999)]),
    ],
    ids=[
        "normal",
        "cauchy",
        "adjacent",
        "exponential",
        "integers",
        "repeated",
        "denormal",
        "outlier",
    ],
)
def test_any_distribution_is_sorted(values):
    """Labels that alternate between neighbours need every boundary: no error is left."""
    values = np.random.default_rng(9).permutation(values)
    ranks = np.unique(values, return_inverse=True)[1]
    y = (ranks // 3) % 2
    tree = grow(values[:, None], y, [Column("x")], [0, 1], criterion="entropy")
    assert tree.errors == 0
    np.testing.assert_array_equal(tree.predict(coded_matrix(values[:, None], [Column("x")])), y)


@given(st.integers(0, 2**32 - 1), st.sampled_from(CRITERIA), st.sampled_from([None, 2, 3.3]))
@settings(max_examples=150)
def test_columns_with_many_ties_take_the_best_boundary(seed, criterion, heaviest):
    """Runs of equal values, whole runs of one class: a leap may not pass a boundary inside."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(50, 500))
    X = rng.integers(0, rng.integers(2, n), size=(n, 2)).astype(float)
    X = np.where(np.median(X) > X, X, X + rng.random((n, 2)).round(2))
    n_classes = int(rng.integers(2, 4))
    block = np.argsort(np.argsort(X[:, 0])) // rng.integers(1, n)
    y = (block + (rng.random(n) < 0.1) * rng.integers(0, n_classes, n)) % n_classes
    weight = np.ones(n) if heaviest is None else 0.5 + rng.integers(0, 2, n) * heaviest
    columns = [Column("a"), Column("b")]
    options = {"criterion": criterion, "max_leaves": 2}
    tree = grow(X, y, columns, range(n_classes), sample_weight=weight, **options)
    best = best_gain(X, y, weight, n_classes, criterion)
    gain = 0.0 if tree.n_nodes == 1 else node_gains(tree, criterion)[0]
    assert gain == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n", [1500, 5000])
@pytest.mark.parametrize(
    "values",
    [
        np.arange(-60.0, 60.0),
        np.arange(250.0),
        np.r_[-100.0, 0.0, 1e-17, np.arange(1.0, 40.0)],
        np.r_[-1e-17, 0.0, 1.0, 1.0 + 2.0**-52, 2.0],
        np.r_[2.0**53 + 2.0 * np.arange(20)],
        np.r_[np.nan, np.arange(30.0)],
        np.r_[np.arange(30.0), 1e300],
    ],
    ids=["whole", "many", "nearly whole", "next to whole", "large", "missing", "outlier"],
)
def test_whole_numbers_that_are_counted_grow_the_same_tree(values, n):
    """As the same column after a map that keeps the order and has no whole numbers."""
    rng = np.random.default_rng(5)
    present = np.sort(values[~np.isnan(values)])
    drawn = rng.choice(values, size=n)
    ranks = np.searchsorted(present, drawn)
    other = np.where(np.isnan(drawn), np.nan, 0.3 + 0.7 * ranks)
    y = (ranks // 2 + (rng.random(n) < 0.2)) % 3
    one, two = (
        grow(x[:, None], y, [Column("x", missing=True)], [0, 1, 2], thresholds="observed")
        for x in (drawn, other)
    )
    for name in ("left", "right", "counts", "missing_left", "label"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    thresholds = one.threshold[~one.is_leaf]
    mapped = 0.3 + 0.7 * np.searchsorted(present, thresholds)
    mapped[np.isinf(thresholds)] = np.inf  # present against missing
    np.testing.assert_array_equal(mapped, two.threshold[~two.is_leaf])
