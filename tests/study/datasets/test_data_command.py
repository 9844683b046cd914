"""``treebound data``."""

from __future__ import annotations

from pathlib import Path

import pytest

from treebound.cli.data import check, fetch, info, list_
from treebound.study import datasets


def test_list_names_every_data_set_and_where_it_is(raw_files: Path, capsys):
    list_(data=raw_files)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == datasets.list()
    assert lines[1].split() == ["acute_inflammation", "120", "1", "0", "6", "2", "folder"]


def test_list_without_files_has_what_scikit_learn_ships(capsys):
    list_()
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines() if "scikit" in line]
    assert names == ["breast_cancer_wisconsin_diagnostic", "wine"]


def test_info_shows_source_columns_and_the_other_typing(capsys):
    info("mushroom")
    out = capsys.readouterr().out
    entry = datasets.info("mushroom")
    for part in (entry.sha256, entry.url, entry.citation, "cap-shape", "b, c, f, k, s, x"):
        assert part in out
    assert "n < o < t" in out.split('typing="declared":')[1]


def test_check_finds_everything_right(raw_files: Path, capsys):
    assert check("iris", "wine", "zoo", data=raw_files) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"iris  ok, 150 examples from {raw_files}/iris/iris.data",
        "wine  ok, 178 examples from scikit-learn",
        f"zoo  ok, 101 examples from {raw_files}/zoo/zoo.data",
    ]


def test_check_names_the_broken_one_and_goes_on(tmp_path: Path, capsys):
    (tmp_path / "zoo").mkdir()
    (tmp_path / "zoo" / "zoo.data").write_text("aardvark")
    assert check("zoo", "wine", "iris", data=tmp_path) == 2
    captured = capsys.readouterr()
    assert "zoo.data" in captured.err
    assert "cut short" in captured.err
    assert captured.out.splitlines() == [
        "wine  ok, 178 examples from scikit-learn",
        "iris  not here",
    ]


def test_fetch_downloads_into_the_folder(mirror, raw_files: Path, tmp_path: Path, capsys):
    entry = datasets.info("zoo")
    mirror.files[entry.path] = (raw_files / "zoo" / "zoo.data").read_bytes()
    assert fetch("zoo", "iris", data=tmp_path) == 2
    captured = capsys.readouterr()
    assert captured.out == f"zoo  {tmp_path}/zoo/zoo.data\n"
    assert "'iris'" in captured.err
    assert check("zoo", data=tmp_path) == 0


def test_fetch_accepts_another_checksum_only_with_its_option(
    mirror, raw_files: Path, tmp_path: Path, capsys
):
    entry = datasets.info("amphibians")
    payload = (raw_files / "amphibians" / "dataset.csv").read_bytes().replace(b"\r\n", b"\n")
    mirror.files[entry.path] = payload
    assert fetch("amphibians", data=tmp_path) == 2
    assert "--accept" in capsys.readouterr().err
    assert fetch("amphibians", data=tmp_path, accept=True) == 0
    assert "warning:" in capsys.readouterr().err
    assert check("amphibians", data=tmp_path) == 0


def test_an_unknown_name_is_an_error():
    with pytest.raises(ValueError, match="Got 'iriss' instead"):
        fetch("iriss")
