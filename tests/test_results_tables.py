"""Tables of measured figures in the documentation: every one can be made from the result files."""

from __future__ import annotations

import json
import re
import subprocess
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def results():
    """The extension of the documentation as a module."""
    pytest.importorskip("sphinx")
    spec = spec_from_file_location("results", DOCS / "_ext" / "results.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_table_has_cells_of_one_width(results):
    for name, table in results.TABLES.items():
        try:
            header, rows = table()
        except FileNotFoundError:  # not measured yet
            continue
        rows = list(rows)
        assert rows, name
        assert {len(row) for row in rows} == {len(header)}, name
        assert not any("nan" in cell for row in rows for cell in row), name


def test_every_table_is_shown_and_every_shown_table_exists(results):
    pages = "".join(page.read_text("utf-8") for page in sorted(DOCS.glob("*.rst")))
    shown = set(re.findall(r"^ *\.\. results:: (\S+)$", pages, re.MULTILINE))
    assert shown == set(results.TABLES)


def test_the_commit_of_a_measurement_is_in_the_history(results, tmp_path, monkeypatch):
    def git(*arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        command = ["git", "-C", str(tmp_path), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    monkeypatch.setattr(results, "RESULTS", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    rebased = {"commit": "0123456789abcdef", "date": "2026-01-02T03:04:05"}
    (tmp_path / "part.json").write_text(json.dumps({"first": rebased}))
    assert results.measured("part") == ("01234567", "2026-01-02")  # not a repository
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "measured")
    head = git("rev-parse", "HEAD")
    (tmp_path / "whole.json").write_text(json.dumps({**rebased, "commit": f"{head}+changes"}))
    git("add", ".")
    git("commit", "-q", "-m", "results")
    assert results.measured("whole") == (head[:8], "2026-01-02")
    commit, _ = results.measured("part")
    assert git("rev-parse", "HEAD").startswith(commit)


# Rows of the README's table, and the methods that they show.
METHODS = {
    "treebound's default": "default",
    "scikit-learn's tree, `ccp_alpha` tuned by `GridSearchCV`": "scikit-learn, ccp_alpha",
    "optimal tree of depth 3 (STreeD)": "optimal, depth 3",
    "random forest, 100 trees": "random forest",
    "explainable boosting machine": "EBM",
}


def test_the_readme_has_the_figures_of_the_result_files(results):
    readme = (DOCS.parent / "README.md").read_text("utf-8")
    summary = results.read("unseen_test")
    table = re.search(r"^\| (\d+) tables .*\n\|[:\-|]+\n((?:\|.*\n)+)", readme, re.MULTILINE)
    assert int(table[1]) == len(summary["tables"])
    assert f"{summary['draws']} draws" in readme
    rows = [[cell.strip(" *") for cell in row.split("|")[1:-1]] for row in table[2].splitlines()]
    assert [name for name, *_ in rows] == list(METHODS)
    for name, *cells in rows:
        row = summary["methods"][METHODS[name]]
        leaves = "" if row["leaves"] is None else f"{row['leaves']:.1f}"
        assert cells == [f"{row['accuracy']:.1f} %", leaves, f"{row['seconds']:.3f} s"], name


def test_the_readme_has_the_measured_speed(results):
    readme = " ".join((DOCS.parent / "README.md").read_text("utf-8").split())
    seconds = results.read("growth")["real columns"]["100,000 rows, gini"]
    ratio = seconds["scikit-learn"] / seconds["treebound"]
    assert f"On 100,000 rows, scikit-learn takes {ratio:.0f} times as long" in readme
    assert f"grow in {results.time(seconds['treebound'])} (`benchmarks/growth.py`)" in readme
