"""Rules before growing: the classifier, pruning, model files, the command line."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier
from support import CODE_LENGTH

import treebound as tb
from treebound.exchange import dumps, loads
from treebound.show import to_html

SMOOTHINGS = ("shrinkage", "m-estimate", "laplace", None)


def table(seed, n_classes=2, rows=400, missing=0.0):
    """Three columns with a true order in two of them, and much noise; a nominal column."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, 3)).round(1), columns=["up", "down", "free"])
    frame["kind"] = pd.Categorical(rng.choice(["a", "b", "c"], rows))
    score = frame["up"] - frame["down"] + np.sin(3 * frame["free"]) + 2 * rng.normal(size=rows)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    if missing:
        frame = frame.mask(rng.random(frame.shape) < missing)
    return frame, y


def ordered(y, order=None):
    """A target whose type has an order."""
    return pd.Categorical(y, categories=np.unique(y) if order is None else order, ordered=True)


def violations(model, frame, column, sign, n_classes):
    """Pairs of rows that differ in one column alone and are not predicted in its order."""
    values, some = np.unique(frame[column].dropna()), frame.iloc[::7]
    rows = some.loc[some.index.repeat(len(values))].reset_index(drop=True)
    rows[column] = np.tile(values, len(some))
    shares = model.predict_proba(rows).reshape(len(some), len(values), n_classes)
    slack = 0.0 if n_classes == 2 else 1e-12
    above = shares[:, :, ::-1].cumsum(axis=2)[:, :, :-1]
    return int((sign * np.diff(above, axis=1) < -slack).sum())


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_no_pair_of_rows_breaks_the_order(n_classes, missing):
    """Grown, pruned to any size, with any smoothing; without the rule there are such pairs."""
    frame, y = table(0, n_classes, missing=missing)
    signs = {"up": 1, "down": -1}
    free = tb.BoundTreeClassifier(pruning=None).fit(frame, y)
    assert violations(free, frame, "up", 1, n_classes) > 0
    for smoothing in SMOOTHINGS:
        clf = tb.BoundTreeClassifier(
            pruning="cost-complexity", monotonic_cst=signs, smoothing=smoothing
        ).fit(frame, ordered(y))
        path = clf.pruning_result_.path
        for step in sorted({0, len(path) // 3, 2 * len(path) // 3}):
            model = clf.model_.prune_to(step=step)
            for column, sign in signs.items():
                assert violations(model, frame, column, sign, n_classes) == 0
            shares = model.node_probabilities
            answered = shares[np.arange(len(shares)), model.tree.label]
            np.testing.assert_allclose(answered, shares.max(axis=1), atol=1e-12)
            np.testing.assert_allclose(shares.sum(axis=1), 1.0)


@pytest.mark.parametrize("weight", ["class_weight", "sample_weight"])
def test_the_order_holds_with_weights(weight):
    frame, y = table(1, rows=600)
    clf = tb.BoundTreeClassifier(
        pruning=None, monotonic_cst=[1, -1, 0, 0], min_samples_leaf=3,
        class_weight="balanced" if weight == "class_weight" else None,
    )  # fmt: skip
    weights = np.random.default_rng(0).random(len(y)) if weight == "sample_weight" else None
    clf.fit(frame, y, sample_weight=weights)
    assert clf.n_leaves_ > 5
    assert violations(clf, frame, "up", 1, 2) == violations(clf, frame, "down", -1, 2) == 0


def test_smoothing_alone_would_break_the_order():
    """A leaf of one row is pulled up more than the large one above it: it is held down."""
    X = np.array([[0.0]] + [[1.0]] * 50 + [[2.0]] * 50)
    y = np.array([0] + [0] * 45 + [1] * 5 + [1] * 50)
    for signs in (None, [1]):
        clf = tb.BoundTreeClassifier(
            pruning=None, smoothing="laplace", monotonic_cst=signs, forced_splits=["x0 <= 0.5"]
        ).fit(X, y)
        low, middle = clf.predict_proba([[0.0], [1.0]])[:, 1]
        assert (low > middle) == (signs is None)


def test_counts_on_other_rows_keep_the_order_and_the_labels_that_are_predicted():
    frame, y = table(2, rows=800)
    clf = tb.BoundTreeClassifier(pruning=None, monotonic_cst={"up": 1, "down": -1})
    clf.fit(frame[:400], y[:400])
    other = tb.prune(clf, frame[400:], y[400:], pruner="cost-complexity").model_
    assert violations(other, frame, "up", 1, 2) == 0
    tree, shares = other.grown, tb.tree.smoothing.probabilities(other.grown)
    np.testing.assert_array_equal(tree.label, shares.argmax(axis=1))


def test_pruning_and_certificates_go_on_as_before():
    frame, y = table(3, rows=1500)
    clf = tb.BoundTreeClassifier(monotonic_cst={"up": 1, "down": -1}).fit(frame, y)
    wrong = (clf.predict(frame) != y).sum()
    assert clf.tree_.errors == wrong
    assert clf.certificate_.training_error == pytest.approx(wrong / len(y))
    for search in ("greedy", "optimal+raise"):
        pruner = tb.pruning.PaperPruner(**CODE_LENGTH, search=search)
        with pytest.raises(ValueError, match="puts subtrees in other places"):
            tb.BoundTreeClassifier(monotonic_cst=[1, 0, 0, 0], pruning=pruner).fit(frame, y)
        with pytest.raises(ValueError, match="cannot be raised"):
            tb.prune(clf, frame, y, pruner=pruner)


def test_a_model_file_keeps_the_order():
    frame, y = table(4, 3)
    clf = tb.BoundTreeClassifier(monotonic_cst={"up": 1}).fit(frame, ordered(y, [2, 0, 1]))
    assert clf.classes_.tolist() == [0, 1, 2]
    assert clf.tree_.monotone.order == (2, 0, 1)
    model = loads(dumps(clf.model_))
    assert model.options.class_order == (2, 0, 1)
    assert model.tree.monotone == clf.tree_.monotone == model.grown.monotone
    np.testing.assert_array_equal(model.predict_proba(frame), clf.predict_proba(frame))


def test_the_report_shows_the_rules(tmp_path):
    frame, y = table(5, 3)
    clf = tb.BoundTreeClassifier(
        monotonic_cst={"up": 1, "down": -1}, forced_splits=["kind = a"]
    ).fit(frame, ordered(y))
    page = to_html(clf)
    assert "The probability of high classes (0 < 1 < 2) only rises with up." in page.replace(
        "\\u003c", "<"
    )
    assert "Splits at the top: kind = a." in page


def test_forced_splits_come_first():
    frame, y = table(6, rows=800)
    clf = tb.BoundTreeClassifier(
        pruning=None, max_leaves=12, forced_splits=["kind = b", "free <= 0.25"]
    ).fit(frame, y)
    tree = clf.tree_
    names = [column.name for column in tree.columns]
    assert names[tree.feature[0]] == "kind"
    for child in (tree.left[0], tree.right[0]):
        assert names[tree.feature[child]] == "free"
        assert tree.threshold[child] == 0.25


def test_paths_stay_in_a_group_of_columns():
    frame, y = table(7, rows=800)
    clf = tb.BoundTreeClassifier(pruning=None, interaction_cst=[["up", "down"], ["free"]])
    tree = clf.fit(frame, y).tree_
    groups = [{0, 1}, {2}, {3}]
    for leaf in tree.leaves.tolist():
        path = tb.tree.route.path_to(tree, leaf)[:-1]
        assert any({int(tree.feature[node]) for node in path} <= group for group in groups)
    lone = tb.BoundTreeClassifier(pruning=None, interaction_cst="no_interactions").fit(frame, y)
    assert (lone.tree_.feature[1:][lone.tree_.feature[1:] >= 0] == lone.tree_.feature[0]).all()


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"monotonic_cst": [1, 0]}, "a number for each of the 4 columns"),
        ({"monotonic_cst": {"up": 2}}, "-1, 0 or 1"),
        ({"monotonic_cst": {"age": 1}}, "names or numbers of columns of the table, 'up'"),
        ({"monotonic_cst": {"kind": 1}}, "'kind', which is nominal"),
        ({"forced_splits": "up <= 1"}, "a list"),
        ({"forced_splits": ["age <= 1"]}, "begins with no name of a column"),
        ({"forced_splits": ["kind <= 1"]}, "is nominal"),
        ({"interaction_cst": 3}, "a list of groups"),
        (
            {"monotonic_cst": {"up": -1}, "forced_splits": ["up <= 0"]},
            "'up' in 'forced_splits' breaks the order that 'monotonic_cst' requires",
        ),
        (
            {"monotonic_cst": {"up": 1}, "certificate": "prior"},
            "must be None with certificate='prior'",
        ),
    ],
)
def test_rules_that_cannot_be_kept_are_refused(rules, message):
    frame, y = table(8)
    with pytest.raises(ValueError, match=message):
        tb.BoundTreeClassifier(**rules).fit(frame, y)


def test_more_than_two_classes_need_an_order():
    frame, y = table(9, 3)
    for target in (y, pd.Categorical(y)):
        with pytest.raises(ValueError, match=r"needs two classes, or an order of all 3.*ordered"):
            tb.BoundTreeClassifier(monotonic_cst={"up": 1}).fit(frame, target)


@pytest.mark.parametrize("certificate", ["training", "held-out", "folds"])
def test_ordered_targets_of_any_library_give_one_tree(certificate):
    frame, y = table(10, 3, rows=600)
    words = np.array(["low", "middle", "high"])[y]
    order = ["low", "middle", "high", "never"]
    pandas = pd.Series(pd.Categorical(words, categories=order, ordered=True))
    arrow = pa.DictionaryArray.from_arrays(
        pa.array([order.index(word) for word in words]), order, ordered=True
    )
    polars = pl.Series(words.tolist(), dtype=pl.Enum(order))
    clf = tb.BoundTreeClassifier(monotonic_cst={"up": 1, "down": -1}, certificate=certificate)
    expected = clf.fit(frame, pandas).tree_
    assert expected.monotone.order == (1, 2, 0)  # of high, low, middle
    for target in (pandas.array, pa.chunked_array([arrow]), polars):
        tree = clf.fit(frame, target).tree_
        assert tree.monotone == expected.monotone
        np.testing.assert_array_equal(tree.threshold, expected.threshold)


def test_an_ordered_target_of_two_classes_states_which_is_higher():
    frame, y = table(11)
    signs = {"up": 1}
    up = tb.BoundTreeClassifier(monotonic_cst=signs, pruning=None).fit(frame, y)
    down = tb.BoundTreeClassifier(monotonic_cst={"up": -1}, pruning=None)
    down = down.fit(frame, ordered(y, [1, 0]))
    np.testing.assert_array_equal(up.tree_.threshold, down.tree_.threshold)


@pytest.mark.parametrize("seed", range(4))
def test_monotone_trees_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 5)).astype(np.float32).astype(np.float64)
    y = (X[:, 0] - X[:, 1] + np.sin(3 * X[:, 2]) + rng.normal(size=500) > 0).astype(int)
    signs = [1, -1, 0, 1, 0]
    peer = DecisionTreeClassifier(max_leaf_nodes=14, monotonic_cst=signs, random_state=0)
    clf = tb.BoundTreeClassifier(
        criterion="gini", pruning=None, max_leaves=14, smoothing=None, thresholds="midpoint",
        monotonic_cst=signs,
    )  # fmt: skip
    np.testing.assert_allclose(
        clf.fit(X, y).predict_proba(X), peer.fit(X, y).predict_proba(X), atol=1e-5
    )
