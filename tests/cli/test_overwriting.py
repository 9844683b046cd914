"""A command overwrites neither its input nor a file of another kind."""

from __future__ import annotations

import pytest
from commands import refused, run
from support import ordinary_user


def test_no_permission_to_write_fails_before_the_work(model, table, tmp_path, capsys):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    with ordinary_user():
        code, _, err = run(capsys, "predict", model, table, "-o", folder / "out.csv")
    assert code == 2
    assert "permission denied" in err


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
        ["fit", table, "--target", "label", "--report", link],
        ["fit", table, "--schema", schema, "-o", schema],
        ["fit", folder, "--target", "label", "-o", part],
        ["predict", model, table, "-o", table],
        ["predict", model, link, "-o", table],
        ["prune", model, table, "-o", model],
        ["prune", model, table, "-o", hard],
        ["prune", model, table, "-o", table],
        ["show", model, "--as", "sql", "-o", model],
    ):
        for force in ([], ["--force"]) if argv[0] != "fit" else ([],):
            assert "this command reads it" in refused(capsys, *argv, *force), argv
    assert {path: path.read_bytes() for path in before} == before
    both, alias = tmp_path / "both.json", tmp_path / "alias.html"
    alias.symlink_to(both)
    for page in (both, alias, tmp_path / "folder" / ".." / "both.json"):
        line = refused(capsys, "fit", table, "--target", "label", "-o", both, "--report", page)
        assert "are one file" in line
        assert not both.exists()


@pytest.mark.parametrize(
    ("argv", "name", "content", "kind"),
    [
        (["fit", "{table}", "--target", "label"], "notes.txt", "my notes", "a text file"),
        (["fit", "{table}", "--target", "label"], "other.csv", "a,b\n1,2\n", "a table"),
        (["prune", "{model}", "{table}"], "page.html", "<!DOCTYPE html><p>", "an HTML file"),
        (["predict", "{model}", "{table}"], "script", '{"format":"treebound-model"}', "a model"),
        (["predict", "{model}", "{table}"], "x.parquet", "a,b\n1,2\n", "a text file"),
        (["show", "{model}"], "thesis.tex", "\\section", "a LaTeX file"),
        (["show", "{model}", "--as", "svg"], "picture.svg", "%PDF-1", "a PDF file"),
        (["show", "{model}", "--as", "python"], "data.csv2.csv", "a,b\n", "a table"),
    ],
)
def test_a_file_of_another_kind_is_kept_unless_forced(
    model, table, tmp_path, capsys, argv, name, content, kind
):
    path = tmp_path / name
    path.write_text(content)
    argv = [part.format(table=table, model=model) for part in argv]
    line = refused(capsys, *argv, "-o", path)
    assert f"Cannot write {path}: it is {kind}" in line
    assert ("delete this one" if argv[0] == "fit" else "use --force") in line
    assert path.read_text() == content
    if argv[0] == "fit":
        return
    assert run(capsys, *argv, "-o", path, "--force")[0] == 0
    assert path.read_bytes() != content.encode()
    assert run(capsys, *argv, "-o", path)[0] in (0, 2)


def test_a_file_of_the_same_kind_is_written_again(model, table, tmp_path, capsys):
    for argv, name in (
        (["fit", table, "--target", "label"], "m.json"),
        (["fit", table, "--target", "n", "--task", "regress"], "numbers.json"),
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
