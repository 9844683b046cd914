"""How growing, fitting and predicting scale with threads, next to LightGBM and xgboost.

    python benchmarks/cores.py [--threads 1 2 4 8 16] [--sizes 10000x20 1000000x20 ...]
                               [--seconds 1.5] [--quick] [--out FOLDER]

Wall-clock milliseconds, the best of a few turns; turns of all numbers of threads and of all peers
alternate. Prints threads by work, and writes ``cores.json`` and, where matplotlib is installed,
``cores.svg`` (speed-up against threads) into the folder, by default ``benchmarks/results``.
Numbers mean something only on a machine that does nothing else; its name and its processors are
kept with them. By default threads double from one to the number of processors.

- 75 leaves: ``BoundTreeClassifier(pruning=None, max_leaves=75, cv=None, certificate="training")``
- default fit: ``BoundTreeClassifier(certificate="training", search="greedy")``, with its folds or,
  above 10^7 values, its validation rows
- as shipped: ``BoundTreeClassifier()``
- predict: ``predict`` of the tree of 75 leaves on the training rows
- LightGBM, with its Dataset and training alone, and xgboost (``hist``, lossguide): one tree of 75
  leaves

Above 2 x 10^7 values there are no default fits and no xgboost.

float64 arrays in C order, two classes, five informative columns, 8 % of the labels wrong.
"""

from __future__ import annotations

import argparse
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
from sklearn.base import clone

import treebound as tb

LEAVES = 75
FITTED_VALUES = 2 * 10**7  # larger tables are grown on only
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
    training: dict[str, Any] = {"certificate": "training", "n_jobs": threads}
    grown = tb.BoundTreeClassifier(pruning=None, max_leaves=LEAVES, cv=None, **training)
    fitted = clone(grown).fit(X, y)
    jobs: dict[str, Job] = {"75 leaves": lambda: grown.fit(X, y)}
    if X.size <= FITTED_VALUES:
        default = tb.BoundTreeClassifier(search="greedy", **training)
        shipped = tb.BoundTreeClassifier(n_jobs=threads)
        jobs |= {"default fit": lambda: default.fit(X, y), "as shipped": lambda: shipped.fit(X, y)}
    return jobs | {"predict": lambda: fitted.predict(X)}


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
    if X.size > FITTED_VALUES:
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
        1,
        len(times),
        figsize=(3.4 * len(times), 4),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    works = list(dict.fromkeys(work for by_work in times.values() for work in by_work))
    for axis, (size, by_work) in zip(axes[0], times.items(), strict=True):
        threads = [int(count) for count in next(iter(by_work.values()))]
        axis.plot(threads, np.divide(threads, threads[0]), ":", color="0.7", label="ideal")
        for work, by_count in by_work.items():
            speed = [by_count[str(threads[0])] / by_count[str(count)] for count in threads]
            peer = work.startswith(("LightGBM", "xgboost"))
            axis.plot(
                threads, speed, "--" if peer else "-", marker=".", label=work,
                color=f"C{works.index(work)}",
            )  # fmt: skip
        axis.set(title=size, xlabel="threads", xscale="log", yscale="log")
        axis.set_xticks(threads, [str(count) for count in threads])
    axes[0][0].set_ylabel("speed-up")
    most = max(axes[0], key=lambda axis: len(axis.lines))
    figure.legend(
        *most.get_legend_handles_labels(), loc="outside lower center", ncols=8, fontsize=8
    )
    figure.suptitle(machine, fontsize=8)
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
    sizes = ["10000x20", "100000x20", "1000000x20", "1000000x100", "5000000x20"]
    parser.add_argument("--sizes", nargs="+", default=sizes, help="rows x columns")
    parser.add_argument("--seconds", type=float, default=1.5, help="for each work, at least")
    parser.add_argument("--quick", action="store_true", help="up to 10^5 rows, short turns")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    options.out.mkdir(parents=True, exist_ok=True)
    times: Times = {}
    for size in options.sizes:
        rows, columns = map(int, size.split("x"))
        if options.quick and rows > 10**5:
            continue
        X, y = table(rows, columns)
        name = f"{rows:,} x {columns}"
        times[name] = measured(X, y, options.threads, 0.2 if options.quick else options.seconds)
        print_times(name, times[name])
        save(times, options.out)


def save(times: Times, folder: Path) -> None:
    """Write the times and the plot."""
    machine = machine_name()
    document = {"machine": machine, "version": tb.__version__, "milliseconds": times}
    (folder / "cores.json").write_text(json.dumps(document, indent=1) + "\n")
    plot(times, machine, folder / "cores.svg")


if __name__ == "__main__":
    main()
