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
from support import at_delta

import treebound as tb
from treebound.bounds.risk import binomial_upper
from treebound.certificate.training import certify_tree
from treebound.edit import Editor
from treebound.edit.figures import Figures
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
                editor.relabel(node, int(rng.integers(2)))
        except ValueError:  # nothing grows here, or no rows are divided
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
                steps.append(lambda node=node, other=other: editor.relabel(node, other))
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


def failures(
    draws: int, edit, rows: int = 60, unseen: bool = False, ordered: bool = False, **parameters
) -> int:
    """In how many draws the bound of the edited tree is below its risk; rows may be sorted."""
    wrong = 0
    clf = tb.BoundTreeClassifier(pruning=None, max_leaves=4, **parameters)
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        X, y = drawn(rng, rows)
        if len(set(y)) < 2:
            continue
        if ordered:
            X, y = X[np.argsort(y, kind="stable")], np.sort(y)
        editor = Editor(at_delta(clf.fit(X, y), DELTA), X, y, finish=clf._with_model)
        edit(editor, rng)
        done = editor.done(calibration_unseen=unseen)
        wrong += done.certificate_.risk < risk(done)
    return wrong


KINDS = {
    "tail inversion": {},
    "compression": {"thresholds": "observed"},
    "prior": {"certificate": "prior"},
    "prior, sorted rows": {"certificate": "prior", "ordered": True},
    "held-out": {"certificate": "held-out"},  # by its training rows
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
def test_calibration_rows_of_which_no_figure_was_seen_certify_the_edited_tree(
    draws, ordered
) -> None:
    wrong = failures(
        draws, random_edits, rows=100, unseen=True, ordered=ordered, certificate="held-out"
    )
    # the binomial bound is nearly exact: it fails often, but not too often
    assert binom.ppf(0.001, draws, DELTA / 4) <= wrong <= binom.ppf(0.999, draws, DELTA)


@pytest.mark.parametrize("draws", [20, pytest.param(500, marks=pytest.mark.heavy)])
@pytest.mark.filterwarnings("ignore:The certificate of the edited tree")
def test_flipping_labels_by_the_test_error_would_fail_and_is_refused(draws) -> None:
    failed = 0
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        X, _ = drawn(rng, 200)
        X = X + rng.random(X.shape)  # many leaves
        y = rng.integers(2, size=200)
        clf = tb.BoundTreeClassifier(pruning=None, certificate="held-out").fit(X, y)
        clf = at_delta(clf, DELTA)
        calibration = clf.edit(X, y)._rows.calibration
        test = (calibration.X.dense, clf.classes_[calibration.y])
        editor = clf.edit(X, y, test=test)
        for leaf in editor.tree.leaves.tolist():
            step = editor.relabel(leaf, int(1 - editor.tree.label[leaf]))
            if step.after.test_error >= step.before.test_error:
                editor.undo()
        with pytest.raises(ValueError, match="test rows of the editor are calibration rows"):
            editor.done(calibration_unseen=True)
        done = editor.done()
        assert done.certificate_.kind == "training"
        errors = int((done.predict(test[0]) != test[1]).sum())
        failed += binomial_upper(len(test[1]), errors, DELTA) < 0.5
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
    editor.relabel("LL", 1)
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
    assert editor.figures.certificate == pytest.approx(clf.certificate_.risk, rel=1e-12)
    editor.split("", "x0 <= 1.25")
    assert editor.done().certificate_.kind == "prior"
    assert editor.done().certificate_.log_price > clf.certificate_.log_price
    other = clf.edit(X[::-1], y[::-1])
    other.split("", "x0 <= 1.25")
    assert other.done().certificate_ is None
    assert "another order" in other.done().certificate_reason_


@pytest.mark.parametrize("way", ["fitted", "file", "pickle", "certificate read"])
def test_the_training_rows_certify_an_edit_unless_the_user_states_more(fitted, way) -> None:
    clf, X, y = fitted(certificate="held-out", random_state=3)
    model = clf.model_
    if way == "certificate read":
        assert clf.certificate_.kind == "held-out"
    elif way == "pickle":
        model = pickle.loads(pickle.dumps(clf)).model_
    elif way == "file":
        model = loads(dumps(model))
    editor = Editor(model, X, y)
    assert editor.notice.startswith("The certificate of the edited tree is computed from the train")
    before = editor.figures.certificate
    assert before == certify_tree(model.tree, delta=model.evidence.delta).risk
    leaf = int(editor.tree.leaves[0])
    editor.relabel(leaf, 1 - int(editor.tree.label[leaf]))
    done = editor.done()
    assert (done.certificate.kind, done.evidence.calibration) == ("training", None)
    assert done.certificate.risk == certify_tree(done.tree, delta=model.evidence.delta).risk
    stated = editor.done(calibration_unseen=True)
    rows = editor._rows.calibration
    wrong = (stated.predict(rows.X.dense) != stated.classes[rows.y]).sum()
    certificate = stated.certificate
    assert (certificate.kind, certificate.errors, certificate.m) == ("held-out", wrong, rows.n_rows)
    assert certificate.risk == binomial_upper(rows.n_rows, int(wrong), model.evidence.delta)
    assert (
        "no figure of the calibration rows was seen before the edits ended" in certificate.explain()
    )
    assert [by_class.m for by_class in certificate.by_class] == np.bincount(rows.y).tolist()
    assert "By class" in certificate.explain()
    assert editor.done().certificate.kind == "training"  # nothing is remembered


def test_edit_states_on_what_the_certificate_will_rest(fitted) -> None:
    clf, X, y = fitted(certificate="held-out")
    with pytest.warns(UserWarning, match=r"Hint: done\(calibration_unseen=True\) states"):
        clf.edit(X, y)
    clf, X, y = fitted()
    assert clf.edit(X, y).notice == ""  # and no warning
    with pytest.raises(ValueError, match="There are no calibration rows"):
        clf.edit(X, y).check_calibration()


def test_an_edit_after_folds_has_no_certificate_and_states_how_to_get_one(fitted) -> None:
    clf, X, y = fitted(certificate="folds")
    with pytest.warns(UserWarning, match="The edited tree has no certificate. The fold was chosen"):
        editor = clf.edit(X, y)
    editor.collapse("")
    with pytest.raises(ValueError, match="A certificate by folds holds for the trees"):
        editor.done(calibration_unseen=True)
    done = editor.done()
    assert done.certificate_ is None
    assert "The fold was chosen by its errors" in done.certificate_reason_
    certificate = tb.certify(done, X, y, kind="training")
    assert (certificate.m, certificate.errors) == (len(y), int((done.predict(X) != y).sum()))


def test_the_training_certificate_of_a_fold_has_its_share_of_delta(fitted) -> None:
    clf, *_ = fitted(certificate="folds")
    certificate = tb.certify(clf, kind="training")
    shared = certify_tree(clf.tree_, delta=0.05 / clf.model_.evidence.calibration.folds)
    assert (certificate.risk, certificate.delta) == (shared.risk, 0.05)


@pytest.mark.parametrize("certify", ["held-out", "folds", "prior"])
def test_rows_are_drawn_again_without_a_seed(fitted, certify) -> None:
    clf, X, y = fitted(certificate=certify, random_state=None)
    assert clf.edit(X, y).tree is clf.tree_
    loaded = loads(dumps(clf.model_))
    assert loaded.provenance.draw == clf.model_.provenance.draw
    editor = Editor(loaded, X, y)
    assert (editor.figures.certificate is None) == (certify == "folds")


def test_a_certificate_is_rounded_up_in_words() -> None:
    before = Figures(3, 0.1, None, None, None, 0.20001)
    now = Figures(2, 0.1, None, None, None, 0.3)
    assert now.lines(before)[-1] == ("certificate", "20.1 %", "30.0 %")
