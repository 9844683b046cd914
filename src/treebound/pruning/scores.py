"""Scores that the bound pruner minimises, from examples, errors, log growth and prior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treebound._utils.arrays import Floats, Ints
from treebound.bounds import (
    log_growth,
    log_growth_leaves,
    shawe_taylor,
    tail_inversion,
    vapnik,
)
from treebound.bounds.counting import log_wedderburn_etherington
from treebound.bounds.risk import log_leaves_prior
from treebound.data import landscape_of
from treebound.landscape import Landscape
from treebound.pruning.costs import Costs
from treebound.shapes import TreeShape
from treebound.tree.model import Tree

SCORES = ("code-length", "log-loss", "shawe-taylor", "vapnik", "tail-inversion")
GROWTHS = ("leaves", "fast")
SIZE_PRIORS = ("leaves", "shapes")


def code_length(
    m: int,
    errors: ArrayLike,
    log_growth: ArrayLike,
    *,
    n_classes: int,
    log_prior: ArrayLike = 0.0,
    weight: float = 0.6,
) -> Any:
    """Code length of the labels in nats: the errors, their classes, and the tree.

    ``m H(k/m) + k ln(n - 1) + w (ln tau(2m) - ln p)`` with H the binary entropy in nats. It is
    the Shawe-Taylor objective with an error prior estimated from the data.

    Parameters
    ----------
    m, errors, log_growth
        As in :func:`treebound.bounds.shawe_taylor`.
    n_classes : int
        Number of classes n.
    log_prior : float or array of float
        ln p, the log prior of the class of the tree.
    weight : float
        w, the weight of the tree term.

    Returns
    -------
    float or array of float

    Examples
    --------
    >>> round(float(code_length(100, 5, 18.77, n_classes=3, log_prior=-2.695)), 3)
    36.196
    """
    from scipy.special import entr

    rate = np.asarray(errors, dtype=np.float64) / m
    labels = m * (entr(rate) + entr(1.0 - rate)) + m * rate * log(max(n_classes - 1, 1))
    return labels + weight * (np.asarray(log_growth) - log_prior)


def leaf_code(masses: Floats) -> Floats:
    """Code length in nats of the classes in each node, given their total mass.

    Minus the log of the Dirichlet-multinomial probability of a sequence with these class counts;
    every class starts with half an example (Krichevsky and Trofimov).
    """
    from scipy.special import gammaln

    n_classes = masses.shape[1]
    prior = n_classes * gammaln(0.5) - gammaln(0.5 * n_classes)
    code = gammaln(masses.sum(axis=1) + 0.5 * n_classes) - gammaln(masses + 0.5).sum(axis=1) + prior
    return np.maximum(np.asarray(code, dtype=np.float64), 0.0)


@lru_cache(maxsize=4)  # folds have nearly the same number of rows
def _tree_terms(objective: Objective, most: int) -> Floats:
    """The weighted terms of the score of trees of 1, 2, ..., ``most`` leaves."""
    leaves = np.arange(1, most + 1)
    terms: Floats = objective.log_growth_leaves(leaves) - objective.log_prior(leaves)
    return terms


@dataclass(frozen=True)
class Objective:
    """A score of the number of leaves, the loss of the leaves and the growth function.

    ``m`` is the effective number of examples, rounded. The loss is the number of errors, or the
    code length of the leaves (log-loss). ``growth`` is the growth function of all trees with that
    many leaves, or of the shape.
    """

    m: int
    n_classes: int
    landscape: Landscape
    score: str | Callable[..., Any] = "code-length"
    growth: str = "leaves"
    error_prior: float | None = 2.0**-5
    weight: float = 0.6
    delta: float = 0.05
    size_prior: str = "leaves"
    costs_chosen: bool = False  # the loss is a cost, scaled as Costs describes

    @property
    def unit(self) -> str:
        """The unit of the loss, in words."""
        if self.score == "log-loss":
            return "nats"
        return "scaled costs" if self.costs_chosen else "errors"

    @property
    def monotone(self) -> bool:
        """Return True if the score never rises with fewer errors or a smaller growth function."""
        return isinstance(self.score, str)

    @property
    def sample(self) -> int:
        """Number of examples of the growth function: the sample and its ghost."""
        return 5 * self.m if self.score == "tail-inversion" else 2 * self.m

    def log_prior(self, leaves: Ints) -> Floats:
        """Log prior of the class of trees with that many leaves (or of their shape)."""
        prior = np.asarray(log_leaves_prior(leaves), dtype=np.float64)
        if self.size_prior == "shapes":
            prior = prior - log_wedderburn_etherington(leaves)
        return prior

    def log_growth_leaves(self, leaves: Ints) -> Floats:
        """Log growth function of all trees with that many leaves."""
        return log_growth_leaves(leaves, self.sample, self.n_classes, self.landscape)

    def log_growth_shape(self, shape: TreeShape) -> float:
        """Log growth function of one shape, in the chosen form."""
        if self.growth == "leaves":
            return float(self.log_growth_leaves(np.array([shape.leaves]))[0])
        return log_growth(shape, self.sample, self.n_classes, self.landscape, form=self.growth)

    def at_weights(self, errors: Floats, weights: Floats) -> Floats:
        """The score of trees of 1, 2, ... leaves at several weights: shape (n_weights, n_trees)."""
        labels, tree = self.terms(errors)
        return labels + weights[:, None] * tree

    def terms(self, errors: Floats) -> tuple[Floats, Floats]:
        """The terms of the labels and of the trees in the score of trees of 1, 2, ... leaves."""
        most = len(errors)
        weightless = replace(self, weight=0.0) if self.weight else self
        tree = _tree_terms(weightless, 1 << (most - 1).bit_length())[:most]
        if self.score == "log-loss":
            return errors, tree
        return np.asarray(self._code(errors, 0.0, 0.0, weight=0.0), dtype=np.float64), tree

    def by_leaves(self, errors: Floats) -> Floats:
        """The score of trees of 1, 2, ... leaves."""
        if self.score in ("code-length", "log-loss"):
            return self.at_weights(errors, np.array([self.weight])).reshape(-1)
        leaves = np.arange(1, len(errors) + 1)
        return self(leaves, errors, self.log_growth_leaves(leaves))

    def __call__(self, leaves: Ints, errors: Floats, log_tau: Floats) -> Floats:
        """The score, for arrays of leaves, errors and log growth."""
        prior = self.log_prior(leaves)
        if self.score == "log-loss":
            return np.asarray(errors + self.weight * (log_tau - prior), dtype=np.float64)
        if self.score == "code-length":
            return self._code(errors, log_tau, prior, self.weight)
        errors = np.minimum(errors, float(self.m))
        if self.score == "shawe-taylor":
            score = shawe_taylor(
                self.m, errors, log_tau, delta=self.delta, log_prior=prior,
                error_prior=self.error_prior,
            )  # fmt: skip
        elif self.score == "vapnik":
            score = vapnik(self.m, errors, log_tau, delta=self.delta, log_prior=prior)
        else:
            rate = self._tail if self.score == "tail-inversion" else self._own
            score = [rate(*map(float, tree)) for tree in np.broadcast(errors, log_tau, prior)]
        return np.asarray(score, dtype=np.float64)

    def _code(
        self, errors: Floats, log_tau: ArrayLike, log_prior: ArrayLike, weight: float
    ) -> Floats:
        # with fractional weights, rounding may raise the errors above m
        few = np.minimum(errors, float(self.m))
        score = code_length(
            self.m, few, log_tau, n_classes=self.n_classes, log_prior=log_prior, weight=weight
        )
        return np.asarray(score, dtype=np.float64)

    def _own(self, errors: float, log_tau: float, log_prior: float) -> float:
        """The user's function, one tree at a time, in plain floats."""
        assert callable(self.score)
        return float(self.score(self.m, errors, log_tau, log_prior))

    def _tail(self, errors: float, log_tau: float, log_prior: float) -> float:
        # The bound counts rows; fractional errors are rounded up.
        whole = float(np.ceil(errors - 1e-9))
        return tail_inversion(
            self.m, whole, lambda _: log_tau, delta=self.delta, log_prior=log_prior
        )

    def of_tree(self, leaves: int, errors: float, log_tau: float) -> float:
        """The score of a single tree."""
        return float(self(np.array([leaves]), np.array([errors]), np.array([log_tau]))[0])


def objective_of(tree: Tree, costs: Costs, **settings: Any) -> Objective:
    """The score of the prunings of a tree; ``settings`` are fields of :class:`Objective`."""
    m, landscape = max(1, round(costs.m)), landscape_of(tree.columns, observed=True)
    return Objective(m, tree.n_classes, landscape, costs_chosen=costs.chosen, **settings)
