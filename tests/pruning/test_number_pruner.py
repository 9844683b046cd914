"""Choosing weight, leaf size and shrinkage by folds: against predictions row by row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import KFold

from treebound.data import Matrix, Sample
from treebound.data.number_sample import NumberSample
from treebound.growing import GrowOptions, grow_numbers
from treebound.pruning.number_choice import Losses, MeasuredPath, ResidualSums
from treebound.pruning.number_pruner import (
    LEAF_SIZES,
    WEIGHTS,
    SquaredErrorPruner,
)
from treebound.pruning.squared_error import SquaredErrorPath, SquaredErrorScore
from treebound.tree.leaf_values import SHRINKAGES, shrunk_values


def grow(sample, min_samples_leaf):
    return grow_numbers(sample.X, sample.target, GrowOptions(min_samples_leaf=min_samples_leaf))


def problem(seed=0, n=300, noise=1.0, weight=None, groups=None):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    y = np.where(x[:, 0] > 0, 3 * x[:, 1], 0) + noise * rng.normal(size=n)
    sample = Sample.learn(x, np.zeros(n, dtype=int))
    return NumberSample(sample.X, y, weight, groups)


# -- against row by row -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["one", "whole", "real"])
def test_losses_and_standard_errors_are_those_of_the_rows(kind):
    rng = np.random.default_rng(5)
    weight = {"one": None, "whole": rng.integers(1, 4, 300) * 1.0, "real": rng.random(300) + 0.5}
    sample = problem(1, weight=weight[kind])
    parts, expected = [[], []], [[], []]
    outer = list(sample.folds(3, 0))
    for at, size in enumerate((2, 10)):
        for outside, inside in outer:
            tree = grow(outside, size)
            path = SquaredErrorPath(tree, SquaredErrorScore.of(tree, 0.6))
            steps = np.array([path.at(w) for w in WEIGHTS])
            rows = ResidualSums.of(tree, inside)
            parts[at].append(MeasuredPath.of(path, rows, steps, SHRINKAGES))
            errors = np.empty((len(WEIGHTS), len(SHRINKAGES), inside.n_rows))
            for i, step in enumerate(steps):
                for j, shrinkage in enumerate(SHRINKAGES):
                    tree_at = path.with_values(shrunk_values(tree, shrinkage)).tree(int(step))
                    errors[i, j] = (inside.y - tree_at.predict(inside.X)) ** 2
            expected[at].append(errors)
    losses = Losses.of(parts)
    weights = np.concatenate([inside.weights for _, inside in outer])
    squares = np.concatenate([inside.square_weights for _, inside in outer])
    errors = np.array([np.concatenate(folds, axis=2) for folds in expected])
    total = weights.sum()
    np.testing.assert_allclose(losses.losses, errors @ weights / total, rtol=1e-9)
    a, i, _ = losses.best
    np.testing.assert_allclose(errors[a, i, 0] @ weights, (errors[:, :, 0] @ weights).min())
    best = errors[a, i, 0]
    variance = best**2 @ squares - (best @ weights) ** 2 / total
    np.testing.assert_allclose(losses.standard_error, np.sqrt(variance) / total, rtol=1e-7)
    differences = errors[a, :, 0] - best
    variance = differences**2 @ squares - (differences @ weights) ** 2 / total
    np.testing.assert_allclose(
        losses.paired, np.sqrt(np.maximum(variance, 0)) / total, rtol=1e-6, atol=1e-9
    )


def test_validated_predictions_are_those_of_the_folds():
    sample = problem(2)
    fit = SquaredErrorPruner().fit(sample, grow)
    choice, validated = fit.result.choice, fit.validated
    error = np.average((validated.y - validated.prediction) ** 2, weights=validated.weight)
    assert error == pytest.approx(choice.loss, rel=1e-9)
    base = np.average((validated.y - validated.baseline) ** 2, weights=validated.weight)
    assert base == pytest.approx(choice.constant, rel=1e-9)
    assert sorted(validated.y.tolist()) == sorted(sample.y.tolist())


def test_the_chosen_tree_is_grown_on_all_rows_and_pruned_at_the_chosen_weight():
    sample = problem(3)
    result = SquaredErrorPruner().fit(sample, grow).result
    choice = result.choice
    tree = grow(sample, choice.min_samples_leaf)
    path = SquaredErrorPath(tree, SquaredErrorScore.of(tree, choice.weight))
    expected = path.with_values(shrunk_values(tree, choice.shrinkage)).tree()
    np.testing.assert_array_equal(result.tree.value, expected.value)
    assert choice.leaves[choice.index] == result.tree.n_leaves
    assert choice.min_samples_leaf in LEAF_SIZES


# -- rules ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_rules_order_sizes_and_losses(seed):
    sample = problem(seed, noise=2.0)
    by_rule = {
        rule: SquaredErrorPruner(rule=rule).fit(sample, grow, (5,)).result
        for rule in ("accurate", "balanced", "small")
    }
    losses = {rule: result.choice.loss for rule, result in by_rule.items()}
    assert losses["accurate"] <= min(losses.values()) + 1e-12
    assert by_rule["small"].choice.weight >= by_rule["balanced"].choice.weight


@pytest.mark.parametrize("seed", range(5))
def test_noise_is_one_leaf(seed):
    sample = replace(problem(seed), y=np.random.default_rng(seed + 99).normal(size=300))
    assert SquaredErrorPruner().fit(sample, grow).result.tree.n_leaves == 1


def test_a_limit_on_leaves_is_kept_and_explained():
    result = SquaredErrorPruner().fit(problem(1, noise=0.2), grow).result
    small = result.within(3)
    assert small.tree.n_leaves <= 3
    assert small.explain().startswith("Without the limit on leaves: ")


def test_without_rows_the_weight_is_fixed():
    tree = grow(problem(4), 5)
    result = SquaredErrorPruner().prune(tree).result
    assert (result.choice.weight, str(result.choice.shrinkage)) == (0.6, "F 4")
    assert result.choice.rule is None


def test_few_rows_are_not_cross_validated():
    result = SquaredErrorPruner().fit(problem(0, n=8), grow).result
    assert result.choice.rule is None
    assert "below 10 rows" in result.explain()


def test_a_fixed_weight_and_smoothing_are_used():
    result = SquaredErrorPruner(weight=0.3, smoothing=2.0).fit(problem(0), grow).result
    assert (result.choice.weight, str(result.choice.shrinkage)) == (0.3, "2 rows")


def test_validation_rows_replace_folds():
    sample = problem(6, n=400)
    mask = np.arange(400) % 10 == 0
    fit = SquaredErrorPruner().fit(sample.part(~mask), grow, validation=sample.part(mask))
    assert fit.result.choice.reason == "validated"
    assert fit.result.choice.min_samples_leaf == 5
    assert fit.result.tree.weight[0] == 360
    assert len(fit.validated.y) == 40


def test_a_grown_tree_is_pruned_by_validation_rows():
    sample = problem(6, n=400)
    mask = np.arange(400) % 10 == 0
    expected = SquaredErrorPruner().fit(sample.part(~mask), grow, validation=sample.part(mask))
    pruned = SquaredErrorPruner().prune(grow(sample.part(~mask), 5), sample.part(mask))
    np.testing.assert_array_equal(pruned.result.tree.value, expected.result.tree.value)
    assert pruned.result.choice.loss == expected.result.choice.loss


def test_cost_complexity_is_the_best_of_scikit_learns_alphas():
    """The alphas and folds of a search by scikit-learn give the same squared errors."""
    from sklearn.tree import DecisionTreeRegressor

    sample = problem(7)
    X = np.rint(np.column_stack(sample.X.values) * 1024) / 1024  # exact in scikit-learn's floats
    sample = replace(sample, X=Sample.learn(X, np.zeros(len(X), dtype=int)).X)

    def grow(sample, min_samples_leaf):
        options = GrowOptions(min_samples_leaf=min_samples_leaf, thresholds="midpoint")
        return grow_numbers(sample.X, sample.target, options)

    pruner = SquaredErrorPruner(
        price="cost-complexity", rule="accurate", smoothing=None, folds=KFold(4)
    )
    choice = pruner.fit(sample, grow, (5,)).result.choice
    errors = np.zeros(len(choice.weights))
    for train, test in KFold(4).split(X):
        for at, alpha in enumerate(choice.weights):
            tree = DecisionTreeRegressor(
                min_samples_leaf=5, ccp_alpha=min(alpha / len(X), 1e9), random_state=0
            ).fit(X[train], sample.y[train])
            errors[at] += ((tree.predict(X[test]) - sample.y[test]) ** 2).sum()
    np.testing.assert_allclose(choice.losses, errors / len(X), rtol=1e-6)


# -- invariance -------------------------------------------------------------------------------


def assert_same(result, expected, scale=1.0, shift=0.0):
    for name in ("feature", "threshold", "left", "right", "rows"):
        np.testing.assert_array_equal(getattr(result.tree, name), getattr(expected.tree, name))
    np.testing.assert_allclose(result.tree.value, expected.tree.value * scale + shift, rtol=1e-9)
    assert result.choice.weight == expected.choice.weight
    assert result.choice.shrinkage == expected.choice.shrinkage


def test_order_of_rows_shifts_and_powers_of_two_change_nothing():
    for seed in range(4):
        sample = problem(seed)
        sample = replace(sample, y=sample.y.astype(np.float32).astype(np.float64))
        expected = SquaredErrorPruner().fit(sample, grow).result
        order = np.random.default_rng(seed).permutation(sample.n_rows)
        moved = Matrix(sample.X.columns, tuple(values[order] for values in sample.X.values))
        shuffled = NumberSample(moved, sample.y[order])
        assert_same(SquaredErrorPruner().fit(shuffled, grow).result, expected)
        for scale, shift in ((2.0**40, 0.0), (2.0**-30, 0.0), (1.0, 1024.0)):
            other = replace(sample, y=sample.y * scale + shift)
            assert_same(SquaredErrorPruner().fit(other, grow).result, expected, scale, shift)


def test_whole_weights_are_repeated_rows():
    sample = problem(8, n=200)
    weight = np.random.default_rng(0).integers(1, 4, 200)
    at = np.repeat(np.arange(200), weight)
    repeated = NumberSample(
        Matrix(sample.X.columns, tuple(values[at] for values in sample.X.values)), sample.y[at]
    )
    weighted = replace(sample, weight=weight * 1.0)
    # a minimum number of rows counts rows, not their weights
    one, other = (SquaredErrorPruner().fit(s, grow, (1,)).result for s in (weighted, repeated))
    np.testing.assert_array_equal(one.tree.feature, other.tree.feature)
    np.testing.assert_array_equal(one.tree.weight, other.tree.weight)
    np.testing.assert_allclose(one.choice.losses, other.choice.losses, rtol=1e-9)


def test_groups_stay_together():
    groups = np.repeat(np.arange(60), 5)
    sample = problem(9, groups=groups)
    for outside, inside in sample.folds(5, 0):
        assert not {*outside.groups.tolist()} & {*inside.groups.tolist()}
    assert SquaredErrorPruner().fit(sample, grow).result.tree.n_leaves >= 1


def test_threads_change_nothing():
    sample = problem(10)
    one, two = (SquaredErrorPruner(n_jobs=jobs).fit(sample, grow).result for jobs in (1, 2))
    assert_same(two, one)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"rule": "detailed"}, "'rule'"),
        ({"weight": -1.0}, "'weight'"),
        ({"smoothing": "laplace"}, "'smoothing'"),
        ({"price": "mdl"}, "'price'"),
    ],
)
def test_invalid_parameters_are_named(parameters, words):
    with pytest.raises(ValueError, match=words):
        SquaredErrorPruner(**parameters).fit(problem(), grow)
