"""Growing on numbers: against exact fractions, and the same tree by every way."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from random_samples import random_column, random_weights
from slow_numbers import SlowNumbers

from treebound.data import Matrix, Sample
from treebound.data.matrix import MatrixPart
from treebound.data.numeric_target import NumericTarget
from treebound.growing import GrowOptions
from treebound.growing._memory import grow_numbers as grow_arrays
from treebound.growing._search import number_bound
from treebound.growing.grow import grow_numbers

ARRAYS = ("feature", "threshold", "category", "missing_left", "left", "right", "rows", "sums")


def random_target(rng, values):
    """Decimals, rounded numbers, few values, heavy tails, a large mean."""
    n = len(values[0])
    signal = sum(np.argsort(np.argsort(x)) * rng.normal() for x in values) / n
    noise = rng.choice([0.0, 0.3, 3.0]) * rng.normal(size=n)
    kinds = [
        lambda: (signal + noise).round(int(rng.integers(0, 4))),
        lambda: signal + noise,
        lambda: rng.integers(0, 3, n).astype(float),
        lambda: np.exp(2 * (signal + noise)),
        lambda: 1e9 + signal + noise,
        lambda: 1e-12 * (signal + noise),
    ]
    return kinds[rng.integers(len(kinds))]()


def random_options(rng):
    return GrowOptions(
        max_leaves=[None, None, 2, 5, 30][rng.integers(5)],
        max_depth=[3, None, None][rng.integers(3)],
        min_samples_leaf=int(rng.choice([1, 1, 2, 7])),
        thresholds=str(rng.choice(["decimal", "midpoint", "observed"])),
    )


def random_problem(rng, max_rows):
    n = int(rng.integers(2, max_rows))
    drawn = [random_column(rng, n, f"x{j}") for j in range(rng.integers(1, 6))]
    if rng.random() < 0.3:
        drawn.append(drawn[0])  # ties between columns
    values, columns = zip(*drawn, strict=True)
    return Matrix(columns, values), random_target(rng, values), random_weights(rng, n)


def assert_same(actual, expected, context=""):
    for name in ARRAYS:
        array = getattr(actual, name)
        np.testing.assert_array_equal(array, getattr(expected, name), err_msg=f"{name} {context}")


# -- against fractions -------------------------------------------------------------------------


def floats(X):
    columns = [
        np.where(values < 0, np.nan, values) if column.kind != "real" else values
        for column, values in zip(X.columns, X.values, strict=True)
    ]
    return np.column_stack(columns).astype(float)


@pytest.mark.parametrize("part", range(4))
def test_the_tree_in_exact_fractions(part):
    """Decimal targets and whole weights: no gain is rounded, so that all ties are met."""
    for seed in range(40):
        rng = np.random.default_rng([part, seed])
        X, y, _ = random_problem(rng, 40)
        y = y.round(2) if np.abs(y).max() < 1e4 else rng.integers(0, 4, len(y)).astype(float)
        weight = rng.integers(1, 4, len(y)).astype(float) if rng.random() < 0.3 else None
        options = random_options(rng)
        target = NumericTarget.of(y, weight)
        assert target.scale.digits is not None
        actual = grow_numbers(X, target, options, crossing=[None, 2, 8][rng.integers(3)])
        slow = SlowNumbers(
            floats(X), y, X.columns, sample_weight=weight, max_leaves=options.max_leaves,
            max_depth=options.max_depth, min_samples_leaf=options.min_samples_leaf,
            thresholds=options.thresholds,
        )  # fmt: skip
        nodes = list(slow.preorder())
        assert len(nodes) == len(actual.feature), seed
        for k, node in enumerate(nodes):
            assert actual.rows[k] == len(node.rows)
            mean = slow.sums(node.rows)[1] / slow.sums(node.rows)[0]
            assert actual.mean[k] == pytest.approx(float(mean), abs=1e-9)
            if node.left is None:
                assert actual.feature[k] == -1
                continue
            assert actual.feature[k] == node.split.column
            assert actual.category[k] == node.split.category
            np.testing.assert_array_equal(actual.threshold[k], node.split.threshold)
            assert actual.missing_left[k] == node.split.missing_left


def test_monotone_columns():
    for seed in range(30):
        rng = np.random.default_rng([9, seed])
        values = [rng.integers(0, 8, 40).astype(float) for _ in range(3)]
        y = (values[0] - values[1] + rng.normal(size=40) * 3).round(1)
        X = Sample.learn(np.column_stack(values), np.zeros(40)).X
        signs = [1, -1, 0]
        options = GrowOptions(monotonic_cst=signs, min_samples_leaf=2)
        actual = grow_numbers(X, NumericTarget.of(y), options, crossing=[None, 4][seed % 2])
        slow = SlowNumbers(
            floats(X), y, X.columns, signs=signs, min_samples_leaf=2, thresholds="decimal"
        )
        slow.root.limits = [(-np.inf, np.inf)]
        slow.root.split = slow.root.left = slow.root.right = None
        slow.grow()
        assert actual.feature.tolist() == [
            -1 if node.left is None else node.split.column for node in slow.preorder()
        ]


# -- the same by every way ---------------------------------------------------------------------


@pytest.mark.parametrize("part", range(4))
def test_histograms_threads_and_parts_give_the_tree_of_the_sorted_scan(part):
    for seed in range(60):
        rng = np.random.default_rng([part, 50, seed])
        X, y, weight = random_problem(rng, 400 if seed % 20 else 9000)
        target, options = NumericTarget.of(y, weight), random_options(rng)
        expected = grow_numbers(X, target, options, crossing=2**62)
        kinds = [["real", "ordinal", "nominal"].index(column.kind) for column in X.columns]
        kernel = {**options.for_kernels(), "criterion": 3}
        actual = grow_arrays(
            X.values, target.channels, kinds, [len(c.categories or ()) for c in X.columns],
            [c.missing for c in X.columns], options=kernel,
            square_shift=target.square_shift, weight_error=target.weight_error,
            row_error=target.row_error, crossing=int(rng.choice([2, 2, 10, 50])),
            max_bins=int(rng.choice([2, 3, 8, 30, 255, 1000])),
            n_threads=int(rng.choice([1, 2, 8])), thread_values=1,
        )  # fmt: skip
        for name in ARRAYS[:-1]:
            np.testing.assert_array_equal(actual[name], getattr(expected, name), err_msg=name)
        np.testing.assert_array_equal(actual["counts"], expected.sums)
        rows = np.flatnonzero(rng.random(len(y)) < 0.8)
        if 2 * len(rows) < len(y) or not len(rows):
            continue
        copied = Matrix(X.columns, tuple(values[rows] for values in X.values))
        some = NumericTarget.of(y[rows], None if weight is None else weight[rows])
        for crossing in (2**62, 3):
            assert_same(
                grow_numbers(MatrixPart(X, rows), some, options, crossing=crossing),
                grow_numbers(copied, some, options, crossing=crossing),
                seed,
            )


@pytest.mark.parametrize("part", range(3))
def test_a_minimum_weight_of_leaves_is_that_of_repeated_rows(part):
    for seed in range(25):
        rng = np.random.default_rng([part, 90, seed])
        X, y, _ = random_problem(rng, 300)
        times = rng.integers(1, 5, len(y))
        at = np.repeat(np.arange(len(y)), times)
        repeated = Matrix(X.columns, tuple(values[at] for values in X.values))
        least = int(rng.integers(2, 12))
        y = y.round(2) if np.abs(y).max() < 1e4 else rng.integers(0, 9, len(y)).astype(float)
        expected = grow_numbers(
            repeated, NumericTarget.of(y[at]), GrowOptions(min_samples_leaf=least)
        )
        target = NumericTarget.of(y, times.astype(float))
        for crossing in (2, 2**62):
            grown = grow_numbers(X, target, min_weight=least, crossing=crossing)
            assert grown.weight[grown.is_leaf].min() >= min(least, times.sum())
            for name in ("feature", "threshold", "category", "missing_left", "left", "right"):
                np.testing.assert_array_equal(getattr(grown, name), getattr(expected, name))
            np.testing.assert_array_equal(grown.weight, expected.weight)


def test_all_columns_nominal():
    """Chains of categories."""
    rng = np.random.default_rng(0)
    table = [[f"a{i}", f"b{j}"] for i, j in rng.integers(0, 200, (3000, 2))]
    X = Sample.learn(table, np.zeros(3000)).X
    y = rng.normal(size=3000).round(1)
    actual = grow_numbers(X, NumericTarget.of(y), GrowOptions(min_samples_leaf=3))
    reals = Matrix(X.columns, X.values)
    first = GrowOptions(min_samples_leaf=3, max_leaves=200)
    assert_same(
        grow_numbers(reals, NumericTarget.of(y), first),
        grow_numbers(reals, NumericTarget.of(y), first, crossing=2),
    )
    assert len(actual.feature) > 500


@pytest.mark.parametrize("seed", range(30))
def test_order_of_rows_powers_of_two_and_shifts_change_nothing(seed):
    rng = np.random.default_rng([7, seed])
    X, y, weight = random_problem(rng, 300)
    y = (rng.normal(size=len(y)) + y / max(np.abs(y).max(), 1.0)).astype(np.float32) * 1.0
    options = random_options(rng)
    expected = grow_numbers(X, NumericTarget.of(y, weight), options)
    order = rng.permutation(len(y))
    moved = Matrix(X.columns, tuple(values[order] for values in X.values))
    actual = grow_numbers(
        moved, NumericTarget.of(y[order], None if weight is None else weight[order]), options
    )
    assert_same(actual, expected)
    for factor in (2.0**-70, 2.0**40):
        assert_same(grow_numbers(X, NumericTarget.of(factor * y, weight), options), expected)
    shifted = grow_numbers(X, NumericTarget.of(y + 1024.0, weight), options)
    for name in ("feature", "threshold", "category", "left", "right", "rows"):
        np.testing.assert_array_equal(getattr(shifted, name), getattr(expected, name), err_msg=name)


def test_equal_numbers_are_one_leaf():
    X = Sample.learn(np.arange(20.0)[:, None], np.zeros(20)).X
    for weight in (None, np.arange(20) + 1.0, np.random.default_rng(0).random(20)):
        for value in (0.0, 3.7, 1e300, np.pi):
            actual = grow_numbers(X, NumericTarget.of(np.full(20, value), weight))
            assert len(actual.feature) == 1


def test_the_sum_of_squares_is_what_gains_take_away():
    rng = np.random.default_rng(0)
    y = rng.normal(size=500).round(2)
    X = Sample.learn(rng.normal(size=(500, 3)), np.zeros(500)).X
    target = NumericTarget.of(y)
    actual = grow_numbers(X, target, GrowOptions(min_samples_leaf=10))
    weight, total, squares = ([Fraction(int(v)) for v in column] for column in actual.sums.T)
    inside = [q - s * s / w for w, s, q in zip(weight, total, squares, strict=True)]
    assert target.square_shift == 0
    q = [Fraction(int(v)) for v in target.channels[:, 1]]
    assert inside[0] == sum(v * v for v in q) - sum(q) ** 2 / 500
    for k in np.flatnonzero(actual.left >= 0):
        a, b = actual.left[k], actual.right[k]
        assert inside[a] + inside[b] < inside[k]


# -- bounds ------------------------------------------------------------------------------------


def test_no_cut_inside_a_bin_gains_more_than_its_bound():
    """Every order of its rows is tried: bins have up to seven."""
    from itertools import permutations

    rng = np.random.default_rng(0)
    tight = 0
    for _ in range(400):
        size, before, after = rng.integers(2, 7), rng.integers(0, 6), rng.integers(0, 6)
        scale = 10.0 ** rng.integers(0, 4)
        y = (rng.normal(size=before + size + after) * scale).round() + rng.choice([0, 10**6])
        weight = rng.integers(1, 5, len(y)).astype(float) if rng.random() < 0.5 else None
        if weight is not None and rng.random() < 0.5:
            weight *= rng.random(len(y))
        if rng.random() < 0.3:
            y = y * np.pi
        target = NumericTarget.of(y, weight)
        channels = target.channels
        node, left = channels.sum(axis=0), channels[:before].sum(axis=0)
        right = left + channels[before : before + size].sum(axis=0)
        bound = number_bound(node, left, right, target.square_shift)
        best = 0.0
        n, whole = (Fraction(int(v)) for v in node[:2])
        for order in permutations(range(before, before + size)):
            for cut in range(1, size):
                sums = left + channels[list(order[:cut])].sum(axis=0)
                a, s = (Fraction(int(v)) for v in sums[:2])
                best = max(best, float((s * n - whole * a) ** 2 / (n * a * (n - a))))
        assert best <= bound * (1 + 1e-13)
        tight += bound <= 2.0 * best
    assert tight > 150
