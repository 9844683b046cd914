"""The kinds of certificates as ``fit`` gives them: folds, prior, weights, classes, abstention."""

import json
import pickle
import re
import shutil
import sqlite3
import subprocess
from dataclasses import replace
from math import log

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

import treebound as tb
from treebound.bounds.risk import risk_upper
from treebound.certificate.prior import Prior
from treebound.data.draws import Draw
from treebound.estimators.abstaining import AbstainingClassifier
from treebound.model.guarantees import abstain
from treebound.show.report_data import report_data


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X, y.map({0: "malignant", 1: "benign"})


@pytest.fixture(scope="module")
def by_prior(cancer):
    return tb.BoundTreeClassifier(certificate="prior").fit(*cancer)


# -- folds -------------------------------------------------------------------------------------


def test_folds_keep_the_tree_of_the_least_limit(cancer):
    X, y = cancer
    clf = tb.BoundTreeClassifier(certificate="folds", random_state=3).fit(X, y)
    bounds = []
    for selection in Draw(3).keyed(tb.Sample.learn(X, y)).folds(len(y)):
        fold = np.flatnonzero(selection.mask(len(y)))
        outside = np.setdiff1d(np.arange(len(y)), fold)
        alone = tb.BoundTreeClassifier().fit(X.iloc[outside], y.iloc[outside])
        errors = int((alone.predict(X.iloc[fold]) != y.iloc[fold]).sum())
        bounds.append((risk_upper(len(fold), errors, log(0.05 / 4)), alone.to_text()))
    least = min(bounds, key=lambda one: one[0])
    assert (clf.certificate_.risk, clf.to_text()) == least
    assert (clf.certificate_.kind, clf.certificate_.folds) == ("folds", 4)
    assert "best of 4 trees" in clf.certificate_.explain()


def test_other_steps_after_folds_share_delta_with_the_folds(cancer):
    clf = tb.BoundTreeClassifier(certificate="folds").fit(*cancer)
    path = clf.pruning_path_
    moved = clf.prune_to(step=0)
    level = log(0.05 / (4 * path.n_considered))
    expected = risk_upper(moved.certificate_.m, moved.certificate_.errors, level)
    assert moved.certificate_.risk == pytest.approx(expected, rel=1e-12)


# -- prior -------------------------------------------------------------------------------------


def test_prior_certifies_the_chosen_tree_and_every_tree_of_the_frontier(cancer, by_prior):
    X, y = cancer
    sample = tb.Sample.learn(X, y)
    prior = Prior(sample, Draw(0))
    certificate = by_prior.certificate_
    assert certificate.risk == pytest.approx(prior.certify(by_prior.tree_, 0.05).risk, rel=1e-12)
    assert certificate.kind == "prior"
    for step, one in enumerate(by_prior.frontier_):
        moved = by_prior.prune_to(step=step)
        assert moved.certificate_.risk == one.risk
        assert moved.n_leaves_ == one.leaves
        assert moved.score(X, y) == pytest.approx(1 - one.training_error)


def test_any_tree_is_certified_by_the_prior_of_the_training_rows(cancer, by_prior):
    same = by_prior.model_.certify(*cancer, kind="prior")
    assert same.risk == pytest.approx(by_prior.certificate_.risk, rel=1e-12)
    other = tb.BoundTreeClassifier(max_leaves=4).fit(*cancer)
    bound = other.model_.certify(*cancer, kind="prior")
    assert bound.kind == "prior"
    assert bound.risk < 1.0


def test_frontier_has_no_tree_that_another_beats(by_prior):
    sizes = [(one.leaves, one.risk, one.training_error) for one in by_prior.frontier_]
    for one in sizes:
        assert not any(
            all(a <= b for a, b in zip(other, one, strict=True)) for other in sizes if other != one
        )
    assert sizes[0][0] == 1
    assert str(by_prior.frontier_).count("<") == 1


def test_the_frontier_finds_the_most_accurate_tree_at_a_risk(by_prior):
    frontier = by_prior.frontier_
    clf = by_prior.prune_to(step=frontier.step_certified_at(0.155))
    assert clf.certificate_.risk <= 0.155
    met = [one.training_error for one in frontier if one.risk <= 0.155]
    assert clf.model_.evidence.proof.training_error == min(met)
    with pytest.raises(
        ValueError, match=r"certified at 1 % or below; the smallest certified error is 1\d\.\d %"
    ):
        frontier.step_certified_at(0.01)
    with pytest.raises(ValueError, match="'risk' parameter of step_certified_at"):
        frontier.step_certified_at(20)


def test_prior_keeps_to_the_limits_of_the_tree(cancer):
    small = tb.BoundTreeClassifier(certificate="prior", max_leaves=2).fit(*cancer)
    assert small.n_leaves_ <= 2
    flat = tb.BoundTreeClassifier(certificate="prior", max_depth=1).fit(*cancer)
    assert flat.depth_ <= 1
    half = tb.BoundTreeClassifier(certificate="prior", thresholds="observed").fit(*cancer)
    for node in np.flatnonzero(~half.tree_.is_leaf):
        name = half.columns_[half.tree_.feature[node]].name
        assert half.tree_.threshold[node] in cancer[0][name].to_numpy()


def test_prior_has_no_condition_on_new_categories_and_first_missing_values(cancer, by_prior):
    text = by_prior.certificate_.explain()
    assert "missing only in columns" not in text
    assert "no category is new" not in text
    X = cancer[0].assign(kind=np.where(np.arange(569) % 2, "a", "b"))
    covered = tb.BoundTreeClassifier(certificate="prior", handle_unknown="majority").fit(
        X, cancer[1]
    )
    assert "no category is new: columns 'kind'" in covered.certificate_.explain()


def test_prior_refuses_a_pruner_that_it_would_not_use(cancer):
    with pytest.raises(ValueError, match="'pruning' parameter of BoundTreeClassifier"):
        tb.BoundTreeClassifier(certificate="prior", pruning="mdl").fit(*cancer)


def test_frontier_is_drawn(by_prior):
    pytest.importorskip("matplotlib").use("Agg")
    frontier = by_prior.frontier_
    lines = frontier.plot().get_lines()
    for line, label, name in zip(
        lines[:2], ("certified error", "training error"), ("risk", "training_error"), strict=True
    ):
        assert line.get_label() == label
        assert line.get_xdata().tolist() == [tree.leaves for tree in frontier]
        expected = [100 * getattr(tree, name) for tree in frontier]
        assert line.get_ydata().tolist() == pytest.approx(expected)
    assert lines[2].get_xdata()[0] == frontier[frontier.chosen].leaves


# -- weights -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["training", "held-out", "folds", "prior"])
def test_weighted_trees_are_certified_by_rows(kind, cancer):
    X, y = cancer
    weight = np.random.default_rng(0).random(len(y)) + 0.1
    clf = tb.BoundTreeClassifier(certificate=kind, class_weight="balanced").fit(X, y, weight)
    certificate = clf.certificate_
    assert 0.0 < certificate.risk < 0.5
    if kind == "training":
        assert certificate.m == 569
        assert certificate.errors == (clf.predict(X) != y).sum()
        moved = clf.prune_to(3)
        assert moved.certificate_.errors == (moved.predict(X) != y).sum()
        assert "counted by rows" in certificate.explain()
        plain = replace(clf.tree_.recounted(tb.Sample.learn(X, y)), label=clf.tree_.label)
        assert certificate.risk == tb.certify(plain).risk


# -- model files -------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, "balanced"])
@pytest.mark.parametrize("kind", ["training", "held-out", "folds", "prior"])
def test_a_model_file_keeps_the_certificate(kind, weight, cancer, tmp_path):
    clf = tb.BoundTreeClassifier(certificate=kind, class_weight=weight).fit(*cancer)
    clf.save(tmp_path / "model.json")
    again = tb.BoundTreeClassifier.load(tmp_path / "model.json")
    assert again.certificate_ == clf.certificate_
    assert again.certificate_.by_class == clf.certificate_.by_class
    if kind != "prior":
        assert again.prune_to(3).certificate_ == clf.prune_to(3).certificate_


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("prior", lambda d: d["proof"]["counts_b"].append([1, 1])),
        ("prior", lambda d: d["proof"]["counts_b"][0].__setitem__(0, 500)),
        ("prior", lambda d: d["frontier"].update(chosen=99)),
        ("prior", lambda d: d["frontier"]["trees"][0]["proof"]["counts_a"][0].__setitem__(0, 5)),
        ("prior", lambda d: d["proof"].update(log_prior=1.0)),
        ("folds", lambda d: d["held_out"].update(folds=0)),
        ("training", lambda d: d["row_counts"][0].__setitem__(0, 7)),
    ],
)
def test_a_false_proof_in_a_model_file_is_refused(kind, change, cancer, tmp_path):
    clf = tb.BoundTreeClassifier(certificate=kind, class_weight="balanced").fit(*cancer)
    clf.save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    change(document)
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"model\.json"):
        tb.BoundTreeClassifier.load(tmp_path / "model.json")


# -- classes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["training", "held-out", "folds", "prior"])
def test_every_kind_has_limits_by_class(kind, cancer):
    clf = tb.BoundTreeClassifier(certificate=kind).fit(*cancer)
    bounds = clf.certificate_.by_class
    assert [one.label for one in bounds] == ["benign", "malignant"]
    assert sum(one.errors for one in bounds) == clf.certificate_.errors
    assert sum(one.m for one in bounds) == clf.certificate_.m
    assert all(one.errors / one.m < one.risk < 1.0 for one in bounds)
    text = clf.certificate_.explain()
    assert "malignant: at most" in text
    assert "malignant: at most" not in clf.certificate_.explain(by_class=False)
    if kind == "prior":
        class_bound = bounds[1]
        level = log(0.05 / 2) + clf.model_.evidence.proof.log_prior
        assert class_bound.risk == pytest.approx(
            risk_upper(class_bound.m, class_bound.errors, level), rel=1e-7
        )


# -- monitor -----------------------------------------------------------------------------------


def test_certificate_gives_a_monitor_with_the_limits_of_its_classes(cancer):
    clf = tb.BoundTreeClassifier(certificate="folds").fit(*cancer)
    monitor = clf.certificate_.monitor(alpha=0.03)
    bounds = [clf.certificate_.risk, *(one.risk for one in clf.certificate_.by_class)]
    assert [stream.bound for stream in monitor.streams] == bounds
    assert [stream.alpha for stream in monitor.streams] == pytest.approx([0.01] * 3)
    assert monitor.update(cancer[1], clf.predict(cancer[0])) is None
    alarm = monitor.update(["malignant"] * 300, ["benign"] * 300)
    assert alarm is not None


# -- abstention ----------------------------------------------------------------------------------


def test_an_abstaining_classifier_predicts_as_the_classifier_or_abstains(cancer):
    X, y = cancer
    clf = tb.BoundTreeClassifier(certificate="held-out").fit(X, y)
    some = clf.abstain(max_risk=0.1)
    predicted, plain = some.predict(X), clf.predict(X)
    abstained = predicted == "abstain"
    assert 0 < abstained.mean() < 1
    np.testing.assert_array_equal(predicted[~abstained], plain[~abstained])
    assert some.classes_.tolist() == ["benign", "malignant"]
    np.testing.assert_array_equal(some.predict_proba(X), clf.predict_proba(X))
    risk, share = some.selective_risk(X, y)
    assert share == pytest.approx(1 - abstained.mean())
    assert risk == pytest.approx((predicted != y)[~abstained].mean())
    assert "abstain" in some.to_text()
    assert "'abstain'" in some.to_sql()
    assert '"abstain"' in some.to_c()
    assert "abstain" in str(some.to_rules())
    with pytest.raises(ValueError, match="selective_risk"):
        some.score(X, y)
    with pytest.raises(ValueError, match="predicts every case"):
        some.to_sklearn()


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_abstention_in_c_is_that_of_predict(cancer, tmp_path):
    X, y = cancer
    some = tb.BoundTreeClassifier(certificate="held-out").fit(X, y).abstain(max_risk=0.1)
    code = some.to_c()
    fields = re.findall(r"double (\w+); /\* '(.*)', real", code)
    scan = " && ".join(f'scanf("%lf", &row.{field}) == 1' for field, _ in fields)
    main = f"""
    #include <stdio.h>
    int main(void)
    {{
        struct predict_row row;
        while ({scan})
            puts(predict_classes[predict(&row)]);
        return 0;
    }}
    """
    (tmp_path / "tree.c").write_text(code + main)
    subprocess.run(["cc", "tree.c", "-o", "tree", "-lm"], cwd=tmp_path, check=True)
    rows = X[[name for _, name in fields]].to_csv(sep=" ", header=False, index=False)
    ran = subprocess.run(
        [tmp_path / "tree"], input=rows, capture_output=True, text=True, check=True
    )
    np.testing.assert_array_equal(ran.stdout.split(), some.predict(X))


@pytest.mark.parametrize("handle_unknown", ["stop", "other"])
def test_the_tree_abstains_on_rows_that_stop_at_an_inner_node(handle_unknown):
    rng = np.random.default_rng(0)
    X = np.array(["a", "b", "c"], dtype=object)[rng.integers(0, 3, 900)][:, None]
    y = np.where((X[:, 0] == "a") ^ (rng.random(900) < 0.05), "yes", "no")
    clf = tb.BoundTreeClassifier(certificate="held-out", handle_unknown=handle_unknown).fit(X, y)
    some = clf.abstain(max_risk=0.2)
    assert some.predict([["a"], ["b"]]).tolist() == ["yes", "no"]
    assert some.predict([["new"]]) == ("abstain" if handle_unknown == "stop" else "no")


def test_label_of_abstention_has_the_type_of_the_classes():
    X, y = load_iris(return_X_y=True)
    clf = tb.BoundTreeClassifier(certificate="held-out").fit(X, y)
    predicted = clf.abstain(max_risk=0.15).predict(X)
    assert predicted.dtype == y.dtype
    assert clf.abstain(max_risk=0.15, label=9).predict(X).max() == 9
    for label in ("abstain", 1, True):
        with pytest.raises(ValueError, match="'label' parameter of abstain"):
            clf.abstain(max_risk=0.15, label=label)


def test_abstention_from_other_rows_and_not_from_rows_of_fit(cancer):
    X, y = cancer
    order = np.random.default_rng(0).permutation(len(y))
    grown, test_rows = order[:350], order[350:]
    clf = tb.BoundTreeClassifier().fit(X.iloc[grown], y.iloc[grown])
    with pytest.raises(ValueError, match="were not used for fitting"):
        clf.abstain(max_risk=0.1)
    with pytest.raises(ValueError, match="equal training rows"):
        clf.abstain(X.iloc[grown], y.iloc[grown], max_risk=0.1)
    abstention = clf.abstain(X.iloc[test_rows], y.iloc[test_rows], max_risk=0.1).abstention_
    assert abstention.m == len(test_rows)
    assert abstention.predicts.any()


def test_bounds_for_several_risks_hold_at_once(cancer, tmp_path):
    clf = tb.BoundTreeClassifier(certificate="held-out").fit(*cancer)
    for risk in (0.3, 0.1, 0.2):
        clf.abstain(max_risk=risk)
    clf.save(tmp_path / "model.json")
    again = tb.BoundTreeClassifier.load(tmp_path / "model.json")
    for source in (clf, again, pickle.loads(pickle.dumps(clf))):
        few, many = source.abstain(max_risk=[0.1, 0.15])
        assert (few.abstention_.delta, many.abstention_.delta) == (0.05, 0.05)
        alone = source.abstain(max_risk=0.15).abstention_
        np.testing.assert_array_equal(many.abstention_.predicts, alone.predicts)
        assert alone.risk <= 0.15
    other = clf.abstain(max_risk=0.15, delta=0.2).abstention_
    assert (other.delta, other.predicted) >= (0.2, alone.predicted)


def test_other_steps_of_the_path_share_delta_in_abstention(cancer):
    clf = tb.BoundTreeClassifier(certificate="held-out").fit(*cancer)
    path = clf.pruning_path_
    step = next(k for k in range(len(path)) if path.leaves[k] == clf.n_leaves_ + 1)
    moved = clf.prune_to(step=step)
    abstention = moved.abstain(max_risk=0.3).abstention_
    level = log(0.05 / path.n_considered / moved.n_leaves_)
    assert abstention.risk == pytest.approx(
        risk_upper(abstention.predicted, abstention.errors, level), rel=1e-9
    )


def test_a_prior_has_bounds_for_every_risk_at_once(by_prior):
    for abstaining in by_prior.abstain(max_risk=[0.1, 0.125]):
        assert abstaining.abstention_.delta == 0.05
    assert by_prior.abstain(max_risk=0.2).abstention_.delta == 0.05


def test_abstention_by_the_prior_needs_no_rows(cancer, by_prior):
    abstaining = by_prior.abstain(max_risk=0.125)
    assert abstaining.abstention_.predicts.any()
    assert abstaining.abstention_.m == sum(by_prior.model_.evidence.proof.rows)
    assert (abstaining.predict(cancer[0]) != "abstain").any()


def test_an_abstaining_classifier_is_read_back(cancer, tmp_path):
    X, y = cancer
    clf = tb.BoundTreeClassifier(certificate="held-out", random_state=4).fit(X, y)
    some = clf.abstain(max_risk=0.1)
    some.save(tmp_path / "model.json")
    again = AbstainingClassifier.load(tmp_path / "model.json")
    assert str(again.abstention_) == str(some.abstention_)
    np.testing.assert_array_equal(again.predict(X), some.predict(X))
    np.testing.assert_array_equal(again.predict_proba(X), some.predict_proba(X))
    assert again.classes_.tolist() == some.classes_.tolist()
    counts = again.model_.tree.counts[0]
    assert (
        counts.sum() == again.abstention_.tree.counts[0].sum()
    )  # rows it abstains on are its class
    shown = again.model_.tree
    assert shown.n_leaves < again.abstention_.tree.n_leaves  # leaves that abstain are merged
    label, left, right = shown.label, shown.left, shown.right
    abstains = shown.classes[label] == "abstain"
    inner = np.flatnonzero(~shown.is_leaf)
    assert not (abstains[left[inner]] & abstains[right[inner]]).any()
    assert "it abstains: a person decides" in again.to_html()
    monitor = again.abstention_.monitor()
    monitor.update_rows(again, X, y)
    assert monitor.streams[0].seen == (again.predict(X) != "abstain").sum()
    with pytest.raises(ValueError, match="abstains already"):
        abstain(again.model_, [0.1])
    with pytest.raises(ValueError, match="predicts only some cases"):
        tb.certify(again, X, y)


# -- other trees of a prior ---------------------------------------------------------------------


def test_a_model_file_and_a_page_keep_the_frontier(by_prior, tmp_path):
    by_prior.prune_to(2).save(tmp_path / "model.json")
    again = tb.BoundTreeClassifier.load(tmp_path / "model.json")
    assert (again.n_leaves_, again.model_.step) == (2, 1)
    assert str(again.frontier_) == str(by_prior.frontier_)
    for leaves in (1, 3, 8):
        one, other = again.prune_to(leaves), by_prior.prune_to(leaves)
        assert one.to_text() == other.to_text()
        assert one.certificate_.explain() == other.certificate_.explain()
    data = report_data(again.model_, 150, None)
    risks = [certified.risk for certified in by_prior.frontier_]
    assert [step["certificate"] for step in data["steps"]][::-1] == risks
    assert data["steps"][data["start"]]["leaves"] == 2
    assert data["steps"][data["chosen"]]["leaves"] == by_prior.n_leaves_
    again.save(tmp_path / "small.json", pruning_path=False)
    assert tb.BoundTreeClassifier.load(tmp_path / "small.json").frontier_ is None


def test_a_threshold_leaves_no_certificate_by_a_prior(by_prior):
    assert by_prior.model_.with_threshold("malignant", 0.2).certificate is None


def test_a_model_that_abstains_takes_no_threshold(by_prior):
    with pytest.raises(ValueError, match="has a bound for its predictions"):
        by_prior.abstain(max_risk=0.2).model_.with_threshold("malignant", 0.2)


def test_rows_with_new_categories_are_counted_as_they_are_answered():
    rng = np.random.default_rng(0)
    X = np.array(["a", "b", "c"], dtype=object)[rng.integers(0, 3, 600)][:, None]
    y = np.where(X[:, 0] == "a", 1, rng.integers(0, 2, 600))
    clf = tb.BoundTreeClassifier(handle_unknown="majority").fit(X[:300], y[:300])
    X[300:450] = "new"
    certificate = tb.certify(clf, X, y, kind="prior")
    prior = clf.model_.prior(clf.model_.read_sample(X, y, whole=True))
    order = np.flatnonzero(~Draw(0).keyed(prior.sample).prior_rows(600, 0.2))
    assert certificate.m == len(prior.b.y) == 480
    assert certificate.errors == (clf.predict(X)[order] != y[order]).sum()


def test_exports_abstain_as_predict_does(cancer):
    X, y = cancer
    X = X.rename(columns=lambda name: name.replace(" ", "_"))
    some = tb.BoundTreeClassifier(certificate="held-out").fit(X, y).abstain(max_risk=0.1)
    predicted, code = some.predict(X), {}
    exec(some.to_python(), code)
    assert [code["predict"](row) for row in X.to_dict("records")] == predicted.tolist()
    connection = sqlite3.connect(":memory:")
    X.to_sql("rows", connection)
    rows = connection.execute(f"SELECT {some.to_sql()} FROM rows")
    assert [label for (label,) in rows] == predicted.tolist()
    connection.close()
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(some.to_onnx().SerializeToString())
    used = {value.name: X[[value.name]].to_numpy() for value in session.get_inputs()}
    labels, _ = session.run(None, used)
    assert labels.ravel().tolist() == predicted.tolist()
