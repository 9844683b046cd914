"""The number that stands for a split, against a slow search in exact fractions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from slow_tree import shortest_decimal

from treebound.tree._thresholds import threshold_between

finite = st.floats(allow_nan=False, allow_infinity=False)
short = st.builds(lambda k, e: k / 10**e, st.integers(-5000, 5000), st.integers(0, 4))
GAPS = [
    (0.1, 0.4, 0.3),  # the float 0.1 is a little more than a tenth
    (1.0, 4.0, 2.0),  # 2 and 3 are equally near: the lower one
    (-4.0, -1.0, -3.0),
    (3.0, 12.0, 7.0),
    (3.0, 25.0, 10.0),
    (95.0, 105.0, 100.0),
    (101.9, 102.0, 101.95),
    (-1.0, 5.0, 0.0),  # zero has the fewest digits
    (1.0, math.nextafter(1.0, 2.0), 1.0),  # no float between
    (0.0, 5e-324, 0.0),
    (-5e-324, 0.0, -5e-324),
    (1e308, 1.7e308, 1.3e308),
    (-1.7e308, -1e308, -1.3e308),
    (1.7e308, 1.79e308, 1.74e308),
    (1e22, 1e23, 5e22),
    (123456789012345.0, 123456789012346.0, 123456789012345.5),
    (0.3, 0.30000000000000016, 0.3000000000000001),
]


@pytest.mark.parametrize(("low", "high", "threshold"), GAPS)
def test_the_shortest_decimal_of_a_gap(low, high, threshold):
    assert threshold_between(low, high) == threshold
    assert shortest_decimal(low, high) == threshold


def close(low):
    """A number and one a few floats above it."""
    return st.integers(1, 40).map(lambda k: (low, low + k * math.ulp(low)))


gaps = st.one_of(
    st.tuples(finite, finite), st.tuples(short, short), finite.flatmap(close), short.flatmap(close)
)


@given(gaps)
@settings(max_examples=400, deadline=None)
def test_the_decimal_agrees_with_exact_fractions(gap):
    low, high = sorted(gap)
    assume(low < high < math.inf)
    threshold = threshold_between(low, high)
    assert threshold == shortest_decimal(low, high)
    assert low <= threshold < high
    assert low < threshold or math.nextafter(low, high) == high


@given(st.tuples(finite, finite))
def test_other_rules_keep_the_sides(gap):
    low, high = sorted(gap)
    assume(low < high)
    assert low <= threshold_between(low, high, "midpoint") < high
    assert threshold_between(low, high, "observed") == low
    if high < 1e308 and low > -1e308 and high - low > 1e-3 * max(abs(low), abs(high)):
        assert threshold_between(low, high, "midpoint") == pytest.approx(np.mean([low, high]))
