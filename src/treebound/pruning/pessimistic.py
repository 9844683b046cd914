"""Pessimistic pruning, as in C4.5: every leaf is believed to err more than it did."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from treebound.pruning.additive import least_sum
from treebound.pruning.base import BasePruner, Examples, Found, Grow
from treebound.tree.model import Tree

__all__ = ["PessimisticPruner"]

Floats = NDArray[np.float64]


class PessimisticPruner(BasePruner):
    """Pessimistic pruning of Quinlan's C4.5 (1993).

    The error of a leaf is taken at the upper end of its confidence interval, as if its examples
    were a sample; a node becomes a leaf where the errors so estimated do not rise by more than 0.1.
    No data are withheld and nothing is cross-validated.

    Parameters
    ----------
    confidence : float
        The confidence factor: the probability of that many errors or fewer at the upper end.
        Smaller prunes more.

    Notes
    -----
    The upper end is the exact binomial (Clopper-Pearson) one; C4.5 itself approximates it by a
    normal law past one error. Subtree raising, an option of C4.5, is not part of this pruner.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_wine
    >>> grown = tb.BoundTreeClassifier(pruning=None).fit(*load_wine(return_X_y=True)).tree_
    >>> grown.n_leaves, PessimisticPruner(confidence=0.01).prune(grown).tree.n_leaves
    (8, 6)
    """

    def __init__(self, *, confidence: float = 0.25) -> None:
        self.confidence = confidence

    def _search(self, tree: Tree, examples: Examples | None, grow: Grow | None) -> Found:
        value = self.confidence
        if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < value < 1.0:
            raise self._bad("confidence", "a float in the range (0, 1)", value)
        estimated = upper_errors(tree.node_errors, tree.weight, float(value))
        return least_sum(tree, estimated, slack=0.1)


def upper_errors(errors: Floats, weight: Floats, confidence: float) -> Floats:
    """Expected errors at the upper end of the confidence interval, ``weight`` times the rate."""
    right = np.maximum(weight - errors, 0.0)
    some = right > 0.0
    rate = np.ones_like(errors)
    rate[some] = betaincinv(errors[some] + 1.0, right[some], 1.0 - confidence)
    return weight * rate
