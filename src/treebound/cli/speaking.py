"""What is said besides the result: on standard error, so that the result can be piped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console
from rich.table import Table

__all__ = ["aside", "plain_table", "progress", "say"]


class Aside(Console):
    """Standard error. When nobody reads it any more, it falls silent and the work goes on."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, if somebody reads it."""
        with suppress(BrokenPipeError):
            super().print(*objects, **options)

    def on_broken_pipe(self) -> None:
        """Say nothing more; rich would end the program."""
        self.quiet = True


aside = Aside(stderr=True)


def say(text: str) -> None:
    """A line, or some, as they are."""
    aside.print(text, highlight=False, soft_wrap=True, markup=False)


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
    if quiet or not aside.is_terminal:
        yield lambda text: None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    parts: Iterable[Any] = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*parts, console=aside, transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda text: shown.update(task, description=f"{what}: {text}")
