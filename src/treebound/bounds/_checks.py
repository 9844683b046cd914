"""Checks of arguments, with one wording for all functions of this package."""

from __future__ import annotations

from treebound._validation import as_int
from treebound.landscape import Landscape
from treebound.shapes import TreeShape

# Products of three such numbers are in the range of a double.
_LARGEST = 10**100


def check_int(name: str, value: object, where: str, *, least: int = 1) -> int:
    """``value`` as an int of at least ``least``, or a ValueError that names the argument."""
    return as_int(name, where, value, least)


def check_size(name: str, value: object, where: str) -> int:
    """``value`` as an int from 1 to 10**100, or a ValueError that names the argument."""
    return check_at_most(name, value, where, _LARGEST, "10**100")


def check_at_most(
    name: str, value: object, where: str, most: int, written: str | None = None
) -> int:
    """``value`` as an int from 1 to ``most``, or a ValueError that names the argument."""
    number = check_int(name, value, where)
    if number > most:
        # Python writes no int of over 4,300 digits.
        digits = int(number.bit_length() * 0.30103) + 1
        shown = repr(number) if digits < 20 else f"an int of about {digits} digits"
        raise ValueError(
            f"The {name!r} parameter of {where} must be an int from 1 to {written or f'{most:,}'}. "
            f"Got {shown} instead."
        )
    return number


def check_shape(shape: object, where: str) -> TreeShape:
    """``shape`` itself, or a TypeError that says how to make one."""
    if not isinstance(shape, TreeShape):
        raise TypeError(
            f"The 'shape' parameter of {where} must be a TreeShape. Got {shape!r} instead. "
            "Hint: TreeShape.parse('((..).)') reads one."
        )
    return shape


def check_landscape(landscape: object, where: str) -> Landscape:
    """``landscape`` itself, or a TypeError that says how to make one."""
    if not isinstance(landscape, Landscape):
        raise TypeError(
            f"The 'landscape' parameter of {where} must be a Landscape. Got {landscape!r} instead. "
            "Hint: Landscape(real=10) has ten real features."
        )
    return landscape
