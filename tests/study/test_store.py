"""A store that cannot be used is refused in one line, and nothing is changed."""

import hashlib
import os
import resource
import shutil
import sqlite3
from contextlib import closing, contextmanager

import pytest
import stand_ins
from support import ordinary_user

from treebound.cli import main
from treebound.study.results import Results
from treebound.study.store import Store, StoreError


def filled(path, draws=1):
    stand_ins.run_study(stand_ins.study(stand_ins.trees(), draws=draws), path)
    return path


def state(folder):
    """Names and contents of all files in a folder."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.is_file()
    }


def refused(capsys, *words):
    """The one line that a command fails with."""
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    captured = capsys.readouterr()
    assert end.value.code == 2, captured.err
    (line,) = captured.err.splitlines()
    return line


def bench(path):
    return [
        "study",
        "run",
        "--sets",
        "sklearn:iris",
        "--models",
        "Unpruned",
        "--draws",
        1,
        "--store",
        path,
    ]


def foreign(path, *statements):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(";".join(statements))
    return path


def not_a_store(path, kind):
    if kind == "text":
        path.write_text("some notes")
    elif kind == "empty":
        path.touch()
    elif kind == "folder":
        path.mkdir()
    elif kind == "database":
        foreign(path, "PRAGMA user_version = 2", "CREATE TABLE mine (x)")
    elif kind == "wrong tables":
        filled(path)
        foreign(path, "ALTER TABLE result RENAME COLUMN brier TO beer")
    elif kind == "no table":
        filled(path)
        foreign(path, "DROP TABLE model")
    elif kind == "version":
        filled(path)
        foreign(path, "PRAGMA user_version = 9")
    elif kind == "cut short":
        content = filled(path).read_bytes()
        path.write_bytes(content[: len(content) // 2])
    return path


KINDS = (
    "text", "empty", "folder", "database", "wrong tables", "no table", "version", "cut short",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", ["bench", "report"])
def test_what_is_no_store_is_refused_and_left_as_it_was(tmp_path, capsys, kind, command):
    path = not_a_store(tmp_path / "results.sqlite", kind)
    before = state(tmp_path)
    if (command, kind) == ("bench", "empty"):
        assert filled(path).stat().st_size > 0
        return
    message = refused(capsys, *(bench(path) if command == "bench" else ["study", "report", path]))
    assert str(path) in message
    assert state(tmp_path) == before


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_foreign_database_keeps_its_journal_mode(tmp_path, mode):
    path = foreign(tmp_path / "mine.db", f"PRAGMA journal_mode = {mode}", "CREATE TABLE mine (x)")
    before = state(tmp_path)
    with pytest.raises(StoreError, match=r"mine\.db' is not a store of results: it is the data"):
        Store(path)
    assert state(tmp_path) == before
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone()[0].upper() == mode


def test_a_folder_that_is_missing_or_read_only_is_named(tmp_path, capsys):
    assert f"no folder {tmp_path / 'no'}" in refused(capsys, *bench(tmp_path / "no" / "r.sqlite"))
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    with ordinary_user():
        message = refused(capsys, *bench(locked / "r.sqlite"))
    assert "r.sqlite: permission denied" in message
    assert list(locked.iterdir()) == []


@pytest.mark.parametrize("log", [False, True], ids=["folded", "with a log"])
def test_a_store_that_may_only_be_read_is_reported(tmp_path, capsys, log):
    path = filled(tmp_path / "results.sqlite", draws=2)
    expected = Results.read(path).rows
    folder = tmp_path / "locked"
    folder.mkdir()
    if log:  # the copy of a store that is being written to: results are still in its log
        with Store(path) as store:
            store.forget_errors("nothing")
            store.add(expected[0]["study"], {**expected[0], "draw": 7})
            for name in os.listdir(tmp_path):
                if name.startswith("results"):
                    shutil.copy(tmp_path / name, folder)
        assert (folder / "results.sqlite-wal").stat().st_size > 0
    else:
        shutil.copy(path, folder)
    before = state(folder)
    for file in folder.iterdir():
        file.chmod(0o400)
    folder.chmod(0o500)
    with ordinary_user():
        with pytest.raises(PermissionError):
            (folder / "new").touch()
        rows = Results.read(folder / "results.sqlite").rows
        assert [row for row in rows if row["draw"] < 7] == expected
        assert len(rows) == len(expected) + log
        main_exit(capsys, "study", "report", folder / "results.sqlite")
    assert state(folder) == before
    folder.chmod(0o700)


def main_exit(capsys, *words):
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    assert not end.value.code
    return capsys.readouterr().out


@contextmanager
def largest_file(size):
    """No file of this process may grow beyond a size, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_new_store_that_does_not_fit_leaves_nothing(tmp_path, capsys):
    with largest_file(8192):
        message = refused(capsys, *bench(tmp_path / "results.sqlite"))
    assert f"The store '{tmp_path / 'results.sqlite'}' cannot be used" in message
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_loses_the_result_at_hand_and_no_other(tmp_path, capsys):
    path = filled(tmp_path / "results.sqlite", draws=2)
    before = Results.read(path).rows
    with largest_file(path.stat().st_size // 2):
        assert "results.sqlite' cannot be used" in refused(capsys, *bench(path))
    assert Results.read(path, "toy").rows == before
    with Store(path) as store:
        store._execute("PRAGMA max_page_count = 1")
        more = ({**before[0], "draw": draw} for draw in range(10, 1000))
        with pytest.raises(StoreError, match=r"results\.sqlite' cannot be used: database or disk"):
            all(store.add(before[0]["study"], row) for row in more)
    rows = Results.read(path, "toy").rows
    assert all(row in rows for row in before)
    study = stand_ins.study(stand_ins.trees(), draws=20)
    stand_ins.run_study(study, path)  # goes on once there is room
    rows = Results.read(path, "toy").rows
    assert len([row for row in rows if row["draw"] < 20]) == study.size


def test_damaged_settings_are_reported_with_the_file(tmp_path, capsys):
    path = filled(tmp_path / "results.sqlite")
    foreign(path, "UPDATE study SET settings = '[1'")
    assert "results.sqlite' is damaged" in refused(capsys, "study", "report", path)
    foreign(path, """UPDATE study SET settings = '{"test_fraction": 1}'""")
    assert "results.sqlite' is damaged" in refused(capsys, "study", "report", path)
    foreign(path, "DELETE FROM result", """UPDATE study SET settings = '{"test_fraction": 0.1}'""")
    assert "results.sqlite' has no results yet" in refused(capsys, "study", "report", path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE study SET settings = '{nested}'", "the settings of the study"),
        ("UPDATE study SET key = x'00ff'", "column 'key' of the table 'study'"),
        ("UPDATE dataset SET title = x'00ff'", "column 'title' of the table 'dataset'"),
        ("UPDATE dataset SET n_classes = 'many'", "column 'n_classes' of the table 'dataset'"),
        ("UPDATE model SET position = -1", "column 'position' of the table 'model'"),
        ("UPDATE result SET brier = 'low'", "column 'brier' of the table 'result'"),
        ("UPDATE result SET brier = 9e999", "column 'brier' of the table 'result'"),
        ("UPDATE result SET error = x'00'", "column 'error' of the table 'result'"),
        ("UPDATE result SET draw = draw + 9e15", "column 'draw' of the table 'result'"),
        ("DELETE FROM dataset", "which no row of the table 'dataset' describes"),
        ("DELETE FROM model WHERE name = 'full'", "'full', which no row of the table 'model'"),
    ],
)
@pytest.mark.parametrize("form", ["terminal", "html"])
def test_content_that_no_study_writes_is_one_line(tmp_path, capsys, change, message, form):
    path = filled(tmp_path / "results.sqlite")
    foreign(path, change.format(nested="[" * 100_000))
    line = refused(capsys, "study", "report", path, "--as", form, "-o", tmp_path / "out")
    assert f"The store {str(path)!r} is damaged: " in line
    assert message in line
    assert not (tmp_path / "out").exists()


def test_a_draw_far_away_takes_no_room(tmp_path):
    path = filled(tmp_path / "results.sqlite")
    foreign(path, "UPDATE result SET draw = 4000000000 WHERE model = 'full'")
    assert Results.read(path).cube("leaves").shape == (2, 2, 2)


def test_a_mistake_in_the_sets_leaves_no_store_behind(tmp_path, capsys):
    path = tmp_path / "new.sqlite"
    words = ["study", "run", "--sets", "sklearn:nothing", "--store", path]
    assert "ships no data set" in refused(capsys, *words)
    assert not path.exists()
