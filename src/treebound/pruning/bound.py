"""Bound pruning: minimise a generalization score, exactly or as in the paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from treebound._validation import Constraint, Flag, Number, OneOf, check
from treebound.data import Sample, landscape_of
from treebound.pruning.base import BasePruner, Found, Grow
from treebound.pruning.by_size import BestBySize
from treebound.pruning.costs import Costs
from treebound.pruning.greedy import greedy
from treebound.pruning.optimal import optimal, optimal_shape
from treebound.pruning.scores import GROWTHS, SCORES, SIZE_PRIORS, Objective
from treebound.tree.model import Tree

__all__ = ["BoundPruner"]

Floats = NDArray[np.float64]


class BoundPruner(BasePruner):
    """Prune a tree to minimise a generalization score, without held-out data or cross-validation.

    The score combines the training errors of a tree with the growth function of its class, the
    number of ways such trees can label examples.

    Parameters
    ----------
    score : {"code-length", "shawe-taylor", "vapnik", "tail-inversion"} or callable
        ``"code-length"`` takes the price of an error from the data (see
        :func:`treebound.pruning.code_length`), ``"shawe-taylor"`` is the paper's bound, the
        others are bounds in ``treebound.bounds``. A callable gets the number of examples m, the
        errors, the log growth function (at 2m) and the log prior, and returns a number; lower is
        better.
    growth : {"leaves", "closed", "chain", "fast", "tight", "best"}
        The growth function: of all trees with the same number of leaves, or of the shape of the
        tree in one of the forms of :func:`treebound.bounds.log_growth`.
    search : {"optimal", "greedy", "optimal+raise"}
        ``"optimal"`` finds the best way to collapse subtrees into leaves, by dynamic programming.
        ``"greedy"`` is the paper's Algorithm PruneTreeWithBound, which may also replace a node by
        one of its children (subtree raising); it needs the sample. ``"optimal+raise"`` alternates
        between the two until the score stops improving.
    weight : float
        Weight of the tree term in the code-length score.
    error_prior : float or None
        r of the Shawe-Taylor score, where k errors have the prior ``(1 - r) r^k``; the paper uses
        ``2**-10.5``.
    delta : float
        Confidence parameter of the bounds.
    size_prior : {"leaves", "shapes"}
        Prior of a number of leaves L, ``6 / (pi^2 L^2)``, for all trees with L leaves together or
        divided evenly among their shapes (as in the paper).
    costs : array of shape (n_classes, n_classes) or (n_classes,), mapping, or None
        Misclassification costs: a matrix (row: true class, column: predicted class), or a weight
        for each true class. Leaves then predict the class of least cost, and the score uses the
        cost relative to the worst possible, times m.
    relabel : bool
        Whether the greedy search updates the labels below a raised child for all the examples
        that now reach them. False keeps the labels, as in the paper's figures.

    Notes
    -----
    Ties go to the smaller tree, then to the one with fewer errors, then to the one that collapses
    the shallower nodes. The greedy search follows the paper: the last of equal candidates wins.

    Known weakness of the code length: a small data set that only a very large tree fits is pruned
    to a stump. UCI's teaching assistants, 151 rows, would need some 50 leaves.

    With ``growth="leaves"`` the optimal search is exact. If the score depends on the shape of the
    tree, it considers the pruning with the fewest errors for each number of leaves, and
    ``result.gap`` bounds how much better any other pruning could be.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_iris
    >>> grown = tb.BoundTreeClassifier(pruning=None).fit(*load_iris(return_X_y=True)).tree_
    >>> result = BoundPruner().prune(grown)
    >>> grown.n_leaves, result.tree.n_leaves
    (9, 7)
    >>> print(result.explain())
    7 leaves with 1 error: score 36.96, the least over the best trees of 1 to 9 leaves.
    6 leaves: 1 error more costs 5.307, the tree gains 4.456; score 37.81, 0.8511 worse.
    8 leaves: the same errors, the tree costs 4.357; score 41.32, 4.357 worse.
    """

    def __init__(
        self,
        *,
        score: str | Callable[..., Any] = "code-length",
        growth: str = "leaves",
        search: str = "optimal",
        weight: float = 0.6,
        error_prior: float | None = 2.0**-5,
        delta: float = 0.05,
        size_prior: str = "leaves",
        costs: Any = None,
        relabel: bool = True,
    ) -> None:
        self.score = score
        self.growth = growth
        self.search = search
        self.weight = weight
        self.error_prior = error_prior
        self.delta = delta
        self.size_prior = size_prior
        self.costs = costs
        self.relabel = relabel

    _constraints: ClassVar[dict[str, Constraint]] = {
        "growth": OneOf(GROWTHS),
        "search": OneOf(("optimal", "greedy", "optimal+raise")),
        "weight": Number(0.0),
        "error_prior": Number(0.0, 1.0, open=True, optional=True),
        "delta": Number(0.0, 1.0, open=True),
        "size_prior": OneOf(SIZE_PRIORS),
        "relabel": Flag(),
    }

    def _check(self) -> None:
        super()._check()
        if not callable(self.score):
            check(type(self).__name__, {"score": self.score}, {"score": OneOf(SCORES)})

    @property
    def needs_rows(self) -> bool:
        """Whether pruning looks at rows again; else the counts in the tree are enough."""
        return self.search != "optimal"

    def _search(
        self, tree: Tree, sample: Sample | None, validation: Sample | None, grow: Grow | None
    ) -> Found:
        objective = self.objective(tree)
        costs = Costs.of(tree, self.costs)
        if costs is not None:
            tree = replace(tree, label=costs.labels(tree.counts))
        if self.search == "optimal":
            return self._optimal(tree, costs, objective)
        given = self._needs(sample, "a sample", "raise subtrees (search other than 'optimal')")
        if self.search == "greedy":
            return greedy(tree, given, objective, costs=costs, relabel=self.relabel)
        return self._alternate(tree, given, costs, objective)

    def objective(self, tree: Tree) -> Objective:
        """The score that this pruner minimises on the training rows of a tree.

        Parameters
        ----------
        tree : Tree
            A grown tree.

        Returns
        -------
        Objective
            The score as a function of leaves and errors.
        """
        return Objective(
            m=max(1, round(float(tree.weight[0]))),
            n_classes=tree.n_classes,
            landscape=landscape_of(tree.columns, observed=True),
            score=self.score,
            growth=self.growth,
            error_prior=self.error_prior,
            weight=float(self.weight),
            delta=self.delta,
            size_prior=self.size_prior,
        )

    def _optimal(self, tree: Tree, costs: Costs | None, objective: Objective) -> Found:
        errors = tree.node_errors if costs is None else costs.errors(tree.counts)
        find = optimal_shape if objective.by_shape else optimal
        return find(BestBySize(tree, errors), objective)

    def _alternate(
        self, tree: Tree, sample: Sample, costs: Costs | None, objective: Objective
    ) -> Found:
        """Alternate between collapsing and raising while the score falls."""
        best = self._optimal(tree, costs, objective)
        while True:
            raised = greedy(best.tree, sample, objective, costs=costs)
            found = self._optimal(raised.tree, costs, objective)
            if not found.score < best.score:
                return best._replace(gap=np.nan)
            best = found
