from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

def grow(
    columns: Sequence[NDArray[Any]],
    y: NDArray[np.int32],
    weights: NDArray[np.int64] | None,
    n_classes: int,
    kinds: Sequence[int],
    n_categories: Sequence[int],
    may_miss: Sequence[bool],
    *,
    options: dict[str, Any],
    n_threads: int = 1,
    crossing: int | None = None,
    most_bins: int | None = None,
    whole: int = 0,
    spans: Sequence[float] | None = None,
    least_priority: float = ...,
) -> dict[str, Any]: ...
