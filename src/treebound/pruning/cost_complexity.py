"""Cost-complexity (weakest-link) pruning, with alpha chosen by cross-validation."""

from __future__ import annotations

from math import inf
from typing import get_args

import numpy as np

from treebound._utils.arrays import Floats
from treebound._utils.choices import Criterion
from treebound._utils.validation import Folds, Number, OneOf, Whole, parameter, with_parameters
from treebound.data import Sample
from treebound.data.draws import Splitter
from treebound.pruning.base import BasePruner, Grow, PruningResult, PruningRows
from treebound.pruning.path import NestedPath, number, weakest_link_steps
from treebound.pruning.validation import cross_validated, errors_on
from treebound.pruning.weight import RULES
from treebound.tree.impurity import impurity
from treebound.tree.model import Tree


class CostComplexityPath(NestedPath):
    """The trees that minimise ``risk + alpha leaves`` for some alpha, the largest first.

    Attributes
    ----------
    alphas : ndarray of float64
        The smallest alpha for which each tree is best; 0 for the unpruned one (or less, if a
        pruning has a smaller risk than the whole tree).
    risks : ndarray of float64
        Risk of each tree: its error rate, or the mean impurity of its leaves.
    validated : ndarray of float64 or None
        Cross-validated error rates, if any.
    """

    validated: Floats | None = None

    def __init__(self, tree: Tree, risk: Floats) -> None:
        steps, alphas = weakest_link_steps(tree, risk)
        super().__init__(tree, steps.when, tree.node_losses)
        total = max(float(tree.mass[0]), np.finfo(float).tiny)
        start = min(float(alphas[0]), 0.0) if len(alphas) else 0.0
        self.alphas = np.concatenate([[start / total], alphas / total])
        self.risks = self.along(risk / total)
        self.alpha = float(self.alphas[0])
        self.scores = self.risks + self.alpha * self.leaves

    def at(self, alpha: float) -> int:
        """The best step for an alpha; the smaller tree on ties."""
        return max(0, int(np.searchsorted(self.alphas, alpha, side="right")) - 1)

    def choose(self, alpha: float, validated: Floats | None = None) -> CostComplexityPath:
        """The path with the best step for an alpha chosen, perhaps by cross-validated errors."""
        capped = min(alpha, float(self.alphas[-1]))  # a larger alpha gives the same tree
        scores = self.risks + capped * self.leaves
        return self._choosing(self.at(alpha), alpha=capped, scores=scores, validated=validated)

    def explain(self) -> str:
        """Describe the interval of alpha for which the chosen tree is best."""
        at = self.chosen
        upper = self.alphas[at + 1] if at + 1 < len(self) else np.inf
        lines = [
            f"{self._describe(at)}. It has the least risk + alpha x leaves for alpha from "
            f"{number(self.alphas[at])} to {number(upper)}; alpha is {number(self.alpha)}."
        ]
        if self.limit is not None:
            lines.append(f"It is the best of {self._within()}.")
        if self.validated is not None:
            lines.append(f"Cross-validated errors: {100 * self.validated[at]:.1f} %.")
        return "\n".join(lines)


def weakest_link_path(
    tree: Tree, *, measure: str = "error", criterion: Criterion = "gini"
) -> CostComplexityPath:
    """All trees of weakest-link pruning (Breiman et al. 1984, chapter 3), in O(L log L).

    With ``measure="impurity"`` it equals scikit-learn's ``cost_complexity_pruning_path``.
    """
    if measure == "error":
        return CostComplexityPath(tree, tree.node_losses)
    return CostComplexityPath(tree, tree.mass * impurity(tree.masses, criterion))


@with_parameters
class CostComplexityPruner(BasePruner):
    """Cost-complexity pruning of Breiman, Friedman, Olshen and Stone (1984).

    Parameters
    ----------
    alpha : float or None
        Price of a leaf, in units of risk. None chooses it by cross-validation, for which ``prune``
        needs ``sample`` and ``grow``.
    rule : {"accurate", "balanced", "small", "detailed", "paper"}
        How cross-validation chooses. ``"accurate"``: for each tree on the path, the geometric mean
        of its interval of alphas is tried in every fold, and the one with the fewest errors wins.
        ``"balanced"``: the smallest tree within half a standard error of that, ``"small"``: within
        one, ``"detailed"``: the largest within half. ``"paper"``: the mean of the best alphas of
        the folds.
    measure : {"error", "impurity"}
        Risk of a leaf: its error rate, or its impurity as in scikit-learn.
    criterion : {"gini", "entropy", "misclassification"}
        The impurity, for ``measure="impurity"``.
    folds : int or splitter
        Number of folds, which are the same for any order of the rows or names of the classes; or a
        cross-validation splitter of scikit-learn.
    random_state : int or None
        Seed of the folds; a splitter has its own.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_wine
    >>> grown = tb.BoundTreeClassifier(pruning=None).fit(*load_wine(return_X_y=True)).tree_
    >>> result = CostComplexityPruner(alpha=0.02).prune(grown)
    >>> grown.n_leaves, result.tree.n_leaves
    (8, 5)
    """

    alpha: float | None = parameter(Number(-inf, optional=True, infinite=True), default=None)
    rule: str = parameter(OneOf((*RULES, "paper")), default="accurate")
    measure: str = parameter(OneOf(("error", "impurity")), default="error")
    criterion: Criterion = parameter(OneOf(get_args(Criterion)), default="gini")
    folds: int | Splitter = parameter(Folds(), default=5)
    random_state: int | None = parameter(Whole(0, optional=True), default=0)

    @property
    def needs_rows(self) -> bool:
        return self.alpha is None

    def _search(self, tree: Tree, rows: PruningRows) -> PruningResult:
        path = self._path(tree)
        if self.alpha is not None:
            path = path.choose(float(self.alpha))
        elif len(path) > 1:
            path = self._validated(path, *self._to_validate(rows))
        return PruningResult(path.tree(), path, path.scores[path.chosen], gap=0.0)

    def _path(self, tree: Tree) -> CostComplexityPath:
        return weakest_link_path(tree, measure=self.measure, criterion=self.criterion)

    def _validated(
        self, path: CostComplexityPath, sample: Sample, grow: Grow
    ) -> CostComplexityPath:
        """The path with the step chosen by cross-validation."""
        tried, best = _middles(path.alphas), []

        def errors(grown: Tree, inside: Sample) -> Floats:
            pruned = self._path(grown)
            as_leaf, staying = errors_on(grown, inside)
            wrong = pruned.along(as_leaf) + pruned.along_inner(staying)
            # on ties the last, the smallest tree
            best.append(pruned.alphas[len(wrong) - 1 - int(np.argmin(wrong[::-1]))])
            return wrong[[pruned.at(alpha) for alpha in tried]]

        n = len(tried)
        shares, validated = cross_validated(sample, self.folds, self.random_state, grow, n, errors)
        if self.rule == "paper":
            return path.choose(float(np.mean(best)), shares)
        return path.choose(float(tried[_within(shares, validated, RULES[self.rule])]), shares)


def _middles(alphas: Floats) -> Floats:
    """Geometric mean of each tree's interval of alphas; the last one is unbounded."""
    floor = np.maximum(alphas, 0.0)
    return np.concatenate([np.sqrt(floor[:-1] * floor[1:]), [np.inf]])


def _within(shares: Floats, total: float, errors: float) -> int:
    """The last step within some standard errors of the lowest rate; the first if they are minus."""
    least = float(shares.min())
    # with weights, rounding may move a share below 0 or above 1
    variance = max(least * (1.0 - least), 0.0) / max(total, 1.0)
    allowed = least + abs(errors) * np.sqrt(variance)
    return int(np.flatnonzero(shares <= allowed)[0 if errors < 0.0 else -1])
