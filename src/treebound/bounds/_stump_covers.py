"""Lower bounds on VC dimensions: samples that are shattered, by construction.

- *Sum of children* (Yildiz 2015): if ``d_l`` and ``d_r`` examples are shattered by the subtrees on
  what a root test leaves to each side, the tree shatters both together. A threshold on a real
  feature leaves everything to both; a categorical test shares the categories of its feature.
- *Stumps*: every one of the ``2^(d-1) - 1`` splits must be made by some feature. Real features make
  as many as the stump theorem says (the witness construction); any other feature makes at least
  the one split it is needed for, and for few examples the best use of all its categories is found.
- *Small shapes*: samples found by search, which beat the sum of children.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations

import numpy as np

from treebound.bounds._recursion import Features, children, with_categories
from treebound.bounds.stumps import real_stump_partitions
from treebound.shapes import TreeShape

__all__ = ["SHATTERED", "shattered_at_least"]

# (subtree, landscape) pairs up to which root tests on categorical features are told apart.
_MOST_STATES = 3000
# Covering all splits of this many examples by categories is decided exactly.
_COVERED = 5

# Samples that a small shape shatters: for each shape, permutations of the examples by real feature.
SHATTERED: dict[str, tuple[tuple[tuple[int, ...], ...], ...]] = {
    "((..).)": (
        ((0, 1, 2, 3, 4), (3, 4, 1, 0, 2)),
        ((0, 1, 2, 3, 4, 5, 6), (3, 6, 2, 1, 5, 0, 4), (2, 6, 3, 5, 0, 4, 1)),
    ),
    "((..)(..))": (
        ((0, 1, 2, 3, 4, 5, 6, 7), (5, 1, 7, 4, 3, 0, 6, 2)),
        (
            (0, 1, 2, 3, 4, 5, 6, 7, 8, 9),
            (7, 0, 9, 5, 4, 6, 3, 1, 8, 2),
            (7, 1, 8, 4, 6, 5, 3, 0, 9, 2),
        ),
    ),
    "(((..).).)": (
        ((0, 1, 2, 3, 4, 5, 6, 7), (6, 1, 2, 4, 7, 3, 0, 5)),
        (
            (0, 1, 2, 3, 4, 5, 6, 7, 8),
            (5, 8, 3, 6, 2, 4, 0, 7, 1),
            (3, 0, 8, 6, 2, 7, 5, 1, 4),
        ),
    ),
    "(((..)(..)).)": (((0, 1, 2, 3, 4, 5, 6, 7, 8, 9), (7, 0, 4, 2, 5, 3, 9, 6, 1, 8)),),
    "(((..).)(..))": (((0, 1, 2, 3, 4, 5, 6, 7, 8, 9), (7, 2, 9, 6, 0, 4, 1, 5, 8, 3)),),
    "((((..).).).)": (((0, 1, 2, 3, 4, 5, 6, 7, 8, 9), (7, 0, 9, 4, 2, 5, 3, 6, 1, 8)),),
}


def shattered_at_least(shape: TreeShape, features: Features) -> int:
    """A number of examples that some sample of a shape shatters."""
    if features.is_empty:
        return 1
    if features.real:
        # A real threshold leaves all features to both subtrees: no other root test does better.
        known: dict[TreeShape, int] = {}
        for part in shape.subshapes():
            known[part] = _with_real(part, features, known)
        return known[shape]
    for categories in (10, 6, 4, 3, 2):
        fewer = Features(
            0,
            tuple(min(o, categories) for o in features.ordinal),
            tuple(min(n, categories) for n in features.nominal),
        )
        search = _Categorical(max(_MOST_STATES, shape.leaves))
        try:
            return search(shape, fewer)
        except _TooMany:
            continue
    return min(2, shape.leaves)


def _with_real(shape: TreeShape, features: Features, known: dict[TreeShape, int]) -> int:
    if shape.is_leaf:
        return 1
    if shape.leaves == 2:
        return stump_shatters(features)
    left, right = children(shape)
    found = [len(sample[0]) for sample in _samples(shape) if len(sample) <= features.real]
    return max(known[left] + known[right], *found, 0)


def _samples(shape: TreeShape) -> tuple[tuple[tuple[int, ...], ...], ...]:
    return SHATTERED.get(str(shape), ()) if shape.leaves <= 6 else ()


class _TooMany(Exception):
    pass


class _Categorical:
    """Sum of children without real features, over every way to share the categories."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.known: dict[tuple[TreeShape, Features], int] = {}

    def __call__(self, shape: TreeShape, features: Features) -> int:
        if shape.height > 60:
            raise _TooMany
        return self._at(shape, features)

    def _at(self, shape: TreeShape, features: Features) -> int:
        if shape.is_leaf or features.is_empty:
            return 1
        if shape.leaves == 2:
            return stump_shatters(features)
        found = self.known.get((shape, features))
        if found is None:
            if len(self.known) >= self.most:
                raise _TooMany
            found = self.known[shape, features] = self._best(shape, features)
        return found

    def _best(self, shape: TreeShape, features: Features) -> int:
        left, right = children(shape)
        best = 0
        for one, other in _shares(features):
            best = max(best, self._at(left, one) + self._at(right, other))
        # A one-sided root test leaves the tree what its larger subtree can do.
        return max(best, self._at(left, features))


def _shares(features: Features) -> list[tuple[Features, Features]]:
    """What a root test on each categorical feature leaves to the two subtrees."""
    found: dict[tuple[Features, Features], None] = {}
    for at, o in enumerate(features.ordinal):
        for theta in range(1, o):
            one = with_categories(features, "ordinal", at, theta)
            found[one, with_categories(features, "ordinal", at, o - theta)] = None
    for at, n in enumerate(features.nominal):
        one = with_categories(features, "nominal", at, 1)
        other = with_categories(features, "nominal", at, n - 1)
        found[one, other] = found[other, one] = None
    return list(found)


@lru_cache(maxsize=4096)
def stump_shatters(features: Features) -> int:
    """Examples that some sample of a stump shatters."""
    d = 1
    while _enough_splits(features, d + 1):
        d += 1
    if not features.ordinal and not features.nominal:
        return d
    while d < _COVERED and _covers(features, d + 1):
        d += 1
    return d


def _enough_splits(features: Features, d: int) -> bool:
    """Whether real features leave no more splits than there are others to make one each."""
    as_real = features.real + sum(o >= d for o in features.ordinal)
    others = sum(o < d for o in features.ordinal) + len(features.nominal)
    return (1 << (d - 1)) - 1 - real_stump_partitions(d, as_real) <= others


def _covers(features: Features, d: int) -> bool:
    """Whether the features together can make every split of ``d`` examples."""
    everything = (1 << ((1 << (d - 1)) - 1)) - 1
    reached = np.zeros(everything + 1, dtype=bool)
    reached[0] = True
    wanted = [("ordinal", d)] * features.real
    wanted += [("ordinal", min(o, d)) for o in features.ordinal]
    wanted += [("nominal", min(n, d)) for n in features.nominal]
    # A feature always can add one missing split: more of them than splits are not needed.
    for kind, categories in sorted(wanted, key=lambda one: -one[1])[: (1 << (d - 1)) - 1]:
        covered = np.flatnonzero(reached)
        for made in _makes(kind, categories, d):
            reached[covered | made] = True
        if reached[everything]:
            return True
    return bool(reached[everything])


@lru_cache(maxsize=64)
def _makes(kind: str, categories: int, d: int) -> tuple[int, ...]:
    """Sets of splits one feature can make of ``d`` examples, each a bit mask over all splits."""
    found = set()
    for order in permutations(range(d)):
        for cuts in range(1 << (d - 1)):
            if bin(cuts).count("1") != categories - 1:
                continue
            found.add(_splits_of(kind, order, cuts, d))
    return tuple(found)


def _splits_of(kind: str, order: tuple[int, ...], cuts: int, d: int) -> int:
    """The splits that blocks of an order make: by thresholds between them, or one against all."""
    made, block, prefix = 0, 0, 0
    for place, example in enumerate(order):
        block |= 1 << example
        prefix |= 1 << example
        if cuts >> place & 1 or place == d - 1:
            side = block if kind == "nominal" else prefix
            made |= _bit_of_split(side, d)
            block = 0
    return made


def _bit_of_split(side: int, d: int) -> int:
    """A split is named by the part without the last example; an empty part is no split."""
    everything = (1 << d) - 1
    named = everything & ~side if side >> (d - 1) & 1 else side
    return 1 << (named - 1) if named else 0
