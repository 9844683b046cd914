"""Kernels over part sizes: each path of a kernel against the other, and tables against formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from theory_support import landscapes

from treebound.bounds import _convolve
from treebound.bounds._scaled import Scaled
from treebound.bounds.splits import feature_split_table, flat_splits, node_split_table

LAST = 40


def functions(seed: int, rows: int, shift: int = 0) -> Scaled:
    """Rising functions of the sample size, times ``2**shift``."""
    rises = np.random.default_rng(seed).integers(0, 50, size=(rows, LAST + 1))
    found = Scaled.of(2.0 + rises.cumsum(axis=1))
    return Scaled(found.mantissa, found.power + shift)


def values(found: Scaled, shift: int = 0) -> list[float]:
    return np.ldexp(found.mantissa, found.power - shift).tolist()


@given(landscapes(real=6, columns=3, categories=5))
def test_flat_splits_are_the_rows_of_the_table(landscape):
    landscape = landscape.informative
    flat = flat_splits(landscape)
    assert (flat is None) == bool(landscape.nominal)
    if flat is None or landscape.is_empty:
        return
    table = node_split_table(landscape, flat.from_size, flat.from_size + 9)
    for m, row in enumerate(table, start=flat.from_size):
        expected = [flat.halves if 2 * k == m else flat.each for k in range(1, m // 2 + 1)]
        assert row[1 : m // 2 + 1].tolist() == expected


@settings(max_examples=60)
@given(
    landscapes(real=4, columns=2, categories=4),
    st.integers(0, 10**6),
    st.sampled_from([0, 600]),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
)
def test_flat_sums_are_those_with_a_table(landscape, seed, shift, least):
    flat = flat_splits(landscape.informative)
    if flat is None or landscape.is_empty:
        return
    left, right = functions(seed, 1, shift), functions(seed + 1, 1)
    first = flat.from_size
    table = node_split_table(landscape.informative, first, LAST)
    found, expected = Scaled.zeros(LAST + 1), Scaled.zeros(LAST + 1)
    same, budgets = np.zeros(1, dtype=np.int32), np.full(len(table), np.inf)
    _convolve.by_size(
        *left, *right, same, same, table, budgets, 2.0, *least, *expected, *Scaled.zeros(0), first
    )
    _convolve.flat_by_size(
        *left.row(0), *right.row(0), flat.each, flat.halves, 2.0, *least, *found, first, LAST
    )
    assert values(found, shift) == pytest.approx(values(expected, shift), rel=1e-12)


def by_feature(left: Scaled, right: Scaled, small: list[int], large: list[int]) -> list[Scaled]:
    found = [Scaled.zeros(LAST + 1), Scaled.zeros(LAST + 1)]
    _convolve.by_size(
        *left,
        *right,
        np.array(small, dtype=np.int32),
        np.array(large, dtype=np.int32),
        *feature_split_table("nominal", 4, LAST),
        0.0,
        1,
        1,
        *found[0],
        *found[1],
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
