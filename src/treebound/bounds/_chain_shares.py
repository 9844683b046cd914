"""Chain lemma: the share of all labellings that a node realizes through threshold features.

=============  ==================================================================================
symbol         meaning
=============  ==================================================================================
share          labellings realized divided by ``2^m``; entry ``m`` of an array belongs to m examples
``A_k``        the k lowest examples of a feature; child T_1 gets them, T_2 the others
``a_k``        share of the labellings of ``A_k`` that T_1 realizes; ``a_{m+1} = 0``
``b_j``        share of the labellings of j examples that T_2 realizes
``q_s``        share realized with a prefix of at least s examples:
               ``sum_{k>=s} (a_k - a_{k+1}) b_{m-k}``
=============  ==================================================================================

Proof of ``q_0`` for one feature and direction, in two lines. Let K be the longest prefix on which
T_1 realizes a labelling; the labelling is realized if and only if T_2 realizes it on the others.
K = k depends on the examples 1 .. k+1, the rest on k+1 .. m, and by symmetry of the labels the
chance of the second is the same whatever the label of example k+1: the two are independent. Ties
between examples only remove prefixes: for ordinal features ``q_0`` is an upper bound.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from treebound.bounds._scaled import Scaled

__all__ = ["chain_shares", "ratios", "shares"]

FloatArray = NDArray[np.float64]
# Beyond this many examples the refinements, which need a table of all prefixes, are left out.
_MOST_REFINED = 512
# No share is taken to be smaller: still an upper bound, and far from underflow.
_LEAST = 1e-290
# Counts above 2**53 are rounded to nearest in a few thousand operations each.
_ROUNDING = 1e-11


def ratios(counts: Scaled) -> FloatArray:
    """Counts divided by ``2^m``, rounded up; what is more than all labellings may be less here."""
    m = np.arange(len(counts.power))
    above = np.where(m > 53, 1 + _ROUNDING, 1.0)
    by = np.clip(counts.power - m, -1100, 100).astype(np.int32)
    return np.maximum(np.ldexp(counts.mantissa * above, by), _LEAST)


def shares(growth: Scaled) -> FloatArray:
    """Shares from upper bounds on a growth function for two classes, rounded up.

    A growth function never falls, and no more than doubles with one example more; so neither need
    its bound. Then the shares fall, and no faster than by half: both is used below.
    """
    share = ratios(growth)
    share[0] = 1.0
    share = np.minimum.accumulate(np.minimum(share, 1.0))
    m = np.arange(len(share))
    with np.errstate(over="ignore"):
        counts = np.minimum.accumulate(np.ldexp(share, m)[::-1])[::-1]
    return np.minimum(share, np.ldexp(counts, -m))


def chain_shares(one: FloatArray, other: FloatArray, features: int, same: bool) -> FloatArray:
    """Chain lemma for a number of threshold features: the share for every sample size.

    Parameters
    ----------
    one, other : ndarray
        Shares of the children, from :func:`shares`.
    features : int
        Number of features.
    same : bool
        Whether the children are of one shape: then the two directions of a feature are one.
    """
    chains = float(features if same else 2 * features)
    found = _union(one, other, chains)
    if not same:
        found = np.minimum(found, _union(other, one, chains))
    return np.minimum(found, 1.0)


def _union(a: FloatArray, b: FloatArray, chains: float) -> FloatArray:
    """At most the sum over all chains, with the better of two refinements."""
    size = len(a) - 1
    # Terms are positive; each is off by a few roundings, a sum by one for each term.
    up = 1 + (size + 8) * 2.0**-52
    if size > _MOST_REFINED:
        # The last prefix is the whole sample: T_2 gets nothing, and a_{m+1} = 0.
        nonempty = np.concatenate(([0.0], b[1:]))
        return chains * (np.convolve(a[:-1] - a[1:], nonempty)[: size + 1] + a) * up
    m, k = np.arange(size + 1)[:, None], np.arange(size + 1)[None, :]
    fall = np.where(k < m, np.append(a[:-1] - a[1:], 0.0), np.where(k == m, a, 0.0))
    others = b[np.maximum(m - k, 0)]
    q = np.cumsum((fall * others)[:, ::-1], axis=1)[:, ::-1]
    return np.minimum(_capped(q, chains), _starred(q, fall, others, chains, up)) * up


def _capped(q: FloatArray, chains: float) -> FloatArray:
    """Cap: of the chains, only binom(m, s) first meet a new prefix at size s, and add q_s."""
    met = np.minimum(_prefixes_up_to(len(q) - 1), chains)
    added = np.diff(met, axis=1)
    return np.asarray((added * q[:, 1:]).sum(axis=1))


def _starred(
    q: FloatArray, fall: FloatArray, others: FloatArray, chains: float, up: float
) -> FloatArray:
    """Star: what T_2 alone realizes lies in every chain, so count it once.

    With x the true share of T_2 alone the union is at most
    ``C sum_{k>=1} (a_k - a_{k+1}) min(b_{m-k}, 2^k x) - (C - 1) x``: with k examples less T_2
    realizes no more than the share ``2^k x``. The largest value over x is at one of
    ``x_t = b_{m-t} / 2^t``, which fall with t.
    """
    k = np.arange(q.shape[1])
    x = np.ldexp(others, -k[None, :])
    inside = np.cumsum(np.where(k >= 1, np.ldexp(fall, k[None, :]), 0.0), axis=1)
    beyond = np.concatenate((q[:, 1:], np.zeros((len(q), 1))), axis=1)
    value = chains * (x * inside + beyond) * up - (chains - 1) * x
    return np.asarray(np.where(k[None, :] <= k[:, None], value, 0.0).max(axis=1))


@lru_cache(maxsize=16)
def _prefixes_up_to(size: int) -> FloatArray:
    """``sum_{1<=j<=s} binom(m, j)`` for s < m, a row for each m; one prefix for m = 1."""
    met = np.zeros((size + 1, size + 1))
    met[:2, 1:] = 1.0
    for m in range(2, size + 1):
        choose = 1.0
        for s in range(1, m):
            choose = min(choose * (m - s + 1) / s, 1e15)
            met[m, s] = met[m, s - 1] + choose
        met[m, m:] = met[m, m - 1]
    return met
