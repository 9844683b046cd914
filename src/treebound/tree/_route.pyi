from typing import Any

import numpy as np
from numpy.typing import NDArray

SPLIT: np.dtype[np.void]
STEP: np.dtype[np.void]

def route(
    X: NDArray[np.floating[Any]],
    splits: NDArray[np.void],
    reached: NDArray[np.int32],
    rows: NDArray[np.intp] | None = None,
    start: int = 0,
) -> None: ...
def walk(
    X: NDArray[np.floating[Any]],
    steps: NDArray[np.void],
    reached: NDArray[np.int32],
    codes: bool,
    complete: bool,
) -> None: ...
