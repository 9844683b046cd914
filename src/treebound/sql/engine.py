"""SqlEngine: growing where every question about the rows is a query of counts.

Rows are counted by slot, cell and label. What is inside a cell is asked in cells of half the width,
again and again, each with its least and greatest value; at last value by value. Any map that keeps
the order of values gives the same tree.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from treebound.data import Sample
from treebound.growing._bins import Bins, keys_of
from treebound.growing.grow import KINDS
from treebound.growing.refine import EXACT, Answer, Question
from treebound.growing.shard import Facts, Piece, ShardSplit, Subtree, grow_subtree
from treebound.sql.relation import CELLS, Coding, cell_of, fetch
from treebound.sql.rows import CodedRows, pick
from treebound.tree.model import Tree

__all__ = ["SqlEngine"]

# Cells are not halved more often than this: their numbers and slots share 63 bits.
_MOST_LEVEL = 36
# Columns that are counted in one query.
_AT_ONCE = 64
_LOOK = 2  # the value tells the side of a row


class SqlEngine:
    """The rows of a relation, and the operations that growing needs, as queries.

    Parameters
    ----------
    rows : CodedRows
    max_fetched_rows : int
        The rows of nodes with at most this many are fetched.
    """

    sample: Sample | None = None
    places = 1

    def __init__(self, rows: CodedRows, max_fetched_rows: int) -> None:
        self._rows, self._frame, self._store = rows, rows.frame, rows.store
        self._n_classes = len(rows.schema.classes)
        self._weighted = not rows.total.ones
        self.gather_rows = max_fetched_rows
        self._at_root = True
        self._start()

    # -- the root ------------------------------------------------------------------------------

    def _start(self) -> None:
        """Count all rows; bins are the cells that hold some."""
        found = self._counted(None, ends=True)
        self._to_bin, least, singles, extents = [], [], [], []
        for j, coding in enumerate(self._rows.codings):
            mine = {name: array[found["j"] == j] for name, array in found.items()}
            code = mine["key"] % coding.width - 1
            if coding.codes is not None:
                places = np.append(coding.codes, -1)[code]
                self._to_bin.append(_by_category(coding))
                present = places[places >= 0]
                ends = (present.min(), present.max()) if len(present) else (np.inf, -np.inf)
                least.append(np.empty(0))
                singles.append(np.ones(len(coding.column.categories or ()), dtype=np.uint8))
            else:
                to_bin, low, high = _used_cells(coding, code, mine["low"], mine["high"])
                self._check_ends(coding, low, high)
                self._to_bin.append(to_bin)
                ends = (low[0], high[-1]) if len(low) else (np.inf, -np.inf)
                least.append(low if len(low) else np.zeros(1))
                singles.append((low == high).astype(np.uint8) if len(low) else np.ones(1, np.uint8))
            extents.append(ends)
        columns = self._rows.schema.columns
        sizes = [len(column.categories or ()) for column in columns]
        kinds = [KINDS[column.kind] for column in columns]
        self.bins = Bins(least, kinds, sizes, 65535)
        self._root = self._table(found, np.zeros(1, dtype=np.int64))
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
        self._levels: list[dict[tuple[int, int, int], tuple[int, int]]] = [{} for _ in columns]

    def _check_ends(self, coding: Coding, low: NDArray[Any], high: NDArray[Any]) -> None:
        if len(low) and (low[0] < coding.low or high[-1] > coding.high):
            raise _changed()

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

    def _counted(self, slots: Sequence[int] | None, *, ends: bool = False) -> dict[str, Any]:
        """Rows and weights by column, and by a number of slot, label and code."""

        frame = self._frame if slots is None else self._store.only(self._frame, "slot", slots)
        parts = []
        for j, coding in enumerate(self._rows.codings):
            slot, label = nw.col("slot").cast(nw.Int64), nw.col("label").cast(nw.Int64)
            key = (slot * len(self._rows.classes_of) + label) * coding.width
            key = key + nw.col(f"c{j}").cast(nw.Int64) + 1
            wanted = []
            if ends:
                value = nw.col(f"v{j}") if coding.codes is None else nw.lit(0.0)
                wanted = [value.alias("value")]
            units = ["units"] if self._weighted else []
            some = frame.select(key.alias("key"), *units, *wanted)
            parts.append(_in_groups(some, ["key"], self._weighted, ends, j))
        return _fetch_all(parts)

    def count(self, slots: NDArray[np.int32]) -> NDArray[Any]:
        """Count the rows of some nodes, by bin and class; one histogram for each node."""
        if slots.tolist() == [0] and self._at_root:
            return self._root
        return self._table(self._counted(slots.tolist()), slots.astype(np.int64))

    def _table(self, found: Mapping[str, Any], slots: NDArray[np.int64]) -> NDArray[Any]:
        """Histograms of what was counted."""
        stride, k = self._stride, len(self._rows.classes_of)
        size = sum((n + 1) * stride for n in self.bins.n_bins)
        table = np.zeros((len(slots), size), dtype=np.int64)
        order = np.argsort(slots)
        start = 0
        for j, coding in enumerate(self._rows.codings):
            of = found["j"] == j
            key, rows = found["key"][of], found["n"][of]
            slot, rest = np.divmod(key, k * coding.width)
            label, code = np.divmod(rest, coding.width)
            bins = self._to_bin[j][code]
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
        parts, about = [], []
        for j, question in questions.items():
            asked = self._asked(j, question)
            for level, bits in np.unique(asked[:, 2:4], axis=0).tolist():
                some = asked[(asked[:, 2:4] == (level, bits)).all(axis=1)]
                parts.append(self._inside(j, level, bits, some, len(about)))
                about.append((j, level, bits, some))
        found = _fetch_all(parts)
        answers: dict[int, list[tuple[NDArray[Any], ...]]] = {j: [] for j in questions}
        for number, (j, level, bits, some) in enumerate(about):
            mine = {name: array[found["j"] == number] for name, array in found.items()}
            answers[j].append(self._answer(j, level, bits, some, mine))
        return {j: self._joined(parts) for j, parts in answers.items()}

    def _asked(self, j: int, question: Question) -> NDArray[np.int64]:
        """Of every interval: its number, its slot, its level, bits to add, its cell, its bin."""
        coding = self._rows.codings[j]
        each = np.diff(question.first, axis=1)
        slots = np.repeat(question.slots, each.sum(axis=1)).astype(np.int64)
        bins = np.concatenate([np.repeat(np.arange(len(row)), row) for row in each])
        cells = np.flatnonzero(self._to_bin[j] < self.bins.n_bins[j]) - 1
        cells = cells[self._to_bin[j][cells + 1] >= 0]
        bits = question.n_slices.bit_length() - 1
        rows = []
        for i, (slot, at) in enumerate(zip(slots.tolist(), bins.tolist(), strict=True)):
            known = (slot, at, int(question.low[i]))
            level, cell = self._levels[j].get(known, (0, int(cells[at])))
            by_value = question.shift[i] == EXACT or level + bits > _MOST_LEVEL or not coding.rate
            rows.append((i, slot, level, 0 if by_value else bits, cell, at))
        return np.array(rows, dtype=np.int64).reshape(-1, 6)

    def _inside(self, j: int, level: int, bits: int, asked: NDArray[np.int64], number: int) -> Any:
        """Rows of some cells of a level, by smaller cells or, without bits, by value."""

        coding, value, slot = self._rows.codings[j], nw.col("value"), nw.col("slot").cast(nw.Int64)
        units = ["units"] if self._weighted else []

        def key(level: int) -> Any:
            return slot * (CELLS << level) + cell_of(value, coding, level).cast(nw.Int64)

        cell = slot * (CELLS + 1) + nw.col(f"c{j}").cast(nw.Int64) + 1
        frame = self._frame.select(
            "slot", nw.col("label").cast(nw.Int64), *units, nw.col(f"v{j}").alias("value"),
            cell.alias("cell"),
        )  # fmt: skip
        _, slots, _, _, cells, _ = asked.T
        wanted = np.unique(slots * (CELLS + 1) + (cells >> level) + 1)
        frame = self._store.only(frame, "cell", wanted.tolist()).with_columns(
            key(level).alias("key")
        )
        if level:
            wanted = slots * (CELLS << level) + cells
            frame = self._store.only(frame, "key", wanted.tolist())
        by = ["key", "label"] if bits else ["key", "label", "at"]
        frame = frame.with_columns(key(level + bits).alias("key") if bits else value.alias("at"))
        return _in_groups(frame.select(*by, *units, "value"), by, self._weighted, True, number)

    def _answer(
        self, j: int, level: int, bits: int, asked: NDArray[np.int64], found: Mapping[str, Any]
    ) -> tuple[NDArray[Any], ...]:
        """Intervals, their least and greatest keys, and counts, in order."""
        numbers, slots, _, _, cells, bins = asked.T
        packed = slots * (CELLS << level) + cells
        order = np.argsort(packed)
        at = order[np.searchsorted(packed[order], found["key"] >> bits)]
        low, high = keys_of(found["low"]), keys_of(found["high"])
        ident = found["key"].astype(np.uint64) if bits else low
        by = np.lexsort((ident, numbers[at]))
        at, ident, low, high = at[by], ident[by], low[by], high[by]
        new = np.ones(len(at), dtype=bool)
        new[1:] = (at[1:] != at[:-1]) | (ident[1:] != ident[:-1])
        group = np.cumsum(new) - 1
        counts = np.zeros((int(new.sum()), self._n_classes + 1), dtype=np.int64)
        label = self._rows.classes_of[found["label"][by]]
        np.add.at(counts, (group, label), found["units" if self._weighted else "n"][by])
        np.add.at(counts, (group, self._n_classes), found["n"][by])
        starts = np.flatnonzero(new)
        if len(starts):
            low, high = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
        at = at[starts]
        if bits:
            cell = (found["key"][by][starts] - slots[at] * (CELLS << (level + bits))).tolist()
            known = zip(slots[at].tolist(), bins[at].tolist(), low.tolist(), strict=True)
            for place, mine in zip(known, cell, strict=True):
                self._levels[j][place] = (level + bits, mine)
        return numbers[at].astype(np.int32), low, high, counts

    def _joined(self, parts: Sequence[tuple[NDArray[Any], ...]]) -> Answer:
        """The answers of all levels to one question."""
        intervals, low, high, counts = (
            np.concatenate(arrays) for arrays in zip(*parts, strict=True)
        )
        order = np.lexsort((low, intervals))
        nothing = np.empty((0, 0, self._n_classes + 1), dtype=np.int64)
        return Answer(nothing, intervals[order], low[order], counts[order], high[order])

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

        def case(column: Any, constant: Any, when: Any) -> Any:
            sides = [
                (
                    slot,
                    when(self._goes_left(split, column, constant), constant(left), constant(right)),
                )
                for slot, split, left, right in children
            ]
            return pick(column("slot"), sides, constant, when, -1)

        self._frame = self._store.replaced(self._frame, "slot", case)
        self._at_root = False
        self._levels = [{} for _ in self._levels]

    def _goes_left(self, split: ShardSplit, column: Any, constant: Any) -> Any:
        """Whether a row is on the left of a split, missing values included."""
        j, coding = split.column, self._rows.codings[split.column]
        code, sides = column(f"c{j}"), split.sides
        to_bin = self._to_bin[j]
        left = np.flatnonzero((to_bin >= 0) & (sides[to_bin] == 1)) - 1  # stored codes, missing: -1
        if coding.codes is not None:
            return _among(code, left.tolist(), to_bin, constant)
        missing = -1 in left
        if (sides == _LOOK).any():
            inside = column(f"v{j}") <= constant(float(split.edge))
            return (inside | (code == constant(-1))) if missing else inside & (code >= constant(0))
        last = int(left.max(initial=-1))
        return (
            (code <= constant(last))
            if missing
            else ((code <= constant(last)) & (code >= constant(0)))
        )

    # -- small nodes ---------------------------------------------------------------------------

    def finish(self, subtrees: Sequence[Subtree]) -> list[dict[str, Any]]:
        """Grow all of the tree below some small nodes; the arrays of each subtree."""

        frame = self._store.only(self._frame, "slot", [subtree.slot for subtree in subtrees])
        names = [
            f"c{j}" if c.codes is not None else f"v{j}" for j, c in enumerate(self._rows.codings)
        ]
        units = ["units"] if self._weighted else []
        found = fetch(frame.select(nw.col("slot").cast(nw.Int64), "label", *units, *names))
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
            again = SqlEngine(self._rows, 0)
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


def _in_groups(frame: Any, by: list[str], weighted: bool, ends: bool, j: int) -> Any:
    """Rows, weights and ends of groups, with the number of the question."""

    wanted = [nw.len().alias("n")]
    if weighted:
        wanted.append(nw.col("units").sum().alias("units"))
    if ends:
        wanted += [nw.col("value").min().alias("low"), nw.col("value").max().alias("high")]
    groups = frame.group_by(by).agg(wanted)
    names = ["key", *(["label"] if "label" in by else []), "n", *(["units"] if weighted else [])]
    return groups.select(
        nw.lit(j, dtype=nw.Int64).alias("j"),
        *(nw.col(name).cast(nw.Int64) for name in names),
        *(nw.col(name) for name in (("low", "high") if ends else ())),
    )


def _fetch_all(parts: Sequence[Any]) -> dict[str, Any]:
    """The results of several queries of the same columns, some in one query."""

    found = [
        fetch(nw.concat(parts[start : start + _AT_ONCE]))
        for start in range(0, len(parts), _AT_ONCE)
    ]
    return {name: np.concatenate([some[name] for some in found]) for name in found[0]}


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


def _among(code: Any, left: list[int], to_bin: NDArray[np.int64], constant: Any) -> Any:
    """Whether a stored code is one of some, by as few comparisons as there are runs of codes."""
    runs: list[list[int]] = []
    for at in left:
        if runs and runs[-1][1] == at - 1:
            runs[-1][1] = at
        else:
            runs.append([at, at])
    inside = [
        (code == constant(a)) if a == b else (code >= constant(a)) & (code <= constant(b))
        for a, b in runs
    ] or [code < constant(-1)]
    found = inside[0]
    for other in inside[1:]:
        found = found | other
    return found


def _values(stored: NDArray[Any], coding: Coding) -> NDArray[Any]:
    """Numbers, or codes of categories, as the growth in memory takes them."""
    if coding.codes is None:
        return np.ascontiguousarray(stored, dtype=np.float64)
    return np.append(coding.codes, -1)[stored].astype(np.int32)


def _changed() -> ValueError:
    return ValueError(
        "The relation changed while it was read. Hint: grow on a table that stays as it is, such "
        "as a copy."
    )
