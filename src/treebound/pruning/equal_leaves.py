"""Merging sibling leaves with the same class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treebound.tree.model import Tree


def merge_equal_leaves(tree: Tree) -> Tree:
    """Merge sibling leaves with the same class, repeatedly.

    Predictions do not change; probabilities become those of the larger leaves.

    Parameters
    ----------
    tree : Tree
        The tree to simplify.

    Returns
    -------
    Tree
        A new tree, or the same one if nothing can be merged.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_iris
    >>> data = load_iris(return_X_y=True)
    >>> grown = tb.BoundTreeClassifier(pruning=None, max_leaves=6).fit(*data).tree_
    >>> grown.n_leaves, tb.merge_equal_leaves(grown).n_leaves
    (6, 5)
    """
    left, right = tree.left.tolist(), tree.right.tolist()
    answer = tree.label.tolist()  # the only class of a subtree, or -1
    merged = []
    for node in range(tree.n_nodes - 1, -1, -1):
        if left[node] < 0:
            continue
        one, other = answer[left[node]], answer[right[node]]
        answer[node] = one if one == other else -1
        if answer[node] >= 0:
            merged.append(node)
    if not merged:
        return tree
    # A merged node keeps the class of its leaves, even if its own majority is another (or a tie).
    answers = np.where(np.array(answer) >= 0, answer, tree.label)
    return replace(tree, label=answers).collapsed(merged)
