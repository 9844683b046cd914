"""What a worker does in a fit beside Dask's tasks: it answers requests about the bundles it has.

A request is one message: it goes from the driver to a worker and from there to others, and what
they tell is put together on the way back. A task for each of them would cost the driver, which has
the scheduler beside it, several times as much.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from distributed import WorkerPlugin, get_worker
from distributed.utils import sync

from treebound.data.spill import ValuesLost
from treebound.growing.kernel_types import TreeArrays
from treebound.growing.questions import ShardSplit, Subtree
from treebound.growing.shard import Bundle, Rows, divide_rows, grow_subtree

_MARK = "treebound-"
# Seconds without an answer after which a worker is looked for.
_GLANCE = 5.0


def folder_of(worker: Any, token: str) -> str:
    """Where a worker keeps the files of a fit."""
    return os.path.join(worker.local_directory, _MARK + token)


class Request(NamedTuple):
    """A function of bundles, and how results are put together; divisions that come before."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    put_together: Callable[[Sequence[Any]], Any]
    n_before: int  # divisions that all bundles have behind them
    divisions: Sequence[Sequence[ShardSplit]]


class Plan(NamedTuple):
    """Who is asked: a worker about bundles that it has, and others by it."""

    address: str
    keys: Sequence[str]
    below: Sequence[Plan]

    @classmethod
    def over(cls, held: Sequence[tuple[str, Sequence[str]]], fan: int, at: int = 0) -> Plan:
        """Every worker is asked by one of the others, which asks few."""
        places = range(fan * at + 1, min(fan * at + fan + 1, len(held)))
        return cls(*held[at], [cls.over(held, fan, place) for place in places])


class FitState(WorkerPlugin):
    """The rows of nodes, and the files of fits.

    They go with the results that Dask holds: after the fit, and if the client is killed too.
    """

    name = "treebound"
    idempotent = True

    def setup(self, worker: Any) -> None:
        self._worker = worker
        self._pool = ThreadPoolExecutor(worker.state.nthreads)  # tasks may wait for requests
        self._held: dict[str, set[str]] = {}  # keys, by the fit
        self._rows: dict[str, tuple[int, list[Rows]]] = {}  # by the key; after so many divisions
        worker.handlers["treebound_answer"] = self.handle

    def teardown(self, worker: Any) -> None:
        self._pool.shutdown(wait=False)

    def transition(self, key: Any, start: str, finish: str, **others: Any) -> None:
        if _MARK not in str(key):
            return
        token = str(key).partition(_MARK)[2].partition("-")[0]
        held = self._held.setdefault(token, set())
        if finish not in ("released", "forgotten"):
            held.add(key)
            return
        held.discard(key)
        self._rows.pop(key, None)
        if not held:
            del self._held[token]
            shutil.rmtree(folder_of(self._worker, token), ignore_errors=True)

    async def handle(self, request: bytes, plan: bytes) -> bytes:
        """Answer another worker."""
        return pickle.dumps(await self.answer(request, pickle.loads(plan)), protocol=5)

    async def answer(self, request: bytes, plan: Plan) -> Any:
        """What the bundles of a plan tell; ValuesLost names those whose values are gone."""
        asked: Request = pickle.loads(request)
        answers = await asyncio.gather(
            *(self._tell(key, asked) for key in plan.keys),
            *(self._pass_on(request, below) for below in plan.below),
            return_exceptions=True,
        )
        errors = [answer for answer in answers if isinstance(answer, BaseException)]
        for error in errors:
            if not isinstance(error, ValuesLost):
                raise error
        if errors:
            raise ValuesLost(*(key for error in errors for key in error.args))
        return answers[0] if len(answers) == 1 else await self._run(asked.put_together, answers)

    async def _run(self, function: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *args)

    async def _pass_on(self, request: bytes, plan: Plan) -> Any:
        if plan.address == self._worker.address:
            return await self.answer(request, plan)
        other = self._worker.rpc(plan.address)
        call = other.treebound_answer(request=request, plan=pickle.dumps(plan))
        asked = asyncio.ensure_future(call)
        while not (await asyncio.wait([asked], timeout=_GLANCE))[0]:
            if not await self._worker.scheduler.ncores(workers=[plan.address]):
                asked.cancel()  # it was given up by Dask
                raise ValuesLost
        try:
            return pickle.loads(asked.result())
        except OSError:  # it is gone
            raise ValuesLost from None

    async def _tell(self, key: str, request: Request) -> Any:
        if key not in self._worker.data:
            raise ValuesLost
        bundle: Bundle = self._worker.data[key]
        try:
            return await self._run(self._call, key, bundle, request)
        except ValuesLost:
            raise ValuesLost(key) from None

    def _call(self, key: str, bundle: Bundle, request: Request) -> Any:
        """Call the function, after divisions that this bundle has not behind it.

        A request that arrives late, after a later one, is an error: the rows that it is about are
        divided already.
        """
        done, rows = self._rows.get(key, (0, bundle.rows))
        expected = request.n_before + len(request.divisions)
        if done < request.n_before:
            raise ValuesLost
        if done > expected:
            raise RuntimeError(
                f"A request came late: it expects {expected} divisions of the rows, and {done} "
                "are done."
            )
        for splits in request.divisions[done - request.n_before :]:
            rows = divide_rows(bundle._replace(rows=rows), splits).rows
        if self._rows.get(key, (0, rows))[0] <= expected:  # a later request may have overtaken it
            self._rows[key] = (expected, rows)
        return request.function(bundle._replace(rows=rows), *request.args)


async def ask(request: bytes, plan: Plan, dask_worker: Any = None) -> Any:
    """Answer the driver; lost values are no error of the worker, which would write of it."""
    try:
        return await dask_worker.plugins[FitState.name].answer(request, plan)
    except ValuesLost as lost:
        return lost


def finish(
    request: bytes, holders: Sequence[Plan], subtrees: Sequence[Subtree]
) -> list[TreeArrays]:
    """The trees below some nodes, from the rows of them that all workers have."""
    worker = get_worker()
    state: Any = worker.plugins[FitState.name]
    pieces = sync(worker.loop, state.answer, request, Plan("", [], holders))
    return [
        grow_subtree([piece], subtree.kernel)
        for piece, subtree in zip(pieces, subtrees, strict=True)
    ]
