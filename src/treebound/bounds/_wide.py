"""Positive numbers of any magnitude as functions of the sample size: a mantissa, a power of two.

Entry ``m`` belongs to sample size ``m``; entry 0 is not used. The mantissa is in [1/2, 1), or 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Wide"]

FloatArray = NDArray[np.float64]
# The power of two of zero: below that of any other number.
NOTHING = -(1 << 40)


class Wide(NamedTuple):
    """``mantissa * 2**power``, entry by entry."""

    mantissa: FloatArray
    power: NDArray[np.int64]

    @classmethod
    def of(cls, mantissa: FloatArray, power: NDArray[np.int64] | int = 0) -> Wide:
        """The same numbers with the mantissa in range."""
        fraction, more = np.frexp(mantissa)
        total = more + np.asarray(power, dtype=np.int64)
        total[fraction == 0] = NOTHING
        return cls(fraction, total)

    @classmethod
    def constant(cls, value: float, count: int) -> Wide:
        """``value`` for every sample size below ``count``."""
        return cls.of(np.full(count, value))

    @classmethod
    def powers(cls, base: int, count: int) -> Wide:
        """``base**m``."""
        mantissa, power = np.empty(count), np.empty(count, dtype=np.int64)
        fraction, exponent = 0.5, 1
        for m in range(count):
            mantissa[m], power[m] = fraction, exponent
            fraction, more = np.frexp(fraction * base)
            exponent += int(more)
        return cls(mantissa, power)

    @classmethod
    def of_integers(cls, values: Sequence[int]) -> Wide:
        """Exact integers of any size, to the nearest double."""
        shifts = [max(0, value.bit_length() - 64) for value in values]
        tops = [float(value >> shift) for value, shift in zip(values, shifts, strict=True)]
        return cls.of(np.array(tops), np.array(shifts, dtype=np.int64))

    def log(self, m: int) -> float:
        """Natural logarithm of one entry."""
        return log(self.mantissa[m]) + int(self.power[m]) * log(2)

    def at(self, sizes: NDArray[np.int64]) -> Wide:
        """The entries of other sample sizes."""
        return Wide(self.mantissa[sizes], self.power[sizes])

    def times(self, other: Wide | FloatArray | float) -> Wide:
        """Product, entry by entry."""
        if isinstance(other, Wide):
            return Wide.of(self.mantissa * other.mantissa, self.power + other.power)
        return Wide.of(self.mantissa * other, self.power)

    def plus(self, other: Wide) -> Wide:
        """Sum, entry by entry."""
        power = np.maximum(self.power, other.power)
        total = _shifted(self, power) + _shifted(other, power)
        return Wide.of(total, power)

    def minus(self, value: float) -> Wide:
        """Each entry less ``value``, which must not exceed it."""
        constant = Wide.constant(value, 1)
        total = self.mantissa - _shifted(constant, self.power)
        return Wide.of(np.maximum(total, 0.0), self.power)

    def less_than(self, other: Wide) -> NDArray[np.bool_]:
        """Where this is smaller."""
        same = self.power == other.power
        return np.where(same, self.mantissa < other.mantissa, self.power < other.power)

    def least(self, other: Wide) -> Wide:
        """The smaller of both, entry by entry."""
        here = self.less_than(other)
        return Wide(
            np.where(here, self.mantissa, other.mantissa), np.where(here, self.power, other.power)
        )

    def most(self, other: Wide) -> Wide:
        """The larger of both, entry by entry."""
        here = self.less_than(other)
        return Wide(
            np.where(here, other.mantissa, self.mantissa), np.where(here, other.power, self.power)
        )


def _shifted(one: Wide, power: NDArray[np.int64]) -> FloatArray:
    """Mantissas as they stand at a larger power of two."""
    by = np.maximum(one.power - power, -1100).astype(np.int32)
    return np.ldexp(one.mantissa, by)
