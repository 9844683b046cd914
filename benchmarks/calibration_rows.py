"""Measure what a tenth of calibration rows costs in accuracy and gains in certified error.

    python benchmarks/calibration_rows.py [--match TEXT] [--draws 20] [--jobs 2]

``certificate="auto"`` holds out a tenth of the rows from 10,000 rows on. This script compares the
two kinds that it chooses from, ``"training"`` and ``"held-out"``, on the tables of the development
half of ``unseen.py`` with at least 4,000 training rows, and on simulated tables of 5,000 to 50,000
training rows: two noisy intervals, an additive score, and five classes. Draws are paired. Results
are by the number of training rows: held-out minus training in points of accuracy with the standard
error over tables, the mean certified error of both, and the mean test error.

As in ``unseen.py``, results are stored after every fit, and an interrupted run continues.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from catalogue import CLASSIFICATION
from evidence import (
    TEST_SHARE,
    Figures,
    Store,
    Task,
    add_options,
    chosen_tables,
    commit,
    compare,
    figure_by_table,
    now,
    run_tasks,
    save,
    single_threaded,
    source_hash,
)
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from unseen import draw_data, facts

import treebound as tb

MIN_ROWS = 4_000
Kind = Literal["training", "held-out"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SIZES = (5_000, 7_000, 10_000, 15_000, 20_000, 50_000)
WORLDS = ("intervals", "additive", "five classes")
TEST_ROWS = 20_000
GROUPS = {
    "below 7,000": (0, 7_000),
    "7,000 to 9,999": (7_000, 10_000),
    "10,000 to 19,999": (10_000, 20_000),
    "20,000 to 50,000": (20_000, 50_001),
}


# -- tables ----------------------------------------------------------------------------------------


def simulated(world: str, rows: int, draw: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return rows of a simulated world: ten columns, of which five matter."""
    rng = np.random.default_rng([draw, rows, WORLDS.index(world)])
    X = rng.normal(size=(rows, 10))
    if world == "intervals":
        clean = (np.abs(X[:, 0]) < 1) ^ (X[:, 1] > 0.5)
        return X, (clean ^ (rng.random(rows) < 0.1)).astype(np.intp)
    score = X[:, :5] @ np.array([1.0, 0.8, 0.6, 0.4, 0.2]) + rng.normal(size=rows)
    if world == "additive":
        return X, (score > 0.5).astype(np.intp)
    return X, np.digitize(score, [-1.5, -0.5, 0.5, 1.5])


def simulated_sizes() -> dict[str, int]:
    """Return the names of the simulated tables, and their training rows."""
    return {f"{world}, {rows:,} rows": rows for world in WORLDS for rows in SIZES}


# -- one fit ---------------------------------------------------------------------------------------


@lru_cache
def version() -> str:
    """Return the version that the stored results belong to."""
    return source_hash(Path(tb.__file__).parent)


def measure(task: Task) -> Figures:
    """Fit with one kind of certificate on a draw, and test the tree."""
    warnings.filterwarnings("ignore")  # rare classes and constant columns, in every draw
    sizes = simulated_sizes()
    X: Any
    test_X: Any
    if task.table in sizes:
        rows, world = sizes[task.table], task.table.partition(", ")[0]
        every, labels = simulated(world, rows + TEST_ROWS, task.draw)
        X, y, test_X, test_y = every[:rows], labels[:rows], every[rows:], labels[rows:]
    else:
        X, y, test_X, test_y = draw_data(task.table, task.draw)
    kind: Kind = "held-out" if task.method == "held-out" else "training"
    clf = tb.BoundTreeClassifier(certificate=kind).fit(X, y)
    certificate = clf.certificate_
    return {
        "accuracy": 100 * float(np.mean(np.asarray(clf.predict(test_X)) == test_y)),
        "certified": None if certificate is None else 100 * float(certificate.risk),
        "leaves": float(clf.n_leaves_),
    }


# -- summary ---------------------------------------------------------------------------------------


def summarise(
    results: Mapping[Task, Figures | str], sizes: Mapping[str, int]
) -> dict[str, dict[str, Any]]:
    """Return the comparison for each group of numbers of training rows."""
    values = {(kind, figure): figure_by_table(results, kind, figure)
              for kind in KINDS for figure in ("accuracy", "certified", "leaves")}  # fmt: skip

    def mean(kind: Kind, figure: str, members: list[str]) -> float:
        of_tables = [np.mean(list(values[kind, figure][table].values())) for table in members]
        return round(float(np.mean(of_tables)), 2)

    summary = {}
    for group, (least, below) in GROUPS.items():
        members = [name for name, rows in sizes.items()
                   if least <= rows < below and name in values["training", "accuracy"]]  # fmt: skip
        paired = compare(values["held-out", "accuracy"], values["training", "accuracy"], members)
        if paired is None:
            continue
        summary[group] = {
            **{key: value if value is None else round(value, 4)
               for key, value in paired._asdict().items()},
            "test error": round(100 - mean("training", "accuracy", members), 2),
            **{f"certified, {kind}": mean(kind, "certified", members) for kind in KINDS},
            **{f"leaves, {kind}": mean(kind, "leaves", members) for kind in KINDS},
        }  # fmt: skip
    return summary


def show(summary: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Table:
    """Return the table that is printed: one row per kind and size of tables."""
    titles = ("tables", "training rows", "tables", "held-out minus training, points", "test error",
              "certified, training", "certified, held-out")  # fmt: skip
    table = Table(*titles, box=None)
    for source, groups in summary.items():
        for group, row in groups.items():
            error = row["standard_error"]
            table.add_row(
                source, group, str(row["tables"]),
                f"{row['difference']:+.2f}" + ("" if error is None else f" ± {error:.2f}"),
                *(f"{row[key]:.1f} %"
                  for key in ("test error", "certified, training", "certified, held-out")),
            )  # fmt: skip
    return table


def main(arguments: list[str] | None = None) -> None:
    """Run what has no result, print the comparison, and write JSON."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0],
        epilog=(__doc__ or "").split("\n\n", 2)[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_options(parser, store="calibration_rows.sqlite", log="", methods="")
    options = parser.parse_args(arguments)
    if options.test_half:
        parser.error("this choice is made on the development half alone")
    single_threaded()
    specs = chosen_tables(CLASSIFICATION, "development", options.match)
    rows = {spec.name: round((1 - TEST_SHARE) * facts(spec).rows) for spec in specs}
    tables = {
        "development half": {name: n for name, n in rows.items() if n >= MIN_ROWS},
        "simulated": simulated_sizes(),
    }
    tasks = [Task(name, draw, kind, version()) for draw in range(options.draws)
             for sizes in tables.values() for name in sizes for kind in KINDS]  # fmt: skip
    with Store(options.store) as store:
        try:
            run_tasks(tasks, measure, store, jobs=options.jobs)
        except KeyboardInterrupt:
            sys.exit("interrupted: the same command continues")
        results = store.results(tasks)
    summary = {source: summarise(results, sizes) for source, sizes in tables.items()}
    Console(width=140).print(show(summary))
    errors = [f"{t.table}, draw {t.draw}: {e}" for t, e in results.items() if isinstance(e, str)]
    head = {"date": now(), "commit": commit(), "draws": options.draws, "failed fits": errors}
    save(options.results, "calibration_rows", {**head, **summary})


if __name__ == "__main__":
    main()
