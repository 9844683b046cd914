"""The weights of rows: one number for all, and sums that rounding would lose."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import treebound as tb
from treebound.data import Sample
from treebound.data.weights import row_weights


def test_one_number_is_the_weight_of_every_row():
    assert row_weights(2.5, 3).tolist() == [2.5, 2.5, 2.5]
    assert row_weights(np.float32(1.0), 3) is None
    X, y = load_iris(return_X_y=True)
    clf = tb.BoundTreeClassifier().fit(X, y, sample_weight=2)
    assert clf.tree_.weight[0] == 300
    assert clf.tree_.weighted
    assert tb.BoundTreeClassifier().fit(X, y, sample_weight=1.0).certificate_ is not None
    for wrong in (-1.0, np.nan, 0.0, ["heavy"] * 150):
        with pytest.raises(ValueError, match=r"[Ss]ample.weight"):
            tb.BoundTreeClassifier().fit(X, y, sample_weight=wrong)


@pytest.mark.parametrize("scale", [1e100, 1e300, 1e308, 2.0**52, 1e-320, 5e-324])
def test_sums_that_rounding_would_lose_are_refused(scale):
    with pytest.raises(ValueError, match=r"must have a sum from 1e-300 to 2\^52. Got .* Hint"):
        Sample.learn([[0.0], [1.0]], [0, 1], [scale, scale])
    with pytest.raises(ValueError, match=r"must have a sum from 1e-300 to 2\^52"):
        Sample.learn([[0.0], [1.0]], [0, 1], class_weight={0: scale, 1: scale})


@pytest.mark.parametrize("scale", [1e-290, 1e-9, 1e9, 2.0**43])
def test_the_unit_of_weights_inside_the_range_does_not_show(scale):
    X, y = load_iris(return_X_y=True)
    weight = 1.0 + np.arange(len(y)) % 3
    plain = tb.BoundTreeClassifier(pruning=None).fit(X, y, sample_weight=weight).tree_
    scaled = tb.BoundTreeClassifier(pruning=None).fit(X, y, sample_weight=scale * weight).tree_
    np.testing.assert_array_equal(scaled.threshold, plain.threshold)
    np.testing.assert_allclose(scaled.counts, scale * plain.counts, rtol=1e-9)
