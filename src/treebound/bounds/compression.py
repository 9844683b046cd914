"""The compression bound: a tree described by a few training rows and a message.

=========  ==================================================================================
m          number of training rows
r          number of distinct rows that name splits
N          number of splits that are named by a row
L, n, ell  leaves, classes, columns
W          weight of the message: the level of this tree is ``delta / W``
=========  ==================================================================================

Ours, not in the paper. The plane shape of the tree with its labels, the column of every split,
what a split needs beside a row, and the *multiset* of the rows that name the splits determine the
tree. Given the message and the named rows, the tree is fixed, and the other ``m - r`` rows are
independent of it.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, inf, isinf, log, log1p, nextafter, pi

import numpy as np

from treebound.bounds.counting import log_binomial

__all__ = ["log_labelled_plane_shapes", "log_message_weight", "risk_upper"]

# Every sum of logarithms below has fewer than 10^6 terms, each off by less than 10^-15 of itself.
_SLACK = 1.0 + 1e-9


@lru_cache(maxsize=1024)
def log_labelled_plane_shapes(leaves: int, n_classes: int) -> float:
    """Log of a_L: plane trees with L labelled leaves of which no two siblings have one label.

    ``a_1 = n``, ``a_2 = n^2 - n``, ``a_L = sum a_i a_(L-i)``. The generating function A satisfies
    ``A = n x - n x^2 + A^2``, so that ``sqrt(1 - 4 n x + 4 n x^2) = 1 - 2 A`` and
    ``(L + 1) a_(L+1) = 2 n (2 L - 1) a_L - 4 n (L - 2) a_(L-1)``.

    Parameters
    ----------
    leaves : int
        Number of leaves ``L``.
    n_classes : int
        Number of classes ``n``.

    Returns
    -------
    float
        -inf for one class and more than one leaf.

    Examples
    --------
    >>> [round(exp(log_labelled_plane_shapes(leaves, 2))) for leaves in (1, 2, 3, 4)]
    [2, 2, 8, 36]
    """
    n = float(n_classes)
    if leaves == 1:
        return log(n)
    if n_classes == 1:
        return -inf
    total, ratio = log(n) + log(n - 1.0), n - 1.0  # a_2 and a_2 / a_1
    for size in range(2, leaves):
        ratio = (2.0 * n * (2 * size - 1) - 4.0 * n * (size - 2) / ratio) / (size + 1)
        total += log(ratio)
    return total


def log_message_weight(
    m: int, leaves: int, n_classes: int, n_columns: int, log_splits: float, named: int, rows: int
) -> float:
    """Log of W, the weight of the message that describes a tree.

    ``W = (pi^2 L^2 / 6) a_L ell^(L-1) S N binom(m, r) binom(N-1, r-1)``, rounded up.

    Parameters
    ----------
    m : int
        Training rows.
    leaves, n_classes, n_columns : int
        Number of leaves, classes and columns.
    log_splits : float
        Log of S, the number of ways in which the splits could differ beside column and row.
    named : int
        N, splits that are named by a row.
    rows : int
        r, distinct rows that name them.

    Returns
    -------
    float
        At least the log of W.

    Examples
    --------
    >>> round(log_message_weight(1000, 4, 2, 20, 0.0, 3, 3), 4)
    35.8681
    """
    terms = [
        log(pi * pi / 6.0) + 2.0 * log(leaves),
        log_labelled_plane_shapes(leaves, n_classes),
        (leaves - 1) * log(max(n_columns, 1)),
        log_splits,
    ]
    if named:
        terms += [log(named), log_binomial(m, rows), log_binomial(named - 1, rows - 1)]
    return sum(terms) * _SLACK


def risk_upper(rows: int, errors: int, log_level: float) -> float:
    """U: the largest p with ``P[Bin(rows, p) <= errors] >= e^log_level``, rounded up.

    Clopper and Pearson's bound, for levels of any size.

    Parameters
    ----------
    rows : int
        Number of rows that the tree does not depend on.
    errors : int
        How many of them the tree gets wrong.
    log_level : float
        Natural log of the probability with which the bound may fail.

    Returns
    -------
    float
        In (0, 1].

    Examples
    --------
    >>> round(risk_upper(400, 12, log(0.05)), 4)
    0.0482
    """
    if errors >= rows:
        return 1.0
    if log_level > -300.0:  # the inverse of scipy loses digits below e^-600
        from scipy.special import betainccinv

        found = float(betainccinv(errors + 1.0, float(rows - errors), exp(log_level)))
        return min(1.0, nextafter(found * _SLACK, inf))
    low, high = errors / rows, 1.0
    while high - low > 1e-13 * high:
        middle = 0.5 * (low + high)
        if _log_tail(rows, errors, middle) >= log_level:
            low = middle
        else:
            high = middle
    return min(1.0, nextafter(high * _SLACK, inf))


def _log_tail(n: int, k: int, p: float) -> float:
    """Log of ``P[Bin(n, p) <= k]`` for p of at least k / n: the largest term is the last."""
    if p >= 1.0:
        return -inf
    top = log_binomial(n, k) + k * log(p) + (n - k) * log1p(-p) if k else n * log1p(-p)
    # term(j - 1) / term(j) = j (1 - p) / ((n - j + 1) p), less than one below k
    j = np.arange(k, max(0, k - 100_000), -1, dtype=np.float64)
    with np.errstate(divide="ignore"):
        ratios = np.log(j) + log1p(-p) - np.log(n - j + 1.0) - log(p)
    below = np.exp(np.cumsum(ratios)).sum() if len(j) else 0.0
    return top if isinf(top) else top + log1p(float(below))
