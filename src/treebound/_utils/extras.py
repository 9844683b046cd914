"""Modules that are loaded late, or not at all: optional ones, and names of packages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from shlex import quote
from types import ModuleType
from typing import Any


def require(module: str, *, extra: str, why: str) -> ModuleType:
    """Import an optional module, or raise an error: what needs it, and the extra to install."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != module.split(".")[0]:
            raise
        package = module.split(".")[0]
        raise ModuleNotFoundError(
            f"{why} needs {package}, which is not installed. Hint: {install(extra)}",
            name=package,
        ) from None


def install(extra: str) -> str:
    """Return the command that installs the packages of an extra, without treebound itself."""
    packages = _packages_of(extra)
    if not packages:
        return f"in a clone of treebound, run pip install '.[{extra}]'"
    return f"pip install {' '.join(map(quote, packages))}"


def _packages_of(extra: str) -> list[str]:
    """The packages of an extra with their versions, as the metadata of treebound list them."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        listed = [line.partition(";") for line in requires("treebound") or ()]
    except PackageNotFoundError:  # its folder is on the path, but it is not installed
        return []
    markers = (f'extra == "{extra}"', f"extra == '{extra}'")
    return [package.strip() for package, _, marker in listed if marker.strip() in markers]


def loaded_late(package: str, home: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package whose names are loaded from their modules at first use."""

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(home[name])
        value = module if home[name] == f"{package}.{name}" else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return load
