from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.growing._bins import Bins

def count_shard(
    bins: Bins,
    panels: list[NDArray[Any]],
    labels: NDArray[np.uint16],
    units: NDArray[np.int64] | None,
    rows: NDArray[np.uint32],
    starts: NDArray[np.int64],
    slots: NDArray[np.int32],
    n_classes: int,
    table: NDArray[Any],
) -> None: ...
def look_into_shard(
    bins: Bins,
    panels: list[NDArray[Any]],
    labels: NDArray[np.uint16],
    units: NDArray[np.int64] | None,
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
    panels: list[NDArray[Any]],
    rows: NDArray[np.uint32],
    starts: NDArray[np.int64],
    splits: Sequence[tuple[int, int, NDArray[np.uint8], float, bool, bool]],
    values: Mapping[int, NDArray[Any]],
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
