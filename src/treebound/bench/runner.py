"""Running a study: compute the missing results, in any order, and store them as they arrive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal
from typing import Protocol as Interface

from treebound._extras import require
from treebound.bench.models import Learner
from treebound.bench.processes import Children, Task, measure_draw
from treebound.bench.protocols import Protocol
from treebound.bench.protocols import protocol as protocol_of
from treebound.bench.samples import Inferred, NamedSample, Parcel, load_samples
from treebound.bench.store import Store, check_store

Backend = Literal["local", "dask", "ray"]
_LOSSES = 3


class Observer(Interface):
    """Called on the events of a run; see ``display.py``."""

    def start(self, study: Study, rows: list[dict[str, Any]]) -> None:
        """The run begins; ``rows`` are the results the store already has."""

    def result(self, row: dict[str, Any]) -> None:
        """A result was stored."""


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

    def run(
        self,
        store: Store,
        *,
        jobs: int = 1,
        backend: Backend = "local",
        scheduler: str | None = None,
        timeout: float | None = None,
        observer: Observer | None = None,
    ) -> int:
        """Compute the results that the store does not have; return how many."""
        store.register(self.protocol, self.samples, self.models)
        done = store.done(self.protocol.key)
        if observer is not None:
            observer.start(self, store.rows(self.protocol.key))
        added = losses = 0
        while losses < _LOSSES:
            before = added
            try:
                for row in _computed(self._tasks(done, timeout), jobs, backend, scheduler):
                    added += store.add(self.protocol.key, row)
                    if observer is not None:
                        observer.result(row)
                return added
            except _worker_losses() as error:
                # a worker died: retry the missing results
                losses = 0 if added > before else losses + 1
                lost, done = error, store.done(self.protocol.key)
        raise RuntimeError(
            f"Workers died {losses} times in a row without a result: {lost!r}. "
            "Hint: run with --jobs 1, or give the workers more memory."
        )

    def _tasks(self, done: set[tuple[str, int, str]], timeout: float | None) -> Iterator[Task]:
        """The missing models of each draw; the largest samples first, to balance the load."""
        for named in sorted(self.samples, key=lambda own: own.size, reverse=True):
            parcel = Parcel.of(named)
            for draw, seed in enumerate(self.protocol.seeds):
                left = tuple(m for m in self.models if (named.name, draw, m.name) not in done)
                if left:
                    yield Task(parcel, draw, seed, left, self.protocol.test_fraction, timeout)


def run(
    *,
    protocol: str | Protocol = "standard",
    sets: Sequence[str] | Sequence[NamedSample] | None = None,
    models: Sequence[str] | None = None,
    draws: int | None = None,
    data: str | Path | None = None,
    store: str | Path | Store = "results.sqlite",
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
        Names as :func:`treebound.bench.load_sample` reads them; by default the paper's 25.
    models : sequence of str, optional
        Names of models of the protocol; by default all.
    draws : int, optional
        Number of splits of each data set; by default that of the protocol.
    data : path, optional
        Folder with the raw files of the data sets.
    store : path or Store
        The file of the results, created if it does not exist, or an open store. Only this process
        writes to it, one transaction for each result.
    retry : bool
        Whether to rerun failed models.
    inferred : callable, optional
        See :func:`treebound.bench.load_sample`.
    jobs : int
        Worker processes on this machine; -1 for one per core. Clusters have their own.
    backend : {"local", "dask", "ray"}
        Where the models run: in processes on this machine, or on a cluster.
    scheduler : str, optional
        Address of the dask scheduler or ray cluster; by default one is started here.
    timeout : float, optional
        Seconds after which a model is stopped, with an error as its result.
    observer : Observer, optional
        Told of the events of the run: ``start(study, rows)`` with the results that the store
        has, and ``result(row)`` after each new one.

    Returns
    -------
    int
        How many results were added.

    Raises
    ------
    RuntimeError
        If workers die several times in a row without a result.
    """
    if not isinstance(store, Store):
        check_store(store)  # before the long work
    chosen = protocol_of(protocol)
    chosen = chosen if draws is None else replace(chosen, draws=draws)
    study = Study(load_samples(sets, data=data, inferred=inferred), chosen.chosen(models), chosen)
    with ExitStack() as stack:
        opened = store if isinstance(store, Store) else stack.enter_context(Store(store))
        if retry:
            opened.forget_errors(chosen.key)
        return study.run(
            opened,
            jobs=jobs,
            backend=backend,
            scheduler=scheduler,
            timeout=timeout,
            observer=observer,
        )


def _computed(
    tasks: Iterable[Task], jobs: int, backend: Backend, scheduler: str | None
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the tasks as they are finished."""
    with ExitStack() as stack:
        if backend == "ray":
            pool = stack.enter_context(_ray_pool(scheduler, jobs))
            yield from chain.from_iterable(pool.imap_unordered(measure_draw, tasks))
            return
        import joblib

        settings = stack.enter_context(_connected(backend, scheduler, jobs))
        local = backend == "local"
        measure = stack.enter_context(closing(Children())).measure if local else measure_draw
        stack.enter_context(joblib.parallel_config(**settings))  # read where Parallel is made
        parallel = joblib.Parallel(
            n_jobs=jobs if local else -1, return_as="generator_unordered", batch_size=1
        )
        yield from chain.from_iterable(parallel(joblib.delayed(measure)(task) for task in tasks))


@contextmanager
def _ray_pool(scheduler: str | None, jobs: int) -> Iterator[Any]:
    """The workers of a ray cluster; joblib takes no results from ray as they are finished."""
    ray = require("ray", extra="ray", why="The ray backend")
    from ray.util.multiprocessing import Pool

    with ExitStack() as stack:
        if not ray.is_initialized():
            cpus = max(jobs, 1) if scheduler is None else None
            ray.init(address=scheduler, num_cpus=cpus, include_dashboard=False)
            stack.callback(ray.shutdown)
        yield stack.enter_context(Pool())


@contextmanager
def _connected(backend: Backend, scheduler: str | None, jobs: int) -> Iterator[dict[str, Any]]:
    """The settings of joblib while a backend is connected."""
    if backend == "local":
        if scheduler is not None:
            raise ValueError("The local backend has no scheduler. Hint: use --backend dask or ray.")
        yield {"backend": "threading"}  # each thread waits for a child process
        return
    distributed = require("distributed", extra="dask", why="The dask backend")
    with ExitStack() as stack:
        if scheduler is None:
            cluster = distributed.LocalCluster(
                n_workers=max(jobs, 1), threads_per_worker=1, dashboard_address=None
            )
            scheduler = stack.enter_context(cluster).scheduler_address
        client = stack.enter_context(distributed.Client(scheduler, set_as_default=False))
        yield {"backend": "dask", "client": client}


def _worker_losses() -> tuple[type[BaseException], ...]:
    """The errors of the installed backends for lost workers."""
    from concurrent.futures import CancelledError
    from concurrent.futures.process import BrokenProcessPool

    losses: list[type[BaseException]] = [BrokenProcessPool, CancelledError]
    with suppress(ModuleNotFoundError):
        from distributed.scheduler import KilledWorker

        losses.append(KilledWorker)
    return tuple(losses)
