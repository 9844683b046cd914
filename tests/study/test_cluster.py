"""On a real cluster of two worker processes, one of which is killed, nothing changes."""

import contextlib
import os
import signal
import threading
import time

import pytest
import stand_ins
from stand_ins import rows_of, run_study

from treebound.study.results import Results
from treebound.study.runner import Observer


class KillsAWorker(Observer):
    """Kills one worker process when the first result arrives."""

    def __init__(self, pids):
        self.pids = pids
        self.killed = None

    def show(self, event):
        if self.killed is None:
            self.killed = self.pids[0]
            os.kill(self.killed, signal.SIGKILL)


@pytest.mark.slow
def test_dask_cluster_loses_a_worker_and_no_result(tmp_path):
    distributed = pytest.importorskip("distributed")
    study = stand_ins.study(stand_ins.slow_models(), draws=6)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2)
        pids = list(client.run(os.getpid).values())
        observer = KillsAWorker(pids)
        path, address = tmp_path / "r.sqlite", cluster.scheduler_address
        added = run_study(study, path, backend="dask", scheduler=address, observer=observer)
        rows = Results.read(path).rows
        children = client.run(idle_children)
    assert sum(children.values()) > 0, "the models did not run on the cluster"
    assert len(set(pids)) == 2
    assert os.getpid() not in pids
    assert observer.killed == pids[0]
    assert not alive(pids[0])
    assert added == len(rows) == study.size
    assert stand_ins.without_times(rows) == stand_ins.without_times(rows_of(study))


def idle_children():
    """How many children of this process wait for draws."""
    from treebound.study import processes

    return len(processes._idle)


def alive(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


@pytest.mark.slow
def test_a_worker_process_that_dies_once_is_replaced():
    study = stand_ins.study(stand_ins.slow_models(), draws=6)
    killed = []
    watcher = threading.Thread(target=kill_one_child, args=(killed,), daemon=True)
    watcher.start()
    rows = rows_of(study, jobs=2)
    watcher.join()
    assert len(rows) == study.size
    assert killed
    assert not [row for row in rows if row["error"]]


def kill_one_child(killed):
    """Kill the first worker of this process that is seen to work."""
    psutil = pytest.importorskip("psutil")
    for _ in range(3000):
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if (
                    "treebound.study.processes" in " ".join(child.cmdline())
                    and child.cpu_times().user > 0.3
                ):
                    child.kill()
                    killed.append(child.pid)
                    return
        time.sleep(0.01)
