"""How good certificates are: on the 25 data sets, and in simulations with a known true risk.

    python benchmarks/certificates.py [--data FOLDER] [--draws 100] [--simulated 20000] [--jobs 2]
                                      [--parts FOLDER] [--picture FILE]

Three tables and a picture. The kinds of certificate on the data sets: limit, excess over the error
on rows that no fit has seen, that error, and time; the three rules for thresholds; and how often a
certificate was wrong in simulated draws, of every kind and for every pruner. A draw has a finite
domain, so that the true risk is a sum.
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
from treebound._utils.files import write_text
from treebound.bounds.risk import binomial_upper
from treebound.certificate import Frontier
from treebound.certificate.held_out import best_of_folds
from treebound.certificate.prior import Prior, search_trees
from treebound.certificate.training import _by_compression, _by_tail_inversion
from treebound.data import Column, Matrix, Sample
from treebound.data.draws import Draw
from treebound.growing import GrowOptions, grow
from treebound.pruning import (
    CostComplexityPruner,
    KearnsMansourPruner,
    PaperPruner,
    Pruner,
    make_pruner,
    merge_equal_leaves,
)
from treebound.pruning.base import BasePruner
from treebound.study import datasets
from treebound.tree.model import Tree
from treebound.tree.naming import needs_name

RESULTS = Path(__file__).parent / "results" / "certificates.json"
THRESHOLDS = ("decimal", "midpoint", "observed")
# The kinds as parameters; "decimal" is the default, a certificate from training rows.
KINDS: dict[str, dict[str, Any]] = {
    **{rule: {"thresholds": rule} for rule in THRESHOLDS},
    "held-out": {"certificate": "held-out"},
    "folds": {"certificate": "folds"},
    "prior": {"certificate": "prior"},
}
SHOWN = {
    "decimal": "training", "observed": "training, compression", "held-out": "held-out",
    "folds": "folds", "prior": "prior", "prior, 8 points": "prior, 8 points",
}  # fmt: skip

# -- data sets -------------------------------------------------------------------------------------


def measure_set(name: str, data: Path | None, draws: int, parts: Path | None) -> dict[str, Any]:
    """Means over some draws of 15 % test rows, in per cent; those of finished parts are kept."""
    part = None if parts is None else parts / f"{name}.{draws}.json"
    if part is not None and part.exists():
        return json.loads(part.read_text())
    warnings.filterwarnings("ignore", message="Column .* has the same value")
    table = datasets.load(name, data=data)
    _measure_draw(table, draws)  # what is loaded at the first use is not timed
    rows = [_measure_draw(table, seed) for seed in range(draws)]
    means = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
    means = {"rows": len(table.frame), **means}
    if part is not None:
        write_text(part, json.dumps(means))
    return means


def _measure_draw(table: Any, seed: int) -> dict[str, float]:
    shuffled = np.random.default_rng(seed).permutation(len(table.frame))
    size = round(0.15 * len(shuffled))
    test, train = shuffled[:size], shuffled[size:]
    X, y = table.frame.iloc[train], table.target.iloc[train]
    new, labels = table.frame.iloc[test], table.target.iloc[test].to_numpy()
    figures: dict[str, float] = {}
    for kind, options in KINDS.items():
        start = time.process_time()
        clf = tb.BoundTreeClassifier(random_state=seed, **options).fit(X, y)
        figures[f"{kind}: certificate"] = 100 * clf.certificate_.risk
        figures[f"{kind}: seconds"] = time.process_time() - start
        figures[f"{kind}: training error"] = 100 * float(np.mean(clf.predict(X) != y.to_numpy()))
        figures[f"{kind}: test error"] = 100 * float(np.mean(clf.predict(new) != labels))
        figures[f"{kind}: leaves"] = clf.n_leaves_
        if kind in THRESHOLDS:
            figures[f"{kind}: digits"] = _digits(clf.tree_)
    wide = clf.prune_to(step=_within(clf.frontier_, 0.08))
    figures["prior, 8 points: certificate"] = 100 * wide.certificate_.risk
    figures["prior, 8 points: test error"] = 100 * float(np.mean(wide.predict(new) != labels))
    figures["prior, 8 points: leaves"] = wide.n_leaves_
    figures["prior, 8 points: seconds"] = figures["prior: seconds"]
    return figures


def _within(frontier: Any, points: float) -> int:
    """The most accurate tree with a limit that is at most so much above the least."""
    least = min(one.risk for one in frontier)
    near = [at for at, one in enumerate(frontier) if one.risk <= least + points]
    return min(near, key=lambda at: frontier[at].training_error)


def _digits(tree: Tree) -> float:
    """Mean number of significant digits of the thresholds of real columns; NaN without any."""
    real = np.array([c.kind == "real" for c in tree.columns] + [False])[tree.feature]
    shown = [t for t in tree.threshold[real].tolist() if np.isfinite(t)]
    counts = [len(Decimal(repr(t)).normalize().as_tuple().digits) for t in shown]
    return float(np.mean(counts)) if counts else np.nan


def of_sets(
    data: Path | None, draws: int, jobs: int, parts: Path | None
) -> dict[str, dict[str, Any]]:
    """Every data set."""
    names = list(datasets.list())
    means = Parallel(n_jobs=jobs)(delayed(measure_set)(name, data, draws, parts) for name in names)
    return dict(zip(names, means, strict=True))


def summary(sets: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Means over the sets, few rows and many apart."""
    enough = {name: 0.85 * row["rows"] >= 500 for name, row in sets.items()}
    groups = {
        "all": list(sets.values()),
        "below 500 training rows": [row for name, row in sets.items() if not enough[name]],
        "500 training rows and more": [row for name, row in sets.items() if enough[name]],
    }
    return {group: _group(rows) for group, rows in groups.items() if rows}


def _group(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """For each kind: limit, excess over the test error relative to the default, error, time."""
    by_kind: dict[str, Any] = {"sets": len(rows)}
    usual = _mean(rows, "decimal: certificate") - _mean(rows, "decimal: test error")
    for kind in dict.fromkeys([*SHOWN, *THRESHOLDS]):
        less = [row[f"{kind}: test error"] - row["decimal: test error"] for row in rows]
        slower = [row[f"{kind}: seconds"] / row["decimal: seconds"] for row in rows]
        excess = _mean(rows, f"{kind}: certificate") - _mean(rows, f"{kind}: test error")
        by_kind[kind] = {
            "certificate": _mean(rows, f"{kind}: certificate"),
            "excess ratio": excess / usual,
            "test error": _mean(rows, f"{kind}: test error"),
            "change of test error": float(np.mean(less)),
            "its standard error": float(np.std(less, ddof=1) / np.sqrt(len(less))),
            "times slower": float(np.median(slower)),
        }
    return by_kind


def _mean(rows: list[dict[str, Any]], key: str) -> float:
    return float(np.mean([row[key] for row in rows]))


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
        predicted = tree.label[tree.apply(self.cells)]
        right = self.classes[np.arange(len(predicted)), predicted]
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


def _raising() -> PaperPruner:
    """The greedy search, which raises subtrees, with the default score."""
    return PaperPruner(score="code-length", growth="leaves", size_prior="leaves", relabel=True)


def pruners() -> dict[str, Pruner | None]:
    """Every pruner by its name, the greedy one that raises subtrees, and none."""
    return {
        "none": None,
        "bound": make_pruner("bound"),
        "bound, raising": _raising(),
        # fewer folds than by default, for the time they take
        "kearns-mansour": KearnsMansourPruner(folds=2),
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
        """From calibration rows."""
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

    for at in range(draws):
        sample = world.draw(rng)
        for name, kind, bound, risk in _newer(world, sample, growing, seed + at, delta):
            count(name, kind, bound, risk)
        for name, tree in _pruned(sample, growing, prunings):
            risk = world.risk(tree)
            for kind, bound in certifier.of(tree):
                count(name, kind, bound, risk)
        for kind, calibration in _calibration_rows(sample, rng):
            rest, judge = sample.part(~calibration), sample.part(calibration)
            few = prunings if kind == "held-out rows" else {"bound": prunings["bound"]}
            for name, tree in _pruned(rest, growing, few):
                errors = int((tree.label[tree.apply(judge.X)] != judge.y).sum())
                count(name, kind, certifier.held_out(errors, judge.n_rows), world.risk(tree))
    return counted


def _newer(
    world: World, sample: Sample, growing: Any, seed: int, delta: float
) -> Iterator[tuple[str, str, float, float]]:
    """The best of three folds, with and without its share of delta, and the prior.

    Of the prior, the tree of least limit, the one that is shipped, and whichever of all trees that
    were found violates its limit most.
    """

    def fit(fold: NDArray[np.intp], rows: Sample = sample) -> tuple[Tree, int]:
        tree = growing(rows.part(np.delete(np.arange(rows.n_rows), fold)))
        judge = rows.part(fold)
        return tree, int((tree.label[tree.apply(judge.X)] != judge.y).sum())

    ordered = sample.part(np.argsort(sample.y, kind="stable"))  # drawn at the fixed seed
    folds = [
        np.flatnonzero(fold.mask(sample.n_rows))
        for fold in Draw().keyed(ordered).folds(sample.n_rows)
    ]
    best = best_of_folds(partial(fit, rows=ordered), folds, delta)
    yield "none", "folds, sorted rows", min(best.bounds), world.risk(best.fitted)
    drawn = np.array_split(np.random.default_rng(seed).permutation(sample.n_rows), 3)
    for kind, level in (("folds", delta), ("folds, delta for each", 3 * delta)):
        best = best_of_folds(fit, drawn, level)
        yield "none", kind, min(best.bounds), world.risk(best.fitted)
    least = min(search_trees(Prior(ordered), delta, restarts=1), key=lambda one: one.risk)
    yield "none", "prior, sorted rows", least.risk, world.risk(least.tree)
    trees = search_trees(Prior(sample, Draw(seed)), delta, restarts=1)
    frontier = Frontier.of(trees)
    least, shipped = min(trees, key=lambda one: one.risk), frontier[frontier.chosen]
    worst = max(trees, key=lambda one: world.risk(one.tree) - one.risk)
    for kind, one in (("least limit", least), ("shipped", shipped), ("any tree", worst)):
        yield "none", f"prior, {kind}", one.risk, world.risk(one.tree)


def _pruned(
    sample: Sample, growing: Any, prunings: dict[str, Pruner | None]
) -> Iterator[tuple[str, Tree]]:
    whole = growing(sample)
    for name, pruner in prunings.items():
        training, validation, grown = sample, None, whole
        if isinstance(pruner, BasePruner):
            training, validation = pruner.split_validation(sample)
            grown = whole if validation is None else growing(training)
        if pruner is not None:
            grown = pruner.prune(grown, training, validation=validation, grow=growing).tree
        yield name, grown


def _calibration_rows(
    sample: Sample, rng: np.random.Generator
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """30 % of the rows; and what must not be done, 30 % of each class, rounded down."""
    order = rng.permutation(sample.n_rows)
    calibration = np.zeros(sample.n_rows, dtype=bool)
    calibration[order[: round(0.3 * sample.n_rows)]] = True
    yield "held-out rows", calibration
    by_class = np.zeros(sample.n_rows, dtype=bool)
    for code in range(sample.n_classes):
        rows = order[sample.y[order] == code]
        by_class[rows[: int(0.3 * len(rows))]] = True
    if by_class.any():
        yield "held-out rows, drawn by class", by_class


def _simulated(
    name: str, size: int, seed: int, delta: float, parts: Path | None
) -> Counter[tuple[str, str, str]]:
    """The counts of one world and seed; those of finished parts are kept."""
    part = None if parts is None else parts / f"{name}.{size}.{seed}.{delta}.json"
    if part is not None and part.exists():
        return Counter({tuple(key): number for key, number in json.loads(part.read_text())})
    counted = simulate(worlds()[name], size, seed, delta)
    if part is not None:
        write_text(part, json.dumps([[key, int(number)] for key, number in counted.items()]))
    return counted


def violations(
    draws: int, jobs: int, delta: float, parts: Path | None
) -> dict[str, dict[str, dict[str, int]]]:
    """Draws, and those with a wrong certificate, by kind and pruner; drawn by class by world."""
    names = list(worlds())
    tasks = [(name, seed) for seed in range(10) for name in names]
    size = -(-draws // len(tasks))
    counted = Parallel(n_jobs=jobs)(
        delayed(_simulated)(name, size, 100 * seed + names.index(name), delta, parts)
        for name, seed in tasks
    )
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for (name, _), one in zip(tasks, counted, strict=True):
        for (pruner, kind, outcome), number in one.items():
            column = name if kind.endswith("by class") else pruner
            row = counts.setdefault(kind, {}).setdefault(column, {"draws": 0, "wrong": 0})
            row[outcome] += number
    return counts


# -- tables ----------------------------------------------------------------------------------------


def show(document: dict[str, Any]) -> None:
    """Print what was found."""
    console = Console(width=150)
    table = Table("per cent", "rows", *SHOWN.values(), "test error", "folds", "prior", box=None)
    errors = [f"{kind}: test error" for kind in ("decimal", "folds", "prior")]
    keys = [f"{kind}: certificate" for kind in SHOWN] + errors
    for name, row in {**document["sets"], "mean": document["mean"]}.items():
        table.add_row(str(name), f"{row['rows']:,.0f}", *(f"{row[key]:.1f}" for key in keys))
    console.print(table)
    for group, figures in document["summary"].items():
        table = Table(f"{group}: {figures['sets']} sets", "limit", "excess", "test error", "change",
                      "times slower", box=None)  # fmt: skip
        for kind, name in SHOWN.items():
            row = figures[kind]
            change = f"{row['change of test error']:+.1f} ± {row['its standard error']:.1f}"
            table.add_row(name, f"{row['certificate']:.1f}", f"{row['excess ratio']:.2f}",
                          f"{row['test error']:.1f}", change,
                          f"{row['times slower']:.1f}")  # fmt: skip
        console.print(table)
    table = Table("thresholds", "test error", "digits", "leaves", "certificate", box=None)
    for rule in THRESHOLDS:
        row = [document["mean"][f"{rule}: {key}"] for key in ("test error", "digits", "leaves")]
        cells = [f"{value:.2f}" for value in [*row, document["mean"][f"{rule}: certificate"]]]
        table.add_row(rule, *cells)
    console.print(table)
    for kind, columns in document["violations"].items():
        cells = [f"{name}: {row['wrong']:,} of {row['draws']:,}" for name, row in columns.items()]
        console.print(f"{kind}: " + "; ".join(cells))


def draw(document: dict[str, Any], path: Path) -> None:
    """The limits of all kinds and the test error, one line for each data set."""
    from matplotlib import pyplot

    rows = sorted(document["sets"].items(), key=lambda item: item[1]["rows"])
    figure, ax = pyplot.subplots(figsize=(8, 7), layout="constrained")
    places = np.arange(len(rows))
    for (kind, name), mark in zip(SHOWN.items(), "sv^oDd", strict=True):
        ax.plot([row[f"{kind}: certificate"] for _, row in rows], places, mark, ms=5, label=name)
    ax.plot(
        [row["decimal: test error"] for _, row in rows], places, "k|", ms=10, label="test error"
    )
    ax.set_yticks(places, [f"{name}, {row['rows']:,}" for name, row in rows], fontsize=7)
    ax.set(xlabel="certified error, %", xlim=(0, 100))
    ax.grid(axis="x", color="0.9")
    ax.legend(frameon=False)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the raw files")
    parser.add_argument("--draws", type=int, default=100, help="test splits of each data set")
    parser.add_argument(
        "--simulated", type=int, default=20_000, help="simulated samples; 0 keeps earlier counts"
    )
    parser.add_argument("--delta", type=float, default=0.05, help="of the simulations")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--parts", type=Path, help="folder of what is finished, to go on later")
    parser.add_argument("--picture", type=Path, help="where to draw the limits of all kinds")
    options = parser.parse_args()
    start = time.perf_counter()
    sets = of_sets(options.data, options.draws, options.jobs, options.parts)
    first = next(iter(sets.values()))
    document = {
        "draws": options.draws,
        "sets": sets,
        "mean": {key: float(np.nanmean([row[key] for row in sets.values()])) for key in first},
        "summary": summary(sets),
        "delta": options.delta,
        "violations": (
            violations(options.simulated, options.jobs, options.delta, options.parts)
            if options.simulated
            else json.loads(RESULTS.read_text())["violations"]
        ),
    }
    show(document)
    print(f"{time.perf_counter() - start:.0f} s")
    if options.picture is not None:
        draw(document, options.picture)
    write_text(RESULTS, json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
