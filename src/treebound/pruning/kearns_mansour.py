"""Kearns-Mansour pruning: one bottom-up pass with a penalty from the growth function."""

from __future__ import annotations

from itertools import pairwise
from math import inf, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.arrays import Floats
from treebound._utils.validation import Folds, Number, OneOf, Whole, parameter, with_parameters
from treebound.bounds import log_growth
from treebound.data import Sample, landscape_of
from treebound.data.draws import Splitter
from treebound.pruning.base import BasePruner, PruningResult, PruningRows
from treebound.pruning.path import ListedPath
from treebound.pruning.validation import PrunedSums, cross_validated, errors_on
from treebound.shapes import TreeShape
from treebound.tree.base import topmost
from treebound.tree.model import Tree

_NOTHING = np.empty(0, dtype=np.intp)
_CONSTANTS = [10.0**power for power in range(-20, 1)]


@with_parameters
class KearnsMansourPruner(BasePruner):
    """Bottom-up pruning of Kearns and Mansour (1998), with the growth functions of the paper.

    In one bottom-up pass, a node with n examples becomes a leaf unless its subtree, as pruned so
    far, has an error rate that is smaller by more than
    ``C sqrt((ln tau_path(n) + ln tau_subtree(n) + ln(m / delta)) / n)`` (erratum 14).
    The path class is the decision lists as long as the path from the root to the node, the
    subtree class the trees of the subtree's shape.

    Parameters
    ----------
    constant : float or None
        The factor C. None chooses among ``10^-20, 10^-19, ..., 1`` by cross-validation, for which
        ``prune`` needs ``sample`` and ``grow``; ties go to the largest.
    growth : {"closed", "fast"}
        Form of the growth functions; ``"fast"`` is the paper's choice.
    delta : float
        Confidence parameter.
    folds, random_state
        See :class:`CostComplexityPruner`.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_wine
    >>> pruner = KearnsMansourPruner(constant=0.05)
    >>> clf = tb.BoundTreeClassifier(pruning=pruner).fit(*load_wine(return_X_y=True))
    >>> clf.grown_tree_.n_leaves, clf.n_leaves_
    (8, 5)
    """

    constant: float | None = parameter(Number(-inf, optional=True), default=None)
    growth: str = parameter(OneOf(("closed", "fast")), default="closed")
    delta: float = parameter(Number(0.0, 1.0, open=True), default=0.05)
    folds: int | Splitter = parameter(Folds(), default=5)
    random_state: int | None = parameter(Whole(0, optional=True), default=0)

    @property
    def needs_rows(self) -> bool:
        return self.constant is None

    def _search(self, tree: Tree, rows: PruningRows) -> PruningResult:
        if self.constant is not None:
            return self._with(tree, [float(self.constant)], None)
        if tree.n_leaves == 1:
            return self._with(tree, _CONSTANTS[:1], None)
        sample, grow = self._to_validate(rows)

        def errors(grown: Tree, inside: Sample) -> list[float]:
            wrong = PrunedSums(grown, *errors_on(grown, inside))
            cuts = map(_Pass(grown, self.growth, self.delta), _CONSTANTS)
            return [float(wrong(cut)[0]) for cut in [_NOTHING, *cuts]]

        n = len(_CONSTANTS) + 1  # the first is the unpruned tree
        shares, _ = cross_validated(sample, self.folds, self.random_state, grow, n, errors)
        return self._with(tree, _CONSTANTS, shares)

    def _with(self, tree: Tree, constants: list[float], shares: Floats | None) -> PruningResult:
        """The path over the constants, with the best one chosen; equal prunings are one step."""
        every = [_NOTHING, *map(_Pass(tree, self.growth, self.delta), constants)]
        wrong = PrunedSums(tree, tree.node_losses, np.zeros(tree.n_nodes))
        errors = np.array([float(wrong(cut)[0]) for cut in every])
        if shares is None:
            shares = errors / max(float(tree.mass[0]), np.finfo(float).tiny)
            best = len(every) - 1
        else:  # the largest constant on ties
            best = int(np.flatnonzero(shares[1:] == shares[1:].min())[-1]) + 1
        changes = [not np.array_equal(cut, after) for cut, after in pairwise(every)]
        first = np.flatnonzero([True, *changes])
        scores, chosen = np.minimum.reduceat(shares, first), sum(changes[:best])
        path = ListedPath(tree, [every[at] for at in first], errors[first], scores, chosen=chosen)
        return PruningResult(path.tree(), path, scores[chosen])


class _Pass:
    """The bottom-up pass for several constants, with cached growth functions."""

    def __init__(self, tree: Tree, growth: str, delta: float) -> None:
        self.tree = tree
        self.form = growth
        self.landscape = landscape_of(tree.columns, observed=True)
        self.examples = np.maximum(np.rint(tree.mass), 1).astype(int).tolist()
        self.log_share = log(max(float(tree.mass[0]), 1.0) / delta)
        self.inner = np.flatnonzero(~tree.is_leaf)[::-1].tolist()
        self.depth = tree.node_depth.tolist()
        self._lists: list[TreeShape] = [TreeShape.leaf()]
        self._growths: dict[Any, float] = {}
        self._paths = {node: self._path_growth(node) for node in self.inner}

    def __call__(self, constant: float) -> NDArray[np.intp]:
        """The topmost nodes that become leaves."""
        tree = self.tree
        left, right = tree.left.tolist(), tree.right.tolist()
        as_leaf = tree.node_losses.tolist()
        errors = list(as_leaf)
        shapes = [TreeShape.leaf()] * tree.n_nodes
        cut = np.zeros(tree.n_nodes, dtype=bool)
        for node in self.inner:
            below = errors[left[node]] + errors[right[node]]
            shape = TreeShape.node(shapes[left[node]], shapes[right[node]])
            examples = self.examples[node]
            growth = self._paths[node] + self._growth(shape, examples, tree.n_classes)
            penalty = constant * sqrt((growth + self.log_share) / examples)
            if as_leaf[node] <= below + penalty * examples:
                cut[node] = True
            else:
                errors[node], shapes[node] = below, shape
        return topmost(tree, np.flatnonzero(cut))

    def _path_growth(self, node: int) -> float:
        """Log growth of the decision lists that lead to a node: two classes, in or out."""
        while len(self._lists) <= self.depth[node]:
            self._lists.append(TreeShape.node(self._lists[-1], TreeShape.leaf()))
        return self._growth(self._lists[self.depth[node]], self.examples[node], 2)

    def _growth(self, shape: TreeShape, examples: int, n_classes: int) -> float:
        key = (shape, examples, n_classes)
        if key not in self._growths:
            self._growths[key] = log_growth(
                shape, examples, n_classes, self.landscape, form=self.form
            )
        return self._growths[key]
