"""Decision trees that prune themselves with a generalization bound, and the theory under them.

Names are loaded when first used (see ``_HOME``), so that ``import treebound`` stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treebound._utils.extras import loaded_late

if TYPE_CHECKING:
    from treebound import bounds, data, exchange, growing, pruning, show, study, tree
    from treebound.certificate import Certificate
    from treebound.data import Column, Sample
    from treebound.data.check import check
    from treebound.estimators import BoundTreeClassifier, BoundTreeRegressor
    from treebound.estimators.verbs import certify, prune
    from treebound.exchange import from_sklearn, to_sklearn
    from treebound.landscape import Landscape
    from treebound.model import Model, RegressionModel
    from treebound.pruning import merge_equal_leaves
    from treebound.shapes import TreeShape
    from treebound.show.compare import compare
    from treebound.tree import RegressionTree, Tree

    __version__: str

# Every public name and the module it lives in; the one place where they are exported.
_HOME = {
    "BoundTreeClassifier": "treebound.estimators",
    "BoundTreeRegressor": "treebound.estimators",
    "Certificate": "treebound.certificate",
    "Column": "treebound.data",
    "Landscape": "treebound.landscape",
    "Model": "treebound.model",
    "RegressionModel": "treebound.model",
    "RegressionTree": "treebound.tree",
    "Sample": "treebound.data",
    "Tree": "treebound.tree",
    "TreeShape": "treebound.shapes",
    "certify": "treebound.estimators.verbs",
    "check": "treebound.data.check",
    "compare": "treebound.show",
    "from_sklearn": "treebound.exchange",
    "merge_equal_leaves": "treebound.pruning",
    "prune": "treebound.estimators.verbs",
    "to_sklearn": "treebound.exchange",
    "__version__": "treebound._utils.versions",
}
_ROOMS = ("bounds", "data", "exchange", "growing", "pruning", "show", "study", "tree")

__all__ = [
    "BoundTreeClassifier",
    "BoundTreeRegressor",
    "Certificate",
    "Column",
    "Landscape",
    "Model",
    "RegressionModel",
    "RegressionTree",
    "Sample",
    "Tree",
    "TreeShape",
    "bounds",
    "certify",
    "check",
    "compare",
    "data",
    "exchange",
    "from_sklearn",
    "growing",
    "merge_equal_leaves",
    "prune",
    "pruning",
    "show",
    "study",
    "to_sklearn",
    "tree",
]


__getattr__ = loaded_late(__name__, _HOME | {room: f"treebound.{room}" for room in _ROOMS})


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
