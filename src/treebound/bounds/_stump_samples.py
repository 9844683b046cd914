"""Samples that a stump shatters with features of any kind.

Every one of the ``2^(d-1) - 1`` splits of d examples must be made by some feature. Real features,
and ordinal ones with d categories, make as many as the stump theorem says (the witness
construction); any other feature makes at least the one split it is needed for; and for few examples
the best use of all categories is found by trying every one.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from treebound.bounds.splits import Features
from treebound.bounds.stumps import real_stump_partitions
from treebound.bounds.witnesses import shattering_ranks

IntArray = NDArray[np.int64]
# Covering all splits of this many examples by categories is decided exactly.
_COVERED = 5


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


def stump_sample(features: Features) -> IntArray:
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
    """Whether real features leave no more splits than there are others to make one each."""
    real = _as_real(features, d)
    others = features.width - real
    return (1 << (d - 1)) - 1 - real_stump_partitions(d, real) <= others


def _one_split_each(features: Features, d: int) -> IntArray:
    real = _as_real(features, d)
    X = np.zeros((d, features.width), dtype=np.int64)
    X[:, :real] = shattering_ranks(d, real)
    splits = 0
    for column in range(real):
        order = tuple(np.argsort(X[:, column]).tolist())
        splits |= _splits_of("ordinal", order, (1 << (d - 1)) - 1, d)
    missing = [part for part in range(1, 1 << (d - 1)) if not splits >> (part - 1) & 1]
    for column, part in enumerate(missing, start=real):
        X[:, column] = [part >> example & 1 for example in range(d)]
    return X


def _cover(features: Features, d: int) -> IntArray | None:
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
    for order in permutations(range(d)):
        for cuts in range(1 << (d - 1)):
            if cuts.bit_count() == categories - 1:
                codes = [0] * d
                for place, example in enumerate(order):
                    codes[example] = (cuts & ((1 << place) - 1)).bit_count()
                ways.setdefault(_splits_of(kind, order, cuts, d), tuple(codes))
    return ways


def _splits_of(kind: str, order: tuple[int, ...], cuts: int, d: int) -> int:
    """The splits that blocks of an order make: by thresholds between them, or one against all."""
    splits, block, prefix = 0, 0, 0
    for place, example in enumerate(order):
        block |= 1 << example
        prefix |= 1 << example
        if cuts >> place & 1 or place == d - 1:
            side = block if kind == "nominal" else prefix
            splits |= _bit_of_split(side, d)
            block = 0
    return splits


def _bit_of_split(side: int, d: int) -> int:
    """A split is named by the part without the last example; an empty part is no split."""
    everything = (1 << d) - 1
    named = everything & ~side if side >> (d - 1) & 1 else side
    return 1 << (named - 1) if named else 0
