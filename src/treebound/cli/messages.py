"""Messages on standard error; results on standard output (they can be piped) or in files."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from json import dumps
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from treebound._files import write_bytes
from treebound.cli.app import console


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
    """Print an object on standard output."""
    console.print_json(dumps(document, default=_plain))


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def write_result(content: str | bytes, path: Path | None) -> None:
    """Write text or bytes to a file, atomically, or to standard output."""
    if path is not None and str(path) != "-":
        write_bytes(path, content.encode() if isinstance(content, str) else content)
    elif isinstance(content, bytes):
        if sys.stdout.isatty():
            raise ValueError("A picture cannot be shown on a terminal. Hint: name a file with -o.")
        sys.stdout.buffer.write(content)
    else:
        sys.stdout.write(content if content.endswith("\n") else content + "\n")


def plain_table(
    headings: Iterable[str], rows: Iterable[Iterable[str]], *, numbers: Iterable[str] = ()
) -> Table:
    """A table without lines; the named columns are numbers and stand to the right."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    right = set(numbers)
    for heading in headings:
        justify: Any = "right" if heading in right else "left"
        table.add_column(heading, overflow="fold", justify=justify)
    for row in rows:
        table.add_row(*row)
    return table


@contextmanager
def progress(what: str, quiet: bool) -> Iterator[Any]:
    """A moving line on standard error while the block runs; call what it yields to change it."""
    if quiet or not errors.is_terminal:
        yield lambda text: None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    parts: Iterable[Any] = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*parts, console=errors, transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda text: shown.update(task, description=f"{what}: {text}")
