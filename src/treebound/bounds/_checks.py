"""Checks of arguments, with one wording for all functions of this package."""

from __future__ import annotations

from typing import TypeVar

from treebound._utils.validation import InWords, as_int, invalid
from treebound.landscape import Landscape
from treebound.shapes import TreeShape

T = TypeVar("T")
# Products of three such numbers are in the range of a double.
_LARGEST = 10**100


def check_size(name: str, value: object, where: str, most: int = _LARGEST) -> int:
    """``value`` as an int from 1 to ``most``, or a ValueError that names the argument."""
    number = as_int(name, where, value, 1)
    if number > most:
        # Python writes no int of over 4,300 digits.
        digits = int(number.bit_length() * 0.30103) + 1
        shown = number if digits < 20 else InWords(f"an int of about {digits} digits")
        limit = "10**100" if most == _LARGEST else f"{most:,}"
        raise invalid(name, where, f"an int from 1 to {limit}", shown)
    return number


def check_shape(shape: object, where: str) -> TreeShape:
    """Return ``shape`` itself, or raise a TypeError that explains how to make one."""
    return _of_type("shape", shape, TreeShape, where, "TreeShape.parse('((..).)') reads one.")


def check_landscape(landscape: object, where: str) -> Landscape:
    """Return ``landscape`` itself, or raise a TypeError that explains how to make one."""
    hint = "Landscape(real=10) has ten real features."
    return _of_type("landscape", landscape, Landscape, where, hint)


def _of_type(name: str, value: object, kind: type[T], where: str, hint: str) -> T:
    if isinstance(value, kind):
        return value
    raise TypeError(str(invalid(name, where, f"a {kind.__name__}", value, hint)))
