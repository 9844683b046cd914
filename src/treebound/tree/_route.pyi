from typing import Any

import numpy as np
from numpy.typing import NDArray

HEAVIER: int

def fill_splits(
    splits: NDArray[np.void],
    columns: NDArray[np.void],
    feature: NDArray[np.int32],
    threshold: NDArray[np.float64],
    category: NDArray[np.int32],
    missing_left: NDArray[np.bool_],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    weight: NDArray[np.float64],
    unknown: int,
) -> None: ...
def route(
    X: NDArray[np.floating[Any]], splits: NDArray[np.void], reached: NDArray[np.int32]
) -> None: ...
def walk_plain(
    X: NDArray[np.floating[Any]],
    steps: NDArray[np.void],
    ids: NDArray[np.int32],
    reached: NDArray[np.int32],
) -> None: ...
def walk(
    X: NDArray[np.floating[Any]],
    steps: NDArray[np.void],
    reached: NDArray[np.int32],
    codes: bool,
) -> None: ...
