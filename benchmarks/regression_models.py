"""Methods of the regression benchmark, and what is measured of them on a draw of a table.

Text columns are one-hot encoded for the rivals, on the training rows of a draw and before any
search; every rival's time includes the encoding. Missing values stay missing. Trees of treebound
read the table as it is.
"""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from catalogue import REGRESSION, TableSpec, load
from evidence import Figures, Task, draw_rows, source_hash
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

import treebound as tb

Floats = NDArray[np.float64]

CCP = "scikit-learn, ccp_alpha"
CCP_LEAF_SIZE = "scikit-learn, ccp_alpha and leaf size"
UNPRUNED = "scikit-learn, unpruned"
LIGHTGBM = "LightGBM, one tree of 75 leaves"
FOREST = "random forest"
CONSTANT = "constant"
RIVALS = (CCP, CCP_LEAF_SIZE, UNPRUNED, LIGHTGBM, FOREST, CONSTANT)
TREEBOUND: dict[str, dict[str, Any]] = {
    "treebound, default": {},
    "treebound, no certificate": {"certificate": None},  # differs from 10,000 rows on
    "treebound, size='accurate'": {"size": "accurate"},
    "treebound, size='small'": {"size": "small"},
    "treebound, cost-complexity": {"pruning": "cost-complexity"},
}
# One task searches over the alphas of every leaf size; the search over leaves of one row is part of
# it, and its figures are stored under names that begin with this.
PART = "leaf size 1: "
LEAF_SIZES = (1, 5, 20)
MAX_ALPHAS = 20
FOLDS = 5
MAX_TRAIN = 10_000


class Draw(NamedTuple):
    """Training and test rows of a table, and the seed of their draw."""

    X: pd.DataFrame
    y: Floats
    test_X: pd.DataFrame
    test_y: Floats
    seed: int


def methods() -> tuple[list[str], list[str]]:
    """Return the names of the methods that can run here, and a reason for each other group."""
    names, reasons = [*TREEBOUND, *RIVALS], []
    if find_spec("lightgbm") is None:
        names.remove(LIGHTGBM)
        reasons.append("lightgbm is not installed; its row is skipped")
    return names, reasons


# -- tasks -----------------------------------------------------------------------------------------


def task_of(spec: TableSpec, draw: int, method: str) -> Task:
    """Return the task whose result has the figures of a method on a draw of a table."""
    stored_as = CCP_LEAF_SIZE if method == CCP else method
    return Task(spec.name, draw, stored_as, _version(spec, stored_as))


def _version(spec: TableSpec, method: str) -> str:
    """Return what a result depends on: the release of the method, and the columns of the table."""
    columns = "\n".join((spec.sha256, spec.target, *spec.drop, str(MAX_TRAIN)))
    return f"{_release(method)}, table {hashlib.sha256(columns.encode()).hexdigest()[:12]}"


@cache
def _release(method: str) -> str:
    if method in TREEBOUND:
        return f"treebound {source_hash(Path(tb.__file__).parent)}"
    package = "lightgbm" if method == LIGHTGBM else "scikit-learn"
    return f"{package} {version(package)}"


def figures_of(method: str, stored: Figures) -> Figures:
    """Return the figures of a method out of the result of its task."""
    if method == CCP:
        return {n.removeprefix(PART): value for n, value in stored.items() if n.startswith(PART)}
    return {name: value for name, value in stored.items() if not name.startswith(PART)}


def work(task: Task) -> Figures:
    """Fit the method of a task and measure it."""
    X, y = columns_and_target(task.table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=UserWarning)  # texts that no training row has
        return measure(rows_of_draw(X, y, task.draw), task.method)


@cache
def columns_and_target(name: str) -> tuple[pd.DataFrame, Floats]:
    """Return the columns and the target of a table; a process loads it once."""
    X, y = load(next(spec for spec in REGRESSION if spec.name == name))
    return X, y.to_numpy(dtype=np.float64)


def rows_of_draw(X: pd.DataFrame, y: Floats, draw: int) -> Draw:
    """Return 85 % of the rows to train, ``MAX_TRAIN`` at most, and the other 15 % to test."""
    train, test = draw_rows(len(y), draw)
    train = train[:MAX_TRAIN]
    return Draw(X.iloc[train], y[train], X.iloc[test], y[test], draw)


# -- measuring -------------------------------------------------------------------------------------


def measure(draw: Draw, method: str) -> Figures:
    """Return the figures of a method on one draw."""
    if method in TREEBOUND:
        regressor = tb.BoundTreeRegressor(**TREEBOUND[method])
        model, seconds = _timed(partial(regressor.fit, draw.X, draw.y))
        return _figures(model.predict(draw.test_X), draw, model.n_leaves_, seconds)
    (X, test_X), encoding = _timed(lambda: one_hot(draw.X, draw.test_X))
    if method == CCP_LEAF_SIZE:
        return _tuned_trees(X, test_X, draw, encoding)
    model, seconds = _timed(lambda: _UNTUNED[method]().fit(X, draw.y))
    return _figures(model.predict(test_X), draw, _leaves(model), seconds + encoding)


def one_hot(X: pd.DataFrame, test_X: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return training and test rows with an indicator for each text of the training rows."""
    text = [name for name in X if not pd.api.types.is_numeric_dtype(X[name].dtype)]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False, dtype=np.float64)
    columns = make_column_transformer((encoder, text), remainder="passthrough")
    train = columns.fit_transform(X.where(X.notna(), np.nan))
    return train, columns.transform(test_X.where(test_X.notna(), np.nan))


class TunedTree(NamedTuple):
    """A tree with a cross-validated alpha, its score, and the processor time of the search."""

    tree: DecisionTreeRegressor
    score: float
    seconds: float | None


def _tuned_trees(X: Floats, test_X: Floats, draw: Draw, encoding: float) -> Figures:
    """Measure scikit-learn's tree with a cross-validated alpha, for the best leaf size and for 1.

    One search over alphas and leaf sizes is done as a search per leaf size over the same folds. The
    first draw of a table is for the time that scikit-learn takes; on the others its result is
    computed in a tenth of that time.
    """
    search = grid_search if draw.seed == 0 else short_search
    searches = [search(X, draw.y, leaf_size, draw.seed) for leaf_size in LEAF_SIZES]

    def measured(tuned: TunedTree, seconds: list[float | None]) -> Figures:
        known = [s for s in seconds if s is not None]
        spent = encoding + sum(known) if len(known) == len(seconds) else None
        return _figures(tuned.tree.predict(test_X), draw, tuned.tree.get_n_leaves(), spent)

    best = max(searches, key=lambda tuned: tuned.score)
    part = measured(searches[0], [searches[0].seconds])
    whole = measured(best, [tuned.seconds for tuned in searches])
    return whole | {PART + name: value for name, value in part.items()}


def grid_search(X: Floats, y: Floats, leaf_size: int, seed: int) -> TunedTree:
    """Choose ``ccp_alpha`` as scikit-learn's users do."""

    def search() -> GridSearchCV:
        tree = DecisionTreeRegressor(min_samples_leaf=leaf_size, random_state=0)
        grid = {"ccp_alpha": alpha_grid(X, y, leaf_size)}
        return GridSearchCV(tree, grid, cv=_folds(seed), scoring="neg_mean_squared_error").fit(X, y)

    result, seconds = _timed(search)
    return TunedTree(result.best_estimator_, float(result.best_score_), seconds)


def short_search(X: Floats, y: Floats, leaf_size: int, seed: int) -> TunedTree:
    """Return the result of ``grid_search``, from one tree per fold instead of one per alpha."""
    alphas = alpha_grid(X, y, leaf_size)
    errors = np.zeros(len(alphas))
    for train, validation in _folds(seed).split(X):
        tree = DecisionTreeRegressor(min_samples_leaf=leaf_size, random_state=0)
        tree.fit(X[train], y[train])
        errors += pruned_errors(tree, X[validation], y[validation], alphas) / FOLDS
    best = int(np.argmin(errors))
    tree = DecisionTreeRegressor(
        min_samples_leaf=leaf_size, ccp_alpha=alphas[best], random_state=0
    )  # fmt: skip
    return TunedTree(tree.fit(X, y), -float(errors[best]), None)


def _folds(seed: int) -> KFold:
    return KFold(FOLDS, shuffle=True, random_state=seed)


def pruned_errors(tree: DecisionTreeRegressor, X: Floats, y: Floats, alphas: Floats) -> Floats:
    """Return the mean squared error of a tree pruned with each ``ccp_alpha``.

    The pruned tree has the least cost: impurity plus alpha per leaf. So a node is a leaf of it if
    its cost as a leaf is not above that of the best subtree below it (Breiman et al. 1984, 3.3).
    """
    nodes = tree.tree_
    left, right = nodes.children_left, nodes.children_right
    rows = nodes.weighted_n_node_samples
    cost = (nodes.impurity * rows / rows[0])[:, None] + alphas
    is_leaf = np.ones(cost.shape, dtype=bool)
    levels = list(_inner_levels(left, right))
    for level in reversed(levels):
        below = cost[left[level]] + cost[right[level]]
        is_leaf[level] = (cost[level] <= below) & (alphas > 0.0)  # at 0 nothing is pruned
        cost[level] = np.minimum(cost[level], below)
    values = np.repeat(nodes.value[:, 0], len(alphas), axis=1)
    for level in levels:
        for child in (left[level], right[level]):
            values[child] = np.where(is_leaf[level], values[level], values[child])
            is_leaf[child] |= is_leaf[level]
    errors = values[tree.apply(X)] - y[:, None]
    return np.asarray((errors**2).mean(axis=0))


def _inner_levels(left: NDArray[np.intp], right: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Yield the inner nodes of each depth, from the root."""
    level = np.zeros(1, dtype=np.intp)
    while len(level := level[left[level] >= 0]):
        yield level
        level = np.concatenate([left[level], right[level]])


def alpha_grid(X: Floats, y: Floats, leaf_size: int) -> Floats:
    """Return at most 20 values of ``ccp_alpha`` that spread the sizes of the pruned trees evenly.

    The path has about one step per leaf, so steps are taken at ratios from its end, the root. Each
    value is the geometric mean of those of two steps, between which the tree does not change.
    """
    tree = DecisionTreeRegressor(min_samples_leaf=leaf_size, random_state=0)
    alphas = np.unique(tree.cost_complexity_pruning_path(X, y).ccp_alphas.clip(min=0.0))
    between = np.append(np.sqrt(alphas[:-1] * alphas[1:]), alphas[-1])
    steps = np.unique(np.geomspace(1, len(alphas), MAX_ALPHAS).round().astype(int))
    return np.unique(between[len(alphas) - steps])


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


def _figures(predictions: Floats, draw: Draw, leaves: float, seconds: float | None) -> Figures:
    errors = np.asarray(predictions, dtype=np.float64) - draw.test_y
    return {
        "squared error": float(np.mean(errors**2)),
        "absolute error": float(np.mean(np.abs(errors))),
        "leaves": float(leaves),
        "seconds": seconds,
    }
