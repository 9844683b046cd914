"""How long a whole fit with the wide search takes, by the size of the table.

    python benchmarks/search_time.py

The number of values (rows x columns) up to which ``search="auto"`` is wide was chosen by this
script: with labels that follow a tree, the whole fit with its folds should take about half a second
on one core, and at ten times as many values about ten times as long. Half of the columns are
numbers, half have ten categories. Labels follow a tree of four leaves with 10 % noise, or are noise
altogether, for which the trees are largest. Seconds are processor time on one thread.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from evidence import RESULTS, commit, now, save, single_threaded
from numpy.typing import NDArray

import treebound as tb
from treebound.model.parameters import WIDE_LEAVES, WIDE_VALUES, WIDE_VALUES_FOR_FEW_LEAVES

ROWS = (500, 1_000, 2_500, 5_000, 10_000)
LABELS = ("tree", "noise")


def table(rows: int, columns: int, labels: str) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Return columns of numbers and of categories, and labels."""
    rng = np.random.default_rng(rows + columns)
    X = pd.DataFrame({
        f"x{at}": rng.choice(list("abcdefghij"), rows) if at % 2 else rng.normal(size=rows)
        for at in range(columns)
    })  # fmt: skip
    noise = rng.random(rows) < (0.1 if labels == "tree" else 0.5)
    above = (X["x0"] > 0.3) ^ (X["x1"] == "c")
    return X, np.asarray(above ^ noise)


def seconds(rows: int, columns: int, labels: str, **options: Any) -> float:
    """Return the processor time of a fit."""
    X, y = table(rows, columns, labels)
    clf = tb.BoundTreeClassifier(n_jobs=1, **options)
    start = time.process_time()
    clf.fit(X, y)
    return time.process_time() - start


def main() -> None:
    """Measure tables at the limits of values, print the times, and write JSON."""
    single_threaded()
    warnings.filterwarnings("ignore")
    seconds(500, 4, "tree", search="wide")  # what is imported on first use
    lines = []
    limits: tuple[tuple[int, dict[str, Any]], ...] = (
        (WIDE_VALUES, {}),
        (WIDE_VALUES_FOR_FEW_LEAVES, {"max_leaves": WIDE_LEAVES}),
    )
    for values, options in limits:
        for rows in ROWS:
            if options and rows < 5_000:
                continue
            columns = values // rows
            line: dict[str, Any] = {"rows": rows, "columns": columns, **options}
            for labels in LABELS:
                for how in ("greedy", "wide"):
                    taken = seconds(rows, columns, labels, search=how, **options)
                    line[f"{labels}, {how}"] = round(taken, 3)
            print(line, flush=True)
            lines.append(line)
    save(RESULTS, "search_time", {"date": now(), "commit": commit(), "tables": lines})


if __name__ == "__main__":
    main()
