"""scikit-learn's regression trees to ours and back, with the same numbers."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor, export_text
from support import coded_matrix

import treebound as tb
from treebound.tree.regression import RegressionTree


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


def near_thresholds(X, estimator):
    """Rows whose values are on, just below and just above the thresholds, and the data."""
    rows = [X]
    for feature, threshold in zip(estimator.tree_.feature, estimator.tree_.threshold, strict=True):
        if feature >= 0 and np.isfinite(threshold):
            for value in (threshold, np.nextafter(threshold, -9), np.nextafter(threshold, 9)):
                row = X[:1].copy()
                row[0, feature] = value
                rows.append(row)
    return np.concatenate(rows)


@pytest.mark.parametrize(
    "options",
    [{}, {"max_leaf_nodes": 12}, {"criterion": "absolute_error", "max_depth": 4}, {"max_depth": 1}],
    ids=str,
)
@pytest.mark.parametrize("missing", [False, True])
def test_it_predicts_as_scikit_learn_to_the_last_bit_and_back(diabetes, options, missing):
    X, y = diabetes
    if missing:
        if options.get("criterion"):
            pytest.skip("scikit-learn takes no missing values with absolute errors")
        X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    estimator = DecisionTreeRegressor(random_state=0, **options).fit(X, y, weight)
    tree = tb.from_sklearn(estimator, X, y, weight)
    assert isinstance(tree, RegressionTree)
    rows = near_thresholds(X, estimator)
    np.testing.assert_array_equal(
        tree.predict(coded_matrix(rows, tree.columns)), estimator.predict(rows)
    )
    assert tree.weight[0] == weight.sum()
    np.testing.assert_allclose(tree.mean[0], np.average(y, weights=weight), rtol=1e-12)
    back = tb.to_sklearn(tree, like=estimator)
    assert type(back) is DecisionTreeRegressor
    np.testing.assert_array_equal(back.predict(rows), estimator.predict(rows))
    assert export_text(back) == export_text(estimator)
    if not options.get("criterion"):
        inner = estimator.tree_
        np.testing.assert_allclose(back.tree_.impurity[0], inner.impurity[0], rtol=1e-9)


def test_our_regressor_as_theirs(diabetes):
    X, y = diabetes
    X = X.astype(np.float32).astype(np.float64)  # scikit-learn rounds its input
    reg = tb.BoundTreeRegressor().fit(X, y)
    theirs = reg.to_sklearn()
    near = np.abs(theirs.predict(X) - reg.predict(X))
    assert (near == 0).all()
    assert theirs.get_n_leaves() == reg.n_leaves_


def test_nominal_columns_need_indicators():
    X = [["red", 1.0], ["blue", 2.0], ["green", 3.0], ["red", 4.0]] * 20
    y = [5.0, 1.0, 1.0, 5.0] * 20
    reg = tb.BoundTreeRegressor().fit(X, y)
    with pytest.raises(ValueError, match="no split 'x == category'"):
        reg.to_sklearn()
    numeric = tb.exchange.Indicators(reg)
    theirs = reg.to_sklearn(indicators=True)
    rows = numeric.transform(X)
    columns = list(theirs.feature_names_in_)
    import pandas as pd

    np.testing.assert_array_equal(
        theirs.predict(pd.DataFrame(rows, columns=columns)), reg.predict(X)
    )


def test_prune_keeps_the_numbers_of_the_nodes_that_stay(diabetes):
    X, y = diabetes
    grown = DecisionTreeRegressor(random_state=0).fit(X, y)
    pruned = tb.prune(grown, X, y)
    assert type(pruned) is DecisionTreeRegressor
    assert 1 < pruned.get_n_leaves() < grown.get_n_leaves() / 4
    assert {*pruned.tree_.value.ravel()} <= {*grown.tree_.value.ravel()}
    tree = tb.from_sklearn(grown, X, y)
    ours = tb.prune(tree)
    assert ours.n_leaves == pruned.get_n_leaves()
    smaller = tb.prune(grown, X, y, weight=3.0)
    assert smaller.get_n_leaves() < pruned.get_n_leaves()
    with pytest.raises(ValueError, match="'pruner'"):
        tb.prune(grown, X, y, pruner="mdl")
    with pytest.raises(ValueError, match="'X'"):
        tb.prune(grown)


def test_files_and_code_are_methods(diabetes, tmp_path):
    X, y = diabetes
    reg = tb.BoundTreeRegressor().fit(X, y)
    reg.save(tmp_path / "model.json")
    again = tb.BoundTreeRegressor.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(X), reg.predict(X))
    assert again.get_params() == reg.get_params()
    module = {}
    exec(reg.to_python(), module)
    rows = [dict(zip([c.name for c in reg.columns_], row, strict=True)) for row in X[:40].tolist()]
    assert [module["predict"](row) for row in rows] == reg.predict(X[:40]).tolist()
    assert reg.to_c().count("return 0x") + reg.to_c().count("return -0x") == reg.n_leaves_
    assert "END" in reg.to_sql()
    with pytest.raises(ValueError, match="'output' parameter of to_c must be 'label' for a regres"):
        reg.to_c(output="proba")
