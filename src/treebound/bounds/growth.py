"""The growth function of a tree shape: how many ways its trees can label ``m`` examples.

Everything is a natural logarithm. The forms of :func:`log_growth`, for a shape ``T``:

=============  =================================================  =============================
form           bound                                              time
=============  =================================================  =============================
``fast``       the paper's Algorithm LogGrowthFuncUB, corrected   O(leaves)
``tight``      the paper's sum over part sizes, corrected         O(new subtrees, m^2)
``closed``     the closed form (ours)                             O(leaves)
``chain``      the chain closed form (ours)                       O(leaves)
``chain-sum``  the chain lemma, a sum over prefixes (ours)        O(new subtrees, m^2)
``best``       the least of these at every node, the budget       as ``tight``
               forms and ``m ln n``
=============  =================================================  =============================
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import overload

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import AnyInts, Floats
from treebound._utils.validation import OneOf, as_int, check, invalid
from treebound.bounds._checks import check_landscape, check_shape, check_size
from treebound.bounds._closed import (
    log_all_labellings,
    log_chain_growth,
    log_chain_growth_leaves,
    log_closed_growth,
    log_closed_growth_leaves,
)
from treebound.bounds._fast import log_fast_growth
from treebound.bounds._tables import growth_by_size
from treebound.bounds.splits import Features, features_of
from treebound.landscape import Landscape
from treebound.shapes import TreeShape

Form = Callable[[TreeShape, int, int, Features], float]
# Multiplications (about a nanosecond each) up to which "best" tries the sums over part sizes.
_SIZES_WORK = 5e8


def log_growth(
    shape: TreeShape, m: int, n_classes: int, landscape: Landscape, form: str = "best"
) -> float:
    """Upper bound on the natural log of the growth function of a shape.

    Parameters
    ----------
    shape : TreeShape
        The shape of the trees.
    m : int
        Number of examples, from 1 to ``10**100``.
    n_classes : int
        Number of classes, from 1 to ``10**100``; the cost does not grow with it.
    landscape : Landscape
        The features a tree may test.
    form : {"best", "tight", "chain-sum", "fast", "closed", "chain"}
        ``fast`` and ``tight`` are the paper's bounds, corrected; ``closed``, ``chain`` and
        ``chain-sum`` are new (:doc:`/theory`). ``best`` is the least of all, of the sum over part
        sizes within the node's budget of splits, and of ``m ln n``.

    Returns
    -------
    float
        Never rounded below the formula of the form.

    Notes
    -----
    ``tight`` and ``chain-sum`` take time quadratic in ``m`` for each subtree that is new; subtrees
    are kept, so that related shapes and other sample sizes cost less. ``best`` leaves these sums
    out where they would take more than some seconds; past that the closed forms are nearly as
    small.

    Examples
    --------
    >>> import treebound as tb
    >>> shape, landscape = tb.TreeShape.parse("((..).)"), tb.Landscape(real=10)
    >>> for form in ("fast", "tight", "closed", "chain", "chain-sum", "best"):
    ...     print(form, round(log_growth(shape, 1000, 2, landscape, form=form), 4))
    fast 20.4972
    tight 19.804
    closed 20.4971
    chain 19.1111
    chain-sum 19.1091
    best 19.1091
    """
    m = check_size("m", m, "log_growth")
    n_classes = check_size("n_classes", n_classes, "log_growth")
    check_shape(shape, "log_growth")
    features = _features(check_landscape(landscape, "log_growth"))
    check("log_growth", {"form": form}, {"form": OneOf(tuple(_FORMS))})
    return _FORMS[form](shape, m, n_classes, features)


@lru_cache(maxsize=1024)
def _features(landscape: Landscape) -> Features:
    check_size("real", max(landscape.real, 1), "Landscape")
    return features_of(landscape)


def _best(shape: TreeShape, m: int, n_classes: int, features: Features) -> float:
    logs = [
        log_all_labellings(m, n_classes),
        log_closed_growth(shape, m, n_classes, features),
        log_chain_growth(shape, m, n_classes, features),
        log_fast_growth(shape, m, n_classes, features, total=True),
    ]
    if shape.nodes * float(m) * m <= _SIZES_WORK:
        logs.append(growth_by_size(shape, m, n_classes, features, "best"))
    return min(logs)


_FORMS: dict[str, Form] = {
    "best": _best,
    "tight": partial(growth_by_size, kind="tight"),
    "chain-sum": partial(growth_by_size, kind="chain-sum"),
    "fast": partial(log_fast_growth, total=False),
    "closed": log_closed_growth,
    "chain": log_chain_growth,
}


@overload
def log_growth_leaves(
    leaves: int, m: int, n_classes: int, landscape: Landscape, *, form: str = ...
) -> float: ...
@overload
def log_growth_leaves(
    leaves: AnyInts, m: int, n_classes: int, landscape: Landscape, *, form: str = ...
) -> Floats: ...
def log_growth_leaves(
    leaves: int | AnyInts, m: int, n_classes: int, landscape: Landscape, *, form: str = "best"
) -> float | Floats:
    """Closed forms for the class of all trees with that many leaves (ours, not in the paper).

    With L leaves, n classes, ``ell`` real features, ``B`` pairs of a categorical test and one of
    its two directions, and ``N = L - 1``, the growth function is at most n times

    - ``closed``: ``Catalan(N) Y^N``, where ``Y = n ell X + n B / 2``;
    - ``chain``: ``sum_j binom(N+j, 2j) Catalan(j) Y^j``, where ``Y = ell (n-1) X + n B / 2``.

    In the expanded powers, ``X^j`` stands for ``binom(m-1, j)``.

    Parameters
    ----------
    leaves : int or ndarray of int
        Number of leaves; an array gives an array.
    m, n_classes : int
        Number of examples and of classes.
    landscape : Landscape
        The features a tree may test.
    form : {"best", "closed", "chain"}
        ``best`` is the smaller of both.

    Returns
    -------
    float or ndarray of float
        Natural logs, never rounded below the formula.

    Examples
    --------
    >>> import numpy as np, treebound as tb
    >>> landscape = tb.Landscape(real=10, nominal=(3,))
    >>> log_growth_leaves(np.arange(1, 5), 1000, 2, landscape).round(3)
    array([ 0.693,  9.903, 19.114, 28.142])
    """
    where = "log_growth_leaves"
    m = check_size("m", m, where)
    n_classes = check_size("n_classes", n_classes, where)
    features = _features(check_landscape(landscape, where))
    check(where, {"form": form}, {"form": OneOf(tuple(_LEAVES_FORMS))})
    many = _check_leaves(leaves)
    rising, back = np.unique(many, return_inverse=True)
    values = _LEAVES_FORMS[form](rising, m, n_classes, features)[back.reshape(-1)]
    return values.reshape(many.shape) if isinstance(leaves, np.ndarray) else float(values[0])


def _best_of_leaves(
    leaves: NDArray[np.int64], m: int, n_classes: int, features: Features
) -> Floats:
    closed = log_closed_growth_leaves(leaves, m, n_classes, features)
    return np.minimum(closed, log_chain_growth_leaves(leaves, m, n_classes, features))


_LEAVES_FORMS: dict[str, Callable[[NDArray[np.int64], int, int, Features], Floats]] = {
    "best": _best_of_leaves,
    "closed": log_closed_growth_leaves,
    "chain": log_chain_growth_leaves,
}


def _check_leaves(leaves: object) -> NDArray[np.int64]:
    if not isinstance(leaves, np.ndarray):
        return np.asarray(as_int("leaves", "log_growth_leaves", leaves, 1), dtype=np.int64)
    if leaves.dtype.kind not in "iu" or (leaves.size and leaves.min() < 1):
        must = "an int >= 1 or an array of such"
        raise invalid("leaves", "log_growth_leaves", must, leaves)
    return np.ascontiguousarray(leaves, dtype=np.int64)
