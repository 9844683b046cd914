"""Waiting for results: what is wrong with a cluster is said, not waited for in silence."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any

from treebound._utils.extras import require

# Seconds without a result after which the workers are looked at.
PATIENCE = 60.0


class PartitionError(RuntimeError):
    """Rows could not be read or coded; the message says which."""


def waited(client: Any, futures: Sequence[Any], name: Callable[[int], str]) -> Sequence[Any]:
    """Wait until all are there; the first error is raised, and lost inputs are named.

    ``name`` says which rows a future is of.
    """
    wait = require("distributed", extra="dask", why="Growing on Dask").wait
    while True:
        try:
            with client.as_current():
                wait(list(futures), timeout=PATIENCE)
            # Lost after it was there, as its worker died: Dask is computing it again.
            if not any(future.status == "lost" for future in futures):
                break
        except TimeoutError:
            client.sync(tell_of_workers, client)
        except CancelledError:
            break
    for i, future in enumerate(futures):
        if future.status == "cancelled":
            raise PartitionError(
                f"{name(i)} were lost with their worker, and Dask cannot compute them again. Hint: "
                "fit on a collection that is read from files or kept with persist(), not on data "
                "that were scattered; or copy them to several workers with client.replicate()."
            )
        if future.status == "error":
            future.result()
    return futures


def gathered(client: Any, futures: Sequence[Any], name: Callable[[int], str]) -> list[Any]:
    """The results of tasks, here."""
    return list(client.gather(list(waited(client, futures, name))))


async def tell_of_workers(client: Any) -> None:
    """Warn if nobody can work, or if workers do not answer."""
    info = await client.scheduler.identity(n_workers=-1)
    text = _what_is_wrong(info["workers"])
    if text is not None:
        warnings.warn(text, UserWarning, stacklevel=2)


def _what_is_wrong(workers: dict[str, Any]) -> str | None:
    """Why nobody works, or who does not answer, if it is so."""
    seconds = f"{PATIENCE:.0f} s"
    if not workers:
        return (
            f"The cluster has had no worker for {seconds}; waiting for one. Hint: start workers, "
            "or interrupt."
        )
    if all(worker.get("status") == "paused" for worker in workers.values()):
        return (
            f"All {len(workers)} workers are paused, since their memory is full; nothing happened "
            f"for {seconds}. Hint: give them more memory, or start more of them."
        )
    silent = [name for name, own in workers.items() if time.time() - own["last_seen"] > PATIENCE]
    if not silent:
        return None
    return (
        f"No word from {len(silent)} of {len(workers)} workers for {seconds}: "
        f"{', '.join(silent[:5])}. Their rows are read elsewhere once Dask gives them up "
        "(distributed.scheduler.worker-ttl). Hint: see what they wait for, or end them."
    )
