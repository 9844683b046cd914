"""The growth function of a tree shape: how many ways its trees can label ``m`` examples.

Everything is a natural logarithm. The forms of :func:`log_growth`, for a shape ``T``:

========  =====================================================  ===========================
form      bound                                                  time
========  =====================================================  ===========================
closed    the closed form of the theory notes                    O(leaves)
fast      the paper's Algorithm LogGrowthFuncUB, corrected       O(leaves)
tight     the sum over part sizes, errata's ``D_k``              O(distinct subtrees, m^2)
best      the least of these, the budget forms and ``m ln n``    as tight
========  =====================================================  ===========================

"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import log
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from treebound.bounds._checks import check_int, check_landscape, check_shape
from treebound.bounds._closed import log_closed_growth, log_closed_growth_leaves
from treebound.bounds._recursion import Features, features_of
from treebound.bounds._sizes import growth_by_size
from treebound.bounds.fast import log_fast_growth
from treebound.landscape import Landscape
from treebound.shapes import TreeShape

__all__ = ["log_growth", "log_growth_leaves"]

IntArray = NDArray[np.integer[Any]]
FloatArray = NDArray[np.float64]
# Multiplications (some nanoseconds each) up to which "best" tries the sums over part sizes.
_SIZES_WORK = 1e9


def log_growth(
    shape: TreeShape, m: int, n_classes: int, landscape: Landscape, form: str = "best"
) -> float:
    """Upper bound on the natural log of the growth function of a shape.

    Parameters
    ----------
    shape : TreeShape
    m : int
        Number of examples, at least 1.
    n_classes : int
        Number of classes, at least 1; the cost does not grow with it.
    landscape : Landscape
    form : {"best", "tight", "fast", "closed"}
        ``closed`` is the closed form of the theory notes, ``fast`` the paper's Algorithm
        LogGrowthFuncUB, ``tight`` the sum over part sizes. ``best`` is the least of these, of the
        same within the node's budget of splits, and of ``m ln n``.

    Returns
    -------
    float

    Notes
    -----
    ``tight`` takes time quadratic in ``m``. ``best`` leaves the sums over part sizes out where they
    would take more than some seconds; past that the closed form is nearly as small.

    Examples
    --------
    >>> import treebound as tb
    >>> shape, landscape = tb.TreeShape.parse("((..).)"), tb.Landscape(real=10)
    >>> for form in ("closed", "fast", "tight", "best"):
    ...     print(form, round(log_growth(shape, 1000, 2, landscape, form=form), 4))
    closed 20.4971
    fast 20.4972
    tight 19.804
    best 19.804
    """
    m = check_int("m", m, "log_growth")
    n_classes = check_int("n_classes", n_classes, "log_growth")
    check_shape(shape, "log_growth")
    check_landscape(landscape, "log_growth")
    try:
        compute = _FORMS[form]
    except (KeyError, TypeError):
        raise ValueError(
            "The 'form' parameter of log_growth must be one of 'best', 'tight', 'fast' and "
            f"'closed'. Got {form!r} instead."
        ) from None
    return compute(shape, m, n_classes, _features(landscape))


_features = lru_cache(maxsize=1024)(features_of)


def _is_simple(shape: TreeShape, m: int, n_classes: int, features: Features) -> bool:
    """Whether one label for all examples is all there is."""
    return n_classes == 1 or m == 1 or shape.is_leaf or features.is_empty


def _fast(shape: TreeShape, m: int, n_classes: int, features: Features) -> float:
    return log_fast_growth(shape, m, n_classes, features, total=False)


def _tight(shape: TreeShape, m: int, n_classes: int, features: Features) -> float:
    if _is_simple(shape, m, n_classes, features):
        return log(n_classes)
    return growth_by_size(shape, m, n_classes, features, budgeted=False)


def _best(shape: TreeShape, m: int, n_classes: int, features: Features) -> float:
    if _is_simple(shape, m, n_classes, features):
        return log(n_classes)
    found = [
        m * log(n_classes),
        log_closed_growth(shape, m, n_classes, features),
        log_fast_growth(shape, m, n_classes, features, total=True),
    ]
    inner = sum(not part.is_leaf for part in shape.subshapes())
    if inner * float(m) * m <= _SIZES_WORK:
        # With real features only the budget is never short: both sums are the same.
        budgeted = not features.is_real
        found.append(growth_by_size(shape, m, n_classes, features, budgeted=budgeted))
    return min(found)


_FORMS: dict[str, Callable[[TreeShape, int, int, Features], float]] = {
    "best": _best,
    "tight": _tight,
    "fast": _fast,
    "closed": log_closed_growth,
}


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
    values = log_closed_growth_leaves(many, m, n_classes, _features(landscape))
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
