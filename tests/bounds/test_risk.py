"""Risk bounds against exact rational arithmetic, scipy and published figures."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from theory_support import vectors

from treebound import Landscape, TreeShape
from treebound.bounds import log_growth, risk
from treebound.bounds.counting import wedderburn_etherington


def log_shape_prior(leaves: int) -> float:
    """The paper's prior, equal among the shapes with as many leaves."""
    return risk.log_leaves_prior(leaves) - math.log(wedderburn_etherington(leaves))


def exact_tail(k: int, population: int, bad: int, draws: int) -> Fraction:
    """P[Hyp <= k] as a fraction, by the definition."""
    ways = sum(
        math.comb(bad, i) * math.comb(population - bad, draws - i) for i in range(min(k, draws) + 1)
    )
    return Fraction(ways, math.comb(population, draws))


def exact_tail_inversion(m: int, k: int, tau: int, delta: Fraction, ghost: int) -> Fraction:
    """Theorem 5 of Leboeuf et al. (2021), walking K upwards in rational arithmetic."""
    bad = 0
    while bad <= m + ghost and exact_tail(k, m + ghost, bad, m) > delta / (4 * tau):
        bad += 1
    return min(Fraction(1), Fraction(max(1, bad - 1 - k), ghost))


@given(st.integers(1, 30), st.integers(1, 60), st.data())
def test_log_tail_equals_the_exact_fraction(draws, more, data):
    population = draws + more
    bad = data.draw(st.integers(0, population))
    k = data.draw(st.integers(0, draws))
    exact = exact_tail(k, population, bad, draws)
    computed = risk._log_hypergeometric_cdf(k, population, bad, draws)
    if exact == 0:
        assert computed == -math.inf
    else:
        expected = math.log(exact.numerator) - math.log(exact.denominator)
        assert computed == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("k", "population", "bad", "draws"),
    [(0, 20_000, 3_000, 4_000), (150, 20_000, 3_000, 4_000), (10, 9_000, 8_000, 1_000)],
)
def test_far_tail_of_a_large_population_is_exact(k, population, bad, draws):
    exact = exact_tail(k, population, bad, draws)
    expected = math.log(exact.numerator) - math.log(exact.denominator)
    assert expected < -100
    computed = risk._log_hypergeometric_cdf(k, population, bad, draws)
    assert computed == pytest.approx(expected, rel=1e-12)


def test_middle_of_the_law_agrees_with_scipy():
    for k in (90, 100, 110, 130):
        expected = stats.hypergeom.logcdf(k, 5_000, 500, 1_000)
        assert risk._log_hypergeometric_cdf(k, 5_000, 500, 1_000) == pytest.approx(
            expected, rel=1e-9
        )


@given(
    st.integers(1, 20),
    st.integers(1, 40),
    st.integers(1, 10**6),
    st.sampled_from([Fraction(1, 20), Fraction(1, 3), Fraction(1, 1000)]),
    st.data(),
)
def test_tail_inversion_equals_its_rational_twin(m, ghost, tau, delta, data):
    k = data.draw(st.integers(0, m))
    computed = risk.tail_inversion(
        m, k, lambda total: math.log(tau), delta=float(delta), ghost=ghost
    )
    assert computed == pytest.approx(float(exact_tail_inversion(m, k, tau, delta, ghost)))


def test_tail_inversion_uses_the_growth_of_both_samples():
    sizes = []

    def log_growth_of(total: int) -> float:
        sizes.append(total)
        return 1.0

    risk.tail_inversion(10, 1, log_growth_of, ghost=30)
    risk.tail_inversion(10, 1, log_growth_of)
    assert sizes == [40, 50]


def test_prior_is_a_share_of_delta():
    whole = risk.tail_inversion(300, 20, lambda total: 5.0, delta=0.05 / 8)
    shared_out = risk.tail_inversion(300, 20, lambda total: 5.0, log_prior=-math.log(8))
    assert whole == shared_out


@pytest.mark.parametrize("log_growth", [10.0, 1e3, 1e5, 1e6])
def test_ten_million_examples_in_log_space(log_growth):
    m, k = 10**7, 10**6
    computed = risk.tail_inversion(m, k, lambda total: log_growth)
    assert 0.1 < computed <= 1.0
    # The least K: the tail is below the level there, and above it one step earlier.
    ghost = 4 * m
    least = round(computed * ghost) + 1 + k
    level = math.log(0.05 / 4) - log_growth
    assert risk._log_hypergeometric_cdf(k, m + ghost, least, m) <= level
    assert risk._log_hypergeometric_cdf(k, m + ghost, least - 1, m) > level


@pytest.mark.parametrize(("m", "published"), [(1000, 0.19), (5000, 0.10)])
def test_six_leaves_with_five_percent_errors_have_a_useful_bound(m, published):
    # 20 real features, the paper's growth function and its prior over shapes.
    log_prior = log_shape_prior(6)
    for shape in TreeShape.enumerate(6):

        def log_growth_of(total: int, shape: TreeShape = shape) -> float:
            return log_growth(shape, total, 2, Landscape(real=20), form="fast")

        computed = risk.tail_inversion(m, m // 20, log_growth_of, log_prior=log_prior)
        assert round(computed, 2) == published
        assert risk.shawe_taylor(m, m // 20, log_growth_of(2 * m), log_prior=log_prior) > 1


def test_no_growth_however_large_gives_more_than_risk_one():
    assert risk.tail_inversion(100, 3, lambda total: 1e9) == 1.0
    assert risk.tail_inversion(100, 3, lambda total: math.inf) == 1.0
    assert risk.tail_inversion(100, 100, lambda total: 0.0) == 1.0


@given(st.integers(1, 500), st.floats(0, 100), st.data())
def test_more_errors_never_lower_a_bound(m, log_growth, data):
    k = data.draw(st.integers(0, m - 1))
    for bound in (risk.shawe_taylor, risk.vapnik):
        assert bound(m, k, log_growth) < bound(m, k + 1, log_growth)
    assert risk.binomial_upper(m, k) < risk.binomial_upper(m, k + 1)


def test_arrays_give_what_scalars_give():
    errors, growth, prior = np.array([0, 3, 8.5]), np.array([1.0, 20.0, 5.0]), np.array([0, -1, -2])
    for bound in (risk.shawe_taylor, risk.vapnik):
        computed = bound(50, errors, growth, log_prior=prior)
        one_by_one = [
            bound(50, float(k), float(g), log_prior=float(p))
            for k, g, p in zip(errors, growth, prior, strict=True)
        ]
        assert computed.tolist() == one_by_one
        assert isinstance(one_by_one[0], float)


def test_shawe_taylor_equals_the_vectors():
    for row in vectors("shawe_taylor"):
        leaves = row["shape"].count(".")
        arguments = (row["m"], row["k"], row["ln_tau_2m_loose_printed"])
        options = {"delta": row["delta"], "log_prior": log_shape_prior(leaves)}
        computed = risk.shawe_taylor(*arguments, error_prior=row["r"], **options)
        assert computed == pytest.approx(row["epsilon"], rel=1e-12)
        free = risk.shawe_taylor(*arguments, error_prior=None, **options)
        assert free == pytest.approx(row["epsilon_q1"], rel=1e-12)


def test_paper_prior_makes_an_error_cost_thirty_one():
    by_one_error = risk.shawe_taylor(1000, 1, 0.0) - risk.shawe_taylor(1000, 0, 0.0)
    assert 1000 * by_one_error == pytest.approx(31, abs=0.2)


def test_erratum_13_a_tree_without_errors_has_a_share_of_the_prior():
    m, r = 40, 0.3
    # Read q_k back from the bound: the price of k errors beyond 2 k is -4 ln q_k.
    free = risk.shawe_taylor(m, 0, 0.0, error_prior=None)
    prices = np.array([risk.shawe_taylor(m, k, 0.0, error_prior=r) for k in range(m + 1)])
    shares = np.exp(-(m * (prices - free) - 2 * np.arange(m + 1)) / 4)
    assert shares.sum() == pytest.approx(1 - r ** (m + 1))  # the rest is for k > m
    assert shares[1:].sum() == pytest.approx(r - r ** (m + 1))  # what the printed range leaves


def test_vapnik_solves_its_own_equation():
    # By the relative deviation (R - k/m) / sqrt(R) <= sqrt(E); the bound is where equality holds.
    m, k, log_growth, delta = 2000, 37, 55.0, 0.1
    price = 4 * (log_growth + math.log(4 / delta)) / m
    bound = risk.vapnik(m, k, log_growth, delta=delta)
    assert (bound - k / m) ** 2 == pytest.approx(price * bound, rel=1e-12)


def test_binomial_upper_with_every_example_wrong_is_one():
    assert risk.binomial_upper(7, 7) == 1.0


def test_priors_are_probabilities():
    leaves = np.arange(1, 200_000)
    assert np.exp(risk.log_leaves_prior(leaves)).sum() == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: risk.shawe_taylor(0, 0, 1.0), r"'m' .* shawe_taylor must be an int >= 1"),
        (lambda: risk.shawe_taylor(5, 6, 1.0), r"'errors' .* \[0, 5\]. Got 6 instead"),
        (lambda: risk.shawe_taylor(5, 1, -1.0), r"'log_growth' .* >= 0"),
        (lambda: risk.shawe_taylor(5, 1, math.nan), r"'log_growth' .* >= 0"),
        (lambda: risk.shawe_taylor(5, 1, 1.0, error_prior=1.0), r"'error_prior' .* \(0, 1\)"),
        (lambda: risk.vapnik(5, 1, 1.0, delta=0.0), r"'delta' parameter of vapnik"),
        (lambda: risk.vapnik(5, 1, 1.0, log_prior=0.5), r"'log_prior' .* <= 0"),
        (lambda: risk.vapnik(5, -1, 1.0), r"'errors' .* \[0, 5\]. Got -1 instead"),
        (lambda: risk.tail_inversion(5, 1.5, lambda total: 1.0), r"'errors' .* whole number"),
        (lambda: risk.tail_inversion(5, math.nan, lambda total: 1.0), r"'errors' .* whole number"),
        (lambda: risk.tail_inversion(5, 1, lambda total: 1.0, ghost=0), r"'ghost' .* int >= 1"),
        (lambda: risk.tail_inversion(5, 6, lambda total: 1.0), r"'errors' .* \[0, 5\]"),
        (lambda: risk.binomial_upper(5, 2, delta=1), r"'delta' parameter of binomial_upper"),
        (lambda: risk.log_leaves_prior(0), r"'leaves' parameter must be an int >= 1"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_growth_that_is_no_function_is_refused():
    with pytest.raises(TypeError, match="must be callable"):
        risk.tail_inversion(5, 1, 3.0)
