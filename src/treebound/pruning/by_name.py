"""Pruners by their names."""

from __future__ import annotations

from typing import Any

from treebound import pruning
from treebound._validation import invalid
from treebound.pruning.base import BasePruner, Pruner

PRUNERS: dict[str, type[BasePruner]] = {
    name: getattr(pruning, pruner) for name, pruner in pruning.NAMES.items()
}


def make_pruner(pruner: Any, **options: Any) -> Pruner | None:
    """Make a pruner from its name and options; a pruner object or None is returned as is."""
    if isinstance(pruner, str) and pruner in PRUNERS:
        return PRUNERS[pruner](**options)
    if options:
        raise ValueError(f"Options go with the name of a pruner. Got {pruner!r} and {options!r}.")
    if pruner is None or (isinstance(pruner, Pruner) and not isinstance(pruner, type)):
        return pruner
    names = ", ".join(repr(name) for name in PRUNERS)
    must = f"one of {names}, None, or an object with a method 'prune'"
    raise invalid("pruning", "", must, pruner)
