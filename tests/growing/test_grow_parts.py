"""A tree on a part of a sample, grown on the rows of the whole, is that on a copy of the part."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from random_samples import ARRAYS, random_options, random_sample

from treebound.data import Sample
from treebound.data.matrix import Matrix, MatrixPart
from treebound.growing import GrowOptions, grow


def random_rows(rng, n):
    """Places of at least half of the rows: random ones, all, or those without the ends."""
    rows = np.flatnonzero(rng.random(n) < rng.choice([0.6, 0.8, 0.99]))
    rows = [rows, np.arange(n), np.arange(n // 4, n)][rng.choice(3, p=[0.8, 0.1, 0.1])]
    return rows if 2 * len(rows) >= n else np.arange(n)


def both(sample, rows):
    """A part that is copied, and one that is not."""
    copied = sample.part(rows)
    return copied, replace(copied, X=MatrixPart(sample.X, rows))


def assert_same(tree, other):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(tree, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize("seed", range(120))
def test_grows_the_tree_of_a_copy(seed):
    rng = np.random.default_rng(seed)
    sample = random_sample(rng, 400)
    options, crossing = random_options(rng), [None, 2, 10, 50][rng.integers(4)]
    if rng.random() < 0.7:
        grow(sample, options, crossing=crossing)  # codes the whole sample
    for _ in range(2):
        copied, part = both(sample, random_rows(rng, sample.n_rows))
        assert_same(
            grow(part, options, crossing=crossing), grow(copied, options, crossing=crossing)
        )


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("values", [2, 40, 10**6])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_large_parts_of_an_array(order, values, n_classes):
    """Large enough to be coded, unless noise makes sorting faster."""
    rng = np.random.default_rng(values)
    X = rng.integers(0, values, (12_000, 9)).astype(float)
    X[rng.random(X.shape) < 0.01] = np.nan
    noise = rng.random(len(X)) < (0.05 if values < 10**6 else 0.4)
    y = (np.nan_to_num(X[:, 0] > values / 2) + (X[:, 1] > values / 3) * noise) % n_classes
    weight = rng.random(len(X)) + 0.1 if n_classes == 3 else None
    sample = Sample.learn(np.asarray(X, order=order), y.astype(int), weight)
    options = GrowOptions("entropy", min_samples_leaf=5)
    grow(sample, options)
    for _ in range(2):
        copied, part = both(sample, np.flatnonzero(rng.random(len(X)) < 0.8))
        assert_same(grow(part, options), grow(copied, options))


def test_all_columns_nominal():
    """Chains of categories."""
    rng = np.random.default_rng(0)
    table = [[f"a{i}", f"b{j}"] for i, j in rng.integers(0, 200, (3000, 2))]
    sample = Sample.learn(table, rng.integers(0, 2, 3000))
    copied, part = both(sample, np.flatnonzero(rng.random(3000) < 0.7))
    assert_same(grow(part), grow(copied))


def test_ranges_are_those_of_the_part():
    """The wider gap wins a tie, relative to the range without the row that is dropped."""
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 4.0], [100.0, 4.0]])
    sample = Sample.learn(X, [0, 0, 1, 1, 1])
    copied, part = both(sample, np.arange(4))
    for crossing in (None, 2):
        tree = grow(part, crossing=crossing)
        assert_same(tree, grow(copied, crossing=crossing))
        assert tree.feature[0] == 0
        assert grow(sample, crossing=crossing).feature[0] == 1


def test_a_missing_value_outside_does_not_count():
    """Without missing rows in a part, missing goes to its heavier child."""
    columns = Sample.learn([["a"], ["b"]], [0, 1]).columns
    codes = np.array([0, 1, 1, 1, -2], dtype=np.int8)
    sample = Sample(
        Matrix(columns, (codes,)), np.array([0, 1, 1, 1, 1], np.int32), None, np.arange(2)
    )
    copied, part = both(sample, np.arange(4))
    for crossing in (None, 2):
        assert_same(grow(part, crossing=crossing), grow(copied, crossing=crossing))


@pytest.mark.parametrize("seed", range(30))
def test_routes_as_a_copy(seed):
    rng = np.random.default_rng(seed)
    sample = random_sample(rng, 300)
    columns, values = sample.columns, sample.X.values
    X = Matrix(
        columns * 3, values * 3, handle_unknown=str(rng.choice(["other", "majority", "stop"]))
    )
    sample = replace(sample, X=X)  # wide: most columns are not used
    tree = grow(sample, GrowOptions(max_leaves=4))
    copied, part = both(sample, random_rows(rng, sample.n_rows))
    np.testing.assert_array_equal(tree.apply(part.X), tree.apply(copied.X))


def test_a_part_is_the_same_rows():
    X = np.random.default_rng(0).normal(size=(50_000, 3))
    for whole in (Matrix.stacked([Sample.learn(X, X[:, 0] > 0).X]),
                  Sample.learn(np.asfortranarray(X), X[:, 0] > 0).X):  # fmt: skip
        part = whole.part(X[:, 1] > 0)
        again = part.part(X[X[:, 1] > 0, 2] > 0)
        assert isinstance(again, MatrixPart)
        assert again.whole is whole
        inside = (X[:, 1] > 0) & (X[:, 2] > 0)
        assert again.n_rows == inside.sum()
        np.testing.assert_array_equal(again.dense, X[inside])
        np.testing.assert_array_equal(again.values[1], X[inside, 1])
        sent = pickle.loads(pickle.dumps(again))
        assert type(sent) is Matrix
        np.testing.assert_array_equal(sent.dense, X[inside])


def test_small_parts_and_other_selections_are_copied():
    X = np.random.default_rng(0).normal(size=(50_000, 3))
    matrix = Sample.learn(X, X[:, 0] > 0).X
    assert type(matrix.part(slice(0, 100))) is Matrix
    assert type(matrix.part(np.arange(100))) is Matrix
    assert type(matrix.part(slice(0, 100)).part(np.ones(100, dtype=bool))) is Matrix


def test_codes_are_stored_with_the_matrix_and_not_pickled():
    sample = Sample.learn(np.random.default_rng(0).normal(size=(6000, 3)), np.arange(6000) % 2)
    grow(sample, GrowOptions(max_leaves=3))
    assert list(sample.X.kernel_cache) == ["codes"]
    assert not pickle.loads(pickle.dumps(sample.X)).kernel_cache
