"""Hashes of rows: equal rows have equal hashes, whatever they are held in."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from treebound.data import learn_matrix
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
    held = np.asarray(X, order=order)
    by_name = hashes(frame[["d", "b", "a", "c"]], y, list("abcd"))
    assert hashes(held, y, list("abcd")) == by_name
    assert hashes(held[::2], y[::2], None) == hashes(X.tolist(), y, None)[::2]


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


def test_rows_of_the_sketch_are_covered_and_about_its_share_of_others():
    rng = np.random.default_rng(4)
    values = rng.integers(0, 2**64, 100_000, dtype=np.uint64)
    sketch = RowSketch.of(values)
    assert len(sketch.covered(values)) == 1024
    others = rng.integers(0, 2**64, 100_000, dtype=np.uint64)
    assert len(sketch.covered(others)) == pytest.approx(100_000 * sketch.share, rel=0.15)
    small = RowSketch.of(values[:500])
    assert small.share == 1.0
    assert len(small.covered(others)) == len(others)


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
