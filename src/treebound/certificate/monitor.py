"""Monitoring of certified rates after deployment: a test that is valid at any time.

Outcomes come one by one, 1 for an event such as an error. The hypothesis is that its probability,
given the past, is never above a bound b. A bet l in [0, 1/b] has the wealth
``prod (1 + l (outcome - b))``, a nonnegative supermartingale under the hypothesis, so that the
probability that it ever reaches ``1 / alpha`` is at most alpha (Ville). To notice a later change,
new bets start at every time t with weight ``1 / (t (t + 1))``; for a fixed l all of them are one
sum, ``S <- (S + weight) (1 + l (outcome - b))``, and the mean of S over a grid of l plus the weight
not yet spent is again a nonnegative supermartingale that starts at 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import inf, log
from numbers import Number
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from treebound._utils.quantities import quantity
from treebound._utils.validation import Constraint, check, invalid
from treebound._utils.validation import Number as InRange
from treebound.certificate.certificate import bound_percent
from treebound.data.raw import is_missing
from treebound.data.targets import label_array

# Bets as shares of the largest one that is allowed.
BETS = np.geomspace(0.01, 0.9, 12)
_PART = 10_000  # outcomes at a time
_ALPHA: dict[str, Constraint] = {"alpha": InRange(0.0, 1.0, open=True)}


class Stream(msgspec.Struct, forbid_unknown_fields=True):
    """A monitored rate: its bound, its share of alpha, and the wealth of the bets so far."""

    name: str
    bound: float
    alpha: float
    seen: int = 0
    events: int = 0
    log_sums: list[float] = []  # ln S of each bet; empty before the first outcome
    log_plain: list[float] = []  # the same without later starts
    least: list[float] = []  # the smallest value of log_plain,
    lowest_at: list[int] = []  # when it was reached last,
    events_at_lowest: list[int] = []  # and the events up to then

    def update(self, outcomes: NDArray[np.bool_]) -> int | None:
        """Add outcomes; the number of outcomes at the first alarm, or None."""
        for start in range(0, len(outcomes), _PART):
            if self._add(outcomes[start : start + _PART]):
                return self.seen
        return None

    def _add(self, outcomes: NDArray[np.bool_]) -> bool:
        """Add outcomes up to the first alarm, all bets and times at once."""
        if self.bound >= 1.0:  # nothing can be above it
            self.seen += len(outcomes)
            self.events += int(outcomes.sum())
            return False
        sums, plain, least, at, before = self._state()
        rise, fall = steps(self.bound)
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
        """Log of the evidence against the bound; an alarm at ``-ln alpha``."""
        if not self.log_sums:
            return 0.0
        return float(log_wealth(np.array(self.log_sums), self.seen))

    @property
    def since(self) -> tuple[int, int]:
        """The number of outcomes before the change, and of events among them; an estimate."""
        best = int(np.argmax(self.log_sums))
        return self.lowest_at[best], self.events_at_lowest[best]

    def sizes(self) -> tuple[list[Any], ...]:
        """The lists that have one entry for each bet."""
        return self.log_sums, self.log_plain, self.least, self.lowest_at, self.events_at_lowest

    def _state(self) -> tuple[NDArray[Any], ...]:
        if not self.log_sums:
            n = len(BETS)
            return (np.full(n, -inf), np.zeros(n), np.zeros(n), np.zeros(n, int), np.zeros(n, int))
        return tuple(np.array(values) for values in self.sizes())

    def _keep(self, *state: NDArray[Any]) -> None:
        self.log_sums, self.log_plain, self.least, self.lowest_at, self.events_at_lowest = (
            values.tolist() for values in state
        )


def steps(bound: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log factors of an event and of no event, for each bet."""
    bets = BETS / max(bound, 1e-12)
    return np.log1p(bets * (1.0 - bound)), np.log1p(-bets * bound)


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
    """An alarm: the rate of an event is above its bound.

    Its text states since when; :class:`Monitor` raises at most one for each rate.

    Attributes
    ----------
    name : str
        The rate.
    bound : float
        Its certified bound.
    after : int
        Number of outcomes of its kind when the alarm was raised.
    evidence : float
        The wealth: if the bound holds it reaches this value with probability at most 1 / evidence.
    since : int
        Number of outcomes before the likely change.
    rate : float
        Share of events since then.
    """

    name: str
    bound: float
    after: int
    evidence: float
    since: int
    rate: float

    def __str__(self) -> str:
        return (
            f"ALARM after {self.after:,} outcomes: {self.name} is above its certified bound of "
            f"{bound_percent(self.bound)} (evidence {self.evidence:,.0f} to 1), probably since "
            f"outcome {self.since + 1:,}; {100 * self.rate:.1f} % from there on."
        )


class Monitor(msgspec.Struct, forbid_unknown_fields=True):
    """Monitor of rates against their bounds; all of them share alpha.

    Made by :meth:`Certificate.monitor`. The false alarm probability is at most ``alpha`` over
    all time, if the bounds hold. Rows whose label is not known yet are skipped and counted in
    ``unlabelled``: this assumes that whether a label is known does not depend on whether the
    prediction is right.

    Attributes
    ----------
    alpha : float
        Probability that there is ever a false alarm.
    streams : list of Stream
        The rates: first that of all errors, then one per class with a bound.
    classes : list
        The classes with a bound of their own.
    abstains : object
        The label of abstention: rows with this prediction are ignored.
    tolerance : float or None
        For numbers: a prediction that is off by more than this is an error. None for classes.
    unlabelled : int
        Number of rows that were skipped because their label was not known.
    alarms : list of Alarm
        Raised so far, at most one for each stream.
    """

    alpha: float
    streams: list[Stream]
    classes: list[Any] = []
    abstains: Any = None
    unlabelled: int = 0
    alarms: list[Alarm] = []
    tolerance: float | None = None

    @property
    def alarm(self) -> Alarm | None:
        """The first alarm, if any."""
        return self.alarms[0] if self.alarms else None

    def update(self, y_true: Any, y_pred: Any) -> Alarm | None:
        """Add labelled outcomes in the order they came.

        Parameters
        ----------
        y_true : array-like of shape (n_rows,)
            True labels. Those that are not known yet (None, NaN, ``pandas.NA``, ``NaT`` or an
            empty text) are skipped and counted. A label that is no class of the model is an
            error of the model.
        y_pred : array-like of shape (n_rows,)
            Predicted labels.

        Returns
        -------
        Alarm or None
            The first alarm so far.

        Raises
        ------
        ValueError
            If the true labels are not of the type of the predictions, as text ``'0'`` for 0.
            Booleans and the numbers 0 and 1 are labels of one type.
        """
        if self.tolerance is not None:
            return self._update_numbers(y_true, y_pred, self.tolerance)
        true, predicted = label_array(y_true), label_array(y_pred)
        if true.shape != predicted.shape or true.ndim != 1:
            must = f"one label for each of the {len(true):,} true labels"
            raise invalid("y_pred", "Monitor.update", must, predicted.shape)
        if _unknown(predicted).any():
            raise ValueError(
                "Every prediction must be a label. Got None, NaN or an empty text instead. Hint: "
                "give a class another name than the empty text, which is a label that is not known."
            )
        if self.abstains is not None:
            decided = predicted != self.abstains
            true, predicted = true[decided], predicted[decided]
        unknown = _unknown(true)
        true, predicted = true[~unknown], predicted[~unknown]
        _check_types(true, predicted)
        self.unlabelled += int(unknown.sum())
        wrong = np.asarray(true != predicted, dtype=bool)
        masks = [np.ones(len(true), dtype=bool), *(true == label for label in self.classes)]
        return self._update([wrong[mask] for mask in masks])

    def _update_numbers(self, y_true: Any, y_pred: Any, tolerance: float) -> Alarm | None:
        """Add numbers with their predictions; missing ones are skipped and counted."""
        true = np.array([np.nan if value is None else value for value in y_true], dtype=np.float64)
        predicted = np.asarray(y_pred, dtype=np.float64)
        if true.shape != predicted.shape or not np.isfinite(predicted).all():
            must = f"a finite number for each of the {len(true):,} true numbers"
            raise invalid("y_pred", "Monitor.update", must, predicted.shape)
        known = ~np.isnan(true)
        self.unlabelled += int((~known).sum())
        return self._update([np.abs(true[known] - predicted[known]) > tolerance])

    def update_rows(self, clf: Any, X: Any, y: Any) -> Alarm | None:
        """Add labelled rows in the order they came, with the predictions of a classifier.

        Parameters
        ----------
        clf : BoundTreeClassifier, AbstainingClassifier or Model
            The fitted classifier whose certificate is monitored.
        X : table
            The rows.
        y : array-like of shape (n_rows,)
            Their true labels, as in :meth:`update`.

        Returns
        -------
        Alarm or None
            The first alarm so far.
        """
        return self.update(y, clf.predict(X))

    def _update(self, outcomes: Sequence[NDArray[np.bool_]]) -> Alarm | None:
        raised = {alarm.name for alarm in self.alarms}
        for stream, observed in zip(self.streams, outcomes, strict=True):
            if stream.name in raised:
                continue
            after = stream.update(observed)
            if after is not None:
                since, before = stream.since
                rate = (stream.events - before) / max(stream.seen - since, 1)
                self.alarms.append(
                    Alarm(stream.name, stream.bound, after, float(np.exp(stream.log_wealth)),
                          since, rate)
                )  # fmt: skip
        return self.alarm

    def to_json(self) -> str:
        """Return the state as JSON, to continue with later.

        A SHA-256 digest of the content guards against accidents and edits by hand. An
        attacker can compute it too.
        """
        return msgspec.json.encode(_State(self._digest(), self)).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Monitor:
        """Continue from a state.

        Parameters
        ----------
        text : str or bytes
            A state of :meth:`to_json`.

        Raises
        ------
        ValueError
            If it is not the state of a monitor, or was changed.
        """
        try:
            state = msgspec.json.decode(text, type=_State)
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            raise ValueError(f"This is not the state of a monitor: {error}") from None
        monitor = state.monitor
        if state.sha256 != monitor._digest():
            raise ValueError(
                "This state of a monitor was changed: its digest does not match its content. Hint: "
                "go back to a copy, or begin a new state."
            )
        sizes = {len(values) for stream in monitor.streams for values in stream.sizes()}
        if not sizes <= {0, len(BETS)}:
            raise ValueError("This is not the state of a monitor: the number of bets differs.")
        if len(monitor.streams) != 1 + len(monitor.classes):
            raise ValueError("This is not the state of a monitor: the number of streams differs.")
        return monitor

    def _digest(self) -> str:
        """Return the digest of the content, which does not depend on how the JSON is laid out."""
        return sha256(msgspec.json.encode(self)).hexdigest()


class _State(msgspec.Struct, forbid_unknown_fields=True):
    """A written state: the monitor, and the digest of its content."""

    sha256: str
    monitor: Monitor


def _unknown(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which labels are not known: missing values and empty texts."""
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels))
    if labels.dtype.kind in "biu":
        return np.zeros(len(labels), dtype=bool)
    gone = [label == "" if isinstance(label, str) else is_missing(label) for label in labels]
    return np.array(gone, dtype=bool)


def _check_types(true: NDArray[Any], predicted: NDArray[Any]) -> None:
    """Raise a ValueError if true labels are of another type than the predictions."""
    kinds, expected = _kinds(true), _kinds(predicted)
    if kinds <= expected and len(expected) <= 1:
        return
    if kinds | expected <= {"a boolean", "a number"}:  # as Python compares them
        both = np.concatenate([true.astype(object), predicted.astype(object)])
        if np.isin(both.astype(np.float64), (0.0, 1.0)).all():
            return
    label = next((label for label in true.tolist() if _kind(type(label)) not in expected), true[0])
    raise ValueError(
        f"The true labels must be of the type of the predictions, {' or '.join(sorted(expected))}. "
        f"Got {label!r}, {_kind(type(label))}, instead. Hint: convert y_true, for example with "
        f"astype({type(predicted.tolist()[0]).__name__})."
    )


def _kinds(labels: NDArray[Any]) -> set[str]:
    """Return the types of labels, in words."""
    if labels.dtype.kind != "O":
        return {_kind(type(label)) for label in labels[:1].tolist()}
    return {_kind(label_type) for label_type in {type(label) for label in labels}}


def _kind(label: type) -> str:
    """Return the type of a label, in words."""
    if issubclass(label, bool | np.bool_):
        return "a boolean"
    if issubclass(label, Number):
        return "a number"
    return "text" if issubclass(label, str) else f"a {label.__name__}"


def tolerance_monitor(bound: float, tolerance: float, *, alpha: float = 0.01) -> Monitor:
    """Monitor the share of predicted numbers that are off by more than a tolerance."""
    check("monitor", {"alpha": alpha}, _ALPHA)
    name = f"the share of predictions off by more than {quantity(tolerance, upwards=True)}"
    return Monitor(alpha, [Stream(name, float(bound), alpha)], tolerance=float(tolerance))


def error_monitor(
    bound: float,
    by_class: Sequence[tuple[Any, float]] = (),
    *,
    alpha: float = 0.01,
    abstains: Any = None,
) -> Monitor:
    """Monitor the error rate, and the share of missed cases of each class, which share alpha."""
    check("monitor", {"alpha": alpha}, _ALPHA)
    share = alpha / (1 + len(by_class))
    name = "the error rate" if abstains is None else "the error rate of predicted cases"
    streams = [Stream(name, float(bound), share)]
    streams += [
        Stream(f"the share of missed {label}", float(bound), share) for label, bound in by_class
    ]
    return Monitor(alpha, streams, [label for label, _ in by_class], abstains=abstains)
