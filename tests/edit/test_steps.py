"""Swapped branches, costs, the plot, and steps that are kept in a file."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import numpy as np
import pytest
from edit.editor_case import passengers

import treebound as tb
from treebound.exchange import FormatError, dumps, loads
from treebound.model.edits import NodeState
from treebound.show import TreeDisplay, to_notebook, to_text


@pytest.fixture(scope="module")
def case():
    return passengers()


def test_swap_changes_what_is_shown_and_nothing_else(case) -> None:
    clf, X, y = case
    editor = clf.edit(X, y)
    step = editor.swap("")
    done = editor.done()
    assert step.before == step.after
    assert done.tree_ is clf.tree_
    assert (done.predict(X) == clf.predict(X)).all()
    code = [line for line in done.to_python().splitlines() if not line.startswith("#")]
    assert code == clf.to_python().splitlines()
    before, after = to_text(clf).splitlines(), to_text(done).splitlines()
    assert sorted(before) == sorted(after)
    first = next(at for at, line in enumerate(before[1:], 1) if not line.startswith("|"))
    assert after == before[first:] + before[:first]
    assert loads(dumps(done.model_)).swapped == (0,)
    places = [TreeDisplay.from_estimator(source).places_ for source in (clf, done)]
    left, right = int(clf.tree_.left[0]), int(clf.tree_.right[0])
    assert places[0][left] < places[0][right]
    assert places[1][left] > places[1][right]
    assert to_notebook(done) != to_notebook(clf)
    editor.swap("")
    assert to_text(editor.done()) == to_text(clf)


def test_swapped_branches_are_forgotten_below_an_edit_and_kept_elsewhere(case) -> None:
    clf, X, y = case
    editor = clf.edit(X, y)
    editor.swap("L")
    editor.swap("R")
    editor.collapse("R")
    assert editor.done().model_.swapped == (int(editor.tree.left[0]),)


def test_a_model_file_with_a_wrong_swapped_node_is_refused(case) -> None:
    clf = case[0]
    document = json.loads(dumps(clf.model_))
    document["swapped"] = [int(clf.tree_.leaves[0])]
    with pytest.raises(ValueError, match=r"swapped\[0\].*not an inner node"):
        loads(json.dumps(document))


def test_cost_is_that_of_the_pruner_and_decides_the_labels_of_new_leaves() -> None:
    costs = {"died": 1.0, "survived": 4.0}
    clf, X, y = passengers(pruning=tb.pruning.BoundPruner(costs=costs), max_leaves=None)
    editor = clf.edit(X, y)

    def cost(predictions: np.ndarray) -> float:
        price = y.map(costs).to_numpy()
        return float(price[predictions != y].sum() / len(y))

    assert editor.figures.mean_cost == pytest.approx(cost(clf.predict(X)))
    assert editor.figures.weighted_error is None
    step = editor.split("", "sex = female", keep=False)
    done = editor.done()
    assert step.after.mean_cost == pytest.approx(cost(done.predict(X)))
    before, after = cost(clf.predict(X)), cost(done.predict(X))
    assert ("mean cost", f"{before:.4g}", f"{after:.4g}") in step.after.lines(step.before)
    for leaf in editor.tree.leaves.tolist():
        died, survived = editor.tree.counts[leaf]
        assert editor.tree.label[leaf] == int(4.0 * survived > died)
    assert "mean cost" in str(step)


def test_class_weights_have_a_weighted_error_and_plain_trees_have_none(case) -> None:
    clf, X, y = case
    assert clf.edit(X, y).figures.weighted_error is None
    clf, X, y = passengers(class_weight={"died": 1.0, "survived": 3.0})
    wrong, weight = clf.predict(X) != y, np.where(y == "died", 1.0, 3.0)
    expected = weight[wrong].sum() / weight.sum()
    figures = clf.edit(X, y).figures
    assert figures.weighted_error == pytest.approx(expected)
    assert figures.mean_cost is None


def test_alternatives_are_drawn(case) -> None:
    clf, X, y = case
    editor = clf.edit(X, y)
    display = editor.plot_alternatives("", most=3)
    table = editor.alternatives("").head(3)
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == table["split"].tolist()[::-1]
    widths = [bar.get_width() for bar in display.ax_.patches]
    assert widths == pytest.approx(table["gain"].tolist()[::-1])
    display.figure_.clear()


def edits(editor) -> None:
    editor.swap("R")
    editor.split("L", "age <= 20 or missing")
    editor.use("LR", "port", keep=False)
    editor.grow("LL", columns=["siblings", "class"], max_leaves=3)
    editor.collapse("LR")
    editor.relabel("LR", "died" if editor.tree.label[editor.tree.left[0]] else "survived")


def test_all_steps_are_recovered_with_the_undone_ones(case, tmp_path) -> None:
    clf, X, y = case
    file = tmp_path / "model.json.steps"
    editor = clf.edit(X, y, autosave=file)
    edits(editor)
    history = editor.history
    editor.undo()
    editor.undo()
    again = clf.edit(X, y, autosave=file)
    assert again.recover() == editor.history
    assert to_text(again.done()) == to_text(editor.done())
    again.redo()
    again.redo()
    assert again.history == history
    # what was recovered is kept further on
    third = clf.edit(X, y, autosave=file)
    assert third.recover() == history


def test_recovering_is_refused_where_it_would_lead_elsewhere(case, tmp_path) -> None:
    clf, X, y = case
    file = tmp_path / "steps"
    with pytest.raises(ValueError, match="no file to recover"):
        clf.edit(X, y).recover()
    with pytest.raises(ValueError, match="does not exist"):
        clf.edit(X, y, autosave=file).recover()
    editor = clf.edit(X, y, autosave=file)
    editor.collapse("R")
    with pytest.raises(ValueError, match="has steps already"):
        editor.recover()
    other = tb.BoundTreeClassifier(max_leaves=3, pruning=None).fit(X, y)
    with pytest.raises(ValueError, match="from another tree"):
        other.edit(X, y, autosave=file).recover()
    for text in ("", "[]", '{"format": "x"}', '{"steps": 3, "undone": 0, "tree": "", "format": 1}',
                 "[" * 100_000):  # fmt: skip
        file.write_text(text)
        with pytest.raises(ValueError, match="not a file of steps"):
            clf.edit(X, y, autosave=file).recover()
        assert file.read_text() == text


def test_categories_that_a_model_file_does_not_list_are_learned_from_the_rows(case) -> None:
    clf, X, y = case
    editor = clf.edit(X, y)
    editor.collapse("")
    saved = loads(dumps(editor.done().model_))
    assert any(column.unlisted for column in saved.columns)
    again = tb.edit.Editor(saved, X, y)
    again.split("", "port = Cobh")
    assert again.done().predict(X).shape == y.shape


# -- rules of fit ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ordered():
    """A classifier whose probability of "survived" must not rise with age, and its rows."""
    clf, X, y = passengers()
    clf.set_params(monotonic_cst={"age": -1}, max_leaves=8)
    return clf.fit(X, y), X, y


def violated(clf, X) -> bool:
    """Return True if two rows that differ in age alone are predicted against the order."""
    ages = np.sort(X["age"].dropna().unique())[::7]
    for at in range(0, len(X), 9):
        same = X.iloc[[at] * len(ages)].assign(age=ages)
        if (np.diff(clf.predict_proba(same)[:, 1]) > 1e-12).any():
            return True
        if (np.diff((clf.predict(same) == "survived").astype(int)) > 0).any():
            return True
    return False


def step_at_random(editor, ages: np.ndarray, rng: np.random.Generator) -> None:
    node, tree = int(rng.integers(editor.tree.n_nodes)), editor.tree
    kind = rng.integers(3)
    if kind == 0:
        editor.split(node, f"age <= {rng.choice(ages)}", keep=bool(rng.integers(2)))
    elif kind == 1:
        editor.relabel(node, tree.classes[1 - int(tree.label[node])])
    else:
        editor.grow(node, max_leaves=3)


def test_edits_keep_the_order_or_are_refused(ordered) -> None:
    clf, X, y = ordered
    rng, ages = np.random.default_rng(0), X["age"].dropna().to_numpy()
    refused = taken = 0
    for _ in range(12):
        editor = clf.edit(X, y)
        for _ in range(4):
            try:
                step_at_random(editor, ages, rng)
                taken += 1
            except ValueError as error:
                refused += "monotonic_cst" in str(error)
        assert not violated(editor.done(), X)
    assert refused > 0
    assert taken > 10


def test_a_label_against_the_order_is_refused(ordered) -> None:
    clf, X, y = ordered
    editor = clf.edit(X, y)
    editor.collapse("")
    editor.split("", "age <= 12")
    editor.relabel("R", "died")
    editor.relabel("L", "died")
    with pytest.raises(ValueError, match="order in 'age' that 'monotonic_cst' requires"):
        editor.relabel("R", "survived")
    assert len(editor.history) == 4


def test_columns_that_fit_must_not_use_are_not_used_by_hand() -> None:
    clf, X, y = passengers()
    X = X.drop(columns="port")
    clf.set_params(interaction_cst=[["sex", "age"], ["class", "siblings"]])
    clf.fit(X, y)
    editor = clf.edit(X, y)
    used = X.columns[editor.tree.feature[0]]
    group = {"sex", "age"} if used in ("sex", "age") else {"class", "siblings"}
    assert set(editor.alternatives("L")["column"]) <= group
    with pytest.raises(ValueError, match="must not be used"):
        editor.use("L", ({"sex", "class"} - group).pop())
    editor.use("", "class", keep=False)
    below = {X.columns[at] for at in editor.tree.feature if at >= 0}
    assert below <= {"class", "siblings"}


def test_splits_that_come_first_stay_first() -> None:
    clf, X, y = passengers()
    clf.set_params(forced_splits=["class <= 1", "age <= 40"], max_leaves=8).fit(X, y)
    editor = clf.edit(X, y)
    for step in (
        lambda: editor.collapse(""),
        lambda: editor.collapse("L"),
        lambda: editor.use("", "sex"),
        lambda: editor.split("R", "age <= 30", keep=False),
        lambda: editor.use("", "sex", keep=False),
        lambda: editor.grow("", columns=["sex", "age"]),
    ):
        with pytest.raises(
            ValueError, match=r"must split on 'class <= 1'|must split on 'age <= 40'"
        ):
            step()
    assert editor.history == ()
    editor.use("LL", "siblings", keep=False)
    editor.grow("R", max_leaves=5)
    assert editor.tree.threshold[editor.tree.right[0]] == 40
    editor.split("", "class <= 1", keep=False)
    used = [X.columns[editor.tree.feature[node]] for node in (0, *children(editor.tree))]
    assert used == ["class", "age", "age"]


def children(tree) -> tuple[int, int]:
    return int(tree.left[0]), int(tree.right[0])


def test_a_first_split_that_was_pruned_comes_first_when_the_tree_grows_again() -> None:
    clf, X, y = passengers()
    clf.set_params(forced_splits=["class <= 1", "siblings <= 99", "age <= 40"], max_leaves=1).fit(
        X, y
    )
    editor = clf.edit(X, y)
    with pytest.raises(ValueError, match="node '' must split on 'class <= 1'"):
        editor.use("", "sex")
    editor.grow("", max_leaves=2)
    assert editor.history[0].startswith("At the root: 2 leaves grown")
    assert X.columns[editor.tree.feature[0]] == "class"
    with pytest.raises(ValueError, match="node 'L' must split on 'age <= 40'"):
        editor.use("L", "sex")  # no row has 99 siblings: that split has an empty side
    editor.split("L", "age <= 40")
    editor.use("LR", "sex")
    with pytest.raises(ValueError, match="node '' must split on 'class <= 1'"):
        clf.edit(X, y).split("", "age <= 40")


def test_what_grows_below_an_ordered_split_stays_within_its_limits(ordered) -> None:
    clf, X, y = ordered
    grown = 0
    for text in ("age <= 12", "age <= 30", "age <= 45"):
        editor = clf.edit(X, y)
        editor.collapse("")
        editor.split("", text)
        for node in "LR":
            editor.grow(node, max_leaves=8)
            grown += editor.figures.leaves > 2
        assert not violated(editor.done(), X)
    assert grown == 6


def test_every_step_keeps_a_note_and_an_author(tmp_path) -> None:
    clf, X, y = passengers()
    editor = clf.edit(X, y, autosave=tmp_path / "steps.json")
    remark = {"note": " the  new\nguideline ", "author": "A. Smith"}
    editor.collapse("R", **remark)
    editor.grow("R", max_leaves=2, **remark)
    editor.swap("", **remark)
    editor.use("R", "age", **remark)
    editor.split("R", "age <= 25", note="rounded")
    editor.collapse("L")
    leaf = int(editor.tree.leaves[0])
    other = editor.tree.classes[1 - editor.tree.label[leaf]]
    editor.relabel(leaf, other, author="B. Jones")
    moment = datetime(2026, 3, 31, 17, 5, 1, tzinfo=UTC)
    editor.collapse("R", author="B. Jones", time=moment)
    editor.swap("", time="2026-03-31T17:05+02:00")
    ends = [". By A. Smith. Note: the new guideline"] * 4
    ends += [". Note: rounded", ".", ". By B. Jones.", ". By B. Jones, 2026-03-31 17:05 UTC."]
    ends += [". On 2026-03-31 17:05+02:00."]
    for sentence, end in zip(editor.history, ends, strict=True):
        assert sentence.endswith(end)
    done = editor.done().model_
    assert done.provenance.edits == editor.edits == loads(dumps(done)).provenance.edits
    assert editor.edits[-2].remark.time == moment.isoformat()
    again = clf.edit(X, y, autosave=tmp_path / "steps.json")
    assert again.recover() == editor.history
    with pytest.raises(ValueError, match="'note' parameter of the editor must be a text"):
        editor.collapse("", note=3)
    with pytest.raises(ValueError, match="'time' parameter of the editor must be a datetime, or"):
        editor.collapse("", time="yesterday")
    stored = json.loads(dumps(done))
    stored["edits"][3]["time"] = "yesterday"
    with pytest.raises(FormatError, match=r"edits\[3\].time must be a time as ISO 8601"):
        loads(json.dumps(stored))


def test_an_edit_records_the_node_before_and_after() -> None:
    clf, X, y = passengers()
    editor = clf.edit(X, y)
    tree = editor.tree
    right, leaves = int(tree.right[0]), int(tree.size[tree.right[0]] + 1) // 2
    split = f"{editor.alternatives('R')['split'][0]}"
    editor.collapse("R")
    editor.use("R", editor.alternatives("R")["column"][0])
    editor.grow("R", columns=["age"], max_leaves=3)
    collapsed, used, grown = editor.edits
    label = tree.classes[tree.counts[right].argmax()]
    share = tree.counts[right].max() / tree.counts[right].sum()
    assert [edit.operation for edit in editor.edits] == ["collapse", "use", "grow"]
    assert {edit.node for edit in editor.edits} == {"R"}
    assert {edit.conditions for edit in editor.edits} == {collapsed.conditions}
    assert collapsed.before.leaves == leaves
    assert collapsed.before.split is not None
    assert collapsed.after == used.before == NodeState(1, label, None, share)
    assert (used.after.leaves, used.after.split) == (2, split)
    assert grown.before == used.after
    assert (grown.after.leaves, grown.columns, grown.excluded) == (3, ("age",), ())


def test_the_estimate_is_that_of_the_tree_before_the_first_step() -> None:
    clf, X, y = passengers()
    editor = clf.edit(X, y)
    assert editor.model().estimate == clf.model_.estimate is not None
    editor.collapse("R")
    assert editor.model().estimate is None
    editor.undo()
    assert editor.model().estimate == clf.model_.estimate


def test_an_alternative_is_used_in_the_place_of_the_tree(tmp_path) -> None:
    _, X, y = passengers()
    clf = tb.BoundTreeClassifier(max_leaves=6).fit(X, y)
    trees = clf.alternatives(X, y, k=3, within=0.1)
    assert len(trees) > 1
    editor = clf.edit(X, y, alternatives=trees, autosave=tmp_path / "steps.json")
    step = editor.adopt(1, note="fewer questions")
    assert step.after.leaves == trees[1].tree.n_leaves
    assert editor.history[0].startswith("At the root: alternative 2 with ")
    assert (editor.done().predict(X) == trees[1].predict(X)).all()
    again = clf.edit(X, y, alternatives=trees, autosave=tmp_path / "steps.json")
    assert again.recover() == editor.history
    with pytest.raises(ValueError, match="'number' parameter of adopt"):
        editor.adopt(7)
    with pytest.raises(ValueError, match="was given no alternatives"):
        clf.edit(X, y).adopt(0)
