"""The nodes of a tree that grows in rounds, and the order in which they are expanded."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from treebound.growing._judge import Judge, best_first

__all__ = ["NodeStore"]


class NodeStore:
    """Nodes by number; a node that waits has a split and a priority.

    Parameters
    ----------
    judge : Judge
    max_leaves : int or None
    """

    FIELDS: ClassVar = (
        "counts", "rows", "depth", "left", "right", "priority", "waits", "feature", "threshold",
        "category", "missing_left",
    )  # fmt: skip

    def __init__(self, judge: Judge, max_leaves: int | None) -> None:
        self._judge = judge
        self._max_leaves = max_leaves
        self.counts: list[NDArray[np.int64]] = []
        self.rows: list[int] = []
        self.depth: list[int] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.priority: list[float] = []
        self.waits: list[bool] = []
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.category: list[int] = []
        self.missing_left: list[bool] = []

    def add(self, counts: NDArray[np.int64], rows: int, depth: int) -> int:
        """A new leaf."""
        self.counts.append(counts)
        self.rows.append(rows)
        self.depth.append(depth)
        self.left.append(-1)
        self.right.append(-1)
        self.priority.append(-np.inf)
        self.waits.append(False)
        self.feature.append(-1)
        self.threshold.append(np.nan)
        self.category.append(-1)
        self.missing_left.append(False)
        return len(self.rows) - 1

    def wait(
        self,
        node: int,
        priority: float,
        feature: int,
        threshold: float,
        category: int,
        missing_left: bool,
    ) -> None:
        """Give a leaf its split."""
        self.waits[node] = True
        self.priority[node] = priority
        self.feature[node] = feature
        self.threshold[node] = threshold
        self.category[node] = category
        self.missing_left[node] = missing_left

    def attach(self, node: int, arrays: dict[str, Any]) -> None:
        """Put a subtree, as the kernel grows it, in the place of a leaf."""
        inner = arrays["feature"] >= 0
        numbers = [node]
        depths = [self.depth[node]]
        for i in range(1, len(inner)):
            numbers.append(self.add(arrays["counts"][i], int(arrays["rows"][i]), 0))
            depths.append(0)
        for i in np.flatnonzero(inner).tolist():
            left, right = int(arrays["left"][i]), int(arrays["right"][i])
            depths[left] = depths[right] = depths[i] + 1
            self._judge.take(arrays["counts"][i], int(arrays["rows"][i]))
            score = self._judge.split_score(arrays["counts"][left])
            self.wait(
                numbers[i],
                self._judge.priority(score),
                int(arrays["feature"][i]),
                float(arrays["threshold"][i]),
                int(arrays["category"][i]),
                bool(arrays["missing_left"][i]),
            )
            self.left[numbers[i]], self.right[numbers[i]] = numbers[left], numbers[right]
        for number, depth in zip(numbers, depths, strict=True):
            self.depth[number] = depth

    # -- order -----------------------------------------------------------------------------

    def order(self, lower: dict[int, float] | None = None) -> list[int]:
        """The nodes that best-first growth expands, as far as nodes are known.

        A node that it does not reach can never be reached: what is not known yet only adds others.

        Parameters
        ----------
        lower : dict, optional
            Priorities of nodes that have at least these.
        """
        priority, waits = self.priority, self.waits
        if lower:
            priority, waits = list(priority), list(waits)
            for node, value in lower.items():
                priority[node], waits[node] = value, True
        most = len(priority) if self._max_leaves is None else self._max_leaves - 1
        found = best_first(
            np.array(priority),
            np.array(self.left, dtype=np.int32),
            np.array(self.right, dtype=np.int32),
            np.array(waits, dtype=np.uint8),
            most,
            self._judge.order_tolerance,
        )
        return list(found.tolist())

    def cutoff(self, lower: dict[int, float] | None = None) -> float:
        """A node of a priority below this is never expanded."""
        if self._max_leaves is None:
            return -np.inf
        order = self.order(lower)
        if len(order) < self._max_leaves - 1 or not order:
            return -np.inf
        known = dict(enumerate(self.priority)) | (lower or {})
        return min(known[node] for node in order) - 2.0 * self._judge.order_tolerance

    # -- the result ------------------------------------------------------------------------

    def arrays(self) -> dict[str, Any]:
        """The expanded nodes and their children in pre-order, as a ``Tree`` has them."""
        expanded = {node for node in self.order() if self.left[node] >= 0}
        nodes: list[int] = []
        left: list[int] = []
        right: list[int] = []
        stack = [(0, -1)]  # a node, and the place of its parent if it is a right child
        while stack:
            node, parent = stack.pop()
            place = len(nodes)
            if parent >= 0:
                right[parent] = place
            nodes.append(node)
            inner = node in expanded
            left.append(place + 1 if inner else -1)
            right.append(-1)
            if inner:
                stack += [(self.right[node], place), (self.left[node], -1)]
        inner_nodes = np.array([node in expanded for node in nodes])

        def taken(values: list[Any], of_leaf: Any, dtype: Any) -> NDArray[Any]:
            return np.where(inner_nodes, np.array([values[i] for i in nodes], dtype=dtype), of_leaf)

        return {
            "feature": taken(self.feature, -1, np.int32),
            "threshold": taken(self.threshold, np.nan, np.float64),
            "category": taken(self.category, -1, np.int32),
            "missing_left": taken(self.missing_left, False, bool),
            "left": np.array(left, dtype=np.int32),
            "right": np.array(right, dtype=np.int32),
            "counts": np.array([self.counts[i] for i in nodes], dtype=np.int64),
            "rows": np.array([self.rows[i] for i in nodes], dtype=np.int64),
        }
