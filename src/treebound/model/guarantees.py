"""What a fitted tree promises beside its certificate: mean costs, referral, shares of its leaves.

Each rests on the rows of the certificate, or on rows that took no part in fitting, and has a
``delta`` or ``alpha`` of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.validation import check, invalid
from treebound.certificate.by_class import share_training
from treebound.certificate.mean_cost import MeanCost, certify_mean_cost
from treebound.certificate.monitor import Monitor, leaf_monitor
from treebound.certificate.prior import CertifiedTree, limit
from treebound.certificate.referral import (
    CONSTRAINTS,
    Referral,
    refer_by_prior,
    refer_by_rows,
)
from treebound.model import Model
from treebound.model.methods import as_model
from treebound.model.rows import Tested
from treebound.pruning.costs import cost_matrix
from treebound.tree.model import rows_at_rest

_RAISED = (
    "The held-out rows were counted on the grown tree; this tree has raised subtrees. Hint: give "
    "rows that took no part in fitting as X and y."
)


def _other_rows(model: Model, X: Any, y: Any, caller: str) -> Tested:
    """The rows of each class that end at each node; they must have had no part in fitting."""
    tested = model.tested(X, y)
    seen = tested.seen
    if seen.significant:
        raise ValueError(
            f"{seen.matches:,} of {seen.comparable:,} rows took part in fitting: they are "
            f"{seen.roles}. Hint: {caller} needs rows that did not."
        )
    return tested


# -- mean costs ------------------------------------------------------------------------------------


def certify_cost(
    model: Any, X: Any = None, y: Any = None, *, costs: Any, delta: float | None = None
) -> MeanCost:
    """Bound the mean cost of a new example, where errors differ in cost.

    Parameters
    ----------
    model : BoundTreeClassifier or Model
        The fitted tree.
    X, y : table and labels, optional
        Rows that took no part in fitting; by default those that ``fit`` held out.
    costs : array-like or mapping
        A matrix with a row for the true class and a column for the predicted one, or what an
        error on each class costs (1 for classes that a mapping leaves out).
    delta : float, optional
        Probability that the limit is wrong; by default that of the classifier.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import treebound as tb
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = tb.BoundTreeClassifier(certificate="held-out").fit(X, y)
    >>> print(clf.certify_cost(costs={0: 5.0, 1: 1.0}))
    With probability 95 %, a new example costs at most 0.4666 on average
    (0.2 on the 150 counted here).
    """
    model = as_model(model, "certify_cost")
    if model.referral is not None:
        raise ValueError("A tree that refers has no mean cost. Hint: certify the one that answers.")
    tree, level, log_share = model.tree, model.delta if delta is None else delta, 0.0
    matrix = cost_matrix(tree.classes, costs)
    tested = model.held_out_counts()
    if X is not None:
        counts = _other_rows(model, X, y, "certify_cost").counts
    elif model.proof is not None:  # as for errors: the limits of all trees hold together
        counts = rows_at_rest(tree, model.proof.counts_b)
        log_share = model.proof.log_prior
    elif tested is not None:
        counts, log_share = rows_at_rest(tree, tested[0]), -log(tested[1])
    else:
        raise ValueError(
            "certify_cost needs rows that took no part in fitting. Hint: fit with "
            "certificate='held-out', 'folds' or 'prior', or give such rows as X and y."
            if model.held_out is None
            else _RAISED
        )
    values = np.repeat(matrix.T[tree.label].ravel(), counts.ravel())
    return certify_mean_cost(values, float(matrix.max()), level, log_share=log_share)


# -- referral --------------------------------------------------------------------------------------


def refer(
    model: Model,
    max_risks: Sequence[float],
    X: Any = None,
    y: Any = None,
    *,
    label: Any = None,
    delta: float | None = None,
) -> list[Model]:
    """For each largest risk the model that answers only where it can be promised.

    Its tree has the label of referral as one more class. The promises share ``delta``.
    """
    if model.referral is not None:
        raise ValueError("This tree refers already. Hint: refer with the tree that was fitted.")
    answer = _refer_label(model.classes, label)
    level = model.delta if delta is None else delta
    for max_risk in max_risks:
        check("refer", {"max_risk": max_risk, "delta": level}, CONSTRAINTS)
    return [
        _referring(model, replace(referral, label=answer))
        for referral in _referrals(model, max_risks, X, y, delta)
    ]


def _referring(model: Model, referral: Referral) -> Model:
    return model.with_tree(
        referral.shown_tree(stops=model.handle_unknown == "stop"),
        referral=referral,
        row_counts=None,
        no_certificate=f"The tree answers only some cases. {referral}",
    )


def _referrals(
    model: Model, max_risks: Sequence[float], X: Any, y: Any, delta: float | None
) -> list[Referral]:
    """The leaves that answer: by the rows that fit held out, by others, or by the prior."""
    if X is None and model.proof is not None:
        level = model.delta if delta is None else delta
        trees = [CertifiedTree(model.tree, model.proof, model.proof.risk(level))]
        if model.frontier is not None and model.step is None:
            trees = list(model.frontier)
        # the prior promises for all trees and all risks at once
        return [refer_by_prior(trees, max_risk, level) for max_risk in max_risks]
    sketch, shares = None, 1
    if X is not None:
        counts, _, sketch = _other_rows(model, X, y, "refer")
        m = int(counts.sum())
    else:
        if model.held_out is None:
            raise ValueError(
                "refer needs rows that took no part in fitting. Hint: fit with "
                "certificate='held-out', 'folds' or 'prior', or give such rows: refer(X, y, "
                "max_risk=...)."
            )
        tested = model.held_out_counts()
        if tested is None:
            raise ValueError(_RAISED)
        (counts, shares), m = tested, model.held_out.m
    levels = model.promised.levels(sketch, model.step, max_risks, delta, model.delta)
    return [
        replace(refer_by_rows(model.tree, counts, m, max_risk, level / shares), delta=level)
        for max_risk, level in zip(max_risks, levels, strict=True)
    ]


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


def monitor_leaves(model: Any, alpha: float = 0.01) -> Monitor:
    """Watch new rows without labels: whether they come to the leaves as often as before.

    Parameters
    ----------
    model : BoundTreeClassifier or Model
        The fitted tree.
    alpha : float
        Probability that there is ever a false alarm, as long as new rows come as before.

    Returns
    -------
    Monitor
        ``update_rows(clf, X)`` adds rows.

    See Also
    --------
    Certificate.monitor : Watch labelled rows.
    """
    model = as_model(model, "monitor_leaves")
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
