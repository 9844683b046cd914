"""predict, as a user runs it: chunks, pipes, layouts, columns."""

from __future__ import annotations

import io
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from commands import refused, run

import treebound as tb


def test_predictions_are_those_of_the_classifier_for_every_chunk_size(model, table, capsys):
    classifier = tb.BoundTreeClassifier.load(model)
    frame = tb.study.datasets.read_table(str(table), target="label").frame
    expected = classifier.predict(frame)
    for rows in ("7", "1000"):
        code, out, _ = run(capsys, "predict", model, table, "--proba", "--chunk-rows", rows)
        assert code == 0
        result = pd.read_csv(io.StringIO(out))
        assert result["label"].tolist() == expected.tolist()
        given = result[["P(no)", "P(yes)"]].to_numpy()
        np.testing.assert_allclose(given, classifier.predict_proba(frame), atol=6e-7)
        assert max(len(number) for line in out.split() for number in line.split(",")) <= 8


def test_predict_to_parquet_and_from_it_keeping_the_columns(model, table, capsys):
    source, target = table.with_suffix(".parquet"), table.parent / "out.parquet"
    pd.read_csv(table).to_parquet(source)
    code, _, err = run(capsys, "predict", model, source, "-o", target, "--keep")
    assert code == 0, err
    result = pd.read_parquet(target)
    assert list(result.columns) == ["colour", "size", "n", "label", "predicted label"]
    assert len(result) == 300


def pipe(monkeypatch, content):
    class Stdin:
        buffer = io.BytesIO(content)

    monkeypatch.setattr(sys, "stdin", Stdin())


def test_predict_reads_and_writes_pipes(model, table, capsys, monkeypatch):
    pipe(monkeypatch, table.read_bytes())
    code, out, err = run(capsys, "predict", model, "-", "-o", "-")
    assert code == 0, err
    assert len(out.splitlines()) == 301
    parquet = io.BytesIO()
    pd.read_csv(table).to_parquet(parquet)
    pipe(monkeypatch, parquet.getvalue())
    assert run(capsys, "predict", model, "-")[:2] == (0, out)
    pipe(monkeypatch, b"PAR1 and no more")
    code, _, err = run(capsys, "predict", model, "-")
    assert code == 2
    assert "standard input is not a Parquet file" in err


def test_a_model_comes_through_a_pipe_too(model, table, capsys, monkeypatch):
    for argv in (["show"], ["certify"], ["predict", table], ["prune", table], ["evaluate", table]):
        command, *rest = argv
        from_file = run(capsys, command, model, *rest)
        pipe(monkeypatch, model.read_bytes())
        assert run(capsys, command, "-", *rest) == from_file, argv
        assert from_file[0] == 0
    pipe(monkeypatch, table.read_bytes())
    assert run(capsys, "evaluate", model, "-") == from_file
    code, _, err = run(capsys, "predict", "-", "-")
    assert code == 2
    assert "cannot both" in err


def test_a_schema_states_the_layout_of_the_file_to_predict(model, table, capsys):
    plain = run(capsys, "predict", model, table)[1]
    frame = pd.read_csv(table)
    other, schema = table.parent / "other.txt", table.parent / "layout.toml"
    frame.to_csv(other, index=False, sep=";", na_rep="?", decimal=",")
    schema.write_text('missing = ["?"]\n[read]\nseparator = ";"\ndecimal = ","\n')
    assert run(capsys, "predict", model, other, "--schema", schema)[:2] == (0, plain)
    frame[["n", "size", "colour"]].to_csv(other, index=False, header=False)
    schema.write_text(
        '[read]\nheader = false\n[columns]\nn = "real"\nsize = "real"\ncolour = "nominal"\n'
    )
    assert run(capsys, "predict", model, other, "--schema", schema)[:2] == (0, plain)


def test_a_table_without_rows_gives_an_empty_table(model, table, capsys):
    empty = table.parent / "empty.csv"
    empty.write_text(table.read_text().splitlines()[0] + "\n")
    code, out, err = run(capsys, "predict", model, empty, "--proba")
    assert code == 0, err
    assert out.strip() == "label,P(no),P(yes)"


def test_an_error_in_a_late_chunk_leaves_no_output(table, tmp_path, capsys):
    path, out = tmp_path / "strict.json", tmp_path / "out.csv"
    frame = pd.read_csv(table)
    clf = tb.BoundTreeClassifier(handle_unknown="error")
    clf.fit(frame.drop(columns="label"), frame["label"]).save(path)
    text = table.read_text()
    late = tmp_path / "late.csv"
    late.write_text(text + "purple,0.5,3,yes\n")
    out.write_text("as it was")
    code, _, err = run(capsys, "predict", path, late, "-o", out, "--chunk-rows", "50")
    assert code == 2
    assert "purple" in err
    assert len(err.strip().splitlines()) == 1
    assert out.read_text() == "as it was"
    assert not list(tmp_path.glob(".*part"))


def test_columns_the_model_does_not_know_are_left_alone(model, table, tmp_path, capsys):
    frame = pd.read_csv(table)
    frame.insert(1, "when", pd.date_range("2020-01-01", periods=300, tz="UTC"))
    frame.insert(0, "lists", [[1]] * 300)
    source, out = tmp_path / "more.parquet", tmp_path / "out.parquet"
    frame.to_parquet(source)
    plain = run(capsys, "predict", model, table)[1]
    code, shown, err = run(capsys, "predict", model, source)
    assert (code, shown) == (0, plain), err
    assert run(capsys, "certify", model, source, "--kind", "training")[0] == 0
    assert run(capsys, "fit", source, "--target", "label", "--quiet")[0] == 0
    code, _, err = run(capsys, "predict", model, source, "--keep", "-o", out)
    assert code == 0, err
    result = pd.read_parquet(out)
    assert list(result.columns) == [*frame.columns, "predicted label"]
    assert result["when"].tolist() == frame["when"].tolist()


def test_a_category_never_seen_is_answered_and_judged(model, table, tmp_path, capsys):
    other = tmp_path / "new.csv"
    other.write_text(table.read_text() + "purple,0.5,3,yes\n")
    code, out, _ = run(capsys, "predict", model, other)
    assert code == 0
    assert len(out.splitlines()) == 302
    assert run(capsys, "certify", model, other, "--kind", "training")[0] == 0


def test_a_column_of_maps_is_kept_in_parquet_and_refused_in_csv(model, table, tmp_path, capsys):
    rows = pa.Table.from_pandas(pd.read_csv(table), preserve_index=False)
    pairs = pa.array([[("k", i)] for i in range(300)], pa.map_(pa.string(), pa.int64()))
    path, result = tmp_path / "maps.parquet", tmp_path / "kept.parquet"
    pq.write_table(rows.append_column("pairs", pairs), path)
    line = refused(capsys, "predict", model, path, "--keep", "-o", tmp_path / "out.csv")
    assert "Column 'pairs' is map<string, int64" in line
    assert "cannot be written as CSV" in line
    assert not (tmp_path / "out.csv").exists()
    code, _, err = run(capsys, "predict", model, path, "--keep", "-o", result)
    assert code == 0, err
    assert pq.read_table(result).column("pairs").to_pylist() == pairs.to_pylist()
