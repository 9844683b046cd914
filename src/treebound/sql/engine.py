"""SqlEngine: growing where every question about the rows is a query of counts.

Rows are counted by slot, cell and label. What is inside a cell is asked in slices of equal width,
again and again, each with its least and greatest value; at last value by value. Any map that keeps
the order of values gives the same tree.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from treebound.data import Sample
from treebound.growing._kernels import Bins, keys_of
from treebound.growing.grow import KINDS
from treebound.growing.questions import EXACT, Answer, Question, ShardSplit, Subtree
from treebound.growing.shard import Facts, Piece, grow_subtree
from treebound.sql.relation import CELLS, Coding
from treebound.sql.rows import CodedRows, RelationRows
from treebound.sql.stores import one_of, pick
from treebound.tree.model import Tree

# Columns that are counted in one query.
_AT_ONCE = 64
# From so many rows on, what is counted is copied first.
_MANY_ROWS = 1 << 17
# Results that are not whole numbers.
_FLOATS = {"low": np.float64, "high": np.float64, "part": np.float64}
_LOOK = 2  # the value tells the side of a row


class SqlEngine:
    """The rows of a relation, and the operations that growing needs, as queries.

    ``source`` counts rows at the nodes of a tree. Those of small nodes are fetched.
    """

    sample: Sample | None = None
    places = 1

    def __init__(self, rows: CodedRows, max_fetched_rows: int, source: RelationRows) -> None:
        self._rows, self._table, self._store = rows, rows.table, rows.store
        self._n_classes = len(rows.schema.classes)
        self._weighted = not rows.total.ones
        self.gather_rows = max_fetched_rows
        self._source = source
        self.left_out, self.class_rows = source.left_out, source.class_rows
        self.left_out_rows = source.count_aside
        self._at_root = True
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Remove the table of the rows."""
        self._store.drop(self._table)

    # -- the root ------------------------------------------------------------------------------

    def _start(self) -> None:
        """Count all rows; bins are the cells that hold some."""
        found = self._counted([0], ends=True)
        if found["n"][found["j"] == 0].sum() != self._rows.schema.n_rows:
            raise _changed()
        self._to_bin, self._cells, self._ends, least, singles, extents = [], [], [], [], [], []
        for j, coding in enumerate(self._rows.codings):
            mine = {name: array[found["j"] == j] for name, array in found.items()}
            code = mine["code"]
            cells, ends_of = np.empty(0, np.int64), (np.empty(0), np.empty(0))
            if coding.codes is not None:
                places = np.append(coding.codes, -1)[code]
                self._to_bin.append(_by_category(coding))
                present = places[places >= 0]
                ends = (present.min(), present.max()) if len(present) else (np.inf, -np.inf)
                least.append(np.empty(0))
                singles.append(np.ones(len(coding.column.categories or ()), dtype=np.uint8))
            else:
                to_bin, low, high = _used_cells(coding, code, mine["low"], mine["high"])
                if len(low) and (low[0] < coding.low or high[-1] > coding.high):
                    raise _changed()
                self._to_bin.append(to_bin)
                cells, ends_of = np.unique(code[code >= 0]), (low, high)
                ends = (low[0], high[-1]) if len(low) else (np.inf, -np.inf)
                least.append(low if len(low) else np.zeros(1))
                singles.append((low == high).astype(np.uint8) if len(low) else np.ones(1, np.uint8))
            extents.append(ends)
            self._cells.append(cells)
            self._ends.append(ends_of)
        columns = self._rows.schema.columns
        sizes = [len(column.categories or ()) for column in columns]
        kinds = [KINDS[column.kind] for column in columns]
        self.bins = Bins(least, kinds, sizes, 65535)
        self._root = self._histograms(found, np.zeros(1, dtype=np.int64))
        wide = self._root[0, : (self.bins.n_bins[0] + 1) * self._stride].reshape(-1, self._stride)
        self.counts = np.ascontiguousarray(wide[:, : self._n_classes].sum(axis=0), dtype=np.int64)
        missing = [bool(self._column(self._root[0], j)[-1].any()) for j in range(len(columns))]
        self.facts = Facts(
            self._rows.schema.n_rows,
            self._rows.total,
            np.array(extents, dtype=np.float64).reshape(-1, 2),
            np.array(missing, dtype=bool),
            singles,
        )

    @property
    def _stride(self) -> int:
        """Counts of a bin: one a class, and the rows where these are weights."""
        return self._n_classes + self._weighted

    def _column(self, table: NDArray[Any], j: int) -> NDArray[Any]:
        """The counts of a column in a histogram: bins, and missing values last."""
        sizes = [(n + 1) * self._stride for n in self.bins.n_bins]
        start = sum(sizes[:j])
        return table[start : start + sizes[j]].reshape(-1, self._stride)

    def recode(self, bins: Bins) -> None:
        """Nothing: cells are divided where it matters."""

    # -- counting ------------------------------------------------------------------------------

    def _counted(self, slots: Sequence[int], *, ends: bool = False) -> dict[str, Any]:
        """Rows and weights by column, slot, label and code."""
        codings = self._rows.codings
        row = f"CAST(slot AS BIGINT) * {len(self._rows.classes_of)} + label"
        names = [name for name in self._others if ends or name[0] != "v"]
        query = f"SELECT {row} AS place, {', '.join(names)} FROM {self._table} AS t "
        query += f"WHERE slot {one_of(slots)}"
        # codes side by side in a table of their own are counted twice as fast
        copied = not ends and self._rows.schema.n_rows >= _MANY_ROWS
        source = self._store.keep(query) if copied else f"({query})"
        parts = []
        for j, coding in enumerate(codings):
            at = f"place * {coding.width} + c{j} + 1"
            wanted = [f"{j} AS j, {at} AS at", *self._sums]
            if ends:
                value = f"v{j}" if coding.codes is None else self._store.number(0.0)
                wanted += [f"MIN({value}) AS low", f"MAX({value}) AS high"]
            parts.append(f"SELECT {', '.join(wanted)} FROM {source} AS s GROUP BY {at}")
        found = self._fetch(parts)
        if copied:
            self._store.drop(source)
        widths = np.array([coding.width for coding in codings])
        found["row"], found["code"] = np.divmod(found["at"], widths[found["j"]])
        found["code"] -= 1
        return found

    @property
    def _sums(self) -> list[str]:
        """SQL of the rows of a group, and of their weight."""
        sums = ["COUNT(*) AS n"]
        return [*sums, "CAST(SUM(units) AS BIGINT) AS units"] if self._weighted else sums

    def _fetch(self, parts: Sequence[str]) -> dict[str, Any]:
        """The results of several queries of the same columns, some of them at once."""
        found = [
            self._store.fetch(" UNION ALL ".join(parts[start : start + _AT_ONCE]))
            for start in range(0, len(parts), _AT_ONCE)
        ]
        joined = {name: np.concatenate([some[name] for some in found]) for name in found[0]}
        return {k: v.astype(_FLOATS.get(k, np.int64)) for k, v in joined.items()}

    def count(self, slots: NDArray[np.int32]) -> NDArray[Any]:
        """Count the rows of some nodes, by bin and class; one histogram for each node."""
        if slots.tolist() == [0] and self._at_root:
            return self._root
        return self._histograms(self._counted(slots.tolist()), slots.astype(np.int64))

    def _histograms(self, found: Mapping[str, Any], slots: NDArray[np.int64]) -> NDArray[Any]:
        """Histograms of what was counted."""
        stride, k = self._stride, len(self._rows.classes_of)
        size = sum((n + 1) * stride for n in self.bins.n_bins)
        table = np.zeros((len(slots), size), dtype=np.int64)
        order = np.argsort(slots)
        start = 0
        for j in range(len(self._rows.codings)):
            of = found["j"] == j
            slot, label = np.divmod(found["row"][of], k)
            rows, bins = found["n"][of], self._to_bin[j][found["code"][of] + 1]
            if len(bins) and bins.min() < 0:
                raise _changed()
            at = order[np.searchsorted(slots[order], slot)]
            place = start + bins * stride
            mine = found["units"][of] if self._weighted else rows
            np.add.at(table, (at, place + self._rows.classes_of[label]), mine)
            if self._weighted:
                np.add.at(table, (at, place + self._n_classes), rows)
            start += (self.bins.n_bins[j] + 1) * stride
        small = not self._weighted and self._rows.schema.n_rows < 2**32
        return table.astype(np.uint32) if small else table

    # -- looking into cells --------------------------------------------------------------------

    def look(self, questions: Mapping[int, Question]) -> dict[int, Answer]:
        """Count what is inside some intervals of columns, by the number of the column."""
        found = self._fetch([self._inside(j, question) for j, question in questions.items()])
        return {j: self._answer(found, found["j"] == j) for j in questions}

    def _inside(self, j: int, question: Question) -> str:
        """A query of the rows of some intervals, by slices of equal width or by value."""
        each = np.diff(question.first, axis=1)
        slots = np.repeat(question.slots, each.sum(axis=1)).astype(np.int64)
        bins = np.concatenate([np.repeat(np.arange(len(row)), row) for row in each])
        low = np.maximum(question.low, keys_of(self._ends[j][0])[bins])
        high = np.minimum(question.high, keys_of(self._ends[j][1])[bins])
        ends = values_of(low), values_of(high)
        with np.errstate(all="ignore"):
            rates = question.n_slices * (1.0 - 2.0**-40) / (ends[1] - ends[0])
        rates[(question.shift == EXACT) | ~np.isfinite(rates)] = 0.0  # by value
        places = slots * (CELLS + 1) + self._cells[j][bins] + 1
        number = self._store.number
        intervals = ", ".join(
            f"({i}, {place}, {number(least)}, {number(most)}, {number(rate)})"
            for i, (place, least, most, rate) in enumerate(
                zip(places.tolist(), *(a.tolist() for a in (*ends, rates)), strict=True)
            )
        )
        units = ", t.units AS units" if self._weighted else ""
        part = f"CASE WHEN q.rate = 0 THEN t.v{j} ELSE FLOOR((t.v{j} - q.least) * q.rate) END"
        return (
            f"SELECT {j} AS j, i, part, label, {', '.join(self._sums)}, MIN(value) AS low, "
            f"MAX(value) AS high FROM (SELECT q.i AS i, {part} AS part, t.label AS label, t.v{j} "
            f"AS value{units} FROM {self._table} AS t JOIN (VALUES {intervals}) AS q(i, place, "
            f"least, most, rate) ON CAST(t.slot AS BIGINT) * {CELLS + 1} + t.c{j} + 1 = q.place "
            f"AND t.v{j} BETWEEN q.least AND q.most) AS s GROUP BY i, part, label"
        )

    def _answer(self, found: Mapping[str, Any], of: NDArray[np.bool_]) -> Answer:
        """Intervals, their least and greatest keys, and counts, in order."""
        mine = {name: array[of] for name, array in found.items()}
        by = np.lexsort((mine["part"], mine["i"]))
        mine = {name: array[by] for name, array in mine.items()}
        new = np.ones(len(by), dtype=bool)
        new[1:] = (np.diff(mine["i"]) != 0) | (np.diff(mine["part"]) != 0)
        group, starts = np.cumsum(new) - 1, np.flatnonzero(new)
        counts = np.zeros((len(starts), self._n_classes + 1), dtype=np.int64)
        label = self._rows.classes_of[mine["label"]]
        np.add.at(counts, (group, label), mine["units" if self._weighted else "n"])
        np.add.at(counts[:, self._n_classes], group, mine["n"])
        low, high = mine["low"] + 0.0, mine["high"] + 0.0  # no negative zero
        if len(starts):
            low, high = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
        intervals = mine["i"][starts].astype(np.int32)
        return Answer(intervals, keys_of(low), keys_of(high), counts)

    # -- dividing ------------------------------------------------------------------------------

    def divide(self, splits: Sequence[ShardSplit]) -> None:
        """Split nodes; the slots are now those of the children that are kept."""
        children, n = [], 0
        for split in splits:
            left = n if split.keep_left else -1
            n += split.keep_left
            right = n if split.keep_right else -1
            n += split.keep_right
            children.append((split.slot, split, left, right))
        children.sort(key=lambda child: child[0])

        sides = [
            (slot, f"CASE WHEN {self._goes_left(split)} THEN {left} ELSE {right} END")
            for slot, split, left, right in children
        ]
        self._table = self._store.update(self._table, pick("slot", sides, "-1"), self._others)
        self._at_root = False

    @property
    def _others(self) -> list[str]:
        """The stored columns beside the slot."""
        names = ["label", "units"] if self._weighted else ["label"]
        for j, coding in enumerate(self._rows.codings):
            names += [f"c{j}"] if coding.codes is not None else [f"c{j}", f"v{j}"]
        return names

    def _goes_left(self, split: ShardSplit) -> str:
        """SQL that is true for rows on the left of a split, missing values included."""
        j, sides, to_bin = split.column, split.sides, self._to_bin[split.column]
        left = np.flatnonzero((to_bin >= 0) & (sides[to_bin] == 1)) - 1  # stored codes
        if self._rows.codings[j].codes is None and (sides == _LOOK).any():
            edge = f"v{j} <= {self._store.number(split.edge)}"
            return f"{edge} OR c{j} = -1" if sides[-1] == 1 else edge
        if self._rows.codings[j].codes is None and len(left):
            present = left[left >= 0]
            # cells without rows are between those of the left side
            left = np.union1d(left, np.arange(present.max(initial=-1) + 1))
            left = left if sides[-1] == 1 else left[left >= 0]
        return " OR ".join(f"c{j} BETWEEN {a} AND {b}" for a, b in _runs(left)) or "1 = 0"

    # -- small nodes ---------------------------------------------------------------------------

    def finish(self, subtrees: Sequence[Subtree]) -> list[dict[str, Any]]:
        """Grow all of the tree below some small nodes; the arrays of each subtree."""

        slots = [subtree.slot for subtree in subtrees]
        names = [
            f"c{j}" if coding.codes is not None else f"v{j}"
            for j, coding in enumerate(self._rows.codings)
        ]
        wanted = ["slot", "label", *(["units"] if self._weighted else []), *names]
        found = self._store.fetch(
            f"SELECT {', '.join(wanted)} FROM {self._table} AS t WHERE slot {one_of(slots)}"
        )
        arrays = []
        for subtree in subtrees:
            at = np.flatnonzero(found["slot"] == subtree.slot)
            columns = [
                _values(found[name][at], c)
                for name, c in zip(names, self._rows.codings, strict=True)
            ]
            labels = self._rows.classes_of[found["label"][at]].astype(np.int32)
            weights = found["units"][at].astype(np.int64) if self._weighted else None
            arrays.append(grow_subtree([Piece(columns, labels, weights)], subtree.kernel))
        return arrays

    def check_unchanged(self) -> None:
        """Raise an error if rows that are not kept are others than at first."""
        if not self._store.keeps:
            again = SqlEngine(self._rows, 0, self._source)
            if not np.array_equal(again._root, self._root):
                raise _changed()

    # -- the rest ------------------------------------------------------------------------------

    def name(self, tree: Tree) -> NDArray[np.int64]:
        """None: rows of a database have no numbers."""
        raise ValueError(
            "thresholds='observed' names training rows, and the rows of a database have no "
            "numbers. Hint: use 'decimal' or 'midpoint'."
        )

    def digest(self) -> list[int]:
        """A number for every column that depends on its values and labels, not on their order."""
        return [
            zlib.crc32(np.ascontiguousarray(self._column(self._root[0], j)).tobytes())
            for j in range(self.bins.n_columns)
        ]


def _runs(numbers: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Numbers in order, as runs without gaps."""
    if not len(numbers):
        return []
    parts = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    return [(int(part[0]), int(part[-1])) for part in parts]


def _by_category(coding: Coding) -> NDArray[np.int64]:
    """The bin of every stored code, missing first; a value that is missing has the last bin."""
    assert coding.codes is not None
    n = len(coding.column.categories or ())
    return np.where(np.append(-1, coding.codes) < 0, n, np.append(-1, coding.codes))


def _used_cells(
    coding: Coding, code: NDArray[np.int64], low: NDArray[Any], high: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """The bin of every cell, missing first, and the ends of those that hold rows."""
    if len(code) and (code.min() < -1 or code.max() >= CELLS):
        raise _changed()
    used = np.unique(code[code >= 0])
    to_bin = np.full(coding.width, -1, dtype=np.int64)
    to_bin[used + 1] = np.arange(len(used))
    to_bin[0] = max(len(used), 1)
    ends = np.full((2, len(used)), np.inf)
    at = to_bin[code + 1]
    here = code >= 0
    np.minimum.at(ends[0], at[here], low[here].astype(np.float64) + 0.0)
    np.minimum.at(ends[1], at[here], -high[here].astype(np.float64))
    return to_bin, ends[0], 0.0 - ends[1]


def _values(stored: NDArray[Any], coding: Coding) -> NDArray[Any]:
    """Numbers, or codes of categories, as the growth in memory takes them."""
    if coding.codes is None:
        return np.ascontiguousarray(stored, dtype=np.float64)
    codes: NDArray[np.int32] = np.append(coding.codes, -1)[stored].astype(np.int32)
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
