"""Counting numbers against their definitions, and their logarithms against them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_support import vectors

from treebound import TreeShape
from treebound.bounds import counting


def test_wedderburn_etherington_numbers_are_the_stored_ones():
    stored = [int(text) for text in vectors("wedderburn_etherington_1_to_80")]
    assert [counting.wedderburn_etherington(n) for n in range(1, 81)] == stored


@pytest.mark.parametrize("leaves", range(1, 13))
def test_wedderburn_etherington_counts_shapes(leaves):
    assert counting.wedderburn_etherington(leaves) == len(list(TreeShape.enumerate(leaves)))


def test_log_wedderburn_etherington_agrees_with_the_exact_number():
    numbers = np.arange(1, 600)
    exact = np.array([math.log(counting.wedderburn_etherington(int(n))) for n in numbers])
    np.testing.assert_allclose(counting.log_wedderburn_etherington(numbers), exact, rtol=1e-12)


def test_log_wedderburn_etherington_reaches_far():
    values = counting.log_wedderburn_etherington(np.array([10**4, 10**4 + 1]))
    # The ratio of consecutive numbers tends to 2.4832...
    assert math.exp(values[1] - values[0]) == pytest.approx(2.48325, rel=1e-3)


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "3", None])
def test_wedderburn_etherington_refuses_what_is_no_count(bad):
    with pytest.raises(ValueError, match="must be an int >= 1"):
        counting.wedderburn_etherington(bad)


@given(st.integers(2, 60), st.integers(1, 60))
def test_stirling_follows_its_recurrence(m, c):
    expected = c * counting.stirling(m - 1, c) + counting.stirling(m - 1, c - 1)
    assert counting.stirling(m, c) == expected


def test_stirling_of_a_large_sample_in_two_parts():
    assert counting.stirling(5000, 2) == 2**4999 - 1


@pytest.mark.parametrize(("m", "c"), [(3, 4), (3, 0), (1, 2)])
def test_no_partition_has_more_parts_than_examples_or_none(m, c):
    assert counting.stirling(m, c) == 0


@given(st.integers(1, 200), st.integers(0, 200))
def test_log_falling_factorial_agrees_with_the_exact_number(n, c):
    if c <= n:
        exact = math.log(math.perm(n, c))
        assert counting.log_falling_factorial(n, c) == pytest.approx(exact, rel=1e-9, abs=1e-12)
    else:
        assert counting.log_falling_factorial(n, c) == -math.inf


@given(st.integers(2, 20))
def test_splits_of_all_sizes_are_all_splits(m):
    assert sum(counting.splits_of_size(m, k) for k in range(1, m // 2 + 1)) == 2 ** (m - 1) - 1
