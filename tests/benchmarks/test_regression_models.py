"""Rivals of the regression benchmark, and what is measured of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import regression_models
from catalogue import REGRESSION
from regression_models import (
    CCP,
    CCP_LEAF_SIZE,
    CONSTANT,
    LIGHTGBM,
    RIVALS,
    TREEBOUND,
    alpha_grid,
    figures_of,
    measure,
    methods,
    one_hot,
    rows_of_draw,
    task_of,
)
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.tree import DecisionTreeRegressor

import treebound as tb


@pytest.fixture
def draw():
    rng = np.random.default_rng(0)
    text = rng.choice(np.array(["a", "b", None], dtype=object), 200)
    numbers = np.where(rng.random(200) < 0.1, np.nan, rng.normal(size=200))
    X = pd.DataFrame({"text": text, "number": numbers, "noise": rng.normal(size=200)})
    y = 3.0 * (text == "a") + np.nan_to_num(numbers) + 0.3 * rng.normal(size=200)
    return rows_of_draw(X, y, 1)


class Stump:
    """Stand-in for the regressor that treebound does not have yet."""

    n_leaves_ = 1

    def __init__(self, **options):
        self.options = options

    def fit(self, X, y):
        self.mean = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean)


def test_draws_are_disjoint_and_capped(monkeypatch):
    X, y = pd.DataFrame({"row": np.arange(1000.0)}), np.arange(1000.0)
    draw = rows_of_draw(X, y, 3)
    assert (len(draw.y), len(draw.test_y)) == (850, 150)
    assert set(draw.y).isdisjoint(draw.test_y)
    np.testing.assert_array_equal(draw.X["row"], draw.y)
    monkeypatch.setattr(regression_models, "MAX_TRAIN", 100)
    capped = rows_of_draw(X, y, 3)
    np.testing.assert_array_equal(capped.y, draw.y[:100])
    np.testing.assert_array_equal(capped.test_y, draw.test_y)


def test_text_becomes_indicators_of_the_training_rows():
    X = pd.DataFrame({"text": np.array(["a", None, "b"], dtype=object), "number": [1.0, np.nan, 3]})
    test_X = pd.DataFrame({"text": np.array(["new", "b"], dtype=object), "number": [5.0, 6.0]})
    train, test = one_hot(X, test_X)
    assert train.shape == (3, 4)  # a, b, missing, and the number
    np.testing.assert_array_equal(train[:, :3].sum(axis=1), 1.0)
    np.testing.assert_array_equal(test[:, :3].sum(axis=1), [0.0, 1.0])
    np.testing.assert_array_equal(train[:, 3], X["number"])


@pytest.mark.parametrize("leaf_size", [1, 20])
def test_alphas_reach_from_the_unpruned_tree_to_the_root(leaf_size):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + rng.normal(size=300)
    alphas = alpha_grid(X, y, leaf_size)
    assert 2 < len(alphas) <= 20
    leaves = [
        DecisionTreeRegressor(min_samples_leaf=leaf_size, ccp_alpha=alpha, random_state=0)
        .fit(X, y)
        .get_n_leaves()
        for alpha in alphas
    ]
    grown = DecisionTreeRegressor(min_samples_leaf=leaf_size, random_state=0).fit(X, y)
    assert leaves[0] == grown.get_n_leaves()
    assert leaves[-1] == 1
    assert leaves == sorted(leaves, reverse=True)


def test_a_constant_target_has_one_alpha():
    assert alpha_grid(np.arange(20.0)[:, None], np.ones(20), 1).tolist() == [0.0]


@pytest.mark.parametrize("seed", [0, 1])
def test_tuned_tree_is_that_of_one_search_over_alphas_and_leaf_sizes(draw, seed):
    X, test_X = one_hot(draw.X, draw.test_X)
    grids = [
        {"min_samples_leaf": [size], "ccp_alpha": alpha_grid(X, draw.y, size)}
        for size in (1, 5, 20)
    ]
    search = GridSearchCV(
        DecisionTreeRegressor(random_state=0), grids, scoring="neg_mean_squared_error",
        cv=KFold(5, shuffle=True, random_state=seed),
    ).fit(X, draw.y)  # fmt: skip
    expected = np.mean((search.predict(test_X) - draw.test_y) ** 2)
    stored = measure(draw._replace(seed=seed), CCP_LEAF_SIZE)
    figures = {name: figures_of(name, stored) for name in (CCP, CCP_LEAF_SIZE)}
    assert figures[CCP_LEAF_SIZE]["squared error"] == pytest.approx(expected)
    assert figures[CCP_LEAF_SIZE]["leaves"] == search.best_estimator_.get_n_leaves()
    if seed == 0:
        assert figures[CCP_LEAF_SIZE]["seconds"] > figures[CCP]["seconds"] > 0.0
    else:
        assert figures[CCP_LEAF_SIZE]["seconds"] is figures[CCP]["seconds"] is None
    assert set(figures[CCP]) == set(figures[CCP_LEAF_SIZE]) == set(figures_of(CONSTANT, stored))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("leaf_size", [1, 5, 20])
def test_the_short_search_is_that_of_scikit_learn(leaf_size, seed):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((250, 4)) < 0.05, np.nan, rng.normal(size=(250, 4)).round(1))
    y = 1e3 + np.nan_to_num(X[:, 0]) + (X[:, 1] > 0) + rng.normal(size=250)
    slow, fast = (
        search(X, y, leaf_size, seed)
        for search in (regression_models.grid_search, regression_models.short_search)
    )
    assert fast.score == pytest.approx(slow.score, rel=1e-9)
    assert fast.tree.ccp_alpha == slow.tree.ccp_alpha
    np.testing.assert_array_equal(fast.tree.predict(X), slow.tree.predict(X))


def test_errors_of_a_pruned_tree_without_growing_it_again():
    rng = np.random.default_rng(5)
    X, test_X = rng.normal(size=(300, 3)), rng.normal(size=(100, 3))
    y, test_y = X[:, 0] + rng.normal(size=300), test_X[:, 0]
    alphas = alpha_grid(X, y, 1)
    errors = regression_models.pruned_errors(
        DecisionTreeRegressor(random_state=0).fit(X, y), test_X, test_y, alphas
    )
    for alpha, error in zip(alphas, errors, strict=True):
        pruned = DecisionTreeRegressor(ccp_alpha=alpha, random_state=0).fit(X, y)
        assert error == pytest.approx(np.mean((pruned.predict(test_X) - test_y) ** 2), rel=1e-9)


def test_two_methods_share_a_task():
    pytest.importorskip("lightgbm")
    spec = REGRESSION[0]
    assert task_of(spec, 3, CCP) == task_of(spec, 3, CCP_LEAF_SIZE)
    assert len({task_of(spec, 3, name) for name in RIVALS}) == len(RIVALS) - 1


def test_results_of_other_files_and_columns_are_not_mixed():
    spec = REGRESSION[0]
    changed = [
        replace(spec, sha256="0" * 64),
        replace(spec, target="y"),
        replace(spec, drop=("x",)),
    ]
    assert len({task_of(s, 0, CONSTANT) for s in [spec, *changed]}) == 4


def test_every_rival_is_measured_on_the_same_rows(draw):
    pytest.importorskip("lightgbm")
    figures = {
        name: figures_of(name, measure(draw, task_of(REGRESSION[0], 1, name).method))
        for name in RIVALS
    }
    gaps = draw.test_y - draw.y.mean()
    assert figures[CONSTANT]["squared error"] == pytest.approx(np.mean(gaps**2))
    assert figures[CONSTANT]["absolute error"] == pytest.approx(np.mean(np.abs(gaps)))
    assert figures[CONSTANT]["leaves"] == 1.0
    assert figures[CCP]["squared error"] < figures[CONSTANT]["squared error"]
    assert 1 < figures[LIGHTGBM]["leaves"] <= 75


def test_a_regressor_of_treebound_reads_the_table_as_it_is(draw, monkeypatch):
    monkeypatch.setattr(tb, "BoundTreeRegressor", Stump)
    assert set(TREEBOUND) <= set(methods()[0])
    figures = {name: measure(draw, name) for name in ("treebound, default", CONSTANT)}
    assert figures["treebound, default"]["leaves"] == 1.0
    for figure in ("squared error", "absolute error"):
        assert figures["treebound, default"][figure] == figures[CONSTANT][figure]
