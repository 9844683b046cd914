"""Trees and rivals of the regression benchmark, and what is measured of them on a draw of a table.

Text columns are one-hot encoded for the rivals, on the training rows of a draw and before any
search; every rival's time includes the encoding. Missing values stay missing. Trees of treebound
read the table as it is.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from catalogue import TableSpec, load
from halves import Figures, Floats, Task
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

import treebound as tb

MAX_TRAIN = 10_000
CCP = "scikit-learn, ccp_alpha"
CCP_LEAF_SIZE = "scikit-learn, ccp_alpha and leaf size"
UNPRUNED = "scikit-learn, unpruned"
LIGHTGBM = "LightGBM, one tree of 75 leaves"
FOREST = "random forest"
CONSTANT = "constant"
RIVALS = (CCP, CCP_LEAF_SIZE, UNPRUNED, LIGHTGBM, FOREST, CONSTANT)
REGRESSOR = "BoundTreeRegressor"  # not in every version of treebound
TREEBOUND: dict[str, dict[str, Any]] = {
    "treebound, default": {},
    "treebound, size='accurate'": {"size": "accurate"},
    "treebound, size='small'": {"size": "small"},
    "treebound, cost-complexity": {"pruning": "cost-complexity"},
}
LEAF_SIZES = (1, 5, 20)
MAX_ALPHAS = 20
FOLDS = 5


class Draw(NamedTuple):
    """Training and test rows of a table, and the seed of their draw."""

    X: pd.DataFrame
    y: Floats
    test_X: pd.DataFrame
    test_y: Floats
    seed: int


def models() -> tuple[list[str], list[str]]:
    """Return the names of the models that can be fitted here, and a reason for each other group."""
    names, skipped = list(RIVALS), []
    if hasattr(tb, REGRESSOR):
        names = [*TREEBOUND, *names]
    else:
        skipped.append(f"treebound has no {REGRESSOR} here; its rows are skipped")
    if find_spec("lightgbm") is None:
        names.remove(LIGHTGBM)
        skipped.append("lightgbm is not installed; its row is skipped")
    return names, skipped


def work(task: Task) -> dict[str, Figures]:
    """Return the figures of the models of a task."""
    X, y = columns_and_target(task.spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=UserWarning)  # texts that no training row has
        return dict(measure(draw_rows(X, y, task.draw), list(task.models)))


@cache
def columns_and_target(spec: TableSpec) -> tuple[pd.DataFrame, Floats]:
    """Return the columns and the target of a table; a process loads it once."""
    X, y = load(spec)
    return X, y.to_numpy(dtype=np.float64)


def draw_rows(X: pd.DataFrame, y: Floats, seed: int) -> Draw:
    """Return 85 % of the rows to train, ``MAX_TRAIN`` at most, and the other 15 % to test."""
    order = np.random.default_rng(seed).permutation(len(y))
    test, train = np.split(order, [round(0.15 * len(y))])
    train = train[:MAX_TRAIN]
    return Draw(X.iloc[train], y[train], X.iloc[test], y[test], seed)


def measure(draw: Draw, names: list[str]) -> Iterator[tuple[str, Figures]]:
    """Yield the figures of some models on one draw."""
    for name, options in TREEBOUND.items():
        if name in names:
            model, seconds = _timed(partial(_treebound(options).fit, draw.X, draw.y))
            yield name, _figures(model.predict(draw.test_X), draw, model.n_leaves_, seconds)
    (X, test_X), encoding = _timed(lambda: one_hot(draw.X, draw.test_X))
    wide = _Wide(X, test_X, draw, encoding)
    if {CCP, CCP_LEAF_SIZE} & set(names):
        yield from ((name, row) for name, row in wide.tuned_trees() if name in names)
    for name, make in _UNTUNED.items():
        if name in names:
            yield name, wide.fitted(make)


def one_hot(X: pd.DataFrame, test_X: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return training and test rows with an indicator for each text of the training rows."""
    text = [name for name in X if not pd.api.types.is_numeric_dtype(X[name].dtype)]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False, dtype=np.float64)
    columns = make_column_transformer((encoder, text), remainder="passthrough")
    train = columns.fit_transform(X.where(X.notna(), np.nan))
    return train, columns.transform(test_X.where(test_X.notna(), np.nan))


def alpha_grid(X: Floats, y: Floats, leaf_size: int) -> Floats:
    """Return at most 20 values of ``ccp_alpha`` that spread the sizes of the pruned trees evenly.

    The path has about one step per leaf, so steps are taken at ratios from its end, the root. Each
    value lies between those of two steps (geometric mean), where the tree does not change.
    """
    tree = DecisionTreeRegressor(min_samples_leaf=leaf_size, random_state=0)
    alphas = np.unique(tree.cost_complexity_pruning_path(X, y).ccp_alphas.clip(min=0.0))
    between = np.append(np.sqrt(alphas[:-1] * alphas[1:]), alphas[-1])
    steps = np.unique(np.geomspace(1, len(alphas), MAX_ALPHAS).round().astype(int))
    return np.unique(between[len(alphas) - steps])


class _Wide(NamedTuple):
    """A draw with its text as indicators."""

    X: Floats
    test_X: Floats
    draw: Draw
    encoding: float

    def tuned_trees(self) -> Iterator[tuple[str, Figures]]:
        """Yield scikit-learn's tree with a cross-validated alpha: leaves of one row, and of three.

        The second is one search over alphas and leaf sizes, as three searches over the same folds.
        """
        searches, seconds = [], []
        for leaf_size in LEAF_SIZES:
            search, spent = _timed(partial(self._search, leaf_size))
            searches.append(search)
            seconds.append(spent)
        best = max(searches, key=lambda search: search.best_score_)
        yield CCP, self._of_search(searches[0], seconds[0])
        yield CCP_LEAF_SIZE, self._of_search(best, sum(seconds))

    def _search(self, leaf_size: int) -> GridSearchCV:
        tree = DecisionTreeRegressor(min_samples_leaf=leaf_size, random_state=0)
        folds = KFold(FOLDS, shuffle=True, random_state=self.draw.seed)
        grid = {"ccp_alpha": alpha_grid(self.X, self.draw.y, leaf_size)}
        search = GridSearchCV(tree, grid, cv=folds, scoring="neg_mean_squared_error")
        return search.fit(self.X, self.draw.y)

    def _of_search(self, search: GridSearchCV, seconds: float) -> Figures:
        leaves = search.best_estimator_.get_n_leaves()
        return _figures(search.predict(self.test_X), self.draw, leaves, seconds + self.encoding)

    def fitted(self, make: Callable[[], Any]) -> Figures:
        model, seconds = _timed(lambda: make().fit(self.X, self.draw.y))
        predictions = model.predict(self.test_X)
        return _figures(predictions, self.draw, _leaves(model), seconds + self.encoding)


def _treebound(options: dict[str, Any]) -> Any:
    return getattr(tb, REGRESSOR)(**options)


def _one_lightgbm_tree() -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_estimators=1, learning_rate=1.0, num_leaves=75, n_jobs=1, verbose=-1)


_UNTUNED: dict[str, Callable[[], Any]] = {
    UNPRUNED: lambda: DecisionTreeRegressor(random_state=0),
    LIGHTGBM: _one_lightgbm_tree,
    FOREST: lambda: RandomForestRegressor(max_features=1 / 3, random_state=0, n_jobs=1),
    CONSTANT: DummyRegressor,
}


def _leaves(model: Any) -> float:
    """Return the number of leaves of a model; of a forest, of all its trees."""
    if hasattr(model, "estimators_"):
        return sum(_leaves(tree) for tree in model.estimators_)
    if hasattr(model, "booster_"):
        return float(model.booster_.dump_model()["tree_info"][0]["num_leaves"])
    return float(model.get_n_leaves()) if hasattr(model, "get_n_leaves") else 1.0


def _timed(compute: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result, and the processor time that it took."""
    start = time.process_time()
    result = compute()
    return result, time.process_time() - start


def _figures(predictions: Floats, draw: Draw, leaves: float, seconds: float) -> Figures:
    errors = np.asarray(predictions, dtype=np.float64) - draw.test_y
    return {
        "squared error": float(np.mean(errors**2)),
        "absolute error": float(np.mean(np.abs(errors))),
        "leaves": float(leaves),
        "seconds": seconds,
    }
