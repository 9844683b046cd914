"""Tables, what grows trees of them, and how long it takes: shared by the benchmarks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import treebound as tb
from treebound.data import Sample
from treebound.data.numeric_target import NumericTarget
from treebound.growing import GrowOptions, grow, grow_numbers

LEAVES = 75
Job = Callable[[], Any]
Table = dict[str, dict[str, float]]


# -- data ----------------------------------------------------------------------------------


def real_sample(
    rows: int, columns: int = 20, n_classes: int = 2
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Real columns, ten of them informative, a twentieth of the labels wrong."""
    informative = min(10, columns)
    X, y = make_classification(
        rows, columns, n_informative=informative, n_redundant=min(2, columns - informative),
        n_classes=n_classes, n_clusters_per_class=2 if n_classes <= 500 else 1, flip_y=0.05,
        random_state=0,
    )  # fmt: skip
    return X.astype(np.float32).astype(np.float64), y  # scikit-learn looks at 32 bits


def number_samples(rows: int) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Twenty real columns and numbers: five columns matter, ten do, or none."""
    rng = np.random.default_rng(0)
    X = rng.random((rows, 20)).astype(np.float32).astype(np.float64)
    friedman = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    friedman += 10 * X[:, 3] + 5 * X[:, 4] + rng.normal(size=rows)
    normal = rng.normal(size=(rows, 20)).astype(np.float32).astype(np.float64)
    linear = normal[:, :10] @ np.linspace(1, 2, 10) + 2 * rng.normal(size=rows)
    return {
        "Friedman 1": (X, friedman),
        "linear": (normal, linear),
        "noise": (normal, rng.normal(size=rows)),
    }


def mixed_sample(rows: int, categories: int) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Five real and five nominal columns; every category has its own effect."""
    rng = np.random.default_rng(0)
    real = rng.normal(size=(rows, 5)).astype(np.float32).astype(np.float64)
    codes = rng.integers(0, categories, size=(rows, 5))
    effects = rng.normal(size=(5, categories))
    score = real[:, 0] + rng.normal(size=rows)
    frame = pd.DataFrame(real, columns=[f"r{j}" for j in range(5)])
    names = [f"c{k}" for k in range(categories)]
    for j in range(5):
        score += effects[j][codes[:, j]]
        frame[f"n{j}"] = pd.Categorical.from_codes(codes[:, j], names)
    return frame, (score > 0).astype(np.int64)


def kinds_of_data(rows: int) -> dict[str, tuple[Any, Any, Any]]:
    """Table, target and weights, by name."""
    rng = np.random.default_rng(0)
    X, y = real_sample(rows)
    integers = rng.integers(0, 40, size=(rows, 20)).astype(float)
    score = integers[:, :5].sum(axis=1) + 5 * np.sin(integers[:, 5]) + 15 * rng.normal(size=rows)
    ties = np.exp(rng.normal(size=(rows, 20)))
    ties[rng.random((rows, 20)) < 0.5] = 0.0
    ties[:, ::3] = ties[:, ::3].round(1)
    total = np.log1p(ties[:, :6]).sum(axis=1) + rng.normal(size=rows)
    gaps = X.copy()
    gaps[rng.random(X.shape) < 0.05] = np.nan
    return {
        "2 classes": (X, y, None),
        "10 classes": (*real_sample(rows, n_classes=10), None),
        "noise": (rng.normal(size=(rows, 20)), rng.integers(0, 2, rows), None),
        "integers": (integers, (score > 100).astype(np.int64), None),
        "heavy ties": (ties, (total > np.median(total)).astype(np.int64), None),
        "missing values": (gaps, y, None),
        "whole weights": (X, y, rng.integers(1, 5, rows)),
        "float32": (X.astype(np.float32), y, None),
        "mixed columns": (*mixed_sample(rows, 30), None),
    }


# -- growers -------------------------------------------------------------------------------


def ours(X: Any, y: Any, leaves: int | None = LEAVES, **options: Any) -> Job:
    """A fit of the classifier without pruning, and so without folds."""
    options = {"criterion": "gini", "cv": None, "certificate": "training", **options}
    return lambda: tb.BoundTreeClassifier(pruning=None, max_leaves=leaves, **options).fit(X, y)


def scikit_learn(X: Any, y: Any, criterion: str = "gini", leaves: int | None = LEAVES) -> Job:
    """scikit-learn's best-first tree."""
    tree = DecisionTreeClassifier(max_leaf_nodes=leaves, criterion=criterion, random_state=0)
    return lambda: tree.fit(X, y)


def one_hot(X: pd.DataFrame, y: Any, as_sparse: bool, leaves: int | None = LEAVES) -> Job:
    """scikit-learn's tree on one-hot columns, their making included."""
    real = X.select_dtypes("number").columns
    nominal = X.columns.difference(real)

    def fit() -> Any:
        hot = OneHotEncoder(sparse_output=as_sparse, dtype=np.float32).fit_transform(X[nominal])
        numbers = X[real].to_numpy(np.float32)
        if as_sparse:
            table = sparse.hstack([sparse.csc_matrix(numbers), hot], "csc")
            return scikit_learn(table, y, leaves=leaves)()
        return scikit_learn(np.hstack([numbers, hot]), y, leaves=leaves)()

    return fit


def light_gbm(X: Any, y: Any) -> dict[str, Job]:
    """One boosted tree, on a Dataset and with it; nothing where LightGBM is not installed."""
    try:
        import lightgbm
    except ImportError:
        return {}
    options = {
        "objective": "binary", "num_leaves": LEAVES, "min_data_in_leaf": 1, "num_threads": 1,
        "verbose": -1,
    }  # fmt: skip

    def made() -> Any:
        return lightgbm.Dataset(X, y, params=options, free_raw_data=False).construct()

    ready = made()
    return {
        "LightGBM": lambda: lightgbm.train(options, ready, 1),
        "with Dataset": lambda: lightgbm.train(options, made(), 1),
    }


def kernel(sample: Sample, leaves: int | None = LEAVES, **options: Any) -> Job:
    """Growing alone, on a sample that is read already."""
    grown = GrowOptions(max_leaves=leaves)
    return lambda: grow(sample, grown, **options)


def number_kernel(X: Any, y: Any, leaves: int | None = LEAVES) -> Job:
    """Growing alone on numbers, with their integers, on columns that are read already."""
    sample = Sample.learn(X, np.zeros(len(y), dtype=int))
    options = GrowOptions(max_leaves=leaves)
    return lambda: grow_numbers(sample.X, NumericTarget.of(y), options)


def number_scikit_learn(X: Any, y: Any, leaves: int | None = LEAVES) -> Job:
    """scikit-learn's best-first tree of numbers."""
    tree = DecisionTreeRegressor(max_leaf_nodes=leaves, random_state=0)
    return lambda: tree.fit(X, y)


# -- time ----------------------------------------------------------------------------------


def seconds(
    jobs: dict[str, Job],
    budget: float = 3.0,
    most: int = 30,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, float]:
    """The best time of each job; they take turns, until the budget of each is spent.

    A turn repeats a short job for 20 ms: a single run of a millisecond after another library's
    work is a measurement of cold caches.
    """
    best = dict.fromkeys(jobs, np.inf)
    spent = dict.fromkeys(jobs, 0.0)
    for turn in range(most):
        for name, job in jobs.items():
            if turn and spent[name] > budget:
                continue
            turn_end = clock() + 0.02
            while True:
                start = clock()
                job()
                end = clock()
                best[name] = min(best[name], end - start)
                spent[name] += end - start
                if end >= turn_end:
                    break
    return best


def print_times(title: str, table: Table) -> None:
    """Milliseconds, and how many times as long each peer takes."""
    print(f"\n{title}\n")
    for name, took in table.items():
        mine = took["treebound"]
        peers = "".join(
            f"{peer:>14} {1000 * t:10.2f} ms {t / mine:6.1f}x"
            for peer, t in took.items()
            if peer != "treebound"
        )
        print(f"  {name:<32} {1000 * mine:10.2f} ms  {peers}")
