"""``prune``: any tree in, the same kind of tree out; and ``collapse``."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pruning_trees import arrays, grown_tree, predictions, random_tree, sample_of
from sklearn.datasets import load_breast_cancer, load_wine, make_classification
from sklearn.tree import DecisionTreeClassifier
from support import CODE_LENGTH

import treebound as tb
from treebound.pruning import PRUNERS, BoundPruner, PaperPruner


def judging(name, X, y):
    """Rows that only judge, for the pruner that needs them; one label in twelve is another one."""
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(len(y)) < 1 / 6, rng.permutation(y), y)
    return (X, noisy) if name == "reduced-error" else None


@pytest.mark.parametrize("name", sorted(PRUNERS))
def test_scikit_learn_tree_in_and_out(name):
    X, y = load_breast_cancer(return_X_y=True)
    labels = np.array(["bad", "good"])[y]
    grown = DecisionTreeClassifier(random_state=0).fit(X, labels)
    leaves, first = grown.get_n_leaves(), grown.predict(X)
    pruned = tb.prune(grown, X, labels, pruner=name, validation=judging(name, X, labels))
    assert type(pruned) is DecisionTreeClassifier
    assert pruned.get_n_leaves() < leaves
    assert grown.get_n_leaves() == leaves
    np.testing.assert_array_equal(grown.predict(X), first)
    assert set(pruned.predict(X)) == {"bad", "good"}
    assert pruned.score(X, labels) > 0.9


def test_predictions_are_those_of_the_pruned_tree():
    X, y = make_classification(500, 8, n_informative=4, flip_y=0.2, random_state=0)
    weight = np.random.default_rng(0).integers(1, 4, 500)
    grown = DecisionTreeClassifier(random_state=0).fit(X, y, sample_weight=weight)
    tree = tb.from_sklearn(grown, X, y, weight)
    expected = PaperPruner(**CODE_LENGTH).prune(tree, sample_of(tree, X, y, weight)).tree
    pruned = tb.prune(grown, X, y, sample_weight=weight, pruner=PaperPruner(**CODE_LENGTH))
    np.testing.assert_array_equal(pruned.predict(X), predictions(expected, X))
    assert pruned.get_n_leaves() == expected.n_leaves


def test_weights_of_the_classes_count():
    pandas = pytest.importorskip("pandas")
    X, y = make_classification(2000, 5, n_informative=3, flip_y=0.1, weights=[0.8], random_state=1)
    frame = pandas.DataFrame(X, columns=list("abcde"))
    grown = DecisionTreeClassifier(class_weight={0: 1.0, 1: 6.0}, random_state=0).fit(frame, y)
    sample = tb.Sample.learn(frame, y, class_weight={0: 1.0, 1: 6.0})
    plain = tb.from_sklearn(DecisionTreeClassifier(random_state=0).fit(frame, y), frame, y)
    assert tb.from_sklearn(grown, frame, y).n_nodes != plain.n_nodes
    expected = (
        BoundPruner(weight=0.6).prune(tb.from_sklearn(grown, frame, y).recounted(sample)).tree
    )
    raising = PaperPruner(**CODE_LENGTH, search="optimal+raise")
    for pruned in (tb.prune(grown, frame, y), tb.prune(grown, frame, y, pruner=raising)):
        assert 1 < pruned.get_n_leaves() < grown.get_n_leaves()
    assert tb.prune(grown, frame, y).get_n_leaves() == expected.n_leaves
    folded = tb.prune(grown, frame, y, pruner="cost-complexity")
    assert folded.predict(frame).mean() > y.mean()


def test_folds_without_a_rare_class():
    X, y = load_wine(return_X_y=True)
    X, y = np.vstack([X, X[:1]]), np.append(y, 7)  # one example of a class of its own
    grown = DecisionTreeClassifier(random_state=0).fit(X, y)
    pruned = tb.prune(grown, X, y, pruner="cost-complexity", folds=3)
    np.testing.assert_array_equal(pruned.classes_, [0, 1, 2, 7])


def test_tree_and_classifier_in_and_out():
    tree, X, y = grown_tree(np.random.default_rng(0), 100, max_leaves=None)
    assert isinstance(tb.prune(tree), tb.Tree)
    X, y = load_wine(return_X_y=True)
    clf = tb.BoundTreeClassifier(pruning=None).fit(X, y)
    pruned = tb.prune(clf, pruner=BoundPruner(weight=2.0))
    assert type(pruned) is tb.BoundTreeClassifier
    assert pruned.n_leaves_ < clf.n_leaves_ == clf.grown_tree_.n_leaves
    assert pruned.pruning_path_ is not None
    assert pruned.predict(X).shape == y.shape


@pytest.mark.parametrize("name", sorted(PRUNERS))
def test_classifier_of_mixed_columns_in_and_out(name):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {"size": rng.random(120), "colour": rng.choice(["red", "green", "blue"], 120)}
    )
    y = np.where((frame["size"] > 0.5) ^ (rng.random(120) < 0.2), "yes", "no")
    clf = tb.BoundTreeClassifier(pruning=None).fit(frame, y)
    pruned = tb.prune(clf, frame, y, pruner=name, validation=judging(name, frame, y))
    assert pruned.n_leaves_ < clf.n_leaves_
    assert set(pruned.predict(frame)) <= {"yes", "no"}


def test_what_is_missing_is_named():
    X, y = load_wine(return_X_y=True)
    grown = DecisionTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match="'X' parameter of prune"):
        tb.prune(grown)
    with pytest.raises(ValueError, match="'pruner' parameter must be a pruner"):
        tb.prune(grown, X, y, pruner=None)


@given(seed=st.integers(0, 10**6), leaves=st.integers(1, 30))
def test_merging_equal_leaves_changes_no_prediction_and_leaves_no_twins(seed, leaves):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, leaves, n_classes=2)
    before = arrays(tree)
    small = tb.merge_equal_leaves(tree)
    X = rng.random((200, 2))
    np.testing.assert_array_equal(predictions(small, X), predictions(tree, X))
    inner = np.flatnonzero(~small.is_leaf)
    one, other = small.left[inner], small.right[inner]
    both = small.is_leaf[one] & small.is_leaf[other]
    assert (small.label[one[both]] != small.label[other[both]]).all()
    for name, values in arrays(tree).items():
        np.testing.assert_array_equal(values, before[name])


@settings(max_examples=5)
@given(seed=st.integers(0, 10**6))
def test_classifier_moves_along_its_path(seed):
    _, X, y = grown_tree(np.random.default_rng(seed), 150)
    clf = tb.BoundTreeClassifier(pruning="bound").fit(X[:, :2], y)
    for leaves in (1, 2, 5):
        assert clf.prune_to(leaves=leaves).n_leaves_ == leaves
    assert clf.prune_to(step=0).n_leaves_ == clf.grown_tree_.n_leaves
