"""Running a study: compute the missing results, in any order, and store them as they arrive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal
from typing import Protocol as Interface

from treebound._utils.extras import require
from treebound._utils.progress import Progress
from treebound._utils.validation import Number, check
from treebound.study import datasets
from treebound.study.models import Learner
from treebound.study.processes import Children, Row, Task, measure_draw, packed
from treebound.study.protocols import Protocol
from treebound.study.protocols import protocol as protocol_of
from treebound.study.samples import Inferred, NamedSample, load_sample
from treebound.study.store import Store, check_store

Backend = Literal["local", "dask"]
Computed = Callable[[Iterable[Task]], Iterable[list[Row]]]
_LOSSES = 3


class Observer(Interface):
    """Called on the events of a run; see ``display.py``."""

    def start(self, study: Study, rows: list[dict[str, Any]]) -> None:
        """The run begins; ``rows`` are the results the store already has."""

    def show(self, event: Progress) -> None:
        """A result was stored: ``event.result``."""


@dataclass(frozen=True)
class Study:
    """Data sets, draws and models, in all combinations, under a protocol."""

    samples: Sequence[NamedSample]
    models: Sequence[Learner]
    protocol: Protocol

    @property
    def size(self) -> int:
        """Number of results of the whole study."""
        return len(self.samples) * len(self.models) * self.protocol.draws

    def results(self, rows: list[Row]) -> list[Row]:
        """The rows of a store that are results of this study, not of further sets or draws."""
        names = {named.name for named in self.samples}, {model.name for model in self.models}
        return [
            row
            for row in rows
            if row["draw"] < self.protocol.draws
            and row["dataset"] in names[0]
            and row["model"] in names[1]
        ]

    def tasks(self, rows: list[Row], timeout: float | None) -> Iterator[Task]:
        """The missing models of each draw; the largest samples first, to balance the load."""
        done = {(row["dataset"], row["draw"], row["model"]) for row in rows}
        fraction = self.protocol.test_fraction
        for named in sorted(self.samples, key=_size, reverse=True):
            sample = packed(named)
            for draw, seed in enumerate(self.protocol.seeds):
                left = tuple(m for m in self.models if (named.name, draw, m.name) not in done)
                if left:
                    yield Task(named.name, sample, draw, seed, left, fraction, timeout)


def _size(named: NamedSample) -> int:
    return named.sample.n_rows * len(named.sample.columns)


def run(
    *,
    protocol: str | Protocol = "standard",
    sets: Sequence[str] | Sequence[NamedSample] | None = None,
    models: Sequence[str] | None = None,
    draws: int | None = None,
    data: str | Path | None = None,
    store: str | Path = "results.sqlite",
    retry: bool = False,
    inferred: Inferred | None = None,
    jobs: int = 1,
    backend: Backend = "local",
    scheduler: str | None = None,
    timeout: float | None = None,
    observer: Observer | None = None,
) -> int:
    """Run or resume a study.

    Parameters
    ----------
    protocol : {"standard", "paper"} or Protocol
        The settings of the study, by name or as an object.
    sets : sequence of str or NamedSample, optional
        Names as :func:`treebound.study.load_sample` reads them; by default the paper's 25.
    models : sequence of str, optional
        Names of models of the protocol; by default all.
    draws : int, optional
        Number of splits of each data set; by default that of the protocol.
    data : path, optional
        Folder with the raw files of the data sets.
    store : path
        The file of the results, created if it does not exist. Only this process writes to it, one
        transaction for each result.
    retry : bool
        Whether to rerun failed models.
    inferred : callable, optional
        See :func:`treebound.study.load_sample`.
    jobs : int
        Worker processes on this machine; -1 for one per core. Clusters have their own.
    backend : {"local", "dask"}
        Place of the work: processes on this machine, or a cluster.
    scheduler : str, optional
        Address of the Dask scheduler; by default one is started here.
    timeout : float, optional
        Seconds after which a model is stopped, with an error as its result.
    observer : Observer, optional
        What shows the run: ``start(study, rows)`` is called with the results that the store
        has, and ``show(event)`` with a :class:`treebound.growing.Progress` after each new one.

    Returns
    -------
    int
        How many results were added.

    Raises
    ------
    RuntimeError
        If workers die several times in a row without a result.
    """
    check_store(store)  # before the long work
    check("", {"timeout": timeout}, {"timeout": Number(0.0, open=True, optional=True)})
    chosen = protocol_of(protocol)
    chosen = chosen if draws is None else replace(chosen, draws=draws)
    samples = [
        item if isinstance(item, NamedSample) else load_sample(item, data=data, inferred=inferred)
        for item in sets or datasets.list()
    ]
    study = Study(samples, chosen.chosen(models), chosen)
    with Store(store) as opened:
        if retry:
            opened.forget_errors(chosen.key)
        opened.register(chosen, study.samples, study.models)
        stored = study.results(opened.rows(chosen.key))
        if observer is not None:
            observer.start(study, stored)
        added = losses = 0
        while losses < _LOSSES:
            before, tasks = added, study.tasks(opened.rows(chosen.key), timeout)
            try:
                with _workers(backend, scheduler, jobs) as computed:
                    for row in chain.from_iterable(computed(tasks)):
                        added += opened.add(chosen.key, row)
                        if observer is not None:
                            done = len(stored) + added
                            observer.show(Progress("measuring", done, study.size, result=row))
                return added
            except _worker_losses() as error:
                # a worker died: retry the missing results
                lost, losses = error, 0 if added > before else losses + 1
    raise RuntimeError(
        f"Workers died {losses} times in a row without a result: {lost!r}. "
        "Hint: run with --jobs 1, or give the workers more memory."
    )


@contextmanager
def _workers(backend: Backend, scheduler: str | None, jobs: int) -> Iterator[Computed]:
    """A backend that computes tasks and yields their rows as they are finished."""
    import joblib

    with ExitStack() as stack:
        if backend == "dask":
            client = stack.enter_context(_dask_client(scheduler, jobs))
            where: dict[str, Any] = {"backend": "dask", "client": client, "n_jobs": -1}
            measure = measure_draw
        elif scheduler is None:
            where = {"backend": "threading", "n_jobs": jobs}  # each waits for a child process
            measure = stack.enter_context(closing(Children())).measure
        else:
            raise ValueError("The local backend has no scheduler. Hint: use --backend dask.")
        stack.enter_context(joblib.parallel_config(**where))  # read where Parallel is made
        parallel = joblib.Parallel(return_as="generator_unordered", batch_size=1)
        yield lambda tasks: parallel(joblib.delayed(measure)(task) for task in tasks)


@contextmanager
def _dask_client(scheduler: str | None, jobs: int) -> Iterator[Any]:
    """The client of a dask cluster."""
    distributed = require("distributed", extra="dask", why="The dask backend")
    with ExitStack() as stack:
        if scheduler is None:
            cluster = distributed.LocalCluster(
                n_workers=max(jobs, 1), threads_per_worker=1, dashboard_address=None
            )
            scheduler = stack.enter_context(cluster).scheduler_address
        yield stack.enter_context(distributed.Client(scheduler, set_as_default=False))


def _worker_losses() -> tuple[type[BaseException], ...]:
    """The errors for workers that a cluster has lost."""
    with suppress(ModuleNotFoundError):
        from distributed import KilledWorker

        return (CancelledError, KilledWorker)
    return (CancelledError,)
