"""Explaining the prediction for a row: its path, and the nearest counterfactual."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from treebound._choices import Unknown
from treebound.data import Column
from treebound.data.frames import Table, read_row
from treebound.data.raw import MISSING, UNKNOWN, RawColumn
from treebound.model_methods import as_model
from treebound.show.as_rules import Region
from treebound.show.counterfactual import Cell, Grid, least_change
from treebound.show.explanation import Change, Counterfactual, Explanation, Step
from treebound.tree import Tree
from treebound.tree.route import path_to
from treebound.tree.split import one_line, plain, split_of


def explain(source: Any, row: Any) -> Explanation:
    """Explain the prediction for a row, and the smallest change that would alter it.

    Parameters
    ----------
    source : BoundTreeClassifier, Model or Tree
        Its ``unknown`` and ``smoothing`` are used.
    row : mapping, sequence, pandas Series, or table of one row
        The values by column name, or in the order of the columns.

    Returns
    -------
    Explanation
        The path in words, the next best class, and the smallest change of the row that changes the
        prediction. ``print`` it, or show it in a notebook.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = tb.BoundTreeClassifier(max_leaves=3).fit(X, y)
    >>> print(clf.explain(X.iloc[77]))
    target = 1 (probability 0.85, 49 of 54 training examples here)
      because                   this row  training rows that went this way
      petal length (cm) > 2     5         100 of 150
      petal width (cm) <= 1.75  1.7       54 of 100
    Next best: 2 (probability 0.123, 5 of 54 training examples here)
    It would be 2 with petal width (cm) > 1.75 instead of 1.7
    """
    model = as_model(source, "explain")
    tree, unknown = model.tree, model.unknown
    names = [column.name for column in tree.columns]
    asked = {names[at] for at in tree.feature.tolist() if at >= 0}
    table = read_row(row, names, asked if model.has_names else None)
    matrix = model.read(table)
    cells = [column[0].item() for column in matrix.values]
    values = [_value(table.column(at), column) for at, column in enumerate(tree.columns)]
    node = int(tree.apply(matrix)[0])
    chances = model.node_probabilities[node]
    labels = [plain(label) for label in tree.classes.tolist()]
    own = int(tree.label[node])
    others = [k for k in range(tree.n_classes) if k != own]
    by_name = {column.name: value for column, value in zip(tree.columns, values, strict=True)}
    return Explanation(
        row=by_name,
        answer=labels[own],
        target=model.target,
        node=node,
        path=tuple(_steps(tree, node, cells, values, unknown)),
        rows=int(tree.rows[node]),
        counts=dict(zip(labels, tree.counts[node].tolist(), strict=True)),
        probabilities=dict(zip(labels, chances.tolist(), strict=True)),
        next_best=labels[max(others, key=lambda k: (chances[k], -k))] if others else None,
        counterfactual=_otherwise(tree, cells, own, unknown, by_name, _grids(tree, table, row)),
        stopped=bool(tree.left[node] >= 0),
    )


def _value(raw: RawColumn, column: Column) -> Any:
    """A value in the user's form, None if missing."""
    distinct, which = raw.distinct()
    value = None if which[0] == MISSING else plain(distinct[int(which[0])])
    return float(value) if column.kind == "real" and isinstance(value, int | float) else value


def _steps(
    tree: Tree, node: int, cells: list[Cell], values: list[Any], unknown: Unknown
) -> list[Step]:
    way = path_to(tree, node)
    steps = []
    for here, child in pairwise(way):
        split = split_of(tree, here, unknown=unknown)
        at = split.feature
        value, cell = values[at], cells[at]
        known = split.is_real or value is None or cell not in (MISSING, UNKNOWN)
        steps.append(
            Step(
                node=here,
                split=split,
                left=bool(tree.left[here] == child),
                value=value,
                known=known,
                rows=int(tree.rows[child]),
                of=int(tree.rows[here]),
            )
        )
    return steps


def _grids(tree: Tree, table: Table, row: Any) -> list[Grid]:
    """Which numbers the columns hold, as far as the row and the thresholds tell."""
    single = getattr(row, "dtype", None) == np.float32  # a row of a pandas frame, or an array
    grids: list[Grid] = []
    for at in range(len(tree.columns)):
        dtype = table.column(at).values.dtype
        halves = 2.0 * tree.threshold[tree.feature == at]  # thresholds lie between whole numbers
        whole = dtype.kind in "iu" and bool((halves == np.rint(halves)).all())
        narrow = single or dtype == np.float32
        grids.append("whole" if whole else "single" if narrow else "double")
    return grids


def _otherwise(
    tree: Tree,
    cells: list[Cell],
    label: int,
    unknown: Unknown,
    row: dict[str, Any],
    grids: list[Grid],
) -> Counterfactual | None:
    nearest = least_change(tree, cells, label, unknown=unknown, grids=grids)
    if nearest is None:
        return None
    node, moves = nearest
    changes = []
    for at, move in moves.items():
        column = tree.columns[at]
        new, region = _decoded(move.value, column), move.region
        if new is not None and grids[at] == "whole" and column.kind == "real" and new == int(new):
            new, region = int(new), _whole(region)
        words = _words(region, unknown)
        changes.append(Change(column.name, words, row[column.name], new, move.size))
    return Counterfactual(
        answer=plain(tree.classes[int(tree.label[node])]),
        node=node,
        changes=tuple(changes),
        row={**row, **{change.column: change.new for change in changes}},
    )


def _whole(region: Region) -> Region:
    """The same whole numbers, between bounds that are whole numbers too."""
    low, high = (x if math.isinf(x) else float(math.floor(x)) for x in (region.low, region.high))
    return replace(region, low=low, high=high)


def _decoded(cell: Cell, column: Column) -> Any:
    if column.kind == "real":
        return None if np.isnan(cell) else float(cell)
    return None if cell < 0 else plain((column.categories or ())[int(cell)])


def _order(name: str, codes: list[int], column: Column) -> str:
    """A range of ordered categories."""
    categories = column.categories or ()
    low = f"> {one_line(categories[codes[0] - 1])}" if codes[0] > 0 else ""
    high = f"<= {one_line(categories[codes[-1]])}" if codes[-1] < len(categories) - 1 else ""
    return f"{name} {' and '.join(filter(None, (low, high))) or 'present'}"


def _words(region: Region, unknown: Unknown) -> str:
    """The condition for a value to lie in a region, in words, ignoring missing values."""
    name = one_line(region.column.name)
    if region.column.kind == "real":
        empty = region.low >= region.high
        return f"{name} missing" if empty else region.interval(name) or f"{name} present"
    inside = [one_line(value) for value in region.values()]
    if not inside:
        return f"{name} missing"
    if region.column.kind == "ordinal" and len(inside) > 1:
        return _order(name, sorted(region.codes), region.column)
    outside = [one_line(value) for value in region.values(inside=False)]
    closed = region.unknown or unknown in ("error", "missing")  # all other values are included
    if closed and outside and len(outside) < len(inside):
        return f"{name} ≠ {' and ≠ '.join(outside)}"
    return f"{name} = {' or '.join(inside)}"
