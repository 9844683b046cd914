"""Kernels over part sizes: numbers of any magnitude, and tables against formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treebound.bounds import _sums
from treebound.bounds._scaled import Scaled
from treebound.bounds.splits import feature_split_table

LAST = 40


def functions(seed: int, rows: int, shift: int = 0) -> Scaled:
    """Rising functions of the sample size, times ``2**shift``."""
    rises = np.random.default_rng(seed).integers(0, 50, size=(rows, LAST + 1))
    found = Scaled.of(2.0 + rises.cumsum(axis=1))
    return Scaled(found.mantissa, found.power + shift)


def values(found: Scaled, shift: int = 0) -> list[float]:
    return np.ldexp(found.mantissa, found.power - shift).tolist()


def by_feature(left: Scaled, right: Scaled, small: list[int], large: list[int]) -> list[Scaled]:
    found = [Scaled.zeros(LAST + 1), Scaled.zeros(LAST + 1)]
    _sums.by_size(
        *left.arrays,
        *right.arrays,
        np.array(list(zip(small, large, strict=True)), dtype=np.int32),
        *feature_split_table("nominal", 4, LAST),
        0.0,
        1,
        1,
        *found[0].arrays,
        *found[1].arrays,
        2,
    )
    return found


@given(st.integers(0, 10**6))
def test_splits_of_a_feature_weigh_the_same_past_the_range_of_a_double(seed):
    right, ways = functions(seed + 1, 3), ([0, 1, 2], [2, 1, 1])
    plain = by_feature(functions(seed, 3), right, *ways)
    large = by_feature(functions(seed, 3, shift=600), right, *ways)
    for one, other in zip(plain, large, strict=True):
        assert values(other, 600) == pytest.approx(values(one), rel=1e-12)


@given(st.integers(0, 10**6))
def test_splits_of_a_feature_are_the_heaviest_within_its_budget(seed):
    left, right = functions(seed, 2), functions(seed + 1, 2)
    every, inner = by_feature(left, right, [0, 1], [1, 0])
    rooms, budgets = feature_split_table("nominal", 4, LAST)
    (a, b), (c, d) = (np.ldexp(one.mantissa, one.power) for one in (left, right))
    for m in (2, 3, 7, 12, LAST):
        weights = [
            max(x[k] * w[m - k] + y[m - k] * z[k] for x, y, z, w in ((a, b, c, d), (b, a, d, c)))
            for k in range(1, m // 2 + 1)
        ]
        for first, found in ((0, every), (1, inner)):
            total, budget = 0.0, budgets[m - 2]
            pairs = zip(weights[first:], rooms[m - 2, 1 + first :].tolist(), strict=False)
            for weight, room in sorted(pairs, reverse=True):
                total += weight * min(room, budget)
                budget -= min(room, budget)
            assert np.ldexp(found.mantissa[m], found.power[m]) == pytest.approx(total, rel=1e-12)
