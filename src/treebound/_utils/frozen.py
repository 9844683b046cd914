"""Fields of frozen dataclasses that are set while an object is made."""

from __future__ import annotations

from typing import Any


def set_fields(made: object, **values: Any) -> None:
    """Set fields of a frozen object; only for the methods that make it, and for caches."""
    for name, value in values.items():
        object.__setattr__(made, name, value)
