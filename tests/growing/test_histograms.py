"""Trees grown on histograms are those of the sorted scan, in every array."""

from __future__ import annotations

import numpy as np
import pytest
from random_samples import random_values

from treebound.growing._memory import grow_arrays as grow

NO_LIMIT = 2**31 - 1
KINDS = {"real": 0, "ordinal": 1, "nominal": 2}


def random_column(rng, n):
    kind = rng.choice(["real", "real", "ordinal", "nominal"])
    missing = rng.random() < 0.3
    if kind == "real":
        x, size = random_values(rng, n), 0
        if missing:
            x[rng.random(n) < rng.random()] = np.nan
    else:
        size = int(rng.choice([1, 2, 5, 40, 300]))
        x = rng.integers(0, size, n).astype(rng.choice([np.int16, np.int32]))
        if missing:
            x[rng.random(n) < rng.random()] = -1
    if rng.random() < 0.2:
        x = np.repeat(x, 3)[::3]  # not contiguous
    return x, kind, size, bool(rng.random() < 0.1)


def random_problem(rng, max_rows):
    n = int(rng.integers(2, max_rows))
    drawn = [random_column(rng, n) for _ in range(rng.integers(1, 6))]
    if rng.random() < 0.3:
        drawn.append(drawn[0])  # ties between columns
    columns, kinds, sizes, declared = zip(*drawn, strict=True)
    n_classes = int(rng.choice([2, 2, 3, 5, 12]))
    score = sum(np.argsort(np.argsort(x)) * rng.normal() for x in columns)
    score = score + n * rng.choice([0.0, 0.3, 3.0]) * rng.normal(size=n)
    y = np.argsort(np.argsort(score)) * n_classes // n
    if rng.random() < 0.2:
        y = rng.integers(0, n_classes, n)
    weights = None
    if rng.random() < 0.3:
        weights = rng.integers(1, rng.choice([3, 1000, 2**40]), n)
    options = {
        "criterion": int(rng.integers(3)),
        "by_impurity": bool(rng.random() < 0.2),
        "max_leaves": int(rng.choice([-1, 2, 5, 30])),
        "max_depth": int(rng.choice([3, NO_LIMIT, NO_LIMIT])),
        "min_samples_leaf": int(rng.choice([1, 1, 2, 7])),
        "min_weight": 0,
        "min_samples_split": 2,
        "min_gain": 0.0,
        "thresholds": int(rng.integers(3)),
    }
    arguments = (
        list(columns), y.astype(np.int32), weights, n_classes, [KINDS[k] for k in kinds], sizes,
        declared,
    )  # fmt: skip
    return arguments, options


def assert_same_trees(rng, max_rows):
    arguments, options = random_problem(rng, max_rows)
    sorted_scan = grow(*arguments, options=options, n_threads=1, crossing=2**62)
    kernel = {
        "crossing": int(rng.choice([2, 2, 10, 50])),
        "max_bins": int(rng.choice([2, 3, 8, 30, 255, 1000])),
        "n_threads": int(rng.choice([1, 1, 2])),
    }
    histograms = grow(*arguments, options=options, **kernel)
    for name, array in sorted_scan.items():
        np.testing.assert_array_equal(histograms[name], array, err_msg=f"{name} {kernel}")
    return len(sorted_scan["feature"])


@pytest.mark.parametrize("part", range(4))
def test_histograms_grow_the_tree_of_the_sorted_scan(part):
    for seed in range(100):
        assert_same_trees(np.random.default_rng([part, seed]), 400)


@pytest.mark.heavy
@pytest.mark.parametrize("part", range(20))
def test_ten_thousand_trees_are_those_of_the_sorted_scan(part):
    for seed in range(500):
        assert_same_trees(np.random.default_rng([100 + part, seed]), 400 if seed % 10 else 9000)


@pytest.mark.parametrize(
    ("n", "n_columns"), [(20_000, 4), pytest.param(450_000, 3, marks=pytest.mark.heavy)]
)
def test_pure_noise_changes_the_way_and_not_the_tree(n, n_columns):
    """Bins separate noise poorly: few rows are then sorted, many are coded in finer bins."""
    rng = np.random.default_rng(0)
    columns = [rng.normal(size=n) for _ in range(n_columns)]
    y = rng.integers(0, 2, n).astype(np.int32)
    none = [0] * n_columns
    options = {
        "criterion": 0, "by_impurity": False, "max_leaves": 12, "max_depth": NO_LIMIT,
        "min_samples_leaf": 1, "min_weight": 0, "min_samples_split": 2, "min_gain": 0.0,
        "thresholds": 0,
    }  # fmt: skip
    arguments = (columns, y, None, 2, none, none, none)
    chosen = grow(*arguments, options=options)
    sorted_scan = grow(*arguments, options=options, crossing=2**62)
    for name, array in sorted_scan.items():
        np.testing.assert_array_equal(chosen[name], array, err_msg=name)


def test_threads_count_and_part_rows_of_any_number():
    """Many rows are shared by blocks, fewer by columns, and few are counted by one thread."""
    rng = np.random.default_rng(0)
    n = 150_000
    columns = [rng.normal(size=n), rng.normal(size=n).round(1), np.exp(rng.normal(size=n))]
    columns += [rng.integers(0, 900, n).astype(float) for _ in range(3)]
    score = columns[0] + columns[1] * (columns[3] > 400) + rng.normal(size=n)
    y = np.digitize(score, [-1, 1]).astype(np.int32)
    none = [0] * len(columns)
    options = {
        "criterion": 1, "by_impurity": False, "max_leaves": 40, "max_depth": NO_LIMIT,
        "min_samples_leaf": 1, "min_weight": 0, "min_samples_split": 2, "min_gain": 0.0,
        "thresholds": 0,
    }  # fmt: skip
    arguments = (columns, y, None, 3, none, none, none)
    expected = grow(*arguments, options=options, n_threads=1, crossing=2**62)
    for n_threads in (1, 2, 3):
        actual = grow(*arguments, options=options, n_threads=n_threads)
        for name, array in expected.items():
            np.testing.assert_array_equal(actual[name], array, err_msg=f"{name} {n_threads}")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_columns_side_by_side_in_a_matrix_are_coded_like_separate_columns(dtype):
    """Most extreme values are not in the sample; one of them decides ties between columns."""
    options = {
        "criterion": 0, "by_impurity": False, "max_leaves": 30, "max_depth": NO_LIMIT,
        "min_samples_leaf": 1, "min_weight": 0, "min_samples_split": 2, "min_gain": 0.0,
        "thresholds": 0,
    }  # fmt: skip
    for seed in range(10):
        rng = np.random.default_rng([9, seed])
        n, n_columns = int(rng.integers(2000, 6000)), int(rng.integers(4, 14))
        X = rng.normal(size=(n, n_columns)).astype(dtype)
        X[rng.integers(0, n, n_columns), np.arange(n_columns)] *= 100.0
        X[:, 1] = X[:, 0]
        X[X[:, 1].argmax(), 1] *= 8.0  # the same order, but a larger range
        y = X[:, 0].clip(-3, 3) + X[:, 2].clip(-3, 3) + rng.normal(size=n) > 0
        if seed % 2:
            X[rng.random(X.shape) < 0.05] = np.nan
        none = [0] * n_columns
        problem = y.astype(np.int32), None, 2, none, none, none
        expected = grow([*X.T], *problem, options=options, crossing=2**62)
        for columns in ([*X.T], [*np.asfortranarray(X).T]):
            kernel = {"crossing": 100, "max_bins": 20 if seed % 3 else 300}
            actual = grow(columns, *problem, options=options, **kernel)
            for name, array in expected.items():
                np.testing.assert_array_equal(actual[name], array, err_msg=f"{name} {seed}")


@pytest.mark.parametrize("max_bins", [20, 300])
@pytest.mark.parametrize(("weighted", "pure"), [(False, False), (False, True), (True, False)])
def test_threads_gather_the_rows_of_one_column_together(weighted, pure, max_bins):
    """Only one column has splits inside its bins, so that threads share its rows."""
    rng = np.random.default_rng(1)
    n = 50_000
    columns = [rng.normal(size=n), rng.integers(0, 3, n).astype(float)]
    y = (columns[0] + 0.2 * columns[1] + rng.normal(size=n) > 0.3).astype(np.int32)
    if pure:  # the first and the last row are the neighbours of the threshold
        columns[0][np.abs(columns[0] - 0.3) < 1e-3] = 0.0
        columns[0][[0, -1]] = 0.3, 0.3001
        y = (columns[0] > 0.3).astype(np.int32)
    weights = rng.integers(1, 4, n) if weighted else None
    options = {
        "criterion": 0, "by_impurity": False, "max_leaves": 12, "max_depth": NO_LIMIT,
        "min_samples_leaf": 1, "min_weight": 0, "min_samples_split": 2, "min_gain": 0.0,
        "thresholds": 0,
    }  # fmt: skip
    arguments = (columns, y, weights, 2, [0, 0], [0, 0], [0, 0])
    expected = grow(*arguments, options=options, n_threads=1, crossing=2**62)
    for n_threads in (2, 3):
        kernel = {"n_threads": n_threads, "crossing": 1000, "max_bins": max_bins}
        actual = grow(*arguments, options=options, **kernel)
        for name, array in expected.items():
            np.testing.assert_array_equal(actual[name], array, err_msg=f"{name} {n_threads}")
