"""How long pruning takes, next to scikit-learn in the same run.

    python benchmarks/pruning.py [--data FOLDER] [--quick] [--fits]

Prints ratios and keeps them as benchmarks/results/pruning.json:

- a 75-leaf tree, 10 classes, 2,000 examples: every pruner;
- optimal bound pruning as the tree grows, up to 10,000 leaves and more;
- default fits with ``search="greedy"`` against growing once, a fit that only grows: with signal and
  with noise, two and four classes, numbers and mixed columns, 1,000 to 100,000 rows;
- the weakest-link path against scikit-learn's ``cost_complexity_pruning_path`` on the same tree;
- end to end on the paper's data sets: fit and bound pruning against scikit-learn's fit and 5-fold
  cross-validated ``ccp_alpha`` (``GridSearchCV`` over the alphas of its path). Of the ratios,
  ``array ratio`` has both on the same array, nominal columns one-hot; ``table ratio`` both on the
  same table, scikit-learn with the encoder in its pipeline; ``encoded ratio`` scikit-learn on the
  array, encoded before, and bound pruning on the table, which it encodes itself.

``--quick`` leaves out the data sets on which scikit-learn takes more than some seconds; ``--fits``
prints the default fits alone, and keeps nothing.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import treebound as tb
from treebound._utils.files import write_text
from treebound.data import Sample
from treebound.growing import GrowOptions, grow
from treebound.pruning import PRUNERS, BoundPruner, PaperPruner, make_pruner, weakest_link_path
from treebound.tree.model import Tree

RESULTS = Path(__file__).parent / "results"
SLOW = {
    "spambase", "mushroom", "wall_following_robot24", "yeast", "cardiotocography10",
    "statlog_german", "diabetic_retinopathy_debrecen", "qsar_biodegradation", "image_segmentation",
}  # fmt: skip


def milliseconds(job: Callable[[], Any], repeat: int) -> float:
    """The least of some runs."""
    best = np.inf
    for _ in range(repeat):
        start = time.process_time()
        job()
        best = min(best, time.process_time() - start)
    return 1000 * float(best)


# -- one tree, every pruner ------------------------------------------------------------------------


def every_pruner() -> dict[str, float]:
    """A 75-leaf tree, 10 classes, 2,000 examples."""
    X, y = make_classification(2000, 20, n_informative=10, n_classes=10, flip_y=0.2, random_state=0)
    sample = Sample.learn(X, y)

    def grow_one(sample: Sample) -> Tree:
        return grow(sample, GrowOptions(max_leaves=75))

    tree = grow_one(sample)
    code_length = {
        "score": "code-length", "growth": "leaves", "size_prior": "leaves", "relabel": True,
    }  # fmt: skip
    pruners: dict[str, Any] = {
        "bound, weight 0.6": BoundPruner(weight=0.6),
        "bound, auto": BoundPruner(),
        "bound, tail inversion": BoundPruner(score="tail-inversion"),
        "bound, greedy with raising": PaperPruner(**code_length),
        "bound, optimal+raise": PaperPruner(**code_length, search="optimal+raise"),
        "the paper's (fast, greedy, r = 2^-10.5)": PaperPruner(relabel=True),
        "the paper's with r = 2^-3": PaperPruner(error_prior=0.125, relabel=True),
        **{name: make_pruner(name) for name in PRUNERS if name != "bound"},
    }
    times = {"growing it": milliseconds(lambda: grow_one(sample), 5)}
    for name, pruner in pruners.items():
        rows, validation = pruner.hold_out(sample)
        grown = tree if validation is None else grow_one(rows)

        def prune(
            pruner: Any = pruner,
            rows: Any = rows,
            validation: Any = validation,
            grown: Tree = grown,
        ) -> Any:
            # A copy has nothing computed yet: no sizes, no depths.
            return pruner.prune(replace(grown), rows, validation=validation, grow=grow_one)

        times[name] = milliseconds(prune, 7)
    return times


# -- large trees -----------------------------------------------------------------------------------


def large_tree(leaves: int) -> tuple[NDArray[Any], NDArray[Any], Tree]:
    """A tree of about that many leaves, grown to purity on noise with a little signal."""
    rng = np.random.default_rng(0)
    rows = int(leaves * 5)
    X = rng.random((rows, 10))
    y = ((X[:, 0] > 0.5) ^ (rng.random(rows) < 0.35)).astype(np.int64)
    tree = grow(Sample.learn(X, y), GrowOptions(max_leaves=leaves))
    return X, y, tree


def optimal_by_size() -> dict[str, dict[str, float]]:
    """Optimal search: the pruned tree, and the whole curve of every size."""
    times = {}
    for leaves in (100, 1000, 10_000, 50_000):
        tree = large_tree(leaves)[2]
        times[f"{tree.n_leaves:,} leaves"] = {
            "one tree": milliseconds(lambda tree=tree: BoundPruner().prune(replace(tree)), 3),
            "every size": milliseconds(
                lambda tree=tree: BoundPruner().prune(replace(tree)).path.errors, 2
            ),
        }
    return times


def weakest_link(leaves: int) -> dict[str, float]:
    """The path of one fitted tree, by scikit-learn and here.

    The public ``cost_complexity_pruning_path`` fits the tree first, which takes longer than the
    path and would drown it; so the step behind it is timed alone.
    """
    from sklearn.tree._tree import ccp_pruning_path

    X, y, _ = large_tree(leaves)
    theirs = DecisionTreeClassifier(random_state=0).fit(X, y)
    tree = tb.from_sklearn(theirs, X, y)
    path = weakest_link_path(tree, measure="impurity")
    np.testing.assert_allclose(path.risks[-1], ccp_pruning_path(theirs.tree_)["impurities"][-1])
    return {
        "leaves": tree.n_leaves,
        "scikit-learn": milliseconds(lambda: ccp_pruning_path(theirs.tree_), 3),
        "treebound": milliseconds(
            lambda: weakest_link_path(replace(tree), measure="impurity").risks, 7
        ),
    }


# -- end to end ------------------------------------------------------------------------------------


ROWS = (1_000, 3_000, 10_000, 30_000, 100_000)


def little_signal(rows: int) -> tuple[Any, NDArray[Any]]:
    """Ten columns of numbers; most of the classes are chance."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 10))
    return X, rng.random(rows) < 1.0 / (1.0 + np.exp(3.0 - X[:, 0] - X[:, 1] * X[:, 2]))


def number_columns(rows: int, n_classes: int, noise: bool = False) -> tuple[Any, NDArray[Any]]:
    """Twenty columns of numbers, five informative; 8 % of the classes are chance, or all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 20))
    score = X[:, 0] + X[:, 1] + X[:, 2] * X[:, 3] + np.abs(X[:, 4])
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    chance = rng.random(rows) < (1.0 if noise else 0.08)
    y[chance] = rng.integers(0, n_classes, int(chance.sum()))
    return X, y


def mixed_columns(rows: int, n_classes: int) -> tuple[Any, NDArray[Any]]:
    """The same with four nominal columns, and missing values in one."""
    X, y = number_columns(rows, n_classes)
    frame = pd.DataFrame(X, columns=[f"x{at}" for at in range(X.shape[1])])
    for at in (0, 5, 6, 7):
        codes = np.digitize(X[:, at], np.linspace(-2.0, 2.0, 6))
        frame[f"x{at}"] = pd.Categorical.from_codes(codes, list("abcdefg"))
    frame.loc[::10, "x2"] = np.nan
    return frame, y


WORLDS: dict[str, Callable[[int], tuple[Any, NDArray[Any]]]] = {
    "a little signal": little_signal,
    "signal, 2 classes": lambda rows: number_columns(rows, 2),
    "signal, 4 classes": lambda rows: number_columns(rows, 4),
    "noise, 2 classes": lambda rows: number_columns(rows, 2, noise=True),
    "noise, 4 classes": lambda rows: number_columns(rows, 4, noise=True),
    "mixed columns, 2 classes": lambda rows: mixed_columns(rows, 2),
    "mixed columns, 4 classes": lambda rows: mixed_columns(rows, 4),
}


def default_fits() -> dict[str, dict[str, dict[str, float]]]:
    """The fit that chooses its weight by folds, the fit that only grows, and growing alone.

    By world and number of rows, in processor time: the least of runs in turn.
    """
    training: dict[str, Any] = {"certificate": "training", "search": "greedy"}
    grown = tb.BoundTreeClassifier(pruning=None, cv=None, **training)
    fitted, options = tb.BoundTreeClassifier(**training), GrowOptions("entropy")
    times: dict[str, dict[str, dict[str, float]]] = {}
    for world, make in WORLDS.items():
        for rows in ROWS:
            X, y = make(rows)
            sample = Sample.learn(X, y)
            jobs: dict[str, Callable[[], Any]] = {
                "growing": lambda s=sample: grow(replace(s, X=replace(s.X)), options),
                "unpruned": lambda X=X, y=y: clone(grown).fit(X, y),
                "auto": lambda X=X, y=y: clone(fitted).fit(X, y),
            }
            n_runs = 30_000 // rows + 5
            runs = [[milliseconds(job, 1) for job in jobs.values()] for _ in range(n_runs)]
            took = dict(zip(jobs, np.min(runs, axis=0).tolist(), strict=True))
            row = {**took, "ratio": took["auto"] / took["unpruned"]}
            times.setdefault(world, {})[f"{rows:,} rows"] = row
            shown = " ".join(f"{took[name]:9.1f} ms" for name in jobs)
            print(f"  {world:26} {rows:>9,} rows {shown} {row['ratio']:8.2f} x", flush=True)
    return times


def cross_validated(X: Any, y: NDArray[Any], encoder: ColumnTransformer | None) -> GridSearchCV:
    """The usual way with scikit-learn, with an encoder before the tree if there is one."""
    tree = DecisionTreeClassifier(random_state=0)
    encoded = X if encoder is None else clone(encoder).fit_transform(X)
    alphas = np.unique(tree.cost_complexity_pruning_path(encoded, y).ccp_alphas.clip(min=0.0))
    estimator, grid = tree, {"ccp_alpha": alphas}
    if encoder is not None:
        estimator = Pipeline([("encoder", encoder), ("tree", tree)])
        grid = {"tree__ccp_alpha": alphas}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        return GridSearchCV(estimator, grid, cv=5).fit(X, y)


def ordinals_as_numbers(data: Any) -> pd.DataFrame:
    """The table with the ranks of ordinal columns: what scikit-learn can take."""
    frame = data.frame.copy()
    for column in frame:
        if isinstance(frame[column].dtype, pd.CategoricalDtype) and frame[column].dtype.ordered:
            frame[column] = frame[column].cat.codes
    return frame


def one_hot(data: Any) -> NDArray[np.float64]:
    """Nominal columns one-hot, the others as numbers."""
    return pd.get_dummies(ordinals_as_numbers(data)).to_numpy(dtype=np.float64)


def one_hot_encoder(frame: pd.DataFrame) -> ColumnTransformer | None:
    """The encoder of the nominal columns of a table; None if it has none."""
    nominal = [column for column in frame if not is_numeric_dtype(frame[column])]
    if not nominal:
        return None
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer([("nominal", one_hot, nominal)], remainder="passthrough")


def end_to_end(folder: Path | None, quick: bool) -> dict[str, dict[str, float]]:
    """Every data set: fit and bound pruning against fit and cross-validation."""
    times = {}
    fixed = tb.BoundTreeClassifier(pruning=BoundPruner(weight=0.6))
    for name in tb.study.datasets.list():
        if quick and name in SLOW:
            continue
        data = tb.study.datasets.load(name, data=folder)
        y = np.unique(data.target.to_numpy(), return_inverse=True)[1]
        wide = one_hot(data)
        jobs: dict[str, Callable[[], Any]] = {
            "array": lambda X=wide, y=y: tb.BoundTreeClassifier().fit(X, y),
            "table": lambda X=data.frame, y=y: tb.BoundTreeClassifier().fit(X, y),
            "weight 0.6": lambda X=wide, y=y: fixed.fit(X, y),
        }
        took = {job: milliseconds(run, 7) for job, run in jobs.items()}
        on_array = milliseconds(lambda X=wide, y=y: cross_validated(X, y, None), 1)
        frame = ordinals_as_numbers(data)
        encoder = one_hot_encoder(frame)
        on_table = on_array  # of a table of numbers there is nothing to encode
        if encoder is not None:
            on_table = milliseconds(lambda X=frame, y=y, e=encoder: cross_validated(X, y, e), 1)
        theirs = {"scikit-learn": on_array, "scikit-learn, table": on_table}
        ratios = {
            "array ratio": on_array / took["array"],
            "table ratio": on_table / took["table"],
            "encoded ratio": on_array / took["table"],
        }
        times[str(name)] = {"rows": len(y), **took, **theirs, **ratios}
        print(f"  {name:40} {took['array']:9.2f} ms {took['table']:9.2f} ms "
              f"{on_array:11.1f} ms {on_table:11.1f} ms "
              + " ".join(f"{ratio:8.0f} x" for ratio in ratios.values()), flush=True)  # fmt: skip
    return times


def main() -> None:
    """Run, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the files of the data sets")
    parser.add_argument("--quick", action="store_true", help="only the small data sets")
    parser.add_argument("--fits", action="store_true", help="only the default fits")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="Column .* same value")  # what these data have

    if options.fits:
        default_fits()
        return
    print("A 75-leaf tree, 10 classes, 2,000 examples")
    pruners = every_pruner()
    for name, took in pruners.items():
        print(f"  {name:40} {took:9.2f} ms")
    print("Optimal bound pruning: the pruned tree, and the best tree of every size")
    sizes = optimal_by_size()
    for name, row in sizes.items():
        print(f"  {name:40} {row['one tree']:9.1f} ms {row['every size']:11.1f} ms")
    link = weakest_link(20_000)
    ratio = link["scikit-learn"] / link["treebound"]
    print(f"Weakest-link path of {link['leaves']:,} leaves")
    print(f"  treebound {link['treebound']:.1f} ms, scikit-learn {link['scikit-learn']:.0f} ms,"
          f" {ratio:.0f} x")  # fmt: skip
    print("Growing, the fit that only grows, the default fit")
    fits = default_fits()
    print("Fit and prune: bound pruning, and 5-fold cross-validated ccp_alpha")
    sets = end_to_end(options.data, options.quick)
    summary = {}
    for kind in ("array ratio", "table ratio", "encoded ratio"):
        ratios = np.array([row[kind] for row in sets.values()])
        mean, least = float(np.exp(np.log(ratios).mean())), float(ratios.min())
        summary[kind] = {"geometric_mean": mean, "least": least}
        print(f"  {kind}: geometric mean {mean:.0f} x, least {least:.0f} x, {len(ratios)} sets")

    document = {
        "unit": "milliseconds",
        "pruners": pruners,
        "optimal": sizes,
        "weakest_link": {**link, "ratio": ratio},
        "auto": fits["a little signal"],
        "fits": fits,
        "end_to_end": {"sets": sets, **summary},
    }
    RESULTS.mkdir(exist_ok=True)
    write_text(RESULTS / "pruning.json", json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
