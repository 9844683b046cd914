"""Progress of a run: a line for each complete data set, and bars on a terminal."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

if TYPE_CHECKING:
    from treebound.bench.runner import Study


class Display:
    """Prints a line at the start and when a data set is complete; elsewhere every minute, too.

    A terminal shows the data sets that are worked on, with the best model so far.
    """

    def __init__(self, console: Console, *, every: float = 60.0) -> None:
        self._console = console
        self._every = float("inf") if console.is_terminal else every
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[best]}", markup=False),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._accuracies: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.done: dict[str, int] = defaultdict(int)
        self.errors = self.fresh = 0

    def __enter__(self) -> Display:
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.stop()

    def start(self, study: Study, rows: list[dict[str, Any]]) -> None:
        """Count what the store has."""
        self.study = study
        self._per_set = len(study.models) * study.protocol.draws
        datasets = [named.name for named in study.samples]
        models = {model.name for model in study.models}
        for row in rows:
            if row["dataset"] in datasets and row["model"] in models:
                self._count(row)
        self.began = time.monotonic()
        self._say(f"{study.protocol.name}: {self.status}")
        self._tasks = {
            name: self._bars.add_task(name, total=self._per_set, visible=False, best="")
            for name in datasets
        }
        self._bars.start()

    def result(self, row: dict[str, Any]) -> None:
        """Count a result, and show where the run is."""
        self.fresh += 1
        self._count(row)
        dataset, best = row["dataset"], self.best(row["dataset"])
        done, told = self.done[dataset], f"best {best[0]} {best[1]:.2%}" if best else ""
        left = self._per_set - done
        self._bars.update(self._tasks[dataset], completed=done, visible=left > 0, best=told)
        if not left:
            self._say(f"{dataset}: complete, {told or 'every model failed'}; {self.status}")
        elif time.monotonic() - self._said >= self._every:
            self._say(f"{dataset}, draw {row['draw']}: {self.status}")

    def _count(self, row: dict[str, Any]) -> None:
        if row["draw"] >= self.study.protocol.draws:
            return
        self.done[row["dataset"]] += 1
        if row["error"]:
            self.errors += 1
        else:
            self._accuracies[row["dataset"], row["model"]].append(row["test_accuracy"])

    def _say(self, line: str) -> None:
        self._said = time.monotonic()
        self._console.print(line, highlight=False, soft_wrap=True, markup=False)

    def best(self, dataset: str) -> tuple[str, float] | None:
        """The model with the best mean so far, oracles excluded."""
        means = {
            model.name: sum(accuracies) / len(accuracies)
            for model in self.study.models
            if not model.oracle and (accuracies := self._accuracies[dataset, model.name])
        }
        return max(means.items(), key=lambda pair: pair[1], default=None)

    @property
    def status(self) -> str:
        """One line: done, left, speed, time left, errors."""
        size = self.study.size
        left = size - sum(self.done.values())
        line = f"{size - left:,} of {size:,} results, {left:,} left"
        if self.fresh:
            speed = self.fresh / max(time.monotonic() - self.began, 1e-9)
            line += f", {speed:.1f} per second, {_duration(left / speed)} to go"
        return line + (f", {self.errors} failed" if self.errors else "")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
