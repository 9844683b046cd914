"""Significance of differences between models.

=========================  ======================================================================
between two models         paired differences: over the draws of one data set with the variance
                           corrected for overlapping training parts (Nadeau and Bengio, 2003), over
                           data sets with Student's t and Wilcoxon's signed ranks
between all models         Friedman's test on ranks, in Iman and Davenport's form, and the critical
                           difference of Nemenyi (Demsar, 2006)
=========================  ======================================================================
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """A mean difference, its confidence interval and the p-value of "no difference"."""

    mean: float
    low: float
    high: float
    p_value: float
    n: int

    @property
    def clear(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0


def difference_over_draws(first: Array, second: Array, *, test_fraction: float) -> Difference:
    """The mean of ``first - second`` over the draws of one data set.

    Draws share training examples, so the variance of the mean is
    ``variance * (1 / n + test / train)``; NaN pairs are dropped.
    """
    gaps = _gaps(first, second)
    n = len(gaps)
    overlap = test_fraction / (1.0 - test_fraction)
    error = float(np.std(gaps, ddof=1) * np.sqrt(1.0 / n + overlap)) if n > 1 else np.inf
    return _student(gaps, error)


def difference_over_sets(first: Array, second: Array) -> Difference:
    """The mean of ``first - second`` over data sets; the p-value is Wilcoxon's."""
    gaps = _gaps(first, second)
    n = len(gaps)
    error = float(np.std(gaps, ddof=1) / np.sqrt(n)) if n > 1 else np.inf
    result = _student(gaps, error)
    if not np.any(gaps):
        return replace(result, p_value=1.0)
    with warnings.catch_warnings():
        # with few sets or ties SciPy warns that it uses the normal approximation
        warnings.simplefilter("ignore")
        p_value = float(stats.wilcoxon(gaps).pvalue)
    return replace(result, p_value=p_value)


def _gaps(first: Array, second: Array) -> Array:
    gaps = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return gaps[~np.isnan(gaps)]


def _student(gaps: Array, error: float) -> Difference:
    """The 95 % interval by Student's t."""
    n = len(gaps)
    if n == 0:
        return Difference(np.nan, np.nan, np.nan, np.nan, 0)
    mean = float(gaps.mean())
    if n == 1:
        return Difference(mean, -np.inf, np.inf, np.nan, 1)
    if error == 0.0:
        return Difference(mean, mean, mean, 1.0 if mean == 0.0 else 0.0, n)
    reach = float(stats.t.ppf(0.975, n - 1)) * error
    p_value = float(2 * stats.t.sf(abs(mean) / error, n - 1))
    return Difference(mean, mean - reach, mean + reach, p_value, n)


def win_tie_loss(first: Array, second: Array, *, tie: float = 0.001) -> tuple[int, int, int]:
    """Number of times ``first`` is above, within ``tie`` of, and below ``second``."""
    gaps = _gaps(first, second)
    # a gap of exactly 0.1 % is a tie, regardless of rounding
    near = np.abs(gaps) <= tie + 1e-12
    return int((gaps[~near] > 0).sum()), int(near.sum()), int((gaps[~near] < 0).sum())


@dataclass(frozen=True)
class Ranking:
    """Mean ranks of models over data sets, and groups without significant differences."""

    ranks: Array
    n_sets: int
    chi2: float
    f: float
    p_value: float
    critical_difference: float
    groups: tuple[tuple[int, ...], ...]


def rank(means: Array) -> Ranking | None:
    """Rank models by their means, (data sets, models), higher is better.

    None if there are fewer than three models or two data sets.
    """
    means = means[~np.isnan(means).any(axis=1)]
    n, k = means.shape
    if k < 3 or n < 2:
        return None
    ranks = stats.rankdata(-means, axis=1)
    chi2, f, p_value = _friedman(ranks)
    spread = float(stats.studentized_range.ppf(0.95, k, np.inf)) / np.sqrt(2)
    reach = float(spread * np.sqrt(k * (k + 1) / (6 * n)))
    mean_ranks = ranks.mean(axis=0)
    return Ranking(mean_ranks, n, chi2, f, p_value, reach, _groups(mean_ranks, reach))


def _friedman(ranks: Array) -> tuple[float, float, float]:
    """Friedman's chi-squared with ties, Iman and Davenport's F, and the p-value of F."""
    n, k = ranks.shape
    spread = float(((ranks - (k + 1) / 2) ** 2).sum()) / (n * (k - 1))
    if spread == 0.0:
        return 0.0, 0.0, 1.0
    between = float(((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum())
    chi2 = n * between / spread
    rest = n * (k - 1) - chi2
    if rest <= 1e-12:
        return chi2, np.inf, 0.0
    f = (n - 1) * chi2 / rest
    return chi2, f, float(stats.f.sf(f, k - 1, (k - 1) * (n - 1)))


def _groups(ranks: Array, reach: float) -> tuple[tuple[int, ...], ...]:
    order = [int(at) for at in np.argsort(ranks, kind="stable")]
    result: list[tuple[int, ...]] = []
    for start, model in enumerate(order):
        group = tuple(near for near in order[start:] if ranks[near] - ranks[model] <= reach)
        if len(group) > 1 and not (result and set(group) <= set(result[-1])):
            result.append(group)
    return tuple(result)
