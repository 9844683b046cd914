"""How far a fit is: told after every batch and every pass, as lines or to a callback."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from treebound.growing.checkpoint import check_checkpoint
from treebound.growing.options import Progress


class Watch(NamedTuple):
    """Who is told how far a fit is, and the file that keeps the unfinished tree."""

    progress: Callable[[Progress], None] | None = None
    checkpoint: str | os.PathLike[str] | None = None

    @classmethod
    def of(
        cls,
        verbose: int,
        callback: Callable[[Progress], None] | None,
        checkpoint: str | os.PathLike[str] | None,
    ) -> Watch:
        """As the arguments of ``fit`` say; a checkpoint that cannot be written is refused."""
        check_checkpoint(checkpoint)
        lines = ProgressLines(print).tell if verbose else None
        if lines is None or callback is None:
            return cls(lines or callback, checkpoint)

        def both(state: Progress) -> None:
            lines(state)
            callback(state)

        return cls(both, checkpoint)

    def of_fold(self, fold: int, folds: int) -> Watch:
        """The same for the tree without one of several folds, with a checkpoint of its own."""
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
    """One line after every batch and every pass: what is done, how fast, how long still."""

    def __init__(
        self,
        tell: Callable[[str], None],
        n_rows: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tell, self._n_rows, self._clock = tell, n_rows, clock
        self._what, self._fold, self._start = "", "", clock()
        self._last = self._start

    def tell(self, state: Progress) -> None:
        """After a batch, or a pass of growing."""
        self._fold = f"fold {state.fold} of {state.folds}: " if state.folds else ""
        if state.phase == "growing":
            self._grown(state)
        elif state.phase == "searching":
            self._tell(f"searching: {state.rounds:,} run{'s' * (state.rounds > 1)} so far")
        else:
            self._read(state.phase, state.rows)

    def _read(self, what: str, rows: int) -> None:
        now = self._clock()
        if what != self._what:  # it began when the last thing was told
            self._what, self._start = what, self._last
        self._last = now
        seconds = max(now - self._start, 1e-9)
        line = f"{what}: {rows:,} rows, {rows / seconds:,.0f} rows a second"
        if self._n_rows:
            line += _left(seconds, rows / self._n_rows)
        self._tell(line)

    def _grown(self, state: Progress) -> None:
        now, what = self._clock(), f"{self._fold}growing"
        if self._what != what:
            self._what, self._start = what, self._last
        seconds, self._last = max(now - self._last, 1e-9), now
        line = (
            f"{self._fold}growing: pass {state.passes}, {state.rows / seconds:,.0f} rows a second, "
            f"{state.leaves:,} leaves so far"
        )
        self._tell(line + _left(now - self._start, 1.0 - state.open_rows / max(state.rows, 1)))


def _left(seconds: float, share: float) -> str:
    """A guess from the share that is done."""
    if not 0.02 < share < 1.0 or seconds <= 0.0:
        return ""
    return f", about {seconds * (1.0 - share) / share:,.0f} s left"
