"""The tree theorems, one function each, so that they can be compared.

Each returns an upper bound on ``pi^c_T(m)``, the number of ``c``-partitions a shape can make of
``m`` examples, as an exact integer, corrected as the errata ask and with nothing added: no other
bound is mixed in but ``S(m, c)``. For the least of them all see
:func:`treebound.bounds.partitions`.

========================================  ==================================================
function                                  where it comes from
========================================  ==================================================
real_tree_partitions                      real trees
ordinal_tree_partitions_by_feature        ordinal trees, first bound (errata 10)
ordinal_tree_partitions_by_size           ordinal trees, second bound (erratum 5)
ordinal_tree_partitions_by_count          its simplified form, with ``2 omega``
nominal_tree_partitions_by_feature        nominal trees, first bound (errata 2, 10, 11)
nominal_tree_partitions_by_size           nominal trees, second bound (errata 1, 2)
mixture_tree_partitions                   mixtures, Algorithm PartiFuncUB (errata 2, 3, 4)
tree_partitions_by_size                   errata: any landscape, splits by part size ``D_k``
tree_partitions_within_budget             errata: the same, within the node's budget ``B(m)``
tree_partitions_by_feature                errata: each feature within its own budget
========================================  ==================================================

The fast forms are in :mod:`treebound.bounds.fast`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from treebound.bounds._checks import check_int, check_landscape, check_shape
from treebound.bounds._recursion import (
    Features,
    Recursion,
    Rule,
    children,
    features_of,
    fill,
    with_categories,
)
from treebound.bounds.stumps import (
    binomial_at_most,
    node_budget,
    node_splits_of_size,
    nominal_splits,
    nominal_splits_of_size,
)
from treebound.landscape import Landscape
from treebound.shapes import TreeShape

__all__ = [
    "mixture_tree_partitions",
    "nominal_tree_partitions_by_feature",
    "nominal_tree_partitions_by_size",
    "ordinal_tree_partitions_by_count",
    "ordinal_tree_partitions_by_feature",
    "ordinal_tree_partitions_by_size",
    "real_tree_partitions",
    "tree_partitions_by_feature",
    "tree_partitions_by_size",
    "tree_partitions_within_budget",
]

Coefficient = Callable[[int, int, Features], int]


def evaluate(
    shape: TreeShape,
    c: int,
    m: int,
    landscape: Landscape,
    rule: Rule,
    *,
    where: str,
    needs: str = "",
    merge_rows: bool = False,
) -> int:
    """The value of one rule, with the cases that hold for every theorem.

    ``needs`` names the one kind of feature a theorem is for.
    """
    check_shape(shape, where)
    check_landscape(landscape, where)
    if needs:
        _check_only(landscape, needs, where)
    m, c = check_int("m", m, where), check_int("c", c, where)
    features = features_of(landscape)
    if merge_rows:
        m = features.combinations(m) if not features.is_empty else m
    if c > min(m, shape.leaves):
        return 0
    if c == 1:
        return 1
    if features.is_empty:
        return 0
    if c == m:
        return 1
    recursion = Recursion(rule, c, merge_rows=merge_rows)
    recursion.prepare(shape, m, features)
    found = recursion(shape, m, features)
    return found[c - 1] if len(found) >= c else 0


def _check_only(landscape: Landscape, kind: str, where: str) -> None:
    counts = {"real": landscape.real, "ordinal": landscape.ordinal, "nominal": landscape.nominal}
    others = [name for name, found in counts.items() if found and name != kind]
    if others:
        raise ValueError(
            f"The 'landscape' parameter of {where} must have {kind} features only. "
            f"Got {landscape!r} instead. Hint: tree_partitions_by_size takes any mixture."
        )


def _sizes(shape: TreeShape, m: int, features: Features) -> range:
    """Sizes of the left part: all, or where both subtrees get an example a leaf if all is real."""
    if features.is_real:
        left, right = children(shape)
        return range(left.leaves, m - right.leaves + 1)
    return range(1, m)


def _sum_over_sizes(coefficient: Coefficient, *, every_size: bool = False) -> Rule:
    """``sum_k coefficient(m, k) A_k``, children at ``(k; O^k, N^k)`` and ``m - k``."""

    def rule(recursion: Recursion, shape: TreeShape, m: int, features: Features) -> list[int]:
        totals = [0] * recursion.parts
        for k in range(1, m) if every_size else _sizes(shape, m, features):
            times = coefficient(m, k, features)
            for at, joint in enumerate(recursion.joint(shape, k, m, features)):
                totals[at] += times * joint
        return totals

    return rule


def splits_of_left_size(m: int, k: int, features: Features) -> int:
    """``D_k`` of the errata."""
    return node_splits_of_size(m, k, features)


def _real_coefficient(m: int, k: int, features: Features) -> int:
    return binomial_at_most(m, k, 2 * features.real)


def _ordinal_coefficient(m: int, k: int, features: Features) -> int:
    two, three = len(features.ordinal), sum(o >= 3 for o in features.ordinal)
    return binomial_at_most(m, k, 2 * two if 2 * k == m else two + three)


def _ordinal_count_coefficient(m: int, k: int, features: Features) -> int:
    return binomial_at_most(m, k, 2 * len(features.ordinal))


def _nominal_coefficient(m: int, k: int, features: Features) -> int:
    return binomial_at_most(m, k, len(features.nominal) * (m // min(k, m - k)))


def _mixture_coefficient(m: int, k: int, features: Features) -> int:
    thresholds = 2 * features.real + 2 * len(features.ordinal)
    return binomial_at_most(m, k, thresholds + len(features.nominal) * (m // min(k, m - k)))


def real_tree_partitions(shape: TreeShape, c: int, m: int, landscape: Landscape) -> int:
    """Real tree theorem: ``2^-[T_l=T_r] sum_k min(2 ell, binom(m,k)) A_k``, ``S(m,c)`` for m <= L.

    Examples
    --------
    >>> import treebound as tb
    >>> real_tree_partitions(tb.TreeShape.parse("((..).)"), 2, 7, tb.Landscape(real=1))
    63
    """
    return evaluate(
        shape,
        c,
        m,
        landscape,
        _sum_over_sizes(_real_coefficient),
        where="real_tree_partitions",
        needs="real",
    )


def ordinal_tree_partitions_by_size(shape: TreeShape, c: int, m: int, landscape: Landscape) -> int:
    """Ordinal tree theorem, second bound: ``R'_k`` splits with a part of size ``k``.

    Examples
    --------
    >>> import treebound as tb
    >>> stump, landscape = tb.TreeShape.parse("(..)"), tb.Landscape(ordinal=(3, 3))
    >>> ordinal_tree_partitions_by_size(stump, 2, 5, landscape)
    8
    """
    return evaluate(
        shape,
        c,
        m,
        landscape,
        _sum_over_sizes(_ordinal_coefficient),
        where="ordinal_tree_partitions_by_size",
        needs="ordinal",
    )


def ordinal_tree_partitions_by_count(shape: TreeShape, c: int, m: int, landscape: Landscape) -> int:
    """Ordinal tree corollary: ``min(2 omega, binom(m,k))`` splits a size, as for real features.

    Examples
    --------
    >>> import treebound as tb
    >>> stump, landscape = tb.TreeShape.parse("(..)"), tb.Landscape(ordinal=(2,))
    >>> ordinal_tree_partitions_by_count(stump, 2, 6, landscape)
    5
    """
    return evaluate(
        shape,
        c,
        m,
        landscape,
        _sum_over_sizes(_ordinal_count_coefficient),
        where="ordinal_tree_partitions_by_count",
        needs="ordinal",
    )


def nominal_tree_partitions_by_size(shape: TreeShape, c: int, m: int, landscape: Landscape) -> int:
    """Nominal tree theorem, second bound: ``min(binom(m,k), nu floor(m/min(k,m-k)))`` splits.

    Examples
    --------
    >>> import treebound as tb
    >>> stump, landscape = tb.TreeShape.parse("(..)"), tb.Landscape(nominal=(5,))
    >>> nominal_tree_partitions_by_size(stump, 2, 4, landscape)
    5
    """
    return evaluate(
        shape,
        c,
        m,
        landscape,
        _sum_over_sizes(_nominal_coefficient),
        where="nominal_tree_partitions_by_size",
        needs="nominal",
    )


def mixture_tree_partitions(shape: TreeShape, c: int, m: int, landscape: Landscape) -> int:
    """Mixture theorem: ``min(binom(m,k), 2 ell + 2 omega + nu floor(m/min(k,m-k)))`` splits a size.

    Examples
    --------
    >>> import treebound as tb
    >>> shape, landscape = tb.TreeShape.parse("(..)"), tb.Landscape(real=1, ordinal=(2,))
    >>> mixture_tree_partitions(shape, 2, 4, landscape)
    6
    """
    return evaluate(
        shape,
        c,
        m,
        landscape,
        _sum_over_sizes(_mixture_coefficient, every_size=True),
        where="mixture_tree_partitions",
    )


def tree_partitions_by_size(shape: TreeShape, c: int, m: int, landscape: Landscape) -> int:
    """Any landscape: ``2^-[T_l=T_r] sum_k D_k A_k``, the errata's form of every second bound.

    Examples
    --------
    >>> import treebound as tb
    >>> shape, landscape = tb.TreeShape.parse("(..)"), tb.Landscape(real=1, ordinal=(2,))
    >>> tree_partitions_by_size(shape, 2, 4, landscape)
    5
    """
    return evaluate(
        shape,
        c,
        m,
        landscape,
        _sum_over_sizes(splits_of_left_size),
        where="tree_partitions_by_size",
    )


def budget_rule(recursion: Recursion, shape: TreeShape, m: int, features: Features) -> list[int]:
    """At most ``B(m)`` splits, the heaviest part sizes first."""
    weights = unordered_weights(recursion, shape, m, features)
    capacity = _capacities(m, features)
    budget = node_budget(m, features)
    totals = []
    for one in zip(*weights, strict=True):
        pairs = list(zip(one, capacity, strict=True))
        total = fill(pairs, budget)
        if not features.real:
            # A one-sided root test does what isolating one example would (erratum 10).
            total = max(total, one[0] + fill(pairs[1:], budget))
        totals.append(total)
    return totals


@lru_cache(maxsize=1 << 14)
def _capacities(m: int, features: Features) -> tuple[int, ...]:
    """Splits whose smaller part has ``k`` examples, ``k = 1 .. m/2``."""
    both = [splits_of_left_size(m, k, features) for k in range(1, m // 2 + 1)]
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
        one = joint(k)
        other = one if same or 2 * k == m else joint(m - k)
        weights.append([x + y for x, y in zip(one, other, strict=True)])
    return weights


def tree_partitions_within_budget(shape: TreeShape, c: int, m: int, landscape: Landscape) -> int:
    """Any landscape: the sum over part sizes filled from the heaviest until ``B(m)`` is spent.

    Examples
    --------
    >>> import treebound as tb
    >>> tree_partitions_within_budget(tb.TreeShape.parse("(..)"), 2, 4, tb.Landscape(nominal=(5,)))
    4
    """
    return evaluate(shape, c, m, landscape, budget_rule, where="tree_partitions_within_budget")


def _first_bound(kind: str) -> Rule:
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


def ordinal_tree_partitions_by_feature(
    shape: TreeShape, c: int, m: int, landscape: Landscape
) -> int:
    """Ordinal tree theorem, first bound: the feature tested loses a category below.

    Examples
    --------
    >>> import treebound as tb
    >>> shape = tb.TreeShape.parse("((..)(..))")
    >>> ordinal_tree_partitions_by_feature(shape, 4, 5, tb.Landscape(ordinal=(3, 2)))
    6
    """
    return evaluate(
        shape,
        c,
        m,
        landscape,
        _first_bound("ordinal"),
        where="ordinal_tree_partitions_by_feature",
        needs="ordinal",
    )


def nominal_tree_partitions_by_feature(
    shape: TreeShape, c: int, m: int, landscape: Landscape
) -> int:
    """Nominal tree theorem, first bound: the feature tested loses a category below.

    Examples
    --------
    >>> import treebound as tb
    >>> shape = tb.TreeShape.parse("(((..).).)")
    >>> nominal_tree_partitions_by_feature(shape, 4, 5, tb.Landscape(nominal=(3,)))
    7
    """
    return evaluate(
        shape,
        c,
        m,
        landscape,
        _first_bound("nominal"),
        where="nominal_tree_partitions_by_feature",
        needs="nominal",
    )


def feature_rule(recursion: Recursion, shape: TreeShape, m: int, features: Features) -> list[int]:
    """Each feature fills the heaviest sizes within its own budget; the lesser of it and B(m)."""
    whole = budget_rule(recursion, shape, m, features)
    plain = unordered_weights(recursion, shape, m, features)
    refined = refined_weights(recursion, shape, m, features)
    totals = []
    for c in range(recursion.parts):
        one_sided = plain[0][c]
        every = [_filled(plain, c, m, 2, m - 1, times=features.real)]
        inner = [one_sided]
        for weights, capacity, budget in refined:
            pairs = [(weight[c], room) for weight, room in zip(weights, capacity, strict=True)]
            every.append(fill(pairs, budget))
            inner.append(fill(pairs[1:], budget))
        total = sum(every) if features.real else max(sum(every), sum(inner))
        totals.append(min(total, whole[c]))
    return totals


def _filled(weights: list[list[int]], c: int, m: int, each: int, budget: int, *, times: int) -> int:
    """What ``times`` real features add: two splits of every size, one of size ``m/2``."""
    if not times:
        return 0
    capacity = [1 if 2 * k == m else each for k in range(1, m // 2 + 1)]
    pairs = [(weight[c], room) for weight, room in zip(weights, capacity, strict=True)]
    return times * fill(pairs, budget)


def refined_weights(
    recursion: Recursion, shape: TreeShape, m: int, features: Features
) -> list[tuple[list[list[int]], list[int], int]]:
    """For every categorical feature: weight of a split by size, how many there are, its budget.

    A threshold leaves ``theta`` and ``O_i - theta`` categories, a unitary test 1 and ``N_i - 1``.
    """
    sizes = range(1, m // 2 + 1)
    found = []
    for at, o in enumerate(features.ordinal):
        pairs = [(theta, o - theta) for theta in range(1, o)]
        weights = _weights_of_pairs(recursion, shape, m, features, "ordinal", at, pairs)
        capacity = [1 if 2 * k == m else min(o - 1, 2) for k in sizes]
        found.append((weights, capacity, min(o, m) - 1))
    for at, n in enumerate(features.nominal):
        pairs = [(1, n - 1), (n - 1, 1)]
        weights = _weights_of_pairs(recursion, shape, m, features, "nominal", at, pairs)
        capacity = [nominal_splits_of_size(n, m, k) for k in sizes]
        found.append((weights, capacity, nominal_splits(n, m)))
    return found


def _weights_of_pairs(
    recursion: Recursion,
    shape: TreeShape,
    m: int,
    features: Features,
    kind: str,
    at: int,
    pairs: list[tuple[int, int]],
) -> list[list[int]]:
    """Heaviest split of each size over the ways its two parts can share the categories."""
    sides = [
        (with_categories(features, kind, at, x), with_categories(features, kind, at, y))
        for x, y in dict.fromkeys(pairs)
    ]
    weights = []
    for k in range(1, m // 2 + 1):
        best = [0] * recursion.parts
        for small, large in sides:
            one = recursion.joint(shape, k, m, small, large)
            other = recursion.joint(shape, m - k, m, large, small)
            best = [max(b, x + y) for b, x, y in zip(best, one, other, strict=True)]
        weights.append(best)
    return weights


def tree_partitions_by_feature(shape: TreeShape, c: int, m: int, landscape: Landscape) -> int:
    """Any landscape: each feature within its own budget, subtrees with the categories left.

    The lesser of this and the budget form, each distinct example counted once. Slow where many
    features have many categories: every landscape that splitting can leave is visited.

    Examples
    --------
    >>> import treebound as tb
    >>> shape = tb.TreeShape.parse("(((..).)(..))")
    >>> tree_partitions_by_feature(shape, 3, 5, tb.Landscape(nominal=(2, 2)))
    6
    """
    return evaluate(
        shape, c, m, landscape, feature_rule, where="tree_partitions_by_feature", merge_rows=True
    )
