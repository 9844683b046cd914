"""The regression benchmark as a whole, on the table that comes with scikit-learn."""

import json

import evidence
import numpy as np
import pytest
import unseen_regression
from catalogue import REGRESSION
from regression_models import CCP, CCP_LEAF_SIZE, CONSTANT, task_of
from unseen_regression import difference, means_of, summarise


@pytest.fixture
def done(monkeypatch):
    """Run tasks in this process; return those that were run."""
    ran = []

    def run_tasks(tasks, work, store, *, jobs):
        present = store.results(tasks)
        for task in tasks:
            if task not in present:
                store.add(task, work(task))
                ran.append(task)

    monkeypatch.setattr(unseen_regression, "run_tasks", run_tasks)
    return ran


@pytest.fixture
def command(monkeypatch, tmp_path, done):
    diabetes = tuple(spec for spec in REGRESSION if spec.name == "sklearn/diabetes")
    monkeypatch.setattr(unseen_regression, "REGRESSION", diabetes)
    monkeypatch.setattr(unseen_regression, "methods", lambda: ([CCP, CCP_LEAF_SIZE, CONSTANT], []))

    def run(*words):
        files = {"--store": "store.sqlite", "--log": "log.json", "--results": "."}
        options = [word for name, file in files.items() for word in (name, str(tmp_path / file))]
        unseen_regression.main(["--jobs", "1", *options, *words])

    return run


def figures(squared, leaves=4.0):
    return {"squared error": squared, "absolute error": squared, "leaves": leaves, "seconds": 1.0}


def test_the_development_half(command, tmp_path, capsys):
    command("--draws", "2")
    assert "development half: 1 tables, 2 draws" in capsys.readouterr().out
    result = json.loads((tmp_path / "unseen_regression.json").read_text())
    assert (result["half"], result["draws"], result["fits"]) == ("development", 2, 4)
    assert result["tables"]["sklearn/diabetes"]["rows"] == 442
    assert result["methods"][CONSTANT]["R2"] == 0.0
    assert result["methods"][CCP]["R2"] > 0.1
    assert (tmp_path / "unseen_regression.png").stat().st_size > 1000
    assert not (tmp_path / "log.json").exists()


def test_each_look_at_the_test_half_is_logged(command, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(evidence, "half_of", lambda spec: "test")
    monkeypatch.setattr(unseen_regression, "DRAWS", 1)
    for _ in range(2):
        command("--test-half", "--draws", "1")
    looks = json.loads((tmp_path / "log.json").read_text())
    assert [look["tables"] for look in looks] == [1, 1]
    assert all({"date", "commit", "methods"} <= set(look) for look in looks)
    assert "now has 2 entries" in capsys.readouterr().out
    assert (tmp_path / "unseen_regression_test.json").exists()
    assert not (tmp_path / "unseen_regression.json").exists()


def test_the_test_half_is_not_looked_at_in_parts(command, capsys):
    with pytest.raises(SystemExit):
        command("--test-half", "--match", "sklearn")
    assert "--test-half is run as a whole" in capsys.readouterr().err


def test_root_mean_squared_errors_are_compared_by_logs():
    means = {
        CCP: {"small": figures(1.0), "large": figures(2.0)},
        CONSTANT: {"small": figures(4.0, 1.0), "large": figures(2.0, 1.0)},
    }
    gap = difference(means, CONSTANT, CCP, "squared error")
    assert gap["mean"] == pytest.approx(100 * np.log(2.0) / 2, abs=1e-3)  # RMSE: x 2 and x 1
    summary = summarise(means, {"small": 500, "large": 6000})
    against = summary[CONSTANT][f"against {CCP}"]
    assert against["RMSE by rows"]["below 1,000 rows"]["mean"] == pytest.approx(69.3147, abs=1e-3)
    assert against["RMSE by rows"]["1,000 to 4,999"]["tables"] == 0
    assert against["RMSE by rows"]["5,000 and more"]["mean"] == 0.0
    assert summary[CCP]["R2"] == pytest.approx(0.375)
    assert against["leaves"]["mean"] == pytest.approx(-100 * np.log(4.0), abs=1e-3)


def test_an_interrupted_run_continues(command, done):
    command("--draws", "1", "--match", "diabetes")
    done.clear()
    command("--draws", "2", "--match", "diabetes")
    assert [(task.draw, task.method) for task in done] == [(1, CCP_LEAF_SIZE), (1, CONSTANT)]


def test_tables_with_a_failed_fit_are_skipped():
    (spec,) = (spec for spec in REGRESSION if spec.name == "sklearn/diabetes")
    results = {task_of(spec, 0, CCP): "ValueError: no", task_of(spec, 0, CONSTANT): figures(2.0)}
    means = means_of(results, [spec], [CCP, CONSTANT], 1)
    assert means[CCP] == {}
    assert means[CONSTANT]["sklearn/diabetes"]["squared error"] == 2.0
