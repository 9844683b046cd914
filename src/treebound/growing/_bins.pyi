from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

def keys_of(values: NDArray[np.float64]) -> NDArray[np.uint64]: ...

class Bins:
    n_columns: int
    kinds: list[int]
    n_bins: list[int]
    by_code: list[bool]
    panels: list[list[int]]
    def __init__(
        self,
        samples: Sequence[NDArray[Any]],
        kinds: Sequence[int],
        n_categories: Sequence[int],
        most_bins: int,
    ) -> None: ...
    def code(
        self, columns: Sequence[NDArray[Any]], n_rows: int
    ) -> tuple[list[NDArray[Any]], NDArray[np.float64], list[bool], list[NDArray[np.uint8]]]: ...
    def bin_of(self, j: int, value: float) -> int: ...
    def values(self, j: int) -> NDArray[np.float64]: ...
    def edges(self, j: int) -> NDArray[np.float64]: ...
