"""Parts of a sample: folds for cross-validation, and a part to validate on.

Parts depend on the rows alone: neither on their order nor on the names of the classes, and a row
of weight two is the same as the row twice. Equal rows are dealt out one by one, as any rows are.
But where all rows of a class are there twice, or weigh twice as much, a row and its double stay
together: else every row to judge by would have been learned from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from treebound.data.matrix import Matrix
from treebound.data.sample import Sample

__all__ = ["folds", "held_out"]

Keys = NDArray[np.uint64]
Ints = NDArray[np.int64]
# Doubles stay together where that leaves this many rows for each part.
_ENOUGH = 10


def folds(sample: Sample, k: int, seed: int | None) -> Iterator[tuple[Sample, Sample]]:
    """For each fold, the rows outside it and those inside it.

    Every class is dealt out evenly, in random order. Works with classes of fewer members than
    folds; a fold without rows, or one that holds all of them, is left out.
    """
    deal = _Deal.of(sample, seed, parts=k)
    k = min(k, deal.total)
    for fold in range(k):
        inside = deal.inside(partial(_taken, k, fold))
        if inside.any() and (inside < deal.units).any():
            yield deal.part(sample, deal.units - inside), deal.part(sample, inside)


def held_out(sample: Sample, fraction: float, seed: int | None) -> tuple[Sample, Sample]:
    """The rows to grow on, and a random part of about this fraction to judge by.

    Every class has its share in it. A row that is alone is grown on.
    """
    deal = _Deal.of(sample, seed, parts=1.0 / fraction)
    size = min(max(1, round(fraction * deal.total)), deal.total - 1)
    exact = object if deal.total * size >= 2**63 else np.int64
    inside = deal.inside(lambda n: (n.astype(exact) * size // deal.total).astype(np.int64))
    return deal.part(sample, deal.units - inside), deal.part(sample, inside)


def _taken(k: int, fold: int, n: Ints) -> Ints:
    """How many of the first n cards go to a fold, dealt to k folds in turn."""
    return (n + k - 1 - fold) // k


@dataclass(frozen=True)
class _Deal:
    """The order in which rows are dealt out: by class, then at random, equal rows together.

    Attributes
    ----------
    units : ndarray
        The weight of every row in whole units of its class.
    before : ndarray
        Units of equal rows that come before it.
    card : ndarray
        How many units are dealt together; a divisor of the units of all equal rows.
    place : ndarray
        Cards dealt before the first one of the equal rows.
    total : int
        Number of cards.
    """

    units: Ints
    before: Ints
    card: Ints
    place: Ints
    total: int

    @classmethod
    def of(cls, sample: Sample, seed: int | None, parts: float) -> _Deal:
        keys = row_keys(sample.X, seed)
        whole, units = _units(sample)
        order = np.lexsort((keys, sample.y))
        new = (np.diff(keys[order]) != 0) | (np.diff(sample.y[order]) != 0)
        first = np.flatnonzero(np.r_[True, new])  # of every group of equal rows
        size = np.add.reduceat(units[order], first)
        label, key = sample.y[order][first], keys[order][first]
        common = np.zeros(sample.n_classes, dtype=np.int64)
        np.gcd.at(common, label, size)
        if (size // common[label]).sum() < _ENOUGH * parts:
            common[:] = 1
        card = np.where(whole[label], common[label], size)
        cards = size // card
        dealt = np.lexsort((key, _class_ranks(label, key, cards)[label]))
        place = np.empty_like(cards)
        place[dealt] = np.cumsum(cards[dealt]) - cards[dealt]
        group, start = np.empty_like(order), np.empty_like(units)
        group[order] = np.repeat(np.arange(len(first)), np.diff(np.r_[first, len(order)]))
        start[order] = np.cumsum(units[order]) - units[order]
        before = start - start[order][first][group]
        return cls(units, before, card[group], place[group], int(cards.sum()))

    def inside(self, taken: Callable[[Ints], Ints]) -> Ints:
        """The units of every row in a part that takes ``taken(n)`` of the first n cards."""

        def of_equal_rows(units: Ints) -> Ints:
            cards, rest = np.divmod(units, self.card)
            so_far = taken(self.place + cards)
            next_one = taken(self.place + cards + 1) - so_far
            found: Ints = self.card * (so_far - taken(self.place)) + rest * next_one
            return found

        return of_equal_rows(self.before + self.units) - of_equal_rows(self.before)

    def part(self, sample: Sample, units: Ints) -> Sample:
        """The rows with some of their units."""
        kept = units > 0
        part = sample.part(kept)
        if part.weight is None or bool((units == self.units)[kept].all()):
            return part
        return replace(part, weight=part.weight / self.units[kept] * units[kept])


def _units(sample: Sample) -> tuple[NDArray[np.bool_], Ints]:
    """Which classes have weights in whole units, and the units of every row; one in the others."""
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


def _class_ranks(label: NDArray[np.int32], key: Keys, cards: Ints) -> Ints:
    """An order of the classes that their names have no part in: by size, then by their rows."""
    n_classes = int(label.max()) + 1
    told_by = np.zeros(n_classes, dtype=np.uint64)
    np.add.at(told_by, label, _mixed(key) * cards.astype(np.uint64))  # modulo 2^64
    sizes = np.bincount(label, weights=cards)
    ranks = np.empty(n_classes, dtype=np.int64)
    ranks[np.lexsort((told_by, sizes))] = np.arange(n_classes)
    return ranks


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
