"""The first sentences about a model are the same on every surface."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import run

import treebound as tb
from treebound.edit.page import EditorPage
from treebound.model.summary import headline

# a useful certificate, one that is not below the baseline, none, and no estimate
CASES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "useful": ([], {}),
    "not useful": (["--delta", "1e-12"], {"delta": 1e-12}),
    "held out": (["--certificate", "held-out"], {"certificate": "held-out"}),
    "no estimate": (["--cv", "0"], {"cv": None}),
}


@pytest.mark.parametrize("case", list(CASES))
def test_the_headline_is_the_same_on_every_surface(case, tmp_path, capsys) -> None:
    arguments, parameters = CASES[case]
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(900, 3)).round(3), columns=["a", "b", "c"])
    chance = np.where(frame.a > 0.2, 0.95, 0.1) if case != "not useful" else np.full(900, 0.3)
    y = pd.Series(np.where(rng.random(900) < chance, "yes", "no"), name="state")
    clf = tb.BoundTreeClassifier(**parameters).fit(frame, y)
    words = headline(clf.model_)
    if case == "not useful":
        assert "No useful guarantee from 900 rows; the guide page 'Certificates'" in words
    elif case == "no estimate":
        assert words.startswith("No estimate: it was fitted without folds (baseline ")
    else:
        assert words.startswith("Estimated error ")
        assert "Certified: at most " in words
    assert clf.summary().splitlines()[0] == words

    table, report = tmp_path / "table.csv", tmp_path / "report.html"
    frame.assign(state=y).to_csv(table, index=False)
    fit = ["fit", table, "--target", "state", *arguments]
    code, _, err = run(capsys, *fit, "--report", report)
    assert code == 0, err
    assert words in err.splitlines()
    assert err.count(words.split(". ")[-1]) == 1
    assert "With probability" not in err
    code, out, err = run(capsys, *fit, "--json", "--quiet")
    assert code == 0, err
    assert json.loads(out)["summary"][0] == words

    # the editor certifies by the training rows, so that no figure of calibration rows is seen
    editor = clf.edit(frame, y)
    edited = headline(editor.model())
    assert (edited == words) is (case != "held out")
    pages = ((report.read_text("utf-8"), words), (EditorPage(editor, title="").html(), edited))
    for page, first in pages:
        data = json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', page, re.S)[1])
        assert data["lines"][data["steps"][data.get("start", 0)]["headline"]] == first
    assert words in re.sub(r"\s+", " ", clf._repr_html_().replace("&#x27;", "'"))
