"""BoundTreeRegressor: scikit-learn's contract, parameters, messages."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import treebound as tb
from treebound.model.number_estimate import NumberEstimate
from treebound.pruning import SquaredErrorPruner
from treebound.pruning.number_pruner import Validated

REGRESSOR = tb.BoundTreeRegressor


@parametrize_with_checks([REGRESSOR(), REGRESSOR(min_samples_leaf=1, pruning=None)])
def test_scikit_learns_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        check(estimator)


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def fitted(diabetes):
    return REGRESSOR().fit(*diabetes)


def friedman(n=600, seed=0, noise=1.0):
    return make_friedman1(n, noise=noise, random_state=seed)


# -- prediction -------------------------------------------------------------------------------


def test_predictions_are_the_values_of_leaves(fitted, diabetes):
    X, y = diabetes
    leaves = fitted.apply(X)
    np.testing.assert_array_equal(fitted.predict(X), fitted.tree_.value[leaves])
    assert fitted.tree_.is_leaf[leaves].all()
    residual = y - fitted.predict(X)
    expected = 1 - (residual**2).sum() / ((y - y.mean()) ** 2).sum()
    assert fitted.score(X, y) == pytest.approx(expected)
    assert fitted.decision_path(X).shape == (len(X), fitted.tree_.n_nodes)


def test_an_unpruned_tree_without_shrinkage_is_scikit_learns():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 1000, (300, 4)) / 8.0
    y = (X[:, 0] + 10 * (X[:, 1] > 50) + rng.normal(size=300)).round(2)
    ours = REGRESSOR(pruning=None, smoothing=None, min_samples_leaf=4, thresholds="midpoint").fit(
        X, y
    )
    theirs = DecisionTreeRegressor(min_samples_leaf=4, random_state=0).fit(X, y)
    assert ours.n_leaves_ == theirs.get_n_leaves()
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)
    # few splits, so that none is tied
    ours, theirs = ours.set_params(max_depth=3), theirs.set_params(max_depth=3)
    np.testing.assert_allclose(
        ours.fit(X, y).feature_importances_, theirs.fit(X, y).feature_importances_, atol=1e-9
    )


def test_it_beats_the_mean_on_new_rows():
    X, y = friedman(1500)
    regressor = REGRESSOR().fit(X[:1000], y[:1000])
    score = regressor.score(X[1000:], y[1000:])
    assert score > 0.6
    # what folds estimate is what new rows show
    assert regressor.estimate_.r2.value == pytest.approx(score, abs=0.08)


def test_names_and_target_name(fitted, diabetes):
    X, _ = diabetes
    assert fitted.feature_names_in_.tolist() == X.columns.tolist()
    assert fitted.target_name_ == "target"
    np.testing.assert_array_equal(fitted.predict(X[X.columns[::-1]][X.columns]), fitted.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(X.rename(columns={"bmi": "mass"}))


def test_missing_values_and_categories():
    rng = np.random.default_rng(0)
    n = 400
    colour = rng.choice(["red", "green", "blue"], n)
    height = rng.normal(size=n)
    y = 3.0 * (colour == "red") + (height > 0) + 0.1 * rng.normal(size=n)
    y[::7] += 5.0
    height[::7] = np.nan
    X = pd.DataFrame({"colour": pd.Categorical(colour), "height": height})
    regressor = REGRESSOR().fit(X, y)
    assert regressor.score(X, y) > 0.9
    assert "height is missing" in regressor.to_text() or "missing" in regressor.to_text()
    ordinal = REGRESSOR(ordinal_features={"colour": ["blue", "green", "red"]}).fit(X, y)
    assert ordinal.columns_[0].kind == "ordinal"
    unknown = REGRESSOR(handle_unknown="error").fit(X, y)
    with pytest.raises(ValueError, match="violet"):
        unknown.predict(pd.DataFrame({"colour": ["violet"], "height": [0.0]}))


def test_monotone_predictions_and_forced_splits():
    X, y = friedman(500)
    regressor = REGRESSOR(monotonic_cst=[0, 0, 0, 1] + [0] * 6, forced_splits=["x4 <= 0.5"]).fit(
        X, y
    )
    assert regressor.tree_.feature[0] == 4
    rows = np.repeat(X[:20], 50, axis=0)
    rows[:, 3] = np.tile(np.linspace(0, 1, 50), 20)
    assert (np.diff(regressor.predict(rows).reshape(20, 50), axis=1) >= 0).all()


# -- weights, groups, order -------------------------------------------------------------------


def test_whole_weights_are_repeated_rows():
    X, y = friedman(200)
    weight = np.random.default_rng(1).integers(0, 4, 200)
    one = REGRESSOR().fit(X, y, sample_weight=weight)
    two = REGRESSOR().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(one.predict(X), two.predict(X), rtol=1e-12)
    assert one.estimate_.rmse.value == pytest.approx(two.estimate_.rmse.value)


def test_standard_errors_of_repeated_rows_and_of_groups():
    X, y = friedman(400)
    weight = np.random.default_rng(1).integers(1, 4, 400)
    options = {"min_samples_leaf": 1, "pruning": SquaredErrorPruner(weight=0.6)}
    one = REGRESSOR(**options).fit(X, y, sample_weight=weight).estimate_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        two = REGRESSOR(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).estimate_
    assert one.rmse.standard_error == pytest.approx(two.rmse.standard_error, rel=1e-6)
    assert one.r2.standard_error == pytest.approx(two.r2.standard_error, rel=1e-6)
    # rows of a group share their noise, so that there are fewer independent ones
    groups = np.repeat(np.arange(100), 8)
    X, y = friedman(800)
    y = y + 3.0 * np.random.default_rng(2).normal(size=100)[groups]
    plain = REGRESSOR().fit(X, y).estimate_.rmse.standard_error
    together = REGRESSOR().fit(X, y, groups=groups).estimate_.rmse.standard_error
    assert together > 1.3 * plain


def test_only_ratios_of_other_weights_matter():
    X, y = friedman(200)
    weight = np.random.default_rng(1).random(200) + 0.1
    one, two = (REGRESSOR().fit(X, y, sample_weight=weight * c) for c in (1.0, 64.0))
    np.testing.assert_allclose(one.predict(X), two.predict(X), rtol=1e-9)


def test_groups_change_the_folds_only():
    X, y = friedman(300)
    groups = np.repeat(np.arange(30), 10)
    regressor = REGRESSOR(pruning=None).fit(X, y, groups=groups)
    np.testing.assert_array_equal(
        regressor.predict(X), REGRESSOR(pruning=None).fit(X, y).predict(X)
    )
    # copies of rows in other folds make trees look better than they are
    doubled, numbers = np.repeat(X, 2, axis=0), np.repeat(y, 2) + np.tile([0, 1e-9], 300)
    doubled[1::2, 5] += 1e-9
    split = REGRESSOR(min_samples_leaf=1).fit(doubled, numbers).estimate_.rmse.value
    together = REGRESSOR(min_samples_leaf=1).fit(
        doubled, numbers, groups=np.repeat(np.arange(300), 2)
    )
    assert together.estimate_.rmse.value > 1.2 * split


def test_order_of_rows_changes_nothing():
    X, y = friedman(300)
    order = np.random.default_rng(0).permutation(300)
    one, two = REGRESSOR().fit(X, y), REGRESSOR().fit(X[order], y[order])
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


# -- sizes ------------------------------------------------------------------------------------


def test_sizes_and_limits(fitted, diabetes):
    X, y = diabetes
    small = REGRESSOR(size="small").fit(X, y)
    accurate = REGRESSOR(size="accurate").fit(X, y)
    assert small.n_leaves_ <= fitted.n_leaves_ <= accurate.n_leaves_
    assert REGRESSOR(max_leaves=4).fit(X, y).n_leaves_ <= 4
    for leaves in (1, 2, 3, 5, 9):
        assert fitted.prune_to(leaves).n_leaves_ == leaves
    assert fitted.prune_to(step=0).n_leaves_ == fitted.grown_tree_.n_leaves
    with pytest.raises(ValueError, match="one of 'leaves' and 'step'"):
        fitted.prune_to()
    sizes = {size.leaves: size for size in fitted.sizes_}
    assert sizes[fitted.n_leaves_].rmse == pytest.approx(fitted.estimate_.rmse.value)
    assert sizes[fitted.n_leaves_].difference == 0.0
    assert sizes[2].rmse > sizes[fitted.n_leaves_].rmse
    assert fitted.prune_to(2).model_.size_estimate == sizes[2]
    assert fitted.prune_to(2).estimate_ is None


def test_folds_may_be_given_or_none(diabetes, fitted):
    X, y = diabetes
    plain = REGRESSOR(cv=None).fit(X, y)
    assert plain.estimate_ is None
    choice = plain.pruning_result_.choice
    assert (choice.weight, choice.min_samples_leaf, str(choice.shrinkage)) == (0.6, 5, "F 4")
    with pytest.raises(ValueError, match="no residuals"):
        plain.predict_interval(X)
    split = REGRESSOR(cv=KFold(3)).fit(X, y)
    assert split.estimate_.rows == len(X)
    assert split.estimate_.rmse != fitted.estimate_.rmse


def test_readable_trees_have_at_most_twelve_leaves():
    X, y = friedman(2000)
    assert REGRESSOR().fit(X, y).n_leaves_ > 12
    readable = REGRESSOR(size="readable").fit(X, y)
    assert readable.n_leaves_ == 12
    assert readable.estimate_.rmse.value < readable.estimate_.baseline_rmse


def test_the_size_of_a_large_table_is_validated_on_a_tenth(monkeypatch):
    monkeypatch.setattr("treebound.estimators.number_fitting.is_large", lambda *_: True)
    X, y = friedman(1500)
    regressor = REGRESSOR().fit(X, y)
    assert regressor.estimate_.by == "validated"
    assert regressor.estimate_.rows + regressor.tree_.rows[0] == 1500
    assert 100 < regressor.estimate_.rows < 200
    assert regressor.pruning_result_.choice.min_samples_leaf == 5
    certified = REGRESSOR(certificate="held-out").fit(X, y)
    rows = certified.certificate_.m + certified.estimate_.rows + certified.tree_.rows[0]
    assert rows == 1500
    draw = certified.model_.provenance.draw
    assert draw.calibration is not None
    assert draw.validation is not None


def test_a_constant_is_one_leaf():
    X = np.arange(50.0)[:, None]
    with pytest.warns(UserWarning, match="is 3.5 in every row"):
        regressor = REGRESSOR().fit(X, np.full(50, 3.5))
    assert regressor.n_leaves_ == 1
    assert regressor.predict(X).tolist() == [3.5] * 50
    assert regressor.estimate_ is None
    with pytest.raises(ValueError, match="no residuals"):
        regressor.predict_interval(X)


@pytest.mark.parametrize("rows", [1, 2, 5, 9, 10, 11])
def test_very_few_rows(rows):
    X, y = friedman(rows)
    regressor = REGRESSOR().fit(X, y)
    assert np.isfinite(regressor.predict(X)).all()


def test_decimals_are_exact():
    X = np.arange(30.0)[:, None]
    y = np.repeat([0.1, 0.2, 0.7], 10)
    regressor = REGRESSOR(smoothing=None).fit(X, y)
    assert regressor.predict(X).tolist() == y.tolist()


# -- intervals and estimates ------------------------------------------------------------------


def test_intervals_cover_about_as_many_new_rows_as_they_should():
    hits = []
    for seed in range(4):
        X, y = friedman(2000, seed)
        regressor = REGRESSOR().fit(X[:500], y[:500])
        low, high = regressor.predict_interval(X[500:], 0.8).T
        assert (low < regressor.predict(X[500:])).all()
        hits.append(((low <= y[500:]) & (y[500:] <= high)).mean())
    assert np.mean(hits) == pytest.approx(0.8, abs=0.05)


def test_wider_coverage_is_a_wider_interval(fitted, diabetes):
    X, _ = diabetes
    narrow, wide = (np.diff(fitted.predict_interval(X, c)) for c in (0.5, 0.95))
    assert (narrow < wide).all()
    with pytest.raises(ValueError, match="'coverage'"):
        fitted.predict_interval(X, 1.0)


def test_clipping_keeps_outliers_out_of_the_tree():
    X, y = friedman(800)
    dirty = y.copy()
    dirty[:8] += 1000.0
    with pytest.warns(UserWarning, match="squared deviations"):
        plain = REGRESSOR().fit(X, dirty)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clipped = REGRESSOR(clip=(0.01, 0.99)).fit(X, dirty)
    errors = [((r.predict(X) - y) ** 2).mean() for r in (clipped, plain)]
    assert errors[0] < 0.5 * errors[1]
    assert "clipped" in clipped.summary()
    # errors are measured on the numbers as they are
    assert clipped.estimate_.rmse.value > 50
    size = next(size for size in clipped.sizes_ if size.leaves == clipped.n_leaves_)
    assert size.rmse == pytest.approx(clipped.estimate_.rmse.value)


def test_outliers_that_are_clipped_do_not_choose_the_size():
    X, y = friedman(600)
    dirty = y.copy()
    dirty[:3] += 1e4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = REGRESSOR(clip=(0.01, 0.99)).fit(X, dirty)
    # losses are those of numbers in the range of the others
    assert min(fitted.pruning_result_.choice.losses) < np.var(y)


def test_few_values_are_named_as_classes():
    X, _ = friedman(100)
    with pytest.warns(UserWarning, match="BoundTreeClassifier"):
        REGRESSOR().fit(X, (X[:, 0] > 0.5).astype(float))


def test_summary_and_estimate_name_the_baseline(fitted):
    words = fitted.summary()
    assert "baseline" in words
    assert f"{fitted.n_leaves_} leaves" in words
    assert str(fitted.estimate_) in words


# -- tools ------------------------------------------------------------------------------------


def test_clone_pickle_pipelines_and_searches(diabetes):
    X, y = diabetes
    regressor = REGRESSOR(size="small", max_leaves=9)
    assert clone(regressor).get_params() == regressor.get_params()
    assert repr(regressor) == "BoundTreeRegressor(max_leaves=9, size='small')"
    fitted = regressor.fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    assert again.estimate_ == fitted.estimate_
    assert cross_val_score(make_pipeline(StandardScaler(), REGRESSOR()), X, y, cv=3).mean() > 0.2
    search = GridSearchCV(REGRESSOR(), {"size": ["small", "accurate"]}, cv=3).fit(X, y)
    assert search.best_params_["size"] in ("small", "accurate")


def test_threads_change_nothing(diabetes, fitted):
    X, y = diabetes
    np.testing.assert_array_equal(REGRESSOR(n_jobs=2).fit(X, y).predict(X), fitted.predict(X))


def test_html_shows_the_tree(fitted):
    assert "bmi" in fitted._repr_html_()


def test_prune_again_by_weight_rows_or_validation_rows(fitted, diabetes):
    X, y = diabetes
    pruned = tb.prune(fitted, weight=2.0)
    assert pruned.n_leaves_ < fitted.n_leaves_
    assert pruned.estimate_ is None
    assert isinstance(tb.prune(fitted.model_, weight=2.0), tb.RegressionModel)
    tree = tb.prune(fitted.grown_tree_, weight=2.0)
    np.testing.assert_array_equal(tree.value, pruned.tree_.value)
    again = tb.prune(fitted, X, y, weight=2.0)
    np.testing.assert_array_equal(again.predict(X), pruned.predict(X))
    half = REGRESSOR(pruning=None).fit(X[:300], y[:300])
    chosen = tb.prune(half, validation=(X[300:], y[300:]))
    assert chosen.estimate_.rows == len(X) - 300
    assert 1 < chosen.n_leaves_ < half.n_leaves_
    with pytest.raises(ValueError, match="validation rows"):
        chosen.certify(X[300:], y[300:])
    with pytest.raises(ValueError, match="'pruner'"):
        tb.prune(fitted, pruner="mdl")


def test_certify_as_a_function(diabetes):
    X, y = diabetes
    fitted = REGRESSOR(certificate="held-out").fit(X[:300], y[:300])
    assert tb.certify(fitted) == fitted.certificate_
    assert tb.certify(fitted, delta=0.2).share < fitted.certificate_.share
    assert fitted.certify() == fitted.certificate_
    assert fitted.certify(delta=0.2) == tb.certify(fitted, delta=0.2)
    with pytest.raises(ValueError, match="'tolerance' parameter of certify must be None without"):
        fitted.certify(tolerance=3.0)
    assert tb.certify(fitted, X[300:], y[300:]) == fitted.certify(X[300:], y[300:])
    with pytest.raises(ValueError, match="no calibration rows"):
        tb.certify(REGRESSOR().fit(X, y))
    with pytest.raises(ValueError, match="'kind'"):
        tb.certify(fitted, kind="prior")


# -- messages ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (["a", "b", "c"], "Got text such as 'a'"),
        ([1.0, np.nan, 2.0], "contains NaN: row 1"),
        ([1.0, 2.0, np.inf], "contains infinity: row 2"),
        ([1.0, None, 2.0], "contains NaN: row 1"),
        (np.array(["2020-01-01"] * 3, dtype="M8[D]"), "dates"),
        ([1e200, 0.0, 1.0], "at most 1e\\+60"),
        ([1e-70, 0.0, 0.0], "a range of at least 1e-60. Got a range of 1e-70"),
        (pd.Series(["1", "2", "3"]), "Got text such as '1'"),
        (pd.Series(["u", "v", "u"], dtype="category"), "Got text such as 'u'"),
        (np.ones((3, 2)), "1d array"),
        ([1.0, 2.0], "inconsistent numbers of samples"),
        ("price", "Got the text 'price'"),
    ],
)
def test_a_target_that_is_no_number_is_named(y, words):
    with pytest.raises(ValueError, match=words):
        REGRESSOR().fit([[1.0], [2.0], [3.0]], y)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shift", [-190, -60, 60, 190])
def test_powers_of_two_of_y_scale_trees_and_estimates_exactly(shift, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = np.exp(X[:, 0]) + (X[:, 1] > 0) + 0.3 * rng.normal(size=300)
    weight = rng.random(300) + 0.1 if weighted else None
    fitted = [REGRESSOR().fit(X, numbers, weight) for numbers in (y, np.ldexp(y, shift))]
    plain, scaled = fitted
    np.testing.assert_array_equal(np.ldexp(plain.predict(X), shift), scaled.predict(X))
    np.testing.assert_array_equal(
        np.ldexp(plain.predict_interval(X), shift), scaled.predict_interval(X)
    )
    for name in ("rmse", "mae"):
        one, other = (getattr(each.estimate_, name) for each in fitted)
        assert tuple(np.ldexp(one, shift)) == tuple(other)
    assert plain.estimate_.r2 == scaled.estimate_.r2
    assert plain.pruning_result_.choice.leaves == scaled.pruning_result_.choice.leaves


@pytest.mark.parametrize(
    "y",
    [
        pd.Series([1, 2, 3, 4], dtype="Int64"),
        pd.Series([True, False, True, True]),
        np.array([1, 2, 3, 4], dtype=object),
        np.ma.array([1.0, 2.0, 3.0, 4.0]),
        [1, 2, 3, 4],
    ],
)
def test_numbers_of_any_type_are_read(y):
    fitted = REGRESSOR(pruning=None, min_samples_leaf=1).fit([[1.0], [2.0], [3.0], [4.0]], y)
    np.testing.assert_allclose(fitted.predict([[1.0], [4.0]]), np.asarray(y, float)[[0, 3]], atol=2)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"min_samples_leaf": 0}, "'min_samples_leaf'"),
        ({"min_samples_leaf": "some"}, "'min_samples_leaf'"),
        ({"size": "detailed"}, "'size'"),
        ({"smoothing": "laplace"}, "'smoothing'"),
        ({"clip": (0.9, 0.1)}, "'clip'"),
        ({"clip": 0.1}, "'clip'"),
        ({"pruning": "mdl"}, "'pruning'"),
        ({"pruning": None, "size": "small"}, "'size'"),
        ({"criterion": "gini"}, "'criterion'"),
        ({"max_leaves": 0}, "'max_leaves'"),
    ],
)
def test_invalid_parameters_are_named(parameters, words):
    with pytest.raises(ValueError, match=words):
        REGRESSOR(**parameters).fit([[1.0], [2.0]], [1.0, 2.0])


def test_parameters_of_scikit_learn_have_a_hint():
    with pytest.raises(TypeError, match="cost-complexity"):
        REGRESSOR(ccp_alpha=0.1)


def test_what_is_not_offered_for_numbers_is_stated(fitted):
    with pytest.raises(TypeError, match="growth of numbers is greedy"):
        REGRESSOR(search="wide")
    with pytest.raises(TypeError, match="has no classes"):
        REGRESSOR(class_weight="balanced")
    for name, words in (
        ("predict_proba", "use predict_interval"),
        ("alternatives", "only BoundTreeClassifier has it"),
        ("abstain", "not offered for numbers"),
        ("get_depth", "use depth_"),
    ):
        with pytest.raises(AttributeError, match=words):
            getattr(fitted, name)


def test_leaves_of_equal_numbers_have_finite_intervals():
    y = np.repeat([0.0, 5.0], 200)
    y[7] = 3.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        reg = REGRESSOR(certificate="held-out").fit(np.arange(400.0)[:, None], y)
        ends = reg.predict_interval([[1.0], [300.0]], coverage=0.999)
    assert np.isfinite(ends).all()
    assert (ends[:, 0] <= ends[:, 1]).all()


def test_without_folds_the_reason_and_the_remedy_are_given(diabetes):
    reg = REGRESSOR(cv=None).fit(*diabetes)
    assert "No estimate: there are no folds (" in reg.summary()
    with pytest.raises(ValueError, match="Hint: fit with certificate='held-out', or with pruning"):
        reg.predict_interval(diabetes[0])


# -- estimates of the errors ---------------------------------------------------------------------


def validated(errors: np.ndarray, weight: np.ndarray | None = None) -> Validated:
    n = len(errors)
    ones = np.ones(n)
    return Validated(errors, np.zeros(n), ones if weight is None else weight, ones * 3, ones)


@pytest.mark.parametrize(
    ("draw", "true", "least"),
    [
        (lambda rng: rng.normal(size=300), 1.0, 0.95),
        (lambda rng: rng.laplace(size=300), np.sqrt(2.0), 0.95),
        (lambda rng: rng.standard_t(3, 300), np.sqrt(3.0), 0.85),
        (lambda rng: rng.lognormal(size=300) - np.exp(0.5), np.sqrt((np.e - 1) * np.e), 0.88),
    ],
)
def test_standard_errors_of_the_rmse_hold_with_heavy_tails(draw, true, least) -> None:
    rng = np.random.default_rng(0)
    estimates = [NumberEstimate.of(validated(draw(rng)), "validated") for _ in range(600)]
    near = [abs(one.rmse.value - true) <= 2.0 * one.rmse.standard_error for one in estimates]
    assert np.mean(near) >= least


def test_heavy_tails_are_stated() -> None:
    rng = np.random.default_rng(1)
    errors = rng.normal(size=400)
    assert not NumberEstimate.of(validated(errors), "validated").heavy_tailed
    errors[7] = 60.0
    estimate = NumberEstimate.of(validated(errors), "validated")
    assert estimate.heavy_tailed
    assert "A few rows have most of the squared error" in str(estimate)


def test_estimates_count_each_row_once_unless_weights_are_whole(diabetes) -> None:
    X, y = diabetes
    weight = np.random.default_rng(0).random(len(y)) + 0.5
    reg = REGRESSOR(cv=3).fit(X, y, sample_weight=weight)
    pairs = reg.model_.evidence.validated
    assert len(pairs) == len(y)
    errors = pairs[:, 1] - pairs[:, 0]
    assert reg.estimate_.rmse.value == pytest.approx(np.sqrt((errors**2).mean()))
    assert reg.estimate_.mae.value == pytest.approx(np.abs(errors).mean())
    (chosen,) = [size for size in reg.sizes_ if size.leaves == reg.n_leaves_]
    assert chosen.rmse == pytest.approx(reg.estimate_.rmse.value)
    assert chosen.difference == 0.0
    # whole weights stand for repeated rows
    twice = REGRESSOR(cv=3).fit(X, y, sample_weight=np.full(len(y), 2))
    assert twice.estimate_.rows >= len(y)
