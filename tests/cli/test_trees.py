"""fit, prune, show and certify, as a user runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import refused, run

import treebound as tb


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
    code, _, err = run(capsys, "fit", table, "--schema", schema, "-o", path, "--report", page)
    assert code == 0, err
    columns = {column.name: column for column in tb.BoundTreeClassifier.load(path).columns_}
    assert columns["n"].kind == "ordinal"
    colour = columns["colour"]  # a file lists the categories that splits name
    assert set(colour.categories) < {"red", "green", 'a,"b"', "blue"}
    assert colour.n_categories == 4
    assert columns["colour"].declared
    written = page.read_text(encoding="utf-8")
    assert written.lstrip().startswith("<!")
    assert '"missing_share"' in written


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
    frame = pd.read_csv(table)
    frame["size"] += 0.25
    new_rows = table.with_name("others.csv")
    frame.to_csv(new_rows, index=False)
    for kind, rows in (("training", table), ("held-out", new_rows)):
        code, out, _ = run(capsys, "certify", model, rows, "--delta", "0.01", "--kind", kind)
        assert code == 0
        assert "99 %" in out
        assert f"{kind} examples" in out
    code, out, _ = run(capsys, "certify", model, "--json")
    assert 0 < json.loads(out)["risk"] <= 1


def test_errors_are_one_line(model, table, tmp_path, capsys):
    locked = tmp_path / "locked"
    locked.mkdir()
    broken = tmp_path / "broken.json"
    broken.write_text(model.read_text()[:500])
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    for argv, message in [
        (["fit", "no.csv", "--target", "x"], "no.csv"),
        (["fit", table, "--target", "nope"], "'nope'"),
        (["fit", table], "--target"),
        (["fit", table, "--target", "label", "--pruning", "magic"], "magic"),
        (["fit", table, "--target", "label", "--cv", "1"], "The option --cv must be"),
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
        assert message in line


def test_whole_numbers_with_a_point_are_classes(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{i},{i % 2}.0\n" for i in range(20)))
    code, _, err = run(capsys, "fit", path, "--target", "y")
    assert code == 0
    assert "with 2 classes" in err


def test_a_table_without_rows_is_refused(model, table, tmp_path, capsys):
    path = tmp_path / "empty.csv"
    path.write_text("colour,size,n,label\n")
    for argv in (
        ["fit", path, "--target", "label"],
        ["fit", path, "--target", "label", "--stream"],
        ["evaluate", model, path],
        ["prune", model, path],
        ["certify", model, path],
    ):
        assert f"{path} has no rows, only the names of its columns" in refused(capsys, *argv)


def test_more_leaves_than_were_grown_cannot_be_kept(model, table, capsys):
    grown = tb.BoundTreeClassifier.load(model).grown_tree_.n_leaves
    line = refused(capsys, "prune", model, table, "--leaves", "1000")
    assert f"--leaves must be from 1 to {grown}, the leaves of the grown tree. Got 1,000" in line
    assert "--leaves must be from 1" in refused(capsys, "prune", model, table, "--leaves", "0")


@pytest.mark.parametrize("argv", [["certify", "--delta", "0"], ["certify", "--delta", "7"]])
def test_an_error_names_the_option_and_no_function(argv, model, capsys):
    command, *rest = argv
    line = refused(capsys, command, model, *rest)
    assert line.startswith("treebound: The option --delta must be a number in")


def test_counts_are_written_in_full_and_one_leaf_is_one(tmp_path, capsys):
    path = tmp_path / "t.csv"
    rng = np.random.default_rng(0)
    path.write_text("x,y\n" + "".join(f"{x:.2f},{i % 2}\n" for i, x in enumerate(rng.random(1200))))
    _, _, err = run(capsys, "fit", path, "--target", "y", "--max-leaves", "1", "--pruning", "none")
    first, second, hint = err.splitlines()[-3:]
    assert first == "The tree has one leaf and always predicts 0 (50.0 % of the training examples)."
    assert hint.startswith("Hint: --class-weight balanced")
    assert second == (
        "1 leaf grown, 1 kept; 600 of 1,200 training examples are misclassified "
        "(50.0 %; baseline 50.0 %, always 0)."
    )


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


def test_training_rows_are_refused_as_held_out_ones(model, table, tmp_path, capsys):
    words = "Hint: give rows that were not used before; without rows, certify gives the certificate"
    assert words in refused(capsys, "certify", model, table)
    other, frame = tmp_path / "other.csv", pd.read_csv(table)
    frame.sample(frac=0.9, random_state=0).to_csv(other, index=False)
    assert words in refused(capsys, "certify", model, other)
    frame.loc[:150, "size"] += 0.0001
    frame.to_csv(other, index=False)
    assert words in refused(capsys, "certify", model, other, "--kind", "held-out")
    frame["size"] += 0.0001
    frame.to_csv(other, index=False)
    code, out, err = run(capsys, "certify", model, other)
    assert (code, err) == (0, "")
    assert "held-out examples were" in out


def test_the_command_line_lists_all_pruners_and_sizes():
    from typing import get_args

    from treebound import pruning
    from treebound._utils.choices import Size
    from treebound.pruning.weight import RULES

    exported = {name for name in pruning.__all__ if name.endswith("Pruner")}
    exported -= {"Pruner", "PaperPruner", "SquaredErrorPruner"}  # of the study, and of numbers
    assert {pruner.__name__ for pruner in pruning.PRUNERS.values()} == exported
    assert get_args(Size) == (*RULES, "readable")


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
    line = refused(capsys, "fit", table, "--target", "label", "--costs", "red=2", "green=1")
    assert "repeat it" in line
    assert "--target" not in line


def test_the_report_names_its_table_and_date(table, tmp_path, capsys):
    page = tmp_path / "p.html"
    argv = ["fit", table, "--target", "label", "--report", page, "--quiet"]
    assert run(capsys, *argv)[0] == 0
    facts = dict(re.findall(r'\["([^"]+)","([^"]+)"\]', page.read_text(encoding="utf-8")))
    assert facts["Table"] == "data.csv"
    assert date.fromisoformat(facts["Fitted on"]) <= date.today()


def test_a_column_that_no_tree_can_split_on_is_named(tmp_path, capsys):
    maps = pa.array([[("k", 1)]] * 40, type=pa.map_(pa.string(), pa.int64()))
    table = pa.table({"a": np.arange(40.0) % 7, "tags": maps, "y": ["no", "yes"] * 20})
    pq.write_table(table, tmp_path / "table.parquet")
    words = run(capsys, "fit", tmp_path / "table.parquet", "--target", "y")[2]
    assert "Warning: Column 'tags' is not used" in words
    words = run(capsys, "fit", tmp_path / "table.parquet", "--target", "y", "--ignore", "tags")[2]
    assert "not used" not in words


def test_fit_and_prune_for_probabilities(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(800, 3)).round(2), columns=list("abc"))
    frame["y"] = np.where(rng.random(800) < 1 / (1 + np.exp(2 - frame["a"] - frame["b"])), "x", "o")
    data, first, second = (tmp_path / name for name in ("t.csv", "first.json", "second.json"))
    frame.to_csv(data, index=False)
    code, _, err = run(capsys, "fit", data, "--target", "y", "--pruning", "log-loss", "-o", first)
    assert code == 0, err
    assert "cross-validated log-loss" in err
    assert run(capsys, "prune", first, data, "--pruning", "log-loss", "-o", second)[0] == 0
    models = [tb.BoundTreeClassifier.load(path) for path in (first, second)]
    expected = tb.BoundTreeClassifier(pruning=tb.pruning.BoundPruner(score="log-loss")).fit(
        frame[["a", "b", "c"]], frame["y"]
    )
    for model in models:
        assert model.model_.prediction.free_shrinkage
        np.testing.assert_array_equal(
            model.predict_proba(frame[["a", "b", "c"]]),
            expected.predict_proba(frame[["a", "b", "c"]]),
        )
    third = tmp_path / "third.json"
    options = ("--target", "y", "--pruning", "log-loss", "--costs", "x=2", "-o", third)
    assert run(capsys, "fit", data, *options)[0] == 0
    model = tb.BoundTreeClassifier.load(third).model_
    cheapest = (model.node_probabilities * [1.0, 2.0]).argmax(axis=1)
    np.testing.assert_array_equal(model.tree.label, cheapest)


def test_fit_prints_a_table_of_alternatives(table, capsys):
    options = ("fit", table, "--target", "label", "--alternatives")
    code, _, err = run(capsys, *options, "3")
    assert code == 0, err
    assert "leaves  training error  certified error  disagreement  columns" in err
    assert "[0] is the fitted tree" in err
    report = table.parent / "tree.html"
    code, out, _ = run(capsys, *options, "3", "--json", "--quiet", "--report", report)
    document = json.loads(out)
    first, *further = document["alternatives"]
    assert (first["leaves"], first["disagreement"]) == (document["leaves"], 0.0)
    assert 1 + len(further) <= 3
    assert "disagrees with the fitted tree" in report.read_text(encoding="utf-8")
    assert "must be at least 1" in refused(capsys, *options, "0")
    assert "not in memory" in refused(capsys, *options, "2", "--stream")


def test_prune_of_the_training_table_gives_a_tree_that_fit_compared(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(1200, 3)).round(2), columns=list("abc"))
    noise = rng.random(1200) < 0.15
    frame["y"] = np.where((frame.a > 0) ^ (frame.b > 0.5) ^ noise, "u", "v")
    table, model, small = (tmp_path / name for name in ("t.csv", "m.json", "s.json"))
    frame.to_csv(table, index=False)
    run(capsys, "fit", table, "--target", "y", "--certificate", "held-out", "-o", model)
    clf = tb.BoundTreeClassifier.load(model)
    code, _, err = run(capsys, "prune", model, table, "--leaves", "2", "-o", small)
    assert code == 0, err
    expected, pruned = clf.prune_to(2), tb.BoundTreeClassifier.load(small)
    assert pruned.to_text() == expected.to_text()
    assert pruned.certificate_ == expected.certificate_
    assert "Estimated error" in err
    # other rows, or another pruner: pruned and counted again
    frame[:700].to_csv(table, index=False)
    _, _, err = run(capsys, "prune", model, table, "--leaves", "2", "-o", small, "--force")
    assert "the tree was pruned again" in err
    assert tb.BoundTreeClassifier.load(small).tree_.rows[0] == 700


def test_the_hint_for_one_leaf_names_the_pruner_only_if_it_was_not_used(tmp_path, capsys):
    path = tmp_path / "noise.csv"
    path.write_text("x,y\n" + "".join(f"{i % 7},{i % 2}\n" for i in range(280)))
    for options, named in ((), True), (("--pruning", "log-loss"), False):
        code, _, err = run(capsys, "fit", path, "--target", "y", *options)
        assert code == 0, err
        assert "one leaf" in err
        assert ("--pruning log-loss for probabilities" in err) is named
        assert "if all classes matter" in " ".join(err.split())
