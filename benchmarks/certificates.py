"""What certificates are worth: on the 25 data sets, and in simulations with a known true risk.

    python benchmarks/certificates.py [--data FOLDER] [--draws 100] [--simulated 20000] [--jobs 2]

Three tables. The kinds of certificate on the data sets, beside the error on rows that no fit has
seen; the three rules for thresholds; and how often a certificate was wrong in simulated draws, of
every kind and for every pruner. A draw has a finite domain, so that the true risk is a sum.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import treebound as tb
from treebound import datasets
from treebound._files import write_text
from treebound.bounds.risk import binomial_upper
from treebound.certificate.certificate import _by_compression, _by_tail_inversion
from treebound.data import Column, Matrix, Sample
from treebound.growing import GrowOptions, grow
from treebound.pruning import (
    BoundPruner,
    CostComplexityPruner,
    KearnsMansourPruner,
    Pruner,
    make_pruner,
    merge_equal_leaves,
)
from treebound.tree.model import Tree
from treebound.tree.naming import needs_name

RESULTS = Path(__file__).parent / "results" / "certificates.json"
THRESHOLDS = ("decimal", "midpoint", "observed")

# -- data sets -------------------------------------------------------------------------------------


def measure_set(name: str, data: Path | None, draws: int) -> dict[str, Any]:
    """Means over some draws of 15 % test rows, in per cent."""
    warnings.filterwarnings("ignore", message="Column .* has the same value")
    table = datasets.load(name, data=data)
    rows = [_measure_draw(table, seed) for seed in range(draws)]
    found = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
    return {"rows": len(table.frame), **found}


def _measure_draw(table: Any, seed: int) -> dict[str, float]:
    shuffled = np.random.default_rng(seed).permutation(len(table.frame))
    size = round(0.15 * len(shuffled))
    test, train = shuffled[:size], shuffled[size:]
    X, y = table.frame.iloc[train], table.target.iloc[train]
    new, answers = table.frame.iloc[test], table.target.iloc[test].to_numpy()
    found: dict[str, float] = {}
    for rule in THRESHOLDS:
        clf = tb.BoundTreeClassifier(thresholds=rule).fit(X, y)
        found[f"{rule}: certificate"] = 100 * clf.certificate_.risk
        found[f"{rule}: training error"] = 100 * clf.certificate_.training_error
        found[f"{rule}: test error"] = 100 * float(np.mean(clf.predict(new) != answers))
        found[f"{rule}: digits"] = _digits(clf.tree_)
        found[f"{rule}: leaves"] = clf.n_leaves_
    found["compression won"] = 100.0 * (clf.certificate_.kind == "compression")
    held = tb.BoundTreeClassifier(certify="holdout", random_state=seed).fit(X, y)
    found["held-out: certificate"] = 100 * held.certificate_.risk
    found["held-out: test error"] = 100 * float(np.mean(held.predict(new) != answers))
    found["held-out: leaves"] = held.n_leaves_
    return found


def _digits(tree: Tree) -> float:
    """Mean number of significant digits of the thresholds of real columns; NaN without any."""
    real = np.array([c.kind == "real" for c in tree.columns] + [False])[tree.feature]
    shown = [t for t in tree.threshold[real].tolist() if np.isfinite(t)]
    counts = [len(Decimal(repr(t)).normalize().as_tuple().digits) for t in shown]
    return float(np.mean(counts)) if counts else np.nan


def of_sets(data: Path | None, draws: int, jobs: int) -> dict[str, dict[str, Any]]:
    """Every data set."""
    names = list(datasets.list())
    found = Parallel(n_jobs=jobs)(delayed(measure_set)(name, data, draws) for name in names)
    return dict(zip(names, found, strict=True))


def summary(sets: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Means over the sets, few rows and many apart: excess of certificates, and test errors.

    The excess of a certificate lies above the training error, for held-out rows above the test
    error; it is given as a share of that of the tail inversion.
    """
    enough = {name: 0.85 * row["rows"] >= 500 for name, row in sets.items()}
    groups = {
        "all": list(sets.values()),
        "below 500 training rows": [row for name, row in sets.items() if not enough[name]],
        "500 training rows and more": [row for name, row in sets.items() if enough[name]],
    }
    return {group: _group(rows) for group, rows in groups.items()}


def _group(rows: list[dict[str, Any]]) -> dict[str, Any]:
    told = [_excess(row, "observed", "training") for row in rows]
    held = [_excess(row, "held-out", "test") for row in rows]
    found: dict[str, Any] = {
        "sets": len(rows),
        "excess of compression": float(np.mean(told)),
        "excess of held-out rows": float(np.mean(held)),
    }
    for rule in ("midpoint", "observed", "held-out"):
        less = [row[f"{rule}: test error"] - row["decimal: test error"] for row in rows]
        error = float(np.std(less, ddof=1) / np.sqrt(len(less)))
        found[f"test error of {rule} less that of decimal"] = [float(np.mean(less)), error]
    return found


def _excess(row: dict[str, Any], which: str, above: str) -> float:
    own = row[f"{which}: certificate"] - row[f"{which}: {above} error"]
    return float(own / (row["decimal: certificate"] - row[f"decimal: {above} error"]))


# -- simulations -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class World:
    """A finite domain: every cell with its chance, and the chance of every class there.

    Attributes
    ----------
    rows : int
        Size of a sample.
    cells : Matrix
        One row for every point of the domain.
    chance : ndarray of shape (n_cells,)
    classes : ndarray of shape (n_cells, n_classes)
    """

    rows: int
    cells: Matrix
    chance: NDArray[np.float64]
    classes: NDArray[np.float64]

    def draw(self, rng: np.random.Generator) -> Sample:
        """An independent sample."""
        n_classes = self.classes.shape[1]
        flat = (self.chance[:, None] * self.classes).ravel()
        drawn = rng.choice(len(flat), self.rows, p=flat / flat.sum())
        cells, y = drawn // n_classes, drawn % n_classes
        return Sample(self.cells.part(cells), y.astype(np.int32), None, np.arange(n_classes))

    def risk(self, tree: Tree) -> float:
        """The true risk of a tree, exactly."""
        answers = tree.label[tree.apply(self.cells)]
        right = self.classes[np.arange(len(answers)), answers]
        return float(self.chance @ (1.0 - right))


def worlds() -> dict[str, World]:
    """Mixed columns with missing values, one real column, noise, and many rare classes."""
    rng = np.random.default_rng(0)
    mixed = (
        Column("size", missing=True),
        Column("colour", "nominal", tuple("abcdefgh")),
        Column("kind", "nominal", tuple("xy"), declared=True),
        Column("grade", "ordinal", tuple("1234"), declared=True),
    )
    codes = np.array(list(product([*range(10), np.nan], range(8), range(2), range(4))))
    signal = (np.nan_to_num(codes[:, 0], nan=9.0) > 5) ^ (codes[:, 1] == 2)
    line = np.arange(200.0)[:, None]
    plane = rng.random((300, 2)).round(2)
    rare = np.column_stack([np.full(300, 0.8), np.full((300, 30), 0.2 / 30)])
    return {
        "mixed columns": _world(120, mixed, codes, np.where(signal, 0.9, 0.15), rng),
        "one column": _world(80, _real(1), line, np.where(line[:, 0] < 70, 0.05, 0.8), rng),
        "noise": _world(120, _real(2), plane, np.full(300, 0.5), rng),
        "rare classes": replace(_world(120, _real(2), plane, np.zeros(300), rng), classes=rare),
    }


def _real(n: int) -> tuple[Column, ...]:
    return tuple(Column(f"x{i}") for i in range(n))


def _world(
    rows: int, columns: tuple[Column, ...], codes: NDArray[Any], rate: Any, rng: Any
) -> World:
    """Two classes, the second of them with the given chance in each cell."""
    values = tuple(
        codes[:, at] if column.kind == "real" else codes[:, at].astype(np.int8)
        for at, column in enumerate(columns)
    )
    cells = Matrix(columns, values)
    if all(column.kind == "real" for column in columns):
        cells = Matrix(columns, dense=codes)
    return World(rows, cells, rng.dirichlet(np.ones(len(codes))), np.column_stack([1 - rate, rate]))


def pruners() -> dict[str, Pruner | None]:
    """Every pruner by its name, the greedy one that raises subtrees, and none."""
    return {
        "none": None,
        "bound": make_pruner("bound"),
        "bound, raising": BoundPruner(search="greedy"),
        # fewer folds and constants than by default, for the time they take
        "kearns-mansour": KearnsMansourPruner(folds=2, constants=(0.03, 0.3)),
        "cost-complexity": CostComplexityPruner(folds=2),
        **{name: make_pruner(name) for name in ("reduced-error", "pessimistic", "mdl")},
    }


class Certifier:
    """Certificates of trees of one world; equal ones are computed once."""

    def __init__(self, delta: float) -> None:
        self.delta = delta
        self._known: dict[Any, float] = {}

    def of(self, tree: Tree) -> Iterator[tuple[str, float]]:
        """Kind and risk: each kind at all of delta, and the one that ``certify`` gives."""
        merged, errors, m = merge_equal_leaves(tree), int(tree.errors), int(tree.rows[0])
        yield "training errors alone", self.held_out(errors, m)
        halves = [self._inversion(merged, errors, self.delta / 2)]
        yield "tail inversion", self._inversion(merged, errors, self.delta)
        assert merged.names is not None
        if (merged.names[needs_name(merged)] >= 0).all():
            yield "compression", _by_compression(merged, errors, self.delta).risk
            halves.append(_by_compression(merged, errors, self.delta / 2).risk)
        yield "the least of both", min(halves)

    def _inversion(self, tree: Tree, errors: int, delta: float) -> float:
        key = (tree.n_leaves, errors, int(tree.rows[0]), delta)
        if key not in self._known:
            self._known[key] = _by_tail_inversion(tree, errors, None, delta).risk
        return self._known[key]

    def held_out(self, errors: int, m: int) -> float:
        """From rows set aside."""
        if (errors, m) not in self._known:
            self._known[errors, m] = binomial_upper(m, errors, self.delta)
        return self._known[errors, m]


def simulate(world: World, draws: int, seed: int, delta: float) -> Counter[tuple[str, str, str]]:
    """Draws and violations for every pruner and kind: counted under "draws" and "wrong"."""
    rng = np.random.default_rng(seed)
    options = GrowOptions(criterion="entropy", thresholds="observed", max_leaves=6)
    growing, certifier, prunings = partial(grow, options=options), Certifier(delta), pruners()
    counted: Counter[tuple[str, str, str]] = Counter()

    def count(pruner: str, kind: str, bound: float, risk: float) -> None:
        counted[pruner, kind, "draws"] += 1
        counted[pruner, kind, "wrong"] += risk > bound

    for _ in range(draws):
        sample = world.draw(rng)
        for name, tree in _pruned(sample, growing, prunings):
            risk = world.risk(tree)
            for kind, bound in certifier.of(tree):
                count(name, kind, bound, risk)
        for kind, aside in _set_aside(sample, rng):
            rest, judge = sample.part(~aside), sample.part(aside)
            few = prunings if kind == "held-out rows" else {"bound": prunings["bound"]}
            for name, tree in _pruned(rest, growing, few):
                errors = int((tree.label[tree.apply(judge.X)] != judge.y).sum())
                count(name, kind, certifier.held_out(errors, judge.n_rows), world.risk(tree))
    return counted


def _pruned(
    sample: Sample, growing: Any, prunings: dict[str, Pruner | None]
) -> Iterator[tuple[str, Tree]]:
    grown = growing(sample)
    for name, pruner in prunings.items():
        yield name, pruner.prune(grown, sample, grow=growing).tree if pruner else grown


def _set_aside(sample: Sample, rng: np.random.Generator) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """30 % of the rows; and what must not be done, 30 % of each class, rounded down."""
    order = rng.permutation(sample.n_rows)
    aside = np.zeros(sample.n_rows, dtype=bool)
    aside[order[: round(0.3 * sample.n_rows)]] = True
    yield "held-out rows", aside
    by_class = np.zeros(sample.n_rows, dtype=bool)
    for code in range(sample.n_classes):
        rows = order[sample.y[order] == code]
        by_class[rows[: int(0.3 * len(rows))]] = True
    if by_class.any():
        yield "held-out rows, drawn by class", by_class


def violations(draws: int, jobs: int, delta: float) -> dict[str, dict[str, dict[str, int]]]:
    """Draws, and those with a wrong certificate, by kind and pruner; drawn by class by world."""
    names = list(worlds())
    tasks = [(name, seed) for seed in range(10) for name in names]
    size = -(-draws // len(tasks))
    counted = Parallel(n_jobs=jobs)(
        delayed(simulate)(worlds()[name], size, 100 * seed + names.index(name), delta)
        for name, seed in tasks
    )
    found: dict[str, dict[str, dict[str, int]]] = {}
    for (name, _), one in zip(tasks, counted, strict=True):
        for (pruner, kind, what), number in one.items():
            column = name if kind.endswith("by class") else pruner
            row = found.setdefault(kind, {}).setdefault(column, {"draws": 0, "wrong": 0})
            row[what] += number
    return found


# -- tables ----------------------------------------------------------------------------------------


def show(document: dict[str, Any]) -> None:
    """Print what was found."""
    console = Console(width=140)
    sets, rule = document["sets"], "decimal"
    table = Table("per cent", "rows", "leaves", "training error", "tail inversion", "compression",
                  "held-out rows", "test error", "test error, held-out", box=None)  # fmt: skip
    keys = (f"{rule}: leaves", f"{rule}: training error", f"{rule}: certificate",
            "observed: certificate", "held-out: certificate", f"{rule}: test error",
            "held-out: test error")  # fmt: skip
    for name, row in {**sets, "mean": document["mean"]}.items():
        table.add_row(str(name), f"{row['rows']:,.0f}", *(f"{row[key]:.1f}" for key in keys))
    console.print(table)
    table = Table("thresholds", "test error", "digits", "leaves", "certificate", box=None)
    for rule in THRESHOLDS:
        row = [document["mean"][f"{rule}: {key}"] for key in ("test error", "digits", "leaves")]
        cells = [f"{value:.2f}" for value in [*row, document["mean"][f"{rule}: certificate"]]]
        table.add_row(rule, *cells)
    console.print(table)
    console.print(document["summary"])
    for kind, columns in document["violations"].items():
        cells = [f"{name}: {row['wrong']:,} of {row['draws']:,}" for name, row in columns.items()]
        console.print(f"{kind}: " + "; ".join(cells))


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the raw files")
    parser.add_argument("--draws", type=int, default=100, help="test splits of each data set")
    parser.add_argument("--simulated", type=int, default=20_000, help="simulated samples")
    parser.add_argument("--delta", type=float, default=0.05, help="of the simulations")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    start = time.perf_counter()
    sets = of_sets(options.data, options.draws, options.jobs)
    first = next(iter(sets.values()))
    document = {
        "draws": options.draws,
        "sets": sets,
        "mean": {key: float(np.nanmean([row[key] for row in sets.values()])) for key in first},
        "summary": summary(sets),
        "delta": options.delta,
        "violations": violations(options.simulated, options.jobs, options.delta),
    }
    show(document)
    print(f"{time.perf_counter() - start:.0f} s")
    write_text(RESULTS, json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
