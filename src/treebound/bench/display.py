"""Progress of a run: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table as RichTable
from rich.text import Text

if TYPE_CHECKING:
    from treebound.bench.runner import Study


class _Tally:
    """Counts the results per data set and model, and their speed."""

    def start(self, study: Study, rows: list[dict[str, Any]]) -> None:
        self.study = study
        self.accuracies: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.done: dict[str, int] = defaultdict(int)
        self.errors = 0
        self.fresh = 0
        self.seconds = 0.0
        names = {named.name for named in study.samples}, {model.name for model in study.models}
        for row in rows:
            if row["dataset"] in names[0] and row["model"] in names[1]:
                self._count(row)
        self.began = time.monotonic()

    def result(self, row: dict[str, Any]) -> None:
        self.fresh += 1
        self._count(row)

    def _count(self, row: dict[str, Any]) -> None:
        if row["draw"] >= self.study.protocol.draws:
            return
        self.done[row["dataset"]] += 1
        if row["error"]:
            self.errors += 1
        else:
            self.accuracies[row["dataset"], row["model"]].append(row["test_accuracy"])

    @property
    def per_set(self) -> int:
        """Number of results of a complete data set."""
        return len(self.study.models) * self.study.protocol.draws

    @property
    def left(self) -> int:
        """Number of missing results."""
        return self.study.size - sum(self.done.values())

    def mean(self, dataset: str, model: str) -> float | None:
        """Mean test accuracy so far."""
        accuracies = self.accuracies[dataset, model]
        return sum(accuracies) / len(accuracies) if accuracies else None

    def best(self, dataset: str) -> tuple[str, float] | None:
        """The model with the best mean so far, oracles excluded."""
        names = [model.name for model in self.study.models if not model.oracle]
        means = [(name, mean) for name in names if (mean := self.mean(dataset, name)) is not None]
        return max(means, key=lambda pair: pair[1], default=None)

    @property
    def status(self) -> str:
        """One line: done, left, speed, time left, errors."""
        left, size = self.left, self.study.size
        line = f"{size - left:,} of {size:,} results, {left:,} left"
        if self.fresh:
            speed = self.fresh / max(time.monotonic() - self.began, 1e-9)
            line += f", {speed:.1f} per second, {_duration(left / speed)} to go"
        return line + (f", {self.errors} failed" if self.errors else "")


class Lines(_Tally):
    """Prints a line at the start, when a data set is complete, and every minute."""

    def __init__(self, console: Console, *, every: float = 60.0) -> None:
        self._console = console
        self._every = every
        self._said = time.monotonic()

    def start(self, study: Study, rows: list[dict[str, Any]]) -> None:
        super().start(study, rows)
        self._say(f"{study.protocol.name}: {self.status}")

    def result(self, row: dict[str, Any]) -> None:
        super().result(row)
        if self.done[row["dataset"]] == self.per_set:
            best = self.best(row["dataset"])
            told = f"best {best[0]} {best[1]:.2%}" if best else "every model failed"
            self._say(f"{row['dataset']}: complete, {told}; {self.status}")
        elif time.monotonic() - self._said >= self._every:
            self._say(f"{row['dataset']}, draw {row['draw']}: {self.status}")

    def _say(self, line: str) -> None:
        self._said = time.monotonic()
        self._console.print(line, highlight=False, soft_wrap=True, markup=False)


class LiveTable(_Tally):
    """A table that is redrawn in place: a row per data set, a column per model.

    If the terminal is too narrow for all models, only the best one so far is shown.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None

    def __enter__(self) -> LiveTable:
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()

    def start(self, study: Study, rows: list[dict[str, Any]]) -> None:
        super().start(study, rows)
        self._live = Live(console=self._console, get_renderable=self.render, refresh_per_second=4)
        self._live.start()

    def render(self) -> RichTable:
        """The current table; on a short terminal, only the data sets in progress."""
        table = RichTable(title=self.study.protocol.name, caption=self.status, expand=False)
        table.add_column("data set", no_wrap=True)
        table.add_column("done", width=12)
        table.add_column("left", justify="right")
        names = max(len(named.name) for named in self.study.samples)
        needed = sum(_word(model.name) + 3 for model in self.study.models)
        folded = names + needed + 28 > self._console.width  # words would be broken
        if folded:
            table.add_column("best so far", no_wrap=True)
        for model in () if folded else self.study.models:
            table.add_column(model.name, justify="right", min_width=_word(model.name))
        for dataset in self._shown():
            best = self.best(dataset)
            cells = [self._cell(dataset, model.name, best) for model in self.study.models]
            if folded:
                leader = "-" if best is None else f"{100 * best[1]:5.1f}  {best[0]}"
                cells = [Text(leader, style="dim" if best is None else "bold green")]
            bar = ProgressBar(total=self.per_set, completed=self.done[dataset], width=12)
            table.add_row(dataset, bar, str(self.per_set - self.done[dataset]), *cells)
        return table

    def _shown(self) -> list[str]:
        names = [named.name for named in self.study.samples]
        room = max(self._console.height - 8, 3)
        active_first = sorted(names, key=lambda name: not 0 < self.done[name] < self.per_set)
        return [name for name in names if name in active_first[:room]]

    def _cell(self, dataset: str, model: str, best: tuple[str, float] | None) -> Text:
        mean = self.mean(dataset, model)
        if mean is None:
            return Text("-", style="dim")
        leads = best is not None and mean >= best[1] - 0.001
        return Text(f"{100 * mean:.1f}", style="bold green" if leads else "")


def _word(name: str) -> int:
    """Width of the longest word of a name, at least that of a number."""
    return max(5, *map(len, name.split()))


def display_for(console: Console) -> AbstractContextManager[LiveTable | Lines]:
    """The display for a console, as a context manager."""
    return LiveTable(console) if console.is_terminal else nullcontext(Lines(console))


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
