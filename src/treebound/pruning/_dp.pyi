import numpy as np
from numpy.typing import NDArray

Links = NDArray[np.int32]

def sums_after(
    values: NDArray[np.float64], below: NDArray[np.float64], cuts: NDArray[np.intp]
) -> NDArray[np.float64]: ...
def moments_of_losses(
    weights: NDArray[np.float64],
    squares: NDArray[np.float64],
    loss: NDArray[np.float64],
    other: NDArray[np.float64],
) -> NDArray[np.float64]: ...
def minimum_additive(
    left: Links,
    right: Links,
    as_leaf: NDArray[np.float64],
    as_node: NDArray[np.float64],
    slack: float,
) -> NDArray[np.bool_]: ...
def collapsed_before(left: Links, right: Links, when: NDArray[np.int32]) -> NDArray[np.int32]: ...
def sums_along(
    when: NDArray[np.int32], until: NDArray[np.int32], values: NDArray[np.float64], n_steps: int
) -> NDArray[np.float64]: ...
def cuts_at(
    left: Links, when: NDArray[np.int32], until: NDArray[np.int32], step: int
) -> NDArray[np.intp]: ...

class Plan:
    best: NDArray[np.int64]
    def cuts(self, leaves: int) -> NDArray[np.bool_]: ...

def best_prunings(
    left: Links, right: Links, leaves: NDArray[np.int32], cost: NDArray[np.int64], cap: int
) -> Plan: ...

class GraphPlan:
    best: NDArray[np.int64]
    def curve(self, node: int) -> NDArray[np.int64]: ...
    def tree(self, leaves: int) -> NDArray[np.int32]: ...

def best_of_graph(
    first: Links,
    left: Links,
    right: Links,
    cost: NDArray[np.int64],
    cap: int,
    keep_curves: bool = False,
) -> GraphPlan: ...
def weakest_links(
    left: Links, right: Links, risk: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]: ...
