"""Pruners: one file per pruner, one protocol."""

from treebound.pruning.base import Pruner, PruningResult
from treebound.pruning.bound import BoundPruner
from treebound.pruning.cost_complexity import CostComplexityPruner, weakest_link_path
from treebound.pruning.equal_leaves import merge_equal_leaves
from treebound.pruning.kearns_mansour import KearnsMansourPruner
from treebound.pruning.mdl import MDLPruner
from treebound.pruning.path import PruningPath
from treebound.pruning.pessimistic import PessimisticPruner
from treebound.pruning.reduced_error import ReducedErrorPruner
from treebound.pruning.registry import PRUNERS, make_pruner
from treebound.pruning.scores import code_length

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
    "code_length",
    "make_pruner",
    "merge_equal_leaves",
    "weakest_link_path",
]
