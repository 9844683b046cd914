"""The growth function of a tree shape: how many ways its trees can label ``m`` examples.

Everything is a natural logarithm.

==================  ======================================================================
symbol              meaning
==================  ======================================================================
``T``, ``L``, ``N`` a shape, its leaves, its inner nodes (``N = L - 1``)
``n``, ``m``        classes, examples
``tau_T(m)``        the growth function of ``T``
``A``               ``2 ell``: (real feature, direction) pairs
``B``               (categorical test, direction) pairs
``sym(T)``          inner nodes with two equal children
==================  ======================================================================
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, inf, log
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from treebound.bounds._checks import check_int, check_landscape, check_shape
from treebound.bounds.counting import log_binomial, log_catalan
from treebound.landscape import Landscape
from treebound.shapes import TreeShape

__all__ = ["log_growth", "log_growth_leaves"]

IntArray = NDArray[np.integer[Any]]
FloatArray = NDArray[np.float64]
LN2 = log(2)


def log_growth(
    shape: TreeShape, m: int, n_classes: int, landscape: Landscape, *, form: str = "best"
) -> float:
    """Upper bound on the natural log of the growth function of a shape.

    Parameters
    ----------
    shape : TreeShape
    m : int
        Number of examples, at least 1.
    n_classes : int
        Number of classes, at least 1.
    landscape : Landscape
    form : {"best", "tight", "fast", "closed"}
        ``closed`` is the closed form of the theory notes, O(leaves).

    Examples
    --------
    >>> import treebound as tb
    >>> shape = tb.TreeShape.parse("((..).)")
    >>> round(log_growth(shape, 1000, 2, tb.Landscape(real=10), form="closed"), 4)
    20.4971
    """
    m = check_int("m", m, "log_growth")
    n_classes = check_int("n_classes", n_classes, "log_growth")
    check_shape(shape, "log_growth")
    check_landscape(landscape, "log_growth")
    if form != "closed":
        raise NotImplementedError(form)
    return _log_closed(shape, m, n_classes, landscape)


@overload
def log_growth_leaves(leaves: int, m: int, n_classes: int, landscape: Landscape) -> float: ...
@overload
def log_growth_leaves(
    leaves: IntArray, m: int, n_classes: int, landscape: Landscape
) -> FloatArray: ...
def log_growth_leaves(
    leaves: int | IntArray, m: int, n_classes: int, landscape: Landscape
) -> float | FloatArray:
    """Closed form for the class of ALL trees with that many leaves (theory notes, section 2).

    ``Catalan(L-1) 2^-(L-1) n^L sum_j binom(N,j) A^j B^(N-j) binom(m-1,j)``, as a natural log;
    with real features only and fewer examples than leaves, ``m ln n``.

    Parameters
    ----------
    leaves : int or ndarray of int
        Number of leaves; an array gives an array, in time linear in the largest of them.
    m, n_classes : int
        Number of examples and of classes.
    landscape : Landscape

    Examples
    --------
    >>> import numpy as np, treebound as tb
    >>> landscape = tb.Landscape(real=10, nominal=(3,))
    >>> log_growth_leaves(np.arange(1, 5), 1000, 2, landscape).round(3)
    array([ 0.693, 10.596, 20.498, 30.218])
    """
    m = check_int("m", m, "log_growth_leaves")
    n_classes = check_int("n_classes", n_classes, "log_growth_leaves")
    check_landscape(landscape, "log_growth_leaves")
    many = np.atleast_1d(_check_leaves(leaves))
    tests = tests_of(landscape, m)
    if m == 1 or (tests.real == 0 and tests.categorical == 0):
        values = np.full(many.shape, log(n_classes))
    else:
        values = (
            many * log(n_classes)
            + log_catalan(many - 1)
            - (many - 1) * LN2
            + _log_split_choices_many(many - 1, m, tests)
        )
        if tests.categorical == 0:
            values = np.where(many > m, m * log(n_classes), values)
    return values.reshape(leaves.shape) if isinstance(leaves, np.ndarray) else float(values[0])


def _check_leaves(leaves: object) -> IntArray:
    if not isinstance(leaves, np.ndarray):
        return np.asarray(check_int("leaves", leaves, "log_growth_leaves"))
    if leaves.dtype.kind not in "iu" or (leaves.size and leaves.min() < 1):
        raise ValueError(
            "The 'leaves' parameter of log_growth_leaves must be an int >= 1 or an array of such. "
            f"Got {leaves!r} instead."
        )
    return leaves.astype(np.int64, copy=False)


class Tests(NamedTuple):
    """(test, direction) pairs of one node: ``A`` of real features, ``B`` of categorical ones."""

    real: int
    categorical: int


class _Summary(NamedTuple):
    real: int
    declared: int
    undeclared: int
    most_categories: int


@lru_cache(maxsize=1024)
def _summary(landscape: Landscape) -> _Summary:
    """What a node may test once there are at least as many examples as categories."""
    known = landscape.informative
    declared = [n for n in known.nominal if n is not None]
    total = sum(o - 1 for o in known.ordinal) + sum(1 if n == 2 else n for n in declared)
    most = max([*known.ordinal, *declared], default=0)
    return _Summary(known.real, total, len(known.nominal) - len(declared), most)


def tests_of(landscape: Landscape, m: int) -> Tests:
    """``A`` and ``B`` of the closed form at ``m`` examples."""
    known = _summary(landscape)
    total = known.declared if m >= known.most_categories else _declared_tests(landscape, m)
    return Tests(2 * known.real, 2 * (total + known.undeclared * m))


def _declared_tests(landscape: Landscape, m: int) -> int:
    known = landscape.informative
    nominal = sum(1 if n == 2 else min(n, m) for n in known.nominal if n is not None)
    return sum(min(o, m) - 1 for o in known.ordinal) + nominal


def _log_closed(shape: TreeShape, m: int, n_classes: int, landscape: Landscape) -> float:
    """Closed form for one shape: ``n^L 2^-sym sum_j binom(N,j) A^j B^(N-j) binom(m-1,j)``."""
    tests = tests_of(landscape, m)
    if m == 1 or (tests.real == 0 and tests.categorical == 0):
        return log(n_classes)
    leaves = shape.leaves
    if tests.categorical == 0 and m < leaves:
        return m * log(n_classes)
    labels = leaves * log(n_classes) - shape.symmetries * LN2
    return labels + _log_split_choices(leaves - 1, m, tests)


def _log_split_choices(nodes: int, m: int, tests: Tests) -> float:
    """``ln f_N(m)``, ``f_N(m) = sum_j binom(N,j) A^j B^(N-j) binom(m-1,j)``."""
    if tests.categorical == 0:
        return nodes * log(tests.real) + log_binomial(m - 1, nodes)
    if tests.real == 0 or nodes == 0:
        return nodes * log(tests.categorical)
    ratio = tests.real / tests.categorical
    # terms[j] / terms[j-1] = (N-j+1) (m-j) A / (j^2 B); past j = m-1 they are zero.
    count = min(nodes, m - 1)
    fixed, steps = _ratio_table(nodes)
    logs = (fixed[:count] + np.log(m - steps[:count]) + log(ratio)).cumsum()
    top = float(logs.max())
    if top <= 0.0:
        rest = log(1.0 + float(np.exp(logs).sum()))
    else:
        rest = top + log(float(np.exp(logs - top).sum()) + exp(-top))
    return nodes * log(tests.categorical) + rest


@lru_cache(maxsize=256)
def _ratio_table(nodes: int) -> tuple[FloatArray, FloatArray]:
    steps = np.arange(1.0, nodes + 1.0)
    return np.log((nodes - steps + 1.0) / steps**2), steps


def _log_split_choices_many(nodes: IntArray, m: int, tests: Tests) -> FloatArray:
    """``ln f_N(m)`` for many ``N`` at once."""
    most = int(min(nodes.max(initial=0), m - 1))
    if tests.categorical == 0:
        steps = np.arange(1, most + 1)
        chosen = np.concatenate(([0.0], np.log((m - steps) / steps).cumsum()))
        return np.where(nodes < m, nodes * log(tests.real) + chosen[np.minimum(nodes, most)], -inf)
    if tests.real == 0:
        return nodes * log(tests.categorical)
    table = _log_meixner(most, m - 1, tests.real / tests.categorical)
    values = table[np.minimum(nodes, most)] + nodes * log(tests.categorical)
    for at in zip(*np.nonzero(nodes > most), strict=True):
        values[at] = _log_split_choices(int(nodes[at]), m, tests)
    return values


def _log_meixner(most: int, x: int, z: float) -> FloatArray:
    """``ln sum_j binom(N,j) binom(x,j) z^j`` for N = 0..most, ``most <= x``.

    These are Meixner polynomials ``F(-N, -x; 1; z)``; their three-term recurrence, written for
    the relative growth ``s_N = F_{N+1}/F_N - 1``, contracts errors as long as ``N <= x``.
    """
    growth = np.empty(most)
    s = 0.0
    for n in range(most):
        s = (z * x + n * (1.0 - z) * s / (1.0 + s)) / (n + 1)
        growth[n] = s
    return np.concatenate(([0.0], np.log1p(growth).cumsum()))
