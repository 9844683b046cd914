"""Kernels of growth in rounds, each against a slow and obvious twin."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from random_samples import KINDS, random_bins, random_sample

from treebound.growing._bins import Bins
from treebound.growing._judge import Judge, best_first
from treebound.growing._shard import keys_of, values_of
from treebound.growing.rounds.looking import Question, look_into
from treebound.growing.rounds.search import Landmarks
from treebound.growing.rounds.shard import (
    Rows,
    ShardSplit,
    code_sample,
    count_bins,
    part_rows,
    weigh,
)

CRITERIA = {"gini": 0, "entropy": 1, "misclassification": 2}


def coded(rng, n=120):
    sample = random_sample(rng, n)
    bins = random_bins(rng, sample)
    shard, facts = code_sample(sample, bins)
    shard, counts = weigh(shard, facts.total, sample.n_classes)
    return sample, bins, shard, facts, counts


def codes_of(shard, bins, j):
    panel = next(p for p, group in enumerate(bins.panels) if j in group)
    return shard.panels[panel][:, bins.panels[panel].index(j)].astype(int)


def values_in(sample, j):
    values = sample.X.values[j].astype(float)
    return np.where(values < 0, np.nan, values) if sample.X.values[j].dtype.kind == "i" else values


def test_keys_are_in_the_order_of_values():
    values = np.array([-np.inf, -1e300, -1.0, -5e-324, -0.0, 0.0, 5e-324, 2.5, 1e300, np.inf])
    keys = keys_of(values)
    assert (np.diff(keys.astype(object)) >= 0).all()
    assert keys[4] == keys[5]
    np.testing.assert_array_equal(values_of(keys), values)
    assert keys_of(np.array([np.nan]))[0] > keys[-1]


def test_codes_are_monotone_and_bins_are_sent_whole():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        sample, bins, shard, facts, _ = coded(rng)
        again = pickle.loads(pickle.dumps(bins))
        panels, extents, missing, single = again.code(sample.X.values, sample.n_rows)
        for mine, other in zip(shard.panels, panels, strict=True):
            np.testing.assert_array_equal(mine, other)
        np.testing.assert_array_equal(extents, facts.extents)
        for j in range(bins.n_columns):
            codes, values = codes_of(shard, bins, j), values_in(sample, j)
            known = ~np.isnan(values)
            assert missing[j] == (not known.all())
            assert (codes[~known] == bins.n_bins[j]).all()
            order = np.argsort(values[known], kind="stable")
            assert (np.diff(codes[known][order]) >= 0).all()
            if known.any() and not bins.by_code[j]:
                assert extents[j].tolist() == [values[known].min(), values[known].max()]
            for code in np.flatnonzero(single[j]):
                found = set(values[known][codes[known] == code])
                assert found <= {bins.values(j)[code]}


def test_counts_are_those_of_the_rows():
    for seed in range(30):
        rng = np.random.default_rng([1, seed])
        sample, bins, shard, _, _ = coded(rng)
        order = rng.permutation(sample.n_rows).astype(np.uint32)
        cut = int(rng.integers(0, sample.n_rows + 1))
        rows = Rows(order, np.array([0, cut, sample.n_rows]))
        slots = np.array([1, 0], dtype=np.int32)
        table = count_bins(shard, rows, bins, sample.n_classes, slots)
        width = sample.n_classes + (shard.units is not None)
        units = np.ones(sample.n_rows, dtype=int) if shard.units is None else shard.units
        for at, slot in enumerate(slots):
            start = 0
            for j, n in enumerate(bins.n_bins):
                part = table[at, start : start + (n + 1) * width].reshape(n + 1, width)
                start += (n + 1) * width
                expected = np.zeros((n + 1, sample.n_classes + 1), dtype=int)
                for row in rows.of(slot):
                    code = codes_of(shard, bins, j)[row]
                    expected[code, sample.y[row]] += units[row]
                    expected[code, -1] += 1
                np.testing.assert_array_equal(part, expected[:, :width])


def test_looking_into_bins_finds_their_values():
    looked = 0
    for seed in range(40):
        rng = np.random.default_rng([2, seed])
        sample, bins, shard, facts, _ = coded(rng)
        rows = Rows.all(sample.n_rows)
        for j in range(bins.n_columns):
            if bins.by_code[j]:
                continue
            marks = Landmarks.of(bins, facts, j)
            n = bins.n_bins[j]
            shift = np.full(n, 255, dtype=np.uint8)
            shift[::2] = rng.integers(0, 60, len(shift[::2]))
            place = np.where(shift == 255, -1, np.cumsum(shift != 255) - 1).astype(np.int32)
            question = Question(
                16, np.zeros(1, np.int32), np.arange(n + 1, dtype=np.int32)[None], marks.low,
                marks.high, marks.guide[:n].copy(), shift, place,
            )  # fmt: skip
            answer = look_into([shard], [rows], bins, sample.n_classes, {j: question})[j]
            values, codes = values_in(sample, j), codes_of(shard, bins, j)
            for code in range(n):
                inside = codes == code
                if shift[code] != 255:
                    assert answer.slices[place[code], :, -1].sum() == inside.sum()
                    continue
                found = answer.intervals == code
                keys, counts = np.unique(keys_of(values[inside]), return_counts=True)
                np.testing.assert_array_equal(answer.keys[found], keys)
                np.testing.assert_array_equal(answer.counts[found, -1], counts)
                looked += len(keys)
    assert looked > 500


def test_rows_are_parted_by_codes_and_values():
    for seed in range(30):
        rng = np.random.default_rng([3, seed])
        sample, bins, shard, _, _ = coded(rng)
        j = int(rng.integers(bins.n_columns))
        values = values_in(sample, j)
        codes = codes_of(shard, bins, j)
        sides = rng.integers(0, 3, bins.n_bins[j] + 1).astype(np.uint8)
        sides[-1] = rng.integers(0, 2)
        edge = int(keys_of(np.array([rng.choice(np.append(values[~np.isnan(values)], 0.0))]))[0])
        expected = np.where(sides[codes] == 2, keys_of(values) <= edge, sides[codes] == 1)
        keep = rng.random(2) < 0.7
        split = ShardSplit(0, j, sides, edge, bool(keep[0]), bool(keep[1]))
        rows = part_rows(shard, Rows.all(sample.n_rows), bins, [split])
        kept = [
            np.flatnonzero(side) for side, k in zip((expected, ~expected), keep, strict=True) if k
        ]
        assert len(rows.starts) == 1 + len(kept)
        for slot, ids in enumerate(kept):
            np.testing.assert_array_equal(rows.of(slot), ids)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_bin_that_is_not_live_holds_no_better_split(criterion):
    """Every split inside every bin, one by one, with missing rows on either side."""
    not_live = 0
    for seed in range(60):
        rng = np.random.default_rng([4, seed])
        n_classes, n_bins = int(rng.integers(2, 5)), int(rng.integers(1, 6))
        n = int(rng.integers(6, 60))
        y, x = rng.integers(0, n_classes, n), np.sort(rng.integers(0, 40, n))
        y = np.where(rng.random(n) < 0.7, x * n_classes // 40, y)
        weight = np.ones(n, dtype=np.int64) if rng.random() < 0.5 else rng.integers(1, 50, n)
        bin_of = np.where(rng.random(n) < 0.2, n_bins, x * n_bins // 40)
        table = np.zeros((n_bins + 1, n_classes + 1), dtype=np.int64)
        np.add.at(table, (bin_of, y), weight)
        np.add.at(table, (bin_of, n_classes), 1)
        counts = np.ascontiguousarray(table[:, :-1].sum(axis=0))
        least, heavy = int(rng.choice([1, 3])), int(rng.choice([0, counts.sum() // 8]))
        judge = Judge(n_classes, CRITERIA[criterion], False, int(counts.sum()), least, heavy, 0.0)
        judge.take(counts, n)
        single = np.zeros(n_bins, dtype=np.uint8)
        best, _, _ = judge.reach(table, single, -np.inf)
        floor = max(best, judge.least) - 4.0 * judge.tolerance
        live = judge.live(table, single, floor)
        missing = table[-1]
        for t in set(range(n_bins)) - set(live):
            not_live += 1
            before = table[:t].sum(axis=0)
            for value in np.unique(x[bin_of == t])[:-1]:
                inside = (bin_of == t) & (x <= value)
                left = before.copy()
                np.add.at(left, y[inside], weight[inside])
                left[-1] += inside.sum()
                for side in [0 * missing, missing] if missing[-1] else [missing]:
                    both = left + side
                    total = both[:-1].sum()
                    if not least <= both[-1] <= n - least or not (
                        heavy <= total <= counts.sum() - heavy
                    ):
                        continue
                    assert judge.split_score(both[:-1].copy()) <= floor + 1e-9
    assert not_live > 20


def slow_order(priority, left, right, waits, most, tolerance):
    """The frontier as a list that is searched from end to end."""
    order, frontier, made = [], [(0, 0)] if waits[0] else [], 1
    while frontier and len(order) < most:
        best = frontier[0]
        for one in frontier[1:]:
            difference = priority[one[1]] - priority[best[1]]
            if difference > tolerance or (difference >= -tolerance and one[0] < best[0]):
                best = one
        frontier.remove(best)
        order.append(best[1])
        for child in (left[best[1]], right[best[1]]):
            if child >= 0:
                if waits[child]:
                    frontier.append((made, child))
                made += 1
    return order


def test_the_order_is_that_of_a_slow_frontier():
    for seed in range(100):
        rng = np.random.default_rng([5, seed])
        n = 2 * int(rng.integers(0, 30)) + 1
        left, right = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
        leaves, made = [0], 1
        while made < n:
            node = leaves.pop(int(rng.integers(len(leaves))))
            left[node], right[node] = made, made + 1
            leaves += [made, made + 1]
            made += 2
        priority = rng.integers(0, 6, n).astype(float)
        waits = ((left >= 0) | (rng.random(n) < 0.5)).astype(np.uint8)
        given = (priority, left, right, waits, int(rng.integers(0, n + 2)), 0.25)
        assert best_first(*given).tolist() == slow_order(*given)


def test_a_column_of_too_many_categories_is_refused():
    from treebound.data import Column
    from treebound.growing.rounds import make_bins

    column = Column("id", "nominal", tuple(range(70_000)))
    with pytest.raises(ValueError, match=r"'id' has 70000 categories.*at most 65534"):
        make_bins([column], [np.empty(0)])
    assert Bins([np.empty(0)], [KINDS["nominal"]], [300], 255).n_bins == [300]
