"""fit --certify and --refer, and monitor."""

import json

import numpy as np
import pandas as pd
import pytest
from shell import refused, run

import treebound as tb


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
    code, _, err = run(capsys, "fit", train, "--target", "y", "--certify", kind, "-o", model)
    assert code == 0
    own = tb.BoundTreeClassifier(certify=kind).fit(rows[["a", "b"]][:1000], rows.y[:1000])
    assert str(own.certificate_) in err
    again = tb.BoundTreeClassifier.load(model)
    assert again.certificate_.risk == own.certificate_.risk
    assert again.to_text() == own.to_text()


def test_target_risk_is_an_option(files, capsys):
    train, _, model = files
    line = refused(capsys, "fit", train, "--target", "y", "-o", model, "--target-risk", "0.3")
    assert "--target-risk must be None unless" in line
    code, _, _ = run(capsys, "fit", train, "--target", "y", "-o", model, "--certify", "prior",
                     "--target-risk", "0.3")  # fmt: skip
    assert code == 0
    assert tb.BoundTreeClassifier.load(model).certificate_.risk <= 0.3


def test_refer_writes_a_model_that_refers(files, capsys):
    train, test, model = files
    code, _, err = run(capsys, "fit", train, "--target", "y", "--certify", "held-out", "--refer",
                       "0.1", "-o", model)  # fmt: skip
    assert code == 0
    assert "at most 10 % of the answered new cases are misclassified" in err
    code, out, _ = run(capsys, "predict", model, test)
    assert code == 0
    answers = set(out.split()[1:])
    assert "refer" in answers
    assert len(answers) > 1
    line = refused(capsys, "fit", train, "--target", "y", "--refer", "0.1", "--quiet",
                   "-o", model)  # fmt: skip
    assert "took no part in fitting" in line


def test_monitor_is_silent_while_the_promise_is_kept_and_exits_with_3_on_alarm(
    files, rows, capsys, tmp_path
):
    train, test, model = files
    run(capsys, "fit", train, "--target", "y", "--certify", "folds", "-o", model)
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
