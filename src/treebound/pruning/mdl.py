"""MDL pruning: minimise the description length of the tree and the labels."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from treebound._validation import with_parameters
from treebound.pruning.base import BasePruner, PruningResult, Rows
from treebound.pruning.least_cost import least_cost
from treebound.tree.model import Tree

Floats = NDArray[np.float64]


@with_parameters
class MDLPruner(BasePruner):
    """Minimum description length pruning of Mehta, Rissanen and Agrawal (1995).

    A leaf costs one bit plus the stochastic complexity of its labels; an inner node, one bit plus
    its split: the column, and one of the splits of that column at this node. The pruning with the
    least total cost is found exactly in one pass; its score is that cost, in bits.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_wine
    >>> grown = tb.BoundTreeClassifier(pruning=None).fit(*load_wine(return_X_y=True)).tree_
    >>> grown.n_leaves, MDLPruner().prune(grown).tree.n_leaves
    (8, 5)
    """

    name: ClassVar[str] = "mdl"

    def _search(self, tree: Tree, rows: Rows) -> PruningResult:
        as_leaf = 1.0 + label_bits(tree.masses)
        return least_cost(tree, as_leaf, as_node=1.0 + test_bits(tree))


def label_bits(counts: Floats) -> Floats:
    """Stochastic complexity of the labels of each node, in bits (Krichevsky and Trofimov)."""
    from scipy.special import gammaln, xlogy

    total, classes = counts.sum(axis=1), counts.shape[1]
    spread = xlogy(total, total) - xlogy(counts, counts).sum(axis=1)
    # The last two terms are the cost of unknown class frequencies.
    unknown = 0.5 * (classes - 1) * np.log(np.maximum(total, 1.0) / 2.0)
    constant = 0.5 * classes * np.log(np.pi) - gammaln(0.5 * classes)
    bits: Floats = (spread + np.maximum(unknown + constant, 0.0)) / np.log(2.0)
    return bits


def test_bits(tree: Tree) -> Floats:
    """Bits to describe the split of each node: its column, and one of the column's splits."""
    offered = np.ones(tree.n_nodes)
    for at, column in enumerate(tree.columns):
        here = tree.feature == at
        if column.kind == "real":
            offered[here] = tree.mass[here] - 1.0  # a row of weight two counts twice
        else:
            size = len(column.categories or ()) + column.missing
            offered[here] = size - (column.kind == "ordinal")
    bits: Floats = np.log2(max(len(tree.columns), 1)) + np.log2(np.maximum(offered, 1.0))
    return np.where(tree.is_leaf, 0.0, bits)
