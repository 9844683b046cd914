"""The explanation of a predicted number: its path, and the smallest change to reach a range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from treebound._utils.quantities import quantity
from treebound._utils.validation import invalid
from treebound.model import RegressionModel
from treebound.show.explain import Counterfactual, ExplainedRow, ReadRow
from treebound.show.words import counted, rounded

_COVERAGE = 0.9


class NumberCounterfactual(Counterfactual):
    """The smallest change of a row that brings the prediction into a range.

    Its attributes are those of :class:`treebound.show.Counterfactual`; there are no changes if the
    value is in the range already.
    """

    def __str__(self) -> str:
        return self.in_words(quantity(self.prediction))

    def in_words(self, value: str) -> str:
        """Return the change after the value that it gives."""
        if not self.changes:
            return f"{value} without a change"
        return f"{value} with {' and '.join(map(str, self.changes))}"


@dataclass(frozen=True, repr=False)
class NumberExplanation(ExplainedRow):
    """The explanation of a predicted number, made by :func:`treebound.show.explain`.

    Attributes
    ----------
    row, target, node, path, rows, stopped
        See :class:`treebound.show.Explanation`.
    prediction : float
        The predicted number, as by ``predict``.
    mean, deviation : float
        Mean and standard deviation of their numbers.
    interval : tuple of float, or None
        The interval that covers about 90 % of new rows; None if the model has no residuals.
    reach : tuple of float, or None
        The range that was given.
    counterfactual : NumberCounterfactual or None
        The smallest change that brings the prediction into ``reach``: the fewest columns, then the
        smallest sum of sizes (see :class:`treebound.show.Change`). None without ``reach``, or if no
        leaf has a value in it.
    """

    prediction: float
    mean: float
    deviation: float
    interval: tuple[float, float] | None
    reach: tuple[float, float] | None
    counterfactual: NumberCounterfactual | None

    def _heading(self) -> str:
        value, mean, deviation = map(self._rounded, (self.prediction, self.mean, self.deviation))
        return f"{value} (mean {mean} ± {deviation} of {counted(self.rows, 'training row')} here)"

    def _rounded(self, value: float) -> str:
        return rounded(value, self.deviation)

    def _lines(self) -> list[str]:
        lines = []
        if self.interval is not None:
            low, high = map(self._rounded, self.interval)
            lines.append(f"About {100 * _COVERAGE:.0f} % of new rows here: {low} to {high}.")
        lines += self._end_of_path()
        if self.reach is not None:
            low, high = map(self._rounded, self.reach)
            if self.counterfactual is None:
                lines.append(f"No change of known values gives a value from {low} to {high}.")
            else:
                value = self._rounded(self.counterfactual.prediction)
                lines.append(f"It would be {self.counterfactual.in_words(value)}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain values, for JSON."""
        return {
            "target": self.target,
            "prediction": self.prediction,
            "interval": None if self.interval is None else list(self.interval),
            "node": self.node,
            "rows": self.rows,
            "mean": self.mean,
            "deviation": self.deviation,
            "path": [step.to_dict() for step in self.path],
            "counterfactual": self.counterfactual and self.counterfactual.to_dict(),
        }


def explain_number(
    model: RegressionModel, row: Any, reach: tuple[float, float] | None
) -> NumberExplanation:
    """Explain the number that is predicted for a row."""
    wished = None if reach is None else _range(reach)
    tree, read = model.tree, ReadRow.of(model, row)
    node, interval, counterfactual = read.node, None, None
    if len(model.evidence.residuals):
        low, high = model.node_intervals(_COVERAGE)[node].tolist()
        interval = (low, high)
    if wished is not None:
        wanted = (tree.value >= wished[0]) & (tree.value <= wished[1])
        counterfactual = read.nearest(
            wanted, lambda end: float(tree.value[end]), NumberCounterfactual
        )
    return NumberExplanation(
        **read.explained(),
        prediction=float(tree.value[node]),
        mean=float(tree.mean[node]),
        deviation=float(tree.deviation[node]),
        interval=interval,
        reach=wished,
        counterfactual=counterfactual,
    )


def _range(reach: Any) -> tuple[float, float]:
    """Check a range of values."""
    try:
        low, high = (float(end) for end in reach)
        proper = low <= high and not np.isnan([low, high]).any()
    except (TypeError, ValueError):
        proper = False
    if not proper:
        raise invalid("reach", "explain", "a pair (low, high) with low <= high", reach)
    return low, high
