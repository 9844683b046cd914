"""Suspicious facts about a target of numbers."""

from __future__ import annotations

import warnings

import numpy as np

from treebound._utils.quantities import quantity
from treebound.data.findings import Finding
from treebound.data.number_sample import NumberSample

# Fewer rows are not judged.
_FEW_ROWS = 20
# So few distinct numbers may be classes.
_FEW_VALUES = 10
# A few rows with most of the squares: at most so many, and this share of the rows.
_OUTLIERS, _OUTLIER_SHARE, _SQUARES = 10, 0.01, 0.5


def number_findings(sample: NumberSample, target: str) -> list[Finding]:
    """Return what is suspicious about the numbers of a training sample.

    They are all equal; there are so few distinct ones that they may be classes; or a few rows have
    most of the squared deviations from the mean.
    """
    if sample.n_rows < _FEW_ROWS:
        return []
    y = sample.y
    distinct = sample.distinct
    if len(distinct) == 1:
        return [_constant(distinct[0], target)]
    if len(distinct) < _FEW_VALUES:
        fact = f"has {len(distinct):,} distinct numbers"
        remedy = "if they are classes, use BoundTreeClassifier"
        return [Finding(target, fact, remedy, note=len(distinct) > 2)]
    squares = np.sort((y - np.average(y, weights=sample.weight)) ** 2)[::-1]
    total = float(squares.sum())
    most = min(_OUTLIERS, int(_OUTLIER_SHARE * sample.n_rows))
    shares = squares[:most].cumsum() / total if total > 0.0 else np.zeros(most)
    enough = np.flatnonzero(shares >= _SQUARES)
    if not len(enough):
        return []
    rows = int(enough[0]) + 1
    name = "1 row has" if rows == 1 else f"{rows:,} rows have"
    share = 100.0 * float(shares[rows - 1])
    fact = f"has outliers: {name} {share:.0f} % of its squared deviations from the mean"
    return [Finding(target, fact, "check them, or learn without them: clip=(0.01, 0.99)")]


def _constant(value: float, target: str) -> Finding:
    remedy = "a tree has nothing to predict; name another target"
    return Finding(target, f"is {quantity(value)} in every row", remedy)


def warn_of_constant(
    low: float, high: float, n_rows: int, target: str, *, stacklevel: int = 2
) -> None:
    """Warn of a target that is the same number in every row, by its range."""
    if low == high and n_rows >= _FEW_ROWS:
        warnings.warn(str(_constant(low, target)), UserWarning, stacklevel=stacklevel + 1)


def warn_of_number_findings(sample: NumberSample, target: str, *, stacklevel: int = 2) -> None:
    """Warn of what is suspicious about the numbers of a training sample."""
    for finding in number_findings(sample, target):
        if not finding.note:
            warnings.warn(str(finding), UserWarning, stacklevel=stacklevel + 1)
