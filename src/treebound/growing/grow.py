"""Growing a tree: exact best-first CART on an encoded matrix.

The compiled part, file by file. Small nodes: ``_sorted`` keeps rows with every column in order,
sorted by ``_presort`` and moved by ``_partition``; ``_split`` finds the best test of a column at a
node, with ``_scan`` for sorted columns; ``_search`` does so for all columns. Large nodes:
``_coding`` maps values to bins, ``_binned`` keeps the codes, ``_counting`` counts them,
``_bounds`` says how good a split inside a bin can be, ``_histogram`` looks into the bins that
matter, ``_large`` does so for all columns. ``_nodes`` keeps the nodes and the frontier, ``_grow``
looks at one leaf after the other, ``_pool`` has the threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray

from treebound.growing._grow import grow as grow_arrays
from treebound.tree.columns import Column
from treebound.tree.model import Tree

__all__ = ["OPTIONS", "grow"]

# The names of everything that says how to grow; the classifier has parameters of these names.
OPTIONS = (
    "criterion", "growth_order", "max_leaves", "max_depth", "min_samples_leaf",
    "min_samples_split", "min_weight_fraction_leaf", "min_gain", "thresholds", "n_jobs",
)  # fmt: skip
_CRITERIA = {"gini": 0, "entropy": 1, "misclassification": 2}
_ORDERS = {"gain": False, "impurity": True}
_THRESHOLDS = {"decimal": 0, "midpoint": 1, "observed": 2}
_KINDS = {"real": 0, "ordinal": 1, "nominal": 2}
_NO_LIMIT = 2**31 - 1
# Weights that are not integers are scaled to integers of this sum: as many bits as a float has.
_WEIGHT_BITS = 52


def grow(
    X: NDArray[np.float64],
    y: NDArray[Any],
    columns: Sequence[Column],
    classes: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    criterion: Literal["gini", "entropy", "misclassification"] = "gini",
    growth_order: Literal["gain", "impurity"] = "gain",
    max_leaves: int | None = None,
    max_depth: int | None = None,
    min_samples_leaf: int = 1,
    min_samples_split: int = 2,
    min_weight_fraction_leaf: float = 0.0,
    min_gain: float = 0.0,
    thresholds: Literal["decimal", "midpoint", "observed"] = "decimal",
    n_jobs: int | None = None,
    **_kernel: Any,
) -> Tree:
    """Grow a tree on an encoded matrix.

    Parameters
    ----------
    X : ndarray of float64, shape (n_rows, n_columns)
        Values of real columns, category codes of the others; NaN is missing.
    y : ndarray of int, shape (n_rows,)
        Codes into ``classes``.
    columns : sequence of Column
        What each column of ``X`` is.
    classes : array-like
        The class labels.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row; zero leaves a row out, an integer repeats it.
    criterion : {"gini", "entropy", "misclassification"}
        The impurity that splits lower.
    growth_order : {"gain", "impurity"}
        Which leaf is expanded first: the one whose split lowers the weighted impurity most, or the
        one whose children have the least mean impurity (the order of the paper's code).
    max_leaves, max_depth : int, optional
        Limits of the tree.
    min_samples_leaf, min_samples_split : int
        Least number of rows in a leaf, and in a node that is split.
    min_weight_fraction_leaf : float
        Least share of the sample's weight in a leaf, from 0 to 0.5.
    min_gain : float
        Least gain of a split: how much it lowers the impurity, times the share of the sample's
        weight that reaches the node. 0 admits a gain of zero, see Notes.
    thresholds : {"decimal", "midpoint", "observed"}
        Which number between two neighbouring values of a real column is the threshold: the decimal
        with the fewest digits, the middle, or the lower value. The rows of the sample part alike.
    n_jobs : int, optional
        Number of threads; None is one, -1 all processors. The tree does not depend on it.

    Returns
    -------
    Tree

    Notes
    -----
    *Splits.* ``x <= threshold`` on real columns, between two neighbours, and on ordinal ones, at a
    whole rank; ``x == category`` on nominal ones, missing included. Real and ordinal
    columns try missing on both sides, and missing against present (threshold +inf). Where no row of
    a node is missing, missing goes to the heavier child, left on a tie. A node of one class is not
    split. With gini and entropy in the order "gain", a split that gains nothing is taken where no
    other gains more, if ``min_gain`` is 0: the gain may come further down, as with exclusive or.
    With misclassification and in the order "impurity" a split must lower the impurity.

    *Ties.* Of splits of a column with the same gain the first is taken by threshold or category,
    then missing to the right. Between columns the one with the widest gap between its sides is
    taken, as a share of the column's range (1 for a category), so that the order of the columns
    has no say; then the first column. Of leaves with the same gain, the one made first. In the
    order "impurity" a tie between columns goes to the split with the least weight on its left, as
    in the paper's code. Gains are the same when they differ by less than 2^-45 of the node's
    weight: all class counts are exact integers, so neither the order of the rows nor the number of
    threads shows in the tree. Weights that are not integers are rounded to 2^-52 of their sum.

    *Time and memory.* O(n d) for sorting and O(n d) for each level of the tree, on n rows and d
    columns, whatever the number of classes. Beside ``X``: 8 bytes for each value of a real column
    of many values, 4 for each value of another column, and 13 bytes a row (8 more for each further
    thread): about as much as ``X`` itself. While columns are sorted, 8 bytes more a row and thread.

    Examples
    --------
    >>> import numpy as np
    >>> from treebound.tree import Column
    >>> from treebound.growing.grow import grow
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 2.0]])
    >>> columns = [Column("age"), Column("colour", "nominal", ("blue", "green", "red"))]
    >>> tree = grow(X, np.array([0, 0, 1, 1]), columns, ["no", "yes"])
    >>> tree.n_leaves, int(tree.category[0])
    (2, 2)
    """
    _check_options(criterion, growth_order, thresholds, max_leaves, max_depth)
    _check_least(min_samples_leaf, min_samples_split, min_weight_fraction_leaf, min_gain)
    columns, classes = tuple(columns), np.asarray(classes)
    X, y, weight = _checked_sample(X, y, sample_weight, len(columns), len(classes))
    units, unit = (None, 1.0) if weight is None else _integer_weights(weight)
    least = _least_weight(min_weight_fraction_leaf, len(y) if units is None else int(units.sum()))
    if True:
        arrays, missing = grow_arrays(
            _column_values(X, columns),
            y,
            units,
            len(classes),
            [_KINDS[column.kind] for column in columns],
            [len(column.categories or ()) for column in columns],
            [column.missing for column in columns],
            criterion=_CRITERIA[criterion],
            by_impurity=_ORDERS[growth_order],
            max_leaves=-1 if max_leaves is None else max_leaves,
            max_depth=_NO_LIMIT if max_depth is None else min(max_depth, _NO_LIMIT),
            min_samples_leaf=min(max(min_samples_leaf, least if units is None else 1), _NO_LIMIT),
            min_weight=0 if units is None else least,
            min_samples_split=min(min_samples_split, _NO_LIMIT),
            min_gain=min_gain,
            thresholds=_THRESHOLDS[thresholds],
            n_threads=_threads(n_jobs),
            **_kernel,
        )
    columns = tuple(
        column.with_missing(True) if has and not column.missing else column
        for column, has in zip(columns, missing, strict=True)
    )
    arrays["counts"] = arrays["counts"] * unit
    del arrays["names"]
    return Tree(**arrays, columns=columns, classes=classes)


def _integer_weights(weight: NDArray[np.float64]) -> tuple[NDArray[np.int64] | None, float]:
    """Weights as integers and what one of them stands for; None where every weight is one."""
    if (weight == 1.0).all():
        return None, 1.0
    total = weight.sum()
    if total <= 2.0**_WEIGHT_BITS and (weight == np.rint(weight)).all():
        return weight.astype(np.int64), 1.0
    shift = _WEIGHT_BITS - 1 - int(np.floor(np.log2(total)))
    scaled = np.rint(np.ldexp(weight, shift))
    return np.maximum(scaled, 1.0).astype(np.int64), float(np.ldexp(1.0, -shift))


def _least_weight(fraction: float, total: int) -> int:
    """The least whole weight that is a fraction of the total; rounding does not make it more."""
    return ceil(fraction * total * (1.0 - 2.0**-45))


def _threads(n_jobs: int | None) -> int:
    """As scikit-learn counts them; one inside a worker of a parallel job."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise _wrong("n_jobs", "an int other than 0 or None", n_jobs)
    return int(effective_n_jobs(n_jobs))


# -- what was given ------------------------------------------------------------------------


def _wrong(name: str, what: str, found: object) -> ValueError:
    return ValueError(f"The {name!r} parameter of grow must be {what}. Got {found!r} instead.")


def _check_options(criterion: str, growth_order: str, thresholds: str, *limits: int | None) -> None:
    if criterion not in _CRITERIA:
        raise _wrong("criterion", f"a str among {set(_CRITERIA)}", criterion)
    if growth_order not in _ORDERS:
        raise _wrong("growth_order", f"a str among {set(_ORDERS)}", growth_order)
    if thresholds not in _THRESHOLDS:
        raise _wrong("thresholds", f"a str among {set(_THRESHOLDS)}", thresholds)
    for name, limit in zip(("max_leaves", "max_depth"), limits, strict=True):
        if limit is not None and not (_is_int(limit) and limit >= 1):
            raise _wrong(name, "an int >= 1 or None", limit)


def _check_least(
    min_samples_leaf: int,
    min_samples_split: int,
    min_weight_fraction_leaf: float,
    min_gain: float,
) -> None:
    if not (_is_int(min_samples_leaf) and min_samples_leaf >= 1):
        raise _wrong("min_samples_leaf", "an int >= 1", min_samples_leaf)
    if not (_is_int(min_samples_split) and min_samples_split >= 2):
        raise _wrong("min_samples_split", "an int >= 2", min_samples_split)
    if not (isinstance(min_weight_fraction_leaf, Real) and 0 <= min_weight_fraction_leaf <= 0.5):
        raise _wrong("min_weight_fraction_leaf", "a float from 0 to 0.5", min_weight_fraction_leaf)
    if not (isinstance(min_gain, Real) and min_gain >= 0):
        raise _wrong("min_gain", "a float >= 0", min_gain)


def _is_int(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _checked_sample(
    X: NDArray[np.float64], y: NDArray[Any], sample_weight: Any, n_columns: int, n_classes: int
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64] | None]:
    """The rows of positive weight, of the types the kernel takes."""
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    if X.ndim != 2 or X.shape[1] != n_columns:
        raise _wrong("X", f"a matrix with {n_columns} columns", f"shape {X.shape}")
    if y.shape != (len(X),):
        raise _wrong("y", f"an array of shape ({len(X)},)", f"shape {y.shape}")
    weight = None
    if sample_weight is not None:
        weight = np.asarray(sample_weight, dtype=np.float64)
        if weight.shape != y.shape:
            raise _wrong("sample_weight", f"an array of shape {y.shape}", f"shape {weight.shape}")
        if not (np.isfinite(weight).all() and (weight >= 0).all()):
            bad = weight[~(np.isfinite(weight) & (weight >= 0))][0]
            raise _wrong("sample_weight", "finite numbers >= 0", float(bad))
        keep = weight > 0
        if not keep.all():
            X, y, weight = X[keep], y[keep], weight[keep]
    if len(y) == 0:
        raise _wrong("X", "a sample with at least one row of positive weight", "none")
    if n_classes < 1 or y.min() < 0 or y.max() >= n_classes:
        raise _wrong("y", f"codes from 0 to {n_classes - 1}", f"{y.min()} to {y.max()}")
    return X, np.ascontiguousarray(y, dtype=np.int32), weight


def _column_values(X: NDArray[np.float64], columns: Sequence[Column]) -> list[NDArray[Any]]:
    values: list[NDArray[Any]] = []
    for j, column in enumerate(columns):
        x = X[:, j]
        if column.kind != "real":
            known = ~np.isnan(x)
            size = len(column.categories or ())
            if not ((x[known] >= 0) & (x[known] < size) & (x[known] == np.floor(x[known]))).all():
                raise ValueError(_bad_code(X, columns, j))
            x = np.where(known, x, -1.0).astype(np.int32)
        values.append(x)
    return values


def _bad_code(X: NDArray[np.float64], columns: Sequence[Column], index: int) -> str:
    column, values = columns[index], X[:, index]
    size = len(column.categories or ())
    bad = ~np.isnan(values) & ~((values >= 0) & (values < size) & (values == np.floor(values)))
    row = int(np.flatnonzero(bad)[0])
    return (
        f"The 'X' parameter of grow must have codes from 0 to {size - 1}, or NaN, in the "
        f"{column.kind} column {column.name!r}. Got {values[row]} in row {row} instead."
    )
