"""Messages on standard error and results on standard output, so that results can be piped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console
from rich.table import Table

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
