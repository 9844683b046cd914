"""Tables that are larger than memory: ``treebound fit`` reads them batch by batch."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treebound.cli.messages import print_message

if TYPE_CHECKING:
    from treebound.growing import Progress
    from treebound.model import Model
    from treebound.parameters import FitParameters

__all__ = ["fit_files", "must_stream", "warnings_as_lines"]

# A table in memory takes a few times the size of its file.
_TIMES_IN_MEMORY = 6


def must_stream(paths: Sequence[Path], asked: bool) -> bool:
    """Whether files are read batch by batch: if asked for, several of them, a folder, or large.

    Parameters
    ----------
    paths : sequence of Path
    asked : bool
    """
    if asked or len(paths) > 1 or any(path.is_dir() for path in paths):
        return True
    size = sum(path.stat().st_size for path in paths if path.is_file())
    return _TIMES_IN_MEMORY * size > _free_memory()


def _free_memory() -> float:
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # not known on this system
        return float("inf")


def fit_files(
    parameters: FitParameters,
    paths: Sequence[Path],
    target: str,
    tell: Callable[[str], None],
    checkpoint: Path | None = None,
) -> Model:
    """Fit a classifier to CSV or Parquet files.

    Parameters
    ----------
    parameters : FitParameters
    paths : sequence of Path
        Files of one kind, or folders of such.
    target : str
        The column to predict.
    tell : callable
        Called with a line that says how far it is.
    checkpoint : Path, optional
        A file that keeps the tree as far as it is grown.
    """
    from treebound.classifier.fitting import fit_stream
    from treebound.data.streams import open_stream

    dataset = _dataset(paths)
    batches = open_stream(dataset)
    assert batches is not None
    lines = ProgressLines(tell, _rows_of(dataset))
    return fit_stream(
        parameters,
        batches,
        target,
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


def _dataset(paths: Sequence[Path]) -> Any:
    from treebound._extras import require

    datasets = require("pyarrow.dataset", extra="study", why="Reading files batch by batch")
    files = sorted(
        str(file)
        for path in paths
        for file in (path.rglob("*") if path.is_dir() else [path])
        if not file.is_dir() and not file.name.startswith((".", "_"))
    )
    kinds = {"parquet" if file.endswith((".parquet", ".pq")) else "csv" for file in files}
    if len(kinds) != 1:
        found = "no file" if not kinds else "CSV and Parquet files together"
        raise ValueError(
            f"A table that is read batch by batch must be CSV files or Parquet files. Got {found} "
            f"in {', '.join(map(str, paths[:5]))}."
        )
    dataset = datasets.dataset(files, format=kinds.pop())
    _check_columns(dataset)
    return dataset


def _check_columns(dataset: Any) -> None:
    """Raise a ValueError if a file lacks a column of the first one: it would be read as missing."""
    for file in dataset.get_fragments():
        has = set(file.physical_schema.names)
        lacks = [name for name in dataset.schema.names if name not in has]
        more = [name for name in file.physical_schema.names if name not in dataset.schema.names]
        if lacks or more:
            found = f"lacks {lacks[0]!r}" if lacks else f"has {more[0]!r} besides"
            raise ValueError(
                f"The files of a table must have the same columns. {file.path} {found}. "
                "Hint: leave it out, or write it again with the columns of the others."
            )


def _rows_of(dataset: Any) -> int | None:
    """The number of rows where the files tell it without being read."""
    if dataset.format.default_extname != "parquet":
        return None
    return int(dataset.count_rows())


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
