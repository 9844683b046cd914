"""How long growing a tree takes, next to scikit-learn and LightGBM in the same run.

    python benchmarks/growth.py [--quick] [--huge] [--only PART ...]

Prints ratios and keeps them as benchmarks/results/growth.json. Everything is end to end,
``BoundTreeClassifier(pruning=None, max_leaves=75, cv=None, certificate="training").fit`` on one
thread, with the criterion of the peer: one tree is grown, there and here. Turns alternate with the
peer's, a turn repeats a short run for 20 ms, and the best of each counts (a single run of 1,000
rows right after another library's takes half as long again). Times are of the processor, which
other work on the machine disturbs least; only the comparison of threads is by the clock.

- 20 real columns, 10^3 to 10^6 rows, against ``DecisionTreeClassifier(max_leaf_nodes=75)`` and one
  LightGBM tree of 75 leaves (which is not exact: it looks at 255 bins a column), training on a
  Dataset that is there already, and with the Dataset;
- numbers, growing alone: with signal in some or most of 20 real columns, and noise, against
  ``DecisionTreeRegressor(max_leaf_nodes=75)``;
- kinds of data: ten classes, pure noise, integers, heavy ties, missing values, weights, mixed
  columns, against the sorted scan of all rows, which is the same kernel without histograms;
- shards in this process, one and four, against memory;
- labels and tables: texts, categories, booleans, of numpy, pandas, polars and pyarrow, against an
  numpy array with integers;
- the physical limit: one copy of the matrix for each level of the tree, as the machine copies;
- 5 real and 5 nominal columns of 10, 100 and 1,000 categories, against one-hot columns and
  scikit-learn, sparse or dense, whichever is faster there;
- one nominal column of 10^3 to 10^5 categories, two rows a category, random labels, to purity: a
  chain of as many splits; one-hot columns next to it only if they take seconds;
- memory: the peak of a process beyond what it held before ``fit``;
- how the time grows with rows, columns, classes, categories, leaves and distinct values.

``--quick`` leaves out 10^6 rows; ``--huge`` adds 10^7 rows of 20 columns and growth to purity;
``--threads`` adds two threads against one, which is meaningful only on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from growers import (
    LEAVES,
    Job,
    Table,
    kernel,
    kinds_of_data,
    light_gbm,
    mixed_sample,
    number_kernel,
    number_samples,
    number_scikit_learn,
    one_hot,
    ours,
    print_times,
    real_sample,
    scikit_learn,
    seconds,
)

from treebound._utils.files import write_text
from treebound.data import Sample
from treebound.growing import GrowOptions, Limits, grow, grow_on_engine, make_bins
from treebound.growing.engine import LocalEngine

RESULTS = Path(__file__).parent / "results"


# -- time ----------------------------------------------------------------------------------


def real_columns(rows: list[int]) -> Table:
    """Exact growth on 20 real columns."""
    times = {}
    for n in rows:
        X, y = real_sample(n)
        for criterion in ("gini", "entropy"):
            jobs = {
                "treebound": ours(X, y, criterion=criterion),
                "scikit-learn": scikit_learn(X, y, criterion),
            }
            if criterion == "gini":
                jobs |= light_gbm(X, y)
            times[f"{n:,} rows, {criterion}"] = seconds(jobs)
    return times


def numbers(rows: list[int]) -> Table:
    """Growing alone on a target of numbers."""
    times = {}
    for n in rows:
        for name, (X, y) in number_samples(n).items():
            jobs = {"treebound": number_kernel(X, y), "scikit-learn": number_scikit_learn(X, y)}
            times[f"{n:,} rows, {name}"] = seconds(jobs)
    return times


def labels_and_tables(rows: int) -> Table:
    """The same rows and classes in every library and type, next to numpy with integers."""
    import polars as pl
    import pyarrow as pa

    X, y = real_sample(rows)
    names = [f"x{i}" for i in range(X.shape[1])]
    texts = np.array(["no", "perhaps", "yes"])[y]
    frame = pd.DataFrame(X, columns=names)
    columns = {name: np.ascontiguousarray(X[:, i]) for i, name in enumerate(names)}
    cases: dict[str, tuple[Any, Any]] = {
        "numpy, integers": (X, y),
        "numpy, booleans": (X, y > 0),
        "numpy, texts": (X, texts),
        "numpy, objects": (X, texts.astype(object)),
        "pandas, texts": (frame, pd.Series(texts.astype(object)).astype("str")),
        "pandas, categorical": (frame, pd.Series(texts).astype("category")),
        "pandas by column, integers": (pd.DataFrame(columns, copy=False), pd.Series(y)),
        "polars, texts": (pl.DataFrame(columns), pl.Series(texts.tolist())),
        "polars, categorical": (
            pl.DataFrame(columns),
            pl.Series(texts.tolist(), dtype=pl.Categorical),
        ),
        "pyarrow, texts": (pa.table(columns), pa.chunked_array([texts.tolist()])),
        "pyarrow, booleans": (pa.table(columns), pa.chunked_array([(y > 0).tolist()])),
        "pyarrow, dictionary": (
            pa.table(columns),
            pa.chunked_array([texts.tolist()]).dictionary_encode(),
        ),
    }
    took = seconds({name: ours(*case) for name, case in cases.items()})
    plain = took["numpy, integers"]
    return {name: {"treebound": time, "numpy, integers": plain} for name, time in took.items()}


def against_sorted(rows: int) -> Table:
    """Histograms and the sorted scan of all rows: the same trees."""
    times = {}
    for name, (X, y, weight) in kinds_of_data(rows).items():
        sample = Sample.learn(X, y, weight)
        jobs = {"treebound": kernel(sample), "sorted scan": kernel(sample, crossing=2**62)}
        times[f"{rows:,} rows, {name}"] = seconds(jobs)
    return times


def limit(rows: int) -> dict[str, float]:
    """How often the matrix could be copied while a tree grows, and the levels of that tree."""
    X, y = real_sample(rows)
    other = np.empty_like(X)
    sample = Sample.learn(X, y)
    took = seconds({"grow": kernel(sample), "copy": lambda: np.copyto(other, X)})
    levels = int(grow(sample, GrowOptions(max_leaves=LEAVES)).node_depth.max())
    return {"copies": took["grow"] / took["copy"], "levels": levels}


def to_purity(rows: int) -> dict[str, float]:
    """A twentieth of the labels is wrong, and no leaf limit."""
    return seconds({"treebound": kernel(Sample.learn(*real_sample(rows)), None)}, most=2)


def many_categories() -> Table:
    """One nominal column of two rows a category, to purity."""
    times = {}
    rng = np.random.default_rng(0)
    for categories in (10**3, 10**4, 10**5):
        rows = 2 * categories
        codes = rng.integers(0, categories, rows)
        names = [f"c{k}" for k in range(categories)]
        X = pd.DataFrame({"c": pd.Categorical.from_codes(codes, names)})
        y = rng.integers(0, 2, rows)
        jobs = {"treebound": ours(X, y, None)}
        if categories == 10**3:  # its time grows with the square of their number
            jobs["scikit-learn"] = one_hot(X, y, True, None)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The table repeats rows")
            times[f"{rows:,} rows, {categories:,} categories"] = seconds(jobs)
    return times


def nominal_columns(rows: list[int]) -> Table:
    """Unitary comparison against one-hot columns."""
    times = {}
    for n in rows:
        for categories in (10, 100, 1000):
            X, y = mixed_sample(n, categories)
            # dense columns would not fit, or take minutes, where they are many
            peers = {"one-hot, sparse": one_hot(X, y, True)}
            if n * categories <= 10**6:
                peers["one-hot, dense"] = one_hot(X, y, False)
            took = seconds({"treebound": ours(X, y), **peers})
            times[f"{n:,} rows, {categories:,} categories"] = {
                "treebound": took["treebound"],
                "scikit-learn": min(took[name] for name in peers),
            }
    return times


# -- memory --------------------------------------------------------------------------------

MEMORY_CASES = ("real", "mixed")


def memory() -> Table:
    """Peak memory of a fit beyond the data, in MB, each in a process of its own."""
    sizes: Table = {}
    for case in MEMORY_CASES:
        sizes[case] = {}
        for who in ("treebound", "scikit-learn"):
            command = [sys.executable, __file__, "--memory-of", case, who]
            lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            sizes[case].update(json.loads(lines.splitlines()[-1]))
    return sizes


def memory_of(case: str, who: str) -> None:
    """Print the data's size and how far the peak of this process rises in a fit."""
    X: Any
    if case == "real":
        X, y = real_sample(10**6)
        size, peer = X.nbytes, scikit_learn(X, y)
        ours(X[:100], y[:100])()
    else:
        X, y = mixed_sample(10**5, 1000)
        size, peer = int(X.memory_usage(index=False).sum()), one_hot(X, y, True)
        ours(X.head(100), y[:100])()
    before = peak_memory(reset=True)
    (ours(X, y) if who == "treebound" else peer)()
    print(json.dumps({"data": size / 1e6, who: peak_memory() - before}))


def peak_memory(reset: bool = False) -> float:
    """The most memory this process has held, in MB; on Linux the count can start anew."""
    if reset and Path("/proc/self/clear_refs").exists():
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


# -- how the time grows --------------------------------------------------------------------


def scaling(quick: bool) -> dict[str, dict[str, float]]:
    """The time of one fit as one thing changes: 10^5 rows, 20 columns, 2 classes, 75 leaves."""
    n = 10**4 if quick else 10**5
    X, y = real_sample(n)
    times: dict[str, dict[str, float]] = {}

    def note(work: str, value: int, job: Job) -> None:
        times.setdefault(work, {})[f"{value:,}"] = seconds({"": job}, budget=1.0, most=5)[""]

    for rows in (n // 100, n // 10, n):
        note("rows", rows, ours(X[:rows], y[:rows]))
    for columns in (5, 10, 20, 40, 80):
        note("columns", columns, ours(*real_sample(n, columns)))
    for n_classes in (2, 5, 10, 50, 100, 1000):
        rows, labels = real_sample(n, n_classes=n_classes)
        note("classes", n_classes, ours(rows, labels.astype(str)))  # many numbers are no classes
    for categories in (2, 10, 100, 1000, 10000):
        note("categories", categories, ours(*mixed_sample(n, categories)))
    for leaves in (2, 10, 75, 1000, 10000):
        note("leaves", leaves, ours(X, y, leaves))
    for values in (2, 10, 100, 1000, n):
        ranks = np.argsort(np.argsort(X, axis=0), axis=0) * values // n
        note("values", values, ours(ranks.astype(float), y))
    return times


def shards(rows: list[int]) -> Table:
    """An engine of one sample in this process, then in rounds; and an engine of four samples."""
    times = {}
    for n in rows:
        sample = Sample.learn(*real_sample(n))
        parts = [sample.part(some) for some in np.array_split(np.arange(n), 4)]
        times[f"{n:,} rows"] = seconds(
            {
                "treebound": kernel(sample),
                "one shard": on_engine([sample]),
                "checkpoint": on_engine([sample], checkpoint=RESULTS / "checkpoint"),
                "in rounds": on_engine([sample], Limits()),
                "four shards": on_engine(parts),
            }
        )
    return times


def on_engine(
    parts: list[Sample], limits: Limits | None = None, checkpoint: Path | None = None
) -> Job:
    """Growing on samples as shards, their coding included."""
    columns, classes = parts[0].columns, parts[0].classes
    options = GrowOptions(max_leaves=LEAVES)

    def fit() -> Any:
        some = [values[:: max(1, len(values) // 4096)] for values in parts[0].X.values]
        engine = LocalEngine(parts, make_bins(columns, some), len(classes))
        return grow_on_engine(
            engine, columns, classes, options, limits=limits, checkpoint=checkpoint
        )

    return fit


def threads() -> Table:
    """Two threads, and one, by the clock."""
    times = {}
    for n in (10**5, 10**6):
        X, y = real_sample(n)
        jobs = {"treebound": ours(X, y, n_jobs=2), "one thread": ours(X, y)}
        times[f"{n:,} rows"] = seconds(jobs, clock=time.perf_counter)
    return times


def huge() -> Table:
    """10^7 rows of 20 columns: 1.6 GB."""
    rng = np.random.default_rng(0)
    X = rng.random((10**7, 20))
    y = ((X[:, :4].sum(axis=1) > 2) ^ (rng.random(10**7) < 0.05)).astype(np.int64)
    before = peak_memory(reset=True)
    took = seconds({"treebound": ours(X, y)}, most=1, clock=time.perf_counter)["treebound"]
    beyond = peak_memory() - before
    sizes = {"data MB": X.nbytes / 1e6, "beyond it MB": beyond}
    return {"10,000,000 rows": {"seconds": took, **sizes}}


# -- printing ------------------------------------------------------------------------------


def print_memory(table: Table) -> None:
    """Megabytes."""
    print("\npeak memory of a fit beyond the data: 10^6 x 20 real; 10^5 x (5 real, 5 nominal)\n")
    for case, sizes in table.items():
        cells = (f"{library:>16} {mb:8.0f} MB" for library, mb in sizes.items())
        print(f"  {case:<8}" + "".join(cells))


def print_scaling(table: Table) -> None:
    """Milliseconds, one thing a line."""
    print("\ntime of a fit as one thing changes, in ms\n")
    for work, times in table.items():
        cells = "".join(f"{value:>10}: {1000 * t:<9.2f}" for value, t in times.items())
        print(f"  {work:<12}{cells}")


def times(title: str) -> Callable[[Table], None]:
    """Prints a table of times."""
    return lambda table: print_times(title, table)


def parts(quick: bool) -> dict[str, tuple[Job, Callable[[Any], None]]]:
    """The measurements, and how they are printed."""
    large = 10**5 if quick else 10**6
    rows = [10**3, 10**4, 10**5] + ([] if quick else [10**6])
    some = [10**4] if quick else [10**4, 10**5]

    def printed(name: str) -> Callable[[Any], None]:
        return lambda value: print(f"\n{name}: {value}")

    return {
        "real columns": (
            lambda: real_columns(rows), times("fit, 20 real columns, 75 leaves")
        ),
        "numbers": (
            lambda: numbers(rows[1:]), times("growing alone on numbers, 20 real columns, 75 leaves")
        ),
        "kinds of data": (lambda: against_sorted(large), times("growing alone, 75 leaves")),
        "shards": (
            lambda: shards([n for n in rows if n >= 10**5]),
            times("growing on shards in this process, 75 leaves"),
        ),
        "labels and tables": (
            lambda: labels_and_tables(large), times("fit, other labels and tables")
        ),
        "limit": (lambda: limit(large), printed("copies of the matrix, and levels of the tree")),
        "nominal columns": (
            lambda: nominal_columns(some), times("fit, 5 real and 5 nominal columns, 75 leaves")
        ),
        "many categories": (many_categories, times("fit, one nominal column, to purity")),
        "memory": (memory, print_memory),
        "scaling": (lambda: scaling(quick), print_scaling),
        "threads": (threads, times("two threads, and one")),
        "huge": (huge, printed("10^7 rows")),
        "to purity, 10^6 rows": (lambda: to_purity(10**6), printed("to purity, 10^6 rows")),
    }  # fmt: skip


def main() -> None:
    """Run, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="leave out 10^6 rows")
    parser.add_argument("--huge", action="store_true", help="add 10^7 rows of 20 columns")
    parser.add_argument("--threads", action="store_true", help="add two threads against one")
    parser.add_argument("--only", nargs="+", choices=list(parts(False)), help="these parts alone")
    parser.add_argument("--memory-of", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of:
        memory_of(*options.memory_of)
        return
    path = RESULTS / "growth.json"
    results: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    huge = options.huge
    optional = {"threads": options.threads, "huge": huge, "to purity, 10^6 rows": huge}
    for name, (measure, show) in parts(options.quick).items():
        if name in options.only if options.only else optional.get(name, True):
            results[name] = measure()
            show(results[name])
            RESULTS.mkdir(exist_ok=True)
            write_text(path, json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
