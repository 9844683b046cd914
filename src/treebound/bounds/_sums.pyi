import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

def by_size(
    left: Floats,
    left_power: Ints,
    right: Floats,
    right_power: Ints,
    ways: NDArray[np.int32],
    room: Floats,
    budget: Floats,
    n: float,
    least_left: int,
    least_right: int,
    every: Floats,
    every_power: Ints,
    inner: Floats,
    inner_power: Ints,
    first: int,
) -> None: ...
def chains(
    left: Floats,
    left_power: Ints,
    right: Floats,
    right_power: Ints,
    equal: bool,
    thresholds: float,
    tests: Floats,
    n: float,
    out: Floats,
    out_power: Ints,
    first: int,
    last: int,
) -> None: ...
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
