"""fit, predict, prune, show and certify, as a person at a shell uses them."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shell import refused, run
from support import ordinary_user

import treebound as tb


@pytest.fixture
def table(tmp_path) -> Path:
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", 'a,"b"'], size=300)
    size = rng.normal(size=300).round(3)
    frame = pd.DataFrame({"colour": colour, "size": size, "n": rng.integers(0, 9, 300)})
    frame["label"] = np.where((colour == "red") ^ (size > 0.3), "yes", "no")
    frame.loc[::50, "size"] = np.nan
    frame.loc[::70, "colour"] = None
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def model(table, capsys) -> Path:
    path = table.parent / "model.json"
    code, out, err = run(capsys, "fit", table, "--target", "label", "-o", path)
    assert (code, out) == (0, "")
    lines = err.splitlines()
    assert len(lines) == 3
    assert lines[0].endswith("data.csv: 300 rows, 3 columns, target 'label' with 2 classes.")
    assert "always 'no': " in lines[1]
    assert lines[2].startswith("With probability 95 %")
    assert "; always the most frequent class: " in lines[2]
    return path


def test_fit_without_output_prints_the_tree(table, capsys):
    code, out, _ = run(capsys, "fit", table, "--target", "label", "--quiet")
    assert code == 0
    assert "colour = red" in out


def test_fit_follows_a_schema_and_writes_a_page(table, tmp_path, capsys):
    schema = tmp_path / "schema.toml"
    schema.write_text(
        'target = "label"\n[columns]\nn = { kind = "ordinal", categories = [0,1,2,3,4,5,6,7,8] }\n'
        '[columns.colour]\nkind = "nominal"\ncategories = ["red", "green", "a,\\"b\\"", "blue"]\n'
    )
    page, path = tmp_path / "report.html", tmp_path / "m.json"
    code, _, err = run(capsys, "fit", table, "--schema", schema, "-o", path, "--page", page)
    assert code == 0, err
    columns = {column.name: column for column in tb.BoundTreeClassifier.load(path).columns_}
    assert columns["n"].kind == "ordinal"
    assert columns["colour"].categories == ("red", "green", 'a,"b"', "blue")
    assert columns["colour"].declared
    assert page.read_text(encoding="utf-8").lstrip().startswith("<!")


def test_predict_answers_as_the_classifier_does_whatever_the_chunks(model, table, capsys):
    classifier = tb.BoundTreeClassifier.load(model)
    frame = tb.datasets.read_table(str(table), target="label").frame
    expected = classifier.predict(frame)
    for rows in ("7", "1000"):
        code, out, _ = run(capsys, "predict", model, table, "--proba", "--chunk-rows", rows)
        assert code == 0
        answers = pd.read_csv(io.StringIO(out))
        assert answers["label"].tolist() == expected.tolist()
        given = answers[["P(no)", "P(yes)"]].to_numpy()
        np.testing.assert_allclose(given, classifier.predict_proba(frame), rtol=1e-12)


def test_predict_to_parquet_and_from_it_keeping_the_columns(model, table, capsys):
    source, target = table.with_suffix(".parquet"), table.parent / "out.parquet"
    pd.read_csv(table).to_parquet(source)
    code, _, err = run(capsys, "predict", model, source, "-o", target, "--keep")
    assert code == 0, err
    answers = pd.read_parquet(target)
    assert list(answers.columns) == ["colour", "size", "n", "label", "predicted label"]
    assert len(answers) == 300


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


def test_a_schema_says_how_the_file_to_predict_is_laid_out(model, table, capsys):
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


def test_a_table_without_rows_gives_an_empty_answer(model, table, capsys):
    empty = table.parent / "empty.csv"
    empty.write_text(table.read_text().splitlines()[0] + "\n")
    code, out, err = run(capsys, "predict", model, empty, "--proba")
    assert code == 0, err
    assert out.strip() == "label,P(no),P(yes)"


def test_an_error_in_a_late_chunk_leaves_no_output(table, tmp_path, capsys):
    path, out = tmp_path / "strict.json", tmp_path / "out.csv"
    run(capsys, "fit", table, "--target", "label", "--unknown", "error", "-o", path)
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


def test_prune_again_and_to_a_size(model, table, capsys):
    path = table.parent / "small.json"
    code, out, err = run(capsys, "prune", model, table, "--leaves", "2", "-o", path)
    assert (code, out) == (0, ""), err
    assert tb.BoundTreeClassifier.load(path).n_leaves_ == 2
    code, out, err = run(capsys, "prune", model, table, "--pruning", "pessimistic")
    assert code == 0, err
    assert "colour" in out


@pytest.mark.parametrize(
    ("form", "start"),
    [("text", b"size"), ("rules", b"if "), ("dot", b"digraph"), ("latex", b"%"),
     ("svg", b"<?xml"), ("png", b"\x89PNG"), ("sql", b"CASE"), ("python", b""), ("c", b""),
     ("html", b"<!"), ("onnx", b"")],
)  # fmt: skip
def test_show_in_every_form(model, form, start, capsys):
    path = model.with_suffix(f".{form}")
    code, _, err = run(capsys, "show", model, "--as", form, "-o", path)
    assert code == 0, err
    assert path.read_bytes().lstrip().startswith(start)
    assert path.stat().st_size > 50


def test_certify_by_training_and_by_held_out_rows(model, table, capsys):
    code, out, _ = run(capsys, "certify", model)
    assert code == 0
    assert "With probability 95 %" in out
    for kind in ("training", "held-out"):
        code, out, _ = run(capsys, "certify", model, table, "--delta", "0.01", "--kind", kind)
        assert code == 0
        assert "99 %" in out
        assert f"{kind} examples" in out
    code, out, _ = run(capsys, "certify", model, "--json")
    assert 0 < json.loads(out)["risk"] <= 1


def test_what_is_wrong_is_said_in_one_line(model, table, tmp_path, capsys):
    locked = tmp_path / "locked"
    locked.mkdir()
    broken = tmp_path / "broken.json"
    broken.write_text(model.read_text()[:500])
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    for argv, said in [
        (["fit", "no.csv", "--target", "x"], "no.csv"),
        (["fit", table, "--target", "nope"], "'nope'"),
        (["fit", table], "--target"),
        (["fit", table, "--target", "label", "--pruning", "magic"], "magic"),
        (["fit", table, "--target", "label", "--delta", "2"], "The option --delta must be"),
        (["fit", table, "--target", "label", "-o", tmp_path / "no" / "m.json"], "no folder"),
        (["fit", table, "--target", "label", "-o", locked], "it is a folder"),
        (["predict", "no.json", table], "no.json"),
        (["predict", broken, table], "broken.json"),
        (["predict", model, other], "'colour'"),
        (["predict", model, "no.csv"], "no.csv"),
        (["predict", model, table, "-o", tmp_path / "out.xlsx"], ".parquet"),
        (["show", model, "--as", "poem"], "poem"),
        (["show", model, "--as", "sql", "--max-depth", "2"], "--max-depth"),
        (["certify", model, other], "'colour'"),
        (["prune", model, table, "--pruning", "none"], "none"),
    ]:
        code, out, err = run(capsys, *argv)
        assert code == 2, argv
        assert out == ""
        (line,) = err.strip().splitlines()
        assert line.startswith("treebound:")
        assert said in line


def test_no_permission_to_write_is_said_before_the_work(model, table, tmp_path, capsys):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    with ordinary_user():
        code, _, err = run(capsys, "predict", model, table, "-o", folder / "out.csv")
    assert code == 2
    assert "permission denied" in err


# -- nothing is overwritten that should not be ----------------------------------------------------


def test_no_command_writes_over_what_it_reads(model, table, tmp_path, capsys):
    schema, link = tmp_path / "schema.toml", tmp_path / "link.csv"
    schema.write_text('target = "label"\n')
    link.symlink_to(table)
    hard = tmp_path / "hard.json"
    hard.hardlink_to(model)
    folder = tmp_path / "folder"
    folder.mkdir()
    part = folder / "part.csv"
    part.write_bytes(table.read_bytes())
    before = {path: path.read_bytes() for path in (model, table, schema, part)}
    for argv in (
        ["fit", table, "--target", "label", "-o", table],
        ["fit", table, "--target", "label", "--page", link],
        ["fit", table, "--schema", schema, "-o", schema],
        ["fit", folder, "--target", "label", "-o", part],
        ["fit", folder, "--target", "label", "--checkpoint", part],
        ["predict", model, table, "-o", table],
        ["predict", model, link, "-o", table],
        ["prune", model, table, "-o", model],
        ["prune", model, table, "-o", hard],
        ["prune", model, table, "-o", table],
        ["show", model, "--as", "sql", "-o", model],
    ):
        for force in ([], ["--force"]):
            assert "this command reads it" in refused(capsys, *argv, *force), argv
    assert {path: path.read_bytes() for path in before} == before
    both, alias = tmp_path / "both.json", tmp_path / "alias.html"
    alias.symlink_to(both)
    for page in (both, alias, tmp_path / "folder" / ".." / "both.json"):
        line = refused(capsys, "fit", table, "--target", "label", "-o", both, "--page", page)
        assert "are one file" in line
        assert not both.exists()


@pytest.mark.parametrize(
    ("argv", "name", "content", "what"),
    [
        (["fit", "{table}", "--target", "label"], "notes.txt", "my notes", "a text file"),
        (["fit", "{table}", "--target", "label"], "other.csv", "a,b\n1,2\n", "a table"),
        (["prune", "{model}", "{table}"], "page.html", "<!DOCTYPE html><p>", "an HTML page"),
        (["predict", "{model}", "{table}"], "script", '{"format":"treebound-model"}', "a model"),
        (["predict", "{model}", "{table}"], "x.parquet", "a,b\n1,2\n", "a text file"),
        (["show", "{model}"], "thesis.tex", "\\section", "a LaTeX file"),
        (["show", "{model}", "--as", "svg"], "picture.svg", "%PDF-1", "a PDF file"),
        (["show", "{model}", "--as", "python"], "data.csv2.csv", "a,b\n", "a table"),
    ],
)
def test_a_file_of_another_kind_is_kept_unless_forced(
    model, table, tmp_path, capsys, argv, name, content, what
):
    path = tmp_path / name
    path.write_text(content)
    argv = [part.format(table=table, model=model) for part in argv]
    line = refused(capsys, *argv, "-o", path)
    assert f"Cannot write {path}: it is {what}" in line
    assert "--force" in line
    assert path.read_text() == content
    assert run(capsys, *argv, "-o", path, "--force")[0] == 0
    assert path.read_bytes() != content.encode()
    assert run(capsys, *argv, "-o", path)[0] in (0, 2)


def test_a_file_of_the_same_kind_is_written_again(model, table, tmp_path, capsys):
    for argv, name in (
        (["fit", table, "--target", "label"], "m.json"),
        (["prune", model, table], "m.json"),
        (["predict", model, table], "a.csv"),
        (["predict", model, table], "a.parquet"),
        (["show", model, "--as", "sql"], "t.sql"),
        (["show", model, "--as", "png"], "t.png"),
        (["show", model, "--as", "html"], "t.html"),
        (["show", model, "--as", "onnx"], "t.onnx"),
    ):
        for _ in range(2):
            code, _, err = run(capsys, *argv, "-o", tmp_path / name)
            assert code == 0, err


# -- clear and right ----------------------------------------------------------------------------


def test_a_continuous_target_is_refused_as_the_library_refuses_it(tmp_path, capsys):
    path = tmp_path / "t.csv"
    rng = np.random.default_rng(0)
    pd.DataFrame({"x": rng.normal(size=50), "y": rng.normal(size=50)}).to_csv(path, index=False)
    line = refused(capsys, "fit", path, "--target", "y")
    assert "target column 'y' holds numbers with a fraction, not classes" in line
    path.write_text("x,y\n" + "".join(f"{i},{i % 2}.0\n" for i in range(20)))
    assert run(capsys, "fit", path, "--target", "y")[0] == 0


def test_a_table_without_rows_is_refused(model, table, tmp_path, capsys):
    path = tmp_path / "empty.csv"
    path.write_text("colour,size,n,label\n")
    for argv in (
        ["fit", path, "--target", "label"],
        ["prune", model, path],
        ["certify", model, path],
    ):
        assert f"{path} has no rows, only the names of its columns" in refused(capsys, *argv)


def test_more_leaves_than_were_grown_cannot_be_kept(model, table, capsys):
    grown = tb.BoundTreeClassifier.load(model).grown_tree_.n_leaves
    line = refused(capsys, "prune", model, table, "--leaves", "1000")
    assert f"--leaves must be from 1 to {grown}, the leaves of the grown tree. Got 1,000" in line
    assert "--leaves must be from 1" in refused(capsys, "prune", model, table, "--leaves", "0")


def test_columns_the_model_does_not_know_are_left_alone(model, table, tmp_path, capsys):
    frame = pd.read_csv(table)
    frame.insert(1, "when", pd.date_range("2020-01-01", periods=300, tz="UTC"))
    frame.insert(0, "lists", [[1]] * 300)
    source, out = tmp_path / "more.parquet", tmp_path / "out.parquet"
    frame.to_parquet(source)
    plain = run(capsys, "predict", model, table)[1]
    code, shown, err = run(capsys, "predict", model, source)
    assert (code, shown) == (0, plain), err
    assert run(capsys, "certify", model, source, "--kind", "held-out")[0] == 0
    assert run(capsys, "fit", source, "--target", "label", "--quiet")[0] == 0
    code, _, err = run(capsys, "predict", model, source, "--keep", "-o", out)
    assert code == 0, err
    kept = pd.read_parquet(out)
    assert list(kept.columns) == [*frame.columns, "predicted label"]
    assert kept["when"].tolist() == frame["when"].tolist()


@pytest.mark.parametrize("argv", [["fit", "--delta", "0"], ["certify", "--delta", "7"]])
def test_an_error_names_the_option_and_no_function(argv, model, table, capsys):
    command, *rest = argv
    where = [table, "--target", "label"] if command == "fit" else [model]
    line = refused(capsys, command, *where, *rest)
    assert line.startswith("treebound: The option --delta must be a number in")


def test_counts_are_written_in_full_and_one_leaf_is_one(tmp_path, capsys):
    path = tmp_path / "t.csv"
    rng = np.random.default_rng(0)
    path.write_text("x,y\n" + "".join(f"{x:.2f},{i % 2}\n" for i, x in enumerate(rng.random(1200))))
    _, _, err = run(capsys, "fit", path, "--target", "y", "--max-leaves", "1", "--pruning", "none")
    first, second, hint, third = err.splitlines()[-4:]
    assert first == "The tree has one leaf and always answers 0 (50.0 % of the training examples)."
    assert hint.startswith("Hint: --class-weight balanced")
    assert second == (
        "1 leaf grown, 1 kept; 600 of 1,200 training examples are misclassified "
        "(50.0 %; always 0: 50.0 %)."
    )
    assert third.startswith("The tree has one leaf and always gives the same answer. With prob")


def test_reduced_error_pruning_prunes_the_tree_of_the_model(model, table, tmp_path, capsys):
    other, path = tmp_path / "new.csv", tmp_path / "pruned.json"
    frame = pd.read_csv(table).sample(frac=0.5, random_state=1)
    frame.to_csv(other, index=False)
    code, _, err = run(capsys, "prune", model, other, "--pruning", "reduced-error", "-o", path)
    assert code == 0, err
    before, after = tb.BoundTreeClassifier.load(model), tb.BoundTreeClassifier.load(path)
    np.testing.assert_array_equal(after.grown_tree_.threshold, before.grown_tree_.threshold)
    np.testing.assert_array_equal(after.tree_.counts[0], before.tree_.counts[0])
    assert "of 300 training examples" in err


def test_training_rows_are_not_taken_for_held_out_ones(model, table, tmp_path, capsys):
    code, expected, _ = run(capsys, "certify", model)
    code, out, err = run(capsys, "certify", model, table)
    assert (code, out) == (0, expected)
    assert "These rows took part in fitting" in err
    shuffled = tmp_path / "shuffled.csv"
    frame = pd.read_csv(table)
    frame.sample(frac=0.9, random_state=0).to_csv(shuffled, index=False)
    assert run(capsys, "certify", model, shuffled)[1] == expected
    frame.loc[:150, "size"] += 0.0001
    frame.to_csv(shuffled, index=False)
    assert "Hint: leave out the rows" in refused(capsys, "certify", model, shuffled)
    frame["size"] += 0.0001
    frame.to_csv(shuffled, index=False)
    code, out, err = run(capsys, "certify", model, shuffled)
    assert (code, err) == (0, "")
    assert "held-out examples were" in out


def test_a_category_never_seen_is_answered_and_judged(model, table, tmp_path, capsys):
    other = tmp_path / "new.csv"
    other.write_text(table.read_text() + "purple,0.5,3,yes\n")
    code, out, _ = run(capsys, "predict", model, other)
    assert code == 0
    assert len(out.splitlines()) == 302
    assert run(capsys, "certify", model, other, "--kind", "held-out")[0] == 0


def test_the_choices_of_the_shell_are_those_of_the_library():
    from typing import get_args

    from treebound.cli import fit
    from treebound.data.columns import UNKNOWNS
    from treebound.growing.options import Thresholds
    from treebound.pruning import PRUNERS
    from treebound.tree.impurity import Criterion

    assert get_args(fit.Pruner) == tuple(PRUNERS)
    assert get_args(fit.Unknown) == UNKNOWNS
    assert set(get_args(fit.Thresholds)) == set(get_args(Thresholds))
    assert set(get_args(fit.Criterion)) == set(get_args(Criterion))


def test_a_model_is_written_even_if_nobody_reads_the_messages(tmp_path):
    table, model = tmp_path / "rows.csv", tmp_path / "model.json"
    table.write_text("x,y\n" + "".join(f"{i},{'no' if i < 20 else 'yes'}\n" for i in range(40)))
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "treebound", "fit", table, "--target", "y", "-o", model]
    try:
        done = subprocess.run(command, stderr=write, stdout=write, check=False)
    finally:
        os.close(write)
    assert done.returncode == 0
    assert tb.BoundTreeClassifier.load(model).n_leaves_ == 2


def test_a_second_word_that_is_no_file_is_probably_the_target(table, capsys):
    line = refused(capsys, "fit", table, "label")
    assert "There is no file label" in line
    assert "--target label" in line


def test_ctrl_c_in_the_folds_keeps_the_tree(table, tmp_path, monkeypatch, capsys):
    def stopped(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("treebound.classifier.fitting.cross_validated", stopped)
    path, page = tmp_path / "m.json", tmp_path / "p.html"
    argv = ["fit", table, "--target", "label", "--cv", "3", "-o", path, "--page", page]
    code, _, err = run(capsys, *argv)
    assert code == 130
    assert err.splitlines()[-1] == (
        "treebound: Cross-validation was stopped; the tree of all rows is fitted."
    )
    assert tb.BoundTreeClassifier.load(path).tree_.n_classes == 2
    assert page.exists()


def test_the_page_names_its_table_date_and_cross_validated_errors(table, tmp_path, capsys):
    page = tmp_path / "p.html"
    argv = ["fit", table, "--target", "label", "--cv", "3", "--page", page, "--quiet"]
    assert run(capsys, *argv)[0] == 0
    facts = dict(re.findall(r'\["([^"]+)","([^"]+)"\]', page.read_text(encoding="utf-8")))
    assert facts["Table"] == "data.csv, 300 rows"
    assert date.fromisoformat(facts["Fitted on"]) <= date.today()
    assert re.fullmatch(r"\d+\.\d % \(3 folds\)", facts["Cross-validated errors"])


def test_a_column_of_maps_is_kept_in_parquet_and_refused_in_csv(model, table, tmp_path, capsys):
    rows = pa.Table.from_pandas(pd.read_csv(table), preserve_index=False)
    pairs = pa.array([[("k", i)] for i in range(300)], pa.map_(pa.string(), pa.int64()))
    path, kept = tmp_path / "maps.parquet", tmp_path / "kept.parquet"
    pq.write_table(rows.append_column("pairs", pairs), path)
    line = refused(capsys, "predict", model, path, "--keep", "-o", tmp_path / "out.csv")
    assert "Column 'pairs' is map<string, int64" in line
    assert "cannot be written as CSV" in line
    assert not (tmp_path / "out.csv").exists()
    code, _, err = run(capsys, "predict", model, path, "--keep", "-o", kept)
    assert code == 0, err
    assert pq.read_table(kept).column("pairs").to_pylist() == pairs.to_pylist()


def test_a_column_that_no_tree_can_split_on_is_named(tmp_path, capsys):
    maps = pa.array([[("k", 1)]] * 40, type=pa.map_(pa.string(), pa.int64()))
    table = pa.table({"a": np.arange(40.0) % 7, "tags": maps, "y": ["no", "yes"] * 20})
    pq.write_table(table, tmp_path / "table.parquet")
    words = run(capsys, "fit", tmp_path / "table.parquet", "--target", "y")[2]
    assert "Warning: Column 'tags' is left out" in words
    asked = run(capsys, "fit", tmp_path / "table.parquet", "--target", "y", "--ignore", "tags")[2]
    assert "left out" not in asked
