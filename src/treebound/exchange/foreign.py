"""Helpers to read trees of other libraries: pre-order, float64 thresholds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def preorder(left: NDArray[np.intp], right: NDArray[np.intp]) -> NDArray[np.intp]:
    """The nodes below node 0 in pre-order, from child links in any order; -1 is no child."""
    order = []
    stack = [0]
    lefts, rights = left.tolist(), right.tolist()
    while stack:
        node = stack.pop()
        order.append(node)
        if lefts[node] >= 0:
            stack.append(rights[node])
            stack.append(lefts[node])
    return np.array(order, dtype=np.intp)


def float64_threshold(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """The greatest float64 whose float32 rounding is at most the threshold."""
    with np.errstate(over="ignore"):
        low = threshold.astype(np.float32)
        low = np.where(low > threshold, np.nextafter(low, np.float32(-np.inf)), low)
        high = np.nextafter(low, np.float32(np.inf))
        # Halfway between two float32 neighbours; check which of them it rounds to.
        half = low.astype(np.float64) / 2 + high.astype(np.float64) / 2
        half = np.where(half.astype(np.float32) <= threshold, half, np.nextafter(half, -np.inf))
    finite = np.isfinite(low) & np.isfinite(high)
    return np.where(finite, half, threshold)
