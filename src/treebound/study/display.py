"""Progress of a run: a line for each complete data set, and a table on a terminal."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from treebound._utils.progress import Progress, duration

if TYPE_CHECKING:
    from treebound.study.runner import Study


class StudyDisplay:
    """Prints a line at the start and when a data set is complete; elsewhere every minute, too.

    A terminal shows the models on the data sets that are worked on, the best one marked.
    """

    def __init__(self, console: Console, *, every: float = 60.0) -> None:
        self._console = console
        self._every = float("inf") if console.is_terminal else every
        self._shown = ExitStack()
        self._working: dict[str, None] = {}  # the data sets, in the order of their first result
        self.errors = self.fresh = 0

    def __enter__(self) -> StudyDisplay:
        return self

    def __exit__(self, *error: object) -> None:
        self._shown.close()

    def start(self, study: Study, rows: list[dict[str, Any]]) -> None:
        """Count what the store has."""
        self.study = study
        self._accuracies: dict[tuple[str, str], list[float | None]] = {
            (named.name, model.name): [] for named in study.samples for model in study.models
        }
        for row in rows:
            self._count(row)
        self.began = time.monotonic()
        self._print(f"{study.protocol.name}: {self.status}")
        if self._console.is_terminal:
            live = Live(console=self._console, get_renderable=self.render, transient=True)
            self._shown.enter_context(live)

    def show(self, event: Progress) -> None:
        """Count the result of an event, and show where the run is."""
        row = event.result
        assert row is not None
        self.fresh += 1
        self._count(row)
        dataset, draws = row["dataset"], self.study.protocol.draws
        self._working[dataset] = None
        if all(len(self._accuracies[dataset, model.name]) == draws for model in self.study.models):
            del self._working[dataset]
            best = self.best(dataset)
            outcome = f"best {best[0]} {best[1]:.2%}" if best else "every model failed"
            self._print(f"{dataset}: complete, {outcome}; {self.status}")
        elif time.monotonic() - self._printed >= self._every:
            self._print(f"{dataset}, draw {row['draw']}: {self.status}")

    def _count(self, row: Mapping[str, Any]) -> None:
        self._accuracies[row["dataset"], row["model"]].append(row["test_accuracy"])
        self.errors += bool(row["error"])

    def _print(self, line: str) -> None:
        self._printed = time.monotonic()
        self._console.print(line, highlight=False, soft_wrap=True, markup=False)

    def render(self) -> Group:
        """The table on a terminal: the status, and a row for each model and data set."""
        table = Table("data set", "model", box=SIMPLE_HEAD, pad_edge=False)
        for heading in ("done", "left", "mean accuracy"):
            table.add_column(heading, justify="right")
        for dataset in list(self._working):
            best = self.best(dataset)
            for model in self.study.models:
                done = len(self._accuracies[dataset, model.name])
                mean = self.mean(dataset, model.name)
                shown = "-" if mean is None else f"{mean:.2%}"
                figures = [str(done), str(self.study.protocol.draws - done), shown]
                style = "bold green" if best == (model.name, mean) else ""
                table.add_row(Text(dataset), Text(model.name), *figures, style=style)
            table.add_section()
        return Group(Text(self.status), table)

    def mean(self, dataset: str, model: str) -> float | None:
        """Mean test accuracy so far."""
        known = [accuracy for accuracy in self._accuracies[dataset, model] if accuracy is not None]
        return sum(known) / len(known) if known else None

    def best(self, dataset: str) -> tuple[str, float] | None:
        """The model with the best mean so far, oracles excluded."""
        names = [model.name for model in self.study.models if not model.oracle]
        means = [(name, mean) for name in names if (mean := self.mean(dataset, name)) is not None]
        return max(means, key=lambda pair: pair[1], default=None)

    @property
    def status(self) -> str:
        """One line: done, left, speed, time left, errors."""
        size = self.study.size
        left = size - sum(map(len, self._accuracies.values()))
        line = f"{size - left:,} of {size:,} results, {left:,} left"
        if self.fresh:
            speed = self.fresh / max(time.monotonic() - self.began, 1e-9)
            line += f", {speed:.1f} per second, {duration(left / speed)} to go"
        return line + (f", {self.errors} failed" if self.errors else "")
