"""Weights as integers: so sums over rows are exact, in any order and any partition of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from treebound.data.weights import exact_sum

__all__ = ["WeightTotal"]

# Weights that are not integers are scaled to integers of this sum: as many bits as a float has.
_BITS = 52


@dataclass(frozen=True)
class WeightTotal:
    """What must be known of all weights before one of them can be made an integer.

    Those of parts of the rows can be added.
    """

    total: Fraction = Fraction(0)  # the sum of the weights
    ones: bool = True  # whether every weight is one, and whether every weight is an integer
    whole: bool = True  # whether every weight is one, and whether every weight is an integer

    @classmethod
    def of(cls, weight: NDArray[np.float64] | None, rows: int) -> WeightTotal:
        """Of some rows; None where each counts once."""
        if weight is None or bool((weight == 1.0).all()):
            return cls(Fraction(rows))
        return cls(exact_sum(weight), False, bool((weight == np.rint(weight)).all()))

    def __add__(self, other: WeightTotal) -> WeightTotal:
        return WeightTotal(
            self.total + other.total, self.ones and other.ones, self.whole and other.whole
        )

    @property
    def shift(self) -> int:
        """Weights are multiplied by two to this power."""
        if self.whole and self.total <= 2**_BITS:
            return 0
        floor = self.total.numerator.bit_length() - self.total.denominator.bit_length()
        floor -= self.total < Fraction(2) ** floor
        return _BITS - 1 - floor

    @property
    def unit(self) -> float:
        """What an integer of one stands for."""
        return float(np.ldexp(1.0, -self.shift))

    def integers(self, weight: NDArray[np.float64] | None, rows: int) -> NDArray[np.int64] | None:
        """The weights of some of the rows as integers; None where every weight is one."""
        if self.ones:
            return None
        scaled = np.rint(np.ldexp(np.ones(rows) if weight is None else weight, self.shift))
        return np.maximum(scaled, 1.0).astype(np.int64)
