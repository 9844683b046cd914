"""Shards on the workers of a Dask cluster.

Some partitions of one worker are a bundle. Bundles are futures; what a lost worker had is computed
again by Dask. Values are in files on the worker that coded the partitions; if a bundle was moved
away from its files, its partitions are read and coded again.
"""

from __future__ import annotations

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

from treebound.dask.partitions import Partitions, in_words
from treebound.dask.tasks import PartitionError
from treebound.dask.waiting import gathered, waited
from treebound.dask.worker import FitState, Plan, Request, ask, finish, folder_of
from treebound.data.parts import PartRows
from treebound.data.spill import SpillFile, ValuesLost
from treebound.data.weights import WeightTotal
from treebound.growing._kernels import Bins
from treebound.growing.engine import ShardEngine
from treebound.growing.questions import ShardSplit, Subtree
from treebound.growing.shard import (
    Coded,
    Facts,
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
# How often lost values are looked for before the error is the user's.
_TRIES = 8


def _code(parts: Iterator[PartRows], bins: Bins, token: str) -> list[Coded]:
    file = SpillFile(folder_of(get_worker(), token))
    try:
        return code_parts(parts, bins, file)
    finally:
        file.close()


def _same(value: Any) -> Any:
    return value


def _facts(coded: list[Coded]) -> tuple[Facts, list[int]]:
    """What is known of coded rows, and the rows of each part."""
    return reduce(add, [some.facts for some in coded]), [n for some in coded for n in some.sizes]


class DaskEngine(ShardEngine):
    """Bundles of shards as futures of a cluster.

    ``read`` makes ``PartRows`` of the rows, labels and weights of a partition, on a worker.
    ``first`` has the number of the first row of each partition, where rows are left out.
    """

    def __init__(
        self,
        client: Any,
        partitions: Partitions,
        read: Callable[..., PartRows],
        bins: Bins,
        n_classes: int,
        *,
        n_rows: int = 0,
        first: Sequence[int] | None = None,
        gather_rows: int = ShardEngine.gather_rows,
    ) -> None:
        super().__init__(bins, n_classes)
        self.gather_rows = gather_rows
        self._client, self._partitions = client, partitions
        self._first = first or [0] * len(partitions)
        self._token, self._number = uuid.uuid4().hex, count()
        self._futures: WeakSet[Any] = WeakSet()
        client.register_plugin(FitState())
        self._read, self._bins = self._submit(_same, read), self._submit(_same, bins)
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
        self._groups = self._partitions.groups(self._client, numbers, n_rows // _BUNDLE_ROWS)
        coded = self._coded(self._groups)
        waited(self._client, coded, lambda i: f"The rows of {in_words(self._groups[i])}")
        held = self._client.who_has(coded)
        self._homes = [next(iter(held.get(future.key) or [""])) for future in coded]
        told = [self._submit(_facts, future) for future in coded]
        facts, sizes = zip(*gathered(self._client, told, self._name), strict=True)
        self._sizes = np.zeros(len(numbers), dtype=np.int64)
        for group, own in zip(self._groups, sizes, strict=True):
            self._sizes[group] = own
        firsts = np.cumsum(self._sizes) - self._sizes
        self._starts = [firsts[group].tolist() for group in self._groups]
        self.start(coded, facts, [[i] for i in range(len(coded))], list(enumerate(self._starts)))

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

    def _submit(self, function: Callable[..., Any], *args: Any, home: str = "") -> Any:
        """A task, on a worker if it lives."""
        future = self._client.submit(function, *args, key=self._key(function), **_on(home))
        self._futures.add(future)
        return future

    def _key(self, function: Callable[..., Any]) -> str:
        """The name of a task, from which workers know what fit it belongs to."""
        return f"{function.__name__.strip('_')}-treebound-{self._token}-{next(self._number)}"

    def _coded(self, groups: Sequence[Sequence[int]], home: str = "") -> list[Any]:
        """Futures of coded partitions, on a worker if it lives."""
        tasks = [
            self._partitions.task(
                group, _code, self._read, self._bins, self._token,
                first=self._first, key=self._key(_code),
            )
            for group in groups
        ]  # fmt: skip
        futures = list(self._client.compute(tasks, **_on(home)))
        self._futures.update(futures)
        return futures

    def bundle(self, coded: Sequence[Any], total: WeightTotal, starts: Sequence[Any]) -> Any:
        """A task that makes a bundle of coded rows, where they are."""
        ((i, first),) = starts
        return self._submit(
            make_bundle, *coded, self._bins, total, first, self._n_classes, home=self._homes[i]
        )

    def keep(self, results: Any) -> None:
        """Divide the rows with the next request; bundles of other codes are made by tasks."""
        function, args = results
        if function is divide_rows:
            self._divisions.append(*args)
            return
        self._bins = self._submit(_same, *args)
        self._bundles = [
            self._submit(function, bundle, self._bins, home=home)
            for bundle, home in zip(self._bundles, self._homes, strict=True)
        ]
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
            return self._client.run(ask, request, plan, workers=[plan.address])[plan.address]

        return self._tried(send)

    def finish(self, subtrees: Sequence[Subtree]) -> list[dict[str, Any]]:
        """What is below small nodes: every worker gets the rows of some of them, and no others."""
        n_groups = min(len(subtrees), 2 * self.places)
        groups = [subtrees[k::n_groups] for k in range(n_groups)]

        def send() -> list[Any]:
            plans = [Plan(*held, []) for held in self._holders()]
            tasks = []
            for group in groups:
                slots = [subtree.slot for subtree in group]
                request = self._request(gather_rows, (slots,), join_pieces)
                tasks.append(self._submit(finish, request, plans, group))
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
        """Read and code the partitions of a bundle again.

        On one worker, as no other may be able to read the files.
        """
        homes = sorted(self._client.nthreads())
        self._homes[i] = homes[i % len(homes)] if homes else ""
        coded = self._coded([self._groups[i]], self._homes[i])
        self._bundles[i] = self.bundle(coded, self._facts.total, [(i, self._starts[i])])

    def _name(self, i: int) -> str:
        """Which rows a bundle has, and where they were."""
        group = self._groups[i]
        where = f"{in_words(group)}; worker {self._homes[i] or 'unknown'}"
        return f"{self._sizes[group].sum():,} rows ({where})"


def _on(home: str) -> dict[str, Any]:
    """Where a task is to run, if that worker lives."""
    return {"workers": [home], "allow_other_workers": True} if home else {}
