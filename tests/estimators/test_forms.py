"""The forms a fitted classifier takes, and the file it is stored in."""

import inspect
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier
from support import CODE_LENGTH

from treebound import BoundTreeClassifier, exchange, show
from treebound.exchange import FormatError, to_onnx
from treebound.pruning import PaperPruner


@pytest.fixture(scope="module")
def fruit():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "weight": rng.normal(size=90),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], 90), ["S", "M", "L"], ordered=True),
            "colour": rng.choice(["red", "green", "blue"], 90),
        }
    )
    y = np.where(X["colour"] == "green", "kiwi", np.where(X["weight"] > 0, "plum", "date"))
    X.loc[::9, "colour"] = None
    return X, y


FORMS = (
    "to_text", "to_rules", "to_dot", "to_latex", "to_html", "to_python", "to_c", "to_sql",
    "to_onnx",
)  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_made_of_a_fitted_tree(form, fruit):
    with pytest.raises(NotFittedError):
        getattr(BoundTreeClassifier(), form)()
    clf = BoundTreeClassifier(handle_unknown="stop").fit(*fruit)
    assert getattr(clf, form)()


@pytest.mark.parametrize(
    ("function", "method"),
    [(show.to_text, "to_text"), (show.to_rules, "to_rules"), (show.to_dot, "to_dot"),
     (show.to_latex, "to_latex"),
     (show.to_html, "to_html"), (exchange.to_python, "to_python"), (exchange.to_c, "to_c"),
     (exchange.to_sql, "to_sql"), (to_onnx, "to_onnx")],
)  # fmt: skip
def test_functions_take_a_classifier_as_well_as_a_tree(function, method, fruit):
    clf = BoundTreeClassifier(handle_unknown="stop", smoothing=None).fit(*fruit)
    assert str(function(clf)) == str(getattr(clf, method)())
    assert function(clf.tree_)
    with pytest.raises(NotFittedError):
        function(BoundTreeClassifier())
    grown = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    for wrong, hint in ((3, ""), (grown, "from_sklearn")):
        with pytest.raises(TypeError, match=f"needs a Tree or a fitted .*{hint}"):
            function(wrong)


@pytest.mark.parametrize("form", FORMS)
def test_methods_are_described_as_methods(form):
    text = inspect.getdoc(getattr(BoundTreeClassifier, form))
    parameters = set(inspect.signature(getattr(BoundTreeClassifier(), form)).parameters)
    block = text.partition("Parameters\n----------\n")[2].split("\n\n")[0]
    named = [line.split(" :")[0] for line in block.splitlines() if line[0] != " "]
    assert {name for names in named for name in names.split(", ")} == parameters
    assert ">>>" not in text  # an example would call the function


def test_a_picture_needs_a_fitted_classifier():
    with pytest.raises(NotFittedError):
        show.TreeDisplay.from_estimator(BoundTreeClassifier())


def test_code_predicts_as_the_classifier_is_set_to(fruit):
    X, y = fruit
    for smoothing in ("laplace", None):
        clf = BoundTreeClassifier(smoothing=smoothing, handle_unknown="stop", pruning=None).fit(
            X, y
        )
        space = {}
        exec(clf.to_python(output="proba"), space)
        row = {"weight": 0.5, "size": "M", "colour": "never seen"}
        predicted = space["predict"](row)
        assert list(predicted) == pytest.approx(clf.predict_proba(pd.DataFrame([row]))[0].tolist())


def test_a_report_is_written_to_the_path(fruit, tmp_path):
    page = BoundTreeClassifier().fit(*fruit).to_html(tmp_path / "tree.html")
    assert (tmp_path / "tree.html").read_text(encoding="utf-8") == page


# -- the model file ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"pruning": None, "handle_unknown": "stop", "smoothing": None},
        {"pruning": PaperPruner(**CODE_LENGTH, search="optimal+raise"), "max_leaves": 6},
        {"pruning": "cost-complexity", "class_weight": "balanced"},
        {"categorical_features": ["colour"], "ordinal_features": {"size": ["S", "M", "L"]}},
    ],
)
def test_a_model_comes_back_as_it_was_saved(options, fruit, tmp_path):
    X, y = fruit
    clf = BoundTreeClassifier(**options).fit(X, y)
    clf.save(tmp_path / "model.json")
    again = BoundTreeClassifier.load(tmp_path / "model.json")
    new = X.assign(colour="never seen")
    for rows in (X, new):
        np.testing.assert_array_equal(again.predict(rows), clf.predict(rows))
        np.testing.assert_array_equal(again.predict_proba(rows), clf.predict_proba(rows))
    for one, other in zip(again.columns_, clf.columns_, strict=True):
        names = [(column.name, column.kind, column.n_categories) for column in (one, other)]
        assert names[0] == names[1]
        assert one.unlisted or one == other
    assert again.classes_.tolist() == clf.classes_.tolist()
    assert again.n_features_in_ == 3
    np.testing.assert_array_equal(again.feature_names_in_, clf.feature_names_in_)
    np.testing.assert_array_equal(again.feature_importances_, clf.feature_importances_)
    stored = {k: v for k, v in clf.get_params(deep=False).items() if not isinstance(v, PaperPruner)}
    assert {k: again.get_params(deep=False)[k] for k in stored} == stored
    assert str(again.certificate_) == str(clf.certificate_)
    again.save(tmp_path / "again.json")
    text = (tmp_path / "model.json").read_text()
    assert (tmp_path / "again.json").read_text() == text or isinstance(
        options.get("pruning"), PaperPruner
    )


@pytest.mark.parametrize("pruning", ["bound", "cost-complexity", PaperPruner(**CODE_LENGTH)])
def test_the_pruning_path_is_kept(pruning, tmp_path):
    X, y = load_wine(return_X_y=True)
    y = np.where(np.arange(len(y)) % 11 == 0, 0, y)
    clf = BoundTreeClassifier(pruning=pruning).fit(X, y)
    clf.save(tmp_path / "model.json")
    again = BoundTreeClassifier.load(tmp_path / "model.json")
    here, there = clf.pruning_path_, again.pruning_path_
    assert len(there) == len(here)
    assert there.chosen == here.chosen
    np.testing.assert_array_equal(there.leaves, here.leaves)
    np.testing.assert_array_equal(there.errors, here.errors)
    for step in range(len(here)):
        one, other = clf.prune_to(step=step), again.prune_to(step=step)
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    assert [row["leaves"] for row in there.table()] == [row["leaves"] for row in here.table()]
    np.testing.assert_array_equal(again.grown_tree_.counts, clf.grown_tree_.counts)


def test_the_path_of_a_large_tree_is_kept_in_part(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 4)), rng.integers(0, 2, 1500)
    clf = BoundTreeClassifier(max_leaves=260).fit(X, y)
    clf.save(tmp_path / "model.json")
    again = BoundTreeClassifier.load(tmp_path / "model.json")
    assert again.pruning_path_.leaves.max() <= 200
    assert again.n_leaves_ == clf.n_leaves_
    assert again.prune_to(leaves=7).n_leaves_ == clf.prune_to(leaves=7).n_leaves_
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))


def test_a_file_keeps_the_certificate_of_weighted_rows(tmp_path):
    X, y = load_iris(return_X_y=True)
    clf = BoundTreeClassifier().fit(X, y, sample_weight=np.full(150, 2.0))
    clf.save(tmp_path / "model.json")
    again = BoundTreeClassifier.load(tmp_path / "model.json")
    assert again.certificate_ == clf.certificate_
    assert clf.certificate_.m == 150
    assert not hasattr(again, "feature_names_in_")


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda d: d["parameters"].update(nose=1), "parameters.nose"),
        (lambda d: d["parameters"].update(handle_unknown="guess"), "parameters"),
        (lambda d: d["parameters"].update(max_leaves=-3), "parameters"),
        (lambda d: d["pruning"].update(chosen=99), "pruning.chosen"),
        (lambda d: d["parameters"].update(pruning=7), "parameters"),
        (lambda d: d.update(named="yes"), "named"),
        (lambda d: d.update(made_by=3), "made_by"),
        (lambda d: d.update(held_out={"m": 3, "errors": 1}), "held_out.counts"),
        (lambda d: d.update(held_out={"m": 0, "errors": 1, "counts": []}), "held_out.m"),
        (lambda d: d.update(held_out={"m": 3, "errors": 1, "counts": []}), "held_out.counts"),
    ],
)
def test_what_is_not_a_model_is_refused(change, place, tmp_path):
    X, y = load_iris(return_X_y=True)
    BoundTreeClassifier().fit(X, y).save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    change(document)
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(FormatError) as raised:
        BoundTreeClassifier.load(tmp_path / "model.json")
    assert place in str(raised.value)


@pytest.mark.parametrize("step", [None, 0, -1])
def test_calibration_rows_certify_as_before(step, tmp_path):
    X, y = load_wine(return_X_y=True)
    clf = BoundTreeClassifier(certificate="held-out", random_state=1).fit(X, y)
    clf = clf if step is None else clf.prune_to(step=step)
    clf.save(tmp_path / "model.json")
    again = BoundTreeClassifier.load(tmp_path / "model.json")
    assert again.certificate_ == clf.certificate_
    assert again.prune_to(step=1).certificate_ == clf.prune_to(step=1).certificate_


def test_a_path_that_is_kept_in_part_certifies_as_before(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 4)), rng.integers(0, 2, 1500)
    clf = BoundTreeClassifier(certificate="held-out", random_state=1).fit(X, y)
    assert len(clf.pruning_path_) > 200
    clf.prune_to(step=0).save(tmp_path / "model.json")
    again = BoundTreeClassifier.load(tmp_path / "model.json")
    assert len(again.pruning_path_) < len(clf.pruning_path_)
    assert again.n_leaves_ == clf.pruning_path_.leaves[0]
    assert again.certificate_ == clf.prune_to(step=0).certificate_
    assert again.prune_to(leaves=5).certificate_ == clf.prune_to(leaves=5).certificate_


@pytest.mark.filterwarnings("error")
def test_names_like_those_of_unnamed_columns_are_names(tmp_path):
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2", "x3"])
    for table in (X, frame):
        BoundTreeClassifier().fit(table, y).save(tmp_path / "model.json")
        BoundTreeClassifier.load(tmp_path / "model.json").predict(table)


def test_skops_round_trip(fruit):
    skops = pytest.importorskip("skops.io")
    X, y = fruit
    clf = BoundTreeClassifier().fit(X, y)
    raw = skops.dumps(clf)
    again = skops.loads(raw, trusted=skops.get_untrusted_types(data=raw))
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
