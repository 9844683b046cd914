"""State is what ``fit`` learned: no failure and no parameter set later changes it."""

import pickle
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from support import CODE_LENGTH

import treebound as tb
from treebound import BoundTreeClassifier
from treebound._utils import versions
from treebound.pruning import PRUNERS, PaperPruner, PessimisticPruner


@pytest.fixture
def wine():
    return load_wine(return_X_y=True, as_frame=True)


class Interrupted(PessimisticPruner):
    """A pruner that is stopped."""

    error: type[BaseException] = KeyboardInterrupt

    def prune(self, tree, sample=None, *, validation=None, grow=None):
        raise self.error


class Broken(Interrupted):
    error = MemoryError


def state_of(clf):
    """All that a classifier holds, by identity where it is an object."""
    return {
        name: value if isinstance(value, str) else id(value) for name, value in vars(clf).items()
    }


# -- a failed fit ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pruning", "error"), [(Interrupted(), KeyboardInterrupt), (Broken(), MemoryError)]
)
def test_a_fit_that_is_stopped_leaves_the_estimator_as_it_was(pruning, error, wine):
    X, y = wine
    clf = BoundTreeClassifier().fit(X, y)
    predicted, words = clf.predict_proba(X), str(clf.certificate_)
    clf.set_params(pruning=pruning)
    before = state_of(clf)
    with pytest.raises(error):
        clf.fit(X.iloc[:50, :3].rename(columns=str.upper), y[:50].to_numpy() + 5)
    assert state_of(clf) == before
    np.testing.assert_array_equal(clf.predict_proba(X), predicted)
    assert str(clf.certificate_) == words


@pytest.mark.parametrize(
    ("parameters", "change"),
    [
        ({"max_leaves": 0}, lambda X, y: (X, y)),
        ({"pruning": "scissors"}, lambda X, y: (X, y)),
        ({"categorical_features": ["nose"]}, lambda X, y: (X.iloc[:, :2], y)),
        ({}, lambda X, y: (X.iloc[:, :2], y[:-1])),
        ({}, lambda X, y: (X.iloc[:, :2].assign(d=pd.Timestamp("2020-01-01")), y)),
        ({}, lambda X, y: (X.iloc[:, :2], y + 0.5)),
        ({"class_weight": {9: 1.0}}, lambda X, y: (X.to_numpy()[:, :2], y)),
    ],
)
def test_a_fit_that_is_refused_leaves_the_estimator_as_it_was(parameters, change, wine):
    X, y = wine
    clf = BoundTreeClassifier().fit(X, y)
    clf.set_params(**parameters)
    before = state_of(clf)
    with pytest.raises(ValueError, match=r"\w"):
        clf.fit(*change(X, y))
    assert state_of(clf) == before
    assert clf.n_features_in_ == 13
    assert clf.feature_names_in_.tolist() == list(X.columns)
    assert clf.predict(X).shape == y.shape


def test_a_first_fit_that_fails_leaves_nothing_fitted(wine):
    X, y = wine
    clf = BoundTreeClassifier(pruning=Interrupted())
    before = state_of(clf)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert state_of(clf) == before
    assert not hasattr(clf, "n_features_in_")


# -- parameters set later ----------------------------------------------------------------------

FITTED = (
    "classes_", "n_features_in_", "columns_", "landscape_", "n_leaves_", "depth_",
    "feature_importances_", "certificate_", "certificate_reason_", "pruning_path_",
    "grow_options_", "target_name_",
)  # fmt: skip


@pytest.mark.parametrize(
    "parameters",
    [
        {"criterion": "gini"},
        {"criterion": "misclassification", "max_leaves": 2},
        {"max_leaves": 3, "handle_unknown": "majority"},
        {"pruning": None, "class_weight": "balanced", "smoothing": None},
        {"thresholds": "observed", "max_depth": 1},
    ],
)
def test_fitted_attributes_do_not_change_with_parameters(parameters):
    X = pd.DataFrame({"s": ["a", "b", "c"] * 40, "x": np.arange(120.0)})
    y = np.where((X["s"] == "a") | (X["x"] > 90), "yes", "no")
    untouched, clf = BoundTreeClassifier().fit(X, y), BoundTreeClassifier().fit(X, y)
    clf.set_params(**parameters)  # before any attribute was read
    for name in FITTED:
        one, other = getattr(untouched, name), getattr(clf, name)
        if name == "pruning_path_":
            one, other = one.table(), other.table()
        np.testing.assert_equal(other, one)
    assert clf.certificate_.explain() == untouched.certificate_.explain()
    small, expected = clf.prune_to(2), untouched.prune_to(2)
    assert small.certificate_.explain() == expected.certificate_.explain()


# -- two equal fits ----------------------------------------------------------------------------


@pytest.mark.parametrize("pruning", [*sorted(PRUNERS), None, PaperPruner(**CODE_LENGTH)])
@pytest.mark.parametrize("options", [{}, {"thresholds": "observed"}, {"certificate": "held-out"}])
def test_two_equal_fits_are_stored_alike(pruning, options):
    X, y = load_iris(return_X_y=True)
    y = np.where(np.arange(150) % 9 == 0, (y + 1) % 3, y)
    clf = BoundTreeClassifier(pruning=pruning, **options)
    one, other = (pickle.dumps(clone(clf).fit(X, y)) for _ in range(2))
    assert one == other


def test_reading_attributes_does_not_change_the_stored_state():
    X, y = load_digits(return_X_y=True)
    clf = BoundTreeClassifier().fit(X, y)
    fresh = pickle.dumps(clf)
    used = pickle.loads(fresh)
    used.predict(X), used.certificate_, used.prune_to(4), used.pruning_path_.table()
    assert used.tree_.shape.leaves == used.n_leaves_
    again = pickle.loads(pickle.dumps(used))
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert str(again.certificate_) == str(clf.certificate_)


def test_a_copy_can_be_fitted_without_touching_the_first(wine):
    X, y = wine
    clf = BoundTreeClassifier().fit(X, y)
    before = clf.predict_proba(X)
    for other in (deepcopy(clf), clf.prune_to(2), tb.prune(clf, X, y)):
        other.fit(X.iloc[::2], y.iloc[::2])
        np.testing.assert_array_equal(clf.predict_proba(X), before)


@pytest.mark.parametrize("attribute", ["model_", "tree_"])
def test_a_pickle_of_another_version_is_refused_with_both_versions(attribute, wine, monkeypatch):
    clf, version = BoundTreeClassifier().fit(*wine), tb.__version__
    for value in (clf, getattr(clf, attribute)):
        raw = pickle.dumps(value)
        assert pickle.loads(raw) is not None
        with monkeypatch.context() as patched:
            patched.setattr(versions, "__version__", "99.1")
            message = rf"written by treebound {version} and cannot be read by .* 99\.1; "
            with pytest.raises(pickle.UnpicklingError, match=message):
                pickle.loads(raw)
