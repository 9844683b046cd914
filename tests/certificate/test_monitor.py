"""The monitor: against the sums it stands for, false alarms and delays simulated, its state."""

import json
from math import inf

import numpy as np
import pytest

from treebound.certificate.monitor import (
    BETS,
    Monitor,
    Stream,
    error_monitor,
    leaf_monitor,
)
from treebound.certificate.prior import limit


def slow_wealth(outcomes, limit):
    """All bets of all starts, one by one."""
    total, t = 0.0, len(outcomes)
    for share in BETS:
        bet = share / limit
        for start in range(1, t + 1):
            weight = 1.0 / (start * (start + 1))
            total += weight * np.prod(1.0 + bet * (outcomes[start - 1 :] - limit)) / len(BETS)
    return total + 1.0 / (t + 1)


@pytest.mark.parametrize("limit", [0.02, 0.1, 0.7])
def test_wealth_is_the_sum_over_all_starts(limit):
    outcomes = np.random.default_rng(0).random(40) < 0.2
    stream = Stream("errors", limit, 1e-300)
    for at in range(len(outcomes)):
        stream.update(outcomes[at : at + 1])
        expected = slow_wealth(outcomes[: at + 1].astype(float), limit)
        assert np.exp(stream.log_wealth) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("limit", [0.02, 0.3])
def test_wealth_has_mean_one_at_the_limit(limit):
    """Over all sequences of eight outcomes, each with its probability at the limit."""
    total = 0.0
    for bits in range(256):
        outcomes = np.array([bits >> i & 1 for i in range(8)], dtype=float)
        chance = np.prod(np.where(outcomes > 0, limit, 1 - limit))
        total += chance * slow_wealth(outcomes, limit)
    assert total == pytest.approx(1.0, rel=1e-12)


def alarms(rates, limit, alpha, runs, seed):
    """When each run alarms; inf if it never does."""
    rng, when = np.random.default_rng(seed), np.full(runs, inf)
    for run in range(runs):
        found = Stream("errors", limit, alpha).update(rng.random(len(rates)) < rates)
        when[run] = inf if found is None else found
    return when


@pytest.mark.parametrize(
    ("runs", "length"), [(400, 1000), pytest.param(5000, 10_000, marks=pytest.mark.heavy)]
)
@pytest.mark.parametrize("limit", [0.05, 0.2])
def test_false_alarms_are_at_most_alpha(runs, length, limit):
    alpha = 0.05 if runs < 1000 else 0.01
    false = np.isfinite(alarms(np.full(length, limit), limit, alpha, runs, 1)).sum()
    assert false <= alpha * runs + 3 * np.sqrt(alpha * runs)


@pytest.mark.parametrize(
    ("before", "after", "most"), [(0, 0.2, 400), (500, 0.2, 700), (500, 0.4, 150)]
)
def test_three_drifts_are_noticed(before, after, most):
    rates = np.r_[np.full(before, 0.1), np.full(1500, after)]
    when = alarms(rates, 0.1, 0.01, 100, 2)
    assert np.mean(when <= before) <= 0.05
    assert np.median(when) - before < most


def test_alarm_says_when_and_since_when_and_is_raised_once():
    rng = np.random.default_rng(3)
    wrong = np.concatenate([rng.random(1000) < 0.05, rng.random(400) < 0.4])
    monitor = error_monitor(0.1, alpha=0.01)
    assert monitor.update(np.zeros(1000), wrong[:1000]) is None
    alarm = monitor.update(np.zeros(400), wrong[1000:])
    assert 1000 < alarm.after < 1150
    assert abs(alarm.since - 1000) < 40
    assert 0.25 < alarm.rate < 0.6
    assert alarm.evidence >= 100
    assert monitor.update(np.zeros(10), np.ones(10)) == alarm
    assert str(alarm).startswith("ALARM after 1,")


def test_classes_share_alpha_and_are_watched_apart():
    monitor = error_monitor(0.2, [("ill", 0.1), ("well", 0.3)], alpha=0.03)
    assert [stream.alpha for stream in monitor.streams] == pytest.approx([0.01] * 3)
    rng = np.random.default_rng(0)
    true = np.where(rng.random(600) < 0.1, "ill", "well")
    answers = np.full(600, "well")  # every ill case is missed: one in ten cases
    alarm = monitor.update(true, answers)
    assert alarm.name == "the share of missed ill"
    assert len(monitor.alarms) == 1


def test_state_continues_where_it_stopped():
    rng = np.random.default_rng(4)
    wrong = rng.random(500) < 0.15
    whole = error_monitor(0.1, [("a", 0.1)])
    whole.update(np.full(500, "a"), np.where(wrong, "b", "a"))
    parts = error_monitor(0.1, [("a", 0.1)])
    assert Monitor.from_json(parts.to_json()).to_json() == parts.to_json()
    for start in range(0, 500, 90):
        part = wrong[start : start + 90]
        parts.update(np.full(len(part), "a"), np.where(part, "b", "a"))
        parts = Monitor.from_json(parts.to_json())
    for one, other in zip(parts.streams, whole.streams, strict=True):
        assert (one.seen, one.events, one.least_at) == (other.seen, other.events, other.least_at)
        assert one.log_wealth == pytest.approx(other.log_wealth, rel=1e-9)


@pytest.mark.parametrize("text", ["", "[]", '{"alpha": 1}', '{"alpha": "x", "streams": []}'])
def test_what_is_no_state_is_refused(text):
    with pytest.raises(ValueError, match="not the state of a monitor"):
        Monitor.from_json(text)


def test_state_with_another_number_of_bets_is_refused():
    monitor = error_monitor(0.1)
    monitor.update([0, 0], [0, 1])
    state = json.loads(monitor.to_json())
    state["streams"][0]["least"].pop()
    with pytest.raises(ValueError, match="number of bets"):
        Monitor.from_json(json.dumps(state))


def test_a_limit_of_one_never_alarms():
    monitor = error_monitor(1.0)
    assert monitor.update(np.zeros(500), np.ones(500)) is None


@pytest.mark.parametrize("runs", [60, pytest.param(1000, marks=pytest.mark.heavy)])
def test_shares_of_leaves_are_watched_against_limits_not_estimates(runs):
    shares, rng, false = np.array([0.5, 0.3, 0.15, 0.05]), np.random.default_rng(6), 0
    for _ in range(runs):
        held = rng.multinomial(200, shares)
        monitor = leaf_monitor(
            dict(enumerate(held)), 200, alpha=0.05, upper=lambda _, *events: limit(200, *events)
        )
        false += monitor._update_leaves(rng.choice(4, size=1500, p=shares)) is not None
    assert false <= 0.05 * runs + 3 * np.sqrt(0.05 * runs)
    monitor = leaf_monitor(
        dict(enumerate(rng.multinomial(2000, shares))), 2000, alpha=0.05,
        upper=lambda _, *events: limit(2000, *events),
    )  # fmt: skip
    alarm = monitor._update_leaves(rng.choice(4, size=1500, p=[0.3, 0.3, 0.15, 0.25]))
    assert "leaf" in alarm.name
