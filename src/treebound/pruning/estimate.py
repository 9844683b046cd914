"""The estimated error on new rows, from rows that a tree was not grown on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import isnan, nan, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound._utils._pool import each
from treebound._utils.arrays import Floats, Ints
from treebound.data import Sample
from treebound.data.draws import copies_of
from treebound.data.weights import is_whole
from treebound.tree.base import rows_at_rest
from treebound.tree.model import Tree

# The interval of a normal distribution with 95 %. The tree of all rows is not one of the trees of
# the folds, and these share most of their rows: intervals from folds are wider, more so for few
# rows, and for errors that differ more between folds than chance explains. These constants give
# about the stated coverage in benchmarks/estimate.py.
_Z = 1.96
_WIDER, _FEW_ROWS = 1.15, 50.0
# Sizes for which an error is estimated, besides the chosen one.
READABLE_LEAVES = 12
_OTHER_SIZES = 5
# Smaller sizes are offered, evenly, for trees of so many leaves.
_MANY_LEAVES = 4 * READABLE_LEAVES
# For more classes there is no confusion matrix.
_MANY_CLASSES = 100


class SizeEstimate(NamedTuple):
    """The estimated error of a tree of another size.

    Attributes
    ----------
    leaves : int
        Maximum number of leaves.
    error : float
        The estimated error rate.
    difference : float
        The error minus that of the chosen tree.
    mean_cost : float or None
        With costs: the estimated mean cost of a prediction.
    """

    leaves: int
    error: float
    difference: float
    mean_cost: float | None = None


@dataclass(frozen=True)
class Estimate:
    """The estimated error rate of a fitted tree on new rows, and how it was estimated.

    It describes the procedure as configured, on rows without weights. The interval is approximate:
    about 95 of 100 such intervals contain the error rate of the tree.

    Attributes
    ----------
    error : float
        The estimated error rate.
    interval : tuple of float
        The approximate 95 % interval of the error rate.
    standard_error : float
        The standard error of ``error``, which includes differences between the trees of folds.
    method : str
        How it was estimated, in words: ``"5-fold cross-validation"`` or ``"validation rows"``.
    folds : int
        Number of folds; 0 for validation rows.
    rows : int
        Number of rows that it was estimated on. A row of a whole weight counts that many times.
    baseline : float
        Error rate of the constant prediction ``baseline_label``, the most frequent class.
    baseline_label : object
        The most frequent class.
    classes : tuple
        The classes, in the order of ``confusion`` and ``recall``.
    recall : tuple of float
        The share of each class that is predicted correctly; NaN for a class without rows.
    confusion : tuple of tuple of int
        Rows of each true class (row) that were predicted as each class (column); empty for more
        than 100 classes.
    mean_cost, baseline_cost : float or None
        With costs: the mean cost of a prediction, and of the cheapest constant prediction.
    balanced_accuracy : float or None
        With class weights: the mean recall of the classes.
    sizes : tuple of SizeEstimate
        The estimated errors of about six sizes, in ascending order; the chosen one is among them.
    """

    error: float
    interval: tuple[float, float]
    standard_error: float
    method: str
    folds: int
    rows: int
    baseline: float
    baseline_label: Any
    classes: tuple[Any, ...]
    recall: tuple[float, ...]
    confusion: tuple[tuple[int, ...], ...] = ()
    mean_cost: float | None = None
    baseline_cost: float | None = None
    balanced_accuracy: float | None = None
    sizes: tuple[SizeEstimate, ...] = ()

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"Estimated error {100 * self.error:.1f} % (about {100 * low:.1f} to {100 * high:.1f} "
            f"%; {self.method}; baseline {100 * self.baseline:.1f} %, always "
            f"{self.baseline_label!r})."
        )

    def __repr__(self) -> str:
        return f"<Estimate: {self}>"

    def as_dict(self) -> dict[str, Any]:
        """The estimate as plain values for JSON; a recall that is not known is None."""
        return {
            **vars(self),
            "interval": list(self.interval),
            "classes": list(self.classes),
            "recall": [None if isnan(share) else share for share in self.recall],
            "confusion": [list(row) for row in self.confusion],
            "sizes": [size._asdict() for size in self.sizes],
        }


class FoldPrediction(NamedTuple):
    """Rows, and the classes that a tree predicts for them that was fitted without them.

    ``of_size(leaves)`` are those of its tree of at most so many leaves; None if there is no other.
    """

    rows: Sample
    predicted: NDArray[np.int32]
    of_size: Callable[[int], NDArray[np.int32]] | None = None


class Tally(NamedTuple):
    """Counts of predicted rows."""

    by_class: Floats  # rows of each class
    correct: Floats  # those of them that are predicted correctly
    cost: float
    confusion: Floats | None  # by true and predicted class; None for many classes

    def plus(self, other: Tally) -> Tally:
        """The counts of both."""
        both = None
        if self.confusion is not None and other.confusion is not None:
            both = self.confusion + other.confusion
        return Tally(
            self.by_class + other.by_class, self.correct + other.correct, self.cost + other.cost,
            both,
        )  # fmt: skip

    @property
    def rows(self) -> float:
        """Number of rows."""
        return float(self.by_class.sum())

    @property
    def wrong(self) -> float:
        """Number of rows that are misclassified."""
        return float(self.by_class.sum() - self.correct.sum())


class TrueClasses(NamedTuple):
    """The true classes of rows, to count predictions of them."""

    classes: NDArray[np.integer[Any]]
    times: Floats  # how often each row counts
    costs: Floats | None  # by true and predicted class

    def loss(self, predicted: NDArray[np.integer[Any]]) -> tuple[float, float]:
        """Return the number of misclassified rows, and the cost of all predictions."""
        return float(self.times[predicted != self.classes].sum()), self._cost(predicted)

    def tally(self, predicted: NDArray[np.integer[Any]], n: int) -> Tally:
        """Return the counts by class, of ``n`` classes."""
        truth, times, cost = self.classes, self.times, self._cost(predicted)
        if n <= _MANY_CLASSES:
            confusion = _sums(truth * n + predicted, times, n * n).reshape(n, n)
            return Tally(confusion.sum(axis=1), confusion.diagonal(), cost, confusion)
        correct = _sums(truth, times * (truth == predicted), n)
        return Tally(_sums(truth, times, n), correct, cost, None)

    def _cost(self, predicted: NDArray[np.integer[Any]]) -> float:
        if self.costs is None:
            return 0.0
        return float((self.times * self.costs[self.classes, predicted]).sum())


def sizes_of_interest(chosen: int, largest: int) -> tuple[int, ...]:
    """About six sizes of a path, in ascending order: the chosen one, smaller and larger ones."""
    top = max(min(largest, 2 * chosen), 2)
    if chosen < _MANY_LEAVES:
        small = {READABLE_LEAVES} if chosen > READABLE_LEAVES else set()
        spread = np.geomspace(2, top, _OTHER_SIZES - len(small))
    else:  # equal ratios from a readable tree up to the chosen one
        small = {2, top}
        spread = np.geomspace(READABLE_LEAVES, chosen, _OTHER_SIZES - 1)
    sizes = {*small, chosen, *np.rint(spread).astype(int).tolist()}
    return tuple(sorted(int(size) for size in sizes if 1 <= size <= largest))


def estimate_error(
    predictions: Iterable[FoldPrediction],
    classes: NDArray[Any],
    *,
    chosen: int,
    sizes: Sequence[int] = (),
    method: str,
    folds: int = 0,
    costs: Floats | None = None,
    balanced: bool = False,
) -> Estimate | None:
    """Estimate the error of a procedure from predictions of trees that were fitted without rows.

    Parameters
    ----------
    predictions : iterable of FoldPrediction
        The rows of each fold and their predicted classes.
    classes : ndarray
        The class labels.
    chosen : int
        Number of leaves of the tree that was fitted on all rows.
    sizes : sequence of int
        Other numbers of leaves to estimate the error of.
    method : str
        How the rows were selected, in words.
    folds : int
        Number of folds.
    costs : ndarray, optional
        The cost of each true class (row) for each predicted class (column).
    balanced : bool
        Compute the balanced accuracy, too.

    Returns
    -------
    Estimate or None
        None if there are no rows.
    """

    def figures(fold: FoldPrediction) -> tuple[Tally, Floats, list[tuple[float, float]]]:
        """The tally of a fold, its errors by independent rows, and the loss of each size."""
        sample, labels, of_size = fold
        times = _times(sample)
        rows = TrueClasses(sample.y, times, costs)
        tally = rows.tally(labels, len(classes))
        dependent = copies_of(sample) if sample.groups is None else sample.groups
        wrong = times * (labels != sample.y)
        losses = [(float(wrong.sum()), tally.cost)] * len(sizes)
        # the largest tree first: the error curve up to its size serves the smaller ones
        for at in range(len(sizes) - 1, -1, -1):
            if sizes[at] != chosen and of_size is not None:
                losses[at] = rows.loss(of_size(sizes[at]))
        return tally, _by_group(wrong, times, dependent), losses

    tallies, pairs, by_size = [], [], []
    for tally, pair, losses in each(figures, predictions):
        tallies.append(tally)
        pairs.append(pair)
        by_size.append(losses)
    total = reduce(Tally.plus, tallies) if tallies else None
    if total is None or not total.rows:
        return None
    loss_by_size = np.sum(by_size, axis=0).reshape(-1, 2) / total.rows
    error, by_group = total.wrong / total.rows, np.concatenate(pairs)
    deviations = by_group[:, 0] - error * by_group[:, 1]
    variance = float((deviations**2).sum()) / total.rows**2
    variance *= len(by_group) / max(len(by_group) - 1, 1)  # groups may be few
    if len(pairs) > 1:
        variance += _between_folds(np.array([fold.sum(axis=0) for fold in pairs]), variance)
    effective = total.rows**2 / float((by_group[:, 1] ** 2).sum())
    return _estimate(
        total,
        classes,
        sqrt(variance),
        effective,
        [(size, *loss) for size, loss in zip(sizes, loss_by_size.tolist(), strict=True)],
        method=method,
        folds=folds,
        costs=costs,
        balanced=balanced,
    )


def estimate_by_counts(
    counts: Ints,
    tree: Tree,
    at_sizes: Sequence[tuple[int, Ints, Tree]],
    *,
    method: str,
    costs: Floats | None = None,
    balanced: bool = False,
) -> Estimate | None:
    """Estimate the error from the counts of validation rows at the nodes of a tree.

    ``at_sizes`` has, for other numbers of leaves, the counts at the nodes of a tree and the tree.
    """
    total = _tally(tree, counts, costs)
    if not total.rows:
        return None
    error = total.wrong / total.rows
    return _estimate(
        total,
        tree.classes,
        sqrt(error * (1.0 - error) / max(total.rows - 1.0, 1.0)),
        total.rows,
        [
            (size, tally.wrong / total.rows, tally.cost / total.rows)
            for size, tally in ((size, _tally(other, at, costs)) for size, at, other in at_sizes)
        ],
        method=method,
        folds=0,
        costs=costs,
        balanced=balanced,
    )


def _estimate(
    total: Tally,
    classes: NDArray[Any],
    standard_error: float,
    effective: float,
    by_size: Sequence[tuple[int, float, float]],  # leaves, error, mean cost
    *,
    method: str,
    folds: int,
    costs: Floats | None,
    balanced: bool,
) -> Estimate:
    """The estimate from the counts of all rows."""
    error, by_class, labels = total.wrong / total.rows, total.by_class, classes.tolist()
    most, seen = int(by_class.argmax()), by_class > 0
    recall = np.full(len(labels), nan)
    recall[seen] = total.correct[seen] / by_class[seen]
    confusion: list[list[int]] = []
    if total.confusion is not None:
        confusion = np.rint(total.confusion).astype(int).tolist()
    return Estimate(
        error=error,
        interval=_interval(error, standard_error, effective, _widening(folds, effective)),
        standard_error=standard_error,
        method=method,
        folds=folds,
        rows=round(total.rows),
        baseline=float(total.rows - by_class[most]) / total.rows,
        baseline_label=labels[most],
        classes=tuple(labels),
        recall=tuple(recall.tolist()),
        confusion=tuple(map(tuple, confusion)),
        mean_cost=None if costs is None else total.cost / total.rows,
        baseline_cost=None if costs is None else float((by_class @ costs).min()) / total.rows,
        balanced_accuracy=float(recall[seen].mean()) if balanced else None,
        sizes=tuple(
            SizeEstimate(int(size), wrong, wrong - error, None if costs is None else cost)
            for size, wrong, cost in by_size
        ),
    )


def _sums(cells: NDArray[np.integer[Any]], values: Floats, size: int) -> Floats:
    """Sums of values by cell."""
    return np.bincount(cells, values, minlength=size).astype(np.float64)


def _times(sample: Sample) -> Floats:
    """How often each row counts: a row of a whole weight is repeated, others count once."""
    return sample.weights if is_whole(sample.weight) else np.ones(sample.n_rows)


def _by_group(wrong: Floats, times: Floats, groups: Ints | None) -> Floats:
    """Errors and rows of each group, or of each row."""
    pairs = np.column_stack([wrong, times])
    if groups is None:
        return pairs
    _, group = np.unique(groups, return_inverse=True)
    return np.column_stack([np.bincount(group, column) for column in pairs.T])


def _tally(tree: Tree, counts: Ints, costs: Floats | None) -> Tally:
    """Count rows by their true and predicted classes, from their counts at the nodes of a tree."""
    rest = rows_at_rest(tree, counts)
    node, truth = np.nonzero(rest)
    times = rest[node, truth].astype(np.float64)
    predicted = tree.label[node].astype(np.int64)
    return TrueClasses(truth, times, costs).tally(predicted, tree.n_classes)


def _between_folds(folds: Floats, variance: float) -> float:
    """The variance of the mean error that comes from different trees; 0 if chance explains it.

    ``variance`` is that of the mean over all rows, for trees of equal errors.
    """
    k = len(folds)
    observed = float(np.var(folds[:, 0] / folds[:, 1], ddof=1))
    return max(0.0, observed / k - variance)


def _widening(folds: int, effective: float) -> float:
    """How much wider an interval from folds is than one from validation rows."""
    return _WIDER * sqrt(1.0 + _FEW_ROWS / effective) if folds else 1.0


def _interval(
    error: float, standard_error: float, effective: float, wider: float
) -> tuple[float, float]:
    """Wilson's interval for the number of rows that has this standard error, times ``wider``."""
    rows = effective
    if standard_error > 0.0:
        rows = error * (1.0 - error) / standard_error**2
    rows /= wider**2
    z2 = _Z**2
    centre = (error + z2 / (2 * rows)) / (1 + z2 / rows)
    half = sqrt(z2 * (error * (1.0 - error) / rows + z2 / (4 * rows**2))) / (1 + z2 / rows)
    return max(0.0, min(error, centre - half)), min(1.0, max(error, centre + half))
