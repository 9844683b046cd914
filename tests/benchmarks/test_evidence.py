"""Stored results, the log of the test half, and comparisons of the benchmarks."""

import json
from pathlib import Path

import evidence
import numpy as np
import pytest
from evidence import Store, Task, append_to_log, compare, draw_rows, figure_by_table, run_tasks
from some_tasks import TASKS, work


def test_draws_are_fixed_and_take_15_percent_for_the_test() -> None:
    train, test = draw_rows(200, 3)
    assert (len(train), len(test)) == (170, 30)
    assert sorted([*train, *test]) == list(range(200))
    np.testing.assert_array_equal(test, draw_rows(200, 3)[1])
    assert list(test) != list(draw_rows(200, 4)[1])


# -- the log ---------------------------------------------------------------------------------------


def test_the_log_appends_and_keeps_earlier_entries(tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    assert append_to_log(log, {"commit": "a", "accuracy": 1.0}) == 1
    first = json.loads(log.read_text())
    assert append_to_log(log, {"commit": "b", "accuracy": 2.0}) == 2
    entries = json.loads(log.read_text())
    assert entries[:1] == first
    assert entries[1] == {"commit": "b", "accuracy": 2.0}


@pytest.mark.parametrize("content", ['{"commit": "a"}', "[1]", "not json", ""])
def test_a_damaged_log_is_not_overwritten(tmp_path: Path, content: str) -> None:
    log = tmp_path / "log.json"
    log.write_text(content)
    with pytest.raises(ValueError):
        append_to_log(log, {"commit": "b"})
    assert log.read_text() == content


# -- the store -------------------------------------------------------------------------------------


def test_results_belong_to_a_version_of_a_method(tmp_path: Path) -> None:
    task = TASKS[0]
    newer = task._replace(version="2")
    with Store(tmp_path / "s.sqlite") as store:
        store.add(task, {"accuracy": 50.0})
        store.add(TASKS[1], None, "ValueError: no")
    with Store(tmp_path / "s.sqlite") as store:
        assert store.results([task, TASKS[1], newer]) == {
            task: {"accuracy": 50.0},
            TASKS[1]: "ValueError: no",
        }
        store.forget("ours", ["b"])
        assert task in store.results([task])
        store.forget("ours", ["a"])
        assert store.results(TASKS) == {}


def test_tasks_fail_crash_or_are_cut_off_without_stopping_the_run(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        store.add(TASKS[5], {"accuracy": 7.0})
        run_tasks(TASKS, work, store, jobs=2, limit=0.3)
        assert store.results(TASKS) == {
            TASKS[0]: {"accuracy": 0.0},
            TASKS[1]: "ValueError: no such thing",
            TASKS[2]: evidence.CUT_OFF,
            TASKS[3]: evidence.CUT_OFF,
            TASKS[4]: "the process ended with code 3",
            TASKS[5]: {"accuracy": 7.0},
        }


def test_after_some_cut_off_fits_the_other_draws_are_not_run(tmp_path: Path) -> None:
    endless = [TASKS[2]._replace(draw=draw) for draw in (2, 3, 4)]
    with Store(tmp_path / "s.sqlite") as store:
        store.add(endless[0], None, evidence.CUT_OFF)
        run_tasks(endless, work, store, jobs=1, limit=0.3, patience=1)
        assert list(store.results(endless).values()) == [evidence.CUT_OFF] * 3


# -- comparisons -----------------------------------------------------------------------------------


def test_differences_are_paired_by_draw_and_then_by_table() -> None:
    ours = {"a": {0: 3.0, 1: 5.0, 2: 100.0}, "b": {0: 1.0}, "c": {0: 9.0}}
    rival = {"a": {0: 1.0, 1: 1.0}, "b": {0: 2.0}}
    paired = compare(ours, rival)
    assert paired is not None
    assert paired.difference == pytest.approx((3.0 - 1.0) / 2)
    assert paired.standard_error == pytest.approx(2.0)
    assert (paired.tables, paired.better, paired.worse) == (2, 1, 1)
    assert compare(ours, {"z": {0: 1.0}}) is None
    same = compare(ours, ours)
    assert same is not None
    assert same.p_value is None


def test_figures_skip_errors_and_missing_values() -> None:
    results: dict[Task, evidence.Figures | str] = {
        TASKS[0]: {"leaves": 3.0},
        TASKS[1]: {"leaves": None},
        TASKS[2]: "failed",
    }
    assert figure_by_table(results, "ours", "leaves") == {"a": {0: 3.0}}


def test_the_hash_of_sources_changes_with_them(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    before = evidence.source_hash(tmp_path)
    (tmp_path / "notes.txt").write_text("not a source")
    assert evidence.source_hash(tmp_path) == before
    (tmp_path / "a.py").write_text("2")
    assert evidence.source_hash(tmp_path) != before
