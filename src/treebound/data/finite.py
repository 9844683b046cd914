"""Infinite and missing values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils._pool import blocks, each


def missing_columns(
    dense: NDArray[Any], labels: Sequence[str], needed: Sequence[bool] | None = None
) -> list[bool]:
    """Which of the needed columns have missing values; infinity in these is an error."""
    # Fast check: a sum is finite unless a value is not, or the sum overflows.
    with np.errstate(over="ignore", invalid="ignore"):
        totals = each(lambda ends: dense[slice(*ends)].sum(), blocks(*dense.shape))
        if np.isfinite(totals).all():
            return [False] * dense.shape[1]
        sums = sum(each(lambda ends: dense[slice(*ends)].sum(axis=0), blocks(*dense.shape)))
    wanted = np.ones(len(labels), dtype=bool) if needed is None else np.asarray(needed, dtype=bool)
    doubtful: list[int] = np.flatnonzero(~np.isfinite(sums) & wanted).tolist()
    have = each(lambda i: check_finite(dense[:, i], labels[i]), doubtful)
    missing = {i for i, has in zip(doubtful, have, strict=True) if has}
    return [i in missing for i in range(len(labels))]


def check_finite(values: NDArray[Any], label: str) -> bool:
    """Return a mask of missing values; infinity is an error."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return False
    infinite = np.isinf(values)
    if infinite.any():
        raise ValueError(
            f"Input X contains infinity or a value too large for dtype({values.dtype.name!r}): "
            f"column {label!r}, row {int(infinite.argmax()):,}. "
            "Hint: make it missing (NaN) or a number."
        )
    return bool(np.isnan(values).any())
