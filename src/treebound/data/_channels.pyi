import numpy as np
from numpy.typing import NDArray

def set_channels(
    channels: NDArray[np.int64],
    values: NDArray[np.float64],
    weights: NDArray[np.int64] | None,
    times: bool,
    square_shift: int,
) -> None: ...
