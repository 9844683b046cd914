"""Folds depend on the rows alone: not on their order, their weights or the names of classes."""

from collections import Counter
from dataclasses import FrozenInstanceError, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold
from support import coded_sample

import treebound as tb
from treebound.data import Column, Matrix, Sample, draws
from treebound.data._row_hashes import mixed
from treebound.data.draws import (
    Draw,
    RowsOfGroups,
    Slice,
    Stratified,
    Tenth,
    _taken,
    as_key,
    derived,
    folds,
    one_of_each,
    random_number,
    row_keys,
)
from treebound.data.matrix import MatrixPart

COLUMNS = (Column("a"), Column("b", "nominal", tuple("uvwxyz")))


def table(seed, rows=60):
    """Rows of three classes; several are alike."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=rows).round(1), rng.integers(0, 6, rows)])
    X[rng.random(rows) < 0.1, 0] = np.nan
    return X, rng.integers(0, 3, rows), rng


def copies_of(sample):
    """How often each row occurs, with its class."""
    columns = ((values + 0).tolist() for values in sample.X.values)  # the two zeros are one
    rows = zip(*columns, sample.y.tolist(), strict=True)
    weights = Counter()
    for row, weight in zip(rows, sample.weights.tolist(), strict=True):
        weights[repr(row)] += weight
    return weights


def parts_of(X, y, weight=None, k=5):
    sample = coded_sample(X, y, COLUMNS, range(3), weight)
    parts = [*folds(sample, k, 0), Stratified(0, 0.2).split(sample)]
    return [(copies_of(outside), copies_of(inside)) for outside, inside in parts]


@given(st.integers(0, 1000))
def test_the_names_of_the_classes_do_not_matter(seed):
    X, y, rng = table(seed)
    X = np.column_stack([rng.normal(size=60), X[:, 1]])
    names = rng.permutation(3)
    for (out, inside), (other_out, other_inside) in zip(
        parts_of(X, y), parts_of(X, names[y]), strict=True
    ):
        assert {row[: row.rindex(",")] for row in out} == {r[: r.rindex(",")] for r in other_out}
        assert len(inside) == len(other_inside)


@given(st.integers(0, 1000))
def test_the_order_of_the_rows_does_not_matter(seed):
    X, y, rng = table(seed)
    order = rng.permutation(len(y))
    assert parts_of(X, y) == parts_of(X[order], y[order])


@given(st.integers(0, 1000))
def test_a_row_of_weight_two_is_dealt_like_the_row_twice(seed):
    X, y, rng = table(seed)
    weight = rng.integers(1, 12, len(y))
    assert parts_of(X, y, weight) == parts_of(X.repeat(weight, axis=0), y.repeat(weight))


@given(st.integers(0, 1000))
def test_weights_that_are_not_whole_stay_with_their_row(seed):
    X, y, rng = table(seed)
    weight = rng.random(len(y)) + 0.1
    for outside, inside in folds(coded_sample(X, y, COLUMNS, range(3), weight), 5, 0):
        assert not copies_of(outside).keys() & copies_of(inside).keys()
        assert outside.total + inside.total == pytest.approx(weight.sum())


def test_every_class_and_every_repeated_row_is_dealt_out_evenly():
    X = np.array([[0.0, 0], [1.0, 1], [2.0, 2]]).repeat([70, 30, 3], axis=0)
    y = np.array([0, 1, 2]).repeat([70, 30, 3])
    counts = np.array([
        inside.counts for _, inside in folds(coded_sample(X, y, COLUMNS, range(3)), 5, 0)
    ])  # fmt: skip
    assert (np.ptp(counts, axis=0) <= 1).all()
    assert np.ptp(counts.sum(axis=1)) <= 1
    np.testing.assert_array_equal(counts.sum(axis=0), [70, 30, 3])
    _, validation = Stratified(0, 0.2).split(coded_sample(X, y, COLUMNS, range(3)))
    np.testing.assert_allclose(validation.counts, [14, 6, 0.6], atol=1)


def test_few_distinct_rows_can_be_cross_validated():
    X = np.repeat([[5.0], [7.0], [11.0]], 40, axis=0)
    y = np.repeat([0, 1, 2], 40)
    for pruning in ("cost-complexity", "kearns-mansour", "reduced-error"):
        clf = tb.BoundTreeClassifier(pruning=pruning, categorical_features=[0]).fit(X, y)
        assert clf.n_leaves_ == 3


def test_seeds_give_other_folds():
    X, y, _ = table(0)
    sample = coded_sample(X, y, COLUMNS, range(3))
    one, other = ([copies_of(inside) for _, inside in folds(sample, 5, s)] for s in (0, 1))
    assert one != other


def test_parts_cover_the_rows_once():
    X, y, rng = table(1)
    for weight in (None, rng.integers(1, 5, 60), rng.random(60)):
        sample = coded_sample(X, y, COLUMNS, range(3), weight)
        whole = copies_of(sample)
        inside_all = Counter()
        for outside, inside in folds(sample, 5, 0):
            inside_all += copies_of(inside)
            both = copies_of(outside) + copies_of(inside)
            assert both == pytest.approx(whole)
        assert inside_all == pytest.approx(whole)


def test_one_row_is_not_divided():
    one = coded_sample(np.zeros((1, 2)), np.array([1]), COLUMNS, [0, 1])
    assert list(folds(one, 5, 0)) == []
    training, validation = Stratified(0, 0.15).split(one)
    assert (training.n_rows, validation.n_rows) == (1, 0)
    clf = tb.BoundTreeClassifier(pruning="reduced-error").fit(np.zeros((4, 2)), [1, 1, 1, 0])
    assert clf.predict([[0.0, 0.0]]) == [1]


@pytest.mark.parametrize("factor", [2, 3])
@given(seed=st.integers(0, 1000))
def test_a_class_that_is_there_twice_is_dealt_like_the_class_once(factor, seed):
    """Else every row to judge by would have been learned from."""
    X, y, _ = table(seed, rows=200)
    weight = np.where(y == 1, factor, 1.0)
    for (out, inside), (heavy_out, heavy_inside) in zip(
        parts_of(X, y), parts_of(X, y, weight), strict=True
    ):
        assert out.keys() == heavy_out.keys()
        assert inside.keys() == heavy_inside.keys()
    repeats = weight.astype(int)
    assert parts_of(X, y, weight) == parts_of(X.repeat(repeats, axis=0), y.repeat(repeats))


@pytest.mark.parametrize("fraction", [0.01, 0.15, 0.5, 0.99])
@pytest.mark.parametrize("heaviest", [1, 3, 2**40])
def test_held_out_rows_are_of_the_requested_size(fraction, heaviest):
    X, y, rng = table(2, rows=200)
    weight = rng.integers(0, heaviest, 200) + 1
    weight[:10] = 1
    sample = coded_sample(X, y, COLUMNS, range(3), weight)
    training, validation = Stratified(0, fraction).split(sample)
    assert validation.total == max(1, round(weight.sum() * fraction))
    assert training.total + validation.total == weight.sum()


def test_duplicates_stay_together_where_every_row_of_a_class_is_there_twice():
    """Else every row to validate on would have been grown on."""
    X, y, rng = table(3, rows=150)
    X = np.column_stack([rng.normal(size=150), X[:, 1]])
    sample = coded_sample(X.repeat(2, axis=0), y.repeat(2), COLUMNS, range(3))
    for outside, inside in [*folds(sample, 5, 0), Stratified(0, 0.2).split(sample)]:
        assert inside.n_rows
        assert not copies_of(outside).keys() & copies_of(inside).keys()


def test_class_weights_do_not_change_the_folds():
    X, y, _ = table(4)
    plain = coded_sample(X, y, COLUMNS, range(3))
    heavy = replace(plain, factors=np.array([0.2, 1.0, 3.0]))
    for (_, one), (_, other) in zip(folds(plain, 5, 0), folds(heavy, 5, 0), strict=True):
        assert copies_of(one) == copies_of(other)
        np.testing.assert_array_equal(other.factors, [0.2, 1.0, 3.0])


def test_groups_stay_together_and_their_names_and_order_do_not_matter():
    X, y, rng = table(5, rows=400)
    group = rng.integers(0, 60, 400)
    sample = replace(coded_sample(X, y, COLUMNS, range(3)), groups=group)
    parts = [*folds(sample, 5, 0), Stratified(0, 0.2).split(sample), Tenth(12345).split(sample)]
    for outside, inside in parts:
        assert not set(outside.groups.tolist()) & set(inside.groups.tolist())
        assert outside.n_rows + inside.n_rows == 400
    sizes = [inside.n_rows for _, inside in parts[:5]]
    assert sum(sizes) == 400
    assert max(sizes) - min(sizes) < 20
    assert abs(parts[5][1].n_rows - 80) < 25
    order, names = rng.permutation(400), rng.permutation(60)
    other = replace(sample.part(order), groups=names[group[order]])
    for (_, one), (_, same) in zip(parts[:5], folds(other, 5, 0), strict=True):
        assert copies_of(one) == copies_of(same)


def test_a_splitter_gets_the_groups():
    X, y, rng = table(6, rows=100)
    sample = replace(coded_sample(X, y, COLUMNS, range(3)), groups=rng.integers(0, 20, 100))
    for outside, inside in folds(sample, GroupKFold(4), None):
        assert not set(outside.groups.tolist()) & set(inside.groups.tolist())


def test_calibration_rows_depend_on_their_number_alone():
    X, y, _ = table(7, rows=2000)
    training, validation = Tenth(12345).split(coded_sample(X, y, COLUMNS, range(3)))
    assert training.n_rows + validation.n_rows == 2000
    assert 150 < validation.n_rows < 250
    longer, _, _ = table(8, rows=2000)
    both = coded_sample(np.vstack([X, longer]), np.r_[y, y], COLUMNS, range(3))
    first = Tenth(12345).split(both)[1]
    np.testing.assert_array_equal(first.X.values[0][: validation.n_rows], validation.X.values[0])
    assert Tenth(54321).split(both)[1].n_rows != first.n_rows
    parts = [Tenth(12345).has(np.arange(a, b)) for a, b in ((0, 777), (777, 4000))]
    np.testing.assert_array_equal(np.concatenate(parts), Tenth(12345).mask(4000))
    counts = [Tenth(12345).count(a, b) for a, b in ((0, 777), (777, 4000))]
    assert counts == [part.sum() for part in parts]


def test_copies_stay_together_where_equal_rows_are_no_coincidence():
    rng = np.random.default_rng(0)
    fine, coarse = rng.normal(size=(400, 2)), rng.integers(0, 3, (400, 2)).astype(float)
    weight, y = rng.integers(1, 4, 400).astype(float), rng.integers(0, 2, 400)
    for X, together in ((fine, True), (coarse, False)):
        weighted = Sample.learn(X, y, weight)
        times = weight.astype(int)
        repeated = Sample.learn(np.repeat(X, times, axis=0), np.repeat(y, times))
        for sample in (weighted, repeated):
            for outside, inside in [*folds(sample, 5, 0), Stratified(0, 0.2).split(sample)]:
                parts = [set(zip(*part.X.values, strict=True)) for part in (outside, inside)]
                assert (not parts[0] & parts[1]) == together
        for (_, one), (_, other) in zip(folds(weighted, 5, 0), folds(repeated, 5, 0), strict=True):
            assert copies_of(one) == copies_of(other)


def slow_mixed(z):
    last = 2**64 - 1
    z = (z + 0x9E3779B97F4A7C15) & last
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & last
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & last
    return z ^ (z >> 31)


def slow_keys(columns, seed):
    start = int(np.random.default_rng(seed).integers(2**63, dtype=np.uint64))

    def bits(value):
        value = np.float64(np.nan if np.isnan(value) else value + 0.0)
        return int(value.view(np.uint64))

    def key(row):
        keyed = start
        for value in row:
            keyed = slow_mixed(keyed ^ slow_mixed(bits(value)))
        return keyed

    return [key(row) for row in zip(*columns, strict=True)]


def test_keys_are_splitmix_of_the_values_one_after_the_other():
    rng = np.random.default_rng(0)
    numbers = np.r_[rng.normal(size=20), np.nan, -np.nan, 0.0, -0.0]
    codes = rng.integers(-2, 3, len(numbers)).astype(np.int8)
    columns = [Column("a", "real"), Column("b", "nominal", ("x", "y", "z")), Column("c", "real")]
    single = numbers.astype(np.float32)
    keys = row_keys(Matrix(tuple(columns), (numbers, codes, single)), 3)
    assert keys.tolist() == slow_keys((numbers, codes, single), 3)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_blocks_are_assigned_to_folds_in_turn(k):
    n = np.arange(12)
    for fold in range(k):
        in_turn = [sum(block % k == fold for block in range(first)) for first in n]
        assert _taken(k, fold, n).tolist() == in_turn


@pytest.mark.parametrize(("groups", "share"), [(10, 0.3), (7, 0.5), (20, 0.15), (3, 0.1)])
def test_a_share_of_the_groups_is_selected(groups, share):
    X, y, rng = table(3, rows=groups * 4)
    sample = coded_sample(X, y, COLUMNS, range(3))
    sample = replace(sample, groups=rng.permutation(np.arange(groups).repeat(4)))
    training, validation = Stratified(0, share).split(sample)
    assert len(np.unique(validation.groups)) == max(1, round(share * groups))
    assert training.n_rows + validation.n_rows == sample.n_rows


def test_folds_of_few_groups_are_as_many_as_the_groups():
    X, y, _ = table(4, rows=30)
    sample = replace(coded_sample(X, y, COLUMNS, range(3)), groups=np.arange(30) % 3)
    parts = list(folds(sample, 5, 0))
    assert [(outside.n_rows, inside.n_rows) for outside, inside in parts] == [(20, 10)] * 3


def test_a_fold_whose_parts_share_rows_is_refused():
    sample = Sample.learn([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1])
    with pytest.raises(ValueError, match="Fold 1 has rows that are both inside and outside"):
        list(folds(sample, [([0, 1, 2], [2, 3])], 0))


def matrices(seed):
    """The same rows as one array, in either order, of both precisions, and as columns."""
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(1300, 4)).round(1)
    dense[rng.random(dense.shape) < 0.1] = np.nan
    columns = tuple(Column(name, "real", missing=True) for name in "abcd")
    yield Matrix(columns, tuple(np.ascontiguousarray(dense.T)))
    for single in (dense, dense.astype(np.float32)):
        yield Matrix(columns, dense=single)
        yield Matrix(columns, dense=np.asfortranarray(single))


def test_keys_of_one_array_are_those_of_its_columns():
    for matrix in matrices(0):
        slow = slow_keys([values.astype(np.float64) for values in matrix.values], 3)
        assert row_keys(matrix, 3).tolist() == slow


@pytest.mark.parametrize("keyed_before", [False, True])
def test_rows_of_a_part_have_the_keys_that_they_have_in_the_table(keyed_before):
    for matrix in matrices(1):
        part = matrix.part(np.arange(1300) % 3 > 0)
        assert isinstance(part, MatrixPart)
        if keyed_before:
            row_keys(matrix, 5)
        slow = slow_keys([values.astype(np.float64) for values in matrix.values], 5)
        assert row_keys(part, 5).tolist() == [key for at, key in enumerate(slow) if at % 3]
        assert row_keys(matrix, 5).tolist() == slow


def test_hashes_of_numbers_are_steps_of_splitmix():
    numbers = np.random.default_rng(0).integers(0, 2**63, 50).astype(np.uint64)
    assert mixed(numbers).tolist() == [slow_mixed(number) for number in numbers.tolist()]


# -- a model keeps the key of a draw and no rows: every version must draw the same ---------------


def test_a_slice_is_a_part_of_a_random_order_of_its_key():
    assert np.flatnonzero(Slice(7, 2, 6).mask(12)).tolist() == [0, 1, 3, 10]
    assert np.flatnonzero(Slice(2**53 - 1, 0, 4).mask(12)).tolist() == [0, 6, 7, 10]
    assert np.flatnonzero(Draw(3, key=11).prior_rows(20, 0.2)).tolist() == [2, 9, 15, 18]
    assert one_of_each(np.array([0, 0, 1, 1, 1, 2, 2]), 4).tolist() == [1, 2, 5]
    slices = [(one.key, one.start, one.stop) for one in Draw(3, key=11).folds(7)]
    assert slices == [(11, 0, 3), (11, 3, 5), (11, 5, 7)]


@pytest.mark.parametrize("key", [0, 12345, 2**53 - 1])
def test_a_tenth_is_selected_by_splitmix_of_the_number_and_the_key(key):
    expected = [number for number in range(500) if slow_mixed(number ^ key) % 10 == 0]
    assert np.flatnonzero(Tenth(key).mask(500)).tolist() == expected
    assert Tenth(key).count(100, 500) == sum(number >= 100 for number in expected)


def test_a_count_of_many_rows_is_the_sum_of_its_parts():
    ends = [0, 1_000_000, 1_048_576, 1_100_000]
    parts = [Tenth(1).count(a, b) for a, b in pairwise(ends)]
    assert Tenth(1).count(0, ends[-1]) == sum(parts)
    assert abs(sum(parts) - 110_000) < 2_000


@pytest.mark.parametrize(
    ("groups", "selected"), [(0, 0), (1, 0), (2, 0), (3, 2), (25, 2), (26, 3), (199, 20)]
)
def test_of_few_groups_a_tenth_is_selected_but_two_at_least(groups, selected):
    assert Tenth(9).of_groups(groups).mask(groups).sum() == selected


def test_of_many_groups_the_selected_ones_do_not_depend_on_their_number():
    mask = Tenth(9).of_groups(200).mask(200)
    for more in (201, 300, 5000):
        assert Tenth(9).of_groups(more).mask(more)[:200].tolist() == mask.tolist()


@pytest.mark.parametrize("n_groups", [30, 250])
def test_rows_of_selected_groups_are_known_by_their_numbers(n_groups):
    groups = np.random.default_rng(0).integers(0, n_groups, 1003)
    of_groups = RowsOfGroups.of(Tenth(5), groups)
    inside = of_groups.mask(len(groups))
    present = np.unique(groups)
    assert 0 < len(np.unique(groups[inside])) < len(present) / 4
    assert not set(groups[inside].tolist()) & set(groups[~inside].tolist())
    if n_groups > 200:
        assert inside.tolist() == Tenth(5).has(groups).tolist()
    chosen = Slice(5, 0, 3)
    again = RowsOfGroups.of(chosen, groups).mask(len(groups))
    assert set(groups[again].tolist()) == set(present[chosen.mask(len(present))].tolist())


def test_keys_have_53_bits_as_numbers_of_json_have():
    assert [as_key(seed) for seed in (0, 7, 2**53 - 1)] == [0, 7, 2**53 - 1]
    assert as_key(2**53) == derived(2**53) == 5811874002368298
    for seed in (2**53, 2**53 + 1, 2**54, 2**64, 2**70):
        assert 0 <= as_key(seed) < 2**53
    keys = [derived(5, purpose) for purpose in range(200)]
    assert len(set(keys)) == 200
    assert 2**52 < max(keys) < 2**53
    assert (derived(5), derived(5, "validation")) == (5457076691475953, 5850026893706363)
    drawn = [random_number() for _ in range(100)]
    assert len(set(drawn)) == 100
    assert 2**52 < max(drawn) < 2**53


@pytest.mark.parametrize(
    "selection",
    [Slice(1, 0, 2), Tenth(1), Stratified(1, 0.5), RowsOfGroups(1, np.zeros(1, "u1")), Draw()],
)
def test_a_draw_cannot_be_changed(selection):
    with pytest.raises(FrozenInstanceError):
        selection.key = 2


# -- rows that are copies ------------------------------------------------------------------------


def test_copies_are_rows_of_equal_values_and_class():
    X = np.random.default_rng(0).normal(size=(40, 2))
    assert draws.copies_of(Sample.learn(X, np.arange(40) % 2)) is None
    repeated, y = np.r_[X, X[:3]], np.r_[np.arange(40) % 2, [0, 1, 1]]
    copies = draws.copies_of(Sample.learn(repeated, y))
    assert len(np.unique(copies)) == 41
    assert copies[40] == copies[0]
    assert copies[41] == copies[1]
    assert copies[42] != copies[2]  # of another class


@pytest.mark.parametrize(
    ("rows", "values", "copies"),
    [(2000, 100, False), (2000, 101, True), (40, 10, False), (40, 11, True)],
)
def test_equal_rows_are_copies_only_if_a_column_has_many_values(rows, values, copies):
    """More than 100 values, or in a small table more than a quarter of its rows."""
    x = np.arange(rows) % values
    sample = Sample.learn(x[:, None].astype(float), np.zeros(rows, dtype=int))
    assert (draws.copies_of(sample) is not None) == copies


@pytest.mark.parametrize("total", [2**31, 2**32, 2**33])
def test_shares_of_large_weights_are_exact(total):
    """The product of a place and a size is above 63 bits, at the second total by one."""
    weight = total // 4 + np.array([1, -1, 3, -3])  # odd: no common factor
    X = np.arange(8.0).reshape(4, 2) % 6
    sample = coded_sample(X, np.array([0, 0, 1, 1]), COLUMNS, range(3), weight)
    training, validation = Stratified(0, 0.5).split(sample)
    assert validation.total == training.total == total // 2


@pytest.mark.parametrize(("k", "together"), [(11, True), (12, False)])
def test_copies_stay_together_if_there_are_ten_groups_of_them_for_each_part(k, together):
    x = np.r_[np.arange(110.0), np.arange(109.0)]
    sample = Sample.learn(x[:, None], np.zeros(219, dtype=int))
    shared = [
        set(outside.X.values[0]) & set(inside.X.values[0])
        for outside, inside in folds(sample, k, 0)
    ]
    assert len(shared) == k
    assert any(shared) == (not together)


@pytest.mark.parametrize(("k", "together"), [(5, True), (6, False)])
def test_rows_of_a_class_that_is_there_twice_stay_together_unless_they_are_few(k, together):
    x = np.tile(np.arange(50.0), 2)
    sample = Sample.learn(x[:, None], np.zeros(100, dtype=int))
    shared = [
        set(outside.X.values[0]) & set(inside.X.values[0])
        for outside, inside in folds(sample, k, 0)
    ]
    assert any(shared) == (not together)


@pytest.mark.parametrize(("rows", "together"), [(160, True), (159, False)])
def test_copies_stay_together_in_a_share_of_ten_groups_of_them(rows, together):
    x = np.r_[np.arange(float(rows)), np.arange(rows - 1.0)]
    sample = Sample.learn(x[:, None], np.zeros(len(x), dtype=int))
    outside, inside = Stratified(0, 1 / 16).split(sample)
    assert inside.n_rows
    assert (not set(outside.X.values[0]) & set(inside.X.values[0])) == together


def test_keys_of_a_seed_are_computed_once_and_without_a_seed_they_differ():
    matrix = next(matrices(2))
    assert row_keys(matrix, 3) is row_keys(matrix, 3)
    assert row_keys(matrix, 3).tolist() != row_keys(matrix, 4).tolist()
    assert row_keys(matrix, None).tolist() != row_keys(matrix, None).tolist()
