from typing import Any

import numpy as np
from numpy.typing import NDArray

class Raiser:
    root: int
    arrays: dict[str, NDArray[Any]]
    def __init__(
        self,
        X: NDArray[np.float64],
        splits: NDArray[np.void],
        y: NDArray[np.int32],
        learn: NDArray[np.float64],
        judge: NDArray[np.float64],
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        label: NDArray[np.int32],
        costs: NDArray[np.float64],
        relabel: bool,
    ) -> None: ...
    @property
    def errors(self) -> float: ...
    @property
    def leaves(self) -> int: ...
    def inner(self) -> NDArray[np.int64]: ...
    def candidates(
        self, nodes: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
    def fast_growth(
        self, nodes: NDArray[np.int64], price: NDArray[np.float64], log_classes: float
    ) -> NDArray[np.float64]: ...
    def replace(self, node: int, by: int) -> NDArray[np.int64]: ...
