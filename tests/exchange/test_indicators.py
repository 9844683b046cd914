"""A tree with a column of zeros and ones for each category predicts as the tree itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from random_trees import Case, cases, route

import treebound as tb
from treebound.data import Matrix
from treebound.exchange import Indicators


@given(case=cases())
@settings(max_examples=60)
def test_the_numeric_tree_predicts_as_the_tree(case: Case) -> None:
    numeric = Indicators(case.tree)
    frame = pd.DataFrame(case.rows, columns=[c.name for c in case.tree.columns], dtype=object)
    rows = numeric.transform(frame)
    tree = numeric.tree
    assert all(column.kind != "nominal" for column in tree.columns)
    values = [
        column if kind.kind == "real" else np.nan_to_num(column, nan=-1).astype(np.int16)
        for kind, column in zip(tree.columns, rows.T, strict=True)
    ]
    reached = tree.apply(Matrix(tree.columns, tuple(values)))
    expected = route(case.tree, case.X)
    assert tree.rows[reached].tolist() == case.tree.rows[expected].tolist()
    assert case.labels(expected) == tree.classes[tree.label[reached]].tolist()


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], 300),
            "size": rng.integers(0, 9, 300).astype(float),
            "shop": np.where(rng.random(300) < 0.2, None, rng.choice(["a", "b"], 300)),
        }
    )
    y = (frame["colour"] == "red") ^ (frame["size"] > 4) | frame["shop"].isna()
    return tb.BoundTreeClassifier().fit(frame, np.where(y, "yes", "no")), frame


def test_scikit_learn_predicts_as_the_classifier(mixed) -> None:
    clf, frame = mixed
    with pytest.raises(ValueError, match="indicators=True"):
        tb.to_sklearn(clf)
    estimator, numeric = tb.to_sklearn(clf, indicators=True), Indicators(clf)
    assert estimator.feature_names_in_.tolist() == list(numeric.names)
    assert numeric.names == (
        "colour = blue", "colour = green", "colour = red", "size", "shop = a", "shop = b",
        "shop is missing",
    )  # fmt: skip
    rows = pd.DataFrame(numeric.transform(frame), columns=list(numeric.names))
    assert estimator.predict(rows).tolist() == clf.predict(frame).tolist()
    new = frame.assign(colour="purple")
    rows = pd.DataFrame(numeric.transform(new), columns=list(numeric.names))
    assert estimator.predict(rows).tolist() == clf.predict(new).tolist()


def test_figures_are_added_up_by_column(mixed) -> None:
    numeric = Indicators(mixed[0])
    values = np.arange(14.0).reshape(2, 7)
    assert numeric.summed(values).tolist() == [[3.0, 3.0, 15.0], [24.0, 10.0, 36.0]]
    assert numeric.source.tolist() == [0, 0, 0, 1, 2, 2, 2]
