"""Estimated errors of a regression tree on new rows, from validation rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treebound._utils.arrays import Floats, sum_of_products
from treebound._utils.quantities import EstimatedFigure, quantity
from treebound.pruning.number_pruner import Validated

# Scaled residuals that a model keeps.
_MAX_RESIDUALS = 10_000
# Skewness of the squared errors, over the square root of the rows, of heavy tails; 0.23 and less
# with 100 rows and normal errors.
_HEAVY_TAILED = 0.4
_HEAVY = (
    " A few rows have most of the squared error: the RMSE on new rows may be further off than the "
    "standard error shows."
)
# Rows of a plot of residuals.
_MAX_PLOTTED = 500


@dataclass(frozen=True)
class NumberEstimate:
    """Errors on rows that trees were not grown on.

    They are estimates, and a little too small: the same rows chose the size of the tree. Each row
    counts once, as in the estimate of a classifier, unless its weight is a whole number, which
    stands for repeated rows.

    The standard errors of the RMSE and of R2 are widened by ``1 + 2 g / sqrt(n)``, with g the
    skewness of the squared errors and n the number of rows. In simulations with 100 to 10,000 rows
    the RMSE was within two of them of its true value in 96 to 99 % of the draws for normal and
    Laplace errors, 89 to 91 % for t errors with three degrees of freedom (without widening, 73 to
    80 %), and 76 to 78 % with 2.5 degrees: if a few rows have most of the squared error, no
    standard error shows how large other errors may be, and ``heavy_tailed`` is true.

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
    heavy_tailed : bool
        A few rows have most of the squared error.
    """

    rmse: EstimatedFigure
    mae: EstimatedFigure
    r2: EstimatedFigure
    baseline_rmse: float
    baseline_mae: float
    rows: int
    by: str
    heavy_tailed: bool = False

    @classmethod
    def of(cls, rows: Validated, by: str) -> NumberEstimate:
        """Summarise the errors of validation rows."""
        errors, baseline = np.abs(rows.y - rows.prediction), np.abs(rows.y - rows.baseline)
        squares, base = _mean(errors**2, rows), _mean(baseline**2, rows)
        rmse = np.sqrt(squares.value)
        ratio = squares.value / base.value if base.value > 0.0 else np.nan
        # the delta method, for a ratio of two means over the same rows
        explained = errors**2 - ratio * baseline**2
        share = _mean(explained, rows).standard_error * (1.0 + 2.0 * _skewness(explained, rows))
        skewness = _skewness(errors**2, rows)
        error = squares.standard_error * (1.0 + 2.0 * skewness)
        return cls(
            EstimatedFigure(rmse, error / (2.0 * rmse) if rmse > 0.0 else 0.0),
            _mean(errors, rows),
            EstimatedFigure(1.0 - ratio, share / base.value if base.value > 0.0 else np.nan),
            float(np.sqrt(base.value)),
            _mean(baseline, rows).value,
            len(rows.y),
            by,
            skewness > _HEAVY_TAILED,
        )

    def __str__(self) -> str:
        name = self.by.capitalize()
        return (
            f"{name} RMSE {self.rmse} (baseline {quantity(self.baseline_rmse)}, always the mean), "
            f"mean absolute error {self.mae} (baseline {quantity(self.baseline_mae)}), "
            f"R2 {self.r2}." + _HEAVY * self.heavy_tailed
        )


def _mean(values: Floats, rows: Validated) -> EstimatedFigure:
    """Return a weighted mean and its standard error; rows of a group are not independent."""
    total = float(rows.weight.sum())
    mean = sum_of_products(values, rows.weight) / total
    if rows.groups is None:
        squares = sum_of_products(rows.weight, (values - mean) ** 2)
    else:
        labels, group = np.unique(rows.groups, return_inverse=True)
        squares = float((np.bincount(group, rows.weight * (values - mean)) ** 2).sum())
        squares *= len(labels) / max(len(labels) - 1, 1)  # groups may be few
    return EstimatedFigure(mean, float(np.sqrt(squares)) / total)


def _skewness(values: Floats, rows: Validated) -> float:
    """Return the absolute skewness of values over the square root of their number, below 1."""
    total = float(rows.weight.sum())
    away, weight = values - sum_of_products(values, rows.weight) / total, rows.weight
    if rows.groups is not None:
        group = np.unique(rows.groups, return_inverse=True)[1]
        away = np.bincount(group, weight * away).astype(np.float64)
        weight = np.ones(len(away))
    scale = float(np.abs(away).max(initial=0.0))
    if scale == 0.0:
        return 0.0
    away = away / scale  # third powers of large numbers may not be finite
    cubes, squares = (sum_of_products(weight, away**power) for power in (3, 2))
    return float(abs(cubes) / squares**1.5)


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
