"""Upper bounds on VC dimensions: the first sample size with too few labellings for all.

Algorithm VCdimUpperBound of the paper, on the least of its partition bounds and the chain lemma.
Two classes are enough: with ``G = 2 + 2 pi^2`` a sample of ``m`` examples can be shattered only if
``G(m) = 2^m``.
"""

from __future__ import annotations

from functools import lru_cache
from math import log
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound.bounds._closed import log_closed_growth
from treebound.bounds._recursion import Features
from treebound.bounds._scaled import Scaled
from treebound.bounds._vc_growth import EXACT, Growth, merged
from treebound.bounds.partitioning import is_one_threshold
from treebound.shapes import TreeShape

_lock = Lock()
# Multiplications up to which sums over part sizes are tried at all.
_MOST_WORK = 4e9
# Whole numbers above 2**53 are rounded: a count this close to 2**m is taken to reach it.
_MARGIN = 1e-9


class UpperBound(NamedTuple):
    """An upper bound and the theorem it rests on."""

    size: int
    by: str


def largest_shattered(shape: TreeShape, features: Features, at_least: int) -> UpperBound:
    """Upper bound on the VC dimension; no sample size up to ``at_least`` need be tried."""
    if is_one_threshold(features):
        # Leaves are intervals: L of them never alternate L + 1 labels (one_feature_partitions).
        return UpperBound(min(shape.leaves, *(features.ordinal or (shape.leaves,))), "intervals")
    if features.is_real and (shape.leaves, features.real) in EXACT:
        return UpperBound(EXACT[shape.leaves, features.real], "exhaustive search")
    size = first_unshattered(shape, features)
    bound = UpperBound(size - 1, "closed form")
    work = sum(not part.is_leaf for part in shape.subshapes()) * float(size) ** 2
    if work > _MOST_WORK:
        return bound
    if not features.is_real:
        # Without following categories down the tree: quick, and leaves fewer sample sizes to try.
        bound = _first_too_few(shape, features, at_least, bound, follow=False)
    return _first_too_few(shape, features, at_least, bound, follow=True)


def _first_too_few(
    shape: TreeShape, features: Features, at_least: int, closed: UpperBound, *, follow: bool
) -> UpperBound:
    """The bound by the least sample size with fewer than ``2^m`` labellings, or a known one."""
    growth, by_chains = growth_of(shape, features, closed.size, follow=follow)
    m = np.arange(max(at_least, 1) + 1, closed.size + 1)
    share = np.ldexp(growth.mantissa[m], np.clip(growth.power[m] - m, -1000, 1).astype(np.int32))
    few = np.flatnonzero(share < 1 - _MARGIN * (m > 53))
    if not len(few):
        return closed
    first = int(m[few[0]])
    if shape.leaves == 2:
        return UpperBound(first - 1, "stump theorem")
    return UpperBound(first - 1, "chain lemma" if by_chains[first] else "partition theorems")


def growth_of(
    shape: TreeShape, features: Features, size: int, *, chains: bool = True, follow: bool = True
) -> tuple[Scaled, NDArray[np.bool_]]:
    """``G`` for two classes up to ``size`` at least, and where the chain lemma gives it.

    ``follow``: whether subtrees have the categories that the splits above leave them; features
    with many categories keep them all where there are too many ways.
    """
    # Few different lengths, so that shapes share what they have in common.
    length = 16
    while length < size:
        length += length if length < 64 else length // 4
    features = merged(features)
    with _lock:
        for refine in (length, 12, 8, 6, 5, 4, 3, 0) if follow else (0,):
            growth = _growth(length, refine, chains)
            if growth.require(shape, features):
                break
        return growth.of(shape, features), growth.by_chains[shape, features]


def first_unshattered(shape: TreeShape, features: Features) -> int:
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


@lru_cache(maxsize=16)
def _growth(size: int, refine: int, chains: bool) -> Growth:
    return Growth(size, refine, chains)
