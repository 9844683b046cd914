"""Rows without a label, and targets of many numbers, on the command line."""

import json

import numpy as np
import pytest
from commands import refused, run


@pytest.fixture
def visits(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=300), rng.integers(0, 2, 300)
    labels = ["" if i % 30 == 4 else "n/a" if i % 30 == 5 else str(y[i]) for i in range(300)]
    path = tmp_path / "visits.csv"
    rows = (f"{a:.3f},{a * a:.3f},{b}" for a, b in zip(x, labels, strict=True))
    path.write_text("x;z;ill\n" + "\n".join(rows).replace(",", ";") + "\n")
    return path


def test_check_reports_rows_without_a_label(visits, capsys):
    code, out, err = run(capsys, "check", visits, "--target", "ill")
    assert code == 0, err
    assert "280 rows" in out
    assert "Column 'ill' has no label in 20 of 300 rows.\n" in out
    assert "    Drop these rows with --drop-unlabelled.\n" in out
    code, out, _ = run(capsys, "check", visits, "--target", "ill", "--drop-unlabelled")
    assert "no label" not in out
    document = json.loads(run(capsys, "check", visits, "--target", "ill", "--json")[1])
    assert sorted(document["classes"]) == ["0", "1"]


def test_check_shows_a_table_without_a_target(visits, capsys):
    code, out, err = run(capsys, "check", visits)
    assert code == 0, err
    names = [line.split()[:2] for line in out.splitlines()[2:6]]
    assert names == [["column", "kind"], ["x", "real"], ["z", "real"], ["ill", "real"]]


@pytest.mark.parametrize("stream", [[], ["--stream"]])
def test_rows_without_a_label_are_an_error_or_dropped(visits, stream, capsys):
    line = refused(capsys, "fit", visits, "--target", "ill", *stream)
    assert "has no value in row 5 and 19 more. Hint: drop these rows (--drop-unlabelled)" in line
    argv = ["fit", visits, "--target", "ill", "--drop-unlabelled", "--max-leaves", "1", *stream]
    code, out, err = run(capsys, *argv)
    assert code == 0, err
    assert "/ 280)" in out


@pytest.mark.parametrize(
    "command",
    [("evaluate", "model.json"), ("certify", "model.json"), ("prune", "model.json"),
     ("compare", "model.json", "model.json")],
)  # fmt: skip
def test_labelled_commands_drop_rows_without_a_label(visits, command, capsys, monkeypatch):
    monkeypatch.chdir(visits.parent)
    fit = ("fit", visits, "--target", "ill", "--drop-unlabelled", "--max-leaves", "4")
    code, _, err = run(capsys, *fit, "-o", "model.json")
    assert code == 0, err
    labelled = [line for line in visits.read_text().splitlines() if line[-1] in "l01"]
    (visits.parent / "labelled.csv").write_text("\n".join(labelled) + "\n")
    line = refused(capsys, *command, visits)
    assert "has no value in row 5 and 19 more. Hint: drop these rows (--drop-unlabelled)" in line
    expected = run(capsys, *command, "labelled.csv")
    assert run(capsys, *command, visits, "--drop-unlabelled") == expected
    (visits.parent / "drop.toml").write_text("drop_unlabelled = true\n")
    assert run(capsys, *command, visits, "--schema", "drop.toml") == expected


def test_a_table_without_any_label_is_refused_as_such(visits, capsys, monkeypatch):
    monkeypatch.chdir(visits.parent)
    fit = ("fit", visits, "--target", "ill", "--drop-unlabelled", "--max-leaves", "4")
    assert run(capsys, *fit, "-o", "model.json")[0] == 0
    (visits.parent / "none.csv").write_text("x,z,ill\n1,2,\n3,4,n/a\n")
    table = ("none.csv", "--drop-unlabelled")
    commands = [
        ("fit", *table, "--target", "ill"), ("fit", *table, "--target", "ill", "--stream"),
        ("evaluate", "model.json", *table), ("certify", "model.json", *table),
        ("prune", "model.json", *table), ("compare", "model.json", "model.json", *table),
    ]  # fmt: skip
    for command in commands:
        line = refused(capsys, *command)
        assert "none.csv: The target column 'ill' has no label in any row. Hint: name" in line


def test_a_table_of_a_database_is_evaluated_without_unlabelled_rows(visits, capsys, monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.chdir(visits.parent)
    with duckdb.connect("visits.db") as connection:
        read = "read_csv('visits.csv', nullstr=['', 'n/a'])"
        connection.execute(f"CREATE TABLE visits AS SELECT * FROM {read}")
    fit = ("fit", visits, "--target", "ill", "--drop-unlabelled", "--max-leaves", "4")
    assert run(capsys, *fit, "-o", "model.json")[0] == 0
    evaluate, drop = ("evaluate", "model.json"), "--drop-unlabelled"
    table = "duckdb:///visits.db?table=visits"
    assert run(capsys, *evaluate, table, drop) == run(capsys, *evaluate, visits, drop)


@pytest.mark.parametrize("stream", [[], ["--stream"]])
def test_a_target_of_many_numbers(tmp_path, stream, capsys):
    path = tmp_path / "prices.csv"
    path.write_text("x,price\n" + "".join(f"{i % 7},{i % 150}\n" for i in range(600)))
    code, _, err = run(capsys, "fit", path, "--target", "price", *stream)
    assert code == 0, err
    assert "a regression tree. Hint: --task classify makes classes of the numbers." in err
    argv = ["fit", path, "--target", "price", "--task", "classify", "--max-leaves", "2", *stream]
    code, _, err = run(capsys, *argv)
    assert code == 0, err


def test_labels_in_a_database(tmp_path, capsys):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i % 7 AS x, i % 5 AS z, "
            "CASE WHEN i % 10 > 0 THEN i % 150 END AS y FROM range(600) r(i)"
        )
    table = f"duckdb:///{tmp_path}/t.db?table=t"
    assert "60 rows without a number" in refused(capsys, "fit", table, "--target", "y")
    options = ["--target", "y", "--task", "classify", "--max-leaves", "2"]
    assert "without a label" in refused(capsys, "fit", table, *options)
    code, _, err = run(capsys, "fit", table, *options, "--drop-unlabelled")
    assert code == 0, err
