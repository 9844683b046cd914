"""Positive numbers of any magnitude, as arrays: a mantissa and a power of two.

The mantissa is in [1/2, 1), or 0. In a function of the sample size entry ``m`` belongs to ``m``
examples; entry 0 is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
LN2 = log(2)
# Half a unit in the last place of 1: the relative error of one operation.
ROUNDING = 2.0**-53
# The power of two of zero: below that of any other number.
NOTHING = -(1 << 40)


def log_above(mantissa: float, power: int, operations: float = 0) -> float:
    """Natural logarithm of ``mantissa * 2**power``, never rounded below it.

    ``operations`` is how many operations, each with an error of one rounding, made the number.
    """
    if mantissa == 0.0:
        return -inf
    value = log(mantissa) + power * LN2
    return value + ROUNDING * (4.0 * abs(value) + operations + 4)


def logs_above(
    mantissa: FloatArray, power: NDArray[np.int64], operations: NDArray[np.floating[Any]] | int = 0
) -> FloatArray:
    """The same for arrays."""
    nothing = mantissa == 0.0
    logs: FloatArray = np.log(np.where(nothing, 1.0, mantissa)) + power * LN2
    logs += ROUNDING * (4.0 * np.abs(logs) + operations + 4)
    logs[nothing] = -inf
    return logs


class Scaled(NamedTuple):
    """``mantissa * 2**power``, entry by entry."""

    mantissa: FloatArray
    power: NDArray[np.int64]

    @classmethod
    def of(cls, mantissa: FloatArray, power: NDArray[np.int64] | int = 0) -> Scaled:
        """The same numbers with the mantissa in range."""
        fraction, more = np.frexp(mantissa)
        total = more.astype(np.int64) + power
        total[fraction == 0] = NOTHING
        return cls(fraction, total)

    @classmethod
    def empty(cls, count: int) -> Scaled:
        """Room for ``count`` numbers."""
        return cls(np.empty(count), np.empty(count, dtype=np.int64))

    @classmethod
    def zeros(cls, *shape: int) -> Scaled:
        """Zeros."""
        return cls(np.zeros(shape), np.full(shape, NOTHING, dtype=np.int64))

    @classmethod
    def stack(cls, functions: Sequence[Scaled]) -> Scaled:
        """Several functions, a row each."""
        return cls(
            np.array([function.mantissa for function in functions]),
            np.array([function.power for function in functions]),
        )

    @classmethod
    def constant(cls, value: float, count: int) -> Scaled:
        """``value`` for every sample size below ``count``."""
        return cls.of(np.full(count, value))

    @classmethod
    def powers(cls, base: int, count: int) -> Scaled:
        """``base**m``."""
        mantissa, power = np.empty(count), np.empty(count, dtype=np.int64)
        fraction, exponent = 0.5, 1
        for m in range(count):
            mantissa[m], power[m] = fraction, exponent
            fraction, more = np.frexp(fraction * base)
            exponent += int(more)
        return cls(mantissa, power)

    @classmethod
    def of_integers(cls, values: Sequence[int]) -> Scaled:
        """Exact integers of any size, to the nearest double."""
        shifts = [max(0, value.bit_length() - 64) for value in values]
        tops = [float(value >> shift) for value, shift in zip(values, shifts, strict=True)]
        return cls.of(np.array(tops), np.array(shifts, dtype=np.int64))

    def log(self, m: int) -> float:
        """Natural logarithm of one entry."""
        return log_above(float(self.mantissa[m]), int(self.power[m]))

    def logs(self) -> FloatArray:
        """Natural logarithms; -inf for zero."""
        return logs_above(self.mantissa, self.power)

    def at(self, sizes: NDArray[np.int64]) -> Scaled:
        """The entries of other sample sizes."""
        return Scaled(self.mantissa[..., sizes], self.power[..., sizes])

    def row(self, at: int | list[int] | NDArray[np.int64]) -> Scaled:
        """One function of several, or some of them."""
        return Scaled(self.mantissa[at], self.power[at])

    def put(self, where: slice, other: Scaled) -> None:
        """Replace the entries of some sample sizes, in place."""
        self.mantissa[..., where], self.power[..., where] = other

    def times(self, other: Scaled | NDArray[np.floating[Any]] | float) -> Scaled:
        """Product, entry by entry."""
        if isinstance(other, Scaled):
            return Scaled.of(self.mantissa * other.mantissa, self.power + other.power)
        return Scaled.of(self.mantissa * other, self.power)

    def plus(self, other: Scaled) -> Scaled:
        """Sum, entry by entry."""
        power = np.maximum(self.power, other.power)
        total = _shifted(self, power) + _shifted(other, power)
        return Scaled.of(total, power)

    def sums(self, starts: NDArray[np.int64]) -> Scaled:
        """Sums of successive functions, each from one of ``starts`` to the next."""
        power = np.maximum.reduceat(self.power, starts, axis=0)
        counts = np.diff(starts, append=len(self.power))
        total = np.add.reduceat(_shifted(self, np.repeat(power, counts, axis=0)), starts, axis=0)
        return Scaled.of(total, power)

    def minus(self, value: float) -> Scaled:
        """Each entry minus ``value``, which must not exceed it."""
        constant = Scaled.constant(value, 1)
        total = self.mantissa - _shifted(constant, self.power)
        return Scaled.of(np.maximum(total, 0.0), self.power)

    def raised(self, operations: NDArray[np.floating[Any]] | float) -> Scaled:
        """Whole numbers, raised above their rounding errors where they exceed 2**53.

        ``operations`` is how many operations, each with an error of one rounding, made them.
        """
        return self.times(np.where(self.power > 53, 1.0 + ROUNDING * (operations + 4), 1.0))

    def less_than(self, other: Scaled) -> NDArray[np.bool_]:
        """Where this is smaller."""
        same = self.power == other.power
        return np.where(same, self.mantissa < other.mantissa, self.power < other.power)

    def least(self, other: Scaled) -> Scaled:
        """The smaller of both, entry by entry."""
        here = self.less_than(other)
        return Scaled(
            np.where(here, self.mantissa, other.mantissa), np.where(here, self.power, other.power)
        )

    def most(self, other: Scaled) -> Scaled:
        """The larger of both, entry by entry."""
        here = self.less_than(other)
        return Scaled(
            np.where(here, other.mantissa, self.mantissa), np.where(here, other.power, self.power)
        )


def alone(left: Scaled, right: Scaled, n: float, count: int) -> Scaled:
    """What splits that isolate one example weigh, both directions, by sample size."""
    rest = np.maximum(np.arange(count) - 1, 1)
    single = np.ones(count, dtype=np.int64)
    low, high = left.at(single).times(right.at(rest)), left.at(rest).times(right.at(single))
    return low.minus(n).plus(high.minus(n))


def _shifted(numbers: Scaled, power: NDArray[np.int64]) -> FloatArray:
    """Mantissas as they stand at a larger power of two."""
    by = np.maximum(numbers.power - power, -1100).astype(np.int32)
    shifted: FloatArray = np.ldexp(numbers.mantissa, by)
    return shifted
