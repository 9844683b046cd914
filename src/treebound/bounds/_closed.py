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

Both are ours, not the paper's (theory notes, "Chains"). ``P_T`` depends on the shape alone; its
coefficients in ``Z`` are kept by subtree:

==================================  ======================================================
a leaf                              ``P = 1``
children of different shape         ``P = P_l + P_r - 1 + Z P_l P_r``
children of equal shape             ``P = P_l + Z P_l^2 / 2``
==================================  ======================================================

No value is rounded below its formula.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log

import numpy as np

from treebound._utils.arrays import Floats, Ints
from treebound.bounds import _sums
from treebound.bounds._cache import SizedCache, from_below
from treebound.bounds._scaled import ROUNDING, Numbers, constant, log_above, logs_above, zeros
from treebound.bounds.splits import Features, categorical_tests
from treebound.shapes import TreeShape

# Roundings in a sum or product over the nodes of a tree, for each of them.
_PER_NODE = 64
# Ratios of real to categorical tests up to which powers are made by a recurrence (_sums.pyx).
_MILD = 1e8
# Coefficients that are kept, 16 bytes each.
_kept: SizedCache[Numbers] = SizedCache(1 << 22)


def log_all_labellings(m: int, n_classes: int) -> float:
    """``m ln n``, not rounded below."""
    return m * log(n_classes) * (1.0 + 4.0 * ROUNDING)


def _roundings(alpha: float, beta: float) -> float:
    """Roundings for each node in sums of powers of ``alpha X + beta``."""
    ratio = alpha / beta if beta else 0.0
    return _PER_NODE * (2.0 + (ratio**0.5 if ratio <= _MILD else 0.0))


def _is_constant(m: int, features: Features) -> bool:
    """Return True if every tree gives all examples one label."""
    return m == 1 or features.is_empty


def _factors(m: int, n_classes: int, features: Features, labels: int) -> tuple[float, float]:
    """``alpha = labels A`` and ``beta = n B`` of the factor ``alpha X + beta`` of a node."""
    return float(2 * labels * features.real), float(2 * n_classes * categorical_tests(features, m))


def log_closed_growth(shape: TreeShape, m: int, n_classes: int, features: Features) -> float:
    """Closed form for one shape; ``m ln n`` with real features only and ``m < L``."""
    if _is_constant(m, features):
        return log(n_classes)
    alpha, beta = _factors(m, n_classes, features, n_classes)
    if beta == 0.0 and m < shape.leaves:
        return log_all_labellings(m, n_classes)
    mantissa, power = _sums.power(alpha, beta, float(m - 1), shape.nodes)
    return log_above(mantissa * n_classes, power - shape.symmetries, _PER_NODE * shape.leaves)


def log_chain_growth(shape: TreeShape, m: int, n_classes: int, features: Features) -> float:
    """Chain closed form for one shape, at most ``m ln n``."""
    if _is_constant(m, features):
        return log(n_classes)
    alpha, beta = _factors(m, n_classes, features, n_classes - 1)
    coefficients = from_below(shape, _kept.get, _polynomial)
    mantissa, power = _sums.polynomial(alpha, beta, float(m - 1), coefficients)
    value = log_above(mantissa * n_classes, power, _roundings(alpha, beta) * shape.leaves)
    return min(value, log_all_labellings(m, n_classes))


def _polynomial(shape: TreeShape, below: dict[TreeShape, Numbers]) -> Numbers:
    """The ``L`` coefficients of ``P_T`` from those of the children; they are kept."""
    result = constant(1.0, shape.leaves)
    if shape.left is not None and shape.right is not None:
        left, right = below[shape.left], below[shape.right]
        _sums.joined(left, right, shape.left is shape.right, result)
    _kept.put(shape, result, shape.leaves)
    return result


def log_closed_growth_leaves(leaves: Ints, m: int, n_classes: int, features: Features) -> Floats:
    """Closed form for all trees with ``L`` leaves: ``sum_T 2^-sym(T) = Catalan(L-1) / 2^(L-1)``."""
    shapes = zeros(len(leaves))
    _sums.catalans(leaves - 1, shapes)
    values = _log_sums(leaves, m, n_classes, features, n_classes, _sums.powers_at, shapes)
    if not _is_constant(m, features) and features.is_real:
        values[leaves > m] = log_all_labellings(m, n_classes)
    return values


def log_chain_growth_leaves(leaves: Ints, m: int, n_classes: int, features: Features) -> Floats:
    """Chain closed form for all trees with at most ``L`` leaves, at most ``m ln n``."""
    values = _log_sums(
        leaves, m, n_classes, features, n_classes - 1, _sums.all_trees, constant(1.0, 1)
    )
    return np.minimum(values, log_all_labellings(m, n_classes))


def _log_sums(
    leaves: Ints,
    m: int,
    n_classes: int,
    features: Features,
    labels: int,
    sums_of: Callable[..., None],
    times: Numbers,
) -> Floats:
    """Logs of ``n times`` a sum over the trees of each number of leaves, which rises."""
    if _is_constant(m, features):
        return np.full(leaves.shape, log(n_classes))
    alpha, beta = (0.5 * factor for factor in _factors(m, n_classes, features, labels))
    sums = zeros(len(leaves))
    sums_of(alpha, beta, float(m - 1), leaves - 1, sums)
    mantissa = sums["mantissa"] * times["mantissa"] * n_classes
    return logs_above(mantissa, sums["power"] + times["power"], _roundings(alpha, beta) * leaves)
