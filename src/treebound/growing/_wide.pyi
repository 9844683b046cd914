from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.growing.kernel_types import GraphArrays, KernelOptions

def search_arrays(
    columns: Sequence[NDArray[Any]],
    y: NDArray[np.int32],
    weights: NDArray[np.int64] | None,
    n_classes: int,
    kinds: Sequence[int],
    n_categories: Sequence[int],
    may_miss: Sequence[bool],
    *,
    options: KernelOptions,
    widths: Sequence[int],
    n_threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
    part: NDArray[np.uint32] | None = None,
) -> GraphArrays: ...
