"""From a growth function to a bound on the true risk of a tree.

=================  ===========================================================
``m``              examples the tree was learned from
``errors``, k      how many of them the tree gets wrong
``log_growth``     natural log of the growth function, ln tau
``delta``          the bound may fail with at most this probability
``log_prior``      ln p, the share of ``delta`` given to the class of the tree
``error_prior``    r, where the share of k errors is ``q_k = (1 - r) r^k``
``ghost``, m'      size of the second sample the bound is proved with
=================  ===========================================================

:func:`shawe_taylor` is the paper's objective, a score to prune by; :func:`tail_inversion` is the
number to report; :func:`vapnik` is between them; :func:`binomial_upper` is for examples that the
tree does not depend on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treebound._utils.arrays import Floats
from treebound._utils.validation import invalid
from treebound.bounds._checks import check_size

ERROR_PRIOR = 2.0**-10.5
"""The paper's r, chosen there by cross-validation over its data sets."""

# scipy's inverse of the beta law loses digits from about e^-600 on.
_MIN_LOG_DELTA = -300.0
# From so many rows on, log probabilities of the binomial law are known to 16 units in the last
# place of the number of rows: the level is lowered by that, which makes the bound larger.
_MANY_ROWS, _LOG_ERROR = 10**8, 2.0**-48


def shawe_taylor(
    m: int,
    errors: ArrayLike,
    log_growth: ArrayLike,
    *,
    delta: float = 0.05,
    log_prior: ArrayLike = 0.0,
    error_prior: float | None = ERROR_PRIOR,
) -> Any:
    """Shawe-Taylor et al. (1998) bound, the objective of Algorithm PruneTreeWithBound.

    ``(2 k + 4 ln(4 tau(2m) / (delta q_k p))) / m`` with ``q_k = (1 - r) r^k`` for k = 0, ..., m
    (erratum 13). It is often above 1: use it to compare trees, not as a risk to report.

    Parameters
    ----------
    m : int
        Number of examples.
    errors : float or array of float
        Training errors, or their total weight.
    log_growth : float or array of float
        Natural log of the growth function **at 2m**.
    delta : float
        Probability with which the bound may fail.
    log_prior : float or array of float
        ln p, the log of the share of ``delta`` that the class of the tree gets.
    error_prior : float or None
        r, the ratio of the geometric prior over the number of errors; by default the paper's
        ``2**-10.5``. None puts ``q_k = 1``: the number of errors was fixed in advance.

    Returns
    -------
    float or ndarray
        One value for each (errors, log_growth, log_prior), broadcast against each other.

    Examples
    --------
    >>> import treebound as tb
    >>> round(tb.bounds.shawe_taylor(100, 5, 18.77, log_prior=-2.695), 3)
    2.59
    >>> tb.bounds.shawe_taylor(100, [0, 1], [18.77, 9.39]).round(3)
    array([0.926, 0.862])
    """
    name = "shawe_taylor"
    m = check_size("m", m, name, 10**15)
    k = _errors(name, errors, m)
    log_tau, log_p = _logs(name, log_growth, log_prior)
    log_inverse = log_tau - _log_quarter(name, delta) - log_p
    if error_prior is not None:
        r = _share(name, "error_prior", error_prior)
        log_inverse = log_inverse - (math.log1p(-r) + k * math.log(r))
    return _plain((2.0 * k + 4.0 * log_inverse) / m)


def vapnik(
    m: int,
    errors: ArrayLike,
    log_growth: ArrayLike,
    *,
    delta: float = 0.05,
    log_prior: ArrayLike = 0.0,
) -> Any:
    """Vapnik's relative deviation bound (1998).

    ``k/m + E/2 (1 + sqrt(1 + 4 k / (m E)))`` with ``E = 4 (ln tau(2m) + ln(4/delta) - ln p) / m``.

    Parameters
    ----------
    m, errors, log_growth, delta, log_prior
        As in :func:`treebound.bounds.shawe_taylor`.

    Returns
    -------
    float or ndarray
        The bound, not cut at 1 so that it can still order trees if it is above 1.

    Examples
    --------
    >>> import treebound as tb
    >>> round(tb.bounds.vapnik(5000, 250, 40.0), 4)
    0.1135
    """
    name = "vapnik"
    m = check_size("m", m, name, 10**15)
    rate = _errors(name, errors, m) / m
    log_tau, log_p = _logs(name, log_growth, log_prior)
    price = 4.0 * (log_tau - _log_quarter(name, delta) - log_p) / m
    return _plain(rate + 0.5 * price * (1.0 + np.sqrt(1.0 + 4.0 * rate / price)))


def tail_inversion(
    m: int,
    errors: float,
    log_growth_of: Callable[[int], float],
    *,
    delta: float = 0.05,
    ghost: int | None = None,
    log_prior: float = 0.0,
) -> float:
    """Hypergeometric tail inversion (Leboeuf, LeBlanc and Marchand 2021, Theorem 5).

    Let K* be the least K with ``P[Hyp(m + m', K, m) <= k] <= delta p / (4 tau(m + m'))``: with
    K bad examples among ``m + m'``, a draw of m rarely has k of them or fewer. With probability
    1 - delta every tree of the class with k errors has a true risk of at most
    ``max(1, K* - 1 - k) / m'``.

    Parameters
    ----------
    m : int
        Number of examples.
    errors : int
        Training errors, a whole number: weighted examples have no such bound.
    log_growth_of : callable
        Gives the natural log of the growth function at a number of examples; called once, with
        ``m + ghost``.
    delta : float
        Probability with which the bound may fail.
    ghost : int, optional
        ``m'``, the size of the ghost sample, chosen before looking at ``errors``; by default
        ``4 m``.
    log_prior : float
        ln p, the log of the share of ``delta`` that the class of the tree gets.

    Returns
    -------
    float
        A bound on the true risk, in (0, 1].

    Raises
    ------
    ValueError
        If ``errors`` is not a whole number from 0 to ``m``, or another number is out of range.
    TypeError
        If ``log_growth_of`` is not callable.

    Notes
    -----
    A bisection over K, O(log m) tails of a hypergeometric law; each is summed from its heaviest
    term until the rest is below rounding, and the heaviest term is exact to rounding in log space,
    so that a log growth of thousands of nats loses no accuracy.

    Examples
    --------
    >>> import treebound as tb
    >>> round(tb.bounds.tail_inversion(1000, 50, lambda total: 60.0), 3)
    0.177
    """
    name = "tail_inversion"
    m = check_size("m", m, name, 10**15)
    k = _whole_errors(name, errors, m)
    ghost = 4 * m if ghost is None else check_size("ghost", ghost, name, 10**16)
    if not callable(log_growth_of):
        must = "callable: examples -> log growth"
        raise TypeError(invalid("log_growth_of", name, must, log_growth_of))
    log_tau, log_p = _logs(name, log_growth_of(m + ghost), log_prior)
    log_level = float(log_p + _log_quarter(name, delta) - log_tau)
    if k == m:
        return 1.0
    # Invariant: the tail is above the level at `low` and not above it at `high`. With K = k the
    # tail is 1; with K > k + ghost a draw cannot have as few as k bad ones, so it is 0.
    low, high = k, k + ghost + 1
    while high - low > 1:
        middle = (low + high) // 2
        if _log_hypergeometric_cdf(k, m + ghost, middle, m) <= log_level:
            high = middle
        else:
            low = middle
    return min(1.0, max(1, high - 1 - k) / ghost)


def binomial_upper(m: int, errors: float, delta: float = 0.05) -> float:
    """Clopper-Pearson (1934) upper bound on a risk from ``errors`` on ``m`` unseen examples.

    The largest risk under which ``errors`` or fewer still have probability ``delta``. The tree must
    not depend on these examples; there is no other condition.

    Parameters
    ----------
    m : int
        Number of unseen examples.
    errors : int
        How many of them the tree gets wrong.
    delta : float
        Probability with which the bound may fail.

    Returns
    -------
    float
        In (0, 1], rounded up.

    Raises
    ------
    ValueError
        If ``errors`` is not a whole number from 0 to ``m``, or ``delta`` is out of range.

    Examples
    --------
    >>> import treebound as tb
    >>> round(tb.bounds.binomial_upper(100, 0), 4)
    0.0295
    >>> round(tb.bounds.binomial_upper(1000, 50, delta=0.01), 4)
    0.0684
    """
    name = "binomial_upper"
    m = check_size("m", m, name, 10**15)
    k = _whole_errors(name, errors, m)
    return risk_upper(m, k, math.log(_share(name, "delta", delta)))


def risk_upper(m: int, errors: int, log_delta: float) -> float:
    """Clopper-Pearson (1934) bound at a level of any size, given as its natural log; rounded up."""
    if errors >= m:
        return 1.0
    if m > _MANY_ROWS:
        log_delta -= _LOG_ERROR * m
    if log_delta > _MIN_LOG_DELTA:
        rows, wrong = np.array([float(m)]), np.array([float(errors)])
        high = float(binomial_rates(rows, wrong, math.exp(log_delta))[0])
    else:
        low, high = errors / m, 1.0
        while high - low > 1e-13 * high:
            middle = 0.5 * (low + high)
            if _binomial_cdf_reaches(log_delta, errors, m, middle):
                low = middle
            else:
                high = middle
    return min(1.0, high * (1.0 + 1e-9))


def binomial_rates(weight: Floats, errors: Floats, delta: float) -> Floats:
    """Clopper-Pearson (1934) limits of many rates, also of weighted errors; not rounded up."""
    from scipy.special import betainccinv

    rates = np.ones_like(errors)
    right = weight - errors
    some = right > 0.0
    # The upper tail of the beta law is inverted directly: 1 - delta would lose a tiny delta.
    rates[some] = betainccinv(errors[some] + 1.0, right[some], delta)
    return rates


def log_leaves_prior(leaves: ArrayLike) -> Any:
    """Log of the prior over the number of leaves, ``6 / (pi^2 L^2)``; it sums to 1 over L >= 1.

    Enough where the growth function is that of all trees with L leaves.

    Parameters
    ----------
    leaves : int or array of int
        Number of leaves ``L``, at least 1.

    Raises
    ------
    ValueError
        If a number of leaves is not an int of at least 1.

    Examples
    --------
    >>> import treebound as tb
    >>> round(float(tb.bounds.log_leaves_prior(2)), 4)
    -1.884
    """
    count = np.asarray(leaves)
    if count.dtype.kind not in "iu" or count.size == 0 or count.min() < 1:
        raise invalid("leaves", "", "an int >= 1", leaves)
    return _plain(-np.log(math.pi**2 / 6.0 * count.astype(float) ** 2))


def _binomial_cdf_reaches(log_level: float, k: int, n: int, p: float) -> bool:
    """Return True if ln P[Bin(n, p) <= k] >= log_level, for p > k / n; terms fall from k down."""
    from scipy.special import kl_div

    if p >= 1.0:
        return False
    cells = np.array([k, n - k], dtype=np.float64)
    divergence = float(kl_div(cells, n * np.array([p, 1.0 - p])).sum())
    rest = _stirling_rest(np.array([float(n)]))[0] - _stirling_rest(cells).sum()
    log_last = float(rest) - divergence

    def ratio(i: Floats) -> Floats:
        return i * (1.0 - p) / ((n - i + 1.0) * p)

    return log_last >= log_level or log_last + _log_tail(k, 0, ratio) >= log_level


def _log_hypergeometric_cdf(k: int, population: int, bad: int, draws: int) -> float:
    """ln P[at most ``k`` bad among ``draws`` out of ``population``, ``bad`` of which are bad]."""
    good_left = population - bad - draws
    least, most = max(0, -good_left), min(draws, bad)
    if k < least:
        return -math.inf
    if k >= most:
        return 0.0

    def down(i: Floats) -> Floats:
        return i * (good_left + i) / ((bad - i + 1) * (draws - i + 1))

    def up(i: Floats) -> Floats:
        return (bad - i) * (draws - i) / ((i + 1) * (good_left + i + 1))

    mode = (draws + 1) * (bad + 1) // (population + 2)
    if k < mode:  # terms fall away from k downwards
        return _log_pmf(k, population, bad, draws) + _log_tail(k, least, down)
    # the other tail, which is not close to 1, so nothing cancels
    log_upper = _log_pmf(k + 1, population, bad, draws) + _log_tail(k + 1, most, up)
    return math.log1p(-min(1.0, math.exp(log_upper))) if log_upper < 0.0 else -math.inf


def _log_tail(start: int, end: int, ratio: Callable[[Floats], Floats]) -> float:
    """Log of the terms from ``start`` to ``end``, relative to the first, which is the largest."""
    total, term, at, size = 1.0, 1.0, start, 64
    step = 1 if end > start else -1
    while at != end:
        count = min(size, abs(end - at))
        ratios = ratio(at + step * np.arange(count, dtype=np.float64))
        terms = term * np.cumprod(ratios)
        total += float(terms.sum())
        term = float(terms[-1])
        # Terms are log-concave: the rest is below a geometric series with the last ratio.
        if term <= 1e-17 * total * (1.0 - float(ratios[-1])):
            break
        at += step * count
        size *= 2
    return math.log(total)


def _log_pmf(i: int, population: int, bad: int, draws: int) -> float:
    """ln P[exactly ``i`` bad], without the cancellation of a difference of log factorials."""
    # Stirling's formula on both sides of the 2 x 2 table leaves the divergence of its cells from
    # what independence expects, plus the small remainders of _stirling_rest.
    from scipy.special import kl_div

    rows = np.array([bad, population - bad], dtype=np.float64)
    columns = np.array([draws, population - draws], dtype=np.float64)
    cells = np.array([[i, bad - i], [draws - i, population - bad - draws + i]], dtype=np.float64).T
    expected = np.outer(columns, rows) / population
    divergence = float(kl_div(cells, expected).sum())
    margins = np.concatenate([rows, columns])
    rest = _stirling_rest(margins).sum() - _stirling_rest(cells).sum()
    return float(rest - _stirling_rest(np.array([float(population)]))[0]) - divergence


def _stirling_rest(n: Floats) -> Floats:
    """``ln n! - (n ln n - n)``, accurate also where n is large; 0 at n = 0."""
    from scipy.special import gammaln, xlogy

    safe = np.maximum(n, 16.0)
    inverse = 1.0 / (safe * safe)
    series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / safe
    large = 0.5 * np.log(2.0 * math.pi * safe) + series
    return np.where(n < 16.0, gammaln(n + 1.0) - xlogy(n, n) + n, large)


# --- checks -----------------------------------------------------------------------------------


def _share(function: str, name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < float(value) < 1.0:
        raise invalid(name, function, "a float in the range (0, 1)", value)
    return float(value)


def _log_quarter(function: str, delta: object) -> float:
    """``ln(delta / 4)``, also where the quotient leaves the range of a double."""
    return math.log(_share(function, "delta", delta)) - math.log(4.0)


def _errors(function: str, errors: ArrayLike, m: int) -> Floats:
    k = np.asarray(errors, dtype=np.float64)
    if not ((k >= 0) & (k <= m)).all():
        raise invalid("errors", function, f"in the range [0, m] = [0, {m}]", errors)
    return k


def _whole_errors(function: str, errors: float, m: int) -> int:
    if isinstance(errors, bool) or not isinstance(errors, Real) or not float(errors).is_integer():
        hint = "it counts rows, so rows cannot have weights."
        raise invalid("errors", function, "a whole number of examples", errors, hint)
    return int(_errors(function, float(errors), m))


def _logs(function: str, log_growth: ArrayLike, log_prior: ArrayLike) -> tuple[Floats, Floats]:
    log_tau = np.asarray(log_growth, dtype=np.float64)
    log_p = np.asarray(log_prior, dtype=np.float64)
    if not (log_tau >= 0).all():
        raise invalid("log_growth", function, "the log of a count, so >= 0", log_growth)
    if not (log_p <= 0).all():
        raise invalid("log_prior", function, "the log of a probability, so <= 0", log_prior)
    return log_tau, log_p


def _plain(value: Any) -> Any:
    """A float where the inputs were scalars, else the array."""
    return float(value) if np.ndim(value) == 0 else value
