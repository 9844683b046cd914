"""How far one column determines another one: rank correlation, or Cramér's V of bins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats
from treebound.data import Matrix

# Columns that are so similar are copies of each other.
COPY = 0.95
_BINS = 10


class Similarity:
    """The similarity of pairs of columns, measured when it is needed."""

    def __init__(self, X: Matrix) -> None:
        self._X = X
        self._known: dict[tuple[int, int], float] = {}
        self._ranks: dict[int, Floats] = {}  # of columns without missing values

    def is_copy(self, a: int, b: int) -> bool:
        """Return True if a column is a near copy of another one."""
        return a != b and self.of(a, b) >= COPY

    def of(self, a: int, b: int) -> float:
        """The similarity of two columns, from 0 to 1."""
        key = min(a, b), max(a, b)
        if key not in self._known:
            self._known[key] = self._measure(*key)
        return self._known[key]

    def _measure(self, a: int, b: int) -> float:
        from scipy.stats.contingency import association, crosstab

        nominal = [self._X.columns[at].kind == "nominal" for at in (a, b)]
        values = [np.asarray(self._X.values[at], dtype=np.float64) for at in (a, b)]
        known = ~(np.isnan(values[0]) | np.isnan(values[1]))
        ranks = [self._ranked(at, value, known) for at, value in zip((a, b), values, strict=True)]
        if known.sum() < 2 or any(np.ptp(rank) == 0 for rank in ranks):
            return 0.0
        if not any(nominal):
            return abs(float(np.corrcoef(ranks[0], ranks[1])[0, 1]))
        codes = [
            value[known] if is_nominal else np.ceil(_BINS * rank / len(rank))
            for value, rank, is_nominal in zip(values, ranks, nominal, strict=True)
        ]
        table = crosstab(*codes).count
        return float(association(table, method="cramer")) if min(table.shape) > 1 else 0.0

    def _ranked(self, column: int, values: Floats, known: NDArray[np.bool_]) -> Floats:
        from scipy.stats import rankdata

        if not known.all():
            return np.asarray(rankdata(values[known]))
        if column not in self._ranks:
            self._ranks[column] = np.asarray(rankdata(values))
        return self._ranks[column]
