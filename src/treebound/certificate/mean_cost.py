"""An upper bound on the mean of bounded costs, by betting (Waudby-Smith and Ramdas 2024).

If the mean of costs in [0, 1] is mu, the wealth ``prod (1 + bet_i (mu - cost_i))`` has mean 1, if
every bet is chosen in [0, 1) from the rows before it. It exceeds ``1 / delta`` with probability at
most delta. For other values of the mean it rises with the value, so the values that are not refuted
are those below a bound. A bet is ``sqrt(2 ln(1 / delta) / (m variance))``, with the variance of the
rows before it. Rows are independent, so any order that does not look at the costs is as good as
theirs, and the mean of the wealth over several orders has mean 1 too: it depends less on luck.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treebound._utils.validation import Number, check, invalid
from treebound.certificate.certificate import DELTA, ROW_OF_GROUP

_LARGEST = 0.9


@dataclass(frozen=True)
class MeanCost:
    """An upper bound on the mean cost of a new example that holds with probability 1 - delta.

    Attributes
    ----------
    cost : float
        The bound.
    mean : float
        The mean on the rows that were counted: held-out rows, or those that do not define a prior.
    m : int
        Number of these rows.
    most : float
        The largest cost that can occur.
    delta : float
        Probability that the bound is wrong.
    grouped, note
        See :class:`~treebound.certificate.Certificate`.
    """

    cost: float
    mean: float
    m: int
    most: float
    delta: float
    grouped: bool = False
    note: str = ""

    def __float__(self) -> float:
        return self.cost

    def __str__(self) -> str:
        examples = f"new examples{ROW_OF_GROUP}" if self.grouped else "a new example"
        verb = "cost" if self.grouped else "costs"
        sentence = (
            f"With probability {100 * (1 - self.delta):.6g} %, {examples} {verb} at most "
            f"{self.cost:.4g} on average ({self.mean:.4g} on the {self.m:,} counted here)."
        )
        return f"{sentence} {self.note}" if self.note else sentence


def certify_mean_cost(
    costs: ArrayLike, most: float, delta: float = 0.05, *, log_share: float = 0.0
) -> MeanCost:
    """Bound the mean cost by the costs of held-out rows, from 0 to ``most``.

    ``log_share`` is the log of the share of delta that it has of several that hold together.
    """
    check("certify_mean_cost", {"delta": delta, "most": most}, {**DELTA, "most": Number(0.0)})
    values = np.asarray(costs, dtype=np.float64).ravel()
    if not len(values) or not ((values >= 0.0) & (values <= most)).all():
        must = f"numbers from 0 to most={most:g}, at least one"
        raise invalid("costs", "certify_mean_cost", must, costs)
    if most == 0.0:
        return MeanCost(0.0, 0.0, len(values), 0.0, float(delta))
    orders, needed = in_orders(values / most), -log(delta) - log_share
    high = _smallest_refuted(orders, _bets(orders, needed), needed)
    cost = min(float(most), most * high * (1.0 + 1e-9))
    return MeanCost(cost, float(values.mean()), len(values), float(most), float(delta))


def in_orders(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The costs in up to 30 random orders, fewer of many costs; their own does not matter."""
    costs = np.sort(costs)
    rng, n_orders = np.random.default_rng(0), int(np.clip(1_000_000 // len(costs), 1, 30))
    return np.array([rng.permutation(costs) for _ in range(n_orders)])


def _bets(costs: NDArray[np.float64], needed: float) -> NDArray[np.float64]:
    """The bet on each row, from the mean and the variance of the rows before it."""
    m = costs.shape[1]
    seen = np.arange(2, m + 2)
    mean = (0.5 + costs.cumsum(axis=1)) / seen
    variance = (0.25 + ((costs - mean) ** 2).cumsum(axis=1)) / seen
    before = np.concatenate([np.full((len(costs), 1), 0.25), variance[:, :-1]], axis=1)
    return np.asarray(np.minimum(_LARGEST, np.sqrt(2.0 * needed / (m * before))))


def _smallest_refuted(
    costs: NDArray[np.float64], bets: NDArray[np.float64], needed: float
) -> float:
    """The least mean whose log wealth reaches ``needed``, rounded up; 1 if none does."""
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        middle = 0.5 * (low + high)
        each = np.log1p(bets * (middle - costs)).sum(axis=1)
        if float(np.logaddexp.reduce(each)) - log(len(each)) >= needed:
            high = middle
        else:
            low = middle
    return high
