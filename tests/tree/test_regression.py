"""Regression trees: moments from exact sums, checks, order of predictions."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import numpy as np
import pytest

from treebound.data import Matrix, Sample
from treebound.data.numeric_target import NumericTarget
from treebound.growing import GrowOptions, grow_numbers
from treebound.tree.regression import RegressionTree, importances


def grown(seed=0, n=120, *, decimals=1, weight=None, **options):
    rng = np.random.default_rng(seed)
    X = Sample.learn(rng.normal(size=(n, 3)).round(1), np.zeros(n)).X
    y = X.values[0] * 2 - (X.values[1] > 0) + rng.normal(size=n)
    y = y if decimals is None else y.round(decimals)
    weights = None if weight is None else weight(rng, n)
    target = NumericTarget.of(y, weights)
    return grow_numbers(X, target, GrowOptions(**options)), X, y, weights


@pytest.fixture(scope="module")
def tree():
    return grown()[0]


WEIGHTS = {
    "one": None,
    "whole": lambda rng, n: rng.integers(1, 5, n).astype(float),
    "real": lambda rng, n: rng.random(n) + 0.1,
}


@pytest.mark.parametrize("decimals", [0, 2, None])
@pytest.mark.parametrize("kind", WEIGHTS)
def test_moments_are_those_of_the_rows(kind, decimals):
    tree, X, y, weights = grown(1, decimals=decimals, weight=WEIGHTS[kind], min_samples_leaf=3)
    weights = np.ones(len(y)) if weights is None else weights
    path = tree.decision_path(X).toarray().astype(bool)
    for node in range(tree.n_nodes):
        w, z = weights[path[:, node]], y[path[:, node]]
        mean = np.average(z, weights=w)
        assert tree.weight[node] == pytest.approx(w.sum(), rel=1e-12)
        assert tree.mean[node] == pytest.approx(mean, rel=1e-9, abs=1e-9)
        assert tree.squares[node] == pytest.approx((w * (z - mean) ** 2).sum(), rel=1e-9, abs=1e-9)
    inner = np.flatnonzero(~tree.is_leaf)
    below = tree.squares[tree.left[inner]] + tree.squares[tree.right[inner]]
    np.testing.assert_allclose(
        tree.gains[inner], tree.squares[inner] - below, rtol=1e-6, atol=1e-9 * tree.squares[0]
    )


def test_squares_and_gains_of_integers_are_exact():
    """Compared with fractions, for numbers that differ little from a large mean."""
    y = 10**8 + np.random.default_rng(0).integers(0, 3, 40).astype(float)
    X = Sample.learn(np.arange(40.0)[:, None], np.zeros(40)).X
    tree = grow_numbers(X, NumericTarget.of(y), GrowOptions(min_samples_leaf=4))
    for node, path in enumerate(tree.decision_path(X).toarray().T.astype(bool)):
        z = [Fraction(int(v)) for v in y[path]]
        exact = sum(v * v for v in z) - sum(z) ** 2 / len(z)
        assert tree.squares[node] == pytest.approx(float(exact), rel=1e-15)


def test_gains_of_a_tree_without_sums(tree):
    bare = replace(tree, sums=None, units=None)
    np.testing.assert_allclose(bare.gains, tree.gains, rtol=1e-9, atol=1e-12)


def test_collapsing_keeps_the_moments_of_nodes(tree):
    small = tree.collapsed([1])
    assert isinstance(small, RegressionTree)
    assert (small.value[0], small.value[1]) == (tree.value[0], tree.value[1])
    assert small.sums[1].tolist() == tree.sums[1].tolist()


def test_arrays_are_read_only_and_survive_pickling(tree):
    for name in ("moments", "value", "sums", "feature"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(tree, name)[0] = 1
    with pytest.raises(FrozenInstanceError):
        tree.value = tree.mean
    again = pickle.loads(pickle.dumps(tree))
    np.testing.assert_array_equal(again.sums, tree.sums)
    assert again.units == tree.units
    assert not again.moments.flags.writeable


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: {"value": t.value * np.nan}, "'value' of node 0"),
        (lambda t: {"moments": t.moments * [1, 1, -1]}, "'squares' of node 0"),
        (lambda t: {"moments": t.moments[:, :2]}, "weight, mean and squares"),
        (lambda t: {"moments": t.moments + np.array([0, 1, 0])}, "must be those of its 'sums'"),
        (lambda t: {"sums": t.sums + (np.arange(t.n_nodes) == 1)[:, None]}, "sums of the children"),
        (lambda t: {"sums": t.sums[:, :2]}, "Got shape"),
        (lambda t: {"sums": None}, "both 'sums' and 'units'"),
        (lambda t: {"rows": t.rows + 1}, "rows of the children of node 0"),
        (lambda t: {"monotone": (1,)}, "a sign for each column"),
        (lambda t: {"value": t.value[:-1]}, "one entry for each node"),
    ],
)
def test_inconsistent_arrays_are_refused(tree, change, words):
    with pytest.raises(ValueError, match=words):
        replace(tree, **change(tree))


def test_means_must_be_those_of_the_children(tree):
    moments = tree.moments.copy()
    moments[1, 1] += 5.0
    with pytest.raises(ValueError, match="mean of node 0"):
        replace(tree, sums=None, units=None, moments=moments)


def test_predictions_are_means_unless_values_are_set(tree):
    X = grown()[1]
    np.testing.assert_array_equal(tree.predict(X), tree.mean[tree.apply(X)])
    np.testing.assert_array_equal(tree.with_values(tree.mean + 1).value, tree.mean + 1)


def test_recounting_its_rows_changes_nothing():
    tree, X, y, weights = grown(3, weight=WEIGHTS["whole"], min_samples_leaf=2)
    again = tree.recounted(X, NumericTarget.of(y, weights))
    for name in ("sums", "moments", "rows", "value"):
        np.testing.assert_array_equal(getattr(again, name), getattr(tree, name))


@pytest.mark.parametrize("seed", range(8))
def test_monotone_predictions_are_in_order_whatever_the_values(seed):
    tree, X, _, _ = grown(seed, min_samples_leaf=4, monotonic_cst=[1, -1, 0])
    rng = np.random.default_rng(seed)
    for values in (tree.mean, rng.normal(size=tree.n_nodes) * 5):
        pruned = tree.with_values(values).collapsed(rng.integers(0, tree.n_nodes, 3))
        for at, sign in ((0, 1), (1, -1)):
            grid = np.linspace(-3, 3, 60)
            row = [np.full(60, column[7]) for column in X.values]
            row[at] = grid
            steps = np.diff(pruned.predict(Matrix(X.columns, tuple(row))))
            assert (sign * steps >= 0).all()


def test_importances_are_shares_of_the_gain(tree):
    shares = importances(tree)
    assert shares.sum() == pytest.approx(1.0)
    assert shares.argmax() == 0
    assert importances(tree.collapsed([0])).tolist() == [0.0, 0.0, 0.0]


def test_repr(tree):
    assert repr(tree.collapsed([0])) == "<RegressionTree: 1 leaf, depth 0, 3 columns>"
