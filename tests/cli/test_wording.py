"""The first sentences about a model are the same on every surface."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import refused, run

import treebound as tb
from treebound.data.schema import has_decimal_comma
from treebound.edit.page import EditorPage
from treebound.model.summary import headline

# words of the library that no message of a command has
PYTHON = ("None", "certificate=", "call certify", "the kind '", "SquaredErrorPruner", "a splitter")

# a useful certificate, one that is not below the baseline, none, and no estimate
CASES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "useful": ([], {}),
    "not useful": ([], {}),
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
        assert "No useful guarantee from 900 training rows; the guide page 'Certificates'" in words
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


@pytest.fixture
def prices(tmp_path):
    """A table with a target of numbers."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {"area": rng.uniform(40, 200, 300).round(1), "rooms": 1 + np.arange(300) % 5}
    )
    frame["price"] = (1000 * frame.area + rng.normal(0, 9000, 300)).round(2)
    path = tmp_path / "houses.csv"
    frame.to_csv(path, index=False)
    return path


def test_a_missing_certificate_of_numbers_names_options(prices, tmp_path, capsys) -> None:
    model = tmp_path / "houses.json"
    fit = ["fit", prices, "--target", "price"]
    code, _, err = run(capsys, *fit, "-o", model)
    assert code == 0, err
    code, out, err = run(capsys, *fit, "--json", "--quiet")
    assert code == 0, err
    messages = [
        refused(capsys, "certify", model),
        refused(capsys, "monitor", model, prices),
        json.loads(out)["no_certificate"],
    ]
    for message in messages:
        assert "Hint: fit with --certificate held-out or --certificate folds, or" in message
        assert "give 'treebound certify' labelled rows that were not used for fitting." in message
        assert not [word for word in PYTHON if word in message]
    reason = tb.BoundTreeRegressor.load(model).certificate_reason_
    assert "Hint: fit with certificate='held-out' or 'folds', or call certify" in reason


def test_a_missing_certificate_of_groups_names_an_option(table, tmp_path, capsys) -> None:
    model = tmp_path / "groups.json"
    fit = ["fit", table, "--target", "label", "--groups", "n"]
    code, _, err = run(capsys, *fit, "-o", model)
    assert code == 0, err
    code, out, _ = run(capsys, *fit, "--json", "--quiet")
    assert code == 0
    values = json.loads(out)
    hint = "Hint: fit with --certificate held-out, which counts one row of each group."
    refusal = refused(capsys, "certify", model)
    training = refused(capsys, "certify", model, table, "--kind", "training")
    messages = [err, values["summary"][0], values["no_certificate"], refusal, training]
    for message in messages:
        assert hint in message
        assert not [word for word in PYTHON if word in message]
    for message in messages[:2]:
        assert "No certificate: rows of one group are not independent" in message
    prior = [*fit, "--certificate", "prior", "--quiet"]
    assert "Hint: rows of one group are" in refused(capsys, *prior)
    reason = tb.BoundTreeClassifier.load(model).certificate_reason_
    assert "Hint: fit with certificate='held-out', which counts" in reason


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--pruning", "log-loss"],
            "The option --pruning must be bound, cost-complexity or none for a target of numbers. "
            "Got 'log-loss' instead.",
        ),
        (["--max-leaves", "0"], "The option --max-leaves must be an int >= 1. Got 0 instead."),
        (["--max-depth", "0"], "The option --max-depth must be an int >= 1. Got 0 instead."),
        (
            ["--cv", "1"],
            "The option --cv must be an int from 2 to 1,000, or 0 for no folds. Got 1 instead.",
        ),
        (
            ["--cv", "999"],
            "The option --cv must be at most 300, the number of rows. Got 999 instead.",
        ),
        (["--seed", "-1"], "The option --seed must be an int >= 0. Got -1 instead."),
        (["--jobs", "0"], "The option --jobs must be an int other than 0. Got 0 instead."),
    ],
)
def test_an_invalid_option_has_the_words_of_the_command_line(
    options, message, prices, capsys
) -> None:
    assert message in refused(capsys, "fit", prices, "--target", "price", "--quiet", *options)


def test_an_invalid_parameter_has_the_words_of_the_library() -> None:
    X, y = [[1.0], [2.0]], [1.5, 2.5]
    with pytest.raises(ValueError, match=r"an int >= 1 or None\. Got 0"):
        tb.BoundTreeRegressor(max_leaves=0).fit(X, y)
    with pytest.raises(ValueError, match=r"or a list of folds, or None\. Got 1"):
        tb.BoundTreeRegressor(cv=1).fit(X, y)


def test_a_decimal_comma_names_its_option(tmp_path, capsys) -> None:
    rng = np.random.default_rng(5)
    amount = rng.uniform(100, 2000, 200).round(2)
    frame = pd.DataFrame({"amount": amount, "term": 12 * (1 + np.arange(200) % 4)})
    frame["outcome"] = np.where(amount > 900, "default", "repaid")
    table, model = tmp_path / "loans.csv", tmp_path / "loans.json"
    frame.to_csv(table, index=False, sep=";", decimal=",")
    fit = ["fit", table, "--target", "outcome", "-o", model]
    _, out, _ = run(capsys, "check", table, "--target", "outcome")
    assert "\n    Use --decimal , to read it as numbers.\n" in out
    _, _, err = run(capsys, *fit)
    assert "Hint: use --decimal , to read it as numbers." in err
    _, _, err = run(capsys, *fit, "--decimal", ",")
    assert "--decimal" not in err
    for command in ("predict", "explain", "evaluate"):
        line = refused(capsys, command, model, table)
        assert line.endswith("is not a number. Hint: use --decimal , for a decimal comma.")
        assert run(capsys, command, model, table, "--decimal", ",")[0] == 0
    # the option is for files of text, and the library has no option
    texts = frame.assign(amount=[f"{value:.2f}".replace(".", ",") for value in amount])
    texts.to_parquet(tmp_path / "loans.parquet")
    _, out, _ = run(capsys, "check", tmp_path / "loans.parquet", "--target", "outcome")
    assert "\n    Convert it to numbers.\n" in out
    assert "convert it to numbers" in [
        finding.remedy for finding in tb.check(texts, frame.outcome).findings
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1004,54", True), (" -3,5 ", True), (",5", True), ("1,234,5", False), ("1.004,54", False),
        ("3,", False), ("a,5", False), ("3.5", False), (3.5, False), (None, False),
    ],
)  # fmt: skip
def test_a_number_with_a_decimal_comma_is_recognised(value, expected) -> None:
    assert has_decimal_comma(value) is expected
