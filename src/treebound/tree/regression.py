"""Regression trees: weight, mean and squared deviations of the training rows at each node."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats
from treebound._utils.frozen import set_fields
from treebound.data.numeric_target import NumericTarget, TargetUnits
from treebound.tree._structure import add_up, gains, squared_deviations
from treebound.tree.base import ROUNDING, BaseTree, frozen
from treebound.tree.monotone import limits

if TYPE_CHECKING:
    from treebound.data import Matrix

# Relative tolerance for means that were stored as decimals.
_MEAN_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False, kw_only=True)
class RegressionTree(BaseTree):
    """A regression tree: a structure of arrays, one entry per node, in pre-order.

    The splits are those of :class:`~treebound.tree.base.BaseTree`. Trees that were grown have exact
    sums of integers, which do not depend on the order of the rows or on the engine; the moments
    are computed from them. :meth:`of_sums` makes such a tree.

    Attributes
    ----------
    feature, threshold, category, missing_left, left, right, rows, columns, weighted
        See :class:`~treebound.tree.base.BaseTree`.
    moments : ndarray of float64, shape (n_nodes, 3)
        Weight of the training rows at each node, their mean, and the sum of their squared
        deviations from it: ``weight``, ``mean`` and ``squares``.
    value : ndarray of float64
        The prediction of each node: the mean, unless leaf values were shrunk, kept in order by
        ``monotone``, or set by the user.
    sums : ndarray of int64, shape (n_nodes, 3), or None
        The exact sums that the moments come from: weight, sum and squares in ``units``.
    units : TargetUnits or None
        The units of the sums.
    monotone : tuple of int, or None
        For each column 1 if predictions must not fall with its values, -1 if they must not rise,
        0 for no constraint.

    Raises
    ------
    ValueError
        If nodes are not in pre-order, the weights, means or sums of two children do not add up to
        those of their parent, or a column or category does not exist.

    Examples
    --------
    >>> from treebound.data import Sample
    >>> from treebound.data.numeric_target import NumericTarget
    >>> from treebound.growing import grow_numbers
    >>> X = Sample.learn([[1.0], [2.0], [3.0], [4.0]], [0, 0, 0, 0]).X
    >>> tree = grow_numbers(X, NumericTarget.of([0.5, 0.75, 2.25, 2.25]))
    >>> tree.collapsed([1]).value[1:].tolist(), tree.collapsed([1]).squares[1:].tolist()
    ([0.625, 2.25], [0.03125, 0.0])
    """

    moments: Floats
    value: Floats = field(default=None)  # type: ignore[arg-type]
    sums: NDArray[np.int64] | None = None
    units: TargetUnits | None = None
    monotone: tuple[int, ...] | None = None
    node_arrays: ClassVar[dict[str, Any]] = {
        **BaseTree.node_arrays, "moments": np.float64, "value": np.float64, "sums": np.int64,
    }  # fmt: skip

    @classmethod
    def of_sums(cls, sums: NDArray[np.int64], units: TargetUnits, **structure: Any) -> Self:
        """Make a tree of exact sums; ``structure`` are the other fields."""
        return cls(moments=_moments(sums, units), sums=sums, units=units, **structure)

    def __post_init__(self) -> None:
        by_means = self.value is None
        if by_means:
            set_fields(self, value=np.asarray(self.moments)[:, 1])
        self._freeze()
        self._check()
        if by_means and self.monotone is not None:
            set_fields(self, value=frozen(self.in_order(self.mean), np.float64))

    def _check(self) -> None:
        """Raise a ValueError if the arrays are inconsistent."""
        if self.moments.ndim != 2 or self.moments.shape[1] != 3:
            raise ValueError(
                "The 'moments' of a RegressionTree must be weight, mean and squares of each node. "
                f"Got shape {self.moments.shape} instead."
            )
        if self.monotone is not None and len(self.monotone) != len(self.columns):
            raise ValueError(
                "The 'monotone' of a RegressionTree must have a sign for each column. "
                f"Got {self.monotone} instead."
            )
        if (self.sums is None) != (self.units is None):
            raise ValueError("A RegressionTree needs both 'sums' and 'units', or neither.")
        total = float(self.weight[0]) if len(self.weight) else 0.0
        self._check_structure(
            np.ascontiguousarray(self.moments[:, :1]), slack=ROUNDING * total, amount="weight"
        )
        for name in ("mean", "value", "squares"):
            values = getattr(self, name)
            wrong = np.flatnonzero(~np.isfinite(values) | ((name == "squares") & (values < 0.0)))
            if len(wrong):
                least = " >= 0" if name == "squares" else ""
                raise ValueError(
                    f"The {name!r} of node {wrong[0]} of a RegressionTree must be a finite "
                    f"number{least}. Got {values[wrong[0]]} instead."
                )
        self._check_means()
        if self.sums is not None and self.units is not None:
            self._check_sums(self.sums, self.units)

    def _check_means(self) -> None:
        """Raise a ValueError if the mean of a node is not that of its children together."""
        inner = np.flatnonzero(~self.is_leaf)
        left, right = self.left[inner], self.right[inner]
        share = np.divide(
            self.weight[left], self.weight[inner],
            out=np.full(len(inner), 0.5), where=self.weight[inner] > 0.0,
        )  # fmt: skip
        together = share * self.mean[left] + (1.0 - share) * self.mean[right]
        slack = _MEAN_ROUNDING * max(float(np.abs(self.mean).max()), np.finfo(float).tiny)
        wrong = inner[np.abs(together - self.mean[inner]) > slack]
        if len(wrong):
            raise ValueError(
                f"The mean of node {wrong[0]} of a RegressionTree must be that of its children "
                f"together. Got {self.mean[wrong[0]]} instead."
            )

    def _check_sums(self, sums: NDArray[np.int64], units: TargetUnits) -> None:
        """Raise a ValueError if sums do not add up or are not those of the moments."""
        inner = np.flatnonzero(~self.is_leaf)
        if sums.shape != (self.n_nodes, 3):
            raise ValueError(
                "The 'sums' of a RegressionTree must be weight, sum and squares of each node. "
                f"Got shape {sums.shape} instead."
            )
        wrong = sums[inner] != sums[self.left[inner]] + sums[self.right[inner]]
        if wrong.any():
            node = inner[wrong.any(axis=1).argmax()]
            raise ValueError(
                f"The sums of the children of node {node} of a RegressionTree must add up to those "
                f"of the node, {sums[node].tolist()}."
            )
        if not np.array_equal(self.moments, _moments(sums, units)):
            raise ValueError("The 'moments' of a RegressionTree must be those of its 'sums'.")

    def __repr__(self) -> str:
        leaves = "1 leaf" if self.n_leaves == 1 else f"{self.n_leaves:,} leaves"
        return f"<RegressionTree: {leaves}, depth {self.depth}, {len(self.columns):,} columns>"

    # -- training rows ---------------------------------------------------------------------

    @property
    def weight(self) -> Floats:
        """Weight of the training rows at each node; ``weight[0]`` is that of all rows."""
        return self.moments[:, 0]

    @property
    def mean(self) -> Floats:
        """Mean of the training rows at each node."""
        return self.moments[:, 1]

    @property
    def squares(self) -> Floats:
        """Sum of the squared deviations of the training rows from their mean, at each node."""
        return self.moments[:, 2]

    @property
    def node_losses(self) -> Floats:
        """Sum of squared deviations of each node as a leaf."""
        return self.squares

    @cached_property
    def gains(self) -> Floats:
        """Decrease of the squared deviations by the split of each node; 0 at leaves."""
        if self.sums is not None and self.units is not None:
            return gains(self.left, self.sums) * self.units.square_unit
        values, inner = np.zeros(self.n_nodes), np.flatnonzero(~self.is_leaf)
        left, right = self.left[inner], self.right[inner]
        both = np.maximum(self.weight[left] + self.weight[right], np.finfo(float).tiny)
        difference = self.mean[left] - self.mean[right]
        values[inner] = self.weight[left] * self.weight[right] / both * difference**2
        return values

    @property
    def deviation(self) -> Floats:
        """Standard deviation of the training rows at each node."""
        weight = np.maximum(self.weight, np.finfo(float).tiny)
        return np.asarray(np.sqrt(self.squares / weight))

    @cached_property
    def value_range(self) -> tuple[float, float]:
        """The smallest and the largest value of a leaf."""
        values = self.value[self.leaves]
        return float(values.min()), float(values.max())

    def in_order(self, values: Floats) -> Floats:
        """Return predictions of the nodes, moved as little as ``monotone`` needs."""
        if self.monotone is None:
            return values
        lower, upper = limits(self, self.mean[:, None], self.monotone, -np.inf, np.inf)
        return np.clip(values, lower[:, 0], upper[:, 0])

    # -- rows --------------------------------------------------------------------------------

    def predict(self, X: Matrix, handle_unknown: str | None = None) -> Floats:
        """Predict the number of each row.

        Parameters
        ----------
        X, handle_unknown
            See :meth:`~treebound.tree.base.BaseTree.apply`.
        """
        return self.values_at(self.value, X, handle_unknown)

    def sums_on(
        self, X: Matrix, target: NumericTarget, handle_unknown: str | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sum the channels of rows at each node.

        Parameters
        ----------
        X, target : Matrix and NumericTarget
            Rows in the columns of the tree, with their numbers and weights.
        handle_unknown : {"other", "majority", "stop"}, optional
            See :meth:`~treebound.tree.base.BaseTree.apply`.

        Returns
        -------
        sums : ndarray of int64, shape (n_nodes, 3)
            Weight, sum and squares in the units of the target.
        rows : ndarray of int64, shape (n_nodes,)
            Number of rows.
        """
        reached = self.apply(X, handle_unknown)
        totals = np.zeros((self.n_nodes, 4), dtype=np.int64)
        order = np.argsort(reached, kind="stable")
        nodes, first = np.unique(reached[order], return_index=True)
        if len(nodes):
            totals[nodes] = np.add.reduceat(target.channels[order], first, axis=0)
        add_up(self.left, self.right, totals)
        return np.ascontiguousarray(totals[:, :3]), np.ascontiguousarray(totals[:, 3])

    # -- new trees from this one -----------------------------------------------------------

    def recounted(self, X: Matrix, target: NumericTarget) -> Self:
        """Return a tree with the same splits and the sums, means and rows of other rows.

        Parameters
        ----------
        X, target
            See :meth:`sums_on`.
        """
        # a tree has no rows that stop above its leaves
        policy = "other" if X.handle_unknown == "stop" else X.handle_unknown
        sums, rows = self.sums_on(X, target, policy)
        empty = np.flatnonzero(sums[:, 0] == 0)
        if len(empty):
            raise ValueError(
                f"Every node of a RegressionTree needs rows to be counted again. Node {empty[0]} "
                "has none."
            )
        return replace(
            self,
            columns=self._columns_with_missing(X.columns),
            moments=_moments(sums, target.units),
            sums=sums,
            units=target.units,
            rows=rows,
            value=None,  # type: ignore[arg-type]  # the means
            weighted=target.weighted,
        )

    def with_values(self, value: Floats) -> Self:
        """Return the tree with other predictions of its nodes, kept in order by ``monotone``."""
        return replace(self, value=self.in_order(np.asarray(value, dtype=np.float64)))


def _moments(sums: NDArray[np.int64], units: TargetUnits) -> Floats:
    """Return weight, mean and squared deviations of nodes from their sums."""
    sums = np.ascontiguousarray(sums, dtype=np.int64)
    squares = squared_deviations(sums, units.square_shift) * units.square_unit
    return np.column_stack([sums[:, 0] * units.weight_unit, units.means(sums), squares])


def importances(tree: RegressionTree) -> NDArray[np.float64]:
    """Share of each column in the decrease of squared deviations; all are zero for one leaf."""
    inner = np.flatnonzero(~tree.is_leaf)
    by_column = np.bincount(
        tree.feature[inner], weights=tree.gains[inner], minlength=len(tree.columns)
    )
    total = by_column.sum()
    return np.asarray(by_column / total if total > 0.0 else by_column, dtype=np.float64)
