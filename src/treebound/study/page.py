"""A self-contained HTML page with the tables and plots of a study."""

from __future__ import annotations

from importlib.resources import files
from itertools import permutations
from math import isfinite
from typing import Any

import numpy as np

from treebound._utils.html import assembled
from treebound.study.measure import QUANTITIES
from treebound.study.results import Results
from treebound.study.sheets import Cell, Sheet
from treebound.study.statistics import MeanDifference, difference
from treebound.study.summaries import over_sets, per_set, ranking, reference_model, sheets_of


def page(results: Results) -> str:
    """The page of a study: one HTML document with all tables and plots."""
    folder = files("treebound.study") / "assets"
    return assembled(
        folder / "page.html",
        title=f"treebound study: {results.study.protocol} protocol",
        data=_content(results),
        styles=[folder / "page.css"],
        scripts=[folder / name for name in ("page_tables.js", "page_plots.js", "page.js")],
    )


def _content(results: Results) -> dict[str, Any]:
    datasets = [
        {**entry, "n_features": entry["n_real"] + entry["n_ordinal"] + entry["n_nominal"]}
        for entry in results.datasets
    ]
    used = [model for model in results.study.models if model["name"] in results.models]
    ranks = ranking(results)
    sets, held_out = len(datasets), 100 * results.study.settings["test_fraction"]
    return {
        "lead": f"{sets} data set{'s' * (sets > 1)} × {results.n_draws} draws × "
        f"{len(results.models)} models: {len(results.rows):,} results, each judged on "
        f"{held_out:.0f} % of the rows held out.",
        "cards": _cards(results),
        "about": _about(results),
        "models": [{key: model[key] for key in ("name", "settings")} for model in used],
        "competitors": results.competitors,
        "reference": reference_model(results),
        "datasets": datasets,
        "means": {name: _plain(results.means(name)) for name in QUANTITIES},
        "draws": _plain(results.cube("test_accuracy")),
        "sheets": [_sheet(sheet, results) for sheet in sheets_of(results)],
        "ranking": ranks
        and {
            "names": results.competitors,
            "ranks": ranks.ranks.tolist(),
            "groups": ranks.groups,
            "critical_difference": ranks.critical_difference,
        },
        "pairs": _pairs(results),
    }


def _cards(results: Results) -> list[dict[str, str]]:
    """Four key figures: our model compared with the best of the others."""
    ours = reference_model(results)
    accuracy, leaves, seconds = (
        dict(zip(results.models, over_sets(results, quantity).tolist(), strict=True))
        for quantity in ("test_accuracy", "leaves", "prune_seconds")
    )
    cards = {f"mean accuracy of {ours}": f"{100 * accuracy[ours]:.2f} %"}
    rivals = [name for name in results.competitors if name != ours]
    if rivals:
        best = max(rivals, key=accuracy.__getitem__)
        cards[f"of {best}, the best other"] = f"{100 * accuracy[best]:.2f} %"
    if not np.isnan(leaves[ours]):
        cards[f"leaves, mean of {ours}"] = f"{leaves[ours]:.1f}"
    if not np.isnan(seconds[ours]):
        cards[f"to prune, mean of {ours}"] = _duration(seconds[ours])
    return [{"figure": figure, "text": text} for text, figure in cards.items()]


def _about(results: Results) -> list[dict[str, str]]:
    settings = results.study.settings
    result = {
        "Protocol": f"{results.study.protocol} ({results.study.key})",
        "Draws": f"{results.n_draws}, seeds from the generator of root seed "
        f"{settings.get('root_seed')}; the last {settings.get('test_fraction')} of the shuffled "
        "rows are the test part",
        "Versions": "; ".join(
            sorted({row["versions"] for row in results.rows if "versions" in row})
        ),
        "Failed": f"{len(results.failures)} results" if results.failures else "nothing",
        "Missing": f"{results.missing} results" if results.missing else "nothing",
    }
    for row in results.failures[:20]:
        result[f"{row['model']}, {row['dataset']}, draw {row['draw']}"] = str(row["error"])
    return [{"name": name, "text": text} for name, text in result.items()]


def _sheet(sheet: Sheet, results: Results) -> dict[str, Any]:
    rows, footer = (
        [[_cell(cell) for cell in row] for row in part] for part in (sheet.rows, sheet.footer)
    )
    if sheet.key == "accuracy":
        _add_tips(rows, results)
    return {**vars(sheet), "rows": rows, "footer": footer}


def _cell(cell: Cell) -> dict[str, Any]:
    number = isinstance(cell.value, (int, float))
    value = {"v": _finite(float(cell.value))} if number else {}
    return {"t": cell.text, **value, **({"b": 1} if cell.bold else {})}


def _add_tips(rows: list[list[dict[str, Any]]], results: Results) -> None:
    spread, leaves = results.deviations("test_accuracy"), results.means("leaves")
    counts = results.counts("test_accuracy")
    for at, row in enumerate(rows):
        for model, cell in enumerate(row[1:]):
            if "v" in cell:
                tip = f"{results.models[model]}: {cell['t']} ± {100 * spread[at, model]:.2f}"
                size = leaves[at, model]
                tip += "" if np.isnan(size) else f"\n{size:.1f} leaves"
                cell["tip"] = f"{tip}\n{counts[at, model]} draws"


def _pairs(results: Results) -> dict[str, Any]:
    """Differences of each ordered pair of models, per data set and overall."""
    means = results.means("test_accuracy")
    pairs = {}
    for first, second in permutations(results.competitors, 2):
        at, to = results.models.index(first), results.models.index(second)
        pairs[f"{first}|{second}"] = {
            "all": _interval(difference(means[:, at], means[:, to])),
            "sets": [_interval(gap) for gap in per_set(results, at, to)],
        }
    return pairs


def _interval(gap: MeanDifference) -> dict[str, float | None]:
    return {name: _finite(value) for name, value in vars(gap).items()}


def _plain(values: Any) -> Any:
    """An array as nested lists, with None for NaN and six significant digits."""
    if isinstance(values, np.ndarray):
        return [_plain(value) for value in values]
    return _finite(float(values))


def _finite(value: float) -> float | None:
    return float(f"{value:.6g}") if isfinite(value) else None


def _duration(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{1e6 * seconds:.0f} µs"
    return f"{1e3 * seconds:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"
