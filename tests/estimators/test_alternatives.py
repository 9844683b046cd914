"""Several good trees: against enumeration, how they differ, and certificates that hold for all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from random_samples import random_options, random_sample
from scipy.stats import binom
from sklearn.datasets import load_breast_cancer

import treebound as tb
from treebound.exchange import dumps, loads
from treebound.growing.graph import search
from treebound.pruning import BoundPruner
from treebound.pruning.alternatives import MIN_DISAGREEMENT, Variants, columns_of
from treebound.pruning.costs import Costs
from treebound.pruning.scores import objective_of
from treebound.pruning.searched import BestOfGraph

DELTA = 0.1


def all_trees(graph, node, level=0, levels=2):
    """Every tree below a node: choices at the searched levels, its leaves, and its columns."""
    yield ("leaf",) if level < levels else (), (node,), frozenset()
    for split in range(graph.first[node], graph.first[node + 1]):
        column = {int(graph.feature[split])}
        for left, a, of_left in all_trees(graph, graph.left[split], level + 1, levels):
            for right, b, of_right in all_trees(graph, graph.right[split], level + 1, levels):
                choices = (split, left, right) if level < levels else ()
                yield choices, a + b, of_left | of_right | column


@pytest.mark.parametrize("seed", range(25))
def test_the_best_tree_of_each_combination_of_choices(seed):
    rng = np.random.default_rng([3, seed])
    sample = random_sample(rng, 12)
    options = replace(
        random_options(rng), max_leaves=None, growth_order="gain", thresholds="decimal",
        criterion="entropy",
    )  # fmt: skip
    graph = search(sample, options, widths=(3, 2))
    costs = Costs.of(graph.root, None)
    sizes = BestOfGraph(graph, costs)
    objective = objective_of(graph.root, costs, weight=0.3)
    losses = sizes.losses(sizes.packed)
    expected, avoiding = {}, dict.fromkeys(range(len(sample.columns)), np.inf)
    for choices, leaves, columns in all_trees(graph, graph.n_nodes - 1):
        loss = sum(losses[list(leaves)])
        score = objective.by_leaves(np.full(len(leaves), loss))[-1]
        expected[choices] = min(score, expected.get(choices, np.inf))
        for column in avoiding.keys() - columns:
            avoiding[column] = min(score, avoiding[column])
    scored = Variants(sizes).scored(objective)
    without = {column: Variants(sizes).avoiding(column, objective) for column in avoiding}
    for column, one in without.items():
        assert one.score == pytest.approx(avoiding[column], abs=1e-6)
        assert column not in columns_of(one.tree)
    scores = [one.score for one in scored]
    assert np.allclose(scores, sorted(expected.values()), atol=1e-6)
    assert scores[0] == pytest.approx(objective.by_leaves(sizes.errors()).min(), abs=1e-6)
    for one in [*scored, *without.values()]:
        tree = one.tree
        again = tree.recounted(sample)
        assert np.allclose(tree.counts, again.counts)
        loss = np.full(tree.n_leaves, tree.node_losses[tree.is_leaf].sum())
        assert one.score == pytest.approx(objective.by_leaves(loss)[-1], abs=1e-6)


@pytest.mark.parametrize("kind", ["training", "held-out", "folds"])
def test_each_tree_differs_and_has_a_certificate(kind):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    clf = tb.BoundTreeClassifier(certificate=kind, random_state=0).fit(X, y)
    trees = clf.alternatives(X, y, k=4, within=0.05)
    assert len(trees) > 1
    for at, (model, row) in enumerate(zip(trees, trees.table(), strict=True)):
        assert row["certified_error"] == model.certificate.risk
        assert row["leaves"] == model.tree.n_leaves
        predicted = model.predict(X)
        close = [m for m in trees[:at] if (m.predict(X) != predicted).mean() < MIN_DISAGREEMENT / 2]
        if close:
            common = frozenset.intersection(*(columns_of(m.tree) for m in close))
            assert common - columns_of(model.tree)
        if kind == "training":
            assert model.certificate.errors == (predicted != y).sum()
        else:  # the trees share delta
            share = DELTA / 2 / len(trees) / model.certificate.folds
            m, errors, risk = (getattr(model.certificate, name) for name in ("m", "errors", "risk"))
            assert binom.cdf(errors, m, risk) == pytest.approx(share, rel=1e-3)
            assert str(loads(dumps(model)).certificate) == str(model.certificate)
    assert str(trees).count("\n") == len(trees)


def test_a_copy_of_a_column_is_no_difference():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
    y = ((X["a"] > 0) ^ (rng.random(400) < 0.05)).astype(int)
    clf = tb.BoundTreeClassifier(pruning=BoundPruner(weight=0.6))
    alone = clf.fit(X, y).alternatives(X, y, within=0.02)
    copied = X.assign(copy=X["a"] * 2 + 1e-3 * rng.normal(size=400))
    both = clf.fit(copied, y).alternatives(copied, y, within=0.02)
    assert len(both) == len(alone)


def test_without_a_column():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({
        "postcode": rng.choice(["north", "south", "west"], 600),
        "income": rng.normal(size=600),
        "debt": rng.normal(size=600),
    })  # fmt: skip
    risk = X["debt"] - X["income"] + 2.0 * (X["postcode"] == "west") + rng.normal(size=600)
    y = np.where(risk > 0.5, "default", "repaid")
    clf = tb.BoundTreeClassifier().fit(X, y)
    result = clf.alternatives(X, y, without="postcode")
    assert "postcode" in result.table()[0]["columns"]
    assert "postcode" not in result.table()[1]["columns"]
    assert result.effect.difference > 0
    assert str(result).splitlines()[-1].startswith("without postcode: +")
    changed = X.assign(postcode="north")
    assert (result[1].predict(X) == result[1].predict(changed)).all()
    with pytest.raises(ValueError, match=r"'without' parameter .*must be a column"):
        clf.alternatives(X, y, without="town")


@pytest.mark.parametrize("size", ["small", "accurate", "readable"])
def test_without_a_column_with_a_size(size):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :5]
    clf = tb.BoundTreeClassifier(size=size).fit(X, y)
    trees = clf.alternatives(X, y, without="mean area")
    assert X.columns.get_loc("mean area") not in columns_of(trees[1].tree)


def test_other_rows_and_other_pruners_are_refused():
    X, y = load_breast_cancer(return_X_y=True)
    clf = tb.BoundTreeClassifier(max_leaves=3).fit(X, y)
    with pytest.raises(ValueError, match="rows that the tree was trained on"):
        clf.alternatives(X[:300], y[:300])
    with pytest.raises(ValueError, match="'k' parameter"):
        clf.alternatives(X, y, k=0)
    with pytest.raises(ValueError, match=r"'pruning' parameter .*must be the bound pruner"):
        tb.BoundTreeClassifier(pruning="mdl").fit(X, y).alternatives(X, y)


@pytest.mark.parametrize("kind", ["training", "held-out"])
@pytest.mark.parametrize("draws", [40, pytest.param(3000, marks=pytest.mark.heavy)])
def test_an_adversary_who_picks_the_smallest_bound(kind, draws):
    """Sorted tables, the default seed: too small a bound is at most as frequent as delta."""
    grid = np.array([(a, b, c) for a in range(3) for b in range(3) for c in range(3)])
    chance = 0.25 + 0.2 * (grid[:, 0] == 2) + 0.1 * (grid[:, 1] == 0)
    wrong = 0
    for seed in range(draws):
        rng = np.random.default_rng([11, seed])
        cells = np.sort(rng.integers(0, 27, 150))
        X, y = grid[cells].astype(float), (rng.random(150) < chance[cells]).astype(int)
        pruner = BoundPruner(weight=0.05)
        clf = tb.BoundTreeClassifier(certificate=kind, pruning=pruner, cv=None)
        trees = clf.fit(X, y).alternatives(X, y, within=0.2)
        chosen = min(trees, key=lambda model: model.certify(delta=DELTA).risk)
        predicted = chosen.predict(grid.astype(float))
        risk = np.where(predicted == 1, 1 - chance, chance).mean()
        wrong += risk > chosen.certify(delta=DELTA).risk
    assert binom.sf(wrong - 1, draws, DELTA) > 1e-3


def test_a_column_that_no_tree_uses_changes_nothing():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 3)).round(3)
    X[:, 2] = rng.random(600) < 0.5
    y = np.where(X[:, 0] > 0, "p", "n")
    result = tb.BoundTreeClassifier(max_leaves=2).fit(X, y).alternatives(X, y, without="x2")
    assert (result.effect.difference, result.effect.standard_error) == (0.0, 0.0)
