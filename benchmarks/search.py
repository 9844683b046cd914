"""Greedy growth and the wide search on tables of up to 5,000 rows.

    python benchmarks/search.py [--match TEXT] [--draws 20] [--jobs 2]
    python benchmarks/search.py --test-half
    python benchmarks/search.py --times

The tables and the draws are those of ``unseen.py``. Both searches are fitted with the default
options and, in a second fit, with ``class_weight="balanced"``. The first fit is judged at the size
that it chooses ("free") and at most 4, 8 and 16 leaves, which are the trees of ``max_leaves``; the
second one at its own size. Differences are wide minus greedy, paired by draw, with standard errors
over tables and Wilcoxon's p value. Accuracies are in points. Seconds are processor time of the
whole fit with its folds, on one thread. "Growths" is the time of one search, with the best tree of
each size, as a multiple of one greedy growth on the same rows.

The rule, which was fixed before this script ran: ``search="auto"`` becomes the default if, on the
development half, the accuracy at the free size or with at most 8 leaves gains at least two standard
errors, and no figure (accuracy, balanced accuracy and log-loss at 4, 8, 16 leaves, at the free size
and with class weights) is worse by two standard errors. Then the test half runs once, and the
default changes if the gain at the same size is positive there by two standard errors. Else greedy
growth stays the default, and ``"auto"`` is an option.

As in ``unseen.py``, results are stored after every fit, the development half is the default, and a
run of the test half is appended to ``benchmarks/results/search_log.json``. ``--times`` measures
the times alone, of two draws per table, and writes them to ``search_growths.json``.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from catalogue import CLASSIFICATION
from evidence import (
    ByTable,
    Figures,
    Store,
    Task,
    add_options,
    append_to_log,
    chosen_tables,
    commit,
    compare,
    figure_by_table,
    mean_over_tables,
    now,
    run_tasks,
    save,
    single_threaded,
    source_hash,
)
from rich.console import Console
from rich.table import Table
from sklearn.metrics import balanced_accuracy_score
from unseen import GROUPS, Data, TableFacts, draw_data, facts, log_loss

import treebound as tb
from treebound.data import Sample
from treebound.growing import GrowOptions, grow
from treebound.growing.graph import search
from treebound.pruning.costs import Costs
from treebound.pruning.searched import BestOfGraph

MAX_ROWS = 5_000
LIMITS: dict[str, int | None] = {"4 leaves": 4, "8 leaves": 8, "16 leaves": 16, "free": None}
BALANCED = "free, class weights"
SETTINGS = (*LIMITS, BALANCED)
FIGURES = ("accuracy", "balanced accuracy", "log-loss", "leaves")
Search = Literal["greedy", "wide"]
SEARCHES: tuple[Search, ...] = get_args(Search)
TIMES = "times of one growth"
TIME_DRAWS = 2
MIN_SECONDS = 0.05
# Two standard errors decide; the signs are those of a gain.
ERRORS = 2.0
GAINS = {"accuracy": 1, "balanced accuracy": 1, "log-loss": -1}


@lru_cache
def versions() -> dict[str, str]:
    """Return the methods and the version that their results belong to."""
    sources = source_hash(Path(tb.__file__).parent)
    names = [*SEARCHES, *(f"{name}, class weights" for name in SEARCHES), TIMES]
    return dict.fromkeys(names, sources)


# -- one fit ---------------------------------------------------------------------------------------


def measure(task: Task) -> Figures:
    """Fit with one search on a draw, and test the trees of each size."""
    warnings.filterwarnings("ignore")  # rare classes and constant columns, in every draw
    data = draw_data(task.table, task.draw)
    if task.method == TIMES:
        return growth_times(data)
    weighted = task.method.endswith(", class weights")
    how: Search = "wide" if task.method.startswith("wide") else "greedy"
    clf = tb.BoundTreeClassifier(search=how, class_weight="balanced" if weighted else None)
    start = time.process_time()
    clf.fit(data.X, data.y)
    figures: Figures = {"seconds": time.process_time() - start}
    for setting, leaves in ({BALANCED: None} if weighted else LIMITS).items():
        model = clf.model_
        if leaves is not None and model.tree.n_leaves > leaves:
            result = clf.pruning_result_
            assert result is not None
            path = result.within(leaves).path
            model = model.prune_to(path.tree().n_leaves)
        labels = np.asarray(model.predict(data.test_X))
        values = (
            100 * float(np.mean(labels == data.test_y)),
            100 * float(balanced_accuracy_score(data.test_y, labels)),
            log_loss(data.test_y, model.predict_proba(data.test_X), clf.classes_),
            float(model.tree.n_leaves),
        )
        figures |= {f"{name}, {setting}": v for name, v in zip(FIGURES, values, strict=True)}
    return figures


def growth_times(data: Data) -> Figures:
    """Return the processor times of a greedy growth and of a search with its best trees."""
    sample, options = Sample.learn(data.X, data.y), GrowOptions("entropy", n_jobs=1)

    def searched() -> None:
        graph = search(sample, options)
        BestOfGraph(graph, Costs.of(graph.root, None))

    return {
        "growth": seconds_of(lambda: grow(sample, options)),
        "search": seconds_of(searched),
    }


def seconds_of(work: Callable[[], Any]) -> float:
    """Return the processor time of a call, repeated for at least 0.05 seconds."""
    work()
    start, calls = time.process_time(), 0
    while not calls or time.process_time() - start < MIN_SECONDS:
        work()
        calls += 1
    return (time.process_time() - start) / calls


# -- summary ---------------------------------------------------------------------------------------


def summarise(
    results: Mapping[Task, Figures | str], tables: Mapping[str, TableFacts]
) -> dict[str, Any]:
    """Return means and differences at each size, by groups of tables, and the times."""

    def values(how: str, figure: str, setting: str) -> ByTable:
        method = f"{how}, class weights" if setting == BALANCED else how
        return figure_by_table(results, method, f"{figure}, {setting}")

    def difference(figure: str, setting: str, members: list[str] | None = None) -> Any:
        greedy, wide = (values(how, figure, setting) for how in SEARCHES)
        paired = compare(wide, greedy, members)
        return None if paired is None else paired._asdict()

    settings = {
        setting: {
            **{how: {f: mean_over_tables(values(how, f, setting)) for f in FIGURES}
               for how in SEARCHES},
            "wide minus greedy": {f: difference(f, setting) for f in FIGURES},
        }
        for setting in SETTINGS
    }  # fmt: skip
    groups = {}
    for group, contains in GROUPS.items():
        members = [table for table, size in tables.items() if contains(size)]
        if members:
            groups[group] = {"tables": len(members)} | {
                setting: difference("accuracy", setting, members) for setting in SETTINGS
            }
    by_table = {
        table: {
            **size._asdict(),
            "accuracy": {s: _difference(values, s, table) for s in SETTINGS},
            "seconds": {how: _mean(figure_by_table(results, how, "seconds"), table)
                        for how in SEARCHES},
        }
        for table, size in tables.items()
    }  # fmt: skip
    summary = {
        "settings": settings, "decision": decision(settings), "groups": groups,
        "times": times_of(results), "tables": by_table,
    }  # fmt: skip
    return {key: rounded(value) for key, value in summary.items()}


def _difference(values: Callable[..., ByTable], setting: str, table: str) -> float | None:
    paired = compare(values("wide", "accuracy", setting), values("greedy", "accuracy", setting),
                     [table])  # fmt: skip
    return None if paired is None else paired.difference


def _mean(values: ByTable, table: str) -> float | None:
    draws = values.get(table)
    return float(np.mean(list(draws.values()))) if draws else None


def decision(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Apply the rule of the module: sizes that gain, figures that lose, and the outcome."""

    def in_errors(figure: str, setting: str) -> float:
        paired = settings[setting]["wide minus greedy"][figure]
        if paired is None or not paired["standard_error"]:
            return 0.0
        return float(GAINS[figure] * paired["difference"] / paired["standard_error"])

    gains = [s for s in ("free", "8 leaves") if in_errors("accuracy", s) >= ERRORS]
    losses = [f"{f}, {s}" for f in GAINS for s in SETTINGS if in_errors(f, s) <= -ERRORS]
    return {"gains": gains, "losses": losses, "auto by default": bool(gains) and not losses}


def times_of(results: Mapping[Task, Figures | str]) -> dict[str, Any]:
    """Return mean, median and maximum over tables of the times of a fit and of one growth."""

    def over_tables(method: str, figure: str) -> dict[str, float]:
        values = figure_by_table(results, method, figure)
        return {table: float(np.mean(list(draws.values()))) for table, draws in values.items()}

    def spread(values: list[float]) -> dict[str, float | None]:
        if not values:
            return {"mean": None, "median": None, "maximum": None}
        array = np.array(values)
        return {"mean": float(array.mean()), "median": float(np.median(array)),
                "maximum": float(array.max())}  # fmt: skip

    fits = {how: over_tables(how, "seconds") for how in SEARCHES}
    grown, searched = (over_tables(TIMES, figure) for figure in ("growth", "search"))
    return {
        **{f"seconds, {how}": spread(list(fits[how].values())) for how in SEARCHES},
        "wide / greedy, whole fit": spread(
            [fits["wide"][t] / fits["greedy"][t] for t in fits["wide"] if t in fits["greedy"]]
        ),
        "growths per search": spread([searched[t] / grown[t] for t in searched]),
        "growths per search, all tables together": (
            sum(searched.values()) / sum(grown.values()) if grown else None
        ),
    }


def rounded(value: Any) -> Any:
    """Round the numbers in nested mappings to four significant digits."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, float):
        return float(f"{value:.4g}")
    return value


# -- output ----------------------------------------------------------------------------------------


def show(summary: Mapping[str, Any]) -> Table:
    """Return the table that is printed: one row per size."""
    titles = ("size", "leaves", "accuracy", "better/worse", "p", "balanced accuracy", "log-loss")
    table = Table(*titles, box=None, title="wide minus greedy")
    for setting, row in summary["settings"].items():
        paired = row["wide minus greedy"]
        accuracy = paired["accuracy"]
        if accuracy is None:
            continue
        p_value = accuracy["p_value"]
        table.add_row(
            setting,
            " / ".join(f"{row[how]['leaves']:.1f}" for how in reversed(SEARCHES)),
            gain(accuracy, 2),
            f"{accuracy['better']}/{accuracy['worse']}",
            "" if p_value is None else f"{p_value:.2g}",
            gain(paired["balanced accuracy"], 2),
            gain(paired["log-loss"], 4),
        )
    for group, row in summary["groups"].items():
        cells = [f"{s} {gain(row[s], 2)}" for s in ("8 leaves", "free") if row[s]]
        table.add_row(f"{group} ({row['tables']})", "", *cells)
    return table


def gain(paired: Mapping[str, Any], digits: int) -> str:
    """Return a difference with its standard error."""
    error = paired["standard_error"]
    shown = "" if error is None else f" ± {error:.{digits}f}"
    return f"{paired['difference']:+.{digits}f}{shown}"


def tasks_of(tables: Mapping[str, TableFacts], draws: int) -> list[Task]:
    """Return the fits, draw by draw, so that an interrupted run has all tables."""
    return [
        Task(table, draw, method, version)
        for draw in range(draws)
        for table in tables
        for method, version in versions().items()
        if method != TIMES or draw < TIME_DRAWS
    ]


def main(arguments: list[str] | None = None) -> None:
    """Run what has no result, print the differences, and write JSON."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0],
        epilog=(__doc__ or "").split("\n\n", 2)[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_options(parser, store="search.sqlite", log="search_log.json", methods="")
    parser.add_argument("--stored", action="store_true", help="show the stored results, run none")
    parser.add_argument("--times", action="store_true", help="measure the times alone")
    options = parser.parse_args(arguments)
    single_threaded()
    specs = chosen_tables(
        CLASSIFICATION, "test" if options.test_half else "development", options.match
    )
    if not specs:
        parser.error("no table can be loaded; hint: pip install 'treebound[bench]'")
    tables = {spec.name: size for spec in specs if (size := facts(spec)).rows <= MAX_ROWS}
    tasks = tasks_of(tables, TIME_DRAWS if options.times else options.draws)
    if options.times:
        tasks = [task for task in tasks if task.method in (*SEARCHES, TIMES)]
    with Store(options.store) as store:
        try:
            if not options.stored:
                run_tasks(tasks, measure, store, jobs=options.jobs)
        except KeyboardInterrupt:
            sys.exit("interrupted: the same command continues")
        results = store.results(tasks)
    if options.times:
        times = times_of(results)
        for name, value in times.items():
            print(f"{name}: {value}")
        head = {"date": now(), "commit": commit(), "tables": len(tables)}
        save(options.results, "search_growths", {**head, **rounded(times)})
        return
    report(results, tables, options)


def report(
    results: Mapping[Task, Figures | str],
    tables: Mapping[str, TableFacts],
    options: argparse.Namespace,
) -> None:
    """Print the results, write them, and log a run of the test half."""
    errors = [f"{t.table}, draw {t.draw}, {t.method}: {e}" for t, e in results.items()
              if isinstance(e, str)]  # fmt: skip
    head = {
        "half": "test" if options.test_half else "development",
        "date": now(),
        "commit": commit(),
        "draws": len({task.draw for task in results}),
        "fits": len(results),
        "failed fits": errors,
    }
    summary = summarise(results, tables)
    Console(width=140).print(show(summary))
    for name, value in [*summary["times"].items(), *summary["decision"].items()]:
        print(f"{name}: {value}")
    for line in errors[:10]:
        print("failed:", line)
    save(options.results, "search_test" if options.test_half else "search", {**head, **summary})
    if options.test_half:
        short = {key: summary[key] for key in ("settings", "decision", "groups", "times")}
        looks = append_to_log(options.log, {**head, "tables": len(tables), **short})
        print(f"{options.log} now has {looks} entries")


if __name__ == "__main__":
    main()
