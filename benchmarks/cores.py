"""How growing, fitting and predicting scale with threads, next to LightGBM and xgboost.

    python benchmarks/cores.py [--threads 1 2 4 8 16] [--rows 10000 100000 1000000]
                               [--columns 20] [--quick] [--out FOLDER]

Wall-clock milliseconds, the best of a few turns; turns of all numbers of threads and of all peers
alternate. Prints threads by work, and writes ``cores.json`` and, where matplotlib is installed,
``cores.svg`` (speed-up against threads) into the folder, by default ``benchmarks/results``.
Numbers mean something only on a machine that does nothing else; its name and its processors are
kept with them. By default threads double from one to the number of processors.

- 75 leaves: ``BoundTreeClassifier(pruning=None, max_leaves=75).fit``
- to purity: the same without a limit of leaves, which is what folds of a default fit grow
- default fit: ``BoundTreeClassifier(certificate="training").fit``, with its folds
- as shipped: ``BoundTreeClassifier().fit``
- predict: ``predict`` of the tree of 75 leaves on the training rows
- LightGBM, with its Dataset and training alone, and xgboost (``hist``, lossguide): one tree of 75
  leaves

float64 arrays in C order, two classes, five informative columns, 8 % of the labels wrong.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import platform
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import treebound as tb

LEAVES = 75
RESULTS = Path(__file__).parent / "results"
Job = Callable[[], Any]
# by size, by work, by number of threads: milliseconds
Times = dict[str, dict[str, dict[str, float]]]


def table(rows: int, columns: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Five informative columns, 8 % of the labels wrong."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    score = X[:, 0] + X[:, 1] + X[:, 2] * X[:, 3] + np.abs(X[:, 4])
    y = (score > np.median(score)) ^ (rng.random(rows) < 0.08)
    return X, y.astype(np.int64)


# -- work and library ----------------------------------------------------------------------------


def ours(X: Any, y: Any, threads: int) -> dict[str, Job]:
    """Growing, fitting and predicting with some threads."""
    # the parameter has been renamed: benchmarks of both names can be compared
    names = inspect.signature(tb.BoundTreeClassifier).parameters
    certificate = "certificate" if "certificate" in names else "certify"
    training: dict[str, Any] = {certificate: "training", "n_jobs": threads}
    plain = tb.BoundTreeClassifier(pruning=None, max_leaves=LEAVES, n_jobs=threads)
    fitted = tb.BoundTreeClassifier(pruning=None, max_leaves=LEAVES, n_jobs=threads).fit(X, y)
    return {
        "75 leaves": lambda: plain.fit(X, y),
        "to purity": lambda: tb.BoundTreeClassifier(pruning=None, n_jobs=threads).fit(X, y),
        "default fit": lambda: tb.BoundTreeClassifier(**training).fit(X, y),
        "as shipped": lambda: tb.BoundTreeClassifier(n_jobs=threads).fit(X, y),
        "predict": lambda: fitted.predict(X),
    }


def light_gbm(X: Any, y: Any, threads: int) -> dict[str, Job]:
    """One boosted tree; nothing where LightGBM is not installed."""
    try:
        import lightgbm
    except ImportError:
        return {}
    options = {
        "objective": "binary", "num_leaves": LEAVES, "min_data_in_leaf": 1, "verbose": -1,
        "num_threads": threads, "force_col_wise": True,
    }  # fmt: skip
    data = lightgbm.Dataset(X, y, params=options).construct()

    def with_dataset() -> Any:
        return lightgbm.train(options, lightgbm.Dataset(X, y, params=options), 1)

    return {
        "LightGBM with Dataset": with_dataset,
        "LightGBM training": lambda: lightgbm.train(options, data, 1),
    }


def xgboost(X: Any, y: Any, threads: int) -> dict[str, Job]:
    """One boosted tree; nothing where xgboost is not installed."""
    try:
        import xgboost as xgb
    except ImportError:
        return {}
    options = {
        "objective": "binary:logistic", "tree_method": "hist", "grow_policy": "lossguide",
        "max_leaves": LEAVES, "max_depth": 0, "min_child_weight": 0, "nthread": threads,
    }  # fmt: skip

    def fit() -> Any:
        return xgb.train(options, xgb.QuantileDMatrix(X, y, nthread=threads), 1)

    return {"xgboost": fit}


# -- measuring ---------------------------------------------------------------------------------


def measured(X: Any, y: Any, threads: list[int], budget: float) -> dict[str, dict[str, float]]:
    """The best time of each work with each number of threads."""
    jobs = {
        (work, count): job
        for count in threads
        for make in (ours, light_gbm, xgboost)
        for work, job in make(X, y, count).items()
    }
    best: dict[tuple[str, int], float] = {}
    spent = dict.fromkeys(jobs, 0.0)
    for turn in range(20):
        for key, job in jobs.items():
            if turn >= 2 and spent[key] > budget:
                continue
            begun = time.perf_counter()
            job()
            took = time.perf_counter() - begun
            spent[key] += took
            best[key] = min(best.get(key, np.inf), took)
    times: dict[str, dict[str, float]] = {}
    for (work, count), took in best.items():
        times.setdefault(work, {})[str(count)] = 1000 * took
    return times


def print_times(size: str, times: dict[str, dict[str, float]]) -> None:
    """Milliseconds by threads, and the best speed-up over one."""
    threads = list(next(iter(times.values())))
    print(f"\n{size}, ms\n  {'threads':<24}" + "".join(f"{count:>10}" for count in threads), end="")
    print(f"{'best speed-up':>16}")
    for work, by_count in times.items():
        cells = "".join(f"{by_count[count]:>10.1f}" for count in threads)
        speed_up = by_count[threads[0]] / min(by_count.values())
        print(f"  {work:<24}{cells}{speed_up:>16.2f}")


def plot(times: Times, machine: str, path: Path) -> None:
    """Speed-up over the fewest threads, a panel for each size."""
    try:
        import matplotlib as mpl
    except ImportError:
        return
    mpl.use("svg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(
        1, len(times), figsize=(4.2 * len(times), 4), sharey=True, squeeze=False
    )
    for axis, (size, by_work) in zip(axes[0], times.items(), strict=True):
        threads = [int(count) for count in next(iter(by_work.values()))]
        axis.plot(threads, np.divide(threads, threads[0]), ":", color="0.7", label="ideal")
        for work, by_count in by_work.items():
            speed = [by_count[str(threads[0])] / by_count[str(count)] for count in threads]
            peer = work.startswith(("LightGBM", "xgboost"))
            axis.plot(threads, speed, "--" if peer else "-", marker=".", label=work)
        axis.set(title=size, xlabel="threads", xscale="log", yscale="log")
        axis.set_xticks(threads, [str(count) for count in threads])
    axes[0][0].set_ylabel("speed-up")
    axes[0][-1].legend(fontsize=7)
    figure.suptitle(machine, fontsize=8)
    figure.tight_layout()
    figure.savefig(path)


def machine_name() -> str:
    """The processor, and how many there are."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text().splitlines()
        name = next(
            (line.split(": ", 1)[1] for line in lines if line.startswith("model name")), name
        )
    return f"{name}, {os.cpu_count()} processors"


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    doubled = [2**k for k in range(10) if 2**k <= (os.cpu_count() or 1)]
    parser.add_argument("--threads", nargs="+", type=int, default=doubled)
    parser.add_argument("--rows", nargs="+", type=int, default=[10**4, 10**5, 10**6])
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="no 10^6 rows, short turns")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = [n for n in options.rows if not (options.quick and n >= 10**6)]
    times: Times = {}
    for n in rows:
        size = f"{n:,} x {options.columns}"
        X, y = table(n, options.columns)
        times[size] = measured(X, y, options.threads, 0.2 if options.quick else 1.5)
        print_times(size, times[size])
    options.out.mkdir(parents=True, exist_ok=True)
    machine = machine_name()
    document = {"machine": machine, "version": tb.__version__, "milliseconds": times}
    (options.out / "cores.json").write_text(json.dumps(document, indent=1) + "\n")
    plot(times, machine, options.out / "cores.svg")
    print(f"\n{machine}; kept in {options.out}")


if __name__ == "__main__":
    main()
