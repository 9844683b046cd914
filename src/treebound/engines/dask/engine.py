"""Shards on the workers of a Dask cluster.

Some partitions of one worker are a bundle. Bundles are futures; what a lost worker had is computed
again by Dask. Values are in files on the worker that coded the partitions; if a bundle was moved
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

from treebound.data.parts import PartRows
from treebound.data.spill import SpillFile, ValuesLost
from treebound.engines.dask import waiting
from treebound.engines.dask.partitions import Partitions, in_words, same
from treebound.engines.dask.waiting import PartitionError, gathered, waited
from treebound.engines.dask.worker import FitState, Plan, Request, ask, finish, folder_of
from treebound.growing._bins import Bins
from treebound.growing.engine import Engine
from treebound.growing.kernel_types import TreeArrays
from treebound.growing.questions import ShardSplit, Subtree
from treebound.growing.shard import (
    Bundle,
    Coded,
    Facts,
    check_classes,
    code_parts,
    divide_rows,
    gather_rows,
    join_pieces,
    make_bundle,
)

# Workers whose results one worker puts together.
_FAN = 8
# Rows of a bundle, about, at most.
_BUNDLE_ROWS = 1 << 23
# Seconds after which bundles are looked at while a request is not answered.
_GLANCE = 1.0
# How often lost values are looked for before the error is the user's.
_TRIES = 8


def _code(parts: Iterator[PartRows], bins: Bins, token: str) -> list[Coded]:
    file = SpillFile(folder_of(get_worker(), token))
    try:
        return code_parts(parts, bins, file)
    finally:
        file.close()


def _code_again(parts: Iterator[PartRows], bins: Bins, token: str, *bundle: Any) -> Bundle:
    """A bundle with its files, by one task: no other worker may be able to read them."""
    return make_bundle(_code(parts, bins, token), bins, *bundle)


def _facts(coded: list[Coded]) -> tuple[Facts, list[int]]:
    """What is known of coded rows, and the rows of each part."""
    return reduce(add, [some.facts for some in coded]), [n for some in coded for n in some.sizes]


class DaskEngine(Engine):
    """Bundles of shards as futures of a cluster.

    ``read`` makes ``PartRows`` of the rows, labels and weights of a partition, on a worker.
    ``first`` has the number of the first row of each partition, where rows are left out.
    """

    def __init__(
        self,
        partitions: Partitions,
        read: Callable[..., PartRows],
        bins: Bins,
        n_classes: int,
        *,
        n_rows: int = 0,
        first: Sequence[int] | None = None,
        gather_rows: int = Engine.gather_rows,
    ) -> None:
        check_classes(n_classes)
        super().__init__(bins, n_classes)
        self.gather_rows = gather_rows
        self._client, self._partitions = partitions.client, partitions
        self._first = first or [0] * len(partitions)
        self._token, self._number = uuid.uuid4().hex, count()
        self._futures: WeakSet[Any] = WeakSet()
        self._client.register_plugin(FitState())
        self._read, self._bins = self._map(same, [read, bins])
        # all divisions of the rows, and how many of them all bundles have behind them
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
        told = self._map(_facts, waited(self._client, coded, self._name))
        facts, sizes = zip(*gathered(self._client, told, self._name), strict=True)
        rows = np.zeros(len(numbers), dtype=np.int64)
        rows[[k for group in self._groups for k in group]] = [n for own in sizes for n in own]
        starts = np.cumsum(rows) - rows
        self._starts = [starts[group].tolist() for group in self._groups]
        total = reduce(add, facts)
        of_all = ([same] * len(coded) for same in (self._bins, total.total, self._n_classes))
        bins, totals, classes = of_all
        bundles = self._map(make_bundle, coded, bins, totals, self._starts, classes)
        self.start_bundles(total, bundles)

    def close(self) -> None:
        """Release everything on the workers; their files go with it."""
        for future in list(self._futures):  # an error that is kept may hold some of them
            future.release()
        self._bundles = []

    @property
    def places(self) -> int:
        """Small nodes are finished on all workers."""
        return max(1, len(self._client.nthreads()))

    # -- rows on workers -----------------------------------------------------------------------

    def _map(self, function: Callable[..., Any], *args: Sequence[Any]) -> list[Any]:
        """Tasks, sent at once: one for each of the arguments."""
        keys = [self._key(function) for _ in args[0]]
        futures: list[Any] = self._client.map(function, *args, key=keys)
        self._futures.update(futures)
        return futures

    def _compute(self, tasks: Sequence[Any]) -> list[Any]:
        futures: list[Any] = self._client.compute(tasks)
        self._futures.update(futures)
        return futures

    def _key(self, function: Callable[..., Any]) -> str:
        """The name of a task, from which workers know what fit it belongs to."""
        return f"{function.__name__.strip('_')}-treebound-{self._token}-{next(self._number)}"

    def _task(self, group: Sequence[int], use: Callable[..., Any], *args: Any) -> Any:
        """A task that reads some partitions."""
        return self._partitions.task(
            group, use, self._read, self._bins, self._token, *args,
            first=self._first, key=self._key(use),
        )  # fmt: skip

    def keep(self, results: Any) -> None:
        """Divide the rows with the next request; bundles of other codes are made by tasks."""
        function, args = results
        if function is divide_rows:
            self._divisions.append(*args)
            return
        (self._bins,) = self._map(same, args)
        self._bundles = self._map(function, self._bundles, [self._bins] * len(self._bundles))
        self._located = False

    # -- requests ------------------------------------------------------------------------------

    def map(self, function: Callable[..., Any], *args: Any) -> Any:
        """What workers are asked; :meth:`reduce` sends it."""
        return function, args

    def reduce(self, function: Callable[[Sequence[Any]], Any], results: Any) -> Any:
        """Ask one worker, which asks others; what they tell is put together on the way."""
        asked, args = results

        def send() -> Any:
            plan = Plan.over(self._holders(), _FAN)
            request = self._request(asked, args, function)
            return self._client.sync(self._answer, request, plan)

        return self._tried(send)

    async def _answer(self, request: bytes, plan: Plan) -> Any:
        """What a worker tells; Dask would try for half a minute to reach one that is gone."""
        call = self._client.run(ask, request, plan, workers=[plan.address])
        asked, start = asyncio.ensure_future(call), time.monotonic()
        while not (await asyncio.wait([asked], timeout=_GLANCE))[0]:
            if any(bundle.status != "finished" for bundle in self._bundles):
                asked.cancel()
                raise ValuesLost
            if time.monotonic() - start > waiting.PATIENCE:
                await waiting.tell_of_workers(self._client)
                start = time.monotonic()
        return asked.result()[plan.address]

    def finish(self, subtrees: Sequence[Subtree]) -> list[TreeArrays]:
        """What is below small nodes: every worker gets the rows of some of them, and no others."""
        n_groups = min(len(subtrees), 2 * self.places)
        groups = [subtrees[k::n_groups] for k in range(n_groups)]

        def send() -> list[Any]:
            plans = [Plan(*held, []) for held in self._holders()]
            slots = [[subtree.slot for subtree in group] for group in groups]
            requests = [self._request(gather_rows, (own,), join_pieces) for own in slots]
            tasks = self._map(finish, requests, [plans] * n_groups, groups)
            return gathered(self._client, tasks, lambda _: "Rows")

        grown = self._tried(send)
        return [grown[k % n_groups][k // n_groups] for k in range(len(subtrees))]

    def _request(self, function: Any, args: Any, put_together: Any) -> bytes:
        divisions = self._divisions[self._n_divided :]
        request = Request(function, args, put_together, self._n_divided, divisions)
        return pickle.dumps(request, protocol=5)

    def _holders(self) -> list[tuple[str, list[str]]]:
        """Every worker with the keys of its bundles."""
        held: dict[str, list[str]] = {}
        for bundle, home in zip(self._bundles, self._homes, strict=True):
            held.setdefault(home, []).append(bundle.key)
        return list(held.items())

    def _tried(self, send: Callable[[], Any]) -> Any:
        """Send a request until it is answered; bundles are looked for where that fails."""
        lost: tuple[str, ...] = ()
        for tries in range(_TRIES):
            time.sleep(0.1 * tries)
            try:
                self._locate(lost)
                answer = send()
                if isinstance(answer, ValuesLost):
                    raise answer
                self._n_divided = len(self._divisions)
                return answer
            except (ValuesLost, OSError) as error:  # or a worker left
                lost = error.args if isinstance(error, ValuesLost) else ()
                self._located = False
        raise PartitionError(
            "The values of some partitions are lost again and again. "
            "Hint: do not let workers share or empty their local directories."
        )

    def _locate(self, lost: Sequence[str]) -> None:
        """See where the bundles are; those whose values are lost are made again."""
        if self._located:
            return
        for i, bundle in enumerate(self._bundles):
            failed = bundle.status == "error" and isinstance(bundle.exception(), ValuesLost)
            if failed or bundle.key in lost:
                self._renew(i)
        waited(self._client, self._bundles, self._name)
        held = self._client.who_has(self._bundles)
        if not all(held.get(bundle.key) for bundle in self._bundles):
            raise ValuesLost
        self._homes = [held[bundle.key][0] for bundle in self._bundles]
        self._located, self._n_divided = True, 0

    def _renew(self, i: int) -> None:
        """Read and code the partitions of a bundle again."""
        of_bundle = self._facts.total, self._starts[i], self._n_classes
        (self._bundles[i],) = self._compute([self._task(self._groups[i], _code_again, *of_bundle)])

    def _name(self, i: int) -> str:
        """Which rows a bundle has, and where they were."""
        return f"The rows of {in_words(self._groups[i])} (worker {self._homes[i] or 'unknown'})"
