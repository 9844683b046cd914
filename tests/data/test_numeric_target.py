"""Numbers as integers: exact for decimals, else to the last bit that sums allow."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from treebound.data.numeric_target import NumberFacts, NumericTarget, TargetScale, digits_of
from treebound.data.weights import WeightTotal


def random_numbers(rng):
    n = int(rng.integers(1, 200))
    kinds = [
        lambda: rng.normal(size=n),
        lambda: rng.normal(size=n).round(int(rng.integers(0, 8))),
        lambda: rng.standard_cauchy(n) * 10.0 ** rng.integers(-300, 290),
        lambda: rng.integers(-5, 5, n) * 10.0 ** rng.integers(0, 12),
        lambda: 1e12 + rng.random(n),
        lambda: np.full(n, rng.normal()),
        lambda: np.nextafter(0, 1) * rng.integers(-n, n + 1, n),
    ]
    return kinds[rng.integers(len(kinds))]()


def random_weight(rng, n):
    kinds = [
        None,
        rng.integers(1, 9, n).astype(float),
        rng.random(n) + 1e-3,
        np.exp(rng.normal(size=n)),
    ]
    return kinds[rng.integers(4)]


@pytest.mark.parametrize(
    ("numbers", "digits"),
    [
        ([1, 2, -3], 0),
        ([0.1, 0.25], 2),
        ([0.1 + 0.2], None),
        ([19.99, 5.0, 1e6], 2),
        ([1e-6], 6),
        ([1e-7], None),
        ([1 / 3], None),
        ([], 0),
    ],
)
def test_digits(numbers, digits):
    assert digits_of(np.array(numbers, dtype=float)) == digits


@pytest.mark.parametrize("digits", range(7))
def test_decimals_are_exact(digits):
    rng = np.random.default_rng(digits)
    whole = rng.integers(-(2**31) + 1, 2**31, 500) // 10 ** (6 - digits)
    y = whole / 10.0**digits
    target = NumericTarget.of(y)
    assert target.scale.digits is not None
    power = 10**target.scale.digits
    exact = [Fraction(int(k), 10**digits) for k in whole]
    q = target.channels[:, 1].tolist()
    assert all(a * power - b == exact[0] * power - q[0] for a, b in zip(exact, q, strict=True))
    np.testing.assert_array_equal(target.units.means(target.channels), y)
    assert target.weight_error == target.row_error == 0.0


@pytest.mark.parametrize("seed", range(60))
def test_sums_fit_and_errors_are_within_the_stated_bound(seed):
    rng = np.random.default_rng(seed)
    y = random_numbers(rng)
    weight = random_weight(rng, len(y))
    target = NumericTarget.of(y, weight)
    w, s, v = (list(map(int, column)) for column in target.channels[:, :3].T)
    assert sum(map(abs, s)) < 2**62
    assert sum(v) < 2**62
    assert all(
        Fraction(v_ << target.square_shift) >= Fraction(s_ * s_, w_)
        for w_, s_, v_ in zip(w, s, v, strict=True)
    )
    centre, unit = Fraction(target.scale.centre), Fraction(target.scale.unit)
    if target.scale.digits is None:
        error = Fraction(0)
        for w_, s_, y_ in zip(w, s, y.tolist(), strict=True):
            e = w_ * (Fraction(y_) - centre) / unit - s_
            error += e * e / w_
        allowed = target.weight_error * sum(w) + target.row_error * len(y)
        # of floats: a share of the squares far below the tolerance of ties
        squares = sum(Fraction(s_ * s_, w_) for w_, s_ in zip(w, s, strict=True))
        slack = Fraction(2) ** -90 * squares
        assert 4 * error <= Fraction(allowed) * Fraction(1 + 1e-9) + slack
    spread = float(np.ptp(y))
    np.testing.assert_allclose(
        target.units.means(target.channels), y, rtol=1e-14, atol=spread * 1e-12
    )


@pytest.mark.parametrize("seed", range(40))
def test_parts_order_and_powers_of_two(seed):
    rng = np.random.default_rng([1, seed])
    y = random_numbers(rng)
    weight = random_weight(rng, len(y))
    whole = NumericTarget.of(y, weight)
    order = rng.permutation(len(y))
    moved = NumericTarget.of(y[order], None if weight is None else weight[order])
    np.testing.assert_array_equal(moved.channels, whole.channels[order])
    cut = int(rng.integers(0, len(y) + 1))
    parts = [slice(0, cut), slice(cut, None)]
    facts = NumberFacts()
    for part in parts[:: rng.choice([-1, 1])]:
        facts = facts + NumberFacts.of(y[part], None if weight is None else weight[part])
    total = WeightTotal.of(weight, len(y))
    assert TargetScale.of(facts, total) == whole.scale
    pieces = [
        NumericTarget.part_of(y[p], None if weight is None else weight[p], facts, total)
        for p in parts
    ]
    np.testing.assert_array_equal(np.concatenate([p.channels for p in pieces]), whole.channels)
    assert {p.row_error for p in pieces} == {whole.row_error}
    if whole.scale.digits is None and 1e-200 < np.abs(y).max() < 1e200:
        scaled = NumericTarget.of(y * 2.0**-60, weight)
        if scaled.scale.digits is None:
            np.testing.assert_array_equal(scaled.channels, whole.channels)


def test_shifts_of_whole_units():
    rng = np.random.default_rng(0)
    y = rng.integers(-1000, 1000, 50) / 64 + rng.normal(size=50).astype(np.float32)
    for shift in (1.0, -4096.0, 2.0**18):
        a, b = NumericTarget.of(y), NumericTarget.of(y + shift)
        close = a.channels[:, 1] * a.scale.unit - b.channels[:, 1] * b.scale.unit
        assert np.ptp(close) <= 2 * max(a.scale.unit, b.scale.unit)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_must_be_finite(bad):
    with pytest.raises(ValueError, match=r"finite numbers.*in row 1"):
        NumericTarget.of([1.0, bad])


def test_numbers_must_be_one_column():
    with pytest.raises(ValueError, match="one-dimensional"):
        NumericTarget.of([[1.0], [2.0]])
