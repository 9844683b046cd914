from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.growing.kernel_types import KernelOptions, TreeArrays

class SharedCodes: ...

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
    n_threads: int = 1,
    crossing: int | None = None,
    max_bins: int | None = None,
    whole: int = 0,
    spans: Sequence[float] | None = None,
    min_priority: float = ...,
    progress: Callable[[int, int], None] | None = None,
    part: NDArray[np.uint32] | None = None,
    shared: SharedCodes | None = None,
    thread_values: int = ...,
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
    n_threads: int = 1,
    crossing: int | None = None,
    max_bins: int | None = None,
    whole: int = 0,
    whole_spread: float = 0.0,
    spans: Sequence[float] | None = None,
    min_priority: float = ...,
    progress: Callable[[int, int], None] | None = None,
    part: NDArray[np.uint32] | None = None,
    shared: SharedCodes | None = None,
    thread_values: int = ...,
) -> TreeArrays: ...
