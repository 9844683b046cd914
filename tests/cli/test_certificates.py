"""fit --certificate and --refer, and monitor."""

import json

import numpy as np
import pandas as pd
import pytest
from shell import refused, run

import treebound as tb
from treebound.estimators.referring import ReferringClassifier
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
    own = tb.BoundTreeClassifier(certificate=kind).fit(rows[["a", "b"]][:1000], rows.y[:1000])
    assert str(own.certificate_) in err
    again = tb.BoundTreeClassifier.load(model)
    assert again.certificate_.risk == own.certificate_.risk
    assert again.to_text() == own.to_text()


def test_target_risk_is_an_option(files, capsys):
    train, _, model = files
    line = refused(capsys, "fit", train, "--target", "y", "-o", model, "--target-risk", "0.3")
    assert "--target-risk must be None unless" in line
    code, _, _ = run(capsys, "fit", train, "--target", "y", "-o", model, "--certificate", "prior",
                     "--target-risk", "0.3")  # fmt: skip
    assert code == 0
    assert tb.BoundTreeClassifier.load(model).certificate_.risk <= 0.3


def test_refer_writes_a_model_that_refers(files, capsys):
    train, test, model = files
    code, _, err = run(capsys, "fit", train, "--target", "y", "--certificate", "held-out",
                       "--refer", "0.1", "-o", model)  # fmt: skip
    assert code == 0
    assert "at most 10 % of the answered new cases are misclassified" in err
    code, out, _ = run(capsys, "predict", model, test)
    assert code == 0
    answers = set(out.split()[1:])
    assert "refer" in answers
    assert len(answers) > 1
    answered = ReferringClassifier.load(model).referral_
    _, out, _ = run(capsys, "evaluate", model, test)
    assert "of 500 rows are answered (" in out
    assert str(answered) in out
    figures = json.loads(run(capsys, "evaluate", model, test, "--json")[1])
    assert 0 <= figures["errors_answered"] <= figures["answered"] < 500
    assert run(capsys, "certify", model)[1].strip() == str(answered)
    code, out, _ = run(capsys, "monitor", model, test)
    assert (code, out.split(" of ")[1].split()[1]) == (0, "answered")
    assert "refers some cases" in refused_by(tb.BoundTreeClassifier.load, model)
    line = refused(capsys, "fit", train, "--target", "y", "--refer", "0.1", "--quiet",
                   "-o", model)  # fmt: skip
    assert "took no part in fitting" in line


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
                       "ill=6", "-o", model, "--force")  # fmt: skip
    assert code == 0
    X, y = rows[["a", "b"]][:1000], rows.y[:1000]
    pruner = BoundPruner(costs={"ill": 6.0})
    own = tb.BoundTreeClassifier(certificate=kind, pruning=pruner).fit(X, y)
    assert str(own.certificate_) in err
    assert err.splitlines()[-1] == str(own.certify_cost(costs={"ill": 6.0}))
    plain = tb.BoundTreeClassifier(certificate=kind).fit(X, y)
    assert (own.predict(X) == "ill").sum() > (plain.predict(X) == "ill").sum()
    weights = np.where(y == "ill", 3.0, 1.0)
    rows[:1000].assign(w=weights).to_csv(train, index=False)
    code, _, err = run(capsys, "fit", train, "--target", "y", "--certificate", kind,
                       "--class-weight", "ill=2", "--weight-column", "w", "-o", model,
                       "--force")  # fmt: skip
    own = tb.BoundTreeClassifier(certificate=kind, class_weight={"ill": 2.0, "well": 1.0})
    assert str(own.fit(X, y, sample_weight=weights).certificate_) in err
    assert tb.BoundTreeClassifier.load(model).to_text() == own.to_text()


def test_several_risks_of_referral_have_a_file_each(files, capsys):
    train, _, model = files
    code, _, err = run(capsys, "fit", train, "--target", "y", "--certificate", "held-out",
                       "--refer", "0.1", "--refer", "0.2", "-o", model)  # fmt: skip
    assert code == 0
    for risk in (0.1, 0.2):
        referral = ReferringClassifier.load(model.with_stem(f"model-{risk:g}")).referral_
        assert (referral.max_risk, referral.delta) == (risk, 0.025)
        assert str(referral) in err
    assert not model.exists()
    model.with_stem("model-0.3").write_text("mine")
    assert "model-0.3.json" in refused(capsys, "fit", train, "--target", "y", "--certificate",
                                       "held-out", "--refer", "0.1", "--refer", "0.3", "-o",
                                       model)  # fmt: skip


def refused_by(function, *args):
    with pytest.raises(ValueError) as error:
        function(*args)
    return str(error.value)


@pytest.mark.parametrize("kind", ["training", "held-out", "folds", "prior"])
def test_monitor_watches_the_leaves_without_labels(kind, files, rows, capsys, tmp_path):
    train, test, model = files
    run(capsys, "fit", train, "--target", "y", "--certificate", kind, "-o", model)
    rows[1000:].drop(columns="y").to_csv(test, index=False)
    state, picture = tmp_path / "state.json", tmp_path / "evidence.svg"
    code, out, _ = run(capsys, "monitor", model, test, "--no-labels", "--state", state)
    assert (code, out[:19]) == (0, "No alarm: 500 rows ")
    drift = pd.concat([rows[["a", "b"]].assign(a=1.0, b="u")] * 2)
    drift.to_csv(test, index=False)
    code, out, _ = run(capsys, "monitor", model, test, "--no-labels", "--state", state,
                       "--plot", picture)  # fmt: skip
    assert code == 3
    assert "the share of rows in leaf" in out
    assert picture.exists()
    test.write_text("a,b\n")
    assert "has no rows" in refused(capsys, "monitor", model, test, "--no-labels")


def test_monitor_is_silent_while_the_promise_is_kept_and_exits_with_3_on_alarm(
    files, rows, capsys, tmp_path
):
    train, test, model = files
    run(capsys, "fit", train, "--target", "y", "--certificate", "folds", "-o", model)
    state, picture = tmp_path / "state.json", tmp_path / "evidence.png"
    code, out, _ = run(capsys, "monitor", model, test, "--state", state)
    assert code == 0
    assert out.startswith("No alarm: ")
    assert json.loads(state.read_text())["streams"][0]["seen"] == 500
    drift = rows[1000:].assign(y=np.where(rows.y[1000:] == "ill", "well", "ill"))
    drift.to_csv(test, index=False)
    code, out, _ = run(capsys, "monitor", model, test, "--state", state, "--plot", picture)
    assert code == 3
    assert "ALARM after 5" in out
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert run(capsys, "monitor", model, test, "--state", state)[0] == 3
    line = refused(capsys, "monitor", model, test, "--state", state, "--alpha", "0.05")
    assert "watches other limits or another alpha" in line
    state.write_text("{}")
    assert "is not the state of a monitor" in refused(capsys, "monitor", model, test, "--state",
                                                      state)  # fmt: skip
    assert "reads it" in refused(capsys, "monitor", model, test, "--state", model)


def test_evaluate_and_certify_give_limits_by_class(files, capsys):
    train, test, model = files
    run(capsys, "fit", train, "--target", "y", "--certificate", "folds", "-o", model)
    own = tb.BoundTreeClassifier.load(model).certificate_
    _, out, _ = run(capsys, "certify", model)
    assert out.strip() == own.explain()
    assert all(f"- {limit}" in out for limit in own.by_class)
    _, out, _ = run(capsys, "evaluate", model, test)
    assert (
        "\nBy class, all together with probability 95 %, with the limit above 90 %:\n- ill" in out
    )
    _, out, _ = run(capsys, "evaluate", model, test, "--json")
    limits = json.loads(out)["certificate"]["by_class"]
    assert [limit["label"] for limit in limits] == ["ill", "well"]
    assert sum(limit["m"] for limit in limits) == 500
    _, out, _ = run(capsys, "evaluate", model, train)
    assert "These rows took part in fitting" in out
