"""Pruning regression trees by a score from learning theory, or by cost-complexity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from treebound._utils._pool import each
from treebound._utils.arrays import Floats
from treebound._utils.jobs import effective_jobs
from treebound._utils.validation import (
    Folds,
    Jobs,
    Number,
    OneOf,
    Parameters,
    Whole,
    check,
    parameter,
    with_parameters,
)
from treebound.data.draws import Splitter
from treebound.data.number_sample import NumberSample, WeightedNumbers
from treebound.data.weights import is_whole
from treebound.pruning.base import PruningResult
from treebound.pruning.estimate import sizes_of_interest
from treebound.pruning.number_choice import (
    DEFAULT_RULE,
    RULES,
    Losses,
    MeasuredPath,
    NumberChoice,
    Place,
    ResidualSums,
)
from treebound.pruning.squared_error import SquaredErrorPath, SquaredErrorScore
from treebound.tree.leaf_values import (
    DEFAULT_SHRINKAGE,
    SHRINKAGES,
    Shrinkage,
    shrunk_values,
)
from treebound.tree.regression import RegressionTree

NumberResult = PruningResult[RegressionTree, NumberChoice]

WEIGHTS = (0.1, 0.15, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0, 1.4, 2.0, 3.0)
DEFAULT_WEIGHT = 0.6
# Minimum leaf sizes that folds choose from, and the one without folds.
LEAF_SIZES = (1, 5, 20)
DEFAULT_LEAF_SIZE = 5
# Fewer rows are not cross-validated.
MIN_ROWS = 10
# Rows of the pooled variance in the spread of a node.
_PRIOR_ROWS = 10.0
_TINY = np.finfo(float).tiny
# The least spread of a node, as a share of that of all rows: a few equal numbers are no proof that
# there are no others. The least spread at all keeps quotients of errors finite.
_MIN_SPREAD_SHARE = 1e-9
_MIN_SPREAD = 1e-150
# Alphas of cost-complexity pruning that are tried.
_MAX_ALPHAS = 50


class TrainingRows(Protocol):
    """Rows to grow on, wherever they are."""

    @property
    def total(self) -> float:
        """The sum of the weights."""
        ...

    @property
    def is_constant(self) -> bool:
        """Return True if all numbers are equal."""
        ...


class GrowNumbers(Protocol):
    """Grows a regression tree on some rows."""

    def __call__(self, sample: Any, min_samples_leaf: int) -> RegressionTree:
        """Grow a tree whose leaves have at least so many rows."""
        ...


@dataclass(frozen=True, eq=False)
class Validated:
    """Validation rows with the predictions of trees that were not grown on them.

    Attributes
    ----------
    y, prediction, weight : ndarray of float64
        The number of each row, its prediction, and how often it counts: once, unless weights are
        whole numbers.
    baseline : ndarray of float64
        The mean of the training rows.
    spread : ndarray of float64
        The standard deviation of the training rows in the leaf of the prediction.
    groups : ndarray of int64 or None
        The group of each row.
    """

    y: Floats
    prediction: Floats
    weight: Floats
    baseline: Floats
    spread: Floats
    groups: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class NumberFit:
    """A pruned regression tree, and the predictions by which its size was chosen, if any.

    ``sizes`` are validated mean squared errors of trees of several sizes, by their leaves.
    """

    result: NumberResult
    validated: Validated | None = None
    sizes: tuple[tuple[int, float], ...] = ()


@with_parameters
class SquaredErrorPruner(Parameters):
    """Prune a regression tree by squared error and a price for its leaves.

    Parameters
    ----------
    price : {"bound", "cost-complexity"}
        The price of a tree: the code length of :mod:`treebound.pruning.squared_error` times a
        weight, or alpha per leaf (Breiman et al. 1984).
    weight : float or "auto"
        The weight of the bound; ``"auto"`` chooses it by folds.
    rule : {"accurate", "balanced", "small"}
        Which tree folds choose: that of the least squared error; the smallest within half a
        standard error of the difference from it; or within one standard error of it.
    smoothing : "auto", None, float or pair
        Shrinkage of leaf values: chosen by the folds, none, a strength in rows, or in units of the
        F statistic, such as ``("F", 4.0)``; see :mod:`treebound.tree.leaf_values`.
    folds : int, splitter or None
        Number of folds, or a cross-validation splitter of scikit-learn; None for no folds: then the
        weight is 0.6, leaves have at least 5 rows, and shrinkage is ``("F", 4.0)``.
    random_state : int or None
        Seed of the folds.
    n_jobs : int or None
        Number of trees that are grown at the same time; None means 1, -1 one for each processor.
    """

    price: str = parameter(OneOf(("bound", "cost-complexity")), default="bound")
    weight: float | str = parameter(OneOf(("auto",), Number(0.0)), default="auto")
    rule: str = parameter(OneOf(tuple(RULES)), default=DEFAULT_RULE)
    smoothing: Any = "auto"
    folds: int | Splitter | None = parameter(Folds(optional=True), default=5)
    random_state: int | None = parameter(Whole(0, optional=True), default=0)
    n_jobs: int | None = parameter(Jobs(), default=None)

    def _check(self) -> None:
        owner = type(self).__name__
        check(owner, vars(self), self._constraints)
        if self.smoothing != "auto":
            Shrinkage.of(self.smoothing, owner)

    @property
    def _weights(self) -> tuple[float, ...]:
        return WEIGHTS if self.weight == "auto" else (float(self.weight),)

    @property
    def _shrinkages(self) -> tuple[Shrinkage, ...]:
        # plain means come first: weights are chosen by them
        if self.smoothing == "auto":
            return SHRINKAGES
        return (Shrinkage.of(self.smoothing),)

    def prune(self, tree: RegressionTree, validation: WeightedNumbers | None = None) -> NumberFit:
        """Prune a grown tree: by validation rows, or with the fixed weight and shrinkage.

        Parameters
        ----------
        tree : RegressionTree
            A grown tree.
        validation : WeightedNumbers, optional
            Rows that it was not grown on, such as a ``NumberSample`` in its columns.
        """
        self._check()
        start, leaf_size = perf_counter(), int(tree.rows[tree.is_leaf].min())
        if validation is None or tree.n_leaves == 1:
            why = "to choose it takes validation rows, or a way to grow trees on parts of the rows"
            fit = NumberFit(self._fixed(tree, leaf_size, why))
        else:
            fit = self._validated(None, [(tree, validation)], _no_growth, (leaf_size,), tree, None)
        return replace(fit, result=replace(fit.result, fit_time=perf_counter() - start))

    def fit(
        self,
        sample: TrainingRows,
        grow: GrowNumbers,
        leaf_sizes: Sequence[int] = LEAF_SIZES,
        *,
        max_leaves: int | None = None,
        validation: WeightedNumbers | None = None,
        clip: tuple[float, float] | None = None,
    ) -> NumberFit:
        """Grow trees and prune them, with the size chosen by folds or on validation rows.

        Parameters
        ----------
        sample : NumberSample
            The training rows; with ``validation``, rows that may be elsewhere.
        grow : callable
            ``grow(sample, min_samples_leaf) -> RegressionTree``.
        leaf_sizes : sequence of int
            Minimum numbers of rows in a leaf to choose from.
        max_leaves : int, optional
            Maximum number of leaves of the pruned tree, and of those in the folds.
        validation : WeightedNumbers, optional
            Rows that were not in ``sample``; by default folds of the sample are validated.
        clip : pair of float, optional
            The range into which ``grow`` moves numbers. Candidates are compared on numbers in this
            range; the errors of the chosen one are those on the numbers as they are.
        """
        self._check()
        start = perf_counter()
        default = DEFAULT_LEAF_SIZE if len(leaf_sizes) > 1 else leaf_sizes[0]
        why = ""
        if validation is None and sample.total < MIN_ROWS:
            why = f"below {MIN_ROWS} rows it is not chosen by cross-validation"
        elif validation is None and self.folds is None:
            why = "there are no folds"
        elif sample.is_constant:
            why = "all numbers are equal"
        if why:
            fit = NumberFit(self._fixed(grow(sample, default), default, why))
            if max_leaves is not None:
                fit = replace(fit, result=fit.result.within(max_leaves))
        elif validation is not None:
            tree = grow(sample, default)
            parts = [(tree, validation)]
            fit = self._validated(None, parts, grow, (default,), tree, max_leaves, clip)
        else:
            assert isinstance(sample, NumberSample)
            fit = self._validated(sample, None, grow, tuple(leaf_sizes), None, max_leaves, clip)
        result = replace(fit.result, fit_time=perf_counter() - start)
        return replace(fit, result=result)

    # -- without validation rows -----------------------------------------------------------

    def _fixed(self, tree: RegressionTree, leaf_size: int, why: str) -> NumberResult:
        """Return the tree pruned at the fixed weight."""
        weight = DEFAULT_WEIGHT if self.weight == "auto" else float(self.weight)
        shrinkage = DEFAULT_SHRINKAGE if self.smoothing == "auto" else self._shrinkages[0]
        path = SquaredErrorPath(tree, SquaredErrorScore.of(tree, weight))
        if self.price == "cost-complexity":
            path = path.choosing(0)
        choice = NumberChoice(weight, None, why, leaf_size, shrinkage)
        return _result(path, choice)

    # -- with validation rows --------------------------------------------------------------

    def _validated(
        self,
        sample: NumberSample | None,
        parts: list[tuple[RegressionTree, WeightedNumbers]] | None,
        grow: GrowNumbers,
        leaf_sizes: tuple[int, ...],
        whole: RegressionTree | None,
        max_leaves: int | None,
        clip: tuple[float, float] | None = None,
    ) -> NumberFit:
        """Choose by folds of the sample, or by a tree with rows that it was not grown on."""
        grown: dict[int, SquaredErrorPath] = {}

        def path_of_all(size: int) -> SquaredErrorPath:
            if size not in grown:
                tree = whole
                if tree is None:
                    assert sample is not None
                    tree = grow(sample, leaf_sizes[size])
                grown[size] = SquaredErrorPath(tree, SquaredErrorScore.of(tree, DEFAULT_WEIGHT))
            return grown[size]

        by_alpha = self.price == "cost-complexity"
        grids = [
            _alphas(path_of_all(size)) if by_alpha else np.array(self._weights)
            for size in range(len(leaf_sizes))
        ]
        longest = max(map(len, grids))
        # paths of fewer steps have their last alpha several times
        grids = [np.append(grid, np.repeat(grid[-1], longest - len(grid))) for grid in grids]
        folds = []
        if parts is None and self.folds is not None and sample is not None:
            folds = list(sample.folds(self.folds, self.random_state))
        tasks = [
            (size, part)
            for size in range(len(leaf_sizes))
            for part in (range(len(folds)) if parts is None else range(len(parts)))
        ]

        def measure(task: tuple[int, int]) -> tuple[MeasuredPath, NDArray[np.int32]]:
            size, part = task
            inside: WeightedNumbers
            if parts is None:
                outside, inside = folds[part]
                tree = grow(outside, leaf_sizes[size])
            else:
                tree, inside = parts[part]
            path = SquaredErrorPath(tree, SquaredErrorScore.of(tree, DEFAULT_WEIGHT))
            share = 1.0 if sample is None else float(tree.weight[0]) / sample.total
            steps = [
                path.at_alpha(a * share, max_leaves) if by_alpha else path.at(a, max_leaves)
                for a in grids[size]
            ]
            reached = inside.nodes_of(tree)
            compared = inside if clip is None else _clipped(inside, clip)
            rows = ResidualSums.at(tree, reached, compared)
            return MeasuredPath.of(path, rows, np.array(steps), self._shrinkages), reached

        measured = each(measure, tasks, effective_jobs(self.n_jobs))
        by_size = [
            [result for (at, _), result in zip(tasks, measured, strict=True) if at == size]
            for size in range(len(leaf_sizes))
        ]
        losses = Losses.of([[path for path, _ in results] for results in by_size])
        if losses is None:
            size = 0 if whole is not None else min(1, len(leaf_sizes) - 1)
            tree = path_of_all(size).first
            why = "there are too few rows for folds"
            result = self._fixed(tree, leaf_sizes[size], why)
            return NumberFit(result if max_leaves is None else result.within(max_leaves))
        rule = self.rule
        size = losses.place(rule).size
        path, grid = path_of_all(size), grids[size]
        steps = [path.at_alpha(a, max_leaves) if by_alpha else path.at(a, max_leaves) for a in grid]
        leaves = path.leaves[steps]
        place = losses.place(rule, leaves.tolist())
        choice = NumberChoice(
            float(grid[place.weight]),
            rule,
            "cross-validated" if parts is None else "validated",
            leaf_sizes[size],
            self._shrinkages[place.shrinkage],
            tuple(grid.tolist()),
            tuple(leaves.tolist()),
            tuple(losses.losses[size, :, place.shrinkage].tolist()),
            losses.standard_error,
            losses.constant,
            (len(grid), len(leaf_sizes), len(self._shrinkages)),
        )
        chosen = path.choosing(steps[place.weight]) if by_alpha else path.weighted(choice.weight)
        samples: list[WeightedNumbers] = [inside for _, inside in folds]
        if parts is not None:
            samples = [parts[0][1]]
        validated = _predictions(place, by_size[size], samples)
        result = _result(chosen, choice)
        if max_leaves is not None:
            result = result.within(max_leaves)
        paths = [
            _measured_once(path, reached, rows, clipped=clip is not None)
            for (path, reached), rows in zip(by_size[size], samples, strict=True)
        ]
        return NumberFit(result, validated, _losses_by_size(paths, place, result))


def _losses_by_size(
    paths: Sequence[MeasuredPath], place: Place, result: NumberResult
) -> tuple[tuple[int, float], ...]:
    """Return the validated mean squared errors of trees of at most so many leaves."""
    rows = float(sum(path.rows.sums[:, 0].sum() for path in paths))
    chosen = result.tree.n_leaves

    def loss(size: int) -> float:
        steps = [path.path.at_size(size) for path in paths]
        if size == chosen:  # the candidate of the estimate, whose size differs between folds
            steps = [int(path.steps[place.weight]) for path in paths]
        each_path = zip(paths, steps, strict=True)
        return sum(path.loss_at(step, place.shrinkage) for path, step in each_path) / rows

    sizes = sizes_of_interest(chosen, result.path.first.n_leaves)
    return tuple((size, loss(size)) for size in sizes)


def _no_growth(sample: NumberSample, min_samples_leaf: int) -> RegressionTree:
    """Raise an error: a tree that is given is not grown again."""
    raise AssertionError("a tree that is given is not grown again")


def _alphas(path: SquaredErrorPath) -> Floats:
    """Return alphas between those of the steps of a path, spread evenly over its sizes."""
    alphas = path.alphas
    between = np.append(np.sqrt(alphas[:-1] * alphas[1:]), np.inf)
    steps = np.unique(np.geomspace(1, len(between), _MAX_ALPHAS).round().astype(int))
    return np.asarray(between[np.sort(len(between) - steps)], dtype=np.float64)


def _result(path: SquaredErrorPath, choice: NumberChoice) -> NumberResult:
    """Return the chosen tree with its shrunk values, and its path."""
    path = path.with_values(shrunk_values(path.first, choice.shrinkage))
    score = float(path.scores[path.chosen])
    return PruningResult(path.tree(), path, score, gap=0.0, choice=choice)


def _predictions(
    place: Place,
    results: Sequence[tuple[MeasuredPath, NDArray[np.int32]]],
    samples: Sequence[WeightedNumbers],
) -> Validated:
    """Return the validation rows with their predictions by the chosen candidate."""
    columns = []
    for (measured, reached), rows in zip(results, samples, strict=True):
        tree = measured.path.first
        step = int(measured.steps[place.weight])
        nodes = measured.path.nodes_at(step)[reached]
        columns.append((
            rows.y,
            measured.values[place.shrinkage][nodes],
            _counted_once(rows).weights,
            np.full(rows.n_rows, tree.mean[0]),
            spreads(tree, float(measured.path.errors[step]))[nodes],
        ))  # fmt: skip
    groups = [rows.groups for rows in samples if rows.groups is not None]
    y, prediction, weight, baseline, spread = (
        np.concatenate(column) for column in zip(*columns, strict=True)
    )
    in_groups = np.concatenate(groups) if groups else None
    return Validated(y, prediction, weight, baseline, spread, in_groups)


class _Changed(WeightedNumbers):
    """Rows with other numbers or weights."""

    def __init__(self, rows: WeightedNumbers, y: Floats, weight: Floats | None) -> None:
        self._rows = rows
        self.y, self.weight, self.groups = y, weight, rows.groups

    def nodes_of(self, tree: Any) -> NDArray[np.int32]:
        """Return the node of a tree at which each row ends."""
        return self._rows.nodes_of(tree)


def _counted_once(rows: WeightedNumbers) -> WeightedNumbers:
    """Return the rows as estimates count them: once, unless whole weights repeat them."""
    return rows if is_whole(rows.weight) else _Changed(rows, rows.y, None)


def _clipped(rows: WeightedNumbers, clip: tuple[float, float]) -> WeightedNumbers:
    """Return the rows with numbers moved into a range."""
    return _Changed(rows, np.clip(rows.y, *clip), rows.weight)


def _measured_once(
    path: MeasuredPath, reached: NDArray[np.int32], rows: WeightedNumbers, *, clipped: bool
) -> MeasuredPath:
    """Return a path with residuals of rows as estimates count them, and numbers as they are."""
    once = _counted_once(rows)
    if once is rows and not clipped:
        return path
    return path._replace(rows=ResidualSums.at(path.path.first, reached, once))


def spreads(tree: RegressionTree, pooled: float | None = None) -> Floats:
    """Return the standard deviation at each node, shrunk by ten rows to that of all leaves.

    It is positive.

    ``pooled`` is the mean squared error of the leaves; by default of those of the tree.
    """
    if pooled is None:
        pooled = float(tree.squares[tree.is_leaf].sum()) / max(float(tree.weight[0]), _TINY)
    variance = (tree.squares + _PRIOR_ROWS * pooled) / (tree.weight + _PRIOR_ROWS)
    least = max(_MIN_SPREAD_SHARE * float(tree.deviation[0]), _MIN_SPREAD)
    return np.asarray(np.maximum(np.sqrt(variance), least))
