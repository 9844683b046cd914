"""Choosing the size of a regression tree by validated squared errors.

Candidates are trees of several minimum leaf sizes, pruned at several weights, with leaf values
shrunk in several ways. Rows that end at the same node of a grown tree have the same prediction in
every pruning, so the sums of the first four powers of their residuals, by node, are all that the
losses and their standard errors need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats, Ints
from treebound._utils.quantities import quantity
from treebound.data.number_sample import WeightedNumbers
from treebound.pruning.path import count
from treebound.pruning.squared_error import SquaredErrorPath
from treebound.pruning.weight import ChosenWeight
from treebound.tree.leaf_values import Shrinkage, shrunk_values
from treebound.tree.regression import RegressionTree

# Standard errors above the least loss that a smaller tree may have, and whether they are those of
# the differences from it.
RULES = {"accurate": (0.0, True), "balanced": (0.5, True), "small": (1.0, False)}
DEFAULT_RULE = "balanced"
# Losses that differ by less than this share are equal.
_SLACK = 1e-6


@dataclass(frozen=True)
class ResidualSums:
    """Sums of the powers 0 to 4 of validation residuals at the nodes where rows end.

    Attributes
    ----------
    nodes : ndarray of intp
        The nodes of the grown tree at which rows end.
    sums, squares : ndarray of float64, shape (n, 5)
        The sums of ``(y - mean)^p``, with the weights of losses and of their squares; ``mean`` is
        the training mean of the node.
    """

    nodes: NDArray[np.intp]
    sums: Floats
    squares: Floats

    @classmethod
    def of(cls, tree: RegressionTree, rows: WeightedNumbers) -> ResidualSums:
        """Sum the residuals of validation rows."""
        return cls.at(tree, rows.nodes_of(tree), rows)

    @classmethod
    def at(
        cls, tree: RegressionTree, reached: NDArray[np.int32], rows: WeightedNumbers
    ) -> ResidualSums:
        """Sum the residuals of validation rows that end at known nodes."""
        nodes, place = np.unique(reached, return_inverse=True)
        residual = rows.y - tree.mean[reached]
        powers = [np.ones(rows.n_rows)]
        for _ in range(4):
            powers.append(powers[-1] * residual)

        def summed(weight: Floats) -> Floats:
            columns = [np.bincount(place, weight * power, len(nodes)) for power in powers]
            return np.column_stack(columns) if len(nodes) else np.zeros((0, 5))

        sums = summed(rows.weights)
        same = rows.square_weights is rows.weights or rows.weight is None
        return cls(nodes.astype(np.intp), sums, sums if same else summed(rows.square_weights))

    def loss(self, away: Floats) -> float:
        """Return the sum of squared errors; ``away`` is the prediction minus the mean."""
        _, s1, s2, _, _ = self.sums.T
        return float((s2 - 2.0 * away * s1 + away**2 * self.sums[:, 0]).sum())

    def loss_squares(self, away: Floats) -> float:
        """Return the sum of the squares of squared errors."""
        s0, s1, s2, s3, s4 = self.squares.T
        return float(
            (s4 - 4 * away * s3 + 6 * away**2 * s2 - 4 * away**3 * s1 + away**4 * s0).sum()
        )

    def difference_squares(self, away: Floats, other: Floats) -> float:
        """Return the sum of the squares of differences of two squared errors."""
        s0, s1, s2, _, _ = self.squares.T
        level, slope = away**2 - other**2, -2.0 * (away - other)
        return float((level**2 * s0 + 2.0 * level * slope * s1 + slope**2 * s2).sum())


class MeasuredPath(NamedTuple):
    """A path of trees with validation residuals, and its steps at each weight."""

    path: SquaredErrorPath
    rows: ResidualSums
    steps: Ints
    values: Floats  # of the nodes, shape (n_shrinkages, n_nodes)

    @classmethod
    def of(
        cls,
        path: SquaredErrorPath,
        rows: ResidualSums,
        steps: Ints,
        shrinkages: Sequence[Shrinkage],
    ) -> MeasuredPath:
        """Measure a path."""
        values = np.array([shrunk_values(path.first, shrinkage) for shrinkage in shrinkages])
        return cls(path, rows, steps, values)

    def away(self, weight: int, shrinkage: int) -> Floats:
        """Return prediction minus mean for each node where rows end, at a weight."""
        nodes = self.path.nodes_at(int(self.steps[weight]))[self.rows.nodes]
        away: Floats = self.values[shrinkage][nodes] - self.path.first.mean[self.rows.nodes]
        return away

    def losses(self) -> Floats:
        """Return the losses, shape (n_weights, n_shrinkages)."""
        mean = self.path.first.mean[self.rows.nodes]
        at_step = {}
        for step in {*self.steps.tolist()}:
            nodes = self.path.nodes_at(step)[self.rows.nodes]
            at_step[step] = [self.rows.loss(values[nodes] - mean) for values in self.values]
        return np.array([at_step[step] for step in self.steps.tolist()])

    def loss_at(self, step: int, shrinkage: int) -> float:
        """Return the loss of a step."""
        nodes = self.path.nodes_at(step)[self.rows.nodes]
        mean = self.path.first.mean[self.rows.nodes]
        return self.rows.loss(self.values[shrinkage][nodes] - mean)

    @property
    def constant(self) -> float:
        """The loss of one leaf."""
        tree = self.path.first
        return self.rows.loss(tree.mean[0] - tree.mean[self.rows.nodes])


class Place(NamedTuple):
    """A candidate: indices of leaf size, weight and shrinkage."""

    size: int
    weight: int
    shrinkage: int


@dataclass(frozen=True, eq=False)
class Losses:
    """Validated squared errors of all candidates."""

    rows: float  # weight of the validation rows
    losses: Floats  # mean squared errors, of shape (n_sizes, n_weights, n_shrinkages)
    constant: float  # mean squared error of one leaf
    best: Place  # the candidate of plain means with the least loss
    standard_error: float  # of the least loss of plain means
    paired: Floats  # standard errors of the differences from it, at each weight of its leaf size

    @classmethod
    def of(cls, measured: Sequence[Sequence[MeasuredPath]]) -> Losses | None:
        """Sum the losses of all folds, by leaf size; None if there are no validation rows."""
        rows = float(sum(part.rows.sums[:, 0].sum() for part in measured[0])) if measured else 0.0
        if not rows:
            return None
        sums = np.array([np.sum([part.losses() for part in parts], axis=0) for parts in measured])
        plain = sums[:, :, 0]
        size, weight = (int(i) for i in np.unravel_index(int(np.argmin(plain)), plain.shape))
        best, parts = Place(size, weight, 0), measured[size]
        squares = sum(part.rows.loss_squares(part.away(weight, 0)) for part in parts)
        differences = np.array([
            sum(
                part.rows.difference_squares(part.away(at, 0), part.away(weight, 0))
                for part in parts
            )
            for at in range(plain.shape[1])
        ])  # fmt: skip
        return cls(
            rows,
            sums / rows,
            float(sum(part.constant for part in measured[size])) / rows,
            best,
            float(_deviation(plain[size, weight], squares, rows)) / rows,
            _deviation(plain[size] - plain[size, weight], differences, rows) / rows,
        )

    def place(self, rule: str, leaves: Sequence[int] | None = None) -> Place:
        """Return the candidate of a rule.

        ``leaves`` are those of the tree of all rows at each weight. One leaf is taken only if it
        has the least loss itself.
        """
        if rule == "accurate":
            at = np.unravel_index(int(self.losses.argmin()), self.losses.shape)
            return Place(*(int(i) for i in at))
        allowed, is_paired = RULES[rule]
        size, plain = self.best.size, self.losses[self.best.size, :, 0]
        best = float(plain.min())
        errors = self.paired if is_paired else self.standard_error
        fitting = np.flatnonzero(plain <= best + allowed * errors + _SLACK * best)
        if leaves is not None and self.constant > best * (1.0 + _SLACK):
            informative = fitting[np.asarray(leaves)[fitting] > 1]
            fitting = informative if len(informative) else fitting
        weight = int(fitting[-1])
        return Place(size, weight, int(self.losses[size, weight].argmin()))


def _deviation(total: Floats | float, squares: Floats | float, rows: float) -> Floats:
    """Return the standard deviation of a sum over independent rows."""
    return np.sqrt(np.maximum(np.asarray(squares) - np.asarray(total) ** 2 / rows, 0.0))


@dataclass(frozen=True)
class NumberChoice(ChosenWeight):
    """How the weight, the minimum leaf size and the shrinkage of a regression tree were chosen.

    Attributes
    ----------
    weight : float
        The chosen weight (or alpha of cost-complexity pruning).
    rule : {"accurate", "balanced", "small"} or None
        The rule that chose; None if there was no choice.
    reason : str
        Why there was no choice; else how losses were measured.
    min_samples_leaf : int
        The chosen minimum number of rows in a leaf.
    shrinkage : Shrinkage
        The chosen shrinkage of leaf values.
    weights : tuple of float
        The weights that were tried.
    leaves : tuple of int
        Leaves of the tree of all rows at each weight.
    losses : tuple of float
        Validated mean squared error at each weight, with the chosen leaf size and shrinkage.
    standard_error : float
        Standard error of the least loss of plain means.
    constant : float
        Validated mean squared error of one leaf.
    tried : tuple of int
        How many weights, leaf sizes and shrinkages were tried.
    """

    weight: float
    rule: str | None
    reason: str
    min_samples_leaf: int
    shrinkage: Shrinkage
    weights: tuple[float, ...] = ()
    leaves: tuple[int, ...] = ()
    losses: tuple[float, ...] = ()
    standard_error: float = np.nan
    constant: float = np.nan
    tried: tuple[int, int, int] = (1, 1, 1)

    def explain(self) -> str:
        """Describe the choice."""
        if self.rule is None:
            return f"Weight {self.weight:g} of the tree: {self.reason}."
        here = self.index
        words = [f"{count(self.leaves[here], 'leaf')} ({self.reason} RMSE {_root(self.loss)})"]
        for other in (here + 1, here - 1):
            if 0 <= other < len(self.weights) and self.leaves[other] != self.leaves[here]:
                words.append(
                    f"{count(self.leaves[other], 'leaf')} have {_root(self.losses[other])}"
                    if self.leaves[other] > 1
                    else f"1 leaf has {_root(self.constant)}"
                )
        weights, sizes, shrinkages = self.tried
        return (
            f"{'; '.join(words)}. An estimate: weight {self.weight:g}, leaves of at least "
            f"{count(self.min_samples_leaf, 'row')} and shrinkage {self.shrinkage} were chosen by "
            f"it among {weights}, {sizes} and {shrinkages}."
        )


def _root(loss: float) -> str:
    return quantity(np.sqrt(loss))
