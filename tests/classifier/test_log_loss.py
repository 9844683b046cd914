"""Pruning for log-loss chooses how strongly the probabilities of the classifier shrink."""

import sqlite3
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import treebound as tb
from treebound.exchange import dumps, loads
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


def test_the_model_shrinks_as_the_folds_chose_and_answers_the_most_probable_class(fitted):
    choice = fitted.pruning_result_.choice
    assert fitted.smoothing == "shrinkage"
    assert fitted.model_.smoothing == choice.strength
    shares = probabilities(fitted.tree_, choice.strength)
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
    found = [module["predict"](row) for row in X.to_dict("records")]
    assert found == expected.tolist()
    database = sqlite3.connect(":memory:")
    X.to_sql("rows", database, index=False)
    query = fitted.to_sql(output="proba", table="rows")
    assert [list(row[-2:]) for row in database.execute(query)] == expected.tolist()


def test_a_model_file_keeps_the_strength_and_the_parameter(fitted):
    X = table(seed=1)[0]
    model = loads(dumps(fitted.model_))
    assert model.smoothing == fitted.model_.smoothing
    assert model.parameters["smoothing"] == "shrinkage"
    assert model.pruning.choice == fitted.pruning_result_.choice
    np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))


def test_the_answers_are_those_of_the_shrunk_tree(fitted):
    tree = fitted.tree_
    usual = replace(tree, label=None)
    other = tree.leaves[tree.label[tree.leaves] != usual.label[tree.leaves]]
    assert len(other)  # the majority of these leaves is a matter of chance
    shares = fitted.model_.node_probabilities
    np.testing.assert_array_equal(shares.argmax(axis=1), tree.label)
    kept = probabilities(usual, fitted.model_.smoothing)[other].max(axis=1)
    np.testing.assert_allclose(kept, 0.5, atol=1e-8)
    for step in range(0, len(fitted.model_.path), 5):
        model = fitted.model_.prune_to(step=step)
        np.testing.assert_array_equal(model.node_probabilities.argmax(axis=1), model.tree.label)
    # errors, certificate and what is shown are of these answers
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


def test_costs_decide_the_answers_before_shrinkage():
    X, y = table()
    pruner = BoundPruner(score="log-loss", costs={"yes": 4.0})
    model = tb.BoundTreeClassifier(pruning=pruner).fit(X, y).model_
    assert model.smoothing == model.pruning.choice.strength
    least = (model.tree.counts * [1.0, 4.0]).argmax(axis=1)
    np.testing.assert_array_equal(model.tree.label, least)


def test_a_split_that_is_replaced_by_hand_answers_by_shrinkage_below(fitted):
    X, y = table()
    editor = fitted.edit(X, y)
    editor.split(0, "c <= 0.3", keep=True)
    model = editor.model()
    assert model.smoothing == fitted.model_.smoothing
    np.testing.assert_array_equal(model.node_probabilities.argmax(axis=1), model.tree.label)
    assert (model.tree.label != replace(model.tree, label=None).label).any()


@pytest.mark.parametrize("smoothing", ["laplace", 20.0, None])
def test_a_smoothing_that_was_asked_for_stays(smoothing):
    clf = tb.BoundTreeClassifier(pruning=PRUNER, smoothing=smoothing).fit(*table())
    assert clf.model_.smoothing == smoothing
    best = clf.model_.node_probabilities.argmax(axis=1)
    np.testing.assert_array_equal(best[clf.tree_.leaves], clf.tree_.label[clf.tree_.leaves])
    model = loads(dumps(clf.model_))
    assert (model.smoothing, model.parameters["smoothing"]) == (smoothing, smoothing)


def test_pruning_again_has_its_own_smoothing(fitted):
    X, y = table()
    usual = fitted.model_.prune(BoundPruner(weight=0.6))
    assert usual.smoothing == "shrinkage"
    assert usual.prune(PRUNER, X, y).smoothing == fitted.model_.smoothing
    smaller = fitted.model_.prune_to(2)
    assert smaller.smoothing == fitted.model_.smoothing


def test_a_fixed_weight_and_too_few_rows_keep_the_usual_strength():
    X, y = table()
    fixed = tb.BoundTreeClassifier(pruning=BoundPruner(score="log-loss", weight=0.3)).fit(X, y)
    assert fixed.model_.smoothing == "shrinkage"
    few = tb.BoundTreeClassifier(pruning=PRUNER).fit(X.head(1), y.head(1))
    assert few.model_.smoothing == "shrinkage"


def test_the_held_out_certificate_counts_what_is_predicted():
    X, y = table(2000)
    clf = tb.BoundTreeClassifier(pruning=PRUNER, certify="held-out").fit(X, y)
    leaves, answers = clf.tree_.leaves, clf.model_.node_probabilities.argmax(axis=1)
    counts = clf.model_.held_out_counts()[0]
    wrong = sum(counts[leaf].sum() - counts[leaf, answers[leaf]] for leaf in leaves)
    assert clf.certificate_.errors == clf.model_.held_out.errors == wrong > 0


def test_another_strength_leaves_the_labels():
    X, y = table()
    clf = tb.BoundTreeClassifier(pruning=None).fit(X, y)
    for strength in (1.0, 1e4):
        model = replace(clf.model_, smoothing=strength)
        best = model.classes[model.predict_proba(X).argmax(axis=1)]
        np.testing.assert_array_equal(best, clf.predict(X))
