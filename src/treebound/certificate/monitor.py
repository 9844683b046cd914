"""Watching a certified rate after deployment: a test that is valid at any time.

Outcomes come one by one, 1 for an event such as an error. The hypothesis is that its probability,
given the past, is never above a limit b. A bet l in [0, 1/b] has the wealth
``prod (1 + l (outcome - b))``, a nonnegative supermartingale under the hypothesis, so that the
probability that it ever reaches ``1 / alpha`` is at most alpha (Ville). To notice a later change,
new bets start at every time t with weight ``1 / (t (t + 1))``; for a fixed l all of them are one
sum, ``S <- (S + weight) (1 + l (outcome - b))``, and the mean of S over a grid of l plus the weight
not yet spent is again a nonnegative supermartingale that starts at 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from treebound._utils.validation import Constraint, Number, check, invalid

# Bets as shares of the largest one that is allowed.
BETS = np.geomspace(0.01, 0.9, 12)
_PART = 10_000  # outcomes at a time
_ALPHA: dict[str, Constraint] = {"alpha": Number(0.0, 1.0, open=True)}


class Stream(msgspec.Struct, forbid_unknown_fields=True):
    """A rate that is watched: its limit, its share of alpha, and the wealth of the bets so far."""

    name: str
    limit: float
    alpha: float
    seen: int = 0
    events: int = 0
    log_sums: list[float] = []  # ln S of each bet; empty before the first outcome
    log_plain: list[float] = []  # the same without later starts
    least: list[float] = []  # the smallest value of log_plain,
    least_at: list[int] = []  # when it was reached last,
    least_events: list[int] = []  # and the events up to then

    def update(self, outcomes: NDArray[np.bool_]) -> int | None:
        """Add outcomes; the number of outcomes at the first alarm, or None."""
        for start in range(0, len(outcomes), _PART):
            if self._add(outcomes[start : start + _PART]):
                return self.seen
        return None

    def _add(self, outcomes: NDArray[np.bool_]) -> bool:
        """Add outcomes up to the first alarm, all bets and times at once."""
        if self.limit >= 1.0:  # nothing can be above it
            self.seen += len(outcomes)
            self.events += int(outcomes.sum())
            return False
        sums, plain, least, at, before = self._state()
        rise, fall = steps(self.limit)
        times = self.seen + 1 + np.arange(len(outcomes))
        growth = np.where(outcomes[:, None], rise, fall).cumsum(axis=0)
        all_sums = later_sums(sums, growth, times)
        alarms = log_wealth(all_sums, times) >= -log(self.alpha)
        stop = int(alarms.argmax()) + 1 if alarms.any() else len(outcomes)
        path = plain + growth[:stop]
        last = stop - 1 - path[::-1].argmin(axis=0)  # where each bet was lowest, the last time
        lowest = path[last, np.arange(len(BETS))]
        lower = lowest <= least
        events = self.events + outcomes[:stop].cumsum()
        least[lower], at[lower], before[lower] = (
            lowest[lower], times[last[lower]], events[last[lower]],
        )  # fmt: skip
        self.seen, self.events = int(times[stop - 1]), int(events[-1])
        self._keep(all_sums[stop - 1], path[-1], least, at, before)
        return bool(alarms.any())

    @property
    def log_wealth(self) -> float:
        """Log of the evidence against the limit; an alarm at ``-ln alpha``."""
        if not self.log_sums:
            return 0.0
        return float(log_wealth(np.array(self.log_sums), self.seen))

    @property
    def since(self) -> tuple[int, int]:
        """The number of outcomes before the change, and of events among them; an estimate."""
        if not self.log_plain:
            return 0, 0
        best = int(np.argmax(self.log_sums))
        return self.least_at[best], self.least_events[best]

    def sizes(self) -> tuple[list[Any], ...]:
        """The lists that have one entry for each bet."""
        return self.log_sums, self.log_plain, self.least, self.least_at, self.least_events

    def _state(self) -> tuple[NDArray[Any], ...]:
        if not self.log_sums:
            n = len(BETS)
            return (np.full(n, -inf), np.zeros(n), np.zeros(n), np.zeros(n, int), np.zeros(n, int))
        return tuple(np.array(values) for values in self.sizes())

    def _keep(self, *state: NDArray[Any]) -> None:
        self.log_sums, self.log_plain, self.least, self.least_at, self.least_events = (
            values.tolist() for values in state
        )


def steps(limit: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log factors of an event and of no event, for each bet."""
    bets = BETS / max(limit, 1e-12)
    return np.log1p(bets * (1.0 - limit)), np.log1p(-bets * limit)


def later_sums(
    log_sums: NDArray[np.float64], growth: NDArray[np.float64], times: NDArray[np.int64]
) -> NDArray[np.float64]:
    """``S <- (S + 1 / (t (t + 1))) factor`` in logs, after each of the times.

    ``growth`` are the sums of the log factors, one row for each time, one column for each bet.
    """
    before = np.concatenate([np.zeros_like(growth[:1]), growth[:-1]])
    weights = -np.log(times * (times + 1.0))[:, None]
    started = np.logaddexp.accumulate(weights - before, axis=0)
    return np.asarray(growth + np.logaddexp(log_sums, started))


def log_wealth(log_sums: NDArray[np.float64], times: Any) -> Any:
    """Log of the mean of S over the bets, plus the weight of the bets still to come."""
    top = log_sums.max(axis=-1)
    mean = np.log(np.exp(log_sums - top[..., None]).mean(axis=-1)) + top
    return np.logaddexp(mean, -np.log1p(times))


@dataclass(frozen=True)
class Alarm:
    """An alarm: the rate of an event is above its limit.

    Its text says since when; :class:`Monitor` raises at most one for each rate.

    Attributes
    ----------
    name : str
        What was watched.
    limit : float
        Its certified limit.
    after : int
        Number of outcomes of its kind when the alarm was raised.
    evidence : float
        The wealth: under the limit it reaches this value with probability at most 1 / evidence.
    since : int
        Number of outcomes before the likely change.
    rate : float
        Share of events since then.
    """

    name: str
    limit: float
    after: int
    evidence: float
    since: int
    rate: float

    def __str__(self) -> str:
        return (
            f"ALARM after {self.after:,} outcomes: {self.name} is above its certified limit of "
            f"{100 * self.limit:.1f} % (evidence {self.evidence:,.0f} to 1), probably since "
            f"outcome {self.since + 1:,}; {100 * self.rate:.1f} % from there on."
        )


class Monitor(msgspec.Struct, forbid_unknown_fields=True):
    """Watches rates against their limits; alpha is shared by all of them.

    Made by :meth:`Certificate.monitor`. The false alarm probability is at most ``alpha`` over
    all time, if the limits hold.

    Attributes
    ----------
    alpha : float
        Probability that there is ever a false alarm.
    streams : list of Stream
        What is watched.
    classes : list
        The classes that are watched apart.
    leaves : list of int
        The nodes whose shares of rows are watched, for a monitor without labels.
    abstains : object
        The answer that is none: rows with this prediction are ignored.
    alarms : list of Alarm
        Raised so far, at most one for each stream.
    """

    alpha: float
    streams: list[Stream]
    classes: list[Any] = []
    leaves: list[int] = []
    abstains: Any = None
    alarms: list[Alarm] = []

    @property
    def alarm(self) -> Alarm | None:
        """The first alarm, if any."""
        return self.alarms[0] if self.alarms else None

    def update(self, y_true: ArrayLike, y_pred: ArrayLike) -> Alarm | None:
        """Add labelled outcomes in the order they came.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n_rows,)
            True and predicted labels.

        Returns
        -------
        Alarm or None
            The first alarm so far.
        """
        true, answer = np.asarray(y_true), np.asarray(y_pred)
        if true.shape != answer.shape or true.ndim != 1:
            must = f"one label for each of the {len(true)} true labels"
            raise invalid("y_pred", "Monitor.update", must, answer.shape)
        if self.leaves:
            raise ValueError("This monitor watches leaves. Hint: update_rows(clf, X).")
        if self.abstains is not None:
            true, answer = true[answer != self.abstains], answer[answer != self.abstains]
        wrong = true != answer
        masks = [np.ones(len(true), dtype=bool), *(true == label for label in self.classes)]
        return self._update([wrong[mask] for mask in masks])

    def update_rows(self, clf: Any, X: Any, y: ArrayLike | None = None) -> Alarm | None:
        """Add rows in the order they came, as a classifier answers them.

        Parameters
        ----------
        clf : BoundTreeClassifier, ReferringClassifier or Model
            The fitted classifier whose certificate is watched.
        X : table
            The rows.
        y : array-like of shape (n_rows,), optional
            Their true labels; without them the leaves that they reach are watched.

        Returns
        -------
        Alarm or None
            The first alarm so far.
        """
        if y is None:
            return self._update_leaves(clf.apply(X))
        return self.update(y, clf.predict(X))

    def _update_leaves(self, leaves: ArrayLike) -> Alarm | None:
        """Add rows without labels, by the nodes that they reached."""
        if not self.leaves:
            raise ValueError("This monitor needs labels. Hint: update_rows(clf, X, y).")
        reached = np.asarray(leaves)
        inside = [reached == leaf for leaf in self.leaves]
        return self._update([side for own in inside for side in (own, ~own)])

    def _update(self, outcomes: Sequence[NDArray[np.bool_]]) -> Alarm | None:
        raised = {alarm.name for alarm in self.alarms}
        for stream, own in zip(self.streams, outcomes, strict=True):
            if stream.name in raised:
                continue
            after = stream.update(own)
            if after is not None:
                since, before = stream.since
                rate = (stream.events - before) / max(stream.seen - since, 1)
                self.alarms.append(
                    Alarm(stream.name, stream.limit, after, float(np.exp(stream.log_wealth)),
                          since, rate)
                )  # fmt: skip
        return self.alarm

    def to_json(self) -> str:
        """The state as JSON, to continue with later."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Monitor:
        """Continue from a state.

        Parameters
        ----------
        text : str or bytes
            What :meth:`to_json` gave.

        Raises
        ------
        ValueError
            If it is not the state of a monitor.
        """
        try:
            state = msgspec.json.decode(text, type=cls)
        except msgspec.DecodeError as error:
            raise ValueError(f"This is not the state of a monitor: {error}") from None
        sizes = {len(values) for stream in state.streams for values in stream.sizes()}
        if not sizes <= {0, len(BETS)}:
            raise ValueError("This is not the state of a monitor: the number of bets differs.")
        if len(state.streams) != (2 * len(state.leaves) or 1 + len(state.classes)):
            raise ValueError("This is not the state of a monitor: the number of streams differs.")
        return state


def error_monitor(
    limit: float,
    by_class: Sequence[tuple[Any, float]] = (),
    *,
    alpha: float = 0.01,
    abstains: Any = None,
) -> Monitor:
    """Watch the error rate, and the share of missed cases of each class, which share alpha."""
    check("monitor", {"alpha": alpha}, _ALPHA)
    share = alpha / (1 + len(by_class))
    name = "the error rate" if abstains is None else "the error rate of predicted cases"
    streams = [Stream(name, float(limit), share)]
    streams += [
        Stream(f"the share of missed {label}", float(own), share) for label, own in by_class
    ]
    return Monitor(alpha, streams, [label for label, _ in by_class], abstains=abstains)


def leaf_monitor(
    rows: Mapping[int, int],
    m: int,
    *,
    alpha: float = 0.01,
    upper: Callable[[int, int, float], float],
) -> Monitor:
    """Watch, without labels, the shares of rows in the leaves, above and below.

    Of m rows each leaf has ``rows``. Half of alpha is for the limits on the true shares, half for
    watching; both are divided among the two sides of all leaves. ``upper(leaf, events, log_level)``
    is the limit on a share.
    """
    check("monitor", {"alpha": alpha}, _ALPHA)
    share, streams = alpha / (4.0 * len(rows)), []
    for leaf, inside in rows.items():
        for side, events in (("in", inside), ("outside", m - inside)):
            most = upper(leaf, events, log(share))
            streams.append(Stream(f"the share of rows {side} leaf {leaf}", most, share))
    return Monitor(alpha, streams, leaves=list(rows))
