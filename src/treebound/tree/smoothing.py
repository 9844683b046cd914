"""Class probabilities of nodes from their training counts."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["SMOOTHINGS", "Smoothing", "probabilities"]

Smoothing = Literal["laplace", "m-estimate"]
SMOOTHINGS: tuple[Smoothing | None, ...] = ("laplace", "m-estimate", None)

# Examples that the class frequencies of the root are worth in the m-estimate.
_WORTH = 2.0


def probabilities(
    counts: ArrayLike, smoothing: Smoothing | None = "laplace", *, prior: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Class probabilities of nodes, from the weight of each class in them.

    A leaf with few examples knows little: its frequencies are drawn towards what is known
    without it.

    Parameters
    ----------
    counts : array-like of shape (n_nodes, n_classes)
        Weight of each class in each node, as in ``Tree.counts``.
    smoothing : {"laplace", "m-estimate"} or None
        "laplace": one example of each class more, ``(n_k + 1) / (n + K)``. "m-estimate": some
        examples more, spread as the classes of the root, ``(n_k + 2 p_k) / (n + 2)``. None: the
        frequencies as they are.
    prior : array-like of shape (n_classes,), optional
        Class weights for the m-estimate; by default those of the first node, the root.

    Examples
    --------
    >>> from treebound.tree.smoothing import probabilities
    >>> probabilities([[6, 2], [6, 0], [0, 2]], "laplace").tolist()
    [[0.7, 0.3], [0.875, 0.125], [0.25, 0.75]]
    >>> probabilities([[6, 2], [6, 0], [0, 2]], "m-estimate").tolist()
    [[0.75, 0.25], [0.9375, 0.0625], [0.375, 0.625]]
    >>> probabilities([[6, 2], [6, 0], [0, 2]], None).tolist()
    [[0.75, 0.25], [1.0, 0.0], [0.0, 1.0]]
    """
    weights = np.asarray(counts, dtype=np.float64)
    if smoothing == "laplace":
        weights = weights + 1.0
    elif smoothing == "m-estimate":
        known = weights[0] if prior is None else np.asarray(prior, dtype=np.float64)
        weights = weights + _WORTH * known / known.sum()
    elif smoothing is not None:
        raise ValueError(
            "The 'smoothing' parameter must be 'laplace', 'm-estimate' or None. "
            f"Got {smoothing!r} instead."
        )
    return weights / weights.sum(axis=1, keepdims=True)
