"""How the default criterion and the weight of the bound pruner were chosen.

    python benchmarks/weight.py [--data FOLDER] [--draws 25]

Mean test accuracy and leaves over the 25 data sets, on the splits of the study, and how much
better each weight is than the default, with the standard error over data sets.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import treebound as tb
from treebound._utils.files import write_text
from treebound.pruning import BoundPruner
from treebound.study import datasets
from treebound.study.splits import seeds_of, split

WEIGHTS = (0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.9)
RESULTS = Path(__file__).parent / "results" / "weight.json"


def measure(criterion: str, data: Path | None, draws: int) -> dict[float, list[float]]:
    """For every weight: accuracy (in percent), leaves, gain over the default, its error."""
    figures: dict[float, list[tuple[float, float]]] = {weight: [] for weight in WEIGHTS}
    for name in datasets.list():
        table = datasets.load(name, data=data)
        rows: dict[float, list[tuple[float, float]]] = {weight: [] for weight in WEIGHTS}
        for seed in seeds_of(draws):
            parts = split(len(table.frame), seed)
            train, test = parts["train"], parts["test"]
            clf = tb.BoundTreeClassifier(criterion=criterion)
            clf.fit(table.frame.iloc[train], table.target.iloc[train])
            labels = table.target.iloc[test].to_numpy()
            for weight in WEIGHTS:
                pruned = clf.prune_to(leaves=_leaves(clf, weight))
                right = np.mean(pruned.predict(table.frame.iloc[test]) == labels)
                rows[weight].append((100 * right, pruned.n_leaves_))
        for weight in WEIGHTS:
            figures[weight].append(tuple(np.mean(rows[weight], axis=0)))
    default = np.array(figures[0.6])[:, 0]
    rows_of = {weight: np.array(values) for weight, values in figures.items()}
    return {weight: _summary(values, default) for weight, values in rows_of.items()}


def _summary(values: np.ndarray, default: np.ndarray) -> list[float]:
    gain = values[:, 0] - default
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    return [*values.mean(axis=0).tolist(), float(gain.mean()), float(error)]


def _leaves(clf: tb.BoundTreeClassifier, weight: float) -> int:
    return BoundPruner(weight=weight).prune(clf.grown_tree_).tree.n_leaves


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the raw files")
    parser.add_argument("--draws", type=int, default=25)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)  # odd columns are what these data have
    results = {c: measure(c, options.data, options.draws) for c in ("entropy", "gini")}
    table = Table("weight", *(f"{c}: accuracy (leaves), gain" for c in results), box=None)
    for weight in WEIGHTS:
        cells = ["{:.2f} ({:.1f}), {:+.2f} ± {:.2f}".format(*results[c][weight]) for c in results]
        table.add_row(f"{weight:g}", *cells)
    Console().print(table)
    write_text(RESULTS, json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
