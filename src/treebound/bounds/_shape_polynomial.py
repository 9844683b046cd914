"""The polynomial of a shape in the chain closed form (ours; proved in the theory notes, "Chains").

With ``Z = 2 ell (n-1) X + n B``, the growth function is at most ``n P_T(Z)``, where ``X^j`` is read
as ``binom(m-1, j)`` once ``P_T(Z)`` is expanded in full:

==================================  ======================================================
a leaf                              ``P = 1``
children of different shape         ``P = P_l + P_r - 1 + Z P_l P_r``
children of equal shape             ``P = P_l + Z P_l^2 / 2``
==================================  ======================================================

The coefficients in ``Z`` depend on the shape alone; they are kept by subtree.
"""

from __future__ import annotations

import numpy as np

from treebound.bounds import _series
from treebound.bounds._cache import SizedCache
from treebound.bounds._scaled import Scaled
from treebound.shapes import TreeShape

# Coefficients that are kept, 16 bytes each.
_kept: SizedCache[Scaled] = SizedCache(1 << 22)
_ONE = Scaled(np.array([0.5]), np.array([1], dtype=np.int64))


def chain_polynomial(shape: TreeShape) -> Scaled:
    """Coefficients of ``P_T`` in ``Z``, ``L`` of them."""
    polynomial = _kept.get(shape)
    return _computed(shape) if polynomial is None else polynomial


def _computed(shape: TreeShape) -> Scaled:
    """From the subtrees that are not kept, each dropped once its last parent is done."""
    if shape.left is None or shape.right is None:
        return _ONE
    left, right = _kept.get(shape.left), _kept.get(shape.right)
    if left is not None and right is not None:
        return _joined(shape, left, right)
    parts = shape.subshapes()
    last = {child: part for part in parts for child in (part.left, part.right)}
    values: dict[TreeShape, Scaled] = {}
    for part in parts:
        polynomial = _kept.get(part)
        if part.left is None or part.right is None:
            values[part] = _ONE
            _kept.put(part, _ONE, 1)
            continue
        values[part] = polynomial or _joined(part, values[part.left], values[part.right])
        for child in {part.left, part.right}:
            if last[child] is part:
                del values[child]
    return values[shape]


def _joined(shape: TreeShape, left: Scaled, right: Scaled) -> Scaled:
    """``P_T`` from the polynomials of the children; it is kept."""
    product = Scaled.empty(shape.leaves)
    _series.joined(*left, *right, shape.left is shape.right, *product)
    _kept.put(shape, product, shape.leaves)
    return product
