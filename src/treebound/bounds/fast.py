"""The fast forms: every split of a node counts as much as the largest, so no sum over sizes.

Two of them, as logarithms and as growth functions (exact integers: ``_rules.fast_rule``):

- *printed*: Algorithm LogPartiFuncUB, ``(m-1) R`` splits with ``R = 2 ell + 2 omega + m nu``
  (uncapped, and m - 1 of them: errata 6 and 7), subtrees at ``m - 1``;
- *total*: ``2 B(m)`` splits, ``B`` the budget of the node; with real features only
  ``2 ell (m - L + 1)`` of them, subtrees at ``m - L_r`` and ``m - L_l``.

The growth functions need no sum over parts (theory notes, section 1): with
``G = sum_c (n)_c pi^c`` each node is ``G = n + W (G_l G_r - n)``, ``W`` the number of splits.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, inf, lgamma, log, log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound.bounds._checks import check_int, check_landscape, check_shape, check_size
from treebound.bounds._recursion import Features, features_of, simple_case
from treebound.bounds._rules import splits_of_node
from treebound.bounds._scaled import ROUNDING
from treebound.bounds.counting import log_falling_factorial, log_stirling_above
from treebound.bounds.splits import node_budget_table
from treebound.landscape import Landscape
from treebound.shapes import TreeShape

__all__ = ["log_fast_growth", "log_partitions"]

FloatArray = NDArray[np.float64]
LN2 = log(2)


def log_partitions(shape: TreeShape, c: int, m: int, landscape: Landscape) -> float:
    """Algorithm LogPartiFuncUB, corrected: natural log of a fast bound on ``pi^c_T(m)``.

    The logarithm of :func:`tree_partitions` with ``theorem="fast"``, for any size.

    Parameters
    ----------
    shape : TreeShape
        The shape of the trees.
    c : int
        Number of parts.
    m : int
        Number of examples.
    landscape : Landscape
        The features a tree may test.

    Returns
    -------
    float
        -inf where no such partition exists.

    Examples
    --------
    >>> import treebound as tb
    >>> shape = tb.TreeShape.parse("((..)(..))")
    >>> round(log_partitions(shape, 3, 10**6, tb.Landscape(real=10)), 6)
    49.740576
    """
    check_shape(shape, "log_partitions")
    features = features_of(check_landscape(landscape, "log_partitions"))
    m, c = check_size("m", m, "log_partitions"), check_int("c", c, "log_partitions")
    simple = simple_case(shape, c, m, features)
    if simple is not None:
        return 0.0 if simple else -np.inf
    return float(_log_parts(shape, c, m, features, total=False)[c - 1])


class Step(NamedTuple):
    """A node of a plan; its subtrees are earlier steps, or -1 for a leaf."""

    shape: TreeShape
    left: int
    right: int
    smaller: int


@lru_cache(maxsize=512)
def plan_of(shape: TreeShape, by_leaves: bool) -> tuple[Step, ...]:
    """The nodes to evaluate, subtrees first, each with how many examples fewer than ``m`` it gets.

    ``by_leaves``: a subtree loses the leaves of its sibling, otherwise it loses one example.
    """
    where: dict[tuple[TreeShape, int], int] = {}
    steps: list[Step] = []
    stack = [(shape, 0, False)]
    while stack:
        part, smaller, ready = stack.pop()
        if part.left is None or part.right is None or (part, smaller) in where:
            continue
        left = (part.left, smaller + (part.right.leaves if by_leaves else 1))
        right = (part.right, smaller + (part.left.leaves if by_leaves else 1))
        if ready:
            where[part, smaller] = len(steps)
            steps.append(Step(part, where.get(left, -1), where.get(right, -1), smaller))
        else:
            stack += [(part, smaller, True), (*right, False), (*left, False)]
    return tuple(steps)


def _log_parts(
    shape: TreeShape, parts: int, m: int, features: Features, *, total: bool
) -> FloatArray:
    """Natural logs of ``pi^c`` for ``c = 1 .. parts``, capped by ``S(m, c)`` at every node."""
    leaf = np.zeros(1)
    values: list[FloatArray] = []
    for step in plan_of(shape, total and features.is_real):
        left = values[step.left] if step.left >= 0 else leaf
        right = values[step.right] if step.right >= 0 else leaf
        here = m - step.smaller
        most = min(parts, here, step.shape.leaves)
        if here <= 1:
            values.append(leaf)
            continue
        splits = splits_of_node(step.shape, here, features, total=total)
        same = step.shape.left is step.shape.right
        if splits <= 0 or (features.is_real and here <= step.shape.leaves):
            logs = np.full(most, np.inf)
        else:
            logs = log_joint_parts(left, right, most) + (log(splits) - same * LN2)
        logs[0] = 0.0
        values.append(_capped(logs, here))
    return values[-1]


def _capped(logs: FloatArray, m: int) -> FloatArray:
    """The smaller of each entry and ``ln S(m, c)``, computed only where it can matter."""
    c = np.arange(1.0, len(logs) + 1)
    for at in np.flatnonzero(logs > (float(m) - c) * np.log(c)):
        logs[at] = min(logs[at], log_stirling_above(m, int(at) + 1))
    return logs


def log_joint_parts(left: FloatArray, right: FloatArray, parts: int) -> FloatArray:
    """Logs of ``A = sum_{a,b} K pi^a_l pi^b_r`` for ``c = 1 .. parts``."""
    if len(left) < len(right):
        left, right = right, left
    c = np.arange(1, parts + 1)
    padded = np.full(parts + 1, -np.inf)
    padded[1 : len(left) + 1] = left[:parts]
    if len(right) == 1:
        # A leaf joins one of the c parts, or stands as a part of its own.
        joint: FloatArray = np.logaddexp(np.log(c) + padded[1:], padded[:-1])
        return joint
    logs = [_log_joint(left[:one], right[:one], one) for one in range(1, parts + 1)]
    return np.array(logs)


def _log_joint(left: FloatArray, right: FloatArray, parts: int) -> float:
    a = np.arange(1, len(left) + 1)[:, None]
    b = np.arange(1, len(right) + 1)[None, :]
    logs = _log_factorials(parts)
    shared = a + b - parts
    terms = (
        (left[:, None] + logs[a] - logs[parts - a])
        + (right[None, :] + logs[b] - logs[parts - b])
        - logs[np.maximum(shared, 0)]
    )
    terms[shared < 0] = -np.inf
    top = terms.max()
    return float(top + np.log(np.exp(terms - top).sum())) if top > -np.inf else -np.inf


@lru_cache(maxsize=1024)
def _log_factorials(most: int) -> FloatArray:
    return np.array([lgamma(i + 1) for i in range(most + 1)])


def log_fast_growth(
    shape: TreeShape, m: int, n_classes: int, features: Features, *, total: bool
) -> float:
    """Algorithm LogGrowthFuncUB: ``ln sum_c (n)_c pi^c`` with a fast form of ``pi^c``."""
    if n_classes == 1 or m == 1 or shape.left is None or features.is_empty:
        return log(n_classes)
    value = _log_product(shape, m, n_classes, features, total=total) if m > shape.leaves else inf
    if value > _least_cap(shape, m, n_classes):
        most = min(n_classes, shape.leaves, m)
        logs = _log_parts(shape, most, m, features, total=total)
        terms = logs + [log_falling_factorial(n_classes, c) for c in range(1, len(logs) + 1)]
        top = float(terms.max())
        value = top + log(float(np.exp(terms - top).sum()))
    # A logarithm for each node, each with an error of a few roundings of the largest.
    return value + ROUNDING * (8 * shape.leaves + 8) * (abs(value) + 1.0)


def _least_cap(shape: TreeShape, m: int, n_classes: int) -> float:
    """A growth below this is nowhere cut by ``S(m, c)``, at the root or under it.

    ``S(m,c) >= c^(m-c)``, and ``(m-c) ln c + ln (n)_c`` is concave in ``c``: its ends decide.
    """
    most = min(n_classes, shape.leaves)
    m -= shape.leaves
    if m <= 0:
        return -inf
    return min((m - c) * log(c) + log_falling_factorial(n_classes, c) for c in (2, most))


@lru_cache(maxsize=512)
def _plan_arrays(
    shape: TreeShape, by_leaves: bool
) -> tuple[FloatArray, FloatArray, FloatArray, list[tuple[int, int]]]:
    steps = plan_of(shape, by_leaves)
    smaller = np.array([float(step.smaller) for step in steps])
    leaves = np.array([float(step.shape.leaves) for step in steps])
    halved = np.array([0.5 if step.shape.left is step.shape.right else 1.0 for step in steps])
    return smaller, leaves, halved, [(step.left, step.right) for step in steps]


def _log_product(
    shape: TreeShape, m: int, n_classes: int, features: Features, *, total: bool
) -> float:
    """``ln G`` by ``G = n + W (G_l G_r - n)`` at every node: O(1) per node for any ``n``."""
    by_leaves = total and features.is_real
    smaller, leaves, halved, children = _plan_arrays(shape, by_leaves)
    here = m - smaller
    if not total:
        thresholds = 2.0 * (features.real + len(features.ordinal))
        splits = (here - 1.0) * (thresholds + len(features.nominal) * here)
    elif by_leaves:
        splits = 2.0 * features.real * (here - leaves + 1.0)
    else:
        splits = 2.0 * node_budget_table(features, np.maximum(here, 1.0))
    splits = np.maximum(splits, 0.0) * halved
    with np.errstate(divide="ignore"):
        logs = np.log(splits).tolist()
    ln_n = log(n_classes)
    far = ln_n + 40.0
    values = [0.0] * len(children) + [ln_n]  # index -1 is a leaf
    for at, (left, right) in enumerate(children):
        value = values[left] + values[right]
        if value < far:
            # G = W P (1 - (1 - 1/W) n / P) with P = G_l G_r; for W = 0 it is n.
            w = splits[at]
            value = (
                ln_n if w == 0 else value + log1p((1.0 / w - 1.0) * exp(ln_n - value)) + logs[at]
            )
        else:
            value += logs[at]
        values[at] = value
    return values[-2]
