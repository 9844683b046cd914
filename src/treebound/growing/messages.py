"""Messages between growing in rounds and the shards.

The bins of a column at a node are intervals in order. If the best split may be inside one of them
it is replaced by slices of it, or by its values; then the column is searched again. Values are
compared by their keys: the bits of floats as integers in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound.growing._layout import EXACT
from treebound.growing.shard_target import ShardTarget


class ShardSplit(NamedTuple):
    """The sides of the rows of a node; see :func:`treebound.growing._histogram.divide_shard`."""

    slot: int
    column: int
    sides: NDArray[np.uint8]
    edge: float
    keep_left: bool
    keep_right: bool


class Subtree(NamedTuple):
    """A subtree to grow below a small node: its slot, and arguments of the in-memory kernel."""

    slot: int
    kernel: dict[str, Any]


class IntervalRequest(NamedTuple):
    """Intervals of one column; see :func:`treebound.growing._histogram.look_into_shard`."""

    n_slices: int
    slots: NDArray[np.int32]
    first: NDArray[np.int32]
    low: NDArray[np.uint64]
    high: NDArray[np.uint64]
    guide: NDArray[np.uint64]
    shift: NDArray[np.uint8]
    place: NDArray[np.int32]


class IntervalCounts(NamedTuple):
    """Contents of intervals, in order: ranges of keys, and their channels and rows."""

    # A range is a value, or a slice that holds rows. Most have few rows, so that tables are sent
    # without their zeros.

    intervals: NDArray[np.int32]
    low: NDArray[np.uint64]
    high: NDArray[np.uint64]
    counts: NDArray[np.int64]

    def __reduce__(self) -> tuple[Any, ...]:
        places = np.flatnonzero(self.counts)
        values = self.counts.ravel()[places]
        greatest, least = int(values.max(initial=0)), int(values.min(initial=0))
        small = np.min_scalar_type(greatest if least >= 0 else -1 - max(greatest, -least))
        places = places.astype(np.min_scalar_type(self.counts.size))
        return _unpacked, (*self[:3], self.counts.shape, places, values.astype(small))


def _unpacked(
    intervals: Any, low: Any, high: Any, shape: tuple[int, ...], places: Any, values: Any
) -> IntervalCounts:
    counts = np.zeros(shape, dtype=np.int64)
    counts.ravel()[places] = values
    return IntervalCounts(intervals, low, high, counts)


# -- replies -----------------------------------------------------------------------------------


def interval_counts(
    request: IntervalRequest,
    slices: NDArray[np.int64],
    intervals: NDArray[np.int32],
    keys: NDArray[np.uint64],
    target: ShardTarget,
) -> IntervalCounts:
    """From the sums of slices, and rows with the intervals and keys of their values."""
    order, new = _in_order(intervals, keys)
    value = np.cumsum(new) - 1
    n = int(value[-1]) + 1 if len(value) else 0
    counts = target.take(order).sums_by_value(value, n, slices.shape[2] - 1)
    keys = keys[order][new]
    by_value = IntervalCounts(intervals[order][new], keys, keys, counts)
    return added([by_value, _sliced(request, slices)]) if len(slices) else by_value


def _sliced(request: IntervalRequest, slices: NDArray[np.int64]) -> IntervalCounts:
    """The slices that hold rows; the first and the last one reach to the ends of the interval."""
    place, used = np.nonzero(slices[:, :, -1])
    at = np.flatnonzero(request.shift != EXACT)[place]
    shift, highest = request.shift[at].astype(np.uint64), request.high[at]
    low = request.guide[at] + (used.astype(np.uint64) << shift)
    width = (np.uint64(1) << shift) - np.uint64(1)
    # a slice that reaches past the interval ends with it; no sum is past 64 bits
    high = np.where(highest - low > width, low + width, highest)
    low = np.where(used == 0, request.low[at], low)
    high = np.where(used == request.n_slices - 1, highest, high)
    return IntervalCounts(at.astype(np.int32), low, high, slices[place, used])


def add_interval_counts(many: Sequence[dict[int, IntervalCounts]]) -> dict[int, IntervalCounts]:
    """Several replies to the same requests as one."""
    if len(many) == 1:
        return many[0]
    return {j: added([replies[j] for replies in many]) for j in many[0]}


def added(replies: Sequence[IntervalCounts]) -> IntervalCounts:
    """Equal ranges together."""
    intervals, low, high, counts = (np.concatenate(arrays) for arrays in zip(*replies, strict=True))
    order, new = _in_order(intervals, low)
    starts = np.flatnonzero(new)
    if len(starts):
        counts = np.add.reduceat(counts[order], starts, axis=0)
    order = order[new]
    return IntervalCounts(intervals[order], low[order], high[order], counts)


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
