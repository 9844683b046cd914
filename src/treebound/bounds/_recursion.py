"""How a bound on the parts of a tree is made from those of its two subtrees.

Every tree theorem of the paper has this form: the root splits ``m`` examples in parts of ``k`` and
``m - k``, the subtrees make ``a`` and ``b`` parts of them, and in ``K(a, b, c)`` ways these merge
into ``c`` parts. The theorems differ in how many splits of each size they allow.

==================  ======================================================================
symbol              meaning
==================  ======================================================================
``K(a, b, c)``      ``binom(a,c-b) binom(b,c-a) (a+b-c)!``
``A_k``             ``sum_{a,b} K pi^a_l(k) pi^b_r(m-k)``
``O^k``, ``N^k``    category counts cut to ``k``: ``k`` examples show no more categories
``D_k``             (split, direction) pairs with ``k`` examples on the left
``B(m)``            splits a node makes in all
``R_{i,k}``         splits of feature ``i`` with a part of size ``k``
==================  ======================================================================

A rule gives, for ``c = 1 .. parts``, the sum over the splits of the root of what its subtrees make
of the two parts; the recursion halves it for equal subtrees and caps it by ``S(m, c)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import comb, factorial

from treebound._utils.validation import invalid
from treebound.bounds.counting import stirling, stirling_at_most
from treebound.bounds.splits import (
    Features,
    binomial_at_most,
    cut,
    distinct_features,
    node_budget,
    node_splits_of_size,
    nominal_splits,
    nominal_splits_of_size,
    shares,
    with_categories,
)
from treebound.shapes import TreeShape, children

# Exact sums over part sizes take time quadratic in the sample size.
_MAX_SIZES = 100_000
# Deeper shapes are prepared from the leaves up, so that Python's recursion stays shallow.
_DEEP = 60


@lru_cache(maxsize=4096)
def merge_ways(left: int, right: int, parts: int) -> tuple[tuple[int, int, int], ...]:
    """``(a, b, K(a, b, parts))`` for all ``a <= left``, ``b <= right`` that can merge."""
    return tuple(
        (a, b, comb(a, parts - b) * comb(b, parts - a) * factorial(a + b - parts))
        for a in range(1, min(left, parts) + 1)
        for b in range(max(1, parts - a), min(right, parts) + 1)
    )


def joint_parts(left: Sequence[int], right: Sequence[int], parts: int) -> list[int]:
    """``A_k`` for ``c = 1 .. parts`` from the counts of the two subtrees."""
    if parts == 2:
        p, q = (left[1] if len(left) > 1 else 0), (right[1] if len(right) > 1 else 0)
        return [1, 2 * (p + 1) * (q + 1) - 1]
    if len(left) == 1 or len(right) == 1:
        # A leaf joins one of the c parts, or is a part of its own.
        most = max(left, right, key=len)
        counts = [0, *most[:parts], *[0] * (parts - len(most))]
        return [c * counts[c] + counts[c - 1] for c in range(1, parts + 1)]
    return [
        sum(
            ways * left[a - 1] * right[b - 1] for a, b, ways in merge_ways(len(left), len(right), c)
        )
        for c in range(1, parts + 1)
    ]


@lru_cache(maxsize=512)
def plan_of(shape: TreeShape, by_leaves: bool) -> tuple[tuple[TreeShape, int], ...]:
    """The inner nodes, subtrees first, each with how many examples fewer than ``m`` it gets."""
    # by_leaves: a subtree loses the leaves of its sibling, otherwise it loses one example
    if by_leaves:
        parts = (part for part in shape.subshapes() if not part.is_leaf)
        return tuple((part, shape.leaves - part.leaves) for part in parts)
    plan: list[tuple[TreeShape, int]] = []
    level, depth = [shape], 0
    while level:
        inner = [part for part in level if not part.is_leaf]
        plan += [(part, depth) for part in inner]
        level = list(dict.fromkeys(child for part in inner for child in children(part)))
        depth += 1
    return tuple(reversed(plan))


Rule = Callable[["Recursion", TreeShape, int, Features], Sequence[int]]
Coefficient = Callable[[int, int, Features], int]


class Recursion:
    """One theorem applied all the way down: ``pi^c`` for ``c = 1 .. parts``, memoised."""

    def __init__(self, rule: Rule, parts: int, *, merge_rows: bool = False) -> None:
        self.rule = rule
        self.parts = parts
        self.merge_rows = merge_rows
        self._known: dict[tuple[TreeShape, int, Features], tuple[int, ...]] = {}

    def __call__(self, shape: TreeShape, m: int, features: Features) -> tuple[int, ...]:
        """``pi^c`` of a shape on ``m`` examples, without the zeros past ``min(m, leaves)``."""
        if self.merge_rows:
            m = features.combinations(m)
        if features.is_empty or shape.left is None or m == 1:
            return (1,)
        features = cut(features, m)
        key = (shape, m, features)
        counts = self._known.get(key)
        if counts is None:
            counts = self._known[key] = self._bound(shape, m, features)
        return counts

    def _bound(self, shape: TreeShape, m: int, features: Features) -> tuple[int, ...]:
        most = min(self.parts, m, shape.leaves)
        if features.is_real and m <= shape.leaves:
            return tuple(stirling(m, c) for c in range(1, most + 1))
        sums = self.rule(self, shape, m, features)
        same = shape.left is shape.right
        values = [1]
        for c in range(2, most + 1):
            value = sums[c - 1] // 2 if same else sums[c - 1]
            values.append(1 if c == m else stirling_at_most(m, c, value))
        return tuple(values)

    def joint(
        self, shape: TreeShape, k: int, m: int, left: Features, right: Features | None = None
    ) -> list[int]:
        """``A_k``, ``k`` examples with features ``left`` going left and the others right."""
        left_shape, right_shape = children(shape)
        return joint_parts(
            self(left_shape, k, left),
            self(right_shape, m - k, left if right is None else right),
            self.parts,
        )

    def prepare(self, shape: TreeShape, m: int, features: Features, *, fast: bool) -> None:
        """Fill the memory from the leaves up where a shape is too deep for plain recursion."""
        if shape.depth <= _DEEP:
            return
        if not fast:
            pairs = ((part, k) for part in shape.subshapes() for k in range(1, m))
        else:
            plan = plan_of(shape, False) + (plan_of(shape, True) if features.is_real else ())
            pairs = ((part, m - fewer) for part, fewer in plan if m > fewer)
        for part, k in pairs:
            self(part, k, features)


# -- rules -------------------------------------------------------------------------------------


def _sizes(shape: TreeShape, m: int, features: Features) -> range:
    """Sizes of the left part; with real features only, both parts have an example for each leaf."""
    if m > _MAX_SIZES:
        hint = "tree_partitions with theorem='fast' takes any number."
        raise invalid("m", "", f"at most {_MAX_SIZES:,} for an exact sum over part sizes", m, hint)
    if features.is_real:
        left, right = children(shape)
        return range(left.leaves, m - right.leaves + 1)
    return range(1, m)


def sum_over_sizes(coefficient: Coefficient, *, every_size: bool = False) -> Rule:
    """``sum_k min(coefficient, binom(m, k)) A_k``, children at ``(k; O^k, N^k)`` and ``m - k``."""

    def rule(recursion: Recursion, shape: TreeShape, m: int, features: Features) -> list[int]:
        totals = [0] * recursion.parts
        for k in range(1, m) if every_size else _sizes(shape, m, features):
            times = binomial_at_most(m, k, coefficient(m, k, features))
            for at, joint in enumerate(recursion.joint(shape, k, m, features)):
                totals[at] += times * joint
        return totals

    return rule


def fast_rule(*, within_budget: bool) -> Rule:
    """Every split as heavy as the heaviest; with real features only, parts hold their leaves."""

    def rule(recursion: Recursion, shape: TreeShape, m: int, features: Features) -> list[int]:
        left, right = children(shape)
        of_left = of_right = 1
        if not within_budget:
            each = 2 * features.real + 2 * len(features.ordinal) + m * len(features.nominal)
            splits = (m - 1) * each
        elif features.is_real:
            of_left, of_right = right.leaves, left.leaves
            splits = 2 * features.real * (m - shape.leaves + 1)
        else:
            splits = 2 * node_budget(m, features)
        joint = recursion.joint(shape, m - of_left, 2 * m - of_left - of_right, features)
        return [splits * count for count in joint]

    return rule


def budget_rule(recursion: Recursion, shape: TreeShape, m: int, features: Features) -> list[int]:
    """At most ``B(m)`` splits, the heaviest part sizes first."""
    weights = _weights(recursion, shape, m, features)
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


def fill(weights: Iterable[tuple[int, int]], budget: int) -> int:
    """Most that ``budget`` splits weigh, given ``(weight, how many there are)``, heaviest first."""
    total = 0
    for weight, capacity in sorted(weights, reverse=True):
        taken = min(capacity, budget)
        total += weight * taken
        budget -= taken
        if budget <= 0:
            break
    return total


@lru_cache(maxsize=1 << 14)
def _capacities(m: int, features: Features) -> tuple[int, ...]:
    """Splits whose smaller part has ``k`` examples, ``k = 1 .. m/2``."""
    both = [node_splits_of_size(m, k, features) for k in range(1, m // 2 + 1)]
    if m % 2 == 0:
        both[-1] //= 2
    return tuple(both)


def _weights(
    recursion: Recursion,
    shape: TreeShape,
    m: int,
    features: Features,
    sides: Iterable[tuple[Features, Features]] = (),
) -> list[list[int]]:
    """``A_k + A_{m-k}`` for ``k = 1 .. m/2``, the most over the ways to share the categories."""
    allowed, parts = _sizes(shape, m, features), range(recursion.parts)

    def joint(k: int, left: Features, right: Features) -> list[int]:
        return recursion.joint(shape, k, m, left, right) if k in allowed else [0 for _ in parts]

    weights = []
    for k in range(1, m // 2 + 1):
        ways = [
            (joint(k, small, large), joint(m - k, large, small))
            for small, large in sides or [(features, features)]
        ]
        weights.append([max(low[c] + high[c] for low, high in ways) for c in parts])
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
            inside + max(edge, low + high)
            for inside, edge, low, high in zip(inner, outer, first, last, strict=True)
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
    plain = _weights(recursion, shape, m, features)
    kinds = [(features.real, plain, *_room("real", m, m))] if features.real else []
    for kind, at, times in distinct_features(features):
        categories = getattr(features, kind)[at]
        sides = [
            (with_categories(features, kind, at, some), with_categories(features, kind, at, rest))
            for some, rest in shares(kind, categories)
        ]
        weights = _weights(recursion, shape, m, features, sides)
        kinds.append((times, weights, *_room(kind, categories, m)))
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
