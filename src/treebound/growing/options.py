"""The options of growing; how much growing on shards holds at a time, and how far it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Self, get_args

from treebound._validation import Jobs, Number, OneOf, Whole, check, constraints_of, parameter
from treebound.tree.impurity import CRITERIA, Criterion

GrowthOrder = Literal["gain", "impurity"]
GROWTH_ORDERS: tuple[GrowthOrder, ...] = get_args(GrowthOrder)
Thresholds = Literal["decimal", "midpoint", "observed"]
THRESHOLDS: tuple[Thresholds, ...] = get_args(Thresholds)

# The options that say which splits are allowed.
GROWING_RULES = ("monotonic_cst", "first", "forbidden", "interaction_cst")


@dataclass(frozen=True)
class GrowOptions:
    """The options of growing, checked when created.

    Parameters
    ----------
    criterion : {"gini", "entropy", "misclassification"}
        The impurity measure.
    growth_order : {"gain", "impurity"}
        Which leaf to expand first: the one whose split lowers the weighted impurity most, or the
        one whose children have the lowest mean impurity (as in the paper's code).
    max_leaves, max_depth : int, optional
        Limits of the tree.
    min_samples_leaf, min_samples_split : int
        Minimum number of rows in a leaf, and in a node to split.
    min_weight_fraction_leaf : float
        Minimum share of the sample's weight in a leaf, from 0 to 0.5.
    min_gain : float
        Minimum gain of a split: its decrease of the impurity, times the node's share of the
        sample's weight.
    thresholds : {"decimal", "midpoint", "observed"}
        Position of a threshold between two neighbouring values: the decimal with the fewest
        digits (on ties the nearest to the midpoint, then the lower), the midpoint, or the lower
        value. All three route the training rows alike.
    n_jobs : int, optional
        Number of threads; None means 1, -1 all processors. The tree does not depend on it.
    monotonic_cst : array-like of int or mapping, optional
        Columns in which the probability of the higher classes only rises (1) or only falls (-1);
        0 for no constraint. One number for each column, or by name.
    class_order : sequence, optional
        The classes from low to high, for ``monotonic_cst`` with more than two classes.
    first : sequence of str, optional
        Splits that come first, as they are printed: ``["age <= 18"]``.
    forbidden : sequence of str or int, optional
        Columns that are never asked.
    interaction_cst : {"no_interactions", "pairwise"} or sequence of sequences, optional
        Groups of columns; a path asks columns of one group only. The columns that are in none
        are a group.

    Examples
    --------
    >>> from treebound.growing import GrowOptions
    >>> GrowOptions(max_leaves=8).max_leaves
    8
    """

    criterion: Criterion = parameter(OneOf(CRITERIA), default="gini")
    growth_order: GrowthOrder = parameter(OneOf(GROWTH_ORDERS), default="gain")
    max_leaves: int | None = parameter(Whole(1, optional=True), default=None)
    max_depth: int | None = parameter(Whole(1, optional=True), default=None)
    min_samples_leaf: int = parameter(Whole(1), default=1)
    min_samples_split: int = parameter(Whole(2), default=2)
    min_weight_fraction_leaf: float = parameter(Number(0.0, 0.5), default=0.0)
    min_gain: float = parameter(Number(0.0), default=0.0)
    thresholds: Thresholds = parameter(OneOf(THRESHOLDS), default="decimal")
    n_jobs: int | None = parameter(Jobs(), default=None)
    monotonic_cst: Any = None
    class_order: Sequence[Any] | None = None
    first: Sequence[str] | None = None
    forbidden: Sequence[Any] | None = None
    interaction_cst: Any = None

    def __post_init__(self) -> None:
        check(type(self).__name__, vars(self), _CONSTRAINTS)

    @classmethod
    def of(cls, estimator: Any, owner: str | None = None, **others: Any) -> Self:
        """The options of an estimator, of another name in errors, some of them replaced."""
        values = {name: vars(estimator)[name] for name in _OPTIONS} | others
        check(owner or type(estimator).__name__, values, _CONSTRAINTS)
        made = object.__new__(cls)  # already checked, under the name of the estimator
        vars(made).update(values)
        return made


_OPTIONS = [item.name for item in fields(GrowOptions)]
_CONSTRAINTS = constraints_of(GrowOptions)


@dataclass(frozen=True)
class Limits:
    """How much is done and kept in memory at a time. The tree does not depend on it.

    Attributes
    ----------
    gather_rows : int, optional
        Nodes of at most this many rows are finished in one place, as in memory; by default as
        many as the engine says.
    gather_values : int
        Approximate number of values of such nodes in memory at a time, in each place.
    most_values : int
        Approximate number of values inside bins that are requested at a time.
    few_values : int
        Intervals of at most this many rows are not divided further.
    most_cells : int
        Maximum number of counts of histograms that are requested at a time.
    most_live : float
        If a larger share of the root's values is in bins that may contain its split, for example
        because the labels are noise, all rows are coded again in finer bins.
    """

    gather_rows: int | None = None
    gather_values: int = 1 << 23
    most_values: int = 1 << 14
    few_values: int = 64
    most_cells: int = 1 << 25
    most_live: float = 0.1


@dataclass(frozen=True)
class Progress:
    """The progress of growing.

    Attributes
    ----------
    rounds, passes : int
        Rounds so far, and passes over the rows.
    leaves : int
        Leaves so far.
    open_rows : int
        Rows of leaves that may be split further.
    rows : int
        All rows; in the other phases those so far.
    phase : {"learning", "coding", "growing"}
        What is done: reading for columns and classes, reading the rows, or growing.
    """

    rounds: int
    passes: int
    leaves: int
    open_rows: int
    rows: int
    phase: str = "growing"

    @classmethod
    def of_reading(cls, phase: str, rows: int) -> Self:
        """Rows that were read so far."""
        return cls(0, 0, 1, rows, rows, phase)
