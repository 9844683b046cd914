"""treebound explain, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import run

import treebound as tb


@pytest.fixture
def model(tmp_path) -> Path:
    rng = np.random.default_rng(0)
    colour, size = rng.choice(["red", "green"], size=300), rng.normal(size=300).round(3)
    frame = pd.DataFrame({"colour": colour, "size": size})
    y = pd.Series(np.where((colour == "red") & (size > 0.3), "yes", "no"), name="label")
    tb.BoundTreeClassifier().fit(frame, y).save(tmp_path / "model.json")
    return tmp_path / "model.json"


@pytest.fixture
def rows(tmp_path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text("size,colour,label\n0.1,red,no\n2,green,no\n2,purple,yes\n1,red,yes\n")
    return path


def test_every_row_is_explained_as_the_classifier_does(model, rows, capsys) -> None:
    code, out, _ = run(capsys, "explain", model, rows)
    assert code == 0
    classifier = tb.BoundTreeClassifier.load(model)
    given = [["red", 0.1], ["green", 2.0], ["purple", 2.0], ["red", 1.0]]
    for at, row in enumerate(given):
        assert f"Row {at + 1}\n{classifier.explain(row)}\n" in out


def test_one_row_or_the_first_ones(model, rows, capsys) -> None:
    _, out, _ = run(capsys, "explain", model, rows, "--row", "2")
    assert out.startswith("Row 2\nlabel = no")
    assert out.count("Row ") == 1
    _, out, err = run(capsys, "explain", model, rows, "--rows", "1")
    assert out.startswith("Row 1\n")
    assert out.count("Row ") == 1
    assert "has more rows" in " ".join(err.split())


def test_json_is_an_object_a_line(model, rows, capsys) -> None:
    code, out, _ = run(capsys, "explain", model, rows, "--json")
    assert code == 0
    made = [json.loads(line) for line in out.splitlines()]
    assert [one["row"] for one in made] == [1, 2, 3, 4]
    assert made[3]["prediction"] == "yes"
    # a file lists only categories that splits name: another one may have been a training value
    assert all(step["known"] for step in made[2]["path"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--row", "9"], "--row must be from 1 to 4"),
        (["--rows", "0"], "--rows must be an int >= 1"),
    ],
)
def test_a_row_that_is_not_there_is_refused(model, rows, capsys, options, message) -> None:
    code, _, err = run(capsys, "explain", model, rows, *options)
    assert code == 2
    assert message in err
