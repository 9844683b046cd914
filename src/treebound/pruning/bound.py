"""Bound pruning: minimise a generalization score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from treebound._utils._pool import each
from treebound._utils.arrays import Codes, Floats, Ints
from treebound._utils.jobs import effective_jobs
from treebound._utils.progress import Report, fold_report
from treebound._utils.validation import (
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
from treebound.data import Sample
from treebound.data.draws import Splitter, Tenth, derived, folds
from treebound.growing.graph import CandidateGraph
from treebound.pruning.base import BasePruner, Grow, PruningResult, PruningRows, Search
from treebound.pruning.candidates import Candidates, GraphTrees, Prunings
from treebound.pruning.costs import Costs
from treebound.pruning.estimate import FoldPrediction
from treebound.pruning.scores import SCORES, Objective, objective_of
from treebound.pruning.weight import (
    LOG_LOSS_WEIGHTS,
    RULES,
    STRENGTHS,
    WEIGHTS,
    Measured,
    WeightChoice,
    choose_weight,
    default_weight,
)
from treebound.tree.model import Tree
from treebound.tree.node_sums import NodeSums
from treebound.tree.smoothing import LEAST, SHRINKAGE, SMOOTHINGS, Smoothing, probabilities

# Fewer rows are not cross-validated: there it gains nothing over the default weight, unless class
# weights or costs leave so few effective rows that it is often too small.
MIN_ROWS = 1000
FEW_EFFECTIVE = 0.5  # as a share of the rows
# Tables of more values are not grown again for each fold: a tenth of the rows validates instead.
MAX_VALUES = 10**7


def is_large(rows: int, columns: int) -> bool:
    """Return True if a table is too large to be grown on again for each fold."""
    return rows * columns > MAX_VALUES


class BoundFold(NamedTuple):
    """The candidates that were grown without a fold, the best size at each weight, and losses."""

    candidates: Candidates
    objective: Objective  # of the rows outside, without a weight
    weights: Floats
    leaves: Ints
    measured: Any  # Measured, or None if the weight is not chosen on folds
    inside: Sample
    reached: Codes | None  # the nodes that the rows inside reach, if there is one tree

    def best_size(self, weight: float, max_leaves: int | None) -> int:
        """The leaves of the tree with the lowest score, of at most so many."""
        weights, sizes = np.array([weight]), self.leaves[self.weights == weight]
        if not len(sizes):
            sizes = self.candidates.best_sizes(self.objective, weights)
        size = int(sizes[0])
        if max_leaves is None or size <= max_leaves:
            return size
        errors = self.candidates.errors(max_leaves)
        return int(self.objective.at_weights(errors, weights)[0].argmin()) + 1


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
        length of the classes in each leaf replaces that of the errors. The others are bounds in
        ``treebound.bounds``; the paper's own pruner is :class:`PaperPruner`. A callable gets the
        number of examples m, the errors, the log growth function (at 2m) and the log prior, and
        returns a number; lower is better.
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
    delta : float
        Confidence parameter of the bounds.
    costs : array of shape (n_classes, n_classes) or (n_classes,), mapping, or None
        Misclassification costs: a matrix (row: true class, column: predicted class), or a weight
        for each true class; only their ratios matter. Leaves then predict the class of least cost,
        and the score uses the cost relative to the worst possible, times the effective number of
        examples.
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
    The best way to collapse subtrees into leaves is found by dynamic programming. Ties go to the
    smaller tree, then to the one with fewer errors, then to the one that collapses the shallower
    nodes.
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
    weight: float | str = "auto"
    rule: str | None = parameter(OneOf((*RULES, None)), default=None)
    folds: int | Splitter = parameter(Folds(), default=5)
    random_state: int | None = parameter(Whole(0, optional=True), default=0)
    delta: float = parameter(Number(0.0, 1.0, open=True), default=0.05)
    costs: Any = None
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
        if self.smoothing != "auto" and self.score != "log-loss":
            raise invalid("smoothing", owner, "'auto' unless score='log-loss'", self.smoothing)
        if self.rule is not None and not self.selects_weight:
            hint = "a rule chooses the weight: leave it at 'auto', of a score that has a weight."
            raise invalid("rule", owner, "None with a fixed weight", self.rule, hint)

    @property
    def selects_weight(self) -> bool:
        """Return True if the weight is chosen by the rows."""
        return self.weight == "auto" and self.has_weight

    @property
    def needs_rows(self) -> bool:
        return self.selects_weight and not isinstance(self.folds, int)

    @property
    def searches(self) -> bool:
        """Return True if a graph of candidate trees can be pruned: by leaves and errors alone."""
        return self.score == "code-length"

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

    def _search(self, tree: Tree, rows: PruningRows) -> PruningResult:
        costs = Costs.of(tree, self.costs)
        tree = costs.relabelled(tree)
        if rows.search is None or rows.sample is None:
            candidates: Candidates = self._prunings(tree, costs)
        else:
            candidates = GraphTrees(rows.search(rows.sample), costs)
        choice = self._choice(tree, candidates, costs, rows)
        weight = self._weight if choice is None else choice.weight
        return replace(candidates.best(self._objective(tree, costs, weight)), choice=choice)

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
        return objective_of(tree, costs, score=self.score, weight=weight, delta=self.delta)

    def _prunings(self, tree: Tree, costs: Costs) -> Prunings:
        shares = self._shares if self.score == "log-loss" else None
        return Prunings(tree, costs, self.score, shares)

    # -- the weight ------------------------------------------------------------------------

    def _choice(
        self, tree: Tree, candidates: Candidates, costs: Costs, rows: PruningRows
    ) -> WeightChoice | None:
        """The chosen weight, or why it is the default; None if there is nothing to choose."""
        if not self.selects_weight:
            return None
        objective, sample = self._objective(tree, costs, self._weight), rows.sample
        if rows.validation is not None:
            measured = [self._measured(candidates, objective, rows.validation)]
        elif sample is None or rows.grow is None:
            reason = "to choose it takes the rows and a way to grow trees on parts of them"
            return WeightChoice(self._weight, None, reason)
        elif against := self._reason_against(tree, costs, sample):
            return WeightChoice(self._weight, None, against)
        else:
            grown = rows.folds
            if grown is None:
                grown = self.grow_folds(tree, sample, rows.grow, search=rows.search)
            measured = [fold.measured for fold in grown]
        few = rows.validation is None and sample is not None and self._are_few(sample.total)
        return self._choose(
            measured,
            candidates.best_sizes(objective, self._weights),
            unit=self._unit(tree),
            reason="cross-validated" if rows.validation is None else "validation",
            few=few,
        ) or WeightChoice(self._weight, None, "there are too few rows for folds")

    def _choose(
        self, measured: Sequence[Measured], leaves: Ints, *, unit: str, reason: str, few: bool
    ) -> WeightChoice | None:
        """Choose the weight by losses on rows; None if there are no rows."""
        choice = choose_weight(
            measured,
            self._weights,
            leaves,
            strengths=STRENGTHS if self.score == "log-loss" and self.smoothing == "auto" else (),
            rule=self.rule or ("detailed" if self.score == "log-loss" else "balanced"),
            unit=unit,
            reason=reason,
        )
        if few and choice is not None:
            # a smaller weight may win by chance, with a tree that fits the noise
            return replace(choice, weight=max(choice.weight, self._weight))
        return choice

    # -- folds -----------------------------------------------------------------------------

    @property
    def has_weight(self) -> bool:
        """Return True if the score has a weight, so that trees of folds serve every weight."""
        return self.score in ("code-length", "log-loss")

    def grow_folds(
        self,
        tree: Tree,
        sample: Sample,
        grow: Callable[..., Tree],
        *,
        search: Callable[..., CandidateGraph] | None = None,
        k: int | Splitter | None = None,
        progress: Report | None = None,
    ) -> list[BoundFold]:
        """Grow a tree without each fold; ``prune`` and ``predictions`` share them.

        ``k`` are the folds, by default those of the pruner. With ``progress``, ``grow`` and
        ``search`` take an argument of this name, and report to it.
        """
        costs = Costs.of(tree, self.costs)
        measures = self.selects_weight and not self._reason_against(tree, costs, sample)
        objective = self._objective(tree, costs, 0.0)
        parts = list(folds(sample, self.folds if k is None else k, self.random_state))

        def one(at: int) -> BoundFold:
            growing, searching = grow, search
            report = fold_report(progress, at + 1, len(parts))
            if report is not None:
                growing = partial(grow, progress=report)
                searching = None if search is None else partial(search, progress=report)
            return self._fold(objective, costs, growing, searching, measures, parts[at])

        return each(one, range(len(parts)), effective_jobs(self.n_jobs))

    def _fold(
        self,
        objective: Objective,
        costs: Costs,
        grow: Grow,
        search: Search | None,
        measures: bool,
        fold: tuple[Sample, Sample],
    ) -> BoundFold:
        """The candidates without a fold, and their losses inside of it."""
        outside, inside = fold
        if search is not None:
            candidates: Candidates = GraphTrees(search(outside), costs)
        else:
            candidates = self._prunings(costs.relabelled(grow(outside)), costs)
        objective = replace(objective, m=candidates.m)
        leaves = candidates.best_sizes(objective, self._weights)
        reached = candidates.reached(inside)
        measured = candidates.measure(leaves, inside, reached) if measures else None
        return BoundFold(candidates, objective, self._weights, leaves, measured, inside, reached)

    def predictions(
        self, grown: Sequence[BoundFold], max_leaves: int | None = None
    ) -> list[FoldPrediction]:
        """The rows of each fold, predicted by the tree that is chosen without them.

        Its weight is chosen on the other folds, so that no row inside the fold is used for it.
        """
        total = sum(fold.inside.total for fold in grown)

        def one(at: int) -> FoldPrediction:
            fold = grown[at]
            weight, strength = self._weight, None
            if fold.measured is not None:
                elsewhere = [other.measured for other in (*grown[:at], *grown[at + 1 :])]
                choice = self._choose(
                    elsewhere, fold.leaves, unit="", reason="", few=self._are_few(total)
                )
                if choice is not None:
                    weight, strength = choice.weight, choice.strength
            predict = fold.candidates.predict(fold.inside, strength, fold.reached)
            chosen = predict(fold.best_size(weight, max_leaves))
            return FoldPrediction(fold.inside, chosen, predict)

        return each(one, range(len(grown)), effective_jobs(self.n_jobs))

    def _measured(
        self, candidates: Candidates, objective: Objective, rows: Sample | NodeSums
    ) -> Measured:
        """Losses on validation rows of the best tree at each weight."""
        weightless = replace(objective, m=candidates.m, weight=0.0)
        return candidates.measure(candidates.best_sizes(weightless, self._weights), rows)

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

    def _shares(self, tree: Tree) -> list[Floats]:
        """The probabilities of the nodes with each smoothing that is tried; none is 0."""
        if self.smoothing == "auto":
            tried = [probabilities(tree, at, free=at > SHRINKAGE) for at in STRENGTHS]
        else:
            tried = [probabilities(tree, self.smoothing or "shrinkage")]  # type: ignore[arg-type]
        return [np.maximum(shares, LEAST) for shares in tried]
