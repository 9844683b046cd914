"""The published results of the paper, and their comparison with a study."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from treebound.study.results import Results
from treebound.study.sheets import Cell, Sheet
from treebound.study.summaries import NONE, label_of

__all__ = ["DRAWS", "MODELS", "Comparison", "compare", "published", "published_table"]

DRAWS = 25
MODELS = ("OG", "CC", "RE", "KM", "Ours", "Oracle")

# Published quantities, and half a unit of their last digit.
_ROUNDING = {
    "train_accuracy": 0.0005,
    "validation_accuracy": 0.0005,
    "test_accuracy": 0.00005,
    "leaves": 0.05,
    "depth": 0.05,
    "prune_seconds": 0.0005,
    "bound": 0.0005,
}


@lru_cache(maxsize=1)
def published() -> dict[tuple[str, str, str], tuple[float, float]]:
    """Mean and deviation over 25 draws, by (data set, model, quantity)."""
    text = Path(__file__).with_suffix(".csv").read_text(encoding="utf-8")
    return {
        (row["dataset"], row["model"], row["quantity"]): (float(row["mean"]), float(row["std"]))
        for row in csv.DictReader(text.splitlines())
    }


@dataclass(frozen=True)
class Comparison:
    """One cell of a table, here and in the paper."""

    dataset: dict[str, Any]
    model: str
    mean: float
    printed: float
    standard_error: float
    rounding: float

    @property
    def difference(self) -> float:
        """Here minus published."""
        return self.mean - self.printed

    @property
    def errors(self) -> float:
        """The difference in standard errors."""
        if self.standard_error == 0.0:
            return 0.0 if abs(self.difference) <= self.rounding else float("inf")
        return self.difference / self.standard_error

    @property
    def within_noise(self) -> bool:
        """True if the two differ by at most two standard errors of the difference.

        If neither has any spread, they must agree to the published digits.
        """
        return abs(self.errors) <= 2.0


def compare(results: Results, quantity: str = "test_accuracy") -> list[Comparison]:
    """All cells that both a study and the paper have."""
    printed = published()
    means, spread, counts = (
        results.means(quantity),
        results.deviations(quantity),
        results.counts(quantity),
    )
    comparisons = []
    for row, dataset in enumerate(results.datasets):
        for column, model in enumerate(results.models):
            known = printed.get((dataset["name"], model, quantity))
            if known is None or np.isnan(means[row, column]):
                continue
            here = spread[row, column] ** 2 / counts[row, column]
            error = sqrt(here + known[1] ** 2 / DRAWS)
            mean = float(means[row, column])
            comparisons.append(
                Comparison(dataset, model, mean, known[0], error, _ROUNDING[quantity])
            )
    return comparisons


def published_table(results: Results) -> Sheet | None:
    """Results here and in the paper, side by side; None if there are none in common."""
    cells = {(one.dataset["name"], one.model): one for one in compare(results)}
    models = [name for name in MODELS if name in results.models]
    if not cells or results.study.protocol != "paper":
        return None
    rows = []
    for dataset in results.datasets:
        row_cells = [cells.get((dataset["name"], model)) for model in models]
        if any(row_cells):
            rows.append([Cell(label_of(dataset), dataset["name"]), *map(_both, row_cells)])
    within = [
        [one.within_noise for (_, model), one in cells.items() if model == name] for name in models
    ]
    footer = [
        [Cell("Within noise"), *(Cell(f"{sum(one)} of {len(one)}", sum(one)) for one in within)],
        [Cell("Mean here / printed (%)"), *(_both_means(cells, name) for name in models)],
    ]
    notes = [
        "Here / printed, in percent; bold: they differ by more than two standard errors of the "
        "difference. The draws are the paper's own, so equal algorithms agree far more closely."
    ]
    return Sheet(
        "published", "Next to the published table", ["Data set", *models], rows, footer, notes
    )


def _both(one: Any) -> Cell:
    if one is None:
        return Cell(NONE)
    text = f"{100 * one.mean:.2f} / {100 * one.printed:.2f}"
    return Cell(text, one.difference, not one.within_noise)


def _both_means(cells: dict[tuple[str, str], Any], model: str) -> Cell:
    comparisons = [one for (_, name), one in cells.items() if name == model]
    here = np.mean([one.mean for one in comparisons])
    printed = np.mean([one.printed for one in comparisons])
    return Cell(f"{100 * here:.2f} / {100 * printed:.2f}", float(here - printed))
