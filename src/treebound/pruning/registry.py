"""The pruners by name."""

from __future__ import annotations

from typing import Any

from treebound.pruning.base import Pruner
from treebound.pruning.bound import BoundPruner
from treebound.pruning.cost_complexity import CostComplexityPruner
from treebound.pruning.kearns_mansour import KearnsMansourPruner
from treebound.pruning.mdl import MDLPruner
from treebound.pruning.pessimistic import PessimisticPruner
from treebound.pruning.reduced_error import ReducedErrorPruner

__all__ = ["PRUNERS", "make_pruner"]

PRUNERS: dict[str, type] = {
    "bound": BoundPruner,
    "kearns-mansour": KearnsMansourPruner,
    "cost-complexity": CostComplexityPruner,
    "reduced-error": ReducedErrorPruner,
    "pessimistic": PessimisticPruner,
    "mdl": MDLPruner,
}
# By name, a pruner gets only the training rows, so reduced-error pruning must hold some out.
_BY_NAME: dict[str, dict[str, Any]] = {"reduced-error": {"validation_fraction": 0.15}}


def make_pruner(pruner: Any, **options: Any) -> Pruner | None:
    """Make a pruner from its name and options; a pruner object or None is returned as is.

    Parameters
    ----------
    pruner : str, Pruner or None
        A name, as in :func:`treebound.prune`, or an object.
    **options
        Parameters of the pruner, if it is given by name.

    Returns
    -------
    Pruner or None

    Raises
    ------
    ValueError
        If there is no such pruner, or options are given with a pruner object.

    Examples
    --------
    >>> make_pruner("bound", weight=0.75)
    BoundPruner(weight=0.75)
    >>> make_pruner(None) is None
    True
    """
    if isinstance(pruner, str) and pruner in PRUNERS:
        made: Pruner = PRUNERS[pruner](**{**_BY_NAME.get(pruner, {}), **options})
        return made
    if options:
        raise ValueError(f"Options go with the name of a pruner. Got {pruner!r} and {options!r}.")
    if pruner is None or (isinstance(pruner, Pruner) and not isinstance(pruner, type)):
        return pruner
    names = ", ".join(repr(name) for name in PRUNERS)
    raise ValueError(
        f"The 'pruning' parameter must be one of {names}, None, or an object with a method "
        f"'prune'. Got {pruner!r} instead."
    )
