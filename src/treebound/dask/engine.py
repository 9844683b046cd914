"""Shards on the workers of a Dask cluster.

Some partitions of one worker are a bundle. Bundles are futures; what a lost worker had is computed
again by Dask. Values are in files on the worker that coded the partition; if a bundle was moved
away from its files, its partitions are read and coded again.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any
from weakref import WeakSet

from treebound._extras import require
from treebound.dask.tasks import PartitionError, in_partition
from treebound.dask.waiting import gathered, waited
from treebound.data.parts import PartRows
from treebound.data.spill import SpillFile, ValuesLost
from treebound.growing._kernels import Bins
from treebound.growing.engine import ShardEngine
from treebound.growing.questions import Subtree
from treebound.growing.shard import (
    Coded,
    Facts,
    code_part,
    gather_rows,
    grow_subtree,
    make_bundle,
)

_WHO = {"extra": "dask", "why": "Growing on Dask"}
# Results that one task puts together.
_FAN = 8
# Rows of a bundle at most; a thread has one if they are fewer.
_BUNDLE_ROWS = 1 << 23
# What is sent with every task has at most so many bytes in all: a task of its own costs as much.
_SENT_BYTES = 1 << 20
# How often lost values are read again before the error is the user's.
_TRIES = 5


# -- tasks -------------------------------------------------------------------------------------


def _code(
    number: int,
    read: Callable[..., PartRows],
    bins: Bins,
    token: str,
    first: int,
    *raw: Any,
) -> Coded:
    from treebound.dask.plugin import folder_of

    part = in_partition(number, read, *raw, first=first)
    file = SpillFile(folder_of(require("distributed", **_WHO).get_worker(), token))
    try:
        return code_part(part, bins, file)
    finally:
        file.close()


def _same(value: Any) -> Any:
    return value


def _facts(coded: Coded) -> Facts:
    return coded.facts


def _held(keys: Sequence[str], dask_worker: Any = None) -> dict[str, Facts]:
    """The facts of the coded partitions that a worker has."""
    return {key: dask_worker.data[key].facts for key in keys if key in dask_worker.data}


def _finish(
    holders: Sequence[tuple[str, str]], places: Sequence[int], subtrees: Sequence[Subtree]
) -> list[dict[str, Any]]:
    """The trees below some nodes, from the pieces that every bundle has of them."""
    from treebound.dask.plugin import fetch_pieces

    pieces = fetch_pieces(holders, places)
    return [grow_subtree(parts, one.kernel) for *parts, one in zip(*pieces, subtrees, strict=True)]


def _on(worker: str) -> dict[str, Any]:
    """Where a task is to run, if that worker lives."""
    return {"workers": [worker], "allow_other_workers": True} if worker else {}


# -- the engine --------------------------------------------------------------------------------


class DaskEngine(ShardEngine):
    """Bundles of shards as futures of a cluster.

    ``read`` makes ``PartRows`` of the delayed objects of a partition in ``raw``, on a worker.
    ``first`` has the number of the first row of each partition, where rows are left out.
    """

    def __init__(
        self,
        client: Any,
        raw: Sequence[tuple[Any, ...]],
        read: Callable[..., PartRows],
        bins: Bins,
        n_classes: int,
        first: Sequence[int] | None = None,
        gather_rows: int = ShardEngine.gather_rows,
    ) -> None:
        from treebound.dask.plugin import FitFiles

        super().__init__(bins, n_classes)
        self.gather_rows = gather_rows
        self._client, self._raw = client, raw
        self._first = first or [0] * len(raw)
        self._token, self._number = uuid.uuid4().hex, count()
        self._futures: WeakSet[Any] = WeakSet()
        client.register_plugin(FitFiles())
        self._bins, self._read = self.broadcast(bins), self.broadcast(read)
        self._calls: dict[str, tuple[int, Callable[..., Any], tuple[Any, ...]]] = {}
        self._history: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
        coded = self._coded(range(len(raw)))
        try:
            waited(client, coded, lambda i: f"The rows of partition {i}")
            facts, homes = self._known(coded)
            groups = self._grouped(homes, [one.n_rows for one in facts])
            self._homes = [homes[group[0]] for group in groups]
            self.start(coded, facts, groups)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Release everything on the workers; their files go with it."""
        for future in list(self._futures):  # an error that is kept may hold some of them
            future.release()
        self._bundles, self._history, self._calls = [], [], {}

    @property
    def places(self) -> int:
        """Small nodes are finished on all workers."""
        return max(1, len(self._client.nthreads()))

    def _key(self, function: Callable[..., Any]) -> str:
        """The name of a task, from which workers know what fit it belongs to."""
        name = getattr(function, "__name__", type(function).__name__).strip("_")
        return f"{name}-treebound-{self._token}-{next(self._number)}"

    def _submit(self, function: Callable[..., Any], *args: Any, worker: str = "") -> Any:
        """A task, on a worker if it lives."""
        key = self._key(function)
        future = self._client.submit(function, *args, key=key, **_on(worker))
        self._futures.add(future)
        return future

    def _coded(self, numbers: Sequence[int], worker: str = "") -> list[Any]:
        """Futures of coded partitions, on a worker if it lives."""
        code = require("dask", **_WHO).delayed(_code, pure=False)
        tasks = [
            code(
                i, self._read, self._bins, self._token, self._first[i], *self._raw[i],
                dask_key_name=self._key(_code),
            )
            for i in numbers
        ]  # fmt: skip
        futures = list(self._client.compute(tasks, **_on(worker)))
        self._futures.update(futures)
        return futures

    def _known(self, coded: list[Any]) -> tuple[list[Facts], list[str]]:
        """The facts of coded partitions and their workers, asked of each worker at once."""
        held = self._client.run(_held, [one.key for one in coded], on_error="ignore")
        found = {
            key: (facts, worker) for worker, mine in held.items() for key, facts in mine.items()
        }
        for one in coded:
            if one.key not in found:  # its worker left, or is new
                found[one.key] = (self._submit(_facts, one).result(), "")
        facts, homes = zip(*(found[one.key] for one in coded), strict=True)
        return list(facts), list(homes)

    def _grouped(self, homes: list[str], sizes: list[int]) -> list[list[int]]:
        """Partitions that become one bundle: of one worker, so few that all threads have some.

        A task costs milliseconds whatever it does, and every operation is a task for each bundle.
        """
        by_worker: dict[str, list[int]] = {}
        for i, worker in enumerate(homes):
            by_worker.setdefault(worker, []).append(i)
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
        """A value as a future, so that it is sent once to a worker; a small one with each task."""
        if len(pickle.dumps(value, protocol=5)) * len(self._bundles) in range(1, _SENT_BYTES):
            return value
        return self._submit(_same, value)

    def map(self, function: Callable[..., Any], items: Sequence[Any], *args: Any) -> list[Any]:
        """A task for each item; those of bundles are not moved away from their files."""
        if items is not self._bundles:
            return [self._submit(function, item, *args) for item in items]
        futures = [
            self._submit(function, item, *args, worker=worker)
            for item, worker in zip(items, self._homes, strict=True)
        ]
        self._calls = {one.key: (i, function, args) for i, one in enumerate(futures)}
        return futures

    def reduce(self, function: Callable[[Sequence[Any]], Any], items: Sequence[Any]) -> Any:
        """Put results together: many on the workers, some at a time, and few here."""
        return self._tried(list(items), lambda items: self._reduced(function, items))

    def _reduced(self, function: Callable[[Sequence[Any]], Any], items: list[Any]) -> Any:
        done = waited(self._client, items, self._name)
        while len(done) > _FAN:
            some = [done[i : i + _FAN] for i in range(0, len(done), _FAN)]
            done = [self._submit(function, one) for one in some]
        return function(gathered(self._client, done, lambda _: "Rows"))

    def _name(self, i: int) -> str:
        """Which rows a result of all bundles is of, and where they were."""
        group = self._groups[i]
        rows = sum(self._starts[k + 1] - self._starts[k] for k in group)
        some = ", ".join(map(str, group[:5])) + (", ..." if len(group) > 5 else "")
        return f"{rows:,} rows (partitions {some}; worker {self._homes[i] or 'unknown'})"

    def keep(self, items: list[Any]) -> list[Any]:
        """Wait for new bundles; lost ones are made in the same way again."""
        kept: list[Any] = self._tried(
            items, lambda items: list(waited(self._client, items, self._name))
        )
        _, function, args = self._calls[kept[0].key]
        self._history.append((function, args))
        return kept

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
        again = self._submit(function, self._bundles[i], *args, worker=self._homes[i])
        self._calls[again.key] = (i, function, args)
        return again

    def _renew(self, i: int) -> None:
        """Read and code the partitions of a bundle again, and divide its rows as they were.

        On one worker, as no other may be able to read the files.
        """
        workers = sorted(self._client.nthreads())
        self._homes[i] = worker = workers[i % len(workers)] if workers else ""
        group = self._groups[i]
        starts = [self._starts[k] for k in group]
        bundle = self._submit(
            make_bundle, self._coded(group, worker), self._bins, self.facts.total, starts,
            self._n_classes, worker=worker,
        )  # fmt: skip
        for function, args in self._history:
            bundle = self._submit(function, bundle, *args, worker=worker)
        self._bundles[i] = bundle

    def finish(self, subtrees: Sequence[Subtree]) -> list[dict[str, Any]]:
        """What is below small nodes: every worker gets the rows of some of them, and no others."""
        n_groups = min(len(subtrees), 2 * self.places)
        places = [list(range(k, len(subtrees), n_groups)) for k in range(n_groups)]

        def end(pieces: list[Any]) -> list[Any]:
            waited(self._client, pieces, self._name)
            held = self._client.who_has(pieces)
            if not all(held.get(one.key) for one in pieces):
                raise ValuesLost("rows are computed again")
            holders = [(one.key, held[one.key][0]) for one in pieces]
            tasks = [
                self._submit(_finish, holders, some, [subtrees[k] for k in some]) for some in places
            ]
            return gathered(self._client, tasks, lambda _: "Rows")

        slots = [subtree.slot for subtree in subtrees]
        found = self._tried(self.map(gather_rows, self._bundles, slots), end)
        arrays = {
            k: one
            for some, group in zip(places, found, strict=True)
            for k, one in zip(some, group, strict=True)
        }
        return [arrays[k] for k in range(len(subtrees))]
