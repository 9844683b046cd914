"""A target of numbers in a database: facts about it, and integers made inside the query.

Numbers are rounded as in memory (see ``data/numeric_target.py``): the same operations on doubles,
in the same order, so that every row has the same integers, and sums of them are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import frexp
from typing import Any, NamedTuple

import numpy as np

from treebound.data.numbers import MAX_NUMBER, check_spread
from treebound.data.numeric_target import MAX_DIGITS, NumberFacts, NumericTarget
from treebound.data.summaries import ColumnSummary, TargetSummary
from treebound.data.weights import WeightTotal
from treebound.engines.sql.stores import ROWS, SqlStore, rounded

# Numbers are summed in pieces of so many bits, at most so many of them: a product with the power of
# two of the last one is finite.
_PIECE_BITS, _MAX_PIECES = 30, 32
_NO_DIGITS = MAX_DIGITS + 1
# Doubles from here on are whole.
_EXACT = 2.0**53


def _scaled(x: str, shift: int, store: SqlStore) -> str:
    """SQL of a double times a power of two, which may be out of the range of doubles."""
    half = shift // 2
    return f"({x} * {store.number(2.0**half)} * {store.number(2.0 ** (shift - half))})"


def check_numbers(store: SqlStore, native: Any, target: str, n_rows: int) -> None:
    """Raise a ValueError if a row of the relation has no number ``y``, or one out of range."""
    ends = "MAX(ABS(y)) AS most, MIN(y) AS low, MAX(y) AS high"
    fetched = store.fetch(f"SELECT COUNT(y) AS n, {ends} FROM {ROWS}", native)
    missing = n_rows - int(fetched["n"][0])
    if missing:
        raise ValueError(
            f"The column {target!r} of the relation has {missing:,} rows without a number. Hint: "
            "leave them out."
        )
    most = float(fetched["most"][0])
    if most > MAX_NUMBER:
        raise ValueError(
            f"The column {target!r} of the relation must be at most {MAX_NUMBER:g} in absolute "
            f"value. Got {most:g} instead. Hint: leave out rows without a finite number, or divide "
            "it by a constant."
        )
    check_spread(float(fetched["low"][0]), float(fetched["high"][0]), f"the column {target!r}")


def number_facts(store: SqlStore, native: Any, min_weight: float) -> NumberFacts:
    """Return the facts of the numbers ``y`` of a relation, whose least weight is known."""
    digits = []
    for d in range(_NO_DIGITS):
        power = store.number(10.0**d)
        # larger products are not taken as decimals, in memory too
        small = f"ABS(y) * {power} < {store.number(_EXACT)}"
        # some databases have no floor of these, and compute it before they look at the condition
        x = f"LEAST(GREATEST(y * {power}, {store.number(-_EXACT)}), {store.number(_EXACT)})"
        digits.append(f"WHEN {small} AND {_whole(x)} / {power} = y THEN {d}")
    case = f"CASE {' '.join(digits)} ELSE {_NO_DIGITS} END"
    fetched = store.fetch(
        f"SELECT MIN(y) AS low, MAX(y) AS high, MAX({case}) AS digits FROM {ROWS}", native
    )
    max_digits = int(fetched["digits"][0])
    return NumberFacts(
        float(fetched["low"][0]),
        float(fetched["high"][0]),
        None if max_digits == _NO_DIGITS else max_digits,
        min_weight,
    )


def _whole(x: str) -> str:
    """SQL of a double rounded to a whole number, as a double; halves are no matter."""
    return f"(FLOOR({x}) + CASE WHEN {x} - FLOOR({x}) > 0.5 THEN 1.0 ELSE 0.0 END)"


def clipped(x: str, clip: tuple[float, float], store: SqlStore) -> str:
    """SQL of a double that is moved into a range."""
    low, high = map(store.number, clip)
    return f"CASE WHEN {x} < {low} THEN {low} WHEN {x} > {high} THEN {high} ELSE {x} END"


def target_summary(store: SqlStore, native: Any, target: str) -> TargetSummary:
    """Return the summary of the numbers ``y`` of a relation, with their exact sum."""
    ends = "MIN(y) AS low, MAX(y) AS high, MAX(ABS(y)) AS most, "
    ends += "MIN(CASE WHEN y <> 0 THEN ABS(y) END) AS least"
    fetched = store.fetch(f"SELECT {ends} FROM {ROWS}", native)
    low, high, most, least = (fetched[name][0] for name in ("low", "high", "most", "least"))
    wanted = [
        f"SUM(CASE WHEN y = {store.number(end)} THEN 1 ELSE 0 END) AS at_{name}"
        for name, end in (("low", low), ("high", high))
    ]
    shifts: list[int] = []
    if most:
        top, bottom = frexp(most)[1], frexp(float(least))[1] - 53
        pieces = -(-(top - bottom) // _PIECE_BITS)
        if pieces > _MAX_PIECES:
            raise ValueError(
                f"The numbers of the column {target!r} differ too much: from {least:g} to {most:g} "
                "in absolute value. Hint: round them."
            )
        shifts = [_PIECE_BITS * i - top for i in range(pieces)]
    for i, shift in enumerate(shifts):  # bits of |y|: nothing is rounded
        # larger ones have no such bits, and some databases have no floor of them
        x = f"LEAST({_scaled('ABS(y)', shift, store)}, {store.number(_EXACT)})"
        bits = f"FLOOR(({x} - FLOOR({x})) * {store.number(2.0**_PIECE_BITS)})"
        piece = f"CAST({bits} AS BIGINT)"
        wanted.append(f"SUM({piece} * CASE WHEN y < 0 THEN -1 ELSE 1 END) AS p{i}")
    fetched = store.fetch(f"SELECT {', '.join(wanted)} FROM {ROWS}", native)
    total = sum(
        (
            Fraction(int(fetched[f"p{i}"][0])) / Fraction(2) ** (shift + _PIECE_BITS)
            for i, shift in enumerate(shifts)
        ),
        Fraction(0),
    )
    at_low, at_high = (int(fetched[f"at_{name}"][0]) for name in ("low", "high"))
    values = ColumnSummary(float(low), float(high), at_low=at_low, at_high=at_high)
    return TargetSummary(values, total)


class NumberColumns(NamedTuple):
    """A query of rows with their integers, and the names of these columns."""

    query: str
    channels: list[str]


def with_integers(
    query: str, columns: Sequence[str], facts: NumberFacts, total: WeightTotal, store: SqlStore
) -> NumberColumns:
    """Add the sum ``q`` and the squares ``q2`` of each row to a query that has a number ``y``.

    ``columns`` are those of the query that stay, among them ``units`` if rows have weights.
    """
    target = NumericTarget.part_of(np.empty(0), None, facts, total)
    scale, units = target.scale, "1" if total.ones else "units"
    stay = ", ".join(columns)
    if scale.digits is not None:
        power = 10.0**scale.digits
        x = f"y * {store.number(power)}"
        whole = f"{rounded('x')} - ({int(np.rint(scale.centre * power))})"
    else:
        x = _scaled(f"(y - {store.number(scale.centre)})", scale.shift, store)
        whole = rounded("x")
    if total.shift:  # a weight that is not whole is multiplied before the number is rounded
        x = f"({x} * CAST({units} AS {store.double}))"
        total_of_row = "whole"
    else:
        total_of_row = f"whole * {units}"
    if target.square_shift == 0 and not total.shift:
        squares = "q * whole"
    else:
        q = f"CAST(q AS {store.double})"
        share = f"{q} * {q} / CAST({units} AS {store.double}) * {store.number(1.0 + 2.0**-48)}"
        squares = f"CAST(CEIL({share} * {store.number(2.0**-target.square_shift)}) AS BIGINT)"
    query = f"SELECT {stay}, {x} AS x FROM ({query}) AS a"
    query = f"SELECT {stay}, {whole} AS whole FROM ({query}) AS b"
    query = f"SELECT {stay}, whole, {total_of_row} AS q FROM ({query}) AS c"
    query = f"SELECT {stay}, q, {squares} AS q2 FROM ({query}) AS d"
    return NumberColumns(query, [*(() if total.ones else ("units",)), "q", "q2"])
