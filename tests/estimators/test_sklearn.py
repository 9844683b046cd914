"""BoundTreeClassifier among scikit-learn's own tools."""

import copy
import os
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, VotingClassifier
from sklearn.inspection import PartialDependenceDisplay, permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from treebound import BoundTreeClassifier
from treebound.pruning import PRUNERS


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def fruit():
    """A frame with a column of each kind and a missing value in each."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "weight": rng.normal(size=90),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], 90), ["S", "M", "L"], ordered=True),
            "colour": rng.choice(["red", "green", "blue"], 90),
        }
    )
    y = np.where(X["colour"] == "green", "kiwi", np.where(X["weight"] > 0, "plum", "date"))
    X.loc[0, "weight"] = np.nan
    X.loc[1, "size"] = None
    X.loc[2, "colour"] = None
    return X, y


@parametrize_with_checks(
    [
        BoundTreeClassifier(),
        BoundTreeClassifier(criterion="gini", handle_unknown="stop"),
        BoundTreeClassifier(pruning=None, thresholds="observed"),
        BoundTreeClassifier(size="small"),
        BoundTreeClassifier(class_weight="balanced"),
        *(BoundTreeClassifier(pruning=name) for name in sorted(PRUNERS)),
    ]
)
def test_every_check_of_scikit_learn(estimator, check):
    if check.func.__name__ == "check_class_weight_classifiers":
        # the check itself sets min_weight_fraction_leaf of trees that have it
        estimator = clone(estimator).set_params(min_samples_leaf=10)
    check(estimator)


@pytest.mark.parametrize("parameters", [{}, {"class_weight": "balanced"}, {"size": "small"}])
def test_weights_are_repeats_where_the_weight_is_chosen_by_folds(parameters):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    y = (rng.random(1500) < 1 / (1 + np.exp(1.5 - 2 * X[:, 0] - X[:, 1]))).astype(int)
    times = rng.integers(0, 4, 1500)
    weighted = BoundTreeClassifier(**parameters).fit(X, y, sample_weight=times)
    repeated = BoundTreeClassifier(**parameters).fit(X.repeat(times, axis=0), y.repeat(times))
    assert weighted.pruning_result_.choice == repeated.pruning_result_.choice
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X))


def test_a_pipeline_may_set_the_output_of_its_steps(wine):
    X, y = wine
    pipe = make_pipeline(StandardScaler(), BoundTreeClassifier()).set_output(transform="pandas")
    assert pipe.fit(X, y)[-1].feature_names_in_.tolist() == X.columns.tolist()
    assert isinstance(pipe.predict_proba(X), np.ndarray)


def test_tags_describe_the_input():
    tags = get_tags(BoundTreeClassifier())
    assert is_classifier(BoundTreeClassifier())
    assert tags.input_tags.allow_nan
    assert tags.input_tags.categorical
    assert tags.input_tags.string
    assert not tags.input_tags.sparse
    assert tags.target_tags.required


@pytest.mark.parametrize(
    "duplicate",
    [
        lambda clf: pickle.loads(pickle.dumps(clf)),
        copy.deepcopy,
        copy.copy,
        pytest.param("joblib", id="joblib"),
    ],
)
@pytest.mark.parametrize("pruning", ["bound", None])
def test_copies_predict_alike(duplicate, pruning, fruit, tmp_path):
    X, y = fruit
    clf = BoundTreeClassifier(pruning=pruning, handle_unknown="stop").fit(X, y)
    if duplicate == "joblib":
        joblib.dump(clf, tmp_path / "clf.joblib")
        other = joblib.load(tmp_path / "clf.joblib")
    else:
        other = duplicate(clf)
    np.testing.assert_array_equal(other.predict_proba(X), clf.predict_proba(X))
    assert other.columns_ == clf.columns_
    assert other.tree_.shape is clf.tree_.shape
    if pruning:
        assert other.prune_to(leaves=2).n_leaves_ == 2


def test_clone_has_the_parameters_and_nothing_learned(fruit):
    clf = BoundTreeClassifier(max_leaves=7, ordinal_features={"size": ["S", "M", "L"]}).fit(*fruit)
    other = clone(clf)
    assert other.get_params() == clf.get_params()
    assert not hasattr(other, "tree_")


def test_pipeline_and_cross_validation(wine):
    X, y = wine
    pipe = make_pipeline(StandardScaler().set_output(transform="pandas"), BoundTreeClassifier())
    assert cross_val_score(pipe, X, y, cv=5).mean() > 0.85
    fitted = pipe.fit(X, y)
    assert fitted[-1].feature_names_in_.tolist() == list(X.columns)


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_cross_validation_with_classes_that_some_folds_lack():
    X, y = load_iris(return_X_y=True)
    y = np.where(np.arange(150) < 2, 9, y)
    proba = cross_val_predict(BoundTreeClassifier(), X, y, cv=3, method="predict_proba")
    assert proba.shape == (150, 4)


def test_grid_search_over_parameters_and_over_those_of_a_pruner(wine):
    from treebound.pruning import BoundPruner

    X, y = wine
    search = GridSearchCV(
        BoundTreeClassifier(pruning=BoundPruner()),
        {"criterion": ["gini", "entropy"], "pruning__weight": [0.3, 0.9]},
        cv=3,
        error_score="raise",
    ).fit(X, y)
    assert set(search.best_params_) == {"criterion", "pruning__weight"}
    assert search.best_estimator_.score(X, y) > 0.9


@pytest.mark.parametrize(
    "meta",
    [
        lambda clf: CalibratedClassifierCV(clf, cv=3),
        lambda clf: VotingClassifier([("a", clf), ("b", clone(clf))], voting="soft"),
        lambda clf: BaggingClassifier(clf, n_estimators=5, random_state=0),
        lambda clf: AdaBoostClassifier(
            clone(clf).set_params(max_leaves=3, pruning=None), n_estimators=5, random_state=0
        ),
        lambda clf: OneVsRestClassifier(clf),
    ],
    ids=["calibrated", "voting", "bagging", "adaboost", "one-vs-rest"],
)
def test_meta_estimators(meta, wine):
    X, y = wine
    assert meta(BoundTreeClassifier()).fit(X, y).score(X, y) > 0.9


def test_metas_that_pass_frames_on_take_mixed_frames(fruit):
    X, y = fruit
    voting = VotingClassifier([("a", BoundTreeClassifier()), ("b", BoundTreeClassifier())])
    assert voting.fit(X, y).score(X, y) > 0.9
    assert cross_val_score(BoundTreeClassifier(), X, y, cv=3).mean() > 0.8


@pytest.mark.filterwarnings("ignore:Attempting to set identical")
def test_inspection(fruit, wine):
    X, y = fruit
    clf = BoundTreeClassifier().fit(X, y)
    importances = permutation_importance(clf, X, y, n_repeats=3, random_state=0).importances_mean
    assert importances[1] < importances[0]
    assert importances[1] < importances[2]
    pytest.importorskip("matplotlib").use("Agg")
    X, y = wine
    clf = BoundTreeClassifier().fit(X, y)
    PartialDependenceDisplay.from_estimator(clf, X, ["alcohol"], target=0)


def test_sample_weight_can_be_routed(wine):
    X, y = wine
    weight = np.where(y == 0, 0, 1)
    with sklearn.config_context(enable_metadata_routing=True):
        clf = BoundTreeClassifier().set_fit_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), clf)
        pipe.fit(X, y, sample_weight=weight)
        assert pipe.classes_.tolist() == [1, 2]
        clf = BoundTreeClassifier().set_fit_request(sample_weight=True)
        clf.set_score_request(sample_weight=True)
        scores = cross_val_score(clf, X, y, params={"sample_weight": weight}, cv=3)
    assert scores.min() > 0.5


def test_html_representation(wine):
    unfitted = BoundTreeClassifier(max_leaves=5)
    assert "max_leaves" in unfitted._repr_html_()
    assert "BoundTreeClassifier" in unfitted.fit(*wine)._repr_html_()
    assert repr(BoundTreeClassifier(max_leaves=5)) == "BoundTreeClassifier(max_leaves=5)"


def test_array_api_dispatch_changes_nothing():
    # SciPy reads this setting once, when it is loaded.
    code = (
        "from sklearn.utils.estimator_checks import check_estimator\n"
        "from treebound import BoundTreeClassifier\n"
        "importances = check_estimator(BoundTreeClassifier(), on_fail='raise', on_skip=None)\n"
        "print({r['status'] for r in importances if 'array_api' in r['check_name']})"
    )
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    command = [sys.executable, "-W", "ignore", "-c", code]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    # Older versions of scikit-learn have no such check.
    assert run.stdout.strip() in ("{'passed'}", "set()")
