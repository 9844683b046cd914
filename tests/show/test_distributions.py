"""Histograms in the nodes: every row once, and every bar on one side of the split."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import treebound as tb
from treebound.data import Sample
from treebound.show.distributions import distributions
from treebound.tree.split import splits_of


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "size": pd.Categorical(rng.choice(list("SML"), 300), list("SML"), ordered=True),
            "colour": rng.choice(["red", "green", "blue", "grey"], 300),
            "age": np.where(rng.random(300) < 0.1, np.nan, rng.integers(0, 60, 300)),
        }
    )
    noise = rng.random(300) < 0.1
    old = np.nan_to_num(frame["age"], nan=99) > 30
    y = ((frame["colour"] == "red") & old) | (frame["size"] == "L") ^ noise
    y = pd.Series(np.where(y, "yes", "no"), name="bought")
    return tb.BoundTreeClassifier(max_leaves=12).fit(frame, y), frame, y


def test_bars_hold_every_row_with_a_value_on_its_side_of_the_split(case) -> None:
    clf, frame, y = case
    tree = clf.tree_
    sample = Sample.read(frame, y, columns=tree.columns, classes=tree.classes, named=True)
    splits = splits_of(tree)
    drawn = distributions(tree, splits, sample)
    assert set(drawn) == set(np.flatnonzero(~tree.is_leaf).tolist())
    kinds = set()
    path = tree.decision_path(sample.X).toarray().astype(bool)
    for node, plot in drawn.items():
        split = splits[node]
        kinds.add(split.column.kind)
        rows = path[:, node]
        values = sample.X.values[split.feature][rows]
        present = ~np.isnan(values) if split.is_real else np.ones(len(values), dtype=bool)
        labels = sample.y[rows][present]
        assert plot.counts.sum(axis=0).tolist() == np.bincount(labels, minlength=2).tolist()
        left = path[:, tree.left[node]][rows][present]
        shares = np.array(plot.left) if plot.left else np.arange(len(plot.counts)) < plot.cut
        assert plot.counts[shares].sum() == left.sum()
    assert kinds == {"real", "ordinal", "nominal"}


def test_a_column_of_one_value_or_none_is_drawn_or_skipped() -> None:
    clf = tb.BoundTreeClassifier(pruning=None).fit([[1.0], [2.0], [3.0]], [0, 0, 1])
    tree = clf.tree_
    for column, bars in ([[7.0], [7.0]], 1), ([[np.nan], [np.nan]], None):
        sample = Sample.read(column, [0, 1], columns=tree.columns, classes=tree.classes, named=True)
        drawn = distributions(tree, splits_of(tree), sample)
        assert (len(drawn[0].counts) if drawn else None) == bars


def test_plot_returns_axes_with_the_name_of_the_target(case) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    clf, frame, y = case
    for rows in ((), (frame, y)):
        ax = clf.plot(*rows, max_depth=2)
        words = [text.get_text() for text in ax.texts]
        assert "bought" in words
        pyplot.close(ax.figure)
    figure, axes = pyplot.subplots()
    assert clf.plot(ax=axes) is axes
    pyplot.close(figure)
    with pytest.raises(ValueError, match="both 'X' and 'y'"):
        clf.plot(frame)
