"""The default tree beside a fixed weight, cost-complexity pruning and scikit-learn.

    python benchmarks/default.py [--data FOLDER] [--draws 5] [--most 400000]

On the paper's 25 data sets (85/15, some draws), on noise with a little signal at 2,000 to 400,000
rows, and on three unbalanced simulations with balanced class weights: error, leaves, balanced
accuracy, AUC (of two classes) and processor time to fit, as one table. The 25 data sets had a part
in choosing the weight 0.6, the grid of weights and the smoothing; the simulations in the grid.
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
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV
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


def cases(folder: Path | None, draws: int, most: int) -> Iterator[Case]:
    """All tables, one after the other."""
    yield from data_sets(folder, draws)
    for rows in SIZES:
        repeats = max(1, min(draws, 100_000 // rows))
        for seed in range(repeats if rows <= most else 0):
            yield simulated("noise", rows, seed, None)
    for signal in list(SIGNALS)[1:]:
        for rows in (2_000, 10_000, 50_000):
            for seed in range(max(1, min(draws, 50_000 // rows)) if rows <= most else 0):
                yield simulated(signal, rows, seed, "balanced")


def main() -> None:
    """Measure, print one table and keep it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the raw files")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--most", type=int, default=400_000, help="rows of the largest table")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)  # odd columns are what these data have
    results: dict[str, dict[str, list[dict[str, float]]]] = {}
    for case in cases(options.data, options.draws, options.most):
        for name, make in models(case).items():
            figures = measured(name, make, case)
            results.setdefault(case.group, {}).setdefault(name, []).append(figures)
    means = {
        group: {name: _means(rows) for name, rows in found.items()}
        for group, found in results.items()
    }
    Console(width=120).print(_table(means))
    document = {"draws": options.draws, "means": means}
    write_text(RESULTS, json.dumps(document, indent=1) + "\n")


def _means(rows: list[dict[str, float]]) -> dict[str, float | None]:
    """Means over draws and tables; geometric for leaves and times."""
    found: dict[str, float | None] = {}
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
    table = Table("table", "tree", "error %", "leaves", "bal. acc.", "AUC", "ms", box=None)
    for group, found in means.items():
        for at, (name, row) in enumerate(found.items()):
            auc = "" if row["AUC"] is None else f"{row['AUC']:.3f}"
            table.add_row(
                group if at == 0 else "", name, f"{row['error']:.2f}", f"{row['leaves']:.1f}",
                f"{row['balanced accuracy']:.3f}", auc, f"{row['milliseconds']:.1f}",
            )  # fmt: skip
    return table


if __name__ == "__main__":
    main()
