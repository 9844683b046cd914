"""The options of growing; how much growing on shards holds at a time, and how far it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, Self, get_args

from treebound._utils.choices import Criterion, GrowthOrder, Thresholds
from treebound._utils.validation import (
    Jobs,
    OneOf,
    Whole,
    check,
    constraints_of,
    parameter,
    parameters_of,
)
from treebound.growing.kernel_types import KernelOptions, KernelRules

# The options that restrict splits.
GROWING_RULES = ("monotonic_cst", "forced_splits", "interaction_cst")
# The numbers that the kernels have for names.
_CRITERIA = {"gini": 0, "entropy": 1, "misclassification": 2}
_THRESHOLDS = {"decimal": 0, "midpoint": 1, "observed": 2}
_NO_LIMIT = 2**31 - 1


@dataclass(eq=False)
class GrowParameters:
    """The parameters of growing, declared once for all that have them.

    Parameters
    ----------
    criterion : {"entropy", "gini", "misclassification"}
        The impurity measure.
    max_leaves : int or None
        Maximum number of leaves; None means no limit.
    max_depth : int or None
        Maximum depth of the grown tree; None means no limit.
    min_samples_leaf : int
        Minimum number of rows in a leaf.
    thresholds : {"decimal", "midpoint", "observed"}
        Position of a threshold between two neighbouring training values: the decimal with the
        fewest digits (on ties the nearest to the midpoint, then the lower), the midpoint, or the
        lower value. All three route the training rows alike.
    n_jobs : int or None
        Number of threads; None means 1, -1 all processors. The tree does not depend on it.
    monotonic_cst : array-like of int, mapping of column to int, or None
        Columns in which the probability of the second class, in all that ``predict_proba``
        returns, only rises (1) or only falls (-1); 0 for no constraint. More than two classes must
        have an order, which an ordered categorical target declares; the constraint is then on the
        probability of class k or above, for every k. Missing values are not constrained. See
        :ref:`rules`.
    forced_splits : sequence of str, or None
        Splits that come first, written as they are printed, such as ``["age <= 18"]``: the first
        one at the root, the next at both of its children, and so on. One that leaves a side
        without rows is not written there.
    interaction_cst : {"no_interactions", "pairwise"}, sequence of groups of columns, or None
        A path from the root to a leaf uses columns of one group only; the columns that are in no
        group are one more.
    """

    criterion: Criterion = parameter(OneOf(get_args(Criterion)), default="gini")
    _: KW_ONLY
    max_leaves: int | None = parameter(Whole(1, optional=True), default=None)
    max_depth: int | None = parameter(Whole(1, optional=True), default=None)
    min_samples_leaf: int = parameter(Whole(1), default=1)
    thresholds: Thresholds = parameter(OneOf(get_args(Thresholds)), default="decimal")
    n_jobs: int | None = parameter(Jobs(), default=None)
    monotonic_cst: Any = None
    forced_splits: Sequence[str] | None = None
    interaction_cst: Any = None


_NAMES = [option.name for option in fields(GrowParameters)]


@parameters_of(GrowParameters)
@dataclass(unsafe_hash=True)
class GrowOptions(GrowParameters):
    """The options of growing, checked when created and immutable.

    Parameters
    ----------
    growth_order : {"gain", "impurity"}
        Which leaf to expand next: the one whose split lowers the weighted impurity most, or, as in
        the paper, the one whose children are purest.
    class_order : sequence of classes, or None
        All classes from low to high, for ``monotonic_cst``.

    Examples
    --------
    >>> from treebound.growing import GrowOptions
    >>> GrowOptions(max_leaves=8).max_leaves
    8
    """

    _: KW_ONLY
    growth_order: GrowthOrder = parameter(OneOf(get_args(GrowthOrder)), default="gain")
    class_order: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        check(type(self).__name__, vars(self), constraints_of(type(self)))

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self):
            raise AttributeError("GrowOptions are immutable. Hint: use dataclasses.replace.")
        super().__setattr__(name, value)

    @classmethod
    def of(cls, parameters: GrowParameters, **fields: Any) -> Self:
        """The options among parameters that were checked, some of them replaced."""
        options = object.__new__(cls)
        given = {name: vars(parameters)[name] for name in _NAMES}
        for name, value in ({"growth_order": "gain", "class_order": None} | given | fields).items():
            setattr(options, name, value)
        return options

    def for_kernels(self, rules: KernelRules | None = None) -> KernelOptions:
        """The options as the kernels take them."""
        return {
            "criterion": _CRITERIA[self.criterion],
            "by_impurity": self.growth_order == "impurity",
            "max_leaves": -1 if self.max_leaves is None else self.max_leaves,
            "max_depth": min(self.max_depth or _NO_LIMIT, _NO_LIMIT),
            "min_samples_leaf": min(self.min_samples_leaf, _NO_LIMIT),
            "min_weight": 0,  # the least weight of a leaf: of numbers, grow.py sets it
            "min_samples_split": 2,  # this limit and the next one are not offered
            "min_gain": 0.0,
            "thresholds": _THRESHOLDS[self.thresholds],
            "rules": rules,
        }


@dataclass(frozen=True)
class Limits:
    """How much is done and kept in memory at a time. The tree does not depend on it."""

    # Nodes of at most so many rows are finished in one place, as in memory; by default as many as
    # the engine allows; of their values about so many are in memory at a time, in each place.
    gather_rows: int | None = None
    gather_values: int = 1 << 23
    max_values: int = 1 << 14  # about so many inside bins are requested at a time
    few_values: int = 64  # intervals of at most so many rows are not divided further
    max_cells: int = 1 << 25  # counts of histograms that are requested at a time
    # If a larger share of the root's values is in bins that may contain its split, for example
    # because the labels are noise, all rows are coded again in finer bins.
    max_live: float = 0.1
