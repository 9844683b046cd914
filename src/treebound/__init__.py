"""Decision trees that prune themselves with a generalization bound, and the theory under them.

Names are loaded when first used (see ``_HOME``), so that ``import treebound`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treebound import bench, bounds, datasets, exchange, pruning, show
    from treebound.classifier import BoundTreeClassifier
    from treebound.landscape import Landscape
    from treebound.pruning import certify, certify_holdout, collapse, prune
    from treebound.shapes import TreeShape
    from treebound.tree import Column, Tree, from_sklearn, to_sklearn

try:
    __version__ = version("treebound")
except PackageNotFoundError:  # running from a source folder that was never installed
    __version__ = "0.0.0"

# Every public name and the module it lives in; the one place where they are exported.
_HOME = {
    "BoundTreeClassifier": "treebound.classifier",
    "Column": "treebound.tree",
    "Landscape": "treebound.landscape",
    "Tree": "treebound.tree",
    "TreeShape": "treebound.shapes",
    "certify": "treebound.pruning",
    "certify_holdout": "treebound.pruning",
    "collapse": "treebound.pruning",
    "from_sklearn": "treebound.tree",
    "prune": "treebound.pruning",
    "to_sklearn": "treebound.tree",
}
_PACKAGES = ("bench", "bounds", "datasets", "exchange", "pruning", "show")

__all__ = [
    "BoundTreeClassifier",
    "Column",
    "Landscape",
    "Tree",
    "TreeShape",
    "bench",
    "bounds",
    "certify",
    "certify_holdout",
    "collapse",
    "datasets",
    "exchange",
    "from_sklearn",
    "prune",
    "pruning",
    "show",
    "to_sklearn",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _PACKAGES:
        value = import_module(f"treebound.{name}")
    else:
        raise AttributeError(f"module 'treebound' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
