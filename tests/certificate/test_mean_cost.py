"""Limits on mean costs by betting."""

from fractions import Fraction
from math import log, sqrt

import numpy as np
import pytest

from treebound.certificate.mean_cost import certify_mean_cost
from treebound.certificate.prior import limit


def wealth(costs, mean, delta):
    """The wealth of the same bets, one row after the other, in exact rationals."""
    total, sum_, squares, m = Fraction(1), 0.5, 0.25, len(costs)
    for t, cost in enumerate(costs, start=1):
        bet = min(0.9, sqrt(2 * log(1 / delta) / (m * squares / t)))
        total *= 1 + Fraction(bet) * (Fraction(mean) - Fraction(cost))
        sum_ += cost
        squares += (cost - sum_ / (t + 1)) ** 2
    return total


def test_limit_is_where_the_wealth_refutes_the_mean():
    costs = [0.0] * 10 + [0.25] * 4 + [1.0] + [0.0] * 10
    found = certify_mean_cost(costs, 1.0, 0.05)
    assert wealth(costs, found.cost, 0.05) >= 20
    assert wealth(costs, found.cost - 1e-6, 0.05) < 20


def test_errors_alone_are_bounded_a_little_above_the_exact_limit():
    costs = np.tile(np.r_[np.zeros(19), 1.0], 20)
    found, exact = certify_mean_cost(costs, 1.0), limit(400, 20, log(0.05))
    assert exact < found.cost < 1.3 * exact
    scaled = certify_mean_cost(7 * costs, 7.0)
    assert scaled.cost == pytest.approx(7 * found.cost, rel=1e-6)


@pytest.mark.parametrize("draws", [500, pytest.param(3000, marks=pytest.mark.heavy)])
def test_limit_is_wrong_at_most_delta(draws):
    rng, wrong, delta = np.random.default_rng(0), 0, 0.1
    values, chances = np.array([0.0, 1.0, 10.0]), np.array([0.9, 0.08, 0.02])
    mean = float(values @ chances)
    for _ in range(draws):
        wrong += certify_mean_cost(rng.choice(values, 200, p=chances), 10.0, delta).cost < mean
    assert wrong <= delta * draws + 3 * np.sqrt(delta * draws)


def test_costs_out_of_range_are_refused():
    with pytest.raises(ValueError, match="'costs' parameter of certify_mean_cost"):
        certify_mean_cost([0.0, 3.0], 2.0)
    assert certify_mean_cost([0.0, 0.0], 0.0).cost == 0.0
    assert certify_mean_cost([1.0], 1.0).cost == 1.0
