"""Abstention: predict only in leaves with a small bound on the risk (a reject option).

From calibration rows: the leaves are ranked by the rows that grew the tree. Let ``n_j`` and ``e_j``
be the calibration rows and errors in the first j of L leaves. With probability ``1 - delta``, for
all j at once, the risk there is at most ``U(n_j, e_j, delta / L)``: given tree and ranking, each j
is a binomial problem of its own. So the largest risk may be chosen after looking, any number of
times.

From a prior: to abstain is one more label of a leaf. For a fixed tree, given the rows of B that it
predicts, its errors among them are binomial, so that ``U(n_predicted, errors, delta pi(h))`` bounds
the risk of a predicted case for all trees at once, and for every largest risk.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.validation import Number, check
from treebound.bounds.risk import risk_upper
from treebound.certificate.certificate import DELTA, ROW_OF_GROUP, bound_percent
from treebound.certificate.monitor import Monitor, error_monitor
from treebound.certificate.prior import CertifiedTree, PriorProof, log_labels, prior_bound
from treebound.tree._structure import add_up
from treebound.tree.base import rows_at_rest
from treebound.tree.model import Tree

# Share of the label probability that abstaining has in the prior.
ABSTAIN = 0.2
CONSTRAINTS = {**DELTA, "max_risk": Number(0.0, 1.0, open=True)}


@dataclass(frozen=True, eq=False)
class Abstention:
    """A tree that predicts in some leaves only, and the bound on its risk there.

    Attributes
    ----------
    tree : Tree
        The tree.
    predicts : ndarray of bool, shape (n_nodes,)
        True where a row that ends at a node gets a prediction.
    max_risk : float
        The requested bound: at most this share of the predicted new cases is misclassified.
    risk : float
        The bound that holds, at most ``max_risk``. If no leaf predicts, the smallest of any set
        of leaves that could.
    delta : float
        Probability that the bound is wrong.
    errors, predicted, m : int
        Errors among the predicted rows, predicted rows, and all rows that were counted.
    label : object
        The prediction where the tree abstains.
    grouped, note
        See :class:`~treebound.certificate.Certificate`.
    """

    tree: Tree
    predicts: NDArray[np.bool_]
    max_risk: float
    risk: float
    delta: float
    errors: int
    predicted: int
    m: int
    label: Any = None
    grouped: bool = False
    note: str = ""

    @property
    def coverage(self) -> float:
        """Share of the counted rows that get a prediction."""
        return self.predicted / self.m if self.m else 0.0

    def __str__(self) -> str:
        requested, sure = f"{100 * self.max_risk:.6g} %", f"{100 * (1 - self.delta):.6g} %"
        if not self.predicts.any():
            sentence = (
                f"No leaf has a bound of at most {requested} with {self.m:,} rows: the tree always "
                f"abstains. The smallest bound of any set of leaves is {bound_percent(self.risk)}."
            )
        else:
            sentence = (
                f"With probability {sure}, at most {bound_percent(self.risk)} of the predicted "
                f"new cases{ROW_OF_GROUP if self.grouped else ''} are misclassified. "
                f"{100 * self.coverage:.1f} % of {self.m:,} rows get a prediction, "
                f"{self.errors:,} of them a wrong one; the tree abstains on the rest."
            )
        return f"{sentence} {self.note}" if self.note else sentence

    def monitor(self, alpha: float = 0.01) -> Monitor:
        """Watch after deployment whether the risk of predicted cases stays below its bound.

        Parameters
        ----------
        alpha : float
            Probability that there is ever a false alarm, if the bound holds.

        Returns
        -------
        Monitor
            It ignores rows whose prediction is the label of abstention.
        """
        return error_monitor(self.max_risk, alpha=alpha, abstains=self.label)

    def shown_tree(self, *, stops: bool) -> Tree:
        """Return the tree with the label of abstention as one more class.

        Subtrees that abstain are one leaf. ``stops``: rows may end at inner nodes, which then
        abstain.
        """
        tree = self.tree
        # text may be longer than the classes
        dtype = None if tree.classes.dtype.kind == "U" else tree.classes.dtype
        classes = np.concatenate([tree.classes, np.array([self.label], dtype=dtype)])
        order = np.argsort(classes)
        code = np.argsort(order)  # where each class, and last the new one, has gone
        counts = np.zeros((tree.n_nodes, len(classes)))
        rest = np.maximum(rows_at_rest(tree, tree.counts), 0.0)  # sums of weights are rounded
        counts[:, code[:-1]] = np.where(self.predicts[:, None], rest, 0.0)
        counts[:, code[-1]] = np.where(self.predicts, 0.0, rest.sum(axis=1))
        predicting = (self.predicts & tree.is_leaf).astype(np.int64)[:, None]
        for values in (counts, predicting):
            add_up(tree.left, tree.right, values)
        abstains = predicting[:, 0] == 0
        factors = None
        if tree.factors is not None:
            factors = np.ones(len(classes))
            factors[code[:-1]] = tree.factors
        predicts = ~abstains & (self.predicts if stops else True)
        whole = replace(
            tree,
            classes=classes[order],
            counts=counts,
            label=np.where(predicts, code[tree.label], code[-1]),
            names=None,
            factors=factors,
            monotone=None,  # the label of abstention has no place in the order of the classes
        )
        return whole.collapsed(np.flatnonzero(abstains & ~tree.is_leaf))


def abstain_by_rows(
    tree: Tree, counts: NDArray[Any], m: int, max_risk: float, delta: float = 0.05, shares: int = 1
) -> Abstention:
    """Return the largest set of leaves, in their order, whose bound from m rows is small enough.

    ``counts`` are those of the rows, of each class at each node; with ``handle_unknown="stop"``
    some reach no leaf. The tree is one of ``shares`` that share delta.
    """
    check("abstain", {"max_risk": max_risk, "delta": delta}, CONSTRAINTS)
    order = _ranked(tree)
    rows = counts[order].sum(axis=1)
    predicted, wrong = rows.cumsum(), (rows - counts[order, tree.label[order]]).cumsum()
    level = log(delta) - log(shares) - log(len(order))
    bounds = np.array(
        [
            risk_upper(int(n), int(k), level) if n else 1.0
            for n, k in zip(predicted, wrong, strict=True)
        ]
    )
    return _of_prefix(tree, order, bounds, predicted, wrong, max_risk, delta, m)


def _ranked(tree: Tree) -> NDArray[np.intp]:
    """Return the leaves by their smoothed error on the rows that grew the tree, least first."""
    leaves = tree.leaves
    risk = (tree.node_errors[leaves] + 1.0) / (tree.weight[leaves] + tree.n_classes)
    return leaves[np.lexsort((leaves, -tree.weight[leaves], risk))]


def abstain_by_prior(
    trees: Iterable[CertifiedTree], max_risk: float, delta: float = 0.05
) -> Abstention:
    """Return the tree of one prior, and its leaves, that predict most rows B at such a risk."""
    check("abstain", {"max_risk": max_risk, "delta": delta}, CONSTRAINTS)
    candidates = [_by_prior(certified, max_risk, delta) for certified in trees]
    return max(candidates, key=lambda choice: (choice.predicted, -choice.risk))


def _by_prior(certified: CertifiedTree, max_risk: float, delta: float) -> Abstention:
    """Return the longest prefix of the ranked leaves whose bound is small enough."""
    tree, proof = certified.tree, certified.proof
    order = _ranked(tree)
    rows = proof.counts_b[order].sum(axis=1)
    wrong = (rows - proof.counts_b[order, tree.label[order]]).cumsum()
    labels = log_labels(proof.counts_a[order])[np.arange(len(order)), tree.label[order]]
    # the price of the labels is replaced: 1 - ABSTAIN for the classes, ABSTAIN for abstaining
    price = proof.log_prior - float(labels.sum()) + (labels + log(1.0 - ABSTAIN)).cumsum()
    price += log(ABSTAIN) * (len(order) - 1 - np.arange(len(order)))
    price += _merged(tree, proof, order)
    levels, predicted = log(delta) + price, rows.cumsum()
    bounds = np.array(
        [
            prior_bound(int(n), int(k), level)
            for n, k, level in zip(predicted, wrong, levels, strict=True)
        ]
    )
    return _of_prefix(tree, order, bounds, predicted, wrong, max_risk, delta, proof.m)


def _merged(tree: Tree, proof: PriorProof, order: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return what is saved if subtrees that abstain are one leaf, after each leaf that predicts."""
    saved = np.zeros(len(order))
    if proof.log_splits is None or proof.log_stops is None:
        return saved
    gain, below = np.zeros(tree.n_nodes), proof.log_stops + log(ABSTAIN)
    for node in np.flatnonzero(~tree.is_leaf)[::-1].tolist():
        whole = proof.log_splits[node] + below[tree.left[node]] + below[tree.right[node]]
        gain[node], below[node] = below[node] - whole, whole
    abstains, total = np.ones(tree.n_nodes, dtype=bool), float(gain[0])
    for j, leaf in enumerate(order.tolist()):
        node = 0
        while node != leaf:  # from the root: a node that abstains is the largest such subtree
            left, right = int(tree.left[node]), int(tree.right[node])
            if abstains[node]:
                abstains[node] = False
                total += gain[left] + gain[right] - gain[node]
            node = left if leaf < right else right
        saved[j] = total
    return saved


def _of_prefix(
    tree: Tree,
    order: NDArray[np.intp],
    bounds: NDArray[np.float64],
    predicted: NDArray[Any],
    wrong: NDArray[Any],
    max_risk: float,
    delta: float,
    m: int,
) -> Abstention:
    """Return the tree that predicts in the most first leaves of an order with a small bound.

    ``bounds``, ``predicted`` and ``wrong`` are of the leaves up to each of them.
    """
    small = np.flatnonzero(bounds <= max_risk)
    predicts, counts = np.zeros(tree.n_nodes, dtype=bool), (0, 0)
    risk = float(bounds.min())
    if len(small):
        last = int(small[-1])
        predicts[order[: last + 1]] = True
        counts, risk = (int(wrong[last]), int(predicted[last])), float(bounds[last])
    return Abstention(tree, predicts, float(max_risk), risk, float(delta), *counts, m)
