"""Number of threads."""

from __future__ import annotations

import sys


def effective_jobs(n_jobs: int | None) -> int:
    """The number of threads for ``n_jobs``, as in joblib.

    joblib is not imported for one thread: unless it is loaded, no ``parallel_config`` can change
    the meaning of None.
    """
    if n_jobs == 1 or (n_jobs is None and "joblib" not in sys.modules):
        return 1
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))
