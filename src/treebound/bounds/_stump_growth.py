"""The growth function of a stump for two classes, for every sample size at once."""

from __future__ import annotations

from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from treebound.bounds._recursion import Features, distinct_features
from treebound.bounds._scaled import Scaled
from treebound.bounds.splits import feature_split_table

FloatArray = NDArray[np.float64]


@lru_cache(maxsize=1 << 12)
def stump_growth(features: Features, size: int) -> Scaled:
    """Stump theorem: ``2 + 2 pi^2`` by sample size, ``pi^2`` the largest attribution.

    See :func:`treebound.bounds.stumps.best_attribution`.
    """
    m = np.arange(size + 1)
    halves = _halves(size)
    best = np.full(size + 1, np.inf)
    whole, choices, t = np.zeros(size + 1), np.ones(size + 1), 0
    while True:
        best = np.minimum(best, whole + _made_beyond(features, size, t, True))
        best = np.minimum(best, whole + halves + _made_beyond(features, size, t, False))
        t += 1
        choices = np.maximum(choices * (m - t + 1) / t, 0.0)
        whole = whole + choices
        if not ((whole < best) & (2 * t < m)).any():
            return Scaled.of(2.0 + 2.0 * best).raised(4.0 * m + 64.0)


@lru_cache(maxsize=64)
def _halves(size: int) -> FloatArray:
    """2-partitions in two halves, for even sample sizes."""
    # From 1,000 examples on there are more than any landscape makes.
    found = np.zeros(size + 1)
    for m in range(2, size + 1, 2):
        found[m] = comb(m, m // 2) // 2 if m < 1000 else np.inf
    return found


def _made_beyond(features: Features, size: int, t: int, with_half: bool) -> FloatArray:
    """Splits that features make with part sizes above ``t``, each feature within its budget."""
    made = features.real * _made_by_one("real", 0, size, t, with_half)
    for kind, at, times in distinct_features(features):
        categories = getattr(features, kind)[at]
        made = made + times * _made_by_one(kind, categories, size, t, with_half)
    return made


@lru_cache(maxsize=1 << 10)
def _made_by_one(kind: str, categories: int, size: int, t: int, with_half: bool) -> FloatArray:
    """The same for one feature; ``with_half``: parts of equal size too."""
    m = np.arange(size + 1)
    half = ((m % 2 == 0) & (m > 0) & with_half).astype(np.float64)
    sizes = np.maximum((m - 1) // 2 - t, 0)
    made: FloatArray
    if kind == "real":
        made = 2.0 * sizes + half
    elif kind == "ordinal":
        made = np.minimum(categories - 1.0, min(2, categories - 1) * sizes + half)
    else:
        sums, budget = _nominal_sums(categories, size)
        last = np.maximum((m - 1) // 2, 0)
        made = np.minimum(budget, sums[m, last] - sums[m, np.minimum(t, last)] + half)
    return made


@lru_cache(maxsize=64)
def _nominal_sums(categories: int, size: int) -> tuple[FloatArray, FloatArray]:
    """For every m, splits of a nominal feature with part sizes up to k, and how many in all."""
    room, budget = feature_split_table("nominal", categories, size)
    sums = np.zeros((size + 1, room.shape[1]))
    sums[2:, 1:] = np.cumsum(room[:, 1:], axis=1)
    return sums, np.concatenate(([0.0, 0.0], budget))
