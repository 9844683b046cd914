"""How many threads a number of jobs means."""

from __future__ import annotations

import sys

__all__ = ["effective_jobs"]


def effective_jobs(n_jobs: int | None) -> int:
    """The threads that ``n_jobs`` asks for, as joblib counts them.

    joblib is not loaded for one thread: where nobody has loaded it, no ``parallel_config`` can say
    what None means.
    """
    if n_jobs == 1 or (n_jobs is None and "joblib" not in sys.modules):
        return 1
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))
