"""Growing a tree: exact best-first CART on an encoded matrix."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treebound.tree import _grow
from treebound.tree.columns import Column
from treebound.tree.model import Tree

__all__ = ["grow"]

_CRITERIA = {"gini": 0, "entropy": 1, "misclassification": 2}
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
    min_gain: float = 0.0,
    n_jobs: int | None = None,
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
    min_gain : float
        Least gain of a split, as a share of the whole sample's weight.
    n_jobs : int, optional
        Number of threads; None is one, -1 all processors. The tree does not depend on it.

    Returns
    -------
    Tree

    Notes
    -----
    A split must lower the impurity, and a node of one class is not split. Of splits with the same
    gain the first is taken by column, then threshold or category, then missing to the right; of
    leaves with the same gain, the one made first. In the order "impurity" a tie between columns
    goes to the split with the fewest rows on its left, as in the paper's code.

    Examples
    --------
    >>> import numpy as np
    >>> from treebound.tree import Column, grow
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> tree = grow(X, np.array([0, 0, 1, 1]), [Column("x")], ["no", "yes"])
    >>> tree.n_leaves, float(tree.threshold[0])
    (2, 1.5)
    """
    X = np.asarray(X, dtype=np.float64)
    y = np.asarray(y)
    columns = tuple(columns)
    classes = np.asarray(classes)
    weights, unit = None, 1.0
    if sample_weight is not None:
        sample_weight = np.asarray(sample_weight, dtype=np.float64)
        keep = sample_weight > 0
        if not keep.all():
            X, y, sample_weight = X[keep], y[keep], sample_weight[keep]
        weights, unit = _integer_weights(sample_weight)
    arrays, missing = _grow.grow(
        X,
        np.ascontiguousarray(y, dtype=np.uint32),
        weights,
        len(classes),
        [_KINDS[column.kind] for column in columns],
        [len(column.categories or ()) for column in columns],
        [column.missing for column in columns],
        criterion=_CRITERIA[criterion],
        by_impurity=growth_order == "impurity",
        max_leaves=-1 if max_leaves is None else max_leaves,
        max_depth=_NO_LIMIT if max_depth is None else max_depth,
        min_samples_leaf=min_samples_leaf,
        min_samples_split=min_samples_split,
        min_gain=min_gain,
        n_threads=_threads(n_jobs),
    )
    columns = tuple(
        column.with_missing(True) if has and not column.missing else column
        for column, has in zip(columns, missing, strict=True)
    )
    arrays["counts"] = arrays["counts"] * unit
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


def _threads(n_jobs: int | None) -> int:
    if n_jobs is None:
        return 1
    if n_jobs < 0:
        return max(1, (os.cpu_count() or 1) + 1 + n_jobs)
    return n_jobs
