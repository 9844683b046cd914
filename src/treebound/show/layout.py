"""Tidy tree layout: parents centred over children, subtrees as close as possible."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treebound.tree import Tree


@dataclass
class _Contour:
    """The outline of a subtree on one side: a position for each level, the deepest first.

    ``shift`` is added on access, so that moving a subtree is free.
    """

    edges: list[float]
    shift: float = 0.0

    def at(self, level: int) -> float:
        return self.edges[-1 - level] + self.shift

    def over(self, other: _Contour) -> _Contour:
        """This contour, continued by ``other`` below; takes the time of the shorter one."""
        if len(self.edges) >= len(other.edges):
            return self
        count = len(self.edges)
        other.edges[-count:] = [edge + self.shift - other.shift for edge in self.edges]
        return other


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
    offset = np.zeros(count)
    outlines: list[tuple[_Contour, _Contour] | None] = [None] * count
    for node in range(count - 1, -1, -1):
        near, far = _Contour([]), _Contour([])
        if left[node] >= 0:
            near, far = _joined(outlines, left[node], right[node], offset, gap)
        near.edges.append(-float(half[node]) - near.shift)
        far.edges.append(float(half[node]) - far.shift)
        outlines[node] = near, far
    places = np.zeros(count)
    for node in range(count):
        if left[node] >= 0:
            places[left[node]] = places[node] + offset[left[node]]
            places[right[node]] = places[node] + offset[right[node]]
    return places - float((places - half).min()) if count else places


def _joined(
    outlines: list[tuple[_Contour, _Contour] | None],
    first: int,
    second: int,
    offset: NDArray[np.float64],
    gap: float,
) -> tuple[_Contour, _Contour]:
    """Move two subtrees together until they touch; return their joint outline."""
    left, right = outlines[first], outlines[second]
    outlines[first] = outlines[second] = None
    assert left is not None
    assert right is not None
    levels = min(len(left[1].edges), len(right[0].edges))
    apart = max(left[1].at(level) - right[0].at(level) for level in range(levels)) + gap
    offset[first], offset[second] = -apart / 2, apart / 2
    for contour in left:
        contour.shift -= apart / 2
    for contour in right:
        contour.shift += apart / 2
    return left[0].over(right[0]), right[1].over(left[1])


def visible(
    tree: Tree, max_depth: int | None, swapped: Collection[int] = ()
) -> tuple[list[int], list[int], list[int]]:
    """The nodes down to a depth, and the indices of their children in that list, as drawn."""
    shown = tree.node_depth <= (tree.depth if max_depth is None else max_depth)
    place = np.where(shown, np.cumsum(shown) - 1, -1)
    nodes = np.flatnonzero(shown)
    children = []
    for link in (tree.left[nodes], tree.right[nodes]):
        children.append(np.where(link >= 0, place[link], -1).tolist())
    left, right = children
    for at, node in enumerate(nodes.tolist()):
        if node in swapped:
            left[at], right[at] = right[at], left[at]
    return nodes.tolist(), left, right
