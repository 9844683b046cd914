"""Monotone trees: columns in which the probabilities of the higher classes only rise, or only fall.

A split on such a column separates its two subtrees by a value midway between the frequencies of
its children: every node below on one side is kept under it, and every node on the other side above.
So two rows that differ in this column alone are answered in order, whatever is pruned and however
frequencies are smoothed. Splits and limits are those of scikit-learn's trees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from treebound.tree.split import by_threshold

if TYPE_CHECKING:
    from treebound.tree.model import Tree

Floats = NDArray[np.float64]
# No limit is nearer to 0 or 1, so that no class becomes impossible.
_LEAST = 1e-6
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Monotone:
    """What the probabilities of a tree must obey."""

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
        lower, upper = np.zeros_like(sums), np.ones_like(sums)
        signs = self._signs_of(tree)
        for depth in range(tree.depth):
            nodes = np.flatnonzero(~tree.is_leaf & (tree.node_depth == depth))
            left, right = tree.left[nodes], tree.right[nodes]
            for children in (left, right):
                lower[children], upper[children] = lower[nodes], upper[nodes]
            middle = np.clip(0.5 * (sums[left] + sums[right]), _LEAST, 1.0 - _LEAST)
            middle = np.clip(middle, lower[nodes], upper[nodes])
            rises, falls = signs[nodes] > 0, signs[nodes] < 0
            upper[left[rises]] = lower[right[rises]] = middle[rises]
            lower[left[falls]] = upper[right[falls]] = middle[falls]
        return lower, upper

    def own(self, tree: Tree) -> Floats:
        """The frequencies of each node, moved inside its limits where they are outside."""
        return self._shares(np.clip(self.upper_sums(_frequencies(tree)), *self.limits(tree)))

    def within(self, tree: Tree, shares: Floats) -> Floats:
        """The probabilities between a node's own and these that are nearest to these."""
        # a mixture of two that agree on the most probable class keeps it
        lower, upper = self.limits(tree)
        own = np.clip(self.upper_sums(_frequencies(tree)), lower, upper)
        step = self.upper_sums(shares) - own
        room = np.where(step > 0.0, upper, lower) - own
        part = np.divide(room, step, out=np.ones_like(step), where=step != 0.0)
        part = np.minimum(part, 1.0).min(axis=1, initial=1.0)[:, None]
        return self._shares(np.clip(own + part * step, lower, upper))

    def labels(self, tree: Tree, label: NDArray[np.int32]) -> NDArray[np.int32]:
        """The most probable class of each node; that of its counts unless a limit moves it."""
        own = self.own(tree)
        held = own[np.arange(len(own)), label]
        return np.where(held >= own.max(axis=1) - _ROUNDING, label, own.argmax(axis=1))

    def broken(self, tree: Tree) -> int:
        """The first node on the wrong side of a split with a sign; -1 if none, as when grown."""
        sums = self.upper_sums(_frequencies(tree))
        lower, upper = self.limits(tree)
        parents = np.flatnonzero(self._signs_of(tree))
        checked = np.sort(np.concatenate([tree.left[parents], tree.right[parents]]))
        slack = 2.0 * _LEAST
        outside = (sums < lower - slack) | (sums > upper + slack)
        wrong = checked[outside[checked].any(axis=1)]
        return int(wrong[0]) if len(wrong) else -1

    def _signs_of(self, tree: Tree) -> NDArray[np.int64]:
        """The sign of each split; 0 where values do not decide, as for missing against present."""
        signs = np.array([*self.signs, 0])[tree.feature]
        return np.where(by_threshold(tree), signs, 0)


def _frequencies(tree: Tree) -> Floats:
    mass = tree.mass[:, None]
    even = np.full_like(tree.masses, 1.0 / tree.n_classes)
    return np.divide(tree.masses, mass, out=even, where=mass > 0.0)
