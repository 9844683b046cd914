"""The editor of trees that predict numbers: steps, values, figures, certificates, the page."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime

import numpy as np
import pandas as pd
import pytest
from edit.editor_case import fares

import treebound as tb
from treebound.data import Sample
from treebound.data.numeric_target import NumericTarget
from treebound.edit import Editor
from treebound.edit.page import EditorPage
from treebound.exchange.regression_file import parse_regression, regression_text
from treebound.growing import grow_numbers
from treebound.tree.leaf_values import shrunk_values


@pytest.fixture(scope="module")
def case():
    return fares()


@pytest.fixture
def editor(case) -> Editor:
    reg, X, y = case
    return reg.edit(X, y)


def check_values(editor: Editor, X: pd.DataFrame, y: pd.Series) -> None:
    """The means, the default values and the figures of a tree without values set by hand."""
    tree, done = editor.tree, editor.done()
    reached = tree.apply(editor.training_rows.X)
    numbers = editor.training_rows.y
    for node in range(tree.n_nodes):
        inside = (reached >= node) & (reached < node + tree.size[node])
        assert tree.rows[node] == inside.sum()
        assert tree.mean[node] == pytest.approx(numbers[inside].mean())
        assert tree.squares[node] == pytest.approx(numbers[inside].var() * inside.sum(), abs=1e-6)
    assert tree.value == pytest.approx(shrunk_values(tree, editor.model().shrinkage))
    error = float(np.sqrt(((done.predict(X) - y) ** 2).mean()))
    assert editor.figures.training_error == pytest.approx(error)
    assert editor.figures.leaves == done.n_leaves_
    assert ("training RMSE", f"{error:.4g}") in [
        (name, now) for name, _, now in editor.figures.lines(editor.figures_before)
    ]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("age <= 30", lambda X: X["age"] <= 30),
        ("age <= 30 or missing", lambda X: ~(X["age"] > 30)),
        ("sex = male", lambda X: X["sex"] == "male"),
        ("class <= 1", lambda X: X["class"] == "1"),
    ],
)
@pytest.mark.parametrize("keep", [True, False])
def test_a_split_sends_rows_where_its_text_states(case, text, left, keep) -> None:
    reg, X, y = case
    editor = reg.edit(X, y)
    editor.split("", text, keep=keep)
    side = editor.done().apply(X) < editor.tree.right[0]
    assert side.tolist() == left(X).tolist()
    check_values(editor, X, y)


def test_all_steps_change_the_tree_and_can_be_undone(case) -> None:
    reg, X, y = case
    editor = reg.edit(X, y)
    steps = [
        lambda: editor.collapse("R"),
        lambda: editor.grow("R", max_leaves=3, columns=["age", "port"]),
        lambda: editor.use("L", "siblings", keep=False),
        lambda: editor.swap(""),
    ]
    trees = [editor.tree]
    for step in steps:
        step()
        check_values(editor, X, y)
        trees.append(editor.tree)
    assert {editor.tree.columns[at].name for at in _features(editor.tree, "R")} <= {"age", "port"}
    for tree in trees[-2::-1]:
        editor.undo()
        assert editor.tree is tree
    for tree in trees[1:]:
        editor.redo()
        assert editor.tree is tree


def _features(tree, path: str) -> set[int]:
    node = int(tree.right[0] if path == "R" else tree.left[0])
    inside = tree.feature[node : node + tree.size[node]]
    return {*inside[inside >= 0].tolist()}


def test_alternatives_are_the_best_of_all_thresholds(case) -> None:
    reg, X, y = case
    editor = reg.edit(X, y)
    table = editor.alternatives("L").set_index("column")
    inside = (reg.apply(X) < reg.tree_.right[0]) & X["age"].notna().to_numpy()
    here, numbers = X[inside], y[inside].to_numpy()
    whole = reg.apply(X) < reg.tree_.right[0]

    def losses(left: np.ndarray) -> list[float]:
        return [float(((numbers[part] - numbers[part].mean()) ** 2).sum()) for part in
                (left, ~left) if part.any()]  # fmt: skip

    before = float(((y[whole] - y[whole].mean()) ** 2).sum())
    if inside.sum() == whole.sum():  # else missing values are tried on both sides
        values = here["age"].to_numpy()
        best = min(sum(losses(values <= value)) for value in values)
        assert table.loc["age", "gain"] == pytest.approx((before - best) / len(X))
    numbers = y[whole].to_numpy()
    siblings = X["siblings"][whole].to_numpy()
    sums = [sum(losses(siblings <= value)) for value in range(5)]
    enough = [min((siblings <= v).sum(), (siblings > v).sum()) >= 1 for v in range(5)]
    least = min(loss for loss, some in zip(sums, enough, strict=True) if some)
    assert table.loc["siblings", "gain"] <= (before - least) / len(X) + 1e-9
    female = (X["sex"][whole] == "female").to_numpy()
    assert table.loc["sex", "gain"] == pytest.approx((before - sum(losses(female))) / len(X))
    assert table.loc["sex", "rmse"] == pytest.approx(np.sqrt(sum(losses(female)) / whole.sum()))
    assert (table["gain"].diff().dropna() <= 0).all()


def test_the_best_split_at_the_root_is_the_one_that_growing_finds(case) -> None:
    _, X, y = case
    matrix = Sample.learn(X, [0] * len(X)).X
    grown = grow_numbers(matrix, NumericTarget.of(y.to_numpy()))
    reg = tb.BoundTreeRegressor(pruning=None, min_samples_leaf=1, max_leaves=4).fit(X, y)
    editor = reg.edit(X, y)
    editor.collapse("")
    first = editor.alternatives("").iloc[0]["column"]
    assert first == X.columns[grown.feature[0]]
    editor.grow("", max_leaves=4)
    assert (editor.done().predict(X) == reg.predict(X)).all()


def test_a_value_by_hand_survives_other_edits_and_files(editor, case) -> None:
    reg, X, y = case
    leaf = int(editor.tree.leaves[0])
    where = reg.apply(X) == leaf
    step = editor.relabel(leaf, 12.5, note="tariff", author="A. Smith", time=datetime(2026, 3, 1))
    assert str(editor.edits[0]).endswith(
        f": predict 12.5 instead of {reg.tree_.value[leaf]:.6g}. By A. Smith, 2026-03-01 00:00. "
        "Note: tariff"
    )
    assert step.after.training_error > step.before.training_error
    assert (editor.edits[0].before.share, editor.edits[0].after.prediction) == (None, 12.5)
    editor.collapse("R")
    done = editor.done()
    assert (done.predict(X)[where] == 12.5).all()
    model = parse_regression(regression_text(done.model_))
    assert model.provenance.edits == editor.edits
    assert (model.predict(X) == done.predict(X)).all()
    again = Editor(model, X, y)
    assert again.kind.by_hand(again.tree).sum() == 1
    again.grow("R", max_leaves=2)
    assert (again.done().predict(X)[where] == 12.5).all()
    assert len(again.done().provenance.edits) == 3
    # what folds had chosen is kept for later edits
    assert model.shrinkage == reg.model_.shrinkage
    assert model.options.min_samples_leaf == reg.model_.options.min_samples_leaf


def test_rows_with_another_value_are_listed(case) -> None:
    reg, X, y = case
    editor = reg.edit(X, y)
    editor.collapse("L")
    table = editor.changed()
    before, now = reg.predict(X), editor.done().predict(X)
    assert table["rows"].sum() == (before != now).sum()
    assert table["nearer"].sum() == (np.abs(y - now) < np.abs(y - before)).sum()
    assert table["farther"].sum() == (np.abs(y - now) > np.abs(y - before)).sum()
    for line in table.itertuples():
        assert (before[line.numbers] == line.before).all()
        assert (now[line.numbers] == line.now).all()


@pytest.mark.parametrize(
    "options",
    [
        {"sample_weight": np.random.default_rng(0).integers(0, 4, 300)},
        {"sample_weight": np.random.default_rng(0).random(300)},
        {"clip": (0.05, 0.95)},
        {"smoothing": None, "min_samples_leaf": 3},
        {"pruning": None},
        {"cv": None},
        {"y_range": (0.0, 200.0), "certificate": "held-out"},
        {"certificate": "folds"},
        {"certificate": "held-out", "groups": np.arange(300) // 2},
        {"handle_unknown": "stop"},
        {"forced_splits": ["siblings <= 2"]},
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_rows_of_fit_are_found_again(options) -> None:
    reg, X, y = fares(**options)
    given = {name: options[name] for name in ("sample_weight", "groups") if name in options}
    editor = reg.edit(X, y, **given)
    assert editor.tree is reg.tree_
    assert not editor.kind.by_hand(editor.tree).any()
    assert editor.done().model_ is reg.model_
    leaf = int(editor.tree.leaves[editor.tree.rows[editor.tree.leaves].argmax()])
    before = editor.tree.value
    editor.grow(leaf, max_leaves=2)
    # other leaves keep their values, and collapsing gives the tree of fit
    assert (editor.tree.value[: leaf + 1] == before[: leaf + 1]).all()
    assert (editor.tree.value[leaf + 3 :] == before[leaf + 1 :]).all()
    editor.collapse(leaf)
    assert editor.tree.value == pytest.approx(before, abs=1e-12)
    assert (editor.done().predict(X) == reg.predict(X)).all()


def test_a_step_of_the_path_is_edited(case) -> None:
    reg, X, y = case
    small = reg.prune_to(3)
    editor = small.edit(X, y)
    editor.collapse("")
    assert editor.done().n_leaves_ == 1
    assert "No estimate: the tree was edited" in editor.done().summary()


def test_other_rows_are_refused(case) -> None:
    reg, X, y = case
    with pytest.raises(ValueError, match="must be the rows that the tree was trained on"):
        reg.edit(X, y + 1)
    with pytest.raises(ValueError, match="must be the rows that the tree was trained on"):
        reg.edit(X[:200], y[:200])
    with pytest.raises(ValueError, match="must be the rows that the tree was trained on"):
        Editor(replace(reg.model_, provenance=type(reg.model_.provenance)()), X, y[::-1])
    with pytest.raises(ValueError, match="Got text such as"):
        reg.edit(X, y.astype(str))
    with pytest.raises(ValueError, match="must be None for a regression tree"):
        reg.edit(X, y, alternatives=[reg.model_])


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (lambda editor: editor.relabel("L" * 9, 1.0), "There is no node"),
        (lambda editor: editor.relabel("", 1.0), "must be a leaf"),
        (lambda editor: editor.relabel(int(editor.tree.leaves[0]), "high"), "a finite number"),
        (lambda editor: editor.relabel(int(editor.tree.leaves[0]), np.inf), "a finite number"),
        (lambda editor: editor.relabel(int(editor.tree.leaves[0]), True), "a finite number"),
        (lambda editor: editor.split("", "siblings <= 1000"), "does not divide the rows"),
        (lambda editor: editor.adopt(0), "no alternatives"),
    ],
)
def test_bad_steps_are_refused_and_change_nothing(editor, step, reason) -> None:
    tree = editor.tree
    with pytest.raises(ValueError, match=reason):
        step(editor)
    assert editor.tree is tree
    assert not editor.history


def test_a_value_outside_the_declared_range_is_refused() -> None:
    reg, X, y = fares(y_range=(0, 200))
    editor = reg.edit(X, y)
    with pytest.raises(ValueError, match=r"in the 'y_range' of fit, \(0, 200\)"):
        editor.relabel(int(editor.tree.leaves[0]), 201)


def test_edits_keep_the_order_or_are_refused() -> None:
    reg, X, y = fares(monotonic_cst={"age": 1}, max_leaves=12)
    editor = reg.edit(X, y)
    tree = reg.tree_
    at = int(np.flatnonzero((tree.feature == 3) & np.isfinite(tree.threshold))[0])
    editor.split(at, "age <= 25", keep=False)
    leaves = editor.tree.leaves
    low = int(leaves[(leaves > at) & (leaves < editor.tree.right[at])][0])
    with pytest.raises(ValueError, match="predictions would break the order in 'age'"):
        editor.relabel(low, float(editor.tree.value.max()) + 100)
    editor.collapse("")
    editor.grow("", max_leaves=8)
    done = editor.done()
    # rows that differ in this column alone are in order
    for _, row in X[X["age"].notna()][:40].iterrows():
        frame = pd.DataFrame([row] * 30).astype(X.dtypes)
        frame["age"] = np.linspace(0, 80, 30)
        assert (np.diff(done.predict(frame)) >= -1e-9).all()


# -- certificates ------------------------------------------------------------------------------


def test_an_edited_tree_states_why_it_has_no_certificate() -> None:
    reg, X, y = fares(certificate="held-out", tolerance=8)
    assert reg.certificate_ is not None
    with pytest.warns(UserWarning, match=r"no certificate.*only if no figure.*_unseen=True"):
        editor = reg.edit(X, y)
    editor.collapse("R")
    assert editor.figures.certificate is None
    done = editor.done()
    assert done.certificate_ is None
    assert "The tree was edited, and figures of the calibration rows" in done.certificate_reason_
    with pytest.raises(ValueError, match=r"no residuals for an interval: the tree was edited"):
        done.predict_interval(X)
    assert regression_text(done.model_).count("calibration") > 0  # its rows stay recorded
    with pytest.raises(ValueError, match="fitted or certified with these rows"):
        done.certify(X, y)


def test_calibration_rows_of_which_no_figure_was_seen_certify_the_edited_tree() -> None:
    reg, X, y = fares(certificate="held-out", tolerance=8, y_range=(-100, 300))
    with pytest.warns(UserWarning, match="calibration rows"):
        editor = reg.edit(X, y)
    editor.collapse("R")
    done = editor.done(calibration_unseen=True)
    inside = reg.model_.provenance.draw.calibration.mask(len(X))
    errors = np.abs(y[inside] - done.predict(X[inside]))
    certificate = done.certificate_
    assert (certificate.m, certificate.exceeded) == (inside.sum(), (errors > 8).sum())
    assert certificate.rmse >= np.sqrt((errors**2).mean())
    covered = done.predict_interval(X[inside], 0.9)
    assert ((covered[:, 0] <= y[inside]) & (y[inside] <= covered[:, 1])).mean() >= 0.9
    again = parse_regression(regression_text(done.model_))
    assert again.certificate == certificate


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_folds_and_seen_test_rows_do_not_certify_an_edited_tree() -> None:
    reg, X, y = fares(certificate="folds")
    editor = reg.edit(X, y)
    editor.collapse("R")
    with pytest.raises(ValueError, match="A certificate by folds holds for the trees"):
        editor.done(calibration_unseen=True)
    reg, X, y = fares(certificate="held-out")
    inside = reg.model_.provenance.draw.calibration.mask(len(X))
    editor = reg.edit(X, y, test=(X[inside], y[inside]))
    assert editor.figures.test_error == pytest.approx(
        np.sqrt(((reg.predict(X[inside]) - y[inside]) ** 2).mean())
    )
    editor.collapse("R")
    with pytest.raises(ValueError, match="The test rows of the editor are calibration rows"):
        editor.done(calibration_unseen=True)


def test_test_rows_are_shown_and_recorded(case) -> None:
    reg, _, _ = case
    _, X, y = fares(600)
    X, y = X[300:], y[300:] + 1000.0
    _, training, numbers = fares()
    editor = reg.edit(training, numbers, test=(X, y))
    lines = {name: now for name, _, now in editor.figures.lines(editor.figures_before)}
    error = np.sqrt(((reg.predict(X) - y) ** 2).mean())
    assert lines["test RMSE"] == f"{error:,.0f}"
    with pytest.raises(ValueError, match="used"):
        editor.done().certify(X, y)
    with pytest.raises(ValueError, match="must not be rows that the tree was fitted on"):
        reg.edit(training, numbers, test=(training, numbers))


# -- the page and files of steps -----------------------------------------------------------------


def send(page: EditorPage, **command: object) -> dict:
    return json.loads(json.dumps(page.reply(command), allow_nan=False))


@pytest.mark.parametrize(
    "command",
    [
        {"do": "split", "node": "", "text": '"age" <= 30 or missing', "keep": True},
        {"do": "use", "node": "L", "column": "siblings", "keep": False},
        {"do": "collapse", "node": "R"},
        {"do": "grow", "node": "L", "max_leaves": 3, "columns": ["age", "port"]},
        {"do": "swap", "node": ""},
    ],
)
def test_a_step_of_the_page_gives_the_whole_new_state(editor, command) -> None:
    page = EditorPage(editor, title="Edit")
    before = send(page, do="state")["state"]
    reply = send(page, version=0, **command)
    assert reply["state"]["history"] == [reply["message"]]
    trees = [[state[name] for name in ("nodes", "stats", "splits")] for state in
             (before, reply["state"])]  # fmt: skip
    assert trees[0] != trees[1]
    assert reply["state"]["effects"] == ["nearer", "farther"]
    undone = send(page, do="undo", version=1)["state"]
    assert undone["nodes"] == before["nodes"]


def test_a_node_has_its_alternatives_with_bands_of_numbers(editor, case) -> None:
    _, X, y = case
    page = EditorPage(editor, title="Edit")
    node = send(page, do="node", node="", version=0)["node"]
    table = editor.alternatives("")
    assert [one["name"] for one in node["candidates"]] == table["column"].tolist()
    assert [one["loss"] for one in node["candidates"]] == [f"RMSE {x:.4g}" for x in table["rmse"]]
    state = send(page, do="state")["state"]
    sex = next(one for one in node["candidates"] if one["name"] == "sex")
    assert np.sum(sex["bars"]) == len(X)
    fifths = np.bincount(np.searchsorted(np.quantile(y, [0.2, 0.4, 0.6, 0.8]), y), minlength=5)
    assert np.sum(sex["bars"], axis=0).tolist() == fifths.tolist()
    assert len(state["bands"]) == len(state["band_colours"]) == 5
    preview = send(page, do="preview", node="", text='"siblings" <= 2', version=0)["preview"]
    editor.collapse("")
    editor.split("", "siblings <= 2")
    tree = editor.tree
    rmse = np.sqrt(tree.squares[tree.leaves].sum() / tree.weight[0])
    assert preview["loss"] == f"RMSE {rmse:.4g}"
    assert preview["rows"] == tree.rows[1:].tolist()


def test_the_page_downloads_a_model_and_a_report(editor, case) -> None:
    _, X, _ = case
    page = EditorPage(editor, title="Edit")
    send(page, do="relabel", node="", label=3, version=0)  # no leaf: nothing happens
    assert not editor.history
    send(page, do="collapse", node="", version=0)
    send(page, do="relabel", node="", label=3.5, version=1)
    reply = send(page, do="save", version=2)
    assert (parse_regression(reply["file"]["text"]).predict(X) == 3.5).all()
    assert "<html" in send(page, do="report", version=2)["file"]["text"]


def test_all_steps_are_recovered(case, tmp_path) -> None:
    reg, X, y = case
    file = tmp_path / "steps.json"
    editor = reg.edit(X, y, autosave=file)
    editor.relabel(int(editor.tree.leaves[0]), 1 / 3, note="why")
    editor.collapse("R")
    editor.swap("")
    editor.undo()
    other = reg.edit(X, y, autosave=file)
    assert other.recover() == editor.history
    assert other.undone == 1
    assert (other.done().predict(X) == editor.done().predict(X)).all()
    with pytest.raises(ValueError, match="another tree"):
        reg.prune_to(2).edit(X, y, autosave=file).recover()


def test_an_editor_is_a_picture_and_text(editor) -> None:
    assert "training RMSE" in str(editor)
    bundle = editor._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "training RMSE" in data["text/plain"]
    assert data["text/html"]


def test_alternatives_and_surrogates_are_listed_and_drawn(editor) -> None:
    pytest.importorskip("matplotlib")
    surrogates = editor.surrogates("")
    assert list(surrogates.columns) == list(editor.alternatives("").columns)
    assert surrogates["agreement"].between(0.5, 1.0).all()
    assert len(editor.plot_alternatives("").ax_.patches) == len(editor.alternatives(""))


# -- steps at random -----------------------------------------------------------------------------


def random_step(editor: Editor, rng: np.random.Generator) -> None:
    """Take a step, or none if it is refused."""
    node, column = int(rng.integers(editor.tree.n_nodes)), str(rng.choice(["age", "sex", "port"]))
    steps = [
        lambda: editor.collapse(node),
        lambda: editor.use(node, column, keep=bool(rng.integers(2))),
        lambda: editor.grow(node, max_leaves=int(rng.integers(2, 5))),
        lambda: editor.relabel(node, float(rng.normal(40, 10))),
        lambda: editor.split(node, f"age <= {rng.uniform(5, 60):.1f}", keep=bool(rng.integers(2))),
        lambda: editor.undo(),
    ]
    try:
        steps[rng.integers(len(steps))]()
    except ValueError:  # a leaf, an inner node, an order that would break, nothing to undo
        return


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_values_and_figures_follow_from_the_rows_after_any_steps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    options: dict = {"monotonic_cst": {"age": 1}} if seed % 3 == 0 else {}
    options |= {"clip": (0.05, 0.95)} if seed % 4 == 1 else {}
    weight = rng.random(300) + 0.1 if seed % 2 else None
    reg, X, y = fares(sample_weight=weight, **options)
    editor = reg.edit(X, y, sample_weight=weight)
    for _ in range(12):
        random_step(editor, rng)
        tree, rows = editor.tree, editor.training_rows
        by_hand = editor.kind.by_hand(tree)
        assert tree.value[~by_hand] == pytest.approx(editor.kind.defaults(tree)[~by_hand])
        squares = (rows.y - tree.predict(rows.X)) ** 2
        error = np.sqrt(np.average(squares, weights=rows.weights))
        assert editor.figures.training_error == pytest.approx(error)
    done = editor.done()
    again = parse_regression(regression_text(done.model_))
    assert (again.predict(X) == done.predict(X)).all()
    assert not editor.edits or Editor(again, X, y, sample_weight=weight).tree.n_leaves >= 1


def test_the_chosen_leaf_size_and_shrinkage_are_kept_after_an_edit(tmp_path) -> None:
    """Later edits grow the same trees, and the parameters stay those of the user."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=600), rng.integers(0, 6, 600)])
    y = (X[:, 0] > 0) * 2.0 + X[:, 1] * 0.4 + rng.normal(size=600) * 0.6
    weight = np.random.default_rng(0).integers(0, 4, 600) * 1.0
    regressor = tb.BoundTreeRegressor().fit(X, y, weight)
    assert regressor.model_.options.min_samples_leaf > 1

    def grown(estimator):
        editor = estimator.edit(X, y, sample_weight=weight)
        editor.collapse("")
        editor.grow("", max_leaves=500)
        return editor

    once = grown(regressor)
    edited = once.done()
    edited.save(tmp_path / "edited.json")
    loaded = tb.BoundTreeRegressor.load(tmp_path / "edited.json")
    for estimator in (edited, loaded):
        assert estimator.get_params() == regressor.get_params()
        again = grown(estimator)
        assert again.tree.n_leaves == once.tree.n_leaves == regressor.grown_tree_.n_leaves
        np.testing.assert_array_equal(again.tree.value, once.tree.value)
