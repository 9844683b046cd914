"""The installed version, and pickles of other versions."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pickle import UnpicklingError
from typing import Any

_KEY = "treebound"

try:
    __version__ = version("treebound")
except PackageNotFoundError:  # running from a source folder that was never installed
    __version__ = "0.0.0"


def state_with_version(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state of an object to pickle, marked with the version."""
    return {_KEY: __version__, **state}


def checked_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state of a pickle of this version, without the mark."""
    rest = dict(state)
    written, current = rest.pop(_KEY, "another version"), __version__
    if written != current:
        raise UnpicklingError(
            f"This pickle was written by treebound {written} and cannot be read by treebound "
            f"{current}; model files (save and load) can."
        )
    return rest
