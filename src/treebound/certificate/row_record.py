"""What a model keeps of the rows that took part in fitting, to recognise them later.

Rows are compared by hashes of their values and class. Equal rows also occur by chance: the share of
training rows that occur once estimates how often a new row equals none of them (Good and Turing),
and only significantly more matches than that mean that rows are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from treebound.data import Sample
from treebound.data.row_hashes import RowSketch, row_hashes

Role = Literal["training", "held-out", "validation"]
_ROLES: Mapping[Role, str] = MappingProxyType(
    {
        "training": "rows that the tree was fitted on",
        "held-out": "rows that fit held out for its certificate",
        "validation": "validation rows of prune",
    }
)
# So many rows must be comparable for a check to mean anything.
_ENOUGH = 10
# Matches as improbable as this are not chance.
_SIGNIFICANT = 1e-3
_DEVIATIONS = 3.0


@dataclass(frozen=True)
class RowsSeen:
    """How many rows of a table are known to a model."""

    comparable: int = 0  # rows that could be compared
    matches: int = 0  # those that equal a row of fit
    significant: bool = False  # there are more of them than chance explains
    checked: bool = False  # rows of fit would have been noticed,
    why: str = "the model keeps no record of its rows"  # or why not
    roles: str = ""  # what the rows that match were

    @property
    def all(self) -> bool:
        """Whether all rows took part in fitting."""
        return self.significant and self.matches == self.comparable

    @property
    def some(self) -> bool:
        """Whether some rows took part in fitting and some did not."""
        return self.significant and self.matches < self.comparable

    @property
    def remark(self) -> str:
        """What the check found, to be put behind a sentence."""
        if self.significant:
            return f", but {self.matches:,} of {self.comparable:,} equal {self.roles}"
        return "" if self.checked else f" (not checked: {self.why})"

    @property
    def refusal(self) -> str:
        """Why rows of both kinds certify nothing."""
        return (
            f"{self.matches:,} of the {self.comparable:,} rows that can be compared are "
            f"{self.roles}, the others are not: together they are neither held-out "
            "rows nor the training rows. "
            "Hint: leave out the rows that had a part in fitting, or say what the rows are with "
            "kind='held-out' or kind='training'."
        )


@dataclass(frozen=True)
class RowRecord:
    """Sketches of the rows that took part in fitting, by what they were used for."""

    sketches: Mapping[Role, RowSketch] = field(default_factory=dict)

    @classmethod
    def of(cls, sample: Sample, named: bool) -> RowRecord:
        """The record of the rows that a tree was grown on."""
        names = [column.name for column in sample.columns] if named else None
        return cls().with_rows(
            "training", row_hashes(sample.X, sample.classes, sample.y, names=names)
        )

    def with_rows(self, role: Role, hashes: NDArray[np.uint64] | None) -> RowRecord:
        """The record with more rows; what cannot be hashed is not recorded."""
        if hashes is None:
            return self
        sketch, before = RowSketch.of(hashes), self.sketches.get(role)
        if before is not None:
            sketch = before if _same(before, sketch) else before.merge(sketch)
        return RowRecord({**self.sketches, role: sketch})

    def covered(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Hashes of rows that would be in the sketches if they had taken part in fitting."""
        for sketch in self.sketches.values():
            hashes = sketch.covered(hashes)
        return hashes

    def recognise(
        self, hashes: NDArray[np.uint64] | None, own: RowSketch | None = None
    ) -> RowsSeen:
        """Compare the hashes of rows with the record; None if columns are absent.

        With ``own``, the sketch of the rows, those that are covered are enough.
        """
        if not self.sketches:
            return RowsSeen()
        if hashes is None:
            return RowsSeen(why="columns of the training table are absent")
        sketches = self.sketches.values()
        own = RowSketch.of(hashes) if own is None else own
        compared = self.covered(hashes)
        hits = {role: np.isin(compared, sketch.hashes) for role, sketch in self.sketches.items()}
        matches = int(np.logical_or.reduce(list(hits.values())).sum())
        chance = max(map(_chance_of_match, sketches))
        same = any(_same(own, sketch) for sketch in sketches)
        comparable = len(compared)
        why = ""
        if comparable < _ENOUGH:
            why = f"only {comparable} of {own.rows:,} rows can be compared"
        elif chance**comparable >= _SIGNIFICANT:
            why = "most rows of fit occur several times"
        return RowsSeen(
            comparable,
            matches,
            significant=same or (not why and _at_least(matches, comparable, chance) < _SIGNIFICANT),
            checked=same or not why,
            why=why,
            roles=" and ".join(_ROLES[role] for role, hit in hits.items() if hit.any()),
        )


def same_rows(sketch: RowSketch | None, other: RowSketch | None) -> bool:
    """Whether two tables have rows in common, more than chance explains; None is a table too."""
    if sketch is None or other is None:
        return sketch is other
    if not sketch.rows or not other.rows:  # rows that could not be hashed count as the same
        return sketch.rows == other.rows
    return RowRecord({"validation": sketch}).recognise(other.hashes, other).significant


def _same(sketch: RowSketch, other: RowSketch) -> bool:
    """Whether two sketches are of the same rows."""
    return (
        sketch.rows == other.rows
        and np.array_equal(sketch.hashes, other.hashes)
        and np.array_equal(sketch.counts, other.counts)
    )


def _chance_of_match(sketch: RowSketch) -> float:
    """An upper limit on the probability that a new row equals one of the sketch.

    The estimate of Good and Turing, one minus the share of rows that occur once, plus three
    standard deviations (Esty 1983).
    """
    rows = int(sketch.counts.sum())
    once, twice = int((sketch.counts == 1).sum()), int((sketch.counts == 2).sum())
    share = once / rows
    deviation = sqrt((once * (1.0 - share) + 2.0 * twice) / rows**2)
    return min(1.0, 1.0 - share + _DEVIATIONS * deviation + _DEVIATIONS / rows)


def _at_least(matches: int, rows: int, chance: float) -> float:
    """Probability of at least so many matches by chance."""
    from scipy.stats import binom

    return float(binom.sf(matches - 1, rows, chance))
