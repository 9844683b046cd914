"""Hashes of rows: equal rows have equal hashes, whatever they are held in."""

from decimal import Decimal
from fractions import Fraction
from math import frexp, inf, isinf, isnan, nan

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treebound.data import learn_matrix
from treebound.data._row_hashes import add_rows
from treebound.data.frames import read_table
from treebound.data.row_hashes import RowSketch, row_hashes
from treebound.data.targets import learn_classes

ROWS = pd.DataFrame(
    {
        "a": [1.5, -0.0, np.nan, 3.0, 1.5],
        "s": ["red", "blue", None, "été", "red"],
        "n": [1, 2, 3, 2**40, 1],
        "b": [True, False, True, False, True],
    }
)
LABELS = ["yes", "no", "no", "yes", "yes"]
NAMES = list(ROWS.columns)


def hashes(X, labels=LABELS, names=NAMES):
    classes, codes = learn_classes(labels)
    return row_hashes(read_table(X), classes, codes, names=names).tolist()


EXPECTED = hashes(ROWS)


@pytest.mark.parametrize(
    "table",
    [
        pl.from_pandas(ROWS),
        pa.Table.from_pandas(ROWS),
        ROWS.convert_dtypes(),
        ROWS.assign(s=ROWS["s"].astype("category")),
        ROWS.assign(s=pd.Categorical(ROWS["s"], ["z", "red", "blue", "été"], ordered=True)),
        ROWS.assign(n=ROWS["n"].astype(float), a=ROWS["a"].astype("float32")),
        ROWS[["b", "n", "a", "s"]].assign(more=0),
        ROWS.to_numpy(),
    ],
)
def test_hashes_do_not_depend_on_library_type_order_or_other_columns(table):
    assert hashes(table) == EXPECTED


def test_hashes_of_a_matrix_are_those_of_the_table():
    classes, codes = learn_classes(LABELS)
    for options in ({}, {"categorical_features": ["n"]}, {"ordinal_features": ["n", "s"]}):
        matrix = learn_matrix(ROWS, **options)
        assert row_hashes(matrix, classes, codes, names=NAMES).tolist() == EXPECTED


@pytest.mark.parametrize("order", ["C", "F"])
def test_hashes_of_numbers_do_not_depend_on_their_layout(order):
    X = np.random.default_rng(0).normal(size=(50, 4)).round(2)
    X[3, 1] = np.nan
    frame = pd.DataFrame(X, columns=list("abcd"))
    y = np.arange(50) % 2
    array = np.asarray(X, order=order)
    by_name = hashes(frame[["d", "b", "a", "c"]], y, list("abcd"))
    assert hashes(array, y, list("abcd")) == by_name
    assert hashes(array[::2], y[::2], None) == hashes(X.tolist(), y, None)[::2]


def test_hashes_do_not_depend_on_batches():
    parts = [hashes(ROWS.iloc[i : i + 1], LABELS[i : i + 1])[0] for i in range(5)]
    assert parts == EXPECTED


def test_equal_rows_have_equal_hashes_and_others_do_not():
    assert EXPECTED[0] == EXPECTED[4]
    assert len(set(EXPECTED)) == 4
    assert hashes(ROWS, ["no", "no", "no", "yes", "yes"])[1:] == EXPECTED[1:]
    assert hashes(ROWS, ["no", "no", "no", "yes", "yes"])[0] != EXPECTED[0]


def test_zero_has_one_hash_and_missing_has_one():
    X = [[0.0, None], [-0.0, np.nan], [np.nan, 0.0], [-np.nan, 0.0]]
    first, second, third, fourth = hashes(X, [1, 1, 1, 1], None)
    assert first == second != third == fourth


def test_swapped_values_differ_and_so_do_renamed_columns():
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 1.0]})
    first, second = hashes(X, [0, 0], ["a", "b"])
    assert first != second
    assert hashes(X.set_axis(["b", "a"], axis=1), [0, 0], ["a", "b"]) == [second, first]
    assert hashes(X.set_axis(["a", "c"], axis=1), [0, 0], ["a", "c"])[0] != first


def test_whole_numbers_in_many_columns_do_not_collide():
    X = np.random.default_rng(1).permutation(200**2)
    X = np.column_stack([X // 200, X % 200]).astype(np.float64)
    assert len(set(hashes(X, np.zeros(len(X), dtype=int), None))) == len(X)


def test_integers_past_the_floats_have_hashes():
    X = pd.DataFrame({"id": pd.Series([10**400, -(10**400), 1], dtype=object)})
    assert len(set(hashes(X, [0, 0, 0], ["id"]))) == 3


# -- six significant digits ----------------------------------------------------------------------


def words(values, exact=False):
    values = np.asarray(values)
    hashes_ = np.zeros(len(values), dtype=np.uint64)
    add_rows(values[:, None], np.ones(1, dtype=np.uint64), hashes_, exact)
    return hashes_


def slow_word(x):
    """The word of a number by its definition, in exact arithmetic but for the two products."""
    if isnan(x) or isinf(x):
        special = 0x7FF8 << 48 if isnan(x) else (0x7FF0 if x > 0 else 0xFFF0) << 48
        return special ^ (special >> 32)
    if x == 0.0:
        return 0
    exponent = frexp(x)[1] - 1
    least = Fraction(2) ** exponent
    f = exponent * 30103 // 100_000 - 2  # below log10 of it
    while Fraction(10) ** (f + 1) <= least:
        f += 1
    if f < -290:
        return 0
    product = abs(x) * float(f"1e{5 - f}")
    if product >= 999999.5:
        f, product = f + 1, product * 0.1
    return round(product) | (f + 400) << 20 | (x < 0) << 31


EDGES = [
    0.0, -0.0, nan, inf, -inf, 5e-324, 2.2e-308, 1e-290, 9.99e-291, 1.7976931348623157e308, 1.0,
    -1.0, 999999.0, 999999.4999, 999999.5, 1e6, 1000000.5, 123456.5, 123457.5, 0.1, 1e22, 1e23,
    2.0**53, 65535.99999, 2.0**-1022,
]  # fmt: skip


@settings(max_examples=300)
@given(st.lists(st.floats(width=64) | st.floats(width=32) | st.sampled_from(EDGES), max_size=40))
def test_words_are_those_of_the_definition(values):
    assert words(np.array(values)).tolist() == [slow_word(x) for x in values]
    with np.errstate(over="ignore"):
        single = np.array(values).astype(np.float32)
    assert words(single).tolist() == [slow_word(float(x)) for x in single]


def test_every_power_of_two_has_the_word_of_the_definition():
    powers = np.ldexp(1.0, np.arange(-1022, 1024))
    assert words(powers).tolist() == [slow_word(x) for x in powers.tolist()]


@settings(max_examples=300)
@given(st.floats(-1e280, 1e280, allow_subnormal=False))
def test_a_number_and_its_first_six_digits_have_one_word(x):
    scaled = abs(Decimal(x)).normalize() if x else Decimal(0)
    digits = scaled.scaleb(5 - scaled.adjusted())
    next_to_a_tie = abs(digits % 1 - Decimal("0.5")) < Decimal("1e-8")
    if abs(x) > 1e-289 and not next_to_a_tie:
        assert words([x]) == words([float(f"{x:.6g}")])


@pytest.mark.parametrize("digits", [1, 3, 6])
def test_float32_float64_integers_and_texts_of_few_digits_have_one_word(digits):
    rng = np.random.default_rng(digits)
    whole = rng.integers(-(10**digits) + 1, 10**digits, 2000)
    for power in (-30, -7, -2, 0, 5, 25):
        double = np.array([float(f"{value}e{power}") for value in whole])
        np.testing.assert_array_equal(words(double), words(double.astype(np.float32)))
    np.testing.assert_array_equal(words(whole.astype(np.float64)), words(whole.astype(np.float32)))


def test_float32_and_float64_of_any_digits_differ_only_next_to_ties():
    values = np.random.default_rng(0).normal(size=100_000)
    same = words(values) == words(values.astype(np.float32))
    assert 0.98 < same.mean() < 1.0


def test_distinct_six_digits_have_distinct_words_and_exact_words_distinguish_all():
    values = np.arange(100_000, 1_000_000, dtype=np.float64)
    assert len(np.unique(words(np.concatenate([values, -values, values * 10.0])))) == 2_700_000
    near = np.nextafter(1.5, 2.0)
    assert words([1.5]) == words([near])
    assert words([1.5], exact=True) != words([near], exact=True)
    assert words([0.1], exact=True) != words(np.array([0.1], dtype=np.float32), exact=True)


# -- sketches ------------------------------------------------------------------------------------


def slow_sketch(values):
    distinct, counts = np.unique(values, return_counts=True)
    return distinct[:1024].tolist(), counts[:1024].tolist(), len(values)


def as_lists(sketch):
    return sketch.hashes.tolist(), sketch.counts.tolist(), sketch.rows


@pytest.mark.parametrize(("n", "distinct"), [(0, 1), (5, 3), (3000, 1000), (40000, 30000)])
def test_a_sketch_has_the_smallest_hashes_with_their_counts(n, distinct):
    rng = np.random.default_rng(n)
    values = rng.integers(0, 2**64, distinct, dtype=np.uint64)[rng.integers(0, distinct, n)]
    sketch = RowSketch.of(values)
    assert as_lists(sketch) == slow_sketch(values)
    assert sketch.complete == (len(np.unique(values)) <= 1024)


def test_hashes_that_occur_often_do_not_push_others_out():
    values = np.repeat(np.array([2**63, 2**64 - 1, 5], dtype=np.uint64), 20000)
    assert as_lists(RowSketch.of(values)) == slow_sketch(values)


def test_sketches_of_parts_are_merged_to_that_of_all_rows():
    values = np.random.default_rng(3).integers(0, 2**64, 3000, dtype=np.uint64)
    values = np.concatenate([values, values[:700]])
    merged = RowSketch.of(values[:10])
    for start in range(10, len(values), 900):
        merged = merged.merge(RowSketch.of(values[start : start + 900]))
    assert as_lists(merged) == slow_sketch(values)


@pytest.mark.parametrize("rows", [500, 5000])
def test_the_union_of_sketches_counts_common_rows_once(rows):
    values = np.random.default_rng(3).integers(0, 2**64, rows, dtype=np.uint64)
    values = np.concatenate([values, values[:100]])
    first, second = values[: rows // 2], values[rows // 3 :]
    union = RowSketch.of(first).union(RowSketch.of(second))
    distinct = np.unique(values)[:1024]
    most = [max((first == one).sum(), (second == one).sum()) for one in distinct]
    assert union.hashes.tolist() == distinct.tolist()
    assert union.counts.tolist() == most
    assert union.complete == (rows == 500)
    assert as_lists(union.union(RowSketch.of(first)))[:2] == as_lists(union)[:2]


def test_rows_of_the_sketch_are_covered_and_about_its_share_of_others():
    rng = np.random.default_rng(4)
    values = rng.integers(0, 2**64, 100_000, dtype=np.uint64)
    sketch = RowSketch.of(values)
    assert len(sketch.covered(values)) == 1024
    new_hashes = rng.integers(0, 2**64, 100_000, dtype=np.uint64)
    assert len(sketch.covered(new_hashes)) == pytest.approx(1024, rel=0.15)
    small = RowSketch.of(values[:500])
    assert len(small.covered(new_hashes)) == len(new_hashes)


def test_a_row_has_one_hash_in_files_with_types_and_in_texts():
    typed = pd.DataFrame({"flag": [True, False, True], "code": [3, 1, 2], "s": ["a", "b", "c"]})
    texts = pd.DataFrame(
        {"flag": ["True", "false", "TRUE"], "code": ["3", "1.0", "2"], "s": typed.s}
    )
    classes, y = np.array(["n", "y"]), np.array([0, 1, 0], dtype=np.int32)
    names = list(typed.columns)
    of_types = row_hashes(read_table(typed), classes, y, names=names)
    of_texts = row_hashes(read_table(texts), classes, y, names=names)
    np.testing.assert_array_equal(of_types, of_texts)
    assert len({*of_types.tolist()}) == 3
