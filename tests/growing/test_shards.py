"""Operations on shards, each against a slow and obvious twin."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from random_samples import KINDS, random_bins, random_parts, random_sample

from treebound.data import Column, Matrix, Sample
from treebound.data.parts import PartRows
from treebound.data.spill import ColumnFile, SpillFile
from treebound.growing import GrowOptions, Limits, grow_on_engine, make_bins
from treebound.growing._bins import Bins, keys_of
from treebound.growing._histogram import code_shard, column_codes
from treebound.growing._shards import key_ranges
from treebound.growing.engine import LocalEngine, sum_of
from treebound.growing.messages import (
    EXACT,
    IntervalCounts,
    IntervalRequest,
    ShardSplit,
    add_interval_counts,
)
from treebound.growing.shard import (
    SlotRows,
    code_part,
    code_sample,
    count_rows,
    digest_of,
    divide_rows,
    extents_of,
    gather_rows,
    look_into,
    make_bundle,
    recode,
)


def bundle_of(parts, bins):
    """Coded rows as one bundle."""
    coded = [code_sample(part, bins) for part in parts]
    total = coded[0].facts
    for one in coded[1:]:
        total = total + one.facts
    starts = np.cumsum([0, *(part.n_rows for part in parts[:-1])]).tolist()
    return make_bundle(coded, bins, total.totals, starts, parts[0].n_classes)


def test_more_classes_than_two_bytes_distinguish_are_refused():
    n = 1 << 16
    for more in (0, 1):
        y = np.arange(n + more)
        sample = Sample.learn(y[:, None].astype(float), y)
        bins = make_bins(sample.columns, sample.X.values)
        if more:
            with pytest.raises(ValueError, match="The target has 65,537 classes"):
                code_sample(sample, bins)
            with pytest.raises(ValueError, match="The target has 65,537 classes"):
                code_part(PartRows(sample.part(slice(0)), sample), bins)
        else:
            np.testing.assert_array_equal(code_sample(sample, bins).shard.target.labels, y)


def random_bundle(rng, n=120):
    sample = random_sample(rng, n)
    bins = random_bins(rng, sample)
    return sample, bins, bundle_of([sample], bins)


def codes_of(shard, bins, j):
    codes = column_codes(bins, shard.codes, j)
    return np.where(codes < 0, bins.n_bins[j], codes)


def values_in(sample, j):
    values = sample.X.values[j].astype(float)
    return np.where(values < 0, np.nan, values) if sample.X.values[j].dtype.kind == "i" else values


def random_requests(rng, bins, facts):
    """About every bin of every column: its slices, or its values."""
    requests = {}
    for j in range(bins.n_columns):
        if bins.by_code[j]:
            continue
        ranges, n = key_ranges(bins, facts, j), bins.n_bins[j]
        shift = np.full(n, EXACT, dtype=np.uint8)
        shift[::2] = rng.integers(0, 60, len(shift[::2]))
        place = np.where(shift == EXACT, -1, np.cumsum(shift != EXACT) - 1).astype(np.int32)
        requests[j] = IntervalRequest(
            16, np.zeros(1, np.int32), np.arange(n + 1, dtype=np.int32)[None], ranges.low,
            ranges.high, ranges.guide[:n].copy(), shift, place,
        )  # fmt: skip
    return requests


def test_keys_are_in_the_order_of_values():
    values = np.array([-np.inf, -1e300, -1.0, -5e-324, -0.0, 0.0, 5e-324, 2.5, 1e300, np.inf])
    keys = keys_of(values)
    steps = np.diff(keys.astype(object))
    np.testing.assert_array_equal(steps > 0, np.diff(values) > 0)
    assert (steps >= 0).all()
    assert keys_of(np.array([np.nan]))[0] > keys[-1]


def test_codes_are_monotone_and_bins_are_sent_whole():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        sample, bins, bundle = random_bundle(rng)
        [shard], facts = bundle.shards, bundle.facts
        again = pickle.loads(pickle.dumps(bins))
        again_coded, extents, missing, single = code_shard(again, sample.X.values, sample.n_rows)
        np.testing.assert_array_equal(shard.codes, again_coded)
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
                inside = set(values[known][codes[known] == code])
                assert inside <= {bins.values(j)[code]}


def test_extents_are_those_of_the_rows_and_not_of_the_bins():
    """Otherwise calibration rows, which the bins know, would break ties between columns."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 2)).astype(np.float32)
    X[rng.random((400, 2)) < 0.1] = np.nan
    sample = Sample.learn(X, rng.integers(0, 2, 400))
    bins = make_bins(sample.columns, sample.X.values)
    rows = np.flatnonzero(~(np.abs(X) > 1).any(axis=1))
    facts = code_sample(sample.part(rows), bins).facts
    expected = np.column_stack([np.nanmin(X[rows], axis=0), np.nanmax(X[rows], axis=0)])
    np.testing.assert_array_equal(facts.extents, expected)
    nothing = [np.array([np.nan]), np.array([-1, -2], dtype=np.int8), np.array([-1, 4, 2])]
    assert extents_of(nothing).tolist() == [[np.inf, -np.inf], [np.inf, -np.inf], [2.0, 4.0]]


def test_counts_are_those_of_the_rows():
    for seed in range(30):
        rng = np.random.default_rng([1, seed])
        sample, bins, bundle = random_bundle(rng)
        [shard] = bundle.shards
        order = rng.permutation(sample.n_rows).astype(np.uint32)
        cut = int(rng.integers(0, sample.n_rows + 1))
        rows = SlotRows(order, np.array([0, cut, sample.n_rows]))
        slots = np.array([1, 0], dtype=np.int32)
        table = count_rows(bundle._replace(rows=[rows]), slots, False)
        width = sample.n_classes + (shard.target.units is not None)
        units = shard.target.units
        units = np.ones(sample.n_rows, dtype=int) if units is None else units
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
        sample, bins, bundle = random_bundle(rng)
        requests = random_requests(rng, bins, bundle.facts)
        for j, reply in look_into(bundle, requests).items():
            shift = requests[j].shift
            values, codes = values_in(sample, j), codes_of(bundle.shards[0], bins, j)
            for code in range(bins.n_bins[j]):
                inside = codes == code
                replied = reply.intervals == code
                keys, counts = np.unique(keys_of(values[inside]), return_counts=True)
                if shift[code] != EXACT:
                    low, high = reply.low[replied], reply.high[replied]
                    assert (low <= high).all()
                    assert (low[1:] > high[:-1]).all()
                    for a, b, rows in zip(low, high, reply.counts[replied, -1], strict=True):
                        assert counts[(keys >= a) & (keys <= b)].sum() == rows > 0
                    assert reply.counts[replied, -1].sum() == inside.sum()
                    continue
                np.testing.assert_array_equal(reply.low[replied], keys)
                np.testing.assert_array_equal(reply.high[replied], keys)
                np.testing.assert_array_equal(reply.counts[replied, -1], counts)
                looked += len(keys)
    assert looked > 500


def test_rows_are_divided_by_codes_and_values():
    for seed in range(30):
        rng = np.random.default_rng([3, seed])
        sample, bins, bundle = random_bundle(rng)
        j = int(rng.integers(bins.n_columns))
        values, codes = values_in(sample, j), codes_of(bundle.shards[0], bins, j)
        sides = rng.integers(0, 2 if bins.by_code[j] else 3, bins.n_bins[j] + 1).astype(np.uint8)
        sides[-1] = rng.integers(0, 2)
        edge = float(rng.choice(np.append(values[~np.isnan(values)], 0.0)))
        expected = np.where(sides[codes] == 2, values <= edge, sides[codes] == 1)
        keep = rng.random(2) < 0.7
        split = ShardSplit(0, j, sides, edge, bool(keep[0]), bool(keep[1]))
        [rows] = divide_rows(bundle, [split]).rows
        expected_ids = [
            np.flatnonzero(side) for side, k in zip((expected, ~expected), keep, strict=True) if k
        ]
        assert len(rows.starts) == 1 + len(expected_ids)
        for slot, ids in enumerate(expected_ids):
            np.testing.assert_array_equal(rows.of(slot), ids)


def test_a_bundle_of_parts_replies_like_one_of_all_rows():
    looked = 0
    for seed in range(30):
        rng = np.random.default_rng([5, seed])
        sample, bins, whole = random_bundle(rng, 150)
        parts = random_parts(rng, sample)
        bundle, slots = bundle_of(parts, bins), np.zeros(1, dtype=np.int32)
        np.testing.assert_array_equal(bundle.counts, whole.counts)
        np.testing.assert_array_equal(digest_of(bundle), digest_of(whole))
        expected = count_rows(whole, slots, False)
        for wide in (False, True):
            np.testing.assert_array_equal(count_rows(bundle, slots, wide), expected)
        np.testing.assert_array_equal(sum_of([expected, expected]), 2 * expected)
        [mine], [piece] = gather_rows(bundle, [0]), gather_rows(whole, [0])
        np.testing.assert_array_equal(mine.target.labels, piece.target.labels)
        for one, other in zip(mine.columns, piece.columns, strict=True):
            np.testing.assert_array_equal(one, other)
        finer = random_bins(rng, sample, 1000)
        fine, also = recode(bundle, finer), recode(whole, finer)
        np.testing.assert_array_equal(fine.facts.extents, also.facts.extents)
        for j in range(finer.n_columns):
            codes = np.concatenate([codes_of(shard, finer, j) for shard in fine.shards])
            np.testing.assert_array_equal(codes, codes_of(also.shards[0], finer, j))
        requests = random_requests(rng, bins, whole.facts)
        by_shard = add_interval_counts(
            [
                look_into(bundle._replace(shards=[shard], rows=[rows]), requests)
                for shard, rows in zip(bundle.shards, bundle.rows, strict=True)
            ]
        )
        together = look_into(bundle, requests)
        for j, reply in look_into(whole, requests).items():
            for counts in (together[j], by_shard[j]):
                for mine, other in zip(counts, reply, strict=True):
                    np.testing.assert_array_equal(mine, other)
            looked += len(reply.low)
    assert looked > 500


@pytest.mark.parametrize("change", ["value", "label", "weight"])
def test_the_digest_depends_on_values_labels_and_weights(change):
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(50, 2)), rng.integers(0, 2, 50), rng.integers(1, 9, 50)

    def digest():
        sample = Sample.learn(X, y, weight.astype(float))
        return LocalEngine([sample], make_bins(sample.columns, [*X.T]), 2)

    before = digest().digest()
    order = rng.permutation(50)
    X, y, weight = X[order], y[order], weight[order]
    assert digest().digest() == before
    if change == "value":
        X[7, 1] += 1e-9
    elif change == "label":
        y[[np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]]] = [1, 0]
    else:
        weight[[np.argmin(weight), np.argmax(weight)]] = [weight.max(), weight.min()]
    assert digest().digest() != before


def impurity(counts, criterion):
    """The score that splits maximise, of one side."""
    total, shares = counts.sum(), counts[counts > 0]
    if criterion == "gini":
        return (counts**2).sum() / total
    if criterion == "entropy":
        return (shares * np.log2(shares)).sum() - total * np.log2(total)
    return counts.max()


@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification"])
def test_a_bin_that_is_not_requested_holds_no_better_split(criterion):
    """Every split inside every bin, one by one, with missing rows on either side."""
    not_requested = 0
    for seed in range(60):
        rng = np.random.default_rng([4, seed])
        n_classes, n = int(rng.integers(2, 5)), int(rng.integers(6, 60))
        x = np.sort(rng.integers(0, 40, n)).astype(float)
        y = np.where(rng.random(n) < 0.7, x * n_classes // 40, rng.integers(0, n_classes, n))
        x[rng.random(n) < 0.2] = np.nan
        least = int(rng.choice([1, 3]))
        sample = Sample(
            Matrix((Column("x", "real", missing=True),), (x,)), y.astype(np.int32), None,
            np.arange(n_classes),
        )  # fmt: skip
        bins = Bins([x], [KINDS["real"]], [0], int(rng.integers(2, 6)))
        engine = LocalEngine([sample], bins, n_classes)
        requested, look = set(), engine.look

        def record(requests, requested=requested, look=look):
            for request in requests.values():
                requested |= set(np.flatnonzero(np.diff(request.first[0])).tolist())
            return look(requests)

        engine.look = record
        options = GrowOptions(criterion=criterion, max_leaves=2, min_samples_leaf=least)
        tree = grow_on_engine(
            engine, sample.columns, sample.classes, options,
            limits=replace(Limits(), gather_rows=0),
        )  # fmt: skip
        if tree.n_leaves == 1:
            continue
        best = sum(impurity(tree.counts[child], criterion) for child in (1, 2))
        codes = codes_of(bundle_of([sample], bins).shards[0], bins, 0)
        for code in set(range(bins.n_bins[0])) - requested:
            not_requested += 1
            for value in np.unique(x[codes == code])[:-1]:
                for missing_left in (False, True):
                    left = (x <= value) | (np.isnan(x) & missing_left)
                    if least <= left.sum() <= n - least:
                        sides = [np.bincount(y[s].astype(int), minlength=n_classes)
                                 for s in (left, ~left)]  # fmt: skip
                        score = sum(impurity(side, criterion) for side in sides)
                        assert score <= best + 1e-9
    assert not_requested > 20


def test_a_file_gives_back_columns_of_any_type_and_length(tmp_path):
    rng = np.random.default_rng(0)
    file = SpillFile(str(tmp_path))
    columns = (
        Column("a", "real"),
        Column("b", "nominal", ("u", "v")),
        Column("c", "real"),
    )
    bins = make_bins(columns, [rng.normal(size=9), np.empty(0), rng.normal(size=9)])
    for n in (5001, 3, 0, 1):
        values = (
            rng.normal(size=n).astype(np.float32),
            rng.integers(0, 2, n).astype(np.int32),
            rng.normal(size=n),
        )
        written = file.write(Matrix(columns, values), bins.by_code)
        for j in (0, 2):
            column = written[j]
            assert column.dtype == values[j].dtype
            np.testing.assert_array_equal(column, values[j])
    file.close()


@pytest.mark.parametrize("kept_rows", [300, 250])
def test_a_streamed_sample_is_that_of_its_batches(kept_rows):
    """Batches of other types and missing values; there may be fewer rows than expected."""
    rng = np.random.default_rng(0)
    whole = random_sample(rng, 300).part(slice(0, kept_rows))
    parts = random_parts(rng, whole)
    narrow = Matrix(
        parts[0].columns,
        tuple(v.astype(np.int32) if v.dtype.kind == "i" else v for v in parts[0].X.values),
    )
    file = ColumnFile(parts[0], 300)
    for part in [replace(parts[0], X=narrow), *parts[1:]]:
        file.add(part)
    stored = file.sample()
    file.close()
    np.testing.assert_array_equal(stored.y, whole.y)
    assert (stored.weight is None) == (whole.weight is None)
    np.testing.assert_array_equal(stored.weights, whole.weights)
    for mine, other in zip(stored.X.values, whole.X.values, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_a_table_that_grew_while_it_was_read_is_refused():
    sample = random_sample(np.random.default_rng(0), 50)
    file = ColumnFile(sample, sample.n_rows + 3)
    file.add(sample)
    with pytest.raises(ValueError, match=r"more rows than the \d+ that it had"):
        file.add(sample)
    file.close()


def test_a_column_of_too_many_categories_is_refused():
    column = Column("id", "nominal", tuple(range(70_000)))
    with pytest.raises(ValueError, match=r"'id' has 70,000 categories.*at most 65,534"):
        make_bins([column], [np.empty(0)])
    assert Bins([np.empty(0)], [KINDS["nominal"]], [300], 255).n_bins == [300]


def test_replies_are_sent_without_their_zeros():
    rng = np.random.default_rng(0)
    counts = np.zeros((300, 21), dtype=np.int64)
    counts[np.arange(300), rng.integers(0, 20, 300)] = rng.integers(1, 200, 300)
    counts[:, 20] = 1
    keys = np.arange(300, dtype=np.uint64)
    reply = IntervalCounts(np.zeros(300, np.int32), keys, keys + np.uint64(1), counts)
    sent = pickle.dumps(reply)
    assert len(sent) < counts.nbytes // 3
    for mine, other in zip(pickle.loads(sent), reply, strict=True):
        assert mine.dtype == other.dtype
        np.testing.assert_array_equal(mine, other)
    nothing = IntervalCounts(*(array[:0] for array in reply))
    assert pickle.loads(pickle.dumps(nothing)).counts.shape == (0, 21)
