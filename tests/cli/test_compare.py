"""treebound compare, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import refused, run

import treebound as tb


@pytest.fixture
def files(tmp_path) -> tuple[Path, Path, Path]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"colour": rng.choice(["red", "green"], 300), "size": rng.normal(size=300)}
    )
    y = pd.Series(
        np.where((frame["colour"] == "red") & (frame["size"] > 0), "yes", "no"), name="label"
    )
    clf = tb.BoundTreeClassifier().fit(frame, y)
    clf.save(tmp_path / "old.json")
    editor = clf.edit(frame, y)
    editor.collapse("")
    editor.done().save(tmp_path / "new.json")
    new = pd.DataFrame({"colour": ["red", "green", "red"], "size": [1.5, 1.0, -1.25]})
    new.assign(label=["yes", "no", "no"]).to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "old.json", tmp_path / "new.json", tmp_path / "rows.csv"


def test_regions_are_printed_as_rules(files, capsys) -> None:
    code, out, _ = run(capsys, "compare", *files)
    assert code == 0
    assert out.startswith("The predictions differ for 1 of 3 rows (33.3 %).")
    assert "a yes, b no  # 1 row, errors 0 and 1" in out


def test_the_trees_are_drawn_side_by_side(files, capsys, tmp_path) -> None:
    code, _, _ = run(capsys, "compare", *files, "--plot", tmp_path / "trees.svg")
    assert code == 0
    assert (tmp_path / "trees.svg").read_text().count("3 rows") == 2


def test_json_has_all_figures(files, capsys) -> None:
    code, out, _ = run(capsys, "compare", *files, "--json")
    figures = json.loads(out)
    assert code == 0
    assert (figures["only_a"], figures["only_b"], figures["p_value"]) == (1, 0, 1.0)
    assert figures["regions"][0]["rows"] == 1


def test_the_table_must_be_a_file(files, capsys) -> None:
    assert "Hint: name files" in refused(capsys, "compare", *files[:2], "-")
