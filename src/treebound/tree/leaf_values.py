"""Shrunk leaf values of regression trees: means that are pulled towards the parent's value.

A split into l and r rows with means a and b, and squared deviations R_l and R_r, has
``e = l r / (l + r)`` examples that distinguish the children and the F statistic
``F = e (a - b)^2 / ((R_l + R_r) / (l + r - 2))``. A child moves away from the shrunk value of its
parent by a share of the difference of the plain means: ``e / (e + c)`` if the strength c is in rows
(hierarchical shrinkage, Agarwal et al. 2022), or ``F / (F + c)``, which does not shrink splits
without noise. The value of a node does not depend on pruning below it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from treebound._utils.arrays import Floats
from treebound._utils.validation import Number, invalid
from treebound.tree._structure import add_down
from treebound.tree.regression import RegressionTree

_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class Shrinkage:
    """How strongly leaf values are pulled towards the value of the parent.

    Attributes
    ----------
    kind : {"rows", "F"}
        The strength is in rows, or in units of the F statistic of the split.
    strength : float
        The larger, the nearer to the parent; 0 for plain means.
    """

    kind: Literal["rows", "F"] = "rows"
    strength: float = 0.0

    @classmethod
    def of(cls, smoothing: Any, owner: str = "") -> Shrinkage:
        """Read the parameter ``smoothing``: None, a strength in rows, or ``("F", strength)``."""
        if smoothing is None:
            return cls()
        kind: Any = "rows"
        strength = smoothing
        if isinstance(smoothing, list | tuple) and len(smoothing) == 2:
            kind, strength = smoothing
        if kind not in ("rows", "F") or not Number(0.0, open=True).allows(strength):
            must = "'auto', None, a number of rows > 0 or a pair such as ('F', 4.0)"
            raise invalid("smoothing", owner, must, smoothing)
        return cls(kind, float(strength))

    def __str__(self) -> str:
        if self.strength == 0.0:
            return "none"
        return f"F {self.strength:g}" if self.kind == "F" else f"{self.strength:g} rows"


# The strengths that folds choose from, and the one without folds.
SHRINKAGES = (
    Shrinkage(), Shrinkage("rows", 1.0), Shrinkage("rows", 2.0),
    Shrinkage("F", 2.0), Shrinkage("F", 4.0), Shrinkage("F", 8.0),
)  # fmt: skip
DEFAULT_SHRINKAGE = Shrinkage("F", 4.0)


def shrunk_values(tree: RegressionTree, shrinkage: Shrinkage) -> Floats:
    """Return the shrunk value of each node, in the order that a monotone tree needs.

    Parameters
    ----------
    tree : RegressionTree
        A tree with the moments of its nodes.
    shrinkage : Shrinkage
        How strongly values are shrunk.

    Returns
    -------
    ndarray of shape (n_nodes,)

    Examples
    --------
    >>> from treebound.data import Sample
    >>> from treebound.data.numeric_target import NumericTarget
    >>> from treebound.growing import grow_numbers
    >>> from treebound.tree.leaf_values import Shrinkage, shrunk_values
    >>> X = Sample.learn([[1.0], [2.0], [3.0], [4.0]], [0, 0, 0, 0]).X
    >>> stump = grow_numbers(X, NumericTarget.of([0.0, 1.0, 4.0, 5.0])).collapsed([1, 4])
    >>> shrunk_values(stump, Shrinkage("rows", 1.0)).tolist()
    [2.5, 1.5, 3.5]
    """
    if shrinkage.strength == 0.0:
        return tree.in_order(tree.mean)
    inner = np.flatnonzero(~tree.is_leaf)
    left, right = tree.left[inner], tree.right[inner]
    if shrinkage.kind == "rows":
        both = np.maximum(tree.weight[left] + tree.weight[right], _TINY)
        evidence = tree.weight[left] * tree.weight[right] / both
    else:
        evidence = f_statistics(tree)[inner]
    share = np.ones(len(inner))
    finite = np.isfinite(evidence)
    share[finite] = evidence[finite] / (evidence[finite] + shrinkage.strength)
    steps = np.zeros((tree.n_nodes, 1))
    for children in (left, right):
        steps[children, 0] = share * (tree.mean[children] - tree.mean[inner])
    steps[0] = tree.mean[0]
    add_down(tree.left, tree.right, steps)
    return tree.in_order(steps[:, 0])


def f_statistics(tree: RegressionTree) -> Floats:
    """Return the F statistic of the split of each node; infinite without noise, 0 at leaves."""
    values, inner = np.zeros(tree.n_nodes), np.flatnonzero(~tree.is_leaf)
    left, right = tree.left[inner], tree.right[inner]
    noise = tree.squares[left] + tree.squares[right]
    freedom = np.maximum(tree.weight[inner] - 2.0, 0.0)
    clean = (noise <= 0.0) | (freedom <= 0.0)
    values[inner] = np.where(
        clean, np.inf, tree.gains[inner] * freedom / np.where(clean, 1.0, noise)
    )
    return values


def with_shrunk_values(tree: RegressionTree, shrinkage: Shrinkage) -> RegressionTree:
    """Return the tree with shrunk predictions of all its nodes."""
    return tree.with_values(shrunk_values(tree, shrinkage))
