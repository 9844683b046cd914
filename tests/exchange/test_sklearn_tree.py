"""scikit-learn's trees to ours and back, predicting alike for every float64 input."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    export_text,
    plot_tree,
)
from support import coded_matrix

import treebound as tb
from treebound import from_sklearn, to_sklearn
from treebound.exchange.sklearn_arrays import float64_threshold


def noisy(seed, rows=200, columns=5, classes=3, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    y = rng.integers(0, classes, rows) + (X[:, 0] > 0)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def around(tree, X):
    """Rows whose values are on, just below and just above the thresholds, and the data."""
    thresholds = tree.threshold[np.isfinite(tree.threshold)]
    rounded = thresholds.astype(np.float32).astype(np.float64)
    values = [X.ravel()]
    for value in (thresholds, rounded):
        values += [value, np.nextafter(value, -np.inf), np.nextafter(value, np.inf)]
    rng = np.random.default_rng(0)
    return rng.choice(np.concatenate(values), size=(2000, X.shape[1]))


def counted_right(estimator, X, y, rows):
    """Rows whose leaf holds the training examples that scikit-learn counted there.

    Some versions (1.6 is one) send missing values another way at prediction than in training.
    """
    tree = estimator.tree_
    counted = tree.value[:, 0] * tree.weighted_n_node_samples[:, np.newaxis]
    routed = np.zeros_like(counted)
    np.add.at(routed, (estimator.apply(X), np.searchsorted(estimator.classes_, y)), 1)
    right = np.isclose(counted, routed).all(axis=1)[estimator.apply(rows)]
    assert right.mean() > 0.5
    return right


# -- from scikit-learn -------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 12}, {"max_depth": 3}])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("model", [DecisionTreeClassifier, ExtraTreeClassifier])
def test_it_predicts_as_scikit_learn_also_next_to_the_thresholds(limits, missing, model):
    X, y = noisy(0, missing=missing)
    estimator = model(random_state=0, **limits).fit(X, y)
    tree = from_sklearn(estimator, X, y)
    for rows in (X, around(tree, X)):
        predicted = tree.predict(coded_matrix(rows, tree.columns))
        right = counted_right(estimator, X, y, rows)
        np.testing.assert_array_equal(predicted[right], estimator.predict(rows)[right])


def test_nodes_are_in_preorder_with_the_counts_of_the_data():
    X, y = load_iris(return_X_y=True)
    estimator = DecisionTreeClassifier(max_leaf_nodes=8, random_state=0).fit(X, y)
    tree = from_sklearn(estimator, X, y)
    assert tree.n_leaves == estimator.get_n_leaves()
    assert tree.depth == estimator.get_depth()
    inner = np.flatnonzero(~tree.is_leaf)
    np.testing.assert_array_equal(tree.left[inner], inner + 1)
    np.testing.assert_array_equal(tree.counts[0], [50, 50, 50])
    order = estimator.apply(X)
    ours = tree.apply(coded_matrix(X, tree.columns))
    weights = estimator.tree_.weighted_n_node_samples[:, np.newaxis]
    theirs = estimator.tree_.value[:, 0] * weights
    np.testing.assert_allclose(tree.counts[ours], theirs[order])


def test_other_data_and_weights_are_counted_and_predicted():
    X, y = noisy(1)
    estimator = DecisionTreeClassifier(max_leaf_nodes=6, random_state=0).fit(X[:100], y[:100])
    weight = np.arange(100) % 3.0
    tree = from_sklearn(estimator, X[100:], y[100:], weight)
    expected = np.bincount(y[100:], weights=weight, minlength=4)
    np.testing.assert_allclose(tree.counts[0], expected)
    leaf = estimator.apply(X[100:])
    labels = tree.label[tree.apply(coded_matrix(X[100:], tree.columns))]
    for node in np.unique(leaf):
        in_leaf = np.bincount(y[100:][leaf == node], weights=weight[leaf == node])
        assert (labels[leaf == node] == in_leaf.argmax()).all()


def test_names_classes_and_missing_columns_are_kept():
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0, np.nan], "b": [0.0, 1.0, 0.0, 1.0]})
    estimator = DecisionTreeClassifier().fit(X, ["u", "v", "u", "w"])
    tree = tb.from_sklearn(estimator, X, ["u", "v", "u", "w"])
    assert [(c.name, c.kind, c.missing) for c in tree.columns] == [
        ("a", "real", True),
        ("b", "real", False),
    ]
    assert tree.classes.tolist() == ["u", "v", "w"]


@given(
    st.floats(width=64, allow_nan=False, allow_infinity=False, min_value=-1e38, max_value=1e38),
    st.integers(-3, 3),
)
def test_threshold_is_the_greatest_number_that_goes_left(threshold, steps):
    ours = float64_threshold(np.array([threshold]))[0]
    near = ours
    for _ in range(abs(steps)):
        near = np.nextafter(near, np.inf * steps)
    for x in (near, threshold, np.float64(np.float32(threshold)), ours * (1 + 1e-7 * steps)):
        assert (x <= ours) == (np.float64(np.float32(x)) <= threshold)


def test_wrong_estimators_and_data_are_refused():
    X, y = noisy(2, rows=30)
    fitted = DecisionTreeClassifier(max_depth=2).fit(X, y)
    with pytest.raises(TypeError, match=r"must be a DecisionTreeClassifier or DecisionTreeReg"):
        from_sklearn(RandomForestClassifier(n_estimators=1).fit(X, y), X, y)
    with pytest.raises(ValueError, match=r"must be a tree of one output. Got 2"):
        from_sklearn(DecisionTreeRegressor().fit(X, np.c_[y, y]), X, y)
    with pytest.raises(NotFittedError):
        from_sklearn(DecisionTreeClassifier(), X, y)
    with pytest.raises(ValueError, match=r"must be a tree of one output. Got 2"):
        from_sklearn(DecisionTreeClassifier().fit(X, np.c_[y, y]), X, y)
    with pytest.raises(ValueError, match="X has 4 columns, but the tree was grown on 5"):
        from_sklearn(fitted, X[:, 1:], y)
    with pytest.raises(ValueError, match=r"classes of the tree, 0, 1, 2, 3. Got 9 instead"):
        from_sklearn(fitted, X, np.full(len(y), 9))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        from_sklearn(fitted, X, y[:-1])


# -- to scikit-learn ---------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 12}])
def test_there_and_back(missing, limits):
    X, y = noisy(3, missing=missing)
    estimator = DecisionTreeClassifier(random_state=0, **limits).fit(X, y)
    back = to_sklearn(from_sklearn(estimator, X, y))
    assert type(back) is DecisionTreeClassifier
    assert back.tree_.__getstate__()["nodes"].dtype == estimator.tree_.__getstate__()["nodes"].dtype
    for rows in (X, around(from_sklearn(estimator, X, y), X)):
        right = counted_right(estimator, X, y, rows)
        theirs, ours = estimator.predict_proba(rows), back.predict_proba(rows)
        np.testing.assert_array_equal(back.predict(rows)[right], estimator.predict(rows)[right])
        np.testing.assert_allclose(ours[right], theirs[right])
        assert (
            back.decision_path(rows).sum(axis=1) == estimator.decision_path(rows).sum(axis=1)
        ).all()
    assert back.get_depth() == estimator.get_depth()
    assert back.get_n_leaves() == estimator.get_n_leaves()
    if counted_right(estimator, X, y, X).all():
        np.testing.assert_allclose(back.feature_importances_, estimator.feature_importances_)
    again = from_sklearn(back, X, y)
    first = from_sklearn(estimator, X, y)
    for name in ("feature", "threshold", "missing_left", "left", "right", "counts", "rows"):
        np.testing.assert_array_equal(getattr(again, name), getattr(first, name), err_msg=name)


def test_a_tree_grown_here_becomes_a_scikit_learn_tree():
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)
    clf = tb.BoundTreeClassifier(pruning=None, smoothing=None, max_leaves=20).fit(X, y)
    estimator = tb.to_sklearn(clf.tree_)
    np.testing.assert_array_equal(estimator.predict(X), clf.predict(X))
    np.testing.assert_allclose(estimator.predict_proba(X), clf.predict_proba(X))
    np.testing.assert_array_equal(estimator.apply(X), clf.apply(X))


def test_tools_for_scikit_learn_trees_accept_it():
    pytest.importorskip("matplotlib").use("Agg")
    X, y = load_iris(return_X_y=True, as_frame=True)
    fitted = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X, y)
    back = to_sklearn(from_sklearn(fitted, X, y))
    assert export_text(back) == export_text(fitted)
    plot_tree(back)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(back)).predict(X), fitted.predict(X))
    np.testing.assert_array_equal(back.feature_names_in_, fitted.feature_names_in_)
    clone(back).fit(X, y)
    assert back.score(X, y) == fitted.score(X, y)


def test_single_leaf_and_single_class():
    X = np.zeros((4, 2))
    estimator = DecisionTreeClassifier().fit(X, [7, 7, 7, 7])
    tree = from_sklearn(estimator, X, [7, 7, 7, 7])
    assert tree.n_nodes == 1
    assert to_sklearn(tree).predict(X).tolist() == [7, 7, 7, 7]


def test_ordinal_columns_are_codes_and_nominal_ones_refused():
    X = pd.DataFrame({"o": pd.Categorical(list("abca"), ordered=True), "n": list("uvuv")})
    y = [0, 0, 1, 0]
    clf = tb.BoundTreeClassifier(pruning=None).fit(X[["o"]], y)
    codes = X["o"].cat.codes.to_numpy().reshape(-1, 1)
    estimator = to_sklearn(clf.tree_)
    assert estimator.predict(pd.DataFrame(codes, columns=["o"])).tolist() == y
    clf = tb.BoundTreeClassifier(pruning=None).fit(X[["n"]], [0, 1, 0, 1])
    with pytest.raises(ValueError, match="no split 'x == category', as on column 'n'"):
        to_sklearn(clf.tree_)


def test_labels_by_cost_are_refused():
    X, y = noisy(4, rows=20, classes=2)
    tree = from_sklearn(DecisionTreeClassifier(max_depth=1).fit(X, y), X, y)
    unlike = replace(tree, label=(tree.label + 1) % tree.n_classes)
    with pytest.raises(ValueError, match=r"predicts the most frequent class.*at node 1"):
        to_sklearn(unlike)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1, 1: 7, 2: 0.5, 3: 3}])
@pytest.mark.parametrize("with_weights", [False, True])
def test_class_weights_of_the_estimator_are_kept(class_weight, with_weights):
    X, y = noisy(4, rows=400)
    weight = np.random.default_rng(1).integers(1, 4, 400) if with_weights else None
    estimator = DecisionTreeClassifier(max_leaf_nodes=9, class_weight=class_weight, random_state=0)
    estimator.fit(X, y, weight)
    tree = from_sklearn(estimator, X, y, weight)
    reached = tree.apply(coded_matrix(X, tree.columns))
    np.testing.assert_array_equal(tree.classes[tree.label[reached]], estimator.predict(X))
    root, value = tree.counts[0] * tree.factors, estimator.tree_.value[0, 0]
    np.testing.assert_allclose(root / root.sum(), value / value.sum())


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_the_criterion_impurities_and_importances_are_those_of_the_classifier(criterion):
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)
    clf = tb.BoundTreeClassifier(criterion=criterion, max_leaves=8).fit(X, y)
    made = to_sklearn(clf)
    assert made.criterion == criterion
    np.testing.assert_allclose(made.feature_importances_, clf.feature_importances_, atol=1e-12)
    peer = DecisionTreeClassifier(criterion=criterion, max_depth=1, random_state=0).fit(X, y)
    assert made.tree_.impurity[0] == pytest.approx(peer.tree_.impurity[0])


def test_columns_called_x0_and_x1_stay_names():
    X, y = noisy(4)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    clf = tb.BoundTreeClassifier().fit(frame, y)
    assert to_sklearn(clf).feature_names_in_.tolist() == list(frame)
    assert not hasattr(to_sklearn(tb.BoundTreeClassifier().fit(X, y)), "feature_names_in_")
