from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.growing._bins import Bins

def keys_of(values: NDArray[np.float64]) -> NDArray[np.uint64]: ...
def values_of(keys: NDArray[np.uint64]) -> NDArray[np.float64]: ...
def count(
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
def count_classes(
    labels: NDArray[np.uint16], units: NDArray[np.int64] | None, n_classes: int
) -> NDArray[np.int64]: ...
def look(
    bins: Bins,
    panels: list[NDArray[Any]],
    labels: NDArray[np.uint16],
    units: NDArray[np.int64] | None,
    rows: NDArray[np.uint32],
    starts: NDArray[np.int64],
    column: int,
    values: NDArray[np.float64],
    slots: NDArray[np.int32],
    first: NDArray[np.int32],
    low: NDArray[np.uint64],
    high: NDArray[np.uint64],
    guide: NDArray[np.uint64],
    shift: NDArray[np.uint8],
    place: NDArray[np.int32],
    slices: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.uint32]]: ...
def part(
    bins: Bins,
    panels: list[NDArray[Any]],
    rows: NDArray[np.uint32],
    starts: NDArray[np.int64],
    splits: Sequence[tuple[int, int, NDArray[np.uint8], int, bool, bool]],
    values: Mapping[int, NDArray[np.float64]],
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
