"""BoundTreeClassifier: growing, predicting, and the attributes of a fit."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

import treebound as tb
from treebound import BoundTreeClassifier
from treebound.pruning import BoundPruner
from treebound.tree.smoothing import probabilities


def mixed_table(rows=120, seed=0, missing=0.0):
    """A pandas frame with a column of each kind, and a target that depends on all."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "real": rng.normal(size=rows),
            "size": pd.Categorical(
                rng.choice(["S", "M", "L"], rows), categories=["S", "M", "L"], ordered=True
            ),
            "colour": rng.choice(["red", "green", "blue"], rows),
            "flag": rng.random(rows) < 0.5,
        }
    )
    y = np.where(
        X["colour"] == "green", "g", np.where((X["size"] > "S") & (X["real"] > 0), "a", "b")
    )
    if missing:
        X = X.astype({"flag": object}).mask(rng.random(X.shape) < missing)
    return X, y


# -- fitting and predicting ---------------------------------------------------------------------


def test_a_mixed_table_is_learned_without_encoding_it():
    X, y = mixed_table()
    clf = BoundTreeClassifier(pruning=None).fit(X, y)
    assert clf.score(X, y) == 1.0
    assert clf.n_leaves_ == 4
    assert clf.feature_names_in_.tolist() == list(X.columns)
    assert clf.landscape_ == tb.Landscape(real=1, ordinal=(3,), nominal=(None, 2))
    assert set(clf.predict(X)) == {"a", "b", "g"}


@pytest.mark.parametrize("library", [pl.from_pandas, pa.Table.from_pandas, lambda X: X])
def test_every_library_gives_the_same_tree(library):
    X, y = mixed_table(missing=0.1)
    X = X.astype({"size": object, "flag": "boolean"})
    order = {"size": ["S", "M", "L"]}
    here = BoundTreeClassifier(ordinal_features=order).fit(X, y)
    there = BoundTreeClassifier(ordinal_features=order).fit(library(X), y)
    assert there.columns_ == here.columns_
    np.testing.assert_array_equal(there.predict_proba(library(X)), here.predict_proba(X))


def test_probabilities_are_smoothed_counts_of_the_leaf():
    X, y = load_iris(return_X_y=True)
    clf = BoundTreeClassifier(max_leaves=4, pruning=None).fit(X, y)
    counts = clf.tree_.counts[clf.apply(X)]
    np.testing.assert_allclose(clf.predict_proba(X), probabilities(clf.tree_)[clf.apply(X)])
    usual = BoundTreeClassifier(max_leaves=4, pruning=None, smoothing="m-estimate").fit(X, y)
    smoothed = (counts + 4 / 3) / (counts.sum(axis=1) + 4)[:, None]
    np.testing.assert_allclose(usual.predict_proba(X), smoothed)
    np.testing.assert_array_equal(clf.predict_proba(X).argmax(axis=1), clf.predict(X))
    np.testing.assert_allclose(np.exp(clf.predict_log_proba(X)), clf.predict_proba(X))
    clf = BoundTreeClassifier(max_leaves=4, pruning=None, smoothing=None).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X), counts / counts.sum(axis=1)[:, None])
    assert np.isneginf(clf.predict_log_proba(X)).any()


def test_decision_path_ends_at_the_leaf_of_apply():
    X, y = load_iris(return_X_y=True)
    clf = BoundTreeClassifier(pruning=None).fit(X, y)
    path, leaf = clf.decision_path(X), clf.apply(X)
    assert path.shape == (len(X), clf.tree_.n_nodes)
    for row in range(0, len(X), 10):
        nodes = path[[row]].indices
        assert nodes.min() == 0
        assert nodes.max() == leaf[row]
        assert len(nodes) == clf.tree_.node_depth[leaf[row]] + 1


def test_importances_equal_those_of_scikit_learn():
    X, y = load_wine(return_X_y=True)
    for criterion in ("gini", "entropy"):
        clf = BoundTreeClassifier(pruning=None, max_leaves=4, criterion=criterion).fit(X, y)
        theirs = DecisionTreeClassifier(max_leaf_nodes=4, criterion=criterion, random_state=0)
        np.testing.assert_allclose(
            clf.feature_importances_, theirs.fit(X, y).feature_importances_, atol=1e-12
        )
    stump = BoundTreeClassifier(max_leaves=1).fit(X, y)
    assert stump.feature_importances_.tolist() == [0] * 13
    assert (stump.n_leaves_, stump.depth_) == (1, 0)


def test_limits_hold():
    X, y = load_wine(return_X_y=True)
    assert BoundTreeClassifier(pruning=None, max_leaves=3).fit(X, y).n_leaves_ == 3
    assert BoundTreeClassifier(pruning=None, max_depth=1).fit(X, y).depth_ == 1
    tree = BoundTreeClassifier(pruning=None, min_samples_leaf=20).fit(X, y).tree_
    assert tree.rows[tree.leaves].min() >= 20


def test_threads_do_not_change_the_tree():
    X, y = mixed_table(rows=5000, missing=0.05)
    one = BoundTreeClassifier(pruning=None, n_jobs=1).fit(X, y).tree_
    two = BoundTreeClassifier(pruning=None, n_jobs=2).fit(X, y).tree_
    for name in ("feature", "threshold", "category", "missing_left", "left", "counts"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


# -- missing and unknown -----------------------------------------------------------------------


def test_missing_values_are_learned_from():
    X = pd.DataFrame({"a": [1.0, 2.0, np.nan, np.nan], "s": ["u", None, "u", None]})
    clf = BoundTreeClassifier(pruning=None).fit(X[["a"]], [0, 0, 1, 1])
    assert clf.predict(pd.DataFrame({"a": [5.0, np.nan]})).tolist() == [0, 1]
    clf = BoundTreeClassifier(pruning=None).fit(X[["s"]], [0, 1, 0, 1])
    assert clf.predict(pd.DataFrame({"s": ["u", None]})).tolist() == [0, 1]


def test_a_value_never_missing_in_training_goes_to_the_larger_child():
    clf = BoundTreeClassifier(pruning=None).fit([[0.0], [1.0], [1.0]], ["few", "many", "many"])
    assert clf.predict([[np.nan]]).tolist() == ["many"]
    X = pd.DataFrame({"s": ["u", "v", "v"]})
    clf = BoundTreeClassifier(pruning=None).fit(X, ["few", "many", "many"])
    assert clf.predict(pd.DataFrame({"s": [None]})).tolist() == ["many"]


def test_unknown_categories_are_handled_as_set():
    X = pd.DataFrame({"s": ["u"] * 3 + ["v"] * 2 + [None]})
    y = [0, 0, 0, 1, 1, 2]
    new = pd.DataFrame({"s": ["never seen"]})

    def prediction_with(handle_unknown):
        clf = BoundTreeClassifier(pruning=None, handle_unknown=handle_unknown, smoothing=None).fit(
            X, y
        )
        return clf.predict_proba(new)[0].tolist(), clf.apply(new)[0], clf

    probability, node, clf = prediction_with("majority")
    assert clf.tree_.is_leaf[node]
    probability, node, clf = prediction_with("stop")
    assert node == 0
    assert probability == [0.5, pytest.approx(1 / 3), pytest.approx(1 / 6)]
    probability, node, clf = prediction_with("missing")
    assert clf.predict(new).tolist() == [2]
    with pytest.raises(ValueError, match="'never seen', in row 0"):
        prediction_with("error")


# -- weights -----------------------------------------------------------------------------------


@given(st.integers(0, 30), st.sampled_from([None, "balanced", {"a": 2.0}]))
def test_weights_repeat_and_leave_out_rows(seed, class_weight):
    X, y = mixed_table(rows=60, seed=seed, missing=0.1)
    weight = np.random.default_rng(seed).integers(0, 4, len(y))
    weighted = BoundTreeClassifier(class_weight=class_weight, min_samples_leaf=1)
    rows = np.repeat(np.arange(len(y)), weight)
    weighted.fit(X, y, sample_weight=weight)
    repeated = BoundTreeClassifier(class_weight=class_weight).fit(X.iloc[rows], y[rows])
    assert repeated.columns_ == weighted.columns_
    np.testing.assert_array_equal(repeated.classes_, weighted.classes_)
    for name in ("feature", "threshold", "category", "missing_left"):
        one, other = getattr(weighted.tree_, name), getattr(repeated.tree_, name)
        np.testing.assert_array_equal(one, other, err_msg=name)
    np.testing.assert_allclose(weighted.tree_.counts, repeated.tree_.counts)


@pytest.mark.parametrize("pruning", ["bound", "mdl", "pessimistic"])
@given(st.integers(0, 60))
@settings(max_examples=30)
def test_pruning_takes_a_weight_of_two_for_the_row_twice(pruning, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 6, (40, 3)).astype(float), rng.integers(0, 3, 40)
    weight = rng.integers(1, 4, 40)
    clf = BoundTreeClassifier(pruning=pruning)
    weighted = clf.fit(X, y, sample_weight=weight).tree_
    repeated = clf.fit(X.repeat(weight, axis=0), y.repeat(weight)).tree_
    np.testing.assert_array_equal(weighted.threshold, repeated.threshold)
    np.testing.assert_array_equal(weighted.counts, repeated.counts)


def test_balanced_gives_every_class_the_same_weight():
    X, y = mixed_table()
    clf = BoundTreeClassifier(class_weight="balanced", pruning=None).fit(X, y)
    np.testing.assert_allclose(clf.tree_.masses[0], clf.tree_.mass[0] / 3)
    np.testing.assert_array_equal(clf.tree_.counts[0], np.unique(y, return_counts=True)[1])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(3), r"sample_weight.shape == \(3,\), expected \(120,\)"),
        (-np.ones(120), "must not be negative. Got -1.0 in row 0"),
        (np.zeros(120), "at least one non-zero"),
        (np.full(120, np.nan), "Input sample_weight contains NaN"),
        (np.ones((120, 2)), "1D array or scalar, got 2D"),
    ],
)
def test_wrong_weights_are_named(weight, message):
    X, y = mixed_table()
    with pytest.raises(ValueError, match=message):
        BoundTreeClassifier().fit(X, y, sample_weight=weight)


def test_size_sets_the_tree_by_cross_validation():
    X, y = load_digits(return_X_y=True)
    X = np.delete(X, [0, 32, 39], axis=1)  # columns of one value
    keep = np.arange(len(y)) % 3 == 0
    fitted = {
        size: BoundTreeClassifier(size=size).fit(X[keep], y[keep])
        for size in (None, "accurate", "balanced", "small")
    }
    assert fitted[None].pruning_result_.choice.rule is None  # fewer than 1,000 rows
    sizes = [fitted[size].n_leaves_ for size in ("accurate", "balanced", "small")]
    assert sizes == sorted(sizes, reverse=True)
    assert "cross-validated error" in fitted["small"].pruning_result_.explain()
    object_ = BoundTreeClassifier(size="small", pruning=BoundPruner()).fit(X[keep], y[keep])
    assert object_.n_leaves_ == fitted["small"].n_leaves_


@pytest.mark.parametrize(
    "pruning", ["mdl", BoundPruner(weight=0.6), BoundPruner(rule="small"), None]
)
def test_size_with_another_pruner_is_refused(pruning):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"'size' parameter of BoundTreeClassifier .* Hint"):
        BoundTreeClassifier(size="small", pruning=pruning).fit(X, y)


def test_rows_of_a_group_stay_together_and_give_no_certificate():
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(300), 5)
    X = rng.normal(size=(300, 4))[person] + 0.01 * rng.normal(size=(1500, 4))
    y = rng.integers(0, 2, 300)[person]  # noise that the rows of one person share
    ungrouped = BoundTreeClassifier().fit(X, y)
    together = BoundTreeClassifier().fit(X, y, groups=person)
    assert ungrouped.n_leaves_ > 50  # it recognises persons
    assert together.n_leaves_ < 10
    assert together.certificate_ is None
    assert "Rows of one group are not independent" in together.certificate_reason_
    single = BoundTreeClassifier().fit(X, y, groups=np.arange(1500))
    assert single.certificate_ is not None
    for wrong in (person[:-1], np.zeros((1500, 2))):
        with pytest.raises(ValueError, match=r"'groups' parameter must be .* Got shape"):
            BoundTreeClassifier().fit(X, y, groups=wrong)
    with pytest.raises(ValueError, match=r"'certificate' parameter .* with groups"):
        BoundTreeClassifier(certificate="prior").fit(X, y, groups=person)


@pytest.mark.parametrize("certify", ["held-out", "folds"])
@pytest.mark.parametrize("weighted", [False, True])
def test_held_out_groups_count_once(certify, weighted):
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(300), rng.integers(1, 9, 300))
    X = rng.normal(size=(300, 3))[person] + 1e-3 * rng.normal(size=(len(person), 3))
    y = (rng.random(300) < 0.5).astype(int)[person]  # only the person determines the class
    weight = rng.integers(0, 2, len(person)).astype(float) if weighted else None
    clf = BoundTreeClassifier(certificate=certify, pruning=None).fit(X, y, weight, groups=person)
    certificate = clf.certificate_
    present = len(np.unique(person if weight is None else person[weight > 0]))
    sizes = {present // 3, present // 3 + 1} if certify == "folds" else {round(0.3 * present)}
    assert certificate.m in sizes
    assert certificate.errors / certificate.m > 0.3  # no person is in both parts
    with pytest.raises(ValueError, match="at least 2 groups"):
        BoundTreeClassifier(certificate=certify).fit(X, y, groups=np.zeros(len(y)))


def test_boosting_over_the_classifier_is_better_than_one_tree():
    X, y = load_breast_cancer(return_X_y=True)
    tree = BoundTreeClassifier()
    boosted = AdaBoostClassifier(tree, n_estimators=20, random_state=0)
    one, many = (cross_val_score(model, X, y, cv=5).mean() for model in (tree, boosted))
    assert many > one


# -- trouble -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"criterion": "log"},
            "'criterion' parameter of BoundTreeClassifier must be one of 'entropy'",
        ),
        ({"max_leaves": 0}, "'max_leaves' parameter .* must be an int >= 1 or None. Got 0"),
        ({"max_leaves": 2.5}, "'max_leaves' parameter .* Got 2.5"),
        ({"max_leaves": True}, "'max_leaves' parameter .* Got True"),
        ({"min_samples_leaf": None}, "'min_samples_leaf' parameter .* an int >= 1. Got None"),
        ({"handle_unknown": "guess"}, "'handle_unknown' parameter .* Got 'guess'"),
        ({"smoothing": "some"}, "'smoothing' parameter .* Got 'some'"),
        ({"n_jobs": 0}, "'n_jobs' parameter .* Got 0"),
        ({"class_weight": "even"}, "'class_weight' parameter .* Got 'even'"),
        ({"class_weight": {"zzz": 1}}, "'class_weight' parameter must be .* classes of y as keys"),
        ({"class_weight": {"a": 0}}, "'class_weight' parameter must be .* a finite weight > 0"),
        ({"pruning": "scissors"}, "'pruning' parameter must be .* Got 'scissors'"),
        (
            {"categorical_features": ["nose"]},
            "'categorical_features' .* columns of the table, .* Got 'nose'",
        ),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    X, y = mixed_table()
    with pytest.raises(ValueError, match=message):
        BoundTreeClassifier(**parameters).fit(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda X: X.drop(columns="real"),
            "Feature names seen at fit time, yet now missing:\n- real",
        ),
        (lambda X: X.assign(more=1), "Feature names unseen at fit time:\n- more"),
        (lambda X: X[X.columns[::-1]], "must be in the same order as they were in fit"),
        (lambda X: X.assign(real="text"), "'real' changed its type: it is real"),
        (lambda X: X.assign(colour=1.0), "'colour' changed its type: it is nominal"),
        (lambda X: X.assign(real=np.inf), "infinity.*'real', row 0"),
        (lambda X: X.iloc[:0], "0 sample"),
        (lambda X: X.to_numpy()[:, :2], "X has 2 features, but BoundTreeClassifier is expecting 4"),
    ],
)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_trouble_at_predict(change, message):
    X, y = mixed_table()
    clf = BoundTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match=message):
        clf.predict(change(X))


def test_trouble_at_fit():
    X, y = mixed_table()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        BoundTreeClassifier().fit(X, y[:-1])
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        BoundTreeClassifier().fit(X, None)
    with pytest.raises(ValueError, match="more than one column named 'real'"):
        BoundTreeClassifier().fit(X[["real", "real"]], y)
    with pytest.raises(NotFittedError):
        BoundTreeClassifier().predict(X)
    for name in ("n_leaves_", "depth_", "feature_importances_", "certificate_", "landscape_"):
        assert not hasattr(BoundTreeClassifier(), name)


def test_a_single_class_a_single_row_and_constant_columns():
    X = pd.DataFrame({"a": [1.0, 1.0], "s": ["u", "u"]})
    clf = BoundTreeClassifier().fit(X, ["yes", "yes"])
    assert clf.predict(X).tolist() == ["yes", "yes"]
    assert clf.predict_proba(X).tolist() == [[1.0], [1.0]]
    assert BoundTreeClassifier().fit(X, ["yes", "no"]).n_leaves_ == 1
    assert BoundTreeClassifier().fit(X.iloc[:1], ["yes"]).n_leaves_ == 1
    wide = np.random.default_rng(0).normal(size=(3, 50))
    assert BoundTreeClassifier(pruning=None).fit(wide, [0, 1, 2]).score(wide, [0, 1, 2]) == 1.0


# -- pruning -----------------------------------------------------------------------------------


def test_pruning_keeps_the_grown_tree_and_the_path():
    X, y = load_wine(return_X_y=True)
    clf = BoundTreeClassifier().fit(X, y)
    assert clf.n_leaves_ < clf.grown_tree_.n_leaves
    path = clf.pruning_path_
    assert path is clf.pruning_result_.path
    assert path.leaves[path.chosen] == clf.n_leaves_
    assert path.leaves[0] == clf.grown_tree_.n_leaves
    assert str(clf.n_leaves_) in clf.pruning_result_.explain()


def test_moving_along_the_path_makes_a_copy():
    X, y = load_wine(return_X_y=True)
    clf = BoundTreeClassifier().fit(X, y)
    before = clf.tree_
    small = clf.prune_to(leaves=2)
    assert small.n_leaves_ == 2
    assert clf.tree_ is before
    whole = clf.prune_to(step=0)
    assert whole.n_leaves_ == clf.grown_tree_.n_leaves
    assert whole.prune_to(leaves=2).n_leaves_ == 2
    np.testing.assert_array_equal(whole.predict(X), y)
    assert small.score(X, y) < 1.0
    with pytest.raises(ValueError, match="one of 'leaves' and 'step'"):
        clf.prune_to()
    with pytest.raises(ValueError, match="one of 'leaves' and 'step'"):
        clf.prune_to(leaves=2, step=2)
    with pytest.raises(ValueError, match="'step' parameter must be"):
        clf.prune_to(step=10_000)
    with pytest.raises(ValueError, match="fitted without pruning"):
        BoundTreeClassifier(pruning=None).fit(X, y).prune_to(leaves=2)


@pytest.mark.parametrize(
    "pruning", ["bound", "kearns-mansour", "cost-complexity", "reduced-error", "pessimistic", "mdl"]
)
def test_every_pruner_works_by_name(pruning):
    X, y = mixed_table(rows=200, missing=0.1)
    y = np.where(np.random.default_rng(0).random(200) < 0.2, "a", y)
    clf = BoundTreeClassifier(pruning=pruning).fit(X, y)
    assert clf.n_leaves_ <= clf.grown_tree_.n_leaves
    assert clf.score(X, y) > 0.5


def test_refitting_forgets():
    X, y = load_wine(return_X_y=True)
    clf = BoundTreeClassifier().fit(X, y)
    assert clf.certificate_ is not None
    clf.set_params(pruning=None).fit(X[:50], y[:50], sample_weight=np.full(50, 2.0))
    assert clf.pruning_result_ is None
    assert clf.certificate_.m == 50


def test_the_certificate_is_that_of_the_tree():
    X, y = load_iris(return_X_y=True)
    clf = BoundTreeClassifier().fit(X, y)
    assert clf.certificate_reason_ is None
    assert str(clf.certificate_) == str(tb.certify(clf.tree_))
    assert str(clf.certify(delta=0.1)) == str(tb.certify(clf.tree_, delta=0.1))
    assert clf.certificate_ is clf.certificate_
    assert str(clf.prune_to(leaves=2).certificate_) != str(clf.certificate_)
    assert clf.fit(X, y, sample_weight=np.ones(len(y))).certificate_ is not None


@pytest.mark.parametrize("order", ["C", "F"])
def test_float32_is_read_as_it_is_and_answered_as_float64(order):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = (np.nan_to_num(X[:, 0]) > 0.1).astype(int)
    narrow = np.asarray(X, order=order)
    for nominal in ("from_dtype", [3]):
        X3 = narrow.copy(order=order)
        X3[:, 3] = rng.integers(0, 3, 300)
        clf = BoundTreeClassifier(pruning=None, categorical_features=nominal).fit(X3, y)
        wide = X3.astype(np.float64)
        np.testing.assert_array_equal(clf.predict_proba(X3), clf.predict_proba(wide))
        np.testing.assert_array_equal(clf.apply(X3), clf.apply(wide))
    X3[0, 1] = np.inf
    with pytest.raises(ValueError, match="inf"):
        clf.predict(X3)


@pytest.mark.parametrize("name", ["get_n_leaves", "get_depth", "cost_complexity_pruning_path"])
def test_methods_of_scikit_learn_trees_name_their_replacement(name):
    clf = BoundTreeClassifier().fit([[0.0], [1.0]] * 9, [0, 1] * 9)
    with pytest.raises(AttributeError, match=f"no attribute '{name}'. Hint: use ") as raised:
        getattr(clf, name)
    assert hasattr(clf, str(raised.value).split("use ")[1].rstrip("."))
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        assert clf.colour
    assert not hasattr(clf, "get_n_leaves")
    with pytest.raises(NotFittedError, match="not fitted"):
        assert BoundTreeClassifier().classes_ is None


@pytest.mark.parametrize("kind", ["training", "held-out", "folds", "prior"])
def test_warnings_name_the_line_that_called_fit(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X[:, 2] = 1.0
    y = (X[:, 0] > 0) ^ (rng.random(400) < 0.1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tb.BoundTreeClassifier(certificate=kind).fit(X, y, sample_weight=np.full(400, 2))
    assert [str(one.message).split()[0] for one in caught] == ["The", "Column"]  # each once
    assert {one.filename for one in caught} == {__file__}


@pytest.mark.parametrize("search", ["greedy", "wide"])
@pytest.mark.parametrize("costs", [{1: 6.0}, [1.0, 6.0], np.array([[0.0, 1.0], [6.0, 0.0]])])
def test_costs_are_those_of_the_pruner(costs, search):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 3))
    y = (rng.random(1200) < 1 / (1 + np.exp(2 - 2 * X[:, 0]))).astype(int)
    clf = tb.BoundTreeClassifier(costs=costs, search=search).fit(X, y)
    other = tb.BoundTreeClassifier(pruning=BoundPruner(costs=costs), search=search).fit(X, y)
    assert clf.to_text() == other.to_text()
    assert clf.estimate_ == other.estimate_
    assert clf.model_.costs.tolist() == other.model_.costs.tolist() == [[0.0, 1.0], [6.0, 0.0]]
    frame = pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(y=y).lazy()
    streamed = tb.BoundTreeClassifier(costs=costs, search=search).fit(frame, "y")
    assert streamed.estimate_ == clf.estimate_
    pruned = tb.prune(clf, X, y, pruner="log-loss")
    direct = tb.prune(clf, X, y, pruner="log-loss", costs=costs)
    np.testing.assert_array_equal(pruned.predict(X), direct.predict(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"pruning": "mdl"}, "needs pruning='bound' or pruning='log-loss'. Got pruning='mdl'"),
        ({"pruning": None}, "needs pruning='bound' or pruning='log-loss'. Got pruning=None"),
        ({"pruning": BoundPruner(costs={1: 2.0})}, "must be None if the pruner has costs"),
    ],
)
def test_costs_that_would_not_be_used_are_refused(parameters, message):
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match=re.escape(message)):
        tb.BoundTreeClassifier(costs={0: 3.0}, **parameters).fit(X, y)
