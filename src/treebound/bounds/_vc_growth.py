"""Growth functions for two classes of all subtrees of a shape, from the leaves up.

A subtree has a function of the sample size for every landscape that the splits above can leave
it. All these landscapes are computed together.
"""

from __future__ import annotations

from functools import lru_cache
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from treebound.bounds._scaled import Scaled
from treebound.bounds._vc_node import Node, merged, tests_of
from treebound.bounds.counting import sauer_shelah
from treebound.bounds.partitioning import one_feature_partitions
from treebound.bounds.splits import Features
from treebound.bounds.stumps import best_attribution
from treebound.shapes import TreeShape, children

_lock = Lock()
# VC dimensions known by exhaustive search over all samples, for every shape of that many leaves on
# that many real features (benchmarks/exhaustive.cpp).
EXACT = {(3, 2): 5, (3, 3): 7, (4, 2): 8, (5, 2): 10}
# Ways to share categories, over all subtrees and landscapes, up to which they are followed down.
_MOST_WAYS = 20_000
# (subtree, landscape) pairs kept for other shapes.
_MOST_KEPT = 10_000
# Numbers in a function of the sample size, over the landscapes computed together.
_TOGETHER = 1 << 15


class Growth:
    """``G`` for two classes of every subtree under every landscape that splitting leaves it."""

    def __init__(self, size: int, refine: int) -> None:
        self.size = size
        self.refine = refine
        self.cap = Scaled.powers(2, size + 1)
        self.two = Scaled.constant(2, size + 1)
        self.values: dict[tuple[TreeShape, Features], Scaled] = {}
        # Where the chain lemma gives the value.
        self.by_chains: dict[tuple[TreeShape, Features], NDArray[np.bool_]] = {}

    def require(self, shape: TreeShape, features: Features) -> bool:
        """Compute a shape and all below it; False, and nothing done, if that is too much."""
        needed = self._needed(shape, features)
        if needed is None:
            return False
        if len(self.values) > _MOST_KEPT:
            self.values.clear()
            self.by_chains.clear()
        for part in shape.subshapes():
            new = [some for some in needed.get(part, ()) if (part, some) not in self.values]
            self._add(part, new)
        return True

    def of(self, shape: TreeShape, features: Features) -> Scaled:
        """The function of one subtree."""
        if shape.is_leaf or features.is_empty:
            return self.two
        return self.values[shape, features]

    def _needed(
        self, shape: TreeShape, features: Features
    ) -> dict[TreeShape, dict[Features, None]] | None:
        """The landscapes that each subtree needs, or None if there are too many."""
        needed: dict[TreeShape, dict[Features, None]] = {shape: {features: None}}
        total = 0
        for part in sorted(shape.subshapes(), key=lambda part: -part.leaves):
            if part.is_leaf:
                continue
            below: dict[Features, None] = {}
            for landscape in needed.get(part, ()):
                if part.leaves == 2:
                    total += len(set(landscape.ordinal + landscape.nominal)) // 2
                    continue
                pairs = [pair for test in tests_of(landscape, self.refine) for pair in test.sides]
                sides = (landscape, *(side for pair in pairs for side in pair))
                below.update((side, None) for side in sides if not side.is_empty)
                total += 1 + len(pairs)
                if total > _MOST_WAYS and self.refine:
                    return None
            if total > _MOST_WAYS and self.refine:
                return None
            for child in children(part):
                if not child.is_leaf:
                    needed.setdefault(child, {}).update(below)
        return needed

    def _add(self, shape: TreeShape, landscapes: list[Features]) -> None:
        """Compute one subtree on new landscapes."""
        together = []
        for features in landscapes:
            if shape.leaves == 2:
                growth = _stump_growth(features, self.size).least(self.cap)
                self.values[shape, features] = growth
            elif features.is_one_threshold:
                self.values[shape, features] = self._one_threshold(shape, features)
            elif features.is_real:
                self._add_together(shape, [features])
            else:
                together.append(features)
        step = max(1, _TOGETHER // self.size)
        for at in range(0, len(together), step):
            self._add_together(shape, together[at : at + step])

    def _add_together(self, shape: TreeShape, landscapes: list[Features]) -> None:
        node = Node(shape, landscapes, self.refine, self.of, self.cap)
        growth, chains = node.by_partitions(), node.by_chains()
        exact = EXACT.get((shape.leaves, landscapes[0].real)) if landscapes[0].is_real else None
        if exact is not None:
            sums = [sauer_shelah(m, exact) for m in range(1, self.size + 1)]
            chains = chains.least(Scaled.of_integers([1, *sums]).raised(1))
        least, by_chains = chains.least(growth), chains.less_than(growth)
        for row, features in enumerate(landscapes):
            self.values[shape, features] = least[row]
            self.by_chains[shape, features] = by_chains[row]

    def _one_threshold(self, shape: TreeShape, features: Features) -> Scaled:
        shown = [min(m, *(features.ordinal or (m,))) for m in range(1, self.size + 1)]
        return _labellings([one_feature_partitions(shape.leaves, 2, m) for m in shown])


@lru_cache(maxsize=1 << 12)
def _stump_growth(features: Features, size: int) -> Scaled:
    """Stump theorem: ``2 + 2 pi^2`` by sample size, ``pi^2`` the largest attribution."""
    return _labellings([best_attribution(m, features) for m in range(1, size + 1)])


def _labellings(partitions: list[int]) -> Scaled:
    return Scaled.of_integers([2, *(2 + 2 * count for count in partitions)]).raised(1)


def growth_of(
    shape: TreeShape, features: Features, size: int, *, follow: bool = True
) -> tuple[Scaled, NDArray[np.bool_] | None]:
    """``G`` for two classes up to ``size`` at least, and where the chain lemma gives it, if tried.

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
            growth = _growth(length, refine)
            if growth.require(shape, features):
                break
        return growth.of(shape, features), growth.by_chains.get((shape, features))


@lru_cache(maxsize=16)
def _growth(size: int, refine: int) -> Growth:
    return Growth(size, refine)
