"""The paper's Algorithm PruneTreeWithBound: apply the best replacement while the score improves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from math import exp, log, log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.bounds import log_growth
from treebound.data import Sample
from treebound.pruning._dp import fast_growth
from treebound.pruning.base import PruningResult
from treebound.pruning.costs import Costs
from treebound.pruning.path import ListedPath
from treebound.pruning.raising import BY, Raiser, Replacement, raised
from treebound.pruning.scores import Objective
from treebound.shapes import TreeShape
from treebound.tree.model import Tree, topmost

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
    scorer = BoundScorer(state, objective, tree.depth)
    return search(tree, state, scorer.now(), scorer.after)


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

    def __init__(self, state: Raiser, objective: Objective, depth: int) -> None:
        self._state = state
        self._objective = objective
        sizes = np.arange(1, state.leaves + 1)
        self._by_leaves = objective.log_growth_leaves(sizes)
        # With fewer examples than leaves the forms are capped; shapes are then evaluated singly.
        small = state.leaves <= objective.sample
        self._form = objective.growth if small or objective.growth == "leaves" else "each"
        if self._form == "fast":
            self._prices = fast_prices(objective, depth)
        self._known: dict[TreeShape, float] = {}

    def now(self) -> float:
        """The score of the current tree."""
        state = self._state
        if self._form == "leaves":
            growth = float(self._by_leaves[state.leaves - 1])
        else:
            growth = self._of(_shapes(state)[state.root])
        return self._objective.of_tree(state.leaves, state.errors, growth)

    def after(self, nodes: Ints, leaves: Ints, errors: Floats) -> Floats:
        """The scores of the tree after each replacement."""
        return self._objective(leaves, errors, self._growth(nodes, leaves))

    def _growth(self, nodes: Ints, leaves: Ints) -> Floats:
        if self._form == "leaves":
            return self._by_leaves[leaves - 1]
        if self._form == "fast":
            links, log_classes = self._state.links, log(self._objective.n_classes)
            growth = fast_growth(
                links.left, links.right, self._state.root, nodes, self._prices, log_classes
            )
            return self._cut_off(growth, nodes, leaves)
        every = range(len(leaves))
        return np.array([self._of(shape) for shape in _candidate_shapes(self._state, nodes, every)])

    def _cut_off(self, growth: Floats, nodes: Ints, leaves: Ints) -> Floats:
        """The fast form if the tree is large enough to label the few examples in every way.

        Its partitions are counted for each number of parts c and capped at ``S(m, c)``, which is
        at least ``c^(m-c)``; values below that are exact. With two classes only ``S(m, 2)``
        applies, and if it caps a subtree it caps the whole tree.
        """
        if self._objective.n_classes == 2:
            return np.minimum(growth, self._objective.sample * log(2.0))
        many = np.flatnonzero(growth > uncut(self._objective, leaves))
        if len(many):
            shapes = _candidate_shapes(self._state, nodes, many.tolist())
            growth[many] = [self._of(shape) for shape in shapes]
        return growth

    def _of(self, shape: TreeShape) -> float:
        if shape not in self._known:
            self._known[shape] = self._objective.log_growth_shape(shape)
        return self._known[shape]


# -- the fast form of many shapes at once ---------------------------------------------------------


def fast_prices(objective: Objective, height: int) -> Floats:
    """Log of the factor of a node at depth 0 to ``height``, from the growth of a stump.

    In the fast form a node makes ``G = n + 2^-[equal children] W (G_l G_r - n)`` of its children,
    W depends on its depth alone, and a stump has ``2 + W`` for two classes.
    """
    stump = TreeShape.node(TreeShape.leaf(), TreeShape.leaf())
    prices = np.full(height + 1, -np.inf)
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


# -- single shapes, for the forms without a shortcut ---------------------------------------------


def _shapes(state: Raiser) -> dict[int, TreeShape]:
    """The shape of the subtree at each node that is left."""
    left, right = state.links.left.tolist(), state.links.right.tolist()
    shapes: dict[int, TreeShape] = {}
    for node in np.flatnonzero(state.links.present)[::-1].tolist():
        inner = left[node] >= 0
        shapes[node] = (
            TreeShape.node(shapes[left[node]], shapes[right[node]]) if inner else TreeShape.leaf()
        )
    return shapes


def _candidate_shapes(state: Raiser, nodes: Ints, which: Iterable[int]) -> list[TreeShape]:
    """The shape of the whole tree after some of the replacements, three per node."""
    shapes = _shapes(state)
    left, right = state.links.left.tolist(), state.links.right.tolist()
    candidates = []
    for candidate in which:
        at = int(nodes[candidate // 3])
        shape = (shapes[left[at]], shapes[right[at]], TreeShape.leaf())[candidate % 3]
        while at != state.root:
            above = state.links.parent(at)
            beside = right[above] if left[above] == at else left[above]
            shape = TreeShape.node(shape, shapes[beside])
            at = above
        candidates.append(shape)
    return candidates
