"""A wide search at the top of the tree: a smaller score, and everything else as for other trees."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine

import treebound as tb
from treebound.exchange import dumps, loads
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
    ("options", "why"),
    [
        ({"pruning": "mdl"}, "unless the pruner is the bound pruner"),
        ({"pruning": BoundPruner(score="log-loss")}, "unless the pruner is the bound pruner"),
        ({"monotonic_cst": {"alcohol": 1}}, "with 'monotonic_cst'"),
        ({"forced_splits": ["alcohol <= 13"]}, "with 'forced_splits'"),
        ({"certificate": "held-out"}, "with a certificate of the kind 'held-out'"),
        ({"thresholds": "observed"}, "with observed thresholds"),
        ({"class_weight": "balanced"}, "with weights of rows or classes"),
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
