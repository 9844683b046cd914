"""The estimated error: what is counted, against a plain version, and its interval."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import treebound as tb
from treebound.data import Sample
from treebound.data.draws import folds
from treebound.growing import grow
from treebound.model.number_estimate import _mean
from treebound.pruning import PRUNERS, BoundPruner
from treebound.pruning.base import PruningRows
from treebound.pruning.estimate import (
    FoldPrediction,
    estimate_by_counts,
    estimate_error,
    sizes_of_interest,
)
from treebound.pruning.number_pruner import Validated
from treebound.tree.node_sums import NodeSums


def table(rows=600, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4)).round(2)
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + rng.normal(0, 0.7, rows), np.linspace(-1, 1, classes))
    return X, y % classes


def by_hand(sample, options, max_leaves=None, k=5, seed=0):
    """Predictions for all rows by trees that were fitted without their fold."""
    truth, predicted = [], []
    for outside, inside in folds(sample, k, seed):
        result = BoundPruner(weight=0.6).prune(grow(outside, options))
        tree = result.tree if max_leaves is None else result.within(max_leaves).tree
        truth.append(inside.y)
        predicted.append(tree.label[tree.apply(inside.X)])
    return np.concatenate(truth), np.concatenate(predicted)


@pytest.mark.parametrize("max_leaves", [None, 3])
def test_few_rows_are_estimated_with_the_fixed_weight(max_leaves):
    X, y = table(classes=3)
    clf = tb.BoundTreeClassifier(max_leaves=max_leaves).fit(X, y)
    truth, predicted = by_hand(Sample.learn(X, y), clf.grow_options_, max_leaves)
    estimate = clf.estimate_
    confusion = np.zeros((3, 3), dtype=int)
    np.add.at(confusion, (truth, predicted), 1)
    assert estimate.confusion == tuple(map(tuple, confusion.tolist()))
    assert estimate.error == (truth != predicted).sum() / len(y)
    assert (estimate.rows, estimate.folds) == (len(y), 5)
    assert estimate.recall == pytest.approx(confusion.diagonal() / confusion.sum(axis=1))
    most = np.bincount(y).argmax()
    assert (estimate.baseline, estimate.baseline_label) == ((y != most).sum() / len(y), most)
    assert estimate.interval[0] < estimate.error < estimate.interval[1]
    assert estimate.mean_cost is estimate.balanced_accuracy is None


def test_the_other_folds_choose_the_weight():
    X, y = table(1500, seed=3)
    sample, pruner = Sample.learn(X, y), BoundPruner()
    grown = pruner.grow_folds(grow(sample), sample, grow)
    inside = [fold.inside for fold in grown]
    for at, prediction in enumerate(pruner.predictions(grown)):
        assert prediction.rows is inside[at]
        # other labels inside the fold change no tree that is scored on it
        rows = inside[at]
        flipped = [*grown]
        other = Sample(rows.X, 1 - rows.y, rows.weight, rows.classes)
        fold = grown[at]
        flipped[at] = fold._replace(measured=fold.candidates.measure(fold.leaves, other))
        again = list(pruner.predictions(flipped))[at]
        np.testing.assert_array_equal(again.predicted, prediction.predicted)


def test_the_estimate_does_not_change_the_tree_and_folds_are_grown_once():
    X, y = table(1500, seed=3)
    sample, calls = Sample.learn(X, y), []

    def counted(rows):
        calls.append(rows.n_rows)
        return grow(rows)

    pruner = BoundPruner()
    tree = grow(sample)
    grown = pruner.grow_folds(tree, sample, counted)
    shared = pruner.prune_on(tree, PruningRows(sample, None, counted, folds=grown))
    assert len(calls) == 5
    alone = pruner.prune(tree, sample, grow=grow)
    assert shared.choice == alone.choice
    np.testing.assert_array_equal(shared.tree.threshold, alone.tree.threshold)


@pytest.mark.parametrize("pruning", ["cost-complexity", "mdl", "reduced-error", None])
def test_other_pruners_are_fitted_again_without_each_fold(pruning):
    X, y = table(300)
    clf = tb.BoundTreeClassifier(pruning=pruning, max_leaves=6).fit(X, y)
    wrong = 0
    for outside, inside in folds(Sample.learn(X, y), 5, 0):
        # the same table, as a sample of the same columns
        values = np.column_stack(outside.X.values)
        again = tb.BoundTreeClassifier(pruning=pruning, max_leaves=6, cv=None)
        again.fit(values, outside.y)
        wrong += (again.predict(np.column_stack(inside.X.values)) != inside.y).sum()
    assert clf.estimate_.error == wrong / len(y)


def test_costs_and_class_weights_add_figures():
    X, y = table(800, seed=1)
    costs = {0: 1.0, 1: 5.0}
    clf = tb.BoundTreeClassifier(pruning=BoundPruner(costs=costs)).fit(X, y)
    estimate = clf.estimate_
    (_, wrong_0), (wrong_1, _) = estimate.confusion
    assert estimate.mean_cost == pytest.approx((wrong_0 + 5.0 * wrong_1) / 800)
    counts = np.bincount(y)
    assert estimate.baseline_cost == pytest.approx(min(5.0 * counts[1], counts[0]) / 800)
    balanced = tb.BoundTreeClassifier(class_weight="balanced").fit(X, y).estimate_
    assert balanced.balanced_accuracy == pytest.approx(np.mean(balanced.recall))
    confusion = np.array(balanced.confusion)
    np.testing.assert_array_equal(confusion.sum(axis=1), counts)  # rows, not their weights
    assert balanced.error == pytest.approx(1.0 - confusion.trace() / 800)


def test_whole_weights_are_repeated_rows_and_others_count_once():
    X, y = table(400, seed=2)
    rng = np.random.default_rng(0)
    whole = tb.BoundTreeClassifier().fit(X, y, sample_weight=rng.integers(1, 4, 400)).estimate_
    assert whole.rows > 400 == tb.BoundTreeClassifier().fit(X, y).estimate_.rows
    part = tb.BoundTreeClassifier().fit(X, y, sample_weight=rng.random(400) + 0.1).estimate_
    assert part.rows == 400


def test_dependent_rows_have_wider_intervals():
    X, y = table(200, seed=4)
    rows = np.repeat(np.arange(200), 5)
    noise = np.random.default_rng(0).normal(0, 1e-3, (1000, 4))
    free = tb.BoundTreeClassifier(cv=5, pruning=BoundPruner(weight=0.6)).fit(X, y).estimate_
    grouped = tb.BoundTreeClassifier(pruning=BoundPruner(weight=0.6))
    estimate = grouped.fit(X[rows] + noise, y[rows], groups=rows).estimate_
    assert estimate.rows == 1000
    # five copies of a row count about as much as one
    assert estimate.standard_error > 0.8 * free.standard_error


def test_counts_at_nodes_give_the_same_as_rows():
    X, y = table(900, classes=3)
    sample = Sample.learn(X, y)
    fitted, other = sample.part(np.arange(600)), sample.part(np.arange(600, 900))
    tree = BoundPruner(weight=0.6).prune(grow(fitted)).tree
    costs = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
    counts = NodeSums.of(tree, other).weights.astype(np.int64)
    options = {"method": "validation rows", "costs": costs, "balanced": True}
    by_counts = estimate_by_counts(counts, tree, [(tree.n_leaves, counts, tree)], **options)
    by_rows = estimate_error(
        [FoldPrediction(other, tree.label[tree.apply(other.X)])],
        sample.classes,
        chosen=tree.n_leaves,
        sizes=(tree.n_leaves,),
        **options,
    )
    assert vars(by_rows) == {
        **vars(by_counts),
        "standard_error": pytest.approx(by_counts.standard_error),
        "interval": pytest.approx(by_counts.interval),
        "mean_cost": pytest.approx(by_counts.mean_cost),
    }


def test_other_sizes_have_mean_costs_if_there_are_costs():
    X, y = table(900, classes=3)
    sample = Sample.learn(X, y)
    rng, costs = np.random.default_rng(0), np.array([[0, 1, 2], [1, 0, 1], [5, 1, 0]], dtype=float)
    by_size = {size: rng.integers(0, 3, 900).astype(np.int32) for size in (2, 4, 7)}
    predictions = [FoldPrediction(sample, by_size[4], by_size.__getitem__)]
    options = {"chosen": 4, "sizes": (2, 4, 7), "method": "validation rows"}
    estimate = estimate_error(predictions, sample.classes, costs=costs, **options)
    expected = [costs[sample.y, labels].mean() for labels in by_size.values()]
    assert [size.mean_cost for size in estimate.sizes] == pytest.approx(expected)
    assert estimate.sizes[1].mean_cost == estimate.mean_cost
    without = estimate_error(predictions, sample.classes, **options)
    assert [size.mean_cost for size in without.sizes] == [None] * 3


def test_large_tables_are_estimated_on_the_validation_rows(monkeypatch):
    X, y = table(3000, seed=5)
    monkeypatch.setattr("treebound.pruning.bound.MAX_VALUES", 3000)
    clf = tb.BoundTreeClassifier().fit(X, y)
    estimate = clf.estimate_
    assert (estimate.method, estimate.folds) == ("validation rows", 0)
    assert 200 < estimate.rows < 400
    assert estimate.error == pytest.approx(clf.pruning_result_.choice.loss)
    assert clf.n_leaves_ in [size.leaves for size in clf.sizes_]


@pytest.mark.parametrize("options", [
    *({"pruning": name} for name in PRUNERS), {"certificate": "prior"}, {"search": "wide"},
])  # fmt: skip
def test_every_size_is_that_of_a_tree_on_the_path(options):
    X, y = load_breast_cancer(return_X_y=True)
    clf = tb.BoundTreeClassifier(**options).fit(X, y)
    sizes = [size.leaves for size in clf.sizes_]
    assert [clf.prune_to(size).n_leaves_ for size in sizes] == sizes
    assert clf.n_leaves_ in sizes


def test_sizes_are_about_six_and_contain_the_chosen_one():
    X, y = table(2000, seed=6)
    clf = tb.BoundTreeClassifier(size="accurate").fit(X, y)
    sizes = clf.sizes_
    assert [size.leaves for size in sizes] == sorted({size.leaves for size in sizes})
    chosen = next(size for size in sizes if size.leaves == clf.n_leaves_)
    assert (chosen.error, chosen.difference) == (clf.estimate_.error, 0.0)
    assert all(size.difference == size.error - chosen.error for size in sizes)
    for chosen, largest in ((1, 1), (1, 40), (2, 9), (12, 500), (13, 500), (200, 201), (75, 75)):
        several = sizes_of_interest(chosen, largest)
        assert chosen in several
        assert len(several) <= 7
        assert max(several) <= largest
        assert chosen <= 12 or 12 in several


@pytest.mark.parametrize("chosen", [48, 93, 300, 2000])
def test_smaller_sizes_of_a_large_tree_have_equal_ratios(chosen):
    sizes = sizes_of_interest(chosen, 3 * chosen)
    assert (sizes[0], sizes[1], sizes[-1]) == (2, 12, 2 * chosen)
    ratios = [b / a for a, b in pairwise(sizes[1:-1])]
    assert len(ratios) == 3
    assert max(ratios) < 1.15 * min(ratios)


def test_no_folds_no_estimate():
    X, y = table(1500)
    clf = tb.BoundTreeClassifier(cv=None).fit(X, y)
    assert (clf.estimate_, clf.sizes_) == (None, ())
    assert clf.n_leaves_ == BoundPruner(weight=0.6).prune(clf.grown_tree_).tree.n_leaves
    assert clf.summary().startswith("No estimate: it was fitted without folds (baseline")
    with pytest.raises(ValueError, match=r"'size' parameter .* with cv=None, as folds .*'small'"):
        tb.BoundTreeClassifier(cv=None, size="small").fit(X, y)
    must = r"'cv' parameter .* an int from 2 to 1,000, a splitter.* None"
    for wrong in (1, 0, "5", 2.5, 20_000):
        with pytest.raises(ValueError, match=must):
            tb.BoundTreeClassifier(cv=wrong).fit(X, y)


@pytest.mark.parametrize("estimator", [tb.BoundTreeClassifier, tb.BoundTreeRegressor])
def test_there_are_at_most_as_many_folds_as_rows_or_groups(estimator):
    X, y = table(40)
    y = np.searchsorted(np.unique(y), y)
    assert estimator(cv=40).fit(X, y).estimate_ is not None
    must = r"'cv' parameter of Bound.* at most 40, the number of rows. Got 41 instead"
    with pytest.raises(ValueError, match=must):
        estimator(cv=41).fit(X, y)
    with pytest.raises(ValueError, match=r"at most 8, the number of groups. Got 9 instead"):
        estimator(cv=9).fit(X, y, groups=np.arange(40) // 5)
    estimator().fit(X[:3], [0, 1, 1])  # the default is for any table


def test_readable_trees_have_at_most_twelve_leaves():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, (1500, 2))
    y = (X[:, 0] + X[:, 1]) % 4
    free = tb.BoundTreeClassifier().fit(X, y)
    readable = tb.BoundTreeClassifier(size="readable").fit(X, y)
    assert readable.n_leaves_ <= 12 < free.n_leaves_
    limited = tb.BoundTreeClassifier(max_leaves=12).fit(X, y)
    np.testing.assert_array_equal(readable.tree_.threshold, limited.tree_.threshold)
    assert tb.BoundTreeClassifier(size="readable", max_leaves=4).fit(X, y).n_leaves_ <= 4
    assert tb.BoundTreeClassifier(size="readable", pruning="mdl").fit(X, y).n_leaves_ <= 12


def test_many_classes_have_no_confusion_matrix():
    X = np.arange(600.0).reshape(-1, 1)
    y = np.array([f"class {number}" for number in np.arange(600) // 4])
    estimate = tb.BoundTreeClassifier(pruning=None).fit(X, y).estimate_
    assert (estimate.confusion, len(estimate.recall)) == ((), 150)
    assert estimate.error == pytest.approx(1.0 - np.mean(estimate.recall))


def test_intervals_contain_the_error_about_as_often_as_they_state():
    """A small deterministic simulation; benchmarks/estimate.py measures it on twelve worlds."""
    rng, inside, draws = np.random.default_rng(7), 0, 40
    new = rng.normal(size=(20_000, 3))

    def label(X):
        chance = np.where(X[:, 0] > 0.3, 0.85, np.where(X[:, 1] > 0, 0.3, 0.1))
        return (rng.random(len(X)) < chance).astype(int)

    truth, errors = label(new), []
    for _ in range(draws):
        X = rng.normal(size=(250, 3))
        clf = tb.BoundTreeClassifier().fit(X, label(X))
        error = float((clf.predict(new) != truth).mean())
        low, high = clf.estimate_.interval
        inside += low <= error <= high
        errors.append(clf.estimate_.error - error)
    assert inside >= 34
    assert abs(np.mean(errors)) < 0.015


def test_few_groups_have_the_standard_error_of_a_mean_of_as_many():
    """Groups of one size: that of the standard deviation of their errors."""
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(6), 10)
    wrong = rng.random(60) < np.repeat(rng.random(6), 10)
    expected = wrong.reshape(6, 10).mean(axis=1).std(ddof=1) / np.sqrt(6)
    sample = Sample.learn(rng.normal(size=(60, 1)), np.array([0, 1] * 30), groups=groups)
    predicted = np.where(wrong, 1 - sample.y, sample.y)
    estimate = estimate_error(
        [FoldPrediction(sample, predicted)], sample.classes, chosen=1, method="validation rows"
    )
    assert estimate.standard_error == pytest.approx(expected)
    numbers = Validated(*np.zeros((2, 60)), np.ones(60), *np.ones((2, 60)), groups)
    assert _mean(wrong.astype(float), numbers).standard_error == pytest.approx(expected)
