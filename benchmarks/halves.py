"""Runs of a benchmark over half of the tables of the catalogue: store, processes, log, statistics.

A task is one draw of one table. Its results are stored as soon as it is done, so that a run can be
interrupted and resumed. Every look at the test half is appended to a log.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sqlite3
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from catalogue import TableSpec
from joblib import Parallel, delayed
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from treebound._files import write_text
from treebound.bench.statistics import wilcoxon

Floats = NDArray[np.float64]
Figures = dict[str, float]
# By model, for each draw of a table.
Measured = dict[str, dict[int, Figures]]


# -- store -----------------------------------------------------------------------------------------


class Store:
    """A SQLite file with the figures of each table, draw and model.

    A table is known by its name and by what its results depend on, so that results of another file,
    target or setting are not mixed with new ones.
    """

    def __init__(self, path: Path, settings: str) -> None:
        self.path, self.settings = path, settings
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._connect() as connection:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS result (name TEXT, key TEXT, draw INTEGER, model TEXT,"
                " figures TEXT NOT NULL, PRIMARY KEY (name, key, draw, model))"
            )

    def add(self, spec: TableSpec, draw: int, figures: dict[str, Figures]) -> None:
        """Store the figures of some models on one draw, in one transaction."""
        key = self._key(spec)
        rows = [(spec.name, key, draw, model, json.dumps(f)) for model, f in figures.items()]
        with self._connect() as connection:
            connection.executemany("INSERT OR REPLACE INTO result VALUES (?, ?, ?, ?, ?)", rows)

    def read(self, spec: TableSpec) -> Measured:
        """Return what is stored of a table."""
        measured: Measured = {}
        with self._connect() as connection:
            query = "SELECT model, draw, figures FROM result WHERE name = ? AND key = ?"
            for model, draw, figures in connection.execute(query, (spec.name, self._key(spec))):
                measured.setdefault(model, {})[draw] = json.loads(figures)
        return measured

    def _key(self, spec: TableSpec) -> str:
        parts = (spec.sha256, spec.target, *spec.drop, self.settings)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def _connect(self) -> _Transaction:
        return _Transaction(self.path)


class _Transaction:
    """A connection that commits on success and is closed in any case."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, timeout=60.0)

    def __enter__(self) -> sqlite3.Connection:
        return self._connection

    def __exit__(self, kind: object, *error: object) -> None:
        with closing(self._connection) as connection:
            if kind is None:
                connection.commit()


# -- running ---------------------------------------------------------------------------------------


class Task(NamedTuple):
    """One draw of one table, and the models whose figures are missing."""

    spec: TableSpec
    draw: int
    models: tuple[str, ...]


def missing_tasks(
    store: Store, specs: Iterable[TableSpec], models: Sequence[str], draws: int
) -> list[Task]:
    """Return the tasks without results: the first draw of every table, then the second."""
    tasks = []
    for spec in specs:
        measured = store.read(spec)
        for draw in range(draws):
            missing = tuple(m for m in models if draw not in measured.get(m, {}))
            if missing:
                tasks.append(Task(spec, draw, missing))
    return sorted(tasks, key=lambda task: task.draw)


def run(
    store: Store, tasks: list[Task], work: Callable[[Task], dict[str, Figures]], jobs: int
) -> bool:
    """Compute and store tasks in some processes, with progress; return False if interrupted."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as progress:
        bar = progress.add_task("draws", total=len(tasks))
        try:
            for task, figures in _computed(tasks, work, jobs):
                store.add(task.spec, task.draw, figures)
                progress.update(bar, advance=1, description=task.spec.name)
        except KeyboardInterrupt:
            return False
    return True


def _computed(
    tasks: list[Task], work: Callable[[Task], dict[str, Figures]], jobs: int
) -> Iterator[tuple[Task, dict[str, Figures]]]:
    def pair(task: Task) -> tuple[Task, dict[str, Figures]]:
        return task, work(task)

    yield from Parallel(jobs, return_as="generator_unordered")(delayed(pair)(t) for t in tasks)


# -- log -------------------------------------------------------------------------------------------


def append_look(path: Path, result: dict[str, Any]) -> int:
    """Append a look at the test half to a log, with date, commit and versions; return their number.

    No look is ever removed or changed.
    """
    looks = json.loads(path.read_text()) if path.exists() else []
    packages = ("numpy", "scikit-learn", "treebound")
    look = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(path.parent),
        "versions": {"python": platform.python_version()} | {p: version(p) for p in packages},
        "result": result,
    }
    write_text(path, json.dumps([*looks, look], indent=1) + "\n")
    return len(looks) + 1


def commit(folder: Path) -> str:
    """Return the commit of a working tree; with ``+`` if files under version control differ."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(folder), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


# -- statistics ------------------------------------------------------------------------------------


def paired(gaps: Floats) -> dict[str, float | None]:
    """Return the mean of paired differences over tables, its standard error, Wilcoxon's p-value."""
    many = len(gaps) > 1
    error = float(gaps.std(ddof=1) / np.sqrt(len(gaps))) if many else None
    return {
        "tables": len(gaps),
        "mean": round(float(gaps.mean()), 4) if len(gaps) else None,
        "standard error": None if error is None else round(error, 4),
        "p": float(f"{wilcoxon(gaps, np.zeros_like(gaps)):.3g}") if many else None,
    }
