"""How many rows a leaf must have: the default tree with 1, 2, 3 and 5.

    python benchmarks/leaf_size.py [--data FOLDER] [--draws 20] [--only sets|simulations]

On the 25 data sets (85/15) and on simulations of 2,000 and 10,000 rows: error, leaves, log-loss and
the share of leaves with fewer than 5 rows, each against ``min_samples_leaf=1`` with the standard
error of the difference, over data sets or over draws.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from default import SIGNALS, Case, data_sets, simulated
from rich.console import Console
from rich.table import Table
from sklearn.metrics import log_loss

import treebound as tb
from treebound._utils.files import write_text

RESULTS = Path(__file__).parent / "results" / "leaf_size.json"
SIZES = (1, 2, 3, 5)
FEW = 5


def measured(case: Case, least: int) -> dict[str, float]:
    """Fit the default tree with so many rows in a leaf, and test it."""
    weight: Any = case.class_weight
    clf = tb.BoundTreeClassifier(min_samples_leaf=least, class_weight=weight)
    clf.fit(case.X, case.y)
    rows = clf.tree_.rows[clf.tree_.is_leaf]
    chances = clf.predict_proba(case.test_X).clip(1e-9, 1.0)
    known = np.isin(case.test_y, clf.classes_)  # a rare class may be in the test rows alone
    return {
        "error": 100 * float(np.mean(clf.predict(case.test_X) != case.test_y)),
        "leaves": float(np.log(clf.n_leaves_)),
        "log-loss": float(log_loss(case.test_y[known], chances[known], labels=clf.classes_)),
        "small leaves": 100 * float(np.mean(rows < FEW)),
    }


def cases(folder: Path | None, draws: int, only: str | None) -> Iterator[tuple[str, str, Case]]:
    """A group, a unit within it over which errors are standard errors, and a table."""
    if only != "simulations":
        names = [name for name in tb.study.datasets.list() for _ in range(draws)]
        for name, case in zip(names, data_sets(folder, draws), strict=True):
            yield case.group, name, case
    for signal in SIGNALS if only != "sets" else ():
        for rows in (2_000, 10_000):
            for seed in range(draws):
                weight = None if signal == "noise" else "balanced"
                case = simulated(signal, rows, seed, weight, tested=20_000)
                yield case.group, str(seed), case


def summary(units: dict[str, dict[int, list[dict[str, float]]]]) -> dict[int, dict[str, Any]]:
    """For each size: the mean of every figure, and its difference from one row with its error."""
    rows: dict[int, dict[str, Any]] = {}
    for least in SIZES:
        rows[least] = {}
        for name in ("error", "leaves", "log-loss", "small leaves"):
            values, first = (
                np.array([np.mean([row[name] for row in unit[size]]) for unit in units.values()])
                for size in (least, SIZES[0])
            )
            change = values - first
            spread = float(change.std(ddof=1) / np.sqrt(len(change)))
            mean = float(np.exp(values.mean()) if name == "leaves" else values.mean())
            rows[least][name] = [round(mean, 4), round(float(change.mean()), 4), round(spread, 4)]
    return rows


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the raw files")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--only", choices=("sets", "simulations"), help="a part; the rest is kept")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)  # odd columns are what these data have
    groups: dict[str, dict[str, dict[int, list[dict[str, float]]]]] = {}
    for group, unit, case in cases(options.data, options.draws, options.only):
        sizes = groups.setdefault(group, {}).setdefault(unit, {size: [] for size in SIZES})
        for least in SIZES:
            sizes[least].append(measured(case, least))
    results: dict[str, Any] = {group: summary(units) for group, units in groups.items()}
    table = Table(
        "table", "rows", "error %", "leaves", "log-loss", "leaves of few rows %", box=None
    )
    for group, rows in results.items():
        for least, row in rows.items():
            cells = [
                "{0:.{3}f} ({1:+.{3}f} ± {2:.{3}f})".format(*row[name], places)
                for name, places in (("error", 2), ("log-loss", 3), ("small leaves", 0))
            ]
            cells.insert(1, f"{row['leaves'][0]:.1f} (x {np.exp(row['leaves'][1]):.2f})")
            table.add_row(group if least == 1 else "", str(least), *cells)
    Console(width=140).print(table)
    results = {group: {"draws": options.draws, "sizes": row} for group, row in results.items()}
    if options.only and RESULTS.exists():
        results = {**json.loads(RESULTS.read_text()), **results}
    write_text(RESULTS, json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
