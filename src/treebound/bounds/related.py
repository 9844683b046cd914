"""Formulas from related work, as small functions to compare with."""

from __future__ import annotations

from math import comb, log

import numpy as np

from treebound.bounds._checks import check_at_most, check_int, check_size
from treebound.bounds.counting import log_integer

__all__ = [
    "axis_parallel_cut_vc_dimension",
    "binary_stump_vc_dimension",
    "log_sauer_shelah",
    "rank_tree_vc_dimension",
    "sauer_shelah",
]


def sauer_shelah(m: int, vc_dimension: int) -> int:
    """Sauer-Shelah lemma: ``sum_{i<=d} binom(m, i)`` bounds a growth function for two classes.

    Parameters
    ----------
    m : int
        Number of examples.
    vc_dimension : int
        The VC dimension ``d``, or an upper bound on it.

    Returns
    -------
    int

    Examples
    --------
    >>> sauer_shelah(10, 3), sauer_shelah(3, 5)
    (176, 8)
    """
    m = check_int("m", m, "sauer_shelah")
    d = check_int("vc_dimension", vc_dimension, "sauer_shelah", least=0)
    if d >= m:
        return 1 << check_at_most("m", m, "sauer_shelah", 10**7)
    term = total = 1
    for i in range(1, d + 1):
        term = term * (m - i + 1) // i
        total += term
    return total


def log_sauer_shelah(m: int, vc_dimension: int) -> float:
    """Natural logarithm of :func:`~treebound.bounds.related.sauer_shelah`.

    Parameters
    ----------
    m : int
        Number of examples.
    vc_dimension : int
        The VC dimension ``d``, or an upper bound on it.

    Returns
    -------
    float

    Examples
    --------
    >>> round(log_sauer_shelah(10**6, 3), 6)
    39.654772
    """
    m = check_size("m", m, "log_sauer_shelah")
    d = check_int("vc_dimension", vc_dimension, "log_sauer_shelah", least=0)
    if d >= m:
        return m * log(2)
    if d <= 1000:
        return log_integer(sauer_shelah(m, d))
    i = np.arange(1.0, check_at_most("vc_dimension", d, "log_sauer_shelah", 10**7) + 1)
    return float(np.logaddexp.reduce(np.log((m - i + 1) / i).cumsum(), initial=0.0))


def binary_stump_vc_dimension(features: int) -> int:
    """Stumps on binary features (Yildiz 2015): ``floor(log2(ell + 1)) + 1``, exact.

    Parameters
    ----------
    features : int
        Number of binary features ``ell``.

    Returns
    -------
    int

    Examples
    --------
    >>> [binary_stump_vc_dimension(features) for features in (1, 2, 3, 6, 7)]
    [2, 2, 3, 3, 4]
    """
    features = check_int("features", features, "binary_stump_vc_dimension")
    return (features + 1).bit_length()


def axis_parallel_cut_vc_dimension(real: int) -> int:
    """Axis-parallel cuts (Gey 2018): the largest ``d`` with ``ell >= binom(d, floor(d/2))``.

    A cut is a stump whose left leaf always says 0 and right leaf always 1.

    Parameters
    ----------
    real : int
        Number of real features ``ell``.

    Returns
    -------
    int

    Examples
    --------
    >>> [axis_parallel_cut_vc_dimension(real) for real in (1, 2, 3, 6, 10)]
    [1, 2, 3, 4, 5]
    """
    return largest_central(check_int("real", real, "axis_parallel_cut_vc_dimension"))


def largest_central(limit: int) -> int:
    """The largest ``d`` with ``binom(d, floor(d/2)) <= limit``."""
    d = 1
    while comb(d + 1, (d + 1) // 2) <= limit:
        d += 1
    return d


def rank_tree_vc_dimension(rank: int, features: int) -> int:
    """Trees of rank at most ``r`` on binary features (Simon 1991): ``sum_{i<=r} binom(ell, i)``.

    Parameters
    ----------
    rank : int
        The largest rank ``r``.
    features : int
        Number of binary features ``ell``.

    Returns
    -------
    int

    Examples
    --------
    >>> rank_tree_vc_dimension(2, 5)
    16
    """
    rank = check_int("rank", rank, "rank_tree_vc_dimension", least=0)
    features = check_int("features", features, "rank_tree_vc_dimension")
    return sum(comb(features, i) for i in range(rank + 1))
