"""The evidence for the estimate, the intervals and the certificate of a regression model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats
from treebound.model.number_estimate import NumberEstimate, scaled_residuals, some_predictions
from treebound.pruning.number_choice import NumberChoice
from treebound.pruning.number_pruner import NumberFit


@dataclass(frozen=True)
class NumberSizeEstimate:
    """The estimated error of a tree of another size.

    Attributes
    ----------
    leaves : int
        Number of leaves at most.
    rmse : float
        Validated root mean squared error of trees of that size.
    difference : float
        The RMSE minus that of the chosen tree.
    """

    leaves: int
    rmse: float
    difference: float


@dataclass(frozen=True, eq=False)
class NumberCalibration:
    """Calibration rows that ``fit`` held out, one of each group if there are groups.

    Attributes
    ----------
    y : ndarray of float64
        The number of each row.
    nodes : ndarray of int32
        The node of the grown tree at which it ends.
    tolerance : float
        The largest error that does not count.
    y_range : tuple of float, or None
        The least and the greatest possible number, if it was declared.
    folds : int
        The best of so many folds.
    grouped : bool
        There is one row of each group.
    """

    y: Floats
    nodes: NDArray[np.int32]
    tolerance: float
    y_range: tuple[float, float] | None = None
    folds: int = 1
    grouped: bool = False


@dataclass(frozen=True, eq=False)
class NumberEvidence:
    """The calibration rows of the certificate of a model, and the estimates of its errors.

    Attributes
    ----------
    delta : float
        The certificate holds with probability ``1 - delta``.
    calibration : NumberCalibration or None
        The calibration rows of the certificate.
    estimate : NumberEstimate or None
        Estimated errors of the fitted tree; None if there were no validation rows, and at another
        step of the path.
    sizes : tuple of NumberSizeEstimate
        Estimated errors of trees of several sizes.
    residuals : ndarray of float64
        Sorted absolute residuals of validation rows, each divided by the spread of its leaf; empty
        if there were none, and at another step of the path.
    validated : ndarray of float64, shape (n, 2)
        Prediction and number of some validation rows, for a plot of residuals; as empty as
        ``residuals``.
    choice : NumberChoice or None
        How leaf size and shrinkage were chosen, for a tree without the path that has it.
    """

    delta: float = 0.05
    calibration: NumberCalibration | None = None
    estimate: NumberEstimate | None = None
    sizes: tuple[NumberSizeEstimate, ...] = ()
    residuals: Floats = field(default_factory=lambda: np.empty(0))
    validated: Floats = field(default_factory=lambda: np.empty((0, 2)))
    choice: NumberChoice | None = None

    @classmethod
    def of_fit(cls, fit: NumberFit, delta: float = 0.05) -> NumberEvidence:
        """Return the evidence from the validation rows of a fit, if there were any."""
        choice = fit.result.choice
        if fit.validated is None or choice is None:
            return cls(delta)
        estimate = NumberEstimate.of(fit.validated, choice.reason)
        sizes = [(leaves, float(np.sqrt(loss))) for leaves, loss in fit.sizes]
        # the same errors as those of the estimate, summed in another order
        rmse = dict(sizes).get(fit.result.tree.n_leaves, float(estimate.rmse.value))
        return cls(
            delta,
            estimate=estimate,
            sizes=tuple(NumberSizeEstimate(leaves, of, of - rmse) for leaves, of in sizes),
            residuals=scaled_residuals(fit.validated),
            validated=some_predictions(fit.validated),
        )

    def of_another_size(self) -> NumberEvidence:
        """Return what holds for other trees of the path too."""
        return replace(self, estimate=None, residuals=np.empty(0), validated=np.empty((0, 2)))
