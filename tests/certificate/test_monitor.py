"""The monitor: against the sums it stands for, false alarms and delays simulated, its state."""

import json
from math import inf

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from treebound.certificate.monitor import (
    BETS,
    Alarm,
    Monitor,
    Stream,
    error_monitor,
    tolerance_monitor,
)
from treebound.data.targets import as_objects


def slow_wealth(outcomes, bound):
    """All bets of all starts, one by one."""
    total, t = 0.0, len(outcomes)
    for share in BETS:
        bet = share / bound
        for start in range(1, t + 1):
            weight = 1.0 / (start * (start + 1))
            total += weight * np.prod(1.0 + bet * (outcomes[start - 1 :] - bound)) / len(BETS)
    return total + 1.0 / (t + 1)


@pytest.mark.parametrize("bound", [0.02, 0.1, 0.7])
def test_wealth_is_the_sum_over_all_starts(bound):
    outcomes = np.random.default_rng(0).random(40) < 0.2
    stream = Stream("errors", bound, 1e-300)
    for at in range(len(outcomes)):
        stream.update(outcomes[at : at + 1])
        expected = slow_wealth(outcomes[: at + 1].astype(float), bound)
        assert np.exp(stream.log_wealth) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("bound", [0.02, 0.3])
def test_wealth_has_mean_one_at_the_limit(bound):
    """Over all sequences of eight outcomes, each with its probability at the bound."""
    total = 0.0
    for bits in range(256):
        outcomes = np.array([bits >> i & 1 for i in range(8)], dtype=float)
        chance = np.prod(np.where(outcomes > 0, bound, 1 - bound))
        total += chance * slow_wealth(outcomes, bound)
    assert total == pytest.approx(1.0, rel=1e-12)


def alarms(rates, bound, alpha, runs, seed):
    """When each run alarms; inf if it never does."""
    rng, when = np.random.default_rng(seed), np.full(runs, inf)
    for run in range(runs):
        alarm = Stream("errors", bound, alpha).update(rng.random(len(rates)) < rates)
        when[run] = inf if alarm is None else alarm
    return when


@pytest.mark.parametrize(
    ("runs", "length"), [(400, 1000), pytest.param(5000, 10_000, marks=pytest.mark.heavy)]
)
@pytest.mark.parametrize("bound", [0.05, 0.2])
def test_false_alarms_are_at_most_alpha(runs, length, bound):
    alpha = 0.05 if runs < 1000 else 0.01
    false = np.isfinite(alarms(np.full(length, bound), bound, alpha, runs, 1)).sum()
    assert false <= alpha * runs + 3 * np.sqrt(alpha * runs)


@pytest.mark.parametrize(
    ("before", "after", "most"), [(0, 0.2, 400), (500, 0.2, 700), (500, 0.4, 150)]
)
def test_three_drifts_are_noticed(before, after, most):
    rates = np.r_[np.full(before, 0.1), np.full(1500, after)]
    when = alarms(rates, 0.1, 0.01, 100, 2)
    assert np.mean(when <= before) <= 0.05
    assert np.median(when) - before < most


def test_alarm_states_when_and_since_when_and_is_raised_once():
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


def test_classes_share_alpha_and_are_watched_separately():
    monitor = error_monitor(0.2, [("ill", 0.1), ("well", 0.3)], alpha=0.03)
    assert [stream.alpha for stream in monitor.streams] == pytest.approx([0.01] * 3)
    rng = np.random.default_rng(0)
    true = np.where(rng.random(600) < 0.1, "ill", "well")
    predicted = np.full(600, "well")  # every ill case is missed: one in ten cases
    alarm = monitor.update(true, predicted)
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
        assert (one.seen, one.events, one.lowest_at) == (other.seen, other.events, other.lowest_at)
        assert one.log_wealth == pytest.approx(other.log_wealth, rel=1e-9)


@pytest.mark.parametrize("text", ["", "[]", '{"alpha": 1}', '{"alpha": "x", "streams": []}'])
def test_what_is_no_state_is_refused(text):
    with pytest.raises(ValueError, match="not the state of a monitor"):
        Monitor.from_json(text)


def test_state_with_another_number_of_bets_is_refused():
    monitor = error_monitor(0.1)
    monitor.update([0, 0], [0, 1])
    monitor.streams[0].least.pop()
    with pytest.raises(ValueError, match="number of bets"):
        Monitor.from_json(monitor.to_json())
    monitor = error_monitor(0.1)
    monitor.classes.append("a")
    with pytest.raises(ValueError, match="number of streams"):
        Monitor.from_json(monitor.to_json())


def changes(state, path=()):
    """Every state with one value changed: a number, a text or a list."""
    for key, value in list(state.items() if isinstance(state, dict) else enumerate(state)):
        if isinstance(value, dict | list) and value:
            yield from changes(value, (*path, key))
        else:
            replacements = {str: "other", float: 0.5, int: 12, type(None): "a", list: [0]}
            yield (*path, key), replacements[type(value)]


def test_a_state_that_was_changed_is_refused():
    monitor = error_monitor(0.1, [("a", 0.1)])
    monitor.update(["a", "a", None, "b"], ["a", "b", "a", "a"])
    text = monitor.to_json()
    state = json.loads(text)
    assert Monitor.from_json(json.dumps(state, indent=2)).to_json() == text  # the layout may change
    tried = list(changes(state))
    assert len(tried) > 100
    for path, value in tried:
        changed = json.loads(text)
        inner = changed
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        with pytest.raises(ValueError, match=r"was changed|not the state of a monitor"):
            Monitor.from_json(json.dumps(changed))
    for inner in (state, state["monitor"], state["monitor"]["streams"][0]):
        inner["more"] = 1
        with pytest.raises(ValueError, match="not the state of a monitor"):
            Monitor.from_json(json.dumps(state))
        del inner["more"]
    del state["monitor"]["unlabelled"]
    with pytest.raises(ValueError, match="was changed"):
        Monitor.from_json(json.dumps(state))


def test_a_deeply_nested_state_is_refused():
    for text in ("[" * 100_000, '{"sha256": "", "monitor": {"alpha": 1, "streams": [], "abstains": '
                 + "[" * 100_000):  # fmt: skip
        with pytest.raises(ValueError, match="not the state of a monitor"):
            Monitor.from_json(text)


NUMBERS = [0, 1, 1, 0, 1]
TEXTS = ["no", "yes", "yes", "no", "yes"]


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), ""])
@pytest.mark.parametrize("labels", [NUMBERS, TEXTS, [label == 1 for label in NUMBERS]])
@pytest.mark.parametrize("make", [list, as_objects, pd.Series])
def test_labels_not_known_yet_are_skipped_and_counted(missing, labels, make):
    whole, some = error_monitor(0.5, [(labels[0], 0.6)]), error_monitor(0.5, [(labels[0], 0.6)])
    predicted = labels[::-1]
    whole.update(labels, predicted)
    true = make([missing, *labels[:3], missing, *labels[3:]])
    alarm = some.update(true, [predicted[0], *predicted[:3], predicted[0], *predicted[3:]])
    assert alarm is None
    assert (whole.unlabelled, some.unlabelled) == (0, 2)
    assert some.streams == whole.streams
    assert some.update(make([missing] * 500), [labels[0]] * 500) is None
    assert some.unlabelled == 502
    assert Monitor.from_json(some.to_json()).unlabelled == 502


@pytest.mark.parametrize(
    "true",
    [
        pl.Series([0, None, 1]), pl.Series([True, None, False]), pa.array([0, None, 1]),
        pd.Series([0, None, 1], dtype="Int64"), np.ma.array([0, 5, 1], mask=[0, 1, 0]),
        np.array([0, np.nan, 1]), pd.Series([False, None, True], dtype="boolean"),
        pd.Categorical([0, None, 1]),
    ],
)  # fmt: skip
def test_labels_not_known_are_found_in_every_library(true):
    monitor = error_monitor(0.5)
    monitor.update(true, np.array([0, 0, 0]))
    assert (monitor.unlabelled, monitor.streams[0].seen, monitor.streams[0].events) == (1, 2, 1)


@pytest.mark.parametrize(
    ("true", "predicted", "message"),
    [
        (["0", "1"], [0, 1], "Got '0', text, instead. Hint: convert y_true, for example with "
         "astype(int)."),
        ([0, "1"], [0, 1], "'1', text"),
        ([0.0, 1.0], ["0", "1"], "0.0, a number"),
        (["0", 1], ["0", "1"], "1, a number"),
        ([True, False], ["True", "False"], "True, a boolean"),
        ([b"a"], ["a"], "a bytes"),
        ([0, 2], [True, False], "0, a number"),
        ([True, False], [1, 2], "True, a boolean"),
    ],
)  # fmt: skip
def test_labels_of_another_type_are_refused(true, predicted, message):
    monitor = error_monitor(0.5)
    before = monitor.to_json()
    with pytest.raises(ValueError) as error:
        monitor.update(true, np.array(predicted))
    assert message in str(error.value)
    assert monitor.to_json() == before


def test_predictions_of_two_types_are_refused():
    """They do not determine the type that a true label must have."""
    labels = as_objects(["a", 1])
    with pytest.raises(ValueError, match="type of the predictions, a number or text"):
        error_monitor(0.5).update(labels, labels)


def test_booleans_and_zero_and_one_are_the_same_labels():
    for true, predicted in [([0, 1, 1], [True, True, False]), ([True, False, False], [1, 1, 0])]:
        monitor = error_monitor(0.5, [(predicted[0], 0.5)])
        monitor.update(np.array(true), np.array(predicted))
        assert [stream.seen for stream in monitor.streams] == [3, sum(map(bool, true))]
    assert monitor.streams[0].events == 1


def test_a_class_that_the_model_does_not_know_is_an_error():
    monitor = error_monitor(0.5)
    monitor.update(["a", "new", "b"], ["a", "a", "b"])
    assert monitor.streams[0].events == 1


def test_every_prediction_is_a_label():
    for predicted in (["a", ""], ["a", None]):
        with pytest.raises(ValueError, match="Every prediction must be a label"):
            error_monitor(0.5).update(["a", "b"], predicted)


def test_a_limit_of_one_never_alarms():
    monitor = error_monitor(1.0)
    assert monitor.update(np.zeros(500), np.ones(500)) is None


def test_many_outcomes_at_once_are_those_one_after_the_other():
    outcomes = np.random.default_rng(5).random(25_000) < 0.1
    whole, parts = Stream("errors", 0.2, 0.01), Stream("errors", 0.2, 0.01)
    assert whole.update(outcomes) is None
    for part in np.array_split(outcomes, 7):
        parts.update(part)
    assert (whole.seen, whole.events) == (25_000, outcomes.sum()) == (parts.seen, parts.events)
    assert whole.lowest_at == parts.lowest_at
    assert whole.log_wealth == pytest.approx(parts.log_wealth, rel=1e-9)


def test_an_alarm_counts_no_outcome_after_it():
    outcomes = np.r_[np.zeros(12_000, bool), np.ones(12_000, bool)]
    stream = Stream("errors", 0.1, 0.01)
    alarm = stream.update(outcomes)
    assert 12_000 < alarm < 12_100
    assert (stream.seen, stream.events) == (alarm, alarm - 12_000)
    assert stream.since == (12_000, 0)


def test_numbers_off_by_more_than_the_tolerance_are_errors():
    monitor = tolerance_monitor(0.5, 2.0)
    monitor.update([1.0, None, 4.0, np.nan, -3.0], [3.0, 0.0, 6.1, 0.0, -3.0])
    assert (monitor.unlabelled, monitor.streams[0].seen, monitor.streams[0].events) == (2, 3, 1)
    for predicted in ([1.0], [np.nan, 1.0], [np.inf, 1.0]):
        with pytest.raises(ValueError, match="a finite number for each of the 2 true numbers"):
            monitor.update([1.0, 2.0], predicted)
    assert monitor.streams[0].seen == 3


def test_labels_and_predictions_are_of_one_length():
    for true, predicted in ((["a", "b"], ["a"]), (np.zeros((2, 1)), np.zeros((2, 1)))):
        with pytest.raises(ValueError, match="one label for each of the"):
            error_monitor(0.5).update(true, predicted)


def test_an_alarm_prints_its_evidence_and_its_outcomes_from_one_on():
    alarm = Alarm("the error rate", 0.1, after=1200, evidence=2345.6, since=1000, rate=0.25)
    assert str(alarm) == (
        "ALARM after 1,200 outcomes: the error rate is above its certified bound of 10.0 % "
        "(evidence 2,346 to 1), probably since outcome 1,001; 25.0 % from there on."
    )
