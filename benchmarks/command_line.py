"""How long the command line takes to start, and to read large files.

    python benchmarks/command_line.py [--rows N]

Each command runs in a process of its own, in turns with bare Python and with the imports it would
pay for otherwise; the table has the least CPU time and wall time of several runs. Then ``fit`` and
``predict`` on a CSV file of 2 * 10^6 rows, next to pyarrow and polars, which only read it. Keeps it
all as benchmarks/results/command_line.json.

An editable install looks at its sources at every start, which a wheel does not: about 0.05 s.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from rich.console import Console
from rich.table import Table

from treebound._utils.files import write_text

RESULTS = Path(__file__).parent / "results"
Times = dict[str, dict[str, float]]
PEERS = {
    "python -c pass": ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import pandas": ["-c", "import pandas"],
    "import sklearn.tree": ["-c", "import sklearn.tree"],
}


def write_rows(path: Path, rows: int) -> None:
    """A table of eight real columns, a nominal one, a whole one, and noisy labels."""
    rng = np.random.default_rng(0)
    columns = {f"x{i}": rng.normal(size=rows).round(4) for i in range(8)}
    colour = rng.choice(["red", "green", "blue"], rows)
    odd = (columns["x0"] > 0) ^ (colour == "red") ^ (rng.random(rows) < 0.05)
    columns |= {"colour": colour, "n": rng.integers(0, 100, rows)}
    columns["label"] = np.where(odd, "yes", "no")
    pyarrow.csv.write_csv(pa.table(columns), path)


def measured(commands: dict[str, list[str]], runs: int) -> Times:
    """The least CPU and wall seconds of every command, all taking turns."""
    times = {name: {"cpu": np.inf, "wall": np.inf} for name in commands}
    for _ in range(runs):
        for name, argv in commands.items():
            before, start = os.times(), time.perf_counter()
            subprocess.run([sys.executable, *argv], check=True, capture_output=True)
            wall, after = time.perf_counter() - start, os.times()
            spent = after.children_user + after.children_system
            spent -= before.children_user + before.children_system
            best = times[name]
            best["cpu"], best["wall"] = min(best["cpu"], spent), min(best["wall"], wall)
    return times


def of_treebound(commands: list[list[str]], files: dict[str, str]) -> dict[str, list[str]]:
    """Commands by the words that people type."""
    return {
        " ".join(["treebound", *argv]): ["-m", "treebound", *(files.get(a, a) for a in argv)]
        for argv in commands
    }


def small(folder: Path, runs: int) -> Times:
    """The time of a start, on 150 rows."""
    files = {name: str(folder / name) for name in ("small.csv", "model.json", "out.csv")}
    write_rows(folder / "small.csv", 150)
    on = ["small.csv", "--target", "label"]
    fit = ["fit", *on, "-o", "model.json"]
    measured(of_treebound([fit], files), 1)
    commands = [
        ["--version"], ["--help"], ["fit", "--help"], fit, ["check", *on],
        ["predict", "model.json", "small.csv", "-o", "out.csv"], ["show", "model.json"],
        ["prune", "model.json", "small.csv"], ["evaluate", "model.json", "small.csv"],
    ]  # fmt: skip
    return measured({**PEERS, **of_treebound(commands, files)}, runs)


def large(folder: Path, rows: int) -> Times:
    """Reading: growing stops early, so that most of the time is the file's."""
    files = {name: str(folder / name) for name in ("large.csv", "model.json", "out.csv")}
    write_rows(folder / "large.csv", rows)
    path = files["large.csv"]
    peers = {
        "pyarrow.csv.read_csv": ["-c", f"import pyarrow.csv; pyarrow.csv.read_csv({path!r})"],
        "polars.read_csv": ["-c", f"import polars; polars.read_csv({path!r})"],
    }
    commands = [
        ["fit", "large.csv", "--target", "label", "--pruning", "none", "--max-leaves", "20",
         "-o", "model.json"],
        ["predict", "model.json", "large.csv", "-o", "out.csv"],
    ]  # fmt: skip
    return measured({**peers, **of_treebound(commands, files)}, 2)


def show(title: str, times: Times) -> None:
    """Print a table."""
    table = Table("", "CPU s", "wall s", title=title)
    for name, seconds in times.items():
        table.add_row(name, f"{seconds['cpu']:.2f}", f"{seconds['wall']:.2f}")
    Console().print(table)


def main() -> None:
    """Run, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=2 * 10**6, help="rows of the large file")
    parser.add_argument("--runs", type=int, default=5, help="runs of each small command")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        times = {"start, 150 rows": small(folder, given.runs)}
        show("start, 150 rows", times["start, 150 rows"])
        times[f"{given.rows:,} rows"] = large(folder, given.rows)
        show(f"{given.rows:,} rows", times[f"{given.rows:,} rows"])
    RESULTS.mkdir(exist_ok=True)
    write_text(RESULTS / "command_line.json", json.dumps(times, indent=2) + "\n")


if __name__ == "__main__":
    main()
