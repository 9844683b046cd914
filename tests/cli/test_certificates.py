"""fit --certificate and --abstain, and monitor."""

import json

import numpy as np
import pandas as pd
import pytest
from commands import refused, run

import treebound as tb
from treebound.estimators.abstaining import AbstainingClassifier
from treebound.model.summary import headline
from treebound.pruning import BoundPruner


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=1500), "b": rng.choice(["u", "v"], 1500)})
    frame["y"] = np.where((frame.a > 0) & (frame.b == "u"), "ill", "well")
    noise = (rng.random(1500) < 0.25) & (frame.a < -0.5)
    frame.loc[noise, "y"] = "ill"
    return frame


@pytest.fixture
def files(rows, tmp_path):
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    rows[:1000].to_csv(train, index=False)
    rows[1000:].to_csv(test, index=False)
    return train, test, tmp_path / "model.json"


@pytest.mark.parametrize("kind", ["held-out", "folds", "prior"])
def test_fit_has_the_kinds_of_the_library(kind, files, rows, capsys):
    train, _, model = files
    code, _, err = run(capsys, "fit", train, "--target", "y", "--certificate", kind, "-o", model)
    assert code == 0
    clf = tb.BoundTreeClassifier(certificate=kind).fit(rows[["a", "b"]][:1000], rows.y[:1000])
    assert headline(clf.model_) in err.splitlines()
    again = tb.BoundTreeClassifier.load(model)
    assert again.certificate_.risk == clf.certificate_.risk
    assert again.to_text() == clf.to_text()


def test_abstain_writes_a_model_that_abstains(files, capsys):
    train, test, model = files
    code, _, err = run(capsys, "fit", train, "--target", "y", "--certificate", "held-out",
                       "--abstain", "0.12", "-o", model)  # fmt: skip
    assert code == 0
    assert "of the predicted new cases are misclassified" in err
    assert err.splitlines()[-1].startswith("Each of these statements holds separately")
    code, out, _ = run(capsys, "predict", model, test)
    assert code == 0
    labels = set(out.split()[1:])
    assert "abstain" in labels
    assert len(labels) > 1
    abstention = AbstainingClassifier.load(model).abstention_
    _, out, _ = run(capsys, "evaluate", model, test)
    assert "of 500 rows get a prediction (" in out
    assert run(capsys, "certify", model)[1].strip() == str(abstention)
    line = refused(capsys, "certify", model, test)
    assert "is that of the rows which chose its leaves. Hint: leave out the table" in line
    assert str(abstention) in out
    figures = json.loads(run(capsys, "evaluate", model, test, "--json")[1])
    assert 0 <= figures["errors_predicted"] <= figures["predicted"] < 500
    assert run(capsys, "certify", model)[1].strip() == str(abstention)
    code, out, _ = run(capsys, "monitor", model, test)
    assert (code, out.split(" of ")[1].split()[1]) == (0, "predicted")
    assert "abstains on some cases" in refused_by(tb.BoundTreeClassifier.load, model)
    line = refused(capsys, "fit", train, "--target", "y", "--abstain", "0.12", "--quiet",
                   "-o", model)  # fmt: skip
    assert "were not used for fitting" in line


def test_certify_bounds_the_mean_cost(files, capsys):
    train, test, model = files
    run(capsys, "fit", train, "--target", "y", "--certificate", "folds", "-o", model)
    clf = tb.BoundTreeClassifier.load(model)
    code, out, _ = run(capsys, "certify", model, "--costs", "ill=4")
    assert (code, out.strip()) == (0, str(clf.certify_cost(costs={"ill": 4.0})))
    _, out, _ = run(capsys, "certify", model, test, "--costs", "ill=4", "--json")
    assert json.loads(out)["m"] == 500
    assert "must be names of classes" in refused(capsys, "certify", model, "--costs", "sick=4")


@pytest.mark.parametrize("kind", ["held-out", "folds", "prior"])
def test_trees_grown_with_costs_and_weights_have_every_kind(kind, files, rows, capsys):
    train, _, model = files
    code, _, err = run(capsys, "fit", train, "--target", "y", "--certificate", kind, "--costs",
                       "ill=6", "-o", model)  # fmt: skip
    assert code == 0
    X, y = rows[["a", "b"]][:1000], rows.y[:1000]
    pruner = BoundPruner(costs={"ill": 6.0})
    clf = tb.BoundTreeClassifier(certificate=kind, pruning=pruner).fit(X, y)
    assert headline(clf.model_) in err.splitlines()
    assert err.splitlines()[-2] == str(clf.certify_cost(costs={"ill": 6.0}))
    assert err.splitlines()[-1].startswith("Each of these statements holds separately")
    plain = tb.BoundTreeClassifier(certificate=kind).fit(X, y)
    assert (clf.predict(X) == "ill").sum() > (plain.predict(X) == "ill").sum()
    weights = np.where(y == "ill", 3.0, 1.0)
    rows[:1000].assign(w=weights).to_csv(train, index=False)
    code, _, err = run(capsys, "fit", train, "--target", "y", "--certificate", kind,
                       "--class-weight", "ill=2", "--weight-column", "w", "-o", model)  # fmt: skip
    clf = tb.BoundTreeClassifier(certificate=kind, class_weight={"ill": 2.0, "well": 1.0})
    assert headline(clf.fit(X, y, sample_weight=weights).model_) in err.splitlines()
    assert tb.BoundTreeClassifier.load(model).to_text() == clf.to_text()


def test_several_risks_of_abstention_have_a_file_each(files, capsys):
    train, _, model = files
    code, _, err = run(capsys, "fit", train, "--target", "y", "--certificate", "held-out",
                       "--abstain", "0.1", "--abstain", "0.2", "-o", model)  # fmt: skip
    assert code == 0
    for risk in (0.1, 0.2):
        abstention = AbstainingClassifier.load(model.with_stem(f"model-{risk:g}")).abstention_
        assert (abstention.max_risk, abstention.delta) == (risk, 0.05)
        assert str(abstention) in err
    assert not model.exists()
    model.with_stem("model-0.3").write_text("mine")
    assert "model-0.3.json" in refused(capsys, "fit", train, "--target", "y", "--certificate",
                                       "held-out", "--abstain", "0.1", "--abstain", "0.3", "-o",
                                       model)  # fmt: skip


def refused_by(function, *args):
    with pytest.raises(ValueError) as error:
        function(*args)
    return str(error.value)


def test_monitor_is_silent_while_the_promise_is_kept_and_exits_with_3_on_alarm(
    files, rows, capsys, tmp_path
):
    train, test, model = files
    run(capsys, "fit", train, "--target", "y", "--certificate", "folds", "-o", model)
    state, picture = tmp_path / "state.json", tmp_path / "evidence.png"
    code, out, _ = run(capsys, "monitor", model, test, "--state", state)
    assert code == 0
    assert out.startswith("No alarm: ")
    assert json.loads(state.read_text())["monitor"]["streams"][0]["seen"] == 500
    drift = rows[1000:].assign(y=np.where(rows.y[1000:] == "ill", "well", "ill"))
    drift.to_csv(test, index=False)
    code, out, _ = run(capsys, "monitor", model, test, "--state", state, "--plot", picture)
    assert code == 3
    assert "ALARM after 5" in out
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert run(capsys, "monitor", model, test, "--state", state)[0] == 3
    line = refused(capsys, "monitor", model, test, "--state", state, "--alpha", "0.05")
    assert "watches other bounds or another alpha" in line
    state.write_text(state.read_text().replace('"seen":5', '"seen":6', 1))
    assert "was changed" in refused(capsys, "monitor", model, test, "--state", state)
    state.write_text("{}")
    assert "is not the state of a monitor" in refused(capsys, "monitor", model, test, "--state",
                                                      state)  # fmt: skip
    assert "reads it" in refused(capsys, "monitor", model, test, "--state", model)


def test_monitor_skips_labels_not_known_yet_and_counts_new_classes_as_errors(
    files, rows, capsys, tmp_path
):
    train, test, model = files
    run(capsys, "fit", train, "--target", "y", "--certificate", "folds", "-o", model)
    later, state = rows[1000:].copy(), tmp_path / "state.json"
    later.to_csv(test, index=False)
    _, plain, _ = run(capsys, "monitor", model, test)
    later.iloc[::2, later.columns.get_loc("y")] = None
    for form in ("csv", "parquet"):
        path = test.with_suffix(f".{form}")
        later.to_csv(path, index=False) if form == "csv" else later.to_parquet(path)
        state.unlink(missing_ok=True)
        code, out, _ = run(capsys, "monitor", model, path, "--state", state)
        assert (code, out[:10]) == (0, "No alarm: ")
        assert " of 250 rows are misclassified" in out
        assert "Skipped so far: 250 rows without a label. Assumption: whether a label" in out
    _, out, _ = run(capsys, "monitor", model, path, "--state", state)
    assert "Skipped so far: 500 rows" in out
    assert "Skipped" not in plain
    later.iloc[1, later.columns.get_loc("y")] = "dead"
    later.to_csv(test, index=False)
    _, out, _ = run(capsys, "monitor", model, test)
    assert "Counted as errors: labels that are no class of the model, 'dead'." in out


def test_monitor_refuses_text_for_numbers(rows, capsys, tmp_path):
    table, model = tmp_path / "rows.csv", tmp_path / "model.json"
    rows = rows.assign(y=(rows.y == "ill").astype(int))
    rows.to_csv(table, index=False)
    run(capsys, "fit", table, "--target", "y", "-o", model)
    rows.y = rows.y.astype(object)
    rows.iloc[3, rows.columns.get_loc("y")] = "ill"
    rows.to_csv(table, index=False)
    line = refused(capsys, "monitor", model, table)
    assert "holds 'ill' in row 4, which is not of the type of its classes (0, 1)" in line
    assert run(capsys, "monitor", model, table, "--missing", "ill")[0] == 0


def test_evaluate_and_certify_give_limits_by_class(files, capsys):
    train, test, model = files
    run(capsys, "fit", train, "--target", "y", "--certificate", "folds", "-o", model)
    certificate = tb.BoundTreeClassifier.load(model).certificate_
    _, out, _ = run(capsys, "certify", model, "--verbose")
    assert out.strip() == certificate.explain()
    _, out, _ = run(capsys, "certify", model)
    assert out.strip() == certificate.explain(proof=False)
    assert "\nKind: folds.\n" in out
    assert "It rests on" not in out
    assert all(f"- {limit}" in out for limit in certificate.by_class)
    _, out, _ = run(capsys, "evaluate", model, test)
    assert "\nBy class (all of these hold with probability 95 %, separately from the" in out
    assert "\n- ill" in out
    _, out, _ = run(capsys, "evaluate", model, test, "--json")
    limits = json.loads(out)["certificate"]["by_class"]
    assert [limit["label"] for limit in limits] == ["ill", "well"]
    assert sum(limit["m"] for limit in limits) == 500
    _, out, _ = run(capsys, "evaluate", model, train)
    assert "comparable rows equal training rows" in out


def test_a_kind_needs_rows(files, capsys):
    train, _, model = files
    run(capsys, "fit", train, "--target", "y", "-o", model)
    for kind in ("training", "held-out", "prior"):
        line = refused(capsys, "certify", model, "--kind", kind)
        assert "--kind describes the rows of a table. Hint: name the table, or leave out" in line


def test_no_row_is_of_the_class_of_abstention(files, capsys):
    train, test, model = files
    options = ("--certificate", "held-out", "--abstain", "0.12")
    run(capsys, "fit", train, "--target", "y", *options, "-o", model)
    out = run(capsys, "evaluate", model, test)[1]
    assert [line.split()[0] for line in out.splitlines()[-3:]] == ["true", "ill", "well"]
