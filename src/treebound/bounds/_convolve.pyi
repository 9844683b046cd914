import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

def by_size(
    left: Floats,
    left_power: Ints,
    right: Floats,
    right_power: Ints,
    room: Floats,
    budget: Floats,
    n: float,
    least_left: int,
    least_right: int,
    halved: bool,
    one_sided: bool,
    out: Floats,
    out_power: Ints,
    first: int,
) -> None: ...
def chains(
    fall: Floats,
    fall_power: Ints,
    left: Floats,
    left_power: Ints,
    right: Floats,
    right_power: Ints,
    count: float,
    start: int,
    head: float,
    capped: bool,
    out: Floats,
    out_power: Ints,
    first: int,
    last: int,
) -> None: ...
def steady(values: Floats, power: Ints, n: float) -> None: ...
def heaviest(
    left: Floats,
    left_power: Ints,
    right: Floats,
    right_power: Ints,
    out: Floats,
    out_power: Ints,
    first: int,
    last: int,
) -> None: ...
def by_feature(
    left_small: Floats,
    left_small_power: Ints,
    right_large: Floats,
    right_large_power: Ints,
    left_large: Floats,
    left_large_power: Ints,
    right_small: Floats,
    right_small_power: Ints,
    room: Floats,
    budget: Floats,
    n: float,
    every: Floats,
    every_power: Ints,
    inner: Floats,
    inner_power: Ints,
    first: int,
) -> None: ...
def parts_by_size(
    left: Floats,
    left_power: Ints,
    right: Floats,
    right_power: Ints,
    a: NDArray[np.int32],
    b: NDArray[np.int32],
    ways: Floats,
    room: Floats,
    least_left: int,
    least_right: int,
    halved: bool,
    out: Floats,
    out_power: Ints,
    first: int,
) -> None: ...
