"""What is inside bins: questions about intervals of columns, and what shards answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound.growing import _shard
from treebound.growing._bins import Bins
from treebound.growing.rounds.shard import Rows, Shard

__all__ = ["EXACT", "Answer", "Question", "add_answers", "look_into"]

# An interval with this shift is asked for its values.
EXACT = 255


class Question(NamedTuple):
    """Intervals of one column that are looked into; see :func:`treebound.growing._shard.look`."""

    n_slices: int
    slots: NDArray[np.int32]
    first: NDArray[np.int32]
    low: NDArray[np.uint64]
    high: NDArray[np.uint64]
    guide: NDArray[np.uint64]
    shift: NDArray[np.uint8]
    place: NDArray[np.int32]


class Answer(NamedTuple):
    """Class weights and rows: of slices, and of the distinct values of other intervals."""

    slices: NDArray[np.int64]
    intervals: NDArray[np.int32]
    keys: NDArray[np.uint64]
    counts: NDArray[np.int64]


class _Found(NamedTuple):
    """Rows in intervals whose values were asked for."""

    intervals: NDArray[np.int32]
    keys: NDArray[np.uint64]
    labels: NDArray[np.uint16]
    units: NDArray[np.int64] | None


def look_into(
    shards: Sequence[Shard],
    rows: Sequence[Rows],
    bins: Bins,
    n_classes: int,
    questions: Mapping[int, Question],
) -> dict[int, Answer]:
    """Answer questions about columns, for several shards at once.

    Slices are counted in one table, and equal values put together once for all shards: both may be
    as large as the rows of a shard that are in question.
    """
    slices = {
        j: np.zeros(
            (int((question.place >= 0).sum()), question.n_slices, n_classes + 1), dtype=np.int64
        )
        for j, question in questions.items()
    }
    found: dict[int, list[_Found]] = {j: [] for j in questions}
    for shard, mine in zip(shards, rows, strict=True):
        for j, question in questions.items():
            intervals, keys, ids = _shard.look(
                bins, shard.panels, shard.labels, shard.units, mine.rows, mine.starts, j,
                shard.floats(j, bins), *question[1:], slices[j],
            )  # fmt: skip
            units = None if shard.units is None else shard.units[ids]
            found[j].append(_Found(intervals, keys, shard.labels[ids], units))
    return {j: Answer(slices[j], *_distinct(found.pop(j), n_classes)) for j in questions}


def _distinct(
    found: Sequence[_Found], n_classes: int
) -> tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.int64]]:
    """Rows of equal values together."""
    intervals = np.concatenate([some.intervals for some in found])
    keys = np.concatenate([some.keys for some in found])
    order, new = _in_order(intervals, keys)
    value = np.cumsum(new) - 1
    n = int(value[-1]) + 1 if len(value) else 0
    counts = np.zeros((n, n_classes + 1), dtype=np.int64)
    units = [some.units for some in found if some.units is not None]
    # sums of integers below 2^53 are exact in floats
    weights = np.concatenate(units)[order].astype(np.float64) if units else None
    cells = value * n_classes + np.concatenate([some.labels for some in found])[order]
    counts[:, :n_classes] = np.bincount(cells, weights, n * n_classes).reshape(n, n_classes)
    counts[:, n_classes] = np.bincount(value, minlength=n)
    return intervals[order][new], keys[order][new], counts


def _in_order(
    intervals: NDArray[np.int32], keys: NDArray[np.uint64]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The order of values, and which of them are not equal to the one before."""
    order = np.lexsort((keys, intervals))
    intervals, keys = intervals[order], keys[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (intervals[1:] != intervals[:-1]) | (keys[1:] != keys[:-1])
    return order, new


def add_answers(many: Sequence[dict[int, Answer]]) -> dict[int, Answer]:
    """Several answers to the same questions as one."""
    if len(many) == 1:
        return many[0]
    return {j: _added([answers[j] for answers in many]) for j in many[0]}


def _added(answers: Sequence[Answer]) -> Answer:
    slices = reduce(np.add, [answer.slices for answer in answers])
    intervals = np.concatenate([answer.intervals for answer in answers])
    keys = np.concatenate([answer.keys for answer in answers])
    counts = np.concatenate([answer.counts for answer in answers])
    order, new = _in_order(intervals, keys)
    starts = np.flatnonzero(new)
    if len(starts):
        counts = np.add.reduceat(counts[order], starts, axis=0)
    return Answer(slices, intervals[order][new], keys[order][new], counts)
