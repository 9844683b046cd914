"""``max_leaves`` limits the tree that is returned, not the one that is grown and pruned."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from support import CODE_LENGTH

from treebound import BoundTreeClassifier
from treebound.pruning import (
    PRUNERS,
    BoundPruner,
    CostComplexityPruner,
    PaperPruner,
    ReducedErrorPruner,
)

OTHERS = [
    PaperPruner(**CODE_LENGTH),
    PaperPruner(),
    PaperPruner(**CODE_LENGTH, search="optimal+raise"),
    PaperPruner(search="optimal", growth="leaves"),
    BoundPruner(score="tail-inversion"),
    CostComplexityPruner(alpha=0.0),
    CostComplexityPruner(measure="impurity", rule="small"),
    ReducedErrorPruner(validation_fraction=0.2, search="greedy"),
]


@pytest.fixture(scope="module")
def noisy():
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    return X, np.where(rng.random(len(y)) < 0.15, 1 - y, y)


@pytest.mark.parametrize("pruning", [*sorted(PRUNERS), *OTHERS], ids=str)
@pytest.mark.parametrize("limit", [1, 2, 5, 8])
def test_every_pruner_returns_a_tree_within_the_limit(pruning, limit, noisy):
    X, y = noisy
    free = BoundTreeClassifier(pruning=pruning).fit(X, y)
    clf = BoundTreeClassifier(pruning=pruning, max_leaves=limit).fit(X, y)
    assert clf.n_leaves_ <= limit
    # growing went on past the limit
    assert clf.grown_tree_.n_leaves == free.grown_tree_.n_leaves > 20
    np.testing.assert_array_equal(clf.grown_tree_.counts[0], clf.tree_.counts[0])
    if free.n_leaves_ <= limit:
        np.testing.assert_array_equal(clf.tree_.threshold, free.tree_.threshold)
    path, result = clf.pruning_path_, clf.pruning_result_
    assert path.leaves[path.chosen] == clf.n_leaves_
    assert result.score == pytest.approx(path.scores[path.chosen], nan_ok=True)
    np.testing.assert_array_equal(path.leaves[: len(free.pruning_path_)], free.pruning_path_.leaves)
    fitting = path.leaves <= limit
    if len(path) == len(free.pruning_path_):
        assert path.scores[path.chosen] == path.scores[fitting].min()
    np.testing.assert_array_equal(path.tree().counts, clf.tree_.counts)
    assert str(clf.n_leaves_) in result.explain()
    assert len(path.table()) == len(path)


@pytest.mark.parametrize(
    "pruning", ["bound", PaperPruner(search="optimal", growth="leaves")], ids=str
)
def test_the_best_of_the_small_steps_is_kept(pruning):
    X, y = load_digits(return_X_y=True)
    path = BoundTreeClassifier(pruning=pruning).fit(X, y).pruning_path_
    for limit in (3, 10, 25):
        clf = BoundTreeClassifier(pruning=pruning, max_leaves=limit).fit(X, y)
        small = np.flatnonzero(path.leaves <= limit)
        best = small[path.scores[small] == path.scores[small].min()][-1]
        assert clf.pruning_path_.chosen == best
        assert clf.tree_.errors == path.tree(best).errors
        stopped = BoundTreeClassifier(pruning=None, max_leaves=limit).fit(X, y)
        assert clf.tree_.errors <= stopped.tree_.errors


def test_a_path_that_ends_before_the_limit_goes_on(noisy):
    X, y = noisy
    # a pruner that keeps the whole tree has a path of one step
    pruning = CostComplexityPruner(alpha=-1.0)
    whole = BoundTreeClassifier(pruning=pruning).fit(X, y)
    assert whole.n_leaves_ == whole.grown_tree_.n_leaves
    clf = BoundTreeClassifier(pruning="pessimistic", max_leaves=3).fit(X, y)
    assert clf.n_leaves_ <= 3
    assert clf.tree_.errors == (clf.predict(X) != y).sum()


def test_without_pruning_the_limit_stops_growing():
    X, y = load_wine(return_X_y=True)
    clf = BoundTreeClassifier(pruning=None, max_leaves=3).fit(X, y)
    assert clf.n_leaves_ == clf.grown_tree_.n_leaves == 3


@pytest.mark.parametrize("value", [0, -1, 2.5, True, "many"])
def test_wrong_limits_are_named(value):
    X, y = load_wine(return_X_y=True)
    words = (
        f"'max_leaves' parameter of BoundTreeClassifier must be an int >= 1 or None. Got {value!r}"
    )
    with pytest.raises(ValueError, match=words):
        BoundTreeClassifier(max_leaves=value).fit(X, y)


@pytest.mark.parametrize("pruning", [*sorted(PRUNERS), *OTHERS], ids=str)
def test_moving_along_the_path_takes_a_number_of_leaves(pruning, noisy):
    X, y = noisy
    clf = BoundTreeClassifier(pruning=pruning).fit(X, y)
    largest = int(clf.pruning_path_.leaves.max())
    smallest = int(clf.pruning_path_.leaves.min())
    for leaves in {largest, (largest + smallest) // 2, smallest}:
        moved = clf.prune_to(leaves)
        sizes = clf.pruning_path_.leaves
        assert moved.n_leaves_ == sizes[sizes <= leaves].max()
        assert moved.n_leaves_ == clf.prune_to(leaves=leaves).n_leaves_
        assert moved.tree_.weight[0] == clf.tree_.weight[0]
    for wrong in (2.5, 0, "8", True, np.nan):
        with pytest.raises(ValueError, match="'leaves' parameter of prune_to must be an int >= 1"):
            clf.prune_to(wrong)


@pytest.mark.parametrize("leaves", [np.int64(2), np.int8(2), 2])
def test_whole_numbers_of_any_type_will_do(leaves):
    X, y = load_wine(return_X_y=True)
    assert BoundTreeClassifier().fit(X, y).prune_to(leaves).n_leaves_ == 2


def test_the_choice_of_the_weight_states_that_it_is_without_the_limit() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0.3) ^ (rng.random(1500) < 0.05)
    free, small = BoundTreeClassifier().fit(X, y), BoundTreeClassifier(max_leaves=2).fit(X, y)
    assert free.tree_.n_leaves > small.tree_.n_leaves
    words = free.pruning_result_.choice_in_words
    assert small.pruning_result_.choice_in_words == f"Without the limit on leaves: {words}"
