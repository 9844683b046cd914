"""Pruning for log-loss chooses how strongly the probabilities of the classifier shrink."""

import sqlite3
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import treebound as tb
from treebound.edit import Editor
from treebound.exchange import dumps, loads
from treebound.model import Model, PredictionOptions
from treebound.pruning import BoundPruner
from treebound.tree.smoothing import probabilities

PRUNER = BoundPruner(score="log-loss")


def table(rows=600, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(rows, 4)).round(2), columns=list("abcd"))
    y = (rng.random(rows) < 1 / (1 + np.exp(2 - X["a"] - X["b"]))).map({True: "yes", False: "no"})
    return X, y


@pytest.fixture(scope="module")
def fitted():
    return tb.BoundTreeClassifier(pruning=PRUNER).fit(*table())


def test_the_model_shrinks_as_the_folds_chose_and_predicts_the_most_probable_class(fitted):
    choice = fitted.pruning_result_.choice
    assert fitted.smoothing == "shrinkage"
    assert fitted.model_.prediction.smoothing == choice.strength
    assert fitted.model_.prediction.free_shrinkage
    shares = probabilities(fitted.tree_, choice.strength, free=True)
    assert np.abs(shares - probabilities(fitted.tree_)).max() > 0.01
    X = table(seed=1)[0]
    np.testing.assert_array_equal(fitted.predict_proba(X), shares[fitted.apply(X)])
    best = fitted.classes_[fitted.predict_proba(X).argmax(axis=1)]
    np.testing.assert_array_equal(fitted.predict(X), best)
    assert f"shrinkage {choice.strength:g}" in fitted.pruning_result_.explain()


def test_exports_have_the_same_probabilities(fitted):
    X = table(seed=1)[0].head(50)
    expected = fitted.predict_proba(X)
    module: dict = {}
    exec(fitted.to_python(output="proba"), module)
    predicted = [module["predict"](row) for row in X.to_dict("records")]
    assert predicted == expected.tolist()
    database = sqlite3.connect(":memory:")
    X.to_sql("rows", database, index=False)
    query = fitted.to_sql(output="proba", table="rows")
    assert [list(row[-2:]) for row in database.execute(query)] == expected.tolist()


def test_a_model_file_keeps_the_strength_and_the_parameter(fitted):
    X = table(seed=1)[0]
    model = loads(dumps(fitted.model_))
    assert model.prediction.smoothing == fitted.model_.prediction.smoothing
    assert model.provenance.parameters["smoothing"] == "shrinkage"
    assert model.pruning.choice == fitted.pruning_result_.choice
    np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))


def test_the_predictions_are_those_of_the_shrunk_tree(fitted):
    tree = fitted.tree_
    usual = tree.by_majority()
    other = tree.leaves[tree.label[tree.leaves] != usual.label[tree.leaves]]
    assert len(other)  # the majority of these leaves is a matter of chance
    shares = fitted.model_.node_probabilities
    np.testing.assert_array_equal(shares.argmax(axis=1), tree.label)
    largest = probabilities(tree, fitted.model_.prediction.smoothing)[other].max(axis=1)
    np.testing.assert_allclose(largest, 0.5, atol=1e-8)
    for step in range(0, len(fitted.model_.path), 5):
        model = fitted.model_.prune_to(step=step)
        np.testing.assert_array_equal(model.node_probabilities.argmax(axis=1), model.tree.label)
    # errors, certificate and text are of these predictions
    X, y = table()
    assert fitted.tree_.errors == (fitted.predict(X) != y).sum() == fitted.certificate_.errors
    again = loads(dumps(fitted.model_))
    np.testing.assert_array_equal(again.tree.label, tree.label)
    np.testing.assert_array_equal(again.path.first.label, fitted.model_.path.first.label)


def test_scikit_learn_gets_the_probabilities_that_decide(fitted):
    X = table(seed=1)[0].astype(np.float32).astype(np.float64)
    exported = tb.to_sklearn(fitted)
    np.testing.assert_array_equal(exported.predict(X), fitted.predict(X))
    np.testing.assert_allclose(exported.predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize("cost", [0.25, 1.0, 4.0])
def test_costs_are_the_least_by_the_shrunk_probabilities(cost):
    X, y = table(1500)
    pruner = BoundPruner(score="log-loss", costs={"yes": cost})
    clf = tb.BoundTreeClassifier(pruning=pruner, class_weight={"yes": 2.0}).fit(X, y)
    model = clf.model_
    assert model.prediction.free_shrinkage
    shares = model.node_probabilities / [1.0, 2.0]  # as of rows of equal weight
    cheapest = (shares * [1.0, 2.0 * cost]).argmax(axis=1)
    np.testing.assert_array_equal(model.tree.label, cheapest)
    editor = clf.edit(X, y)
    editor.split(0, "c <= 0.3", keep=True)
    edited = editor.model()
    cheapest = (edited.node_probabilities * [1.0, cost]).argmax(axis=1)
    np.testing.assert_array_equal(edited.tree.label, cheapest)


def test_a_split_that_is_replaced_by_hand_predicts_by_shrinkage_below(fitted):
    X, y = table()
    editor = fitted.edit(X, y)
    editor.split(0, "c <= 0.3", keep=True)
    model = editor.model()
    assert model.prediction.smoothing == fitted.model_.prediction.smoothing
    np.testing.assert_array_equal(model.node_probabilities.argmax(axis=1), model.tree.label)
    assert (model.tree.label != model.tree.by_majority().label).any()


def test_a_threshold_and_a_label_by_hand_leave_the_probabilities(fitted):
    X, y = table()
    for model in (fitted.model_, tb.BoundTreeClassifier(pruning=None).fit(X, y).model_):
        expected = model.predict_proba(X)
        for threshold in (0.2, 0.6):
            with_threshold = model.with_threshold("yes", threshold)
            np.testing.assert_array_equal(with_threshold.predict_proba(X), expected)
            np.testing.assert_array_equal(
                with_threshold.predict(X), np.where(expected[:, 1] >= threshold, "yes", "no")
            )
    editor = fitted.edit(X, y)
    leaf = int(fitted.tree_.leaves[0])
    editor.relabel(leaf, "yes" if fitted.tree_.label[leaf] == 0 else "no")
    np.testing.assert_array_equal(editor.model().predict_proba(X), fitted.predict_proba(X))


def test_pruning_again_without_rows_starts_from_the_majority(fitted):
    X, y = table()
    plain = tb.BoundTreeClassifier(pruning=None).fit(X, y).model_
    for pruner in (BoundPruner(weight=0.6), BoundPruner(score="log-loss", weight=0.3)):
        again = fitted.model_.prune(pruner)
        expected = plain.prune(pruner)
        assert again.tree.errors == expected.tree.errors
        np.testing.assert_array_equal(again.predict_proba(X), expected.predict_proba(X))
        assert (again.node_probabilities.argmax(axis=1) == again.tree.label).all()
        without_path = loads(dumps(fitted.model_, pruning_path=False)).prune(pruner)
        assert without_path.tree.errors == without_path.tree.by_majority().errors


def test_trees_that_keep_no_strength_are_pruned_for_the_usual_one():
    X, y = table(1500)
    grown = DecisionTreeClassifier(random_state=0).fit(X, y)
    pruned = tb.prune(grown, X, y, pruner=PRUNER)
    assert pruned.get_n_leaves() < grown.get_n_leaves() / 4
    bare = tb.BoundTreeClassifier(pruning=None).fit(X, y).tree_
    tree = tb.prune(bare, X, y, pruner=PRUNER)
    assert tree.n_leaves < bare.n_leaves / 4
    np.testing.assert_array_equal(tree.label, tree.by_majority().label)


def test_a_bare_model_is_pruned_again_and_edited_as_that_of_a_classifier(fitted):
    X, y = table()
    bare = Model(tb.BoundTreeClassifier(pruning=None).fit(X, y).tree_)
    once = bare.prune(PRUNER, X, y)
    twice = once.prune(PRUNER, X, y)
    for model in (once, twice):
        assert (model.prediction.smoothing, model.prediction.free_shrinkage) == (
            fitted.model_.prediction.smoothing,
            True,
        )
        np.testing.assert_array_equal(model.tree.label, fitted.tree_.label)
    for source in (once, loads(dumps(once))):
        editor = Editor(source, X, y)
        editor.split(0, "c <= 0.3", keep=True)
        shares = editor.model().node_probabilities
        np.testing.assert_array_equal(shares.argmax(axis=1), editor.tree.label)


def test_monotone_trees_of_many_classes_have_finite_losses():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.clip(np.round(X[:, 0] + rng.normal(size=300) + 1), 0, 2).astype(int)
    clf = tb.BoundTreeClassifier(pruning=PRUNER, monotonic_cst=[1, 0])
    ordered = pd.Categorical(y, categories=[0, 1, 2], ordered=True)
    model = clf.fit(X, ordered).model_
    assert np.isfinite(model.pruning.choice.losses).all()
    np.testing.assert_array_equal(model.tree.label, model.tree.by_majority().label)
    np.testing.assert_array_equal(loads(dumps(model)).predict(X), model.predict(X))


def test_calibration_rows_of_a_large_table_choose_no_strength(monkeypatch):
    monkeypatch.setattr("treebound.pruning.bound.MAX_VALUES", 3000)
    X, y = table(3000)
    model = tb.BoundTreeClassifier(pruning=PRUNER, certificate="held-out").fit(X, y).model_
    counts, path = model.evidence.calibration, model.path
    assert model.pruning.choice.strengths
    assert counts.at(path, None)[1] == 1
    assert counts.at(path, path.chosen + 1)[1] == path.n_considered
    assert len(y) - counts.m > model.grown.rows[0]  # validation rows chose it


@pytest.mark.parametrize("smoothing", ["laplace", 20.0, None])
def test_a_smoothing_that_was_requested_stays_and_is_validated(smoothing):
    clf = tb.BoundTreeClassifier(pruning=PRUNER, smoothing=smoothing).fit(*table())
    assert clf.model_.prediction.smoothing == smoothing
    usual = "shrinkage" if smoothing is None else smoothing  # frequencies have infinite losses
    pruner = BoundPruner(score="log-loss", smoothing=usual)
    expected = tb.BoundTreeClassifier(pruning=pruner, smoothing=usual).fit(*table())
    assert expected.tree_.n_leaves == clf.tree_.n_leaves
    with pytest.raises(ValueError, match=r"'smoothing' parameter of BoundPruner must be 'auto' in"):
        tb.BoundTreeClassifier(pruning=pruner, smoothing="m-estimate").fit(*table())
    assert clf.pruning_result_.choice.strength is None
    best = clf.model_.node_probabilities.argmax(axis=1)
    np.testing.assert_array_equal(best[clf.tree_.leaves], clf.tree_.label[clf.tree_.leaves])
    model = loads(dumps(clf.model_))
    assert (model.prediction.smoothing, model.provenance.parameters["smoothing"]) == (
        smoothing,
        smoothing,
    )


def test_pruning_again_has_its_own_smoothing(fitted):
    X, y = table()
    usual = fitted.model_.prune(BoundPruner(weight=0.6))
    assert usual.prediction.smoothing == "shrinkage"
    assert usual.prune(PRUNER, X, y).prediction.smoothing == fitted.model_.prediction.smoothing
    smaller = fitted.model_.prune_to(2)
    assert smaller.prediction.smoothing == fitted.model_.prediction.smoothing


def test_a_fixed_weight_and_too_few_rows_keep_the_usual_strength():
    X, y = table()
    fixed = tb.BoundTreeClassifier(pruning=BoundPruner(score="log-loss", weight=0.3)).fit(X, y)
    assert fixed.model_.prediction.smoothing == "shrinkage"
    few = tb.BoundTreeClassifier(pruning=PRUNER).fit(X.head(1), y.head(1))
    assert few.model_.prediction.smoothing == "shrinkage"


def test_the_held_out_certificate_counts_what_is_predicted():
    X, y = table(2000)
    clf = tb.BoundTreeClassifier(pruning=PRUNER, certificate="held-out").fit(X, y)
    leaves, predicted = clf.tree_.leaves, clf.model_.node_probabilities.argmax(axis=1)
    counts = clf.model_.held_out_counts()[0]
    wrong = sum(counts[leaf].sum() - counts[leaf, predicted[leaf]] for leaf in leaves)
    assert clf.certificate_.errors == clf.model_.evidence.calibration.errors == wrong > 0


def test_another_strength_leaves_the_labels():
    X, y = table()
    clf = tb.BoundTreeClassifier(pruning=None).fit(X, y)
    for strength in (1.0, 1e4):
        model = replace(clf.model_, prediction=PredictionOptions(strength))
        best = model.classes[model.predict_proba(X).argmax(axis=1)]
        np.testing.assert_array_equal(best, clf.predict(X))
