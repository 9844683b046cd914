"""Pruners: one protocol, a file for each idea. A new pruner is added here alone.

Names are loaded when first used, so that the shell lists pruners without loading them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treebound._extras import loaded_late

if TYPE_CHECKING:
    from treebound.pruning.base import Pruner, PruningResult
    from treebound.pruning.bottom_up import (
        MDLPruner,
        PessimisticPruner,
        ReducedErrorPruner,
        merge_equal_leaves,
    )
    from treebound.pruning.bound import BoundPruner
    from treebound.pruning.by_name import PRUNERS, make_pruner
    from treebound.pruning.cost_complexity import CostComplexityPruner, weakest_link_path
    from treebound.pruning.kearns_mansour import KearnsMansourPruner
    from treebound.pruning.path import PruningPath
    from treebound.pruning.scores import code_length
    from treebound.pruning.weight import WeightChoice

__all__ = [
    "PRUNERS",
    "BoundPruner",
    "CostComplexityPruner",
    "KearnsMansourPruner",
    "MDLPruner",
    "PessimisticPruner",
    "Pruner",
    "PruningPath",
    "PruningResult",
    "ReducedErrorPruner",
    "WeightChoice",
    "code_length",
    "make_pruner",
    "merge_equal_leaves",
    "weakest_link_path",
]

# The class of each pruner by its name, and what every module has.
NAMES = {
    "bound": "BoundPruner",
    "kearns-mansour": "KearnsMansourPruner",
    "cost-complexity": "CostComplexityPruner",
    "reduced-error": "ReducedErrorPruner",
    "pessimistic": "PessimisticPruner",
    "mdl": "MDLPruner",
}
_MODULES = {
    "base": ("Pruner", "PruningResult"),
    "bottom_up": ("MDLPruner", "PessimisticPruner", "ReducedErrorPruner", "merge_equal_leaves"),
    "bound": ("BoundPruner",),
    "by_name": ("PRUNERS", "make_pruner"),
    "cost_complexity": ("CostComplexityPruner", "weakest_link_path"),
    "kearns_mansour": ("KearnsMansourPruner",),
    "path": ("PruningPath",),
    "scores": ("code_length",),
    "weight": ("WeightChoice",),
}
__getattr__ = loaded_late(
    __name__, {own: f"{__name__}.{module}" for module, names in _MODULES.items() for own in names}
)
