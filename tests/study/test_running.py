"""A study is complete, counted once, and the same whatever computes it."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import stand_ins
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from stand_ins import rows_of, run_study

from treebound.data import Sample
from treebound.study import Estimator, NamedSample, Protocol, processes
from treebound.study.models import encoded_frame
from treebound.study.results import Results
from treebound.study.runner import Observer, Study
from treebound.study.splits import seeds_of


def test_every_result_is_a_row():
    study = stand_ins.study(stand_ins.trees())
    rows = rows_of(study)
    assert len(rows) == study.size == 20
    assert {row["seed"] for row in rows} == set(seeds_of(5))
    for row in rows:
        assert row["error"] is None
        assert 0 <= row["test_accuracy"] <= 1
        assert row["log_loss"] >= 0
        assert 0 <= row["brier"] <= 2
        assert row["grow_seconds"] > 0
        assert "scikit-learn" in row["versions"]
    full = [row for row in rows if row["model"] == "full"]
    assert all(row["train_accuracy"] == 1.0 and row["leaves"] > 2 for row in full)


def test_results_are_the_same_on_one_process_and_two():
    study = stand_ins.study(stand_ins.trees(), draws=4)
    one, two = rows_of(study, jobs=1), rows_of(study, jobs=2)
    assert stand_ins.without_times(one) == stand_ins.without_times(two)


def test_results_do_not_depend_on_which_models_run_together():
    both = stand_ins.study(stand_ins.trees(), draws=3)
    alone = stand_ins.study(stand_ins.trees()[1:], draws=3)
    expected = [row for row in stand_ins.without_times(rows_of(both)) if row["model"] == "full"]
    assert stand_ins.without_times(rows_of(alone)) == expected


def test_a_second_run_adds_nothing_and_more_draws_add_the_rest(tmp_path):
    path = tmp_path / "results.sqlite"
    models = stand_ins.trees()
    for draws, added in ((2, 8), (2, 0), (5, 12)):
        assert run_study(stand_ins.study(models, draws=draws), path) == added
    rows = Results.read(path).rows
    fresh = rows_of(stand_ins.study(models, draws=5))
    assert stand_ins.without_times(rows) == stand_ins.without_times(fresh)


def test_a_model_that_fails_is_a_row_with_the_error(tmp_path):
    unlucky = seeds_of(3)[1]
    study = stand_ins.study((stand_ins.Fails("fails", unlucky), *stand_ins.trees()), draws=3)
    path = tmp_path / "results.sqlite"
    rows = rows_of(study, path)
    failed = [row for row in rows if row["error"]]
    assert run_study(study, path) == 0
    assert run_study(study, path, retry=True) == 2
    assert len(rows) == study.size
    assert [(row["model"], row["seed"]) for row in failed] == [("fails", unlucky)] * 2
    assert "ArithmeticError: no luck with this draw" in failed[0]["error"]
    assert failed[0]["test_accuracy"] is None


@pytest.mark.parametrize(
    ("how", "message", "jobs"),
    [
        ("exit", "SystemExit: done", 1),
        pytest.param("die", "its process died, exit code 3", 2, marks=pytest.mark.heavy),
        ("killed", "its process died, signal SIGSEGV", 1),
        ("hang", "no result within 5 s. Hint: allow more with --timeout", 1),
    ],
)
def test_a_model_that_ends_its_process_or_hangs_is_a_row_and_the_rest_goes_on(how, message, jobs):
    unlucky = seeds_of(3)[1]
    before, after = stand_ins.trees()
    study = stand_ins.study((before, stand_ins.Ends("ends", how, unlucky), after), draws=3, count=1)
    rows = rows_of(study, jobs=jobs, timeout=5 if how == "hang" else None)
    assert len(rows) == study.size
    (failed,) = [row for row in rows if row["error"]]
    assert (failed["model"], failed["seed"]) == ("ends", unlucky)
    assert message in failed["error"]
    remaining = [row for row in stand_ins.without_times(rows) if row["model"] != "ends"]
    alone = stand_ins.study((before, after), draws=3, count=1)
    assert remaining == stand_ins.without_times(rows_of(alone))


def test_models_of_a_notebook_take_part():
    class Own(DecisionTreeClassifier):
        pass

    rows = rows_of(stand_ins.study((Estimator("own", Own(max_depth=1)),), draws=1, count=1))
    assert [row["error"] for row in rows] == [None]


@pytest.mark.filterwarnings("ignore:.*still being processed:UserWarning")
def test_stopping_a_study_ends_its_processes(tmp_path):
    psutil = pytest.importorskip("psutil")

    class Stops(Observer):
        def show(self, event):
            raise KeyboardInterrupt

    hangs = stand_ins.Ends("hangs", "hang", seeds_of(2)[1])
    study = stand_ins.study((hangs,), draws=2, count=1)
    with pytest.raises(KeyboardInterrupt):
        run_study(study, tmp_path / "results.sqlite", jobs=2, observer=Stops())
    idle = {child._process.pid for child in processes._idle}
    alive = {
        child.pid
        for child in psutil.Process().children()
        if "treebound.study.processes" in " ".join(child.cmdline())
    }
    assert alive == idle


@pytest.mark.heavy
@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_at_any_moment_it_goes_on_where_it_was(tmp_path, jobs):
    path = tmp_path / "results.sqlite"
    command = [sys.executable, str(Path(stand_ins.__file__)), str(path), str(jobs)]
    seen = 0
    for step in (1, 7, 10) if jobs == 1 else (7,):
        process = subprocess.Popen(command, start_new_session=True)
        while process.poll() is None and count(path) < seen + step:
            time.sleep(0.01)
        assert process.poll() is None, "it ended before it could be killed"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert count(path) >= seen + step, "a stored result was lost"
        seen = count(path)
    assert seen < 30, "nothing was left to go on with"
    assert subprocess.run(command, check=False).returncode == 0
    study = stand_ins.study(stand_ins.slow_models())
    rows = Results.read(path).rows
    assert stand_ins.without_times(rows) == stand_ins.without_times(rows_of(study))


def count(path):
    """Number of stored results, seen from outside."""
    if not path.exists():
        return 0
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            return connection.execute("SELECT count(*) FROM result").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def test_two_runs_into_one_store_count_nothing_twice(tmp_path):
    path = tmp_path / "results.sqlite"
    command = [sys.executable, str(Path(stand_ins.__file__)), str(path), "1"]
    both = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert count(path) == stand_ins.study(stand_ins.slow_models()).size


def test_another_table_or_model_of_the_same_name_is_refused(tmp_path):
    models, path = stand_ins.trees(), tmp_path / "results.sqlite"
    other = Estimator("stump", DecisionTreeClassifier(max_depth=3))
    run_study(stand_ins.study(models, draws=1), path)
    with pytest.raises(ValueError, match=r"another model named 'stump'.*max_depth=1.*max_depth=3"):
        run_study(stand_ins.study((other,), draws=1), path)
    changed = Study(stand_ins.samples(1, rows=61), models, Protocol("toy", lambda: models))
    with pytest.raises(ValueError, match="another data set named 'toy0'"):
        run_study(changed, path)


def test_any_classifier_takes_part_on_categories_and_missing_values():
    rng = np.random.default_rng(0)
    nominal = rng.integers(0, 3, 80)
    colours, grades = ["red", "green", "blue"], ["a", "b", "c", "d"]
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=80),
            "colour": pd.Categorical.from_codes(nominal, colours),
            "grade": pd.Categorical.from_codes(rng.integers(0, 4, 80), grades, ordered=True),
        }
    )
    mixed = NamedSample("mixed", Sample.learn(frame, np.where(nominal == 1, "yes", "no")))
    linear = Estimator("linear", LogisticRegression())
    reads_types = Estimator("frame", ReadsTypes(), takes="frame")
    models = [linear, reads_types]
    study = Study([mixed], models, Protocol("any", lambda: models, draws=3))
    rows = rows_of(study)
    assert [row["error"] for row in rows] == [None] * 6
    assert all(row["test_accuracy"] == 1.0 for row in rows)
    assert all(row["leaves"] is None for row in rows)
    assert [mixed.count(kind) for kind in ("real", "ordinal", "nominal")] == [1, 1, 1]
    pd.testing.assert_frame_equal(encoded_frame(mixed.sample.X), frame)


class ReadsTypes(DecisionTreeClassifier):
    """A classifier that insists on a frame with a categorical column."""

    def fit(self, X, y):
        assert str(X["colour"].dtype) == "category"
        return super().fit(X[["colour"]].apply(lambda c: c.cat.codes), y)

    def predict(self, X):
        return super().predict(X[["colour"]].apply(lambda c: c.cat.codes))

    def predict_proba(self, X):
        return super().predict_proba(X[["colour"]].apply(lambda c: c.cat.codes))

    def get_n_leaves(self):
        raise AttributeError
