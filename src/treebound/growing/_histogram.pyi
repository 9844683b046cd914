from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.growing._bins import Bins
from treebound.growing.messages import ShardSplit

def code_shard(
    bins: Bins, columns: Sequence[NDArray[Any]], n_rows: int
) -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.bool_], list[NDArray[np.uint8]]]: ...
def column_codes(bins: Bins, codes: NDArray[np.uint8], j: int) -> NDArray[np.int32]: ...
def count_shard(
    bins: Bins,
    codes: NDArray[np.uint8],
    labels: NDArray[np.uint16] | None,
    units: NDArray[np.int64] | None,
    numbers: NDArray[np.int64] | None,
    rows: NDArray[np.uint32],
    starts: NDArray[np.int64],
    slots: NDArray[np.int32],
    n_channels: int,
    table: NDArray[Any],
) -> None: ...
def look_into_shard(
    bins: Bins,
    codes: NDArray[np.uint8],
    labels: NDArray[np.uint16] | None,
    units: NDArray[np.int64] | None,
    numbers: NDArray[np.int64] | None,
    rows: NDArray[np.uint32],
    starts: NDArray[np.int64],
    column: int,
    values: NDArray[Any],
    slots: NDArray[np.int32],
    first: NDArray[np.int32],
    low: NDArray[np.uint64],
    high: NDArray[np.uint64],
    guide: NDArray[np.uint64],
    shift: NDArray[np.uint8],
    place: NDArray[np.int32],
    slices: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.uint32]]: ...
def divide_shard(
    bins: Bins,
    codes: NDArray[np.uint8],
    rows: NDArray[np.uint32],
    starts: NDArray[np.int64],
    splits: Sequence[ShardSplit],
    values: Mapping[int, NDArray[Any]],
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
