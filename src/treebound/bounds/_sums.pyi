import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats, Ints
from treebound.bounds._scaled import Numbers

SIZES: int
BUDGET: int
CHAINS: int
FEATURES: int

def node(
    left: Numbers,
    right: Numbers,
    tests: Floats,
    ways: NDArray[np.int32],
    n: float,
    equal: bool,
    low: int,
    high: int,
    kind: int,
    most: int,
    out: Numbers,
    by_chains: NDArray[np.bool_],
    first: int,
    last: int,
) -> None: ...
def parts(
    left: Numbers,
    right: Numbers,
    tests: Floats,
    merges: Floats,
    equal: bool,
    low: int,
    high: int,
    out: Numbers,
    first: int,
) -> None: ...
def weighted(rows: Numbers, weights: Numbers, out: Numbers) -> None: ...
def labellings(n: float, factor: float, more: float, out: Numbers) -> None: ...
def powers_at(alpha: float, beta: float, x: float, at: Ints, out: Numbers) -> None: ...
def power(alpha: float, beta: float, x: float, j: int) -> tuple[float, int]: ...
def polynomial(alpha: float, beta: float, x: float, coefficients: Numbers) -> tuple[float, int]: ...
def joined(left: Numbers, right: Numbers, equal: bool, out: Numbers) -> None: ...
def all_trees(alpha: float, beta: float, x: float, nodes: Ints, out: Numbers) -> None: ...
def catalans(nodes: Ints, out: Numbers) -> None: ...
def product(splits: Floats, children: NDArray[np.int32], n: float) -> tuple[float, int]: ...
