"""Shards on the workers of a Dask cluster.

A bundle holds some partitions of one worker. Bundles are futures, so Dask computes those of a lost
worker again. Values are in files on the worker that coded the partitions; if a bundle was moved
away from its files, its partitions are read and coded again.
"""

from __future__ import annotations

import asyncio
import pickle
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import count
from operator import add
from typing import Any
from weakref import WeakSet

import numpy as np
from distributed import get_worker

from treebound.data.parts import START, PartRows, PartStart
from treebound.data.spill import SpillFile, ValuesLost
from treebound.engines.dask import waiting
from treebound.engines.dask.partitions import Partitions, in_words, same
from treebound.engines.dask.waiting import PartitionError, gathered, waited
from treebound.engines.dask.worker import (
    FitState,
    Request,
    RequestPlan,
    finish,
    folder_of,
    reply_to_driver,
)
from treebound.growing._bins import Bins
from treebound.growing.engine import Engine
from treebound.growing.kernel_types import TreeArrays
from treebound.growing.messages import ShardSplit, Subtree
from treebound.growing.shard import (
    Bundle,
    Coded,
    Facts,
    code_parts,
    divide_rows,
    gather_rows,
    join_pieces,
    make_bundle,
)
from treebound.growing.shard_target import check_classes

# Number of workers whose results one worker combines.
_FAN = 8
# Approximate maximum number of rows in a bundle.
_BUNDLE_ROWS = 1 << 23
# Seconds between two checks of the bundles while a request is pending.
_GLANCE = 1.0
# Attempts to recover lost values before an error is raised.
_TRIES = 8


def _code(parts: Iterator[PartRows[Any]], bins: Bins, token: str) -> list[Coded]:
    file = SpillFile(folder_of(get_worker(), token))
    try:
        return code_parts(parts, bins, file)
    finally:
        file.close()


def _code_again(parts: Iterator[PartRows[Any]], bins: Bins, token: str, *bundle: Any) -> Bundle:
    """Make a bundle and its files in one task: other workers may not be able to read the files."""
    return make_bundle(_code(parts, bins, token), bins, *bundle)


def _facts(coded: list[Coded]) -> tuple[Facts, list[int]]:
    """Return the facts of coded rows, and the number of rows of each part."""
    return reduce(add, [some.facts for some in coded]), [n for some in coded for n in some.sizes]


class DaskEngine(Engine):
    """Bundles of shards as futures of a cluster.

    ``read`` makes ``PartRows`` of the rows, labels and weights of a partition, on a worker.
    ``first`` has the start of each partition, if rows are drawn by number.
    """

    def __init__(
        self,
        partitions: Partitions,
        read: Callable[..., PartRows[Any]],
        bins: Bins,
        n_channels: int,
        *,
        n_rows: int = 0,
        first: Sequence[PartStart] | None = None,
        gather_rows: int = Engine.gather_rows,
    ) -> None:
        check_classes(n_channels)
        super().__init__(bins, n_channels)
        self.gather_rows = gather_rows
        self._client, self._partitions = partitions.client, partitions
        self._first = first or [START] * len(partitions)
        self._token, self._number = uuid.uuid4().hex, count()
        self._futures: WeakSet[Any] = WeakSet()
        self._client.register_plugin(FitState())
        self._read, self._bins = self._map(same, [read, bins])
        # all divisions of the rows, and how many of them every bundle has made
        self._divisions: list[Sequence[ShardSplit]] = []
        self._n_divided, self._located = 0, False
        try:
            self._start(n_rows)
        except BaseException:
            self.close()
            raise

    def _start(self, n_rows: int) -> None:
        """Read and code all partitions."""
        numbers = range(len(self._partitions))
        self._groups = self._partitions.groups(numbers, n_rows // _BUNDLE_ROWS)
        self._homes = [""] * len(self._groups)
        coded = self._compute([self._task(group, _code) for group in self._groups])
        described = self._map(_facts, waited(self._client, coded, self._name))
        facts, sizes = zip(*gathered(self._client, described, self._name), strict=True)
        rows = np.zeros(len(numbers), dtype=np.int64)
        rows[[k for group in self._groups for k in group]] = [n for counts in sizes for n in counts]
        starts = np.cumsum(rows) - rows
        self._starts = [starts[group].tolist() for group in self._groups]
        total = reduce(add, facts)
        of_all = ([same] * len(coded) for same in (self._bins, total.totals, self.n_channels))
        bins, totals, channels = of_all
        bundles = self._map(make_bundle, coded, bins, totals, self._starts, channels)
        self.start_bundles(total, bundles)

    def close(self) -> None:
        """Release everything on the workers; they delete the files."""
        for future in list(self._futures):  # a stored error may refer to some of them
            future.release()
        self._bundles = []

    @property
    def places(self) -> int:
        """Return the number of workers; small nodes are finished on all of them."""
        return max(1, len(self._client.nthreads()))

    # -- rows on workers -----------------------------------------------------------------------

    def _map(self, function: Callable[..., Any], *args: Sequence[Any]) -> list[Any]:
        """Submit one task for each argument, in one message."""
        keys = [self._key(function) for _ in args[0]]
        futures: list[Any] = self._client.map(function, *args, key=keys)
        self._futures.update(futures)
        return futures

    def _compute(self, tasks: Sequence[Any]) -> list[Any]:
        futures: list[Any] = self._client.compute(tasks)
        self._futures.update(futures)
        return futures

    def _key(self, function: Callable[..., Any]) -> str:
        """Return the key of a task, which contains the token of the fit."""
        return f"{function.__name__.strip('_')}-treebound-{self._token}-{next(self._number)}"

    def _task(self, group: Sequence[int], use: Callable[..., Any], *args: Any) -> Any:
        """Return a task that reads some partitions."""
        return self._partitions.task(
            group, use, self._read, self._bins, self._token, *args,
            first=self._first, key=self._key(use),
        )  # fmt: skip

    def keep(self, results: Any) -> None:
        """Divide the rows with the next request; make bundles of other codes by tasks."""
        function, args = results
        if function is divide_rows:
            self._divisions.append(*args)
            return
        (self._bins,) = self._map(same, args)
        self._bundles = self._map(function, self._bundles, [self._bins] * len(self._bundles))
        self._located = False

    # -- requests ------------------------------------------------------------------------------

    def map(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return the request to the workers; :meth:`reduce` sends it."""
        return function, args

    def reduce(self, function: Callable[[Sequence[Any]], Any], results: Any) -> Any:
        """Send a request to one worker, which passes it on; combine the replies on the way back."""
        requested, args = results

        def send() -> Any:
            plan = RequestPlan.over(self._holders(), _FAN)
            request = self._request(requested, args, function)
            return self._client.sync(self._reply_to, request, plan)

        return self._tried(send)

    async def _reply_to(self, request: bytes, plan: RequestPlan) -> Any:
        """Return the reply of a worker; Dask alone would try to reach a lost one for 30 seconds."""
        call = self._client.run(reply_to_driver, request, plan, workers=[plan.address])
        reply, start = asyncio.ensure_future(call), time.monotonic()
        while not (await asyncio.wait([reply], timeout=_GLANCE))[0]:
            if any(bundle.status != "finished" for bundle in self._bundles):
                reply.cancel()
                raise ValuesLost
            if time.monotonic() - start > waiting.PATIENCE:
                await asyncio.to_thread(waiting.warn_about_workers, self._client)
                start = time.monotonic()
        return reply.result()[plan.address]

    def finish(self, subtrees: Sequence[Subtree]) -> list[TreeArrays]:
        """Grow the subtrees below small nodes; every worker gets the rows of some of them."""
        n_groups = min(len(subtrees), 2 * self.places)
        groups = [subtrees[k::n_groups] for k in range(n_groups)]

        def send() -> list[Any]:
            plans = [RequestPlan(*holder, []) for holder in self._holders()]
            slots = [[subtree.slot for subtree in group] for group in groups]
            requests = [self._request(gather_rows, (group,), join_pieces) for group in slots]
            tasks = self._map(finish, requests, [plans] * n_groups, groups)
            return gathered(self._client, tasks, lambda _: "Rows")

        grown = self._tried(send)
        return [grown[k % n_groups][k // n_groups] for k in range(len(subtrees))]

    def _request(self, function: Any, args: Any, combine: Any) -> bytes:
        divisions = self._divisions[self._n_divided :]
        request = Request(function, args, combine, self._n_divided, divisions)
        return pickle.dumps(request, protocol=5)

    def _holders(self) -> list[tuple[str, list[str]]]:
        """Return the address of every worker with the keys of its bundles."""
        keys: dict[str, list[str]] = {}
        for bundle, home in zip(self._bundles, self._homes, strict=True):
            keys.setdefault(home, []).append(bundle.key)
        return list(keys.items())

    def _tried(self, send: Callable[[], Any]) -> Any:
        """Send a request until there is a reply; locate the bundles again after a failure."""
        lost: tuple[str, ...] = ()
        for tries in range(_TRIES):
            time.sleep(0.1 * tries)
            try:
                self._locate(lost)
                reply = send()
                if isinstance(reply, ValuesLost):
                    raise reply
                self._n_divided = len(self._divisions)
                return reply
            except (ValuesLost, OSError) as error:  # or a worker left
                lost = error.args if isinstance(error, ValuesLost) else ()
                self._located = False
        raise PartitionError(
            "The values of some partitions are lost again and again. "
            "Hint: do not let workers share or empty their local directories."
        )

    def _locate(self, lost: Sequence[str]) -> None:
        """Look up the workers of the bundles; make those whose values are lost again."""
        if self._located:
            return
        for i, bundle in enumerate(self._bundles):
            failed = bundle.status == "error" and isinstance(bundle.exception(), ValuesLost)
            if failed or bundle.key in lost:
                self._renew(i)
        waited(self._client, self._bundles, self._name)
        holders = self._client.who_has(self._bundles)
        if not all(holders.get(bundle.key) for bundle in self._bundles):
            raise ValuesLost
        self._homes = [holders[bundle.key][0] for bundle in self._bundles]
        self._located, self._n_divided = True, 0

    def _renew(self, i: int) -> None:
        """Read and code the partitions of a bundle again."""
        of_bundle = self._facts.totals, self._starts[i], self.n_channels
        (self._bundles[i],) = self._compute([self._task(self._groups[i], _code_again, *of_bundle)])

    def _name(self, i: int) -> str:
        """Name the partitions of a bundle and their worker, for messages."""
        return f"The rows of {in_words(self._groups[i])} (worker {self._homes[i] or 'unknown'})"
