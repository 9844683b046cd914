"""Errors of the nodes of a tree on validation rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treebound.data import Sample
from treebound.tree.model import Tree

__all__ = ["errors_on"]


def errors_on(tree: Tree, sample: Sample) -> NDArray[np.float64]:
    """Weight of the rows that each node would misclassify as a leaf."""
    counts, _ = tree.counts_on(sample)
    wrong: NDArray[np.float64] = counts.sum(axis=1) - counts[np.arange(tree.n_nodes), tree.label]
    return wrong
