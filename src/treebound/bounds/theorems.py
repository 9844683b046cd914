"""The tree theorems as a table, so that they can be compared.

Each is an upper bound on ``pi^c_T(m)``, the number of ``c``-partitions a shape can make of ``m``
examples, as an exact integer, corrected by the errata and combined with no other bound than
``S(m, c)``. The least of all bounds is :func:`treebound.bounds.partitions`.

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
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from treebound._validation import OneOf, check, invalid
from treebound.bounds._checks import check_int, check_landscape, check_shape, check_size
from treebound.bounds._recursion import Features, Recursion, Rule, features_of, simple_case
from treebound.bounds._rules import (
    budget_rule,
    fast_rule,
    feature_rule,
    first_bound,
    sum_over_sizes,
)
from treebound.bounds.splits import binomial_at_most, node_splits_of_size
from treebound.landscape import Landscape
from treebound.shapes import TreeShape


@dataclass(frozen=True)
class Theorem:
    """One tree theorem."""

    rule: Rule
    only: str = ""
    merge_rows: bool = False
    fast: bool = False


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
    check_shape(shape, where)
    check_landscape(landscape, where)
    if chosen.only:
        _check_only(landscape, chosen.only, where)
    return evaluate(chosen, shape, c, m, landscape, where)


def evaluate(
    theorem: Theorem, shape: TreeShape, c: int, m: int, landscape: Landscape, where: str
) -> int:
    """The value of one theorem, with the cases that hold for every theorem."""
    check_shape(shape, where)
    check_landscape(landscape, where)
    m, c = check_size("m", m, where), check_int("c", c, where)
    features = features_of(landscape)
    if theorem.merge_rows and not features.is_empty:
        m = features.combinations(m)
    simple = simple_case(shape, c, m, features)
    if simple is not None:
        return simple
    recursion = Recursion(theorem.rule, c, merge_rows=theorem.merge_rows)
    recursion.prepare(shape, m, features, fast=theorem.fast)
    chosen = recursion(shape, m, features)
    return chosen[c - 1] if len(chosen) >= c else 0


def _check_only(landscape: Landscape, kind: str, where: str) -> None:
    counts = {"real": landscape.real, "ordinal": landscape.ordinal, "nominal": landscape.nominal}
    if any(chosen for name, chosen in counts.items() if name != kind):
        hint = "theorem='by-size' takes any mixture."
        raise invalid("landscape", where, f"of {kind} features only here", landscape, hint)


def _real(m: int, k: int, features: Features) -> int:
    return binomial_at_most(m, k, 2 * features.real)


def _ordinal(m: int, k: int, features: Features) -> int:
    two, three = len(features.ordinal), sum(o >= 3 for o in features.ordinal)
    return binomial_at_most(m, k, 2 * two if 2 * k == m else two + three)


def _ordinal_count(m: int, k: int, features: Features) -> int:
    return binomial_at_most(m, k, 2 * len(features.ordinal))


def _nominal(m: int, k: int, features: Features) -> int:
    return binomial_at_most(m, k, len(features.nominal) * (m // min(k, m - k)))


def _mixture(m: int, k: int, features: Features) -> int:
    thresholds = 2 * features.real + 2 * len(features.ordinal)
    return binomial_at_most(m, k, thresholds + len(features.nominal) * (m // min(k, m - k)))


THEOREMS: Mapping[str, Theorem] = MappingProxyType(
    {
        "real": Theorem(sum_over_sizes(_real), "real"),
        "ordinal-by-feature": Theorem(first_bound("ordinal"), "ordinal"),
        "ordinal-by-size": Theorem(sum_over_sizes(_ordinal), "ordinal"),
        "ordinal-by-count": Theorem(sum_over_sizes(_ordinal_count), "ordinal"),
        "nominal-by-feature": Theorem(first_bound("nominal"), "nominal"),
        "nominal-by-size": Theorem(sum_over_sizes(_nominal), "nominal"),
        "mixture": Theorem(sum_over_sizes(_mixture, every_size=True)),
        "by-size": Theorem(sum_over_sizes(node_splits_of_size)),
        "within-budget": Theorem(budget_rule),
        "fast": Theorem(fast_rule(within_budget=False), fast=True),
        "fast-within-budget": Theorem(fast_rule(within_budget=True), fast=True),
        # Slow where many features have many categories: visits every landscape that is left.
        "by-feature": Theorem(feature_rule, merge_rows=True),
    }
)
"""The tree theorems by name."""
