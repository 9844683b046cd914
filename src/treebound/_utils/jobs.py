"""Number of threads."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils._pool import blocks, each


def effective_jobs(n_jobs: int | None) -> int:
    """The number of threads for ``n_jobs``, as in joblib.

    If all processors are requested, by a negative number, the limits of ``OMP_NUM_THREADS`` and
    of threadpoolctl hold, which workers of joblib have too; a positive number is taken as it is.

    joblib is not imported for this: unless it is loaded, no ``parallel_config`` can change the
    meaning of None, and no worker of it is running.
    """
    if n_jobs == 1 or (n_jobs is None and "joblib" not in sys.modules):
        return 1
    if n_jobs is not None and "joblib" not in sys.modules:
        threads = n_jobs if n_jobs > 0 else max(1, available_cores() + 1 + n_jobs)
    else:
        from joblib import effective_n_jobs

        threads = int(effective_n_jobs(n_jobs))
    return threads if n_jobs is None or n_jobs > 0 else min([threads, *_limits()])


def available_cores() -> int:
    """Return the number of cores that this process may use: its affinity and its CPU quota."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        cores = os.cpu_count() or 1
    with suppress(OSError, ValueError):
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        cores = min(cores, -(-int(quota) // int(period)))
    return max(1, cores)


def _limits() -> list[int]:
    """Limits on threads that other libraries obey."""
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    limits = [int(first)] if first.isdecimal() and int(first) else []
    if "threadpoolctl" in sys.modules:
        from threadpoolctl import threadpool_info

        limits += [
            pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"
        ]
    return limits


def take(values: NDArray[Any], places: NDArray[np.integer[Any]]) -> NDArray[Any]:
    """Return ``values[places]``, copied by the threads of the context."""
    if values.dtype == object or len(ends := blocks(len(places), values[:1].size)) < 2:
        return values.take(places, axis=0)
    taken = np.empty((len(places), *values.shape[1:]), dtype=values.dtype)

    def copy(end: tuple[int, int]) -> None:
        block = slice(*end)
        # clipping changes no place, but numpy then writes without a buffer
        np.take(values, places[block], axis=0, out=taken[block], mode="clip")

    each(copy, ends)
    return taken
