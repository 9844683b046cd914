"""Tidy tree layout: parents centred over children, subtrees as close as possible."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treebound.tree.base import BaseTree


def tidy(
    left: Sequence[int],
    right: Sequence[int],
    *,
    width: ArrayLike = 1.0,
    gap: float = 0.0,
) -> NDArray[np.float64]:
    """Horizontal centres of the nodes of a binary tree in pre-order, the leftmost edge at 0."""
    # E. M. Reingold and J. S. Tilford, "Tidier drawings of trees", IEEE Transactions on Software
    # Engineering 7(2), 1981: parents are centred over children, equal subtrees are drawn equally.
    count = len(left)
    half = np.broadcast_to(np.asarray(width, dtype=float), (count,)) / 2
    offset = np.zeros(count)  # of each node from its parent
    # the left and right edge of a subtree at each level, its root at 0
    edges: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    for node in range(count - 1, -1, -1):
        near = far = np.empty(0)
        if left[node] >= 0:
            (near, inner), (second, far) = edges.pop(left[node]), edges.pop(right[node])
            levels = min(len(inner), len(second))
            shift = (float((inner[:levels] - second[:levels]).max()) + gap) / 2
            offset[left[node]], offset[right[node]] = -shift, shift
            near, far = (
                np.concatenate([near - shift, second[len(near) :] + shift]),
                np.concatenate([far + shift, inner[len(far) :] - shift]),
            )
        edges[node] = np.append(-half[node], near), np.append(half[node], far)
    places = np.zeros(count)
    for node in range(count):
        if left[node] >= 0:
            children = [left[node], right[node]]
            places[children] = places[node] + offset[children]
    return places - float((places - half).min()) if count else places


def visible(
    tree: BaseTree, max_depth: int | None, swapped: Collection[int] = ()
) -> tuple[list[int], list[int], list[int]]:
    """The nodes down to a depth, and the indices of their children in that list, as drawn."""
    shown = tree.node_depth <= (tree.depth if max_depth is None else max_depth)
    place = np.where(shown, np.cumsum(shown) - 1, -1)
    nodes = np.flatnonzero(shown)
    left, right = (
        np.where(link >= 0, place[link], -1).tolist()
        for link in (tree.left[nodes], tree.right[nodes])
    )
    for at, node in enumerate(nodes.tolist()):
        if node in swapped:
            left[at], right[at] = right[at], left[at]
    return nodes.tolist(), left, right
