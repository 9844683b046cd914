"""The score of a regression tree, and the pruning path on which its minimum is found.

A tree of k leaves with squared error RSS on n rows, whose deviations from the mean have the squared
sum TSS, has the score::

    (n - 1) / 2  ln(1 / n + RSS / TSS)  +  weight (ln P_k(n) + ln(pi^2 k^2 / 6) + (k - 1) / 2 ln n)

The first term is the length of a code for the residuals, Gaussian with one variance; the others are
those of the tree, of its size and of its leaf values. P_k(n) bounds the number of partitions of n
rows by trees of k leaves. The score is concave in RSS and in k, so that its minimum over all
prunings is at a corner of their convex hull: on the weakest-link path.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats, Ints
from treebound.bounds import log_growth_leaves
from treebound.data.columns import landscape_of
from treebound.landscape import Landscape
from treebound.pruning.optimal import BestBySize
from treebound.pruning.path import (
    ListedPath,
    NestedPath,
    PruningPath,
    count,
    number,
    weakest_link_steps,
)
from treebound.tree._structure import add_up
from treebound.tree.base import standing_nodes
from treebound.tree.regression import RegressionTree

UNIT = "mean squared error"


@dataclass(frozen=True)
class SquaredErrorScore:
    """The score of trees on one sample, as a function of leaves and squared error.

    Attributes
    ----------
    n : int
        Number of rows; a row of weight two counts as two.
    landscape : Landscape
        The features that a tree may split on.
    weight : float
        Weight of the terms of the tree.
    """

    n: int
    landscape: Landscape
    weight: float

    @classmethod
    def of(cls, tree: RegressionTree, weight: float) -> SquaredErrorScore:
        """Return the score of the prunings of a tree on its training rows."""
        n = max(1, round(float(tree.weight[0])))
        return cls(n, landscape_of(tree.columns, observed=True), weight)

    def price(self, leaves: Ints) -> Floats:
        """Return the terms of the tree, without the weight."""
        k = np.asarray(leaves, dtype=np.int64)
        growth = log_growth_leaves(k, self.n, 1, self.landscape, form="closed")
        return np.asarray(growth + np.log(pi**2 * k**2 / 6.0) + (k - 1) / 2 * log(self.n))

    def fit(self, shares: Floats) -> Floats:
        """Return the term of the residuals; ``shares`` are RSS / TSS."""
        return np.asarray((self.n - 1) / 2 * np.log(1.0 / self.n + np.maximum(shares, 0.0)))

    def __call__(self, leaves: Ints, shares: Floats) -> Floats:
        """Return the score of each tree."""
        return self.fit(shares) + self.weight * self.price(leaves)


class SquaredErrorPath(NestedPath[RegressionTree]):
    """The weakest-link path of a regression tree by squared error, with its scores.

    ``errors`` are mean squared errors on the training rows. Other sizes than those of the path have
    the pruning with the least squared error.
    """

    def __init__(self, tree: RegressionTree, score: SquaredErrorScore) -> None:
        losses = additive_losses(tree)
        steps, alphas = weakest_link_steps(tree, losses)
        super().__init__(tree, steps.when, losses, unit=UNIT)
        self.alphas = np.concatenate([[0.0], np.maximum(alphas, 0.0)])
        self.errors = self.errors / _weight(tree)
        self._price, self._fit = score.price(self.leaves), score.fit(self.shares)
        self.score = score
        self.scores = self._fit + score.weight * self._price
        self.chosen = self.at(score.weight)

    @property
    def shares(self) -> Floats:
        """Squared error of each step relative to that of one leaf."""
        total = float(self.errors[-1])
        return self.errors / total if total > 0.0 else np.ones(len(self))

    def at(self, weight: float, max_leaves: int | None = None) -> int:
        """Return the step with the least score at a weight; the smaller tree on ties."""
        scores = self._fit + weight * self._price
        if max_leaves is not None:
            scores = np.where(self.leaves <= max_leaves, scores, np.inf)
        return len(scores) - 1 - int(np.argmin(scores[::-1]))

    def at_alpha(self, alpha: float, max_leaves: int | None = None) -> int:
        """Return the step that minimises squared error plus alpha per leaf; the smaller on ties."""
        step = max(0, int(np.searchsorted(self.alphas, alpha, side="right")) - 1)
        return step if max_leaves is None else max(step, self.at_size(max_leaves))

    def at_size(self, leaves: int) -> int:
        """Return the first step with at most so many leaves."""
        return int(np.searchsorted(-self.leaves, -max(leaves, 1)))

    def weighted(self, weight: float) -> SquaredErrorPath:
        """Return the path with the scores of another weight and its best step chosen."""
        score = replace(self.score, weight=weight)
        scores = self._fit + weight * self._price
        return self._choosing(self.at(weight), score=score, scores=scores)

    def choosing(self, step: int) -> SquaredErrorPath:
        """Return the path with another step chosen."""
        return self._choosing(step)

    def with_values(self, values: Floats) -> SquaredErrorPath:
        """Return the path of the same tree with other predictions of its nodes."""
        return self.with_first(self.first.with_values(values))

    def nodes_at(self, step: int) -> NDArray[np.intp]:
        """Return for each node of the first tree the node that stands for it at a step."""
        return standing_nodes(self.first, self.cuts(step))

    def reaching(self, leaves: int) -> tuple[PruningPath[RegressionTree], int]:
        path = super().reaching(leaves)
        size = min(int(leaves), self.first.n_leaves)
        if int(self.leaves[path[1]]) == size:
            return path
        longer = self._with_size(size)
        return longer._choosing(self.chosen, limit=self.limit), len(longer) - 1

    def within(self, leaves: int) -> PruningPath[RegressionTree]:
        size = min(int(leaves), self.first.n_leaves)
        at_corner = super().within(leaves)
        if (self.leaves == size).any():
            return at_corner
        # between two corners the score has no minimum: only the limit itself may be better
        longer = self._with_size(size)
        better = longer.scores[-1] < at_corner.scores[at_corner.chosen]
        return longer._choosing(len(longer) - 1, limit=leaves) if better else at_corner

    def _describe(self, step: int) -> str:
        error = f"a training RMSE of {number(np.sqrt(self.errors[step]))}"
        return f"{count(self.leaves[step], 'leaf')} with {error}: score {number(self.scores[step])}"

    def _with_size(self, leaves: int) -> ListedPath[RegressionTree]:
        """Return the path with one more step: the best pruning with that many leaves."""
        sizes = BestBySize(self.first, self._node_errors / max(self._node_errors[0], 1e-300))
        cuts = sizes.cuts(leaves)
        error = self._node_errors[self._leaves_after(cuts)].sum() / _weight(self.first)
        total = float(self.errors[-1])
        share = np.array([error / total if total > 0.0 else 1.0])
        score = float(self.score(np.array([leaves]), share)[0])
        longer = self._with_step(cuts, score, float(error))
        assert isinstance(longer, ListedPath)
        return longer

    def _leaves_after(self, cuts: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the nodes that are leaves after collapsing others."""
        tree = self.first
        is_leaf = tree.is_leaf.copy()
        is_leaf[cuts] = True
        for cut in cuts.tolist():
            is_leaf[cut + 1 : cut + tree.size[cut]] = False
        return np.flatnonzero(is_leaf)


def additive_losses(tree: RegressionTree) -> Floats:
    """Return the squared deviations of nodes such that every split lowers them by its gain.

    Those of leaves and the gains of splits are exact; differences of the sums of nodes are not.
    """
    parts: Any = np.where(tree.is_leaf, tree.squares, tree.gains)[:, None].copy()
    add_up(tree.left, tree.right, parts)
    return np.ascontiguousarray(parts[:, 0])


def _weight(tree: RegressionTree) -> float:
    return max(float(tree.weight[0]), np.finfo(float).tiny)
