"""Trees with balanced class weights, on unseen tables with a rare class.

    python benchmarks/unbalanced.py [--methods NAME ...] [--again NAME ...] [--match TEXT]

The tables and the draws are those of the development half of ``unseen.py``, where the rarest class
has less than half of an equal share of the rows. All methods weight each class by the inverse of
its frequency: our trees, and scikit-learn's with ``ccp_alpha`` chosen by 5 folds for balanced
accuracy, on one-hot columns. The last method is the default without class weights. Figures are
means over draws, then over tables; differences are paired, with standard errors over tables.
Results are stored after every fit. Prints one table and writes ``results/unbalanced.json``.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from catalogue import CLASSIFICATION, TableSpec, load
from evidence import (
    Figures,
    Store,
    Task,
    add_options,
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
from rich.console import Console
from rich.table import Table
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from unseen import Data, draw_data, encoder, fit_ours, spread

import treebound as tb

REFERENCE = "default"
FIGURES = ("balanced accuracy", "accuracy", "leaves", "seconds")
OURS: dict[str, dict[str, Any]] = {
    REFERENCE: {},
    "accurate": {"size": "accurate"},
    "cost-complexity": {"pruning": "cost-complexity"},
    "cost-complexity, Gini": {"pruning": "cost-complexity", "criterion": "gini"},
    "unpruned": {"pruning": None},
}


def fit_grid(data: Data) -> tuple[Any, int]:
    """Choose ``ccp_alpha`` by cross-validated balanced accuracy."""
    columns = encoder(data.X)
    tree = DecisionTreeClassifier(random_state=0, class_weight="balanced")
    wide = columns.fit_transform(data.X)
    path = tree.cost_complexity_pruning_path(wide, data.y)
    grid = {"ccp_alpha": spread(np.unique(path.ccp_alphas.clip(min=0.0)))}
    search = GridSearchCV(tree, grid, cv=5, scoring="balanced_accuracy").fit(wide, data.y)
    leaves = int(search.best_estimator_.get_n_leaves())
    return Pipeline([("encoder", columns), ("tree", search)]), leaves


METHODS: dict[str, Callable[[Data], tuple[Any, int]]] = {
    **{name: partial(fit_ours, {**options, "class_weight": "balanced"})
       for name, options in OURS.items()},
    "scikit-learn, ccp_alpha": fit_grid,
    "default without class weights": partial(fit_ours, {}),
}  # fmt: skip


@lru_cache
def version_of(name: str) -> str:
    """Return the version that the stored results of a method belong to."""
    if name.startswith("scikit-learn"):
        return f"scikit-learn {version('scikit-learn')}, 20 alphas"
    return source_hash(Path(tb.__file__).parent)


def measure(task: Task) -> Figures:
    """Fit a method on a draw, and test it."""
    warnings.filterwarnings("ignore")  # rare classes and constant columns, in every draw
    data = draw_data(task.table, task.draw)
    start = time.process_time()
    model, leaves = METHODS[task.method](data)
    seconds = time.process_time() - start
    labels = np.asarray(model.predict(data.test_X))
    return {
        "accuracy": 100 * float(np.mean(labels == data.test_y)),
        "balanced accuracy": 100 * float(balanced_accuracy_score(data.test_y, labels)),
        "leaves": leaves,
        "seconds": seconds,
    }


def rarest(spec: TableSpec) -> tuple[float, int]:
    """Return the share of the rarest class, and the number of classes."""
    shares = load(spec)[1].value_counts(normalize=True)
    return float(shares.min()), len(shares)


def summarise(results: Mapping[Task, Figures | str], names: list[str]) -> dict[str, Any]:
    """Return means by method, and what the default has more in balanced accuracy."""
    summary = {}
    values = {(n, f): figure_by_table(results, n, f) for n in names for f in FIGURES}
    for name in names:
        row: dict[str, Any] = {}
        for figure in FIGURES:
            geometric = figure in ("leaves", "seconds")
            mean = mean_over_tables(values[name, figure], geometric=geometric)
            row[figure] = None if mean is None else float(f"{mean:.4g}")
        paired = compare(values[REFERENCE, FIGURES[0]], values[name, FIGURES[0]])
        row["default minus method"] = (
            None if paired is None or name == REFERENCE
            else {key: None if value is None else float(f"{value:.4g}")
                  for key, value in paired._asdict().items()}
        )  # fmt: skip
        summary[name] = row
    return summary


def show(summary: Mapping[str, Any]) -> Table:
    """Return the table that is printed."""
    table = Table("method", "balanced accuracy %", "accuracy %", "leaves", "seconds",
                  "default minus method", "better/worse", "p", box=None)  # fmt: skip
    for name, row in summary.items():
        paired, cells = row["default minus method"], ("", "", "")
        if paired is not None:
            cells = (
                f"{paired['difference']:+.2f} ± {paired['standard_error']:.2f}",
                f"{paired['better']:.0f}/{paired['worse']:.0f}", f"{paired['p_value']:.2g}",
            )  # fmt: skip
        table.add_row(
            name, f"{row['balanced accuracy']:.2f}", f"{row['accuracy']:.2f}",
            f"{row['leaves']:.1f}", f"{row['seconds']:.3f}", *cells,
        )  # fmt: skip
    return table


def main(arguments: list[str] | None = None) -> None:
    """Run what has no result, print one table, and write JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_options(parser, store="unbalanced.sqlite", log="", methods="; ".join(METHODS))
    options = parser.parse_args(arguments)
    names = [name for name in METHODS if name in (options.methods or METHODS) or name == REFERENCE]
    if options.test_half:
        parser.error("there is no question for the test half")
    single_threaded()
    tables = {}
    for spec in chosen_tables(CLASSIFICATION, "development", options.match):
        share, classes = rarest(spec)
        if share < 0.5 / classes:
            tables[spec.name] = {"share of the rarest class": round(share, 4), "classes": classes}
    if not tables:
        parser.error("no table can be loaded; hint: pip install 'treebound[bench]'")
    tasks = [
        Task(table, draw, name, version_of(name))
        for draw in range(options.draws)
        for table in tables
        for name in names
    ]
    with Store(options.store) as store:
        for name in options.again:
            store.forget(name, tables)
        try:
            run_tasks(tasks, measure, store, jobs=options.jobs)
        except KeyboardInterrupt:
            sys.exit("interrupted: the same command continues")
        results = store.results(tasks)
    document = {
        "half": "development",
        "date": now(),
        "commit": commit(),
        "draws": options.draws,
        "fits": len(results),
        "failed fits": [f"{task.table}, draw {task.draw}, {task.method}: {reply}"
                        for task, reply in results.items() if isinstance(reply, str)],
        "methods": summarise(results, names),
        "tables": tables,
    }  # fmt: skip
    Console(width=150).print(show(document["methods"]))
    save(options.results, "unbalanced", document)


if __name__ == "__main__":
    main()
