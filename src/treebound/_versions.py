"""The installed version, and pickles of other versions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pickle import UnpicklingError
from typing import Any

_KEY = "treebound"


@cache
def installed_version() -> str:
    """The version of the installed package."""
    try:
        return version("treebound")
    except PackageNotFoundError:  # running from a source folder that was never installed
        return "0.0.0"


def state_with_version(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state of an object to pickle, marked with the version."""
    return {_KEY: installed_version(), **state}


def checked_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state of a pickle of this version, without the mark."""
    rest = dict(state)
    written, own = rest.pop(_KEY, "another version"), installed_version()
    if written != own:
        raise UnpicklingError(
            f"This pickle was written by treebound {written} and cannot be read by treebound "
            f"{own}; model files (save and load) can."
        )
    return rest
