"""The default tree next to a fixed weight, cost-complexity pruning and scikit-learn.

    python benchmarks/default.py [--data FOLDER] [--draws 20] [--most 400000] [--only PART]
                                 [--match TEXT] [--again] [--models NAME ...]

On the paper's 25 data sets (85/15), on noise with a little signal at 2,000 to 400,000 rows, on
three unbalanced simulations and on unbalanced tables (one class of some of the 25 against the
others, 5 folds), both with and without balanced class weights: error, leaves, balanced accuracy,
AUC and log-loss (of two classes) and processor time to fit, as one table. A second table has
paired differences, with their standard errors over the draws. The 25 data sets were used in
choosing the weights 0.6 and 0.3, the grids of weights and strengths of shrinkage, the rule of
log-loss, and how few effective rows are cross-validated; so had the simulations, in the grids and
in log-loss. Tables of many rows have fewer draws.

Results are kept after each group of tables; a group that has as many draws is not run again, unless
``--again`` is given. ``--match`` runs the groups whose name has the text; ``--models`` renews the
figures of some models, and the differences between them, in the groups that have results.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import groupby
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
from treebound._utils.files import write_text
from treebound.pruning import BoundPruner

RESULTS = Path(__file__).parent / "results" / "default.json"
Floats = NDArray[np.float64]
SIZES = (2_000, 10_000, 50_000, 200_000, 400_000)
TESTED = 100_000
# Above this, the search over the path of scikit-learn takes long.
MAX_ROWS_FOR_GRID = 600
PARTS = ("sets", "noise", "simulations", "tables")


# Ours, the rival and the compared figure: without class weights, and with them.
PAIRS = {
    False: [
        *(("default", rival, "error") for rival in ("cost-complexity", "cost-complexity, Gini")),
        *(("log-loss", rival, figure) for rival in ("unpruned", "default")
          for figure in ("AUC", "log-loss")),
    ],
    True: [
        (ours, rival, "balanced accuracy")
        for rival in ("cost-complexity", "cost-complexity, Gini", "scikit-learn, 8 leaves")
        for ours in ("default", "size='accurate'")
    ],
}  # fmt: skip


class Case(NamedTuple):
    """Rows to fit and rows to test; ``wide`` is what scikit-learn can take."""

    group: str
    draw: int
    X: Any
    y: Any
    test_X: Any
    test_y: Any
    wide: tuple[Any, Any] | None = None
    class_weight: str | None = None


# -- models ----------------------------------------------------------------------------------------


def models(case: Case) -> dict[str, Callable[[], Any]]:
    """The compared models by name."""
    weight: Any = case.class_weight

    def ours(**options: Any) -> tb.BoundTreeClassifier:
        return tb.BoundTreeClassifier(class_weight=weight, **options)

    compared: dict[str, Callable[[], Any]] = {
        "default": ours,
        "size='accurate'": lambda: ours(size="accurate"),
        "size='small'": lambda: ours(size="small"),
        "weight 0.6": lambda: ours(pruning=BoundPruner(weight=0.6)),
        "log-loss": lambda: ours(pruning=BoundPruner(score="log-loss")),
        "cost-complexity": lambda: ours(pruning="cost-complexity"),
        "cost-complexity, Gini": lambda: ours(pruning="cost-complexity", criterion="gini"),
        "unpruned": lambda: ours(pruning=None),
    }
    if case.wide is not None:
        compared["scikit-learn, 8 leaves"] = lambda: DecisionTreeClassifier(
            max_leaf_nodes=8, class_weight=weight, random_state=0
        )
        if len(case.y) <= MAX_ROWS_FOR_GRID:
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
    predicted = model.predict(test_X)
    two = len(model.classes_) == 2 and len(np.unique(case.test_y)) == 2
    return {
        "error": 100 * float(np.mean(predicted != case.test_y)),
        "leaves": float(best.get_n_leaves() if theirs else best.n_leaves_),
        "balanced accuracy": float(balanced_accuracy_score(case.test_y, predicted)),
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

    for name in tb.study.datasets.list():
        data = tb.study.datasets.load(name, data=folder)
        y, wide = np.asarray(data.target), one_hot(data)
        for seed in range(draws):
            order = np.random.default_rng(seed).permutation(len(y))
            test, train = np.split(order, [round(0.15 * len(y))])
            frame = data.frame
            rows = "1,000 rows and more" if len(train) >= 1000 else "fewer rows"
            yield Case(f"25 sets, {rows}", seed, frame.iloc[train], y[train], frame.iloc[test],
                       y[test], (wide[train], wide[test]))  # fmt: skip


# A class against the others.
RARE = {
    "yeast, ME2": ("yeast", "ME2"),
    "yeast, MIT": ("yeast", "MIT"),
    "cardiotocography, 8": ("cardiotocography10", "8"),
    "cardiotocography, 9": ("cardiotocography10", "9"),
    "robot, slight left": ("wall_following_robot24", "Slight-Left-Turn"),
    "german credit, bad": ("statlog_german", "2"),
    "qsar, ready": ("qsar_biodegradation", "RB"),
    "climate, failed": ("climate_model_simulation_crashes", "0"),
}


def rare_classes(folder: Path | None, draws: int) -> Iterator[Case]:
    """Unbalanced tables of two classes, 5 folds."""
    from pruning import one_hot

    for name, (of, label) in RARE.items():
        data = tb.study.datasets.load(of, data=folder)
        frame, X = data.frame, one_hot(data)
        y = (np.asarray(data.target).astype(str) == label).astype(np.int64)
        for weight in ("balanced", None):
            group = f"{name}: {100 * y.mean():.0f} % of {len(y):,}{', balanced' * bool(weight)}"
            for seed in range(draws):
                folds = StratifiedKFold(5, shuffle=True, random_state=seed)
                for train, test in folds.split(X, y):
                    yield Case(group, seed, frame.iloc[train], y[train], frame.iloc[test], y[test],
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
    return Case(group, seed, X, y, test_X, test_y, (X, test_X), class_weight)


def noise(draws: int, most: int) -> Iterator[Case]:
    """Noise with a little signal."""
    for rows in SIZES:
        for seed in range(min(draws, 4_000_000 // rows) if rows <= most else 0):
            yield simulated("noise", rows, seed, None)


def unbalanced(draws: int, most: int) -> Iterator[Case]:
    """Simulations with a rare class."""
    for signal in list(SIGNALS)[1:]:
        for rows in (2_000, 10_000, 50_000):
            for weight in ("balanced", None):
                for seed in range(min(draws, 1_000_000 // rows) if rows <= most else 0):
                    yield simulated(signal, rows, seed, weight, tested=20_000)


# -- results ---------------------------------------------------------------------------------------


def main() -> None:
    """Measure, print two tables and keep them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the raw files")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--most", type=int, default=400_000, help="rows of the largest table")
    parser.add_argument("--only", choices=PARTS, help="one part; the results of others are kept")
    parser.add_argument("--match", default="", help="a text in the names of the groups to run")
    parser.add_argument("--again", action="store_true", help="groups that have results too")
    parser.add_argument("--models", nargs="+", help="models whose figures are renewed")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)  # odd columns are what these data have
    parts: dict[str, Callable[[], Iterator[Case]]] = {
        "sets": lambda: data_sets(options.data, options.draws),
        "noise": lambda: noise(options.draws, options.most),
        "simulations": lambda: unbalanced(options.draws, options.most),
        "tables": lambda: rare_classes(options.data, options.draws),
    }
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for part in [options.only] if options.only else PARTS:
        wanted = (case for case in parts[part]() if options.match in case.group)
        # the 25 sets are two groups in turn
        by_group = sorted(wanted, key=_group) if part == "sets" else wanted
        for group, cases in groupby(by_group, key=_group):
            before = stored.get(group, {})
            same = before.get("requested draws") == options.draws
            if (same and not options.again) if options.models is None else not same:
                continue
            renewed = _summary(list(cases), options.models)
            if options.models is not None:
                renewed = _merged(before, renewed)
            stored[group] = {"requested draws": options.draws, **renewed}
            write_text(RESULTS, json.dumps(stored, indent=1) + "\n")
    Console(width=130).print(_table(stored))
    Console(width=130).print(_paired_table(stored))


def _group(case: Case) -> str:
    return case.group


def _summary(cases: list[Case], names: list[str] | None = None) -> dict[str, Any]:
    """Means of a group by model, and paired differences between models; of all, or of some."""
    rows: dict[str, list[dict[str, float]]] = {}
    for case in cases:
        for name, make in models(case).items():
            if names is None or name in names:
                rows.setdefault(name, []).append(measured(name, make, case))
    draws = np.array([case.draw for case in cases])
    return {
        "draws": len(np.unique(draws)),
        "means": {name: _means(figures) for name, figures in rows.items()},
        "paired": [
            {"ours": ours, "rival": rival, "figure": figure,
             **_difference(rows[ours], rows[rival], figure, draws)}
            for ours, rival, figure in PAIRS[cases[0].class_weight is not None]
            if ours in rows and rival in rows
        ],
    }  # fmt: skip


def _merged(before: dict[str, Any], renewed: dict[str, Any]) -> dict[str, Any]:
    """The results of a group, with those of some models renewed."""

    def key(pair: dict[str, Any]) -> tuple[str, ...]:
        return pair["ours"], pair["rival"], pair["figure"]

    pairs = {key(pair): pair for pair in [*before["paired"], *renewed["paired"]]}
    return {
        "draws": renewed["draws"],
        "means": before["means"] | renewed["means"],
        "paired": list(pairs.values()),
    }


def _difference(
    ours: list[dict[str, float]], rival: list[dict[str, float]], figure: str, draws: NDArray[Any]
) -> dict[str, float | None]:
    """The mean difference, its standard error over draws, and the ratio of the leaves."""
    gaps = np.array([a[figure] - b[figure] for a, b in zip(ours, rival, strict=True)])
    leaves = [np.log([row["leaves"] for row in side]).mean() for side in (ours, rival)]
    of_draw = np.array([gaps[draws == draw].mean() for draw in np.unique(draws)])
    many = len(of_draw) > 1 and not np.isnan(of_draw).any()
    error = of_draw.std(ddof=1) / np.sqrt(len(of_draw)) if many else np.nan
    return {
        "difference": None if np.isnan(gaps).any() else round(float(gaps.mean()), 4),
        "standard error": round(float(error), 4) if many else None,
        "leaves": round(float(np.exp(leaves[0] - leaves[1])), 2),
    }


def _means(rows: list[dict[str, float]]) -> dict[str, float | None]:
    """Means over draws and tables; geometric for leaves and times."""
    means: dict[str, float | None] = {"fits": len(rows)}
    for name in rows[0]:
        values = np.array([row[name] for row in rows])
        values = values[~np.isnan(values)]
        if not len(values):
            means[name] = None
        elif name in ("leaves", "milliseconds"):
            means[name] = round(float(np.exp(np.log(values.clip(min=1e-3)).mean())), 2)
        else:
            means[name] = round(float(values.mean()), 4)
    return means


def _table(stored: dict[str, dict[str, Any]]) -> Table:
    names = ("table", "tree", "error %", "leaves", "bal. acc.", "AUC", "log-loss", "ms")
    table = Table(*names, box=None)
    for group, results in stored.items():
        for at, (name, row) in enumerate(results["means"].items()):
            auc, loss = (
                "" if row.get(name) is None else f"{row[name]:.3f}" for name in ("AUC", "log-loss")
            )
            table.add_row(
                group if at == 0 else "", name, f"{row['error']:.2f}", f"{row['leaves']:.1f}",
                f"{row['balanced accuracy']:.3f}", auc, loss,
                f"{row['milliseconds']:.1f}",
            )  # fmt: skip
    return table


def _paired_table(stored: dict[str, dict[str, Any]]) -> Table:
    names = ("table", "draws", "tree", "minus", "in", "difference", "leaves, ratio")
    table = Table(*names, box=None)
    for group, results in stored.items():
        shown = [pair for pair in results["paired"] if pair["difference"] is not None]
        for at, pair in enumerate(shown):
            error = pair["standard error"]
            noise = "" if error is None else f" ± {error:.4f}"
            table.add_row(
                *((group, str(results["draws"])) if at == 0 else ("", "")), pair["ours"],
                pair["rival"], pair["figure"], f"{pair['difference']:+.4f}{noise}",
                f"{pair['leaves']:.2f}",
            )  # fmt: skip
    return table


if __name__ == "__main__":
    main()
