"""The weights of rows: one number for all, and sums that rounding would lose."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import treebound as tb
from treebound.data import Sample
from treebound.data.weights import row_weights
from treebound.tree.smoothing import probabilities


def test_one_number_is_the_weight_of_every_row():
    assert row_weights(2.5, 3).tolist() == [2.5, 2.5, 2.5]
    assert row_weights(np.float32(1.0), 3) is None
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="multiples of 2"):
        clf = tb.BoundTreeClassifier().fit(X, y, sample_weight=2)
    assert clf.tree_.weight[0] == 300
    assert clf.tree_.weighted
    assert tb.BoundTreeClassifier().fit(X, y, sample_weight=1.0).certificate_ is not None
    for wrong in (-1.0, np.nan, 0.0, ["heavy"] * 150):
        with pytest.raises(ValueError, match=r"[Ss]ample.weight"):
            tb.BoundTreeClassifier().fit(X, y, sample_weight=wrong)


def test_sums_that_rounding_would_lose_are_refused():
    for scale in (1e100, 1e308, 2.0**52, 1e-320, 5e-324):
        with pytest.raises(ValueError, match=r"must have a sum from 1e-300 to 2\^52. Got .* Hint"):
            Sample.learn([[0.0], [1.0]], [0, 1], [scale, scale])


@pytest.mark.parametrize("scale", [1e-290, 1e-9, 1.0 / 3.0, 1e9 + 0.1])
def test_only_ratios_of_weights_that_are_not_whole_matter(scale):
    X, y = load_iris(return_X_y=True)
    weight = 0.5 + np.arange(len(y)) % 3
    plain = tb.BoundTreeClassifier().fit(X, y, sample_weight=weight).tree_
    scaled = tb.BoundTreeClassifier().fit(X, y, sample_weight=scale * weight).tree_
    np.testing.assert_array_equal(scaled.threshold, plain.threshold)
    np.testing.assert_allclose(scaled.counts, plain.counts, rtol=1e-9)
    assert plain.weight[0] == pytest.approx(len(y))


def test_equal_weights_are_no_weights():
    X, y = load_iris(return_X_y=True)
    assert Sample.learn(X, y, np.full(150, 1 / 150)).weight is None
    assert Sample.learn(X, y, np.full(150, 0.1)).weight is None


def test_whole_weights_are_repeated_rows_and_a_common_factor_is_warned_of():
    X, y = load_iris(return_X_y=True)
    times = 1 + np.arange(150) % 3
    weighted = tb.BoundTreeClassifier().fit(X, y, sample_weight=times.astype(float)).tree_
    repeated = tb.BoundTreeClassifier().fit(X.repeat(times, axis=0), y.repeat(times)).tree_
    np.testing.assert_array_equal(weighted.counts, repeated.counts)
    with pytest.warns(UserWarning, match=r"300 for 150. All are multiples of 2. Hint: divide"):
        tb.BoundTreeClassifier().fit(X, y, sample_weight=np.full(150, 2.0))


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 7.0}, {0: 3.0, 1: 21.0}])
def test_class_weights_are_relative_and_rows_stay_rows(class_weight):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 2)), (np.arange(500) % 8 == 0).astype(int)
    sample = Sample.learn(X, y, class_weight=class_weight)
    n = np.bincount(y)
    c = 1 / n if class_weight == "balanced" else np.array([1.0, 7.0])
    assert sample.mass == pytest.approx((n @ c) ** 2 / (n @ c**2))
    np.testing.assert_allclose(sample.factors / sample.factors[0], c / c[0])
    np.testing.assert_array_equal(sample.counts, n)
    tree = tb.growing.grow(sample)
    np.testing.assert_array_equal(tree.counts, tree.recounted(sample).counts)
    np.testing.assert_array_equal(tree.counts, np.rint(tree.counts))
    np.testing.assert_allclose(tree.masses, tree.counts * sample.factors)
    assert Sample.learn(X, y, class_weight={0: 4.0, 1: 4.0}).factors is None


def test_class_weights_times_whole_weights_are_those_of_repeated_rows():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 3, 300)
    times = rng.integers(1, 4, 300)
    one = Sample.learn(X, y, times.astype(float), class_weight="balanced")
    other = Sample.learn(X.repeat(times, axis=0), y.repeat(times), class_weight="balanced")
    np.testing.assert_allclose(one.factors, other.factors)
    assert one.mass == pytest.approx(other.mass)


@pytest.mark.parametrize(("few", "many"), [(3, 7), (1, 9), (7, 11), (13, 29), (5, 8), (49, 51)])
def test_rounding_decides_no_tie_of_balanced_classes(few, many):
    y = np.repeat([0, 1], [few, many])
    for labels in (y, 1 - y):
        sample = Sample.learn(np.zeros((few + many, 1)), labels, class_weight="balanced")
        tree = tb.growing.grow(sample)
        assert tree.label.tolist() == [0]
        assert probabilities(tree).argmax(axis=1).tolist() == [0]
