"""A self-contained HTML page with the tables and plots of a study."""

from __future__ import annotations

from importlib.resources import files
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
        {**item, "n_features": item["n_real"] + item["n_ordinal"] + item["n_nominal"]}
        for item in results.datasets
    ]
    used = [item for item in results.study.models if item["name"] in results.models]
    sheets = [_sheet(sheet, results) for sheet in sheets_of(results, TABLES)]
    return {
        "lead": _lead(results),
        "cards": _cards(results),
        "about": _about(results),
        "models": [{key: item[key] for key in ("name", "settings")} for item in used],
        "competitors": results.competitors,
        "reference": reference_model(results),
        "datasets": datasets,
        "means": {name: _plain(results.means(name)) for name in QUANTITIES},
        "draws": _plain(results.cube("test_accuracy")),
        "sheets": sheets,
        "ranking": _ranking(results),
        "pairs": _pairs(results),
    }


def _lead(results: Results) -> str:
    sets, draws, models = len(results.datasets), results.n_draws, len(results.models)
    return (
        f"{sets} data set{'s' * (sets > 1)} × {draws} draws × {models} models: "
        f"{len(results.rows):,} results, each judged on "
        f"{100 * results.study.settings['test_fraction']:.0f} % of the rows held out."
    )


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
    def lines(rows: Any) -> list[list[dict[str, Any]]]:
        return [[_cell(cell) for cell in row] for row in rows]

    rows = lines(sheet.rows)
    if sheet.key == "accuracy":
        _add_tips(rows, results)
    return {
        "key": sheet.key,
        "title": sheet.title,
        "header": list(sheet.header),
        "rows": rows,
        "footer": lines(sheet.footer),
        "notes": list(sheet.notes),
    }


def _cell(cell: Cell) -> dict[str, Any]:
    result: dict[str, Any] = {"t": cell.text}
    if isinstance(cell.value, (int, float)):
        result["v"] = _finite(float(cell.value))
    if cell.bold:
        result["b"] = 1
    return result


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


def _ranking(results: Results) -> dict[str, Any] | None:
    result = ranking(results)
    if result is None:
        return None
    return {
        "names": results.competitors,
        "ranks": result.ranks.tolist(),
        "groups": result.groups,
        "critical_difference": result.critical_difference,
    }


def _pairs(results: Results) -> dict[str, Any]:
    """Differences of each ordered pair of models, per data set and overall."""
    means = results.means("test_accuracy")
    result = {}
    for first in results.competitors:
        for second in results.competitors:
            if first == second:
                continue
            a, b = results.models.index(first), results.models.index(second)
            result[f"{first}|{second}"] = {
                "all": _interval(difference_over_sets(means[:, a], means[:, b])),
                "sets": [_interval(gap) for gap in per_set(results, a, b)],
            }
    return result


def _interval(gap: Difference) -> dict[str, float | None]:
    return {"mean": _finite(gap.mean), "low": _finite(gap.low), "high": _finite(gap.high)}


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
