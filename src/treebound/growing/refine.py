"""What is inside the bins of columns: questions to shards, and what they answer.

The bins of a column at a node are intervals in order. If the best split may lie inside one of them
it is replaced by slices of it, or by its values; then the column is searched again. Values are
compared by their keys: the bits of floats as integers in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound.growing._bins import Bins, keys_of

if TYPE_CHECKING:
    from treebound.growing.shard import Facts


# An interval with this shift is asked for its values.
EXACT = 255


class Intervals(NamedTuple):
    """What a node has of a column, in order: class weights and rows, and missing ones last."""

    # No value of an interval has a key outside low and high; code is its bin.

    table: NDArray[np.int64]
    single: NDArray[np.uint8]
    code: NDArray[np.int32]
    low: NDArray[np.uint64]
    high: NDArray[np.uint64]

    def replaced(self, parts: Mapping[int, Intervals]) -> Intervals:
        """Some of them replaced by finer ones."""
        pieces: list[tuple[Any, ...]] = []
        start = 0
        for at in sorted(parts):
            pieces += [self._slice(start, at), parts[at]]
            start = at + 1
        pieces.append(self._slice(start, len(self.code) + 1))  # with missing rows
        return Intervals(*(np.concatenate(arrays) for arrays in zip(*pieces, strict=True)))

    def _slice(self, start: int, stop: int) -> tuple[Any, ...]:
        return tuple(array[start:stop] for array in self)


class KeyRanges(NamedTuple):
    """Where the bins of a column lie, at every node."""

    single: NDArray[np.uint8]  # which bins hold one value only
    low: NDArray[np.uint64]  # no value of a bin has a key outside low and high,
    high: NDArray[np.uint64]  # which are exact for a single one
    guide: NDArray[np.uint64]  # about where each bin begins, and where the last one ends

    @classmethod
    def of(cls, bins: Bins, facts: Facts, j: int) -> KeyRanges:
        least, most = facts.extents[j]
        if not least <= most:  # every value is missing
            least = most = 0.0
        single, values = facts.single[j], keys_of(bins.values(j))
        ends = keys_of(np.array([least, most]))
        edges = keys_of(np.clip(bins.edges(j), least, most))
        guide = np.maximum.accumulate(np.concatenate([ends[:1], edges, ends[1:]]))
        low, high = np.where(single, values, ends[0]), np.where(single, values, ends[1])
        return cls(single, low, high, guide)

    def intervals(self, table: NDArray[np.int64]) -> Intervals:
        """The bins as intervals."""
        code = np.arange(len(self.single), dtype=np.int32)
        return Intervals(table, self.single, code, self.low, self.high)


# Intervals of a node: its slot, all of the column, and which of them are asked for.
Asked = tuple[int, Intervals, Sequence[int]]


class Question(NamedTuple):
    """Intervals of one column; see :func:`treebound.growing._histogram.look_into_shard`."""

    n_slices: int
    slots: NDArray[np.int32]
    first: NDArray[np.int32]
    low: NDArray[np.uint64]
    high: NDArray[np.uint64]
    guide: NDArray[np.uint64]
    shift: NDArray[np.uint8]
    place: NDArray[np.int32]


class Answer(NamedTuple):
    """What is inside intervals, in order: ranges of keys, and their class weights and rows."""

    # A range is a value, or a slice that holds rows. Most have few rows, so that tables are sent
    # without their zeros.

    intervals: NDArray[np.int32]
    low: NDArray[np.uint64]
    high: NDArray[np.uint64]
    counts: NDArray[np.int64]

    def __reduce__(self) -> tuple[Any, ...]:
        places = np.flatnonzero(self.counts)
        values = self.counts.ravel()[places]
        small = np.min_scalar_type(int(values.max(initial=0)))
        places = places.astype(np.min_scalar_type(self.counts.size))
        return _unpacked, (*self[:3], self.counts.shape, places, values.astype(small))


def _unpacked(
    intervals: Any, low: Any, high: Any, shape: tuple[int, ...], places: Any, values: Any
) -> Answer:
    counts = np.zeros(shape, dtype=np.int64)
    counts.ravel()[places] = values
    return Answer(intervals, low, high, counts)


def ask(groups: Sequence[Asked], ranges: KeyRanges, most: int, bits: int) -> Question:
    """A question about a column; intervals of more than ``most`` rows are cut in 2^bits slices."""
    ats = [np.asarray(some) for _, _, some in groups]
    code, low, high = (
        np.concatenate([mine[name][some] for (_, mine, _), some in zip(groups, ats, strict=True)])
        for name in (2, 3, 4)
    )
    rows = np.concatenate(
        [mine.table[some, -1] for (_, mine, _), some in zip(groups, ats, strict=True)]
    )
    whole = (low == ranges.low[code]) & (high == ranges.high[code])
    guide = np.where(whole, ranges.guide[code], low)
    width = np.where(whole, ranges.guide[code + 1], high) - guide
    shift = np.array([max(0, int(w).bit_length() - bits) for w in width], dtype=np.uint8)
    shift[rows <= most] = EXACT
    sliced = shift != EXACT
    starts = np.cumsum([0, *(len(some) for some in ats)])
    places = np.arange(len(ranges.single) + 1)
    first = [np.searchsorted(code[a:b], places) + a for a, b in pairwise(starts)]
    return Question(
        1 << bits,
        np.array([slot for slot, _, _ in groups], dtype=np.int32),
        np.ascontiguousarray(first, dtype=np.int32),
        low,
        high,
        guide,
        shift,
        np.where(sliced, np.cumsum(sliced) - 1, -1).astype(np.int32),
    )


def refined(groups: Sequence[Asked], n_asked: int, answer: Answer) -> list[Intervals]:
    """The intervals of each node, with the answer in place of those that were asked for."""
    bounds = np.searchsorted(answer.intervals, np.arange(n_asked + 1))
    found, i = [], 0
    for _, mine, ats in groups:
        parts = {}
        for at in ats:
            inside = slice(bounds[i], bounds[i + 1])
            counts, low, high = answer.counts[inside], answer.low[inside], answer.high[inside]
            code = np.full(len(low), mine.code[at], dtype=np.int32)
            parts[at] = Intervals(counts, (low == high).astype(np.uint8), code, low, high)
            i += 1
        found.append(mine.replaced(parts))
    return found


# -- answers -----------------------------------------------------------------------------------


def answer_of(
    question: Question,
    slices: NDArray[np.int64],
    intervals: NDArray[np.int32],
    keys: NDArray[np.uint64],
    labels: NDArray[np.uint16],
    units: NDArray[np.int64] | None,
) -> Answer:
    """From the counts of slices, and rows with the intervals and keys of their values."""
    n_classes = slices.shape[2] - 1
    order, new = _in_order(intervals, keys)
    value = np.cumsum(new) - 1
    n = int(value[-1]) + 1 if len(value) else 0
    counts = np.zeros((n, n_classes + 1), dtype=np.int64)
    # sums of integers below 2^53 are exact in floats
    weights = None if units is None else units[order].astype(np.float64)
    cells = value * n_classes + labels[order]
    counts[:, :n_classes] = np.bincount(cells, weights, n * n_classes).reshape(n, n_classes)
    counts[:, n_classes] = np.bincount(value, minlength=n)
    keys = keys[order][new]
    by_value = Answer(intervals[order][new], keys, keys, counts)
    return added([by_value, _sliced(question, slices)]) if len(slices) else by_value


def _sliced(question: Question, slices: NDArray[np.int64]) -> Answer:
    """The slices that hold rows; the first and the last one reach to the ends of the interval."""
    place, used = np.nonzero(slices[:, :, -1])
    at = np.flatnonzero(question.shift != EXACT)[place]
    shift, highest = question.shift[at].astype(np.uint64), question.high[at]
    low = question.guide[at] + (used.astype(np.uint64) << shift)
    width = (np.uint64(1) << shift) - np.uint64(1)
    # a slice that reaches past the interval ends with it; no sum is past 64 bits
    high = np.where(highest - low > width, low + width, highest)
    low = np.where(used == 0, question.low[at], low)
    high = np.where(used == question.n_slices - 1, highest, high)
    return Answer(at.astype(np.int32), low, high, slices[place, used])


def add_answers(many: Sequence[dict[int, Answer]]) -> dict[int, Answer]:
    """Several answers to the same questions as one."""
    if len(many) == 1:
        return many[0]
    return {j: added([answers[j] for answers in many]) for j in many[0]}


def added(answers: Sequence[Answer]) -> Answer:
    """Equal ranges together."""
    intervals, low, high, counts = (np.concatenate(arrays) for arrays in zip(*answers, strict=True))
    order, new = _in_order(intervals, low)
    starts = np.flatnonzero(new)
    if len(starts):
        counts = np.add.reduceat(counts[order], starts, axis=0)
    order = order[new]
    return Answer(intervals[order], low[order], high[order], counts)


def _in_order(
    intervals: NDArray[np.int32], keys: NDArray[np.uint64]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The order of values, and which of them are not equal to the one before."""
    order = np.argsort(keys)
    # few intervals are sorted by counting
    small = intervals.astype(np.uint16) if len(order) and intervals.max() < 1 << 16 else intervals
    order = order[np.argsort(small[order], kind="stable")]
    intervals, keys = intervals[order], keys[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (intervals[1:] != intervals[:-1]) | (keys[1:] != keys[:-1])
    return order, new
