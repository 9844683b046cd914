"""What a worker has of a fit beside Dask's own data: files of values, and a way to hand on rows.

In a file of its own, as it needs ``distributed`` to be imported.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import shutil
from collections.abc import Sequence
from typing import Any

from distributed import WorkerPlugin, get_worker
from distributed.utils import sync

from treebound.data.spill import ValuesLost
from treebound.growing.shard import Piece

_MARK = "treebound-"


def folder_of(worker: Any, token: str) -> str:
    """Where a worker keeps the files of a fit."""
    return os.path.join(worker.local_directory, _MARK + token)


class FitFiles(WorkerPlugin):
    """Removes the files of a fit once its worker holds nothing of the fit any more.

    So they go with the results that Dask holds: after the fit, and if the client is killed too.
    """

    name = "treebound"
    idempotent = True

    def setup(self, worker: Any) -> None:
        self._worker = worker
        worker.handlers["treebound_pieces"] = self.pieces

    def transition(self, key: Any, start: str, finish: str, **others: Any) -> None:
        if finish not in ("released", "forgotten") or _MARK not in str(key):
            return
        token = str(key).partition(_MARK)[2].partition("-")[0]
        mark = f"{_MARK}{token}-"
        held = self._worker.state.tasks
        if not any(mark in str(k) and held[k].state not in ("released", "forgotten") for k in held):
            shutil.rmtree(folder_of(self._worker, token), ignore_errors=True)

    def pieces(self, key: str, places: Sequence[int]) -> bytes | None:
        """Some of the pieces that a result has; None if it is not here."""
        if key not in self._worker.data:
            return None
        found = self._worker.data[key]
        return pickle.dumps([found[place] for place in places], protocol=5)


def fetch_pieces(holders: Sequence[tuple[str, str]], places: Sequence[int]) -> list[list[Piece]]:
    """Some of the pieces that results on other workers have, each from where it is.

    A task for every pair of workers would do the same at a cost that grows with their square.
    """
    worker = get_worker()

    async def ask(key: str, address: str) -> Any:
        return await worker.rpc(address).treebound_pieces(key=key, places=list(places))

    async def ask_all() -> list[Any]:
        return await asyncio.gather(*(ask(key, address) for key, address in holders))

    try:
        found = sync(worker.loop, ask_all)
    except OSError as error:  # a worker is gone
        raise ValuesLost(str(error)) from None
    if any(one is None for one in found):
        raise ValuesLost("rows were moved to another worker")
    return [pickle.loads(one) for one in found]
