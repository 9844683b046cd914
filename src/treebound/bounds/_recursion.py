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
==================  ======================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import comb, factorial, prod
from typing import NamedTuple

from treebound.bounds.counting import stirling, stirling_at_most
from treebound.landscape import Landscape
from treebound.shapes import TreeShape

# More categories than any sample shows: an undeclared nominal column.
UNBOUNDED = 1 << 400
# Deeper shapes are prepared from the leaves up, so that Python's recursion stays shallow.
_DEEP = 60


class Features(NamedTuple):
    """An informative landscape in canonical order, light enough to be a dictionary key."""

    real: int
    ordinal: tuple[int, ...]
    nominal: tuple[int, ...]

    @property
    def is_empty(self) -> bool:
        return not (self.real or self.ordinal or self.nominal)

    @property
    def is_real(self) -> bool:
        return self.real > 0 and not self.ordinal and not self.nominal

    @property
    def is_one_threshold(self) -> bool:
        """Whether a single feature is tested, and by thresholds."""
        return self.real + len(self.ordinal) == 1 and not self.nominal

    @property
    def width(self) -> int:
        """Number of features."""
        return self.real + len(self.ordinal) + len(self.nominal)

    def combinations(self, limit: int) -> int:
        """Distinct examples there can be, or ``limit`` when there are more."""
        if self.real:
            return limit
        return min(limit, prod(min(count, limit) for count in self.ordinal + self.nominal))


def features_of(landscape: Landscape) -> Features:
    """The informative features of a landscape; undeclared columns as unbounded."""
    informative = landscape.informative
    nominal = (UNBOUNDED if n is None else n for n in informative.nominal)
    return _canonical(informative.real, informative.ordinal, tuple(nominal))


def _canonical(real: int, ordinal: Iterable[int], nominal: Iterable[int]) -> Features:
    return Features(
        real,
        tuple(sorted((o for o in ordinal if o > 1), reverse=True)),
        tuple(sorted((n for n in nominal if n > 1), reverse=True)),
    )


@lru_cache(maxsize=1 << 16)
def cut(features: Features, m: int) -> Features:
    """``(O^m, N^m)``: the features as ``m`` examples can show them."""
    real, ordinal, nominal = features
    if (not ordinal or ordinal[0] <= m) and (not nominal or nominal[0] <= m):
        return features
    return _canonical(real, (min(o, m) for o in ordinal), (min(n, m) for n in nominal))


def with_categories(features: Features, kind: str, at: int, categories: int) -> Features:
    """The features with another number of categories in one of them."""
    counts = list(getattr(features, kind))
    counts[at] = categories
    if kind == "ordinal":
        return _canonical(features.real, counts, features.nominal)
    return _canonical(features.real, features.ordinal, counts)


def distinct_features(features: Features) -> Iterable[tuple[str, int, int]]:
    """Each kind of categorical feature once: its name, where one stands, how many there are."""
    for kind in ("ordinal", "nominal"):
        counts = getattr(features, kind)
        for categories in dict.fromkeys(counts):
            yield kind, counts.index(categories), counts.count(categories)


def shares(kind: str, categories: int) -> list[tuple[int, int]]:
    """How the two parts of a split on a feature can share its categories."""
    if kind == "ordinal":
        return [(theta, categories - theta) for theta in range(1, categories)]
    return list(dict.fromkeys([(1, categories - 1), (categories - 1, 1)]))


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
        # A leaf joins one of the c parts, or stands as a part of its own.
        most = max(left, right, key=len)
        counts = [0, *most[:parts], *[0] * (parts - len(most))]
        return [c * counts[c] + counts[c - 1] for c in range(1, parts + 1)]
    return [
        sum(
            ways * left[a - 1] * right[b - 1] for a, b, ways in merge_ways(len(left), len(right), c)
        )
        for c in range(1, parts + 1)
    ]


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


def children(shape: TreeShape) -> tuple[TreeShape, TreeShape]:
    """Both subtrees of a shape that is not a leaf."""
    left, right = shape.left, shape.right
    if left is None or right is None:
        raise ValueError("A leaf has no children.")
    return left, right


@lru_cache(maxsize=512)
def plan_of(shape: TreeShape, by_leaves: bool) -> tuple[tuple[TreeShape, int], ...]:
    """The inner nodes, subtrees first, each with how many examples fewer than ``m`` it gets.

    ``by_leaves``: a subtree loses the leaves of its sibling, otherwise it loses one example.
    """
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


class Recursion:
    """One theorem applied all the way down: ``pi^c`` for ``c = 1 .. parts``, memoised."""

    def __init__(self, rule: Rule, parts: int, *, merge_rows: bool = False) -> None:
        self.rule = rule
        self.parts = parts
        self.merge_rows = merge_rows
        self._known: dict[tuple[TreeShape, int, Features], tuple[int, ...]] = {}

    def __call__(self, shape: TreeShape, m: int, features: Features) -> tuple[int, ...]:
        """``pi^c`` of a shape on ``m`` examples, zeros past ``min(m, leaves)`` left out."""
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
