import numpy as np
from numpy.typing import NDArray

from treebound.tree.base import BaseTree

COLUMN: np.dtype[np.void]

def sizes_and_depths(
    left: NDArray[np.int32], right: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], int]: ...
def standing_nodes(size: NDArray[np.int32], cuts: NDArray[np.intp]) -> NDArray[np.intp]: ...
def collapsed(
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    size: NDArray[np.int32],
    cuts: NDArray[np.intp],
) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.int32]]: ...
def first_fault(
    tree: BaseTree, columns: NDArray[np.void], amounts: NDArray[np.float64], slack: float
) -> tuple[str, int]: ...
def add_up(
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    values: NDArray[np.float64] | NDArray[np.int64],
) -> None: ...
def sums_over_classes(shares: NDArray[np.float64], gini: bool) -> NDArray[np.float64]: ...
def squared_deviations(sums: NDArray[np.int64], shift: int) -> NDArray[np.float64]: ...
def gains(left: NDArray[np.int32], sums: NDArray[np.int64]) -> NDArray[np.float64]: ...
def add_down(
    left: NDArray[np.int32], right: NDArray[np.int32], values: NDArray[np.float64]
) -> None: ...
