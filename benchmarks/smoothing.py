"""Which smoothing of leaf counts has the least log-loss, on the paper's data sets.

    python benchmarks/smoothing.py --data FOLDER [--draws 8]

Trees grown as by default and pruned at the weight 0.6, and unpruned ones; splits of 85/15. The
last columns compare each smoothing with the m-estimate, data set by data set: how many are
better, the mean difference and its standard error.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

import treebound as tb
from treebound.pruning import BoundPruner
from treebound.tree import Tree
from treebound.tree.smoothing import probabilities

Floats = NDArray[np.float64]
LEAST = 1e-15


def shrunk(tree: Tree, lam: float, spread: float) -> Floats:
    """Hierarchical shrinkage by the examples of the parent, as in the paper on it."""
    shares = tree.counts + spread / tree.n_classes
    shares = shares / shares.sum(axis=1, keepdims=True)
    shrunken = shares.copy()
    part = (tree.weight / (tree.weight + lam))[:, None]
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        for child in (tree.left[node], tree.right[node]):
            shrunken[child] = shrunken[node] + part[node] * (shares[child] - shares[node])
    shrunken = np.maximum(shrunken, 1e-6)
    return np.asarray(shrunken / shrunken.sum(axis=1, keepdims=True))


def root_shares(tree: Tree, worth: float) -> Floats:
    """The m-estimate towards the class shares of the root."""
    weights = tree.counts + worth * tree.counts[0] / tree.counts[0].sum()
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


SMOOTHINGS: dict[str, Callable[[Tree], Floats]] = {
    "none": lambda tree: probabilities(tree, None),
    "laplace": lambda tree: probabilities(tree, "laplace"),
    "m-estimate": lambda tree: probabilities(tree, "m-estimate"),
    "shrinkage (the default)": probabilities,
    **{
        f"shrinkage {lam}, spread {spread}": lambda tree, lam=lam, spread=spread: shrunk(
            tree, lam, spread
        )
        for lam in (5, 10, 20)
        for spread in (0.5, 1, 2, 4)
    },
    **{f"strength {s}": lambda tree, s=s: probabilities(tree, s) for s in (1.0, 3.0, 5.0)},
    **{f"shares of the root, worth {m}": lambda t, m=m: root_shares(t, m) for m in (1, 3, 8)},
}


def losses(data: tb.study.datasets.Dataset, draws: int, pruning: Any) -> dict[str, float]:
    """Mean log-loss of each smoothing on one data set."""
    losses_of: dict[str, list[float]] = {name: [] for name in SMOOTHINGS}
    labels = data.target.to_numpy()
    for seed in range(draws):
        train, test, y_train, y_test = train_test_split(
            data.frame, labels, test_size=0.15, random_state=seed
        )
        clf = tb.BoundTreeClassifier(pruning=pruning).fit(train, y_train)
        leaf = clf.apply(test)
        code = np.searchsorted(clf.classes_, y_test).clip(max=len(clf.classes_) - 1)
        known = clf.classes_[code] == y_test
        for name, smooth in SMOOTHINGS.items():
            chance = np.where(known, smooth(clf.tree_)[leaf, code], 0.0)
            losses_of[name].append(float(-np.log(np.maximum(chance, LEAST)).mean()))
    return {name: float(np.mean(values)) for name, values in losses_of.items()}


def main() -> None:
    """Print one table for pruned trees and one for grown ones."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the files of the data sets")
    parser.add_argument("--draws", type=int, default=8)
    options = parser.parse_args()
    sets = [tb.study.datasets.load(name, data=options.data) for name in tb.study.datasets.list()]
    for pruning in (BoundPruner(weight=0.6), None):
        tables = [losses(data, options.draws, pruning) for data in sets]
        usual = np.array([table["m-estimate"] for table in tables])
        print(f"\npruning={pruning!r}, {len(sets)} data sets, {options.draws} draws each")
        print(f"{'smoothing':28} {'log-loss':>8} {'better':>6} {'difference':>10} {'error':>7}")
        for name in SMOOTHINGS:
            values = np.array([table[name] for table in tables])
            change = values - usual
            error = change.std(ddof=1) / len(change) ** 0.5
            better = int((change < 0).sum())
            print(f"{name:28} {values.mean():8.4f} {better:6d} {change.mean():10.4f} {error:7.4f}")


if __name__ == "__main__":
    main()
