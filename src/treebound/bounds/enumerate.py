"""The oracle: every partition a shape realizes on a given sample, exactly.

=============  ==================================================================================
``S``          a sample of m rows; T a shape
``P^c_T(S)``   the c-partitions of S that trees of shape T can make, :func:`realizable_partitions`
``pi^c_T(m)``  the most of them over all samples of m rows; a sample gives a lower bound
=============  ==================================================================================

The cost grows exponentially with the leaves; 12 rows and 6 leaves take little time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treebound._validation import invalid
from treebound.bounds._bitmasks import (
    Masks,
    column_tests,
    count_masks,
    growth_masks,
    partition_masks,
)
from treebound.bounds._checks import check_int, check_shape
from treebound.shapes import TreeShape

Partition = tuple[tuple[int, ...], ...]
"""The parts of a sample as rows in ascending order, the part of the first row first."""

KINDS = ("real", "ordinal", "nominal")


def realizable_partitions(
    X: ArrayLike,
    kinds: Sequence[str],
    shape: TreeShape,
    c: int,
    *,
    one_sided: bool = True,
    categories: Sequence[int | None] | None = None,
) -> frozenset[Partition]:
    """Definition of realizable partitions: all c-partitions of this sample the shape can make.

    Parameters
    ----------
    X : array of shape (m, d)
        The sample; only the order of real and ordinal values and the equality of nominal ones
        matter.
    kinds : sequence of {"real", "ordinal", "nominal"}
        The kind of each column: threshold tests on the first two, ``x == category`` on the third.
    shape : TreeShape
        The shape of the trees.
    c : int
        Number of parts.
    one_sided : bool
        Whether a node may send all its rows to one side (erratum 10), as a real
        feature always can, and a categorical one that declares a category the sample lacks.
        False takes exactly the rule sets of the paper.
    categories : sequence of int or None, optional
        Declared number of categories of each column (None for a real one); codes are then
        0, ..., K - 1. Only read when ``one_sided`` is False; by default the largest code plus 1.

    Returns
    -------
    frozenset of tuple of tuple of int
        Each partition is a tuple of parts, each part a tuple of rows in ascending order; the parts
        are in the order of their first row.

    Raises
    ------
    ValueError
        If the sample is empty or has missing values, ``kinds`` does not match its columns, or a
        code is not declared.

    Examples
    --------
    >>> import treebound as tb
    >>> stump = tb.TreeShape.parse("(..)")
    >>> X = [[1.0, 0], [2.0, 1], [3.0, 0]]
    >>> sorted(tb.bounds.realizable_partitions(X, ["real", "nominal"], stump, 2))
    [((0,), (1, 2)), ((0, 1), (2,)), ((0, 2), (1,))]
    """
    where = "realizable_partitions"
    m, tests = _checked(X, kinds, shape, one_sided, categories, where)
    c = check_int("c", c, where)
    if c > min(m, shape.leaves):
        return frozenset()
    return frozenset(_as_rows(parts) for parts in partition_masks(tests, m, shape, c))


def count_realizable(
    X: ArrayLike,
    kinds: Sequence[str],
    shape: TreeShape,
    c: int,
    *,
    one_sided: bool = True,
    categories: Sequence[int | None] | None = None,
) -> int:
    """Number of c-partitions of this sample the shape can make, ``|P^c_T(S)|``.

    A lower bound on the partitioning function ``pi^c_T(m)``.

    Parameters
    ----------
    X, kinds, shape, c, one_sided, categories
        As in :func:`treebound.bounds.realizable_partitions`.

    Examples
    --------
    >>> import treebound as tb
    >>> X = [[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [3.0, 2.0]]
    >>> count_realizable(X, ["real", "real"], tb.TreeShape.parse("((..).)"), 2)
    7
    """
    where = "count_realizable"
    m, tests = _checked(X, kinds, shape, one_sided, categories, where)
    return count_masks(tests, m, shape, check_int("c", c, where))


def realizable_growth(
    X: ArrayLike,
    kinds: Sequence[str],
    shape: TreeShape,
    n_classes: int,
    *,
    one_sided: bool = True,
    categories: Sequence[int | None] | None = None,
) -> int:
    """Number of labellings of this sample the shape can make: ``sum_c (n)_c |P^c_T(S)|``.

    A lower bound on the growth function ``tau_T(m)``.

    Parameters
    ----------
    X, kinds, shape
        As in :func:`treebound.bounds.realizable_partitions`.
    n_classes : int
        Number of classes ``n``.
    one_sided, categories
        As in :func:`treebound.bounds.realizable_partitions`.

    Examples
    --------
    >>> import treebound as tb
    >>> X = [[0.0], [1.0], [2.0]]
    >>> realizable_growth(X, ["real"], tb.TreeShape.parse("(..)"), 2)
    6
    """
    where = "realizable_growth"
    m, tests = _checked(X, kinds, shape, one_sided, categories, where)
    return growth_masks(tests, m, shape, check_int("n_classes", n_classes, where))


# --- the sample -------------------------------------------------------------------------------


def _checked(
    X: ArrayLike,
    kinds: Sequence[str],
    shape: TreeShape,
    one_sided: bool,
    categories: Sequence[int | None] | None,
    where: str,
) -> tuple[int, frozenset[int]]:
    """Number of rows and the tests of the whole sample."""
    check_shape(shape, where)
    table = _check_sample(X, kinds, where)
    codes = _declared(table, kinds, one_sided, categories, where)
    columns = zip(table.T, kinds, codes, strict=True)
    tests: frozenset[int] = frozenset({0} if one_sided else ())
    tests = tests.union(*(column_tests(x, kind, k) for x, kind, k in columns))
    return len(table), tests or frozenset({0})  # without any test a tree is one leaf


def _check_sample(X: ArrayLike, kinds: Sequence[str], where: str) -> NDArray[Any]:
    table = np.asarray(X)
    if table.ndim != 2 or len(table) == 0:
        raise invalid("X", where, "an array of shape (m, d) with m >= 1", table.shape)
    if isinstance(kinds, str) or len(kinds) != table.shape[1]:
        must = f"the kind of each of the {table.shape[1]} columns"
        raise invalid("kinds", where, must, kinds)
    for i, kind in enumerate(kinds):
        if kind not in KINDS:
            raise ValueError(
                f"The 'kinds' parameter of {where} must be among {KINDS}. "
                f"Got {kind!r} for column {i} instead."
            )
    if table.dtype.kind == "f" and np.isnan(table).any():
        row, column = np.argwhere(np.isnan(table))[0]
        raise ValueError(
            f"The 'X' parameter of {where} must have no missing values. "
            f"Got nan in row {row}, column {column} instead."
        )
    return table


def _declared(
    table: NDArray[Any],
    kinds: Sequence[str],
    one_sided: bool,
    categories: Sequence[int | None] | None,
    where: str,
) -> list[int | None]:
    """Declared categories per column, or None where they make no difference."""
    if one_sided:
        return [None] * len(kinds)
    if categories is None:
        categories = [None] * len(kinds)
    if len(categories) != len(kinds):
        raise invalid("categories", where, f"one entry per column, {len(kinds)}", categories)
    declared: list[int | None] = []
    for i, kind in enumerate(kinds):
        if kind == "real":
            declared.append(None)
            continue
        largest = int(table[:, i].max())
        count = (
            largest + 1 if categories[i] is None else check_int("categories", categories[i], where)
        )
        if largest >= count or not np.isin(table[:, i], np.arange(count)).all():
            must = f"codes 0, ..., {count - 1} in column {i}, which declares {count} categories"
            raise invalid("X", where, must, table[:, i].tolist())
        declared.append(count)
    return declared


def _as_rows(parts: Masks) -> Partition:
    rows = (tuple(i for i in range(mask.bit_length()) if mask >> i & 1) for mask in parts)
    return tuple(sorted(rows))
