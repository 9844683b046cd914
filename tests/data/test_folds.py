"""Folds depend on the rows alone: not on their order, their weights or the names of classes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import coded_sample

import treebound as tb
from treebound.data import Column
from treebound.data.folds import fold_numbers, folds, held_out

COLUMNS = (Column("a"), Column("b", "nominal", tuple("uvwxyz")))


def sample_of(seed, rows=60, n_classes=3, weight=None):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=rows).round(1), rng.integers(0, 6, rows)])
    X[rng.random(rows) < 0.1, 0] = np.nan
    return X, rng.integers(0, n_classes, rows), rng


def numbers(X, y, k=5, weight=None):
    return fold_numbers(coded_sample(X, y, COLUMNS, range(y.max() + 1), weight), k, 0)


@given(st.integers(0, 1000))
def test_the_names_of_the_classes_do_not_matter(seed):
    X, y, rng = sample_of(seed)
    for renamed in (2 - y, rng.permutation(3)[y]):
        np.testing.assert_array_equal(numbers(X, y), numbers(X, renamed))


@given(st.integers(0, 1000))
def test_the_order_of_the_rows_does_not_matter(seed):
    X, y, rng = sample_of(seed)
    order = rng.permutation(len(y))
    np.testing.assert_array_equal(numbers(X, y)[order], numbers(X[order], y[order]))


@given(st.integers(0, 1000))
def test_a_row_of_weight_two_is_in_the_fold_of_the_row_twice(seed):
    X, y, rng = sample_of(seed)
    weight = rng.integers(1, 4, len(y))
    weighted = numbers(X, y, weight=weight)
    repeated = numbers(X.repeat(weight, axis=0), y.repeat(weight))
    np.testing.assert_array_equal(weighted.repeat(weight), repeated)


def test_every_class_is_dealt_out_evenly():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=103), rng.integers(0, 6, 103)])
    y = np.array([0, 1, 2]).repeat([70, 30, 3])
    found = numbers(X, y)
    for label in range(3):
        sizes = np.bincount(found[y == label], minlength=5)
        assert sizes.max() - sizes.min() <= 1
    sizes = np.bincount(found, minlength=5)
    assert sizes.max() - sizes.min() <= 1


def test_seeds_give_other_folds():
    X, y, _ = sample_of(0)
    sample = coded_sample(X, y, COLUMNS, range(3))
    assert (fold_numbers(sample, 5, 0) != fold_numbers(sample, 5, 1)).any()


def test_equal_numbers_are_equal_however_they_are_written():
    columns = (Column("a"),)
    X = np.array([[0.0], [-0.0], [np.nan], [-np.nan]])
    found = fold_numbers(coded_sample(X, np.zeros(4), columns, [0]), 4, 0)
    assert found[0] == found[1]
    assert found[2] == found[3]


def test_parts_cover_the_rows_once():
    X, y, _ = sample_of(1)
    sample = coded_sample(X, y, COLUMNS, range(3))
    parts = list(folds(sample, 5, 0))
    assert sum(inside.n_rows for _, inside in parts) == sample.n_rows
    assert all(out.n_rows + inside.n_rows == sample.n_rows for out, inside in parts)
    alike = coded_sample(np.zeros((4, 2)), np.zeros(4), COLUMNS, [0])
    assert list(folds(alike, 5, 0)) == []  # one distinct row cannot be taken apart


@pytest.mark.parametrize("fraction", [0.01, 0.15, 0.5, 0.99])
def test_rows_held_out_are_of_the_size_asked_for(fraction):
    X, y, rng = sample_of(2, rows=200)
    X[:, 0] = rng.normal(size=200)
    sample = coded_sample(X, y, COLUMNS, range(3))
    kept, aside = held_out(sample, fraction, 0)
    assert aside.n_rows == max(1, round(200 * fraction))
    assert kept.n_rows + aside.n_rows == 200


def test_rows_that_are_all_alike_are_all_grown_on():
    alike = coded_sample(np.zeros((4, 2)), np.array([1, 1, 1, 0]), COLUMNS, [0, 1])
    kept, aside = held_out(alike, 0.15, 0)
    assert (kept.n_rows, aside.n_rows) == (4, 0)
    clf = tb.BoundTreeClassifier(pruning="reduced-error").fit(np.zeros((4, 2)), [1, 1, 1, 0])
    assert clf.predict([[0.0, 0.0]]) == [1]
