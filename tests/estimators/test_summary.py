"""The summary: one wording of estimate, baseline and certificate, and the offer of sizes."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris

import treebound as tb
from treebound.exchange import FormatError, dumps, loads
from treebound.model.summary import headline, points, size_in_words, summary_lines
from treebound.pruning import BoundPruner, SizeEstimate


@pytest.fixture(scope="module")
def cancer():
    data = load_breast_cancer()
    return data.data, data.target_names[data.target]


@pytest.fixture(scope="module")
def digits():
    return tb.BoundTreeClassifier().fit(*load_digits(return_X_y=True))


def test_an_estimate_prints_as_the_first_sentence_of_the_summary():
    X, y = load_breast_cancer(return_X_y=True)
    clf = tb.BoundTreeClassifier().fit(X, y)
    assert clf.summary().startswith(f"{clf.estimate_} ")
    assert repr(clf.estimate_) == f"<Estimate: {clf.estimate_}>"


def test_the_headline_states_estimate_baseline_and_certificate(cancer):
    clf = tb.BoundTreeClassifier().fit(*cancer)
    low, high = clf.estimate_.interval
    assert headline(clf.model_) == (
        f"Estimated error {100 * clf.estimate_.error:.1f} % (about {100 * low:.1f} to "
        f"{100 * high:.1f} %; 5-fold cross-validation; baseline 37.3 %, always 'benign'). "
        "Certified: at most 24.0 % with 95 % confidence."
    )
    lines = clf.summary().splitlines()
    assert lines == summary_lines(clf.model_)
    assert lines[-1] == "10 leaves of 20 grown, depth 6, 569 training rows."


def test_a_bound_above_the_baseline_is_no_useful_guarantee():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), (rng.random(80) < 0.3).astype(int)
    summary = tb.BoundTreeClassifier().fit(X, y).summary()
    assert "No useful guarantee from 80 training rows; the guide page 'Certificates'" in summary
    assert "Certified" not in summary


def test_a_difference_has_no_negative_zero():
    assert [points(d) for d in (-0.0004, 0.0, 0.0004, -0.0006, 0.08)] == [
        "0.0 points", "0.0 points", "0.0 points", "-0.1 points", "+8.0 points",
    ]  # fmt: skip


def test_many_leaves_come_with_an_offer_of_smaller_trees(digits, cancer):
    offer = digits.summary().splitlines()[-1]
    assert re.fullmatch(r"Smaller trees: (\d+ leaves: [+-]\d+\.\d points(; |\.$))+", offer)
    assert "12 leaves: " in offer
    assert "Smaller" not in tb.BoundTreeClassifier().fit(*cancer).summary()
    assert size_in_words(SizeEstimate(12, 0.1, 0.004)) == "12 leaves: +0.4 points"
    assert size_in_words(SizeEstimate(1, 0.1, -0.01)) == "1 leaf: -1.0 points"
    assert size_in_words(SizeEstimate(7, 0.1, -0.01, 1.23456)) == "7 leaves: mean cost 1.235"


def test_a_tree_of_another_size_has_the_estimate_of_its_size(digits):
    size = next(size for size in digits.sizes_ if size.leaves == 12)
    small = digits.prune_to(12)
    assert small.estimate_ is None
    assert small.sizes_ == digits.sizes_
    words = f"Estimated error {100 * size.error:.1f} % (5-fold cross-validation; baseline 89.8 %"
    assert small.summary().startswith(words)
    unknown = digits.prune_to(11).summary()
    assert unknown.startswith("No estimate: it was made for the fitted tree only (baseline")


def test_costs_and_class_weights_have_lines_of_their_own(cancer):
    X, y = cancer
    costs = tb.BoundTreeClassifier(pruning=BoundPruner(costs={"malignant": 5.0})).fit(X, y)
    assert costs.summary().startswith("Estimated mean cost ")  # errors come second
    assert "\nEstimated error " in costs.summary()
    assert '"Estimated mean cost ' in costs.to_html()
    balanced = tb.BoundTreeClassifier(class_weight="balanced").fit(X, y)
    assert "\nEstimated balanced accuracy 9" in balanced.summary()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cv": None},
        {"class_weight": "balanced"},
        {"pruning": BoundPruner(costs={"malignant": 5.0})},
        {"pruning": None, "cv": 3},
        {"certificate": "held-out", "size": "readable"},
    ],
)
def test_a_model_file_holds_the_estimate(options, cancer):
    model = tb.BoundTreeClassifier(**options).fit(*cancer).model_
    again = loads(dumps(model))
    assert again.estimate == model.estimate
    assert again.no_estimate == model.no_estimate
    assert again.summary() == model.summary()


@pytest.mark.parametrize(
    ("pattern", "replacement", "message"),
    [
        (r'"baseline_label":\d', '"baseline_label":7', "estimate.baseline_label must be one of"),
        (r'("confusion":\[\[)\d+', r"\g<1>1", "estimate.confusion must have 150 rows"),
        (r'("interval":\[)[\d.]+', r"\g<1>0.9", "estimate.interval must contain the error"),
        (r'("recall":\[)[\d.]+,', r"\g<1>", "estimate.recall must"),
        (r'"error":0', '"error":2', "estimate.error"),
    ],
)
def test_an_estimate_that_cannot_be_is_refused(pattern, replacement, message):
    text = dumps(tb.BoundTreeClassifier().fit(*load_iris(return_X_y=True)).model_)
    changed = re.sub(pattern, replacement, text, count=1)
    assert changed != text
    with pytest.raises(FormatError, match=message):
        loads(changed)


def test_an_edited_tree_has_no_estimate(cancer):
    X, y = cancer
    editor = tb.BoundTreeClassifier().fit(X, y).edit(X, y)
    editor.collapse(1)
    edited = editor.done()
    assert edited.estimate_ is None
    assert edited.summary().startswith("No estimate: the tree was edited (baseline 37.3 %")


@pytest.mark.heavy
def test_intervals_cover_on_all_worlds(monkeypatch):
    """The worlds of benchmarks/estimate.py, except the large one."""
    from pathlib import Path

    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    import estimate

    for name, world in estimate.WORLDS.items():
        if world.rows <= 2000:
            row = estimate.continued({}, world, 60)
            assert row["coverage"] >= 0.83, name
            assert abs(row["bias"]) < 0.02, name
