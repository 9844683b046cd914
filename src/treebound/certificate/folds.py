"""The best of K folds: K trees, each tested on the rows it has not seen; the least limit is kept.

Split the row numbers by a seed into K folds. Tree i is any function of the rows outside fold i.
Given these rows its errors on the fold are binomial, so that each limit fails with probability at
most ``delta / K``, and all of them hold together. One held-out tenth is one fold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from treebound.bounds.risk import risk_upper

Fitted = TypeVar("Fitted")
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class FoldLimit:
    """The limit of the tree that was fitted without a fold: its errors there, of ``m`` rows."""

    risk: float
    errors: int
    m: int


@dataclass(frozen=True)
class BestFold(Generic[Fitted]):
    """What was fitted without the chosen fold, which one it is, and the limits of all folds."""

    fitted: Fitted
    chosen: int
    limits: tuple[FoldLimit, ...]

    @property
    def limit(self) -> FoldLimit:
        """The limit of the chosen tree."""
        return self.limits[self.chosen]


def default_folds(m: int) -> int:
    """Number of folds for m rows: 3 below 500 rows, else 4 (chosen on the 25 data sets)."""
    return min(3 if m < 500 else 4, m)


def draw_folds(m: int, n_folds: int, seed: int | None) -> list[Rows]:
    """Row numbers in folds of nearly equal size, by a seed; never by class."""
    return np.array_split(np.random.default_rng(seed).permutation(m), n_folds)


def draw_tenth(m: int, seed: int | None) -> list[Rows]:
    """One fold, by a seed: a tenth of the rows, but at least 150 and at most 30 %."""
    size = round(min(0.3 * m, max(150.0, 0.1 * m)))
    return [np.random.default_rng(seed).permutation(m)[:size]]


def best_of_folds(
    fit: Callable[[Rows], tuple[Fitted, int]], folds: Sequence[Rows], delta: float = 0.05
) -> BestFold[Fitted]:
    """Fit without each fold and keep the tree of the least limit; on ties the first.

    ``fit(fold)`` fits on the other rows, and gives what was fitted and its errors on the fold.
    """
    level = log(delta / len(folds))
    best, limits = None, []
    for fold in folds:
        fitted, errors = fit(fold)
        limits.append(FoldLimit(risk_upper(len(fold), errors, level), errors, len(fold)))
        if best is None or limits[-1].risk < limits[best[0]].risk:
            best = len(limits) - 1, fitted
    assert best is not None
    return BestFold(best[1], best[0], tuple(limits))
