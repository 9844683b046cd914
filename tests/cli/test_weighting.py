"""Sizes, weights, costs and thresholds on the command line, against the classifier."""

import json

import numpy as np
import pandas as pd
import pytest
from commands import refused, run
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, roc_auc_score

import treebound as tb


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Some bad rows among many good ones, with weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 3)).round(3)
    bad = rng.random(1200) < 1 / (1 + np.exp(2.2 - 1.5 * X[:, 0] - X[:, 1]))
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["w"] = rng.random(1200).round(3) + 0.2
    frame["y"] = np.where(bad, "bad", "good")
    path = tmp_path_factory.mktemp("tables") / "table.csv"
    frame.to_csv(path, index=False)
    return path, frame


def fitted(capsys, table, *options):
    model = table[0].parent / "model.json"
    code, _, words = run(capsys, "fit", table[0], "--target", "y", "-o", model, *options)
    assert code == 0, words
    return tb.BoundTreeClassifier.load(model), words


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        (("--size", "small"), {"size": "small"}),
        (("--class-weight", "balanced"), {"class_weight": "balanced"}),
        (("--class-weight", "bad=4"), {"class_weight": {"bad": 4.0}}),
        (("--costs", "bad=4"), {"costs": {"bad": 4.0}}),
        (
            ("--costs", "bad=4", "--cv", "3", "--size", "small"),
            {"costs": {"bad": 4.0}, "cv": 3, "size": "small"},
        ),
        (
            ("--costs", "bad=4", "--pruning", "log-loss"),
            {"costs": {"bad": 4.0}, "pruning": "log-loss"},
        ),
        (("--pruning", "log-loss"), {"pruning": "log-loss"}),
        (("--pruning", "log-loss", "--seed", "3"), {"pruning": "log-loss", "random_state": 3}),
        (("--max-leaves", "2", "--seed", "5"), {"max_leaves": 2, "random_state": 5}),
    ],
)
def test_options_are_the_parameters_of_the_classifier(table, capsys, options, parameters):
    loaded, words = fitted(capsys, table, "--ignore", "w", *options)
    frame = table[1]
    clf = tb.BoundTreeClassifier(**parameters).fit(frame[list("abc")], frame.y)
    np.testing.assert_array_equal(loaded.tree_.threshold, clf.tree_.threshold)
    np.testing.assert_array_equal(loaded.tree_.label, clf.tree_.label)
    np.testing.assert_array_equal(loaded.tree_.counts, clf.tree_.counts)
    assert clf.pruning_result_.choice.explain() in " ".join(words.split())


@pytest.mark.parametrize("weight", [None, "balanced"])
def test_a_column_of_weights_weighs_and_is_not_split_on(table, capsys, weight):
    options = () if weight is None else ("--class-weight", weight)
    loaded, _ = fitted(capsys, table, "--weight-column", "w", *options)
    frame = table[1]
    clf = tb.BoundTreeClassifier(class_weight=weight)
    clf.fit(frame[list("abc")], frame.y, sample_weight=frame.w)
    assert [column.name for column in loaded.columns_] == ["a", "b", "c"]
    np.testing.assert_array_equal(loaded.tree_.counts, clf.tree_.counts)
    if weight is not None:
        np.testing.assert_array_equal(loaded.tree_.factors, clf.tree_.factors)


@pytest.mark.parametrize("texts", [False, True])
def test_groups_are_those_of_the_classifier(table, capsys, texts):
    path, frame = table
    groups = np.arange(len(frame)) // 3
    named = [f"P{group}" for group in groups] if texts else groups
    table = path.parent / "grouped.csv", frame.assign(person=named)
    table[1].to_csv(table[0], index=False)
    options = ("--ignore", "w", "--certificate", "held-out")
    loaded, _ = fitted(capsys, table, *options, "--groups", "person")
    clf = tb.BoundTreeClassifier(certificate="held-out")
    clf.fit(frame[list("abc")], frame.y, groups=named)
    assert [column.name for column in loaded.columns_] == ["a", "b", "c"]
    assert loaded.to_text() == clf.to_text()
    assert loaded.estimate_ == clf.estimate_
    assert loaded.certificate_ == clf.certificate_
    assert loaded.certificate_.grouped
    model = ("fit", table[0], "--target", "y", "--groups", "person")
    line = run(capsys, *model, "--certificate", "prior")[2].splitlines()[-1]
    assert "--certificate must be 'held-out', 'folds' or 'training' with groups" in line
    assert "Hint: fit with --certificate held-out, which counts one row" in run(capsys, *model)[2]


def test_rows_without_a_group_are_refused(table, tmp_path, capsys):
    path, frame = tmp_path / "t.csv", table[1]
    frame.assign(person=["", *range(1, len(frame))]).to_csv(path, index=False)
    line = refused(capsys, "fit", path, "--target", "y", "--groups", "person")
    assert "Column 'person' (--groups) has no value in row 1. Hint: give each row a group." in line
    line = refused(capsys, "fit", path, "--target", "y", "--groups", "man")
    assert "--groups must be the name of a column. Got 'man' instead. Hint: the columns" in line
    line = refused(capsys, "fit", path, "--target", "y", "--groups", "person", "--stream")
    assert "--groups" in line


def test_hints_know_that_there_are_costs(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=400), "y": rng.choice(["bad", "good"], 400)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    fit = ("fit", tmp_path / "t.csv", "--target", "y", "--max-leaves", "1")
    assert "--costs LABEL=COST, if all classes matter" in run(capsys, *fit)[2]
    words = run(capsys, *fit, "--costs", "bad=1.5")[2]
    assert "Hint: no split lowers the mean cost; larger --costs of rare classes may" in words
    assert "Hint: --certificate held-out, folds or prior bounds the mean cost, too." in words
    words = run(capsys, *fit, "--costs", "bad=1.5", "--certificate", "held-out")[2]
    assert "a new example costs at most" in words
    assert "bounds the mean cost" not in words


def test_mean_costs_come_first_if_errors_differ_in_cost(table, capsys):
    loaded, words = fitted(capsys, table, "--ignore", "w", "--costs", "bad=4")
    path, frame = table
    bad = np.array(frame.y == "bad")
    predicted = loaded.predict(frame[list("abc")]) == "bad"
    cost = (4 * (bad & ~predicted) + (predicted & ~bad)).mean()
    baseline = min(4 * bad.mean(), (~bad).mean())
    sentence = f"Mean cost {cost:.4g} per training example (baseline {baseline:.4g}, always 'good')"
    assert sentence in words
    assert words.index("Estimated mean cost") < words.index("Mean cost")
    assert words.index("Mean cost") < words.index("Estimated error") < words.index("misclassified")
    model = path.parent / "model.json"
    _, out, _ = run(capsys, "evaluate", model, path)
    assert out.startswith(f"Mean cost {cost:.4g} per row (baseline {baseline:.4g}, always 'good').")
    figures = json.loads(run(capsys, "evaluate", model, path, "--json")[1])
    assert figures["mean_cost"] == pytest.approx(cost)
    assert figures["baseline_cost"] == pytest.approx(baseline)
    assert "cost_certificate" not in figures  # these rows were used for fitting
    half = path.parent / "half.csv"
    frame[600:].to_csv(half, index=False)
    frame[:600].to_csv(path.parent / "first.csv", index=False)
    other, _ = fitted(
        capsys, (path.parent / "first.csv", frame[:600]), "--ignore", "w", "--costs", "bad=4"
    )
    figures = json.loads(run(capsys, "evaluate", model, half, "--json")[1])
    rows = frame[600:]
    expected = other.certify_cost(rows[list("abc")], rows.y, costs={"bad": 4.0})
    assert figures["cost_certificate"]["cost"] == pytest.approx(expected.cost)
    _, out, _ = run(capsys, "evaluate", model, half)
    assert str(expected).split(" (")[0] in out
    assert "mean_cost" not in json.loads(
        run(capsys, "evaluate", fitted_without_costs(capsys, table), path, "--json")[1]
    )


def fitted_without_costs(capsys, table):
    fitted(capsys, table, "--ignore", "w")
    return table[0].parent / "model.json"


def test_evaluate_draws_the_calibration(table, capsys):
    fitted(capsys, table, "--ignore", "w")
    picture = table[0].parent / "calibration.svg"
    code, _, _ = run(
        capsys, "evaluate", table[0].parent / "model.json", table[0], "--plot", picture
    )
    assert code == 0
    assert "share of correct predictions" in picture.read_text()


def test_evaluate_reports_the_quality_of_probabilities_and_takes_a_threshold(table, capsys):
    loaded, _ = fitted(capsys, table, "--ignore", "w")
    path, frame = table
    model = path.parent / "model.json"
    shares = loaded.predict_proba(frame[list("abc")])
    figures = json.loads(run(capsys, "evaluate", model, path, "--json")[1])
    assert figures["auc"] == pytest.approx(roc_auc_score(frame.y == "good", shares[:, 1]))
    predicted = loaded.predict(frame[list("abc")])
    expected = balanced_accuracy_score(frame.y, predicted)
    assert figures["balanced_accuracy"] == pytest.approx(expected)
    assert figures["brier"] == pytest.approx(brier_score_loss(frame.y == "good", shares[:, 1]))
    assert sum(part["rows"] for part in figures["calibration"]) == 1200
    code, out, _ = run(capsys, "evaluate", model, path, "--threshold", "bad=0.2")
    assert code == 0
    assert "Balanced accuracy" in out
    _, out, _ = run(capsys, "predict", model, path, "--threshold", "bad=0.2")
    lines = out.splitlines()[1:]
    np.testing.assert_array_equal(np.array(lines) == "bad", shares[:, 0] >= 0.2)
    _, by_costs, _ = run(capsys, "predict", model, path, "--threshold", "bad=1:4")
    assert by_costs == out  # a miss costs four times a false alarm
    _, out, _ = run(capsys, "evaluate", model, path, "--threshold", "bad=1:4")
    printed = run(capsys, "evaluate", model, path, "--threshold", "bad=1:4", "--json")[1]
    figures = json.loads(printed)
    bad, by_threshold = np.array(frame.y == "bad"), shares[:, 0] >= 0.2
    costs = [
        (bad < alarm).mean() + 4 * (bad > alarm).mean()
        for alarm in (by_threshold, predicted == "bad")
    ]
    assert figures["threshold"] == 0.2
    assert [figures["cost"], figures["cost_without_threshold"]] == pytest.approx(costs)
    assert out.startswith(
        "'bad' is predicted from a probability of 0.2 on. "
        f"Errors cost {costs[0]:.3g} for each row, without this threshold {costs[1]:.3g}."
    )
    for wrong in (
        "bad=0:0", "bad=x:1", "worse=0.5", "bad=-1:4", "bad=-1:-4", "bad=nan", "bad=1:inf",
        "bad=1:2:3", "bad=1.5", "bad", "=0.5",
    ):  # fmt: skip
        code, _, err = run(capsys, "predict", model, path, "--threshold", wrong)
        assert code == 2
        assert "LABEL=FALSE:MISSED" in err
    assert "belongs to 'evaluate' and 'predict'" in refused(
        capsys, "fit", path, "--target", "y", "--threshold", "bad=0.2"
    )


def test_costs_of_a_threshold_are_those_of_rows_without_class_weights(table, capsys):
    path, frame = table
    loaded, _ = fitted(capsys, table, "--ignore", "w", "--class-weight", "bad=5")
    _, out, _ = run(capsys, "predict", path.parent / "model.json", path, "--threshold", "bad=1:6")
    shares = loaded.predict_proba(frame[list("abc")]) / [5, 1]
    cheaper = shares[:, 1] <= 6 * shares[:, 0]  # a false alarm against a miss, rows as they come
    np.testing.assert_array_equal(np.array(out.splitlines()[1:]) == "bad", cheaper)
    assert 0 < cheaper.sum() < len(cheaper)


def test_costs_of_a_threshold_with_several_weighted_classes_are_refused(tmp_path, capsys):
    path, model = tmp_path / "table.csv", tmp_path / "model.json"
    path.write_text("x,y\n" + "".join(f"{i},{'abc'[i // 20]}\n" for i in range(60)))
    assert run(capsys, "fit", path, "--target", "y", "-o", model, "--class-weight", "a=3")[0] == 0
    assert run(capsys, "predict", model, path, "--threshold", "a=0.2")[0] == 0
    assert "without --class-weight" in refused(
        capsys, "predict", model, path, "--threshold", "a=1:4"
    )


def test_costs_and_class_weights_are_estimated_too(table, capsys):
    _, words = fitted(capsys, table, "--class-weight", "balanced")
    assert "Estimated balanced accuracy" in words
    _, words = fitted(capsys, table, "--costs", "bad=4")
    assert "Estimated mean cost" in words


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--costs", "bad"), "--costs must be LABEL=NUMBER with a number above 0. Got 'bad'"),
        (("--class-weight", "bad=-1"), "--class-weight must be balanced or LABEL=NUMBER"),
        (("--class-weight", "worse=2"), "--class-weight must be names of classes. Got 'worse'"),
        (
            ("--weight-column", "y2"),
            "--weight-column must be the name of a column of numbers. Got 'y2'",
        ),
        (
            ("--costs", "bad=2", "--pruning", "mdl"),
            "--costs needs --pruning bound or --pruning log-loss. Got --pruning mdl instead. Hint: "
            "use --class-weight.",
        ),
        (("--size", "small", "--pruning", "mdl"), "--size must be omitted with this pruner"),
    ],
)
def test_wrong_options_are_named(table, capsys, options, words):
    assert words in refused(capsys, "fit", table[0], "--target", "y", *options)


def test_columns_are_learned_without_the_rows_of_weight_zero(tmp_path, capsys):
    frame = pd.DataFrame({"a": ["x", "y"] * 20 + ["z"], "w": [2.0, 1.0] * 20 + [0.0]})
    frame["y"] = ["yes", "no"] * 20 + ["no"]
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    loaded, _ = fitted(capsys, (path, frame), "--weight-column", "w")
    assert [column.n_categories for column in loaded.columns_] == [2]
    assert "z" not in loaded.columns_[0].categories
    assert loaded.tree_.weight[0] == 60.0


def test_certify_of_new_rows_counts_one_row_of_each_group_and_bounds_the_cost(
    table, tmp_path, capsys
):
    path, frame = tmp_path / "grouped.csv", table[1]
    half = len(frame) // 2
    new, model = tmp_path / "new.csv", tmp_path / "model.json"
    people = frame.assign(person=np.arange(len(frame)) // 3)
    people[:half].to_csv(path, index=False)
    people[half:].to_csv(new, index=False)
    label = str(frame.y.iloc[0])
    fit = ("fit", path, "--target", "y", "--groups", "person", "--costs", f"{label}=4")
    run(capsys, *fit, "-o", model)
    line = refused(capsys, "certify", model, new)
    assert (
        "use 'treebound certify' with the group of each row, --groups COLUMN; if the rows" in line
    )
    assert "with the group of each row, --groups COLUMN" in run(capsys, "evaluate", model, new)[1]
    code, out, _ = run(capsys, "certify", model, new, "--groups", "person")
    assert code == 0
    assert "each a row drawn at random from a random group, cost at most" in out.splitlines()[1]
    assert "each a row drawn at random from a random group, are misclassified" in out
    _, out, _ = run(capsys, "certify", model, new, "--groups", "person", "--json")
    document = json.loads(out)
    assert document["m"] == people.person[half:].nunique() == document["cost_certificate"]["m"]
    rows = people[half:]
    clf = tb.BoundTreeClassifier.load(model)
    cost = clf.certify_cost(rows[list("abcw")], rows.y, groups=rows.person)
    assert document["cost_certificate"]["cost"] == cost.cost
    assert "has no column 'man'" in refused(capsys, "certify", model, new, "--groups", "man")
    certified = ("fit", path, "--target", "y", "--groups", "person", "--certificate", "held-out")
    run(capsys, *certified, "-o", model, "--quiet")
    assert "Hint: watch one row of each group" in run(capsys, "monitor", model, new)[1]
    line = refused(capsys, "certify", model, "--groups", "person")
    assert "--groups needs a table of rows that were not used for fitting" in line
