"""Parts of a sample: folds for cross-validation, and a part to validate on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from treebound.data.matrix import Matrix
from treebound.data.sample import Sample

__all__ = ["fold_numbers", "folds", "held_out"]

Keys = NDArray[np.uint64]


def fold_numbers(sample: Sample, k: int, seed: int | None) -> NDArray[np.int64]:
    """The fold of every row: every class is dealt out evenly, in random order.

    Rows with the same values and class are in the same fold, so that a row of weight two is the
    same as the row twice. Neither the order of the rows nor the names of the classes matters.
    Works with classes of fewer members than folds.
    """
    keys = row_keys(sample.X, seed)
    order = np.lexsort((keys, sample.y))
    y, sorted_keys = sample.y[order], keys[order]
    new_class = np.r_[True, y[1:] != y[:-1]]
    new_row = np.r_[True, sorted_keys[1:] != sorted_keys[:-1]] | new_class
    distinct = np.flatnonzero(new_row)
    # Classes in an order that their names have no part in: by their number of distinct rows.
    starts = np.flatnonzero(new_class[distinct])
    sizes = np.diff(np.r_[starts, len(distinct)])
    by_size = np.lexsort((sorted_keys[distinct][starts], sizes))
    first = np.empty(len(starts), dtype=np.int64)
    first[by_size] = np.cumsum(sizes[by_size]) - sizes[by_size]
    place = np.arange(len(distinct)) - np.repeat(starts, sizes) + np.repeat(first, sizes)
    number = np.empty(sample.n_rows, dtype=np.int64)
    number[order] = (place % k)[np.cumsum(new_row) - 1]
    return number


def row_keys(matrix: Matrix, seed: int | None) -> Keys:
    """A random number for every row that depends on its values alone."""
    start = np.random.default_rng(seed).integers(2**63, dtype=np.uint64)
    keys = np.full(matrix.n_rows, start, dtype=np.uint64)
    for column in matrix.values:
        values = np.where(np.isnan(column), np.nan, column + 0.0).astype(np.float64)
        keys = _mixed(keys ^ _mixed(values.view(np.uint64)))
    return keys


def _mixed(keys: Keys) -> Keys:
    """A bijection of 64 bits that scatters its argument (splitmix64)."""
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def folds(sample: Sample, k: int, seed: int | None) -> Iterator[tuple[Sample, Sample]]:
    """For each fold, the rows outside it and those inside it.

    A fold without rows, or one that holds all of them, is left out.
    """
    number = fold_numbers(sample, min(k, sample.n_rows), seed)
    for fold in range(min(k, sample.n_rows)):
        inside = number == fold
        if inside.any() and not inside.all():
            yield sample.part(~inside), sample.part(inside)


def held_out(sample: Sample, fraction: float, seed: int | None) -> tuple[Sample, Sample]:
    """The rows to grow on, and a random part of about this fraction to judge by.

    Which rows it is depends on their values alone, so that a row of weight two is the same as the
    row twice. Rows that are all alike are all grown on.
    """
    keys = row_keys(sample.X, seed)
    distinct = np.unique(keys)
    size = min(max(1, round(fraction * len(distinct))), len(distinct) - 1)
    inside = keys < distinct[size]
    return sample.part(~inside), sample.part(inside)
