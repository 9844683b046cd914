"""How long the tail inversion, the witnesses and the oracle take.

    python benchmarks/oracle.py

Prints a table and keeps it as benchmarks/results/oracle.json.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import treebound as tb
from treebound._utils.files import write_text
from treebound.bounds import witnesses

RESULTS = Path(__file__).parent / "results"


def seconds(job: Callable[[], Any], repeat: int = 3) -> float:
    """The least of a few runs."""
    best = np.inf
    for _ in range(repeat):
        start = time.perf_counter()
        job()
        best = min(best, time.perf_counter() - start)
    return float(best)


def every_witness() -> None:
    """All permutations of the construction for m = 1..12, from nothing."""
    for m in range(1, 13):
        witnesses._orders.__wrapped__(m)


def jobs() -> dict[str, tuple[Callable[[], Any], int]]:
    """The timed functions, and how often each is called."""
    jobs: dict[str, tuple[Callable[[], Any], int]] = {}
    for m in (10**3, 10**5, 10**7):
        for nats in (50.0, 5000.0):
            jobs[f"tail inversion, m = {m:,}, 10 % errors, ln tau = {nats:.0f}"] = (
                lambda m=m, nats=nats: tb.bounds.tail_inversion(m, m // 10, lambda total: nats),
                5,
            )
    errors, logs = np.arange(10_000.0), np.linspace(1, 1e5, 10_000)
    jobs["Shawe-Taylor, 10,000 trees at once"] = (
        lambda: tb.bounds.shawe_taylor(10**5, errors, logs),
        5,
    )
    jobs["witnesses for every m up to 12"] = (every_witness, 1)
    X, kinds = np.random.default_rng(0).random((10, 3)), ["real"] * 3
    for text in ("((..)(..))", "(((..).)(..))"):
        shape = tb.TreeShape.parse(text)
        for c in (2, 3):
            jobs[f"{c}-partitions of 10 rows, 3 real features, {text}"] = (
                lambda shape=shape, c=c: tb.bounds.realizable_partitions(X, kinds, shape, c),
                3,
            )
    stump = tb.TreeShape.parse("(..)")
    jobs["worst sample of 5 rows, 3 real features, (..), all 1,830"] = (
        lambda: tb.bounds.worst_sample(stump, 2, 5, tb.Landscape(real=3)),
        1,
    )
    return jobs


def main() -> None:
    """Time every job, print the table, keep it."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    times = {name: seconds(job, repeat) for name, (job, repeat) in jobs().items()}
    for name, took in times.items():
        print(f"{name:64} {1000 * took:10.2f} ms")
    RESULTS.mkdir(exist_ok=True)
    write_text(RESULTS / "oracle.json", json.dumps({"seconds": times}, indent=1) + "\n")


if __name__ == "__main__":
    main()
