"""Cluster lemma: samples of real features that a shape shatters, larger than sums of children.

==================  ================================================================================
symbol              meaning
==================  ================================================================================
``d(e)``            VC dimension of a stump on e real features: binom(d, d // 2) <= 2 e
``s(e)``            most points all of whose subsets are prefixes of e orders: binom(s, s // 2) <= e
``E_j``, ``z_j``    disjoint sets of features; the points z_j are distinct, and z_j is the lowest
                    point in every feature of E_j
``V(T; c)``         size of a sample that T shatters with such points, ``|E_j| = c_j``
``p(u; c)``         the same for a stump on u features
==================  ================================================================================

The lemma is proved in the theory notes ("Lower bounds: clusters"). A rule below is one way to build
the sample of a shape from those of its children, X_1 and X_2:

- *side*: X_1 and X_2 next to each other, as in the sum of children (Yildiz 2015);
- *cluster*: one cluster P of d(e) points in the place of one point of each. Some z_j may be in P;
  on their E_j the order is z_j, P, all others;
- *cluster at a leaf*: T_2 is a leaf, so that P may be below X_1 in all features that divide it,
  and keep its z_j;
- *search*: a stored sample of few features, found by search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count, product
from math import comb
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import numpy as np

from treebound._utils.arrays import Ints
from treebound.bounds.counting import largest_central
from treebound.bounds.witnesses import prefix_orders, shattering_ranks
from treebound.shapes import TreeShape, children

Counts = tuple[int, ...]
Sets = tuple[tuple[int, ...], ...]
T = TypeVar("T")
# Options looked at for one shape, by the most constraints allowed; beyond, fewer are.
_MAX_OPTIONS = {3: 60_000, 2: 60_000, 1: 400_000}
# Values kept for other shapes.
_MAX_PLANS = 50_000


class Option(NamedTuple):
    """One way to build the sample of a shape."""

    rule: str
    # For each constraint, its keeper: 0 is the cluster, 1 and 2 are the children.
    keepers: Counts = ()
    left: Counts = ()
    right: Counts = ()
    # Features in which the cluster is extreme for both children, and the points it adds; of a
    # stored sample its number and its points.
    extreme: int = 0
    gain: int = 0


class ClusterPlan(NamedTuple):
    """The best option of a shape under constraints; size 0 if there is none."""

    size: int
    option: Option


class Built(NamedTuple):
    """The points in the order of every feature, and which is lowest for each constraint."""

    orders: list[list[int]]
    lowest: list[int]
    # Columns of other kinds, a row for each point; constant but in a stump.
    categorical: Ints


Plans = dict[tuple[TreeShape, Counts], ClusterPlan]


@lru_cache(maxsize=64)
def clusters(real: int, stump: int = 0) -> Clusters:
    """The shared table for a number of real features."""
    return Clusters(real, stump)


class Clusters:
    """The largest samples that the rules give, on a fixed number of real features."""

    def __init__(self, real: int, stump: int = 0) -> None:
        self.real = real
        self.stump = stump
        self.tables: dict[int, Plans] = {}

    def plan(self, shape: TreeShape) -> ClusterPlan:
        """Size of the sample that :meth:`sample` builds, and by which rule."""
        return self._plans(shape)[shape, ()]

    def sample(self, shape: TreeShape, stump: Ints | None = None) -> Ints:
        """Ranks of the points in every feature; ``stump`` has columns of other kinds after them."""
        built = _Builder(self.real, self._plans(shape), stump)(shape, ())
        ranks = [np.argsort(order) for order in built.orders]
        return np.column_stack([*ranks, built.categorical])

    def _plans(self, shape: TreeShape, c: Counts = (), allowed: int = 3) -> Plans:
        """Plans for a shape and all below it, with as many constraints as time allows."""
        for most in range(allowed, -1, -1):
            plans = self.tables.setdefault(most, {})
            if (shape, c) in plans:
                return plans
            needed = self._needed(shape, c, most)
            if needed is None:
                continue
            if len(plans) > _MAX_PLANS:
                plans.clear()
            for part in shape.subshapes():
                for c, options in needed.get(part, {}).items():
                    if (part, c) not in plans:
                        plans[part, c] = _best(part, options, plans)
            return plans
        raise AssertionError("without constraints a node has one option")

    def _needed(
        self, shape: TreeShape, c: Counts, most: int
    ) -> dict[TreeShape, dict[Counts, list[Option]]] | None:
        """The constraints that each subtree needs, with its options; None if too many."""
        needed: dict[TreeShape, dict[Counts, list[Option]]] = {shape: {c: []}}
        total = 0
        for part in sorted(shape.subshapes(), key=lambda part: -part.leaves):
            for c in needed.get(part, ()):
                options = needed[part][c] = list(self._options(part, c, most))
                total += len(options)
                if total > _MAX_OPTIONS.get(most, total):
                    return None
                if part.leaves <= 2:
                    continue
                left, right = (needed.setdefault(child, {}) for child in children(part))
                for option in options:
                    if option.rule != "search":
                        left.setdefault(option.left, [])
                        right.setdefault(option.right, [])
        return needed

    def _options(self, shape: TreeShape, c: Counts, most: int) -> Iterator[Option]:
        """Every option of a shape under constraints; what the children cannot do is void later."""
        if shape.is_leaf:
            yield Option("leaf", gain=int(len(c) <= 1))
            return
        if shape.leaves == 2:
            size, _ = cluster_size(self.real, c)
            mixed = not c and self.stump > size
            yield Option("mixed stump", gain=self.stump) if mixed else Option("stump", gain=size)
            return
        for at, stored in enumerate(_stored(shape)):
            cornered = min(max(c, default=0), stored.corner)
            if len(stored.orders) + sum(c) - cornered <= self.real:
                yield Option("search", extreme=at, gain=len(stored.orders[0]))
        for keepers in product((1, 2), repeat=len(c)):
            yield Option("side", keepers, _kept(c, keepers, 1), _kept(c, keepers, 2))
        for keepers in product((0, 1, 2), repeat=len(c)):
            if 1 + max(keepers.count(1), keepers.count(2)) <= most:
                yield from self._around_cluster(shape, c, keepers, most)

    def _around_cluster(
        self, shape: TreeShape, c: Counts, keepers: Counts, most: int
    ) -> Iterator[Option]:
        inside, left, right = (_kept(c, keepers, who) for who in (0, 1, 2))
        # Large shapes leave out the options that seldom help.
        few = most == 1
        for e, size in _stump_steps(self.real - sum(c)):
            if len(inside) <= (0 if few else size):
                u = e + sum(inside)
                yield Option("cluster", keepers, _with(left, u), _with(right, u), u, size - 2)
        if not inside or right or not children(shape)[1].is_leaf:
            return
        for u in _sizes_that_matter(inside, self.real - sum(left))[-1 if few else 0 :]:
            size, _ = cluster_size(u, inside)
            yield Option("cluster at a leaf", keepers, _with(left, u), (), u, size - 2)


def _best(shape: TreeShape, options: list[Option], plans: Plans) -> ClusterPlan:
    best = ClusterPlan(0, options[0])
    for option in options:
        size = option.gain
        if shape.leaves > 2 and option.rule != "search":
            left, right = children(shape)
            sizes = plans[left, option.left].size, plans[right, option.right].size
            size = sum(sizes) + size if all(sizes) else 0
        if size > best.size:
            best = ClusterPlan(size, option)
    return best


def _stored(shape: TreeShape) -> tuple[StoredSample, ...]:
    return STORED.get(str(shape), ()) if shape.leaves <= _MAX_STORED else ()


def _kept(sets: tuple[T, ...], keepers: Counts, who: int) -> tuple[T, ...]:
    return tuple(features for features, keeper in zip(sets, keepers, strict=True) if keeper == who)


def _with(c: Counts, u: int) -> Counts:
    return tuple(sorted((*c, u), reverse=True))


@lru_cache(maxsize=1 << 12)
def _stump_steps(most: int) -> tuple[tuple[int, int], ...]:
    """The numbers of features e, 2 up to ``most``, at which d(e) grows, with d(e)."""
    steps: list[tuple[int, int]] = []
    for d in count(3):
        e = (comb(d, d // 2) + 1) // 2
        if e > most:
            return tuple(steps)
        steps.append((e, d))
    return ()


def _sizes_that_matter(c: Counts, most: int) -> list[int]:
    """The numbers of features at which p(u; c) grows."""
    sizes = {sum(c), sum(c) + 1, *(sum(c) + e for e, _ in _stump_steps(most - sum(c)))}
    for size in c:
        rest = sum(c) - size
        s = 1
        while rest + comb(s, s // 2) <= most:
            sizes.add(max(rest + comb(s, s // 2), sum(c)))
            s += 1
    return sorted(u for u in sizes if u <= most and cluster_size(u, c)[0])


@lru_cache(maxsize=1 << 14)
def cluster_size(u: int, c: Counts) -> tuple[int, int]:
    """p(u; c), and which E_j helps to divide the cluster (-1: none does)."""
    free = u - sum(c)
    sizes = [(largest_central(2 * free) if free else 1, -1)]
    sizes += [(1 + largest_central(free + size), j) for j, size in enumerate(c)]
    return max((size for size in sizes if size[0] >= len(c)), default=(0, -1))


# --- the samples ------------------------------------------------------------------------------


class _Builder:
    """Builds the sample of a plan."""

    def __init__(self, real: int, plans: Plans, stump: Ints | None) -> None:
        self.real = real
        self.plans = plans
        self.stump = np.zeros((1, real), dtype=np.int64) if stump is None else stump

    def __call__(self, shape: TreeShape, sets: Sets) -> Built:
        """A sample with a point that is lowest in each of the given sets of features."""
        # Plans know constraints by descending size.
        order = sorted(range(len(sets)), key=lambda j: -len(sets[j]))
        sets = tuple(sets[j] for j in order)
        plan = self.plans[shape, tuple(map(len, sets))]
        built = self._built(shape, sets, plan.option)
        assert len(built.categorical) == plan.size
        return built._replace(lowest=[built.lowest[order.index(j)] for j in range(len(sets))])

    def _built(self, shape: TreeShape, sets: Sets, option: Option) -> Built:
        if shape.is_leaf:
            return self._arranged(1, (), (), sets, [0] * len(sets))
        if option.rule == "mixed stump":
            orders = np.argsort(self.stump[:, : self.real], axis=0).T.tolist()
            return Built(orders, [], self.stump[:, self.real :])
        if shape.leaves == 2:
            return self._cluster(range(self.real), sets)
        if option.rule == "search":
            return self._stored(_stored(shape)[option.extreme], sets)
        if option.rule == "side":
            return self._side_by_side(shape, sets, option)
        return self._joined(shape, sets, option)

    def _stored(self, stored: StoredSample, sets: Sets) -> Built:
        """A stored sample, its corner where the largest constraint is, else on free features."""
        cornered = sets[0][: stored.corner] if sets else ()
        # The orders of the corner are the last ones; free features take what no constraint does.
        first = len(stored.orders) - stored.corner
        middle = first + len(cornered)
        orders = stored.orders[first:middle] + stored.orders[:first] + stored.orders[middle:]
        features = [*cornered, *_without(range(self.real), sets)]
        size = len(stored.orders[0])
        return self._arranged(size, features, orders, sets, list(range(len(sets))))

    def _cluster(self, features: Sequence[int], sets: Sets) -> Built:
        """A cluster that the given features divide in every way, under constraints."""
        _, helper = cluster_size(len(features), tuple(map(len, sets)))
        dividing = _without(features, sets)
        if helper < 0:
            return self._divided(dividing, sets)
        dividing += sets[helper]
        # The helper's point is 0; with it in every prefix, the others show all their subsets.
        lowest = list(range(len(sets)))
        lowest[0], lowest[helper] = lowest[helper], 0
        categorical = largest_central(len(dividing))
        divisions = [[0, *(1 + i for i in order)] for order in prefix_orders(categorical)]
        return self._arranged(1 + categorical, dividing, divisions, sets, lowest)

    def _divided(self, dividing: Sequence[int], sets: Sets) -> Built:
        """A cluster that features outside all constraints divide in every way."""
        size = largest_central(2 * len(dividing)) if dividing else 1
        divisions = np.argsort(shattering_ranks(size, len(dividing)), axis=0).T.tolist()
        return self._arranged(size, dividing, divisions, sets, list(range(len(sets))))

    def _arranged(
        self,
        size: int,
        dividing: Sequence[int],
        divisions: Sequence[Sequence[int]],
        sets: Sets,
        lowest: list[int],
    ) -> Built:
        orders = [list(range(size)) for _ in range(self.real)]
        for z, features in zip(lowest, sets, strict=True):
            for j in features:
                orders[j] = [z, *(i for i in range(size) if i != z)]
        for j, order in zip(dividing, divisions, strict=False):
            orders[j] = list(order)
        categorical = np.zeros((size, self.stump.shape[1] - self.real), dtype=np.int64)
        return Built(orders, lowest, categorical)

    def _side_by_side(self, shape: TreeShape, sets: Sets, option: Option) -> Built:
        first, second = (
            self(child, _kept(sets, option.keepers, at))
            for at, child in enumerate(children(shape), start=1)
        )
        count = len(first.categorical)
        above = {j for features in _kept(sets, option.keepers, 2) for j in features}
        orders = []
        for j, low in enumerate(first.orders):
            high = [count + i for i in second.orders[j]]
            orders.append(high + low if j in above else low + high)
        places = {1: iter(first.lowest), 2: iter([count + z for z in second.lowest])}
        lowest = [next(places[who]) for who in option.keepers]
        return Built(orders, lowest, np.concatenate([first.categorical, second.categorical]))

    def _joined(self, shape: TreeShape, sets: Sets, option: Option) -> Built:
        """Both children's samples around one cluster, in the place of one point of each."""
        kept_sets = [_kept(sets, option.keepers, who) for who in (0, 1, 2)]
        inside = [j for features in kept_sets[0] for j in features]
        dividing = _without(range(self.real), sets)[: option.extreme - len(inside)]
        extreme = tuple(inside + dividing)
        left, right = children(shape)
        first = self(left, (*kept_sets[1], extreme))
        if option.rule == "cluster at a leaf":
            P = self._cluster(extreme, kept_sets[0])
            second = self(right, ())._replace(lowest=[0])
            between = set()
        else:
            P = self._divided(dividing, kept_sets[0])
            second = self(right, (*kept_sets[2], extreme))
            between = set(dividing)
        of_second = {j for features in kept_sets[2] for j in features}
        names = [_names(first, len(P.categorical))]
        names.append(_names(second, len(P.categorical) + len(first.categorical) - 1))
        orders = []
        for j, middle in enumerate(P.orders):
            below_1, above_1 = _around(first, j, names[0])
            below_2, above_2 = _around(second, j, names[1])
            if j in between:
                orders.append(above_1[::-1] + middle + above_2)
            elif j in of_second:
                orders.append(below_2 + below_1 + middle + above_1 + above_2)
            else:  # in the other features of the cluster nothing is below it
                orders.append(below_1 + below_2 + middle + above_1 + above_2)
        places = {
            0: iter(P.lowest),
            1: iter([names[0][z] for z in first.lowest[:-1]]),
            2: iter([names[1][z] for z in second.lowest[:-1]]),
        }
        rest = [np.delete(part.categorical, part.lowest[-1], axis=0) for part in (first, second)]
        lowest = [next(places[who]) for who in option.keepers]
        return Built(orders, lowest, np.concatenate([P.categorical, *rest]))


def _without(features: Iterable[int], sets: Sets) -> list[int]:
    """The features in no constraint."""
    taken = {j for features in sets for j in features}
    return [j for j in features if j not in taken]


def _names(part: Built, start: int) -> dict[int, int]:
    """New numbers of the points of a sample without the one that the cluster replaces."""
    rows = (i for i in range(len(part.categorical)) if i != part.lowest[-1])
    return {i: start + at for at, i in enumerate(rows)}


def _around(part: Built, feature: int, names: dict[int, int]) -> tuple[list[int], list[int]]:
    """The points below and above the one that the cluster replaces, in order."""
    order = part.orders[feature]
    at = order.index(part.lowest[-1])
    return [names[i] for i in order[:at]], [names[i] for i in order[at + 1 :]]


# --- samples found by search ------------------------------------------------------------------


class StoredSample(NamedTuple):
    """The order of the points in each feature; point 0 is lowest in the last ``corner`` ones."""

    orders: tuple[tuple[int, ...], ...]
    corner: int


# A line for each sample: the shape, the corner, and the order of the points in each feature, a
# hexadecimal digit for each point.
_SAMPLES = """
((..).) 0 012345678 485176032 748562103 647805321 864137502
((..).) 5 07314652 04235671 06427315 03641257 01263754
(((..).).) 1 14576302 04562713
(((..).).) 5 0638421795a 0895a614732 05491a27683 0386517a942 02963518a47
((..)(..)) 1 27043615 01243576
((..)(..)) 2 0165423 0265314
((..)(..)) 2 5407613289 0943761825 0856317924
((..)(..)) 3 031854267 057214368 087143256
((..)(..)) 4 0825746391 0978542163 0965374182 0162594837
((..)(..)) 5 0683495172a 0798524a631 041a9526873 032879156a4 0a739645218
((((..).).).) 2 0973624581 0834652917
(((..)(..)).) 2 0534672981 0236945178
(((..)(..)).) 3 0a2b54671839 03b8749261a5 073b6528149a
(((..).)(..)) 2 0175946823 0873692145
(((..).)(..)) 3 07a52b461389 062b78519a43 04b95362718a
(((((..).).).).) 2 06724a13b859 057819b4326a
((((..)(..)).).) 2 0ab493786251 06b5729a8413
((((..).)(..)).) 2 087ab4213695 06153a47b289
((((..).).)(..)) 2 01ab92638475 032467b8195a
(((..)(..))(..)) 2 0a9b47381625 0153b6798a24
(((..).)((..).)) 2 029613b548a7 081756a2349b
(((((..).).)(..)).) 0 0123456789abcd 18c29d6a4705b3
(((((..).).).)(..)) 2 0da2c43b189756 05b283ca4d7169
((((..)(..))(..)).) 2 0423cb681957ad 05b29c4a1638d7
((((..)(..)).)(..)) 2 0d2c43ba189756 0b5283ca4d7169
((((..).)((..).)).) 2 0bd16a5428379c 02a15b3647c8d9
((((..).)(..))(..)) 2 0a2c3b418975d6 05c123a8467bd9
((((..).).)((..).)) 2 09a2cb3186754d 05b23cad178469
(((..)(..))((..).)) 2 06a2cb3189754d 05b23ca41678d9
"""


def _stored_samples(text: str) -> Mapping[str, tuple[StoredSample, ...]]:
    """Return the samples of each shape, from lines of a shape, a corner and orders of points."""
    samples: dict[str, tuple[StoredSample, ...]] = {}
    for line in text.strip().splitlines():
        shape, corner, *orders = line.split()
        points = tuple(tuple(int(i, 16) for i in order) for order in orders)
        samples[shape] = (*samples.get(shape, ()), StoredSample(points, int(corner)))
    return MappingProxyType(samples)


STORED = _stored_samples(_SAMPLES)
# Leaves of the largest shape with a stored sample.
_MAX_STORED = max(text.count(".") for text in STORED)
