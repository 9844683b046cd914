"""Decision trees that prune themselves with a generalization bound, and the theory under them.

Names are loaded when first used (see ``_HOME``), so that ``import treebound`` stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treebound._extras import loaded_late

if TYPE_CHECKING:
    from treebound import bench, bounds, data, datasets, exchange, growing, pruning, show, tree
    from treebound.certificate import Certificate
    from treebound.classifier import BoundTreeClassifier
    from treebound.data import Column, Sample
    from treebound.data.check import check
    from treebound.exchange import from_sklearn, to_sklearn
    from treebound.landscape import Landscape
    from treebound.model import Model
    from treebound.pruning import merge_equal_leaves
    from treebound.shapes import TreeShape
    from treebound.show.compare import compare
    from treebound.tree import Tree
    from treebound.verbs import certify, prune

    __version__: str

# Every public name and the module it lives in; the one place where they are exported.
_HOME = {
    "BoundTreeClassifier": "treebound.classifier",
    "Certificate": "treebound.certificate",
    "Column": "treebound.data",
    "Landscape": "treebound.landscape",
    "Model": "treebound.model",
    "Sample": "treebound.data",
    "Tree": "treebound.tree",
    "TreeShape": "treebound.shapes",
    "certify": "treebound.verbs",
    "check": "treebound.data.check",
    "compare": "treebound.show",
    "from_sklearn": "treebound.exchange",
    "merge_equal_leaves": "treebound.pruning",
    "prune": "treebound.verbs",
    "to_sklearn": "treebound.exchange",
    "__version__": "treebound._versions",
}
_ROOMS = ("bench", "bounds", "data", "datasets", "exchange", "growing", "pruning", "show", "tree")

__all__ = [
    "BoundTreeClassifier",
    "Certificate",
    "Column",
    "Landscape",
    "Model",
    "Sample",
    "Tree",
    "TreeShape",
    "bench",
    "bounds",
    "certify",
    "check",
    "compare",
    "data",
    "datasets",
    "exchange",
    "from_sklearn",
    "growing",
    "merge_equal_leaves",
    "prune",
    "pruning",
    "show",
    "to_sklearn",
    "tree",
]


__getattr__ = loaded_late(__name__, _HOME | {room: f"treebound.{room}" for room in _ROOMS})


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
