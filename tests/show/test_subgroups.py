"""Rates of models in subgroups, with intervals that hold at once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import treebound as tb


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=600), "sex": rng.choice(["f", "m"], 600)})
    y = np.where(X["x"] + rng.normal(0, 0.7, 600) > 0, "yes", "no")
    return X, y


@pytest.mark.parametrize("by_name", [True, False])
def test_rates_are_counts_of_the_rows(rows, by_name):
    X, y = rows
    clf = tb.BoundTreeClassifier().fit(X[["x"]][:300], y[:300])
    models, test, labels = [clf, clf.prune_to(1)], X[300:], y[300:]
    subgroups = "sex" if by_name else test["sex"].to_numpy()
    result = tb.compare(models, test, labels, subgroups=subgroups, delta=0.1)
    assert len(result.rates) == 2 * 2 * 2
    for rate in result.rates:
        inside = (test["sex"] == rate.subgroup).to_numpy()
        predicted = models[rate.model].predict(test[["x"]])[inside]
        hits = predicted != labels[inside] if rate.rate == "error" else predicted == "yes"
        assert (rate.rows, rate.count) == (inside.sum(), hits.sum())
        share = 0.1 / len(result.rates) / 2
        if rate.count:
            assert binom.sf(rate.count - 1, rate.rows, rate.low) == pytest.approx(share)
        if rate.count < rate.rows:
            assert binom.cdf(rate.count, rate.rows, rate.high) == pytest.approx(share)
    assert str(result).count("\n") == len(result.rates)
    assert list(result.to_frame()["rows"]) == [rate.rows for rate in result.rates]


def test_abstentions_are_a_rate_and_not_errors(rows):
    X, y = rows
    clf = tb.BoundTreeClassifier(pruning=None, max_leaves=4).fit(X[["x"]][:200], y[:200])
    careful = clf.abstain(X[["x"]][200:400], y[200:400], max_risk=0.2)
    test, labels = X[400:], y[400:]
    result = tb.compare([clf, careful], test, labels, subgroups="sex")
    rates = {(rate.model, rate.subgroup, rate.rate): rate for rate in result.rates}
    assert len(rates) == 2 * 2 + 2 * 3
    predicted = careful.predict(test[["x"]])
    for sex in ("f", "m"):
        inside = (test["sex"] == sex).to_numpy()
        abstained = inside & (predicted == "abstain")
        assert 0 < abstained.sum() < inside.sum()
        assert (0, sex, "abstained") not in rates
        rate = rates[1, sex, "abstained"]
        assert (rate.count, rate.rows) == (abstained.sum(), inside.sum())
        rate, wrong = rates[1, sex, "error"], inside & ~abstained & (predicted != labels)
        assert (rate.count, rate.rows) == (wrong.sum(), (inside & ~abstained).sum())
        assert rates[1, sex, "predicted yes"].count == (inside & (predicted == "yes")).sum()


def test_a_subgroup_without_predictions_has_no_error_rate(rows):
    X, y = rows
    clf = tb.BoundTreeClassifier().fit(X[["x"]][:200], y[:200])
    never = clf.abstain(X[["x"]][200:400], y[200:400], max_risk=0.001)
    error = tb.compare([never], X[400:], y[400:], subgroups="sex").rates[0]
    assert (error.rows, error.count, error.low, error.high) == (0, 0, 0.0, 1.0)
    assert np.isnan(error.value)


def test_intervals_hold_at_once():
    """Of many tables, at most about delta have an interval without its true rate."""
    grid = np.arange(10.0)
    clf = tb.BoundTreeClassifier(cv=None).fit(np.tile(grid, 20)[:, None], np.tile(grid > 4, 20))
    wrong = 0
    for seed in range(150):
        rng = np.random.default_rng([1, seed])
        x, group = rng.integers(0, 10, 120).astype(float), rng.integers(0, 3, 120)
        y = (x > 4) ^ (rng.random(120) < 0.2)  # the tree errs with probability 0.2
        rates = tb.compare([clf], x[:, None], y, subgroups=group, delta=0.2).rates
        truth = {"error": 0.2, "predicted True": 0.5}
        wrong += any(not rate.low <= truth[rate.rate] <= rate.high for rate in rates)
    assert binom.sf(wrong - 1, 150, 0.2) > 1e-3


def test_what_is_no_subgroup_is_refused(rows):
    X, y = rows
    clf = tb.BoundTreeClassifier().fit(X[["x"]], y)
    with pytest.raises(ValueError, match="'subgroups' parameter"):
        tb.compare([clf], X, y, subgroups="town")
    with pytest.raises(ValueError, match="'models' parameter"):
        tb.compare([], X, y, subgroups="sex")
    with pytest.raises(ValueError, match="'y' parameter"):
        tb.compare(clf, clf, X)
