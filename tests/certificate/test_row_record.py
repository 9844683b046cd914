"""Rows that took part in fitting are recognised, and never called held-out rows."""

import numpy as np
import pandas as pd
import pytest

import treebound as tb
from treebound.certificate.row_record import RowRecord
from treebound.pruning import ReducedErrorPruner


def table(rows, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=rows), "s": rng.choice(list("uvw"), rows)})
    X["b"] = rng.normal(size=rows).round(2)
    y = np.where((X["a"] > 0.3) ^ (rng.random(rows) < 0.2), "yes", "no")
    return X, y


@pytest.fixture(scope="module")
def fitted():
    X, y = table(900)
    return tb.BoundTreeClassifier().fit(X[:600], y[:600]), X, y


def test_unknown_rows_are_held_out_rows_and_known_ones_training_rows(fitted):
    clf, X, y = fitted
    fresh = tb.certify(clf, X[600:], y[600:])
    assert (fresh.kind, fresh.m) == ("held-out", 300)
    assert fresh.errors == (clf.predict(X[600:]) != y[600:]).sum()
    assert "these rows took no part in fitting (checked)" in fresh.explain()
    for rows in (slice(0, 600), slice(0, 500), slice(100, 160)):
        known = tb.certify(clf, X[rows], y[rows])
        assert known == clf.certificate_


def test_some_of_both_are_refused_unless_it_is_said_what_they_are(fitted):
    clf, X, y = fitted
    with pytest.raises(
        ValueError, match=r"100 of the 400 rows .* rows that the tree was fitted on"
    ):
        tb.certify(clf, X[500:], y[500:])
    forced = tb.certify(clf, X[500:], y[500:], kind="held-out")
    assert "but 100 of 400 equal rows that the tree was fitted on (stated)" in forced.explain()


def test_the_order_of_columns_their_library_and_other_columns_do_not_matter(fitted):
    polars = pytest.importorskip("polars")
    clf, X, y = fitted
    for rows in (X[["s", "b", "a"]], X.assign(more=1), polars.from_pandas(X)):
        assert tb.certify(clf.model_, rows[:600], y[:600]).kind == "training"
        assert tb.certify(clf.model_, rows[600:], y[600:]).errors == (
            tb.certify(clf, X[600:], y[600:]).errors
        )


def test_without_all_columns_the_condition_is_stated(fitted):
    clf, X, y = fitted
    asked = [c.name for at, c in enumerate(clf.columns_) if at in clf.tree_.feature]
    assert asked == ["a"]
    found = tb.certify(clf.model_, X[["a"]][:600], y[:600])
    assert found.kind == "held-out"
    words = "not checked: columns of the training table are absent) (stated)"
    assert words in found.explain()


def test_few_rows_are_not_checked(fitted):
    clf, X, y = fitted
    assert "only 5 of 5 rows can be compared) (stated)" in tb.certify(clf, X[:5], y[:5]).explain()


@pytest.mark.parametrize("rows", ["held out by fit", "validation of prune", "of a fraction"])
def test_rows_that_fit_or_prune_used_otherwise_are_known_too(rows):
    X, y = table(1200)
    if rows == "held out by fit":
        clf = tb.BoundTreeClassifier(certificate="held-out").fit(X[:900], y[:900])
    elif rows == "of a fraction":
        pruner = ReducedErrorPruner(validation_fraction=0.3)
        clf = tb.BoundTreeClassifier(pruning=pruner).fit(X[:900], y[:900])
    else:
        grown = tb.BoundTreeClassifier(pruning=None).fit(X[:500], y[:500])
        clf = tb.prune(grown, pruner="reduced-error", validation=(X[500:900], y[500:900]))
        with pytest.raises(ValueError, match="and validation rows of prune, the others are not"):
            tb.certify(clf, X[400:], y[400:])
    assert clf.model_.certify(X[:900], y[:900]).m <= 900
    for some in (slice(0, 900), slice(500, 900)):
        assert tb.certify(clf, X[some], y[some]) == clf.certificate_
    assert tb.certify(clf, X[900:], y[900:]).kind == "held-out"


def test_rows_that_are_equal_by_chance_are_not_known_ones():
    rng = np.random.default_rng(0)
    for seed in range(200):  # about half of the rows occur several times
        X, y = rng.integers(0, 9, (400, 3)).astype(float), rng.integers(0, 2, 400)
        clf = tb.BoundTreeClassifier(max_leaves=2).fit(X[:300], y[:300])
        seen = clf.model_.rows.recognise(clf.model_.hashes(X[300:], y[300:]))
        assert not seen.significant, seed
        assert 0 < seen.matches < 60


def test_rows_of_few_kinds_cannot_be_checked_but_the_same_table_is_known():
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 2, (400, 2)).astype(float), rng.integers(0, 2, 400)
    clf = tb.BoundTreeClassifier().fit(X[:300], y[:300])
    assert tb.certify(clf, X[:300], y[:300]).kind == "training"
    words = tb.certify(clf, X[300:], y[300:]).explain()
    assert "not checked: most rows of fit occur several times" in words


def test_a_model_without_a_record_has_no_default():
    X, y = table(300)
    clf = tb.BoundTreeClassifier().fit(X, y)
    for other in (clf.tree_, tb.Model(clf.tree_)):
        with pytest.raises(ValueError, match="no record of the rows"):
            tb.certify(other, X, y)
        assert tb.certify(other, X, y, kind="held-out").kind == "held-out"
    assert not RowRecord().recognise(np.zeros(3, dtype=np.uint64)).checked


def test_any_classifier_is_certified_by_held_out_rows():
    from sklearn.dummy import DummyClassifier

    X, y = table(300)
    always = DummyClassifier().fit(X, y)
    found = tb.certify(always, X, y, kind="held-out", delta=0.1)
    assert (found.errors, found.delta) == (int((always.predict(X) != y).sum()), 0.1)
    with pytest.raises(ValueError, match="'held-out' for a classifier that is no tree"):
        tb.certify(always, X, y)
