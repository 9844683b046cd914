"""A self-contained HTML page with the tables and plots of a study."""

from __future__ import annotations

from importlib.resources import files
from itertools import permutations
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from treebound._files import write_text
from treebound._html import assembled
from treebound.bench.measure import QUANTITIES
from treebound.bench.results import Results
from treebound.bench.sheets import Cell, Sheet
from treebound.bench.statistics import Difference, difference_over_sets
from treebound.bench.summaries import TABLES, per_set, ranking, reference_model, sheets_of


def write_page(results: Results, path: str | Path) -> Path:
    """Write the page of a study: one HTML file with all tables and plots."""
    write_text(path, page(results))
    return Path(path)


def page(results: Results) -> str:
    """The page of a study as HTML."""
    title = f"treebound study: {results.study.protocol} protocol"
    folder = files("treebound.bench") / "assets"
    scripts = ("page_tables.js", "page_plots.js", "page.js")
    return assembled(
        folder / "page.html",
        title=title,
        data=_content(results),
        styles=[folder / "page.css"],
        scripts=[folder / name for name in scripts],
    )


def _content(results: Results) -> dict[str, Any]:
    datasets = [
        {**own, "n_features": own["n_real"] + own["n_ordinal"] + own["n_nominal"]}
        for own in results.datasets
    ]
    used = [model for model in results.study.models if model["name"] in results.models]
    sheets = [_sheet(sheet, results) for sheet in sheets_of(results, TABLES)]
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
        "sheets": sheets,
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
    means = results.means("test_accuracy")
    ours = reference_model(results)
    overall = {
        name: float(np.nanmean(means[:, results.models.index(name)]))
        for name in results.competitors
    }
    others = {name: mean for name, mean in overall.items() if name != ours}
    cards = [{"figure": f"{100 * overall[ours]:.2f} %", "text": f"mean accuracy of {ours}"}]
    if others:
        name = max(others, key=lambda model: others[model])
        cards.append(
            {"figure": f"{100 * others[name]:.2f} %", "text": f"of {name}, the best other"}
        )
    at = results.models.index(ours)
    for quantity, text in (("leaves", "leaves"), ("prune_seconds", "to prune")):
        values = results.means(quantity)[:, at]
        if not np.isnan(values).all():
            mean = float(np.nanmean(values))
            figure = f"{mean:.1f}" if quantity == "leaves" else _duration(mean)
            cards.append({"figure": figure, "text": f"{text}, mean of {ours}"})
    return cards


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
        a, b = results.models.index(first), results.models.index(second)
        overall = difference_over_sets(means[:, a], means[:, b])
        pairs[f"{first}|{second}"] = {
            "all": _interval(overall),
            "sets": [_interval(gap) for gap in per_set(results, a, b)],
        }
    return pairs


def _interval(gap: Difference) -> dict[str, float | None]:
    return {name: _finite(getattr(gap, name)) for name in ("mean", "low", "high")}


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
