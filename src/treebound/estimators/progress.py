"""Progress of a fit, reported after every batch and pass, as lines or to a callback."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from treebound.growing.checkpoint import check_checkpoint
from treebound.growing.options import Progress


class Watch(NamedTuple):
    """The function that gets the progress of a fit, and the file of the unfinished tree."""

    progress: Callable[[Progress], None] | None = None
    checkpoint: str | os.PathLike[str] | None = None

    @classmethod
    def of(
        cls,
        verbose: int,
        callback: Callable[[Progress], None] | None,
        checkpoint: str | os.PathLike[str] | None,
    ) -> Watch:
        """Read the arguments of ``fit``; raise an error for a checkpoint that cannot be written."""
        check_checkpoint(checkpoint)
        lines = ProgressLines(print).show if verbose else None
        if lines is None or callback is None:
            return cls(lines or callback, checkpoint)

        def both(state: Progress) -> None:
            lines(state)
            callback(state)

        return cls(both, checkpoint)

    def of_fold(self, fold: int, folds: int) -> Watch:
        """Return the watch of the tree without one of several folds, with another file."""
        progress, checkpoint = self
        if folds == 1:
            return self
        if checkpoint is not None:
            checkpoint = f"{os.fspath(checkpoint)}.fold{fold}"
        if progress is None:
            return Watch(None, checkpoint)

        def report(state: Progress) -> None:
            progress(replace(state, fold=fold, folds=folds))

        return Watch(report, checkpoint)

    def report_search(self, n_rows: int) -> Callable[[int], None] | None:
        """Report the runs of a search over trees."""
        progress = self.progress
        if progress is None:
            return None
        return lambda runs: progress(Progress(runs, runs, 1, n_rows, n_rows, "searching"))


class ProgressLines:
    """One line after every batch and every pass: progress, speed and remaining time."""

    def __init__(
        self,
        write: Callable[[str], None],
        n_rows: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write, self._n_rows, self._clock = write, n_rows, clock
        self._phase, self._fold, self._start = "", "", clock()
        self._last = self._start

    def show(self, state: Progress) -> None:
        """Write the line of a batch, or of a pass of growing."""
        self._fold = f"fold {state.fold} of {state.folds}: " if state.folds else ""
        if state.phase == "growing":
            self._grown(state)
        elif state.phase == "searching":
            self._write(f"searching: {state.rounds:,} run{'s' * (state.rounds > 1)} so far")
        else:
            self._read(state.phase, state.rows)

    def _read(self, phase: str, rows: int) -> None:
        now = self._clock()
        if phase != self._phase:  # it began when the last line was written
            self._phase, self._start = phase, self._last
        self._last = now
        seconds = max(now - self._start, 1e-9)
        line = f"{phase}: {rows:,} rows, {rows / seconds:,.0f} rows per second"
        if self._n_rows:
            line += _left(seconds, rows / self._n_rows)
        self._write(line)

    def _grown(self, state: Progress) -> None:
        now, phase = self._clock(), f"{self._fold}growing"
        if self._phase != phase:
            self._phase, self._start = phase, self._last
        seconds, self._last = max(now - self._last, 1e-9), now
        line = (
            f"{self._fold}growing: pass {state.passes}, {state.rows / seconds:,.0f} rows per second"
            f", {state.leaves:,} leaves so far"
        )
        self._write(line + _left(now - self._start, 1.0 - state.open_rows / max(state.rows, 1)))


def _left(seconds: float, share: float) -> str:
    """A guess from the share that is done."""
    if not 0.02 < share < 1.0 or seconds <= 0.0:
        return ""
    return f", about {seconds * (1.0 - share) / share:,.0f} s left"
