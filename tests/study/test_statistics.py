"""The statistics agree with SciPy where it has them, and with their definitions elsewhere."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from treebound.study.statistics import (
    difference,
    rank,
    wilcoxon,
    win_tie_loss,
)


def tables():
    """Means of 3 to 12 sets by 3 to 6 models, with ties."""
    size = st.tuples(st.integers(3, 12), st.integers(3, 6))
    return st.tuples(size, st.integers(0, 10**6)).map(
        lambda given: np.random.default_rng(given[1]).integers(0, 6, size=given[0]) / 7.0
    )


@given(tables())
def test_friedman_agrees_with_scipy_ties_included(means):
    ranks = rank(means)
    if np.all(means == means[:, :1]):
        assert ranks.chi2 == 0.0
        return
    expected = stats.friedmanchisquare(*means.T)
    assert ranks.chi2 == pytest.approx(expected.statistic, rel=1e-9)


@given(tables())
def test_groups_hold_exactly_the_pairs_within_the_critical_difference(means):
    ranks = rank(means)
    together = {frozenset((a, b)) for group in ranks.groups for a in group for b in group if a != b}
    k = len(ranks.ranks)
    near = {
        frozenset((a, b))
        for a in range(k)
        for b in range(a)
        if abs(ranks.ranks[a] - ranks.ranks[b]) <= ranks.critical_difference
    }
    assert together == near
    for group in ranks.groups:
        assert not any(set(group) < set(other) for other in ranks.groups)


def test_critical_difference_of_the_textbook():
    # Demsar (2006), section 3.2.2: 4 models on 14 sets, q = 2.569, critical difference 1.25.
    means = np.random.default_rng(0).random((14, 4))
    assert rank(means).critical_difference == pytest.approx(1.25, abs=0.005)


def test_sets_on_which_a_model_is_missing_are_skipped():
    means = np.random.default_rng(0).random((6, 3))
    means[2, 1] = np.nan
    assert rank(means).n_sets == 5
    assert rank(means[:, :2]) is None
    assert rank(means[:1]) is None


@given(st.integers(0, 10**6), st.integers(2, 30))
def test_interval_over_sets_is_students(seed, n):
    one, other = np.random.default_rng(seed).normal(size=(2, n))
    interval = difference(one, other)
    low, high = stats.ttest_rel(one, other).confidence_interval(0.95)
    assert (interval.low, interval.high) == pytest.approx((low, high), rel=1e-9)


def test_draws_are_corrected_for_overlapping_training_parts():
    one, other = np.random.default_rng(1).normal(size=(2, 25))
    naive = difference(one, other)
    corrected = difference(one, other, overlap=0.15 / 0.85)
    assert corrected.mean == pytest.approx(naive.mean)
    factor = np.sqrt(1 + 25 * 0.15 / 0.85)
    assert (corrected.high - corrected.low) / (naive.high - naive.low) == pytest.approx(factor)


def test_pairs_with_a_missing_value_are_skipped():
    one = np.array([0.5, np.nan, 0.7, 0.9])
    other = np.array([0.4, 0.3, np.nan, 0.6])
    interval = difference(one, other)
    assert interval.mean == pytest.approx(0.2)
    assert win_tie_loss(one, other) == (2, 0, 0)
    nothing = difference(one[:0], other[:0])
    assert np.isnan(nothing.mean)


def test_equal_models_do_not_differ():
    same = np.linspace(0.5, 0.9, 10)
    for overlap in (0.0, 0.2):
        interval = difference(same, same, overlap=overlap)
        assert (interval.mean, interval.low, interval.high) == (0.0, 0.0, 0.0)
        assert not interval.clear
    assert wilcoxon(same, same) == 1.0


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=1))
def test_wins_ties_and_losses_are_all_there_is(pairs):
    one, other = np.array(pairs).T / 1000
    won, tied, lost = win_tie_loss(one, other)
    assert won + tied + lost == len(pairs)
    assert win_tie_loss(other, one) == (lost, tied, won)
    assert tied == sum(abs(a - b) <= 1 for a, b in pairs)


def test_means_that_differ_by_rounding_are_ties():
    means = np.random.default_rng(0).integers(0, 6, size=(9, 4)) / 7.0
    noise = 1e-16 * np.random.default_rng(1).choice([-1.0, 0.0, 1.0], size=means.shape)
    assert (means + noise != means).any()
    np.testing.assert_array_equal(rank(means + noise).ranks, rank(means).ranks)
    assert wilcoxon(*(means + noise)[:, :2].T) == wilcoxon(*means[:, :2].T)
