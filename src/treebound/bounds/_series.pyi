import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

def powers_at(
    alpha: float, beta: float, x: float, at: Ints, out: Floats, out_power: Ints
) -> None: ...
def power(alpha: float, beta: float, x: float, j: int) -> tuple[float, int]: ...
def polynomial(
    alpha: float, beta: float, x: float, coefficient: Floats, coefficient_power: Ints
) -> tuple[float, int]: ...
def joined(
    left: Floats,
    left_power: Ints,
    right: Floats,
    right_power: Ints,
    equal: bool,
    out: Floats,
    out_power: Ints,
) -> None: ...
def all_trees(
    alpha: float, beta: float, x: float, nodes: Ints, out: Floats, out_power: Ints
) -> None: ...
def catalans(nodes: Ints, out: Floats, out_power: Ints) -> None: ...
def product(splits: Floats, children: NDArray[np.int32], n: float) -> tuple[float, int]: ...
