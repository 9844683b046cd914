"""Tables of a DuckDB file on the command line: same predictions as for the rows in a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import refused, run

import treebound as tb
from treebound.data.formats import files_of

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


def test_warnings_have_the_words_of_the_command_line(frame, tmp_path, capsys):
    twice = pd.concat([frame.drop(columns="the key")] * 2)
    with duckdb.connect(str(tmp_path / "twice.db")) as connection:
        connection.register("rows", twice)
        connection.execute("CREATE TABLE twice AS SELECT * FROM rows")
    table = f"duckdb:///{tmp_path / 'twice.db'}?table=twice"
    code, _, err = run(capsys, "fit", table, "--target", "label")
    assert code == 0
    assert "drop the copies, or use --groups with a column of cases" in " ".join(err.split())


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


def test_numbers_are_recognised_and_fitted(frame, database, tmp_path, capsys):
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
    model, written = tmp_path / "numbers.json", tmp_path / "predicted.csv"
    run(capsys, "fit", table, "--target", "price", "--ignore", "rooms", "-o", model)
    run(capsys, "predict", model, table, "-o", written, "--chunk-rows", "200")
    predicted = tb.BoundTreeRegressor.load(model).predict(frame[["colour", "x"]])
    np.testing.assert_array_equal(pd.read_csv(written).price, predicted)
    _, _, err = run(capsys, "fit", table, "--target", "rooms", "--ignore", "price")
    assert "regression" not in err
    options = ("--target", "price", "--groups", "rooms", "--certificate", "held-out")
    _, out, err = run(capsys, "fit", table, *options)
    reg = tb.BoundTreeRegressor(certificate="held-out")
    y, groups = 3 * frame.x + (frame.colour == "red"), frame.x.round()
    assert out.strip() == reg.fit(columns, y, groups=groups).to_text().strip()
    assert str(reg.certificate_) in err


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


def test_a_database_is_no_file_of_text(database, capsys):
    for command in ("check", "fit"):
        line = refused(capsys, command, database, "--target", "label")
        assert f"{database} is a DuckDB database. Hint: " in line
        assert f"'duckdb:///{str(database).lstrip('/')}?table=NAME'" in line
        assert "COPY NAME TO 'NAME.parquet'" in line
    with pytest.raises(ValueError, match=r"open it with duckdb\.connect and give its table"):
        files_of([database])


def test_commands_that_read_files_refuse_a_table_of_a_database(frame, database, tmp_path, capsys):
    table, model = f"duckdb:///{database}?table=my+rows", tmp_path / "model.json"
    run(capsys, "fit", table, "--target", "label", "--ignore", "the key", "-o", model)
    numbers, prices = tmp_path / "numbers.json", tmp_path / "prices.csv"
    frame[["colour", "x"]].assign(price=3 * frame.x).to_csv(prices, index=False)
    run(capsys, "fit", prices, "--target", "price", "-o", numbers, "--quiet")
    export = "COPY \"my rows\" TO 'my rows.parquet'."
    commands = [
        ["explain", model, table],
        ["prune", model, table, "--leaves", "2"],
        ["monitor", model, table],
        ["compare", model, model, table],
        ["edit", model, table, "--no-browser"],
    ]
    for argv in commands:
        line = refused(capsys, *argv)
        assert "This command reads files, not tables of a database. Hint: export" in line
        assert line.endswith(export)
    line = refused(capsys, "evaluate", numbers, table)
    assert "With a regression tree this command reads files" in line
    assert line.endswith(export)


def test_check_reports_a_table_of_a_database_as_its_file(frame, database, tmp_path, capsys):
    with duckdb.connect(str(database)) as connection:
        connection.execute(
            """CREATE TABLE visits AS SELECT *, DATE '2024-01-01' + CAST(x AS INT) AS seen,
            CASE WHEN x > 2 THEN NULL ELSE label END AS outcome FROM frame"""
        )
        connection.execute(f"COPY visits TO '{tmp_path / 'visits.parquet'}'")
    table = f"duckdb:///{database}?table=visits"
    for options in (("--target", "outcome"), ("--target", "x"), (), ("--ignore", "seen,label")):
        code, out, err = run(capsys, "check", table, *options)
        assert code == 0, err
        expected = run(capsys, "check", tmp_path / "visits.parquet", *options)[1]
        assert out.splitlines()[0] == f"visits{expected.splitlines()[0].partition('.parquet')[2]}"
        assert out.splitlines()[1:] == expected.splitlines()[1:]
    _, out, _ = run(capsys, "check", table, "--target", "outcome")
    assert "Column 'seen' holds dates or durations." in out
    assert "Drop these rows with --drop-unlabelled." in out
    line = refused(capsys, "check", table, "--target", "nothing")
    assert "Which column is to be predicted? Hint: name it with --target" in line
    assert "has its own types" in refused(capsys, "check", table, "--sep", ";")


def test_columns_that_no_tree_can_split_on_are_not_used(frame, database, tmp_path, capsys):
    with duckdb.connect(str(database)) as connection:
        connection.execute(
            """CREATE TABLE dated AS SELECT *, DATE '2024-01-01' + CAST(x AS INT) AS seen,
            [x] AS many FROM frame"""
        )
        connection.execute(f"COPY dated TO '{tmp_path / 'dated.parquet'}'")
    sources = [
        (f"duckdb:///{database}?table=dated",),
        (tmp_path / "dated.parquet",),
        (tmp_path / "dated.parquet", "--stream"),
    ]
    trees = []
    for source, *options in sources:
        argv = ["fit", source, "--target", "label", "--ignore", "the key", *options]
        code, out, err = run(capsys, *argv)
        assert code == 0, err
        for name in ("seen", "many"):
            assert f"Warning: Column '{name}' is not used: a tree cannot split on its type" in err
        trees.append(out)
    assert trees[0] == trees[1]
    _, _, err = run(capsys, *argv[:2], "--target", "x", "--ignore", "the key,label")
    assert "Column 'seen' is not used" in err
