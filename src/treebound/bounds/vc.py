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

import numpy as np

from treebound.bounds._checks import check_landscape, check_shape
from treebound.bounds._closed import log_closed_growth
from treebound.bounds._tables import EXACT, growth_of_two_classes
from treebound.bounds.shattered import shattered_at_least
from treebound.bounds.splits import Features, features_of
from treebound.landscape import Landscape
from treebound.shapes import TreeShape

# Multiplications up to which sums over part sizes are tried at all.
_MAX_WORK = 4e9
# Whole numbers above 2**53 are rounded: a count this close to 2**m is taken to reach it.
_MARGIN = 1e-9


@dataclass(frozen=True)
class VCDimension:
    """Bounds on a VC dimension.

    Attributes
    ----------
    lower, upper : int
        Some sample of the size ``lower`` is shattered, and none that is larger than ``upper``.
    lower_by, upper_by : str
        The lemma or method behind each bound, such as ``"cluster lemma"``; ignored in comparisons.

    Examples
    --------
    >>> import treebound as tb
    >>> dimension = tb.bounds.vc_dimension(tb.TreeShape.parse("((..).)"), tb.Landscape(real=4))
    >>> print(dimension)
    7..11
    >>> dimension.exact
    False
    """

    lower: int
    upper: int
    lower_by: str = field(default="", compare=False)
    upper_by: str = field(default="", compare=False)

    @property
    def exact(self) -> bool:
        """Return True if both agree."""
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
    >>> dimension = vc_dimension(tb.TreeShape.parse("((..).)"), tb.Landscape(real=10))
    >>> dimension.lower, dimension.lower_by
    (11, 'cluster lemma')
    >>> dimension.upper, dimension.upper_by
    (14, 'chain lemma')
    >>> print(vc_dimension(tb.TreeShape.parse("(..)"), tb.Landscape(real=10)))
    6
    """
    check_shape(shape, "vc_dimension")
    features = features_of(check_landscape(landscape, "vc_dimension"))
    if shape.is_leaf or features.is_empty:
        return VCDimension(1, 1, "one example", "one label")
    lower = shattered_at_least(shape, features)
    upper, by = _largest_shattered(shape, features, lower.size)
    return VCDimension(lower.size, upper, lower.by, by)


# -- upper bounds ------------------------------------------------------------------------------


UpperBound = tuple[int, str]
"""An upper bound and the theorem it rests on."""


def _largest_shattered(shape: TreeShape, features: Features, at_least: int) -> UpperBound:
    """Upper bound on the VC dimension; no sample size up to ``at_least`` need be tried."""
    if features.is_one_threshold:
        # Leaves are intervals: L of them never alternate L + 1 labels (one_feature_partitions).
        return min(shape.leaves, *(features.ordinal or (shape.leaves,))), "intervals"
    if features.is_real and (shape.leaves, features.real) in EXACT:
        return EXACT[shape.leaves, features.real], "exhaustive search"
    size = _first_unshattered(shape, features)
    bound: UpperBound = size - 1, "closed form"
    work = sum(not part.is_leaf for part in shape.subshapes()) * float(size) ** 2
    if work > _MAX_WORK:
        return bound
    if not features.is_real:
        # Without following categories down the tree: quick, and leaves fewer sample sizes to try.
        bound = _first_too_few(shape, features, at_least, bound, follow=False)
    return _first_too_few(shape, features, at_least, bound, follow=True)


def _first_too_few(
    shape: TreeShape, features: Features, at_least: int, closed: UpperBound, *, follow: bool
) -> UpperBound:
    """The bound by the least sample size with fewer than ``2^m`` labellings, or a known one."""
    most = closed[0]
    growth, by_chains = growth_of_two_classes(shape, features, most, follow=follow)
    m = np.arange(max(at_least, 1) + 1, most + 1)
    powers = np.clip(growth["power"][m] - m, -1000, 1).astype(np.int32)
    share = np.ldexp(growth["mantissa"][m], powers)
    few = np.flatnonzero(share < 1 - _MARGIN * (m > 53))
    if not len(few):
        return closed
    first = int(m[few[0]])
    if shape.leaves == 2:
        return first - 1, "stump theorem"
    return first - 1, "chain lemma" if by_chains[first] else "partition theorems"


def _first_unshattered(shape: TreeShape, features: Features) -> int:
    """A sample size whose ``2^m`` labellings the closed form rules out; not always the least."""

    def possible(m: int) -> bool:
        return log_closed_growth(shape, m, 2, features) >= m * log(2) * (1 - 1e-12)

    low, high = 1, 2
    while possible(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if possible(middle) else (low, middle)
    return high
