"""Samples of categorical features that a shape shatters: shared categories and clusters.

Two ways to build the sample of a shape from those of its children, X_1 and X_2:

- *share*: the root tests a feature and leaves some of its categories to each child;
- *cluster*: the features of a set E are used by the root alone. One cluster P, which a stump
  shatters with E, takes the place of one point of X_1 and one of X_2; in the features of E the rest
  of X_1 has the lowest category and the rest of X_2 the highest. In the other features the two
  points must agree: categories of nominal features are renamed, and of ordinal features the
  children use two categories, which can be exchanged.

A nominal feature in E divides P by two categories only; if the second child is a leaf, by all of
them, since then it does not matter which side of a test the first child gets.

A stump shatters d examples if some feature makes each of their ``2^(d-1) - 1`` splits. Real
features, and ordinal ones with d categories, make as many as in the stump theorem (the witness
construction); any other feature makes at least the one split it is needed for; and for few examples
the best use of all categories is found by trying every one.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from treebound._utils.arrays import Ints
from treebound.bounds.enumerate import column_tests
from treebound.bounds.splits import Features, shares
from treebound.bounds.stumps import real_stump_partitions
from treebound.bounds.witnesses import shattering_ranks
from treebound.shapes import TreeShape, children

# Covering all splits of this many examples by categories is decided exactly.
_COVERED = 5
# Deeper shapes are not built.
_DEEPEST = 60
# (subtree, landscape) pairs up to which root tests on categorical features are distinguished.
_MAX_STATES = 3000
# Sets of features tried for the cluster of one node.
_MAX_SETS = 60


@lru_cache(maxsize=1 << 18)
def binary_plan(shape: TreeShape, features: int) -> tuple[int, int]:
    """Cluster lemma on features of two categories: points shattered, and the ``j`` for them."""
    # With 2^j - 1 features in E the cluster has j + 1 points; other numbers help no more.
    if shape.is_leaf or not features or shape.depth > _DEEPEST:
        return 1, 0
    left, right = children(shape)
    # A one-sided root test leaves the tree what its larger child can do.
    plan = binary_plan(left, features)[0], 0
    for j in range(1, (features + 1).bit_length()):
        rest = features + 1 - (1 << j)
        points = binary_plan(left, rest)[0] + binary_plan(right, rest)[0] - 1 + j
        plan = max(plan, (points, j))
    return plan


def binary_sample(shape: TreeShape, features: int) -> Ints:
    """The sample of :func:`binary_plan`: a row of bits for each point."""
    points, j = binary_plan(shape, features)
    if points == 1:
        return np.zeros((1, features), dtype=np.int64)
    left, right = children(shape)
    if j == 0:
        return binary_sample(left, features)
    width = (1 << j) - 1
    first, second = (
        binary_sample(left, features - width),
        binary_sample(right, features - width),
    )
    second ^= second[0] ^ first[0]
    bits = np.arange(1, width + 1) >> np.arange(j + 1)[:, None] & 1
    sample: Ints = np.block(
        [
            [bits, np.repeat(first[:1], j + 1, 0)],
            [np.zeros((len(first) - 1, width), dtype=np.int64), first[1:]],
            [np.ones((len(second) - 1, width), dtype=np.int64), second[1:]],
        ]
    )
    return sample


class TooMany(Exception):
    """More landscapes below the root than are followed."""


class _Column(NamedTuple):
    """A feature of a child: its kind, its categories, and its column in the parent's sample."""

    kind: str
    categories: int
    at: int


class _Choice(NamedTuple):
    """How a sample is built: the features of the children and of the cluster."""

    rule: str
    columns: tuple[tuple[_Column, ...], tuple[_Column, ...]] = ((), ())
    # Share: the tested feature, and the first category of each child.
    tested: int = 0
    first: tuple[int, int] = (0, 0)
    # Cluster: the features of E.
    cluster: tuple[_Column, ...] = ()


class CategoryClusters:
    """The largest samples that sharing and clusters give, without real features."""

    def __init__(self) -> None:
        self.plans: dict[tuple[TreeShape, Features], tuple[int, _Choice]] = {}

    def size(self, shape: TreeShape, features: Features) -> int:
        """Points that are shattered; :class:`TooMany` if there is too much to try."""
        if shape.depth > _DEEPEST:
            raise TooMany
        return self._at(shape, features)[0]

    def _at(self, shape: TreeShape, features: Features) -> tuple[int, _Choice]:
        if shape.is_leaf or features.is_empty:
            return 1, _Choice("point")
        if shape.leaves == 2:
            return stump_shatters(features), _Choice("stump")
        result = self.plans.get((shape, features))
        if result is None:
            if len(self.plans) >= _MAX_STATES:
                raise TooMany
            result = self.plans[shape, features] = self._best(shape, features)
        return result

    def _best(self, shape: TreeShape, features: Features) -> tuple[int, _Choice]:
        left, right = children(shape)
        columns = tuple(_columns(features))
        # A one-sided root test leaves the tree what its larger child can do.
        best = self._at(left, features)[0], _Choice("one-sided", (columns, ()))
        for choice in (*_shares(columns), *_own_features(columns, right.is_leaf)):
            sizes = [
                self._at(child, _features(part))[0]
                for child, part in zip((left, right), choice.columns, strict=True)
            ]
            size = sum(sizes)
            if choice.rule == "cluster":
                size += stump_shatters(_features(choice.cluster)) - 2
            if size > best[0]:
                best = size, choice
        return best

    def sample(self, shape: TreeShape, features: Features) -> Ints:
        """The sample: ordinal columns, then nominal ones, by descending number of categories."""
        size, choice = self._at(shape, features)
        if choice.rule == "point":
            return np.zeros((1, features.width), dtype=np.int64)
        if choice.rule == "stump":
            return stump_sample(features)
        parts = []
        for child, columns in zip(children(shape), choice.columns, strict=True):
            if choice.rule == "one-sided" and not columns:
                break
            below = self.sample(child, _features(columns))
            X = np.zeros((len(below), features.width), dtype=np.int64)
            X[:, [column.at for column in columns]] = below
            parts.append(X)
        if choice.rule == "share":
            for X, first in zip(parts, choice.first, strict=True):
                X[:, choice.tested] += first
        elif choice.rule == "cluster":
            parts = _around_cluster(parts, choice)
        X = np.concatenate(parts)
        assert len(X) == size
        return X


def _around_cluster(parts: list[Ints], choice: _Choice) -> list[Ints]:
    """Both children's samples without their first points, and the cluster in their place."""
    first, second = parts
    for column in choice.columns[1]:
        values, here, there = second[:, column.at], first[0, column.at], second[0, column.at]
        if here != there:  # exchange two categories; an ordinal feature has no others
            second[:, column.at] = np.select(
                [values == here, values == there], [there, here], values
            )
    P = np.repeat(first[:1], stump_shatters(_features(choice.cluster)), axis=0)
    P[:, [column.at for column in choice.cluster]] = stump_sample(_features(choice.cluster))
    for column in choice.cluster:
        first[:, column.at] = 0
        second[:, column.at] = column.categories - 1
    return [P, first[1:], second[1:]]


def _columns(features: Features) -> list[_Column]:
    result = [("ordinal", o) for o in features.ordinal] + [("nominal", n) for n in features.nominal]
    return [_Column(*feature, at) for at, feature in enumerate(result)]


def _features(columns: tuple[_Column, ...]) -> Features:
    return Features(
        0,
        tuple(column.categories for column in columns if column.kind == "ordinal"),
        tuple(column.categories for column in columns if column.kind == "nominal"),
    )


def _sorted(columns: list[_Column]) -> tuple[_Column, ...]:
    """In the order of :class:`Features`, without those of one category."""
    return tuple(
        sorted(
            (column for column in columns if column.categories > 1),
            key=lambda column: (column.kind != "ordinal", -column.categories),
        )
    )


def _shares(columns: tuple[_Column, ...]) -> list[_Choice]:
    """Features of the children after a root test on each feature."""
    result = []
    kinds: dict[tuple[str, int], _Column] = {}
    for column in columns:
        kinds.setdefault(column[:2], column)
    for (kind, categories), column in kinds.items():
        for low, high in shares(kind, categories):
            left, right = (
                _sorted([c._replace(categories=some) if c is column else c for c in columns])
                for some in (low, high)
            )
            result.append(_Choice("share", (left, right), column.at, (0, low)))
    return result


def _own_features(columns: tuple[_Column, ...], at_leaf: bool) -> list[_Choice]:
    """Sets of features for the cluster: those with fewest categories, and with most."""
    by_size = sorted(columns, key=lambda column: column.categories)
    result = {}
    step = 1 + len(columns) // _MAX_SETS
    for some in (by_size, by_size[::-1]):
        for count in range(1, len(some) + 1, step):
            cluster = [
                c if at_leaf or c.kind == "ordinal" else c._replace(categories=2)
                for c in some[:count]
            ]
            rest = [c if c.kind == "nominal" else c._replace(categories=2) for c in some[count:]]
            choice = _Choice("cluster", (_sorted(rest), _sorted(rest)), cluster=_sorted(cluster))
            result[_features(choice.cluster), _features(choice.columns[0])] = choice
    return list(result.values())


# --- stumps -----------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def stump_shatters(features: Features) -> int:
    """Examples that some sample of a stump shatters."""
    d = 1
    while _enough_splits(features, d + 1):
        d += 1
    if not features.ordinal and not features.nominal:
        return d
    while d < _COVERED and _cover(features, d + 1) is not None:
        d += 1
    return d


def stump_sample(features: Features) -> Ints:
    """The sample: a row for each example; real, ordinal and nominal columns in this order."""
    d = stump_shatters(features)
    if _enough_splits(features, d):
        return _one_split_each(features, d)
    covered = _cover(features, d)
    assert covered is not None
    return covered


def _as_real(features: Features, d: int) -> int:
    return features.real + sum(o >= d for o in features.ordinal)


def _enough_splits(features: Features, d: int) -> bool:
    """Return True if real features leave at most as many splits as there are other features."""
    real = _as_real(features, d)
    categorical = features.width - real
    return (1 << (d - 1)) - 1 - real_stump_partitions(d, real) <= categorical


def _one_split_each(features: Features, d: int) -> Ints:
    real = _as_real(features, d)
    X = np.zeros((d, features.width), dtype=np.int64)
    X[:, :real] = shattering_ranks(d, real)
    splits = 0
    for column in range(real):
        splits |= _splits_of("ordinal", X[:, column])
    missing = [part for part in range(1, 1 << (d - 1)) if not splits >> (part - 1) & 1]
    for column, part in enumerate(missing, start=real):
        X[:, column] = [part >> example & 1 for example in range(d)]
    return X


def _cover(features: Features, d: int) -> Ints | None:
    """A sample of ``d`` examples whose every split some feature makes; None if there is none."""
    everything = (1 << ((1 << (d - 1)) - 1)) - 1
    kinds = [("ordinal", d)] * features.real
    kinds += [("ordinal", min(o, d)) for o in features.ordinal]
    kinds += [("nominal", min(n, d)) for n in features.nominal]
    # A feature always can add one missing split: more of them than splits are not needed.
    used = sorted(range(len(kinds)), key=lambda column: -kinds[column][1])[: (1 << (d - 1)) - 1]
    reached = [np.zeros(everything + 1, dtype=bool)]
    reached[0][0] = True
    for column in used:
        covered = np.flatnonzero(reached[-1])
        reached.append(reached[-1].copy())
        for splits in _ways(*kinds[column], d):
            reached[-1][covered | splits] = True
        if reached[-1][everything]:
            break
    else:
        return None
    X = np.zeros((d, len(kinds)), dtype=np.int64)
    wanted = everything
    for before, column in zip(reached[-2::-1], used[len(reached) - 2 :: -1], strict=True):
        if before[wanted]:
            continue
        covered = np.flatnonzero(before)
        for splits, codes in _ways(*kinds[column], d).items():
            fitting = covered[(covered | splits) == wanted]
            if len(fitting):
                X[:, column], wanted = codes, int(fitting[0])
                break
    return X


@lru_cache(maxsize=64)
def _ways(kind: str, categories: int, d: int) -> dict[int, tuple[int, ...]]:
    """Sets of splits one feature can make of ``d`` examples, with a column for each set."""
    ways: dict[int, tuple[int, ...]] = {}
    # Examples in every order, cut into as many blocks as there are categories.
    blocks = [
        [(cuts & ((1 << place) - 1)).bit_count() for place in range(d)]
        for cuts in range(1 << (d - 1))
        if cuts.bit_count() == categories - 1
    ]
    for places in permutations(range(d)):
        order = np.argsort(places).tolist()
        for block in blocks:
            codes = tuple(block[place] for place in order)
            ways.setdefault(_splits_of(kind, codes), codes)
    return ways


def _splits_of(kind: str, codes: ArrayLike) -> int:
    """The splits a column makes, a bit for each, named by the part without the last example."""
    column = np.asarray(codes)
    everyone = (1 << len(column)) - 1
    sides = column_tests(column, kind) - {0}
    return sum(1 << (min(side, everyone ^ side) - 1) for side in sides)
