import numpy as np
from numpy.typing import NDArray

def number_bound(
    node: NDArray[np.int64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    square_shift: int,
) -> float: ...
