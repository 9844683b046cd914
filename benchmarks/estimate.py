"""Coverage and bias of the estimated error, on twelve simulated worlds.

    python benchmarks/estimate.py [--draws 500] [--world NAME ...] [--store] [--again]

A world draws a training table. The tree is fitted with the defaults, and its error rate is measured
on new rows. Printed: how often the interval contains it, the mean of the estimate minus the
error in points, the mean width of the interval, and the leaves.

With ``--store`` the results are written after every 20 draws, and a later run continues with the
next draw; ``--again`` starts with the first.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import treebound as tb
from treebound._utils.files import write_text

RESULTS = Path(__file__).parent / "results" / "estimate.json"
NEW_ROWS = 20_000  # at least; four times the rows of a larger table
Rng = np.random.Generator


class World(NamedTuple):
    """How rows are drawn: ``draw(rng, rows)`` gives columns and classes."""

    rows: int
    draw: Callable[[Rng, int], tuple[pd.DataFrame, NDArray[Any]]]
    # changes the training table, and adds arguments of fit
    prepare: Callable[[Rng, pd.DataFrame, NDArray[Any]], tuple[Any, Any, dict[str, Any]]] | None = (
        None
    )


def _numbers(rng: Rng, rows: int, columns: int = 6) -> pd.DataFrame:
    return pd.DataFrame(
        rng.normal(size=(rows, columns)).round(3), columns=[f"x{i}" for i in range(columns)]
    )


def _labels(rng: Rng, chance: NDArray[Any]) -> NDArray[Any]:
    return np.where(rng.random(len(chance)) < chance, "yes", "no")


def _steps(frame: pd.DataFrame) -> NDArray[Any]:
    """The chance of the second class, by a few thresholds."""
    high = np.where(frame.x1 > 0.0, 0.9, 0.6)
    low = np.where(frame.x2 > 0.5, 0.4, 0.1)
    return np.where(frame.x0 > 0.2, high, low)


def noise(rng: Rng, rows: int) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Classes do not depend on the columns."""
    return _numbers(rng, rows), _labels(rng, np.full(rows, 0.4))


def steps(rng: Rng, rows: int) -> tuple[pd.DataFrame, NDArray[Any]]:
    """A few thresholds, with noise."""
    frame = _numbers(rng, rows)
    return frame, _labels(rng, _steps(frame))


def rare(rng: Rng, rows: int) -> tuple[pd.DataFrame, NDArray[Any]]:
    """One class has about 3 % of the rows."""
    frame = _numbers(rng, rows)
    return frame, _labels(rng, np.where((frame.x0 > 1.2) & (frame.x1 > 0), 0.5, 0.005))


def many_classes(rng: Rng, rows: int) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Twenty classes by two columns."""
    frame = _numbers(rng, rows)
    column, row = (np.digitize(frame[x], [-1, -0.3, 0.3, 1]) for x in ("x0", "x1"))
    exact = 4 * column + np.minimum(row, 3)
    return frame, np.where(rng.random(rows) < 0.1, rng.integers(0, 20, rows), exact)


def nominal(rng: Rng, rows: int) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Five columns of categories."""
    codes = rng.integers(0, 6, (rows, 5))
    frame = pd.DataFrame(np.array(list("abcdef"))[codes], columns=[f"c{i}" for i in range(5)])
    chance = np.where(codes[:, 0] < 2, 0.85, np.where(codes[:, 1] == 3, 0.6, 0.15))
    return frame, _labels(rng, chance)


def missing(rng: Rng, rows: int) -> tuple[pd.DataFrame, NDArray[Any]]:
    """A fifth of the values are missing, more often in one class."""
    frame = _numbers(rng, rows)
    y = _labels(rng, _steps(frame))
    absent = rng.random(frame.shape) < np.where(y == "yes", 0.25, 0.15)[:, None]
    return frame.mask(absent), y


def interaction(rng: Rng, rows: int) -> tuple[pd.DataFrame, NDArray[Any]]:
    """The product of two columns determines the class; neither does alone."""
    frame = _numbers(rng, rows, 3)
    return frame, _labels(rng, np.where(frame.x0 * frame.x1 > 0, 0.92, 0.08))


def grouped(rng: Rng, rows: int) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Groups of five rows share two columns and part of their class."""
    count = -(-rows // 5)
    group = np.repeat(np.arange(count), 5)[:rows]
    frame = _numbers(rng, rows)
    shared = _numbers(rng, count)
    frame[["x0", "x1"]] = shared[["x0", "x1"]].to_numpy()[group]
    lean = np.clip(_steps(frame) + rng.normal(0, 0.15, count)[group], 0.02, 0.98)
    return frame, _labels(rng, lean)


def by_class(rng: Rng, frame: pd.DataFrame, y: NDArray[Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Sort the rows by class, then by a column."""
    order = np.lexsort([frame.x0, y])
    return frame.iloc[order].reset_index(drop=True), y[order], {}


def in_groups(rng: Rng, frame: pd.DataFrame, y: NDArray[Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Give the groups."""
    return frame, y, {"groups": np.repeat(np.arange(-(-len(y) // 5)), 5)[: len(y)]}


def weighted(rng: Rng, frame: pd.DataFrame, y: NDArray[Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Weight the rows."""
    return frame, y, {"sample_weight": rng.uniform(0.3, 2.0, len(y))}


def repeated(rng: Rng, frame: pd.DataFrame, y: NDArray[Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Repeat rows one to three times."""
    rows = rng.permutation(np.repeat(np.arange(len(y)), rng.integers(1, 4, len(y))))
    return frame.iloc[rows].reset_index(drop=True), y[rows], {}


WORLDS = {
    "noise": World(1000, noise),
    "rare class": World(2000, rare),
    "many classes": World(2000, many_classes),
    "few rows": World(100, steps),
    "sorted table": World(1000, steps, by_class),
    "groups": World(1000, grouped, in_groups),
    "weights": World(1000, steps, weighted),
    "duplicates": World(500, steps, repeated),
    "nominal only": World(1000, nominal),
    "missing values": World(1000, missing),
    "strong interaction": World(1000, interaction),
    "50,000 rows": World(50_000, steps),
}


# what is measured of a draw
FIGURES = ("coverage", "bias", "width", "leaves", "error")
BATCH = 20  # draws between two writes


def measured(world: World, seed: int) -> tuple[float, ...]:
    """Fit one draw: 1 if the interval contains the error, bias, width, leaves and error."""
    rng = np.random.default_rng(seed)
    frame, y = world.draw(rng, world.rows)
    new, truth = world.draw(rng, max(NEW_ROWS, 4 * world.rows))
    arguments: dict[str, Any] = {}
    if world.prepare is not None:
        frame, y, arguments = world.prepare(rng, frame, y)
    clf = tb.BoundTreeClassifier().fit(frame, y, **arguments)
    estimate = clf.estimate_
    assert estimate is not None
    error = float((clf.predict(new) != truth).mean())
    low, high = estimate.interval
    contains = float(low <= error <= high)
    return contains, estimate.error - error, high - low, float(clf.n_leaves_), error


def continued(before: dict[str, float], world: World, draws: int) -> dict[str, float]:
    """The results of ``before``, a summary of the first draws, and of the next up to ``draws``."""
    done = int(before.get("draws", 0))
    table = np.array([measured(world, seed) for seed in range(done, draws)])
    means = (table.sum(axis=0) + [done * before.get(name, 0.0) for name in FIGURES]) / draws
    result = dict(zip(FIGURES, means.tolist(), strict=True))
    squares = float((table[:, 1] ** 2).sum())
    if done:  # the sum of squares that the stored standard error was computed from
        squares += done * ((done - 1) * before["bias_error"] ** 2 + before["bias"] ** 2)
    variance = (squares - draws * result["bias"] ** 2) / (draws - 1)
    return {**result, "bias_error": float(np.sqrt(variance / draws)), "draws": draws}


def stored_results() -> dict[str, dict[str, float]]:
    """The results of earlier runs."""
    return json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}


def store(name: str, result: dict[str, float]) -> None:
    """Write the result of a world, next to those of the others."""
    stored = {**stored_results(), name: result}
    document = {world: stored[world] for world in WORLDS if world in stored}
    write_text(RESULTS, json.dumps(document, indent=1) + "\n")


def main() -> None:
    """Measure and print; store on request."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--world", nargs="*", choices=list(WORLDS), default=list(WORLDS))
    parser.add_argument("--store", action="store_true", help=f"write {RESULTS.name}, and continue")
    parser.add_argument("--again", action="store_true", help="start with the first draw")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    table = Table(
        "world", "tables", "coverage", "bias in points", "width", "error", "leaves", box=None
    )
    for name in options.world:
        row: dict[str, float] = {}
        if options.store and not options.again:
            row = stored_results().get(name, {})
        while row.get("draws", 0) < options.draws:
            row = continued(row, WORLDS[name], min(options.draws, int(row.get("draws", 0)) + BATCH))
            if options.store:
                store(name, row)
        table.add_row(
            name, f"{row['draws']:.0f}", f"{100 * row['coverage']:.1f} %",
            f"{100 * row['bias']:+.2f} ± {100 * row['bias_error']:.2f}",
            f"{100 * row['width']:.1f}", f"{100 * row['error']:.1f} %", f"{row['leaves']:.1f}",
        )  # fmt: skip
    Console().print(table)


if __name__ == "__main__":
    main()
