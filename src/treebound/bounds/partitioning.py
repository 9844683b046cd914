"""Upper bounds on the number of ``c``-partitions: the tree theorems, and the least of all bounds.

Each theorem bounds ``pi^c_T(m)``, the number of ``c``-partitions a shape can make of ``m``
examples, as an exact integer, corrected by the errata and combined with no other bound than
``S(m, c)``.

======================  ======================================================  =============
name                    splits of the root                                      errata
======================  ======================================================  =============
``real``                ``min(2 ell, binom(m,k))`` with a left part of ``k``
``ordinal-by-feature``  of each feature, which loses a category below           10
``ordinal-by-size``     ``R'_k`` with a part of size ``k``                      5
``ordinal-by-count``    ``min(2 omega, binom(m,k))``
``nominal-by-feature``  of each feature, which loses a category below           2, 10, 11
``nominal-by-size``     ``min(binom(m,k), nu floor(m / min(k,m-k)))``           1, 2
``mixture``             Algorithm PartiFuncUB: ``2 ell + 2 omega`` more         2, 3, 4
``by-size``             ``D_k`` (errata: any landscape)
``within-budget``       ``D_k``, the heaviest first, at most ``B(m)`` (errata)
``by-feature``          each feature within its own budget (errata)
``fast``                Algorithm LogPartiFuncUB: all as heavy as the heaviest  6, 7
``fast-within-budget``  the same, at most ``2 B(m)`` of them
======================  ======================================================  =============

:func:`partitions` takes at every node of the recursion the least of: the sum over part sizes within
the node's budget, the sum over features within theirs, the fast total, for a stump the largest
attribution of splits to features, for a single feature the exact count, and ``S(m, c)``. The least
of valid bounds at every level is a valid bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb, prod
from types import MappingProxyType
from typing import NamedTuple

from treebound._utils.validation import OneOf, as_int, check, invalid
from treebound.bounds._checks import check_landscape, check_shape, check_size
from treebound.bounds._recursion import (
    Recursion,
    Rule,
    budget_rule,
    fast_rule,
    feature_rule,
    first_bound,
    sum_over_sizes,
)
from treebound.bounds.counting import stirling
from treebound.bounds.splits import Features, features_of, node_splits_of_size
from treebound.bounds.stumps import best_attribution
from treebound.landscape import Landscape
from treebound.shapes import TreeShape

# Steps, an upper bound, up to which the sum over features is tried: some seconds.
_BY_FEATURE_STEPS = 5e7
_by_size = sum_over_sizes(node_splits_of_size)
_fast_within_budget = fast_rule(within_budget=True)


class Theorem(NamedTuple):
    """One tree theorem: its rule, the only kind of feature it is for, and how it is evaluated."""

    rule: Rule
    only: str = ""
    merge_rows: bool = False
    fast: bool = False


def partitions(shape: TreeShape, c: int, m: int, landscape: Landscape) -> int:
    """The least of the upper bounds on ``pi^c_T(m)`` in this package.

    Parameters
    ----------
    shape : TreeShape
        The shape of the trees.
    c : int
        Number of parts, at least 1.
    m : int
        Number of examples, at least 1.
    landscape : Landscape
        The features a tree may test.

    Returns
    -------
    int
        0 for ``c > min(m, leaves)``, else 1 for ``c = 1``, else 0 without an informative feature.

    Notes
    -----
    The sum over features visits every landscape that splitting can leave. It is omitted if
    that would take more than some seconds; what remains is still a bound.

    Examples
    --------
    >>> import treebound as tb
    >>> shape = tb.TreeShape.parse("((..).)")
    >>> [partitions(shape, 2, m, tb.Landscape(real=2)) for m in range(2, 9)]
    [1, 3, 7, 15, 31, 63, 127]
    """
    where = "partitions"
    m, c = check_size("m", m, where), as_int("c", where, c, 1)
    features = _checked(shape, landscape, where)
    rule = _least(by_feature=_steps(shape, c, m, features) <= _BY_FEATURE_STEPS)
    return _evaluate(Theorem(rule, merge_rows=True), shape, c, m, features, where)


def tree_partitions(
    shape: TreeShape, c: int, m: int, landscape: Landscape, theorem: str = "by-size"
) -> int:
    """The bound of one tree theorem on ``pi^c_T(m)``.

    Parameters
    ----------
    shape, c, m, landscape
        As in :func:`treebound.bounds.partitions`.
    theorem : str
        ``"real"``, ``"ordinal-by-feature"``, ``"ordinal-by-size"``, ``"ordinal-by-count"``,
        ``"nominal-by-feature"``, ``"nominal-by-size"``, ``"mixture"``, ``"by-size"``,
        ``"within-budget"``, ``"by-feature"``, ``"fast"`` or ``"fast-within-budget"``;
        :doc:`/theory` describes them.

    Returns
    -------
    int
        As in :func:`treebound.bounds.partitions`.

    Raises
    ------
    ValueError
        If the theorem is unknown, or is for one kind of feature and the landscape has another.

    Examples
    --------
    >>> import treebound as tb
    >>> shape, landscape = tb.TreeShape.parse("((..).)"), tb.Landscape(nominal=(3,))
    >>> for name in ("nominal-by-feature", "nominal-by-size", "by-size", "within-budget"):
    ...     print(name, tree_partitions(shape, 3, 5, landscape, name))
    nominal-by-feature 8
    nominal-by-size 25
    by-size 14
    within-budget 11
    >>> tree_partitions(shape, 2, 7, tb.Landscape(real=1), "real")
    63
    """
    where = "tree_partitions"
    check(where, {"theorem": theorem}, {"theorem": OneOf(tuple(THEOREMS))})
    chosen = THEOREMS[theorem]
    features = _checked(shape, landscape, where)
    counts = {"real": landscape.real, "ordinal": landscape.ordinal, "nominal": landscape.nominal}
    if chosen.only and any(number for kind, number in counts.items() if kind != chosen.only):
        hint = "theorem='by-size' takes any mixture."
        raise invalid("landscape", where, f"of {chosen.only} features only here", landscape, hint)
    return _evaluate(chosen, shape, c, m, features, where)


def _checked(shape: object, landscape: object, where: str) -> Features:
    check_shape(shape, where)
    return features_of(check_landscape(landscape, where))


def _evaluate(
    theorem: Theorem, shape: TreeShape, c: int, m: int, features: Features, where: str
) -> int:
    """The value of one theorem, with the cases that hold for every theorem."""
    m, c = check_size("m", m, where), as_int("c", where, c, 1)
    if theorem.merge_rows and not features.is_empty:
        m = features.combinations(m)
    if c > min(m, shape.leaves):
        return 0
    if c == 1:
        return 1
    if features.is_empty or c == m:
        return int(not features.is_empty)
    recursion = Recursion(theorem.rule, c, merge_rows=theorem.merge_rows)
    recursion.prepare(shape, m, features, fast=theorem.fast)
    counts = recursion(shape, m, features)
    return counts[c - 1] if len(counts) >= c else 0


def one_feature_partitions(leaves: int, c: int, m: int) -> int:
    """One real feature and nothing else (not in the paper): exact for every shape."""
    # Leaves are intervals, so the examples in order fall into b <= L runs, and neighbouring runs
    # belong to different parts. Any tree with L leaves makes all of these. An ordinal feature is a
    # real one on min(m, O) examples.
    runs = range(c, min(leaves, m) + 1)
    return sum(comb(m - 1, b - 1) * stirling(b - 1, c - 1) for b in runs)


def _steps(shape: TreeShape, c: int, m: int, features: Features) -> float:
    """About how many steps the sum over features takes."""
    counts = [min(categories, m) for categories in features.ordinal + features.nominal]
    ways = sum(o - 1 for o in features.ordinal if o <= m) + 2 * len(features.nominal)
    depth = min(max(shape.depth - 1, 0), 60)
    landscapes = min(float(prod(counts)), float(1 + ways) ** depth)
    inner = max(shape.nodes - 1, 1)
    return landscapes * inner * m * m * (1 + ways) * min(c, 2) ** 2


def _least(*, by_feature: bool) -> Rule:
    """The least of all forms, the sum over features only if it is not too slow."""

    def rule(recursion: Recursion, shape: TreeShape, m: int, features: Features) -> list[int]:
        # Twice where subtrees are equal, because the recursion then halves.
        if features.is_one_threshold:
            twice = 1 + (shape.left is shape.right)
            counts = range(1, recursion.parts + 1)
            return [twice * one_feature_partitions(shape.leaves, c, m) for c in counts]
        if shape.leaves == 2:
            return [1, 2 * best_attribution(m, features)] + [0] * (recursion.parts - 2)
        # With real features only, the splits of all sizes together are within the budget.
        form = _by_size if features.is_real else feature_rule if by_feature else budget_rule
        forms = (form, _fast_within_budget)
        totals = (some_form(recursion, shape, m, features) for some_form in forms)
        return [min(pair) for pair in zip(*totals, strict=True)]

    return rule


# -- the theorems of the table ------------------------------------------------------------------


def _thresholds(m: int, k: int, features: Features) -> int:
    return 2 * features.real + 2 * len(features.ordinal)


def _ordinal(m: int, k: int, features: Features) -> int:
    two, three = len(features.ordinal), sum(o >= 3 for o in features.ordinal)
    return 2 * two if 2 * k == m else two + three


def _mixture(m: int, k: int, features: Features) -> int:
    return _thresholds(m, k, features) + len(features.nominal) * (m // min(k, m - k))


THEOREMS: Mapping[str, Theorem] = MappingProxyType(
    {
        "real": Theorem(sum_over_sizes(_thresholds), "real"),
        "ordinal-by-feature": Theorem(first_bound("ordinal"), "ordinal"),
        "ordinal-by-size": Theorem(sum_over_sizes(_ordinal), "ordinal"),
        "ordinal-by-count": Theorem(sum_over_sizes(_thresholds), "ordinal"),
        "nominal-by-feature": Theorem(first_bound("nominal"), "nominal"),
        "nominal-by-size": Theorem(sum_over_sizes(_mixture), "nominal"),
        "mixture": Theorem(sum_over_sizes(_mixture, every_size=True)),
        "by-size": Theorem(_by_size),
        "within-budget": Theorem(budget_rule),
        "fast": Theorem(fast_rule(within_budget=False), fast=True),
        "fast-within-budget": Theorem(_fast_within_budget, fast=True),
        # Slow where many features have many categories: visits every landscape that is left.
        "by-feature": Theorem(feature_rule, merge_rows=True),
    }
)
"""The tree theorems by name."""
