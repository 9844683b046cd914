"""Pruners: one protocol, a file for each idea."""

from __future__ import annotations

from typing import Any, get_args

from treebound._utils.choices import PrunerName
from treebound._utils.validation import invalid
from treebound.pruning.base import BasePruner, Pruner, PruningResult
from treebound.pruning.bottom_up import (
    MDLPruner,
    PessimisticPruner,
    ReducedErrorPruner,
    merge_equal_leaves,
)
from treebound.pruning.bound import BoundPruner
from treebound.pruning.cost_complexity import CostComplexityPruner, weakest_link_path
from treebound.pruning.estimate import Estimate, SizeEstimate
from treebound.pruning.kearns_mansour import KearnsMansourPruner
from treebound.pruning.number_choice import NumberChoice
from treebound.pruning.number_pruner import SquaredErrorPruner
from treebound.pruning.paper import PaperPruner
from treebound.pruning.path import PruningPath
from treebound.pruning.scores import code_length
from treebound.pruning.weight import WeightChoice

__all__ = [
    "PRUNERS",
    "STORED_PRUNERS",
    "BoundPruner",
    "CostComplexityPruner",
    "Estimate",
    "KearnsMansourPruner",
    "MDLPruner",
    "NumberChoice",
    "PaperPruner",
    "PessimisticPruner",
    "Pruner",
    "PruningPath",
    "PruningResult",
    "ReducedErrorPruner",
    "SizeEstimate",
    "SquaredErrorPruner",
    "WeightChoice",
    "code_length",
    "make_pruner",
    "merge_equal_leaves",
    "weakest_link_path",
]

_KINDS: tuple[type[BasePruner], ...] = (
    BoundPruner, KearnsMansourPruner, CostComplexityPruner, ReducedErrorPruner, PessimisticPruner,
    MDLPruner,
)  # fmt: skip
PRUNERS: dict[str, type[BasePruner]] = dict(zip(get_args(PrunerName), _KINDS, strict=True))
# Those that a model file can hold, by name.
STORED_PRUNERS: dict[str, type[BasePruner] | type[SquaredErrorPruner]] = {
    **PRUNERS,
    "paper": PaperPruner,
    "squared-error": SquaredErrorPruner,
}


def make_pruner(pruner: Any, **options: Any) -> Pruner | None:
    """Make a pruner from its name and options; a pruner object or None is returned as is."""
    if isinstance(pruner, str) and pruner in PRUNERS:
        return PRUNERS[pruner](**options)
    if isinstance(pruner, str) and pruner == "log-loss":
        return BoundPruner(score="log-loss", **options)
    if options:
        raise ValueError(f"Options go with the name of a pruner. Got {pruner!r} and {options!r}.")
    if isinstance(pruner, SquaredErrorPruner):
        raise invalid("pruning", "", "a pruner of trees of classes", pruner)
    if pruner is None or (isinstance(pruner, Pruner) and not isinstance(pruner, type)):
        return pruner
    names = ", ".join(repr(name) for name in (*PRUNERS, "log-loss"))
    must = f"one of {names}, None, or an object with a method 'prune'"
    raise invalid("pruning", "", must, pruner)
