"""Class probabilities from counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from treebound.tree.smoothing import SMOOTHINGS, probabilities

COUNTS = arrays(np.float64, (5, 3), elements=st.integers(0, 50)).filter(
    lambda counts: (counts.sum(axis=1) > 0).all()
)


@given(COUNTS, st.sampled_from(SMOOTHINGS))
def test_rows_are_distributions(counts, smoothing):
    found = probabilities(counts, smoothing)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


@given(COUNTS, st.sampled_from(["laplace", "m-estimate"]))
def test_smoothing_keeps_the_order_of_the_classes_and_gives_none_zero(counts, smoothing):
    found = probabilities(counts, smoothing)
    assert (found > 0).all()
    np.testing.assert_array_equal(found.argmax(axis=1), counts.argmax(axis=1))


@given(COUNTS, st.sampled_from(["laplace", "m-estimate"]))
def test_smoothing_fades_with_the_number_of_examples(counts, smoothing):
    exact = probabilities(counts, None)
    near = probabilities(counts * 1e9, smoothing)
    np.testing.assert_allclose(near, exact, atol=1e-8)


def test_m_estimate_is_worth_four_examples_whatever_the_number_of_classes():
    np.testing.assert_allclose(probabilities([[4.0, 0.0]], "m-estimate"), [[0.75, 0.25]])
    np.testing.assert_allclose(
        probabilities([[4.0, 0.0, 0.0, 0.0]], "m-estimate"), [[0.625, 0.125, 0.125, 0.125]]
    )


def test_unknown_smoothing_is_refused():
    with pytest.raises(ValueError, match=r"must be 'laplace', 'm-estimate' or None. Got 'x'"):
        probabilities([[1.0, 1.0]], "x")
