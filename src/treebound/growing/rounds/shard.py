"""One part of the rows: its codes in memory, its values at hand, and what is asked of it.

Everything here is a pure function of a shard, of the state of its rows and of a question. So an
engine may run it anywhere, and again where a result was lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from treebound.data import Matrix, Sample
from treebound.growing import _shard
from treebound.growing._bins import Bins
from treebound.growing._grow import grow as grow_arrays
from treebound.growing.naming import naming_rows_of_part
from treebound.growing.units import WeightTotal
from treebound.tree.model import Tree


class Values(Protocol):
    """The values of a shard, wherever they are kept."""

    def column(self, j: int) -> NDArray[Any]:
        """The values of a column, as a ``Matrix`` has them."""
        ...


@dataclass(frozen=True)
class ArrayValues:
    """Values in memory."""

    columns: Sequence[NDArray[Any]]

    def column(self, j: int) -> NDArray[Any]:
        """The values of a column."""
        return self.columns[j]


@dataclass(frozen=True)
class Shard:
    """Rows as codes: a byte or two a value, two bytes a row for the label, eight for a weight.

    Attributes
    ----------
    panels : list of ndarray
        The codes, as :meth:`Bins.code` gives them.
    labels : ndarray of uint16
    weight : ndarray of float64 or None
        As given, until :func:`weigh` makes integers of it; None where every weight is one.
    units : ndarray of int64 or None
        Weights as integers.
    values : Values
        The values of columns whose codes do not tell them.
    """

    panels: list[NDArray[Any]]
    labels: NDArray[np.uint16]
    weight: NDArray[np.float64] | None
    units: NDArray[np.int64] | None
    values: Values

    def column(self, j: int, bins: Bins) -> NDArray[Any]:
        """The values of a column, as a ``Matrix`` has them."""
        if not bins.by_code[j]:
            return self.values.column(j)
        panel = next(p for p, group in enumerate(bins.panels) if j in group)
        codes = self.panels[panel][:, bins.panels[panel].index(j)].astype(np.int32)
        codes[codes == bins.n_bins[j]] = -1
        return codes

    def floats(self, j: int, bins: Bins) -> NDArray[np.float64]:
        """The values of a column as floats, NaN where missing."""
        values = self.column(j, bins)
        if values.dtype.kind == "i":
            return np.where(values < 0, np.nan, values.astype(np.float64))
        return np.ascontiguousarray(values, dtype=np.float64)


class Rows(NamedTuple):
    """Which rows each node has: those of slot s from ``starts[s]`` to ``starts[s + 1]``."""

    rows: NDArray[np.uint32]
    starts: NDArray[np.int64]

    @classmethod
    def all(cls, n: int) -> Rows:
        """All rows in one node."""
        return cls(np.arange(n, dtype=np.uint32), np.array([0, n], dtype=np.int64))

    def of(self, slot: int) -> NDArray[np.uint32]:
        """The rows of a node."""
        return self.rows[self.starts[slot] : self.starts[slot + 1]]


@dataclass(frozen=True)
class Facts:
    """What is known of some rows once they are coded; those of several shards can be added.

    Attributes
    ----------
    n_rows : int
    total : WeightTotal
    extents : ndarray of shape (n_columns, 2)
        The least and the greatest value of every column.
    missing : ndarray of bool
        Which columns have missing values.
    single : list of ndarray
        Which bins hold one value only.
    """

    n_rows: int
    total: WeightTotal
    extents: NDArray[np.float64]
    missing: NDArray[np.bool_]
    single: list[NDArray[np.uint8]]

    def __add__(self, other: Facts) -> Facts:
        ends = (
            np.minimum(self.extents[:, 0], other.extents[:, 0]),
            np.maximum(self.extents[:, 1], other.extents[:, 1]),
        )
        return Facts(
            self.n_rows + other.n_rows,
            self.total + other.total,
            np.column_stack(ends),
            self.missing | other.missing,
            [a & b for a, b in zip(self.single, other.single, strict=True)],
        )


def code_sample(sample: Sample, bins: Bins, values: Values | None = None) -> tuple[Shard, Facts]:
    """Code some rows.

    Parameters
    ----------
    sample : Sample
        With the columns and classes of all rows.
    bins : Bins
    values : Values, optional
        Where the values of these rows are kept; by default in memory, as they are.
    """
    n = sample.n_rows
    panels, extents, missing, single = bins.code(sample.X.values, n)
    kept = ArrayValues(sample.X.values) if values is None else values
    total = WeightTotal.of(sample.weight, n)
    facts = Facts(n, total, extents, np.array(missing, dtype=bool), single)
    return Shard(panels, sample.y.astype(np.uint16), sample.weight, None, kept), facts


def recode(shard: Shard, bins: Bins, finer: Bins) -> tuple[Shard, Facts]:
    """The shard in finer bins; its values are read again."""
    columns = [shard.column(j, bins) for j in range(bins.n_columns)]
    n = len(shard.labels)
    panels, extents, missing, single = finer.code(columns, n)
    facts = Facts(n, WeightTotal(), extents, np.array(missing, dtype=bool), single)
    return replace(shard, panels=panels), facts


def weigh(shard: Shard, total: WeightTotal, n_classes: int) -> tuple[Shard, NDArray[np.int64]]:
    """The shard with weights as integers, and the weight of every class.

    ``total`` is that of all rows.
    """
    units = total.integers(shard.weight, len(shard.labels))
    counts = _shard.count_classes(shard.labels, units, n_classes)
    return replace(shard, weight=None, units=units), counts


# -- histograms --------------------------------------------------------------------------------


def count_bins(
    shard: Shard,
    rows: Rows,
    bins: Bins,
    n_classes: int,
    slots: NDArray[np.int32],
    table: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """The histograms of some nodes: weight by bin and class, one node a row.

    Without weights they are numbers of rows, of 32 bits; else the rows of a bin stand after its
    classes. They are added to ``table`` if it is given.
    """
    if table is None:
        width = n_classes + (shard.units is not None)
        size = sum((n + 1) * width for n in bins.n_bins)
        table = np.zeros((len(slots), size), dtype=np.uint32 if shard.units is None else np.int64)
    _shard.count(
        bins, shard.panels, shard.labels, shard.units, rows.rows, rows.starts, slots, n_classes,
        table,
    )  # fmt: skip
    return table


# -- splits ------------------------------------------------------------------------------------


class ShardSplit(NamedTuple):
    """Where the rows of a node go; see :func:`treebound.growing._shard.part`."""

    slot: int
    column: int
    sides: NDArray[np.uint8]
    edge: int
    keep_left: bool
    keep_right: bool


def part_rows(shard: Shard, rows: Rows, bins: Bins, splits: Sequence[ShardSplit]) -> Rows:
    """The rows of the children that are kept, which are numbered in the order of the splits."""
    looks = {split.column for split in splits if (split.sides == 2).any()}
    values = {j: shard.floats(j, bins) for j in looks}
    return Rows(*_shard.part(bins, shard.panels, rows.rows, rows.starts, splits, values))


# -- small nodes -------------------------------------------------------------------------------


class Piece(NamedTuple):
    """The rows that a shard has of a node."""

    columns: list[NDArray[Any]]
    labels: NDArray[np.int32]
    units: NDArray[np.int64] | None


def gather_rows(shard: Shard, rows: Rows, bins: Bins, slots: Sequence[int]) -> list[Piece]:
    """The values of the rows of some nodes, as the in-memory growth takes them."""
    ids = [rows.of(slot) for slot in slots]
    columns: list[list[NDArray[Any]]] = [[] for _ in slots]
    for j in range(bins.n_columns):
        values = shard.column(j, bins)
        for found, mine in zip(columns, ids, strict=True):
            found.append(values[mine])
    return [
        Piece(
            found,
            shard.labels[mine].astype(np.int32),
            None if shard.units is None else shard.units[mine],
        )
        for found, mine in zip(columns, ids, strict=True)
    ]


class Subtree(NamedTuple):
    """What is grown below a small node: its slot, and what the in-memory kernel takes."""

    slot: int
    kernel: dict[str, Any]


def grow_subtree(pieces: Sequence[Piece], kernel: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays of the tree below a node, of which shards have these rows."""
    piece = joined(pieces)
    arrays, _ = grow_arrays(piece.columns, piece.labels, piece.units, **kernel)
    return arrays


def joined(pieces: Sequence[Piece]) -> Piece:
    """The rows that several shards have of a node."""
    units = [piece.units for piece in pieces if piece.units is not None]
    return Piece(
        [_concatenated(column) for column in zip(*(p.columns for p in pieces), strict=True)],
        np.concatenate([piece.labels for piece in pieces]),
        np.concatenate(units) if units else None,
    )


def _concatenated(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """One array; a float64 among float32 makes all of them float64."""
    return np.ascontiguousarray(np.concatenate(arrays))


# -- names -------------------------------------------------------------------------------------


class Names(NamedTuple):
    """The row that names each split as far as some rows tell, and its shuffled number; or -1."""

    rows: NDArray[np.int64]
    numbers: NDArray[np.int64]


def name_splits(
    shard: Shard, bins: Bins, tree: Tree, ids: NDArray[np.int64], numbers: NDArray[np.int64]
) -> Names:
    """The rows of a shard that may name splits.

    ``ids`` are the places of its rows in the table, ``numbers`` their shuffled numbers.
    """
    if not len(shard.labels):
        none = np.full(tree.n_nodes, -1, dtype=np.int64)
        return Names(none, none)
    X = Matrix(tree.columns, tuple(shard.column(j, bins) for j in range(bins.n_columns)))
    rows = naming_rows_of_part(tree, X, numbers)
    named, rows = rows >= 0, np.maximum(rows, 0)
    return Names(np.where(named, ids[rows], -1), np.where(named, numbers[rows], -1))


def last_names(many: Sequence[Names]) -> Names:
    """Of the rows that shards give, those of the greatest numbers."""
    rows = np.array([names.rows for names in many])
    numbers = np.array([names.numbers for names in many])
    last = numbers.argmax(axis=0)[None]
    return Names(
        np.take_along_axis(rows, last, axis=0)[0], np.take_along_axis(numbers, last, axis=0)[0]
    )
