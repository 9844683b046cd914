"""Output of commands, and the files that they may write.

Messages go to standard error, results to standard output (they can be piped) or to files: never
over what the command reads, nor over a file of another kind.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import combinations
from json import dumps
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from treebound._utils.files import check_writable, is_special, write_bytes
from treebound._utils.progress import ProgressLines, Report
from treebound._utils.validation import WordedText
from treebound.cli.app import console, for_command_line


class ErrorConsole(Console):
    """Standard error. If its reader is gone, nothing more is printed and the command goes on."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, if standard error is open."""
        with suppress(BrokenPipeError):
            super().print(*objects, **options)

    def on_broken_pipe(self) -> None:
        """Print nothing more; rich would end the program."""
        self.quiet = True


errors = ErrorConsole(stderr=True)


def print_message(text: str) -> None:
    """Print lines on standard error as they are."""
    errors.print(text, highlight=False, soft_wrap=True, markup=False)


def print_result(content: str | Table = "") -> None:
    """Print lines on standard output as they are, or a table that a terminal wraps."""
    whole = isinstance(content, str) or not console.is_terminal
    console.print(content, highlight=False, soft_wrap=whole, markup=False)


def print_json(document: Any) -> None:
    """Print an object on standard output, its texts in the words of the command line."""
    console.print_json(dumps(_worded(document), default=_plain))


def _worded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _worded(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_worded(inner) for inner in value]
    return for_command_line(value) if isinstance(value, WordedText) else value


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def write_result(content: str | bytes, path: Path | None) -> None:
    """Write text or bytes to a file, atomically, or to standard output."""
    if path is not None and str(path) != "-":
        write_bytes(path, content.encode() if isinstance(content, str) else content)
    elif isinstance(content, bytes):
        if sys.stdout.isatty():
            raise ValueError("A binary file cannot be shown on a terminal. Hint: name it with -o.")
        sys.stdout.buffer.write(content)
    else:
        sys.stdout.write(content if content.endswith("\n") else content + "\n")


def plain_table(
    headings: Iterable[str], rows: Iterable[Iterable[str]], *, numbers: Iterable[str] = ()
) -> Table:
    """A table without lines; the named columns are numbers and are aligned to the right."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    right = set(numbers)
    for heading in headings:
        justify: Any = "right" if heading in right else "left"
        table.add_column(heading, overflow="fold", justify=justify)
    for row in rows:
        table.add_row(*row)
    return table


@contextmanager
def progress(task_name: str, quiet: bool) -> Iterator[Report]:
    """A moving line on standard error while the block runs; call what it yields with events."""
    if quiet or not errors.is_terminal:
        yield lambda event: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    description = TextColumn("{task.description}", markup=False)  # a file name may have brackets
    columns = (SpinnerColumn(), description, TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True) as shown:
        task = shown.add_task(task_name, total=None)

        def write(line: str) -> None:
            shown.update(task, description=f"{task_name}: {line}")

        yield ProgressLines(write).show


# -- files ----------------------------------------------------------------------------------

_TEXT = "a text file"
# Files that are recognised by their first bytes.
_STARTS = (
    (b"PAR1", "a Parquet file"),
    (b"SQLite format 3\0", "a database"),
    (b"\x89PNG", "a PNG picture"),
    (b"%PDF", "a PDF file"),
    (b"\x1f\x8b", "a compressed file"),
    (b"PK\x03\x04", "an archive"),
    (b"<?xml", "an SVG picture"),
    (b"<svg", "an SVG picture"),
    (b"<!doctype html", "an HTML file"),
    (b"<html", "an HTML file"),
)
_MODEL_STARTS = (b'{"format":"treebound-model"', b'{"format":"treebound-regression-model"')
_SUFFIXES = {
    ".csv": "a table", ".tsv": "a table", ".json": "a JSON file", ".toml": "a schema",
    ".py": "Python code", ".sql": "SQL code", ".c": "C code", ".h": "C code",
    ".tex": "a LaTeX file", ".dot": "a DOT file", ".gv": "a DOT file", ".md": "a Markdown file",
    ".html": "an HTML file", ".svg": "an SVG picture", ".rst": "a reStructuredText file",
}  # fmt: skip
# What the forms of this package are.
_FORMS = {
    "model": "a model", "csv": "a table", "parquet": "a Parquet file", "html": "an HTML file",
    "svg": "an SVG picture", "png": "a PNG picture", "pdf": "a PDF file", "onnx": "a binary file",
    "text": _TEXT, "rules": _TEXT, "terminal": _TEXT, "sql": "SQL code", "python": "Python code",
    "c": "C code", "latex": "a LaTeX file", "dot": "a DOT file", "markdown": "a Markdown file",
}  # fmt: skip
_NOT_TEXT = ("model", "parquet", "html", "svg", "png", "pdf", "onnx")


def check_output(
    path: Path | None,
    form: str | None,
    *,
    reads: Iterable[Path | None] = (),
    force: bool | None = False,
) -> None:
    """Raise now, before the long work, if a command must not write a file of some form.

    What it ``reads`` is never written over; a file of another kind only by ``force``, which is None
    for a command without that option. The form is None if the writer looks at an existing file
    itself.
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
            f"Hint: name another file, or {'delete this one' if force is None else 'use --force'}."
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
    """Return True if two paths lead to one file, which need not exist."""
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
    """Return the kind of an existing file in words; an empty text if the file is empty."""
    with path.open("rb") as stream:
        start = stream.read(4096)
    if not start:
        return ""
    for begins, kind in _STARTS:
        if start.lstrip()[: len(begins)].lower() == begins.lower():
            return kind
    if start.startswith(_MODEL_STARTS):
        return "a model"
    if b"\0" in start:
        return "a binary file"
    return _SUFFIXES.get(path.suffix.lower(), _TEXT)
