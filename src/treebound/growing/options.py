"""How a tree is grown: every option, what it may be, and what it means."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self, get_args

from treebound._validation import Constraint, Jobs, Number, OneOf, Whole, check
from treebound.tree.impurity import CRITERIA, Criterion

__all__ = ["GROWTH_ORDERS", "THRESHOLDS", "GrowOptions", "GrowthOrder", "Thresholds"]

GrowthOrder = Literal["gain", "impurity"]
GROWTH_ORDERS: tuple[GrowthOrder, ...] = get_args(GrowthOrder)
Thresholds = Literal["decimal", "midpoint", "observed"]
THRESHOLDS: tuple[Thresholds, ...] = get_args(Thresholds)

_CONSTRAINTS: dict[str, Constraint] = {
    "criterion": OneOf(CRITERIA),
    "growth_order": OneOf(GROWTH_ORDERS),
    "max_leaves": Whole(1, optional=True),
    "max_depth": Whole(1, optional=True),
    "min_samples_leaf": Whole(1),
    "min_samples_split": Whole(2),
    "min_weight_fraction_leaf": Number(0.0, 0.5),
    "min_gain": Number(0.0),
    "thresholds": OneOf(THRESHOLDS),
    "n_jobs": Jobs(),
}


@dataclass(frozen=True)
class GrowOptions:
    """How a tree is grown; checked when made.

    Parameters
    ----------
    criterion : {"gini", "entropy", "misclassification"}
        The impurity that splits lower.
    growth_order : {"gain", "impurity"}
        Which leaf is expanded first: the one whose split lowers the weighted impurity most, or the
        one whose children have the least mean impurity (the order of the paper's code).
    max_leaves, max_depth : int, optional
        Limits of the tree.
    min_samples_leaf, min_samples_split : int
        Least number of rows in a leaf, and in a node that is split.
    min_weight_fraction_leaf : float
        Least share of the sample's weight in a leaf, from 0 to 0.5.
    min_gain : float
        Least gain of a split: how much it lowers the impurity, times the share of the sample's
        weight that reaches the node.
    thresholds : {"decimal", "midpoint", "observed"}
        Where between two neighbouring values of a real column the threshold lies: at the decimal
        with the fewest digits (of these the nearest to the middle, then the lower), halfway, or
        at the value on the left. The training rows go the same way with each of them.
    n_jobs : int, optional
        Number of threads; None is one, -1 all processors. The tree does not depend on it.

    Examples
    --------
    >>> from treebound.growing import GrowOptions
    >>> GrowOptions(max_leaves=8).max_leaves
    8
    """

    criterion: Criterion = "gini"
    growth_order: GrowthOrder = "gain"
    max_leaves: int | None = None
    max_depth: int | None = None
    min_samples_leaf: int = 1
    min_samples_split: int = 2
    min_weight_fraction_leaf: float = 0.0
    min_gain: float = 0.0
    thresholds: Thresholds = "decimal"
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        check(type(self).__name__, asdict(self), _CONSTRAINTS)

    @classmethod
    def of(cls, estimator: Any, **others: Any) -> Self:
        """The options of an estimator that has parameters of these names, or of ``others``."""
        values = {item.name: getattr(estimator, item.name) for item in fields(cls)} | others
        check(type(estimator).__name__, values, _CONSTRAINTS)
        made = object.__new__(cls)  # checked already, under the name of the estimator
        vars(made).update(values)
        return made
