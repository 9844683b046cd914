"""The VC dimension of a tree shape: exact for stumps on real features, else from both sides.

==========================  ========================================================================
``lower_by``                what the lower bound rests on
==========================  ========================================================================
``stump theorem``           the paper's theorem on stumps, attained by the witness construction
``sum of children``         Yildiz (2015): the children's samples next to each other
``cluster lemma``           both children's samples around one cluster of points (ours)
``binary clusters``         the same with two categories in every feature (ours)
``clusters of categories``  the same, or categories shared between children (ours)
``search``                  a stored sample, found by search
``one example``             one example is shattered by two labels of a single leaf
==========================  ========================================================================

==========================  ========================================================================
``upper_by``                what the upper bound rests on
==========================  ========================================================================
``stump theorem``           the paper's theorem on stumps
``intervals``               on one threshold feature the leaves are intervals
``partition theorems``      the paper's Algorithm VCdimUpperBound on the least partition bound
``chain lemma``             the same on the count of the chain lemma (ours)
``closed form``             the same on the closed form of the growth function (ours)
``exhaustive search``       every sample of one example more was tried
``one label``               without a test all examples get the same label
==========================  ========================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log

from treebound.bounds._checks import check_int, check_landscape, check_shape
from treebound.bounds._recursion import features_of
from treebound.bounds._vc_upper import largest_shattered
from treebound.bounds.related import largest_central
from treebound.bounds.shattered import shattered_at_least
from treebound.landscape import Landscape
from treebound.shapes import TreeShape

__all__ = [
    "VCDimension",
    "stump_vc_dimension",
    "sum_of_children_vc_dimension",
    "vc_dimension",
    "vc_dimension_asymptotic",
    "vc_dimension_order",
]


@dataclass(frozen=True)
class VCDimension:
    """What is known of a VC dimension.

    Attributes
    ----------
    lower : int
        Some sample of this size is shattered.
    upper : int
        No larger sample is shattered.
    lower_by, upper_by : str
        The lemma or method behind each bound, such as ``"cluster lemma"``; ignored in comparisons.

    Examples
    --------
    >>> import treebound as tb
    >>> found = tb.bounds.vc_dimension(tb.TreeShape.parse("((..).)"), tb.Landscape(real=4))
    >>> print(found)
    7..11
    >>> found.exact
    False
    """

    lower: int
    upper: int
    lower_by: str = field(default="", compare=False)
    upper_by: str = field(default="", compare=False)

    @property
    def exact(self) -> bool:
        """Whether both agree."""
        return self.lower == self.upper

    def __str__(self) -> str:
        return str(self.lower) if self.exact else f"{self.lower}..{self.upper}"


def vc_dimension(shape: TreeShape, landscape: Landscape) -> VCDimension:
    """Lower and upper bound on the VC dimension of a shape on a landscape.

    The upper bound is one less than the first sample size with fewer than ``2^m`` labellings (the
    paper's Algorithm VCdimUpperBound), counted by the chain lemma and the least partition bound.
    The lower bound is the size of a sample that is shattered; :func:`shattered_sample` builds it.

    Parameters
    ----------
    shape : TreeShape
        The shape of the trees.
    landscape : Landscape
        The features a tree may test.

    Returns
    -------
    VCDimension
        Both bounds and what they rest on.

    Notes
    -----
    Where many features have many categories, those with most are not followed down the tree, and
    for shapes of many hundred leaves the closed form of the growth function replaces the sums
    over part sizes. The result is still a bound.

    Examples
    --------
    >>> import treebound as tb
    >>> found = vc_dimension(tb.TreeShape.parse("((..).)"), tb.Landscape(real=10))
    >>> found.lower, found.lower_by
    (11, 'cluster lemma')
    >>> found.upper, found.upper_by
    (14, 'chain lemma')
    >>> print(vc_dimension(tb.TreeShape.parse("(..)"), tb.Landscape(real=10)))
    6
    """
    check_shape(shape, "vc_dimension")
    features = features_of(check_landscape(landscape, "vc_dimension"))
    if shape.is_leaf or features.is_empty:
        return VCDimension(1, 1, "one example", "one label")
    lower = shattered_at_least(shape, features)
    upper = largest_shattered(shape, features, lower.size)
    return VCDimension(lower.size, upper.size, lower.by, upper.by)


def stump_vc_dimension(real: int) -> int:
    """Corollary: VC dimension of a stump on real features, exact.

    The largest ``d`` with ``2 ell >= binom(d, floor(d/2))``.

    Parameters
    ----------
    real : int
        Number of real features ``ell``.

    Returns
    -------
    int

    Examples
    --------
    >>> [stump_vc_dimension(real) for real in range(1, 11)]
    [2, 3, 4, 4, 5, 5, 5, 5, 5, 6]
    """
    return largest_central(2 * check_int("real", real, "stump_vc_dimension"))


def sum_of_children_vc_dimension(shape: TreeShape, real: int) -> int:
    """Recursive lower bound (Yildiz 2015) on real features, with exact stumps.

    Parameters
    ----------
    shape : TreeShape
        The shape of the trees.
    real : int
        Number of real features ``ell``.

    Returns
    -------
    int

    Examples
    --------
    >>> import treebound as tb
    >>> sum_of_children_vc_dimension(tb.TreeShape.parse("((..)(..))"), 3)
    8
    """
    check_shape(shape, "sum_of_children_vc_dimension")
    stump = stump_vc_dimension(real)
    known: dict[TreeShape, int] = {}
    for part in shape.subshapes():
        if part.left is None or part.right is None:
            known[part] = 1
        elif part.leaves == 2:
            known[part] = stump
        else:
            known[part] = known[part.left] + known[part.right]
    return known[shape]


def vc_dimension_order(leaves: int, real: int, *, constant: float = 14.0) -> float:
    """Asymptotic corollary as printed: an order of growth, ``O(L log(L ell))``, not a bound.

    Solves ``(C m ell)^N = 2^m`` for ``m`` by the Lambert function. For one node and one feature it
    gives 6.5, though ``m = 7`` still satisfies the inequality it is derived from (erratum 17).

    Parameters
    ----------
    leaves : int
        Number of leaves ``L``, at least 1.
    real : int
        Number of real features ``ell``.
    constant : float
        The constant ``C`` of the proof, at least 14.

    Returns
    -------
    float

    Examples
    --------
    >>> round(vc_dimension_order(2, 1), 2)
    6.51
    """
    return _solution(leaves, real, constant, 0.0, "vc_dimension_order")


def vc_dimension_asymptotic(leaves: int, real: int, *, constant: float = 14.0) -> float:
    """Asymptotic corollary, corrected so that it is an upper bound on the VC dimension.

    Solves ``(C m ell)^N = 2^(m-2)``, since ``2^(m-2) <= 2^(m-1) - 1`` (erratum 17).

    Parameters
    ----------
    leaves : int
        Number of leaves ``L``, at least 1.
    real : int
        Number of real features ``ell``.
    constant : float
        The constant ``C`` of the proof, at least 14.

    Returns
    -------
    float

    Examples
    --------
    >>> round(vc_dimension_asymptotic(2, 1), 2)
    8.97
    """
    return _solution(leaves, real, constant, 2.0, "vc_dimension_asymptotic")


def _solution(leaves: int, real: int, constant: float, less: float, where: str) -> float:
    """The larger ``m`` with ``(C m ell)^N = 2^(m - less)``."""
    nodes = check_int("leaves", leaves, where) - 1
    real = check_int("real", real, where)
    if not constant >= 14:
        raise ValueError(
            f"The 'constant' parameter of {where} must be a number >= 14. Got {constant!r} instead."
        )
    if nodes == 0:
        return 1.0
    from scipy.special import lambertw

    argument = -log(2) / (nodes * constant * real) * 2 ** (-less / nodes)
    return float(-nodes / log(2) * lambertw(argument, -1).real)
