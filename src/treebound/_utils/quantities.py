"""Numbers of a regression target as text for people."""

from __future__ import annotations

import math
from typing import NamedTuple

# Other numbers are written with an exponent.
_MIN, _MAX = 1e-4, 1e15


def quantity(
    value: float, digits: int = 4, scale: float | None = None, *, upwards: bool = False
) -> str:
    """Format a number with commas, such as ``63,037`` or ``0.0123``.

    There are no trailing zeros, and no exponent from 1e-4 to 1e15. All digits before the point are
    written.

    Parameters
    ----------
    value : float
        The number.
    digits : int
        Number of significant digits, if there are not more before the point.
    scale : float, optional
        The number that ``digits`` counts for, such as a standard deviation; by default the value.
    upwards : bool
        Round up instead of to the nearest number, for upper bounds.
    """
    value = float(value)
    if not math.isfinite(value) or value == 0.0:
        return f"{value:g}".removeprefix("-" if value == 0.0 else "")
    size = abs(value) if scale is None or not 0.0 < scale < math.inf else float(scale)
    decimals = digits - 1 - math.floor(math.log10(size))
    decimals = min(decimals, 14 - math.floor(math.log10(abs(value))))
    if upwards:
        value = _rounded_up(value, decimals if abs(value) < _MIN else max(0, decimals))
    if not _MIN <= abs(value) < _MAX:
        significant = decimals + math.floor(math.log10(abs(value))) + 1
        if significant <= 0:
            return "0"
        mantissa, exponent = f"{value:.{significant - 1}e}".split("e")
        return f"{_without_zeros(mantissa)}e{exponent}"
    text = _without_zeros(f"{value:,.{max(0, decimals)}f}")
    return "0" if text == "-0" else text


def _without_zeros(text: str) -> str:
    """Return a number without zeros at the end of its decimals."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def _rounded_up(value: float, decimals: int) -> float:
    """Return the least number with so many decimals that is not smaller, but for rounding."""
    if decimals > 300 or decimals < -300:
        return value
    power = 10.0 ** abs(decimals)
    if decimals < 0:
        return math.ceil(value / power - 1e-9) * power
    return math.ceil(value * power - 1e-9) / power


class EstimatedFigure(NamedTuple):
    """An estimated figure and its standard error."""

    value: float
    standard_error: float

    def __str__(self) -> str:
        return f"{quantity(self.value)} ± {quantity(self.standard_error, 2)}"
