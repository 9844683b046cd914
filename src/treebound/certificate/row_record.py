"""Record of the rows that were used for fitting, to notice if they are certified from again.

Rows are compared by hashes of their values and class, with the rows of each role on their own.
Equal rows also occur by chance: the share of rows in a sketch that occur once estimates how often
a new row equals none of them (Good and Turing). Only significantly more matches than that mean
that rows were used for fitting.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from treebound.data import Sample
from treebound.data.row_hashes import RowSketch, row_hashes

Role = Literal["training", "validation", "calibration"]
# Below this number of comparable rows, a comparison shows little.
_MIN_COMPARABLE = 10
# Matches as improbable as this are not chance.
_SIGNIFICANCE = 1e-3
_DEVIATIONS = 3.0


@dataclass(frozen=True)
class RoleMatches:
    """Rows of a table that equal rows of one role.

    Attributes
    ----------
    role : str
        The role: training, validation or calibration.
    chance : float
        Upper bound on the probability that a new row equals one of them.
    comparable, matches : int
        Rows that could be compared, and those that equal a row of the role.
    """

    role: Role
    chance: float
    comparable: int = 0
    matches: int = 0

    @property
    def significant(self) -> bool:
        """True if there are more matches than chance explains."""
        from scipy.stats import binom

        return float(binom.sf(self.matches - 1, self.comparable, self.chance)) < _SIGNIFICANCE

    @property
    def few(self) -> bool:
        """True if so few rows could be compared that the comparison shows little."""
        return self.comparable < _MIN_COMPARABLE

    @property
    def by_chance(self) -> bool:
        """True if even rows that all match could do so by chance."""
        return not self.few and not replace(self, matches=self.comparable).significant


@dataclass(frozen=True)
class RowComparison:
    """Comparison of the rows of a table with those that were used for fitting.

    Attributes
    ----------
    rows : int
        Number of rows of the table.
    by_role : tuple of RoleMatches
        The matches with the rows of each role.
    not_compared : str
        Why no row was compared; empty if rows were.
    """

    rows: int = 0
    by_role: tuple[RoleMatches, ...] = ()
    not_compared: str = ""

    @property
    def used(self) -> tuple[RoleMatches, ...]:
        """The roles whose rows the table has, by more matches than chance explains."""
        return tuple(matches for matches in self.by_role if matches.significant)

    @property
    def note(self) -> str:
        """A sentence if rows used for fitting might not be noticed; empty if they would be."""
        few, likely = (
            " and ".join(matches.role for matches in self.by_role if getattr(matches, name))
            for name in ("few", "by_chance")
        )
        reasons = [
            self.not_compared,
            f"fewer than {_MIN_COMPARABLE} of them can be compared with {few} rows" if few else "",
            f"new rows often equal {likely} rows by chance" if likely else "",
        ]
        if not any(reasons):
            return ""
        why = "; ".join(filter(None, reasons))
        return f"Whether these rows were used for fitting cannot be tested: {why}."

    def refuse_used(self, hint: str) -> None:
        """Raise an error if rows were used for fitting."""
        if not self.used:
            return
        equal_rows = " and ".join(
            f"{role.matches:,} of {role.comparable:,} comparable rows equal {role.role} rows"
            for role in self.used
        )
        raise ValueError(
            f"The model was fitted or certified with these rows: {equal_rows}, more than chance "
            f"explains. Hint: {hint}"
        )

    def __add__(self, other: RowComparison) -> RowComparison:
        """Return the comparison of the rows of both."""
        if not self.rows:
            return other
        pairs = zip(self.by_role, other.by_role, strict=True)
        return RowComparison(
            self.rows + other.rows,
            tuple(
                replace(
                    matches,
                    comparable=matches.comparable + more.comparable,
                    matches=matches.matches + more.matches,
                )
                for matches, more in pairs
            ),
            self.not_compared or other.not_compared,
        )


@dataclass(frozen=True)
class RowRecord:
    """Sketches of the rows that were used for fitting, one for each role."""

    sketches: Mapping[Role, RowSketch] = field(default_factory=dict)

    @classmethod
    def of(cls, sample: Sample, named: bool) -> RowRecord:
        """Return the record of the rows that a tree was grown on."""
        return cls().with_rows("training", hashes_of(sample, named))

    def with_rows(self, role: Role, hashes: NDArray[np.uint64] | None) -> RowRecord:
        """Return the record with more rows; rows that cannot be hashed are not recorded."""
        if hashes is None:
            return self
        sketch, before = RowSketch.of(hashes), self.sketches.get(role)
        if before is not None:
            same = _matches(role, before, hashes).significant
            sketch = before.union(sketch) if same else before.merge(sketch)
        return RowRecord({**self.sketches, role: sketch})

    def compare(self, hashes: NDArray[np.uint64] | None, rows: int) -> RowComparison:
        """Compare rows with those of each role; the hashes are None if columns are absent."""
        if not self.sketches:
            return RowComparison(rows, not_compared="the model has no record of its rows")
        if hashes is None:
            return RowComparison(rows, not_compared="columns of the training table are absent")
        matches = (_matches(role, sketch, hashes) for role, sketch in self.sketches.items())
        return RowComparison(rows, tuple(matches))

    def unknown(self, hashes: NDArray[np.uint64]) -> tuple[int, int]:
        """Return how many rows can be compared with all roles, and how many of them are in none."""
        for sketch in self.sketches.values():
            hashes = sketch.covered(hashes)
        known = [np.isin(hashes, sketch.hashes) for sketch in self.sketches.values()]
        return len(hashes), int((~np.logical_or.reduce(known)).sum())


def hashes_of(sample: Sample, named: bool) -> NDArray[np.uint64]:
    """Return a hash of each row of a sample."""
    names = [column.name for column in sample.columns] if named else None
    return row_hashes(sample.X, sample.classes, sample.y, names=names)


def _matches(role: Role, sketch: RowSketch, hashes: NDArray[np.uint64]) -> RoleMatches:
    covered = sketch.covered(hashes)
    matches = int(np.isin(covered, sketch.hashes).sum())
    return RoleMatches(role, _chance_of_match(sketch), len(covered), matches)


def _chance_of_match(sketch: RowSketch) -> float:
    """Return an upper bound on the probability that a new row equals one of the sketch.

    The estimate of Good and Turing, one minus the share of rows that occur once, plus three
    standard deviations (Esty 1983).
    """
    rows = int(sketch.counts.sum())
    if not rows:
        return 0.0
    once, twice = int((sketch.counts == 1).sum()), int((sketch.counts == 2).sum())
    share = once / rows
    deviation = sqrt((once * (1.0 - share) + 2.0 * twice) / rows**2)
    return min(1.0, 1.0 - share + _DEVIATIONS * deviation + _DEVIATIONS / rows)
