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

from treebound.bounds._checks import check_landscape, check_shape
from treebound.bounds._recursion import features_of
from treebound.bounds._vc_upper import largest_shattered
from treebound.bounds.shattered import shattered_at_least
from treebound.landscape import Landscape
from treebound.shapes import TreeShape


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
