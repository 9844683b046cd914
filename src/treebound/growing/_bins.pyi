from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

def keys_of(values: NDArray[np.float64]) -> NDArray[np.uint64]: ...
def take_rows(
    columns: Sequence[NDArray[Any]],
    rows: NDArray[np.uint32],
    targets: Sequence[NDArray[Any]],
    first: int,
) -> None: ...

class Bins:
    n_columns: int
    kinds: list[int]
    n_bins: list[int]
    by_code: list[bool]
    def __init__(
        self,
        samples: Sequence[NDArray[Any]],
        kinds: Sequence[int],
        n_categories: Sequence[int],
        max_bins: int,
    ) -> None: ...
    def single(self, j: int) -> NDArray[np.uint8]: ...
    def bin_of(self, j: int, value: float) -> int: ...
    def values(self, j: int) -> NDArray[np.float64]: ...
    def edges(self, j: int) -> NDArray[np.float64]: ...
