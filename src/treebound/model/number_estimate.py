"""Estimated errors of a regression tree on new rows, from validation rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound.pruning.number_pruner import Validated

Floats = NDArray[np.float64]
# Scaled residuals that a model keeps.
_MAX_RESIDUALS = 10_000
# Rows of a plot of residuals.
_MAX_PLOTTED = 500


class EstimatedFigure(NamedTuple):
    """An estimated figure and its standard error."""

    value: float
    standard_error: float

    def __str__(self) -> str:
        return f"{self.value:.4g} ± {self.standard_error:.2g}"


@dataclass(frozen=True)
class NumberEstimate:
    """Errors on rows that trees were not grown on.

    They are estimates, and a little too small: the same rows chose the size of the tree. Rows count
    by their weights, in the errors as in the choice; those of a classifier count once, unless their
    weights are whole. If a few rows have most of the squared error, the standard error of the RMSE
    is too small: so few rows do not show how large errors can be.

    Attributes
    ----------
    rmse, mae, r2 : EstimatedFigure
        Root mean squared error, mean absolute error, and one minus the ratio of the squared error
        to that of the training mean.
    baseline_rmse, baseline_mae : float
        Errors of the training mean.
    rows : int
        Number of validation rows.
    by : {"cross-validated", "validated"}
        By folds, or on validation rows.
    """

    rmse: EstimatedFigure
    mae: EstimatedFigure
    r2: EstimatedFigure
    baseline_rmse: float
    baseline_mae: float
    rows: int
    by: str

    @classmethod
    def of(cls, rows: Validated, by: str) -> NumberEstimate:
        """Summarise the errors of validation rows."""
        errors, baseline = np.abs(rows.y - rows.prediction), np.abs(rows.y - rows.baseline)
        squares, base = _mean(errors**2, rows), _mean(baseline**2, rows)
        rmse = np.sqrt(squares.value)
        ratio = squares.value / base.value if base.value > 0.0 else np.nan
        # the delta method, for a ratio of two means over the same rows
        share = _mean(errors**2 - ratio * baseline**2, rows).standard_error
        return cls(
            EstimatedFigure(rmse, squares.standard_error / (2.0 * rmse) if rmse > 0.0 else 0.0),
            _mean(errors, rows),
            EstimatedFigure(1.0 - ratio, share / base.value if base.value > 0.0 else np.nan),
            float(np.sqrt(base.value)),
            _mean(baseline, rows).value,
            len(rows.y),
            by,
        )

    def __str__(self) -> str:
        name = self.by.capitalize()
        return (
            f"{name} RMSE {self.rmse} (baseline {self.baseline_rmse:.4g}, always the mean), "
            f"mean absolute error {self.mae} (baseline {self.baseline_mae:.4g}), R2 {self.r2}."
        )


def _mean(values: Floats, rows: Validated) -> EstimatedFigure:
    """Return a weighted mean and its standard error; rows of a group are not independent."""
    total = float(rows.weight.sum())
    mean = float(values @ rows.weight) / total
    if rows.groups is None:
        squares = float(rows.square_weight @ (values - mean) ** 2)
    else:
        group = np.unique(rows.groups, return_inverse=True)[1]
        squares = float((np.bincount(group, rows.weight * (values - mean)) ** 2).sum())
    return EstimatedFigure(mean, float(np.sqrt(squares)) / total)


def scaled_residuals(rows: Validated) -> Floats:
    """Return the sorted residuals of validation rows, each divided by the spread of its leaf.

    Of very many rows about every k-th is kept.
    """
    scaled = np.abs(rows.y - rows.prediction) / rows.spread
    order = np.argsort(scaled, kind="stable")
    share = rows.weight[order].cumsum() / rows.weight.sum()
    n = min(len(scaled), _MAX_RESIDUALS)
    # the i-th of n has a share (i + 1) / n of the weight at or below it
    at = np.searchsorted(share, np.arange(1, n + 1) / n * (1.0 - 1e-12))
    return np.asarray(scaled[order][at])


def some_predictions(rows: Validated) -> Floats:
    """Return prediction and number of validation rows, by prediction; of many every k-th."""
    pairs = np.column_stack([rows.prediction, rows.y])[np.lexsort((rows.y, rows.prediction))]
    at = np.linspace(0, len(pairs) - 1, min(len(pairs), _MAX_PLOTTED)).round().astype(np.intp)
    return np.asarray(pairs[at])


def quantile(scaled: Floats, coverage: float) -> float:
    """Return the scaled residual that a new row exceeds with probability ``1 - coverage``.

    The rank of split conformal prediction; the largest one if there are too few rows.
    """
    rank = int(np.ceil(coverage * (len(scaled) + 1))) - 1
    return float(scaled[min(rank, len(scaled) - 1)])
