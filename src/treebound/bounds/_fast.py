"""The fast forms of the growth function: every split of a node counts as much as the heaviest.

Two of them:

- *printed*: Algorithm LogGrowthFuncUB, ``(m-1) R`` splits with ``R = 2 ell + 2 omega + m nu``
  (uncapped, and m - 1 of them: errata 6 and 7), subtrees at ``m - 1``;
- *total*: ``2 B(m)`` splits, ``B`` the budget of the node; with real features only
  ``2 ell (m - L + 1)`` of them, subtrees at ``m - L_r`` and ``m - L_l``.

No sum over parts is needed (theory notes, section 1): with ``G = sum_c (n)_c pi^c`` each node is
``G = n + W (G_l G_r - n)``, ``W`` the number of splits. Where ``S(m, c)`` cuts some ``pi^c``, which
happens in small samples, they are summed as exact integers.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, log, perm

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats
from treebound.bounds import _sums
from treebound.bounds._closed import log_all_labellings
from treebound.bounds._recursion import Recursion, fast_rule, plan_of
from treebound.bounds._scaled import ROUNDING, log_above
from treebound.bounds.counting import log_falling_factorial
from treebound.bounds.splits import Features, node_budget_table
from treebound.shapes import TreeShape, children

# Products of integers, over all nodes, up to which ``pi^c`` is followed for every ``c``.
_MAX_PRODUCTS = 5e5


def log_fast_growth(
    shape: TreeShape, m: int, n_classes: int, features: Features, *, total: bool
) -> float:
    """Algorithm LogGrowthFuncUB: ``ln sum_c (n)_c pi^c`` with a fast form of ``pi^c``."""
    if n_classes == 1 or m == 1 or shape.left is None or features.is_empty:
        return log(n_classes)
    value = _log_product(shape, m, n_classes, features, total=total) if m > shape.leaves else inf
    if value > _smallest_cap(shape, m, n_classes):
        value = min(value, _log_sum(shape, m, n_classes, features, total=total))
    return value


def _log_sum(shape: TreeShape, m: int, n_classes: int, features: Features, *, total: bool) -> float:
    """The sum over parts, each at most ``S(m, c)``; all labellings where it takes too long."""
    parts = min(n_classes, shape.leaves, m)
    if _products(shape, total and features.is_real, parts) > _MAX_PRODUCTS:
        return log_all_labellings(m, n_classes)
    recursion = Recursion(fast_rule(within_budget=total), parts)
    recursion.prepare(shape, m, features, fast=True)
    counts = recursion(shape, m, features)
    value = log(sum(perm(n_classes, c) * count for c, count in enumerate(counts, start=1)))
    return value * (1.0 + 4.0 * ROUNDING)


@lru_cache(maxsize=512)
def _products(shape: TreeShape, by_leaves: bool, parts: int) -> int:
    """Products of two ``pi^c``, and caps, over all nodes."""
    work = 0
    for part, _ in plan_of(shape, by_leaves):
        left, right = (min(child.leaves, parts) for child in children(part))
        work += left * right * min(left, right) + parts * parts
    return work


def _smallest_cap(shape: TreeShape, m: int, n_classes: int) -> float:
    """A growth below this is nowhere cut by ``S(m, c)``, at the root or under it."""
    # S(m,c) >= c^(m-c), and (m-c) ln c + ln (n)_c is concave in c: its ends decide.
    most = min(n_classes, shape.leaves)
    m -= shape.leaves
    if m <= 0:
        return -inf
    return min((m - c) * log(c) + log_falling_factorial(n_classes, c) for c in (2, most))


@lru_cache(maxsize=512)
def _plan_arrays(
    shape: TreeShape, by_leaves: bool
) -> tuple[Floats, Floats, Floats, NDArray[np.int32]]:
    """Of each node: examples it lacks, leaves, 1 / directions, and its children (a leaf is -1)."""
    plan = plan_of(shape, by_leaves)
    at = {step: place for place, step in enumerate(plan)}
    places = []
    for part, fewer in plan:
        left, right = children(part)
        of_left, of_right = (right.leaves, left.leaves) if by_leaves else (1, 1)
        places.append((at.get((left, fewer + of_left), -1), at.get((right, fewer + of_right), -1)))
    smaller, leaves, halved = np.array(
        [(fewer, part.leaves, 0.5 if part.left is part.right else 1.0) for part, fewer in plan]
    ).T
    return smaller, leaves, halved, np.array(places, dtype=np.int32)


def _log_product(
    shape: TreeShape, m: int, n_classes: int, features: Features, *, total: bool
) -> float:
    """``ln G`` by ``G = n + W (G_l G_r - n)`` at every node: O(1) per node for any ``n``."""
    by_leaves = total and features.is_real
    smaller, leaves, halved, places = _plan_arrays(shape, by_leaves)
    here = m - smaller
    if not total:
        thresholds = 2.0 * (features.real + len(features.ordinal))
        splits = (here - 1.0) * (thresholds + len(features.nominal) * here)
    elif by_leaves:
        splits = 2.0 * features.real * (here - leaves + 1.0)
    else:
        splits = 2.0 * node_budget_table(features, np.maximum(here, 1.0))
    mantissa, power = _sums.product(np.maximum(splits, 0.0) * halved, places, float(n_classes))
    return log_above(mantissa, power, 16 * shape.leaves)
