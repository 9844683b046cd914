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
    criterion: int,
    by_impurity: bool,
    max_leaves: int,
    max_depth: int,
    min_samples_leaf: int,
    min_weight: int,
    min_samples_split: int,
    min_gain: float,
    thresholds: int,
    n_threads: int,
    crossing: int | None = None,
    most_bins: int | None = None,
    whole: int = 0,
    spans: Sequence[float] | None = None,
    least_priority: float = ...,
) -> tuple[dict[str, Any], list[bool]]: ...
