"""The paper's Algorithm PruneTreeWithBound: apply the best replacement while the score improves."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import exp, inf, log, log1p
from typing import Any, TypeVar

import numpy as np

from treebound._utils.arrays import Floats, Ints
from treebound.bounds import log_growth
from treebound.data import Sample
from treebound.pruning.base import PruningResult
from treebound.pruning.costs import Costs
from treebound.pruning.path import ListedPath
from treebound.pruning.raising import BY, Raiser, Replacement, raised
from treebound.pruning.scores import Objective
from treebound.shapes import TreeShape
from treebound.tree.base import topmost
from treebound.tree.model import Tree

Subtree = TypeVar("Subtree")


def greedy(
    tree: Tree,
    sample: Sample,
    objective: Objective,
    *,
    costs: Costs | None = None,
    relabel: bool = True,
) -> PruningResult:
    """Apply the replacement with the lowest score until all replacements raise the score.

    Each inner node, in pre-order, may be replaced by its left child, its right child or a leaf;
    the last of equal candidates wins. The errors of a raised child are recounted on all rows of
    the node it replaces, and so are the labels below it unless ``relabel`` is false.
    """
    state = Raiser(tree, sample, costs=costs, relabel=relabel)
    scorer = BoundScorer(tree, state, objective)
    return search(tree, state, scorer.now(), scorer.after, unit=objective.unit)


def greedy_on(
    tree: Tree, validation: Sample, *, sample: Sample | None = None, unit: str = "errors"
) -> PruningResult:
    """The same search by errors on validation rows, the paper's reduced-error pruning.

    Labels are kept unless there is a sample to recount them on.
    """
    state = Raiser(tree, sample, validation=validation)
    counted = sample is not None
    return search(tree, state, state.errors, lambda *after: after[2], unit=unit, counted=counted)


def search(
    tree: Tree,
    state: Raiser,
    best: float,
    after: Callable[[Ints, Ints, Floats], Floats],
    *,
    unit: str = "errors",
    counted: bool = True,
) -> PruningResult:
    """Apply the best candidate while the score does not rise.

    ``after(nodes, leaves, errors)`` are the scores after each replacement.
    """
    steps: list[Replacement] = []
    table = [(state.leaves, state.errors, best)]
    node_errors = state.as_leaf.copy()
    while state.leaves > 1:
        nodes = state.inner()
        scores = after(nodes, *state.candidates(nodes))
        last = len(scores) - 1 - int(np.argmin(scores[::-1]))
        if scores[last] > best:  # erratum 12: the paper's own test is never false
            break
        best = float(scores[last])
        steps.append(state.replace(int(nodes[last // 3]), last % 3))
        table.append((state.leaves, state.errors, best))
    leaves, errors, scores = map(np.array, zip(*table, strict=True))
    path = ListedPath(
        tree, _listed(tree, steps, counted), errors, scores, leaves, chosen=len(steps), unit=unit,
        node_errors=node_errors,
        replaced={at: (step.node, BY[step.by]) for at, step in enumerate(steps, start=1)},
    )  # fmt: skip
    return PruningResult(path.tree(), path, best)


def _listed(tree: Tree, steps: list[Replacement], counted: bool) -> list[Any]:
    """The nodes that are leaves at each step; once a subtree was raised, what makes the tree."""
    listed: list[Any] = [np.empty(0, dtype=np.intp)]
    for number, step in enumerate(steps, start=1):
        cuts = listed[-1]
        if isinstance(cuts, np.ndarray) and BY[step.by] == "leaf":
            listed.append(topmost(tree, np.append(cuts, step.node)))
        else:
            listed.append(partial(raised, tree, steps, number, counted=counted))
    return listed


class BoundScorer:
    """The score is an objective of leaves, errors and the growth function."""

    def __init__(self, tree: Tree, state: Raiser, objective: Objective) -> None:
        self._tree, self._state, self._objective = tree, state, objective
        self._by_leaves = objective.log_growth_leaves(np.arange(1, tree.n_leaves + 1))
        if objective.growth == "fast":
            self._fast = FastGrowth(objective, tree.depth)

    def now(self) -> float:
        """The score of the tree before all replacements."""
        tree, objective = self._tree, self._objective
        growth = float(self._by_leaves[-1])
        if objective.growth == "fast":
            growth = objective.log_growth_shape(tree.shape)
        return objective.of_tree(tree.n_leaves, self._state.errors, growth)

    def after(self, nodes: Ints, leaves: Ints, errors: Floats) -> Floats:
        """The scores of the tree after each replacement."""
        return self._objective(leaves, errors, self._growth(nodes, leaves))

    def _growth(self, nodes: Ints, leaves: Ints) -> Floats:
        """The growth function after each replacement.

        In the fast form, partitions are counted for each number of parts c and capped at
        ``S(m, c)``, which is at least ``c^(m-c)``; values below that are exact. With two classes
        only ``S(m, 2)`` applies, and if it caps a subtree it caps the whole tree.
        """
        objective = self._objective
        if objective.growth == "leaves":
            return self._by_leaves[leaves - 1]
        numbers = after_each(self._state, nodes, lambda depth: depth, self._fast.join)
        growth: Floats = np.array([self._fast.values[number] for number in numbers])
        few = len(self._by_leaves) > objective.sample  # examples
        if objective.n_classes == 2 and not few:
            growth = np.minimum(growth, objective.sample * log(2.0))
            return growth
        capped = np.flatnonzero((growth > uncut(objective, leaves)) | few).tolist()
        if capped:
            leaf = TreeShape.leaf()
            shapes = after_each(self._state, nodes, lambda depth: leaf, TreeShape.node)
            growth[capped] = [objective.log_growth_shape(shapes[at]) for at in capped]
        return growth


def after_each(
    state: Raiser, nodes: Ints, leaf: Callable[[int], Subtree], join: Callable[..., Subtree]
) -> list[Subtree]:
    """The whole tree after each replacement, three per node.

    A leaf is ``leaf(depth)``, any other node joins its children.
    """
    left, right, root = state.links.left.tolist(), state.links.right.tolist(), state.root
    depth, above = {root: 0}, {}
    for node in nodes.tolist():
        children = left[node], right[node]
        for child, beside in zip(children, reversed(children), strict=True):
            depth[child], above[child] = depth[node] + 1, (node, beside)
    in_place, raised = {}, {}  # each subtree in its place and, after raising, one level up
    for node in reversed(depth):
        if left[node] < 0:
            in_place[node], raised[node] = leaf(depth[node]), leaf(depth[node] - 1)
            continue
        in_place[node] = join(in_place[left[node]], in_place[right[node]])
        if node != root:
            raised[node] = join(raised[left[node]], raised[right[node]])
    trees = []
    for node in nodes.tolist():
        for tree in (raised[left[node]], raised[right[node]], leaf(depth[node])):
            at = node
            while at != root:
                at, beside = above[at]
                tree = join(tree, in_place[beside])
            trees.append(tree)
    return trees


class FastGrowth:
    """Log growth in the fast form without caps, of shapes at a depth.

    A node makes ``G = n + 2^-[equal children] W (G_l G_r - n)`` of its children, and W depends on
    its depth alone. A shape at a depth has a number, a leaf that of its depth.
    """

    def __init__(self, objective: Objective, height: int) -> None:
        self._log_classes = log(objective.n_classes)
        self._prices = fast_prices(objective, height)
        self._depths = list(range(height + 1))
        self.values: list[float] = [self._log_classes] * (height + 1)
        self._numbers: dict[tuple[int, int], int] = {}

    def join(self, left: int, right: int) -> int:
        """The number of the node with these children, in either order."""
        children = (left, right) if left < right else (right, left)
        number = self._numbers.get(children)
        if number is None:
            number = self._numbers[children] = len(self.values)
            self._depths.append(self._depths[left] - 1)
            self.values.append(self._value(left, right))
        return number

    def _value(self, left: int, right: int) -> float:
        both = self.values[left] + self.values[right]
        price = self._prices[self._depths[left] - 1]
        value = both + price - (log(2.0) if left == right else 0.0)
        near = self._log_classes + 40.0  # beyond it the corrections vanish
        if both < near:
            share = exp(self._log_classes - both)
            value += log1p(-share) if share < 1.0 else -inf
        if value < near:
            value = self._log_classes + log1p(exp(value - self._log_classes))
        return value


def fast_prices(objective: Objective, height: int) -> list[float]:
    """Log of the factor of a node at depth 0 to ``height``, from the growth of a stump.

    A stump has ``2 + W`` for two classes.
    """
    stump = TreeShape.node(TreeShape.leaf(), TreeShape.leaf())
    prices = [-inf] * (height + 1)
    for depth in range(min(height + 1, objective.sample - 1)):
        growth = log_growth(stump, objective.sample - depth, 2, objective.landscape, form="fast")
        if growth > log(2.0):
            prices[depth] = growth + log1p(-2.0 * exp(-growth))
    return prices


def uncut(objective: Objective, leaves: Ints) -> Floats:
    """Fast growth functions below this value are not capped.

    Partitions into c parts are capped at ``S(m, c) >= c^(m-c)`` at each node, where a node has at
    least m - L examples; and no node has a smaller growth function than its children.
    """
    from scipy.special import gammaln

    n = objective.n_classes
    most = np.minimum(n, leaves)
    ends = [
        (objective.sample - leaves - c) * np.log(c) + gammaln(n + 1) - gammaln(n - c + 1)
        for c in (np.minimum(2, most), most)
    ]
    return np.where(most < 2, np.inf, np.minimum(*ends))
