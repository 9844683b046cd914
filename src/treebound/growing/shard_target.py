"""The target of the rows of a shard: classes with weights, or numbers.

All that a shard does with its target is here: it makes integers of it, which the kernels add, and
takes, joins and adds those of some rows. What the integers stand for is known to criteria, bounds
and limits alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from treebound.data import Sample
from treebound.data.number_sample import NumberSample
from treebound.data.numeric_target import NumberFacts, NumericTarget
from treebound.data.weights import WeightTotal
from treebound.growing._memory import grow_arrays, grow_numbers
from treebound.growing.kernel_types import TreeArrays

# Labels have two bytes.
MAX_CLASSES = 1 << 16

# Labels, their weights as integers, and the channels of numbers; None for what there is not.
KernelTarget = tuple[NDArray[np.uint16] | None, NDArray[np.int64] | None, NDArray[np.int64] | None]


class Totals(NamedTuple):
    """Facts about the target of all rows that are needed to make integers of one row."""

    weights: WeightTotal
    numbers: NumberFacts | None = None  # None: the target is of classes


class ShardTarget(Protocol):
    """The target of some rows; integers only after :meth:`in_units`."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def totals(self) -> Totals:
        """Facts about these rows."""
        ...

    @property
    def kernel(self) -> KernelTarget:
        """The integers, as the kernels take them."""
        ...

    @property
    def has_rows(self) -> bool:
        """Return True if counts have 64 bits, and the rows of a bin after its channels."""
        ...

    def in_units(self, totals: Totals) -> Self:
        """Return the target as integers; ``totals`` is that of all rows."""
        ...

    def sums(self, n_channels: int) -> NDArray[np.int64]:
        """Return the sums of the channels."""
        ...

    def sums_by_value(
        self, value: NDArray[np.intp], n_values: int, n_channels: int
    ) -> NDArray[np.int64]:
        """Return the sums of the channels, then rows, of ascending values."""
        ...

    def take(self, rows: NDArray[Any]) -> Self:
        """Return the target of some rows."""
        ...

    def joined(self, targets: Sequence[Self]) -> Self:
        """Return the targets of several pieces, one after the other."""
        ...

    def salt(self) -> NDArray[np.uint64]:
        """Return a number for each row that depends on its target."""
        ...

    def grow(self, columns: list[NDArray[Any]], kernel: Mapping[str, Any]) -> TreeArrays:
        """Return the arrays of the tree that grows on these rows."""
        ...


@dataclass(frozen=True)
class ClassTarget:
    """Two bytes per row for the label, and eight for a weight."""

    labels: NDArray[np.uint16]
    weight: NDArray[np.float64] | None = None  # times class weights, as it was given
    units: NDArray[np.int64] | None = None  # weights as integers; None if every weight is one

    @property
    def n_rows(self) -> int:
        return len(self.labels)

    @property
    def totals(self) -> Totals:
        return Totals(WeightTotal.of(self.weight, self.n_rows))

    @property
    def kernel(self) -> KernelTarget:
        return self.labels, self.units, None

    @property
    def has_rows(self) -> bool:
        return self.units is not None

    def in_units(self, totals: Totals) -> ClassTarget:
        return ClassTarget(self.labels, None, totals.weights.integers(self.weight, self.n_rows))

    def sums(self, n_channels: int) -> NDArray[np.int64]:
        # sums of integers below 2^53 are exact in floats
        weights = None if self.units is None else self.units.astype(np.float64)
        return np.bincount(self.labels, weights, n_channels).astype(np.int64)

    def sums_by_value(
        self, value: NDArray[np.intp], n_values: int, n_channels: int
    ) -> NDArray[np.int64]:
        counts = np.zeros((n_values, n_channels + 1), dtype=np.int64)
        # sums of integers below 2^53 are exact in floats
        weights = None if self.units is None else self.units.astype(np.float64)
        cells = np.bincount(value * n_channels + self.labels, weights, n_values * n_channels)
        counts[:, :n_channels] = cells.reshape(n_values, n_channels)
        counts[:, n_channels] = np.bincount(value, minlength=n_values)
        return counts

    def take(self, rows: NDArray[Any]) -> ClassTarget:
        units = None if self.units is None else self.units[rows]
        return replace(self, labels=self.labels[rows], units=units)

    def joined(self, targets: Sequence[ClassTarget]) -> ClassTarget:
        units = [target.units for target in targets if target.units is not None]
        return replace(
            self,
            labels=np.concatenate([target.labels for target in targets]),
            units=np.concatenate(units) if units else None,
        )

    def salt(self) -> NDArray[np.uint64]:
        salt = self.labels.astype(np.uint64) + np.uint64(1)
        if self.units is not None:
            salt += self.units.astype(np.uint64) << np.uint64(16)
        return salt

    def grow(self, columns: list[NDArray[Any]], kernel: Mapping[str, Any]) -> TreeArrays:
        return grow_arrays(columns, self.labels.astype(np.int32), self.units, **kernel)


@dataclass(frozen=True)
class NumberTarget:
    """Sixteen bytes per row as it was given, 32 as integers."""

    y: NDArray[np.float64]
    weight: NDArray[np.float64] | None = None  # as it was given
    channels: NDArray[np.int64] | None = None  # as a ``NumericTarget`` has them

    @property
    def n_rows(self) -> int:
        return len(self.y if self.channels is None else self.channels)

    @property
    def totals(self) -> Totals:
        numbers = NumberFacts.of(self.y, self.weight)
        return Totals(WeightTotal.of(self.weight, self.n_rows), numbers)

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The channels and 1, by row."""
        assert self.channels is not None
        return self.channels

    @property
    def kernel(self) -> KernelTarget:
        return None, None, self.numbers

    @property
    def has_rows(self) -> bool:
        return True

    def in_units(self, totals: Totals) -> NumberTarget:
        assert totals.numbers is not None
        target = NumericTarget.part_of(self.y, self.weight, totals.numbers, totals.weights)
        return NumberTarget(self.y[:0], None, target.channels)

    def sums(self, n_channels: int) -> NDArray[np.int64]:
        return np.asarray(self.numbers[:, :n_channels].sum(axis=0))

    def sums_by_value(
        self, value: NDArray[np.intp], n_values: int, n_channels: int
    ) -> NDArray[np.int64]:
        if not n_values:
            return np.zeros((0, n_channels + 1), dtype=np.int64)
        starts = np.searchsorted(value, np.arange(n_values))
        return np.asarray(np.add.reduceat(self.numbers, starts, axis=0))

    def take(self, rows: NDArray[Any]) -> NumberTarget:
        return replace(self, channels=self.numbers[rows])

    def joined(self, targets: Sequence[NumberTarget]) -> NumberTarget:
        return replace(self, channels=np.concatenate([target.numbers for target in targets]))

    def salt(self) -> NDArray[np.uint64]:
        weight, total = (self.numbers[:, k].astype(np.uint64) for k in range(2))
        return total * np.uint64(0xA24BAED4963EE407) + weight

    def grow(self, columns: list[NDArray[Any]], kernel: Mapping[str, Any]) -> TreeArrays:
        return grow_numbers(columns, np.ascontiguousarray(self.numbers), **kernel)


def target_of(rows: Sample | NumberSample) -> ClassTarget | NumberTarget:
    """Return the target of some rows, as it was given."""
    if isinstance(rows, NumberSample):
        return NumberTarget(rows.y, rows.weight)
    check_classes(rows.n_classes)
    return ClassTarget(rows.y.astype(np.uint16), rows.masses)


def check_classes(n_classes: int) -> None:
    """Raise a ValueError if labels of two bytes cannot distinguish the classes."""
    if n_classes > MAX_CLASSES:
        raise ValueError(
            f"The target has {n_classes:,} classes. Growing in parts (Dask, or with a checkpoint) "
            f"takes at most {MAX_CLASSES:,}. Hint: is the target an identifier?"
        )
