"""Referral: answer only in the leaves where the risk of an answered case can be promised.

From held-out rows: the leaves are ranked by the rows that grew the tree. The sets of the first
j leaves are tested in this order, from the first that these rows expect to pass, each at the full
delta, until one fails (fixed-sequence testing): a set with a larger risk is kept only if the first
such set passed its test, which happens with probability at most delta. Several promises from the
same rows, at once or one after the other, share delta (`Promised`).

From a prior: ``refer`` is one more label of a leaf. For a fixed tree, given which rows of B it
answers, its errors among them are binomial, so that ``U(n_answered, errors, delta pi(h))`` bounds
the risk of an answered case for all trees at once, and for every largest risk that is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import isclose, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treebound._utils.validation import Number, check
from treebound.certificate.certificate import DELTA
from treebound.certificate.monitor import Monitor, error_monitor
from treebound.certificate.prior import CertifiedTree, PriorProof, limit, log_labels
from treebound.certificate.row_record import same_rows
from treebound.data.row_hashes import RowSketch
from treebound.tree._structure import add_up
from treebound.tree.model import Tree, rows_at_rest

# Share of the label probability that ``refer`` has in the prior.
REFER = 0.2
CONSTRAINTS = {**DELTA, "max_risk": Number(0.0, 1.0, open=True)}


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
    label : object
        The answer where the tree refers.
    """

    tree: Tree
    answers: NDArray[np.bool_]
    max_risk: float
    delta: float
    errors: int
    answered: int
    m: int
    label: Any = None

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

    def monitor(self, alpha: float = 0.01) -> Monitor:
        """Watch after deployment whether the risk of answered cases stays below the promise.

        Parameters
        ----------
        alpha : float
            Probability that there is ever a false alarm, if the promise holds.

        Returns
        -------
        Monitor
            It ignores rows whose prediction is the label of referral.
        """
        return error_monitor(self.max_risk, alpha=alpha, refers=self.label)

    def shown_tree(self, *, stops: bool = False) -> Tree:
        """The tree with the label of referral as one more class: that of the rows it refers.

        Subtrees that refer are one leaf. ``stops``: rows may end at inner nodes, which then refer.
        """
        tree = self.tree
        # text may be longer than the classes
        dtype = None if tree.classes.dtype.kind == "U" else tree.classes.dtype
        classes = np.concatenate([tree.classes, np.array([self.label], dtype=dtype)])
        order = np.argsort(classes)
        code = np.argsort(order)  # where each class, and last the new one, has gone
        counts = np.zeros((tree.n_nodes, len(classes)))
        rest = rows_at_rest(tree, tree.counts)
        counts[:, code[:-1]] = np.where(self.answers[:, None], rest, 0.0)
        counts[:, code[-1]] = np.where(self.answers, 0.0, rest.sum(axis=1))
        answering = (self.answers & tree.is_leaf).astype(np.int64)[:, None]
        for values in (counts, answering):
            add_up(tree.left, tree.right, values)
        refers = answering[:, 0] == 0
        factors = None
        if tree.factors is not None:
            factors = np.ones(len(classes))
            factors[code[:-1]] = tree.factors
        answer = ~refers & (self.answers if stops else True)
        whole = replace(
            tree,
            classes=classes[order],
            counts=counts,
            label=np.where(answer, code[tree.label], code[-1]),
            names=None,
            factors=factors,
        )
        return whole.collapsed(np.flatnonzero(refers & ~tree.is_leaf))


class Promise(NamedTuple):
    """A promise that was made: from which rows, of the tree of which step, and its part of delta.

    Rows that ``fit`` held out are None.
    """

    rows: RowSketch | None
    step: int | None
    max_risk: float
    delta: float


class Promised:
    """The promises of a model so far; those from the same rows share delta."""

    def __init__(self, promises: Iterable[Promise] = ()) -> None:
        self.promises = [*promises]

    def levels(
        self,
        rows: RowSketch | None,
        step: int | None,
        max_risks: Sequence[float],
        delta: float | None,
        total: float,
    ) -> list[float]:
        """The part of delta of each promise: that of before, or a share of what is left."""
        same = [each for each in self.promises if same_rows(each.rows, rows)]
        own = {
            each.max_risk: each.delta
            for each in same
            if each.step == step
            and (delta is None or isclose(each.delta, delta / len(set(max_risks))))
        }
        new = sorted({*max_risks} - {*own})
        left = max(total, delta or 0.0) - sum(each.delta for each in same)
        wanted = left if delta is None else delta
        if new and (wanted <= 1e-12 or wanted > left * (1.0 + 1e-9)):
            before = ", ".join(f"{each.max_risk:g} (delta={each.delta:.3g})" for each in same)
            raise ValueError(
                f"These rows have promised max_risk={before} before; {max(left, 0.0):.3g} of delta "
                "is left. A promise that is chosen after looking at another needs a part of its "
                "own. Hint: ask for several at once, max_risk=[...], begin with a smaller delta, "
                "or give other rows."
            )
        for max_risk in new:
            own[max_risk] = wanted / len(new)
            self.promises.append(Promise(rows, step, max_risk, own[max_risk]))
        return [own[max_risk] for max_risk in max_risks]


def refer_by_rows(
    tree: Tree, counts: NDArray[Any], m: int, max_risk: float, delta: float = 0.05
) -> Referral:
    """The largest set of leaves that passes its test on m held-out rows.

    ``counts`` are theirs, of each class at each node; with ``handle_unknown="stop"`` some reach no
    leaf.
    """
    check("refer", {"max_risk": max_risk, "delta": delta}, CONSTRAINTS)
    from scipy.stats import binom

    order, kept = _ranked(tree), 0
    rows = counts[order].sum(axis=1)
    answered, wrong = rows.cumsum(), (rows - counts[order, tree.label[order]]).cumsum()
    for j in range(_first_test(tree, order, m, max_risk, delta), len(order)):
        if binom.cdf(wrong[j], answered[j], max_risk) > delta:
            break
        kept = j + 1
    return _of_prefix(tree, order, kept, answered, wrong, max_risk, delta, m)


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
    trees: Iterable[CertifiedTree], max_risk: float, delta: float = 0.05
) -> Referral:
    """The tree of one prior, and its leaves, that answer most of the rows B with such a risk."""
    check("refer", {"max_risk": max_risk, "delta": delta}, CONSTRAINTS)
    referrals = [_referred(certified, max_risk, delta) for certified in trees]
    return max(referrals, key=lambda referral: referral.answered)


def _referred(certified: CertifiedTree, max_risk: float, delta: float) -> Referral:
    """The longest prefix of the ranked leaves whose limit is small enough."""
    tree, proof = certified.tree, certified.proof
    order = _ranked(tree)
    rows = proof.counts_b[order].sum(axis=1)
    wrong = (rows - proof.counts_b[order, tree.label[order]]).cumsum()
    labels = log_labels(proof.counts_a[order])[np.arange(len(order)), tree.label[order]]
    # the price of the labels is replaced: 1 - REFER for the classes, REFER for ``refer``
    price = proof.log_prior - float(labels.sum()) + (labels + log(1.0 - REFER)).cumsum()
    price += log(REFER) * (len(order) - 1 - np.arange(len(order)))
    price += _merged(tree, proof, order)
    levels, answered = log(delta) + price, rows.cumsum()
    limits = [
        limit(int(n), int(k), level) for n, k, level in zip(answered, wrong, levels, strict=True)
    ]
    kept = 1 + max((j for j, own in enumerate(limits) if own <= max_risk), default=-1)
    return _of_prefix(tree, order, kept, answered, wrong, max_risk, delta, proof.m)


def _merged(tree: Tree, proof: PriorProof, order: NDArray[np.intp]) -> NDArray[np.float64]:
    """What is saved if subtrees that refer are one leaf, after each leaf that answers."""
    saved = np.zeros(len(order))
    if proof.log_splits is None or proof.log_stops is None:
        return saved
    gain, below = np.zeros(tree.n_nodes), proof.log_stops + log(REFER)
    for node in np.flatnonzero(~tree.is_leaf)[::-1].tolist():
        whole = proof.log_splits[node] + below[tree.left[node]] + below[tree.right[node]]
        gain[node], below[node] = below[node] - whole, whole
    refers, total = np.ones(tree.n_nodes, dtype=bool), float(gain[0])
    for j, leaf in enumerate(order.tolist()):
        node = 0
        while True:  # from the root: a node that refers is the largest such subtree
            if refers[node]:
                refers[node] = False
                total -= gain[node]
                if node != leaf:
                    total += gain[tree.left[node]] + gain[tree.right[node]]
            if node == leaf:
                break
            node = int(tree.left[node] if leaf < tree.right[node] else tree.right[node])
        saved[j] = total
    return saved


def _of_prefix(
    tree: Tree,
    order: NDArray[np.intp],
    kept: int,
    answered: NDArray[Any],
    wrong: NDArray[Any],
    max_risk: float,
    delta: float,
    m: int,
) -> Referral:
    """The tree that answers in the first leaves of an order, from the counts up to each of them."""
    answers = np.zeros(tree.n_nodes, dtype=bool)
    answers[order[:kept]] = True
    counts = (int(wrong[kept - 1]), int(answered[kept - 1])) if kept else (0, 0)
    return Referral(tree, answers, float(max_risk), float(delta), *counts, m)
