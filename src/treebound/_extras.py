"""Optional dependencies: a clear error if one is missing."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def require(module: str, *, extra: str, why: str) -> ModuleType:
    """Import an optional module, or raise an error: what needs it, and the extra to install."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != module.split(".")[0]:
            raise
        package = module.split(".")[0]
        raise ModuleNotFoundError(
            f"{why} needs {package}, which is not installed. "
            f"Hint: pip install 'treebound[{extra}]'",
            name=package,
        ) from None
