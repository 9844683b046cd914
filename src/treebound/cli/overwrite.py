"""Where a command may write: never over what it reads, nor over a file of another kind."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path

from treebound._files import check_writable, is_special

_TEXT = "a text file"
# Files that say what they are in their first bytes.
_STARTS = (
    (b"PAR1", "a Parquet file"),
    (b"SQLite format 3\0", "a database"),
    (b"\x89PNG", "a PNG picture"),
    (b"%PDF", "a PDF file"),
    (b"\x1f\x8b", "a compressed file"),
    (b"PK\x03\x04", "an archive"),
    (b"<?xml", "an SVG picture"),
    (b"<svg", "an SVG picture"),
    (b"<!doctype html", "an HTML page"),
    (b"<html", "an HTML page"),
)
_SUFFIXES = {
    ".csv": "a table", ".tsv": "a table", ".json": "a JSON file", ".toml": "a schema",
    ".py": "Python code", ".sql": "SQL code", ".c": "C code", ".h": "C code",
    ".tex": "a LaTeX file", ".dot": "a DOT file", ".gv": "a DOT file", ".md": "a Markdown file",
    ".html": "an HTML page", ".svg": "an SVG picture", ".rst": "a reStructuredText file",
}  # fmt: skip
# What the forms of this package are.
_FORMS = {
    "model": "a model", "csv": "a table", "parquet": "a Parquet file", "html": "an HTML page",
    "svg": "an SVG picture", "png": "a PNG picture", "pdf": "a PDF file", "onnx": "a binary file",
    "text": _TEXT, "rules": _TEXT, "terminal": _TEXT, "sql": "SQL code", "python": "Python code",
    "c": "C code", "latex": "a LaTeX file", "dot": "a DOT file", "markdown": "a Markdown file",
}  # fmt: skip
_NOT_TEXT = ("model", "parquet", "html", "svg", "png", "pdf", "onnx")


def check_output(
    path: Path | None, form: str | None, *, reads: Iterable[Path | None] = (), force: bool = False
) -> None:
    """Raise now, before the long work, if a command must not write a file of some form.

    What it ``reads`` is never written over; a file of another kind only by ``force``. The form is
    None where the writer looks at an existing file itself.
    """
    if path is None or str(path) == "-":
        return
    check_writable(path)
    if is_special(path) or not path.exists():
        return
    if any(_same(path, file) for read in reads if read is not None for file in _files(read)):
        raise ValueError(f"Cannot write {path}: this command reads it. Hint: name another file.")
    if form is None:
        return
    kind, wanted = kind_of(path), _FORMS.get(form, _TEXT)
    allowed = {"", wanted} | (set() if form in _NOT_TEXT else {_TEXT})
    if not force and kind not in allowed:
        raise ValueError(
            f"Cannot write {path}: it is {kind}, and {wanted} would take its place. "
            "Hint: name another file, or use --force."
        )


def check_distinct(**outputs: Path | None) -> None:
    """Raise if two options name one file, by whatever path or link."""
    named = [(option, path) for option, path in outputs.items() if path and str(path) != "-"]
    for (first, path), (second, other) in combinations(named, 2):
        if not is_special(path) and _same(path, other):
            raise ValueError(
                f"--{first} {path} and --{second} {other} are one file. Hint: name another file."
            )


def _same(path: Path, other: Path) -> bool:
    """Whether two paths lead to one file, which need not exist."""
    if path.exists() and other.exists():
        return os.path.samefile(path, other)
    return os.path.realpath(path) == os.path.realpath(other)


def _files(read: Path) -> Iterator[Path]:
    """A file, or the files of a folder."""
    if not read.is_dir():
        yield read
    for folder, _, names in os.walk(read, followlinks=True):
        yield from (Path(folder, name) for name in names)


def kind_of(path: Path) -> str:
    """What an existing file is, in words; empty where it is empty."""
    with path.open("rb") as stream:
        start = stream.read(4096)
    if not start:
        return ""
    for begins, kind in _STARTS:
        if start.lstrip()[: len(begins)].lower() == begins.lower():
            return kind
    if start.startswith(b'{"format":"treebound-model"'):
        return "a model"
    if b"\0" in start:
        return "a binary file"
    return _SUFFIXES.get(path.suffix.lower(), _TEXT)
