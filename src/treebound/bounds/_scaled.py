"""Positive numbers of any magnitude, as arrays: a mantissa and a power of two.

The mantissa is in [1/2, 1), or 0. In a function of the sample size entry ``m`` belongs to ``m``
examples; entry 0 is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
LN2 = log(2)
# Half a unit in the last place of 1: the relative error of one operation.
ROUNDING = 2.0**-53
# The power of two of zero: below that of any other number.
NOTHING = -(1 << 40)


def log_above(mantissa: float, power: int, operations: float = 0) -> float:
    """``ln(mantissa * 2**power)``, never rounded below it after so many operations."""
    if mantissa == 0.0:
        return -inf
    value = log(mantissa) + power * LN2
    return value + ROUNDING * (4.0 * abs(value) + operations + 4)


def logs_above(
    mantissa: FloatArray, power: NDArray[np.int64], operations: NDArray[np.floating[Any]] | int = 0
) -> FloatArray:
    """:func:`log_above` for arrays."""
    nothing = mantissa == 0.0
    logs: FloatArray = np.log(np.where(nothing, 1.0, mantissa)) + power * LN2
    logs += ROUNDING * (4.0 * np.abs(logs) + operations + 4)
    logs[nothing] = -inf
    return logs


@dataclass(eq=False, slots=True)
class Scaled:
    """``mantissa * 2**power``, entry by entry; the last axis is the sample size."""

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
    def zeros(cls, *shape: int) -> Scaled:
        """Zeros."""
        return cls(np.zeros(shape), np.full(shape, NOTHING, dtype=np.int64))

    @classmethod
    def stack(cls, functions: Sequence[Scaled]) -> Scaled:
        """Several functions, a row each."""
        mantissas, powers = zip(*(function.arrays for function in functions), strict=True)
        return cls(np.array(mantissas), np.array(powers))

    @classmethod
    def constant(cls, value: float, count: int) -> Scaled:
        """``value`` for every sample size below ``count``."""
        return cls.of(np.full(count, value))

    @classmethod
    def powers(cls, base: int, count: int) -> Scaled:
        """``base**m``."""
        result = cls.zeros(count)
        fraction, exponent = 0.5, 1
        for m in range(count):
            result.mantissa[m], result.power[m] = fraction, exponent
            fraction, more = np.frexp(fraction * base)
            exponent += int(more)
        return result

    @classmethod
    def of_integers(cls, values: Sequence[int]) -> Scaled:
        """Exact integers of any size, to the nearest double."""
        shifts = [max(0, value.bit_length() - 64) for value in values]
        tops = [float(value >> shift) for value, shift in zip(values, shifts, strict=True)]
        return cls.of(np.array(tops), np.array(shifts, dtype=np.int64))

    @property
    def arrays(self) -> tuple[FloatArray, NDArray[np.int64]]:
        """Both arrays, as the kernels take them."""
        return self.mantissa, self.power

    def __len__(self) -> int:
        return len(self.mantissa)

    def __getitem__(self, at: Any) -> Scaled:
        return Scaled(self.mantissa[at], self.power[at])

    def __setitem__(self, at: Any, other: Scaled) -> None:
        self.mantissa[at], self.power[at] = other.arrays

    def copy(self) -> Scaled:
        """The same numbers, to be changed."""
        return Scaled(self.mantissa.copy(), self.power.copy())

    def __mul__(self, other: Scaled | NDArray[np.floating[Any]] | float) -> Scaled:
        if isinstance(other, Scaled):
            return Scaled.of(self.mantissa * other.mantissa, self.power + other.power)
        return Scaled.of(self.mantissa * other, self.power)

    def __add__(self, other: Scaled) -> Scaled:
        power = np.maximum(self.power, other.power)
        return Scaled.of(_shifted(self, power) + _shifted(other, power), power)

    def minus(self, value: float) -> Scaled:
        """Each entry minus ``value``, which must not exceed it."""
        total = self.mantissa - _shifted(Scaled.constant(value, 1), self.power)
        return Scaled.of(np.maximum(total, 0.0), self.power)

    def sums(self, starts: NDArray[np.int64]) -> Scaled:
        """Sums of successive functions, each from one of ``starts`` to the next."""
        power = np.maximum.reduceat(self.power, starts, axis=0)
        counts = np.diff(starts, append=len(self.power))
        total = np.add.reduceat(_shifted(self, np.repeat(power, counts, axis=0)), starts, axis=0)
        return Scaled.of(total, power)

    def raised(self, operations: NDArray[np.floating[Any]] | float) -> Scaled:
        """Whole numbers, raised above the errors of so many operations where they exceed 2**53."""
        return self * np.where(self.power > 53, 1.0 + ROUNDING * (operations + 4), 1.0)

    def less_than(self, other: Scaled) -> NDArray[np.bool_]:
        """Where this is smaller."""
        same = self.power == other.power
        return np.where(same, self.mantissa < other.mantissa, self.power < other.power)

    def least(self, other: Scaled) -> Scaled:
        """The smaller of both, entry by entry."""
        return self._chosen(other, self.less_than(other))

    def most(self, other: Scaled) -> Scaled:
        """The larger of both, entry by entry."""
        return other._chosen(self, self.less_than(other))

    def _chosen(self, other: Scaled, here: NDArray[np.bool_]) -> Scaled:
        mantissa = np.where(here, self.mantissa, other.mantissa)
        return Scaled(mantissa, np.where(here, self.power, other.power))


def _shifted(numbers: Scaled, power: NDArray[np.int64]) -> FloatArray:
    """Mantissas as they stand at a larger power of two."""
    by = np.maximum(numbers.power - power, -1100).astype(np.int32)
    shifted: FloatArray = np.ldexp(numbers.mantissa, by)
    return shifted


ONE = Scaled.constant(1.0, 1)
TWO = Scaled.constant(2.0, 1)
