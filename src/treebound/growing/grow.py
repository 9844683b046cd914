"""Growing a tree: exact best-first CART.

The loop, the search of a node and the division of its rows are compiled: see ``_driver.pyx``. Here
samples and engines become what the kernels take, and arrays become a tree.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.jobs import effective_jobs
from treebound._utils.progress import Report, growth_report
from treebound._utils.validation import invalid
from treebound.data import Column, Matrix, Sample
from treebound.data.columns import KINDS
from treebound.data.matrix import MatrixPart
from treebound.data.number_sample import NumberSample
from treebound.data.numeric_target import N_CHANNELS, NumericTarget
from treebound.data.weights import WeightTotal, is_whole, sample_sums
from treebound.growing._bins import Bins
from treebound.growing._layout import MAX_CATEGORIES
from treebound.growing._memory import SharedCodes, grow_arrays
from treebound.growing._memory import grow_numbers as grow_number_arrays
from treebound.growing._shards import grow_on_shards
from treebound.growing.checkpoint import Checkpoint, check_checkpoint
from treebound.growing.kernel_types import (
    SQUARED,
    KernelOptions,
    NumberKernel,
    TreeArrays,
    column_facts,
)
from treebound.growing.options import GrowOptions, Limits
from treebound.growing.rules import kernel_rules, monotone_of
from treebound.tree.model import Tree
from treebound.tree.naming import naming_rows
from treebound.tree.regression import RegressionTree

if TYPE_CHECKING:
    from treebound.growing.engine import Engine


# Bins of a column; `FINE_BINS` if they exclude few splits.
MAX_BINS = 255


def grow(
    sample: Sample,
    options: GrowOptions | None = None,
    *,
    crossing: int | None = None,
    limits: Sequence[float] | None = None,
    progress: Report | None = None,
) -> Tree:
    """Grow a tree on a sample.

    Parameters
    ----------
    sample : Sample
        The training rows. Columns that are identifiers are not split on.
    options : GrowOptions, optional
        How to grow; by default to purity, with Gini's impurity.
    crossing : int, optional
        Nodes with at least this many rows are searched by histograms, smaller ones are sorted; by
        default chosen for speed. The tree does not depend on it.
    limits : sequence of float, optional
        With ``monotonic_cst``, between which numbers the share of the highest class must stay, then
        that of the two highest, and so on, as below a node of a larger tree.
    progress : callable, optional
        Called with a :class:`Progress` about every second, and when the tree is grown.

    Returns
    -------
    Tree

    Notes
    -----
    *Splits.* ``x <= threshold`` on real columns, between two neighbours, and on ordinal ones, at a
    rank; ``x == category`` on nominal ones, missing included. On real and ordinal columns missing
    is tried on both sides, and against present (threshold +inf). If no row of a node is missing,
    missing goes to the heavier child, left on ties. A node of one class is not split. With gini
    and entropy in the order ``"gain"``, a split without gain is allowed if no other gains more:
    the gain may come further down, as with exclusive or. With misclassification and in the order
    ``"impurity"`` a split must lower the impurity.

    *Ties.* Within a column, ties go to the lowest threshold or category, then to missing on the
    right. Between columns, to the split with the widest gap between its sides, relative to the
    column's range (1 for a category), so that the order of the columns does not matter; then to
    the first column. Between leaves, to the oldest. In the order ``"impurity"`` a tie between
    columns goes to the split with the least weight on its left, as in the paper's code. Gains are
    tied if they differ by less than 2^-45 of the node's weight: all class counts are exact
    integers, so the tree does not depend on the order of the rows or the number of threads.
    Weights that are not integers are rounded to 2^-52 of their sum.

    *Time and memory.* Large nodes are searched by histograms: O(n d) to code n rows of d columns
    into bins of one or two bytes and O(n d) for each level of the tree. Bounds determine which
    bins may hold the best split, and only their rows are searched; the tree is the same as by a
    search of all rows. Memory in addition to the sample: one or two bytes per value, 10 bytes per
    row, and up to 8 bytes per row for histograms. Small nodes are sorted: 8 bytes per value.

    Nominal columns alone give chains of splits that each take away one category. Such a split moves
    the rows of its category only, and of categories with equal class counts one is scored.

    Examples
    --------
    >>> from treebound.data import Sample
    >>> from treebound.growing import grow
    >>> rows = [[0.0, "green"], [1.0, "blue"], [2.0, "red"], [3.0, "red"]]
    >>> tree = grow(Sample.learn(rows, ["no", "no", "yes", "yes"]))
    >>> tree.n_leaves, int(tree.category[0])
    (2, 2)
    """
    options = options or GrowOptions()
    sample = sample.without_identifiers()
    masses = sample.masses
    total = WeightTotal.of(masses, sample.n_rows)
    units = total.integers(masses, sample.n_rows)
    columns = sample.columns
    monotone = monotone_of(options, columns, sample.classes)
    rules = kernel_rules(options, columns, monotone, limits)
    matrix, labels, part = sample.X, sample.y, None
    if isinstance(matrix, MatrixPart) and 2 * matrix.n_rows >= matrix.whole.n_rows:
        labels, part = matrix.in_place(labels), matrix.rows.astype(np.uint32)
        units = None if units is None else matrix.in_place(units)
        matrix = matrix.whole

    report = growth_report(progress, sample.n_rows)
    grown = grow_arrays(
        matrix.values,
        np.ascontiguousarray(labels, dtype=np.int32),
        units,
        sample.n_classes,
        *column_facts(columns),
        options=options.for_kernels(rules),
        n_threads=effective_jobs(options.n_jobs),
        crossing=crossing,
        progress=report,
        part=part,
        shared=matrix.kernel_cache.setdefault("codes", SharedCodes()),
    )
    arrays: dict[str, Any] = {**grown}
    arrays["counts"] = sample_sums(
        arrays["counts"] * total.unit, sample.factors, is_whole(sample.weight)
    )
    arrays |= {"columns": columns, "classes": sample.classes, "factors": sample.factors}
    tree = Tree(**arrays, weighted=masses is not None, monotone=monotone)
    report(tree.n_leaves, 0)
    if options.thresholds == "observed":
        return replace(tree, names=naming_rows(tree, sample))
    return tree


def grow_numbers(
    X: Matrix,
    target: NumericTarget,
    options: GrowOptions | None = None,
    *,
    min_weight: float = 0.0,
    crossing: int | None = None,
    limits: Sequence[float] | None = None,
    progress: Report | None = None,
) -> RegressionTree:
    """Grow a tree on a target of numbers, by squared error.

    Parameters
    ----------
    X : Matrix
        The encoded columns of the training rows.
    target : NumericTarget
        Their numbers and weights.
    options : GrowOptions, optional
        How to grow; the criterion is not used.
    min_weight : float
        Minimum weight of the rows in a leaf, in addition to their number.
    crossing : int, optional
        As in :func:`grow`.
    limits : sequence of float, optional
        With ``monotonic_cst``, between which integers of the target's scale means must stay.
    progress : callable, optional
        As in :func:`grow`.

    Returns
    -------
    RegressionTree
        With the exact sums of the channels of the target at each node.

    Notes
    -----
    As :func:`grow`, with two differences. A split must gain more than rounding explains: a node
    whose numbers are all equal is a leaf. Gains are tied if they differ by less than 2^-45 of the
    node's sum of squares, and where numbers are rounded also by what rounding explains.

    Examples
    --------
    >>> from treebound.data import Sample
    >>> from treebound.data.numeric_target import NumericTarget
    >>> from treebound.growing.grow import grow_numbers
    >>> X = Sample.learn([[1.0], [2.0], [3.0], [4.0]], [0, 0, 0, 0]).X
    >>> target = NumericTarget.of([0.5, 0.5, 2.25, 2.25])
    >>> tree = grow_numbers(X, target)
    >>> tree.threshold.tolist(), tree.value.tolist()
    ([2.5, nan, nan], [1.375, 0.5, 2.25])
    """
    options = options or GrowOptions()
    columns, numbers, part = X.columns, target.channels, None
    kernel, signs = _number_kernel(
        options, columns, min_weight / target.weight_unit if target.weighted else 0.0, limits
    )
    if isinstance(X, MatrixPart) and 2 * X.n_rows >= X.whole.n_rows:
        numbers, part = np.zeros((X.whole.n_rows, 4), dtype=np.int64), X.rows.astype(np.uint32)
        numbers[X.rows] = target.channels
        X = X.whole

    report = growth_report(progress, len(target.channels))
    grown = grow_number_arrays(
        X.values,
        numbers,
        *column_facts(columns),
        options=kernel,
        **_number_units(target),
        n_threads=effective_jobs(options.n_jobs),
        crossing=crossing,
        progress=report,
        part=part,
        shared=X.kernel_cache.setdefault("codes", SharedCodes()),
    )
    tree = _number_tree(grown, target, columns, target.weighted, signs)
    report(tree.n_leaves, 0)
    return tree


def _number_kernel(
    options: GrowOptions,
    columns: Sequence[Column],
    min_weight: float = 0.0,
    limits: Sequence[float] | None = None,
) -> tuple[KernelOptions, tuple[int, ...] | None]:
    """Return the options of the kernels, and the signs of monotone columns."""
    if options.growth_order != "gain":
        raise invalid("growth_order", "grow_numbers", "'gain'", options.growth_order)
    # a number rises with a column where its mean does: the second of two "classes" is the sum
    monotone = monotone_of(options, columns, np.arange(2))
    rules = kernel_rules(options, columns, monotone, limits or [-np.inf, np.inf])
    kernel = options.for_kernels(rules)
    kernel["criterion"] = SQUARED
    kernel["min_weight"] = round(min_weight)
    return kernel, None if monotone is None else monotone.signs


def _number_units(target: NumericTarget) -> NumberKernel:
    """Return the units of a target as the kernels take them."""
    return {
        "square_shift": target.square_shift,
        "weight_error": target.weight_error,
        "row_error": target.row_error,
    }


def _number_tree(
    grown: TreeArrays,
    target: NumericTarget,
    columns: Sequence[Column],
    weighted: bool,
    signs: tuple[int, ...] | None,
) -> RegressionTree:
    """Return the tree of arrays whose counts are the sums of channels."""
    arrays: dict[str, Any] = {**grown}
    return RegressionTree.of_sums(
        arrays.pop("counts"),
        target.units,
        **arrays,
        columns=tuple(columns),
        weighted=weighted,
        monotone=signs,
    )


def grow_on_engine(
    engine: Engine,
    columns: Sequence[Column],
    classes: NDArray[Any],
    options: GrowOptions,
    *,
    factors: NDArray[np.float64] | None = None,
    whole: bool = True,
    limits: Limits | None = None,
    progress: Report | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    finer: Callable[[], Bins] | None = None,
) -> Tree:
    """Grow a tree on the rows of an engine: the one that :func:`grow` grows in memory.

    ``checkpoint`` is a file that keeps the unfinished tree, from which growth continues. ``finer``
    makes finer bins, for data on which those of the engine exclude few splits.
    """
    sample = _sample_in_memory(engine, len(columns), limits, checkpoint)
    if isinstance(sample, Sample):
        return grow(sample, options, progress=progress)
    facts = engine.facts
    columns = _with_missing(columns, facts.missing)
    monotone = monotone_of(options, columns, classes)
    rules = kernel_rules(options, columns, monotone)
    grown = grow_on_shards(
        engine,
        columns,
        len(classes),
        options=options.for_kernels(rules),
        limits=limits or Limits(),
        finer=finer,
        progress=progress,
        checkpoint=_checkpoint_of(checkpoint, engine, columns, options),
    )
    arrays: dict[str, Any] = {**grown}
    arrays["counts"] = sample_sums(arrays["counts"] * facts.total.unit, factors, whole)
    arrays |= {"columns": columns, "classes": classes, "factors": factors}
    weighted = factors is not None or not facts.total.ones
    tree = Tree(**arrays, weighted=weighted, monotone=monotone)
    if options.thresholds == "observed":
        return replace(tree, names=engine.name(tree))
    return tree


def grow_numbers_on_engine(
    engine: Engine,
    columns: Sequence[Column],
    options: GrowOptions,
    *,
    min_weight: float = 0.0,
    limits: Limits | None = None,
    progress: Report | None = None,
    finer: Callable[[], Bins] | None = None,
) -> RegressionTree:
    """Grow a tree on numbers of an engine: the one that :func:`grow_numbers` grows in memory.

    The other parameters are those of :func:`grow_numbers` and :func:`grow_on_engine`.
    """
    sample = _sample_in_memory(engine, len(columns), limits, None)
    if isinstance(sample, NumberSample):
        missing = [column.missing for column in sample.columns]
        X = replace(sample.X, columns=_with_missing(columns, missing))
        return grow_numbers(X, sample.target, options, min_weight=min_weight, progress=progress)
    facts = engine.facts
    assert facts.numbers is not None
    weighted = not facts.total.ones
    # without rows: its units
    target = NumericTarget.part_of(np.empty(0), None, facts.numbers, facts.total)
    columns = _with_missing(columns, facts.missing)
    kernel, signs = _number_kernel(
        options, columns, min_weight / target.weight_unit if weighted else 0.0
    )
    grown = grow_on_shards(
        engine,
        columns,
        N_CHANNELS,
        options=kernel,
        limits=limits or Limits(),
        finer=finer,
        progress=progress,
        checkpoint=None,
        numbers=_number_units(target),
    )
    return _number_tree(grown, target, columns, weighted, signs)


def _sample_in_memory(
    engine: Engine,
    n_columns: int,
    limits: Limits | None,
    checkpoint: str | os.PathLike[str] | None,
) -> Sample | NumberSample | None:
    """Return the rows of an engine if they are grown on as in memory; None: in rounds."""
    from treebound.growing.engine import QUICK_VALUES

    check_checkpoint(checkpoint)
    sample = engine.sample
    if sample is None or limits is not None:
        return None
    quick = sample.n_rows * n_columns <= QUICK_VALUES
    return sample if checkpoint is None or (quick and not os.path.exists(checkpoint)) else None


def _with_missing(columns: Sequence[Column], missing: Iterable[bool]) -> tuple[Column, ...]:
    """Return the columns; those with missing values state it."""
    return tuple(
        column.with_missing(column.missing or bool(some))
        for column, some in zip(columns, missing, strict=True)
    )


def _checkpoint_of(
    path: str | os.PathLike[str] | None,
    engine: Engine,
    columns: Sequence[Column],
    options: GrowOptions,
) -> Checkpoint | None:
    """Return the file that keeps the unfinished tree, if there is to be one."""
    if path is None:
        return None
    of = (tuple(columns), options, engine.facts.n_rows, engine.counts.tolist(), engine.digest())
    return Checkpoint(path, of)


def make_bins(
    columns: Sequence[Column], sample: Sequence[NDArray[Any]], max_bins: int = MAX_BINS
) -> Bins:
    """The bins of a table.

    Parameters
    ----------
    columns : sequence of Column
        The columns of the table.
    sample : sequence of ndarray
        Values of some rows, for each real column; ignored for the others.
    max_bins : int
        Maximum number of bins of a real or ordinal column.

    Returns
    -------
    Bins

    Raises
    ------
    ValueError
        If a column has too many categories.
    """
    for column in columns:
        if len(column.categories or ()) > MAX_CATEGORIES:
            raise ValueError(
                f"Column {column.name!r} has {len(column.categories or ()):,} categories. Growing "
                f"in rounds takes at most {MAX_CATEGORIES:,}. Hint: leave the column out, or "
                "merge rare categories."
            )
    values = [
        some if column.kind == "real" else np.arange(len(column.categories or ()), dtype=float)
        for column, some in zip(columns, sample, strict=True)
    ]
    sizes = [len(column.categories or ()) for column in columns]
    return Bins(values, [KINDS.index(column.kind) for column in columns], sizes, max_bins)
