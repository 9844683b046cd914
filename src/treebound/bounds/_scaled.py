"""Positive numbers of any magnitude, as arrays: a mantissa and a power of two.

The mantissa is in [1/2, 1), or 0. In a function of the sample size entry ``m`` belongs to ``m``
examples; entry 0 is not used. The kernels compute with them (:mod:`treebound.bounds._sums`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats

NUMBER = np.dtype([("mantissa", np.float64), ("power", np.int64)])
Numbers = NDArray[np.void]
"""An array of ``NUMBER``; the last axis is the sample size."""

LN2 = log(2)
# Half a unit in the last place of 1: the relative error of one operation.
ROUNDING = 2.0**-53
# The power of two of zero: below that of any other number.
NOTHING = -(1 << 40)


def zeros(*shape: int) -> Numbers:
    """Zeros."""
    return np.full(shape, np.array((0.0, NOTHING), NUMBER))


def constant(value: float, count: int) -> Numbers:
    """``value`` for every sample size below ``count``."""
    return np.full(count, np.array(np.frexp(value), NUMBER)[()])


def of_integers(values: Sequence[int]) -> Numbers:
    """Exact integers of any size, rounded up to doubles."""
    shifts = [max(0, value.bit_length() - 53) for value in values]
    tops = [-(-value >> shift) for value, shift in zip(values, shifts, strict=True)]
    mantissa, power = np.frexp(np.array(tops, dtype=np.float64))
    numbers = np.empty(len(values), NUMBER)
    numbers["mantissa"] = mantissa
    numbers["power"] = np.where(mantissa == 0.0, NOTHING, power + np.array(shifts, dtype=np.int64))
    return numbers


def log_above(mantissa: float, power: int, operations: float = 0) -> float:
    """``ln(mantissa * 2**power)``, never rounded below it after so many operations."""
    if mantissa == 0.0:
        return -inf
    value = log(mantissa) + power * LN2
    return value + ROUNDING * (4.0 * abs(value) + operations + 4)


def logs_above(
    mantissa: Floats, power: NDArray[np.int64], operations: NDArray[np.floating[Any]] | int = 0
) -> Floats:
    """:func:`log_above` for arrays."""
    nothing = mantissa == 0.0
    logs: Floats = np.log(np.where(nothing, 1.0, mantissa)) + power * LN2
    logs += ROUNDING * (4.0 * np.abs(logs) + operations + 4)
    logs[nothing] = -inf
    return logs
