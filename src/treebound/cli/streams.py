"""Tables that are larger than memory: ``treebound fit`` reads them batch by batch."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from treebound.cli.messages import print_message

if TYPE_CHECKING:
    from treebound.cli.options import TableOptions
    from treebound.growing import Progress
    from treebound.model import Model
    from treebound.parameters import FitParameters

__all__ = ["fit_files", "must_stream", "warnings_as_lines"]

# A table in memory takes a few times the size of its file.
_TIMES_IN_MEMORY = 6


def must_stream(paths: Sequence[Path], asked: bool) -> bool:
    """Whether files are read batch by batch: if asked for, or too large for the free memory."""
    from treebound.data.formats import files_of, size_in_memory

    limit = _free_memory() / _TIMES_IN_MEMORY
    return asked or size_in_memory(files_of(paths), limit) >= limit


def _free_memory() -> float:
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # not known on this system
        return float("inf")


def fit_files(
    parameters: FitParameters,
    paths: Sequence[Path],
    target: str | None,
    options: TableOptions,
    tell: Callable[[str], None],
    checkpoint: Path | None = None,
) -> Model:
    """Fit a tree to files that are read batch by batch.

    Parameters
    ----------
    parameters : FitParameters
    paths : sequence of Path
        Files of one kind, or folders of such.
    target : str, optional
        The column to predict; by default the one the schema names.
    options : TableOptions
        How the files are read.
    tell : callable
        Called with a line that says how far it is.
    checkpoint : Path, optional
        A file that keeps the tree as far as it is grown.
    """
    from treebound.classifier.fitting import fit_stream
    from treebound.cli.options import no_target
    from treebound.data.files import Source, SourceBatches

    schema = options.checked_schema(target)
    source = Source([str(path) for path in paths], schema)
    if schema.target is None:
        raise no_target(source.names)
    lines = ProgressLines(tell, source.reader.n_rows())
    return fit_stream(
        parameters,
        SourceBatches(source),
        schema.target,
        None,
        progress=lines.grown,
        reading=lines.read,
        checkpoint=checkpoint,
    )


@contextmanager
def warnings_as_lines(quiet: bool) -> Iterator[None]:
    """Warnings of the block as one plain line each, or not at all."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in () if quiet else caught:
        print_message(f"Warning: {warning.message}")


class ProgressLines:
    """One line after every batch and every pass: what is done, how fast, how long still.

    Parameters
    ----------
    tell : callable
        Takes a line.
    n_rows : int, optional
        Rows of the table, where known.
    clock : callable
        The time in seconds.
    """

    def __init__(
        self,
        tell: Callable[[str], None],
        n_rows: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tell, self._n_rows, self._clock = tell, n_rows, clock
        self._what, self._start = "", clock()
        self._last = self._start

    def read(self, what: str, rows: int) -> None:
        """After a batch."""
        if what != self._what:
            self._what, self._start = what, self._clock()
        seconds = max(self._clock() - self._start, 1e-9)
        line = f"{what}: {rows:,} rows, {rows / seconds:,.0f} rows a second"
        if self._n_rows:
            line += _left(seconds, rows / self._n_rows)
        self._tell(line)

    def grown(self, state: Progress) -> None:
        """After a pass of the growth."""
        now = self._clock()
        if self._what != "growing":
            self._what, self._start, self._last = "growing", now, now
        seconds, self._last = max(now - self._last, 1e-9), now
        line = (
            f"growing: pass {state.passes}, {state.rows / seconds:,.0f} rows a second, "
            f"{state.leaves:,} leaves so far"
        )
        self._tell(line + _left(now - self._start, 1.0 - state.open_rows / max(state.rows, 1)))


def _left(seconds: float, share: float) -> str:
    """A guess from the share that is done."""
    if not 0.02 < share < 1.0 or seconds <= 0.0:
        return ""
    return f", about {seconds * (1.0 - share) / share:,.0f} s left"
