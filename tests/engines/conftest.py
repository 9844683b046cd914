"""A cluster for the tests of this room."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def client():
    """A cluster in this process: real scheduler, real worker, no time lost to starting."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
