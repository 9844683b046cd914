"""Targets of numbers: reading, findings, samples, folds and hashes of rows."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from treebound.data import Matrix, Sample
from treebound.data.draws import Draw, Slice
from treebound.data.frames import read_table
from treebound.data.number_findings import number_findings
from treebound.data.number_sample import NumberSample, number_hashes
from treebound.data.numbers import read_numbers


def sample_of(y, X=None, **fields):
    y = np.asarray(y, dtype=float)
    X = np.random.default_rng(0).normal(size=(len(y), 2)) if X is None else X
    return NumberSample(Sample.learn(X, np.zeros(len(y), dtype=int)).X, y, **fields)


@pytest.mark.parametrize(
    "y",
    [
        [1, 2.5, -3],
        np.array([1, 2.5, -3], dtype=np.float32),
        pd.Series([1, 2.5, -3]),
        pl.Series([1.0, 2.5, -3.0]),
        pa.chunked_array([[1.0, 2.5], [-3.0]]),
        np.array([1, 2.5, -3], dtype=object),
    ],
)
def test_numbers_are_read_from_any_library(y):
    assert read_numbers(y).tolist() == [1.0, 2.5, -3.0]


@pytest.mark.parametrize(
    "y",
    [pl.Series([1.0, None]), pd.Series([1, None], dtype="Int64"), np.ma.array([1, 2], mask=[0, 1])],
)
def test_a_missing_number_is_named(y):
    with pytest.raises(ValueError, match="contains NaN: row 1"):
        read_numbers(y)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.full(30, 2.5), "is 2.5 in every row"),
        (np.arange(30) % 2, "2 distinct numbers"),
        (np.r_[np.random.default_rng(0).normal(size=300), 500.0], "1 row has 100 %"),
        (np.r_[np.random.default_rng(0).normal(size=500), 90, -80, 70], "3 rows have|2 rows have"),
    ],
)
def test_suspicious_numbers_are_found(y, words):
    (finding,) = number_findings(sample_of(y), "price")
    assert str(finding).startswith("Column 'price' ")
    assert re.search(words, str(finding))


def test_usual_numbers_have_no_finding():
    rng = np.random.default_rng(0)
    assert number_findings(sample_of(rng.normal(size=500)), "y") == []
    assert number_findings(sample_of(np.exp(rng.normal(size=500))), "y") == []
    assert number_findings(sample_of([1.0] * 10), "y") == []  # too few rows
    (note,) = number_findings(sample_of(np.arange(100) % 5), "y")
    assert note.note


def test_invalid_samples_are_refused():
    with pytest.raises(ValueError, match="finite"):
        sample_of([1.0, np.nan])
    with pytest.raises(ValueError, match="'weight'"):
        sample_of([1.0, 2.0], weight=np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="inconsistent"):
        NumberSample(sample_of([1.0, 2.0]).X, np.ones(3))


def test_folds_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(1)
    sample = sample_of(rng.normal(size=200))
    order = rng.permutation(200)
    moved = NumberSample(
        Matrix(sample.X.columns, tuple(values[order] for values in sample.X.values)),
        sample.y[order],
    )
    for (_, one), (_, two) in zip(sample.folds(5, 0), moved.folds(5, 0), strict=True):
        assert sorted(one.y.tolist()) == sorted(two.y.tolist())
    every = np.concatenate([inside.y for _, inside in sample.folds(5, 0)])
    assert sorted(every.tolist()) == sorted(sample.y.tolist())


def test_copies_stay_together_and_equal_columns_do_not():
    rng = np.random.default_rng(2)
    X = np.repeat(rng.normal(size=(150, 2)), 2, axis=0)
    copies = sample_of(np.repeat(rng.normal(size=150), 2), X)
    for outside, inside in copies.folds(5, 0):
        assert not {*outside.y.tolist()} & {*inside.y.tolist()}
    # rows that differ in their numbers alone are no copies
    few = sample_of(rng.normal(size=300), rng.integers(0, 2, (300, 2)) * 1.0)
    for outside, inside in few.folds(5, 0):
        assert len(inside.y) == 60
        shared = {*zip(*outside.X.values, strict=True)} & {*zip(*inside.X.values, strict=True)}
        assert len(shared) == 4


def test_a_selection_splits_rows_with_their_numbers():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(100, 1))
    sample = sample_of(X[:, 0] * 2, X, weight=rng.random(100) + 0.5)
    outside, inside = sample.split(Slice(1, 0, 30))
    assert (outside.n_rows, inside.n_rows) == (70, 30)
    for part in (outside, inside):
        np.testing.assert_allclose(part.X.values[0] * 2, part.y)
        assert len(part.weights) == part.n_rows


def test_the_key_of_a_draw_depends_on_columns_and_numbers():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(50, 2))
    one, two = sample_of(X[:, 0], X), sample_of(X[:, 0] + 1, X)
    draw = Draw.start(0)
    assert draw.key_of(one.summary) != draw.key_of(two.summary)
    assert draw.key_of(one.summary) == draw.key_of(sample_of(X[:, 0], X).summary)


def test_hashes_of_tables_and_matrices_are_equal():
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0], "c": ["u", "v", "u"]})
    y = np.array([1.5, 2.5, 3.5])
    matrix = Sample.learn(X, [0, 0, 0]).X
    by_table = number_hashes(read_table(X), y, ["a", "c"])
    np.testing.assert_array_equal(by_table, number_hashes(matrix, y, ["a", "c"]))
    assert (by_table != number_hashes(matrix, y + 1, ["a", "c"])).all()
