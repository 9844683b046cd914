"""Counterfactuals: the smallest change of a row that changes the prediction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from treebound._utils.choices import Unknown
from treebound.data.raw import MISSING, UNKNOWN
from treebound.show.as_rules import Region, ends
from treebound.tree.base import BaseTree

# An encoded value: a number, NaN if missing; or a code, -1 if missing, -2 if unknown.
Cell = float | int
# The numbers of a column: whole ones, or floats of 32 or 64 bits.
Grid = Literal["whole", "single", "double"]


@dataclass(frozen=True)
class Move:
    """The value in a region that is nearest to the value of the row; the size is from 0 to 1."""

    region: Region
    value: Cell
    size: float
    changed: bool


def smallest_change(
    tree: BaseTree,
    row: Sequence[Cell],
    wanted: NDArray[np.bool_],
    *,
    handle_unknown: Unknown = "other",
    grids: Sequence[Grid] | None = None,
) -> tuple[int, dict[int, Move]] | None:
    """The end and the moves of the smallest change after which a row ends at a wanted node."""
    # Smallest: the fewest columns, then the smallest sum of sizes, then the node of most rows.
    # An end is a box of values, so each column moves on its own to the nearest value inside.
    places = {column.name: at for at, column in enumerate(tree.columns)}
    best, nearest = None, None
    for node, regions in ends(tree, handle_unknown):
        if not wanted[node]:
            continue
        boxes = {places[region.column.name]: region for region in regions}
        moves = {
            at: moved_into(boxes[at], row[at], "double" if grids is None else grids[at])
            for at in sorted(boxes)
        }
        if None in moves.values():
            continue
        changed = {at: move for at, move in moves.items() if move is not None and move.changed}
        size = sum(move.size for move in changed.values())
        key = (len(changed), size, -int(tree.rows[node]), node)
        if best is None or key < best:
            best, nearest = key, (node, changed)
    return nearest


def moved_into(region: Region, value: Cell, grid: Grid = "double") -> Move | None:
    """The value of a region that is nearest to a value; None if it has no known values."""
    # sizes are those of ``Change``
    if region.column.kind == "real":
        return _moved_number(region, float(value), grid)
    if value == UNKNOWN and region.unknown:
        return Move(region, value, 0.0, False)
    if (value == MISSING and region.missing) or value in region.codes:
        return Move(region, value, 0.0, False)
    if not region.codes and region.unknown and region.column.unlisted:
        return Move(region, UNKNOWN, 1.0, True)  # to one of the categories that are not listed
    if not region.codes:
        return Move(region, MISSING, 1.0, True) if region.missing else None
    steps = len(region.column.categories or ()) - 1
    if region.column.kind == "ordinal" and value >= 0:
        nearest = min(region.codes, key=lambda code: (abs(code - value), code))
        return Move(region, nearest, abs(nearest - value) / steps, True)
    return Move(region, min(region.codes), 1.0, True)


def _moved_number(region: Region, value: float, grid: Grid) -> Move | None:
    low, high = region.low, region.high
    if low < value <= high or (math.isnan(value) and region.missing):
        return Move(region, value, 0.0, False)
    from_below = value <= low if not math.isnan(value) else not math.isfinite(high)
    new = _first_above(low, high, grid) if from_below else _last_below(low, high, grid)
    if math.isnan(value) and math.isinf(low) and math.isinf(high):
        new = 0.0
    if low < new <= high and math.isfinite(new):
        return Move(region, new, 1.0 if math.isnan(value) else _relative(value, new), True)
    return Move(region, math.nan, 1.0, True) if region.missing else None


def _first_above(low: float, high: float, grid: Grid) -> float:
    """The first number above ``low``, on the grid if one of those is at most ``high``."""
    new = math.nextafter(low, math.inf)
    if grid == "whole" and math.isfinite(low):
        new = max(new, math.floor(low) + 1.0)
    elif grid == "single":
        single = _single(low)
        new = float(single if single > low else np.nextafter(single, np.float32(math.inf)))
    return new if new <= high else math.nextafter(low, math.inf)


def _last_below(low: float, high: float, grid: Grid) -> float:
    """The last number that is at most ``high``, on the grid if one of those is above ``low``."""
    new = high
    if grid == "whole" and math.isfinite(high):
        new = float(math.floor(high))
    elif grid == "single":
        single = _single(high)
        new = float(single if single <= high else np.nextafter(single, np.float32(-math.inf)))
    return new if new > low else high


def _single(value: float) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float32(value)


def _relative(old: float, new: float) -> float:
    """The difference relative to both numbers; scaled first to avoid overflow."""
    most = max(abs(old), abs(new))
    before, after = old / most, new / most
    return abs(before - after) / (abs(before) + abs(after))
