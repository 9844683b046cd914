"""Tidy drawings of trees: parents centred over children, subtrees as close as they can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treebound.tree import Tree

__all__ = ["tidy", "visible"]


@dataclass
class _Contour:
    """The outline of a subtree on one side: a number for each level, the deepest first.

    ``shift`` is added to every number when it is read, so that moving a subtree costs nothing.
    """

    edges: list[float]
    shift: float = 0.0

    def at(self, level: int) -> float:
        return self.edges[-1 - level] + self.shift

    def over(self, other: _Contour) -> _Contour:
        """This contour where it has a level, ``other`` below; costs the shorter of the two."""
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
    """Horizontal places of the nodes of a binary tree, after Reingold and Tilford.

    A parent stands in the middle over its children, no two nodes of one level come nearer than
    ``gap``, and equal subtrees are drawn equally. It takes time linear in the number of nodes
    and no recursion.

    Parameters
    ----------
    left, right : sequence of int
        The children of every node, in pre-order; -1 for a leaf.
    width : array-like
        The width of every node, or one for all.
    gap : float
        Room between neighbours.

    Returns
    -------
    ndarray
        The centre of every node; the leftmost edge of all is at 0.

    References
    ----------
    E. M. Reingold and J. S. Tilford, "Tidier drawings of trees", IEEE Transactions on Software
    Engineering 7(2), 1981, 223-228.

    Examples
    --------
    >>> tidy([1, -1, 3, -1, -1], [2, -1, 4, -1, -1]).tolist()
    [1.0, 0.5, 1.5, 1.0, 2.0]
    """
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
    """Push two subtrees together until they touch; their common outline, seen from the parent."""
    one, two = outlines[first], outlines[second]
    outlines[first] = outlines[second] = None
    assert one is not None
    assert two is not None
    levels = min(len(one[1].edges), len(two[0].edges))
    apart = max(one[1].at(level) - two[0].at(level) for level in range(levels)) + gap
    offset[first], offset[second] = -apart / 2, apart / 2
    for contour in one:
        contour.shift -= apart / 2
    for contour in two:
        contour.shift += apart / 2
    return one[0].over(two[0]), two[1].over(one[1])


def visible(tree: Tree, max_depth: int | None) -> tuple[list[int], list[int], list[int]]:
    """The nodes down to a depth, and their children by their places in that list."""
    shown = tree.node_depth <= (tree.depth if max_depth is None else max_depth)
    place = np.where(shown, np.cumsum(shown) - 1, -1)
    nodes = np.flatnonzero(shown)
    children = []
    for link in (tree.left[nodes], tree.right[nodes]):
        children.append(np.where(link >= 0, place[link], -1).tolist())
    return nodes.tolist(), children[0], children[1]
