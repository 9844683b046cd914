"""Sums of squares by which predictions of numbers are scored, of parts of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import sum_of_products


@dataclass(frozen=True)
class NumberErrors:
    """Sums over some rows; those of parts of the rows can be added."""

    weight: float = 0.0
    mean: float = 0.0  # of their numbers
    squares: float = 0.0  # sum of squared deviations from it
    errors: float = 0.0  # sum of the squared errors of their predictions

    @classmethod
    def of(
        cls,
        y: NDArray[np.float64],
        predictions: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
    ) -> NumberErrors:
        """Of rows with their predictions."""
        w = np.ones(len(y)) if weight is None else weight
        total = float(w.sum())
        if not total:
            return cls()
        mean = sum_of_products(w, y) / total
        squares, losses = ((y - away) ** 2 for away in (mean, predictions))
        return cls(total, mean, sum_of_products(w, squares), sum_of_products(w, losses))

    def __add__(self, other: NumberErrors) -> NumberErrors:
        weight = self.weight + other.weight
        if not weight:
            return self
        share = other.weight / weight
        between = (other.mean - self.mean) ** 2 * self.weight * share
        return NumberErrors(
            weight,
            self.mean + (other.mean - self.mean) * share,
            self.squares + other.squares + between,
            self.errors + other.errors,
        )

    @property
    def r2(self) -> float:
        """The share of the variance that predictions explain, as scikit-learn defines it."""
        if self.squares > 0.0:
            return 1.0 - self.errors / self.squares
        return 1.0 if self.errors == 0.0 else 0.0
