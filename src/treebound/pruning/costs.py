"""Misclassification costs, from a matrix or from class weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats
from treebound._utils.validation import invalid
from treebound.data.weights import heaviest, scaled_to_effective
from treebound.tree.model import Tree
from treebound.tree.smoothing import probabilities


@dataclass(frozen=True)
class Costs:
    """The cost of each error, scaled so that the worst predictions cost the effective examples.

    With equal costs and no class weights, the cost of a tree is its number of errors.
    """

    matrix: Floats  # of a row of sample weight one; true class, predicted class
    m: float  # the effective number of examples
    chosen: bool  # True if the user chose costs, which then determine the labels
    # a row of each class: costs over the sum of these are error rates, or means of the chosen costs
    unit: Floats

    @classmethod
    def of(cls, tree: Tree, costs: Any) -> Costs:
        """Costs for a tree, from a matrix, class weights in order, a mapping by class, or None."""
        factors = np.ones(tree.n_classes) if tree.factors is None else tree.factors
        if costs is None:
            matrix = (1.0 - np.eye(tree.n_classes)) * factors[:, None]
            return cls(matrix, float(tree.mass[0]), chosen=False, unit=factors)
        matrix = cost_matrix(tree.classes, costs) * factors[:, None]
        worst = matrix.max(axis=1)
        top = float(worst.max())
        if top == 0.0:  # one class
            return cls(matrix, float(tree.mass[0]), chosen=True, unit=factors)
        scaled = scaled_to_effective(worst / top, tree.counts[0])
        scale = float(scaled.max()) / top
        mass = float(tree.counts[0] @ scaled)
        return cls(matrix * scale, mass, chosen=True, unit=factors * scale)

    def labels(self, counts: Floats) -> NDArray[np.int32]:
        """The class of least cost of each node, the first on ties."""
        cost = counts @ self.matrix
        return heaviest(cost.sum(axis=1, keepdims=True) - cost)

    def relabelled(self, tree: Tree) -> Tree:
        """The tree with the labels of least cost, if there are costs."""
        return replace(tree, label=self.labels(tree.counts)) if self.chosen else tree

    def losses(self, tree: Tree) -> Floats:
        """The cost of each node as a leaf with its label."""
        if not self.chosen:
            return tree.node_losses
        return self.of_counts(tree.counts, tree.label)

    def of_counts(self, counts: Floats, label: NDArray[np.int32]) -> Floats:
        """The cost of rows of each class, a line of the table for each label."""
        cost: Floats = (counts @ self.matrix)[np.arange(len(label)), label]
        return cost

    def by_class(self, tree: Tree) -> Floats:
        """The cost of a row of each class at each node: shape (n_nodes, n_classes)."""
        return np.ascontiguousarray(self.matrix.T[tree.label])

    @property
    def worst(self) -> Floats:
        """The largest cost of a row of each class."""
        return np.asarray(self.matrix.max(axis=1))


def probable_labels(tree: Tree, strength: float, costs: Costs | None) -> NDArray[np.int32]:
    """The class of each node by its probabilities after free shrinkage: most probable, or cheapest.

    A monotone tree has the labels of its counts.
    """
    chosen = costs if costs is not None and costs.chosen else None
    if tree.monotone is not None:
        return tree.by_majority().label if chosen is None else chosen.labels(tree.counts)
    shares = probabilities(tree, strength, free=True)
    if chosen is None:
        return np.asarray(shares.argmax(axis=1), dtype=np.int32)
    return chosen.labels(shares if tree.factors is None else shares / tree.factors)


def cost_matrix(classes: NDArray[Any], costs: Any) -> Floats:
    """The checked cost of each true class (row) for each predicted class (column)."""
    n, labels, given = len(classes), classes.tolist(), costs
    if isinstance(costs, Mapping):
        unknown = [label for label in costs if label not in labels]
        if unknown:
            must = f"a mapping with the classes {labels!r} for keys"
            raise invalid("costs", "", must, unknown[0])
        costs = [costs.get(label, 1.0) for label in labels]
    try:
        matrix = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):  # not numbers, or rows of several lengths
        matrix = np.full((n, n), np.nan)
    fits = matrix.shape in ((n,), (n, n))
    if not (fits and np.isfinite(matrix).all() and (matrix >= 0).all()):
        shape = "" if fits else f" of shape ({n}, {n}) or ({n},)"
        must = f"an array{shape} of finite numbers >= 0: a matrix with a row for the true class, or"
        raise invalid("costs", "", f"{must} a weight for each class", given)
    if matrix.ndim == 1:
        matrix = matrix[:, None] * (1.0 - np.eye(n))
    if matrix.diagonal().any():
        must = "zeros on the diagonal: correct predictions cost nothing"
        raise invalid("costs", "", f"a matrix with {must}", given)
    if n > 1 and not matrix.any():
        raise invalid("costs", "", "costs of which one is positive", given)
    return matrix
