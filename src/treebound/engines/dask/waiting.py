"""Waiting for results, with warnings about a cluster that does not work."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any

from treebound._utils.extras import require

# Seconds without a result after which the state of the workers is checked.
PATIENCE = 60.0


class PartitionError(RuntimeError):
    """Rows could not be read or coded; the message names them."""


def waited(client: Any, futures: Sequence[Any], name: Callable[[int], str]) -> Sequence[Any]:
    """Wait until all futures are done; raise the first error, and name lost inputs.

    ``name`` describes the rows of a future, given its index.
    """
    wait = require("distributed", extra="dask", why="Growing on Dask").wait
    while True:
        try:
            with client.as_current():
                wait(list(futures), timeout=PATIENCE)
            # Its worker died after it was computed: Dask is computing it again.
            if not any(future.status == "lost" for future in futures):
                break
        except TimeoutError:
            warn_about_workers(client)
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
    """Return the results of tasks."""
    return list(client.gather(list(waited(client, futures, name))))


def warn_about_workers(client: Any) -> None:
    """Warn if no worker is available, or if workers do not respond.

    Not in the thread of the event loop, where Dask gives no information about workers.
    """
    info = client.scheduler_info(n_workers=-1)  # not only of the first five; older ones give all
    text = _worker_problem(info["workers"])
    if text is not None:
        warnings.warn(text, UserWarning, stacklevel=2)


def _worker_problem(workers: dict[str, Any]) -> str | None:
    """Describe why no worker is available, or which do not respond; None if all is well."""
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
    silent = [name for name, info in workers.items() if time.time() - info["last_seen"] > PATIENCE]
    if not silent:
        return None
    return (
        f"No word from {len(silent)} of {len(workers)} workers for {seconds}: "
        f"{', '.join(silent[:5])}. Their rows are read elsewhere once Dask gives them up "
        "(distributed.scheduler.worker-ttl). Hint: see what they wait for, or end them."
    )
