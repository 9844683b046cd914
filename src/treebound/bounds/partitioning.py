"""The least upper bound on the number of ``c``-partitions, of all that apply.

At every node of the recursion the least of: the sum over part sizes within the node's budget, the
sum over features within theirs, the fast total, for a stump the largest attribution of splits to
features, for a single feature the exact count, and ``S(m, c)``. The least of valid bounds at every
level is a valid bound.
"""

from __future__ import annotations

from math import comb, prod

from treebound.bounds._checks import check_int, check_landscape, check_shape, check_size
from treebound.bounds._recursion import Features, Recursion, Rule, features_of
from treebound.bounds._rules import (
    budget_rule,
    fast_rule,
    feature_rule,
    sum_over_sizes,
)
from treebound.bounds.counting import stirling
from treebound.bounds.splits import node_splits_of_size
from treebound.bounds.stumps import best_attribution
from treebound.bounds.theorems import Theorem, evaluate
from treebound.landscape import Landscape
from treebound.shapes import TreeShape

# Steps, an upper bound, up to which the sum over features is tried: some seconds.
_REFINED_STEPS = 5e7
_by_size = sum_over_sizes(node_splits_of_size)
_fast = fast_rule(within_budget=True)


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
    The sum over features visits every landscape that splitting can leave. It is left out where
    that would take more than some seconds; what remains is still a bound.

    Examples
    --------
    >>> import treebound as tb
    >>> shape = tb.TreeShape.parse("((..).)")
    >>> [partitions(shape, 2, m, tb.Landscape(real=2)) for m in range(2, 9)]
    [1, 3, 7, 15, 31, 63, 127]
    """
    m, c = check_size("m", m, "partitions"), check_int("c", c, "partitions")
    check_shape(shape, "partitions")
    check_landscape(landscape, "partitions")
    few = _steps(shape, c, m, features_of(landscape)) <= _REFINED_STEPS
    rule = refined_rule if few else plain_rule
    return evaluate(Theorem(rule, merge_rows=True), shape, c, m, landscape, "partitions")


def one_feature_partitions(leaves: int, c: int, m: int) -> int:
    """One real feature and nothing else (not in the paper): exact for every shape.

    Leaves are intervals, so the examples in order fall into at most ``L`` runs, and neighbouring
    runs belong to different parts: ``sum_{b=c}^{min(L,m)} binom(m-1, b-1) S(b-1, c-1)``. Any tree
    with ``L`` leaves makes all of these. An ordinal feature is a real one on ``min(m, O)``
    examples.
    """
    leaves = check_int("leaves", leaves, "one_feature_partitions")
    c, m = check_int("c", c, "one_feature_partitions"), check_int("m", m, "one_feature_partitions")
    runs = range(c, min(leaves, m) + 1)
    return sum(comb(m - 1, b - 1) * stirling(b - 1, c - 1) for b in runs)


def is_one_threshold(features: Features) -> bool:
    """Whether a single feature is tested, and by thresholds."""
    return features.real + len(features.ordinal) == 1 and not features.nominal


def _steps(shape: TreeShape, c: int, m: int, features: Features) -> float:
    """About how many steps the sum over features takes."""
    counts = [min(categories, m) for categories in features.ordinal + features.nominal]
    ways = sum(o - 1 for o in features.ordinal if o <= m) + 2 * len(features.nominal)
    depth = min(max(shape.depth - 1, 0), 60)
    landscapes = min(float(prod(counts)), float(1 + ways) ** depth)
    inner = max(shape.nodes - 1, 1)
    return landscapes * inner * m * m * (1 + ways) * min(c, 2) ** 2


def plain_rule(recursion: Recursion, shape: TreeShape, m: int, features: Features) -> list[int]:
    """The least of the budget form, the fast total and the attribution."""
    if is_one_threshold(features):
        # Twice for equal subtrees, because the recursion then halves.
        twice = 1 + (shape.left is shape.right)
        counts = range(1, recursion.parts + 1)
        return [twice * one_feature_partitions(shape.leaves, c, m) for c in counts]
    if shape.leaves == 2:
        # Twice, because the recursion halves what equal subtrees count in both directions.
        return [1, 2 * best_attribution(m, features)] + [0] * (recursion.parts - 2)
    # With real features only, the splits of all sizes together are within the budget.
    rule = _by_size if features.is_real else budget_rule
    return _least_with_fast(rule, recursion, shape, m, features)


def refined_rule(recursion: Recursion, shape: TreeShape, m: int, features: Features) -> list[int]:
    """The least of all forms, the sum over features among them."""
    if shape.leaves == 2 or features.is_real or is_one_threshold(features):
        return plain_rule(recursion, shape, m, features)
    return _least_with_fast(feature_rule, recursion, shape, m, features)


def _least_with_fast(
    rule: Rule, recursion: Recursion, shape: TreeShape, m: int, features: Features
) -> list[int]:
    forms = (rule(recursion, shape, m, features), _fast(recursion, shape, m, features))
    return [min(pair) for pair in zip(*forms, strict=True)]
