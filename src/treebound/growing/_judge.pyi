import numpy as np
from numpy.typing import NDArray

Found = tuple[float, int, int, bool, NDArray[np.int64], int]

class Judge:
    whole: int
    tolerance: float
    least: float
    def __init__(
        self,
        n_classes: int,
        criterion: int,
        by_impurity: bool,
        whole: int,
        min_leaf: int,
        min_weight: int,
        min_gain: float,
    ) -> None: ...
    @property
    def order_tolerance(self) -> float: ...
    def take(self, counts: NDArray[np.int64], n_rows: int) -> None: ...
    def priority(self, score: float) -> float: ...
    def most(self) -> float: ...
    def split_score(self, left: NDArray[np.int64]) -> float: ...
    def left_is_heavier(self, left: int) -> bool: ...
    def reach(
        self, table: NDArray[np.int64], single: NDArray[np.uint8], floor: float
    ) -> tuple[float, float, int]: ...
    def live(
        self, table: NDArray[np.int64], single: NDArray[np.uint8], floor: float
    ) -> list[int]: ...
    def best(self, table: NDArray[np.int64], floor: float) -> Found | None: ...
    def best_category(self, table: NDArray[np.int64], floor: float) -> Found | None: ...

def best_first(
    priority: NDArray[np.float64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    waits: NDArray[np.uint8],
    most: int,
    tolerance: float,
) -> NDArray[np.int32]: ...
