"""The default tree beside a fixed weight, cost-complexity pruning and scikit-learn.

    python benchmarks/default.py [--data FOLDER] [--draws 5] [--most 400000] [--only PART]

On the paper's 25 data sets (85/15, some draws), on noise with a little signal at 2,000 to 400,000
rows, on three unbalanced simulations and on unbalanced tables (one class of some of the 25 against
the others, 5 folds), both with and without balanced class weights: error, leaves, balanced
accuracy, AUC and log-loss (of two classes) and processor time to fit, as one table. The 25 data
sets had a part in choosing the weight 0.6, the grid of weights and the smoothing; the simulations
in the grid.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

import treebound as tb
from treebound._files import write_text
from treebound.pruning import BoundPruner

RESULTS = Path(__file__).parent / "results" / "default.json"
Floats = NDArray[np.float64]
SIZES = (2_000, 10_000, 50_000, 200_000, 400_000)
TESTED = 100_000
# Above this, the search over the path of scikit-learn takes long.
MOST_FOR_GRID = 600
PARTS = ("sets", "noise", "simulations", "tables")


class Case(NamedTuple):
    """Rows to fit and rows to test; ``wide`` is what scikit-learn can take."""

    group: str
    X: Any
    y: Any
    test_X: Any
    test_y: Any
    wide: tuple[Any, Any] | None = None
    class_weight: str | None = None


# -- models ----------------------------------------------------------------------------------------


def models(case: Case) -> dict[str, Callable[[], Any]]:
    """What is compared, by name."""
    weight: Any = case.class_weight

    def ours(**options: Any) -> tb.BoundTreeClassifier:
        return tb.BoundTreeClassifier(class_weight=weight, **options)

    compared: dict[str, Callable[[], Any]] = {
        "default": ours,
        "size='accurate'": lambda: ours(size="accurate"),
        "size='small'": lambda: ours(size="small"),
        "weight 0.6": lambda: ours(pruning=BoundPruner(weight=0.6)),
        "log-loss": lambda: ours(pruning=BoundPruner(score="log-loss")),
        "cost-complexity": lambda: ours(pruning="cost-complexity", criterion="gini"),
        "unpruned": lambda: ours(pruning=None),
    }
    if case.wide is not None:
        compared["scikit-learn, 8 leaves"] = lambda: DecisionTreeClassifier(
            max_leaf_nodes=8, class_weight=weight, random_state=0
        )
        if len(case.y) <= MOST_FOR_GRID:
            compared["scikit-learn, ccp_alpha"] = lambda: _grid(case)
    return compared


def _grid(case: Case) -> GridSearchCV:
    assert case.wide is not None
    tree = DecisionTreeClassifier(class_weight=case.class_weight, random_state=0)
    path = tree.cost_complexity_pruning_path(case.wide[0], case.y)
    alphas = np.unique(path.ccp_alphas.clip(min=0.0))
    scoring = "accuracy" if case.class_weight is None else "balanced_accuracy"
    return GridSearchCV(tree, {"ccp_alpha": alphas}, cv=5, scoring=scoring)


def measured(name: str, make: Callable[[], Any], case: Case) -> dict[str, float]:
    """Fit one model and test it."""
    theirs = name.startswith("scikit-learn")
    X, test_X = case.wide if theirs and case.wide is not None else (case.X, case.test_X)
    start = time.process_time()
    model = make().fit(X, case.y)
    seconds = time.process_time() - start
    best = getattr(model, "best_estimator_", model)
    answers = model.predict(test_X)
    two = len(model.classes_) == 2 and len(np.unique(case.test_y)) == 2
    return {
        "error": 100 * float(np.mean(answers != case.test_y)),
        "leaves": float(best.get_n_leaves() if theirs else best.n_leaves_),
        "balanced accuracy": float(balanced_accuracy_score(case.test_y, answers)),
        "AUC": float(roc_auc_score(case.test_y, model.predict_proba(test_X)[:, 1]))
        if two
        else np.nan,
        "log-loss": float(log_loss(case.test_y, model.predict_proba(test_X).clip(1e-9, 1.0)))
        if two
        else np.nan,
        "milliseconds": 1000 * seconds,
    }


# -- tables ----------------------------------------------------------------------------------------


def data_sets(folder: Path | None, draws: int) -> Iterator[Case]:
    """The 25 data sets, 85/15."""
    from pruning import one_hot

    for name in tb.datasets.list():
        data = tb.datasets.load(name, data=folder)
        y, wide = np.asarray(data.target), one_hot(data)
        for seed in range(draws):
            order = np.random.default_rng(seed).permutation(len(y))
            test, train = np.split(order, [round(0.15 * len(y))])
            frame = data.frame
            rows = "1,000 rows and more" if len(train) >= 1000 else "fewer rows"
            yield Case(f"25 sets, {rows}", frame.iloc[train], y[train], frame.iloc[test], y[test],
                       (wide[train], wide[test]))  # fmt: skip


# A class against the others.
RARE = {
    "yeast, ME2": ("yeast", "ME2"),
    "yeast, MIT": ("yeast", "MIT"),
    "cardiotocography, 8": ("cardiotocography10", "8"),
    "cardiotocography, 9": ("cardiotocography10", "9"),
    "robot, slight left": ("wall_following_robot24", "Slight-Left-Turn"),
}


def rare_classes(folder: Path | None, draws: int) -> Iterator[Case]:
    """Unbalanced tables of two classes, 5 folds."""
    for name, (of, label) in RARE.items():
        data = tb.datasets.load(of, data=folder)
        frame, X = data.frame, data.frame.to_numpy(dtype=float)
        y = (np.asarray(data.target).astype(str) == label).astype(np.int64)
        for weight in ("balanced", None):
            group = f"{name}: {100 * y.mean():.0f} % of {len(y):,}{', balanced' * bool(weight)}"
            for seed in range(draws):
                folds = StratifiedKFold(5, shuffle=True, random_state=seed)
                for train, test in folds.split(X, y):
                    yield Case(group, frame.iloc[train], y[train], frame.iloc[test], y[test],
                               (X[train], X[test]), weight)  # fmt: skip


SIGNALS: dict[str, Callable[[Floats], Floats]] = {
    "noise": lambda X: X[:, 0] + X[:, 1] * X[:, 2] - 3.0,
    "unbalanced, two columns": lambda X: X[:, 0] + X[:, 1] / 2 - 3.3,
    "unbalanced, squares": lambda X: 1.5 * X[:, 0] + X[:, 1] ** 2 - 4.5,
    "unbalanced, interaction": lambda X: X[:, 0] + X[:, 1] * X[:, 2] - 3.0,
}


def simulated(
    signal: str, rows: int, seed: int, class_weight: str | None, tested: int = TESTED
) -> Case:
    """Ten normal columns, two classes; class_weight as given."""
    rng = np.random.default_rng(seed)

    def draw(size: int) -> tuple[Floats, NDArray[np.int64]]:
        X = rng.normal(size=(size, 10))
        chance = 1.0 / (1.0 + np.exp(-SIGNALS[signal](X)))
        return X, (rng.random(size) < chance).astype(np.int64)

    (X, y), (test_X, test_y) = draw(rows), draw(tested)
    group = f"{signal}, {rows:,} rows" + (", balanced" if class_weight else "")
    return Case(group, X, y, test_X, test_y, (X, test_X), class_weight)


def noise(draws: int, most: int) -> Iterator[Case]:
    """Noise with a little signal."""
    for rows in SIZES:
        for seed in range(max(1, min(draws, 100_000 // rows)) if rows <= most else 0):
            yield simulated("noise", rows, seed, None)


def unbalanced(draws: int, most: int) -> Iterator[Case]:
    """Simulations with a rare class."""
    for signal in list(SIGNALS)[1:]:
        for rows in (2_000, 10_000, 50_000):
            for weight in ("balanced", None):
                repeats = draws if rows <= 10_000 else min(draws, 2)
                for seed in range(repeats if rows <= most else 0):
                    yield simulated(signal, rows, seed, weight, tested=20_000)


def main() -> None:
    """Measure, print one table and keep it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the raw files")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--most", type=int, default=400_000, help="rows of the largest table")
    parser.add_argument("--only", choices=PARTS, help="one part; the results of others are kept")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)  # odd columns are what these data have
    parts: dict[str, Callable[[], Iterator[Case]]] = {
        "sets": lambda: data_sets(options.data, options.draws),
        "noise": lambda: noise(options.draws, options.most),
        "simulations": lambda: unbalanced(options.draws, options.most),
        "tables": lambda: rare_classes(options.data, options.draws),
    }
    means: dict[str, dict[str, Any]] = {}
    if options.only and RESULTS.exists():
        means = json.loads(RESULTS.read_text())["means"]
    for part in [options.only] if options.only else PARTS:
        results: dict[str, dict[str, list[dict[str, float]]]] = {}
        for case in parts[part]():
            for name, make in models(case).items():
                figures = measured(name, make, case)
                results.setdefault(case.group, {}).setdefault(name, []).append(figures)
        for group, found in results.items():
            means[group] = {name: _means(rows) for name, rows in found.items()}
    Console(width=130).print(_table(means))
    write_text(RESULTS, json.dumps({"means": means}, indent=1) + "\n")


def _means(rows: list[dict[str, float]]) -> dict[str, float | None]:
    """Means over draws and tables; geometric for leaves and times."""
    found: dict[str, float | None] = {"fits": len(rows)}
    for name in rows[0]:
        values = np.array([row[name] for row in rows])
        values = values[~np.isnan(values)]
        if not len(values):
            found[name] = None
        elif name in ("leaves", "milliseconds"):
            found[name] = round(float(np.exp(np.log(values.clip(min=1e-3)).mean())), 2)
        else:
            found[name] = round(float(values.mean()), 4)
    return found


def _table(means: dict[str, dict[str, dict[str, float | None]]]) -> Table:
    names = ("table", "tree", "error %", "leaves", "bal. acc.", "AUC", "log-loss", "ms")
    table = Table(*names, box=None)
    for group, found in means.items():
        for at, (name, row) in enumerate(found.items()):
            auc, loss = (
                "" if row.get(name) is None else f"{row[name]:.3f}" for name in ("AUC", "log-loss")
            )
            table.add_row(
                group if at == 0 else "", name, f"{row['error']:.2f}", f"{row['leaves']:.1f}",
                f"{row['balanced accuracy']:.3f}", auc, loss,
                f"{row['milliseconds']:.1f}",
            )  # fmt: skip
    return table


if __name__ == "__main__":
    main()
