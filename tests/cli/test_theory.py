"""The theorists' commands: what they print, and the one line a mistake gets."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import treebound as tb
from treebound.cli import main


@pytest.fixture
def run(capsys):
    """Run a command in this process: exit code, standard output, standard error."""

    def command(*argv: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main(["theory", *argv])
        output = capsys.readouterr()
        return stopped.value.code, output.out, output.err

    return command


def test_vcdim_prints_both_bounds(run):
    code, out, err = run("vcdim", "((..).)", "--real", "10")
    bounds = tb.bounds.vc_dimension(tb.TreeShape.parse("((..).)"), tb.Landscape(real=10))
    assert (code, err) == (0, "")
    assert "10 real features" in out
    assert str(bounds.lower) in out
    assert str(bounds.upper) in out


def test_vcdim_of_a_stump_is_exact_as_json(run):
    code, out, _ = run("vcdim", "(..)", "--real", "10", "--json")
    assert code == 0
    facts = json.loads(out)
    assert (facts["lower"], facts["upper"], facts["exact"]) == (6, 6, True)


def test_vcdim_prints_its_theorems_and_the_sample(run):
    _, out, _ = run("vcdim", "((..).)", "--real", "3", "--sample")
    X = [[int(value) for value in line.split()] for line in out.splitlines()[-7:]]
    shape = tb.TreeShape.parse("((..).)")
    assert tb.bounds.enumerate.realizable_growth(X, ["real"] * 3, shape, 2) == 2**7
    assert "at least 7 by: cluster lemma" in out
    _, out, _ = run("vcdim", "((..).)", "--real", "3", "--sample", "--json")
    facts = json.loads(out)
    assert facts["sample"] == X
    assert (facts["lower_by"], facts["upper_by"]) == ("cluster lemma", "exhaustive search")


def test_growth_gives_every_form(run):
    landscape = tb.Landscape(5, (3, 5), (2, 4))
    argv = ["growth", "((..)(..))", "--real", "5", "--ordinal", "3,5", "--nominal", "2,4"]
    argv += ["--examples", "1000", "--classes", "3", "--all-forms"]
    code, out, _ = run(*argv, "--json")
    assert code == 0
    logs = json.loads(out)["log_growth"]
    shape = tb.TreeShape.parse("((..)(..))")
    forms = ("fast", "tight", "closed", "chain", "chain-sum", "best")
    assert set(logs) == {*forms, "all shapes"}
    for form in forms:
        assert logs[form] == tb.bounds.log_growth(shape, 1000, 3, landscape, form=form)
    assert logs["all shapes"] == tb.bounds.log_growth_leaves(4, 1000, 3, landscape)
    _, table, _ = run(*argv)
    for name, value in logs.items():
        assert name in table
        assert f"{value:.4f}" in table


def test_growth_takes_best_by_default(run):
    _, out, _ = run("growth", "(..)", "--real", "2", "--examples", "4", "--json")
    assert list(json.loads(out)["log_growth"]) == ["best"]


def test_category_counts_come_with_commas_or_one_by_one(run):
    tail = ["--examples", "9", "--form", "closed", "--json"]
    _, commas, _ = run("growth", "(..)", "--ordinal", "3,5", "--nominal", "2,?", *tail)
    one_by_one = ["--ordinal", "3", "--ordinal", "5", "--nominal", "2", "--nominal", "?"]
    _, repeated, _ = run("growth", "(..)", *one_by_one, *tail)
    assert commas == repeated
    facts = json.loads(commas)
    assert (facts["ordinal"], facts["nominal"]) == ([3, 5], [2, None])


def test_partitions_between_a_search_and_a_theorem(run):
    argv = ["partitions", "(..)", "--real", "2", "--examples", "4", "--search", "1000"]
    code, out, _ = run(*argv, "--json")
    facts = json.loads(out)
    assert (code, facts["at_least"], facts["at_most"], facts["exact"]) == (0, 6, 6, True)
    _, out, _ = run(*argv)
    assert "into 2 parts" in out
    _, out, _ = run(*argv[:-2], "--parts", "5", "--json")
    assert json.loads(out)["at_most"] == 0


def test_shapes_are_listed_and_counted(run):
    code, out, _ = run("shapes", "--leaves", "6")
    assert code == 0
    assert "6 shapes with 6 leaves" in out
    assert all(str(shape) in out for shape in tb.TreeShape.enumerate(6))
    _, out, _ = run("shapes", "--leaves", "6", "--json")
    assert [row["shape"] for row in json.loads(out)["shapes"]] == [
        str(shape) for shape in tb.TreeShape.enumerate(6)
    ]
    assert run("shapes", "--leaves", "40", "--count")[1] == "8099766813570\n"


def test_witness_prints_a_sample_that_attains_the_bound(run):
    code, out, _ = run("witness", "7", "5")
    assert code == 0
    *rows, verdict = out.splitlines()
    X = [[int(value) for value in row.split()] for row in rows]
    check = tb.bounds.check_witness(X)
    assert (len(X), len(X[0]), check.attained) == (7, 5, True)
    assert verdict == f"{check.count} 2-partitions; the bound is {check.bound}: attained"
    _, out, _ = run("witness", "7", "5", "--json")
    assert json.loads(out)["X"] == X


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("vcdim ((..) --real 1", "Not a tree shape: '((..)', at character 1: this '(' is never"),
        ("vcdim (.x) --real 1", "'x' is none of"),
        ("vcdim (..)", "No features given"),
        ("vcdim (..) --real -1", '"-1" for --real'),
        ("vcdim (..) --real two", "--real"),
        ("vcdim (..) --ordinal 3,-1", "--ordinal: '-1' is not a number of categories"),
        ("vcdim (..) --nominal 3,", "--nominal: '' is not a number of categories"),
        ("vcdim (..) --ordinal ?", "--ordinal: '?' stands for"),
        ("growth (..) --real 1 --examples 0", '"0" for --examples'),
        ("growth (..) --real 1 --examples 5 --classes 0", '"0" for --classes'),
        ("growth (..) --real 1", "--examples"),
        ("growth (..) --real 1 --examples 5 --form loose", '"loose" for --form'),
        ("partitions (..) --real 1 --examples 5 --parts 0", '"0" for --parts'),
        ("shapes --leaves 0", '"0" for --leaves'),
        ("shapes --leaves 50", "--leaves: "),
        ("witness 7", "FEATURES"),
        ("witness 7 0", '"0" for FEATURES'),
        ("witness 40 2", "at most 14 of them here. Got 40"),
        ("vcdimension (..)", 'Unknown command "vcdimension"'),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(run, argv, message):
    code, out, err = run(*argv.split())
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("treebound: ")
    assert err.count("\n") == 1


def test_help_names_the_commands(run):
    code, out, _ = run("--help")
    assert code == 0
    for name in ("vcdim", "growth", "partitions", "shapes", "witness"):
        assert name in out
    code, out, _ = run("growth", "--help")
    assert code == 0
    assert "--all-forms" in out
    assert run("--version")[1].strip() == tb.__version__


def test_the_installed_command_runs():
    done = subprocess.run(
        [sys.executable, "-m", "treebound", "vcdim", "(.", "--real", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
