"""The least change of a row that gives another answer, searched along the tree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from treebound.show.as_rules import Region
from treebound.tree import Tree
from treebound.tree.split import Unknown, splits_of

__all__ = ["Cell", "Found", "Move", "least_change", "moved_into"]

# A value of a row: a number, NaN where it is missing; or a code, -1 missing, -2 unknown.
Cell = float | int
MISSING, UNKNOWN = -1, -2


@dataclass(frozen=True)
class Move:
    """A value that lies in a region: the row's own, or the nearest one.

    Attributes
    ----------
    region : Region
        What is allowed of the column.
    value : float or int
        The nearest value there, encoded.
    size : float
        How large the change is, from 0 to 1.
    changed : bool
    """

    region: Region
    value: Cell
    size: float
    changed: bool


@dataclass(frozen=True)
class Found:
    """An end of the tree, and what of a row must change to get there.

    Attributes
    ----------
    node : int
        The node that answers.
    moves : dict of int to Move
        The columns to change, in their order.
    size : float
        The sum of the sizes of the changes.
    """

    node: int
    moves: dict[int, Move]
    size: float


def least_change(
    tree: Tree, row: Sequence[Cell], label: int, *, unknown: Unknown = "other"
) -> Found | None:
    """The least change of a row after which the tree answers something else than ``label``.

    Least are the fewest columns; then the smallest sum of sizes; then the node with the most
    training rows, and the first of those.

    Parameters
    ----------
    tree : Tree
    row : sequence of float or int
        Its value in every column, encoded as in a :class:`~treebound.data.Matrix`.
    label : int
        The class that is not wanted.
    unknown : {"other", "majority", "stop", "missing", "error"}
        Where a category that the column does not know goes.

    Returns
    -------
    Found or None
        None where every end that known values can reach answers ``label``.

    Notes
    -----
    Every end is a box of values, so each column moves on its own to the nearest value inside.
    Further down, boxes shrink and cost more: what costs more than the best end is left out.
    """
    splits = splits_of(tree, unknown=unknown)
    best: tuple[int, float, int, int] = (len(row) + 1, 0.0, 0, 0)
    found = None
    stack: list[tuple[int, dict[int, Move]]] = [(0, {})]
    while stack:
        node, moves = stack.pop()
        price = _price(moves)
        if price > best[:2]:
            continue
        split = splits[node]
        here = None
        if split is not None:
            here = moves[split.feature].region if split.feature in moves else None
            here = here or Region.all_of(split.column)
            # an unknown category may rest at this node
            stays = unknown == "stop" and row[split.feature] == UNKNOWN and here.unknown
        if split is None or stays:
            key = (*price, -int(tree.rows[node]), node)
            if tree.label[node] != label and key < best:
                changed = {at: moves[at] for at in sorted(moves) if moves[at].changed}
                best, found = key, Found(node, changed, price[1])
        if split is None or here is None:
            continue
        for child, left in ((tree.right[node], False), (tree.left[node], True)):
            move = moved_into(here.after(split, left=left), row[split.feature])
            if move is not None:
                stack.append((int(child), {**moves, split.feature: move}))
    return found


def _price(moves: dict[int, Move]) -> tuple[int, float]:
    """How many columns change and by how much; added up in one order, so that more costs more."""
    changed = [moves[at] for at in sorted(moves) if moves[at].changed]
    return len(changed), sum(move.size for move in changed)


def moved_into(region: Region, value: Cell) -> Move | None:
    """The nearest value to a value in a region; None where no known value lies there.

    The size of a change is ``|new - old| / (|new| + |old|)`` for a number, the share of the steps
    of the order for an ordinal category, and 1 for any other, such as from missing to present.
    """
    if region.column.kind == "real":
        return _moved_number(region, float(value))
    if value == UNKNOWN and region.unknown:
        return Move(region, value, 0.0, False)
    if (value == MISSING and region.missing) or value in region.codes:
        return Move(region, value, 0.0, False)
    if not region.codes:
        return Move(region, MISSING, 1.0, True) if region.missing else None
    steps = len(region.column.categories or ()) - 1
    if region.column.kind == "ordinal" and value >= 0:
        nearest = min(region.codes, key=lambda code: (abs(code - value), code))
        return Move(region, nearest, abs(nearest - value) / steps, True)
    return Move(region, min(region.codes), 1.0, True)


def _moved_number(region: Region, value: float) -> Move | None:
    low, high = region.low, region.high
    if math.isnan(value):
        if region.missing:
            return Move(region, value, 0.0, False)
        above = math.nextafter(low, math.inf)
        new = high if math.isfinite(high) else above if math.isfinite(low) else 0.0
        inside = low < new <= high and math.isfinite(new)
        return Move(region, new, 1.0, True) if inside else None
    if low < value <= high:
        return Move(region, value, 0.0, False)
    new = math.nextafter(low, math.inf) if value <= low else high
    if low < new <= high and math.isfinite(new):
        return Move(region, new, _relative(value, new), True)
    return Move(region, math.nan, 1.0, True) if region.missing else None


def _relative(old: float, new: float) -> float:
    """The difference as a share of both numbers; scaled first, so that nothing overflows."""
    most = max(abs(old), abs(new))
    one, other = old / most, new / most
    return abs(one - other) / (abs(one) + abs(other))
