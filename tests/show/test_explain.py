"""An explanation has the path of the row and the smallest change of the prediction."""

from __future__ import annotations

import html
import itertools
import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import Case, cases, random_tree, route

import treebound as tb
from treebound.data import Column, read_matrix
from treebound.data.frames import read_row
from treebound.model import Model, PredictionOptions, ReadingOptions
from treebound.show import explain, to_rules
from treebound.show.counterfactual import smallest_change
from treebound.tree import Tree
from treebound.tree.smoothing import probabilities

POLICIES = ("other", "majority", "stop", "missing")


def model(tree: Tree, handle_unknown: str = "other") -> Model:
    reading = ReadingOptions(handle_unknown, target="kind")
    return Model(tree, reading=reading, prediction=PredictionOptions("laplace"))


def prediction_of(tree: Tree, row: dict[str, Any], handle_unknown: str) -> tuple[int, Any]:
    names = [column.name for column in tree.columns]
    matrix = read_matrix(
        read_row(row, names), tree.columns, named=False, handle_unknown=handle_unknown
    )
    node = int(tree.apply(matrix, handle_unknown if handle_unknown != "missing" else "other")[0])
    return node, tree.classes[tree.label[node]].item()


@given(case=cases(rows=3), handle_unknown=st.sampled_from(POLICIES))
@settings(max_examples=60)
def test_the_path_is_that_of_apply_and_the_figures_those_of_the_nodes(
    case: Case, handle_unknown: str
) -> None:
    tree = case.tree
    for row, node in zip(case.rows, route(tree, case.X, handle_unknown).tolist(), strict=True):
        explanation = explain(model(tree, handle_unknown), row)
        assert explanation.node == node
        assert explanation.prediction == tree.classes[tree.label[node]]
        assert explanation.target == "kind"
        assert explanation.rows == tree.rows[node]
        assert list(explanation.counts.values()) == tree.counts[node].tolist()
        chances = probabilities(tree, "laplace")[node]
        assert list(explanation.probabilities.values()) == chances.tolist()
        rest = {k: v for k, v in explanation.probabilities.items() if k != explanation.prediction}
        assert rest[explanation.next_best] == max(rest.values())
        here = 0
        for step in explanation.path:
            assert (step.node, step.of) == (here, tree.rows[here])
            assert step.column == tree.columns[tree.feature[here]].name
            here = int((tree.left if step.left else tree.right)[here])
            assert step.rows == tree.rows[here]
        assert here == node
        assert explanation.stopped == (tree.left[node] >= 0)


def nearest(region: Any, old: Any) -> tuple[int, float] | None:
    """The cost of bringing a value into a region, by trying every value that could be best."""
    column = region.column
    if region.matches(old):
        return 0, 0.0
    if column.kind == "real":
        tries = [region.high, math.nextafter(region.low, math.inf), 0.0, None]
    else:
        tries = [*column.categories, None]
    costs = []
    for new in tries:
        finite = not isinstance(new, float) or math.isfinite(new)
        if not finite or not region.matches(new):
            continue
        size = 1.0
        if column.kind == "real" and new is not None and old is not None and old == old:
            most = max(abs(new), abs(old))
            size = abs(new / most - old / most) / (abs(new / most) + abs(old / most))
        known = column.kind == "ordinal" and old in column.categories and new is not None
        if known:
            places = [column.categories.index(value) for value in (old, new)]
            size = abs(places[0] - places[1]) / (len(column.categories) - 1)
        costs.append((1, size))
    return min(costs) if costs else None


def cheapest(
    tree: Tree, row: dict[str, Any], label: Any, handle_unknown: str
) -> tuple[int, float] | None:
    """The least cost over all ends with another prediction, one rule after the other."""
    best = None
    for rule in to_rules(Model(tree, reading=ReadingOptions(handle_unknown))):
        if rule.label == label:
            continue
        order = sorted(rule.regions, key=lambda region: tree.columns.index(region.column))
        costs = [nearest(region, row[region.column.name]) for region in order]
        if None not in costs:
            total = sum(c[0] for c in costs), sum(c[1] for c in costs)
            best = total if best is None else min(best, total)
    return best


@given(case=cases(rows=3), handle_unknown=st.sampled_from(POLICIES))
@settings(max_examples=120)
def test_the_changed_row_gets_the_other_prediction_and_no_leaf_is_cheaper(
    case: Case, handle_unknown: str
) -> None:
    tree = case.tree
    for row in case.rows:
        read = dict(row)
        if handle_unknown == "missing":  # the table is read with unknown categories missing
            read = {
                c.name: row[c.name] if c.kind == "real" or row[c.name] in c.categories else None
                for c in tree.columns
            }
        explanation = explain(model(tree, handle_unknown), row)
        least = cheapest(tree, read, explanation.prediction, handle_unknown)
        change = explanation.counterfactual
        if change is None:
            assert least is None
            continue
        assert least is not None
        assert len(change.changes) == least[0]
        assert sum(one.size for one in change.changes) == pytest.approx(least[1], abs=1e-15)
        moved = {one.column for one in change.changes}
        assert {k: v for k, v in change.row.items() if k not in moved} == {
            k: v for k, v in explanation.row.items() if k not in moved
        }
        node, label = prediction_of(tree, change.row, handle_unknown)
        assert (node, label) == (change.node, change.prediction)
        assert label != explanation.prediction


def test_no_change_of_a_grid_is_smaller_than_the_one_found() -> None:
    """Trees of two columns, every pair of values on a fine grid."""
    rng = np.random.default_rng(3)
    for seed in range(6):
        X = rng.integers(1, 9, size=(80, 2)).astype(float)
        y = ((X[:, 0] > 4) ^ (X[:, 1] > 5)) | (rng.random(80) < 0.1)
        clf = tb.BoundTreeClassifier(pruning=None, random_state=seed).fit(X, y)
        row = rng.integers(1, 9, size=2).astype(float)
        explanation = clf.explain(row)
        grid = np.array(list(itertools.product(np.arange(0.5, 9.5, 0.25), repeat=2)))
        grid = np.vstack(
            [grid, [[row[0], b] for b in grid[:, 1]], [[a, row[1]] for a in grid[:, 0]]]
        )
        other = grid[clf.predict(grid) != explanation.prediction]
        costs = [
            (int((new != row).sum()), float((np.abs(new - row) / (new + row)).sum()))
            for new in other
        ]
        assert explanation.counterfactual is not None
        mine = explanation.counterfactual.changes
        assert (len(mine), sum(one.size for one in mine)) <= min(costs)


# -- rows as people write them -----------------------------------------------------------------


@pytest.fixture(scope="module")
def passengers() -> tuple[tb.BoundTreeClassifier, pd.DataFrame]:
    rng = np.random.default_rng(0)
    sex = pd.Categorical(rng.choice(["female", "male"], 200), categories=["female", "male"])
    age = rng.integers(1, 70, 200)
    frame = pd.DataFrame({"sex": sex, "age": age})
    y = pd.Series(np.where((sex == "female") | (age <= 9), "yes", "no"), name="survived")
    return tb.BoundTreeClassifier(handle_unknown="error").fit(frame, y), frame


def test_a_row_may_come_in_any_form(passengers) -> None:
    clf, frame = passengers
    forms = (
        {"age": 30, "sex": "male", "ticket": 7}, ["male", 30], ("male", 30),
        np.array(["male", 30], dtype=object), frame.assign(sex="male", age=30).iloc[0],
        frame.assign(sex="male", age=30).iloc[[0]],
    )  # fmt: skip
    explanation = {str(clf.explain(row)) for row in forms}
    assert len(explanation) == 1
    # of a number that is not whole by its type, the change need not be whole either
    assert str(clf.explain(("male", 30.0))) == explanation.pop().replace("age <= 9 ", "age <= 9.5 ")


def test_the_words_name_the_target_the_values_and_the_change(passengers) -> None:
    clf, _ = passengers
    lines = str(clf.explain(["male", 30])).splitlines()
    assert lines[0].startswith("survived = no (probability ")
    assert " ".join(lines[1].split()) == "because this row training rows that went this way"
    listed = [line.split("  ")[1:] for line in lines[2:4]]
    assert {words[0] for words in listed} == {"sex = male", "age > 9.5"}
    assert lines[-1] == "It would be yes with age <= 9 instead of 30"
    assert clf.explain(["male", 30.5]).counterfactual.row == {"sex": "male", "age": 9.5}
    assert clf.explain(["male", 30]).counterfactual.row == {"sex": "male", "age": 9}


def test_a_change_of_whole_numbers_is_a_whole_number() -> None:
    ages = np.arange(120) // 2
    clf = tb.BoundTreeClassifier().fit(pd.DataFrame({"age": ages}), ages > 29)
    assert clf.tree_.threshold[0] == 29.5
    frame = pd.DataFrame({"age": [10, 50]})
    for at, new, words in ((0, 30, "age > 29"), (1, 29, "age <= 29")):
        for row in (frame.iloc[at], frame.iloc[[at]], [int(frame.age[at])]):
            (change,) = clf.explain(row).counterfactual.changes
            assert (type(change.new), change.new, change.condition) == (int, new, words)
    (change,) = clf.explain([10.5]).counterfactual.changes
    assert change.new == math.nextafter(29.5, math.inf)


@pytest.mark.parametrize("thresholds", ["decimal", "midpoint", "observed"])
def test_a_change_holds_for_floats_of_32_bits(thresholds: str) -> None:
    values = np.linspace(-1.0, 1.0, 80, dtype=np.float32)
    frame = pd.DataFrame({"x": values})
    clf = tb.BoundTreeClassifier(thresholds=thresholds).fit(frame, values > 0.3)
    for at in (0, 79):
        for row in (frame.iloc[at], frame.iloc[[at]], values[at : at + 1]):
            explanation = clf.explain(row).counterfactual
            moved = pd.DataFrame({"x": np.array([explanation.row["x"]], dtype=np.float32)})
            assert clf.predict(moved)[0] == explanation.prediction


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (None, "The 'row' must be a mapping"),
        ("male", "The 'row' must be a mapping"),
        ({"age": 3}, "no value for column 'sex'"),
        ([3], "1 values, but there are 2 columns"),
        ([["male", 3], ["male", 4]], "Got 2 rows"),
        (["male", math.inf], "infinity"),
        (["male", "old"], "'age' changed its type"),
        (["other", 3], "not among its 2 known ones: 'other'"),
    ],
)
def test_a_row_that_is_none_is_an_error_that_states_why(passengers, row, message) -> None:
    with pytest.raises(ValueError, match=message):
        passengers[0].explain(row)


def test_values_never_met_are_marked(passengers) -> None:
    clf, frame = passengers
    assert "missing (never in training)" in str(clf.explain(["male", None]))
    again = tb.BoundTreeClassifier().fit(frame, frame["sex"] == "male")
    assert "purple (never in training)" in str(again.explain(["purple", 3]))
    stops = tb.BoundTreeClassifier(handle_unknown="stop").fit(frame, frame["sex"] == "male")
    assert "It stops there, at a category never seen" in str(stops.explain(["purple", 3]))


def test_a_tree_of_one_leaf_and_one_class_can_be_explained() -> None:
    clf = tb.BoundTreeClassifier().fit([[1.0], [2.0]], ["a", "a"])
    assert str(clf.explain([3])).splitlines() == [
        "a (probability 1, 2 of 2 training examples here)",
        "The tree has no splits: this is the prediction for every row.",
    ]


def test_a_large_tree_is_searched_quickly_enough_to_finish() -> None:
    tree = random_tree(2, 3000, chain=True)
    row = [0 if c.kind != "real" else 0.0 for c in tree.columns]
    assert smallest_change(tree, row, tree.label != tree.label[-1]) is not None


# -- displays ------------------------------------------------------------------------------------


def test_an_explanation_is_shown_as_its_text_and_escaped_in_notebooks() -> None:
    tree = Tree(
        feature=[0, -1, -1], threshold=[np.nan] * 3, category=[0, -1, -1],
        missing_left=[False] * 3, left=[1, -1, -1], right=[2, -1, -1],
        counts=[[4, 4], [4, 0], [0, 4]], rows=[8, 4, 4],
        columns=(Column("<i>", "nominal", ("<b>", "[red]")),), classes=["<script>", "[bold]x"],
    )  # fmt: skip
    explanation = explain(tree, {"<i>": "<b>"})
    assert repr(explanation) == str(explanation)
    assert str(explanation).startswith("<script> (probability")
    page = explanation._repr_html_()
    tags = {"div", "b", "table", "tr", "td"}
    assert {tag.strip("/").split()[0] for tag in re.findall(r"<([^>]*)>", page)} == tags
    shown = html.unescape(re.sub("<[^>]*>", " ", page)).split()
    assert shown == str(explanation).split()


def test_an_explanation_is_plain_values_for_json(passengers) -> None:
    import json

    given = json.loads(json.dumps(passengers[0].explain(["male", 30]).to_dict()))
    assert given["prediction"] == "no"
    assert [step["column"] for step in given["path"]] == [
        step.column for step in passengers[0].explain(["male", 30]).path
    ]
    assert given["counterfactual"]["changes"][0]["new"] == 9


def test_a_row_needs_only_the_columns_that_the_tree_uses() -> None:
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0] * 10, "b": [5.0, 1.5] * 20, "c": ["u", "v"] * 20})
    clf = tb.BoundTreeClassifier().fit(X, (X["a"] > 2).tolist())
    for row in ({"a": 3.0}, X.iloc[[2]][["a"]]):
        assert clf.explain(row).row == {"a": 3.0, "b": None, "c": None}
    for row in (X.iloc[2], X.iloc[[2]][["c", "b", "a"]], {**X.iloc[2], "more": 1}, [3, 5, "u"]):
        assert clf.explain(row).row == {"a": 3.0, "b": 5.0, "c": "u"}
    with pytest.raises(ValueError, match="2 values, but there are 3 columns"):
        clf.explain([3, 5])
    with pytest.raises(ValueError, match=r"no value for column 'a'. .* for each of 'a'."):
        clf.explain({"b": 1.0})


def test_probabilities_of_weighted_classes_are_named_beside_counts_of_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + rng.normal(size=300) > 1.5).astype(int)
    clf = tb.BoundTreeClassifier(class_weight="balanced").fit(X, y)
    text = str(clf.explain(X[0]))
    assert f"probability {clf.predict_proba(X[:1]).max():.3g} with class weights, " in text
    assert "with class weights" not in str(tb.BoundTreeClassifier().fit(X, y).explain(X[0]))


def test_a_prediction_that_is_not_of_most_examples_is_marked():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = (rng.random(600) < 1 / (1 + np.exp(2 - X[:, 0] - X[:, 1]))).astype(int)
    clf = tb.BoundTreeClassifier(pruning=tb.pruning.BoundPruner(score="log-loss")).fit(X, y)
    nodes = clf.apply(X)
    counts = clf.tree_.counts[nodes]
    other = counts[np.arange(600), clf.tree_.label[nodes]] < counts.max(axis=1)  # ties are none
    assert other.any()
    for row in (np.flatnonzero(other)[0], np.flatnonzero(~other)[0]):
        explanation = clf.explain(X[row])
        assert explanation.overruled == other[row]
        assert ("of another class: probabilities shrunk" in str(explanation)) == other[row]
        assert not explanation.cheapest
    costly = tb.BoundTreeClassifier(costs={1: 5.0}).fit(X, y)
    counts = costly.tree_.counts[costly.apply(X)]
    row = np.flatnonzero((costly.predict(X) == 1) & (counts[:, 1] < counts[:, 0]))[0]
    explanation = costly.explain(X[row])
    assert explanation.overruled
    assert explanation.cheapest
    assert "of another class: this one has the least expected cost." in str(explanation)


def test_a_row_on_which_the_tree_abstains_has_no_probabilities() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    noisy = (X[:, 1] > 0) ^ (rng.random(2000) < 0.3)
    y = np.where((X[:, 0] > 0.5) | ((X[:, 0] > -0.5) & noisy), "p", "q")
    clf = tb.BoundTreeClassifier(certificate="held-out", cv=None, max_leaves=4).fit(X, y)
    some, none = clf.abstain(max_risk=[0.12, 0.001])
    predicted = some.predict(X)
    assert {"p", "q", "abstain"} == {*predicted}
    row = X[predicted == "abstain"][0]
    words = str(some.explain(row))
    assert words.startswith("abstain (no prediction: the tree abstains on this row)\n")
    assert "where no bound shows that at most 12 % of its predictions are wrong: a person" in words
    assert "probability" not in words
    assert "It would be " in words
    values = some.explain(row).to_dict()
    assert (values["abstains"], values["probability"], values["counts"]) == (True, None, [])
    # a row with a prediction: its probabilities, of the classes alone
    for row in X[predicted != "abstain"][:20]:
        ours, theirs = some.explain(row), clf.explain(row)
        assert (ours.prediction, ours.probabilities) == (theirs.prediction, theirs.probabilities)
        assert ours.next_best == theirs.next_best
        assert ours.counts == theirs.counts
        assert "abstain (" not in str(ours)
    words = str(none.explain(X[0]))
    assert words.splitlines()[1] == "The tree has no splits: it abstains on every row."
