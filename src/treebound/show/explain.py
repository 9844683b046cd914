"""The explanation of the prediction for a row: its path, and the nearest counterfactual."""

from __future__ import annotations

import html
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from treebound._utils.choices import Unknown
from treebound._utils.validation import invalid
from treebound.data import Column, Matrix
from treebound.data.frames import Table, read_row
from treebound.data.raw import MISSING, UNKNOWN, RawColumn
from treebound.model import Model, RegressionModel
from treebound.model.methods import as_any_model
from treebound.show.as_rules import Region
from treebound.show.counterfactual import Cell, Grid, Move, smallest_change
from treebound.show.words import branch_condition, count, number
from treebound.tree.base import BaseTree
from treebound.tree.route import path_to
from treebound.tree.split import Split, one_line, plain, split_of

_HEADINGS = ("because", "this row", "training rows that went this way")
_OVERRULED = (
    "Most training examples here are of another class: probabilities shrunk towards the nodes "
    "above, costs or an edit determined this one."
)
_CHEAPEST = (
    "Most training examples here are of another class: this one has the least expected cost."
)
_CELL = '<td style="text-align:left">'


@dataclass(frozen=True)
class PathStep:
    """One split on the path of a row.

    Attributes
    ----------
    node : int
        The node of the split.
    split : Split
        The split of the node.
    left : bool
        Whether the row went left.
    value : object
        The row's value in the column, None if missing.
    known : bool
        Whether it is missing, a number, or a known category.
    rows, of : int
        Number of training rows that went the same way, and at the node.
    """

    node: int
    split: Split
    left: bool
    value: Any
    known: bool
    rows: int
    of: int

    @property
    def column(self) -> str:
        """The name of the column."""
        return self.split.column.name

    @property
    def condition(self) -> str:
        """The condition that the row satisfies, such as ``age <= 30``."""
        return f"{one_line(self.column)} {branch_condition(self.split, left=self.left)}"

    @property
    def shown_value(self) -> str:
        """The value in words, with a note if it was never in training."""
        unmet = not self.known or (self.value is None and not self.split.column.missing)
        return value_in_words(self.value) + (" (never in training)" if unmet else "")

    def to_dict(self) -> dict[str, Any]:
        """The step as plain values."""
        return {
            "node": self.node, "column": self.column, "condition": self.condition,
            "value": self.value, "known": self.known, "rows": self.rows, "of": self.of,
        }  # fmt: skip


@dataclass(frozen=True)
class Change:
    """A change of one value of a row.

    Attributes
    ----------
    column : str
        Name of the column.
    condition : str
        The condition on the value, such as ``age > 30``.
    old, new : object
        The row's value, and the nearest one that satisfies it; None if missing.
    size : float
        Size of the change: ``|new - old| / (|new| + |old|)`` for a number, the difference of ranks
        relative to the largest for an ordinal category, 1 otherwise.
    """

    column: str
    condition: str
    old: Any
    new: Any
    size: float

    def __str__(self) -> str:
        return f"{self.condition} instead of {value_in_words(self.old)}"


@dataclass(frozen=True)
class Counterfactual:
    """The smallest change of a row that changes the prediction.

    Attributes
    ----------
    prediction : object
        The class predicted after the change.
    node : int
        The node reached after the change.
    changes : tuple of Change
        The values that change, one for each column.
    row : dict
        The changed row, by column name.
    """

    prediction: Any
    node: int
    changes: tuple[Change, ...]
    row: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The change as plain values."""
        return {
            "prediction": self.prediction,
            "node": self.node,
            "changes": [vars(change) for change in self.changes],
        }

    def __str__(self) -> str:
        return f"{one_line(self.prediction)} with {' and '.join(map(str, self.changes))}"


AnyCounterfactual = TypeVar("AnyCounterfactual", bound=Counterfactual)


@dataclass(frozen=True, repr=False)
class ExplainedRow:
    """A row and its path, and how they are shown: a table of the path, and lines below it."""

    row: dict[str, Any]
    target: str | None
    node: int
    path: tuple[PathStep, ...]
    rows: int
    stopped: bool

    @abstractmethod
    def _heading(self) -> str:
        """Return the prediction and its support, without the name of the target."""

    @abstractmethod
    def _lines(self) -> list[str]:
        """Return the lines below the path."""

    @property
    def _parts(self) -> tuple[str, list[tuple[str, str, str]], list[str]]:
        """The prediction, a table of the path, and the lines below it."""
        target = "" if self.target is None else f"{one_line(self.target)} = "
        table = [
            (step.condition, step.shown_value, f"{count(step.rows)} of {count(step.of)}")
            for step in self.path
        ]
        return target + self._heading(), [_HEADINGS, *table] if table else [], self._lines()

    def _end_of_path(self) -> list[str]:
        """Return the reason why the path ends early or has no splits, as a line; else nothing."""
        if self.stopped:
            return ["It stops there, at a category never seen in training."]
        if not self.path:
            return ["The tree has no splits: this is the prediction for every row."]
        return []

    def __str__(self) -> str:
        heading, table, lines = self._parts
        wide = [max(len(row[k]) for row in table) for k in (0, 1)] if table else []
        rows = [f"  {a:<{wide[0]}}  {b:<{wide[1]}}  {c}" for a, b, c in table]
        return "\n".join([heading, *rows, *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        heading, table, lines = self._parts
        rows = ["".join(f"{_CELL}{html.escape(cell)}</td>" for cell in row) for row in table]
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        below = "".join(f"<div>{html.escape(line)}</div>" for line in lines)
        return f"<div><b>{html.escape(heading)}</b></div><table>{body}</table>{below}"


@dataclass(frozen=True, repr=False)
class Explanation(ExplainedRow):
    """The explanation of a prediction, made by :meth:`treebound.BoundTreeClassifier.explain`.

    Attributes
    ----------
    row : dict
        The values of the row by column name, None if missing.
    prediction : object
        The predicted class, as by ``predict``.
    target : str or None
        The name of the target.
    node : int
        The node reached, as by ``apply``.
    path : tuple of PathStep
        The splits on the path, from the root.
    rows : int
        Number of training rows at that node.
    stopped : bool
        Whether the row stopped at an inner node because of an unknown category.
    counts, probabilities : dict
        Weight of these rows by class, and the probabilities of ``predict_proba``.
    class_weights : bool
        Whether the probabilities count class weights, which ``counts`` do not.
    next_best : object
        The most probable other class; None if there is none.
    counterfactual : Counterfactual or None
        The smallest change that changes the prediction: the fewest columns, then the smallest sum
        of sizes (see :class:`Change`). None if no known values do.
    overruled : bool
        Whether the predicted class is not that of most training examples at the node.
    cheapest : bool
        Whether the tree was fitted with costs and the predicted class has the least there.
    abstains : bool
        Whether the tree abstains on the row: ``prediction`` is the label of abstention then, and
        ``counts`` and ``probabilities`` are empty.
    max_risk : float or None
        The bound that predictions of a tree that abstains must have; None for other trees.
    abstention_label : object
        The label of abstention; None for other trees.
    """

    prediction: Any
    counts: dict[Any, float]
    probabilities: dict[Any, float]
    class_weights: bool
    next_best: Any
    counterfactual: Counterfactual | None
    overruled: bool
    cheapest: bool
    abstains: bool = False
    max_risk: float | None = None
    abstention_label: Any = None

    # -- in words --------------------------------------------------------------------------

    def _support(self, label: Any) -> str:
        weight = sum(self.counts.values())
        by = " with class weights" if self.class_weights else ""
        return (
            f"probability {self.probabilities[label]:.3g}{by}, {count(self.counts[label])} of "
            f"{count(weight)} training examples here"
        )

    def _heading(self) -> str:
        if self.abstains:
            return f"{one_line(self.prediction)} (no prediction: the tree abstains on this row)"
        return f"{one_line(self.prediction)} ({self._support(self.prediction)})"

    def _end_of_path(self) -> list[str]:
        if self.abstains and not self.path and not self.stopped:
            return ["The tree has no splits: it abstains on every row."]
        return super()._end_of_path()

    def _lines(self) -> list[str]:
        lines = self._end_of_path()
        if self.abstains and self.max_risk is not None:
            lines.append(
                "It abstains where no bound shows that at most "
                f"{100 * self.max_risk:.6g} % of its predictions are wrong: a person decides."
            )
        elif self.overruled:
            lines.append(_CHEAPEST if self.cheapest else _OVERRULED)
        if self.next_best is not None:
            lines.append(f"Next best: {one_line(self.next_best)} ({self._support(self.next_best)})")
        other = self.counterfactual
        if (
            other is not None
            and self.max_risk is not None
            and other.prediction == self.abstention_label
        ):
            lines.append(f"It would abstain with {' and '.join(map(str, other.changes))}")
        elif other is not None:
            lines.append(f"It would be {other}")
        elif self.path:
            lines.append("No change of known values changes the prediction.")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain values, for JSON."""
        return {
            "target": self.target,
            "prediction": self.prediction,
            "probability": None if self.abstains else self.probabilities[self.prediction],
            **({} if self.max_risk is None else {"abstains": self.abstains}),
            "node": self.node,
            "rows": self.rows,
            "counts": [[label, weight] for label, weight in self.counts.items()],
            "path": [step.to_dict() for step in self.path],
            "next_best": self.next_best,
            "counterfactual": self.counterfactual and self.counterfactual.to_dict(),
        }


def value_in_words(value: Any) -> str:
    """Format a value of a row: an exact number, a category, or ``missing``."""
    if value is None:
        return "missing"
    return number(value) if isinstance(value, float) and math.isfinite(value) else one_line(value)


def explain(source: Any, row: Any, *, reach: tuple[float, float] | None = None) -> Any:
    """Explain the prediction for a row, and the smallest change that would alter it.

    Parameters
    ----------
    source : BoundTreeClassifier, Model or Tree
        Its ``handle_unknown`` and ``smoothing`` are used.
    row : mapping, sequence, pandas Series, or table of one row
        The values by column name, or in the order of the columns.

    reach : tuple (low, high), optional
        For a regression tree: a range of values; the explanation has the smallest change of the
        row that brings the prediction into it.

    Returns
    -------
    Explanation or NumberExplanation
        The path in words, the next best class, and the smallest change of the row that changes the
        prediction. ``print`` it, or show it in a notebook. For a regression tree the value with
        its interval, if the model has one.

    Raises
    ------
    ValueError
        If ``reach`` is given for a tree of classes, or is not a range.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = tb.BoundTreeClassifier(max_leaves=3).fit(X, y)
    >>> print(clf.explain(X.iloc[77]))
    target = 1 (probability 0.858, 49 of 54 training examples here)
      because                   this row  training rows that went this way
      petal length (cm) > 2     5         100 of 150
      petal width (cm) <= 1.75  1.7       54 of 100
    Next best: 2 (probability 0.118, 5 of 54 training examples here)
    It would be 2 with petal width (cm) > 1.75 instead of 1.7
    """
    model = as_any_model(source, "explain")
    if isinstance(model, RegressionModel):
        from treebound.show.explain_numbers import explain_number

        return explain_number(model, row, reach)
    if reach is not None:
        must = "None for a tree of classes, whose smallest change gives another class"
        raise invalid("reach", "explain", must, reach)
    shown, abstention, read = model.tree, model.abstention, ReadRow.of(model, row)
    predicting = model.always_predicting
    tree = predicting.tree

    def label_of(end: int) -> Any:
        return plain(shown.classes[shown.label[end]])

    node = int(tree.apply(read.matrix)[0])
    chances, prediction = predicting.node_probabilities[node], label_of(read.node)
    abstains = abstention is not None and prediction == plain(abstention.label)
    labels = [plain(label) for label in tree.classes.tolist()]
    label = int(tree.label[node])
    rest = [] if abstains else [k for k in range(tree.n_classes) if k != label]
    costs = None if predicting.costs is None else tree.counts[node] @ predicting.costs
    return Explanation(
        **read.explained(),
        prediction=prediction,
        counts={} if abstains else dict(zip(labels, tree.counts[node].tolist(), strict=True)),
        probabilities={} if abstains else dict(zip(labels, chances.tolist(), strict=True)),
        class_weights=tree.factors is not None,
        next_best=labels[max(rest, key=lambda k: (chances[k], -k))] if rest else None,
        counterfactual=read.nearest(
            shown.label != shown.label[read.node], label_of, Counterfactual
        ),
        overruled=bool(tree.masses[node, label] < (1.0 - 1e-9) * tree.masses[node].max()),
        cheapest=costs is not None and bool(costs[label] <= costs.min()),
        abstains=abstains,
        max_risk=None if abstention is None else abstention.max_risk,
        abstention_label=None if abstention is None else plain(abstention.label),
    )


class ReadRow(NamedTuple):
    """A row as a model reads it, and the node that it reaches."""

    model: Model | RegressionModel
    grids: list[Grid]  # of the numbers of each column
    cells: list[Cell]
    values: list[Any]  # in the user's form
    node: int
    matrix: Matrix

    @classmethod
    def of(cls, model: Model | RegressionModel, row: Any) -> ReadRow:
        """Read a row."""
        tree = model.tree
        names = [column.name for column in tree.columns]
        used = {names[at] for at in tree.feature.tolist() if at >= 0}
        table = read_row(row, names, used if model.has_names else None)
        matrix = model.read(table)
        cells = [column[0].item() for column in matrix.values]
        values = [_value(table.column(at), column) for at, column in enumerate(tree.columns)]
        node = int(tree.apply(matrix)[0])
        return cls(model, _grids(tree, table, row), cells, values, node, matrix)

    @property
    def by_name(self) -> dict[str, Any]:
        """The values by column name."""
        names = (column.name for column in self.model.columns)
        return dict(zip(names, self.values, strict=True))

    def explained(self) -> dict[str, Any]:
        """Return the fields of an ExplainedRow."""
        tree: BaseTree = self.model.tree
        return {
            "row": self.by_name,
            "target": self.model.reading.target,
            "node": self.node,
            "path": tuple(self._steps()),
            "rows": int(tree.rows[self.node]),
            "stopped": bool(tree.left[self.node] >= 0),
        }

    def _steps(self) -> Iterator[PathStep]:
        """The splits above the node."""
        tree: BaseTree = self.model.tree
        for here, child in pairwise(path_to(tree, self.node)):
            split = split_of(tree, here, handle_unknown=self.model.reading.handle_unknown)
            value, cell = self.values[split.feature], self.cells[split.feature]
            known = split.is_real or value is None or cell not in (MISSING, UNKNOWN)
            known = known or split.column.unlisted > 0  # perhaps one that is not listed
            rows, of = int(tree.rows[child]), int(tree.rows[here])
            yield PathStep(here, split, bool(tree.left[here] == child), value, known, rows, of)

    def nearest(
        self,
        wanted: NDArray[np.bool_],
        prediction: Callable[[int], Any],
        kind: type[AnyCounterfactual],
    ) -> AnyCounterfactual | None:
        """Return the smallest change that brings the row to a wanted node; None if none does."""
        tree: BaseTree = self.model.tree
        policy, row = self.model.reading.handle_unknown, self.by_name
        nearest = smallest_change(tree, self.cells, wanted, handle_unknown=policy, grids=self.grids)
        if nearest is None:
            return None
        node, moves = nearest
        changes = _changes(tree, moves, policy, row, self.grids)
        changed = {**row, **{change.column: change.new for change in changes}}
        return kind(prediction(node), node, changes, changed)


def _value(raw: RawColumn, column: Column) -> Any:
    """A value in the user's form, None if missing."""
    distinct, which = raw.distinct()
    value = None if which[0] == MISSING else plain(distinct[int(which[0])])
    return float(value) if column.kind == "real" and isinstance(value, int | float) else value


def _grids(tree: BaseTree, table: Table, row: Any) -> list[Grid]:
    """The grid of numbers of each column, inferred from the row and the thresholds."""
    single = getattr(row, "dtype", None) == np.float32  # a row of a pandas frame, or an array
    grids: list[Grid] = []
    for at in range(len(tree.columns)):
        dtype = table.column(at).values.dtype
        halves = (
            2.0 * tree.threshold[tree.feature == at]
        )  # thresholds are halfway between whole numbers
        whole = dtype.kind in "iu" and bool((halves == np.rint(halves)).all())
        narrow = single or dtype == np.float32
        grids.append("whole" if whole else "single" if narrow else "double")
    return grids


def _changes(
    tree: BaseTree,
    moves: Mapping[int, Move],
    handle_unknown: Unknown,
    row: Mapping[str, Any],
    grids: Sequence[Grid],
) -> tuple[Change, ...]:
    """The moves of a row into other regions, as changes of its values."""
    changes = []
    for at, move in moves.items():
        column = tree.columns[at]
        new, region = _decoded(move.value, column), move.region
        if new is not None and grids[at] == "whole" and column.kind == "real" and new == int(new):
            new, region = int(new), _whole(region)
        words = _words(region, handle_unknown)
        changes.append(Change(column.name, words, row[column.name], new, move.size))
    return tuple(changes)


def _whole(region: Region) -> Region:
    """The same whole numbers, between bounds that are whole numbers too."""
    low, high = (x if math.isinf(x) else float(math.floor(x)) for x in (region.low, region.high))
    return replace(region, low=low, high=high)


def _decoded(cell: Cell, column: Column) -> Any:
    if column.kind == "real":
        return None if np.isnan(cell) else float(cell)
    if cell == UNKNOWN:
        return _another(column)
    return None if cell < 0 else plain((column.categories or ())[int(cell)])


def _another(column: Column) -> Any:
    """A value of the type of the categories that is none of those listed."""
    listed = [plain(value) for value in column.categories or ()]
    if listed and not any(isinstance(value, str) for value in listed):
        return max(listed) + 1
    value = "another category"
    while value in listed:
        value += "'"
    return value


def _order(name: str, codes: list[int], column: Column) -> str:
    """A range of ordered categories."""
    categories = column.categories or ()
    low = f"> {one_line(categories[codes[0] - 1])}" if codes[0] > 0 else ""
    high = f"<= {one_line(categories[codes[-1]])}" if codes[-1] < len(categories) - 1 else ""
    return f"{name} {' and '.join(filter(None, (low, high))) or 'present'}"


def _words(region: Region, handle_unknown: Unknown) -> str:
    """The condition of a region in words, ignoring missing values."""
    name = one_line(region.column.name)
    if region.column.kind == "real":
        empty = region.low >= region.high
        return f"{name} missing" if empty else region.interval(name) or f"{name} present"
    inside = [one_line(value) for value in region.values()]
    unlisted = region.unknown and region.column.unlisted > 0  # categories that are not listed
    if not inside and not unlisted:
        return f"{name} missing"
    if region.column.kind == "ordinal" and len(inside) > 1:
        return _order(name, sorted(region.codes), region.column)
    outside = [one_line(value) for value in region.values(inside=False)]
    closed = region.unknown or handle_unknown in (
        "error",
        "missing",
    )  # all other values are included
    if closed and outside and (unlisted or len(outside) < len(inside)):
        return f"{name} ≠ {' and ≠ '.join(outside)}"
    return f"{name} present" if unlisted else f"{name} = {' or '.join(inside)}"
