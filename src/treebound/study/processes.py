"""Models run in child processes: one that dies or hangs is an error, and the study continues.

Each worker of a study (a thread here, a process on a cluster) sends its draws to a child process
and waits for one row per model. The child is reused for the next draw, and exits with its parent.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from treebound.study.measure import QUANTITIES, measured, versions
from treebound.study.models import Learner, StudyDraw
from treebound.study.samples import NamedSample

Row = dict[str, Any]
_PROGRAM = "import sys; from treebound.study.processes import serve; serve(int(sys.argv[1]))"


@dataclass(frozen=True)
class Task:
    """One draw of one data set, and the models to measure on it."""

    dataset: str
    sample: bytes  # see packed
    draw: int
    seed: int
    models: tuple[Learner, ...]
    test_fraction: float
    timeout: float | None = None

    def row(self, model: Learner, result: Row) -> Row:
        """The row of a model: its quantities, or its error."""
        place = {"dataset": self.dataset, "draw": self.draw, "seed": self.seed}
        empty = dict.fromkeys((*QUANTITIES, "error"))
        return {**place, "model": model.name, "versions": versions(), **empty, **result}


def packed(named: NamedSample) -> bytes:
    """A pickled sample; backends do not scatter bytes to workers, which may die."""
    return zlib.compress(pickle.dumps(named, 5), 1)


@lru_cache(maxsize=4)  # a worker unpickles a sample once
def _opened(sample: bytes) -> NamedSample:
    named: NamedSample = pickle.loads(zlib.decompress(sample))
    return named


# Idle children, for the next study in this process: starting one takes a second or two.
_idle: list[_Child] = []


class Children:
    """The child processes of one study; closing ends the busy ones."""

    def __init__(self) -> None:
        self._busy: set[_Child] = set()
        self._closed = False

    def measure(self, task: Task) -> list[Row]:
        """One row per model, in the order of the task.

        A model that exceeds the timeout gives a row with that error; so does one whose process
        dies twice (once may be due to lack of memory).
        """
        rows: list[Row] = []
        died = False
        while len(rows) < len(task.models):
            child = self._take()
            try:
                for row in child.rows(replace(task, models=task.models[len(rows) :])):
                    rows.append(row)
                    died = False
                self._busy.discard(child)
                _idle.append(child)
            except (EOFError, ConnectionError):
                code = self._end(child)
                died = not died and code != -signal.SIGALRM
                if not died:
                    error = {"error": _ending(code, task.timeout)}
                    rows.append(task.row(task.models[len(rows)], error))
            except BaseException:
                self._end(child)
                raise
        return rows

    def _take(self) -> _Child:
        if self._closed:
            raise RuntimeError("The study was stopped.")
        try:
            child = _idle.pop()
        except IndexError:
            child = _Child()
        self._busy.add(child)
        return child

    def _end(self, child: _Child) -> int:
        self._busy.discard(child)
        return child.end()

    def close(self) -> None:
        """End the busy children."""
        self._closed = True
        for child in list(self._busy):
            self._end(child)


def _ending(code: int, timeout: float | None) -> str:
    """How a process ended, in words."""
    if code == -signal.SIGALRM and timeout is not None:
        return f"no result within {timeout:g} s. Hint: allow more with --timeout"
    if code >= 0:
        return f"its process died, exit code {code}"
    names = {number.value: number.name for number in signal.Signals}
    return f"its process died, signal {names.get(-code, -code)}"


# Children of a worker of a cluster, which end with it.
_children = Children()


def measure_draw(task: Task) -> list[Row]:
    """Measure a draw in a child of this process, on a worker of a cluster."""
    return _children.measure(task)


class _Child:
    """A process that measures one draw at a time."""

    def __init__(self) -> None:
        self._pipe, theirs = Pipe()
        command = [sys.executable, "-c", _PROGRAM, str(theirs.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        theirs.close()

    def rows(self, task: Task) -> Iterator[Row]:
        """Yield the rows of a task as they are finished."""
        from joblib import wrap_non_picklable_objects

        # models may be defined in a notebook
        models = wrap_non_picklable_objects(list(task.models), keep_wrapper=False)
        self._pipe.send(sys.path)
        self._pipe.send_bytes(pickle.dumps(replace(task, models=models), 5))
        for _ in task.models:
            row = self._pipe.recv()
            if isinstance(row, Exception):
                raise row
            yield row

    def end(self) -> int:
        """Kill the process if it is still running; return its exit code."""
        self._pipe.close()
        with suppress(subprocess.TimeoutExpired):
            # a process that has just died has its own exit code
            return self._process.wait(0.2)
        self._process.kill()
        return self._process.wait()


def serve(handle: int) -> None:
    """Measure the draws that arrive on a pipe, until it is closed: the program of a child."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too and ends its children
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends a model that takes too long
    pipe = Connection(handle)
    tasks: queue.SimpleQueue[tuple[list[str], bytes]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, tasks), daemon=True).start()
    # Results and times do not depend on the cores of a machine; the import is one of the pools,
    # and no model is timed with it.
    import sklearn.utils.parallel  # noqa: F401
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    while True:
        sys.path[:], content = tasks.get()
        try:
            task: Task = pickle.loads(content)
            draw = StudyDraw(_opened(task.sample), task.seed, test_fraction=task.test_fraction)
        except Exception as error:
            pipe.send(RuntimeError(f"A worker cannot load its task: {error!r}"))
            continue
        for model in task.models:
            signal.setitimer(signal.ITIMER_REAL, task.timeout or 0.0)
            row = task.row(model, measured(model, draw))
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            pipe.send(row)


def _listen(pipe: Connection, tasks: queue.SimpleQueue[tuple[list[str], bytes]]) -> None:
    """Put tasks in a queue; exit, even in the middle of a model, when the parent does."""
    with suppress(EOFError, OSError):
        while True:
            tasks.put((pipe.recv(), pipe.recv_bytes()))
    os._exit(0)
