"""Number of threads."""

from __future__ import annotations

import os
import sys


def effective_jobs(n_jobs: int | None) -> int:
    """The number of threads for ``n_jobs``, as in joblib.

    If all processors are requested, by a negative number, the limits of ``OMP_NUM_THREADS`` and
    of threadpoolctl hold, which workers of joblib have too; a positive number is taken as it is.

    joblib is not imported for one thread: unless it is loaded, no ``parallel_config`` can change
    the meaning of None.
    """
    if n_jobs == 1 or (n_jobs is None and "joblib" not in sys.modules):
        return 1
    from joblib import effective_n_jobs

    threads = int(effective_n_jobs(n_jobs))
    return threads if n_jobs is None or n_jobs > 0 else min([threads, *_limits()])


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
