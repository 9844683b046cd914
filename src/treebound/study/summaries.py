"""The tables of a study: the paper's, and differences, wins, ranks and costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats
from treebound.study.results import Results, mean_of_known
from treebound.study.sheets import Cell, Sheet
from treebound.study.statistics import (
    MeanDifference,
    Ranking,
    difference,
    rank,
    wilcoxon,
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


def _percent(share: float) -> str:
    return f"{100 * share:.2f}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.2g}" if seconds < 1 else f"{seconds:.2f}"


def _cells(values: Floats, text: Callable[[float], str], bold: Any = False) -> list[Cell]:
    """Values as they are shown; those that are missing as a dash."""
    marks = np.broadcast_to(bold, values.shape).tolist()
    return [
        Cell(NONE) if np.isnan(value) else Cell(text(value), value, mark)
        for value, mark in zip(values.tolist(), marks, strict=True)
    ]


# -- the paper's tables ------------------------------------------------------------------------


def accuracy_table(results: Results) -> Sheet:
    """Mean test accuracy per data set and model, those within 0.1 % of the best in bold."""
    means, best = results.means("test_accuracy"), best_cells(results)
    rows = [
        [Cell(label_of(dataset), dataset["name"]), *_cells(means[at], _percent, best[at])]
        for at, dataset in enumerate(results.datasets)
    ]
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
    best = dict(zip(results.models, best_cells(results).sum(axis=0).tolist(), strict=True))
    number = [
        Cell(str(best[name]), best[name]) if name in results.competitors else Cell(NONE)
        for name in results.models
    ]
    accuracy = _cells(mean_of_known(means, 0), _percent)
    rows = [[Cell("Number of best"), *number], [Cell("Mean accuracy (%)"), *accuracy]]
    if results.oracle:
        oracle = means[:, [results.models.index(results.oracle)]]
        shares = _cells(mean_of_known(means / oracle, 0), _percent)
        rows.append([Cell("Mean fraction of oracle (%)"), *shares])
    seconds = _cells(over_sets(results, "prune_seconds"), _seconds)
    leaves = _cells(over_sets(results, "leaves"), "{:.2f}".format)
    rows += [[Cell("Mean pruning time (s)"), *seconds], [Cell("Mean number of leaves"), *leaves]]
    return rows


def over_sets(results: Results, quantity: str) -> Floats:
    """Means of each model over the data sets."""
    return mean_of_known(results.means(quantity), 0)


def _gaps(results: Results) -> Iterator[str]:
    if results.missing:
        yield f"{results.missing:,} results are missing: the study is not complete."
    if results.failures:
        first = results.failures[0]
        yield (
            f"{len(results.failures):,} results failed and are not counted, the first: "
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


def dataset_table(results: Results, at: int) -> Sheet:
    """The appendix table of one data set: mean (deviation) of all quantities."""
    dataset, best = results.datasets[at], best_cells(results)[at]
    rows = []
    for title, quantity, digits in _APPENDIX:
        means, spread = results.means(quantity)[at], results.deviations(quantity)[at]
        bold = (best & (quantity == "test_accuracy")).tolist()
        cells = [
            Cell(NONE) if np.isnan(mean) else Cell(f"{mean:.{digits}f} ({std:.{digits}f})", mean, b)
            for mean, std, b in zip(means, spread, bold, strict=True)
        ]
        if not np.isnan(means).all():
            rows.append([Cell(title), *cells])
    kinds = ", ".join(f"{dataset[f'n_{kind}']} {kind}" for kind in ("real", "ordinal", "nominal"))
    notes = [
        f"{dataset['n_examples']} examples, {dataset['n_classes']} classes, columns: {kinds}. "
        f"Mean (standard deviation) over {results.n_draws} draws."
    ]
    key = f"dataset:{dataset['name']}"
    return Sheet(key, dataset["title"], ["", *results.models], rows, (), notes)


# -- other tables ------------------------------------------------------------------------------


def differences_table(results: Results) -> Sheet:
    """Paired differences between our model and each other, over data sets and draws."""
    model = reference_model(results)
    means = results.means("test_accuracy")
    at = results.models.index(model)
    rows = []
    for other in [name for name in results.competitors if name != model]:
        to = results.models.index(other)
        gap, p_value = difference(means[:, at], means[:, to]), wilcoxon(means[:, at], means[:, to])
        clear = [result for result in per_set(results, at, to) if result.clear]
        better = sum(result.mean > 0 for result in clear)
        rows.append(
            [
                Cell(f"{model} − {other}"),
                Cell(f"{100 * gap.mean:+.2f}", gap.mean, gap.clear),
                Cell(f"{100 * gap.low:+.2f} to {100 * gap.high:+.2f}"),
                Cell(f"{p_value:.3g}", p_value),
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


def per_set(results: Results, at: int, to: int) -> list[MeanDifference]:
    """The difference of two models on each data set, over its draws."""
    fraction = results.study.settings["test_fraction"]
    overlap = fraction / (1.0 - fraction)
    cube = results.cube("test_accuracy")
    return [difference(draws[:, at], draws[:, to], overlap=overlap) for draws in cube]


def wins_table(results: Results) -> Sheet:
    """Win / tie / loss counts of each pair; a tie is within 0.1 %."""
    means = results.means("test_accuracy")
    columns = {name: means[:, results.models.index(name)] for name in results.competitors}
    rows = []
    for name, column in columns.items():
        counts = {to: win_tie_loss(column, other) for to, other in columns.items()}
        texts = [NONE if to == name else " / ".join(map(str, counts[to])) for to in columns]
        rows.append([Cell(name), *map(Cell, texts)])
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
    columns: dict[str, tuple[str, Callable[[float], str]]] = {
        "Accuracy (%)": ("test_accuracy", _percent),
        "Log-loss": ("log_loss", "{:.3f}".format),
        "Brier": ("brier", "{:.3f}".format),
        "Leaves": ("leaves", "{:.1f}".format),
        "Depth": ("depth", "{:.1f}".format),
        "Grow (s)": ("grow_seconds", _seconds),
        "Prune (s)": ("prune_seconds", _seconds),
        "Certificate": ("certificate", "{:.3f}".format),
    }
    shown = [_cells(over_sets(results, key), text) for key, text in columns.values()]
    rows = [[Cell(name), *cells] for name, *cells in zip(results.models, *shown, strict=True)]
    notes = [f"Means over {len(results.datasets)} data sets of means over draws."]
    return Sheet("cost", "Accuracy, size and time", ["Model", *columns], rows, (), notes)


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
            sheets += [dataset_table(results, at) for at in range(len(results.datasets))]
        else:
            sheets.append(_TABLES[name](results))
    return [sheet for sheet in sheets if sheet is not None]
