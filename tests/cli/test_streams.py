"""``treebound fit`` on files that are read batch by batch."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from commands import refused, run

import treebound as tb
from treebound._utils.progress import Progress, ProgressLines
from treebound.cli import training
from treebound.data.files import Source
from treebound.data.schema import Schema

pytest.importorskip("pyarrow.dataset")


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"colour": rng.choice(["red", "green"], 900), "x": rng.normal(size=900)})
    table["label"] = np.where((table.colour == "red") ^ (table.x > 0.3), "yes", "no")
    return table


@pytest.fixture
def folder(frame, tmp_path) -> Path:
    path = tmp_path / "parts"
    path.mkdir()
    for k in range(3):
        frame.iloc[300 * k : 300 * k + 300].to_parquet(path / f"{k}.parquet")
    return path


def same_tree(path: Path, frame: pd.DataFrame) -> bool:
    tree = tb.BoundTreeClassifier.load(path).tree_
    expected = tb.BoundTreeClassifier().fit(frame.drop(columns="label"), frame.label).tree_
    return np.array_equal(tree.counts, expected.counts) and np.array_equal(
        tree.threshold, expected.threshold, equal_nan=True
    )


def test_files_of_one_table(frame, folder, tmp_path, capsys):
    model = tmp_path / "model.json"
    code, out, err = run(capsys, "fit", *sorted(folder.iterdir()), "--target", "label", "-o", model)
    assert (code, out) == (0, "")
    assert "leaves grown" in err
    assert same_tree(model, frame)


def test_a_folder(frame, folder, tmp_path, capsys):
    model = tmp_path / "model.json"
    assert run(capsys, "fit", folder, "--target", "label", "-o", model, "--quiet") == (0, "", "")
    assert same_tree(model, frame)


def test_a_single_csv_file_by_option_or_if_large(frame, tmp_path, capsys, monkeypatch):
    path, model = tmp_path / "rows.csv", tmp_path / "model.json"
    frame.to_csv(path, index=False)
    code, *_ = run(capsys, "fit", path, "--target", "label", "--stream", "-o", model, "--quiet")
    assert code == 0
    assert same_tree(model, frame)
    assert not training.too_large([path])
    monkeypatch.setattr(training, "_free_memory", lambda: 1000.0)
    assert training.too_large([path])


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "Which column is to be predicted?"),
        (["--target", "nothing"], "has no column 'nothing'"),
    ],
)
def test_what_is_refused(folder, capsys, argv, words):
    code, out, err = run(capsys, "fit", folder, "--stream", *argv)
    assert (code, out) == (2, "")
    assert words in " ".join(err.split())


def test_files_must_be_of_one_kind(frame, folder, capsys):
    frame.to_csv(folder / "more.csv", index=False)
    code, _, err = run(capsys, "fit", folder, "--target", "label")
    assert code == 2
    assert "parquet and text files together" in " ".join(err.split())


def test_lines_show_speed_leaves_and_the_time_left():
    printed, now = [], [0.0]
    lines = ProgressLines(printed.append, lambda: now[0])
    for stage, seconds, rows in (("learning", 0.0, 1), ("learning", 2.0, 500), ("coding", 3.0, 1)):
        now[0] = seconds
        lines.show(Progress(stage, rows, 1000))
    assert printed[1] == "learning: 500 rows, 250 rows per second, about 2 s left"
    for seconds, passes in ((4.0, 1), (5.0, 2)):
        now[0] = seconds
        lines.show(Progress("growing", 750, 1000, 7, 1, passes))
    assert printed[2] == "coding: 1 rows, 1 rows per second"  # since learning ended
    assert printed[-2].startswith("growing: pass 1, 1,000 rows per second")
    assert printed[-1] == (
        "growing: pass 2, 1,000 rows per second, 7 leaves so far, about 1 s left"
    )


def test_predict_streams_in_and_out(frame, folder, tmp_path, capsys):
    """Rows in memory are never more than a chunk."""
    model, labels = tmp_path / "model.json", tmp_path / "out.csv"
    run(capsys, "fit", folder, "--target", "label", "-o", model, "--quiet")
    part = folder / "0.parquet"
    code, *_ = run(capsys, "predict", model, part, "-o", labels, "--chunk-rows", "50", "--quiet")
    assert code == 0
    assert len(pd.read_csv(labels)) == 300
    assert json.loads(model.read_text())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.drop(columns="x"), "1.parquet lacks 'x'"),
        (lambda table: table.rename(columns={"label": "other"}), "1.parquet lacks 'label'"),
        (lambda table: table.assign(more=1), "1.parquet has 'more' besides"),
    ],
)
def test_files_of_other_columns_are_named(frame, folder, capsys, change, words):
    change(frame).to_parquet(folder / "1.parquet")
    code, out, err = run(capsys, "fit", folder, "--target", "label")
    assert (code, out) == (2, "")
    assert "must have the same columns" in err
    assert words in err


def test_options_of_reading_work_in_memory_and_streamed(tmp_path, capsys):
    path = tmp_path / "rows.txt"
    rows = "\n".join(f"{i};{i % 7},5;{'-' if i % 5 else 'red'};{'no' if i % 7 < 3 else 'yes'}"
                     for i in range(200))  # fmt: skip
    path.write_text(rows)
    schema = tmp_path / "rows.toml"
    schema.write_text(
        'target = "label"\n[read]\nheader = false\n[columns]\nid = "ignore"\n'
        'x = "real"\nc = "nominal"\nlabel = "nominal"\n'
    )
    how = ["--schema", schema, "--sep", ";", "--decimal", ",", "--missing", "-",
           "--quiet"]  # fmt: skip
    models = [tmp_path / "memory.json", tmp_path / "stream.json"]
    assert run(capsys, "fit", path, *how, "-o", models[0]) == (0, "", "")
    assert run(capsys, "fit", path, *how, "-o", models[1], "--stream") == (0, "", "")
    memory, stream = (tb.BoundTreeClassifier.load(model) for model in models)
    assert memory.columns_ == stream.columns_
    assert [column.name for column in memory.columns_] == ["x", "c"]
    assert memory.columns_[1].missing
    np.testing.assert_array_equal(memory.tree_.threshold, stream.tree_.threshold)
    assert memory.tree_.errors == 0


def test_a_packed_file_is_streamed_by_the_size_of_its_content(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"x,y\n" + b"1,2\n" * 100_000))
    monkeypatch.setattr(training, "_free_memory", lambda: 1e6)
    assert path.stat().st_size < 10_000
    assert training.too_large([path])


def test_predict_and_evaluate_take_several_files_and_folders(frame, folder, tmp_path, capsys):
    model, whole, parts = (tmp_path / name for name in ("m.json", "w.csv", "p.csv"))
    assert run(capsys, "fit", folder, "--target", "label", "-o", model)[0] == 0
    files = sorted(folder.iterdir())
    assert run(capsys, "predict", model, folder, "-o", whole)[0] == 0
    assert run(capsys, "predict", model, *files, "-o", parts)[0] == 0
    assert whole.read_text() == parts.read_text()
    assert len(whole.read_text().splitlines()) == len(frame) + 1
    outputs = [run(capsys, "evaluate", model, *paths, "--json") for paths in ([folder], files)]
    assert outputs[0][0] == 0, outputs[0][2]
    assert outputs[0] == outputs[1]


def test_ignored_columns_may_differ_between_files(frame, folder, tmp_path, capsys):
    last = sorted(folder.iterdir())[-1]
    table = pq.read_table(last)
    pq.write_table(table.append_column("more", [list(range(len(table)))]), last)
    argv = ["fit", folder, "--target", "label", "-o", tmp_path / "m.json"]
    for stream in ([], ["--stream"]):
        assert "has 'more' besides" in refused(capsys, *argv, *stream)
        assert run(capsys, *argv, "--ignore", "more", *stream)[0] == 0


def test_columns_of_one_parquet_file_are_ignored(frame, tmp_path, capsys):
    path, model = tmp_path / "rows.parquet", tmp_path / "model.json"
    frame.assign(id=range(900)).to_parquet(path)
    argv = ["fit", path, "--target", "label", "--ignore", "id", "--stream", "-o", model]
    code, _, err = run(capsys, *argv)
    assert code == 0, err
    assert same_tree(model, frame)


def test_a_file_that_changes_between_two_readings_is_named(folder):
    source = Source([str(folder)], Schema(target="label"))
    assert len(next(source.chunks(10)))
    last = sorted(folder.iterdir())[-1]
    pq.write_table(pq.read_table(last).slice(3), last)
    with pytest.raises(ValueError, match=f"{last.name} changed while the table was read"):
        next(source.chunks(10))
