"""SqlEngine: growing by queries that count rows, or add the integers of a target of numbers.

Rows are counted by slot, cell and label; those of numbers have one label. A cell is counted in
slices of equal width, each with its least and greatest value, and these slices again, at last value
by value. Any map that preserves the order of values gives the same tree.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound.data.columns import KINDS
from treebound.data.numeric_target import N_CHANNELS
from treebound.engines.sql.relation import Coding
from treebound.engines.sql.rows import CodedRows, RelationRows
from treebound.engines.sql.stores import one_of, pick
from treebound.growing._bins import Bins, keys_of
from treebound.growing._layout import EXACT, LEFT, LOOK
from treebound.growing.engine import Engine
from treebound.growing.kernel_types import TreeArrays
from treebound.growing.messages import (
    IntervalCounts,
    IntervalRequest,
    ShardSplit,
    Subtree,
)
from treebound.growing.shard import Facts, Piece, grow_subtree
from treebound.growing.shard_target import ClassTarget, NumberTarget, ShardTarget
from treebound.tree.model import Tree

# Columns that are counted in one query.
_AT_ONCE = 64
# Results that are not whole numbers.
_FLOATS = {"low": np.float64, "high": np.float64, "part": np.float64}


class SqlEngine(Engine):
    """The rows of a relation, and the operations that growing needs, as queries.

    ``source`` counts rows at the nodes of a tree. Those of small nodes are fetched.
    """

    def __init__(self, rows: CodedRows, max_fetched_rows: int, source: RelationRows) -> None:
        self._rows, self._table, self._store = rows, rows.table, rows.store
        of_numbers = rows.numbers is not None
        self.n_channels = N_CHANNELS if of_numbers else len(rows.schema.classes)
        self._weight = "n" if rows.total.ones else "units"
        # sums of a bin: one per channel, and the number of rows unless channels count them
        self._stride = self.n_channels + bool(rows.channels)
        # SQL of the rows of a group and of their channels; columns of channels and codes
        self._sums = [
            "COUNT(*) AS n",
            *(f"CAST(SUM({name}) AS BIGINT) AS {name}" for name in rows.channels),
        ]
        self._codes = [*rows.channels, *rows.words]
        self._reals = [f"v{j}" for j, coding in enumerate(rows.codings) if coding.codes is None]
        self.gather_rows, self._source = max_fetched_rows, source
        self.validation_sums, self.class_rows = source.validation_sums, source.class_rows  # type: ignore[method-assign]
        self.calibration_counts = source.count_selected  # type: ignore[method-assign]
        # the number that the rows of each slot have in the table, and how many there are
        self._numbers, self._n_numbers = np.zeros(1, dtype=np.int64), 1
        self._at_root = True
        self._start()

    # -- the root ------------------------------------------------------------------------------

    def _start(self) -> None:
        """Count all rows; bins are the cells that hold some."""
        schema = self._rows.schema
        fetched = self._counted(self._table, ends=True)
        if fetched["n"][fetched["j"] == 0].sum() != schema.n_rows:
            raise _changed()
        self._cells = [
            _cells(coding, {name: array[fetched["j"] == j] for name, array in fetched.items()})
            for j, coding in enumerate(self._rows.codings)
        ]
        self.bins = Bins(
            [cells.low if cells.real else np.empty(0) for cells in self._cells],
            [KINDS.index(column.kind) for column in schema.columns],
            [len(column.categories or ()) for column in schema.columns],
            65535,
        )
        self._starts = np.cumsum([0, *(n + 1 for n in self.bins.n_bins)])
        self._root = self._histograms(fetched, np.zeros(1, dtype=np.int64))
        counts = self._by_column(self._root[0])
        self._counts = counts[0][:, : self.n_channels].sum(axis=0).astype(np.int64)
        self._facts = Facts(
            schema.n_rows,
            self._rows.total,
            np.array([cells.extent for cells in self._cells], dtype=np.float64).reshape(-1, 2),
            np.array([column[-1].any() for column in counts], dtype=bool),
            [(cells.low == cells.high).astype(np.uint8) for cells in self._cells],
            numbers=self._rows.numbers,
        )

    def _by_column(self, table: NDArray[Any]) -> list[NDArray[Any]]:
        """The counts of each column in a histogram: bins, and missing values last."""
        return np.split(table.reshape(-1, self._stride), self._starts[1:-1])

    def recode(self, bins: Bins) -> None:
        """Do nothing: cells are divided when they matter."""

    # -- counting ------------------------------------------------------------------------------

    def _counted(self, source: str, *, ends: bool = False) -> dict[str, Any]:
        """Rows and weights by column, place (number of the node and label) and code."""
        place = f"slot * {len(self._rows.classes_of)} + label" if ends else "place"
        parts = []
        for j, coding in enumerate(self._rows.codings):
            wanted = [f"{j} AS j, {place} AS place, {coding.code(self._store)} AS code"]
            wanted += self._sums
            if ends:
                value = f"v{j}" if coding.codes is None else self._store.number(0.0)
                wanted += [f"MIN({value}) AS low", f"MAX({value}) AS high"]
            by = f"{place}, {coding.code(self._store)}"
            parts.append(f"SELECT {', '.join(wanted)} FROM {source} AS s GROUP BY {by}")
        return self._fetch(parts)

    def _fetch(self, parts: Sequence[str]) -> dict[str, Any]:
        """The results of several queries of the same columns, some of them at once."""
        fetched = [
            self._store.fetch(" UNION ALL ".join(parts[start : start + _AT_ONCE]))
            for start in range(0, len(parts), _AT_ONCE)
        ]
        joined = {name: np.concatenate([some[name] for some in fetched]) for name in fetched[0]}
        return {k: v.astype(_FLOATS.get(k, np.int64)) for k, v in joined.items()}

    def count(self, slots: NDArray[np.int32]) -> NDArray[Any]:
        """Count the rows of some nodes, by bin and class; one histogram for each node."""
        if slots.tolist() == [0] and self._at_root:
            return self._root
        numbers = self._numbers[slots]
        # the rows of these nodes side by side are counted twice as fast
        place = f"CAST(slot AS BIGINT) * {len(self._rows.classes_of)} + label AS place"
        source = self._store.keep(
            f"SELECT {', '.join([place, *self._codes])} FROM {self._table} AS t "
            f"WHERE slot {one_of(numbers)}"
        )
        try:
            return self._histograms(self._counted(source), numbers)
        finally:
            self._store.drop(source)

    def _histograms(self, fetched: Mapping[str, Any], numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Histograms of what was counted, of the nodes whose rows have some numbers."""
        table = np.zeros((len(numbers), self._starts[-1], self._stride), dtype=np.int64)
        firsts = np.cumsum([0, *(len(cells.bins) for cells in self._cells)])
        bins = np.concatenate([cells.bins for cells in self._cells])[
            firsts[fetched["j"]] + fetched["code"]
        ]
        if len(bins) and bins.min() < 0:
            raise _changed()
        number, label = np.divmod(fetched["place"], len(self._rows.classes_of))
        order = np.argsort(numbers)
        at = order[np.searchsorted(numbers[order], number)]
        cells = self._starts[fetched["j"]] + bins
        self._add(table, (at, cells), label, fetched)
        small = not self._rows.channels and self._rows.schema.n_rows < 2**32
        return table.reshape(len(numbers), -1).astype(np.uint32 if small else np.int64)

    def _add(
        self,
        table: NDArray[np.int64],
        at: tuple[NDArray[Any], ...],
        label: NDArray[Any],
        fetched: Mapping[str, Any],
    ) -> None:
        """Add what was counted to the sums at some places: channels, and rows if they fit."""
        if self._rows.numbers is None:
            np.add.at(table, (*at, self._rows.classes_of[label]), fetched[self._weight])
        else:
            for k, name in enumerate((self._weight, "q", "q2")):
                np.add.at(table[..., k], at, fetched[name])
        if table.shape[-1] > self.n_channels:
            np.add.at(table[..., self.n_channels], at, fetched["n"])

    # -- looking into cells --------------------------------------------------------------------

    def look(self, requests: Mapping[int, IntervalRequest]) -> dict[int, IntervalCounts]:
        """Count what is inside some intervals of columns, by the number of the column."""
        fetched = self._fetch([self._inside(j, request) for j, request in requests.items()])
        return {j: self._counts_inside(fetched, fetched["j"] == j) for j in requests}

    def _inside(self, j: int, request: IntervalRequest) -> str:
        """A query of the rows of some intervals, by slices of equal width or by value."""
        each = np.diff(request.first, axis=1)
        numbers = np.repeat(self._numbers[request.slots], each.sum(axis=1))
        bins = np.concatenate([np.repeat(np.arange(len(row)), row) for row in each])
        cells = self._cells[j]
        low = np.maximum(request.low, keys_of(cells.low)[bins])
        high = np.minimum(request.high, keys_of(cells.high)[bins])
        ends = values_of(low), values_of(high)
        with np.errstate(all="ignore"):
            rates = request.n_slices * (1.0 - 2.0**-40) / (ends[1] - ends[0])
        rates[(request.shift == EXACT) | ~np.isfinite(rates)] = 0.0  # by value
        coding = self._rows.codings[j]
        places = numbers * coding.width + cells.codes[bins]
        intervals = self._store.table_of(
            i=np.arange(len(places)), place=places, least=ends[0], most=ends[1], rate=rates
        )
        channels = "".join(f", t.{name} AS {name}" for name in self._rows.channels)
        part = f"CASE WHEN q.rate = 0 THEN t.v{j} ELSE FLOOR((t.v{j} - q.least) * q.rate) END"
        return (
            f"SELECT {j} AS j, i, part, label, {', '.join(self._sums)}, MIN(value) AS low, "
            f"MAX(value) AS high FROM (SELECT q.i AS i, {part} AS part, t.label AS label, t.v{j} "
            f"AS value{channels} FROM {self._table} AS t JOIN {intervals} "
            f"AS q ON CAST(t.slot AS BIGINT) * {coding.width} + "
            f"{coding.code(self._store)} = q.place "
            f"AND t.v{j} BETWEEN q.least AND q.most) AS s GROUP BY i, part, label"
        )

    def _counts_inside(self, fetched: Mapping[str, Any], of: NDArray[np.bool_]) -> IntervalCounts:
        """Return intervals, their least and greatest keys, and counts, in order."""
        mine = {name: array[of] for name, array in fetched.items()}
        by = np.lexsort((mine["part"], mine["i"]))
        mine = {name: array[by] for name, array in mine.items()}
        new = np.ones(len(by), dtype=bool)
        new[1:] = (np.diff(mine["i"]) != 0) | (np.diff(mine["part"]) != 0)
        group, starts = np.cumsum(new) - 1, np.flatnonzero(new)
        counts = np.zeros((len(starts), self.n_channels + 1), dtype=np.int64)
        self._add(counts, (group,), mine["label"], mine)
        low, high = mine["low"] + 0.0, mine["high"] + 0.0  # no negative zero
        if len(starts):
            low, high = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
        intervals = mine["i"][starts].astype(np.int32)
        return IntervalCounts(intervals, keys_of(low), keys_of(high), counts)

    # -- dividing ------------------------------------------------------------------------------

    def divide(self, splits: Sequence[ShardSplit]) -> None:
        """Split nodes; the slots are now those of the children that are kept."""
        left_over = set(self._numbers.tolist())
        numbers: list[int] = []
        cases: list[tuple[int, str]] = []
        for split in splits:
            number = int(self._numbers[split.slot])
            left_over.discard(number)
            left, right = number if split.keep_left else -1, -1
            if split.keep_right:  # a new number if the left child has that of the node
                right = self._n_numbers if split.keep_left else number
                self._n_numbers += split.keep_left
            numbers += [child for child in (left, right) if child >= 0]
            if left < 0 or (split.sides != LEFT).any():
                test = f"CASE WHEN {self._goes_left(split)} THEN {left} ELSE {right} END"
                cases.append((number, test))
        cases = sorted([*cases, *((number, "-1") for number in left_over)])
        if cases:
            changed = [number for number, _ in cases]
            self._table = self._store.update(
                self._table, pick("slot", cases), changed, ["label", *self._codes, *self._reals]
            )
        self._numbers = np.array(numbers, dtype=np.int64)
        self._at_root = False

    def _goes_left(self, split: ShardSplit) -> str:
        """SQL that is true for rows on the left of a split, missing values included."""
        j, sides, cells = split.column, split.sides, self._cells[split.column]
        if not cells.real:
            runs = _runs(np.flatnonzero((cells.bins >= 0) & (sides[cells.bins] == LEFT)))
            code = self._rows.codings[j].code(self._store)
            return " OR ".join(f"{code} BETWEEN {a} AND {b}" for a, b in runs) or "1 = 0"
        left = np.flatnonzero(sides[:-1] == LEFT)
        edge = split.edge if (sides == LOOK).any() else cells.high[left].max(initial=-np.inf)
        test = f"v{j} <= {self._store.number(edge)}" if edge > -np.inf else "1 = 0"
        return f"{test} OR v{j} IS NULL" if sides[-1] == LEFT else test

    # -- small nodes ---------------------------------------------------------------------------

    def finish(self, subtrees: Sequence[Subtree]) -> list[TreeArrays]:
        """Grow all of the tree below some small nodes; the arrays of each subtree."""
        numbers = self._numbers[[subtree.slot for subtree in subtrees]]
        values = [
            f"{f'v{j}' if coding.codes is None else coding.code(self._store)} AS x{j}"
            for j, coding in enumerate(self._rows.codings)
        ]
        wanted = ["slot", "label", *self._rows.channels, *values]
        fetched = self._store.fetch(
            f"SELECT {', '.join(wanted)} FROM {self._table} AS t WHERE slot {one_of(numbers)}"
        )
        arrays, channels = [], self._rows.channels
        for number, subtree in zip(numbers, subtrees, strict=True):
            at = np.flatnonzero(fetched["slot"] == number)
            columns = [
                _values(fetched[f"x{j}"][at], coding) for j, coding in enumerate(self._rows.codings)
            ]
            target = self._target({name: fetched[name][at] for name in ("label", *channels)})
            arrays.append(grow_subtree([Piece(columns, target)], subtree.kernel))
        return arrays

    def _target(self, fetched: Mapping[str, NDArray[Any]]) -> ShardTarget:
        """The target of rows that were fetched."""
        integers = {name: fetched[name].astype(np.int64) for name in self._rows.channels}
        if self._rows.numbers is None:
            labels = self._rows.classes_of[fetched["label"]].astype(np.int32)
            return ClassTarget(labels, None, integers.get("units"))
        ones = np.ones(len(fetched["label"]), dtype=np.int64)
        weight = integers.get("units", ones)
        channels = np.column_stack([weight, integers["q"], integers["q2"], ones])
        return NumberTarget(np.empty(0), None, channels)

    def check_unchanged(self) -> None:
        """Raise an error if rows that are not copied have changed since the first query."""
        if not self._store.keeps:
            again = SqlEngine(self._rows, 0, self._source)
            if not np.array_equal(again._root, self._root):
                raise _changed()

    # -- the rest ------------------------------------------------------------------------------

    def name(self, tree: Tree) -> NDArray[np.int64]:
        """Raise an error: rows of a database have no numbers."""
        raise ValueError(
            "thresholds='observed' names training rows, and the rows of a database have no "
            "numbers. Hint: use 'decimal' or 'midpoint'."
        )

    def digest(self) -> list[int]:
        return [zlib.crc32(counts.tobytes()) for counts in self._by_column(self._root[0])]


def _runs(numbers: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Numbers in order, as runs without gaps."""
    if not len(numbers):
        return []
    parts = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    return [(int(part[0]), int(part[-1])) for part in parts]


class Cells(NamedTuple):
    """The bins of a column: the cells of numbers that hold rows, or all categories."""

    real: bool
    bins: NDArray[np.int64]  # of every stored code; -1 has none, and missing the last
    codes: NDArray[np.int64]  # the stored code of each bin of numbers
    low: NDArray[np.float64]  # the least and the greatest value of each bin
    high: NDArray[np.float64]
    extent: tuple[float, float]


def _cells(coding: Coding, fetched: Mapping[str, Any]) -> Cells:
    """The bins of a column, of its codes with their least and greatest values."""
    if coding.codes is not None:
        n = len(coding.column.categories or ())
        categories = np.append(-1, coding.codes)
        present = categories[fetched["code"]]
        present = present[present >= 0]
        extent = (present.min(), present.max()) if len(present) else (np.inf, -np.inf)
        bins = np.where(categories < 0, n, categories)
        # a category that was not there when they were listed is stored as missing
        listed = np.bincount(bins[1:], coding.rows, n + 1)
        # of as many rows, or of validation rows too
        if (np.bincount(bins[fetched["code"]], fetched["n"], n + 1) > listed).any():
            raise _changed()
        return Cells(False, bins, np.empty(0, np.int64), np.zeros(n), np.zeros(n), extent)
    # also of code 0: a value that was not there when the cells were made may be below all of them
    if (fetched["low"] < coding.low).any() or (fetched["high"] > coding.high).any():
        raise _changed()
    cells = {name: array[fetched["code"] > 0] for name, array in fetched.items()}
    codes, at = np.unique(cells["code"], return_inverse=True)
    low, high = np.full(len(codes), np.inf), np.full(len(codes), -np.inf)
    np.minimum.at(low, at, cells["low"] + 0.0)  # no negative zero
    np.maximum.at(high, at, cells["high"] + 0.0)
    bins = np.full(coding.width, -1, dtype=np.int64)
    bins[codes] = np.arange(len(codes))
    bins[0] = max(len(codes), 1)
    if not len(codes):  # one empty bin
        return Cells(True, bins, np.zeros(1, np.int64), np.zeros(1), np.zeros(1), (np.inf, -np.inf))
    return Cells(True, bins, codes, low, high, (low[0], high[-1]))


def _values(stored: NDArray[Any], coding: Coding) -> NDArray[Any]:
    """Numbers, or codes of categories, as the growth in memory takes them."""
    if coding.codes is None:
        return np.ascontiguousarray(stored, dtype=np.float64)
    codes: NDArray[np.int32] = np.append(-1, coding.codes)[stored].astype(np.int32)
    return codes


def _changed() -> ValueError:
    return ValueError(
        "The relation changed while it was read. Hint: grow on a table that stays as it is, such "
        "as a copy."
    )


def values_of(keys: NDArray[np.uint64]) -> NDArray[np.float64]:
    """The floats of some keys."""
    top = np.uint64(1) << np.uint64(63)
    return np.where(keys >= top, keys ^ top, ~keys).view(np.float64)
