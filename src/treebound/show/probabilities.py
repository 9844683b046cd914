"""Class probabilities of every node, for the forms that print them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treebound.tree import Tree

__all__ = ["node_probabilities"]


def node_probabilities(tree: Tree, smoothing: str | None) -> NDArray[np.float64]:
    """The probabilities of the classes at every node, leaves and inner nodes alike."""
    try:
        from treebound.tree.smoothing import probabilities
    except ModuleNotFoundError:
        counts = tree.counts + (smoothing is not None)
        return counts / counts.sum(axis=1, keepdims=True)
    return np.asarray(probabilities(tree.counts, smoothing))
