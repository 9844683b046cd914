from typing import Any

import numpy as np
from numpy.typing import NDArray

SPLIT: np.dtype[np.void]
STEP: np.dtype[np.void]
TYPES: list[np.dtype[Any]]

def route(
    X: NDArray[np.floating[Any]],
    splits: NDArray[np.void],
    reached: NDArray[np.int32],
    rows: NDArray[np.intp] | None = None,
    start: int = 0,
) -> None: ...
def set_steps(
    steps: NDArray[np.void],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    feature: NDArray[np.int32],
    low: NDArray[np.float64] | None,
    high: NDArray[np.float64],
    missing_left: NDArray[np.uint8],
) -> None: ...
def walk(
    X: NDArray[np.floating[Any]],
    steps: NDArray[np.void],
    values: NDArray[np.uint8] | None,
    results: NDArray[np.uint8],
    complete: bool,
    check: bool,
    n_threads: int,
) -> bool: ...
def walk_columns(
    columns: list[NDArray[Any]],
    steps: NDArray[np.void],
    values: NDArray[np.uint8] | None,
    results: NDArray[np.uint8],
    n_threads: int,
) -> None: ...
