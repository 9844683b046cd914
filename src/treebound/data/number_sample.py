"""A sample whose target is a number: encoded rows with their numbers and weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats
from treebound.data.columns import Column
from treebound.data.draws import Selection, Splitter, folds
from treebound.data.frames import Table
from treebound.data.matrix import Matrix
from treebound.data.numeric_target import NumericTarget
from treebound.data.row_hashes import row_hashes
from treebound.data.sample import EncodedRows, Sample, WeightedTargets, joined_rows
from treebound.data.summaries import TableSummary, TargetSummary
from treebound.data.weights import is_whole


class WeightedNumbers(WeightedTargets, ABC):
    """Numbers of rows with their weights, wherever the columns of the rows are."""

    y: Floats
    groups: NDArray[np.int64] | None

    @property
    def square_weights(self) -> Floats:
        """The weight of each row in sums of squares: whole weights stand for repeated rows."""
        return self.weights if is_whole(self.weight) else self.weights**2

    def with_groups(self, groups: NDArray[np.int64] | None) -> Self:
        """Return the rows with the group of each."""
        rows: Any = self
        grouped: Self = replace(rows, groups=groups)
        return grouped

    @abstractmethod
    def nodes_of(self, tree: Any) -> NDArray[np.int32]:
        """Return the node of a tree at which each row ends."""


@dataclass(frozen=True, eq=False)
class NumberSample(EncodedRows, WeightedNumbers):
    """Encoded and checked rows with a number each; immutable.

    Attributes
    ----------
    X : Matrix
        The encoded columns.
    y : ndarray of float64
        The number of each row, finite.
    weight : ndarray of float64 or None
        The sample weight of each row, all positive; None if the rows are not weighted. Whole
        numbers stand for repeated rows.
    groups : ndarray of int64 or None
        The group of each row; folds and held-out parts keep groups together.

    Raises
    ------
    ValueError
        If the lengths differ, a number is not finite, or a weight is not positive.
    """

    y: Floats
    weight: Floats | None = None
    groups: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        self._check_rows()
        if not np.isfinite(self.y).all():
            raise ValueError("The 'y' of a NumberSample must be finite numbers.")

    @classmethod
    def of(cls, sample: Sample, y: Floats) -> NumberSample:
        """Return the rows of a sample with numbers instead of classes."""
        return cls(sample.X, y, sample.weight, sample.groups)

    @property
    def is_weighted(self) -> bool:
        """Return True if some row has another weight than 1."""
        return self.weight is not None and not bool((self.weight == 1.0).all())

    @property
    def is_constant(self) -> bool:
        """Return True if all numbers are equal."""
        return bool((self.y == self.y[0]).all())

    @cached_property
    def target(self) -> NumericTarget:
        """The channels of the rows, for growing."""
        return NumericTarget.of(self.y, self.weight)

    @cached_property
    def distinct(self) -> Floats:
        """The distinct numbers, sorted."""
        distinct: Floats = np.unique(self.y)
        return distinct

    def clipped(self, low: float, high: float) -> NumberSample:
        """Return the sample with numbers moved into a range."""
        return replace(self, y=np.clip(self.y, low, high))

    def part(self, rows: NDArray[Any] | slice, weight: Floats | None = None) -> NumberSample:
        """Select rows by an index array, a slice or a mask, perhaps with other weights."""
        if weight is None and self.weight is not None:
            weight = self.weight[rows]
        groups = None if self.groups is None else self.groups[rows]
        return NumberSample(self.X.part(rows), self.y[rows], weight, groups)

    @classmethod
    def empty(cls, columns: Sequence[Column]) -> NumberSample:
        """Return a sample of no rows."""
        return cls(Matrix.empty(columns), np.empty(0))

    @staticmethod
    def joined(samples: Sequence[NumberSample]) -> NumberSample:
        """Return the rows of samples with the same columns, one after the other."""
        samples = [sample for sample in samples if sample.n_rows] or samples[:1]
        return samples[0] if len(samples) == 1 else NumberSample(*joined_rows(samples))

    def nodes_of(self, tree: Any) -> NDArray[np.int32]:
        nodes: NDArray[np.int32] = tree.apply(self.X)
        return nodes

    def folds(
        self, k: int | Splitter, seed: int | None
    ) -> Iterator[tuple[NumberSample, NumberSample]]:
        """Yield the rows outside and inside each fold, see :func:`treebound.data.draws.folds`.

        Folds depend on the values of the columns and on the order of the numbers, not on the order
        of the rows, so that they are the same after a shift of all numbers.
        """
        for outside, inside in folds(self._places(), k, seed):
            yield self._at(outside), self._at(inside)

    def split(self, selection: Selection) -> tuple[NumberSample, NumberSample]:
        """Return the other rows, and those of a selection."""
        outside, inside = selection.split(self._places())
        return self._at(outside), self._at(inside)

    @property
    def summary(self) -> TableSummary:
        """The summary of columns and target from which rows are drawn."""
        no_classes = np.zeros(self.n_rows, dtype=np.int32)
        return TableSummary.of(self.X, no_classes, 1).with_target(TargetSummary.of(self.y))

    def _with_column(self, values: Floats) -> Matrix:
        """Return the matrix with one more column."""
        columns = (*self.X.columns, Column("target", "real"))
        return Matrix(columns, (*self.X.values, values))

    def _places(self) -> Sample:
        """Return the rows as a sample of one class whose parts know their places."""
        # equal rows are copies only if their numbers are equal too
        ranks = np.unique(self.y, return_inverse=True)[1].astype(np.float64)
        return _Places(
            self._with_column(ranks),
            np.zeros(self.n_rows, dtype=np.int32),
            self.weight,
            np.zeros(1),
            None,
            self.groups,
            np.arange(self.n_rows),
        )

    def _at(self, rows: Sample) -> NumberSample:
        """Return the rows at the places of a part, with its weights."""
        assert isinstance(rows, _Places)
        mask = np.zeros(self.n_rows, dtype=bool)
        mask[rows.places] = True
        return self.part(mask, rows.weight)


# A sample of classes, or one of numbers.
AnySample = TypeVar("AnySample", bound=Sample | NumberSample)


def number_hashes(
    X: Table | Matrix, y: Floats, names: Sequence[str] | None, *, exact: bool = False
) -> NDArray[np.uint64]:
    """Return a hash of the values and the number of each row.

    Numbers are rounded to six significant digits unless ``exact``.
    """
    one_class = np.zeros(len(y), dtype=np.int32)
    target = Matrix((Column("y"),), (np.ascontiguousarray(y, dtype=np.float64),))
    hashes = row_hashes(X, np.zeros(1), one_class, names=names, exact=exact)
    of_target = row_hashes(target, np.zeros(1), one_class, names=["y"], exact=exact)
    return hashes + np.uint64(3) * of_target


@dataclass(frozen=True, eq=False)
class _Places(Sample):
    """Rows to be drawn; of a part only places, weights and groups are kept."""

    places: NDArray[np.intp] = field(default_factory=lambda: np.arange(0))

    def __post_init__(self) -> None:
        """Check nothing: the rows are those of a NumberSample."""

    def part(self, rows: NDArray[Any] | slice) -> _Places:
        return replace(
            self,
            y=self.y[rows],
            weight=None if self.weight is None else self.weight[rows],
            groups=None if self.groups is None else self.groups[rows],
            places=self.places[rows],
        )
