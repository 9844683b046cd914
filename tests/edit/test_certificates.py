"""Certificates of edited trees hold, however the edits were chosen; what would not hold is refused.

The rows come from a finite domain, so the risk of every tree is known exactly.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

import treebound as tb
from treebound.certificate.training import certify_tree
from treebound.edit import Editor
from treebound.exchange import dumps, loads

DELTA = 0.2
DOMAIN = np.array([*product(range(6), range(4), range(3))], dtype=float)
P_ONE = np.where(DOMAIN[:, 0] > 2, 0.75, 0.3)


def drawn(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    at = rng.integers(len(DOMAIN), size=rows)
    return DOMAIN[at], (rng.random(rows) < P_ONE[at]).astype(int)


def risk(clf: tb.BoundTreeClassifier) -> float:
    return float(np.where(clf.predict(DOMAIN) == 1, 1.0 - P_ONE, P_ONE).mean())


def random_edits(editor: Editor, rng: np.random.Generator) -> None:
    """A few steps at random."""
    for _ in range(4):
        tree = editor.tree
        node = int(rng.integers(tree.n_nodes))
        step = rng.integers(4)
        try:
            if step == 0 and tree.feature[node] >= 0:
                editor.collapse(node)
            elif step == 1:
                editor.split(node, f"x{rng.integers(3)} <= {rng.integers(5) + 0.5}")
            elif step == 2:
                editor.grow(node, max_leaves=3)
            elif tree.feature[node] < 0:
                editor.answer(node, int(rng.integers(2)))
        except ValueError:  # nothing grows here, or no rows are parted
            continue


def greedy_edits(editor: Editor, rng: np.random.Generator) -> None:
    """The step that lowers the limit most, twice."""
    for _ in range(2):
        tree, best = editor.tree, (editor.figures.certificate, None)
        steps: list[Callable[[], object]] = []
        for node in range(tree.n_nodes):
            if tree.feature[node] >= 0:
                steps.append(lambda node=node: editor.collapse(node))
            else:
                other = 1 - int(tree.label[node])
                steps.append(lambda node=node, other=other: editor.answer(node, other))
        steps.append(lambda: editor.split("", f"x0 <= {rng.integers(5) + 0.5}"))
        for step in steps:
            try:
                step()
            except ValueError:
                continue
            best = min(best, (editor.figures.certificate, step), key=lambda pair: pair[0])
            editor.undo()
        if best[1] is None:
            return
        best[1]()


def failures(draws: int, edit, rows: int = 60, *, ordered: bool = False, **parameters) -> int:
    """In how many draws the limit of the edited tree is below its risk; rows may be sorted."""
    wrong = 0
    clf = tb.BoundTreeClassifier(pruning=None, max_leaves=4, delta=DELTA, **parameters)
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        X, y = drawn(rng, rows)
        if len(set(y)) < 2:
            continue
        if ordered:
            X, y = X[np.argsort(y, kind="stable")], np.sort(y)
        editor = clf.fit(X, y).edit(X, y)
        edit(editor, rng)
        done = editor.done()
        wrong += done.certificate_.risk < risk(done)
    return wrong


KINDS = {
    "tail inversion": {},
    "compression": {"thresholds": "observed"},
    "prior": {"certificate": "prior"},
    "prior, sorted rows": {"certificate": "prior", "ordered": True},
}


@pytest.mark.parametrize("edit", [random_edits, greedy_edits])
@pytest.mark.parametrize("kind", KINDS)
def test_limits_hold_for_whoever_looks_for_the_smallest(kind, edit) -> None:
    draws = 60
    assert failures(draws, edit, **KINDS[kind]) <= binom.ppf(0.999, draws, DELTA)


@pytest.mark.heavy
@pytest.mark.parametrize("edit", [random_edits, greedy_edits])
@pytest.mark.parametrize("kind", KINDS)
def test_limits_hold_in_many_draws(kind, edit) -> None:
    draws = 3000
    assert failures(draws, edit, **KINDS[kind]) <= binom.ppf(0.999, draws, DELTA)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("draws", [150, pytest.param(3000, marks=pytest.mark.heavy)])
def test_held_out_rows_that_nobody_saw_certify_the_edited_tree(draws, ordered) -> None:
    wrong = failures(draws, random_edits, rows=100, ordered=ordered, certificate="held-out")
    # the binomial limit is nearly exact: it fails often, but not too often
    assert binom.ppf(0.001, draws, DELTA / 4) <= wrong <= binom.ppf(0.999, draws, DELTA)


@pytest.mark.parametrize("draws", [20, pytest.param(500, marks=pytest.mark.heavy)])
def test_flipping_answers_by_the_test_error_would_fail_and_gives_no_certificate(draws) -> None:
    failed = 0
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        X, _ = drawn(rng, 200)
        X = X + rng.random(X.shape)  # many leaves
        y = rng.integers(2, size=200)
        clf = tb.BoundTreeClassifier(pruning=None, certificate="held-out", delta=DELTA).fit(X, y)
        apart = clf.edit(X, y)._rows.calibration
        test = (apart.X.dense, clf.classes_[apart.y])
        editor = clf.edit(X, y, test=test)
        for leaf in editor.tree.leaves.tolist():
            step = editor.answer(leaf, int(1 - editor.tree.label[leaf]))
            if step.after.test_error >= step.before.test_error:
                editor.undo()
        done = editor.done()
        assert done.certificate_ is None
        assert "looked at" in done.certificate_reason_
        failed += tb.certify(done, *test, kind="held-out", delta=DELTA).risk < 0.5
    assert failed >= 0.99 * draws


@pytest.fixture
def fitted():
    def fit(**parameters):
        X, y = drawn(np.random.default_rng(1), 400)
        clf = tb.BoundTreeClassifier(pruning=None, max_leaves=6, **parameters).fit(X, y)
        return clf, X, y

    return fit


def test_tail_inversion_counts_the_edited_tree(fitted) -> None:
    clf, X, y = fitted()
    editor = clf.edit(X, y)
    editor.split("L", "x1 <= 0.7")
    editor.answer("LL", 1)
    done = editor.done()
    wrong = int((done.predict(X) != y).sum())
    assert done.certificate_.errors == wrong
    assert done.certificate_.risk == certify_tree(done.tree_, errors=wrong).risk
    assert editor.figures.certificate == done.certificate_.risk


def test_compression_survives_while_thresholds_are_training_values(fitted) -> None:
    clf, X, y = fitted(thresholds="observed")
    editor = clf.edit(X, y)
    editor.split("", "x0 <= 1")
    assert (editor.tree.names[~editor.tree.is_leaf] >= 0).all()
    editor.split("", "x0 <= 1.5")
    done = editor.done()
    assert done.tree_.names[0] == -1
    assert done.certificate_.method == "tail inversion"
    alone = certify_tree(replace(done.tree_, names=None), delta=0.05 / 2)
    assert done.certificate_.risk == alone.risk  # the share of delta stays


def test_compression_does_not_depend_on_the_order_of_the_rows(fitted) -> None:
    clf, X, y = fitted(thresholds="observed")
    limits = []
    for order in (slice(None), slice(None, None, -1)):
        editor = clf.edit(X[order], y[order])
        editor.split("", "x0 <= 3")
        limits.append(editor.done().certificate_.risk)
    assert limits[0] == limits[1]


def test_a_prior_certifies_an_edit_only_with_the_rows_in_order(fitted) -> None:
    clf, X, y = fitted(certificate="prior")
    editor = clf.edit(X, y)
    assert editor.figures.certificate == clf.certificate_.risk
    editor.split("", "x0 <= 1.25")
    assert editor.done().certificate_.kind == "prior"
    assert editor.done().certificate_.log_price > clf.certificate_.log_price
    other = clf.edit(X[::-1], y[::-1])
    other.split("", "x0 <= 1.25")
    assert other.done().certificate_ is None
    assert "another order" in other.done().certificate_reason_


def test_held_out_rows_count_once_and_only_unseen(fitted) -> None:
    clf, X, y = fitted(certificate="held-out", random_state=3)
    editor = clf.edit(X, y)
    assert editor.figures.certificate is None
    leaf = int(editor.tree.leaves[0])
    editor.answer(leaf, 1 - int(editor.tree.label[leaf]))
    done = editor.done()
    assert done.certificate_.kind == "held-out"
    rows = editor._rows.calibration
    wrong = (done.predict(rows.X.dense) != done.classes_[rows.y]).sum()
    assert (done.certificate_.errors, done.certificate_.m) == (wrong, rows.n_rows)
    assert "before the edits ended" in done.certificate_.explain()
    second = clf.edit(X, y)
    second.collapse("")
    assert second.done().certificate_ is None


def test_a_certificate_that_was_read_spends_the_held_out_rows(fitted) -> None:
    clf, X, y = fitted(certificate="held-out")
    assert clf.certificate_ is not None
    editor = clf.edit(X, y)
    editor.collapse("")
    assert editor.done().certificate_ is None
    assert "looked at" in editor.done().certificate_reason_


@pytest.mark.parametrize("way", ["file", "pickle", "another step"])
def test_held_out_rows_stay_spent_on_every_way(fitted, way) -> None:
    clf, X, y = fitted(certificate="held-out")
    if way == "another step":
        X, y = drawn(np.random.default_rng(1), 400)
        clf = tb.BoundTreeClassifier(certificate="held-out").fit(X, y)
        assert clf.prune_to(1).certificate_ is not None
        model = clf.model_
    elif way == "pickle":
        assert clf.certificate_ is not None
        model = pickle.loads(pickle.dumps(clf)).model_
    else:  # its file has the certificate
        model = loads(dumps(clf.model_))
    editor = Editor(model, X, y)
    editor.grow("", max_leaves=3)
    assert editor.done().certificate is None


def test_unseen_held_out_rows_stay_unseen_in_a_pickle(fitted) -> None:
    clf, X, y = fitted(certificate="held-out")
    editor = pickle.loads(pickle.dumps(clf)).edit(X, y)
    editor.collapse("")
    assert editor.done().certificate_ is not None


def test_folds_certify_no_edit(fitted) -> None:
    clf, X, y = fitted(certificate="folds")
    editor = clf.edit(X, y)
    editor.collapse("")
    assert editor.done().certificate_ is None
    assert "folds" in editor.done().certificate_reason_


@pytest.mark.parametrize("certify", ["held-out", "folds", "prior"])
def test_rows_are_drawn_again_without_a_seed(fitted, certify) -> None:
    clf, X, y = fitted(certificate=certify, random_state=None)
    assert clf.edit(X, y).tree is clf.tree_
    loaded = loads(dumps(clf.model_))
    assert loaded.draw == clf.model_.draw
    editor = Editor(loaded, X, y)
    assert (editor.figures.certificate is None) == (certify != "prior")
