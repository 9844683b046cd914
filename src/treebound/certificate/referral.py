"""Referral: answer only in the leaves where the risk of an answered case can be promised.

From held-out rows: the leaves are ranked by the rows that grew the tree. The sets of the first
j leaves are tested in this order, from the first that these rows expect to pass, each at the full
delta, until one fails (fixed-sequence testing): a set with a larger risk is kept only if the first
such set passed its test, which happens with probability at most delta.

From a prior: ``refer`` is one more label of a leaf. For a fixed tree, given which rows of B it
answers, its errors among them are binomial, so that ``U(n_answered, errors, delta pi(h))`` bounds
the risk of an answered case for all trees at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._validation import Constraint, Number, check
from treebound.certificate.prior import CertifiedTree, Prior, limit
from treebound.tree.model import Tree

__all__ = ["Referral", "refer_by_prior", "refer_by_rows"]

# Share of the label probability that ``refer`` has in the prior.
REFER = 0.2
_CONSTRAINTS: dict[str, Constraint] = {
    "max_risk": Number(0.0, 1.0, open=True),
    "delta": Number(0.0, 1.0, open=True),
}


@dataclass(frozen=True, eq=False)
class Referral:
    """A tree that answers in some leaves only, and its promise.

    Attributes
    ----------
    tree : Tree
        The tree.
    answers : ndarray of bool, shape (n_nodes,)
        Whether a row that ends at a node is answered.
    max_risk : float
        The promise: at most this share of the answered new cases is misclassified.
    delta : float
        Probability that the promise is wrong.
    errors, answered, m : int
        Errors among the answered rows, answered rows, and rows that were tested.
    """

    tree: Tree
    answers: NDArray[np.bool_]
    max_risk: float
    delta: float
    errors: int
    answered: int
    m: int

    @property
    def share(self) -> float:
        """Share of the tested rows that are answered."""
        return self.answered / self.m if self.m else 0.0

    def __str__(self) -> str:
        if not self.answers.any():
            return (
                f"No leaf can promise a risk of at most {100 * self.max_risk:.6g} % "
                f"with {self.m:,} rows: every case is referred."
            )
        return (
            f"With probability {100 * (1 - self.delta):.6g} %, at most {100 * self.max_risk:.6g} % "
            f"of the answered new cases are misclassified. {100 * self.share:.1f} % of "
            f"{self.m:,} rows are answered, {self.errors:,} of them wrongly; the rest is referred."
        )


def refer_by_rows(
    tree: Tree, rows: NDArray[Any], errors: NDArray[Any], max_risk: float, delta: float = 0.05
) -> Referral:
    """The largest set of leaves that passes its test on held-out rows.

    Parameters
    ----------
    tree : Tree
        The tree, with the counts of the rows that it was grown on.
    rows, errors : ndarray of int, shape (n_nodes,)
        Held-out rows that end at each node, and errors among them. They must have had no part in
        the tree.
    max_risk : float
        Largest risk of an answered case.
    delta : float
        Probability that the promise is wrong.

    Returns
    -------
    Referral
    """
    check("refer", {"max_risk": max_risk, "delta": delta}, _CONSTRAINTS)
    from scipy.stats import binom

    order = _ranked(tree)
    answered, wrong = rows[order].cumsum(), errors[order].cumsum()
    m, kept = int(rows.sum()), 0
    for j in range(_first_test(tree, order, m, max_risk, delta), len(order)):
        if binom.cdf(wrong[j], answered[j], max_risk) > delta:
            break
        kept = j + 1
    answers = np.zeros(tree.n_nodes, dtype=bool)
    answers[order[:kept]] = True
    last = kept - 1
    return Referral(
        tree, answers, float(max_risk), float(delta),
        int(wrong[last]) if kept else 0, int(answered[last]) if kept else 0, m,
    )  # fmt: skip


def _first_test(tree: Tree, order: NDArray[np.intp], m: int, max_risk: float, delta: float) -> int:
    """Where to begin: the first set that should pass with one error more than expected.

    By the rows that grew the tree alone; if there is none, the first that should pass with the
    errors expected, or the one that comes nearest.
    """
    from scipy.stats import binom

    share = m / max(float(tree.weight[0]), 1.0)
    rows = np.floor(share * tree.weight[order].cumsum())
    errors = np.ceil(share * tree.node_errors[order].cumsum())
    for more in (1.0, 0.0):
        chance = binom.cdf(errors + more, rows, max_risk)
        if (chance <= delta).any():
            return int(np.argmax(chance <= delta))
    return int(np.argmin(chance))


def _ranked(tree: Tree) -> NDArray[np.intp]:
    """The leaves from the surest on, by the smoothed error on the rows that grew the tree."""
    leaves = tree.leaves
    risk = (tree.node_errors[leaves] + 1.0) / (tree.weight[leaves] + tree.n_classes)
    return leaves[np.lexsort((leaves, -tree.weight[leaves], risk))]


def refer_by_prior(
    prior: Prior, trees: Iterable[CertifiedTree], max_risk: float, delta: float = 0.05
) -> Referral:
    """The tree and the leaves that answer most of the rows B with the risk promised.

    Parameters
    ----------
    prior : Prior
        The prior of the training rows.
    trees : iterable of CertifiedTree
        Trees to choose from, such as those of `search_trees`.
    max_risk : float
        Largest risk of an answered case.
    delta : float
        Probability that the promise is wrong.

    Returns
    -------
    Referral
    """
    check("refer", {"max_risk": max_risk, "delta": delta}, _CONSTRAINTS)
    best: Referral | None = None
    for one in trees:
        found = _referred(prior, one, max_risk, delta)
        if best is None or found.answered > best.answered:
            best = found
    assert best is not None
    return best


def _referred(prior: Prior, one: CertifiedTree, max_risk: float, delta: float) -> Referral:
    """The longest prefix of the ranked leaves whose limit is small enough."""
    tree, order = one.tree, _ranked(one.tree)
    rows, errors = node_counts(tree, prior.b.X, prior.b.y)
    on_a = np.bincount(
        tree.apply(prior.a.X).astype(np.int64) * tree.n_classes + prior.a.y,
        minlength=tree.n_nodes * tree.n_classes,
    ).reshape(tree.n_nodes, -1)
    labels = np.array([prior.log_labels(on_a[leaf])[tree.label[leaf]] for leaf in order])
    # the price of the labels is replaced: 1 - REFER for the classes, REFER for ``refer``
    shared = one.proof.log_prior - float(labels.sum())
    answered, wrong = rows[order].cumsum(), errors[order].cumsum()
    price = shared + (labels + log(1.0 - REFER)).cumsum()
    price += log(REFER) * (len(order) - 1 - np.arange(len(order)))
    kept = 0
    for j in range(len(order)):
        if limit(int(answered[j]), int(wrong[j]), log(delta) + float(price[j])) <= max_risk:
            kept = j + 1
    answers = np.zeros(tree.n_nodes, dtype=bool)
    answers[order[:kept]] = True
    counts = (int(wrong[kept - 1]), int(answered[kept - 1])) if kept else (0, 0)
    return Referral(tree, answers, max_risk, delta, *counts, prior.b.n_rows)


def node_counts(
    tree: Tree, X: Any, y: NDArray[Any], unknown: str = "other"
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows that end at each node, and errors among them."""
    reached = tree.apply(X, unknown)
    rows = np.bincount(reached, minlength=tree.n_nodes)
    wrong = np.bincount(reached[tree.label[reached] != y], minlength=tree.n_nodes)
    return rows.astype(np.int64), wrong.astype(np.int64)
