"""The study's tables of the README, as Markdown, from a store of results.

    treebound bench --protocol paper --jobs 2 --store study.sqlite
    treebound bench --protocol standard --jobs 2 --store study.sqlite
    python benchmarks/study.py study.sqlite [--reference authors_code_by_draw.csv]

With ``--reference`` the grown trees are compared draw by draw with what the authors' code gives.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np

from treebound.bench import Store
from treebound.bench.published import compare
from treebound.bench.results import Results
from treebound.bench.sheets import Cell, Sheet, as_markdown
from treebound.bench.tables import (
    accuracy_table,
    cost_table,
    differences_table,
    label_of,
    published_table,
    ranks_table,
)


def main() -> None:
    """Print the tables of every study in the store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--reference", type=Path, help="figures of the authors' code by draw")
    parser.add_argument("--full", action="store_true", help="every data set, not the summary alone")
    options = parser.parse_args()
    with Store(options.store, must_exist=True) as store:
        names = [study.protocol for study in store.studies()]
        studies = {name: Results.read(store, name) for name in names}
    for name, results in studies.items():
        print(f"## {name.capitalize()} protocol\n")
        print(took(results), "\n")
        for sheet in sheets(results, options):
            print(as_markdown(sheet))


def took(results: Results) -> str:
    """How much was computed, and how long the computers worked on it."""
    seconds = [results.cube(name) for name in ("grow_seconds", "prune_seconds")]
    total = sum(float(np.nansum(cube)) for cube in seconds)
    return (
        f"{len(results.datasets)} data sets, {results.n_draws} draws, "
        f"{len(results.models)} models: {len(results.rows):,} results, "
        f"{len(results.failures)} failed; growing and pruning took {total:,.1f} s in all."
    )


def sheets(results: Results, options: argparse.Namespace) -> list[Sheet]:
    """What the README shows of a study."""
    accuracy = accuracy_table(results)
    if not options.full:
        summary = [list(row) for row in accuracy.footer]
        accuracy = Sheet("summary", accuracy.title, ["", *accuracy.header[1:]], summary)
    found = [accuracy, cost_table(results), differences_table(results), ranks_table(results)]
    if results.study.protocol == "paper":
        found += [published_table(results) if options.full else None, beyond_noise(results)]
        if options.reference:
            found.append(draw_by_draw(results, options.reference))
    return [sheet for sheet in found if sheet is not None]


def beyond_noise(results: Results) -> Sheet:
    """The cells that differ from the published ones by more than two standard errors."""
    cells = compare(results)
    rows = []
    for one in cells:
        if not one.within_noise:
            figures = (f"{100 * one.mean:.2f}", f"{100 * one.printed:.2f}", f"{one.errors:+.1f}")
            rows.append([Cell(label_of(one.dataset)), Cell(one.model), *map(Cell, figures)])
    within = ", ".join(
        f"{model} {sum(c.within_noise for c in cells if c.model == model)}"
        for model in results.models
    )
    notes = [f"Data sets within two standard errors, of {len(results.datasets)}: {within}."]
    header = ["Data set", "Model", "Here", "Printed", "Standard errors"]
    return Sheet("beyond", "Beyond noise of the published table", header, rows, (), notes)


def draw_by_draw(results: Results, path: Path) -> Sheet:
    """How often a model's test accuracy is that of the authors' code, to one test example."""
    expected: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    with path.open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            expected[row["dataset"], row["model"]][int(row["draw"])] = float(row["test_acc"])
    cube = results.cube("test_accuracy")
    rows = []
    totals = {model: [0, 0, 0] for model in results.models}
    for at, dataset in enumerate(results.datasets):
        complete = len(expected[dataset["name"], "Ours"]) == 25
        cells = []
        for column, model in enumerate(results.models):
            known = expected[dataset["name"], model]
            if not complete or not known:
                continue
            tests = round(0.15 * dataset["n_examples"])
            gaps = [abs(cube[at, draw, column] - value) * tests for draw, value in known.items()]
            near = sum(gap <= 1.01 for gap in gaps)
            same = sum(gap <= 0.01 for gap in gaps)
            for place, count in enumerate((near, same, len(gaps))):
                totals[model][place] += count
            cells.append(Cell(f"{near} ({same}) of {len(gaps)}"))
        if cells:
            rows.append([Cell(label_of(dataset)), *cells])
    shares = [
        Cell(f"{100 * near / n:.1f} ({100 * same / n:.1f})") if n else Cell("—")
        for near, same, n in totals.values()
    ]
    footer = [[Cell("Share (%)"), *shares]]
    notes = ["Draws within one test example of the authors' code (draws with equal accuracy)."]
    header = ["Data set", *results.models]
    return Sheet("draws", "Draw by draw beside the authors' code", header, rows, footer, notes)


if __name__ == "__main__":
    main()
