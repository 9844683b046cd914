"""Small trees for the tests: random ones, all their prunings, and examples that reach them."""

from __future__ import annotations

import itertools

import numpy as np
from support import coded_matrix, coded_sample, grow_coded

from treebound.data import Column
from treebound.tree import Tree


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
    rows = np.zeros(n_nodes, dtype=int)
    for node in reversed(range(n_nodes)):
        if left[node] < 0:
            counts[node] = rng.integers(0, most, n_classes)
            counts[node, rng.integers(n_classes)] += 1  # no empty leaf
            if fractional:
                counts[node] *= rng.random(n_classes)
            rows[node] = np.ceil(counts[node].sum())
        else:
            counts[node] = counts[left[node]] + counts[right[node]]
            rows[node] = rows[left[node]] + rows[right[node]]
    inner = np.array(left) >= 0
    return Tree(
        feature=np.where(inner, rng.integers(features, size=n_nodes), -1),
        threshold=np.where(inner, rng.random(n_nodes), np.nan),
        category=np.full(n_nodes, -1),
        missing_left=np.zeros(n_nodes, dtype=bool),
        left=left,
        right=right,
        counts=counts,
        rows=rows,
        columns=tuple(Column(f"x{i}") for i in range(features)),
        classes=np.arange(n_classes),
        weighted=fractional,
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


def random_examples(rng, rows, *, n_classes=3, noise=0.3, missing=False):
    """Mixed columns whose classes depend on them, encoded, with a share of random labels."""
    columns = (
        Column("size", missing=missing),
        Column("weight"),
        Column("grade", "ordinal", ("low", "mid", "high"), declared=True),
        Column("colour", "nominal", ("red", "green", "blue", "grey"), declared=True),
    )
    X = np.column_stack(
        [
            rng.random(rows).round(1),
            rng.random(rows),
            rng.integers(0, 3, rows),
            rng.integers(0, 4, rows),
        ]
    ).astype(float)
    y = (X[:, 0] > 0.5).astype(int) + (X[:, 3] == 2) * (X[:, 2] > 0) + (X[:, 1] > 0.8)
    y = np.where(rng.random(rows) < noise, rng.integers(0, n_classes, rows), y % n_classes)
    if missing:
        X[rng.random(rows) < 0.15, 0] = np.nan
    return X, y.astype(np.int64), columns


def grown_tree(rng, rows=60, *, max_leaves=12, n_classes=3, noise=0.3, missing=False, weights=None):
    """A tree grown on random examples, and the examples."""
    X, y, columns = random_examples(rng, rows, n_classes=n_classes, noise=noise, missing=missing)
    tree = grow_coded(
        X, y, columns, np.arange(n_classes), sample_weight=weights, max_leaves=max_leaves
    )
    return tree, X, y


def sample_of(tree, X, y, weights=None):
    """The sample of some codes, in the columns and classes of a tree."""
    return coded_sample(X, y, tree.columns, tree.classes, weights)


def predictions(tree, X):
    """The class that a tree gives each row of codes."""
    return tree.label[tree.apply(coded_matrix(X, tree.columns))]
