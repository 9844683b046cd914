"""The regression benchmark as a whole, on the table that comes with scikit-learn."""

import json
import sys

import numpy as np
import pytest
import unseen_regression
from catalogue import REGRESSION
from regression_models import CCP, CCP_LEAF_SIZE, CONSTANT
from unseen_regression import compare, summarise


@pytest.fixture
def command(monkeypatch, tmp_path):
    diabetes = tuple(spec for spec in REGRESSION if spec.name == "sklearn/diabetes")
    monkeypatch.setattr(unseen_regression, "REGRESSION", diabetes)
    monkeypatch.setattr(unseen_regression, "RESULTS", tmp_path)
    monkeypatch.setattr(unseen_regression, "models", lambda: ([CCP, CCP_LEAF_SIZE, CONSTANT], []))

    def run(*words):
        store = ["--store", str(tmp_path / "store.sqlite"), "--jobs", "1"]
        monkeypatch.setattr(sys, "argv", ["unseen_regression.py", *store, *words])
        unseen_regression.main()

    return run


def figures(squared, leaves=4.0):
    return {"squared error": squared, "absolute error": squared, "leaves": leaves, "seconds": 1.0}


def test_the_development_half(command, tmp_path, capsys):
    command("--draws", "2")
    assert "development half: 1 tables, 2 draws" in capsys.readouterr().out
    result = json.loads((tmp_path / "unseen_regression.json").read_text())["development"]
    assert result["tables"] == 1
    assert result["by table"]["sklearn/diabetes"]["rows"] == 442
    assert result["models"][CONSTANT]["R2"] == 0.0
    assert result["models"][CCP]["R2"] > 0.1
    assert (tmp_path / "unseen_regression_development.png").stat().st_size > 1000
    assert not (tmp_path / "unseen_regression_log.json").exists()


def test_each_look_at_the_test_half_is_logged(command, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(unseen_regression, "half_of", lambda spec: "test")
    monkeypatch.setattr(unseen_regression, "DRAWS", 1)
    for _ in range(2):
        command("--test-half")
    looks = json.loads((tmp_path / "unseen_regression_log.json").read_text())
    assert [look["result"]["tables"] for look in looks] == [1, 1]
    assert "Look 2 at the test half" in capsys.readouterr().out


def test_the_test_half_is_not_looked_at_in_parts(command, capsys):
    with pytest.raises(SystemExit):
        command("--test-half", "--match", "sklearn")
    assert "--test-half is run as a whole" in capsys.readouterr().err


def test_root_mean_squared_errors_are_compared_by_logs():
    means = {
        "small": {CCP: figures(1.0), CONSTANT: figures(4.0, 1.0)},
        "large": {CCP: figures(2.0), CONSTANT: figures(2.0, 1.0)},
    }
    gap = compare(means, CONSTANT, CCP, ["small", "large"], "squared error")
    assert gap["mean"] == pytest.approx(100 * np.log(2.0) / 2, abs=1e-3)  # RMSE: x 2 and x 1
    summary = summarise(means, {"small": 500, "large": 6000}, [CCP, CONSTANT])
    against = summary[CONSTANT][f"against {CCP}"]
    assert against["RMSE by rows"]["below 1,000 rows"]["mean"] == pytest.approx(69.3147, abs=1e-3)
    assert against["RMSE by rows"]["1,000 to 4,999"]["tables"] == 0
    assert against["RMSE by rows"]["5,000 and more"]["mean"] == 0.0
    assert summary[CCP]["R2"] == pytest.approx(0.375)
    assert against["leaves"]["mean"] == pytest.approx(-100 * np.log(4.0), abs=1e-3)
