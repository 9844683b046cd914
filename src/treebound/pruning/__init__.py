"""A grown tree in, a smaller tree out: one file a pruner, one protocol; and the certificate."""

from treebound.pruning.base import Pruner, PruningResult
from treebound.pruning.bound import BoundPruner
from treebound.pruning.certificate import (
    Assumption,
    Certificate,
    certificate_for,
    certify,
    certify_holdout,
)
from treebound.pruning.cost_complexity import CostComplexityPruner, weakest_link_path
from treebound.pruning.entry import prune
from treebound.pruning.kearns_mansour import KearnsMansourPruner
from treebound.pruning.mdl import MDLPruner
from treebound.pruning.merge import collapse
from treebound.pruning.path import PruningPath
from treebound.pruning.pessimistic import PessimisticPruner
from treebound.pruning.reduced_error import ReducedErrorPruner
from treebound.pruning.registry import PRUNERS, make_pruner
from treebound.pruning.scores import code_length

__all__ = [
    "PRUNERS",
    "Assumption",
    "BoundPruner",
    "Certificate",
    "CostComplexityPruner",
    "KearnsMansourPruner",
    "MDLPruner",
    "PessimisticPruner",
    "Pruner",
    "PruningPath",
    "PruningResult",
    "ReducedErrorPruner",
    "certificate_for",
    "certify",
    "certify_holdout",
    "code_length",
    "collapse",
    "make_pruner",
    "prune",
    "weakest_link_path",
]
