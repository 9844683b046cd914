"""Bound pruning: minimise a generalization score, exactly or as in the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.jobs import effective_jobs
from treebound._utils.validation import (
    Flag,
    Folds,
    Jobs,
    Number,
    OneOf,
    Whole,
    check,
    invalid,
    parameter,
    with_parameters,
)
from treebound.data import Sample, landscape_of
from treebound.data.draws import Splitter, Tenth, derived, folds
from treebound.growing.graph import CandidateGraph
from treebound.pruning.base import BasePruner, PruningResult, Rows
from treebound.pruning.costs import Costs
from treebound.pruning.greedy import greedy
from treebound.pruning.optimal import BestBySize, best_sizes, optimal
from treebound.pruning.scores import GROWTHS, SCORES, SIZE_PRIORS, Objective, leaf_code
from treebound.pruning.searched import BestOfGraph, SearchedPath, best_on_curve, measure_trees
from treebound.pruning.validation import PrunedSums, losses_on
from treebound.pruning.weight import (
    LOG_LOSS_WEIGHTS,
    RULES,
    STRENGTHS,
    WEIGHTS,
    WeightChoice,
    choose_weight,
    default_weight,
)
from treebound.tree.model import Tree
from treebound.tree.node_sums import NodeSums
from treebound.tree.smoothing import LEAST, SHRINKAGE, SMOOTHINGS, Smoothing, probabilities

Floats = NDArray[np.float64]
# Sums of losses at each weight, the weight of the rows, and their largest possible loss.
Measured = tuple[Floats, float, float]

# Fewer rows are not cross-validated: there it gains nothing over the default weight, unless class
# weights or costs leave so few effective rows that it is often too small.
MIN_ROWS = 1000
FEW_EFFECTIVE = 0.5  # as a share of the rows
# Tables of more values are not grown again for each fold: a tenth of the rows validates instead.
MAX_VALUES = 10**7


def is_large(rows: int, columns: int) -> bool:
    """Return True if a table is too large to be grown on again for each fold."""
    return rows * columns > MAX_VALUES


@with_parameters
class BoundPruner(BasePruner):
    """Prune a tree to minimise a generalization score.

    The score combines the training errors of a tree with the growth function of its class, the
    number of ways such trees can label examples.

    Parameters
    ----------
    score : {"code-length", "log-loss", "shawe-taylor", "vapnik", "tail-inversion"} or callable
        ``"code-length"`` takes the price of an error from the data (see
        :func:`treebound.pruning.code_length`); ``"log-loss"`` prunes for probabilities: the code
        length of the classes in each leaf replaces that of the errors. ``"shawe-taylor"`` is the
        paper's bound, the others are bounds in ``treebound.bounds``. A callable gets the number of
        examples m, the errors, the log growth function (at 2m) and the log prior, and returns a
        number; lower is better.
    growth : {"leaves", "fast"}
        The growth function: of all trees with the same number of leaves, or of the shape of the
        tree in the paper's fast form, for ``search="greedy"``.
    search : {"optimal", "greedy", "optimal+raise"}
        ``"optimal"`` finds the best way to collapse subtrees into leaves, by dynamic programming.
        ``"greedy"`` is the paper's Algorithm PruneTreeWithBound, which may also replace a node by
        one of its children (subtree raising); it needs the sample. ``"optimal+raise"`` alternates
        between the two until the score stops improving.
    weight : float or "auto"
        Weight of the tree term in the scores ``"code-length"`` and ``"log-loss"``. ``"auto"``
        chooses it from 1,000 rows on by cross-validation, or on ``validation`` rows; without
        them, or without a way to grow trees, it is 0.6 (0.3 for log-loss). If class weights
        or costs leave less than half of the rows effective, the code length is cross-validated
        below 1,000 rows too, for a weight of 0.6 or more. Log-loss is cross-validated on any number
        of rows.
    rule : {"accurate", "balanced", "small", "detailed"} or None
        Which weight ``"auto"`` takes: that of the least validated loss, or the largest within half
        a standard error, or within one, or the smallest within half of one. A tree of one leaf is
        chosen only if it has the least loss itself, or is within two standard errors and no other
        is pruned much. None: ``"balanced"`` where ``"auto"`` cross-validates (``"detailed"`` for
        log-loss: more leaves rank better; the smallest tree where one leaf has the least loss).
    folds : int or splitter
        Number of folds, which are the same for any order of the rows or names of the classes; or a
        cross-validation splitter of scikit-learn.
    random_state : int or None
        Seed of the folds; a splitter has its own.
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
        for each true class; only their ratios matter. Leaves then predict the class of least cost,
        and the score uses the cost relative to the worst possible, times the effective number of
        examples.
    relabel : bool
        Whether the greedy search updates the labels below a raised child for all the examples
        that now reach them. False keeps the labels, as in the paper's figures.
    smoothing : "auto", {"shrinkage", "m-estimate", "laplace"}, float or None
        How probabilities are computed if log-loss is cross-validated. ``"auto"``: with the weight
        it chooses how strongly they shrink (:func:`treebound.tree.smoothing.probabilities`) and, if
        that is stronger than usual, the predictions are the most probable classes then, or those
        of least cost, which need not be those of most rows in a leaf (monotone trees keep theirs).
        A classifier with another ``smoothing`` than ``"shrinkage"`` validates by its own; bare
        trees and those of scikit-learn, which do not keep a strength, by the usual one. None is
        validated by the usual one too: a frequency of 0 would have an infinite loss.
    n_jobs : int, optional
        Number of folds that are grown at the same time; None means 1, -1 one for each processor.

    Notes
    -----
    Ties go to the smaller tree, then to the one with fewer errors, then to the one that collapses
    the shallower nodes. The greedy search follows the paper: the last of equal candidates wins.
    Ties between classes of a leaf go to the first class in sorted order, and only there do the
    names of the classes matter.

    Folds are stratified. In a table of more than 10^7 values, the classifier uses a tenth of
    the rows as validation rows, on which the weight is chosen.

    Known weakness of the code length: a small data set that only a very large tree fits is pruned
    to a stump. UCI's teaching assistants, 151 rows, would need some 50 leaves.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_iris
    >>> grown = tb.BoundTreeClassifier(pruning=None).fit(*load_iris(return_X_y=True)).tree_
    >>> result = BoundPruner(weight=0.6).prune(grown)
    >>> grown.n_leaves, result.tree.n_leaves
    (9, 7)
    >>> print(result.explain())
    7 leaves with 1 error: score 36.96, the least over the best trees of 1 to 9 leaves.
    6 leaves: 1 error more costs 5.307, the tree gains 4.456; score 37.81, 0.8511 worse.
    8 leaves: the same errors, the tree costs 4.357; score 41.32, 4.357 worse.
    """

    score: str | Callable[..., Any] = "code-length"
    growth: str = parameter(OneOf(GROWTHS), default="leaves")
    search: str = parameter(OneOf(("optimal", "greedy", "optimal+raise")), default="optimal")
    weight: float | str = "auto"
    rule: str | None = parameter(OneOf((*RULES, None)), default=None)
    folds: int | Splitter = parameter(Folds(), default=5)
    random_state: int | None = parameter(Whole(0, optional=True), default=0)
    error_prior: float | None = parameter(
        Number(0.0, 1.0, open=True, optional=True), default=2.0**-5
    )
    delta: float = parameter(Number(0.0, 1.0, open=True), default=0.05)
    size_prior: str = parameter(OneOf(SIZE_PRIORS), default="leaves")
    costs: Any = None
    relabel: bool = parameter(Flag(), default=True)
    smoothing: Smoothing | str | None = parameter(
        OneOf(("auto", *SMOOTHINGS), Number(0.0, open=True)), default="auto"
    )
    n_jobs: int | None = parameter(Jobs(), default=None)

    def _check(self) -> None:
        super()._check()
        owner = type(self).__name__
        if not callable(self.score):
            check(owner, {"score": self.score}, {"score": OneOf(SCORES)})
        if self.weight != "auto" and not Number(0.0).allows(self.weight):
            raise invalid("weight", owner, "a finite number >= 0 or 'auto'", self.weight)
        if self.growth == "fast" and self.search != "greedy":
            raise invalid("growth", owner, "'leaves' unless search='greedy'", self.growth)
        if self.score == "log-loss" and self.search != "optimal":
            raise invalid("search", owner, "'optimal' with score='log-loss'", self.search)
        if self.smoothing != "auto" and self.score != "log-loss":
            raise invalid("smoothing", owner, "'auto' unless score='log-loss'", self.smoothing)
        if self.rule is not None and not self.selects_weight:
            hint = "a rule chooses the weight: leave it at 'auto', of a score that has a weight."
            raise invalid("rule", owner, "None with a fixed weight", self.rule, hint)

    @property
    def selects_weight(self) -> bool:
        """Return True if the weight is chosen by the rows."""
        return self.weight == "auto" and self.score in ("code-length", "log-loss")

    @property
    def needs_rows(self) -> bool:
        return self.search != "optimal" or (self.selects_weight and not isinstance(self.folds, int))

    @property
    def raises_subtrees(self) -> bool:
        return self.search != "optimal"

    def takes_validation_rows(self, rows: int, columns: int) -> bool:
        return is_large(rows, columns) and self.validates(rows)

    def select_validation(self, key: int) -> Tenth:
        """Select a tenth of the rows."""
        return Tenth(derived(key, "validation", self.random_state))

    def validates(self, rows: int) -> bool:
        """Return True if the weight is chosen on rows that the pruner draws."""
        return self.selects_weight and isinstance(self.folds, int) and not self._are_few(rows)

    def _are_few(self, rows: float) -> bool:
        """Return True if there are few rows, and neither a rule nor the log-loss needs folds."""
        return rows < MIN_ROWS and self.rule is None and self.score != "log-loss"

    def _search(self, tree: Tree, rows: Rows) -> PruningResult:
        costs = Costs.of(tree, self.costs)
        tree = costs.relabelled(tree)
        if rows.search is not None and rows.sample is not None:
            return self._of_graph(tree, rows.search(rows.sample), costs, rows)
        sizes = self._sizes(tree, costs)

        def measure(outside: Sample | Tree, inside: Sample | NodeSums) -> Measured:
            if not isinstance(outside, Tree):
                assert rows.grow is not None
                outside = costs.relabelled(rows.grow(outside))
            sums = inside if isinstance(inside, NodeSums) else NodeSums.of(outside, inside)
            return self._measured(outside, sums, costs, self._objective(tree, costs, self._weight))

        def leaves(objective: Objective) -> NDArray[np.int64]:
            return best_sizes(sizes, objective, self._weights)

        choice = self._choice(tree, leaves, measure, costs, rows)
        weight = self._weight if choice is None else choice.weight
        objective = self._objective(tree, costs, weight)
        if self.search == "optimal":
            result = optimal(sizes, objective)
        elif rows.sample is None:
            raise self._without("a sample", "raise subtrees (search other than 'optimal')")
        elif self.search == "greedy":
            result = greedy(tree, rows.sample, objective, costs=costs, relabel=self.relabel)
        else:
            result = self._alternate(tree, rows.sample, costs, objective)
        return replace(result, choice=choice)

    @property
    def searches(self) -> bool:
        """Return True if a graph of candidate trees can be pruned: by leaves and errors alone."""
        return self.search == "optimal" and self.score == "code-length"

    def _of_graph(
        self, tree: Tree, graph: CandidateGraph, costs: Costs, rows: Rows
    ) -> PruningResult:
        """Return the tree of a graph with the lowest score; folds search graphs of their own."""
        sizes = BestOfGraph(graph, costs)

        def measure(outside: Sample, inside: Sample) -> Measured:
            assert rows.search is not None
            candidates = BestOfGraph(rows.search(outside), costs)
            m = max(1, round(float(candidates.graph.counts[-1] @ costs.worst)))
            objective = replace(self._objective(tree, costs, 0.0), m=m)
            at_weights = best_on_curve(candidates.errors(), objective, self._weights)
            return measure_trees(candidates, at_weights, inside, costs)

        def leaves(objective: Objective) -> NDArray[np.int64]:
            return best_on_curve(sizes.errors(), objective, self._weights)

        choice = self._choice(tree, leaves, measure, costs, rows)
        objective = self._objective(tree, costs, self._weight if choice is None else choice.weight)
        size = int(np.argmin(objective.by_leaves(sizes.errors()))) + 1
        path = SearchedPath.around(sizes, objective, size)
        score = float(path.scores[path.chosen])
        return PruningResult(sizes.pruned(size), path, score, 0.0, choice=choice)

    def objective(self, tree: Tree) -> Objective:
        """The score that this pruner minimises on the training rows; ``"auto"`` as without rows."""
        return self._objective(tree, Costs.of(tree, self.costs), self._weight)

    @property
    def _weight(self) -> float:
        """The weight, if it is not chosen by the rows."""
        return default_weight(self.score) if self.weight == "auto" else float(self.weight)

    @property
    def _weights(self) -> Floats:
        """The weights to choose from."""
        return LOG_LOSS_WEIGHTS if self.score == "log-loss" else WEIGHTS

    def _objective(self, tree: Tree, costs: Costs, weight: float) -> Objective:
        return Objective(
            m=max(1, round(costs.m)),
            n_classes=tree.n_classes,
            landscape=landscape_of(tree.columns, observed=True),
            score=self.score,
            growth=self.growth,
            error_prior=self.error_prior,
            weight=weight,
            delta=self.delta,
            size_prior=self.size_prior,
        )

    def _sizes(self, tree: Tree, costs: Costs) -> BestBySize:
        if self.score == "log-loss":
            return BestBySize(tree, leaf_code(tree.counts * costs.worst))
        return BestBySize(tree, costs.losses(tree))

    def _alternate(
        self, tree: Tree, sample: Sample, costs: Costs, objective: Objective
    ) -> PruningResult:
        """Alternate between collapsing and raising while the score falls."""
        best = optimal(self._sizes(tree, costs), objective)
        while True:
            raised = greedy(best.tree, sample, objective, costs=costs)
            result = optimal(self._sizes(raised.tree, costs), objective)
            if not result.score < best.score:
                return replace(best, gap=np.nan)
            best = result

    # -- the weight ------------------------------------------------------------------------

    def _choice(
        self,
        tree: Tree,
        leaves: Callable[[Objective], NDArray[np.int64]],
        measure: Callable[[Any, Any], Measured],
        costs: Costs,
        rows: Rows,
    ) -> WeightChoice | None:
        """The chosen weight, or why it is the default; None if there is nothing to choose.

        ``leaves(objective)`` are those of the best tree at each weight; ``measure(outside,
        inside)`` are the losses on the rows inside of trees from those outside.
        """
        if not self.selects_weight:
            return None
        sample, validation, grow = rows.sample, rows.validation, rows.grow
        parts: Iterable[tuple[Sample | Tree, Sample | NodeSums]]
        if validation is not None:
            parts = [(tree, validation)]
        elif sample is None or grow is None:
            reason = "to choose it takes the rows and a way to grow trees on parts of them"
            return WeightChoice(self._weight, None, reason)
        elif against := self._reason_against(tree, costs, sample):
            return WeightChoice(self._weight, None, against)
        else:
            parts = folds(sample, self.folds, self.random_state)

        choice = choose_weight(
            parts,
            lambda part: measure(*part),
            self._weights,
            leaves(self._objective(tree, costs, self._weight)),
            strengths=STRENGTHS if self.score == "log-loss" and self.smoothing == "auto" else (),
            rule=self.rule or ("detailed" if self.score == "log-loss" else "balanced"),
            unit=self._unit(tree),
            reason="cross-validated" if validation is None else "validation",
            n_jobs=effective_jobs(self.n_jobs),
        )
        if choice is None:
            return WeightChoice(self._weight, None, "there are too few rows for folds")
        if validation is None and sample is not None and self._are_few(sample.total):
            # a smaller weight may win by chance, with a tree that fits the noise
            choice = replace(choice, weight=max(choice.weight, self._weight))
        return choice

    def _reason_against(self, tree: Tree, costs: Costs, sample: Sample) -> str:
        """Why the weight is not cross-validated; empty if it is."""
        if self._are_few(sample.total) and costs.m >= FEW_EFFECTIVE * sample.total:
            return f"below {MIN_ROWS:,} rows it is not chosen by cross-validation"
        return "the grown tree has one leaf" if tree.n_leaves == 1 else ""

    def _unit(self, tree: Tree) -> str:
        if self.score == "log-loss":
            return "log-loss"
        if self.costs is not None:
            return "cost"
        return "error" if tree.factors is None else "weighted error"

    def _measured(self, tree: Tree, rows: NodeSums, costs: Costs, objective: Objective) -> Measured:
        """Losses on other rows, as :func:`choose_weight` needs them."""
        losses = [costs.by_class(tree)]
        if self.score == "log-loss":
            losses = [-np.log(shares) * costs.worst for shares in self._shares(tree)]
        sizes = self._sizes(tree, costs)
        m = max(1, round(float(tree.counts[0] @ costs.worst)))
        leaves = best_sizes(sizes, replace(objective, m=m, weight=0.0), self._weights)
        cuts = {size: sizes.cuts(size) for size in set(leaves.tolist())}

        def at_weights(loss: Floats) -> list[Floats]:
            moments, staying = losses_on(tree, rows, loss, losses[0])
            sums = PrunedSums(tree, moments, staying)
            at_size = {size: sums(cut) for size, cut in cuts.items()}
            return [*(at_size[size] for size in leaves.tolist()), moments[0]]

        tested = np.array([at_weights(loss) for loss in losses])
        return tested, rows.total, float(rows.weights[0] @ costs.worst)

    def _shares(self, tree: Tree) -> list[Floats]:
        """The probabilities of the nodes with each smoothing that is tried; none is 0."""
        if self.smoothing == "auto":
            tried = [probabilities(tree, at, free=at > SHRINKAGE) for at in STRENGTHS]
        else:
            tried = [probabilities(tree, self.smoothing or "shrinkage")]  # type: ignore[arg-type]
        return [np.maximum(shares, LEAST) for shares in tried]
