"""``treebound study run`` and ``treebound study report`` from the outside."""

import csv
import io
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "study"))
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import stand_ins

from treebound.cli import main
from treebound.study.results import Results
from treebound.study.samples import BUNDLED
from treebound.study.store import Store


def treebound(*words):
    """Run a command in this process; its exit code."""
    with pytest.raises(SystemExit) as end:
        main(["study", *(str(word) for word in words)])
    return end.value.code or 0


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "results.sqlite"
    stand_ins.run_study(stand_ins.study(stand_ins.trees(), draws=3), path)
    return path


def test_terminal_report_shows_the_tables(store, capsys):
    assert treebound("report", store) == 0
    shown = capsys.readouterr().out
    assert "Accuracy, toy protocol" in shown
    assert "Toy 1 (60, 3)" in shown
    assert "Mean number of leaves" in shown


def test_csv_report_is_read_back(store, capsys):
    assert treebound("report", store, "--as", "csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["Data set"] for row in rows][:2] == ["toy0", "toy1"]
    assert 0 < float(rows[0]["stump"]) <= 1


@pytest.mark.parametrize(
    ("form", "start"),
    [("markdown", "### Accuracy"), ("latex", r"\documentclass"), ("html", "<!doctype html>")],
)
def test_report_is_written_to_a_file(store, tmp_path, form, start):
    path = tmp_path / "report"
    assert treebound("report", store, "--as", form, "-o", path) == 0
    assert path.read_text(encoding="utf-8").startswith(start)


def test_only_the_requested_tables(store, capsys):
    assert treebound("report", store, "--as", "markdown", "--table", "wins", "cost") == 0
    titles = [line for line in capsys.readouterr().out.splitlines() if line.startswith("#")]
    assert titles == ["### Win / tie / loss", "### Accuracy, size and time"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["report", "nowhere.sqlite"], "There is no store of results at 'nowhere.sqlite'"),
        (["report", "{store}", "--table", "costs"], "There is no table 'costs'"),
        (["report", "{store}", "--protocol", "paper"], "0 of them match 'paper'"),
        (["report", "{file}"], "is not a store of results"),
        (["run", "--sets", "{file}", "--store", "{new}"], "names no column to predict"),
        (["run", "--sets", "sklearn:nothing", "--store", "{new}"], "ships no data set"),
        (["run", "--protocol", "other"], "Invalid value"),
    ],
)
def test_mistakes_are_one_clear_line(store, tmp_path, capsys, words, message):
    table = tmp_path / "mine.csv"
    table.write_text("a,b\n1,x\n2,y\n3,x\n", encoding="utf-8")
    places = {"store": store, "file": table, "new": tmp_path / "new.sqlite"}
    assert treebound(*[word.format(**places) for word in words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_table_of_ones_own_takes_part(tmp_path, capsys):
    table = tmp_path / "mine.csv"
    lines = [
        f"{i % 7},{'red' if i % 3 else 'blue'},{'yes' if i % 7 > 3 else 'no'}" for i in range(60)
    ]
    table.write_text("\n".join(["size,colour,label", *lines, ""]), encoding="utf-8")
    path = tmp_path / "results.sqlite"
    words = ["--sets", f"{table}:label", "--draws", 2]
    words += ["--models", "Bound, auto", "Unpruned, sklearn"]
    assert treebound("run", *words, "--store", path) == 0
    shown = capsys.readouterr().out
    assert "Types inferred from" in shown
    assert "colour  nominal  blue, red (found in the data)" in shown
    assert "mine: complete" in shown
    assert "4 results added" in shown
    assert treebound("run", *words, "--store", path) == 0
    assert "0 results added" in capsys.readouterr().out
    rows = Results.read(path, "standard").rows
    assert [row["error"] for row in rows] == [None] * 4
    assert all(row["test_accuracy"] == 1.0 for row in rows)
    assert all(row["leaves"] == 2 for row in rows)


def test_the_sets_of_scikit_learn_as_tables_and_a_page(tmp_path, capsys):
    store, page = tmp_path / "results.sqlite", tmp_path / "index.html"
    assert treebound("run", "--sets", *BUNDLED, "--draws", 2, "--store", store) == 0
    capsys.readouterr()
    assert treebound("report", store, "--table", "accuracy", "cost") == 0
    assert "Breast Cancer (569, 2)" in capsys.readouterr().out
    assert treebound("report", store, "--as", "html", "--output", page) == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype")


@pytest.mark.parametrize("begun", [True, False])
def test_ctrl_c_prints_how_to_go_on(tmp_path, monkeypatch, capsys, begun):
    path = tmp_path / "results.sqlite"

    def stopped(**options):
        if begun:
            with Store(options["store"]):
                pass
        raise KeyboardInterrupt

    monkeypatch.setattr("treebound.study.run", stopped)
    assert treebound("run", "--store", path) == 130
    message = " ".join(capsys.readouterr().err.split())
    assert message.startswith("treebound: stopped.")
    assert "run the same command again to go on" in message
    assert (f"'treebound study report {path}' shows them" in message) is begun


@pytest.mark.parametrize("width", [60, 80, 200])
def test_tables_fit_the_terminal_in_pieces(width):
    from rich.console import Console

    from treebound.study.sheets import Cell, Sheet, print_sheet

    names = ["Bound", "Bound, Gini", "CC-CV, sklearn", "CC-CV", "Pessimistic", "MDL", "Unpruned",
             "Unpruned, sklearn", "Oracle"]  # fmt: skip
    rows = [[Cell(f"set {k}"), *(Cell(f"{90 + m}.{k}0") for m in range(9))] for k in range(3)]
    stream = io.StringIO()
    print_sheet(Sheet("t", "Title", ["Data set", *names], rows), Console(file=stream, width=width))
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    heads = [line for line in lines if "set 0" in line]
    assert sum(len(line.split()) - 2 for line in heads) == 9
