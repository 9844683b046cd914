"""The closed forms of the growth function, for one shape and for all trees with ``L`` leaves.

==================  ======================================================================
symbol              meaning
==================  ======================================================================
``L``, ``N``        leaves and inner nodes, ``N = L - 1``
``n``, ``m``        classes, examples
``A``               ``2 ell``: (real feature, direction) pairs
``B``               (categorical test, direction) pairs at ``m`` examples
``sym(T)``          inner nodes with two equal children
``X^j``             means ``binom(m-1, j)``, after the polynomial is expanded in full
==================  ======================================================================

==========  ===============================================  ==================================
form        for a shape, over ``n``                          for all trees, over ``n``
==========  ===============================================  ==================================
``closed``  ``2^-sym(T) (n A X + n B)^N``                    ``Catalan(N) Y^N``,
                                                             ``Y = n ell X + n B / 2``
``chain``   ``P_T(Z)``, ``Z = 2 ell (n-1) X + n B``          ``sum_j binom(N+j,2j) Catalan(j)
                                                             Y^j``,
                                                             ``Y = ell (n-1) X + n B / 2``
==========  ===============================================  ==================================

Both are ours, not the paper's. ``P_T`` is in :mod:`treebound.bounds._shape_polynomial`. No value
is rounded below its formula.
"""

from __future__ import annotations

from functools import lru_cache
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound.bounds import _series
from treebound.bounds._recursion import UNBOUNDED, Features
from treebound.bounds._scaled import ROUNDING, Scaled, log_above, logs_above
from treebound.bounds._shape_polynomial import chain_polynomial
from treebound.shapes import TreeShape

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
# Roundings in a sum or product over the nodes of a tree, for each of them.
_PER_NODE = 64
# Ratios of real to categorical tests up to which powers are made by a recurrence (_series.pyx).
_MILD = 1e8


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
    summary = _summary(features)
    total = summary.declared if m >= summary.most_categories else _declared_tests(features, m)
    return Pairs(2 * summary.real, 2 * (total + summary.undeclared * m))


def _declared_tests(features: Features, m: int) -> int:
    nominal = sum(1 if n == 2 else min(n, m) for n in features.nominal if n < UNBOUNDED)
    return sum(min(o, m) - 1 for o in features.ordinal) + nominal


def log_all_labellings(m: int, n_classes: int) -> float:
    """``m ln n``, not rounded below."""
    return m * log(n_classes) * (1.0 + 4.0 * ROUNDING)


def _roundings(alpha: float, beta: float) -> float:
    """Roundings for each node in sums of powers of ``alpha X + beta``."""
    ratio = alpha / beta if beta else 0.0
    return _PER_NODE * (2.0 + (ratio**0.5 if ratio <= _MILD else 0.0))


def _is_constant(m: int, features: Features) -> bool:
    """Whether every tree gives all examples one label."""
    return m == 1 or features.is_empty


def log_closed_growth(shape: TreeShape, m: int, n_classes: int, features: Features) -> float:
    """Closed form for one shape; ``m ln n`` with real features only and ``m < L``."""
    if _is_constant(m, features):
        return log(n_classes)
    pairs = pairs_of(features, m)
    nodes = shape.leaves - 1
    if pairs.categorical == 0 and m <= nodes:
        return log_all_labellings(m, n_classes)
    alpha, beta = float(n_classes * pairs.real), float(n_classes * pairs.categorical)
    mantissa, power = _series.power(alpha, beta, float(m - 1), nodes)
    return log_above(mantissa * n_classes, power - shape.symmetries, _PER_NODE * shape.leaves)


def log_chain_growth(shape: TreeShape, m: int, n_classes: int, features: Features) -> float:
    """Chain closed form for one shape, at most ``m ln n``."""
    if _is_constant(m, features):
        return log(n_classes)
    pairs = pairs_of(features, m)
    alpha, beta = float((n_classes - 1) * pairs.real), float(n_classes * pairs.categorical)
    mantissa, power = _series.polynomial(alpha, beta, float(m - 1), *chain_polynomial(shape))
    value = log_above(mantissa * n_classes, power, _roundings(alpha, beta) * shape.leaves)
    return min(value, log_all_labellings(m, n_classes))


def log_closed_growth_leaves(
    leaves: IntArray, m: int, n_classes: int, features: Features
) -> FloatArray:
    """Closed form for all trees with ``L`` leaves: ``sum_T 2^-sym(T) = Catalan(L-1) / 2^(L-1)``.

    ``leaves`` rises.
    """
    if _is_constant(m, features):
        return np.full(leaves.shape, log(n_classes))
    pairs = pairs_of(features, m)
    nodes = leaves - 1
    powers, shapes = Scaled.empty(len(nodes)), Scaled.empty(len(nodes))
    alpha, beta = 0.5 * n_classes * pairs.real, 0.5 * n_classes * pairs.categorical
    _series.powers_at(alpha, beta, float(m - 1), nodes, *powers)
    _series.catalans(nodes, *shapes)
    mantissa = powers.mantissa * shapes.mantissa * n_classes
    values = logs_above(mantissa, powers.power + shapes.power, _roundings(alpha, beta) * leaves)
    if pairs.categorical == 0:
        values[leaves > m] = log_all_labellings(m, n_classes)
    return values


def log_chain_growth_leaves(
    leaves: IntArray, m: int, n_classes: int, features: Features
) -> FloatArray:
    """Chain closed form for all trees with at most ``L`` leaves, at most ``m ln n``.

    ``leaves`` rises.
    """
    if _is_constant(m, features):
        return np.full(leaves.shape, log(n_classes))
    pairs = pairs_of(features, m)
    sums = Scaled.empty(len(leaves))
    alpha, beta = 0.5 * (n_classes - 1) * pairs.real, 0.5 * n_classes * pairs.categorical
    _series.all_trees(alpha, beta, float(m - 1), leaves - 1, *sums)
    values = logs_above(sums.mantissa * n_classes, sums.power, _roundings(alpha, beta) * leaves)
    return np.minimum(values, log_all_labellings(m, n_classes))
