"""Trees of other libraries: nodes in pre-order without counts, float64 thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.data import Column
from treebound.tree.model import NO_SPLIT, Tree
from treebound.tree.split import SplitTest


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


def bare_tree(
    left: NDArray[Any],
    right: NDArray[Any],
    columns: tuple[Column, ...],
    classes: NDArray[Any],
    **splits: NDArray[Any],
) -> Tree:
    """The tree without counts of nodes in any order; what leaves have in ``splits`` is ignored."""
    order, left, right = preorder(left, right)
    leaf = left < 0
    fields: dict[str, Any] = {
        name: np.where(leaf, NO_SPLIT[name], splits[name][order]) for name in SplitTest._fields
    }
    if "label" in splits:
        fields["label"] = splits["label"][order]
    return Tree(
        **fields,
        left=left,
        right=right,
        counts=np.zeros((len(order), len(classes))),
        rows=np.zeros(len(order), dtype=np.int64),
        columns=columns,
        classes=classes,
    )


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
