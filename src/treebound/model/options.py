"""How a model reads rows, and how it turns counts into predictions."""

from __future__ import annotations

from dataclasses import dataclass

from treebound._utils.choices import Unknown
from treebound.tree.smoothing import Smoothing
from treebound.tree.split import check_unknown


@dataclass(frozen=True)
class ReadingOptions:
    """How a model reads rows.

    Attributes
    ----------
    handle_unknown : {"other", "majority", "stop", "missing", "error"}
        How categories that were not seen in training are handled.
    named : bool or None
        True if the training table had column names, so that rows are read by name. None if this is
        not known, as for a bare tree: by name if a table has these names, else by position.
    target : str or None
        The name of the target.
    """

    handle_unknown: Unknown = "other"
    named: bool | None = None
    target: str | None = None

    def __post_init__(self) -> None:
        check_unknown(self.handle_unknown, caller="ReadingOptions")


@dataclass(frozen=True)
class PredictionOptions:
    """How the counts at a node become a prediction.

    Attributes
    ----------
    smoothing : {"shrinkage", "m-estimate", "laplace"}, float or None
        How counts become probabilities; a number is the strength of shrinkage.
    free_shrinkage : bool
        True if shrinkage may make another class the most probable: pruning for log-loss chose its
        strength, and predictions follow.
    """

    smoothing: Smoothing | None = "shrinkage"
    free_shrinkage: bool = False
