"""Small trees for the tests: random ones, all their prunings, and examples that reach them."""

from __future__ import annotations

import itertools

import numpy as np

from treebound.tree.columns import Column
from treebound.tree.model import Tree


def random_tree(rng, leaves, *, n_classes=3, most=6, fractional=False, features=2):
    """A tree of random form with random class counts; no examples behind it."""
    left, right = [], []

    def build(size):
        node = len(left)
        left.append(-1)
        right.append(-1)
        if size > 1:
            here = int(rng.integers(1, size))
            left[node] = build(here)
            right[node] = build(size - here)
        return node

    build(leaves)
    n_nodes = len(left)
    counts = np.zeros((n_nodes, n_classes))
    for node in reversed(range(n_nodes)):
        if left[node] < 0:
            counts[node] = rng.integers(0, most, n_classes)
            counts[node, rng.integers(n_classes)] += 1  # no empty leaf
            if fractional:
                counts[node] *= rng.random(n_classes)
        else:
            counts[node] = counts[left[node]] + counts[right[node]]
    inner = np.array(left) >= 0
    return Tree(
        feature=np.where(inner, rng.integers(features, size=n_nodes), -1),
        threshold=np.where(inner, rng.random(n_nodes), np.nan),
        category=np.full(n_nodes, -1),
        missing_left=np.zeros(n_nodes, dtype=bool),
        left=left,
        right=right,
        counts=counts,
        rows=np.ceil(counts.sum(axis=1)).astype(int),
        columns=tuple(Column(f"x{i}") for i in range(features)),
        classes=np.arange(n_classes),
    )


def all_prunings(tree, node=0):
    """Every set of inner nodes whose collapse gives another pruning, as tuples."""
    if tree.left[node] < 0:
        return [()]
    below = itertools.product(
        all_prunings(tree, int(tree.left[node])), all_prunings(tree, int(tree.right[node]))
    )
    return [(node,), *(one + other for one, other in below)]


def arrays(tree):
    """Everything in a tree that could be changed by mistake."""
    names = ("feature", "threshold", "category", "missing_left", "left", "right", "counts", "rows",
             "label")  # fmt: skip
    return {name: getattr(tree, name).copy() for name in names}
