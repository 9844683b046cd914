"""Tables of a DuckDB file on the command line: same predictions as for the rows in a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import refused, run

import treebound as tb

duckdb = pytest.importorskip("duckdb")


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"colour": rng.choice(["red", "green"], 900), "x": rng.normal(size=900)})
    table["label"] = np.where((table.colour == "red") ^ (table.x > 0.3), "yes", "no")
    table["the key"] = np.arange(900)
    return table


@pytest.fixture
def database(frame, tmp_path) -> Path:
    with duckdb.connect(str(tmp_path / "rows.db")) as connection:
        connection.execute('CREATE TABLE "my rows" AS SELECT * FROM frame')
    return tmp_path / "rows.db"


def test_fit_predict_evaluate_and_certify(frame, database, tmp_path, capsys):
    table, model = f"duckdb:///{database}?table=my+rows", tmp_path / "model.json"
    run(capsys, "fit", table, "--target", "label", "--ignore", "the key", "-o", model)
    loaded = tb.BoundTreeClassifier.load(model)
    columns = frame[["colour", "x"]]
    expected = tb.BoundTreeClassifier().fit(columns, frame.label)
    np.testing.assert_array_equal(loaded.tree_.counts, expected.tree_.counts)
    written = tmp_path / "predictions.csv"
    run(capsys, "predict", model, table, "-o", written, "--keep", "--proba", "--chunk-rows", "200")
    written = pd.read_csv(written)
    assert written.columns[-3:].tolist() == ["predicted label", "P(no)", "P(yes)"]
    np.testing.assert_array_equal(
        written["predicted label"], expected.predict(written[["colour", "x"]])
    )
    _, out, _ = run(capsys, "evaluate", model, table, "--json")
    figures = json.loads(out)
    wrong = int((expected.predict(columns) != frame.label).sum())
    assert (figures["rows"], figures["errors"]) == (900, wrong)
    assert "comparable rows equal training rows" in figures["not_certified"]
    assert "comparable rows equal training rows" in refused(capsys, "certify", model, table)


def test_numbers_are_recognised_and_fitted(frame, database, capsys):
    with duckdb.connect(str(database)) as connection:
        connection.execute(
            """CREATE TABLE houses AS SELECT colour, x, 3 * x + (colour = 'red')::INT AS price,
            round(x)::INT AS rooms FROM frame"""
        )
    table = f"duckdb:///{database}?table=houses"
    for target, task in (("price", ()), ("rooms", ("--task", "regress"))):
        other = {"price": "rooms", "rooms": "price"}[target]
        code, out, err = run(capsys, "fit", table, "--target", target, "--ignore", other, *task)
        assert code == 0, err
        columns = frame[["colour", "x"]]
        y = 3 * frame.x + (frame.colour == "red") if target == "price" else frame.x.round()
        expected = tb.BoundTreeRegressor(certificate=None).fit(columns, y)
        assert out.strip() == expected.to_text().strip()
    _, _, err = run(capsys, "fit", table, "--target", "rooms", "--ignore", "price")
    assert "regression" not in err


REFUSED = [
    (("?table=none", "--target", "label"), "none does not exist"),
    (("", "--target", "label"), "must be named duckdb:///FILE?table=NAME"),
    (("?table=my+rows", "--target", "nothing"), "Which column is to be predicted"),
    (("?table=my+rows", "--target", "label", "--sep", ";"), "has its own types"),
    (("?table=my+rows", "--target", "label", "--stream"), "takes none of further files, --stream"),
]


@pytest.mark.parametrize(("arguments", "words"), REFUSED)
def test_errors_state_what_is_wrong(database, capsys, arguments, words):
    table, *rest = arguments
    assert words in refused(capsys, "fit", f"duckdb:///{database}{table}", *rest)
