"""Splitting a sample: folds for cross-validation, and a validation part.

Splits depend only on the rows, not on their order or on the names of the classes, and a row of
weight two counts as two rows. Equal rows are distributed like any others. But if every row of a
class occurs twice, or has twice the weight, duplicates stay together; otherwise every row of a
validation part would also be in the training part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from treebound.data.matrix import Matrix
from treebound.data.sample import Sample

__all__ = ["Splitter", "folds", "held_out", "mixed_bits"]

Keys = NDArray[np.uint64]
Ints = NDArray[np.int64]
# Duplicates stay together if that leaves this many rows for each part.
_ENOUGH = 10


@runtime_checkable
class Splitter(Protocol):
    """A cross-validation splitter, as scikit-learn has them."""

    def split(self, X: Any, y: Any) -> Iterable[tuple[Any, Any]]:
        """The places of the rows outside and inside each fold."""
        ...


def folds(sample: Sample, k: int | Splitter, seed: int | None) -> Iterator[tuple[Sample, Sample]]:
    """Yield, for each fold, the rows outside it and the rows inside it.

    Folds are stratified by class and shuffled. A class may have fewer rows than there are folds;
    a fold with no rows, or with all of them, is skipped. A splitter makes its own folds: it is
    given the class codes, and zeros in place of the columns.
    """
    if isinstance(k, Splitter):
        yield from _split_by(k, sample)
        return
    assigned = _Assignment.of(sample, seed, parts=k)
    k = min(k, assigned.total)
    for fold in range(k):
        inside = assigned.inside(partial(_taken, k, fold))
        if inside.any() and (inside < assigned.units).any():
            yield assigned.part(sample, assigned.units - inside), assigned.part(sample, inside)


def _split_by(splitter: Splitter, sample: Sample) -> Iterator[tuple[Sample, Sample]]:
    found = 0
    for parts in splitter.split(np.zeros((sample.n_rows, 1)), sample.y):
        found += 1
        try:
            outside, inside = (_places(part, sample.n_rows) for part in parts)
        except (IndexError, TypeError, ValueError) as error:
            raise ValueError(
                f"Fold {found} of {splitter!r} must be two arrays of places of rows, from 0 to "
                f"{sample.n_rows - 1}. Got {parts!r:.100} instead ({error})."
            ) from None
        if not len(outside) or not len(inside):
            raise ValueError(
                f"Fold {found} of {splitter!r} has {len(inside)} rows inside and {len(outside)} "
                f"outside. Hint: change 'folds' so that neither part is empty."
            )
        yield sample.part(outside), sample.part(inside)
    if not found:
        raise ValueError(f"{splitter!r} made no folds. Hint: set 'folds' to a number.")


def _places(part: Any, n_rows: int) -> Ints:
    """The places of rows that are given by their places or by a mask."""
    given = np.asarray(part)
    return np.arange(n_rows)[given] if given.size else np.empty(0, dtype=np.int64)


def held_out(sample: Sample, fraction: float, seed: int | None) -> tuple[Sample, Sample]:
    """Split a sample into rows to grow on and a stratified validation part.

    A sample of a single row has an empty validation part.
    """
    assigned = _Assignment.of(sample, seed, parts=1.0 / fraction)
    size = min(max(1, round(fraction * assigned.total)), assigned.total - 1)
    exact = object if assigned.total * size >= 2**63 else np.int64
    inside = assigned.inside(lambda n: (n.astype(exact) * size // assigned.total).astype(np.int64))
    return assigned.part(sample, assigned.units - inside), assigned.part(sample, inside)


def _taken(k: int, fold: int, n: Ints) -> Ints:
    """How many of the first n blocks go to a fold when assigned to k folds in turn."""
    return (n + k - 1 - fold) // k


@dataclass(frozen=True)
class _Assignment:
    """The order in which rows are assigned: by class, then at random, equal rows together.

    Attributes
    ----------
    units : ndarray
        The weight of every row in whole units of its class.
    before : ndarray
        Units of equal rows that precede it.
    block : ndarray
        Units that are assigned together; divides the units of its group of equal rows.
    place : ndarray
        Number of blocks before the first one of its group.
    total : int
        Number of blocks.
    """

    units: Ints
    before: Ints
    block: Ints
    place: Ints
    total: int

    @classmethod
    def of(cls, sample: Sample, seed: int | None, parts: float) -> _Assignment:
        keys = row_keys(sample.X, seed)
        whole, units = _units(sample)
        order = np.lexsort((keys, sample.y))
        new = (np.diff(keys[order]) != 0) | (np.diff(sample.y[order]) != 0)
        first = np.flatnonzero(np.r_[True, new])  # start of each group of equal rows
        size = np.add.reduceat(units[order], first)
        label, key = sample.y[order][first], keys[order][first]
        common = np.zeros(sample.n_classes, dtype=np.int64)
        np.gcd.at(common, label, size)
        if (size // common[label]).sum() < _ENOUGH * parts:
            common[:] = 1
        block = np.where(whole[label], common[label], size)
        blocks = size // block
        sequence = np.lexsort((key, _class_ranks(label, key, blocks)[label]))
        place = np.empty_like(blocks)
        place[sequence] = np.cumsum(blocks[sequence]) - blocks[sequence]
        group, start = np.empty_like(order), np.empty_like(units)
        group[order] = np.repeat(np.arange(len(first)), np.diff(np.r_[first, len(order)]))
        start[order] = np.cumsum(units[order]) - units[order]
        before = start - start[order][first][group]
        return cls(units, before, block[group], place[group], int(blocks.sum()))

    def inside(self, taken: Callable[[Ints], Ints]) -> Ints:
        """Units of every row in the part that takes ``taken(n)`` of the first n blocks."""

        def of_equal_rows(units: Ints) -> Ints:
            blocks, rest = np.divmod(units, self.block)
            so_far = taken(self.place + blocks)
            next_one = taken(self.place + blocks + 1) - so_far
            found: Ints = self.block * (so_far - taken(self.place)) + rest * next_one
            return found

        return of_equal_rows(self.before + self.units) - of_equal_rows(self.before)

    def part(self, sample: Sample, units: Ints) -> Sample:
        """The rows with the given units."""
        kept = units > 0
        part = sample.part(kept)
        if part.weight is None or bool((units == self.units)[kept].all()):
            return part
        return replace(part, weight=part.weight / self.units[kept] * units[kept])


def _units(sample: Sample) -> tuple[NDArray[np.bool_], Ints]:
    """Which classes have weights in whole units, and the units of every row (else one)."""
    weight, y = sample.weights, sample.y
    least = np.full(sample.n_classes, np.inf)
    np.minimum.at(least, y, weight)
    fractional = np.zeros(sample.n_classes, dtype=bool)
    np.logical_or.at(fractional, y, weight != np.floor(weight))
    ratio = np.where(fractional[y], weight / least[y], weight)
    units = np.rint(ratio)
    broken = np.zeros(sample.n_classes, dtype=bool)
    np.logical_or.at(broken, y, np.abs(ratio - units) > 1e-9 * ratio)
    return ~broken, np.where(broken[y], 1, units).astype(np.int64)


def _class_ranks(label: NDArray[np.int32], key: Keys, blocks: Ints) -> Ints:
    """Rank of the classes by size, then by their rows; independent of their names."""
    n_classes = int(label.max()) + 1
    fingerprint = np.zeros(n_classes, dtype=np.uint64)
    np.add.at(fingerprint, label, _mixed(key) * blocks.astype(np.uint64))  # modulo 2^64
    sizes = np.bincount(label, weights=blocks)
    ranks = np.empty(n_classes, dtype=np.int64)
    ranks[np.lexsort((fingerprint, sizes))] = np.arange(n_classes)
    return ranks


def row_keys(matrix: Matrix, seed: int | None) -> Keys:
    """A random key for every row that depends only on its values."""
    start = np.random.default_rng(seed).integers(2**63, dtype=np.uint64)
    keys = np.full(matrix.n_rows, start, dtype=np.uint64)
    for column in matrix.values:
        values = np.where(np.isnan(column), np.nan, column + 0.0).astype(np.float64)
        keys = _mixed(keys ^ _mixed(values.view(np.uint64)))
    return keys


def _mixed(keys: Keys) -> Keys:
    """Hash 64-bit integers (splitmix64, a bijection)."""
    return mixed_bits(keys + np.uint64(0x9E3779B97F4A7C15))


def mixed_bits(keys: Keys) -> Keys:
    """The finaliser of splitmix64."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
