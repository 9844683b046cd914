"""The closed form of the growth function (theory notes, section 2), for a shape and for all trees.

``n^L 2^-sym(T) sum_{j=0}^{N} binom(N,j) A^j B^(N-j) binom(m-1, j)``

==================  ======================================================================
symbol              meaning
==================  ======================================================================
``L``, ``N``        leaves and inner nodes, ``N = L - 1``
``n``, ``m``        classes, examples
``A``               ``2 ell``: (real feature, direction) pairs
``B``               (categorical test, direction) pairs
``sym(T)``          inner nodes with two equal children
==================  ======================================================================
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, inf, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound.bounds._recursion import UNBOUNDED, Features
from treebound.bounds.counting import log_binomial, log_catalan
from treebound.shapes import TreeShape

__all__ = ["log_closed_growth", "log_closed_growth_leaves"]

IntArray = NDArray[np.integer[Any]]
FloatArray = NDArray[np.float64]
LN2 = log(2)


class Pairs(NamedTuple):
    """(test, direction) pairs of one node: ``A`` of real features, ``B`` of categorical ones."""

    real: int
    categorical: int


class _Summary(NamedTuple):
    real: int
    declared: int
    undeclared: int
    most_categories: int


@lru_cache(maxsize=1024)
def _summary(features: Features) -> _Summary:
    """What a node may test once there are at least as many examples as categories."""
    declared = [n for n in features.nominal if n < UNBOUNDED]
    total = sum(o - 1 for o in features.ordinal) + sum(1 if n == 2 else n for n in declared)
    most = max([*features.ordinal, *declared], default=0)
    return _Summary(features.real, total, len(features.nominal) - len(declared), most)


def pairs_of(features: Features, m: int) -> Pairs:
    """``A`` and ``B`` at ``m`` examples."""
    known = _summary(features)
    total = known.declared if m >= known.most_categories else _declared_tests(features, m)
    return Pairs(2 * known.real, 2 * (total + known.undeclared * m))


def _declared_tests(features: Features, m: int) -> int:
    nominal = sum(1 if n == 2 else min(n, m) for n in features.nominal if n < UNBOUNDED)
    return sum(min(o, m) - 1 for o in features.ordinal) + nominal


def log_closed_growth(shape: TreeShape, m: int, n_classes: int, features: Features) -> float:
    """Closed form for one shape; ``m ln n`` with real features only and ``m < L``."""
    pairs = pairs_of(features, m)
    if m == 1 or (pairs.real == 0 and pairs.categorical == 0):
        return log(n_classes)
    leaves = shape.leaves
    if pairs.categorical == 0 and m < leaves:
        return m * log(n_classes)
    labels = leaves * log(n_classes) - shape.symmetries * LN2
    return labels + _log_split_choices(leaves - 1, m, pairs)


def log_closed_growth_leaves(
    leaves: IntArray, m: int, n_classes: int, features: Features
) -> FloatArray:
    """Closed form for all trees with ``L`` leaves: ``sum_T 2^-sym(T) = Catalan(L-1) / 2^(L-1)``."""
    pairs = pairs_of(features, m)
    if m == 1 or (pairs.real == 0 and pairs.categorical == 0):
        return np.full(leaves.shape, log(n_classes))
    shapes = log_catalan(leaves - 1) - (leaves - 1) * LN2
    values = leaves * log(n_classes) + shapes + _log_split_choices_many(leaves - 1, m, pairs)
    if pairs.categorical == 0:
        values = np.where(leaves > m, m * log(n_classes), values)
    return values


def _log_split_choices(nodes: int, m: int, pairs: Pairs) -> float:
    """``ln f_N(m)``, ``f_N(m) = sum_j binom(N,j) A^j B^(N-j) binom(m-1,j)``."""
    if pairs.categorical == 0:
        return nodes * log(pairs.real) + log_binomial(m - 1, nodes)
    if pairs.real == 0 or nodes == 0:
        return nodes * log(pairs.categorical)
    ratio = pairs.real / pairs.categorical
    # terms[j] / terms[j-1] = (N-j+1) (m-j) A / (j^2 B); past j = m-1 they are zero.
    count = min(nodes, m - 1)
    fixed, steps = _ratio_table(nodes)
    logs = (fixed[:count] + np.log(m - steps[:count]) + log(ratio)).cumsum()
    top = float(logs.max())
    if top <= 0.0:
        rest = log(1.0 + float(np.exp(logs).sum()))
    else:
        rest = top + log(float(np.exp(logs - top).sum()) + exp(-top))
    return nodes * log(pairs.categorical) + rest


@lru_cache(maxsize=256)
def _ratio_table(nodes: int) -> tuple[FloatArray, FloatArray]:
    steps = np.arange(1.0, nodes + 1.0)
    return np.log((nodes - steps + 1.0) / steps**2), steps


def _log_split_choices_many(nodes: IntArray, m: int, pairs: Pairs) -> FloatArray:
    """``ln f_N(m)`` for many ``N`` at once."""
    most = int(min(nodes.max(initial=0), m - 1))
    if pairs.categorical == 0:
        steps = np.arange(1, most + 1)
        chosen = np.concatenate(([0.0], np.log((m - steps) / steps).cumsum()))
        return np.where(nodes < m, nodes * log(pairs.real) + chosen[np.minimum(nodes, most)], -inf)
    if pairs.real == 0:
        return nodes * np.float64(log(pairs.categorical))
    table = _log_meixner(most, m - 1, pairs.real / pairs.categorical)
    values = table[np.minimum(nodes, most)] + nodes * log(pairs.categorical)
    for at in zip(*np.nonzero(nodes > most), strict=True):
        values[at] = _log_split_choices(int(nodes[at]), m, pairs)
    return values


def _log_meixner(most: int, x: int, z: float) -> FloatArray:
    """``ln sum_j binom(N,j) binom(x,j) z^j`` for N = 0..most, ``most <= x``.

    These are Meixner polynomials ``F(-N, -x; 1; z)``; their three-term recurrence, written for
    the relative growth ``s_N = F_{N+1}/F_N - 1``, contracts errors as long as ``N <= x``.
    """
    growth = np.empty(most)
    s = 0.0
    for n in range(most):
        s = (z * x + n * (1.0 - z) * s / (1.0 + s)) / (n + 1)
        growth[n] = s
    return np.concatenate(([0.0], np.log1p(growth).cumsum()))
