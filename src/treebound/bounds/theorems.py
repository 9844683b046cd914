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

from treebound.bounds._checks import check_int, check_landscape, check_shape, check_size
from treebound.bounds._recursion import Features, Recursion, Rule, features_of
from treebound.bounds._rules import (
    budget_rule,
    feature_rule,
    first_bound,
    splits_of_left_size,
    sum_over_sizes,
)
from treebound.bounds.splits import binomial_at_most
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
    m, c = check_size("m", m, where), check_int("c", c, where)
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
        sum_over_sizes(_real_coefficient),
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
        sum_over_sizes(_ordinal_coefficient),
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
        sum_over_sizes(_ordinal_count_coefficient),
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
        sum_over_sizes(_nominal_coefficient),
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
        sum_over_sizes(_mixture_coefficient, every_size=True),
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
        sum_over_sizes(splits_of_left_size),
        where="tree_partitions_by_size",
    )


def tree_partitions_within_budget(shape: TreeShape, c: int, m: int, landscape: Landscape) -> int:
    """Any landscape: the sum over part sizes filled from the heaviest until ``B(m)`` is spent.

    Examples
    --------
    >>> import treebound as tb
    >>> tree_partitions_within_budget(tb.TreeShape.parse("(..)"), 2, 4, tb.Landscape(nominal=(5,)))
    4
    """
    return evaluate(shape, c, m, landscape, budget_rule, where="tree_partitions_within_budget")


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
        first_bound("ordinal"),
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
        first_bound("nominal"),
        where="nominal_tree_partitions_by_feature",
        needs="nominal",
    )


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
