"""The tables of a study: the paper's, and differences, wins, ranks and costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.bench.results import Results, mean_of_known
from treebound.bench.sheets import Cell, Sheet
from treebound.bench.statistics import (
    Difference,
    Ranking,
    difference_over_draws,
    difference_over_sets,
    rank,
    win_tie_loss,
)

NONE = "—"
_BEST = 0.001


def label_of(dataset: dict[str, Any]) -> str:
    """Title, a star for mixed data sets, and (examples, classes), as in the paper's table."""
    star = "*" if dataset["n_ordinal"] + dataset["n_nominal"] else ""
    return f"{dataset['title']}{star} ({dataset['n_examples']}, {dataset['n_classes']})"


def reference_model(results: Results) -> str:
    """The model to compare others with: "Ours" or "Bound, auto" if present, else the first."""
    named = [name for name in ("Ours", "Bound, auto") if name in results.competitors]
    return named[0] if named else results.competitors[0]


# -- the paper's tables ------------------------------------------------------------------------


def accuracy_table(results: Results) -> Sheet:
    """Mean test accuracy per data set and model, those within 0.1 % of the best in bold."""
    means = results.means("test_accuracy")
    best = best_cells(results)
    rows = []
    for at, dataset in enumerate(results.datasets):
        cells = [_percent(mean, bold) for mean, bold in zip(means[at], best[at], strict=True)]
        rows.append([Cell(label_of(dataset), dataset["name"]), *cells])
    notes = [
        f"Mean test accuracy in percent over {results.n_draws} draws; a star marks data sets with "
        "ordinal or nominal columns; (examples, classes) in brackets; bold: within 0.1 of the best"
        + (f", without {results.oracle}." if results.oracle else "."),
        *_gaps(results),
    ]
    header = ["Data set", *results.models]
    title = f"Accuracy, {results.study.protocol} protocol"
    return Sheet("accuracy", title, header, rows, _summary(results), notes)


def best_cells(results: Results) -> NDArray[np.bool_]:
    """Which cells are within 0.1 % of the best model that is not an oracle."""
    means = results.means("test_accuracy")
    competes = np.array([name in results.competitors for name in results.models])
    top = np.where(competes & ~np.isnan(means), means, -np.inf).max(axis=1, keepdims=True)
    # the paper rounds to 0.01 % first, so a gap of exactly 0.1 % is within
    best: NDArray[np.bool_] = competes & (means >= top - _BEST - 1e-9)
    return best


def _summary(results: Results) -> list[list[Cell]]:
    means = results.means("test_accuracy")
    best = best_cells(results).sum(axis=0)
    number = [
        Cell(str(count), int(count)) if name in results.competitors else Cell(NONE)
        for name, count in zip(results.models, best, strict=True)
    ]
    rows = [
        [Cell("Number of best"), *number],
        [Cell("Mean accuracy (%)"), *map(_percent, mean_of_known(means, 0))],
    ]
    if results.oracle:
        oracle = means[:, [results.models.index(results.oracle)]]
        fraction = mean_of_known(means / oracle, 0)
        rows.append([Cell("Mean fraction of oracle (%)"), *map(_percent, fraction)])
    seconds = mean_of_known(results.means("prune_seconds"), 0)
    leaves = mean_of_known(results.means("leaves"), 0)
    rows.append([Cell("Mean pruning time (s)"), *map(_seconds, seconds)])
    rows.append([Cell("Mean number of leaves"), *(_number(size, 2) for size in leaves)])
    return rows


def _gaps(results: Results) -> Iterator[str]:
    if results.missing:
        yield f"{results.missing:,} results are missing: the study is not complete."
    if results.failures:
        first = results.failures[0]
        yield (
            f"{len(results.failures):,} results failed and are left out, the first: "
            f"{first['model']} on {first['dataset']}, draw {first['draw']}: {first['error']}"
        )


_APPENDIX = (
    ("Train acc.", "train_accuracy", 3),
    ("Val. acc.", "validation_accuracy", 3),
    ("Test acc.", "test_accuracy", 3),
    ("Leaves", "leaves", 1),
    ("Depth", "depth", 1),
    ("Grow [s]", "grow_seconds", 4),
    ("Prune [s]", "prune_seconds", 4),
    ("Bound", "bound", 3),
    ("Certificate", "certificate", 3),
    ("Log-loss", "log_loss", 3),
    ("Brier", "brier", 3),
)


def dataset_table(results: Results, name: str) -> Sheet:
    """The appendix table of one data set: mean (deviation) of all quantities."""
    at = [dataset["name"] for dataset in results.datasets].index(name)
    dataset = results.datasets[at]
    best = best_cells(results)[at]
    rows = []
    for title, quantity, digits in _APPENDIX:
        means, spread = results.means(quantity)[at], results.deviations(quantity)[at]
        bold = best if quantity == "test_accuracy" else np.zeros(len(best), dtype=bool)
        cells = [
            Cell(NONE) if np.isnan(mean) else Cell(f"{mean:.{digits}f} ({std:.{digits}f})", mean, b)
            for mean, std, b in zip(means, spread, bold.tolist(), strict=True)
        ]
        if any(cell.text != NONE for cell in cells):
            rows.append([Cell(title), *cells])
    kinds = ", ".join(f"{dataset[f'n_{kind}']} {kind}" for kind in ("real", "ordinal", "nominal"))
    notes = [
        f"{dataset['n_examples']} examples, {dataset['n_classes']} classes, columns: {kinds}. "
        f"Mean (standard deviation) over {results.n_draws} draws."
    ]
    return Sheet(f"dataset:{name}", dataset["title"], ["", *results.models], rows, (), notes)


# -- other tables ------------------------------------------------------------------------------


def differences_table(results: Results) -> Sheet:
    """Paired differences between our model and each other, over data sets and draws."""
    model = reference_model(results)
    means = results.means("test_accuracy")
    at = results.models.index(model)
    rows = []
    for other in [name for name in results.competitors if name != model]:
        to = results.models.index(other)
        gap = difference_over_sets(means[:, at], means[:, to])
        clear = [result for result in per_set(results, at, to) if result.clear]
        better = sum(result.mean > 0 for result in clear)
        rows.append(
            [
                Cell(f"{model} − {other}"),
                Cell(f"{100 * gap.mean:+.2f}", gap.mean, gap.clear),
                Cell(f"{100 * gap.low:+.2f} to {100 * gap.high:+.2f}"),
                Cell(f"{gap.p_value:.3g}", gap.p_value),
                Cell(f"{better} / {len(clear) - better}"),
            ]
        )
    notes = [
        "Points of accuracy; bold: the interval excludes zero. Interval: Student's t over data "
        "sets; p: Wilcoxon's signed ranks. Better / worse: data sets on which the difference over "
        "draws is clear, with the variance corrected for overlapping training parts."
    ]
    header = ["Difference", "Mean", "95 % interval", "p", "Clearly better / worse"]
    return Sheet("differences", f"{model} against the others", header, rows, (), notes)


def per_set(results: Results, at: int, to: int) -> list[Difference]:
    """The difference of two models on each data set, over its draws."""
    cube = results.cube("test_accuracy")
    fraction = float(results.study.settings["test_fraction"])
    return [
        difference_over_draws(draws[:, at], draws[:, to], test_fraction=fraction) for draws in cube
    ]


def wins_table(results: Results) -> Sheet:
    """Win / tie / loss counts of each pair; a tie is within 0.1 %."""
    means = results.means("test_accuracy")
    places = [results.models.index(name) for name in results.competitors]
    rows = []
    for name, at in zip(results.competitors, places, strict=True):
        cells = [
            Cell(NONE)
            if at == to
            else Cell(" / ".join(map(str, win_tie_loss(means[:, at], means[:, to], tie=_BEST))))
            for to in places
        ]
        rows.append([Cell(name), *cells])
    notes = ["Data sets on which the row's model wins / ties (within 0.1 %) / loses."]
    return Sheet("wins", "Win / tie / loss", ["", *results.competitors], rows, (), notes)


def ranking(results: Results) -> Ranking | None:
    """The ranks of the competitors; None if there are too few data."""
    places = [results.models.index(name) for name in results.competitors]
    return rank(results.means("test_accuracy")[:, places])


def ranks_table(results: Results) -> Sheet | None:
    """Mean ranks, Friedman's test and significant differences; None if there are too few data."""
    result = ranking(results)
    if result is None:
        return None
    rows = []
    for at in np.argsort(result.ranks, kind="stable").tolist():
        letters = [chr(97 + number) for number, group in enumerate(result.groups) if at in group]
        cells = [Cell(f"{result.ranks[at]:.2f}", float(result.ranks[at])), Cell("".join(letters))]
        rows.append([Cell(results.competitors[at]), *cells])
    notes = [
        f"Friedman chi² = {result.chi2:.2f}, Iman-Davenport F = {result.f:.2f}, "
        f"p = {result.p_value:.2g}, on {result.n_sets} data sets. Models that share a letter "
        f"differ by less than the critical difference {result.critical_difference:.2f} "
        "(Nemenyi, 5 %)."
    ]
    return Sheet("ranks", "Mean ranks", ["Model", "Mean rank", "Groups"], rows, (), notes)


def cost_table(results: Results) -> Sheet:
    """Accuracy, size and time, means over data sets."""
    columns: list[tuple[str, str, Callable[[float], Cell]]] = [
        ("Accuracy (%)", "test_accuracy", _percent),
        ("Log-loss", "log_loss", lambda mean: _number(mean, 3)),
        ("Brier", "brier", lambda mean: _number(mean, 3)),
        ("Leaves", "leaves", lambda mean: _number(mean, 1)),
        ("Depth", "depth", lambda mean: _number(mean, 1)),
        ("Grow (s)", "grow_seconds", _seconds),
        ("Prune (s)", "prune_seconds", _seconds),
        ("Certificate", "certificate", lambda mean: _number(mean, 3)),
    ]
    result = {key: mean_of_known(results.means(key), 0) for _, key, _ in columns}
    rows = [
        [Cell(name), *(show(result[key][at]) for _, key, show in columns)]
        for at, name in enumerate(results.models)
    ]
    header = ["Model", *(title for title, _, _ in columns)]
    notes = [f"Means over {len(results.datasets)} data sets of means over draws."]
    return Sheet("cost", "Accuracy, size and time", header, rows, (), notes)


_TABLES: dict[str, Callable[[Results], Sheet | None]] = {
    "accuracy": accuracy_table,
    "cost": cost_table,
    "differences": differences_table,
    "wins": wins_table,
    "ranks": ranks_table,
}
TABLES = (*_TABLES, "datasets")


def sheets_of(results: Results, tables: Sequence[str] = TABLES) -> list[Sheet]:
    """The tables of a study."""
    sheets: list[Sheet | None] = []
    for name in tables:
        if name not in TABLES:
            raise ValueError(
                f"There is no table {name!r}. Hint: the tables are {', '.join(TABLES)}."
            )
        if name == "datasets":
            sheets += [dataset_table(results, dataset["name"]) for dataset in results.datasets]
        else:
            sheets.append(_TABLES[name](results))
    return [sheet for sheet in sheets if sheet is not None]


# -- cells -------------------------------------------------------------------------------------


def _percent(value: float, bold: bool = False) -> Cell:
    return Cell(NONE) if np.isnan(value) else Cell(f"{100 * value:.2f}", float(value), bool(bold))


def _number(value: float, digits: int) -> Cell:
    return Cell(NONE) if np.isnan(value) else Cell(f"{value:.{digits}f}", float(value))


def _seconds(value: float) -> Cell:
    return replace(_number(value, 2), text=f"{value:.2g}") if value < 1 else _number(value, 2)
