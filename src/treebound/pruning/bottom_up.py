"""Pruners of one bottom-up pass: reduced-error, pessimistic and MDL pruning; equal leaves merged.

The pruners minimise a sum of costs of leaves and inner nodes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import treebound.pruning._dp as _dp
from treebound._utils.arrays import Floats
from treebound._utils.validation import Number, OneOf, Whole, parameter, with_parameters
from treebound.bounds.risk import binomial_rates
from treebound.data import Sample
from treebound.data.draws import Stratified, as_key
from treebound.pruning.base import BasePruner, PruningResult, PruningRows
from treebound.pruning.greedy import greedy_on
from treebound.pruning.optimal import BestBySize
from treebound.pruning.path import NEVER, NestedPath, PruningPath
from treebound.pruning.validation import errors_on
from treebound.tree._structure import add_up
from treebound.tree.model import Tree
from treebound.tree.split import offered_splits


class LeastCostPath(NestedPath):
    """A path of collapses whose score is a sum over leaves and inner nodes.

    Errors are those of the training rows, or the scores where these count errors on other rows.
    """

    def __init__(
        self, tree: Tree, when: NDArray[Any], as_leaf: Floats, as_node: Floats, **options: Any
    ) -> None:
        super().__init__(tree, when, tree.node_losses, **options)
        self._costs = as_leaf, as_node
        self.scores = self.along(as_leaf) + self.along_inner(as_node)
        self.errors = self.errors if self.unit == "errors" else self.scores

    def _extended(self, leaves: int) -> PruningPath:
        """The path with one more step: the least cost with at most ``leaves`` leaves."""
        as_leaf, as_node = self._costs
        tree = self.first
        inside = np.where(tree.is_leaf, 0.0, as_node)[:, None]
        add_up(tree.left, tree.right, inside)
        # Charge for all inner nodes; a leaf gets back the cost of those below it.
        cost = as_leaf - inside[:, 0]
        lift = max(0.0, -float(cost.min()))  # the same for each leaf
        sizes = BestBySize(tree, cost + lift)
        scores = sizes.errors(leaves) - lift * np.arange(1, leaves + 1) + inside[0, 0]
        size = int(np.argmin(scores)) + 1
        score = float(scores[size - 1])
        return self._with_step(sizes.cuts(size), score, None if self.unit == "errors" else score)


def cheapest(
    tree: Tree,
    as_leaf: Floats,
    *,
    as_node: Floats | None = None,
    slack: float = 0.0,
    unit: str = "errors",
) -> PruningResult:
    """Collapse, bottom-up, each node that costs no more as a leaf than its pruned subtree.

    The steps of the path are the collapses in order. Without ``slack``, which a leaf may cost
    more, the pruning has the least cost of all; on ties, the smallest.
    """
    inside = np.zeros(tree.n_nodes) if as_node is None else as_node
    leaf_cost = np.ascontiguousarray(as_leaf, dtype=np.float64)
    cuts = _dp.minimum_additive(tree.left, tree.right, leaf_cost, inside, slack)
    nodes = np.flatnonzero(cuts)[::-1]
    when = np.full(tree.n_nodes, NEVER)
    when[nodes] = np.arange(1, len(nodes) + 1)
    path = LeastCostPath(tree, when, leaf_cost, inside, chosen=len(nodes), unit=unit)
    return PruningResult(path.tree(), path, path.scores[-1], gap=0.0 if slack == 0.0 else np.nan)


@with_parameters
class ReducedErrorPruner(BasePruner):
    """Reduced-error pruning (Quinlan 1987) on validation rows.

    Parameters
    ----------
    validation_fraction : float
        The share of the rows that the classifier holds out: the tree is grown on the others and
        pruned on these. ``prune`` itself gets the validation rows as ``validation``.
    search : {"collapse", "greedy"}
        ``"collapse"``: bottom-up, a node becomes a leaf unless its subtree makes fewer errors;
        the result is the smallest pruning with the fewest errors. ``"greedy"``: the paper's
        search, which may also replace a node by one of its children.
    random_state : int or None
        Seed of the held-out part.

    Notes
    -----
    Counts and labels of the pruned tree come from the sample, not from the validation rows. If a
    child is raised and there is no sample to recount on, labels are kept and the tree is marked as
    not counted (``tree.counted``).

    Pruning on the test part is the study's Oracle.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> sample = tb.Sample.learn(X, y)
    >>> grown = tb.growing.grow(sample.part(slice(None, None, 2)))
    >>> rest = sample.part(slice(1, None, 2))
    >>> grown.n_leaves, ReducedErrorPruner().prune(grown, validation=rest).tree.n_leaves
    (12, 3)
    """

    validation_fraction: float = parameter(Number(0.0, 1.0, open=True), default=0.15)
    search: str = parameter(OneOf(("collapse", "greedy")), default="collapse")
    random_state: int | None = parameter(Whole(0, optional=True), default=0)

    @property
    def needs_rows(self) -> bool:
        return True

    @property
    def raises_subtrees(self) -> bool:
        return self.search == "greedy"

    def takes_validation_rows(self, rows: int, columns: int) -> bool:
        return True

    def select_validation(self, key: int) -> Stratified:
        seed = key if self.random_state is None else as_key(self.random_state)
        return Stratified(seed, self.validation_fraction)

    def _search(self, tree: Tree, rows: PruningRows) -> PruningResult:
        if not isinstance(rows.validation, Sample):
            raise self._without("validation rows", "count errors on")
        if self.search == "greedy":
            return greedy_on(tree, rows.validation, sample=rows.sample, unit="validation errors")
        as_leaf, staying = errors_on(tree, rows.validation)
        return cheapest(tree, as_leaf, as_node=staying, unit="validation errors")


@with_parameters
class PessimisticPruner(BasePruner):
    """Pessimistic pruning of Quinlan's C4.5 (1993).

    The error of a leaf is the upper end of its confidence interval, as if its examples were a
    random sample; a node becomes a leaf if that raises the estimated errors by at most 0.1.
    There is no held-out data and no cross-validation.

    Parameters
    ----------
    confidence : float
        The confidence factor: the probability of at most the observed errors at the upper end.
        Smaller values prune more.

    Notes
    -----
    The upper end is the exact binomial (Clopper-Pearson) one; C4.5 itself uses a normal
    approximation for more than one error. Subtree raising, an option of C4.5, is not included.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_wine
    >>> grown = tb.BoundTreeClassifier(pruning=None).fit(*load_wine(return_X_y=True)).tree_
    >>> grown.n_leaves, PessimisticPruner(confidence=0.01).prune(grown).tree.n_leaves
    (8, 6)
    """

    confidence: float = parameter(Number(0.0, 1.0, open=True), default=0.25)

    def _search(self, tree: Tree, rows: PruningRows) -> PruningResult:
        estimated = upper_errors(tree.node_losses, tree.mass, float(self.confidence))
        return cheapest(tree, estimated, slack=0.1)


def upper_errors(errors: Floats, weight: Floats, confidence: float) -> Floats:
    """Expected errors at the upper end of the confidence interval, ``weight`` times the rate."""
    return weight * binomial_rates(weight, errors, confidence)


@with_parameters
class MDLPruner(BasePruner):
    """Minimum description length pruning of Mehta, Rissanen and Agrawal (1995).

    A leaf costs one bit plus the stochastic complexity of its labels; an inner node, one bit plus
    its split: the column, and one of the splits of that column at this node. The pruning with the
    least total cost is found exactly in one pass; its score is that cost, in bits.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_wine
    >>> grown = tb.BoundTreeClassifier(pruning=None).fit(*load_wine(return_X_y=True)).tree_
    >>> grown.n_leaves, MDLPruner().prune(grown).tree.n_leaves
    (8, 5)
    """

    def _search(self, tree: Tree, rows: PruningRows) -> PruningResult:
        as_leaf = 1.0 + label_bits(tree.masses)
        return cheapest(tree, as_leaf, as_node=1.0 + test_bits(tree))


def label_bits(counts: Floats) -> Floats:
    """Stochastic complexity of the labels of each node, in bits (Krichevsky and Trofimov)."""
    from scipy.special import gammaln, xlogy

    total, classes = counts.sum(axis=1), counts.shape[1]
    spread = xlogy(total, total) - xlogy(counts, counts).sum(axis=1)
    # The last two terms are the cost of unknown class frequencies.
    unknown = 0.5 * (classes - 1) * np.log(np.maximum(total, 1.0) / 2.0)
    constant = 0.5 * classes * np.log(np.pi) - gammaln(0.5 * classes)
    bits: Floats = (spread + np.maximum(unknown + constant, 0.0)) / np.log(2.0)
    return bits


def test_bits(tree: Tree) -> Floats:
    """Bits to describe the split of each node: its column, and one of the column's splits."""
    n_columns = sum(not column.identifier for column in tree.columns)
    bits: Floats = np.log2(max(n_columns, 1)) + np.log2(offered_splits(tree))
    return np.where(tree.is_leaf, 0.0, bits)


# -- equal leaves ----------------------------------------------------------------------------------


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
    only_label = tree.label.tolist()  # the only class of a subtree, or -1
    merged = []
    for node in range(tree.n_nodes - 1, -1, -1):
        if left[node] < 0:
            continue
        both = {only_label[left[node]], only_label[right[node]]}
        only_label[node] = both.pop() if len(both) == 1 else -1
        if only_label[node] >= 0:
            merged.append(node)
    if not merged:
        return tree
    # A merged node keeps the class of its leaves, even if its own majority is another (or a tie).
    labels = np.where(np.array(only_label) >= 0, only_label, tree.label)
    return replace(tree, label=labels).collapsed(merged)
