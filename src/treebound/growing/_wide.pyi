from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from treebound.growing.kernel_types import ClassRows, GraphArrays, KernelOptions

def search_arrays(
    *rows: *ClassRows,
    options: KernelOptions,
    widths: Sequence[int],
    n_threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
    part: NDArray[np.uint32] | None = None,
) -> GraphArrays: ...
