"""Limits on mean costs by betting."""

from dataclasses import replace
from fractions import Fraction
from math import log, sqrt

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import treebound as tb
from treebound.certificate.mean_cost import MeanCost, certify_mean_cost, in_orders
from treebound.certificate.prior import prior_bound
from treebound.model.guarantees import certify_cost


def wealth(costs, mean, delta):
    """The mean wealth of the same orders, in exact rationals."""
    orders = in_orders(np.array(costs)).tolist()
    return sum(wealth_of(order, mean, delta) for order in orders) / len(orders)


def wealth_of(costs, mean, delta):
    """The wealth of the same bets, one row after the other."""
    total, sum_, squares, m = Fraction(1), 0.5, 0.25, len(costs)
    for t, cost in enumerate(costs, start=1):
        bet = min(0.9, sqrt(2 * log(1 / delta) / (m * squares / t)))
        total *= 1 + Fraction(bet) * (Fraction(mean) - Fraction(cost))
        sum_ += cost
        squares += (cost - sum_ / (t + 1)) ** 2
    return total


def test_limit_is_where_the_wealth_refutes_the_mean():
    costs = [0.0] * 10 + [0.25] * 4 + [1.0] + [0.0] * 10
    bound = certify_mean_cost(costs, 1.0, 0.05)
    assert wealth(costs, bound.cost, 0.05) >= 20
    assert wealth(costs, bound.cost - 1e-6, 0.05) < 20


def test_errors_alone_are_bounded_a_little_above_the_exact_limit():
    costs = np.tile(np.r_[np.zeros(19), 1.0], 20)
    bound, exact = certify_mean_cost(costs, 1.0), prior_bound(400, 20, log(0.05))
    assert exact < bound.cost < 1.3 * exact
    scaled = certify_mean_cost(7 * costs, 7.0)
    assert scaled.cost == pytest.approx(7 * bound.cost, rel=1e-6)


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


def test_costs_of_a_classifier_are_certified_from_held_out_rows():
    X, y = load_breast_cancer(return_X_y=True)
    clf = tb.BoundTreeClassifier(certificate="held-out").fit(X, y)
    bound = clf.certify_cost(costs={0: 5.0})
    counts = clf.model_.evidence.calibration.counts
    assert bound.m == clf.certificate_.m
    assert bound.most == 5.0
    bounds = clf.certificate_.by_class
    assert bound.mean == pytest.approx((5 * bounds[0].errors + bounds[1].errors) / counts[0].sum())
    errors = clf.certify_cost(costs=[[0, 1], [1, 0]])
    assert clf.certificate_.risk < errors.cost < 1.4 * clf.certificate_.risk
    plain = tb.BoundTreeClassifier().fit(X[::2], y[::2])
    other = plain.certify_cost(X[1::2], y[1::2], costs={0: 5.0}, delta=0.1)
    assert (other.m, other.delta) == (284, 0.1)
    wrong = plain.predict(X[1::2]) != y[1::2]
    assert other.mean == pytest.approx((wrong * np.where(y[1::2] == 0, 5.0, 1.0)).mean())
    with pytest.raises(ValueError, match="needs rows that were not used for fitting"):
        plain.certify_cost(costs={0: 5.0})
    with pytest.raises(ValueError, match="285 of 285 comparable rows equal training rows"):
        plain.certify_cost(X[::2], y[::2], costs={0: 5.0})
    with pytest.raises(ValueError, match="no mean cost"):
        certify_cost(clf.abstain(max_risk=0.1).model_, costs={0: 5.0})


def test_of_a_prior_every_tree_has_its_share_of_delta():
    X, y = load_breast_cancer(return_X_y=True)
    clf = tb.BoundTreeClassifier(certificate="prior").fit(X, y)
    bound, proof = clf.certify_cost(costs={0: 5.0, 1: 2.0}), clf.model_.evidence.proof
    assert bound.m == proof.m
    assert bound.mean == pytest.approx((5 * proof.errors[0] + 2 * proof.errors[1]) / proof.m)
    values = np.repeat([0.0, 2.0, 5.0], [proof.m - proof.wrong, proof.errors[1], proof.errors[0]])
    alone = certify_mean_cost(values, 5.0, 0.05 * np.exp(proof.log_prior))
    assert bound.cost == pytest.approx(alone.cost, rel=1e-9)


def test_of_folds_each_has_its_share_of_delta():
    X, y = load_breast_cancer(return_X_y=True)
    clf = tb.BoundTreeClassifier(certificate="folds").fit(X, y)
    four, one = clf.certify_cost(costs={0: 5.0}), clf.certify_cost(costs={0: 5.0}, delta=0.2)
    assert (four.delta, one.delta) == (0.05, 0.2)
    assert four.cost > one.cost > four.mean


def test_if_no_cost_can_occur_the_bound_is_zero():
    nothing = certify_mean_cost([0.0, 0.0, 0.0], 0.0, 0.1)
    assert nothing == MeanCost(cost=0.0, mean=0.0, m=3, most=0.0, delta=0.1)
    assert "costs at most 0 on average (0 on the 3 counted here)." in str(nothing)


def test_a_note_follows_the_sentence_and_rows_of_groups_are_named():
    plain = certify_mean_cost([0.0, 1.0, 0.0], 2.0)
    assert str(plain).startswith("With probability 95 %, a new example costs at most ")
    assert str(plain).endswith("on the 3 counted here).")
    assert str(replace(plain, note="A note.")) == f"{plain} A note."
    of_groups = str(replace(plain, grouped=True))
    assert "new examples, each a row drawn at random from a random group, cost at most" in of_groups


def test_a_share_of_delta_is_delta_times_the_share():
    costs = [0.0] * 30 + [0.5, 1.0]
    part = certify_mean_cost(costs, 1.0, 0.08, log_share=log(0.25))
    assert part.cost == certify_mean_cost(costs, 1.0, 0.02).cost
    assert part.delta == 0.08
