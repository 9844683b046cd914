"""The editor: steps, their figures and sentences, and what is refused."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import treebound as tb
from treebound.exchange import dumps, loads
from treebound.show import to_html
from treebound.tree.impurity import impurity
from treebound.tree.parsing import parse_split


def patients(rows: int = 240, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 80, rows).astype(float),
            "sex": rng.choice(["female", "male"], rows),
            "stage": pd.Categorical(
                rng.choice(["low", "mid", "high"], rows), ["low", "mid", "high"], ordered=True
            ),
            "dose": np.where(rng.random(rows) < 0.2, np.nan, rng.normal(size=rows).round(2)),
        }
    )
    ill = (frame["age"] > 50) & ((frame["sex"] == "male") | (frame["stage"] == "high"))
    ill ^= rng.random(rows) < 0.1
    return frame, pd.Series(np.where(ill, "ill", "well"), name="state")


@pytest.fixture(scope="module")
def rows() -> tuple[pd.DataFrame, pd.Series]:
    return patients()


@pytest.fixture(scope="module")
def clf(rows) -> tb.BoundTreeClassifier:
    return tb.BoundTreeClassifier(pruning=None, max_leaves=6).fit(*rows)


@pytest.fixture
def editor(clf, rows):
    return clf.edit(*rows)


@pytest.mark.parametrize("wrong", [3, []])
def test_alternatives_are_those_of_a_classifier(clf, rows, wrong) -> None:
    with pytest.raises(ValueError, match="'alternatives' parameter of edit must be the result"):
        clf.edit(*rows, alternatives=wrong)
    with pytest.raises(ValueError, match="'alternatives' parameter of to_html must be the result"):
        tb.show.to_html(clf, alternatives=wrong)


def check_counts(editor, rows) -> None:
    """The tree has the counts of the training rows, by the obvious count, and no empty node."""
    tree, (X, y) = editor.tree, rows
    done = editor.done()
    sample = done.model_.read_sample(X, y, whole=True)
    reached = tree.apply(sample.X)
    for node in range(tree.n_nodes):
        inside = (reached >= node) & (reached < node + tree.size[node])
        assert tree.rows[node] == inside.sum() > 0
        assert np.bincount(sample.y[inside], minlength=2).tolist() == tree.counts[node].tolist()
    assert (done.predict(X) == tree.classes[tree.label[reached]]).all()
    assert editor.figures.leaves == tree.n_leaves
    assert editor.figures.training_error == pytest.approx((done.predict(X) != y).mean())


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("age <= 35", lambda X: X["age"] <= 35),
        ("sex = male", lambda X: X["sex"] == "male"),
        ("stage <= low", lambda X: X["stage"] == "low"),
        ("dose <= 0", lambda X: X["dose"] <= 0),
        ("dose <= 0 or missing", lambda X: ~(X["dose"] > 0)),
        ("dose is present", lambda X: X["dose"].notna()),
    ],
)
@pytest.mark.parametrize("keep", [True, False])
def test_a_split_sends_rows_where_its_text_states(clf, rows, text, left, keep) -> None:
    editor = clf.edit(*rows)
    parted = editor.rows_of(0).divided(parse_split(text, editor.tree.columns))[0]
    assert parted.tolist() == left(rows[0]).tolist()
    editor.split("", text, keep=keep)
    side = editor.done().apply(rows[0]) < editor.tree.right[0]
    assert side.tolist() == left(rows[0]).tolist()
    check_counts(editor, rows)


def test_use_takes_the_best_split_of_the_column(editor, rows) -> None:
    best = editor.alternatives("")
    editor.use("", "dose")
    line = best[best["column"] == "dose"].iloc[0]
    assert editor.history[0].startswith(f"At the root: {line['split']} instead of ")
    assert editor.tree.rows[editor.tree.left[0]] == line["rows_left"]
    check_counts(editor, rows)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_alternatives_are_the_best_of_all_thresholds(rows, criterion) -> None:
    X, y = rows
    clf = tb.BoundTreeClassifier(criterion=criterion, pruning=None, max_leaves=3).fit(X, y)
    editor = clf.edit(X, y)
    table = editor.alternatives("L").set_index("column")
    inside = clf.apply(X) < clf.tree_.right[0]
    here, codes = X[inside], (y[inside] == "well").to_numpy().astype(int)

    def gain(left: np.ndarray) -> float:
        counts = [np.bincount(codes[part], minlength=2) for part in (left | ~left, left, ~left)]
        mass = np.sum(counts, axis=1) * impurity(np.array(counts, dtype=float), criterion)
        return (mass[0] - mass[1] - mass[2]) / len(X)

    for name in ("age", "sex"):
        values = here[name].to_numpy()
        cuts = [values <= v for v in values] if name == "age" else [values == "male"]
        assert table.loc[name, "gain"] == pytest.approx(max(map(gain, cuts)), abs=1e-9)
    assert (table["gain"].diff().dropna() <= 0).all()
    assert (table["rows_left"] + table["rows_right"] == inside.sum()).all()


def test_agreement_is_one_for_the_split_in_place_and_none_at_a_leaf(editor) -> None:
    column = editor.tree.columns[editor.tree.feature[0]].name
    table = editor.alternatives(0).set_index("column")
    assert table.loc[column, "agreement"] == 1.0
    assert table["agreement"].between(0.5, 1.0).all()
    leaf = int(editor.tree.leaves[0])
    assert editor.alternatives(leaf)["agreement"].isna().all()


def agreements(values: pd.Series, in_place: np.ndarray, weight: np.ndarray) -> list[float]:
    """How far every split of a column agrees with another, missing values on either side."""
    gone = values.isna().to_numpy()
    if values.dtype == object:
        cuts = [(values == value).to_numpy() for value in values.unique()]
    else:
        numbers = values.cat.codes if values.dtype == "category" else values
        cuts = [(numbers <= number).to_numpy() & ~gone for number in numbers.dropna().unique()]
        cuts += [~gone] + [cut | gone for cut in cuts]
    same = [np.average(cut == in_place, weights=weight) for cut in cuts]
    return [max(share, 1 - share) for share in same]


@pytest.mark.parametrize("weighted", [False, True])
def test_surrogates_agree_most_of_all_splits_of_their_columns(weighted) -> None:
    X, y = patients(400, seed=3)
    rng = np.random.default_rng(0)
    X["weight"] = (X["age"] + rng.normal(scale=15, size=400)).round()  # parts rows as age does
    X.loc[rng.random(400) < 0.1, "weight"] = np.nan
    weight = rng.integers(1, 4, 400) if weighted else None
    clf = tb.BoundTreeClassifier(pruning=None, max_leaves=6).fit(X, y, sample_weight=weight)
    editor = clf.edit(X, y, sample_weight=weight)
    listed = 0
    for node in np.flatnonzero(clf.tree_.feature >= 0).tolist():
        reached = clf.apply(X)
        inside = (reached >= node) & (reached < node + clf.tree_.size[node])
        in_place = reached[inside] < clf.tree_.right[node]
        here = np.ones(inside.sum()) if weight is None else weight[inside]
        most = max(np.average(in_place, weights=here), np.average(~in_place, weights=here))
        table = editor.surrogates(node).set_index("column")
        assert X.columns[clf.tree_.feature[node]] not in table.index
        for name in X.columns.drop(X.columns[clf.tree_.feature[node]]):
            best = max(agreements(X[name][inside], in_place, here))
            assert (name in table.index) == (best > most + 1e-12)
            if name in table.index:
                assert table.loc[name, "agreement"] == pytest.approx(best)
                assert table.loc[name, "adjusted"] == pytest.approx((best - most) / (1 - most))
                listed += 1
        assert (table["agreement"].diff().dropna() <= 0).all()
    assert listed > 2
    with pytest.raises(ValueError, match=r"surrogates must be an inner node.*leaf"):
        editor.surrogates(int(clf.tree_.leaves[0]))


def test_collapse_grow_and_relabel(editor, rows) -> None:
    step = editor.collapse("R")
    assert step.before.leaves > step.after.leaves == editor.tree.n_leaves
    check_counts(editor, rows)
    editor.grow("R", columns=["dose", "stage"], max_leaves=4)
    below = editor.tree.feature[editor.tree.right[0] :]
    assert {editor.tree.columns[at].name for at in below if at >= 0} <= {"dose", "stage"}
    check_counts(editor, rows)
    leaf = int(editor.tree.leaves[-1])
    label = editor.tree.classes[1 - editor.tree.label[leaf]]
    errors = editor.tree.errors
    editor.relabel(leaf, label)
    flipped = editor.tree.counts[leaf]
    assert editor.tree.errors == errors - flipped.min() + flipped.max()
    check_counts(editor, rows)


def test_a_label_by_hand_survives_other_edits(editor) -> None:
    editor.relabel("L", "ill")
    editor.collapse("R")
    two = pd.DataFrame({"age": [30.0, 70.0], "sex": "male", "stage": "low", "dose": 0.0})
    assert editor.done().predict(two)[0] == "ill"
    editor.relabel("R", "well")
    editor.split("", "age <= 40")  # the leaves below it are counted again
    assert editor.done().predict(two).tolist() == ["ill", "well"]


def test_keep_leaves_out_splits_that_part_no_rows(clf, rows) -> None:
    editor = clf.edit(*rows)
    editor.collapse("")
    editor.split("", "age <= 50")
    editor.split("L", "age <= 30")
    editor.split("", "age <= 25")  # below it, age <= 30 holds for all rows
    assert editor.tree.n_leaves == 2
    check_counts(editor, rows)


def test_undo_and_redo(editor) -> None:
    first = editor.tree
    editor.collapse("R")
    editor.collapse("")
    last = editor.tree
    editor.undo()
    editor.undo()
    assert editor.tree is first
    assert editor.history == ()
    assert editor.figures == editor.figures_before
    editor.redo()
    editor.redo()
    assert editor.tree is last
    with pytest.raises(ValueError, match="no undone step"):
        editor.redo()
    editor.undo()
    editor.grow("R")
    with pytest.raises(ValueError, match="no undone step"):
        editor.redo()


def test_changed_lists_the_rows_with_another_prediction(editor, clf, rows) -> None:
    X, y = rows
    assert len(editor.changed()) == 0
    editor.use("", "dose")
    table, before, now = editor.changed(), clf.predict(X), editor.done().predict(X)
    numbers = sorted(number for part in table["numbers"] for number in part)
    assert numbers == np.flatnonzero(before != now).tolist()
    assert table["became_right"].sum() == ((before != now) & (now == y)).sum()
    assert table["became_wrong"].sum() == ((before != now) & (before == y)).sum()


def test_done_lists_the_edits_in_model_file_and_page(editor, clf) -> None:
    editor.collapse("R")
    editor.grow("R")
    done = editor.done()
    assert done.model_.provenance.edits == editor.edits
    assert len(done.model_.provenance.edits) == 2
    assert clf.model_.provenance.edits == ()
    again = loads(dumps(done.model_))
    assert again.provenance.edits == editor.edits
    assert again.certificate.risk == done.certificate_.risk
    page = to_html(done)
    data = json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', page, re.S)[1])
    assert data["edits"] == [*editor.history]
    with pytest.raises(ValueError, match="edited by hand"):
        done.prune_to(2)


def test_an_edited_classifier_can_be_edited_again(editor, rows) -> None:
    editor.collapse("R")
    second = editor.done().edit(*rows)
    second.grow("R")
    assert second.done().model_.provenance.edits == (*editor.edits, *second.edits)


def test_test_rows_are_shown_and_recorded(clf, rows) -> None:
    test = patients(100, seed=1)
    editor = clf.edit(*rows, test=test)
    assert editor.figures.test_error == pytest.approx(1.0 - clf.score(*test))
    step = editor.collapse("")
    done = editor.done()
    assert step.after.test_error == pytest.approx(1.0 - done.score(*test))
    with pytest.raises(ValueError, match="100 of 100 comparable rows equal validation rows"):
        tb.certify(done, *test)
    assert tb.certify(clf, *test).m == 100
    assert "test error" in str(step)
    assert "certificate" in str(step)


def test_weights_and_class_weights_are_those_of_fit(rows) -> None:
    X, y = rows
    weight = np.random.default_rng(3).integers(0, 4, len(y))
    clf = tb.BoundTreeClassifier(pruning=None, max_leaves=5, class_weight="balanced")
    clf.fit(X, y, sample_weight=weight)
    editor = clf.edit(X, y, sample_weight=weight)
    editor.use("L", "dose")
    total = np.bincount((y == "well").astype(int), weights=weight)
    assert editor.tree.counts[0].tolist() == total.tolist()
    assert editor.done().certificate_ is not None
    with pytest.raises(ValueError, match="rows that the tree was trained on"):
        clf.edit(X, y)


def test_arrays_without_names() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    editor = tb.BoundTreeClassifier().fit(X, y).edit(X, y)
    editor.split("", "x1 <= 0")
    assert editor.done().predict(X[:2]).shape == (2,)
    editor.relabel("L", 1)
    assert editor.done().predict([[0.0, -1.0, 0.0]]).tolist() == [1]


@pytest.mark.parametrize("pruning", ["bound", "reduced-error"])
def test_rows_that_a_pruner_kept_back_are_found_again(rows, pruning) -> None:
    clf = tb.BoundTreeClassifier(pruning=pruning).fit(*rows)
    editor = clf.edit(*rows)
    editor.grow("", max_leaves=3)
    assert editor.tree.rows[0] == clf.tree_.rows[0]


def test_other_rows_than_those_of_fit_are_refused(clf, rows) -> None:
    X, y = rows
    for other in (patients(240, seed=5), (X[:-1], y[:-1]), (X, y.sample(frac=1, random_state=0))):
        with pytest.raises(ValueError, match="rows that the tree was trained on"):
            clf.edit(*other)
    with pytest.raises(ValueError, match="must not be rows that the tree was fitted on"):
        clf.edit(X, y, test=(X, y))
    with pytest.raises(ValueError, match="a pair"):
        clf.edit(X, y, test=X)


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (lambda e: e.collapse(99), "There is no node 99"),
        (lambda e: e.collapse("LLLLLLLLL"), "is a leaf"),
        (lambda e: e.collapse("left"), "text of L and R"),
        (lambda e: e.collapse(-1), "text of L and R"),
        (lambda e: e.collapse(int(e.tree.leaves[0])), "an inner node"),
        (lambda e: e.use(0, "weight"), "a column of the tree"),
        (lambda e: e.split(0, "age <= 500"), "does not divide the rows"),
        (lambda e: e.grow(0, columns=["weight"]), "a column of the tree"),
        (lambda e: e.grow(0, columns="age"), "a sequence of names"),
        (lambda e: e.grow(0, columns=[]), "at least one name"),
        (lambda e: e.grow(0, max_leaves=1), "an int >= 2"),
        (lambda e: e.relabel(0, "ill"), "a leaf"),
        (lambda e: e.relabel(int(e.tree.leaves[0]), "dead"), "one of"),
        (lambda e: e.undo(), "no step to undo"),
    ],
)
def test_bad_steps_are_refused_and_change_nothing(editor, step, reason) -> None:
    before = editor.tree
    with pytest.raises(ValueError, match=reason):
        step(editor)
    assert editor.tree is before
    assert editor.history == ()


def test_nothing_changed_gives_the_same_tree(editor, clf) -> None:
    assert editor.done().tree_ is clf.tree_
