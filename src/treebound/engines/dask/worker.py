"""Requests to workers about the bundles they hold, in addition to Dask's tasks.

A request is one message: it goes from the driver to a worker and from there to other workers, and
their replies are combined on the way back. One task per worker would cost the driver and the
scheduler several times as much.

Of a worker of ``distributed`` the documented attributes are used: ``address``, ``data``,
``handlers``, ``local_directory``, ``state`` and ``scheduler``. Two more are public but not
described: ``plugins``, as there is no other way from a task to its plugin, and ``rpc``, the pool of
connections with the security settings of the worker, which ``distributed.rpc`` does not have.
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

from treebound.data.spill import ValuesLost
from treebound.growing.kernel_types import TreeArrays
from treebound.growing.messages import ShardSplit, Subtree
from treebound.growing.shard import Bundle, SlotRows, divide_rows, grow_subtrees

_MARK = "treebound-"
# Seconds without a reply after which a worker is looked for.
_GLANCE = 5.0


def folder_of(worker: Any, token: str) -> str:
    """Return the folder in which a worker stores the files of a fit."""
    return os.path.join(worker.local_directory, _MARK + token)


class Request(NamedTuple):
    """A function of bundles, a function that combines results, and divisions to make before."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    combine: Callable[[Sequence[Any]], Any]
    n_before: int  # divisions that all bundles have made already
    divisions: Sequence[Sequence[ShardSplit]]


class RequestPlan(NamedTuple):
    """The worker that gets a request, the keys of its bundles, and the workers it passes it to."""

    address: str
    keys: Sequence[str]
    below: Sequence[RequestPlan]

    @classmethod
    def over(
        cls, holders: Sequence[tuple[str, Sequence[str]]], fan: int, at: int = 0
    ) -> RequestPlan:
        """Make a tree of workers, each of which passes a request to at most ``fan`` others."""
        places = range(fan * at + 1, min(fan * at + fan + 1, len(holders)))
        return cls(*holders[at], [cls.over(holders, fan, place) for place in places])


class FitState(WorkerPlugin):
    """The rows of nodes, and the files of fits, on a worker.

    They are removed with the results that Dask stores: after the fit, or if the client is killed.
    """

    name = "treebound"
    idempotent = True

    def setup(self, worker: Any) -> None:
        self._worker, self._loop = worker, asyncio.get_running_loop()
        self._pool = ThreadPoolExecutor(worker.state.nthreads)  # tasks may wait for requests
        self._keys: dict[str, set[str]] = {}  # of each fit, by its token
        self._rows: dict[
            str, tuple[int, list[SlotRows]]
        ] = {}  # by key: the number of divisions made, and the rows after them
        worker.handlers["treebound_request"] = self.handle

    def teardown(self, worker: Any) -> None:
        self._pool.shutdown(wait=False)

    def transition(self, key: Any, start: str, finish: str, **more: Any) -> None:
        if _MARK not in str(key):
            return
        token = str(key).partition(_MARK)[2].partition("-")[0]
        keys = self._keys.setdefault(token, set())
        if finish not in ("released", "forgotten"):
            keys.add(key)
            return
        keys.discard(key)
        self._rows.pop(key, None)
        if not keys:
            del self._keys[token]
            shutil.rmtree(folder_of(self._worker, token), ignore_errors=True)

    async def handle(self, request: bytes, plan: bytes) -> bytes:
        """Reply to another worker."""
        return pickle.dumps(await self.reply(request, pickle.loads(plan)), protocol=5)

    async def reply(self, request: bytes, plan: RequestPlan) -> Any:
        """Combine the replies of the bundles of a plan; ValuesLost names those without values."""
        message: Request = pickle.loads(request)
        replies = await asyncio.gather(
            *(self._reply_of(key, message) for key in plan.keys),
            *(self._pass_on(request, below) for below in plan.below),
            return_exceptions=True,
        )
        errors = [reply for reply in replies if isinstance(reply, BaseException)]
        for error in errors:
            if not isinstance(error, ValuesLost):
                raise error
        if errors:
            raise ValuesLost(*(key for error in errors for key in error.args))
        return replies[0] if len(replies) == 1 else await self._run(message.combine, replies)

    def reply_to_task(self, request: bytes, plan: RequestPlan) -> Any:
        """Return the reply to a task, which runs in another thread than the messages."""
        return asyncio.run_coroutine_threadsafe(self.reply(request, plan), self._loop).result()

    async def _run(self, function: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *args)

    async def _pass_on(self, request: bytes, plan: RequestPlan) -> Any:
        if plan.address == self._worker.address:
            return await self.reply(request, plan)
        other = self._worker.rpc(plan.address)
        call = other.treebound_request(request=request, plan=pickle.dumps(plan))
        reply = asyncio.ensure_future(call)
        while not (await asyncio.wait([reply], timeout=_GLANCE))[0]:
            # the operation of the scheduler that Client.nthreads calls, too
            if not await self._worker.scheduler.ncores(workers=[plan.address]):
                reply.cancel()  # Dask has given it up
                raise ValuesLost
        try:
            return pickle.loads(reply.result())
        except OSError:  # the worker is gone
            raise ValuesLost from None

    async def _reply_of(self, key: str, request: Request) -> Any:
        if key not in self._worker.data:
            raise ValuesLost
        bundle: Bundle = self._worker.data[key]
        try:
            return await self._run(self._call, key, bundle, request)
        except ValuesLost:
            raise ValuesLost(key) from None

    def _call(self, key: str, bundle: Bundle, request: Request) -> Any:
        """Call the function, after the divisions that this bundle has not made yet.

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


async def reply_to_driver(request: bytes, plan: RequestPlan, dask_worker: Any = None) -> Any:
    """Reply to the driver; return lost values, so that the worker does not log an error."""
    try:
        return await dask_worker.plugins[FitState.name].reply(request, plan)
    except ValuesLost as lost:
        return lost


def finish(
    request: bytes, holders: Sequence[RequestPlan], subtrees: Sequence[Subtree]
) -> list[TreeArrays]:
    """Grow the trees below some nodes, on their rows from all workers, with all threads of this."""
    worker = get_worker()
    state: Any = worker.plugins[FitState.name]
    pieces = state.reply_to_task(request, RequestPlan("", [], holders))
    return grow_subtrees(subtrees, ([piece] for piece in pieces), worker.state.nthreads)
