"""Shared parts of the benchmarks on unseen tables: draws, stored results, workers, the log.

``unseen.py`` and ``equal_leaves.py`` compare methods on the tables of ``catalogue.py``. A task is
one fit: a table, a draw and a method. Its figures are stored in SQLite in one transaction, under
the version of the method; a run that was interrupted continues with the tasks that have no result,
and a method whose version changed runs again while the others do not.

Choices are made on the development half of the tables. The test half runs only with
``--test-half``, and each of these runs appends an entry to the log.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from catalogue import Half, TableSpec, available, half_of
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from scipy.stats import wilcoxon

from treebound._utils.files import write_text

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"
CACHE = FOLDER / ".cache"
TEST_SHARE = 0.15
Figures = dict[str, float | None]


class Task(NamedTuple):
    """One fit; ``version`` states the settings and the release of the method."""

    table: str
    draw: int
    method: str
    version: str


def draw_rows(rows: int, draw: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the training rows and the test rows of a draw, 85 and 15 percent."""
    order = np.random.default_rng(draw).permutation(rows)
    test, train = np.split(order, [round(TEST_SHARE * rows)])
    return train, test


def source_hash(folder: Path) -> str:
    """Return a hash of the sources below a folder: the version of our own methods."""
    digest = hashlib.sha256()
    suffixes = {".py", ".pyx", ".pxd", ".pxi", ".c", ".cpp", ".h", ".hpp"}
    for path in sorted(folder.rglob("*")):
        if path.suffix in suffixes:
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


# -- stored results --------------------------------------------------------------------------------


class Store:
    """Results of tasks in a SQLite file, one transaction per result."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, timeout=60.0, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute(
            "CREATE TABLE IF NOT EXISTS result (name TEXT NOT NULL, draw INTEGER NOT NULL, "
            "method TEXT NOT NULL, version TEXT NOT NULL, figures TEXT, error TEXT, "
            "finished TEXT NOT NULL, PRIMARY KEY (name, draw, method, version)) WITHOUT ROWID"
        )

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()

    def add(self, task: Task, figures: Figures | None, error: str | None = None) -> None:
        """Store the figures of a task, or the reason why it has none."""
        text = None if figures is None else json.dumps(figures)
        self._connection.execute(
            "INSERT OR REPLACE INTO result VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*task, text, error, now()),
        )

    def forget(self, method: str, tables: Iterable[str]) -> None:
        """Delete the results of a method on some tables, of all its versions."""
        self._connection.executemany(
            "DELETE FROM result WHERE method = ? AND name = ?", [(method, t) for t in tables]
        )

    def results(self, tasks: Iterable[Task]) -> dict[Task, Figures | str]:
        """Return the figures, or the error message, of the tasks that have a result."""
        rows = self._connection.execute("SELECT * FROM result").fetchall()
        stored = {Task(*row[:4]): json.loads(row[4]) if row[4] else str(row[5]) for row in rows}
        return {task: stored[task] for task in tasks if task in stored}


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


# -- the log of the test half ----------------------------------------------------------------------


def append_to_log(path: Path, entry: Mapping[str, Any]) -> int:
    """Append an entry to a log, a JSON list of objects, and return the number of entries.

    Earlier entries are never changed: a file that is not such a list is an error.
    """
    entries = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    if not isinstance(entries, list) or not all(isinstance(old, dict) for old in entries):
        raise ValueError(f"The log {str(path)!r} is not a JSON list of objects.")
    entries.append(dict(entry))
    write_text(path, json.dumps(entries, indent=1) + "\n")
    return len(entries)


def commit() -> str:
    """Return the commit of the working tree; ``+changes`` if tracked files differ from it."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(FOLDER), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "HEAD") + "+changes" * bool(changed)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


# -- workers ---------------------------------------------------------------------------------------


class Worker:
    """A process that runs tasks, and can be ended when one takes too long."""

    def __init__(self, work: Callable[[Task], Figures], limit: float | None) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, far_end = context.Pipe()
        self._process = context.Process(target=_serve, args=(far_end, work, limit), daemon=True)
        self._process.start()
        far_end.close()
        self.task: Task | None = None
        self.deadline = float("inf")

    def start(self, task: Task, limit: float | None) -> None:
        """Send a task; ten times its limit in wall time is the last resort on a busy machine."""
        self.task = task
        self.deadline = float("inf") if limit is None else monotonic() + 10 * limit + 60
        self.connection.send(task)

    def alive(self) -> bool:
        """Return True if the process can take another task."""
        return self._process.is_alive() and monotonic() <= self.deadline

    def exit_code(self) -> int | None:
        """Return the exit code of a process that has ended, or None past the deadline."""
        if monotonic() <= self.deadline:
            self._process.join(timeout=10.0)
        return self._process.exitcode

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self.connection.close()


def _serve(connection: Connection, work: Callable[[Task], Figures], limit: float | None) -> None:
    """Run the tasks that arrive; the kernel ends the process at the limit of processor time."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    timed = limit is not None and hasattr(signal, "setitimer")
    if timed:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
    with suppress(EOFError):
        while True:
            task = connection.recv()
            if timed and limit is not None:
                signal.setitimer(signal.ITIMER_PROF, limit)
            try:
                reply: tuple[Figures | None, str | None] = (work(task), None)
            except Exception as error:
                reply = (None, f"{type(error).__name__}: {error}"[:300])
            if timed:
                signal.setitimer(signal.ITIMER_PROF, 0.0)
            connection.send(reply)


CUT_OFF = "cut off"


def run_tasks(
    tasks: Sequence[Task],
    work: Callable[[Task], Figures],
    store: Store,
    *,
    jobs: int,
    limit: float | None = None,
    patience: int | None = None,
) -> None:
    """Run the tasks that have no result, and store theirs.

    A task that takes more than ``limit`` seconds of processor time is ended, and stored with the
    error ``"cut off"``. After ``patience`` of these, the other draws of the same method on the
    same table are not run, and count as cut off too. After Ctrl-C the stored results remain, and
    the next run continues.
    """
    present = store.results(tasks)
    cut_off = Counter((t.table, t.method) for t, reply in present.items() if reply == CUT_OFF)
    pending = [task for task in tasks if task not in present]
    workers = [Worker(work, limit) for _ in range(min(jobs, len(pending)))]
    queue = iter(pending)

    def start_next(worker: Worker) -> None:
        worker.task = None
        for task in queue:
            if patience is None or cut_off[task.table, task.method] < patience:
                worker.start(task, limit)
                return
            store.add(task, None, CUT_OFF)
            advance(f"{task.table}, {task.method}")

    try:
        with _progress(len(tasks), len(present)) as advance:
            for worker in workers:
                start_next(worker)
            while any(worker.task for worker in workers):
                for i in _ready(workers):
                    done, (figures, error) = _reply(workers[i])
                    store.add(done, figures, error)
                    advance(f"{done.table}, {done.method}")
                    cut_off[done.table, done.method] += error == CUT_OFF
                    if not workers[i].alive():
                        workers[i].end()
                        workers[i] = Worker(work, limit)
                    start_next(workers[i])
    finally:
        for worker in workers:
            worker.end()


def _ready(workers: list[Worker]) -> list[int]:
    """Return the workers with a reply, at the end of their process, or past their deadline."""
    busy = [worker for worker in workers if worker.task]
    ready = wait([worker.connection for worker in busy], timeout=5.0)
    return [
        i for i, worker in enumerate(workers)
        if worker.task and (worker.connection in ready or monotonic() > worker.deadline)
    ]  # fmt: skip


def _reply(worker: Worker) -> tuple[Task, tuple[Figures | None, str | None]]:
    """Return the reply of a worker; without one, its process was cut off or has crashed."""
    assert worker.task is not None
    if worker.connection.poll():
        with suppress(EOFError, ConnectionResetError):
            return worker.task, worker.connection.recv()
    code = worker.exit_code()
    timed_out = code is None or code == -getattr(signal, "SIGPROF", 0)
    return worker.task, (None, CUT_OFF if timed_out else f"the process ended with code {code}")


@contextmanager
def _progress(total: int, done: int) -> Iterator[Callable[[str], None]]:
    """Show a bar on a terminal, and a line per hundred tasks elsewhere."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(*columns, TimeElapsedColumn(), console=console) as bar:
        shown = bar.add_task("", total=total, completed=done)

        def advance(description: str) -> None:
            nonlocal done
            done += 1
            bar.update(shown, advance=1, description=description)
            if not console.is_terminal and done % 100 == 0:
                print(f"{now()} {done} of {total}", file=sys.stderr, flush=True)

        yield advance


# -- comparisons -----------------------------------------------------------------------------------

# figures of a method: table -> draw -> value
ByTable = dict[str, dict[int, float]]


def figure_by_table(results: Mapping[Task, Figures | str], method: str, figure: str) -> ByTable:
    """Return one figure of a method on every table and draw that has it."""
    values: ByTable = {}
    for task, figures in results.items():
        if task.method == method and not isinstance(figures, str):
            value = figures.get(figure)
            if value is not None:
                values.setdefault(task.table, {})[task.draw] = value
    return values


def mean_over_tables(values: ByTable, *, geometric: bool = False) -> float | None:
    """Return the mean over tables of the mean over draws."""
    if not values:
        return None
    means = np.array([np.mean(list(draws.values())) for draws in values.values()])
    return float(np.exp(np.log(means.clip(1e-4)).mean()) if geometric else means.mean())


class Comparison(NamedTuple):
    """A paired difference over tables: mean, standard error, tables better and worse, p value."""

    difference: float
    standard_error: float | None
    tables: int
    better: int
    worse: int
    p_value: float | None


def compare(
    ours: ByTable, rival: ByTable, tables: Iterable[str] | None = None
) -> Comparison | None:
    """Compare two methods on the tables and draws that both have; the p value is Wilcoxon's.

    "Better" counts the tables with a greater figure.
    """
    names = [name for name in (ours if tables is None else tables) if name in ours]
    gaps = []
    for name in names:
        draws = ours[name].keys() & rival.get(name, {}).keys()
        if draws:
            gaps.append(np.mean([ours[name][draw] - rival[name][draw] for draw in draws]))
    if not gaps:
        return None
    values = np.array(gaps)
    several = len(values) > 1
    return Comparison(
        difference=float(values.mean()),
        standard_error=float(values.std(ddof=1) / np.sqrt(len(values))) if several else None,
        tables=len(values),
        better=int((values > 1e-12).sum()),
        worse=int((values < -1e-12).sum()),
        p_value=float(wilcoxon(values).pvalue) if several and np.any(values) else None,
    )


# -- command line ----------------------------------------------------------------------------------


def add_options(parser: argparse.ArgumentParser, *, store: str, log: str, methods: str) -> None:
    """Add the options that the benchmarks share."""
    parser.add_argument("--draws", type=int, default=20, help="draws of 85/15 per table")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument(
        "--methods", nargs="+", metavar="NAME", help=f"methods to run and to show; of: {methods}"
    )
    parser.add_argument(
        "--again", nargs="+", default=[], metavar="NAME", help="methods whose results are renewed"
    )
    parser.add_argument("--match", default="", help="a text in the names of the tables to use")
    parser.add_argument(
        "--test-half", action="store_true",
        help="run the test half, and append its result to the log; for decisions already made",
    )  # fmt: skip
    parser.add_argument(
        "--store", type=Path, default=CACHE / store, help="SQLite file of the results"
    )
    parser.add_argument("--log", type=Path, default=RESULTS / log, help="log of the test half")
    parser.add_argument(
        "--results", type=Path, default=RESULTS, help="folder of the summary and of the plot"
    )


def chosen_tables(
    specs: Iterable[TableSpec], chosen_half: Half, match: str = ""
) -> list[TableSpec]:
    """Return the tables of a half that can be loaded, and report the missing packages."""
    loadable, missing = available(
        spec for spec in specs if half_of(spec) == chosen_half and match in spec.name
    )
    for package, skipped in missing.items():
        print(f"{package} is not installed: {len(skipped)} tables are skipped", file=sys.stderr)
    return loadable


def single_threaded() -> None:
    """Let every worker use one thread, so that processor times are comparable."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"


def save(folder: Path, name: str, summary: Mapping[str, Any]) -> None:
    """Write the summary of a run as JSON."""
    write_text(folder / f"{name}.json", json.dumps(summary, indent=1) + "\n")
