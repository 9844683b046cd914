"""Several shards that one thread works on, one after the other, with one result for all of them.

Shards are not put together: their codes would be copied, and their values read as a whole where
only a few are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.growing._bins import Bins
from treebound.growing.rounds.shard import (
    Facts,
    Piece,
    Rows,
    Shard,
    count_bins,
    gather_rows,
    joined,
    recode,
    weigh,
)
from treebound.growing.units import WeightTotal

__all__ = [
    "count_several",
    "gather_several",
    "recode_several",
    "sum_of",
    "weigh_several",
]


def weigh_several(
    shards: Sequence[Shard], total: WeightTotal, n_classes: int
) -> tuple[list[Shard], NDArray[np.int64]]:
    """The shards with weights as integers, and the weight of every class; see :func:`weigh`."""
    counts = np.zeros(n_classes, dtype=np.int64)
    weighed = []
    for shard in shards:
        one, more = weigh(shard, total, n_classes)
        weighed.append(one)
        counts += more
    return weighed, counts


def recode_several(shards: Sequence[Shard], bins: Bins, finer: Bins) -> tuple[list[Shard], Facts]:
    """The shards in finer bins; see :func:`recode`."""
    found = [recode(shard, bins, finer) for shard in shards]
    return [shard for shard, _ in found], reduce(add, [facts for _, facts in found])


def count_several(
    shards: Sequence[Shard],
    rows: Sequence[Rows],
    bins: Bins,
    n_classes: int,
    slots: NDArray[np.int32],
    *,
    wide: bool,
) -> NDArray[Any]:
    """The histograms of some nodes; see :func:`count_bins`.

    ``wide`` tells that 32 bits may be too few for the rows of all shards, of these or of others.
    """
    table: NDArray[Any] | None = None
    for shard, mine in zip(shards, rows, strict=True):
        if not wide:
            table = count_bins(shard, mine, bins, n_classes, slots, table)
            continue
        more = count_bins(shard, mine, bins, n_classes, slots).astype(np.int64)
        table = more if table is None else table + more
    assert table is not None
    return table


def sum_of(tables: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The sum of histograms; none of them is changed."""
    total: NDArray[Any] = reduce(np.add, tables)
    return total


def gather_several(
    shards: Sequence[Shard], rows: Sequence[Rows], bins: Bins, slots: Sequence[int]
) -> list[Piece]:
    """The values of the rows of some nodes; see :func:`gather_rows`."""
    found = [
        gather_rows(shard, mine, bins, slots) for shard, mine in zip(shards, rows, strict=True)
    ]
    return [joined(pieces) for pieces in zip(*found, strict=True)]
