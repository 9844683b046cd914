"""Shards on the workers of a Dask cluster.

Some partitions of one worker are a bundle. Bundles are futures; what a lost worker had is computed
again by Dask. Values are in files on the worker that coded the partition; if a bundle was moved
away from its files, its partitions are read and coded again.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from treebound._extras import require
from treebound.data import Sample
from treebound.data.folds import LeftOut
from treebound.growing._bins import Bins
from treebound.growing.engine import ShardEngine
from treebound.growing.shard import (
    Coded,
    Facts,
    Piece,
    SpillFile,
    Subtree,
    ValuesLost,
    code_part,
    gather_rows,
    grow_subtree,
    make_bundle,
)

__all__ = ["DaskEngine", "PartitionError", "in_partition"]

_WHO = {"extra": "dask", "why": "Growing on Dask"}
# Results that one task puts together.
_FAN = 8
# Rows of a bundle at most; a thread has one if they are fewer.
_BUNDLE_ROWS = 1 << 23
# How often lost values are read again before the error is the user's.
_TRIES = 5


class PartitionError(RuntimeError):
    """A partition could not be read or coded; the message has its number."""


# -- tasks -------------------------------------------------------------------------------------


def in_partition(number: int, function: Callable[..., Any], /, *args: Any, **options: Any) -> Any:
    """Call a function; an error tells the number of the partition, once."""
    try:
        return function(*args, **options)
    except Exception as error:
        if str(error).startswith(f"Partition {number}"):
            raise
        if isinstance(error, ValueError | TypeError):
            raise type(error)(f"Partition {number}: {error}") from error
        raise PartitionError(
            f"Partition {number} failed with {type(error).__name__}: {error}"
        ) from error


def _folder(worker: Any, token: str) -> str:
    """Where a worker keeps files of a fit; removed with the worker."""
    return os.path.join(worker.local_directory, f"treebound-{token}")


def _clean(token: str, dask_worker: Any = None) -> None:
    shutil.rmtree(_folder(dask_worker, token), ignore_errors=True)


def _code(
    number: int,
    read: Callable[[Any], Sample],
    raw: Any,
    bins: Bins,
    token: str,
    rows: LeftOut | None,
    first: int,
) -> Coded:
    sample = in_partition(number, read, raw)
    file = SpillFile(_folder(require("distributed", **_WHO).get_worker(), token), named=True)
    try:
        return code_part(sample, bins, file, rows, first)
    finally:
        file.close()


def _same(value: Any) -> Any:
    return value


def _facts(coded: Coded) -> Facts:
    return coded.facts


def _pick(pieces: Sequence[Piece], places: Sequence[int]) -> list[Piece]:
    return [pieces[place] for place in places]


def _finish(pieces: Sequence[Sequence[Piece]], subtrees: Sequence[Subtree]) -> list[dict[str, Any]]:
    """The trees below some nodes, from the pieces that every bundle has of them."""
    return [grow_subtree(parts, one.kernel) for *parts, one in zip(*pieces, subtrees, strict=True)]


# -- the engine --------------------------------------------------------------------------------


class DaskEngine(ShardEngine):
    """Bundles of shards as futures of a cluster.

    Parameters
    ----------
    client : distributed.Client
    raw : sequence of tuple
        What ``read`` takes, for each partition: a delayed object, and the number of its first row.
    read : callable
        Makes a ``Sample`` of a partition; it is sent to the workers.
    bins : Bins
    n_classes : int
    rows : LeftOut, optional
        Rows that are left out of growing.
    """

    def __init__(
        self,
        client: Any,
        raw: Sequence[tuple[Any, int]],
        read: Callable[[Any], Sample],
        bins: Bins,
        n_classes: int,
        rows: LeftOut | None = None,
    ) -> None:
        super().__init__(bins, n_classes)
        self._client, self._raw, self._token = client, raw, uuid.uuid4().hex
        self._rows = rows
        self._bins, self._read = self.broadcast(bins), self.broadcast(read)
        self._calls: dict[str, tuple[int, Callable[..., Any], tuple[Any, ...]]] = {}
        self._history: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
        coded = self._coded(range(len(raw)))
        try:
            facts = list(client.gather(self.map(_facts, coded)))
            sizes = [one.n_rows for one in facts]
            self.start(coded, facts, self._grouped(coded, sizes))
        except BaseException:
            client.cancel(coded)
            self.close()
            raise

    def close(self) -> None:
        """Release everything on the workers."""
        self._bundles, self._history, self._calls = [], [], {}
        try:
            self._client.run(_clean, self._token, on_error="ignore")
        except Exception:  # a cluster that is gone has nothing to clean
            return

    @property
    def places(self) -> int:
        """Small nodes are finished on all workers."""
        return max(1, len(self._client.nthreads()))

    def _coded(self, numbers: Sequence[int], worker: str | None = None) -> list[Any]:
        """Futures of coded partitions, on a worker if it lives."""
        code = require("dask", **_WHO).delayed(_code, pure=False)
        tasks = [
            code(i, self._read, raw, self._bins, self._token, self._rows, first)
            for i, (raw, first) in ((i, self._raw[i]) for i in numbers)
        ]
        where = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        return list(self._client.compute(tasks, **where))

    def _grouped(self, coded: list[Any], sizes: list[int]) -> list[list[int]]:
        """Partitions that become one bundle: of one worker, so few that all threads have some.

        A task costs milliseconds whatever it does, and every operation is a task for each bundle.
        """
        holders = self._client.who_has(coded)
        by_worker: dict[str, list[int]] = {}
        for i, one in enumerate(coded):
            by_worker.setdefault(min(holders.get(one.key) or ("",)), []).append(i)
        n_threads = self._client.nthreads()
        groups: list[list[int]] = []
        for worker, mine in by_worker.items():
            rows = sum(sizes[i] for i in mine)
            share = max(1, rows // max(n_threads.get(worker, 1), rows // _BUNDLE_ROWS))
            held = share
            for i in mine:
                if held >= share:
                    groups.append([])
                    held = 0
                groups[-1].append(i)
                held += sizes[i]
        return groups

    # -- how functions are run -----------------------------------------------------------------

    def broadcast(self, value: Any) -> Any:
        """A value as a future, so that it is sent once to a worker, and again to a new one."""
        return self._client.submit(_same, value, pure=False)

    def map(self, function: Callable[..., Any], items: Sequence[Any], *args: Any) -> list[Any]:
        """A task for each item."""
        if items is self._bundles:
            self._calls = {}
        futures = [self._client.submit(function, item, *args, pure=False) for item in items]
        for item, future in zip(items, futures, strict=True):
            if item in self._bundles:
                self._calls[future.key] = (self._bundles.index(item), function, args)
        return futures

    def reduce(self, function: Callable[[Sequence[Any]], Any], items: Sequence[Any]) -> Any:
        """Put results together: many on the workers, some at a time, and few here."""
        return self._tried(list(items), lambda items: self._reduced(function, items))

    def _reduced(self, function: Callable[[Sequence[Any]], Any], items: list[Any]) -> Any:
        while len(items) > _FAN:
            some = [items[i : i + _FAN] for i in range(0, len(items), _FAN)]
            items = [self._client.submit(function, one, pure=False) for one in some]
        return function(list(self._client.gather(items)))

    def keep(self, items: list[Any]) -> list[Any]:
        """Wait for new bundles; lost ones are made in the same way again."""
        kept: list[Any] = self._tried(items, self._done)
        _, function, args = self._calls[kept[0].key]
        self._history.append((function, args))
        return kept

    def _done(self, items: list[Any]) -> list[Any]:
        require("distributed", **_WHO).wait(items)
        for future in items:
            if future.status == "error":
                future.result()
        return list(items)

    def _tried(self, items: list[Any], end: Callable[[list[Any]], Any]) -> Any:
        """Do something with results of bundles; if values are lost, read them again."""
        for _ in range(_TRIES):
            try:
                return end(items)
            except ValuesLost:
                items[:] = [self._again(future) for future in items]
        raise PartitionError(
            "The files with the values of some partitions are lost again and again. "
            "Hint: do not let workers share or empty their local directories."
        )

    def _again(self, future: Any) -> Any:
        """The same task, on a bundle that is made anew if its values were lost."""
        if future.status != "error" or not isinstance(future.exception(), ValuesLost):
            return future
        i, function, args = self._calls[future.key]
        self._renew(i)
        again = self._client.submit(function, self._bundles[i], *args, pure=False)
        self._calls[again.key] = (i, function, args)
        return again

    def _renew(self, i: int) -> None:
        """Read and code the partitions of a bundle again, and divide its rows as they were.

        On one worker, as no other may be able to read the files.
        """
        workers = sorted(self._client.nthreads())
        worker = workers[i % len(workers)] if workers else None
        group = self._groups[i]
        bundle = self._client.submit(
            make_bundle, self._coded(group, worker), self._bins, self.facts.total,
            [self._starts[k] for k in group], self._n_classes, pure=False,
        )  # fmt: skip
        for function, args in self._history:
            bundle = self._client.submit(function, bundle, *args, pure=False)
        self._bundles[i] = bundle

    def finish(self, subtrees: Sequence[Subtree]) -> list[dict[str, Any]]:
        """What is below small nodes: every worker gets the rows of some of them, and no others."""
        n_groups = min(len(subtrees), 2 * self.places)
        places = [list(range(k, len(subtrees), n_groups)) for k in range(n_groups)]
        submit = self._client.submit

        def end(pieces: list[Any]) -> list[Any]:
            tasks = []
            for some in places:
                mine = [submit(_pick, one, some, pure=False) for one in pieces]
                tasks.append(submit(_finish, mine, [subtrees[k] for k in some], pure=False))
            return list(self._client.gather(tasks))

        slots = [subtree.slot for subtree in subtrees]
        found = self._tried(self.map(gather_rows, self._bundles, slots), end)
        arrays = {
            k: one
            for some, group in zip(places, found, strict=True)
            for k, one in zip(some, group, strict=True)
        }
        return [arrays[k] for k in range(len(subtrees))]
