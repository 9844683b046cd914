"""Pessimistic pruning, as in C4.5."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from treebound._validation import Number, parameter, with_parameters
from treebound.bounds.risk import binomial_rates
from treebound.pruning.base import BasePruner, PruningResult, Rows
from treebound.pruning.least_cost import least_cost
from treebound.tree.model import Tree

Floats = NDArray[np.float64]


@with_parameters
class PessimisticPruner(BasePruner):
    """Pessimistic pruning of Quinlan's C4.5 (1993).

    The error of a leaf is the upper end of its confidence interval, as if its examples were a
    random sample; a node becomes a leaf if that raises the estimated errors by at most 0.1.
    There is no held-out data and no cross-validation.

    Parameters
    ----------
    confidence : float
        The confidence factor: the probability of at most the observed errors at the upper end.
        Smaller values prune more.

    Notes
    -----
    The upper end is the exact binomial (Clopper-Pearson) one; C4.5 itself uses a normal
    approximation for more than one error. Subtree raising, an option of C4.5, is not included.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_wine
    >>> grown = tb.BoundTreeClassifier(pruning=None).fit(*load_wine(return_X_y=True)).tree_
    >>> grown.n_leaves, PessimisticPruner(confidence=0.01).prune(grown).tree.n_leaves
    (8, 6)
    """

    name: ClassVar[str] = "pessimistic"
    confidence: float = parameter(Number(0.0, 1.0, open=True), default=0.25)

    def _search(self, tree: Tree, rows: Rows) -> PruningResult:
        estimated = upper_errors(tree.node_losses, tree.mass, float(self.confidence))
        return least_cost(tree, estimated, slack=0.1)


def upper_errors(errors: Floats, weight: Floats, confidence: float) -> Floats:
    """Expected errors at the upper end of the confidence interval, ``weight`` times the rate."""
    return weight * binomial_rates(weight, errors, confidence)
