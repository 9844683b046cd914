"""RegressionModel: a fitted regression tree that reads rows, predicts and prunes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from treebound._utils.validation import Number, check
from treebound.model.base import BaseModel
from treebound.model.number_estimate import NumberEstimate, quantile
from treebound.pruning.number_choice import NumberChoice
from treebound.pruning.number_pruner import spreads
from treebound.pruning.path import count
from treebound.tree.regression import RegressionTree, importances

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NumberSizeEstimate:
    """The estimated error of a tree of another size.

    Attributes
    ----------
    leaves : int
        Number of leaves at most.
    rmse : float
        Validated root mean squared error of trees of that size.
    """

    leaves: int
    rmse: float


@dataclass(frozen=True, eq=False)
class RegressionModel(BaseModel[RegressionTree, NumberChoice]):
    """A fitted regression tree, its pruning path, and how it reads rows; immutable.

    ``BoundTreeRegressor`` holds one as ``model_``. ``RegressionModel(tree)`` makes one of a bare
    tree. The attributes that it shares with models of classes are those of
    :class:`~treebound.model.base.BaseModel`.

    Attributes
    ----------
    estimate : NumberEstimate or None
        Estimated errors of the fitted tree; None if there were no validation rows, and at another
        step of the path.
    sizes : tuple of NumberSizeEstimate
        Estimated errors of trees of several sizes.
    residuals : ndarray of float64
        Sorted absolute residuals of validation rows, each divided by the spread of its leaf; empty
        if there were none.
    clip : tuple of float, or None
        The range into which the numbers of the training rows were moved.
    """

    _: KW_ONLY
    estimate: NumberEstimate | None = None
    sizes: tuple[NumberSizeEstimate, ...] = ()
    residuals: Floats = field(default_factory=lambda: np.empty(0))
    clip: tuple[float, float] | None = None

    @property
    def importances(self) -> Floats:
        """Share of each column in the total decrease of squared error."""
        return importances(self.tree)

    def predict(self, X: Any, n_jobs: int | None = None) -> Floats:
        """The predicted number of each row."""
        return self.tree.value.take(self.apply(X, n_jobs))

    def predict_interval(self, X: Any, coverage: float = 0.9, n_jobs: int | None = None) -> Floats:
        """The lower and the upper end of an interval for each row, shape (n_rows, 2)."""
        return self.node_intervals(coverage).take(self.apply(X, n_jobs), axis=0)

    def node_intervals(self, coverage: float = 0.9) -> Floats:
        """The interval of each node, shape (n_nodes, 2).

        Half its width is a quantile of the scaled residuals of validation rows times the spread of
        the node: the standard deviation of its training rows, shrunk by ten rows to that of all
        leaves.
        """
        check("predict_interval", {"coverage": coverage}, {"coverage": Number(0.0, 1.0, open=True)})
        if not len(self.residuals):
            why = (
                "the model is at another step of its path"
                if self.step is not None
                else "the tree was fitted without validation rows"
            )
            raise ValueError(
                f"There are no residuals for an interval: {why}. Hint: fit with pruning='bound', "
                "and max_leaves for another size."
            )
        half = quantile(self.residuals, coverage) * spreads(self.tree)
        return np.column_stack([self.tree.value - half, self.tree.value + half])

    def prune_to(self, leaves: int | None = None, *, step: int | None = None) -> Self:
        """The model at another step of its path; its estimates are those of ``sizes``."""
        model = super().prune_to(leaves, step=step)
        return replace(model, estimate=None, residuals=np.empty(0))

    def summary(self) -> str:
        """Describe the tree, its estimated errors and those of other sizes."""
        tree = self.tree
        leaves = "1 leaf" if tree.n_leaves == 1 else f"{tree.n_leaves:,} leaves"
        lines = [
            f"Regression tree of {leaves}, depth {tree.depth}, {tree.rows[0]:,} training rows."
        ]
        if self.estimate is not None:
            lines.append(str(self.estimate))
        if self.sizes:
            sizes = ", ".join(f"{size.leaves:,}: {size.rmse:.4g}" for size in self.sizes)
            lines.append(f"RMSE by number of leaves: {sizes}.")
        choice = None if self.pruning is None else self.pruning.choice
        if choice is not None and choice.rule is not None and self.step is None:
            lines.append(
                "Chosen by these errors, which are therefore a little too small: leaves of at "
                f"least {count(choice.min_samples_leaf, 'row')}, shrinkage {choice.shrinkage}."
            )
        if self.clip is not None:
            low, high = self.clip
            lines.append(f"Training values were clipped to {low:.4g} to {high:.4g}.")
        return "\n".join(lines)
