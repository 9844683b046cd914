"""The weight of the tree term, chosen by losses on rows that were not grown on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from treebound._utils.arrays import Floats, Ints
from treebound.pruning.path import count

WEIGHTS = np.array([0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0, 1.4, 2.0, 3.0])
DEFAULT_WEIGHT = 0.6
LOG_LOSS_WEIGHT = 0.3  # of the score "log-loss"
# The candidates of log-loss: many leaves that shrink strongly rank better than few. The first
# strength of shrinkage is the usual one; another must gain more than a standard error over it.
LOG_LOSS_WEIGHTS = np.array([0.0, *WEIGHTS])
STRENGTHS = tuple(2.0**power for power in range(1, 11))
# If one leaf is within so many standard errors of the least loss, only trees of at most so many
# leaves, or of half of those at the smallest weight, are considered.
CHANCE = 2.0
FEW_LEAVES = 10
# How many standard errors above the least loss a smaller tree may have; minus: a larger one.
RULES = {"accurate": 0.0, "balanced": 0.5, "small": 1.0, "detailed": -0.5}


def default_weight(score: Any) -> float:
    """The weight if there are no rows to choose it by, or too few."""
    return LOG_LOSS_WEIGHT if score == "log-loss" else DEFAULT_WEIGHT


class ChosenWeight:
    """A weight that validated losses chose among several."""

    weight: float
    rule: str | None
    weights: tuple[float, ...]
    losses: tuple[float, ...]

    @property
    def index(self) -> int:
        """The place of the chosen weight in ``weights``."""
        return self.weights.index(self.weight)

    @property
    def loss(self) -> float:
        """Validated loss at the chosen weight; NaN if there was no choice."""
        return self.losses[self.index] if self.rule else np.nan


@dataclass(frozen=True)
class WeightChoice(ChosenWeight):
    """How the weight of the tree term was chosen.

    Attributes
    ----------
    weight : float
        The chosen weight.
    rule : str or None
        The rule that chose it: ``"accurate"``, ``"balanced"``, ``"small"`` or ``"detailed"``; None
        if there was no choice.
    reason : str
        Why there was no choice; else how losses were measured.
    unit : str
        What the losses are: ``"error"``, ``"weighted error"``, ``"cost"`` (the mean cost of a row,
        with the costs as they were given) or ``"log-loss"``.
    weights, losses : tuple of float
        The weights that were tried, and the mean validated loss of each.
    leaves : tuple of int
        Leaves of the tree of all rows, pruned at each weight.
    standard_error : float
        Standard error of the least loss.
    constant : float
        Validated loss of a tree of one leaf.
    strengths : tuple of float
        For log-loss, the strength of shrinkage at each weight: that of the least loss, or the usual
        one if that is within a standard error of the difference.
    """

    weight: float
    rule: str | None
    reason: str
    unit: str = "error"
    weights: tuple[float, ...] = ()
    losses: tuple[float, ...] = ()
    leaves: tuple[int, ...] = ()
    standard_error: float = np.nan
    constant: float = np.nan
    strengths: tuple[float, ...] = ()

    @property
    def strength(self) -> float | None:
        """The chosen strength of shrinkage; None if it was not chosen."""
        return self.strengths[self.index] if self.strengths else None

    def at(self, rule: str) -> int:
        """The place in ``weights`` that a rule chooses."""
        losses, leaves = np.array(self.losses), np.array(self.leaves)
        best = losses.min()
        slack = 1e-12 * abs(best)  # rounding of weighted sums
        tolerance = abs(RULES[rule]) * self.standard_error + slack
        if RULES[rule] < 0.0:
            detailed = int(np.argmax(losses <= best + tolerance))
            return len(losses) - 1 if self.constant <= best + slack else detailed
        pruned = leaves <= max(FEW_LEAVES, leaves[0] / 2)
        if self.constant <= best + CHANCE * self.standard_error and pruned.any():
            # noise: a tree that is hardly pruned may be ahead of one leaf by chance
            losses = np.where(pruned, losses, np.inf)
            best = losses.min()
        fitting = losses <= best + tolerance
        informative = (leaves > 1) & (losses < np.inf)
        if self.constant <= best + slack or not informative.any():
            return int(fitting.nonzero()[0][-1])
        # one leaf only if it has the least loss itself
        preferred = fitting & informative
        return int((preferred if preferred.any() else informative).nonzero()[0][-1])

    def explain(self) -> str:
        """Describe the choice and its alternatives."""
        if self.rule is None:
            return f"Weight {self.weight:g} of the tree: {self.reason}."
        place = self.index
        here = self.leaves[place]
        words = f"{count(here, 'leaf')} ({self.reason} {self.unit} {self._figure(place)})"
        alternatives, best = [], self.at("accurate")
        for rule, claim in (("accurate", "the least"), ("small", "within one standard error")):
            other = self.at(rule)
            size, least = self.leaves[other], self.losses[other] < self.losses[place]
            if size != here and (
                least if rule == "accurate" else size < min(here, self.leaves[best])
            ):
                verb = "has" if size == 1 else "have"
                verb = verb if rule == "accurate" else "is" if size == 1 else "are"
                alternatives.append(f"{count(size, 'leaf')} ({self._figure(other)}) {verb} {claim}")
        sentence = "; ".join([words, *alternatives])
        chosen = f"weight {self.weight:g} among {len(self.weights)}"
        if self.strength is not None:
            chosen += f" and shrinkage {self.strength:g} among {len(STRENGTHS)}"
        loss = f"{self.reason} {self.unit}"
        return (
            f"{sentence}. The {loss} also chose the size ({chosen}), so it is a little too small."
        )

    def _figure(self, place: int) -> str:
        loss = self.losses[place]
        if self.is_share:
            return f"{100 * loss:.1f} %"
        return f"{loss:.3f}" if self.unit == "log-loss" else f"{loss:.4g}"

    @property
    def is_share(self) -> bool:
        """Return True if the losses are shares of the rows, which are written in percent."""
        return self.unit.endswith("error")


class Measured(NamedTuple):
    """Losses of trees on rows that they were not grown on.

    ``moments`` are the sums of losses, of their squares and of squared differences from the first
    strength, with each strength (or once), at each weight and for one leaf: an array of shape
    (n_strengths, n_weights + 1, 3). ``rows`` is the weight of the rows, and ``mass`` what the sums
    are divided by for the mean loss.
    """

    moments: Floats
    rows: float
    mass: float


def choose_weight(
    measured: Sequence[Measured],
    weights: Floats,
    leaves: Ints,
    *,
    strengths: tuple[float, ...] = (),
    rule: str,
    unit: str,
    reason: str,
) -> WeightChoice | None:
    """Choose by the losses on all folds together; None if there was no row to measure on."""
    rows = float(sum(fold.rows for fold in measured))
    if not rows:
        return None
    sums = np.sum([fold.moments for fold in measured], axis=0)
    mass = float(sum(fold.mass for fold in measured))
    least, at = sums[:, :, 0].argmin(axis=0), np.arange(len(weights) + 1)
    gained, differences = sums[0, :, 0] - sums[least, at, 0], sums[least, at, 2]
    least = np.where(gained > _deviation(gained, differences, rows), least, 0)
    sums = sums[least, at]
    best = int(np.argmin(sums[:-1, 0]))
    error = float(_deviation(sums[best, 0], sums[best, 1], rows))
    losses = sums[:, 0] / mass
    choice = WeightChoice(
        np.nan, rule, reason, unit, tuple(weights.tolist()), tuple(losses[:-1].tolist()),
        tuple(leaves.tolist()), error / mass, float(losses[-1]),
        tuple(strengths[at] for at in least[:-1]) if strengths else (),
    )  # fmt: skip
    return replace(choice, weight=choice.weights[choice.at(rule)])


def _deviation(total: Any, squares: Any, rows: float) -> Any:
    """The standard deviation of a sum over independent rows."""
    return np.sqrt(np.maximum(squares - total**2 / rows, 0.0))
