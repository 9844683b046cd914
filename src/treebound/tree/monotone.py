"""Monotone trees: columns in which probabilities of higher classes, or numbers, only rise or fall.

A split on such a column separates its two subtrees by a value midway between the frequencies of
its children: every node below on one side is kept under it, and every node on the other side above.
So predictions for two rows that differ in this column alone are in order, whatever is pruned and
however frequencies are smoothed. Numbers are kept in order in the same way, by their means. Splits
and limits are those of scikit-learn's trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats
from treebound.tree.split import by_threshold

if TYPE_CHECKING:
    from treebound.tree.base import BaseTree
    from treebound.tree.model import Tree

# No limit is nearer to 0 or 1, so that no class becomes impossible.
_MARGIN = 1e-6
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Monotone:
    """The order that the probabilities of a tree must obey."""

    # For each column 1 if the probability of class k or above, for every k, must not fall with its
    # values, -1 if it must not rise, 0 for no constraint.
    signs: tuple[int, ...]
    order: tuple[int, ...]  # the classes from low to high

    def upper_sums(self, shares: Floats) -> Floats:
        """The probability of the highest class, of the two highest, ...; not of all."""
        sums: Floats = shares[:, self.order[::-1]].cumsum(axis=1)[:, :-1]
        return sums

    def _shares(self, sums: Floats) -> Floats:
        """The probability of each class."""
        shares = np.empty((len(sums), len(self.order)))
        shares[:, self.order[::-1]] = np.diff(sums, axis=1, prepend=0.0, append=1.0)
        return shares

    def limits(self, tree: Tree) -> tuple[Floats, Floats]:
        """The least and the greatest upper sums that keep the order, at each node."""
        sums = self.upper_sums(_frequencies(tree))
        return limits(tree, sums, self.signs, 0.0, 1.0, margin=_MARGIN)

    def frequencies(self, tree: Tree) -> Floats:
        """The frequencies of each node, moved inside its limits if they are outside."""
        return self._shares(np.clip(self.upper_sums(_frequencies(tree)), *self.limits(tree)))

    def within(self, tree: Tree, shares: Floats) -> Floats:
        """The probabilities between the node's frequencies and these that are nearest to these."""
        # a mixture of two that agree on the most probable class keeps it
        lower, upper = self.limits(tree)
        start = np.clip(self.upper_sums(_frequencies(tree)), lower, upper)
        step = self.upper_sums(shares) - start
        room = np.where(step > 0.0, upper, lower) - start
        part = np.divide(room, step, out=np.ones_like(step), where=step != 0.0)
        part = np.minimum(part, 1.0).min(axis=1, initial=1.0)[:, None]
        return self._shares(np.clip(start + part * step, lower, upper))

    def labels(self, tree: Tree, label: NDArray[np.int32]) -> NDArray[np.int32]:
        """The most probable class of each node; that of its counts unless a limit moves it."""
        return self._probable_label(self.frequencies(tree), label)

    def labels_in_graph(
        self,
        shares: Floats,
        label: NDArray[np.int32],
        first: NDArray[np.int32],
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        signs: NDArray[np.int64],
    ) -> NDArray[np.int32]:
        """The same for a graph, whose nodes come after their children and have several splits.

        The splits of node i are ``first[i]`` to ``first[i + 1]``; ``signs`` are those of splits.
        """
        sums = self.upper_sums(shares)
        lower, upper = np.zeros_like(sums), np.ones_like(sums)
        for node in range(len(sums) - 1, -1, -1):
            for split in range(first[node], first[node + 1]):
                low, high = left[split], right[split]
                for child in (low, high):
                    lower[child], upper[child] = lower[node], upper[node]
                if signs[split]:
                    middle = np.clip(0.5 * (sums[low] + sums[high]), _MARGIN, 1.0 - _MARGIN)
                    low, high = (low, high) if signs[split] > 0 else (high, low)
                    upper[low] = lower[high] = np.clip(middle, lower[node], upper[node])
        return self._probable_label(self._shares(np.clip(sums, lower, upper)), label)

    @staticmethod
    def _probable_label(shares: Floats, label: NDArray[np.int32]) -> NDArray[np.int32]:
        of_label = shares[np.arange(len(shares)), label]
        best = np.where(of_label >= shares.max(axis=1) - _ROUNDING, label, shares.argmax(axis=1))
        return best.astype(np.int32)

    def broken(self, tree: Tree) -> int:
        """The first node on the wrong side of a split with a sign; -1 if none, as when grown."""
        sums = self.upper_sums(_frequencies(tree))
        lower, upper = self.limits(tree)
        parents = np.flatnonzero(signs_of(tree, self.signs))
        checked = np.sort(np.concatenate([tree.left[parents], tree.right[parents]]))
        slack = 2.0 * _MARGIN
        outside = (sums < lower - slack) | (sums > upper + slack)
        wrong = checked[outside[checked].any(axis=1)]
        return int(wrong[0]) if len(wrong) else -1


def signs_of(tree: BaseTree, signs: Sequence[int]) -> NDArray[np.int64]:
    """The sign of each split; 0 if values do not decide, as for missing against present."""
    return np.where(by_threshold(tree), np.array([*signs, 0])[tree.feature], 0)


def limits(
    tree: BaseTree,
    values: Floats,
    signs: Sequence[int],
    least: float,
    greatest: float,
    *,
    margin: float = 0.0,
) -> tuple[Floats, Floats]:
    """The least and the greatest values that keep the order of signed columns, at each node.

    A split on such a column separates its subtrees midway between the values of its children, but
    not nearer to ``least`` or ``greatest`` than ``margin``. Values have shape (n_nodes, k).
    """
    lower, upper = np.full_like(values, least), np.full_like(values, greatest)
    of_split = signs_of(tree, signs)
    for depth in range(tree.depth):
        nodes = np.flatnonzero(~tree.is_leaf & (tree.node_depth == depth))
        left, right = tree.left[nodes], tree.right[nodes]
        for children in (left, right):
            lower[children], upper[children] = lower[nodes], upper[nodes]
        middle = np.clip(0.5 * (values[left] + values[right]), least + margin, greatest - margin)
        middle = np.clip(middle, lower[nodes], upper[nodes])
        rises, falls = of_split[nodes] > 0, of_split[nodes] < 0
        upper[left[rises]] = lower[right[rises]] = middle[rises]
        lower[left[falls]] = upper[right[falls]] = middle[falls]
    return lower, upper


def _frequencies(tree: Tree) -> Floats:
    mass = tree.mass[:, None]
    even = np.full_like(tree.masses, 1.0 / tree.n_classes)
    return np.divide(tree.masses, mass, out=even, where=mass > 0.0)
