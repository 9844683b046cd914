"""Helpers to read trees of other libraries: pre-order, float64 thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def preorder(
    left: NDArray[Any], right: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.int32]]:
    """The nodes below node 0 in pre-order, and the links to children in that order; -1 is none."""
    order = []
    stack = [0]
    lefts, rights = left.tolist(), right.tolist()
    while stack:
        node = stack.pop()
        order.append(node)
        if lefts[node] >= 0:
            stack += [rights[node], lefts[node]]
    place = np.full(len(lefts) + 1, -1, dtype=np.int32)  # -1 indexes the last entry
    place[order] = np.arange(len(order))
    return np.array(order), place[left[order]], place[right[order]]


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
