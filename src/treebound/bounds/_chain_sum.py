"""The chain lemma as a count (ours; proved in the theory notes, "Upper bounds: chains").

Fix a real feature and a direction; ``T_l`` gets the low side. Then it has, at most,

    q_1 = G_l(m) + sum_{k=1}^{m-1} d_k G_r(m-k),        d_k = G_l(k) - G_l(k+1) / n

labellings, for any bounds with ``G(k+1) <= n G(k)``. There are ``C = 2 ell`` such chains, ``ell``
where the children are equal. Two bounds on their union, with the children in either role:

- *star*: what ``T_r`` realizes alone is in every chain and counts once. With ``s`` the least ``k``
  for which ``C (d_1 + .. + d_k) >= C - 1``, its number is taken as ``G_r(m-s)``, as ``n`` where
  there is no such ``k < m``;
- *cap*: a chain whose prefixes below ``s`` were all met before adds at most
  ``q_s = G_l(m) + sum_{k>=s} d_k G_r(m-k)``; only ``binom(m, s)`` chains start new at size ``s``.

Categorical tests add at most ``B max_k G_l(k) G_r(m-k)`` (half for equal children). Without real
features tests that send all examples to one side add ``G_l(m) + G_r(m) - n``.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from treebound.bounds import _chains
from treebound.bounds._closed import pairs_of
from treebound.bounds._recursion import Features
from treebound.bounds._scaled import Scaled


def chain_sums(
    left: Scaled,
    right: Scaled,
    equal: bool,
    n_classes: int,
    features: Features,
    first: int,
    last: int,
) -> Scaled:
    """The chain lemma, categorical tests included, for sample sizes ``first`` to ``last``."""
    sums = Scaled.zeros(last + 1)
    if features.real:
        sums = chain_counts(left, right, equal, n_classes, features.real, first, last)
    if features.is_real:
        return sums
    left = _steady(left, n_classes)
    right = left if equal else _steady(right, n_classes)
    heaviest, tests = Scaled.zeros(last + 1), _categorical_pairs(features, last)
    _chains.heaviest(*left, *right, *heaviest, first, last)
    sums = sums.plus(heaviest.times(tests * 0.5 if equal else tests))
    if features.real:
        return sums
    rows = np.arange(last + 1)
    one_sided = left.at(rows)
    if not equal:
        one_sided = one_sided.plus(right.at(rows)).minus(float(n_classes))
    return sums.plus(one_sided)


def chain_counts(
    left: Scaled, right: Scaled, equal: bool, n_classes: int, thresholds: int, first: int, last: int
) -> Scaled:
    """The chain lemma for a number of threshold features, never rounded below."""
    sums = Scaled.constant(0.0, last + 1)
    count = float(thresholds if equal else 2 * thresholds)
    _chains.chains(*left, *right, equal, count, float(n_classes), *sums, first, last)
    return sums


@lru_cache(maxsize=64)
def _categorical_pairs(features: Features, last: int) -> NDArray[np.float64]:
    """``B`` for sample sizes up to ``last``."""
    pairs = [float(pairs_of(features, m).categorical) for m in range(1, last + 1)]
    return np.array([0.0, *pairs])


def _steady(values: Scaled, n_classes: int) -> Scaled:
    """Bounds that never fall and grow at most ``n``-fold from one sample size to the next."""
    steady = Scaled(values.mantissa.copy(), values.power.copy())
    _chains.steady(*steady, float(n_classes))
    return steady
