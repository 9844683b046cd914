"""evaluate, against scikit-learn, and the estimate of fit."""

import json

import numpy as np
import pandas as pd
import pytest
from commands import refused, run
from sklearn.metrics import confusion_matrix, log_loss, precision_recall_fscore_support

import treebound as tb
from treebound.certificate.certificate import certify_counts


@pytest.fixture
def files(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=900), "b": rng.choice(["u", "v", "w"], 900)})
    frame["y"] = np.select([frame.a > 0.8, frame.b == "u"], ["x", "low"], "middle")
    frame.loc[rng.random(900) < 0.1, "y"] = "x"
    train, test, model = (tmp_path / name for name in ("train.csv", "test.csv", "model.json"))
    frame[:600].to_csv(train, index=False)
    frame[600:].to_csv(test, index=False)
    assert run(capsys, "fit", train, "--target", "y", "-o", model)[0] == 0
    return train, test, model


def test_the_figures_are_those_of_scikit_learn(files, capsys):
    _, test, model = files
    code, out, err = run(capsys, "evaluate", model, test, "--json")
    assert (code, err) == (0, "")
    figures = json.loads(out)
    classifier, frame = tb.BoundTreeClassifier.load(model), pd.read_csv(test)
    predicted = classifier.predict(frame[["a", "b"]])
    expected = confusion_matrix(frame.y, predicted)
    assert figures["confusion"] == expected.tolist()
    assert figures["errors"] == 300 - np.trace(expected)
    for name, values in zip(
        ("precision", "recall", "f1", "rows_of_class"),
        precision_recall_fscore_support(frame.y, predicted),
        strict=True,
    ):
        np.testing.assert_allclose(figures[name], values)
    shares = classifier.predict_proba(frame[["a", "b"]])
    assert figures["log_loss"] == pytest.approx(log_loss(frame.y, shares))
    assert figures["majority"] == "middle"
    held_out = certify_counts(figures["errors"], 300)
    assert figures["certificate"]["risk"] == held_out.risk
    assert figures["not_certified"] is None


def test_what_people_see(files, capsys):
    _, test, model = files
    code, out, _ = run(capsys, "evaluate", model, test, "--delta", "0.01")
    assert code == 0
    assert "of 300 rows are misclassified (" in out
    lines = [line.split() for line in out.splitlines()]
    assert ["class", "rows", "precision", "recall", "F1"] in lines
    assert ["true", "predicted", "low", "middle", "x"] in lines
    assert "With probability 99 %, at most " in out
    assert "of 300 held-out examples were; baseline " in out


def test_training_rows_certify_nothing(files, capsys):
    train, _, model = files
    code, out, _ = run(capsys, "evaluate", model, train)
    assert code == 0
    assert "comparable rows equal training rows" in out
    assert "With probability" not in out
    figures = json.loads(run(capsys, "evaluate", model, train, "--json")[1])
    assert "comparable rows equal training rows" in figures["not_certified"]
    assert figures["certificate"] is None


def test_a_class_the_model_does_not_know_is_refused(files, tmp_path, capsys):
    _, test, model = files
    other = tmp_path / "other.csv"
    other.write_text(test.read_text() + "0.5,u,new\n")
    line = refused(capsys, "evaluate", model, other)
    assert "target column 'y' holds 'new' in row 301, which is not one of its classes" in line
    assert "has no column 'z'" in refused(capsys, "evaluate", model, test, "--target", "z")


def test_many_classes_fit_on_a_terminal(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=2000)})
    frame["y"] = np.clip(frame.x * 5 + 10, 0, 20).astype(int)
    path, model = tmp_path / "t.csv", tmp_path / "m.json"
    frame.to_csv(path, index=False)
    assert run(capsys, "fit", path, "--target", "y", "-o", model)[0] == 0
    out = run(capsys, "evaluate", model, path)[1]
    assert "The errors that are made most often; --json has the confusion matrix." in out
    assert max(map(len, out.splitlines()[:-1])) <= 80


def test_the_summary_leads_with_the_estimate(files, capsys):
    train, _, _ = files
    code, out, err = run(capsys, "fit", train, "--target", "y", "--cv", "4", "--json")
    assert code == 0
    frame = pd.read_csv(train, float_precision="round_trip")
    clf = tb.BoundTreeClassifier(cv=4).fit(frame[["a", "b"]], frame.y)
    document = json.loads(out)
    assert document["summary"] == clf.summary().splitlines()
    assert document["estimate"] == json.loads(json.dumps(clf.estimate_.as_dict()))
    assert document["certificate"]["risk"] == clf.certificate_.risk
    assert clf.summary().splitlines()[0] in err
    code, _, err = run(capsys, "fit", train, "--target", "y", "--cv", "0")
    assert code == 0
    assert "No estimate: it was fitted without folds" in err
    code, _, err = run(capsys, "fit", train, "--target", "y", "--cv", "1")
    assert code == 2
    assert "--cv must be an int from 2 to 1,000" in " ".join(err.split())
