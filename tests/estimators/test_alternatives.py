"""Several good trees: against enumeration, how they differ, and certificates that hold for all."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np
import pandas as pd
import pytest
from random_samples import random_options, random_sample
from scipy.stats import binom
from sklearn.datasets import load_breast_cancer

import treebound as tb
from treebound.data import Matrix, Sample
from treebound.data.draws import folds
from treebound.estimators.fitting import fit_sample
from treebound.exchange import dumps, loads
from treebound.growing.graph import search
from treebound.pruning import BoundPruner
from treebound.pruning.alternatives import MIN_DISAGREEMENT, columns_of, differing_trees
from treebound.pruning.costs import Costs
from treebound.pruning.scores import objective_of
from treebound.pruning.searched import BestOfGraph
from treebound.pruning.similarity import Similarity

DELTA = 0.1


def all_trees(graph, node):
    """Every tree below a node: its leaves and its columns."""
    yield (node,), frozenset()
    for split in range(graph.first[node], graph.first[node + 1]):
        column = {int(graph.feature[split])}
        for a, of_left in all_trees(graph, graph.left[split]):
            for b, of_right in all_trees(graph, graph.right[split]):
                yield a + b, of_left | of_right | column


def rows_at(graph, sample):
    """The rows at each node, by its splits."""
    rows = {graph.n_nodes - 1: np.arange(sample.n_rows)}
    for node in range(graph.n_nodes - 1, -1, -1):
        for split in range(graph.first[node], graph.first[node + 1]):
            table = [[node, graph.left[split], graph.right[split]], [split, -1, -1]]
            tree = graph.tree(np.array([*table, [1, -1, -1], [2, -1, -1]], dtype=np.int32))
            reached = tree.apply(sample.X.part(rows[node]))
            rows[graph.left[split]] = rows[node][reached == 1]
            rows[graph.right[split]] = rows[node][reached == 2]
    return rows


def differs(labels, columns, earlier, copies):
    """The definition: against earlier trees, as labels and columns."""
    close = [used for other, used in earlier if (labels != other).mean() < MIN_DISAGREEMENT]
    if not close:
        return True
    common = frozenset.intersection(*close) - columns
    return any(not columns & copies.get(column, set()) for column in common)


@pytest.mark.parametrize("seed", range(80))
def test_no_tree_that_differs_and_has_a_lower_score_is_missed(seed):
    """Each tree of the list has the lowest score of all trees that differ from those before it."""
    rng = np.random.default_rng([3, seed])
    sample = random_sample(rng, 11 if seed % 2 else 40)
    if seed % 3 == 0 and len(sample.columns) > 1:  # a copy
        values = (*sample.X.values[:-1], sample.X.values[0])
        copied = replace(sample.columns[0], name=sample.columns[-1].name)
        sample = replace(sample, X=type(sample.X)((*sample.columns[:-1], copied), values))
    options = replace(
        random_options(rng), max_leaves=None, growth_order="gain", thresholds="decimal",
        criterion="entropy", max_depth=[None, 3][seed % 2 == 0],
    )  # fmt: skip
    graph = search(sample, options, widths=(3, 2))
    costs = Costs.of(graph.root, None)
    sizes = BestOfGraph(graph, costs)
    objective = objective_of(graph.root, costs, weight=0.1)
    within, max_leaves = [0.02, 0.1, 0.3][seed % 3], [None, 5][seed % 2]
    losses, rows = sizes.losses(sizes.packed), rows_at(graph, sample)
    similarity = Similarity(sample.X)
    columns = range(len(sample.columns))
    copies = {a: {b for b in columns if similarity.is_copy(a, b)} for a in columns}
    trees = []
    for leaves, used in islice(all_trees(graph, graph.n_nodes - 1), 60_000):
        if len(leaves) <= (max_leaves or 256):
            labels = np.empty(sample.n_rows, dtype=np.int32)
            for leaf in leaves:
                labels[rows[leaf]] = sizes.label[leaf]
            loss = np.full(len(leaves), losses[list(leaves)].sum())
            trees.append((objective.by_leaves(loss)[-1], labels, used))
    assert len(trees) < 60_000
    listed = differing_trees(sizes, sample, objective, k=6, within=within, max_leaves=max_leaves)
    worst = min(score for score, _, _ in trees) + within * objective.m
    earlier = []
    for at in range(6):
        scores = [score for score, labels, used in trees if differs(labels, used, earlier, copies)]
        lowest = min(scores, default=np.inf)
        if at == len(listed):
            assert lowest > worst - 1e-6
            break
        assert listed[at].score == pytest.approx(lowest, abs=1e-6)
        tree = listed[at].tree
        labels = tree.label[tree.apply(sample.X)]
        assert differs(labels, columns_of(tree), earlier, copies)
        loss = np.full(tree.n_leaves, tree.node_losses[tree.is_leaf].sum())
        assert listed[at].score == pytest.approx(objective.by_leaves(loss)[-1], abs=1e-6)
        assert np.allclose(tree.counts, tree.recounted(sample).counts)
        earlier.append((labels, columns_of(tree)))


@pytest.mark.parametrize("kind", ["training", "held-out", "folds"])
def test_each_tree_differs_and_has_a_certificate(kind):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    clf = tb.BoundTreeClassifier(certificate=kind, random_state=0).fit(X, y)
    trees = clf.alternatives(X, y, k=4, within=0.05)
    assert len(trees) > 1
    assert trees[0].tree == clf.tree_
    assert trees.disagreement[0] == 0.0
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
    assert str(trees).count("\n") == len(trees) + 1


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


def test_without_a_column_with_costs():
    """The costs are those of the user: ten times as high, the difference is ten times as large."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(600, 3)), columns=["a", "b", "c"])
    y = np.where(X["a"] + 0.5 * X["b"] + rng.normal(0, 0.7, 600) > 0.5, "ill", "well")
    effects = []
    for factor in (1.0, 10.0):
        costs = {"ill": 5.0 * factor, "well": factor}
        pruner = BoundPruner(costs=costs, weight=0.6)
        clf = tb.BoundTreeClassifier(certificate="training", pruning=pruner).fit(X, y)
        effects.append(clf.alternatives(X, y, without="a").effect)
    one, ten = effects
    assert one.of_cost
    assert one.difference > 0
    assert ten.difference == pytest.approx(10 * one.difference)
    assert ten.standard_error == pytest.approx(10 * one.standard_error)
    assert str(one).startswith("without a: +")
    assert str(one).endswith("of mean cost")
    # by hand: each fold predicted by trees of the other folds
    pruner = BoundPruner(costs={"ill": 5.0, "well": 1.0}, weight=0.6)
    sample = Sample.learn(X, y)
    total = 0.0
    for outside, inside in folds(sample, 5, clf.random_state):
        sign = -1.0
        for column in (None, 0):
            fitted = [
                rows if column is None else replace(rows, X=blanked(rows.X, column))
                for rows in (outside, inside)
            ]
            options = tb.BoundTreeClassifier(certificate="training", cv=None, pruning=pruner)
            tree = fit_sample(options, fitted[0]).tree
            predicted = tree.label[tree.apply(fitted[1].X)]
            wrong = predicted != inside.y
            total += sign * (wrong * np.where(inside.y == 0, 5.0, 1.0)).sum()
            sign = 1.0
    assert one.difference == pytest.approx(total / 600)


def blanked(X, column):
    values = list(X.values)
    values[column] = np.full_like(values[column], np.nan)
    columns = list(X.columns)
    columns[column] = columns[column].with_missing(True)
    return Matrix(tuple(columns), tuple(values))


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


def test_errors_and_costs_of_weighted_and_costly_trees_are_those_of_their_predictions():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :6]
    weighted = tb.BoundTreeClassifier(class_weight={0: 1.0, 1: 9.0}, cv=None).fit(X, y)
    costly = tb.BoundTreeClassifier(costs={0: 6.0}, cv=None).fit(X, y)
    for clf in (weighted, costly):
        trees = clf.alternatives(X, y, k=3, within=0.05)
        for model, row in zip(trees, trees.table(), strict=True):
            wrong = model.predict(X) != y
            assert row["training_error"] == pytest.approx(wrong.mean())
            if clf is costly:
                assert row["mean_cost"] == pytest.approx((wrong * np.where(y == 0, 6, 1)).mean())
    assert "mean_cost" not in weighted.alternatives(X, y, k=1).table()[0]
    assert str(trees).startswith("     leaves  mean cost  training error")
