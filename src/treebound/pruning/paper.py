"""The pruner of the paper: greedy replacements that minimise the Shawe-Taylor bound of a shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from treebound._utils.validation import (
    Flag,
    Number,
    OneOf,
    check,
    invalid,
    parameter,
    with_parameters,
)
from treebound.data import Sample
from treebound.pruning.base import BasePruner, PruningResult, PruningRows
from treebound.pruning.costs import Costs
from treebound.pruning.greedy import greedy
from treebound.pruning.optimal import best_by_size, optimal
from treebound.pruning.scores import GROWTHS, SCORES, SIZE_PRIORS, Objective, objective_of
from treebound.tree.model import Tree

# Log-loss has no errors, which the greedy search counts.
_SCORES = tuple(score for score in SCORES if score != "log-loss")


@with_parameters
class PaperPruner(BasePruner):
    """Prune a tree as in the paper, or with parts of its method replaced.

    The defaults are those of the paper's figures. :class:`BoundPruner` is better and faster; this
    pruner serves the study, and experiments with bounds, priors and subtree raising.

    Parameters
    ----------
    score : {"shawe-taylor", "code-length", "vapnik", "tail-inversion"} or callable
        As in :class:`BoundPruner`; ``"shawe-taylor"`` is the paper's bound.
    growth : {"fast", "leaves"}
        The growth function: of the shape of the tree in the paper's fast form, for
        ``search="greedy"``, or of all trees with the same number of leaves.
    search : {"greedy", "optimal", "optimal+raise"}
        ``"greedy"`` is the paper's Algorithm PruneTreeWithBound, which may also replace a node by
        one of its children (subtree raising); it needs the sample. ``"optimal"`` finds the best way
        to collapse subtrees into leaves. ``"optimal+raise"`` alternates between the two until the
        score stops improving.
    weight : float
        Weight of the tree term in the score ``"code-length"``.
    error_prior : float or None
        r of the Shawe-Taylor score, where k errors have the prior ``(1 - r) r^k``.
    delta : float
        Confidence parameter of the bounds.
    size_prior : {"shapes", "leaves"}
        Prior of a number of leaves L, ``6 / (pi^2 L^2)``, divided evenly among the shapes with L
        leaves (as in the paper) or for all trees with L leaves together.
    costs : array of shape (n_classes, n_classes) or (n_classes,), mapping, or None
        Misclassification costs, as in :class:`BoundPruner`.
    relabel : bool
        Update the labels below a raised child for all the examples that now reach them. False keeps
        the labels, as in the paper's figures.

    Notes
    -----
    The greedy search follows the paper: the last of equal candidates wins.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> tb.BoundTreeClassifier(pruning=PaperPruner(), criterion="gini").fit(X, y).n_leaves_
    4
    """

    score: str | Callable[..., Any] = "shawe-taylor"
    growth: str = parameter(OneOf(GROWTHS), default="fast")
    search: str = parameter(OneOf(("optimal", "greedy", "optimal+raise")), default="greedy")
    weight: float = parameter(Number(0.0), default=0.6)
    error_prior: float | None = parameter(
        Number(0.0, 1.0, open=True, optional=True), default=2.0**-10.5
    )
    delta: float = parameter(Number(0.0, 1.0, open=True), default=0.05)
    size_prior: str = parameter(OneOf(SIZE_PRIORS), default="shapes")
    costs: Any = None
    relabel: bool = parameter(Flag(), default=False)

    def _check(self) -> None:
        super()._check()
        owner = type(self).__name__
        if not callable(self.score):
            check(owner, {"score": self.score}, {"score": OneOf(_SCORES)})
        if self.growth == "fast" and self.search != "greedy":
            raise invalid("growth", owner, "'leaves' unless search='greedy'", self.growth)

    @property
    def needs_rows(self) -> bool:
        return self.search != "optimal"

    @property
    def raises_subtrees(self) -> bool:
        return self.search != "optimal"

    def objective(self, tree: Tree) -> Objective:
        """The score that this pruner minimises."""
        return self._objective(tree, Costs.of(tree, self.costs))

    def _objective(self, tree: Tree, costs: Costs) -> Objective:
        return objective_of(
            tree,
            costs,
            score=self.score,
            growth=self.growth,
            error_prior=self.error_prior,
            weight=float(self.weight),
            delta=self.delta,
            size_prior=self.size_prior,
        )

    def _search(self, tree: Tree, rows: PruningRows) -> PruningResult:
        costs = Costs.of(tree, self.costs)
        tree = costs.relabelled(tree)
        objective = self._objective(tree, costs)
        if self.search == "optimal":
            return optimal(best_by_size(tree, costs, self.score), objective)
        if rows.sample is None:
            raise self._without("a sample", "raise subtrees (search other than 'optimal')")
        if self.search == "greedy":
            return greedy(tree, rows.sample, objective, costs=costs, relabel=self.relabel)
        return self._alternate(tree, rows.sample, costs, objective)

    def _alternate(
        self, tree: Tree, sample: Sample, costs: Costs, objective: Objective
    ) -> PruningResult:
        """Alternate between collapsing and raising while the score falls."""
        best = optimal(best_by_size(tree, costs, self.score), objective)
        while True:
            raised = greedy(best.tree, sample, objective, costs=costs)
            result = optimal(best_by_size(raised.tree, costs, self.score), objective)
            if not result.score < best.score:
                return replace(best, gap=np.nan)
            best = result
