"""Misclassification costs, from a matrix or from class weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.tree.model import Tree

__all__ = ["Costs"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Costs:
    """A cost matrix, scaled so that the worst possible predictions cost m in total.

    With equal costs the scaled cost of a tree is its number of errors.

    Attributes
    ----------
    matrix : ndarray of shape (n_classes, n_classes)
        Row: true class, column: predicted class.
    """

    matrix: Floats

    @classmethod
    def of(cls, tree: Tree, costs: Any) -> Costs | None:
        """Costs for a tree, from a matrix, class weights in order, or a mapping by class."""
        if costs is None:
            return None
        matrix = _matrix(tree, costs)
        if not (np.isfinite(matrix).all() and (matrix >= 0).all()):
            raise _bad(costs)
        if matrix.diagonal().any():
            raise ValueError(
                "The 'costs' parameter must have zeros on the diagonal: correct predictions cost "
                f"nothing. Got {costs!r} instead."
            )
        if tree.n_classes > 1 and not matrix.any():
            raise ValueError(
                f"The 'costs' parameter must have a positive cost. Got {costs!r} instead."
            )
        worst = float(tree.counts[0] @ matrix.max(axis=1))
        return cls(matrix * (float(tree.weight[0]) / worst) if worst > 0.0 else matrix)

    def labels(self, counts: Floats) -> NDArray[np.int32]:
        """The class of least cost of each node, the first on ties."""
        return np.asarray((counts @ self.matrix).argmin(axis=1), dtype=np.int32)

    def errors(self, counts: Floats) -> Floats:
        """The scaled cost of each node as a leaf."""
        least: Floats = (counts @ self.matrix).min(axis=1)
        return least


def _matrix(tree: Tree, costs: Any) -> Floats:
    n = tree.n_classes
    if isinstance(costs, Mapping):
        unknown = [label for label in costs if label not in tree.classes.tolist()]
        if unknown:
            raise ValueError(
                f"The 'costs' parameter must have the classes {tree.classes.tolist()!r} for keys. "
                f"Got {unknown[0]!r} instead."
            )
        costs = [costs.get(label, 1.0) for label in tree.classes.tolist()]
    given = np.asarray(costs, dtype=np.float64)
    if given.shape == (n,):
        return given[:, None] * (1.0 - np.eye(n))
    if given.shape == (n, n):
        return given
    raise _bad(costs, f" of shape ({n}, {n}) or ({n},)")


def _bad(costs: Any, shape: str = "") -> ValueError:
    return ValueError(
        f"The 'costs' parameter must be an array{shape} of finite numbers >= 0: a matrix with a "
        f"row for the true class, or a weight for each class. Got {costs!r} instead."
    )
