"""Algorithm PruneTreeWithBound, written out as the paper has it: slow, obvious, no state kept."""

from __future__ import annotations

import numpy as np

from treebound.shapes import TreeShape


class Node:
    """A node that knows where it was in the first tree."""

    def __init__(self, name, test=None, left=None, right=None):
        self.name, self.test, self.left, self.right = name, test, left, right


def as_nodes(tree, at=0):
    if tree.left[at] < 0:
        return Node(at)
    test = (tree.feature[at], tree.threshold[at], tree.category[at], tree.missing_left[at])
    left, right = (as_nodes(tree, int(link[at])) for link in (tree.left, tree.right))
    return Node(at, test, left, right)


def goes_left(columns, test, values):
    feature, threshold, category, missing_left = test
    column = columns[feature]
    missing = np.isnan(values)
    if column.kind == "nominal" and column.missing:
        side = category == len(column.categories)
    else:
        side = bool(missing_left)
    goes_left = values == category if column.kind == "nominal" else values <= threshold
    return np.where(missing, side, goes_left)


def errors_of(node, rows, X, y, weight, costs, columns, labels=None):
    """Errors of a subtree on some rows; its leaves take the label of least cost there.

    With ``labels`` every node has the label it is given.
    """
    if node.test is None:
        counts = np.bincount(y[rows], weights=weight[rows], minlength=len(costs))
        prices = counts @ costs
        return float(prices.min() if labels is None else prices[labels[node.name]])
    mask = goes_left(columns, node.test, X[rows, node.test[0]])
    return sum(
        errors_of(child, rows[part], X, y, weight, costs, columns, labels)
        for child, part in ((node.left, mask), (node.right, ~mask))
    )


def shape_of(node):
    if node.test is None:
        return TreeShape.leaf()
    return TreeShape.node(shape_of(node.left), shape_of(node.right))


def with_replaced(node, name, new):
    if node.name == name:
        return new
    if node.test is None:
        return node
    left, right = (with_replaced(child, name, new) for child in (node.left, node.right))
    return Node(node.name, node.test, left, right)


def inner_nodes(node):
    if node.test is None:
        return []
    return [node, *inner_nodes(node.left), *inner_nodes(node.right)]


def prune_tree_with_bound(tree, X, y, score, *, weight=None, costs=None, labels=None):
    """The steps taken: (node, replaced by, leaves, errors, score), the tree as it was first."""
    weight = np.ones(len(y)) if weight is None else weight
    costs = 1.0 - np.eye(tree.n_classes) if costs is None else costs

    def judged(candidate):
        every = np.arange(len(y))
        errors = errors_of(candidate, every, X, y, weight, costs, tree.columns, labels)
        shape = shape_of(candidate)
        return shape.leaves, errors, score(shape, errors)

    current = as_nodes(tree)
    steps = [(None, None, *judged(current))]
    bound = steps[0][-1]
    while current.test is not None:
        accepted = None
        for node in inner_nodes(current):
            for by, new in (("left", node.left), ("right", node.right), ("leaf", Node(node.name))):
                candidate = with_replaced(current, node.name, new)
                leaves, errors, value = judged(candidate)
                if value <= bound:
                    bound = value
                    accepted = candidate, (node.name, by, leaves, errors, value)
        if accepted is None:
            break
        current, step = accepted
        steps.append(step)
    return steps
