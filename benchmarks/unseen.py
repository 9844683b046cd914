"""The default and its rivals on tables that no choice was made on.

    python benchmarks/unseen.py [--methods NAME ...] [--again NAME ...] [--match TEXT] [--draws 20]
    python benchmarks/unseen.py --test-half

The tables are those of ``catalogue.py``; they install with ``pip install 'treebound[bench]'``. Each
is drawn 20 times, 85/15, and every method has the same draws. Figures are means over draws, then
over tables; differences are paired, with standard errors over tables and Wilcoxon's p value.

The first command runs the development half, on which choices are made. The second runs the test
half, for choices that are final, and appends date, commit and result to
``benchmarks/results/unseen_log.json``.

Settings of the rivals: scikit-learn's trees and forests have one-hot columns, at most 50 per
column; ``ccp_alpha`` is chosen by ``GridSearchCV`` with 5 folds, on the encoded columns, among at
most 20 trees of the pruning path, whose sizes form a geometric sequence. The optimal tree has the
least training error of all trees of depth 3 (pystreed, at most 8 leaves, 5 thresholds per column,
medians for missing values; ``equal_leaves.py`` has other sizes and searches). The forest has 100
trees.
The explainable boosting machine has no interactions, 4 outer bags, at most 1,000 rounds and a
learning rate of 0.05: its default settings take up to minutes per fit. On tables with more than
100,000 rows x classes it has 4 draws. Probabilities are clipped at 0.001 for the log-loss. All
methods use one thread, and seconds are processor time of the fit, including the encoding.

Results are stored after every fit in ``benchmarks/.cache/unseen.sqlite``: an interrupted run
continues, and after a change of treebound's sources only its own methods run again. To compare one
more variant, add a line to ``OURS``.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from catalogue import CLASSIFICATION, TableSpec, load
from evidence import (
    Comparison,
    Figures,
    Store,
    Task,
    add_options,
    append_to_log,
    chosen_tables,
    commit,
    compare,
    draw_rows,
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
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import treebound as tb

MAX_ALPHAS = 20
MAX_CATEGORIES = 50
MIN_PROBABILITY = 1e-3
EBM_SIZE, EBM_DRAWS = 100_000, 4
REFERENCE = "default"


class Data(NamedTuple):
    """The rows of a draw."""

    X: pd.DataFrame
    y: NDArray[Any]
    test_X: pd.DataFrame
    test_y: NDArray[Any]


# -- methods ---------------------------------------------------------------------------------------

# Parameters of our classifier, by the name of the method.
OURS: dict[str, dict[str, Any]] = {
    "default": {},
    "accurate": {"size": "accurate"},
    "wide search": {"search": "wide"},
    "cost-complexity": {"pruning": "cost-complexity"},
    "cost-complexity, Gini": {"pruning": "cost-complexity", "criterion": "gini"},
    "unpruned": {"pruning": None},
}


def fit_ours(options: Mapping[str, Any], data: Data) -> tuple[Any, int]:
    """Fit our classifier, and return it with its number of leaves."""
    model = tb.BoundTreeClassifier(**options).fit(data.X, data.y)
    return model, int(model.n_leaves_)


def encoder(X: pd.DataFrame) -> ColumnTransformer:
    """Return an encoder that makes text one-hot, and leaves numbers as they are."""
    text = [name for name in X if X[name].dtype == object]
    one_hot = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MAX_CATEGORIES, sparse_output=False
    )
    return ColumnTransformer([("text", one_hot, text)], remainder="passthrough")


def fit_grid(data: Data) -> tuple[Any, int]:
    """Choose ``ccp_alpha`` by cross-validation, as scikit-learn's users do."""
    columns, tree = encoder(data.X), DecisionTreeClassifier(random_state=0)
    wide = columns.fit_transform(data.X)
    path = tree.cost_complexity_pruning_path(wide, data.y)
    grid = {"ccp_alpha": spread(np.unique(path.ccp_alphas.clip(min=0.0)))}
    search = GridSearchCV(tree, grid, cv=5).fit(wide, data.y)
    leaves = int(search.best_estimator_.get_n_leaves())
    return Pipeline([("encoder", columns), ("tree", search)]), leaves


def spread(alphas: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return at most 20 of the ascending alphas, with geometric steps from the smallest tree."""
    if len(alphas) <= MAX_ALPHAS:
        return alphas
    from_end = np.unique(np.geomspace(1, len(alphas), MAX_ALPHAS).round().astype(int))
    return np.asarray(alphas[len(alphas) - from_end][::-1])


def fit_forest(data: Data) -> tuple[Any, None]:
    """Fit a random forest with scikit-learn's defaults."""
    forest = RandomForestClassifier(random_state=0, n_jobs=1)
    return Pipeline([("encoder", encoder(data.X)), ("forest", forest)]).fit(data.X, data.y), None


class OptimalTree:
    """The tree of depth 3 with the least training error."""

    def __init__(self, data: Data) -> None:
        from pystreed import STreeDClassifier

        medians = SimpleImputer(strategy="median", keep_empty_features=True)
        self._columns = Pipeline([("encoder", encoder(data.X)), ("medians", medians)])
        self.classes_, codes = np.unique(data.y, return_inverse=True)
        self._tree = STreeDClassifier(max_depth=3, max_num_nodes=7, time_limit=60)
        self._tree.fit(self._columns.fit_transform(data.X), codes)
        self.n_leaves = int(self._tree.get_n_leaves())

    def predict(self, X: pd.DataFrame) -> NDArray[Any]:
        """Predict the classes."""
        codes = np.asarray(self._tree.predict(self._columns.transform(X)))
        return np.asarray(self.classes_[codes.astype(np.intp)])

    def predict_proba(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """Predict the probabilities: shares of training rows in a leaf."""
        return np.asarray(self._tree.predict_proba(self._columns.transform(X)))


def fit_optimal(data: Data) -> tuple[Any, int]:
    """Fit the optimal tree of depth 3."""
    tree = OptimalTree(data)
    return tree, tree.n_leaves


def fit_ebm(data: Data) -> tuple[Any, None]:
    """Fit a small explainable boosting machine."""
    from interpret.glassbox import ExplainableBoostingClassifier

    machine = ExplainableBoostingClassifier(
        interactions=0, outer_bags=4, max_rounds=1000, learning_rate=0.05, random_state=0, n_jobs=1
    )
    return machine.fit(data.X, data.y), None


class Method(NamedTuple):
    """A method, and the version that its stored results belong to."""

    version: str
    fit: Callable[[Data], tuple[Any, int | None]]


def _fit_with(options: Mapping[str, Any]) -> Callable[[Data], tuple[Any, int]]:
    return lambda data: fit_ours(options, data)


def _release(package: str) -> str:
    """Return a package with its version; empty if it is not installed."""
    try:
        return f"{package} {version(package)}"
    except ModuleNotFoundError:
        return ""


@lru_cache
def methods() -> dict[str, Method]:
    """Return the methods by name."""
    sources = source_hash(Path(tb.__file__).parent)
    scikit_learn = f"scikit-learn {version('scikit-learn')}"
    interpret, streed = (_release(name) for name in ("interpret-core", "pystreed"))
    rivals = {
        "scikit-learn, ccp_alpha": Method(
            f"{scikit_learn}, 20 alphas on encoded columns", fit_grid
        ),
        "random forest": Method(f"{scikit_learn}, 100 trees, 50 categories", fit_forest),
        **({"EBM": Method(f"{interpret}, 4 bags, 1000 rounds", fit_ebm)} if interpret else {}),
        **({"optimal, depth 3": Method(f"{streed}, 60 s", fit_optimal)} if streed else {}),
    }
    ours = {
        name: Method(f"{sources} {options}", _fit_with(options)) for name, options in OURS.items()
    }
    return {**ours, **rivals}


# -- one fit ---------------------------------------------------------------------------------------

_SPECS = {spec.name: spec for spec in CLASSIFICATION}


@lru_cache(maxsize=2)
def _table(name: str) -> tuple[pd.DataFrame, NDArray[Any]]:
    X, y = load(_SPECS[name])
    return X, y.to_numpy()


def draw_data(name: str, draw: int) -> Data:
    """Return the rows of a draw of a table."""
    X, y = _table(name)
    train, test = draw_rows(len(y), draw)
    return Data(X.iloc[train].reset_index(drop=True), y[train],
                X.iloc[test].reset_index(drop=True), y[test])  # fmt: skip


def measure(task: Task) -> Figures:
    """Fit a method on a draw, and test it."""
    warnings.filterwarnings("ignore")  # rare classes and constant columns, in every draw
    data = draw_data(task.table, task.draw)
    start = time.process_time()
    model, leaves = methods()[task.method].fit(data)
    seconds = time.process_time() - start
    labels = np.asarray(model.predict(data.test_X))
    return {
        "accuracy": 100 * float(np.mean(labels == data.test_y)),
        "balanced accuracy": 100 * float(balanced_accuracy_score(data.test_y, labels)),
        "log-loss": log_loss(data.test_y, model.predict_proba(data.test_X), model.classes_),
        "leaves": leaves,
        "seconds": seconds,
    }


def log_loss(y: NDArray[Any], probabilities: NDArray[Any], classes: NDArray[Any]) -> float:
    """Return the mean log-loss; a class that training lacks has the smallest probability."""
    position = {label: i for i, label in enumerate(classes)}
    columns = np.array([position.get(label, -1) for label in y])
    values = np.asarray(probabilities)[np.arange(len(y)), columns]
    values = np.where(columns < 0, 0.0, values)
    return float(-np.log(values.clip(MIN_PROBABILITY, 1.0)).mean())


# -- summary ---------------------------------------------------------------------------------------

FIGURES = ("accuracy", "balanced accuracy", "log-loss", "leaves", "seconds")


class TableFacts(NamedTuple):
    """Groups by which the results are broken down."""

    rows: int
    columns: int
    classes: int
    nominal: float
    copies: float


def facts(spec: TableSpec) -> TableFacts:
    """Return the size of a table, and its shares of text columns and of repeated rows."""
    X, y = load(spec)
    nominal = float(np.mean([X[name].dtype == object for name in X]))
    copies = float(X.assign(**{"": y}).duplicated().mean())
    return TableFacts(len(y), X.shape[1], y.nunique(), round(nominal, 3), round(copies, 3))


GROUPS: dict[str, Callable[[TableFacts], bool]] = {
    "fewer than 1,000 rows": lambda t: t.rows < 1000,
    "1,000 to 4,999 rows": lambda t: 1000 <= t.rows < 5000,
    "5,000 rows and more": lambda t: t.rows >= 5000,
    "2 classes": lambda t: t.classes == 2,
    "3 to 6 classes": lambda t: 3 <= t.classes < 7,
    "7 classes and more": lambda t: t.classes >= 7,
    "no nominal columns": lambda t: t.nominal == 0,
    "less than half nominal": lambda t: 0 < t.nominal < 0.5,
    "half nominal and more": lambda t: t.nominal >= 0.5,
    "less than half repeated rows": lambda t: t.copies < 0.5,
    "half repeated rows and more": lambda t: t.copies >= 0.5,
}


def summarise(
    results: Mapping[Task, Figures | str], tables: Mapping[str, TableFacts], names: list[str]
) -> dict[str, Any]:
    """Return means by method, differences from the default, and both by groups of tables."""
    values = {(n, f): figure_by_table(results, n, f) for n in names for f in FIGURES}
    reference = REFERENCE if REFERENCE in names else names[0]
    summary: dict[str, Any] = {"reference": reference, "methods": {}, "groups": {}}
    for name in names:
        means = {
            f: _rounded(mean_over_tables(values[name, f], geometric=f in ("leaves", "seconds")))
            for f in FIGURES
        }
        differences = {
            f: _as_dict(compare(values[reference, f], values[name, f])) for f in FIGURES[:3]
        }
        summary["methods"][name] = {**means, "reference minus method": differences}
    for group, contains in GROUPS.items():
        members = [table for table, size in tables.items() if contains(size)]
        summary["groups"][group] = {
            "tables": len(members),
            **{
                name: _as_dict(
                    compare(values[reference, "accuracy"], values[name, "accuracy"], members)
                )
                for name in names
                if name != reference
            },
        }
    summary["tables"] = {
        table: {
            **size._asdict(),
            "accuracy": {n: _mean(values[n, "accuracy"].get(table)) for n in names},
            "leaves": {n: _mean(values[n, "leaves"].get(table)) for n in names},
        }
        for table, size in tables.items()
    }
    return summary


def _mean(draws: Mapping[int, float] | None) -> float | None:
    return round(float(np.mean(list(draws.values()))), 3) if draws else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _as_dict(comparison: Comparison | None) -> dict[str, Any] | None:
    if comparison is None:
        return None
    fields = comparison._asdict()
    rounded = {key: _rounded(fields[key]) for key in ("difference", "standard_error")}
    p_value = comparison.p_value
    return {**fields, **rounded, "p_value": None if p_value is None else float(f"{p_value:.2g}")}


# -- output ----------------------------------------------------------------------------------------


def show(summary: Mapping[str, Any]) -> Table:
    """Return the table that is printed: methods, then groups of tables."""
    reference = summary["reference"]
    titles = ("method", "accuracy %", "balanced %", "log-loss", "leaves", "seconds",
              f"{reference} minus method", "better/worse", "p")  # fmt: skip
    table = Table(*titles, box=None)
    for name, row in summary["methods"].items():
        leaves = "" if row["leaves"] is None else f"{row['leaves']:.1f}"
        difference = None if name == reference else row["reference minus method"]["accuracy"]
        table.add_row(
            name, f"{row['accuracy']:.2f}", f"{row['balanced accuracy']:.2f}",
            f"{row['log-loss']:.3f}", leaves, f"{row['seconds']:.3f}",
            *_difference_cells(difference),
        )  # fmt: skip
    for group, row in summary["groups"].items():
        for name, comparison in row.items():
            if name in GROUP_RIVALS and comparison is not None:
                title = f"{name}: {group} ({row['tables']})"
                table.add_row(title, *[""] * 5, *_difference_cells(comparison))
    return table


GROUP_RIVALS = ("cost-complexity, Gini", "scikit-learn, ccp_alpha")


def _difference_cells(comparison: Mapping[str, Any] | None) -> tuple[str, str, str]:
    if comparison is None:
        return "", "", ""
    error, p_value = comparison["standard_error"], comparison["p_value"]
    return (
        f"{comparison['difference']:+.2f}" + ("" if error is None else f" ± {error:.2f}"),
        f"{comparison['better']}/{comparison['worse']}",
        "" if p_value is None else f"{p_value:.2g}",
    )


def plot(summary: Mapping[str, Any], path: Path) -> None:
    """Draw the difference in accuracy from every method, table by table."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    reference = summary["reference"]
    names = [name for name in summary["methods"] if name != reference]
    tables = summary["tables"].values()
    figure, ax = plt.subplots(figsize=(7.0, 0.55 * len(names) + 1.4))
    rng = np.random.default_rng(0)
    for at, name in enumerate(reversed(names)):
        pairs = [(t["accuracy"][reference], t["accuracy"][name]) for t in tables]
        gaps = np.array([a - b for a, b in pairs if a is not None and b is not None])
        heights = at + rng.uniform(-0.22, 0.22, len(gaps))
        ax.scatter(gaps.clip(-8, 8), heights, s=9, color="#7a7a7a", alpha=0.6, linewidths=0)
        row = summary["methods"][name]["reference minus method"]["accuracy"]
        if row is not None:
            error = 2 * (row["standard_error"] or 0.0)
            ax.errorbar(row["difference"], at, xerr=error, fmt="o", color="#c0392b", capsize=3)
    ax.axvline(0.0, color="black", linewidth=0.8)
    ax.set_yticks(range(len(names)), list(reversed(names)))
    ax.set_xlim(-8.3, 8.3)
    ax.set_xlabel(f"test accuracy of the {reference} tree minus the method's, in points")
    ax.set_title(
        f"{len(summary['tables'])} tables: one grey dot each, red the mean ± 2 standard errors",
        fontsize=9,
    )
    ax.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


# -- command line ----------------------------------------------------------------------------------


def tasks_of(spec: TableSpec, size: TableFacts, names: list[str], draws: int) -> list[Task]:
    """Return the fits of a table."""
    large = size.rows * size.classes > EBM_SIZE
    return [
        Task(spec.name, draw, name, methods()[name].version)
        for draw in range(draws)
        for name in names
        if not (name == "EBM" and large and draw >= EBM_DRAWS)
    ]


def main(arguments: list[str] | None = None) -> None:
    """Run what has no result, print one table, and write JSON and a plot."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0],
        epilog=(__doc__ or "").split("\n\n", 2)[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_options(parser, store="unseen.sqlite", log="unseen_log.json", methods="; ".join(methods()))
    options = parser.parse_args(arguments)
    names = options.methods or list(methods())
    unknown = [name for name in [*names, *options.again] if name not in methods()]
    if unknown:
        parser.error(f"no method {', '.join(unknown)}; there are {', '.join(methods())}")
    single_threaded()
    specs = chosen_tables(
        CLASSIFICATION, "test" if options.test_half else "development", options.match
    )
    if not specs:
        parser.error("no table can be loaded; hint: pip install 'treebound[bench]'")
    tables = {spec.name: facts(spec) for spec in specs}
    tasks = [
        task for spec in specs for task in tasks_of(spec, tables[spec.name], names, options.draws)
    ]
    with Store(options.store) as store:
        for name in options.again:
            store.forget(name, tables)
        try:
            run_tasks(tasks, measure, store, jobs=options.jobs)
        except KeyboardInterrupt:
            sys.exit("interrupted: the same command continues")
        results = store.results(tasks)
    report(results, tables, names, options)


def report(
    results: Mapping[Task, Figures | str],
    tables: Mapping[str, TableFacts],
    names: list[str],
    options: argparse.Namespace,
) -> None:
    """Print the results, write them, and log a run of the test half."""
    errors = [f"{t.table}, draw {t.draw}, {t.method}: {e}" for t, e in results.items()
              if isinstance(e, str)]  # fmt: skip
    head = {
        "half": "test" if options.test_half else "development",
        "date": now(),
        "commit": commit(),
        "draws": options.draws,
        "fits": len(results),
        "failed fits": errors,
    }
    summary = summarise(results, tables, names)
    Console(width=160).print(show(summary))
    for line in errors[:10]:
        print("failed:", line)
    stem = "unseen_test" if options.test_half else "unseen"
    save(options.results, stem, {**head, **summary})
    plot(summary, options.results / f"{stem}.png")
    if options.test_half:
        short = {key: summary[key] for key in ("reference", "methods", "groups")}
        looks = append_to_log(options.log, {**head, "tables": len(tables), **short})
        print(f"{options.log} now has {looks} entries")


if __name__ == "__main__":
    main()
