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
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from treebound.bench.measure import failed, measured, thread_pools
from treebound.bench.models import Draw, Learner
from treebound.bench.samples import Parcel

Row = dict[str, Any]
_PROGRAM = "import sys; from treebound.bench.processes import serve; serve(int(sys.argv[1]))"


@dataclass(frozen=True)
class Task:
    """One draw of one table, and the models to measure on it."""

    parcel: Parcel
    draw: int
    seed: int
    models: tuple[Learner, ...]
    test_fraction: float
    timeout: float | None = None

    def packed(self, models: Sequence[Learner]) -> bytes:
        """The task with some of its models, pickled; models may be defined in a notebook."""
        from joblib import wrap_non_picklable_objects

        named = wrap_non_picklable_objects(list(models), keep_wrapper=False)
        return pickle.dumps((self.parcel, self.draw, self.seed, named, self.test_fraction), 5)

    def error(self, model: Learner, said: str) -> Row:
        """The row of a model that failed."""
        return failed(self.parcel.name, self.draw, self.seed, model.name, said)


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
        deaths = 0
        while len(rows) < len(task.models):
            child = self._take()
            try:
                for row in child.rows(task.packed(task.models[len(rows) :]), task.timeout):
                    rows.append(row)
                    deaths = 0
                self._busy.discard(child)
                _idle.append(child)
            except TimeoutError:
                self._end(child)
                model = task.models[len(rows)]
                said = f"no result within {task.timeout:g} s. Hint: allow more with --timeout"
                rows.append(task.error(model, said))
            except (EOFError, ConnectionError):
                code = self._end(child)
                model = task.models[len(rows)]
                deaths += 1
                if deaths == 2:
                    rows.append(task.error(model, f"its process died, {_ending(code)}"))
                    deaths = 0
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


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return f"signal {signal.Signals(-code).name}"
    return f"signal {-code}"


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

    def rows(self, task: bytes, timeout: float | None) -> Iterator[Row]:
        """Yield the rows of a task as they are finished."""
        self._pipe.send(sys.path)
        self._pipe.send_bytes(task)
        # The child reports when a model starts, so that startup does not count as its time.
        while (said := self._pipe.recv()) != "done":
            if isinstance(said, Exception):
                raise said
            if not self._pipe.poll(timeout):
                raise TimeoutError
            yield self._pipe.recv()

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
    pipe = Connection(handle)
    tasks: queue.SimpleQueue[tuple[list[str], bytes]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, tasks), daemon=True).start()
    thread_pools()  # imports common packages before any model is timed
    while True:
        sys.path[:], task = tasks.get()
        try:
            parcel, draw, seed, models, test_fraction = pickle.loads(task)
            split = Draw(parcel.open(), seed, test_fraction=test_fraction)
        except Exception as error:
            pipe.send(RuntimeError(f"A worker cannot load its task: {error!r}"))
            continue
        for model in models:
            pipe.send("begin")
            pipe.send(measured(model, split, draw))
        pipe.send("done")


def _listen(pipe: Connection, tasks: queue.SimpleQueue[tuple[list[str], bytes]]) -> None:
    """Put tasks in a queue; exit, even in the middle of a model, when the parent does."""
    with suppress(EOFError, OSError):
        while True:
            tasks.put((pipe.recv(), pipe.recv_bytes()))
    os._exit(0)
