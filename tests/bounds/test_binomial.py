"""The Clopper-Pearson limit against sums in whole numbers."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treebound.bounds.risk import binomial_rates, binomial_upper, risk_upper


def log_tail(n, k, p):
    """Log of P[Bin(n, p) <= k], from a sum in whole numbers; p a fraction or a float."""
    p = Fraction(p)
    yes, no = p.numerator, p.denominator - p.numerator
    term = total = no**n
    for i in range(k):
        term = term * (n - i) * yes // ((i + 1) * no)  # no rest
        total += term
    return log_whole(total) - log_whole(p.denominator) * n


def log_whole(number):
    shift = max(0, number.bit_length() - 900)
    return log(number >> shift) + shift * log(2)


@settings(max_examples=200)
@given(
    n=st.integers(1, 120),
    share=st.floats(0, 0.99),
    log_level=st.one_of(st.floats(-60, -0.01), st.floats(-2000, -0.01)),
)
def test_risk_upper_against_exact_sums(n, share, log_level):
    k = int(share * n)
    computed = risk_upper(n, k, log_level)
    assert 0.0 < computed <= 1.0
    # the tail is below the level at U, and above it a little further left
    if computed < 1.0:
        assert log_tail(n, k, computed) <= log_level + 1e-12
    assert log_tail(n, k, min(computed, 1 - 2**-53) * (1 - 1e-7)) >= log_level - 1e-9


@pytest.mark.parametrize("log_level", [-2.0, -30.0, -299.0, -301.0, -693.0, -3000.0])
@pytest.mark.parametrize(("n", "k"), [(2000, 40), (2000, 0), (1500, 900), (4000, 1)])
def test_risk_upper_of_larger_samples(n, k, log_level):
    computed = risk_upper(n, k, log_level)
    p = Fraction(round(computed * 2**30), 2**30)  # a short fraction just below or above
    assert log_tail(n, k, p * Fraction(2**20 + 1, 2**20)) < log_level
    assert log_tail(n, k, p * Fraction(2**20 - 1, 2**20)) > log_level


def test_risk_upper_at_the_edges():
    assert risk_upper(0, 0, -1.0) == 1.0
    assert risk_upper(10, 10, -1.0) == risk_upper(10, 12, -1.0) == 1.0
    assert risk_upper(10, 0, -1.0) == pytest.approx(1 - exp(-0.1))
    assert risk_upper(10**9, 10**6, -20.0) == pytest.approx(0.001006, rel=1e-3)


def test_risk_upper_rises_with_errors_and_falls_with_the_level():
    for log_level in (-5.0, -650.0, -900.0):
        bounds = [risk_upper(300, k, log_level) for k in range(0, 300, 20)]
        assert bounds == sorted(bounds)
    levels = [-1.0, -10.0, -299.9, -300.1, -700.0, -800.0]
    bounds = [risk_upper(3000, 20, level) for level in levels]
    assert bounds == sorted(bounds)


@pytest.mark.parametrize("delta", [0.999, 0.5, 0.05, 1e-9, 1e-130, 1e-131, 1e-300, 5e-324])
@pytest.mark.parametrize(("m", "k"), [(1, 0), (10, 0), (100, 5), (300, 30), (300, 299), (2000, 7)])
def test_binomial_upper_is_above_the_exact_limit_by_less_than_a_millionth(m, k, delta):
    limit = binomial_upper(m, k, delta)
    if limit < 1.0:
        assert log_tail(m, k, limit) < log(delta)
    assert log_tail(m, k, limit * (1 - 1e-6)) > log(delta)


def test_binomial_upper_of_a_tiny_share():
    assert binomial_upper(300, 30, 1e-300) == pytest.approx(0.94519, abs=5e-6)


def test_the_limit_of_a_huge_sample_sums_every_term_that_counts():
    # Two ways to the limit meet at e^-300; the terms that count are millions at this size.
    above, below = (
        risk_upper(10**11, 5 * 10**10, -299.999),
        risk_upper(10**11, 5 * 10**10, -300.001),
    )
    assert 0 < below - above < 1e-9


def test_rates_of_weighted_errors():
    rates = binomial_rates(np.array([10.0, 10.0, 3.5, 0.0]), np.array([0.0, 10.0, 1.25, 0.0]), 0.25)
    assert rates[0] == pytest.approx(1 - 0.25**0.1)
    assert rates[1] == rates[3] == 1.0
    assert 1.25 / 3.5 < rates[2] < 1.0


def exact_log_tail(n, k, p):
    """The log of P[Bin(n, p) <= k] for few errors of many rows, in decimals of 60 digits."""
    with localcontext() as context:
        context.prec = 60
        chance = Decimal(p)
        term = (n * (1 - chance).ln()).exp()
        total = term
        for i in range(k):
            term *= (n - i) * chance / ((i + 1) * (1 - chance))
            total += term
        return float(total.ln())


@pytest.mark.parametrize("k", [0, 1, 8, 100])
@pytest.mark.parametrize("n", [10**7, 10**8 + 1, 381845688, 1224931956, 10**10, 10**12, 10**15])
def test_bounds_of_many_rows_are_rounded_outward(n, k):
    for log_level in (-0.1, -2.089839751429283, -28.38307852842227, -250.0, -313.6, -900.0):
        computed = risk_upper(n, k, log_level)
        assert exact_log_tail(n, k, computed) <= log_level
        slack = 2e-9 * (1.0 + n * computed) + 2.0**-47 * n
        assert exact_log_tail(n, k, computed) >= log_level - slack
