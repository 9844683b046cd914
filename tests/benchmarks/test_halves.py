"""Store, runs, log and statistics of the benchmarks on halves of the catalogue."""

import json
from dataclasses import replace

import numpy as np
import pytest
from catalogue import REGRESSION
from halves import Store, Task, append_look, missing_tasks, paired, run

FIRST, SECOND = REGRESSION[:2]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results.sqlite", "settings")


def one(task):
    return {model: {"draw": float(task.draw)} for model in task.models}


def test_a_run_goes_on_where_it_was_interrupted(store):
    def interrupted(task):
        if task.draw == 1:
            raise KeyboardInterrupt
        return one(task)

    tasks = missing_tasks(store, [FIRST, SECOND], ["a", "b"], draws=2)
    assert [(t.spec, t.draw) for t in tasks] == [(FIRST, 0), (SECOND, 0), (FIRST, 1), (SECOND, 1)]
    assert not run(store, tasks, interrupted, jobs=1)
    rest = missing_tasks(store, [FIRST, SECOND], ["a", "b"], draws=2)
    assert [(t.spec, t.draw) for t in rest] == [(FIRST, 1), (SECOND, 1)]
    assert run(store, rest, one, jobs=1)
    assert not missing_tasks(store, [FIRST, SECOND], ["a", "b"], draws=2)
    assert store.read(SECOND) == {m: {0: {"draw": 0.0}, 1: {"draw": 1.0}} for m in ("a", "b")}


def test_only_models_without_results_are_run(store):
    store.add(FIRST, 0, {"a": {"x": 1.0}})
    assert missing_tasks(store, [FIRST], ["a", "b"], draws=1) == [Task(FIRST, 0, ("b",))]


def test_results_of_other_files_targets_and_settings_are_not_mixed(store):
    store.add(FIRST, 0, {"a": {"x": 1.0}})
    assert Store(store.path, "settings").read(FIRST)
    assert not Store(store.path, "other settings").read(FIRST)
    assert not store.read(replace(FIRST, sha256="0" * 64))
    assert not store.read(replace(FIRST, target="another"))
    assert not store.read(replace(FIRST, drop=("one",)))


def test_every_look_is_on_record(tmp_path):
    path = tmp_path / "log.json"
    assert append_look(path, {"tables": 1}) == 1
    assert append_look(path, {"tables": 2}) == 2
    looks = json.loads(path.read_text())
    assert [look["result"]["tables"] for look in looks] == [1, 2]
    assert all({"date", "commit", "versions"} <= set(look) for look in looks)


def test_paired_differences():
    gaps = np.array([1.0, 2.0, 3.0, 6.0])
    result = paired(gaps)
    assert (result["tables"], result["mean"]) == (4, 3.0)
    assert result["standard error"] == pytest.approx(gaps.std(ddof=1) / 2, abs=1e-4)
    assert result["p"] == 0.125  # all four of one sign
    assert paired(np.zeros(5))["p"] == 1.0
    assert paired(np.array([2.0])) == {"tables": 1, "mean": 2.0, "standard error": None, "p": None}
    assert paired(np.array([])) == {"tables": 0, "mean": None, "standard error": None, "p": None}
