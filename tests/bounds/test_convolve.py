"""Kernels over part sizes: numbers of any magnitude, and sums against their formula."""

from __future__ import annotations

from fractions import Fraction
from math import comb, inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treebound.bounds import _sums
from treebound.bounds._scaled import Numbers, of_integers, zeros
from treebound.bounds.splits import nominal_splits, nominal_splits_of_size

LAST = 40
N = 3
# Two features of four categories; the landscapes that a test leaves are the last two rows.
NOMINAL = np.array([[1.0, 4.0, 2.0]])
WAYS = np.array([[0, 1, 2], [0, 2, 1]], dtype=np.int32)
REAL = np.array([[0.0, inf, 1.0]])
SAME = np.array([[0, 0, 0]], dtype=np.int32)


def functions(seed: int, rows: int, shift: int = 0) -> list[list[int]]:
    """Rising functions of the sample size, times ``2**shift``."""
    rises = np.random.default_rng(seed).integers(0, 50, size=(rows, LAST + 1))
    return [[value << shift for value in row] for row in (N + rises.cumsum(axis=1)).tolist()]


def numbers(rows: list[list[int]]) -> Numbers:
    return np.array([of_integers(row) for row in rows])


def node(left, right, tests, ways, kind: int) -> Numbers:
    """The bound of a node that nothing else limits."""
    computed = zeros(LAST + 1)
    computed["power"], computed["mantissa"] = 1 << 20, 0.5
    by_chains = np.zeros(LAST + 1, dtype=np.bool_)
    tables = numbers(left), numbers(right), tests, ways
    _sums.node(*tables, float(N), False, 1, 1, kind, LAST, computed, by_chains, 2, LAST)
    return computed


def exact(number: np.void) -> Fraction:
    return Fraction(float(number["mantissa"])) * Fraction(2) ** int(number["power"])


def heaviest(pairs: list[tuple[int, int]], budget: int) -> int:
    total = 0
    for weight, room in sorted(pairs, reverse=True):
        total += weight * min(room, budget)
        budget -= min(room, budget)
    return total


@pytest.mark.parametrize("shift", [0, 200, 600], ids="shifted by {}".format)
@given(seed=st.integers(0, 10**6))
def test_sum_over_sizes_is_its_formula(shift, seed):
    (left,), (right,) = functions(seed, 1, shift), functions(seed + 1, 1, shift)
    computed = node([left], [right], REAL, SAME, _sums.SIZES)
    for m in (2, 3, 7, 12, LAST):
        splits = ((k, min(2, comb(m, k))) for k in range(1, m))
        value = N + sum(each * (left[k] * right[m - k] - N) for k, each in splits)
        assert float(exact(computed[m]) / value) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("shift", [0, 600], ids="shifted by {}".format)
@given(seed=st.integers(0, 10**6))
def test_splits_of_a_feature_are_the_heaviest_within_its_budget(shift, seed):
    left, right = functions(seed, 3, shift), functions(seed + 1, 3, shift)
    computed = node(left, right, NOMINAL, WAYS, _sums.BUDGET | _sums.FEATURES)
    for m in (3, 7, 12, LAST):
        weights = [
            max(
                left[x][k] * right[y][m - k] + left[y][m - k] * right[x][k] - 2 * N
                for x, y in ((1, 2), (2, 1))
            )
            for k in range(1, m // 2 + 1)
        ]
        rooms = [nominal_splits_of_size(4, m, k) for k in range(1, m // 2 + 1)]
        pairs = list(zip(weights, rooms, strict=True))
        budget = nominal_splits(4, m)
        alone = left[0][1] * right[0][m - 1] + left[0][m - 1] * right[0][1] - 2 * N
        total = max(2 * heaviest(pairs, budget), alone + 2 * heaviest(pairs[1:], budget))
        each = left[0][m - 1] * right[0][m - 1] - N
        total = min(total, 2 * min(2 * budget, 2 ** (m - 1) - 1) * each)
        assert float(exact(computed[m]) / (N + total)) == pytest.approx(1.0, abs=1e-12)
