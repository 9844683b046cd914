"""A grown tree in, a smaller tree out: one file a pruner, one protocol; and the certificate."""

from treebound.pruning.base import Pruner, PruningResult
from treebound.pruning.bound import BoundPruner
from treebound.pruning.path import PruningPath
from treebound.pruning.registry import PRUNERS, make_pruner
from treebound.pruning.scores import code_length

__all__ = [
    "PRUNERS",
    "BoundPruner",
    "Pruner",
    "PruningPath",
    "PruningResult",
    "code_length",
    "make_pruner",
]
