"""Progress of a long computation: one event, and its display as lines of text.

Fits, searches, predictions and studies report the same :class:`Progress`. What shows it has a
method ``show``: :class:`ProgressLines` here, the moving line of ``cli/output.py`` and the table of
``study/display.py``. A function that gets the event may raise an error to stop the computation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Progress:
    """The progress of a fit, or of another long computation.

    Attributes
    ----------
    phase : str
        What is done: "learning", "drawing" or "coding" (reading rows: for columns and classes, to
        draw rows, to encode them), "growing", "searching" (trees, with ``certificate="prior"``),
        "predicting", or "measuring" (the models of a study).
    done : int
        Rows so far: those that were read, predicted, or are in leaves that are not split further;
        of a search its runs, of a study its results.
    total : int, optional
        All of them, if the number is known.
    leaves : int
        Leaves so far.
    rounds, passes : int
        Rounds of growing so far, and passes over the rows.
    fold, folds : int
        The fold without which a tree is fitted, from 1 on, and the number of folds; 0 of 0 if
        there is one tree.
    result : mapping, optional
        The new result of a study.
    """

    phase: str
    done: int
    total: int | None = None
    leaves: int = 1
    rounds: int = 0
    passes: int = 0
    fold: int = 0
    folds: int = 0
    result: Mapping[str, Any] | None = None


Report = Callable[[Progress], None]


def fold_report(report: Report | None, fold: int, folds: int) -> Report | None:
    """The report of a tree that is fitted without one of several folds."""
    if report is None:
        return None
    return lambda event: report(replace(event, fold=fold, folds=folds))


def growth_report(report: Report | None, n_rows: int) -> Callable[[int, int], None]:
    """The function that a kernel calls with the leaves and the rows that may be split further.

    It is needed without a display, too: Python code in a kernel's loop lets Ctrl-C stop it.
    """

    def call(leaves: int, open_rows: int) -> None:
        if report is not None:
            report(Progress("growing", n_rows - open_rows, n_rows, leaves, 1, 1))

    return call


class ProgressLines:
    """One line for every event: what was done, the speed and the remaining time."""

    def __init__(
        self,
        write: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write, self._clock = write, clock
        self._phase, self._start = "", clock()
        self._last = self._start

    def show(self, event: Progress) -> None:
        """Write the line of an event."""
        fold = f"fold {event.fold} of {event.folds}: " if event.folds else ""
        phase, now = f"{fold}{event.phase}", self._clock()
        if phase != self._phase:  # it began when the last line was written
            self._phase, self._start = phase, self._last
        seconds, step = max(now - self._start, 1e-9), max(now - self._last, 1e-9)
        self._last = now
        if event.phase == "searching":
            words = f"{event.done:,} run{'s' * (event.done > 1)} so far"
        elif event.phase == "growing":
            speed = (event.total or 0) / step  # a pass is over all rows
            words = f"pass {event.passes}, {speed:,.0f} rows per second"
            words += f", {event.leaves:,} leaves so far"
        else:
            words = f"{event.done:,} rows, {event.done / seconds:,.0f} rows per second"
        share = event.done / event.total if event.total else 0.0
        left = f", about {duration(seconds * (1.0 - share) / share)} left" if share > 0.02 else ""
        self._write(f"{phase}: {words}{left if share < 1.0 else ''}")


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
