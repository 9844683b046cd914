"""Lower bounds on VC dimensions, with the sample that is shattered.

Three constructions, and the largest sample counts:

- threshold features: the cluster lemma (:mod:`treebound.bounds._clusters`). An ordinal feature
  with M categories is a real one on M points;
- every feature used with two categories (:mod:`treebound.bounds._category_clusters`);
- without real features, categories shared between children, and clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Ints
from treebound.bounds._category_clusters import (
    CategoryClusters,
    TooMany,
    binary_plan,
    binary_sample,
    stump_sample,
    stump_shatters,
)
from treebound.bounds._checks import check_landscape, check_shape
from treebound.bounds._clusters import clusters
from treebound.bounds.splits import UNBOUNDED, Features, features_of
from treebound.landscape import Landscape
from treebound.shapes import TreeShape

# Features of each kind, those with most categories, whose categories are shared between children.
_MAX_FOLLOWED = 24
_RULES = {
    "side": "sum of children",
    "cluster": "cluster lemma",
    "cluster at a leaf": "cluster lemma",
    "search": "search",
    "stump": "stump theorem",
    "mixed stump": "stump theorem",
}


class LowerBound(NamedTuple):
    """A number of points, the theorem it rests on, and how to build the sample."""

    size: int
    by: str
    build: Callable[[], Ints]


def shattered_sample(shape: TreeShape, landscape: Landscape) -> NDArray[np.int64]:
    """Sample that a shape shatters: every labelling with two classes is realized by some tree.

    Its size is the lower bound of :func:`vc_dimension`.

    Parameters
    ----------
    shape, landscape
        As in :func:`treebound.bounds.vc_dimension`.

    Returns
    -------
    ndarray of shape (m, d)
        The real columns first, then the ordinal and the nominal ones, each in the order of the
        landscape. Real columns hold ranks, the others codes from 0.

    Notes
    -----
    Clusters of an odd number of points need rustworkx (the extra ``theory``), and much time
    from 15 points, that is with thousands of real features.

    Examples
    --------
    >>> import treebound as tb
    >>> shape, landscape = tb.TreeShape.parse("((..).)"), tb.Landscape(real=3)
    >>> X = tb.bounds.shattered_sample(shape, landscape)
    >>> X.shape
    (7, 3)
    >>> tb.bounds.enumerate.realizable_growth(X, ["real"] * 3, shape, 2) == 2**7
    True
    """
    where = "shattered_sample"
    shape, landscape = check_shape(shape, where), check_landscape(landscape, where)
    sample = shattered_at_least(shape, features_of(landscape)).build()
    X = np.zeros((len(sample), landscape.n_features), dtype=np.int64)
    X[:, _columns_of(landscape)] = sample
    return X


def shattered_at_least(shape: TreeShape, features: Features) -> LowerBound:
    """The largest sample that the constructions give."""
    best = LowerBound(1, "one example", lambda: np.zeros((1, features.width), dtype=np.int64))
    if shape.is_leaf or features.is_empty:
        return best
    if shape.leaves == 2:
        size = stump_shatters(features)
        return LowerBound(size, "stump theorem", partial(stump_sample, features))
    for bound in _constructions(shape, features):
        if bound.size > best.size:
            best = bound
    return _with_ordinal_thresholds(shape, features, best)


def _constructions(shape: TreeShape, features: Features) -> Iterator[LowerBound]:
    if features.real:
        yield _by_thresholds(shape, features, 0)
    if not features.is_real:
        yield _with_two_categories(shape, features)
    if not features.real:
        yield from _by_categories(shape, features)


def _with_ordinal_thresholds(shape: TreeShape, features: Features, best: LowerBound) -> LowerBound:
    """The best use of ordinal features as real ones, if larger than what is known."""
    # More features shatter more, and the least of their categories falls: bisect for the crossing.
    low, high = 0, sum(o > best.size for o in features.ordinal)
    while low < high:
        middle = (low + high + 1) // 2
        bound = _by_thresholds(shape, features, middle)
        if bound.size > best.size:
            best = bound
        if bound.size < features.ordinal[middle - 1]:
            low = middle
        else:
            high = middle - 1
    return best


def _by_thresholds(shape: TreeShape, features: Features, ordinal: int) -> LowerBound:
    """Real features, and ordinal ones on no more points than they have categories."""
    used = Features(features.real + ordinal, features.ordinal[ordinal:], features.nominal)
    size, option = clusters(used.real, stump_shatters(used)).plan(shape)
    if ordinal:
        size = min(size, features.ordinal[ordinal - 1])
    return LowerBound(size, _RULES[option.rule], partial(_threshold_sample, shape, used, size))


def _threshold_sample(shape: TreeShape, features: Features, size: int) -> Ints:
    table = clusters(features.real, stump_shatters(features))
    stump = None if features.is_real else stump_sample(features)
    X = table.sample(shape, stump)[:size]
    # A part of a shattered sample is shattered; its ranks leave no gaps.
    for column in range(features.real):
        X[:, column] = np.argsort(np.argsort(X[:, column]))
    return X


def _with_two_categories(shape: TreeShape, features: Features) -> LowerBound:
    size, _ = binary_plan(shape, features.width)
    return LowerBound(size, "binary clusters", partial(binary_sample, shape, features.width))


def _by_categories(shape: TreeShape, features: Features) -> Iterator[LowerBound]:
    if max(features.ordinal + features.nominal) == 2:
        return
    for categories in (10, 6, 4, 3):
        fewer = Features(
            0,
            tuple(min(o, categories) for o in features.ordinal[:_MAX_FOLLOWED]),
            tuple(min(n, categories) for n in features.nominal[:_MAX_FOLLOWED]),
        )
        table = CategoryClusters()
        try:
            size = table.size(shape, fewer)
        except TooMany:
            continue
        build = partial(_category_sample, shape, table, fewer, features)
        yield LowerBound(size, "clusters of categories", build)
        return


def _category_sample(
    shape: TreeShape, table: CategoryClusters, fewer: Features, features: Features
) -> Ints:
    sample = table.sample(shape, fewer)
    X = np.zeros((len(sample), features.width), dtype=np.int64)
    X[:, : len(fewer.ordinal)] = sample[:, : len(fewer.ordinal)]
    start = len(features.ordinal)
    X[:, start : start + len(fewer.nominal)] = sample[:, len(fewer.ordinal) :]
    return X


def _columns_of(landscape: Landscape) -> list[int]:
    """The column of each informative feature, in the order of :class:`Features`."""
    columns = list(range(landscape.real))
    start = landscape.real
    for kind in (landscape.ordinal, landscape.nominal):
        counts = [UNBOUNDED if categories is None else categories for categories in kind]
        order = sorted(range(len(counts)), key=lambda i: -counts[i])
        columns += [start + i for i in order if counts[i] > 1]
        start += len(counts)
    return columns
