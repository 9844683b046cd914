"""A target of numbers as exact integers, so that every engine grows the same tree.

Sums of integers do not depend on the order of the rows, on parts or on threads. Numbers with few
decimals, such as prices, become integers without rounding: what is equal stays equal. Others are
rounded to a unit that is a power of two, so small that the sum of all of them has 62 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp, inf, ldexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils._pool import blocks, each
from treebound._utils.validation import invalid
from treebound.data._channels import set_channels
from treebound.data.weights import WeightTotal

# Integers of a row that are added: weight, sum and squares.
N_CHANNELS = 3
# Decimals of so many digits, below this number of units, are taken without rounding.
MAX_DIGITS, _MAX_UNITS = 6, 2.0**31
_FEW = 1000
# Bits of a sum of all rows, of one rounded number, and of the squares of all rows.
_SUM_BITS, _NUMBER_BITS, _SQUARE_BITS = 62, 50, 61


@dataclass(frozen=True)
class NumberFacts:
    """Facts about all numbers that are needed to make one of them an integer.

    Those of parts of the rows can be added, in any order.

    Attributes
    ----------
    least, greatest : float
        The range of the numbers.
    digits : int or None
        All numbers are decimals of so many digits after the point; None if there are more.
    min_weight : float
        The least weight of a row.
    """

    least: float = inf
    greatest: float = -inf
    digits: int | None = 0
    min_weight: float = inf

    @classmethod
    def of(cls, y: NDArray[np.float64], weight: NDArray[np.float64] | None = None) -> NumberFacts:
        """Of some rows, all finite, with their weights."""
        if not len(y):
            return cls()
        min_weight = 1.0 if weight is None else float(weight.min())
        return cls(float(y.min()), float(y.max()), digits_of(y), min_weight)

    def __add__(self, other: NumberFacts) -> NumberFacts:
        digits = None
        if self.digits is not None and other.digits is not None:
            digits = max(self.digits, other.digits)
        return NumberFacts(
            min(self.least, other.least),
            max(self.greatest, other.greatest),
            digits,
            min(self.min_weight, other.min_weight),
        )


def digits_of(y: NDArray[np.float64]) -> int | None:
    """The decimals that all numbers have at most; None if some have more than ``MAX_DIGITS``."""
    # a few numbers show that most targets are no decimals
    if len(y) > 2 * _FEW and digits_of(y[:_FEW]) is None:
        return None
    # a number has d digits if it is the float next to a whole number over 10^d
    rest = y
    with np.errstate(over="ignore", invalid="ignore"):
        for digits in range(MAX_DIGITS + 1):
            power = 10.0**digits
            rest = rest[np.rint(rest * power) / power != rest]
            if not len(rest):
                return digits
    return None


@dataclass(frozen=True)
class TargetScale:
    """How a number becomes an integer: its distance from a centre, in units.

    Attributes
    ----------
    centre : float
        About the middle of the range; 0 stands for it.
    unit : float
        What 1 stands for.
    most : float
        No integer of a row of weight 1 is larger.
    digits : int or None
        Numbers are decimals of so many digits, and integers are exact; None: they are rounded.
    """

    centre: float
    unit: float
    most: float
    digits: int | None

    @classmethod
    def of(cls, facts: NumberFacts, total: WeightTotal) -> TargetScale:
        """The scale of all rows of a sample."""
        weight = float(total.total) * 2.0**total.shift
        if not facts.least <= facts.greatest:
            return cls(0.0, 1.0, 0.0, 0)
        if facts.digits is not None and total.whole and total.shift == 0:
            power = 10.0**facts.digits
            low, high = round(facts.least * power), round(facts.greatest * power)
            middle = (low + high) // 2
            most = max(high - middle, middle - low)
            if max(abs(low), abs(high)) < _MAX_UNITS and most * weight < 2.0**_SUM_BITS:
                return cls(middle / power, 1.0 / power, float(most), facts.digits)
        centre = 0.5 * facts.least + 0.5 * facts.greatest
        half = max(facts.greatest - centre, centre - facts.least)
        if half == 0.0:
            return cls(centre, 1.0, 0.0, None)
        # one bit is for rounding
        bits = min(_SUM_BITS - 1 - frexp(weight)[1], _NUMBER_BITS if total.shift == 0 else inf)
        shift = min(int(bits) - frexp(half)[1], 1074)  # all floats are whole numbers of that unit
        if frexp(centre)[1] < 52 - shift:  # a whole number of units
            centre = ldexp(float(np.rint(ldexp(centre, shift))), -shift)
        return cls(centre, ldexp(1.0, -shift), ldexp(half, shift) + 1.0, None)

    @property
    def shift(self) -> int:
        """Of rounded numbers: two to this power are units of 1."""
        return 1 - frexp(self.unit)[1]

    def integers(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """The numbers of rows of weight 1 as integers, in floats."""
        if self.digits is not None:
            power = 10.0**self.digits
            return np.asarray(np.rint(y * power) - np.rint(self.centre * power))
        away = y - self.centre
        if self.shift < 1024:  # two to this power is a float: a product takes less time
            return np.asarray(np.rint(away * ldexp(1.0, self.shift)))
        return np.asarray(np.rint(np.ldexp(away, self.shift)))

    def numbers(self, integers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The numbers that integers, or means of them, stand for."""
        if self.digits is not None:
            power = 10.0**self.digits
            return np.asarray((integers + np.rint(self.centre * power)) / power)
        return self.centre + integers * self.unit


@dataclass(frozen=True)
class TargetUnits:
    """The units of sums of channels: of weights, of numbers and of their squares.

    Attributes
    ----------
    scale : TargetScale
        The number that a sum over a weight stands for.
    square_shift : int
        Squares are in units of ``2^square_shift`` squared units of the scale.
    weight_unit : float
        The weight that 1 stands for.
    """

    scale: TargetScale
    square_shift: int
    weight_unit: float

    @property
    def square_unit(self) -> float:
        """The sum of squared deviations that 1 stands for."""
        return self.scale.unit**2 * self.weight_unit

    def means(self, sums: NDArray[np.int64]) -> NDArray[np.float64]:
        """The mean of rows, from the sums of their channels, shape (n, 3) or (n, 4)."""
        return self.scale.numbers(sums[:, 1] / sums[:, 0])


@dataclass(frozen=True, eq=False)
class NumericTarget:
    """The channels of rows whose target is a number, and what they stand for.

    Made by :meth:`of`. Channels are integers that are only ever added: growing sees nothing else of
    the target.

    Attributes
    ----------
    channels : ndarray of int64, shape (n_rows, 4)
        For every row its weight w in units, s = w times its number in units, s^2 / w in units of
        ``2^square_shift``, rounded up, and 1.
    scale : TargetScale
        What a sum over a weight stands for.
    square_shift : int
        The unit of the squares.
    weight_error, row_error : float
        Four times the sum of e^2 / w, e the rounding error of s, is at most so much for each unit
        of weight and for each row; 0 for decimals. Gains that differ by no more than rounding
        explains are tied.
    weight_unit : float
        What a weight of 1 stands for.
    """

    channels: NDArray[np.int64]
    scale: TargetScale
    square_shift: int
    weight_error: float
    row_error: float
    weight_unit: float

    @classmethod
    def of(cls, y: Any, weight: NDArray[np.float64] | None = None) -> NumericTarget:
        """The target of all rows of a sample.

        Parameters
        ----------
        y : array-like of float
            A finite number for each row.
        weight : ndarray of float64, optional
            The weight of each row, positive.

        Returns
        -------
        NumericTarget

        Raises
        ------
        ValueError
            If a number is not finite.

        Examples
        --------
        >>> from treebound.data.numeric_target import NumericTarget
        >>> target = NumericTarget.of([1.25, 1.5, 3.0])
        >>> target.scale.digits, target.channels[:, 1].tolist()
        (2, [-87, -62, 88])
        """
        numbers = np.ascontiguousarray(y, dtype=np.float64)
        if numbers.ndim != 1:
            raise invalid("y", "", "one-dimensional", f"an array of {numbers.ndim} dimensions")
        finite = np.isfinite(numbers)
        if not finite.all():
            row = int((~finite).argmax())
            raise invalid("y", "", "finite numbers", f"{numbers[row]} in row {row:,}")
        total = WeightTotal.of(weight, len(numbers))
        return cls.part_of(numbers, weight, NumberFacts.of(numbers, weight), total)

    @classmethod
    def part_of(
        cls,
        y: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        facts: NumberFacts,
        total: WeightTotal,
    ) -> NumericTarget:
        """The channels of some rows of a sample, of whose rows these are facts and weight."""
        scale = TargetScale.of(facts, total)
        weights = total.integers(weight, len(y))
        exact_weights = total.shift == 0  # then s is the weight times an integer
        if exact_weights or weights is None:
            values = scale.integers(y)
        else:
            values = np.rint(np.ldexp(y - scale.centre, scale.shift) * weights)
        # the squares of all rows are at most those of the largest number with the whole weight
        all_squares = scale.most**2 * float(total.total) * 2.0**total.shift
        shift = max(0, frexp(all_squares)[1] - _SQUARE_BITS)
        channels = np.empty((len(y), N_CHANNELS + 1), dtype=np.int64)

        def fill(ends: tuple[int, int]) -> None:
            some = slice(*ends)
            of_rows = None if weights is None else weights[some]
            set_channels(channels[some], values[some], of_rows, exact_weights, shift)

        each(fill, blocks(*channels.shape))
        rounded = scale.digits is None and scale.most > 0.0
        lightest = max(1.0, float(np.rint(np.ldexp(facts.min_weight, total.shift))))
        return cls(
            channels,
            scale,
            shift,
            1.0 if rounded and exact_weights else 0.0,
            0.0 if exact_weights else 1.0 / lightest,
            total.unit,
        )

    @property
    def units(self) -> TargetUnits:
        """The units of sums of channels."""
        return TargetUnits(self.scale, self.square_shift, self.weight_unit)

    @property
    def weighted(self) -> bool:
        """Some row has another weight than 1."""
        return self.weight_unit != 1.0 or not bool((self.channels[:, 0] == 1).all())
