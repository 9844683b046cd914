"""``prune`` and ``certify`` for any fitted tree: what counts, what judges, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from support import CODE_LENGTH

import treebound as tb
from treebound.pruning import PaperPruner, ReducedErrorPruner


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[::2], y[::2], X[1::2], y[1::2]


def counted(tree, X, y):
    """Training errors of a tree, counted row by row."""
    sample = tb.Sample.read(X, y, columns=tree.columns, classes=tree.classes, named=True)
    return int((tree.predict(sample.X) != np.asarray(y)).sum())


# -- what counts, and what judges --------------------------------------------------------------


@pytest.mark.parametrize("search", ["collapse", "greedy"])
def test_validation_rows_judge_and_the_sample_is_counted(search):
    X, y = load_digits(return_X_y=True)
    clf = tb.BoundTreeClassifier(pruning=None).fit(X[::2], y[::2])
    pruner = ReducedErrorPruner(search=search)
    pruned = tb.prune(clf, X[::2], y[::2], validation=(X[1::2], y[1::2]), pruner=pruner)
    assert pruned.n_leaves_ < clf.n_leaves_
    assert pruned.tree_.errors == counted(pruned.tree_, X[::2], y[::2])
    np.testing.assert_array_equal(pruned.tree_.label, pruned.tree_.counts.argmax(axis=1))
    assert pruned.pruning_result_.score == (pruned.predict(X[1::2]) != y[1::2]).sum()
    assert tb.certify(pruned).errors == pruned.tree_.errors


def test_raising_without_a_sample_leaves_a_tree_that_is_not_counted():
    X, y = load_digits(return_X_y=True)
    tree = tb.BoundTreeClassifier(pruning=None).fit(X[::2], y[::2]).tree_
    pruner = ReducedErrorPruner(search="greedy")
    pruned = tb.prune(tree, validation=(X[1::2], y[1::2]), pruner=pruner)
    assert not pruned.counted
    with pytest.raises(ValueError, match="Subtrees were moved and not counted again"):
        tb.certify(pruned)
    again = tb.certify(pruned, X[::2], y[::2], kind="training")
    assert again.errors == counted(pruned, X[::2], y[::2])
    plain = tb.prune(tree, validation=(X[1::2], y[1::2]), pruner=ReducedErrorPruner())
    assert plain.counted  # nothing was raised


def test_a_scikit_learn_tree_keeps_the_predictions_for_its_rows(cancer):
    X, y, other_X, other_y = cancer
    grown = DecisionTreeClassifier(random_state=0).fit(X, y)
    wrong_way = 1 - other_y
    pruned = tb.prune(grown, X, y, validation=(other_X, wrong_way), pruner="reduced-error")
    leaves = pruned.apply(X)
    for leaf in np.unique(leaves):
        assert pruned.predict(X[leaves == leaf])[0] == np.bincount(y[leaves == leaf]).argmax()
    np.testing.assert_array_equal(pruned.tree_.weighted_n_node_samples[0], len(y))


def test_no_rows_are_held_out_of_a_tree_that_is_grown(cancer):
    X, y, _, _ = cancer
    clf = tb.BoundTreeClassifier(pruning=None).fit(X, y)
    with pytest.raises(ValueError, match="needs validation rows"):
        tb.prune(clf, X, y, pruner="reduced-error")


@pytest.mark.parametrize("gone", [0, 2])
def test_validation_rows_may_lack_a_class(gone):
    X, y = load_wine(return_X_y=True)
    y = y + 1  # labels that could be taken for codes
    clf = tb.BoundTreeClassifier(pruning=None).fit(X, y)
    keep = y != gone + 1
    pruned = tb.prune(clf, validation=(X[keep], y[keep]), pruner=ReducedErrorPruner())
    assert pruned.score(X[keep], y[keep]) == 1.0
    assert pruned.pruning_result_.score == 0.0
    assert pruned.classes_.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match=r"y must hold classes of the tree, 1, 2, 3. Got 0"):
        tb.prune(clf, validation=(X, y - 1), pruner=ReducedErrorPruner())


def test_a_strided_part_is_read_like_any_other(cancer):
    X, y = load_breast_cancer(return_X_y=True)
    clf = tb.BoundTreeClassifier(pruning=None).fit(X[::2], y[::2])
    for search in ("greedy", "collapse"):
        pruner = ReducedErrorPruner(search=search)
        one = tb.prune(clf, X[::2], y[::2], validation=(X[1::2], y[1::2]), pruner=pruner)
        copies = np.ascontiguousarray(X[1::2]), np.ascontiguousarray(y[1::2])
        other = tb.prune(clf, X[::2].copy(), y[::2].copy(), validation=copies, pruner=pruner)
        np.testing.assert_array_equal(one.tree_.counts, other.tree_.counts)


# -- raw tables are read in the columns of the model -------------------------------------------


def test_a_float_array_with_categories_is_a_raw_table():
    rng = np.random.default_rng(0)
    X = rng.choice([5.0, 7.0, 11.0], size=(200, 1))  # categories, none of them a code
    y = np.select([X[:, 0] == 5.0, X[:, 0] == 7.0], ["five", "seven"], "eleven")
    clf = tb.BoundTreeClassifier(pruning=None, categorical_features=[0]).fit(X, y)
    for pruner in ("bound", "cost-complexity", PaperPruner(**CODE_LENGTH)):
        pruned = tb.prune(clf, X, y, pruner=pruner)
        assert (pruned.n_leaves_, pruned.tree_.errors) == (3, 0)
        assert (pruned.predict(X) == y).all()


def test_other_rows_are_counted_again(cancer):
    X, y, other_X, other_y = cancer
    clf = tb.BoundTreeClassifier().fit(X, y)
    moved = tb.prune(clf, other_X, other_y)
    grown = moved.grown_tree_
    np.testing.assert_array_equal(grown.threshold, clf.grown_tree_.threshold)
    np.testing.assert_array_equal(grown.counts[0], np.bincount(other_y))
    assert moved.tree_.errors == (moved.predict(other_X) != other_y).sum()
    assert moved.certificate_.m == len(other_y)
    np.testing.assert_array_equal(clf.tree_.counts[0], np.bincount(y))
    weighted = tb.prune(clf, other_X, other_y, sample_weight=np.full(len(other_y), 2.0))
    np.testing.assert_array_equal(weighted.tree_.counts[0], 2 * np.bincount(other_y))
    assert weighted.certificate_.m == len(other_y)  # each row once


def test_unknown_categories_among_other_rows_are_no_trouble():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"s": rng.choice(list("abcd"), 200), "x": rng.random(200)})
    y = np.where((X["s"] == "a") ^ (rng.random(200) < 0.1), 1, 0)
    clf = tb.BoundTreeClassifier(pruning=None).fit(X, y)
    other = X.assign(s=np.where(X["s"] == "d", "never seen", X["s"]))
    other.loc[::7, "s"] = None
    for pruner in ("bound", "cost-complexity", "kearns-mansour", PaperPruner(**CODE_LENGTH)):
        pruned = tb.prune(clf, other, y, pruner=pruner)
        assert pruned.tree_.errors == (pruned.predict(other) != y).sum()


# -- the same kind of thing comes back ---------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(criterion="entropy", max_depth=9, random_state=7),
        DecisionTreeClassifier(criterion="log_loss", min_samples_leaf=2, random_state=1),
        DecisionTreeClassifier(criterion="gini", splitter="random", random_state=2),
        ExtraTreeClassifier(criterion="entropy", max_features=None, random_state=3),
    ],
    ids=str,
)
def test_type_parameters_and_impurities_survive(model):
    X, y = load_breast_cancer(return_X_y=True)
    grown = model.fit(X, y)
    pruned = tb.prune(grown, X, y)
    assert type(pruned) is type(grown)
    assert pruned.get_params() == grown.get_params()
    assert pruned.get_n_leaves() < grown.get_n_leaves()
    theirs, ours = grown.decision_path(X), pruned.decision_path(X)
    # on the way of every row, the nodes that are left have the impurities they had
    for row in range(0, len(y), 25):
        nodes = ours[[row]].indices
        before = grown.tree_.impurity[theirs[[row]].indices][: len(nodes)]
        np.testing.assert_allclose(pruned.tree_.impurity[nodes], before, atol=1e-12)
    np.testing.assert_allclose(pruned.tree_.impurity[0], grown.tree_.impurity[0])


# -- certificates ------------------------------------------------------------------------------


def test_any_fitted_tree_is_certified_by_its_rows():
    X, y = load_iris(return_X_y=True)
    grown = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X, y)
    certificate = tb.certify(grown, X, y, kind="training")
    assert (certificate.m, certificate.leaves) == (150, 4)
    assert certificate.errors == (grown.predict(X) != y).sum()
    assert certificate.risk == tb.certify(tb.from_sklearn(grown, X, y)).risk
    clf = tb.BoundTreeClassifier().fit(X, y)
    assert tb.certify(clf, X, y, kind="training", delta=0.1).risk == clf.certify(delta=0.1).risk
    assert tb.certify(clf.tree_, X, y, kind="training").errors == clf.tree_.errors
    with pytest.raises(ValueError, match="keeps no record of its rows"):
        tb.certify(grown)
    for unknown in (clf.tree_, grown):
        assert "the model has no record of its rows" in str(tb.certify(unknown, X, y))


def test_errors_are_those_of_the_predictions_for_any_rows():
    X, y = load_iris(return_X_y=True)
    clf = tb.BoundTreeClassifier().fit(X, y)
    noisy = np.where(np.arange(150) % 3 == 0, (y + 1) % 3, y)
    assert tb.certify(clf, X, noisy, kind="training").errors == (clf.predict(X) != noisy).sum()


def test_weights_leave_a_bare_tree_without_a_certificate():
    X, y = load_iris(return_X_y=True)
    weight = np.full(150, 2.0)
    tree = tb.BoundTreeClassifier().fit(X, y, sample_weight=weight).tree_
    balanced = tb.BoundTreeClassifier(class_weight={0: 2.0}).fit(X, y)
    even = np.tile([0.5, 1.5], 75)  # as much weight as rows
    light = tb.BoundTreeClassifier(max_leaves=2).fit(X, y, sample_weight=even)
    theirs = DecisionTreeClassifier(class_weight={0: 2.0}, max_leaf_nodes=4).fit(X, y)
    for call in (
        lambda: tb.certify(tree),
        lambda: tb.certify(tree.collapsed([0])),
        lambda: tb.certify(balanced.tree_),
        lambda: tb.certify(light.tree_),
    ):
        with pytest.raises(ValueError, match="The examples were weighted"):
            call()
    for other in (tree, theirs):
        assert tb.certify(other, X, y, kind="training").m == 150  # each row once
    for clf in (balanced, light):  # a classifier has counted its rows without weights
        wrong = int((clf.predict(X) != y).sum())
        assert (tb.certify(clf).m, tb.certify(clf).errors) == (150, wrong)


def test_a_certificate_states_its_assumptions():
    X, y = load_iris(return_X_y=True)
    grown = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X, y)
    for words in (
        tb.certify(tb.BoundTreeClassifier().fit(X, y)).explain(),
        tb.certify(grown, X, y, kind="training").explain(),
    ):
        assert "the set of classes was taken from the training examples" in words
        assert "values are missing only in columns" in words
        assert "there are no weights (checked)" in words
    X[0] = np.nan
    words = tb.certify(tb.BoundTreeClassifier().fit(X, y)).explain()
    assert "values are missing only" not in words  # every column counts twice


@pytest.mark.parametrize("handle_unknown", ["other", "majority", "stop", "missing", "error"])
def test_rules_that_no_split_follows_are_a_condition(handle_unknown):
    X = pd.DataFrame({"s": ["a", "b", "c"] * 40, "x": np.arange(120.0)})
    y = np.where(X["s"] == "a", 1, 0)
    words = tb.BoundTreeClassifier(handle_unknown=handle_unknown).fit(X, y).certificate_.explain()
    assert ("no category is new: columns 's' (stated)" in words) == (handle_unknown != "other")
    declared = X.assign(s=X["s"].astype("category"))
    words = (
        tb.BoundTreeClassifier(handle_unknown=handle_unknown)
        .fit(declared, y)
        .certificate_.explain()
    )
    assert "no category is new" not in words


def test_a_pruner_that_is_not_named_and_columns_in_another_order(cancer):
    cancer = cancer[:2]
    clf = tb.BoundTreeClassifier().fit(*cancer)
    with pytest.raises(TypeError, match=r"Got BoundPruner\(.*\) as fourth. Hint: .*pruner=\.\.\."):
        tb.prune(clf, *cancer, tb.pruning.BoundPruner())
    names = [f"x{at}" for at in range(4)]
    X = pd.DataFrame(cancer[0][:, :4], columns=names)
    turned, y = X[names[::-1]], cancer[1]
    for model in (tb.BoundTreeClassifier().fit(X, y), DecisionTreeClassifier(max_leaf_nodes=9)):
        model.fit(X, y)
        for kind, moved in (("training", 0.0), ("held-out", 0.01)):
            expected = tb.certify(model, X + moved, y, kind=kind).risk
            assert tb.certify(model, turned + moved, y, kind=kind).risk == expected
        for options in ({}, {"pruner": "reduced-error"}):
            rows = {"validation": (X[::2], y[::2])} if options else {}
            moved = {"validation": (turned[::2], y[::2])} if options else {}
            expected = tb.prune(model, X, y, **options, **rows).predict(X)
            assert (tb.prune(model, turned, y, **options, **moved).predict(X) == expected).all()


def test_pruning_again_keeps_the_costs_of_the_fit():
    X, y = load_iris(return_X_y=True)
    costs = {0: 1.0, 1: 9.0, 2: 1.0}
    clf = tb.BoundTreeClassifier(pruning=tb.pruning.BoundPruner(costs=costs, weight=0.6)).fit(X, y)
    assert tb.prune(clf, X, y).tree_.label.tolist() == clf.tree_.label.tolist()
