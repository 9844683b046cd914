"""A cluster that loses workers and files, or stops: the same tree, or an error with the reason."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from random_samples import ARRAYS

from treebound import BoundTreeClassifier
from treebound.data import Sample
from treebound.data.parts import PartRows
from treebound.growing import GrowOptions, Limits, grow, grow_on_engine, make_bins

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

OPTIONS = GrowOptions(max_leaves=25)
# every round looks into bins, parts rows and gathers some
LIMITS = Limits(gather_rows=300, max_values=500, few_values=20)


@pytest.fixture(scope="module")
def cluster():
    """Workers in processes of their own, which can be killed."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield cluster, client


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.4 * rng.normal(size=6000) > 0).astype(int)
    return Sample.learn(X, y)


@pytest.fixture(scope="module")
def expected(sample):
    return grow(sample, OPTIONS)


def the_part(sample, part, weight, first=0):
    return PartRows(sample.part(part))


def engine_of(client, sample, read=the_part, n_parts=6):
    from treebound.engines.dask.engine import DaskEngine
    from treebound.engines.dask.partitions import Partitions

    parts = np.array_split(np.arange(sample.n_rows), n_parts)
    raw = [(dask.delayed(sample), dask.delayed(part)) for part in parts]
    bins = make_bins(sample.columns, sample.X.part(np.arange(0, 6000, 7)).values, 32)
    return DaskEngine(Partitions(client, raw), read, bins, sample.n_classes)


def grown(engine, sample, progress=None):
    try:
        return grow_on_engine(
            engine, sample.columns, sample.classes, OPTIONS, limits=LIMITS,
            progress=progress,
        )  # fmt: skip
    finally:
        engine.close()


def assert_same(tree, expected):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name))


def kill(client, which=0):
    pids = sorted(client.run(os.getpid).values())
    os.kill(pids[which], signal.SIGKILL)


@pytest.mark.parametrize(
    "when", [6, *(pytest.param(n, marks=pytest.mark.heavy) for n in (1, 3, 9))]
)
def test_a_worker_that_is_killed_does_not_change_the_tree(cluster, sample, expected, when):
    _, client = cluster
    client.wait_for_workers(2, timeout=60)

    def progress(state):
        if state.passes == when:
            kill(client)

    assert_same(grown(engine_of(client, sample), sample, progress), expected)


def killed_once(sample, part, weight, first, flag):
    if part[0] == 0 and not os.path.exists(flag):
        with open(flag, "w"):
            pass
        os.kill(os.getpid(), signal.SIGKILL)
    return PartRows(sample.part(part))


@pytest.mark.heavy
def test_a_worker_that_is_killed_while_it_reads(cluster, sample, expected, tmp_path):
    from functools import partial

    _, client = cluster
    client.wait_for_workers(2, timeout=60)
    read = partial(killed_once, flag=str(tmp_path / "killed"))
    engine = engine_of(client, sample, read)
    assert (tmp_path / "killed").exists()
    assert_same(grown(engine, sample), expected)


def lose_files(dask_worker=None):
    for name in os.listdir(dask_worker.local_directory):
        if name.startswith("treebound-"):
            shutil.rmtree(os.path.join(dask_worker.local_directory, name))


def files_left(dask_worker=None):
    return [n for n in os.listdir(dask_worker.local_directory) if n.startswith("treebound-")]


def assert_no_files(client):
    for _ in range(100):
        if not any(client.run(files_left).values()):
            return
        time.sleep(0.1)
    pytest.fail("files of a fit are left")


def test_values_that_are_lost_are_read_again(client, sample, expected):
    def progress(state):
        if state.passes in (1, 4, 7):
            client.run(lose_files)

    assert_same(grown(engine_of(client, sample), sample, progress), expected)
    assert_no_files(client)


@pytest.mark.heavy
def test_a_worker_that_comes_late_helps(cluster, sample, expected):
    local, client = cluster

    def progress(state):
        if state.passes == 2:
            local.scale(3)
            client.wait_for_workers(3, timeout=60)

    try:
        assert_same(grown(engine_of(client, sample), sample, progress), expected)
    finally:
        local.scale(2)


def broken(sample, part, weight, first):
    if part[0] == 3000:
        raise OSError("no such block")
    return PartRows(sample.part(part))


def test_an_error_names_its_partition(client, sample):
    with pytest.raises(RuntimeError, match="Partition 3 failed with OSError: no such block"):
        engine_of(client, sample, broken)


def test_an_interrupt_leaves_nothing_behind(client, sample, expected):
    def progress(state):
        if state.passes == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grown(engine_of(client, sample), sample, progress)
    assert_no_files(client)
    assert_same(grown(engine_of(client, sample), sample), expected)


@pytest.mark.parametrize(("n_partitions", "wrong"), [(4, 2), (20, 12)])
def test_a_wrong_partition_of_a_frame_is_named(client, n_partitions, wrong):
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"x": np.arange(40.0), "y": np.arange(40) % 2})
    frame.loc[25, "x"] = np.inf
    lazy = dd.from_pandas(frame, npartitions=n_partitions)
    with pytest.raises(ValueError, match=f"^Partition {wrong}: Input X contains infinity"):
        BoundTreeClassifier().fit(lazy[["x"]], lazy["y"])


def fails_in_the_middle(part):
    if len(part) and part.index[0] == 20:
        raise ZeroDivisionError("nothing to divide by")
    return part


@pytest.mark.parametrize("on_cluster", [False, True])
def test_a_partition_that_cannot_be_computed_is_named(client, monkeypatch, on_cluster):
    dd = pytest.importorskip("dask.dataframe")
    if not on_cluster:
        monkeypatch.setattr("treebound.engines.dask.table.current_client", lambda: None)
    frame = pd.DataFrame({"x": np.arange(40.0), "y": np.arange(40) % 2})
    lazy = dd.from_pandas(frame, npartitions=4)
    broken = lazy.map_partitions(fails_in_the_middle, meta=frame.head(0))
    with pytest.raises(RuntimeError, match=r"^Partition 2 failed with ZeroDivisionError: nothing"):
        BoundTreeClassifier().fit(broken, "y")


def spilled(dask_worker=None):
    return dask_worker.data.spilled_total.disk


def test_workers_that_spill_all_they_hold_give_the_same_tree(sample, expected):
    # So low a target moves every result to disk; it is read back when it is needed.
    with dask.config.set({"distributed.worker.memory.target": 1e-6}):
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0",
            memory_limit="4GB",
        )  # fmt: skip
    most = []
    with cluster, distributed.Client(cluster) as client:
        tree = grown(
            engine_of(client, sample), sample, lambda _: most.append(client.run(spilled).values())
        )
    assert_same(tree, expected)
    assert all(any(counts[k] > 0 for counts in map(list, most)) for k in range(2))


def test_values_read_again_are_on_one_worker_for_each_bundle(sample, expected):
    # Workers on other machines cannot read each other's files.
    folders_of_bundles = []
    with (
        dask.config.set({"distributed.scheduler.work-stealing": False}),
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        engine = engine_of(client, sample, n_parts=12)

        def progress(state):
            if state.passes == 3:
                client.run(lose_files)
            elif state.passes > 6:
                bundles = client.gather(engine._bundles)
                folders_of_bundles.append(
                    [{os.path.dirname(s.values.path) for s in b[0]} for b in bundles]
                )

        assert_same(grown(engine, sample, progress), expected)
    assert {len(folders) for folders in folders_of_bundles[-1]} == {1}


def test_a_client_that_is_not_the_default(sample, expected):
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        client = distributed.Client(cluster, set_as_default=False)
        try:
            assert_same(grown(engine_of(client, sample), sample), expected)
        finally:
            client.close()


def test_a_cluster_without_workers_gives_a_warning(monkeypatch, sample, expected):
    from treebound.engines.dask import waiting

    monkeypatch.setattr(waiting, "PATIENCE", 0.5)
    with (
        distributed.LocalCluster(
            n_workers=0, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        timer = threading.Timer(2.0, cluster.scale, [1])
        timer.start()
        with pytest.warns(UserWarning, match=r"no worker for .* s; waiting for one"):
            engine = engine_of(client, sample)
        timer.join()
        assert_same(grown(engine, sample), expected)


def test_a_request_that_is_pending_gives_a_warning_about_workers():
    """The request waits in the event loop, where Dask gives no information about workers."""
    from treebound.engines.dask import waiting

    async def look(client):
        await asyncio.to_thread(waiting.warn_about_workers, client)

    with (
        distributed.LocalCluster(
            n_workers=0, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        with pytest.warns(UserWarning, match="has had no worker for 60 s"):
            client.sync(look, client)
        cluster.scale(7)
        client.wait_for_workers(7)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            client.sync(look, client)
        assert len(client.scheduler_info(n_workers=-1)["workers"]) == 7


def paused(dask_worker=None):
    dask_worker.memory_manager.memory_pause_fraction = False  # its monitor would go on at once
    dask_worker.status = distributed.Status.paused


def running(dask_worker=None):
    dask_worker.status = distributed.Status.running


def test_paused_workers_give_a_warning(monkeypatch, sample, expected):
    from treebound.engines.dask import waiting

    monkeypatch.setattr(waiting, "PATIENCE", 0.5)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(paused)
        timer = threading.Timer(2.0, client.run, [running])
        timer.start()
        with pytest.warns(UserWarning, match=r"All 1 workers are paused.* nothing happened for"):
            engine = engine_of(client, sample)
        timer.join()
        assert_same(grown(engine, sample), expected)


def tasks_of_a_fit(sample, n_workers, monkeypatch):
    from treebound.engines.dask.engine import DaskEngine

    names, plain = [], DaskEngine._map

    def noted(self, function, *args):
        names.extend([function.__name__] * len(args[0]))
        return plain(self, function, *args)

    with (
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
        monkeypatch.context() as patched,
    ):
        patched.setattr(DaskEngine, "_map", noted)
        grown(engine_of(client, sample, n_parts=8), sample)
    return len(names)


def test_tasks_grow_with_the_workers_not_with_their_pairs(sample, monkeypatch):
    one, two, four = (tasks_of_a_fit(sample, n, monkeypatch) for n in (1, 2, 4))
    assert four - two <= 2 * (two - one)


@pytest.mark.heavy
def test_scattered_rows_that_are_lost_are_named(sample):
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        from treebound.engines.dask.engine import DaskEngine
        from treebound.engines.dask.partitions import Partitions

        parts = [sample.part(rows) for rows in np.array_split(np.arange(sample.n_rows), 6)]
        raw = [(future,) for future in client.scatter(parts)]
        bins = make_bins(sample.columns, sample.X.part(np.arange(0, 6000, 7)).values, 32)
        engine = DaskEngine(Partitions(client, raw), same_part, bins, sample.n_classes)

        def progress(state):
            if state.passes == 2:
                # both workers: tasks may have copied rows from one to the other
                for pid in client.run(os.getpid).values():
                    os.kill(pid, signal.SIGKILL)

        with pytest.raises(RuntimeError, match=r"rows of partition.* \(worker tcp.* client.repl"):
            grown(engine, sample, progress)


def same_part(sample, y, weight, first):
    return PartRows(sample)


@pytest.mark.heavy
@pytest.mark.parametrize("which", [0, 1])
def test_a_worker_that_hangs_is_named_and_given_up(monkeypatch, sample, expected, which):
    from treebound.engines.dask import waiting

    monkeypatch.setattr(waiting, "PATIENCE", 1.0)
    stopped = []
    with (
        dask.config.set({"distributed.scheduler.worker-ttl": "6s"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):

        def progress(state):
            if state.passes == 3 and not stopped:
                stopped.append(sorted(client.run(os.getpid).values())[which])
                os.kill(stopped[0], signal.SIGSTOP)

        with pytest.warns(UserWarning, match="No word from 1 of 2 workers for 1 s: tcp"):
            assert_same(grown(engine_of(client, sample), sample, progress), expected)
    assert stopped


@pytest.mark.heavy
def test_a_driver_that_is_killed_leaves_no_files(tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(
        "import os, signal, sys\n"
        "import numpy as np, dask.array as da, distributed\n"
        "from treebound.estimators import not_in_memory as fitting\n"
        "from treebound import BoundTreeClassifier\n"
        "from treebound.growing import Limits\n"
        "plain = fitting.grow_on_engine\n"
        "def kill(state):\n"
        "    if state.passes == 3:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "def grow(*args, **options):\n"
        "    changed = {'limits': Limits(gather_rows=50), 'progress': kill}\n"
        "    return plain(*args, **options | changed)\n"
        "fitting.grow_on_engine = grow\n"
        "client = distributed.Client(sys.argv[1])\n"
        "X = np.random.default_rng(0).normal(size=(4000, 3))\n"
        "y = X[:, 0] + X[:, 1] * X[:, 2] > 0\n"
        "model = BoundTreeClassifier(pruning=None, max_leaves=30)\n"
        "model.fit(da.from_array(X, chunks=(900, -1)), da.from_array(y, chunks=900))\n"
    )
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        ended = subprocess.run(
            [sys.executable, script, cluster.scheduler_address], capture_output=True, timeout=100
        )
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        assert_no_files(client)
