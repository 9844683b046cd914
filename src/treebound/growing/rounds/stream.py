"""Rows that come in batches: coded as they come, their values kept in a temporary file."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import reduce
from operator import add

from treebound.data import Sample
from treebound.growing._bins import Bins
from treebound.growing.rounds.engine import LocalEngine
from treebound.growing.rounds.shard import Facts, Shard, code_sample
from treebound.growing.rounds.spill import SpillFile

__all__ = ["stream_engine"]


def stream_engine(
    samples: Iterable[Sample],
    bins: Bins,
    *,
    n_threads: int = 1,
    folder: str | None = None,
) -> LocalEngine:
    """An engine for rows that are read in batches and kept as codes.

    At most one batch more than there are threads is in memory at a time.

    Parameters
    ----------
    samples : iterable of Sample
        All rows, in their order.
    bins : Bins
        As made by :func:`treebound.growing.rounds.make_bins`.
    n_threads : int
        Maximum number of threads.
    folder : str, optional
        The folder of the temporary file with the values; by default that of the system.

    Returns
    -------
    LocalEngine
    """
    file = SpillFile(folder)

    def code(sample: Sample) -> tuple[Shard, Facts]:
        kept = [
            None if by_code else values
            for by_code, values in zip(bins.by_code, sample.X.values, strict=True)
        ]
        return code_sample(sample, bins, file.write(kept))

    shards: list[Shard] = []
    facts: list[Facts] = []
    n_classes = 0
    waiting: deque[Future[tuple[Shard, Facts]]] = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        for sample in samples:
            n_classes = sample.n_classes
            waiting.append(pool.submit(code, sample))
            del sample
            if len(waiting) > n_threads:
                _take(waiting.popleft(), shards, facts)
        while waiting:
            _take(waiting.popleft(), shards, facts)
    return LocalEngine(shards, reduce(add, facts), bins, n_classes, n_threads=n_threads)


def _take(done: Future[tuple[Shard, Facts]], shards: list[Shard], facts: list[Facts]) -> None:
    shard, more = done.result()
    shards.append(shard)
    facts.append(more)
