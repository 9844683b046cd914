"""Trees of LightGBM and XGBoost: the same leaves as in the library they come from, then pruned."""

from __future__ import annotations

import numpy as np
import pytest

import treebound as tb
from treebound.data import Sample, read_matrix
from treebound.exchange import from_lightgbm, from_xgboost


def data(seed: int, *, missing: bool, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 4))
    X[:, 3] = rng.integers(-3, 4, size=400)
    noise = rng.random(400) < 0.1
    y = np.digitize(X[:, 0] + (X[:, 3] > 0), np.linspace(-0.5, 1.5, n_classes - 1))
    y = np.where(noise, rng.integers(0, n_classes, 400), y)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def reached(tree: tb.Tree, rows: np.ndarray) -> np.ndarray:
    """The node that every row of a table reaches."""
    return tree.apply(read_matrix(rows, tree.columns, named=False))


def same_leaves(ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Whether two assignments of rows to leaves are the same partition."""
    pairs = set(zip(ours.tolist(), theirs.tolist(), strict=True))
    return len(pairs) == len(set(ours.tolist())) == len(set(theirs.tolist()))


def near(tree: tb.Tree, X: np.ndarray) -> np.ndarray:
    """The data, the thresholds, and their neighbours in single and double precision."""
    rows = [X]
    for node in np.flatnonzero(~tree.is_leaf & np.isfinite(tree.threshold)):
        t = tree.threshold[node]
        single = np.float32(t)
        values = [t, np.nextafter(t, np.inf), np.nextafter(t, -np.inf), single,
                  np.nextafter(single, np.float32(np.inf)),
                  np.nextafter(single, np.float32(-np.inf)), np.nan, 0.0]  # fmt: skip
        block = X[: len(values)].copy()
        block[:, tree.feature[node]] = values
        rows.append(block)
    return np.vstack(rows)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_a_lightgbm_tree_sends_every_row_to_the_same_leaf(seed, missing):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = data(seed, missing=missing)
    model = lightgbm.LGBMClassifier(
        n_estimators=2, num_leaves=12, min_child_samples=2, verbose=-1, n_jobs=1
    ).fit(X, y)
    for index in (0, 1):
        tree = from_lightgbm(model, X, y, tree_index=index)
        rows = near(tree, X)
        theirs = model.predict(rows, pred_leaf=True)[:, index]
        assert same_leaves(reached(tree, rows), theirs)
        assert tree.counts[0].tolist() == np.bincount(y).tolist()


def test_a_lightgbm_category_becomes_a_nominal_split():
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, 6, 600), rng.normal(size=600)]).astype(float)
    y = (X[:, 0] == 3) | (X[:, 1] > 1)
    settings = {"n_estimators": 1, "num_leaves": 8, "min_child_samples": 2, "verbose": -1,
                "min_data_per_group": 1, "cat_smooth": 0, "n_jobs": 1}  # fmt: skip
    model = lightgbm.LGBMClassifier(max_cat_to_onehot=100, **settings)
    model.fit(X, y, categorical_feature=[0])
    tree = from_lightgbm(model, X, y)
    assert tree.columns[0].kind == "nominal"
    assert "nominal" in {tree.columns[f].kind for f in tree.feature[~tree.is_leaf]}
    rows = X.copy()
    rows[:200, 0] = rng.integers(6, 20, 200)  # never seen
    rows[200:230, 0] = np.nan
    rows[230:240, 0] = -3
    for given in (X, rows):
        assert same_leaves(reached(tree, given), model.predict(given, pred_leaf=True)[:, 0])
    with pytest.raises(ValueError, match=r"'x0' must hold whole numbers.*Got 3\.7 instead"):
        from_lightgbm(model, np.where(X == 3, 3.7, X), y)

    y = np.isin(X[:, 0], [1, 3, 5])
    sets = lightgbm.LGBMClassifier(max_cat_to_onehot=1, **settings)
    sets.fit(X, y, categorical_feature=[0])
    with pytest.raises(ValueError, match="max_cat_to_onehot"):
        from_lightgbm(sets, X, y)


@pytest.mark.parametrize("seed", range(4))
def test_what_lightgbm_reads_as_zero_goes_where_zero_goes(seed):
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(seed)
    zero = float(np.float32(1e-35))
    near_zero = [1.0, 0.5, 1e-30, 2e-35, np.nextafter(zero, 1), zero, 1e-35, 5e-36, 5e-324]
    values = np.array([*near_zero, 0.0, *(-v for v in near_zero)])
    X = rng.choice(values, size=(400, 2))
    y = (X[:, 0] > rng.choice([0.0, -1e-34])) ^ (rng.random(400) < 0.1)
    model = lightgbm.LGBMClassifier(
        n_estimators=1, num_leaves=8, min_child_samples=1, min_data_in_bin=1, verbose=-1, n_jobs=1
    ).fit(X, y)
    tree = from_lightgbm(model, X, y)
    used = tree.threshold[~tree.is_leaf]
    assert (np.abs(used) < 1e-34).any()
    rows = np.array([[a, b] for a in (*values, np.nan) for b in (*values, np.nan)])
    assert same_leaves(reached(tree, rows), model.predict(rows, pred_leaf=True)[:, 0])


@pytest.mark.parametrize("booster", ["gbtree", "dart"])
def test_what_xgboost_takes_for_missing_is_missing(booster):
    xgboost = pytest.importorskip("xgboost")
    X, y = data(1, missing=True)
    given = np.where(np.isnan(X), -999.0, X)
    model = xgboost.XGBClassifier(
        n_estimators=2, max_depth=3, n_jobs=1, missing=-999.0, booster=booster
    ).fit(given, y)
    tree = from_xgboost(model, given, y, tree_index=1)
    theirs = model.apply(given).reshape(len(X), -1)[:, 1]
    assert same_leaves(reached(tree, X), theirs)
    assert all(column.missing for column in tree.columns)
    counts = [np.bincount(y[theirs == leaf], minlength=2).tolist() for leaf in np.unique(theirs)]
    assert sorted(counts) == sorted(tree.counts[tree.is_leaf & (tree.rows > 0)].tolist())


def test_an_xgboost_model_without_trees_is_refused():
    xgboost = pytest.importorskip("xgboost")
    X, y = data(0, missing=False)
    model = xgboost.XGBClassifier(n_estimators=1, n_jobs=1, booster="gblinear").fit(X, y)
    with pytest.raises(ValueError, match=r"must be a model of trees. Got one of 'gblinear'"):
        from_xgboost(model, X, y)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_an_xgboost_tree_sends_every_row_to_the_same_leaf(seed, missing):
    xgboost = pytest.importorskip("xgboost")
    X, y = data(seed, missing=missing, n_classes=3)
    model = xgboost.XGBClassifier(n_estimators=1, max_depth=4, n_jobs=1).fit(X, y)
    tree = from_xgboost(model, X, y)
    rows = near(tree, X)
    theirs = model.apply(rows).reshape(len(rows), -1)[:, 0]
    assert same_leaves(reached(tree, rows), theirs)
    assert tree.n_classes == 3


def test_an_imported_tree_can_be_pruned_and_saved():
    lightgbm = pytest.importorskip("lightgbm")
    X, y = data(0, missing=False)
    model = lightgbm.LGBMClassifier(
        n_estimators=1, num_leaves=40, min_child_samples=1, verbose=-1, n_jobs=1
    ).fit(X, y)
    tree = from_lightgbm(model, X, y)
    sample = Sample.read(X, y, columns=tree.columns, classes=tree.classes, named=True)
    result = tb.pruning.BoundPruner().prune(tree, sample)
    assert result.tree.n_leaves < tree.n_leaves
    text = tb.exchange.dumps(tb.Model(result.tree))
    assert tb.exchange.loads(text).tree.n_leaves == result.tree.n_leaves


@pytest.mark.parametrize("read", [from_lightgbm, from_xgboost])
def test_what_is_no_model_is_refused(read):
    with pytest.raises(TypeError, match=r"'model' parameter must be a fitted .* Got 3 instead"):
        read(3, [[0.0]], [0])


def test_a_wrong_tree_index_is_named():
    xgboost = pytest.importorskip("xgboost")
    X, y = data(0, missing=False)
    model = xgboost.XGBClassifier(n_estimators=1, max_depth=1, n_jobs=1).fit(X, y)
    with pytest.raises(ValueError, match=r"'tree_index'.*from 0 to 0.*Got 3"):
        from_xgboost(model, X, y, tree_index=3)
