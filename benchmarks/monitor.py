"""How soon the monitor notices a rise of the error rate.

    python benchmarks/monitor.py [--runs 1000]

The certified error is 10 %. The first 500 rows have this error rate, the later ones a higher one.
The delay is the number of rows from the rise to the alarm; the median over the runs is printed,
with the share of the runs that raise a false alarm before the rise.
"""

from __future__ import annotations

import argparse
from math import inf

import numpy as np
from evidence import RESULTS, commit, now, save

from treebound.certificate.monitor import Stream

BOUND, ALPHA, BEFORE, LATER = 0.1, 0.01, 500, 10_000
RATES = (0.15, 0.2, 0.4)


def delay(rng: np.random.Generator, rate: float) -> float:
    """Return the rows from the rise to the alarm: negative if it is false, infinite without one."""
    rates = np.r_[np.full(BEFORE, BOUND), np.full(LATER, rate)]
    alarm = Stream("errors", BOUND, ALPHA).update(rng.random(len(rates)) < rates)
    return inf if alarm is None else float(alarm - BEFORE)


def main() -> None:
    """Simulate every rate, print the delays, and write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1_000)
    options = parser.parse_args()
    lines = []
    for rate in RATES:
        rng = np.random.default_rng(0)
        delays = np.array([delay(rng, rate) for _ in range(options.runs)])
        true = delays[delays > 0]
        line = {
            "rate": rate,
            "median delay": float(np.median(true)),
            "nine tenths within": float(np.quantile(true, 0.9, method="higher")),
            "false alarms": float(np.mean(delays <= 0)),
        }
        print(line, flush=True)
        lines.append(line)
    save(
        RESULTS, "monitor",
        {"date": now(), "commit": commit(), "runs": options.runs, "bound": BOUND, "alpha": ALPHA,
         "rows before": BEFORE, "rises": lines},
    )  # fmt: skip


if __name__ == "__main__":
    main()
