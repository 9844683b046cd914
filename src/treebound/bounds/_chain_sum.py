"""The chain lemma as a count (ours, not in the paper): how many labellings one split order gives.

Fix a real feature and a direction; ``T_l`` gets the low side. Let ``A_k`` be the first ``k`` of the
``m`` examples. A labelling is realized exactly if ``T_r`` realizes it on what is left of the
longest prefix on which ``T_l`` does. The event "the longest prefix is ``A_k``" depends on the
first ``k + 1`` labels, the other one on the labels from ``k + 1`` on; by symmetry its share is the
same whatever the one label they have in common. So the chain has, exactly,

    q_1 = G_l(m) + sum_{k=1}^{m-1} d_k G_r(m-k),        d_k = G_l(k) - G_l(k+1) / n

labellings, ``G`` the number of labellings on the sets at hand. It remains a bound when both are
replaced by upper bounds with ``G(k+1) <= n G(k)``: by Abel summation it rises with each of them.

There are ``C = 2 ell`` chains, ``ell`` where the children are equal. Two bounds on their union:

- *star*: ``F_r(S)``, the labellings of ``T_r`` alone, is in every chain and counts once. Its number
  ``x`` is only known to be at most ``G_r(m)``, so the largest value over ``x`` is taken:
  ``C (G_l(m) + sum_k d_k min(G_r(m-k), x)) - (C-1) x``, concave in ``x``. With ``s`` the least
  ``k`` for which ``C (d_1 + .. + d_k) >= C - 1``, the largest is at ``x = G_r(m-s)``.
- *cap*: a chain whose prefixes below ``s`` were all met before adds at most
  ``q_s = G_l(m) + sum_{k>=s} d_k G_r(m-k)``; only ``binom(m, s)`` chains start new at size ``s``.

The lesser of both, with the children in either role, is taken. Categorical tests add at most
``B max_k G_l(k) G_r(m-k)`` (half for equal children). Without real features tests that send all
examples to one side add ``G_l(m) + G_r(m) - n``; with real features the chains have these already.
"""

from __future__ import annotations

import numpy as np

from treebound.bounds import _convolve
from treebound.bounds._closed import pairs_of
from treebound.bounds._recursion import Features
from treebound.bounds._scaled import ROUNDING, Scaled

__all__ = ["chain_sums"]


def chain_sums(
    left: Scaled,
    right: Scaled,
    equal: bool,
    n_classes: int,
    features: Features,
    first: int,
    last: int,
) -> list[Scaled]:
    """The chain lemma for sample sizes ``first`` to ``last``, for each role of the children."""
    left = _steady(left, n_classes)
    right = left if equal else _steady(right, n_classes)
    categorical = _categorical(left, right, equal, n_classes, features, first, last)
    if not features.real:
        return [categorical]
    count = float(features.real if equal else 2 * features.real)
    roles = [(left, right)] if equal else [(left, right), (right, left)]
    made = [_chains(one, other, count, n_classes, first, last) for one, other in roles]
    return made if features.is_real else [one.plus(categorical) for one in made]


def _steady(values: Scaled, n_classes: int) -> Scaled:
    """Bounds that rise, by a factor of at most ``n`` from one sample size to the next."""
    found = Scaled(values.mantissa.copy(), values.power.copy())
    _convolve.steady(*found, float(n_classes))
    return found


def _chains(
    left: Scaled, right: Scaled, count: float, n_classes: int, first: int, last: int
) -> Scaled:
    fall = _fall(left, n_classes)
    start, head = _star(fall, count, last)
    made = Scaled.constant(0.0, last + 1)
    _convolve.chains(*fall, *left, *right, count, start, head, count > first, *made, first, last)
    return made


def _fall(left: Scaled, n_classes: int) -> Scaled:
    """``d_k = G_l(k) - G_l(k+1) / n``; a difference within rounding is zero."""
    here = Scaled(left.mantissa[:-1], left.power[:-1])
    after = Scaled(left.mantissa[1:], left.power[1:]).times(1.0 / n_classes)
    by = np.clip(after.power - here.power, -1100, 2).astype(np.int32)
    rest = here.mantissa - np.ldexp(after.mantissa, by)
    rest[rest <= 8.0 * ROUNDING * here.mantissa] = 0.0
    return Scaled.of(rest, here.power)


def _star(fall: Scaled, count: float, last: int) -> tuple[int, float]:
    """``s`` and ``C (d_1 + .. + d_s) - C + 1``, rounded up; 0 and 0 for the sum of all chains."""
    total = 0.0
    for s in range(1, last):
        if fall.power[s] > 900:
            break
        total += float(np.ldexp(fall.mantissa[s], fall.power[s]))
        if count * total >= count - 1.0:
            return s, count * total * (1.0 + 8.0 * ROUNDING) - count + 1.0
    return 0, 0.0


def _categorical(
    left: Scaled,
    right: Scaled,
    equal: bool,
    n_classes: int,
    features: Features,
    first: int,
    last: int,
) -> Scaled:
    """What categorical tests add, and without real features the tests to one side too."""
    made = Scaled.constant(0.0, last + 1)
    if features.is_real:
        return made
    _convolve.heaviest(*left, *right, *made, first, last)
    tests = np.zeros(last + 1)
    tests[first:] = [float(pairs_of(features, m).categorical) for m in range(first, last + 1)]
    made = made.times(tests * 0.5 if equal else tests)
    if features.real:
        return made
    rows = np.arange(last + 1)
    one_sided = left.at(rows)
    if not equal:
        one_sided = one_sided.plus(right.at(rows)).minus(float(n_classes))
    return made.plus(one_sided)
