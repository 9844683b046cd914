from collections.abc import Callable, Sequence
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from treebound.growing.kernel_types import KernelOptions, TreeArrays

class SharedCodes: ...

class GrowRun(TypedDict, total=False):
    """The arguments that classes and numbers share; see the comments of ``grow_arrays``."""

    n_threads: int
    crossing: int | None
    max_bins: int | None
    whole: int
    spans: Sequence[float] | None
    min_priority: float
    progress: Callable[[int, int], None] | None
    part: NDArray[np.uint32] | None
    shared: SharedCodes | None
    thread_values: int

def grow_arrays(
    columns: Sequence[NDArray[Any]],
    y: NDArray[np.int32],
    weights: NDArray[np.int64] | None,
    n_classes: int,
    kinds: Sequence[int],
    n_categories: Sequence[int],
    may_miss: Sequence[bool],
    *,
    options: KernelOptions,
    **run: Unpack[GrowRun],
) -> TreeArrays: ...
def grow_numbers(
    columns: Sequence[NDArray[Any]],
    numbers: NDArray[np.int64],
    kinds: Sequence[int],
    n_categories: Sequence[int],
    may_miss: Sequence[bool],
    *,
    options: KernelOptions,
    square_shift: int,
    weight_error: float = 0.0,
    row_error: float = 0.0,
    whole_spread: float = 0.0,
    **run: Unpack[GrowRun],
) -> TreeArrays: ...
