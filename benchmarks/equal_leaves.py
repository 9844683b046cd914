"""Trees of at most 4, 8 and 16 leaves, and of their own size, on tables of up to 5,000 rows.

    python benchmarks/equal_leaves.py [--limit 5] [--optimal-draws 3] [--methods NAME ...]
    python benchmarks/equal_leaves.py --test-half

The tables and the draws are those of ``unseen.py``. At most 4, 8 or 16 leaves: our classifier with
``max_leaves``; scikit-learn's best-first trees with ``max_leaf_nodes`` and its depth-limited trees,
whose depth 2, 3 or 4 allows as many leaves; pystreed and pycontree, which are optimal for such a
depth; and the optimal trees of imodels, whose price per leaf is 0.1 divided by the number of
leaves, and is doubled until the tree has at most that many. "Free" is the size that a method
chooses: our default; ``ccp_alpha``, or the depth from 1 to 12, by 5 folds for scikit-learn; 2, 4, 8
or 16 leaves by 5 folds for pystreed, each of these searches with a fifth of the time; the default
price of imodels. pycontree has no such choice.

Other libraries have one-hot columns and medians for missing values. pystreed has 5 thresholds per
column, its default; imodels and pycontree have all of them.

Optimal trees take long, and so do the folds of other libraries. Both have the first 3 draws of each
table, and all 20 if these took at most half a second each. Optimal trees have 5 seconds per fit: a
search that reaches this limit returns its best tree so far, and the share of such fits is shown.
The full protocol is ``--optimal-draws 20 --limit 60``, which takes days. A fit that does not return
within three times the limit of processor time is ended; it counts as cut off. All methods use one
thread, and seconds are processor time of the fit, without the encoding.

As in ``unseen.py``, results are stored after every fit, the development half is the default, and a
run of the test half is appended to ``benchmarks/results/equal_leaves_log.json``.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from catalogue import CLASSIFICATION, load
from evidence import (
    CUT_OFF,
    Figures,
    Store,
    Task,
    add_options,
    append_to_log,
    chosen_tables,
    commit,
    compare,
    figure_by_table,
    mean_over_tables,
    now,
    run_tasks,
    save,
    single_threaded,
    source_hash,
)
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier
from unseen import Data, draw_data, encoder, fit_ours, spread

import treebound as tb

MAX_ROWS = 5_000
SIZES: dict[str, int | None] = {"4": 4, "8": 8, "16": 16, "free": None}
BOUNDED = (2, 4, 8, 16)  # leaves among which folds choose a size for pystreed
QUICK = 0.5  # seconds of a fit: slow methods have all draws of a table on which they take no more
TUNING_SHARE = 5  # of the time of a search, one part for each search of the folds
REFERENCE = "treebound"
Matrix = NDArray[np.float64]
Codes = NDArray[np.intp]


class Fit(NamedTuple):
    """A fitted tree: its predictions as class codes, and its number of leaves."""

    predict: Callable[[Matrix], NDArray[Any]]
    leaves: int


# -- methods ---------------------------------------------------------------------------------------


def fit_best_first(X: Matrix, y: Codes, leaves: int | None, limit: float) -> Fit:
    """Fit scikit-learn's best-first tree; without a size, its cost-complexity is chosen."""
    tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0)
    if leaves is None:
        path = tree.cost_complexity_pruning_path(X, y)
        grid = {"ccp_alpha": spread(np.unique(path.ccp_alphas.clip(min=0.0)))}
        tree = GridSearchCV(tree, grid, cv=5).fit(X, y).best_estimator_
    tree.fit(X, y)
    return Fit(tree.predict, int(tree.get_n_leaves()))


def fit_depth(X: Matrix, y: Codes, leaves: int | None, limit: float) -> Fit:
    """Fit scikit-learn's depth-limited tree; without a size, its depth is chosen."""
    tree = DecisionTreeClassifier(max_depth=depth(leaves), random_state=0)
    if leaves is None:
        tree = GridSearchCV(tree, {"max_depth": range(1, 13)}, cv=5).fit(X, y).best_estimator_
    tree.fit(X, y)
    return Fit(tree.predict, int(tree.get_n_leaves()))


def fit_streed(X: Matrix, y: Codes, leaves: int | None, limit: float) -> Fit:
    """Fit the optimal tree of a depth on binary features; without a size, 5 folds choose it."""
    from pystreed import STreeDClassifier

    # pystreed's own tuning ends the process when its time is over
    if leaves is None:
        tuned = {size: _streed_accuracy(X, y, size, limit / TUNING_SHARE) for size in BOUNDED}
        leaves = max(tuned, key=lambda size: (tuned[size], -size))
    model = STreeDClassifier(
        max_depth=depth(leaves), max_num_nodes=leaves - 1, time_limit=limit
    ).fit(X, y)
    return Fit(model.predict, int(model.get_n_leaves()))


def _streed_accuracy(X: Matrix, y: Codes, leaves: int, limit: float) -> float:
    """Return the accuracy of optimal trees of at most so many leaves by 5 folds."""
    right = 0
    for train, test in StratifiedKFold(5).split(X, y):
        right += int(
            np.sum(fit_streed(X[train], y[train], leaves, limit).predict(X[test]) == y[test])
        )
    return right / len(y)


def fit_contree(X: Matrix, y: Codes, leaves: int | None, limit: float) -> Fit:
    """Fit the optimal tree of a depth on numbers."""
    from pycontree import ConTree

    model = ConTree(max_depth=depth(leaves), time_limit=limit).fit(X, y)
    return Fit(model.predict, int(model.get_num_leaf_nodes()))


def fit_imodels(X: Matrix, y: Codes, leaves: int | None, limit: float) -> Fit:
    """Fit the optimal tree for a price per leaf that keeps it at most as large."""
    from imodels import FastSmallTreeClassifier

    price = 0.05 if leaves is None else 0.1 / leaves
    start = time.monotonic()
    while True:
        remaining = max(limit - (time.monotonic() - start), 0.1)
        model = FastSmallTreeClassifier(regularization=price, time_limit=remaining).fit(X, y)
        if leaves is None or model.n_leaves_ <= leaves:
            return Fit(model.predict, int(model.n_leaves_))
        price *= 2


def depth(leaves: int | None) -> int | None:
    """Return the depth at which a binary tree has this many leaves."""
    return None if leaves is None else int(leaves).bit_length() - 1


class Method(NamedTuple):
    """A method, the package that it needs, and whether it is an optimal search."""

    package: str
    fit: Callable[[Matrix, Codes, int | None, float], Fit] | None
    optimal: bool = False
    free: bool = True


METHODS = {
    REFERENCE: Method("treebound", None),
    "scikit-learn, best-first": Method("scikit-learn", fit_best_first),
    "scikit-learn, depth": Method("scikit-learn", fit_depth),
    "pystreed": Method("pystreed", fit_streed, optimal=True),
    "pycontree": Method("pycontree", fit_contree, optimal=True, free=False),
    "imodels": Method("imodels", fit_imodels, optimal=True),
}


@lru_cache
def method_version(name: str, limit: float) -> str | None:
    """Return the version of a method, with the time limit of a search; None if not installed."""
    if name == REFERENCE:
        return source_hash(Path(tb.__file__).parent)
    try:
        release = f"{METHODS[name].package} {version(METHODS[name].package)}"
    except PackageNotFoundError:
        return None
    return f"{release}, {limit:g} s" if METHODS[name].optimal else release


# -- one fit ---------------------------------------------------------------------------------------


def measure(limit: float, task: Task) -> Figures:
    """Fit a method at a size on a draw, and test it; the task's method is ``name, size``."""
    warnings.filterwarnings("ignore")
    name, size = task.method.rsplit(", ", 1)
    data, leaves = draw_data(task.table, task.draw), SIZES[size]
    fit_method = METHODS[name].fit
    if fit_method is None:
        return _measure_ours(data, leaves)
    X, test_X = _numbers(data)
    classes, y = np.unique(data.y, return_inverse=True)
    _import_packages(name)
    start, wall = time.process_time(), time.monotonic()
    fit = fit_method(X, y, leaves, limit)
    seconds, waited = time.process_time() - start, time.monotonic() - wall
    return {
        "accuracy": 100 * float(np.mean(classes[_codes(fit.predict(test_X))] == data.test_y)),
        "training error": 100 * float(np.mean(_codes(fit.predict(X)) != y)),
        "leaves": fit.leaves,
        "seconds": seconds,
        "at limit": float(METHODS[name].optimal and waited >= 0.95 * limit),
    }


def _measure_ours(data: Data, leaves: int | None) -> Figures:
    start = time.process_time()
    model, size = fit_ours({} if leaves is None else {"max_leaves": leaves}, data)
    seconds = time.process_time() - start
    return {
        "accuracy": 100 * float(np.mean(model.predict(data.test_X) == data.test_y)),
        "training error": 100 * float(np.mean(model.predict(data.X) != data.y)),
        "leaves": size,
        "seconds": seconds,
        "at limit": 0.0,
    }


def _codes(labels: Any) -> Codes:
    return np.asarray(labels).astype(np.intp)


def _numbers(data: Data) -> tuple[Matrix, Matrix]:
    """Return one-hot columns, with medians for missing values."""
    columns, medians = encoder(data.X), SimpleImputer(strategy="median", keep_empty_features=True)
    X = medians.fit_transform(columns.fit_transform(data.X))
    return X, medians.transform(columns.transform(data.test_X))


@lru_cache
def _import_packages(name: str) -> None:
    """Import and compile what a method needs, before its first fit is timed."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    fit = METHODS[name].fit
    assert fit is not None
    fit(X, (X[:, 0] > 0).astype(np.intp), 4, 1.0)


# -- summary ---------------------------------------------------------------------------------------

FIGURES = ("accuracy", "training error", "leaves", "seconds", "at limit")


def summarise(results: Mapping[Task, Figures | str], names: list[str]) -> dict[str, Any]:
    """Return means by size and method, and what our trees have more than each."""
    summary: dict[str, Any] = {}
    for size in SIZES:
        for name in names:
            method = f"{name}, {size}"
            replies = [reply for task, reply in results.items() if task.method == method]
            if not replies:
                continue
            values = {f: figure_by_table(results, method, f) for f in FIGURES}
            row: dict[str, Any] = {f: _rounded(mean_over_tables(values[f])) for f in FIGURES}
            row["fits"] = len(replies)
            row["cut off"] = sum(reply == CUT_OFF for reply in replies)
            row["failed"] = sum(isinstance(r, str) and r != CUT_OFF for r in replies)
            for figure in FIGURES[:2]:
                ours = figure_by_table(results, f"{REFERENCE}, {size}", figure)
                paired = None if name == REFERENCE else compare(ours, values[figure])
                row[f"ours minus method, {figure}"] = (
                    None if paired is None
                    else {key: _rounded(value) for key, value in paired._asdict().items()}
                )  # fmt: skip
            summary[method] = row
    return summary


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def show(summary: Mapping[str, Any]) -> Table:
    """Return the table that is printed."""
    titles = ("method, leaves at most", "accuracy %", "training error %", "leaves", "seconds",
              "fits", "at limit %", "cut off", "accuracy: ours minus method", "better/worse", "p",
              "training error")  # fmt: skip
    table = Table(*titles, box=None)
    for method, row in summary.items():
        if row["accuracy"] is None:
            table.add_row(method, *[""] * 4, str(row["fits"]), "", str(row["cut off"]))
            continue
        accuracy, training = (row[f"ours minus method, {figure}"] for figure in FIGURES[:2])
        cells = ("", "", "", "")
        if accuracy is not None:
            p_value = accuracy["p_value"]
            cells = (
                _difference(accuracy),
                f"{accuracy['better']:.0f}/{accuracy['worse']:.0f} of {accuracy['tables']:.0f}",
                "" if p_value is None else f"{p_value:.2g}",
                _difference(training),
            )
        table.add_row(
            method, f"{row['accuracy']:.2f}", f"{row['training error']:.2f}",
            f"{row['leaves']:.1f}", f"{row['seconds']:.3f}", str(row["fits"]),
            f"{100 * row['at limit']:.0f}", str(row["cut off"]), *cells,
        )  # fmt: skip
    return table


def _difference(paired: Mapping[str, Any]) -> str:
    error = paired["standard_error"]
    return f"{paired['difference']:+.2f}" + ("" if error is None else f" ± {error:.2f}")


def plot(summary: Mapping[str, Any], names: list[str], path: Path) -> None:
    """Draw the difference in accuracy from every method at every size."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rivals = [name for name in names if name != REFERENCE]
    figure, ax = plt.subplots(figsize=(7.0, 3.6))
    for i, name in enumerate(rivals):
        points = [
            (at, summary[f"{name}, {size}"]["ours minus method, accuracy"])
            for at, size in enumerate(SIZES)
            if summary.get(f"{name}, {size}", {}).get("ours minus method, accuracy")
        ]
        places = [at + 0.12 * (i - (len(rivals) - 1) / 2) for at, _ in points]
        gaps = [paired["difference"] for _, paired in points]
        errors = [2 * (paired["standard_error"] or 0.0) for _, paired in points]
        ax.errorbar(places, gaps, yerr=errors, fmt="o", markersize=5, capsize=3, label=name)
    ax.axhline(0.0, color="black", linewidth=0.8)
    labels = [f"at most {size} leaves" if SIZES[size] else "own size" for size in SIZES]
    ax.set_xticks(range(len(SIZES)), labels)
    ax.set_ylabel("test accuracy, treebound\nminus the method, in points")
    ax.set_title("mean over tables ± 2 standard errors", fontsize=9)
    ax.legend(fontsize=8, frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


# -- command line ----------------------------------------------------------------------------------


def first_tasks(tables: Sequence[str], names: list[str], options: argparse.Namespace) -> list[Task]:
    """Return the fits that do not depend on how long others take."""
    return [
        Task(table, draw, f"{name}, {size}", label)
        for table in tables
        for draw in range(options.draws)
        for name in names
        if (label := method_version(name, options.limit)) is not None
        for size in SIZES
        if METHODS[name].free or SIZES[size]
        if draw < options.optimal_draws or not is_slow(name, size)
    ]


def is_slow(name: str, size: str) -> bool:
    """Return True for optimal searches, and for other libraries' folds."""
    return METHODS[name].optimal or (SIZES[size] is None and name != REFERENCE)


def other_draws(results: Mapping[Task, Figures | str], options: argparse.Namespace) -> list[Task]:
    """Return the remaining draws of slow methods on tables where their first draws were quick."""
    seconds: dict[Task, list[float]] = defaultdict(list)
    for task, reply in results.items():
        if is_slow(*task.method.rsplit(", ", 1)):
            taken = float("inf") if isinstance(reply, str) else reply["seconds"] or 0.0
            seconds[task._replace(draw=0)].append(taken)
    return [
        task._replace(draw=draw)
        for task, first in seconds.items()
        if sum(first) <= QUICK * len(first)
        for draw in range(options.optimal_draws, options.draws)
    ]


def main(arguments: list[str] | None = None) -> None:
    """Run what has no result, print one table, and write JSON and a plot."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0],
        epilog=(__doc__ or "").split("\n\n", 2)[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_options(
        parser, store="equal_leaves.sqlite", log="equal_leaves_log.json",
        methods="; ".join(METHODS),
    )  # fmt: skip
    parser.add_argument("--limit", type=float, default=5.0, help="seconds per optimal search")
    parser.add_argument(
        "--optimal-draws", type=int, default=3, help="draws of what takes long on a table"
    )
    options = parser.parse_args(arguments)
    names = options.methods or list(METHODS)
    unknown = [name for name in [*names, *options.again] if name not in METHODS]
    if unknown:
        parser.error(f"no method {'; '.join(unknown)}; there are {'; '.join(METHODS)}")
    for name in names:
        if method_version(name, options.limit) is None:
            print(f"{METHODS[name].package} is not installed: {name} is skipped", file=sys.stderr)
    single_threaded()
    specs = chosen_tables(
        CLASSIFICATION, "test" if options.test_half else "development", options.match
    )
    tables = [spec.name for spec in specs if len(load(spec)[1]) <= MAX_ROWS]
    if not tables:
        parser.error("no table can be loaded; hint: pip install 'treebound[bench]'")
    tasks = first_tasks(tables, names, options)
    with Store(options.store) as store:
        for name in options.again:
            for size in SIZES:
                store.forget(f"{name}, {size}", tables)
        run = partial(
            run_tasks, work=partial(measure, options.limit), store=store, jobs=options.jobs,
            limit=3 * options.limit + 30, patience=2,
        )  # fmt: skip
        try:
            run(tasks)
            tasks += other_draws(store.results(tasks), options)
            run(tasks)
        except KeyboardInterrupt:
            sys.exit("interrupted: the same command continues")
        results = store.results(tasks)
    report(results, tables, names, options)


def report(
    results: Mapping[Task, Figures | str],
    tables: list[str],
    names: list[str],
    options: argparse.Namespace,
) -> None:
    """Print the results, write them, and log a run of the test half."""
    failures = sorted({f"{task.method}: {reply}" for task, reply in results.items()
                       if isinstance(reply, str) and reply != CUT_OFF})  # fmt: skip
    document = {
        "half": "test" if options.test_half else "development",
        "date": now(),
        "commit": commit(),
        "draws": options.draws,
        "draws of optimal searches": options.optimal_draws,
        "seconds per optimal search": options.limit,
        "tables": tables,
        "failures": failures,
        "methods": summarise(results, names),
    }
    Console(width=190).print(show(document["methods"]))
    for line in failures[:10]:
        print("failed:", line)
    stem = "equal_leaves_test" if options.test_half else "equal_leaves"
    save(options.results, stem, document)
    plot(document["methods"], names, options.results / f"{stem}.png")
    if options.test_half:
        looks = append_to_log(options.log, {**document, "tables": len(tables)})
        print(f"{options.log} now has {looks} entries")


if __name__ == "__main__":
    main()
