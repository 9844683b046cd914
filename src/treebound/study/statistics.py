"""Significance of differences between models.

=========================  ======================================================================
between two models         paired differences by Student's t: over data sets, with Wilcoxon's
                           signed ranks, and over the draws of one, with the variance corrected for
                           overlapping training parts (Nadeau and Bengio, 2003)
between all models         Friedman's test on ranks, in Iman and Davenport's form, and the critical
                           difference of Nemenyi (Demsar, 2006)
=========================  ======================================================================
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy import stats

from treebound._utils.arrays import Floats

# Digits of means after the point; more of them are rounding, which depends on the machine.
_DIGITS = 12


@dataclass(frozen=True)
class MeanDifference:
    """A mean difference and its 95 % confidence interval."""

    mean: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """True if the interval excludes zero."""
        return self.low > 0 or self.high < 0


def difference(first: Floats, second: Floats, *, overlap: float = 0.0) -> MeanDifference:
    """The mean of ``first - second``, over data sets or over the draws of one.

    Draws share training examples: with ``overlap`` test rows for each training row, the variance
    of the mean is ``variance * (1 / n + overlap)``. Pairs with a NaN are skipped.
    """
    gaps = _gaps(first, second)
    n = len(gaps)
    if n == 0:
        return MeanDifference(np.nan, np.nan, np.nan)
    mean, reach = float(gaps.mean()), np.inf
    if n > 1:
        error = np.std(gaps, ddof=1) * np.sqrt(1.0 / n + overlap)
        reach = float(stats.t.ppf(0.975, n - 1) * error)
    return MeanDifference(mean, mean - reach, mean + reach)


def wilcoxon(first: Floats, second: Floats) -> float:
    """The p-value of "no difference" by Wilcoxon's signed ranks."""
    gaps = _gaps(first, second).round(_DIGITS)
    if not np.any(gaps):
        return 1.0
    with warnings.catch_warnings():
        # with few sets or ties SciPy warns that it uses the normal approximation
        warnings.simplefilter("ignore")
        return float(stats.wilcoxon(gaps).pvalue)


def win_tie_loss(first: Floats, second: Floats, *, tie: float = 0.001) -> tuple[int, int, int]:
    """Number of times ``first`` is above, within ``tie`` of, and below ``second``."""
    gaps = _gaps(first, second)
    # a gap of exactly 0.1 % is a tie, regardless of rounding
    near = np.abs(gaps) <= tie + 1e-12
    return int((gaps[~near] > 0).sum()), int(near.sum()), int((gaps[~near] < 0).sum())


def _gaps(first: Floats, second: Floats) -> Floats:
    gaps = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return gaps[~np.isnan(gaps)]


@dataclass(frozen=True)
class Ranking:
    """Mean ranks of models over data sets, and groups without significant differences."""

    ranks: Floats
    n_sets: int
    chi2: float
    f: float
    p_value: float
    critical_difference: float
    groups: tuple[tuple[int, ...], ...]


def rank(means: Floats) -> Ranking | None:
    """Rank models by their means, (data sets, models), higher is better.

    None if there are fewer than three models or two data sets.
    """
    means = means[~np.isnan(means).any(axis=1)]
    n, k = means.shape
    if k < 3 or n < 2:
        return None
    ranks = stats.rankdata(-means.round(_DIGITS), axis=1)
    # SciPy divides by zero where all models are level on every set
    level = float(np.ptp(ranks)) == 0.0
    chi2 = 0.0 if level else float(stats.friedmanchisquare(*ranks.T).statistic)
    rest = n * (k - 1) - chi2
    f = (n - 1) * chi2 / rest if rest > 1e-9 else np.inf
    p_value = float(stats.f.sf(f, k - 1, (k - 1) * (n - 1)))
    spread = float(stats.studentized_range.ppf(0.95, k, np.inf)) / np.sqrt(2)
    reach = float(spread * np.sqrt(k * (k + 1) / (6 * n)))
    mean_ranks = ranks.mean(axis=0)
    return Ranking(mean_ranks, n, chi2, f, p_value, reach, _groups(mean_ranks, reach))


def _groups(ranks: Floats, reach: float) -> tuple[tuple[int, ...], ...]:
    order = [int(at) for at in np.argsort(ranks, kind="stable")]
    result: list[tuple[int, ...]] = []
    for start, model in enumerate(order):
        group = tuple(near for near in order[start:] if ranks[near] - ranks[model] <= reach)
        if len(group) > 1 and not (result and set(group) <= set(result[-1])):
            result.append(group)
    return tuple(result)
