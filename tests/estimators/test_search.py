"""A wide search at the top of the tree: a smaller score, and everything else as for other trees."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine

import treebound as tb
from treebound.exchange import dumps, loads
from treebound.model.parameters import WIDE_LEAVES, WIDE_VALUES, WIDE_VALUES_FOR_FEW_LEAVES
from treebound.pruning import BoundPruner


@pytest.fixture(scope="module", params=[load_wine, load_breast_cancer])
def table(request):
    return request.param(return_X_y=True, as_frame=True)


def test_the_score_is_never_larger_than_that_of_greedy_growth(table):
    X, y = table
    pruner = BoundPruner(weight=0.6)
    greedy, wide = (
        tb.BoundTreeClassifier(pruning=pruner, search=how).fit(X, y) for how in ("greedy", "wide")
    )
    assert wide.pruning_result_.score <= greedy.pruning_result_.score
    for leaves in range(1, min(len(wide.pruning_path_), greedy.grown_tree_.n_leaves) + 1):
        ours, theirs = wide.prune_to(leaves), greedy.prune_to(leaves)
        assert ours.n_leaves_ == theirs.n_leaves_ == leaves
        assert ours.tree_.errors <= theirs.tree_.errors


def loans(n=700, seed=0):
    """Two classes with nominal, ordinal and real columns, and missing values."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({
        "income": rng.normal(50, 15, n).round(1),
        "debt": rng.normal(20, 9, n).round(1),
        "town": rng.choice(["a", "b", "c", "d"], n),
        "age": rng.integers(18, 80, n).astype(float),
    })  # fmt: skip
    X.loc[rng.random(n) < 0.1, "age"] = np.nan
    risk = X["debt"] - 0.4 * X["income"] + 6.0 * (X["town"] == "c") + rng.normal(0, 8, n)
    return X, np.where(risk > 2, "default", "repaid")


RULES = {
    "class weights": {"class_weight": "balanced"},
    "costs": {"pruning": BoundPruner(costs={"default": 3.0, "repaid": 1.0}, weight=0.6)},
    "monotone": {"monotonic_cst": {"income": 1, "debt": -1}},
    "forced": {"forced_splits": ["town = c"]},
    "groups": {"interaction_cst": [["income", "debt"], ["town", "age"]]},
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rule", RULES)
def test_rules_and_weights(rule, weighted):
    X, y = loans()
    weight = np.random.default_rng(1).integers(1, 4, len(y)) if weighted else None
    options = {"pruning": BoundPruner(weight=0.6), **RULES[rule]}
    greedy, wide = (
        tb.BoundTreeClassifier(search=how, **options).fit(X, y, sample_weight=weight)
        for how in ("greedy", "wide")
    )
    assert wide.pruning_result_.score <= greedy.pruning_result_.score + 1e-9
    tree = wide.tree_
    if rule == "monotone":
        more = X.assign(income=X["income"] + 5)
        share = wide.classes_.tolist().index("repaid")
        low, high = (wide.predict_proba(rows)[:, share] for rows in (X, more))
        assert (high >= low - 1e-12).all()
    if rule == "forced" and tree.n_leaves > 1:
        assert tree.columns[tree.feature[0]].name == "town"
    for step in range(len(wide.pruning_path_)):
        model = wide.model_.prune_to(step=step)
        certificate = model.certificate
        wrong = int((model.predict(X) != y).sum())
        assert certificate is not None, model.certificate_reason
        assert certificate.errors == wrong


@pytest.mark.parametrize("kind", ["held-out", "folds"])
def test_calibration_rows_are_counted_at_every_tree_of_the_path(kind):
    X, y = loans()
    clf = tb.BoundTreeClassifier(search="wide", certificate=kind, class_weight="balanced")
    clf.fit(X, y)
    draw = clf.model_.provenance.draw
    inside = draw.calibration.mask(len(y))
    stored = loads(dumps(clf.model_))
    for step in range(len(clf.pruning_path_)):
        model = clf.model_.prune_to(step=step)
        wrong = int((model.predict(X[inside]) != y[inside]).sum())
        certificate = model.certificate
        assert certificate is not None
        assert (certificate.m, certificate.errors) == (inside.sum(), wrong)
        again = stored.prune_to(step=step).certificate
        assert str(again) == str(certificate)
    assert (stored.predict(X) == clf.predict(X)).all()


def test_a_callback_sees_the_search_and_may_stop_it():
    X, y = loans(6000)

    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tb.BoundTreeClassifier(search="wide").fit(X, y, callback=stop)
    seen = []
    tb.BoundTreeClassifier(search="wide", pruning=BoundPruner(weight=0.6)).fit(
        X, y, callback=seen.append
    )
    assert len(seen) >= 2  # the greedy tree, and the graph
    assert seen[-1].done == seen[-1].total


def test_the_tree_counts_its_rows_and_is_the_same_again(table):
    X, y = table
    clf = tb.BoundTreeClassifier(search="wide").fit(X, y)
    assert (clf.predict(X) != np.asarray(y)).sum() == clf.tree_.errors
    again = clone(clf).fit(X, y)
    assert dumps(again.model_) == dumps(clf.model_)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = clone(clf).fit(X.iloc[order], y.iloc[order])
    assert shuffled.to_text() == clf.to_text()


def test_files_reports_and_edits_take_the_tree(table):
    X, y = table
    clf = tb.BoundTreeClassifier(search="wide", max_leaves=5).fit(X, y)
    assert clf.n_leaves_ <= 5
    model = loads(dumps(clf.model_))
    assert (model.predict(X) == clf.predict(X)).all()
    assert str(model.certificate) == str(clf.certificate_)
    assert model.prune_to(3).tree.n_leaves == clf.prune_to(3).n_leaves_ == 3
    assert str(model.prune_to(3).certificate) == str(clf.prune_to(3).certificate_)
    assert "<html" in clf.to_html()
    editor = clf.edit(X, y)
    editor.collapse("")
    assert editor.done().n_leaves_ == 1


@pytest.mark.parametrize(
    ("options", "values", "used"),
    [
        ({}, 2800, "wide"),
        ({}, 2799, "greedy"),
        ({"max_leaves": 17}, 2799, "greedy"),
        ({"max_leaves": 16}, 280, "wide"),
        ({"max_leaves": 16}, 279, "greedy"),
        ({"size": "readable"}, 280, "wide"),
        ({"certificate": "held-out"}, 2800, "wide"),
        ({"certificate": "folds"}, 2799, "greedy"),
        ({"pruning": "mdl"}, 2800, "greedy"),
        ({"pruning": "log-loss"}, 2800, "greedy"),
        ({"pruning": None}, 2800, "greedy"),
        ({"certificate": "prior"}, 2800, "greedy"),
        ({"thresholds": "observed"}, 2800, "greedy"),
    ],
)
def test_auto_follows_the_number_of_values(options, values, used, monkeypatch):
    monkeypatch.setattr("treebound.model.parameters.WIDE_VALUES", values)
    monkeypatch.setattr("treebound.model.parameters.WIDE_VALUES_FOR_FEW_LEAVES", 10 * values)
    X, y = loans()  # 2,800 values
    auto = tb.BoundTreeClassifier(search="auto", **options).fit(X, y)
    assert auto.search_ == used
    named = tb.BoundTreeClassifier(search=used, **options).fit(X, y)
    assert auto.to_text() == named.to_text()
    assert str(auto.estimate_) == str(named.estimate_)
    stored = loads(dumps(auto.model_))
    assert stored.search == used
    assert stored.provenance.parameters["search"] == "auto"


def test_the_limits_of_auto():
    assert (WIDE_VALUES, WIDE_LEAVES, WIDE_VALUES_FOR_FEW_LEAVES) == (50_000, 16, 500_000)


def test_auto_is_the_same_for_rows_that_are_read_from_a_stream_into_memory():
    dataset = pytest.importorskip("pyarrow.dataset")
    import pyarrow as pa

    X, y = load_wine(return_X_y=True, as_frame=True)
    rows = dataset.dataset(pa.Table.from_pandas(X.assign(label=y)))
    joined = tb.BoundTreeClassifier(search="auto").fit(rows, "label")
    assert joined.search_ == "wide"
    assert joined.to_text() == tb.BoundTreeClassifier(search="wide").fit(X, y).to_text()
    elsewhere = tb.BoundTreeClassifier(search="auto", pruning=BoundPruner(weight=0.6))
    assert elsewhere.fit(rows, "label").search_ == "greedy"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"pruning": "mdl"}, "unless the pruner is the bound pruner"),
        ({"pruning": BoundPruner(score="log-loss")}, "unless the pruner is the bound pruner"),
        ({"certificate": "prior"}, "with a certificate of the kind 'prior'"),
        ({"thresholds": "observed"}, "with observed thresholds"),
    ],
)
def test_what_does_not_go_with_a_wide_search_is_refused(options, why):
    X, y = load_wine(return_X_y=True, as_frame=True)
    with pytest.raises(ValueError, match=f"'search' parameter .*must be 'greedy' {why}"):
        tb.BoundTreeClassifier(search="wide", **options).fit(X, y)


def test_rows_that_are_not_in_memory_are_refused():
    dataset = pytest.importorskip("pyarrow.dataset")
    import pyarrow as pa

    X, y = load_wine(return_X_y=True, as_frame=True)
    rows = dataset.dataset(pa.Table.from_pandas(X.assign(label=y)))
    small = tb.BoundTreeClassifier(search="wide", pruning=BoundPruner(weight=0.6))
    with pytest.raises(ValueError, match=r"'search' parameter .*not in memory"):
        small.fit(rows, "label")
