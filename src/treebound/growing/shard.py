"""One part of the rows: its codes in memory, its values at hand, and its operations.

Everything here is a pure function of a bundle, some shards that one thread works on, and of a
request. So an engine may run it anywhere, and again if a result was lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import accumulate
from operator import add
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound._utils._pool import each
from treebound.data import Matrix, Sample
from treebound.data.columns import Column
from treebound.data.number_sample import AnySample, NumberSample
from treebound.data.numeric_target import NumberFacts
from treebound.data.parts import PartRows, join_parts
from treebound.data.spill import SpillFile, Values
from treebound.data.weights import WeightTotal
from treebound.growing._bins import Bins, keys_of, take_rows
from treebound.growing._histogram import (
    code_shard,
    column_codes,
    count_shard,
    divide_shard,
    look_into_shard,
)
from treebound.growing._layout import LOOK
from treebound.growing.kernel_types import TreeArrays
from treebound.growing.messages import (
    IntervalCounts,
    IntervalRequest,
    ShardSplit,
    Subtree,
    interval_counts,
)
from treebound.growing.shard_target import (
    ClassTarget,
    NumberTarget,
    ShardTarget,
    Totals,
    target_of,
)
from treebound.tree.model import Tree
from treebound.tree.naming import Names, last_names, names_of_part
from treebound.tree.node_sums import WeightTotals, class_sums
from treebound.tree.regression import RegressionTree

# Parts of fewer rows are merged.
_FEW_ROWS = 1 << 15

# -- shards --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shard:
    """Rows as codes: a byte or two a value, and the target of each row."""

    codes: NDArray[np.uint8]  # as `code_shard` gives them
    target: ShardTarget
    values: Values  # of columns whose codes do not determine them
    # the first row of each part of the table that it has, there and in the table
    starts: tuple[tuple[int, int], ...] = ((0, 0),)

    def column(self, j: int, bins: Bins) -> NDArray[Any]:
        """The values of a column, as a ``Matrix`` has them."""
        if not bins.by_code[j]:
            return self.values[j]
        return column_codes(bins, self.codes, j)

    def columns(self, bins: Bins) -> list[NDArray[Any]]:
        """The values of all columns."""
        return [self.column(j, bins) for j in range(bins.n_columns)]

    def numbers(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of some rows in the table; -1 stays."""
        here, there = np.array(self.starts).T
        part = np.searchsorted(here, rows, side="right") - 1
        return np.where(rows < 0, -1, rows - here[part] + there[part])


class SlotRows(NamedTuple):
    """Which rows each node has: those of slot s from ``starts[s]`` to ``starts[s + 1]``."""

    rows: NDArray[np.uint32]
    starts: NDArray[np.int64]

    @classmethod
    def all(cls, n: int) -> SlotRows:
        """All rows in one node."""
        return cls(np.arange(n, dtype=np.uint32), np.array([0, n], dtype=np.int64))

    def of(self, slot: int) -> NDArray[np.uint32]:
        """The rows of a node."""
        return self.rows[self.starts[slot] : self.starts[slot + 1]]


@dataclass(frozen=True)
class Facts:
    """Facts about some rows once they are coded; those of several shards can be added."""

    n_rows: int
    total: WeightTotal
    extents: NDArray[np.float64]  # the least and the greatest value of every column
    missing: NDArray[np.bool_]  # which columns have missing values
    single: list[NDArray[np.uint8]]  # which bins hold one value only
    validation: WeightTotals = field(default_factory=WeightTotals)  # of validation rows
    numbers: NumberFacts | None = None  # of a target of numbers

    def with_values_of(self, other: Facts) -> Facts:
        """Return the facts with those of the values in other bins."""
        return replace(self, extents=other.extents, missing=other.missing, single=other.single)

    @property
    def totals(self) -> Totals:
        """Facts about the target."""
        return Totals(self.total, self.numbers)

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
            self.validation.plus(other.validation),
            _both(self.numbers, other.numbers),
        )


def _both(one: NumberFacts | None, other: NumberFacts | None) -> NumberFacts | None:
    return None if one is None or other is None else one + other


SelectedRole = Literal["calibration", "validation"]


class SelectedRows(NamedTuple):
    """Rows that a draw selected for validation or calibration."""

    role: SelectedRole
    values: Values
    target: ClassTarget | NumberTarget  # as it was given
    handle_unknown: str  # as a ``Matrix`` has it
    numbers: NDArray[np.int64] | None = None  # of the rows in the table

    def matrix(self, columns: tuple[Column, ...]) -> Matrix:
        """The values of the rows."""
        values = tuple(self.values[j] for j in range(len(columns)))
        return Matrix(columns, values, handle_unknown=self.handle_unknown)


class Coded(NamedTuple):
    """Rows as codes, with their target as it was given."""

    shard: Shard
    facts: Facts
    selected: tuple[SelectedRows, ...] = ()
    sizes: tuple[int, ...] = ()  # the rows of its parts, if it has several


class Bundle(NamedTuple):
    """Shards that one thread works on, and which rows of each the nodes have."""

    shards: list[Shard]
    rows: list[SlotRows]
    bins: Bins
    facts: Facts
    counts: NDArray[np.int64]
    selected: list[SelectedRows]


def code_parts(parts: Iterable[PartRows[AnySample]], bins: Bins, file: SpillFile) -> list[Coded]:
    """Code rows whose values are kept in a file; small parts become one shard."""
    coded, small, n_rows = [], list[PartRows[AnySample]](), 0
    for part in parts:
        small.append(part)
        n_rows += part.n_rows
        if n_rows >= _FEW_ROWS:
            coded.append(_code_joined(small, bins, file))
            small, n_rows = [], 0
    return [*coded, _code_joined(small, bins, file)] if small else coded


def _code_joined(parts: Sequence[PartRows[AnySample]], bins: Bins, file: SpillFile) -> Coded:
    sizes = tuple(part.training.n_rows for part in parts)
    return code_part(join_parts(parts), bins, file)._replace(sizes=sizes)


def code_part(part: PartRows[AnySample], bins: Bins, file: SpillFile | None = None) -> Coded:
    """Code training rows and selected rows; store values in a file, or in memory."""
    values = None if file is None else file.write(part.training.X, bins.by_code)
    coded = code_sample(part.training, bins, values)
    selected, facts = [], coded.facts
    roles: dict[SelectedRole, tuple[Sample | NumberSample | None, NDArray[np.int64] | None]]
    roles = {
        "calibration": (part.calibration, part.calibration_numbers),
        "validation": (part.validation, part.validation_numbers),
    }
    for role, (rows, numbers) in roles.items():
        if rows is None:
            continue
        stored = rows.X.values if file is None else file.write(rows.X)
        target = replace(target_of(rows), weight=rows.weight)
        selected.append(SelectedRows(role, stored, target, rows.X.handle_unknown, numbers))
        if role == "validation":
            facts = replace(facts, validation=WeightTotals.of(rows.weight, rows.n_rows))
    return coded._replace(facts=facts, selected=tuple(selected))


def code_sample(sample: Sample | NumberSample, bins: Bins, values: Values | None = None) -> Coded:
    """Code some rows, of the columns and classes of all; ``values`` is where they are kept."""
    target = target_of(sample)
    codes, _, missing, single = code_shard(bins, sample.X.values, sample.n_rows)
    total, numbers = target.totals
    extents = extents_of(sample.X.values)
    facts = Facts(sample.n_rows, total, extents, missing, single, numbers=numbers)
    stored = sample.X.values if values is None else values
    return Coded(Shard(codes, target, stored), facts)


def extents_of(columns: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    """The least and the greatest value of every column; infinity and its negative if it has none.

    The extents that ``code_shard`` gives include those of the bins, which may be of other rows,
    such as calibration rows: ties between columns must not depend on them.
    """
    ends = np.empty((len(columns), 2))
    for at, values in enumerate(columns):
        if values.dtype.kind == "f":  # NaN is missing
            low = np.fmin.reduce(values, initial=np.inf)
            ends[at] = low, np.fmax.reduce(values, initial=-np.inf)
        else:  # codes of categories; those below zero are missing or unknown
            known = values[values >= 0]
            ends[at] = (known.min(), known.max()) if len(known) else (np.inf, -np.inf)
    return ends


def make_bundle(
    coded: Sequence[Coded],
    bins: Bins,
    totals: Totals,
    starts: Sequence[int],
    n_channels: int,
) -> Bundle:
    """Shards with integers; ``totals`` are those of all rows, and parts have a start."""
    counts = np.zeros(n_channels, dtype=np.int64)
    shards, numbers = [], iter(starts)
    for shard, _, _, sizes in coded:
        target = shard.target.in_units(totals)
        counts += target.sums(n_channels)
        here = accumulate(sizes[:-1], initial=0)
        shards.append(replace(shard, target=target, starts=tuple(zip(here, numbers, strict=False))))
    rows = [SlotRows.all(part.facts.n_rows) for part in coded]
    selected = [rows for part in coded for rows in part.selected]
    return Bundle(shards, rows, bins, reduce(add, [part.facts for part in coded]), counts, selected)


def recode(bundle: Bundle, bins: Bins) -> Bundle:
    """The bundle in finer bins; values are read again."""
    shards, facts_of = [], []
    for shard in bundle.shards:
        columns = shard.columns(bundle.bins)
        n_rows = shard.target.n_rows
        codes, _, missing, single = code_shard(bins, columns, n_rows)
        facts_of.append(Facts(n_rows, WeightTotal(), extents_of(columns), missing, single))
        shards.append(replace(shard, codes=codes))
    facts = bundle.facts.with_values_of(reduce(add, facts_of))
    return bundle._replace(shards=shards, bins=bins, facts=facts)


def digest_of(bundle: Bundle) -> NDArray[np.uint64]:
    """A sum over rows for every column, of numbers mixed from value, target and weight."""
    sums = np.zeros(bundle.bins.n_columns, dtype=np.uint64)
    for shard in bundle.shards:
        salt = shard.target.salt()
        for j in range(bundle.bins.n_columns):
            keys = keys_of(shard.column(j, bundle.bins).astype(np.float64))
            mixed = (keys ^ (salt * np.uint64(0x9E3779B97F4A7C15))) * np.uint64(0xD6E8FEB86659FD93)
            sums[j : j + 1] += (mixed ^ (mixed >> np.uint64(32))).sum(dtype=np.uint64)
    return sums


def count_rows(bundle: Bundle, slots: NDArray[np.int32], wide: bool) -> NDArray[Any]:
    """The histograms of some nodes: channels by bin, one node a row."""
    # Without weights and numbers they are numbers of rows; else the rows of a bin follow its
    # channels. wide states that 32 bits may be too few for the rows of all shards, here or
    # elsewhere.
    n_channels, bins = len(bundle.counts), bundle.bins
    has_rows = any(shard.target.has_rows for shard in bundle.shards)
    size = sum((n + 1) * (n_channels + has_rows) for n in bins.n_bins)
    table = np.zeros((len(slots), size), dtype=np.int64 if has_rows else np.uint32)
    for shard, (rows, starts) in zip(bundle.shards, bundle.rows, strict=True):
        target = shard.target.kernel
        count_shard(bins, shard.codes, *target, rows, starts, slots, n_channels, table)
    return table.astype(np.int64) if wide else table


def look_into(bundle: Bundle, requests: Mapping[int, IntervalRequest]) -> dict[int, IntervalCounts]:
    """Contents of some intervals of columns."""
    # Slices are counted in one table, and equal values merged once for all shards.
    n_channels, replies = len(bundle.counts), {}
    for j, request in requests.items():
        sliced = int((request.place >= 0).sum())
        slices = np.zeros((sliced, request.n_slices, n_channels + 1), dtype=np.int64)
        intervals, keys, targets = [], [], []
        for shard, (rows, starts) in zip(bundle.shards, bundle.rows, strict=True):
            labels, units, numbers = shard.target.kernel
            at, some_keys, ids = look_into_shard(
                bundle.bins, shard.codes, labels, units, numbers, rows, starts, j,
                shard.column(j, bundle.bins), *request[1:], slices,
            )  # fmt: skip
            intervals.append(at)
            keys.append(some_keys)
            targets.append(shard.target.take(ids))
        replies[j] = interval_counts(
            request,
            slices,
            np.concatenate(intervals),
            np.concatenate(keys),
            targets[0].joined(targets),
        )
    return replies


def divide_rows(bundle: Bundle, splits: Sequence[ShardSplit]) -> Bundle:
    """The rows of the children that are kept, which are numbered in the order of the splits."""
    looks = {split.column for split in splits if (split.sides == LOOK).any()}
    rows = []
    for shard, mine in zip(bundle.shards, bundle.rows, strict=True):
        values = {j: shard.column(j, bundle.bins) for j in looks}
        rows.append(
            SlotRows(
                *divide_shard(bundle.bins, shard.codes, mine.rows, mine.starts, splits, values)
            )
        )
    return bundle._replace(rows=rows)


# -- small nodes -------------------------------------------------------------------------------


class Piece(NamedTuple):
    """The rows that a bundle has of a node."""

    columns: list[NDArray[Any]]
    target: ShardTarget


def gather_rows(bundle: Bundle, slots: Sequence[int]) -> list[Piece]:
    """The values of the rows of some nodes, as the in-memory growth takes them."""
    by_slot: list[list[Piece]] = [[] for _ in slots]
    columns: list[list[NDArray[Any]]] = [[] for _ in slots]
    ids = [[rows.of(slot) for rows in bundle.rows] for slot in slots]
    for at, shard in enumerate(bundle.shards):
        values = shard.columns(bundle.bins)
        for pieces, columns_out, ids_of in zip(by_slot, columns, ids, strict=True):
            pieces.append(Piece([], shard.target.take(ids_of[at])))
            if shard.target.n_rows == sum(map(len, ids_of)) == len(ids_of[at]):
                columns_out[:] = values  # all rows, in their order, are not copied
            else:
                _add_rows(columns_out, values, ids_of, at)
    return [
        _joined(pieces)._replace(columns=columns_out)
        for pieces, columns_out in zip(by_slot, columns, strict=True)
    ]


def _add_rows(
    columns_out: list[NDArray[Any]],
    values: list[NDArray[Any]],
    ids: list[NDArray[Any]],
    at: int,
) -> None:
    """Add the rows of a shard to those of a node; float64 among float32 makes all float64."""
    if not columns_out:  # columns of a type in one array: a large one takes less time to get
        types = Counter(column.dtype for column in values)
        n = sum(map(len, ids))
        rooms = {dtype: iter(np.empty((size, n), dtype)) for dtype, size in types.items()}
        columns_out += [next(rooms[column.dtype]) for column in values]
    for j, column in enumerate(values):
        columns_out[j] = columns_out[j].astype(np.result_type(columns_out[j], column), copy=False)
    same = [
        column.astype(out.dtype, copy=False)
        for column, out in zip(values, columns_out, strict=True)
    ]
    take_rows(same, ids[at], columns_out, sum(map(len, ids[:at])))


def join_pieces(many: Sequence[Sequence[Piece]]) -> list[Piece]:
    """The rows of some nodes that several bundles have."""
    return [_joined(pieces) for pieces in zip(*many, strict=True)]


def grow_subtree(
    pieces: Sequence[Piece], kernel: Mapping[str, Any], n_threads: int = 1
) -> TreeArrays:
    """The arrays of the tree below a node, of which bundles have these rows."""
    piece = _joined(pieces)
    return piece.target.grow(piece.columns, {**kernel, "n_threads": n_threads})


def grow_subtrees(
    subtrees: Sequence[Subtree], pieces: Iterable[Sequence[Piece]], n_threads: int = 1
) -> list[TreeArrays]:
    """The arrays of the trees below some nodes; threads that are free help to grow one."""

    def grow(task: tuple[Subtree, Sequence[Piece]]) -> TreeArrays:
        return grow_subtree(task[1], task[0].kernel, n_threads)

    return each(grow, zip(subtrees, pieces, strict=True), n_threads)


def _joined(pieces: Sequence[Piece]) -> Piece:
    """The rows of several pieces; a float64 among float32 makes all of a column float64."""
    if len(pieces) == 1:
        return pieces[0]
    return Piece(
        [np.concatenate(column) for column in zip(*(p.columns for p in pieces), strict=True)],
        pieces[0].target.joined([piece.target for piece in pieces]),
    )


# -- rows at the nodes of a tree ---------------------------------------------------------------


def count_classes(bundle: Bundle, tree: Tree) -> NDArray[np.float64]:
    """The rows of each class that end at each node."""
    ones = WeightTotals()
    tables = [np.zeros((tree.n_nodes, tree.n_classes))]
    for shard in bundle.shards:
        assert isinstance(shard.target, ClassTarget)
        X = _matrix(tree, shard.columns(bundle.bins))
        tables.append(class_sums(tree, X, shard.target.labels, None, ones)[0])
    return reduce(add, tables)


def sum_selected(
    bundle: Bundle, tree: Tree, role: SelectedRole, totals: WeightTotals | None
) -> NDArray[np.float64]:
    """Return the :func:`class_sums` of the rows of a role; without totals each counts once."""
    tables = [np.zeros((2, tree.n_nodes, tree.n_classes))]
    for rows in bundle.selected:
        if rows.role != role:
            continue
        target = rows.target
        assert isinstance(target, ClassTarget)
        weights = None if totals is None else target.weight
        X = rows.matrix(tree.columns)
        tables.append(class_sums(tree, X, target.labels, weights, totals or WeightTotals()))
    return reduce(add, tables)


class DrawnTargets(NamedTuple):
    """Numbers of the rows of a role in the table, and in the target, with their weights."""

    numbers: NDArray[np.int64]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]


def drawn_targets(bundle: Bundle, role: SelectedRole) -> DrawnTargets:
    """Return the targets of the rows of a role, of a target of numbers."""
    each = [DrawnTargets(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))]
    for rows in bundle.selected:
        if rows.role == role:
            assert isinstance(rows.target, NumberTarget)
            assert rows.numbers is not None
            weight = rows.target.weight
            weights = np.ones(rows.target.n_rows) if weight is None else weight
            each.append(DrawnTargets(rows.numbers, rows.target.y, weights))
    return DrawnTargets(*joined_arrays(each))


def drawn_nodes(
    bundle: Bundle, tree: RegressionTree, role: SelectedRole
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the numbers of the rows of a role in the table, and the nodes where they end."""
    each = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32))]
    for rows in bundle.selected:
        if rows.role == role:
            assert rows.numbers is not None
            each.append((rows.numbers, tree.apply(rows.matrix(tree.columns))))
    numbers, nodes = joined_arrays(each)
    return numbers, nodes


def joined_arrays(many: Sequence[Sequence[NDArray[Any]]]) -> tuple[NDArray[Any], ...]:
    """Return arrays of several bundles, one after the other."""
    return tuple(np.concatenate(arrays) for arrays in zip(*many, strict=True))


def _matrix(tree: Tree, values: Sequence[NDArray[Any]]) -> Matrix:
    return Matrix(tree.columns, tuple(values))


def name_splits(bundle: Bundle, tree: Tree) -> Names:
    """The rows of a bundle that may name splits."""
    names = []
    for shard in bundle.shards:
        rows, keys = names_of_part(tree, _matrix(tree, shard.columns(bundle.bins)))
        names.append(Names(shard.numbers(rows), keys))
    return last_names(names)
