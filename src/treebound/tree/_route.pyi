from typing import Any

import numpy as np
from numpy.typing import NDArray

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
