"""What a fitted tree promises beside its certificate: mean costs, referral, shares of its leaves.

Each rests on the rows of the certificate, or on rows that took no part in fitting, and has a
``delta`` or ``alpha`` of its own.
"""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._validation import invalid
from treebound.certificate import CertifiedTree
from treebound.certificate.by_class import share_training
from treebound.certificate.certificate import rows_at_rest
from treebound.certificate.mean_cost import MeanCost, certify_mean_cost
from treebound.certificate.monitor import Monitor, leaf_monitor
from treebound.certificate.prior import limit
from treebound.certificate.referral import Referral, refer_by_prior, refer_by_rows
from treebound.model import Model
from treebound.pruning.costs import cost_matrix

_RAISED = (
    "The held-out rows were counted on the grown tree; this tree has raised subtrees. Hint: give "
    "rows that took no part in fitting as X and y."
)


def _other_rows(model: Model, X: Any, y: Any, caller: str) -> NDArray[np.int64]:
    """The rows of each class that end at each node; they must have had no part in fitting."""
    counts, seen = model.tested(X, y)
    if seen.significant:
        raise ValueError(
            f"{seen.matches:,} of {seen.comparable:,} rows took part in fitting: they are "
            f"{seen.roles}. Hint: {caller} needs rows that did not."
        )
    return counts


# -- mean costs ------------------------------------------------------------------------------------


def certify_cost(
    model: Model, costs: Any, X: Any = None, y: Any = None, *, delta: float | None = None
) -> MeanCost:
    """A limit on the mean cost of a new example, from rows that took no part in fitting."""
    if model.referral is not None:
        raise ValueError("A tree that refers has no mean cost. Hint: certify the one that answers.")
    tree, level, shares = model.tree, model.delta if delta is None else delta, 1
    matrix = cost_matrix(tree, costs)
    if X is not None:
        counts = _other_rows(model, X, y, "certify_cost")
    else:
        tested = model.held_out_counts()
        if tested is None:
            raise ValueError(
                "certify_cost needs rows that took no part in fitting. Hint: fit with "
                "certify='held-out' or 'folds', or give such rows as X and y."
                if model.held_out is None
                else _RAISED
            )
        counts, shares = rows_at_rest(tree, tested[0]), tested[1]
    values = np.repeat(matrix.T[tree.label].ravel(), counts.ravel())
    return replace(certify_mean_cost(values, float(matrix.max()), level / shares), delta=level)


# -- referral --------------------------------------------------------------------------------------


def refer(
    model: Model,
    max_risk: float,
    X: Any = None,
    y: Any = None,
    *,
    label: Any = None,
    delta: float | None = None,
) -> Model:
    """The model that answers only where the risk of an answered case can be promised.

    Its tree has the label of referral as one more class.
    """
    if model.referral is not None:
        raise ValueError("This tree refers already. Hint: refer with the tree that was fitted.")
    answer = _refer_label(model.classes, label)
    level = model.delta if delta is None else delta
    referral = replace(_referral(model, max_risk, X, y, level), label=answer)
    return model.with_tree(
        referral.shown_tree(stops=model.unknown == "stop"),
        referral=referral,
        row_counts=None,
        no_certificate=f"The tree answers only some cases. {referral}",
    )


def _referral(model: Model, max_risk: float, X: Any, y: Any, level: float) -> Referral:
    """The leaves that answer: by the rows that fit held out, by others, or by the prior."""
    if X is not None:
        counts = _other_rows(model, X, y, "refer")
        return refer_by_rows(model.tree, counts, int(counts.sum()), max_risk, level)
    if model.proof is not None:
        trees = [CertifiedTree(model.tree, model.proof, model.proof.risk(level))]
        if model.frontier is not None and model.step is None:
            trees = list(model.frontier)
        return refer_by_prior(trees, max_risk, level)
    if model.held_out is None:
        raise ValueError(
            "refer needs rows that took no part in fitting. Hint: fit with certify='held-out', "
            "'folds' or 'prior', or give such rows: refer(X, y, max_risk=...)."
        )
    tested = model.held_out_counts()
    if tested is None:
        raise ValueError(_RAISED)
    counts, shares = tested
    referral = refer_by_rows(model.tree, counts, model.held_out.m, max_risk, level / shares)
    return replace(referral, delta=level)


def _refer_label(classes: NDArray[Any], label: Any = None) -> Any:
    """The label of referral: of the type of the classes and none of them."""
    text = classes.dtype.kind in "UOT"
    label = ("refer" if text else -1) if label is None else label
    kinds: dict[str, tuple[type, ...]] = {"i": (int,), "u": (int,), "f": (int, float)}
    wanted = (str,) if text else kinds.get(classes.dtype.kind, ())
    if not isinstance(label, wanted) or isinstance(label, bool) or label in classes.tolist():
        must = f"a label of the type of the classes ({classes.dtype}) that is none of them"
        raise invalid("label", "refer", must, label)
    return label


# -- shares of the leaves --------------------------------------------------------------------------


def monitor_leaves(model: Model, alpha: float = 0.01) -> Monitor:
    """Watch, without labels, whether new rows come to the leaves as often as before."""
    if model.certificate is None:
        raise ValueError(f"The rows give no limits to watch. {model.certificate_reason}")
    tree, tested = model.tree, model.held_out_counts()
    counts: NDArray[Any]
    price: float | None
    if tested is not None:
        counts, price = tested[0], -log(tested[1])
    elif model.proof is not None:
        counts, price = model.proof.counts_b, model.proof.log_prior
    else:
        at_nodes = model.rows_at_nodes
        counts, price = tree.counts if at_nodes is None else at_nodes, None
    rows = counts.sum(axis=1).round().astype(np.int64)

    def upper(leaf: int, events: int, log_level: float) -> float:
        if price is None:  # training rows: the limits of all leaves hold together
            return share_training(tree, leaf, events, m, alpha / 2.0)
        return limit(m, events, log_level + price)

    m, by_leaf = int(rows[0]), {leaf: int(rows[leaf]) for leaf in tree.leaves.tolist()}
    return leaf_monitor(by_leaf, m, alpha=alpha, upper=upper)
