"""The splits that each tree theorem allows the root: rules that the recursion applies.

A rule gives, for ``c = 1 .. parts``, the sum over the splits of the root of what its subtrees make
of the two parts; the recursion halves it for equal subtrees and caps it by ``S(m, c)``.

==================  ======================================================================
symbol              meaning
==================  ======================================================================
``A_k``             joint parts when ``k`` examples go left (see the recursion)
``D_k``             (split, direction) pairs with ``k`` examples on the left
``B(m)``            splits a node makes in all
``R_{i,k}``         splits of feature ``i`` with a part of size ``k``
==================  ======================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from treebound._validation import invalid
from treebound.bounds._recursion import (
    Features,
    Recursion,
    Rule,
    children,
    distinct_features,
    fill,
    shares,
    with_categories,
)
from treebound.bounds.splits import (
    node_budget,
    node_splits_of_size,
    nominal_splits,
    nominal_splits_of_size,
)
from treebound.shapes import TreeShape

Coefficient = Callable[[int, int, Features], int]
# Exact sums over part sizes take time quadratic in the sample size.
_MOST_SIZES = 100_000


def _sizes(shape: TreeShape, m: int, features: Features) -> range:
    """Sizes of the left part; with real features only, both parts have an example for each leaf."""
    if m > _MOST_SIZES:
        hint = "tree_partitions with theorem='fast' takes any number."
        raise invalid("m", "", f"at most {_MOST_SIZES:,} for an exact sum over part sizes", m, hint)
    if features.is_real:
        left, right = children(shape)
        return range(left.leaves, m - right.leaves + 1)
    return range(1, m)


def sum_over_sizes(coefficient: Coefficient, *, every_size: bool = False) -> Rule:
    """``sum_k coefficient(m, k) A_k``, children at ``(k; O^k, N^k)`` and ``m - k``."""

    def rule(recursion: Recursion, shape: TreeShape, m: int, features: Features) -> list[int]:
        totals = [0] * recursion.parts
        for k in range(1, m) if every_size else _sizes(shape, m, features):
            times = coefficient(m, k, features)
            for at, joint in enumerate(recursion.joint(shape, k, m, features)):
                totals[at] += times * joint
        return totals

    return rule


def splits_of_node(shape: TreeShape, m: int, features: Features, *, total: bool) -> int:
    """``W`` before halving: (split, direction) pairs the fast forms allow a node."""
    if not total:
        each = 2 * features.real + 2 * len(features.ordinal) + m * len(features.nominal)
        return (m - 1) * each
    if features.is_real:
        return 2 * features.real * (m - shape.leaves + 1)
    return 2 * node_budget(m, features)


def fast_rule(*, within_budget: bool) -> Rule:
    """Every split as heavy as the heaviest; with real features only, parts hold their leaves."""

    def rule(recursion: Recursion, shape: TreeShape, m: int, features: Features) -> list[int]:
        left, right = children(shape)
        by_leaves = within_budget and features.is_real
        of_left, of_right = (right.leaves, left.leaves) if by_leaves else (1, 1)
        times = splits_of_node(shape, m, features, total=within_budget)
        joint = recursion.joint(shape, m - of_left, 2 * m - of_left - of_right, features)
        return [times * one for one in joint]

    return rule


def budget_rule(recursion: Recursion, shape: TreeShape, m: int, features: Features) -> list[int]:
    """At most ``B(m)`` splits, the heaviest part sizes first."""
    weights = unordered_weights(recursion, shape, m, features)
    capacity = _capacities(m, features)
    budget = node_budget(m, features)
    totals = []
    for of_parts in zip(*weights, strict=True):
        pairs = list(zip(of_parts, capacity, strict=True))
        total = fill(pairs, budget)
        if not features.real:
            # A one-sided root test does what isolating one example would (erratum 10).
            total = max(total, of_parts[0] + fill(pairs[1:], budget))
        totals.append(total)
    return totals


@lru_cache(maxsize=1 << 14)
def _capacities(m: int, features: Features) -> tuple[int, ...]:
    """Splits whose smaller part has ``k`` examples, ``k = 1 .. m/2``."""
    both = [node_splits_of_size(m, k, features) for k in range(1, m // 2 + 1)]
    if m % 2 == 0:
        both[-1] //= 2
    return tuple(both)


def unordered_weights(
    recursion: Recursion, shape: TreeShape, m: int, features: Features
) -> list[list[int]]:
    """``A_k + A_{m-k}`` for ``k = 1 .. m/2``: what one split of the root is worth."""
    allowed = _sizes(shape, m, features)
    nothing = [0] * recursion.parts

    def joint(k: int) -> list[int]:
        return recursion.joint(shape, k, m, features) if k in allowed else nothing

    same = shape.left is shape.right
    weights = []
    for k in range(1, m // 2 + 1):
        low = joint(k)
        high = low if same or 2 * k == m else joint(m - k)
        weights.append([x + y for x, y in zip(low, high, strict=True)])
    return weights


def first_bound(kind: str) -> Rule:
    """The paper's first bounds, repaired: a sum over features and sizes, one category fewer."""

    def rule(recursion: Recursion, shape: TreeShape, m: int, features: Features) -> list[int]:
        counts = getattr(features, kind)
        inner, outer = [0] * recursion.parts, [0] * recursion.parts
        for at, categories in enumerate(counts):
            fewer = with_categories(features, kind, at, categories - 1)
            for k in range(1, m):
                times = _splits_of_feature(kind, categories, m, k)
                into = inner if 1 < k < m - 1 else outer
                for c, joint in enumerate(recursion.joint(shape, k, m, fewer)):
                    into[c] += times * joint
        first = recursion.joint(shape, 1, m, features)
        last = recursion.joint(shape, m - 1, m, features)
        return [
            inside + max(edge, one + other)
            for inside, edge, one, other in zip(inner, outer, first, last, strict=True)
        ]

    return rule


def _splits_of_feature(kind: str, categories: int, m: int, k: int) -> int:
    """``R_{i,k}`` of the ordinal, ``R'_{N,k}`` of the nominal tree theorem."""
    small = min(k, m - k)
    if kind == "ordinal":
        return min((2 if 2 * k == m else 1) * (categories - 1), 2)
    return categories - 1 if m > categories * small else m // small


def feature_rule(recursion: Recursion, shape: TreeShape, m: int, features: Features) -> list[int]:
    """Each feature fills the heaviest sizes within its own budget; at most the form with B(m)."""
    whole = budget_rule(recursion, shape, m, features)
    plain = unordered_weights(recursion, shape, m, features)
    kinds = [(features.real, plain, *_room("real", m, m))] if features.real else []
    for kind, at, times in distinct_features(features):
        weights = _refined_weights(recursion, shape, m, features, kind, at)
        kinds.append((times, weights, *_room(kind, getattr(features, kind)[at], m)))
    totals = []
    for c in range(recursion.parts):
        every, inner = 0, plain[0][c]
        for times, weights, capacity, budget in kinds:
            pairs = [(weight[c], room) for weight, room in zip(weights, capacity, strict=True)]
            every += times * fill(pairs, budget)
            inner += times * fill(pairs[1:], budget)
        total = every if features.real else max(every, inner)
        totals.append(min(total, whole[c]))
    return totals


def _room(kind: str, categories: int, m: int) -> tuple[list[int], int]:
    """How many splits of each size one feature can make, and how many in all."""
    sizes = range(1, m // 2 + 1)
    if kind == "nominal":
        room = [nominal_splits_of_size(categories, m, k) for k in sizes]
        return room, nominal_splits(categories, m)
    thresholds = min(categories, m) - 1
    each = 2 if kind == "real" else min(categories - 1, 2)
    return [1 if 2 * k == m else each for k in sizes], thresholds


def _refined_weights(
    recursion: Recursion, shape: TreeShape, m: int, features: Features, kind: str, at: int
) -> list[list[int]]:
    """Heaviest split of each size over the ways its two parts can share the categories."""
    sides = [
        tuple(with_categories(features, kind, at, some) for some in pair)
        for pair in shares(kind, getattr(features, kind)[at])
    ]
    weights = []
    for k in range(1, m // 2 + 1):
        best = [0] * recursion.parts
        for small, large in sides:
            low = recursion.joint(shape, k, m, small, large)
            high = recursion.joint(shape, m - k, m, large, small)
            best = [max(b, x + y) for b, x, y in zip(best, low, high, strict=True)]
        weights.append(best)
    return weights
