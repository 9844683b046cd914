"""The best split of a node from histograms, and from what is inside the bins that matter.

The bins of a column at a node are intervals in order. Where the best split may lie inside one of
them it is replaced by slices of it, or by its values; then the column is judged again. So the
split is found that a search of all rows would find, and its neighbours are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treebound.growing._bins import Bins
from treebound.growing._judge import Judge
from treebound.growing._shard import keys_of, values_of
from treebound.growing.rounds.looking import EXACT, Answer, Question
from treebound.growing.rounds.shard import Facts

if TYPE_CHECKING:
    from treebound.growing._judge import Found

__all__ = ["Landmarks", "NodeSearch", "Winner", "ask", "hear"]

NOMINAL = 2


@dataclass(frozen=True)
class Landmarks:
    """Where the bins of a column lie, whatever the node.

    Attributes
    ----------
    nominal : bool
    may_miss : bool
        Whether a value is missing in any row.
    span : float
        From the least to the greatest value.
    single : ndarray of uint8
        Which bins hold one value only.
    low, high : ndarray of uint64
        No value of a bin has a key outside; exact for a single one.
    guide : ndarray of uint64
        About where each bin begins, and where the last one ends.
    """

    nominal: bool
    may_miss: bool
    span: float
    single: NDArray[np.uint8]
    low: NDArray[np.uint64]
    high: NDArray[np.uint64]
    guide: NDArray[np.uint64]

    @classmethod
    def of(cls, bins: Bins, facts: Facts, j: int) -> Landmarks:
        least, most = facts.extents[j]
        if not least <= most:  # every value is missing
            least = most = 0.0
        single = facts.single[j]
        values = keys_of(bins.values(j))
        ends = keys_of(np.array([least, most]))
        edges = keys_of(np.clip(bins.edges(j), least, most))
        guide = np.maximum.accumulate(np.concatenate([ends[:1], edges, ends[1:]]))
        return cls(
            bins.kinds[j] == NOMINAL,
            bool(facts.missing[j]),
            float(most - least),
            single,
            np.where(single, values, ends[0]),
            np.where(single, values, ends[1]),
            guide,
        )


@dataclass(frozen=True)
class Intervals:
    """What a node has of a column, in order: class weights and rows, and missing ones last."""

    table: NDArray[np.int64]
    single: NDArray[np.uint8]
    code: NDArray[np.int32]
    low: NDArray[np.uint64]
    high: NDArray[np.uint64]

    def refined(self, parts: Mapping[int, Intervals]) -> Intervals:
        """Some of them replaced by finer ones."""
        pieces = []
        start = 0
        for at in sorted(parts):
            pieces += [self._slice(start, at), parts[at]]
            start = at + 1
        pieces.append(self._slice(start, len(self.code)))
        missing = self.table[-1:]
        return Intervals(
            np.concatenate([*(p.table for p in pieces), missing]),
            *(
                np.concatenate([getattr(p, name) for p in pieces])
                for name in ("single", "code", "low", "high")
            ),
        )

    def _slice(self, start: int, stop: int) -> Intervals:
        """Without missing rows."""
        return Intervals(
            self.table[start:stop],
            self.single[start:stop],
            self.code[start:stop],
            self.low[start:stop],
            self.high[start:stop],
        )


@dataclass(frozen=True)
class Winner:
    """The split of a node.

    Attributes
    ----------
    score : float
    column : int
    code : int
        The last bin on the left, or the category.
    edge : int or None
        The greatest key on the left in that bin; None where all of it goes left.
    low, high : float
        The neighbours of a threshold; infinite where only missing rows go right.
    missing_left : bool
    missing : bool
        Whether a row of the node is missing in the column.
    left : ndarray of int64
        Class weights on the left, and rows.
    """

    score: float
    column: int
    code: int
    edge: int | None
    low: float
    high: float
    missing_left: bool
    missing: bool
    left: NDArray[np.int64]


class NodeSearch:
    """The search of one node: :meth:`wanted` until nothing is, then :attr:`winner`.

    Parameters
    ----------
    judge : Judge
    landmarks : sequence of Landmarks
    tables : sequence of ndarray
        Of each column, by bin: class weights and rows; missing rows last.
    counts : ndarray of int64
        Class weights of the node.
    n_rows : int
    by_impurity : bool
        Whether a tie of columns goes to the least weight on the left.
    """

    def __init__(
        self,
        judge: Judge,
        landmarks: Sequence[Landmarks],
        tables: Sequence[NDArray[np.int64]],
        counts: NDArray[np.int64],
        n_rows: int,
        *,
        by_impurity: bool,
    ) -> None:
        self.winner: Winner | None = None
        self.live_rows = 0  # in intervals that may hold the best split, over all columns
        self._judge = judge
        self._landmarks = landmarks
        self._counts, self._n_rows = counts, n_rows
        self._by_impurity = by_impurity
        self._columns = [
            Intervals(
                table,
                marks.single,
                np.arange(len(marks.single), dtype=np.int32),
                marks.low,
                marks.high,
            )
            for table, marks in zip(tables, landmarks, strict=True)
        ]

    def reach(self) -> tuple[float, float]:
        """Priorities of the best split found so far, and of the best there may be.

        Minus infinity where no split gains enough.
        """
        self._judge.take(self._counts, self._n_rows)
        best, bound = self._floor()[1:]
        found, most = (
            self._judge.priority(score) if score > self._judge.least else -np.inf
            for score in (best, max(best, bound))
        )
        return found, most

    def _floor(self) -> tuple[float, float, float]:
        """What a split must beat to matter, the best score, and the best inside an interval."""
        judge = self._judge
        floor, top = judge.least, -np.inf
        bounds, live = [], []
        for column, marks in zip(self._columns, self._landmarks, strict=True):
            if marks.nominal:
                found = judge.best_category(column.table, floor)
                best, bound, rows = (-np.inf if found is None else found[0]), -np.inf, 0
            else:
                best, bound, rows = judge.reach(column.table, column.single, floor)
            live.append(rows)
            top = max(top, best)
            floor = max(floor, best - 4.0 * judge.tolerance)
            bounds.append(bound)
        self._bounds = bounds
        self.live_rows = sum(
            rows for bound, rows in zip(bounds, live, strict=True) if bound > floor
        )
        return floor, top, max((b for b in bounds if b > floor), default=-np.inf)

    def wanted(self) -> dict[int, list[int]]:
        """Intervals to look into, by column; none where the winner is known or there is none."""
        judge = self._judge
        judge.take(self._counts, self._n_rows)
        floor = self._floor()[0]
        wanted: dict[int, set[int]] = {}
        for j, (column, bound) in enumerate(zip(self._columns, self._bounds, strict=True)):
            if bound > floor:
                wanted[j] = set(judge.live(column.table, column.single, floor))
        near = self._near(floor)
        for j, found in near:
            for at in self._neighbours(j, found):
                if not self._columns[j].single[at]:
                    wanted.setdefault(j, set()).add(at)
        lists = {j: sorted(ats) for j, ats in wanted.items() if ats}
        if not lists and near:
            self._choose(near)
        return lists

    def _near(self, floor: float) -> list[tuple[int, Found]]:
        """The best splits of columns that may tie for the first place."""
        judge = self._judge
        found = []
        for j, (column, marks) in enumerate(zip(self._columns, self._landmarks, strict=True)):
            best = judge.best_category if marks.nominal else judge.best
            split = best(column.table, floor)
            if split is not None:
                found.append((j, split))
        top = max((split[0] for _, split in found), default=-np.inf)
        if not top > judge.least:
            return []
        return [(j, split) for j, split in found if split[0] >= top - 2.0 * judge.tolerance]

    def _neighbours(self, j: int, found: Found) -> tuple[int, ...]:
        """The intervals on either side of a threshold."""
        _, last, follow, *_ = found
        return () if self._landmarks[j].nominal or follow < 0 else (last, follow)

    def _choose(self, near: Sequence[tuple[int, Found]]) -> None:
        """The kernel's own rule of ties, column after column."""
        tolerance = self._judge.tolerance
        best_j, best = near[0]
        for j, found in near[1:]:
            difference = found[0] - best[0]
            if difference > tolerance or (
                difference >= -tolerance and self._wins_tie(j, found, best_j, best)
            ):
                best_j, best = j, found
        if best[0] > self._judge.least:
            self.winner = self._winner(best_j, best)

    def _wins_tie(self, j: int, found: Found, other: int, best: Found) -> bool:
        if self._by_impurity:
            return found[5] < best[5]
        return self._gap(j, found) > self._gap(other, best)

    def _ends(self, j: int, found: Found) -> tuple[float, float]:
        column = self._columns[j]
        _, last, follow, *_ = found
        low, high = values_of(np.array([column.high[last], column.low[follow]], dtype=np.uint64))
        return float(low), float(high)

    def _gap(self, j: int, found: Found) -> float:
        if self._landmarks[j].nominal:
            return 1.0
        if found[2] < 0:
            return 0.0
        low, high = self._ends(j, found)
        return float(np.float64(high - low) / self._landmarks[j].span)

    def _winner(self, j: int, found: Found) -> Winner:
        score, last, follow, missing_left, left, _ = found
        column = self._columns[j]
        missing = bool(column.table[-1, -1] > 0)
        if self._landmarks[j].nominal:
            return Winner(score, j, last, None, np.nan, np.nan, missing_left, missing, left)
        code = int(column.code[last])
        if follow < 0:
            return Winner(score, j, code, None, np.inf, np.inf, missing_left, missing, left)
        low, high = self._ends(j, found)
        inside = column.code[follow] == code
        edge = int(column.high[last]) if inside else None
        return Winner(score, j, code, edge, low, high, missing_left, missing, left)

    # -- answers ---------------------------------------------------------------------------

    def intervals(self, j: int) -> Intervals:
        """What the node has of a column so far."""
        return self._columns[j]

    def refine(self, j: int, parts: Mapping[int, Intervals]) -> None:
        """Replace intervals of a column by finer ones."""
        self._columns[j] = self._columns[j].refined(parts)


# -- questions about many nodes at once ----------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A question about a column, and whose intervals it asks for."""

    question: Question
    owners: list[tuple[NodeSearch, int]]


def ask(
    wanted: Sequence[tuple[int, NodeSearch, Mapping[int, Sequence[int]]]],
    landmarks: Sequence[Landmarks],
    most_values: int,
    few_values: int,
) -> dict[int, Asked]:
    """One question for each column.

    Parameters
    ----------
    wanted : sequence of (slot, search, intervals by column)
    landmarks : sequence of Landmarks
    most_values : int
        About as many values are asked for in all; intervals of more than their share of rows are
        sliced, unless they have few.
    few_values : int
        What is few.
    """
    n_intervals = sum(len(ats) for _, _, columns in wanted for ats in columns.values())
    most = max(most_values // max(n_intervals, 1), few_values)
    by_column: dict[int, list[tuple[int, NodeSearch, Sequence[int]]]] = {}
    for slot, search, columns in wanted:
        for j, ats in columns.items():
            by_column.setdefault(j, []).append((slot, search, ats))
    # slices of an interval: a power of two, fewer where there are many intervals
    bits = int(np.clip(np.log2(max(8 * most_values // max(n_intervals, 1), 1)), 2, 8))
    return {j: _asked(groups, j, landmarks[j], most, bits) for j, groups in by_column.items()}


def _asked(
    groups: Sequence[tuple[int, NodeSearch, Sequence[int]]],
    j: int,
    marks: Landmarks,
    most: int,
    bits: int,
) -> Asked:
    first, low, high, guide, shift = [], [], [], [], []
    owners: list[tuple[NodeSearch, int]] = []
    places = np.arange(len(marks.single) + 1)
    for _, search, ats in groups:
        mine = search.intervals(j)
        codes = mine.code[list(ats)]
        first.append(np.searchsorted(codes, places) + len(owners))
        for at in ats:
            code, least, last = int(mine.code[at]), int(mine.low[at]), int(mine.high[at])
            start, stop = least, last
            if mine.low[at] == marks.low[code] and mine.high[at] == marks.high[code]:
                start, stop = int(marks.guide[code]), int(marks.guide[code + 1])
            exact = mine.table[at, -1] <= most
            low.append(least)
            high.append(last)
            guide.append(start)
            shift.append(EXACT if exact else max(0, (stop - start).bit_length() - bits))
            owners.append((search, at))
    sliced = np.array(shift) != EXACT
    question = Question(
        1 << bits,
        np.array([slot for slot, _, _ in groups], dtype=np.int32),
        np.ascontiguousarray(first, dtype=np.int32),
        np.array(low, dtype=np.uint64),
        np.array(high, dtype=np.uint64),
        np.array(guide, dtype=np.uint64),
        np.array(shift, dtype=np.uint8),
        np.where(sliced, np.cumsum(sliced) - 1, -1).astype(np.int32),
    )
    return Asked(question, owners)


def hear(asked: Mapping[int, Asked], answers: Mapping[int, Answer]) -> None:
    """Hand the answers out."""
    for j, one in asked.items():
        question, answer = one.question, answers[j]
        bounds = np.searchsorted(answer.intervals, np.arange(len(one.owners) + 1))
        parts: dict[NodeSearch, dict[int, Intervals]] = {}
        for i, (search, at) in enumerate(one.owners):
            code = search.intervals(j).code[at]
            if question.shift[i] == EXACT:
                found = slice(int(bounds[i]), int(bounds[i + 1]))
                keys = answer.keys[found]
                part = _part(answer.counts[found], code, keys, keys)
            else:
                part = _sliced(question, i, answer.slices[question.place[i]], code)
            parts.setdefault(search, {})[at] = part
        for search, mine in parts.items():
            search.refine(j, mine)


def _part(
    counts: NDArray[np.int64], code: Any, low: NDArray[np.uint64], high: NDArray[np.uint64]
) -> Intervals:
    return Intervals(
        counts,
        (low == high).astype(np.uint8),
        np.full(len(low), code, dtype=np.int32),
        low,
        high,
    )


def _sliced(question: Question, i: int, counts: NDArray[np.int64], code: Any) -> Intervals:
    """The slices that hold rows; the first and the last one reach to the ends of the interval."""
    shift = question.shift[i].astype(np.uint64)
    first, last = question.low[i], question.high[i]
    used = np.flatnonzero(counts[:, -1]).astype(np.uint64)
    low = question.guide[i] + (used << shift)
    width = (np.uint64(1) << shift) - np.uint64(1)
    # a slice that reaches past the interval ends with it; no sum is past 64 bits
    high = np.where(last - low > width, low + width, last)
    low[used == 0] = first
    high[used == question.n_slices - 1] = last
    return _part(np.ascontiguousarray(counts[used.astype(np.intp)]), code, low, high)
