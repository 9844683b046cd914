"""The explanation of a predicted number: its path, and the smallest change to reach a range."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

import numpy as np

from treebound._utils.validation import invalid
from treebound.model import RegressionModel
from treebound.show.counterfactual import smallest_change
from treebound.show.explain import (
    Change,
    PathStep,
    changes_of,
    grids_of,
    read_explained,
    steps_to,
)
from treebound.show.words import count, counted, number, rounded
from treebound.tree.split import one_line

_HEADINGS = ("because", "this row", "training rows that went this way")
_COVERAGE = 0.9


@dataclass(frozen=True)
class NumberCounterfactual:
    """The smallest change of a row that brings the prediction into a range.

    Attributes
    ----------
    prediction : float
        The value predicted after the change.
    node : int
        The node reached after the change.
    changes : tuple of Change
        The values that change, one for each column; empty if the value is in the range already.
    row : dict
        The changed row, by column name.
    """

    prediction: float
    node: int
    changes: tuple[Change, ...]
    row: dict[str, Any]

    def __str__(self) -> str:
        if not self.changes:
            return f"{number(self.prediction)} without a change"
        return f"{number(self.prediction)} with {' and '.join(map(str, self.changes))}"


@dataclass(frozen=True)
class NumberExplanation:
    """The explanation of a predicted number, made by :func:`treebound.show.explain`.

    Attributes
    ----------
    row : dict
        The values of the row by column name, None if missing.
    prediction : float
        The predicted number, as by ``predict``.
    target : str or None
        The name of the target.
    node : int
        The node reached, as by ``apply``.
    path : tuple of PathStep
        The splits on the path, from the root.
    rows : int
        Number of training rows at that node.
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
    stopped : bool
        True if the row stopped at an inner node because of an unknown category.
    """

    row: dict[str, Any]
    prediction: float
    target: str | None
    node: int
    path: tuple[PathStep, ...]
    rows: int
    mean: float
    deviation: float
    interval: tuple[float, float] | None
    reach: tuple[float, float] | None
    counterfactual: NumberCounterfactual | None
    stopped: bool

    @property
    def _parts(self) -> tuple[str, list[tuple[str, str, str]], list[str]]:
        """The prediction, a table of the path, and the lines below it."""
        target = "" if self.target is None else f"{one_line(self.target)} = "
        shown = [rounded(value, self.deviation) for value in (self.prediction, self.mean)]
        heading = (
            f"{target}{shown[0]} (mean {shown[1]} ± {self.deviation:.3g} of "
            f"{counted(self.rows, 'training row')} here)"
        )
        table = [
            (step.condition, step.shown_value, f"{count(step.rows)} of {count(step.of)}")
            for step in self.path
        ]
        lines = []
        if self.interval is not None:
            low, high = (rounded(end, self.deviation) for end in self.interval)
            lines.append(f"About {100 * _COVERAGE:.0f} % of new rows here: {low} to {high}.")
        if not self.path and not self.stopped:
            lines.append("The tree has no splits: this is the prediction for every row.")
        if self.stopped:
            lines.append("It stops there, at a category never seen in training.")
        if self.reach is not None:
            low, high = map(number, self.reach)
            if self.counterfactual is None:
                lines.append(f"No change of known values gives a value from {low} to {high}.")
            else:
                lines.append(f"It would be {self.counterfactual}")
        return heading, [_HEADINGS, *table] if table else [], lines

    def __str__(self) -> str:
        heading, table, lines = self._parts
        wide = [max(len(row[k]) for row in table) for k in (0, 1)] if table else []
        rows = [f"  {a:<{wide[0]}}  {b:<{wide[1]}}  {c}" for a, b, c in table]
        return "\n".join([heading, *rows, *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        heading, table, lines = self._parts
        cell = '<td style="text-align:left">'
        rows = ["".join(f"{cell}{html.escape(text)}</td>" for text in row) for row in table]
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        below = "".join(f"<div>{html.escape(line)}</div>" for line in lines)
        return f"<div><b>{html.escape(heading)}</b></div><table>{body}</table>{below}"

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain values, for JSON."""
        changed = self.counterfactual
        return {
            "target": self.target,
            "prediction": self.prediction,
            "interval": None if self.interval is None else list(self.interval),
            "node": self.node,
            "rows": self.rows,
            "mean": self.mean,
            "deviation": self.deviation,
            "path": [step.to_dict() for step in self.path],
            "counterfactual": changed
            and {
                "prediction": changed.prediction,
                "node": changed.node,
                "changes": [vars(change) for change in changed.changes],
            },
        }


def explain_number(
    model: RegressionModel, row: Any, reach: tuple[float, float] | None
) -> NumberExplanation:
    """Explain the number that is predicted for a row."""
    tree, handle_unknown = model.tree, model.reading.handle_unknown
    wished = None if reach is None else _range(reach)
    table, cells, values, node = read_explained(model, row)
    by_name = {column.name: value for column, value in zip(tree.columns, values, strict=True)}
    interval = None
    if len(model.residuals):
        low, high = model.node_intervals(_COVERAGE)[node].tolist()
        interval = (low, high)
    counterfactual = None
    if wished is not None:
        wanted = (tree.value >= wished[0]) & (tree.value <= wished[1])
        grids = grids_of(tree, table, row)
        nearest = smallest_change(tree, cells, wanted, handle_unknown=handle_unknown, grids=grids)
        if nearest is not None:
            end, moves = nearest
            changes = changes_of(tree, moves, handle_unknown, by_name, grids)
            changed = {**by_name, **{change.column: change.new for change in changes}}
            value = float(tree.value[end])
            counterfactual = NumberCounterfactual(value, end, changes, changed)
    return NumberExplanation(
        row=by_name,
        prediction=float(tree.value[node]),
        target=model.reading.target,
        node=node,
        path=tuple(steps_to(tree, node, cells, values, handle_unknown)),
        rows=int(tree.rows[node]),
        mean=float(tree.mean[node]),
        deviation=float(tree.deviation[node]),
        interval=interval,
        reach=wished,
        counterfactual=counterfactual,
        stopped=bool(tree.left[node] >= 0),
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
