"""Time and memory of trees on data larger than memory: in memory, streamed, on Dask; and peers.

    python benchmarks/scale.py [--quick] [--huge] [--growth] [--rows N] [--classes N]
                               [--only NAME ...]

Prints a table and keeps it as benchmarks/results/scale.json. Every side reads the same files (20
real columns, two classes unless stated otherwise, row groups of 125,000 rows), in a process of its
own, and grows one tree of 75 leaves. Counted are processor seconds of all processes of that side:
in all, imports and the start of workers included, and of the work alone, reading included, after a
small fit; and the peak of their memory in all, what pages of files they map apart.

- reading, reading csv: pyarrow alone reads the files as a table;
- in memory: ``BoundTreeClassifier.fit`` on the table that pyarrow reads;
- streamed, streamed csv: ``BoundTreeClassifier.fit`` on the ``pyarrow.dataset``;
- predict, evaluate: the commands on the files;
- duckdb: ``BoundTreeClassifier.fit`` on a DuckDB relation, which reads the files;
- Dask with one and two workers of one thread;
- ``lightgbm.dask`` and ``xgboost.dask`` with one tree, two workers: approximate trees, 256 bins.

The trees of treebound must be one tree: their nodes are compared. ``--quick`` is 10^5 rows,
``--huge`` adds 10^7. How cost grows with rows, columns, classes, leaves and workers is measured on
the streamed side and on Dask (``--growth``), with the driver's part of the processor time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
LEAVES = 75
FILE_ROWS = 250_000
GROUP_ROWS = 125_000
SIDES = (
    "reading", "memory", "streamed", "reading csv", "streamed csv", "predict", "evaluate", "duckdb",
    "dask-1", "dask-2", "lightgbm.dask", "xgboost.dask",
)  # fmt: skip
OURS = ("memory", "streamed", "streamed csv", "duckdb", "dask-1", "dask-2")


# -- data ----------------------------------------------------------------------------------


def write_files(folder: Path, rows: int, columns: int = 20, classes: int = 2) -> None:
    """Parquet files of real columns; the class depends on a few of them, and on chance."""
    import pyarrow
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    for start in range(0, rows, FILE_ROWS):
        n = min(FILE_ROWS, rows - start)
        X = rng.normal(size=(n, columns))
        score = X[:, 0] + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + 0.5 * rng.normal(size=n)
        cuts = np.linspace(-1.5, 3.0, classes + 1)[1:-1]
        table = {f"x{j}": X[:, j] for j in range(columns)} | {"y": np.searchsorted(cuts, score)}
        path = folder / f"part{start // FILE_ROWS:05d}.parquet"
        pyarrow.parquet.write_table(pyarrow.table(table), path, row_group_size=GROUP_ROWS)


def write_csv(folder: Path, parquet: Path) -> None:
    """The same rows as CSV files."""
    import pyarrow.csv
    import pyarrow.parquet

    for path in sorted(parquet.glob("*.parquet")):
        pyarrow.csv.write_csv(pyarrow.parquet.read_table(path), folder / f"{path.stem}.csv")


# -- sides, each in a process of its own ---------------------------------------------------


def spent(client: Any = None) -> tuple[float, float]:
    """Processor seconds of this process, and of the workers of a cluster."""
    workers = 0.0 if client is None else sum(client.run(time.process_time).values())
    return time.process_time(), workers


def timed(call: Any, client: Any = None) -> str:
    """Which tree it was, and the processor seconds here and on workers."""
    before = spent(client)
    tree = call()
    here, there = (b - a for a, b in zip(before, spent(client), strict=True))
    return f"{tree} {here:.3f} {there:.3f}"


def fit_side(side: str, folder: str, leaves: int) -> str:
    """Fit; return which tree it was (- for peers) and the processor seconds of the work."""
    import pyarrow.dataset

    options = {
        "criterion": "gini", "pruning": None, "max_leaves": leaves, "cv": None,
        "certificate": "training",
    }  # fmt: skip
    form = "csv" if side.endswith("csv") else "parquet"
    if side.startswith("reading"):
        return timed(lambda: pyarrow.dataset.dataset(folder, format=form).to_table() and "-")
    import treebound as tb

    small = np.random.default_rng(0).normal(size=(500, 3))
    tb.BoundTreeClassifier(**options).fit(small, small[:, 0] > 0)  # what is imported on first use
    if side == "memory":
        return timed(lambda: fingerprint(fit_in_memory(folder, options)))
    if side.startswith("streamed"):
        dataset, model = (
            pyarrow.dataset.dataset(folder, format=form),
            tb.BoundTreeClassifier(n_jobs=2, **options),
        )
        return timed(lambda: fingerprint(model.fit(dataset, "y").tree_))
    if side in ("predict", "evaluate"):
        return timed(lambda: run_shell(side, folder, options))
    if side == "duckdb":
        import duckdb

        from treebound.engines.sql import Relation

        with duckdb.connect(config={"threads": 2}) as connection:
            rows = Relation(connection.read_parquet(f"{folder}/*.parquet"))
            return timed(
                lambda: fingerprint(tb.BoundTreeClassifier(**options).fit(rows, "y").tree_)
            )
    import dask
    from distributed import Client, LocalCluster

    dask.config.set({"dataframe.convert-string": False})
    workers = int(side.removeprefix("dask-")) if side.startswith("dask-") else 2
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        warm_workers(client, options)
        return timed(lambda: fit_on_dask(side, folder, leaves, options, client) or "-", client)


def warm_workers(client: Any, options: dict[str, Any]) -> None:
    """A small fit, for what workers import on first use."""
    import dask.dataframe as dd
    import pandas as pd

    import treebound as tb

    small = pd.DataFrame(np.random.default_rng(0).normal(size=(800, 2)), columns=["a", "b"])
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/small.parquet"
        small.assign(y=(small.a > 0).astype(int)).to_parquet(path, row_group_size=50)
        lazy = dd.read_parquet(path, split_row_groups=True)
        with client.as_current():
            tb.BoundTreeClassifier(**options).fit(lazy, "y")


def run_shell(command: str, folder: str, options: dict[str, Any]) -> str:
    """``treebound predict`` or ``evaluate`` on the files, with a tree of the first of them."""
    import pyarrow.dataset

    import treebound as tb
    from treebound.cli import main as shell

    first = pyarrow.dataset.dataset(sorted(Path(folder).glob("*.parquet"))[0])
    with tempfile.TemporaryDirectory() as name:
        path = f"{name}/model.json"
        tb.BoundTreeClassifier(**options).fit(first, "y").save(path)
        rest = ["-o", f"{name}/out.parquet", "--quiet"] if command == "predict" else ["--json"]
        try:
            shell([command, path, folder, *rest])
        except SystemExit as end:
            if end.code:
                raise
    return "-"


def fit_in_memory(folder: str, options: dict[str, Any]) -> Any:
    import pyarrow.dataset

    import treebound as tb

    table = pyarrow.dataset.dataset(folder).to_table()
    labels = table.column("y").to_numpy()
    X = table.drop_columns("y")
    return tb.BoundTreeClassifier(n_jobs=2, **options).fit(X, labels).tree_


def fit_on_dask(side: str, folder: str, leaves: int, options: dict[str, Any], client: Any) -> str:
    import dask.dataframe as dd

    frame = dd.read_parquet(folder, split_row_groups=True)
    if not side.startswith("dask"):
        # they hold the rows anyway, and else Dask reads y in other partitions than X
        frame = frame.persist()
    X, y = frame.drop(columns="y"), frame["y"]
    if side.startswith("dask"):
        import treebound as tb

        return fingerprint(tb.BoundTreeClassifier(**options).fit(frame, "y").tree_)
    if side == "lightgbm.dask":
        from lightgbm import DaskLGBMClassifier

        model = DaskLGBMClassifier(
            client=client, n_estimators=1, num_leaves=leaves, min_child_samples=1, verbosity=-1
        )
        model.fit(X.to_dask_array(lengths=True), y.to_dask_array(lengths=True))
        return ""
    from xgboost import dask as xgboost_dask

    matrix = xgboost_dask.DaskQuantileDMatrix(client, X, y)
    parameters = {
        "objective": "binary:logistic", "tree_method": "hist", "max_depth": 0,
        "grow_policy": "lossguide", "max_leaves": leaves, "nthread": 1,
    }  # fmt: skip
    xgboost_dask.train(client, parameters, matrix, num_boost_round=1)
    return ""


def fingerprint(tree: Any) -> str:
    names = ("feature", "threshold", "category", "missing_left", "left", "right", "counts", "rows")
    digest = hashlib.sha256()
    for name in names:
        digest.update(np.ascontiguousarray(getattr(tree, name)).tobytes())
    return digest.hexdigest()[:16]


# -- measuring -----------------------------------------------------------------------------


class Watch(threading.Thread):
    """Looks at a process and all below it: private memory in all at its peak, and processor time.

    The time of a process that is gone is that of its last look.
    """

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        import psutil

        self._root, self.peak, self.running = psutil.Process(pid), 0.0, True
        self._seconds: dict[int, float] = {}

    def run(self) -> None:
        import psutil

        while self.running:
            memory = 0.0
            try:
                processes = [self._root, *self._root.children(recursive=True)]
            except psutil.NoSuchProcess:
                return
            for process in processes:
                try:
                    info = process.memory_info()
                    memory += info.rss - info.shared
                    times = process.cpu_times()
                    self._seconds[process.pid] = times.user + times.system
                except psutil.Error:
                    continue
            self.peak = max(self.peak, memory / 2**20)
            time.sleep(0.02)

    @property
    def seconds(self) -> float:
        return sum(self._seconds.values())


def measure(side: str, folder: Path, leaves: int = LEAVES) -> dict[str, Any]:
    """Run a side in a new process: its seconds, its megabytes, and its tree."""
    command = [sys.executable, __file__, "--side", side, "--folder", str(folder)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    start = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--leaves", str(leaves)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=environment,
    )  # fmt: skip
    watch = Watch(process.pid)
    watch.start()
    out, err = process.communicate(timeout=1800)
    watch.running = False
    watch.join()
    if process.returncode:
        return {"failed": (err.strip().splitlines() or ["?"])[-1][:200]}
    tree, here, there = out.strip().splitlines()[-1].removeprefix("tree").split()
    figures = {
        "cpu_s": round(watch.seconds, 2),
        "work_s": round(float(here) + float(there), 2),
        "clock_s": round(time.perf_counter() - start, 2),
        "peak_mb": round(watch.peak),
        "tree": tree.strip("-"),
    }
    return figures | ({"driver_s": round(float(here), 2)} if "dask" in side else {})


def compare(rows: int, sides: list[str], classes: int) -> dict[str, dict[str, Any]]:
    """All sides on the same files."""
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as text:
        write_files(Path(name), rows, classes=classes)
        if any(side.endswith("csv") for side in sides):
            write_csv(Path(text), Path(name))
        figures = {}
        for side in sides:
            figures[side] = measure(side, Path(text if side.endswith("csv") else name))
            print(f"{rows:>10,} rows  {side:<14} {line(figures[side])}", flush=True)
    trees = {figures[side]["tree"] for side in OURS if figures.get(side, {}).get("tree")}
    if len(trees) > 1:
        raise AssertionError(f"treebound grew different trees: {trees}")
    return figures


def line(result: dict[str, Any]) -> str:
    if "failed" in result:
        return f"failed: {result['failed']}"
    return (
        f"{result['cpu_s']:8.1f} cpu s {result['work_s']:8.2f} of work {result['clock_s']:8.1f} s "
        f"{result['peak_mb']:8,} MB  {result.get('driver_s', '')} {result['tree']}"
    )


def growth_of_cost(base: int) -> dict[str, dict[str, Any]]:
    """The streamed side, one thing changed at a time, and Dask with more workers."""
    cases = {
        "base": {},
        "rows x 2": {"rows": 2 * base},
        "columns x 2": {"columns": 40},
        "classes x 5": {"classes": 10},
        "leaves x 4": {"leaves": 4 * LEAVES},
    }
    figures = {}
    for name, changes in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            shape = {"rows": base} | {k: v for k, v in changes.items() if k != "leaves"}
            write_files(Path(folder), **shape)
            figures[name] = measure("streamed", Path(folder), changes.get("leaves", LEAVES))
            print(f"streamed, {name:<14} {line(figures[name])}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), base)
        for workers in (1, 2, 4):
            name = f"Dask, workers: {workers}"
            figures[name] = measure(f"dask-{workers}", Path(folder))
            print(f"{name:<24} {line(figures[name])}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), base, classes=20)
        name = "Dask, classes: 20"
        figures[name] = measure("dask-2", Path(folder))
        print(f"{name:<24} {line(figures[name])}", flush=True)
    return figures


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--huge", action="store_true")
    parser.add_argument("--rows", type=float, help="instead of 10^6")
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--only", nargs="*", default=list(SIDES), choices=SIDES)
    parser.add_argument("--side", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--leaves", type=int, default=LEAVES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        print("tree", fit_side(options.side, options.folder, options.leaves))
        return
    base = int(options.rows or (1e5 if options.quick else 1e6))
    sizes = [base, 10_000_000] if options.huge else [base]
    path = RESULTS / "scale.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    for rows in sizes:
        name = str(rows) if options.classes == 2 else f"{rows}, {options.classes} classes"
        known[name] = known.get(name, {}) | compare(rows, options.only, options.classes)
    if options.growth:
        known["growth of cost"] = growth_of_cost(base)
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
