"""Guarantees besides the certificate: mean costs and abstention.

Each rests on the rows of the certificate, or on rows that were not used for fitting, and has a
``delta`` of its own: they hold separately.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.validation import Setting, WordedError, check, invalid
from treebound.certificate.abstention import (
    CONSTRAINTS,
    Abstention,
    abstain_by_prior,
    abstain_by_rows,
)
from treebound.certificate.mean_cost import MeanCost, certify_mean_cost
from treebound.certificate.prior import CertifiedTree
from treebound.model import Model
from treebound.model.rows import Tested, check_groups
from treebound.pruning.costs import cost_matrix
from treebound.tree.base import rows_at_rest

SEPARATELY = "Each of these statements holds separately, with its own probability."
_RAISED = (
    "The calibration rows were counted on the grown tree; this tree has raised subtrees. Hint: "
    "give rows that were not used for fitting as X and y."
)


def _needs_certificate(subject: str) -> WordedError:
    """The error for a model without calibration rows."""
    return WordedError(
        f"{subject} needs rows that were not used for fitting. Hint: fit with ",
        Setting("certificate", "held-out"),
        " (or folds, or prior), or give labelled rows that were not used for fitting.",
    )


def unused_rows(model: Model, X: Any, y: Any, groups: Any, caller: str) -> Tested | None:
    """Count the rows of each class that end at each node; refuse rows used for fitting.

    None without rows.
    """
    if X is None:
        if groups is not None:
            must = "None without rows that were not used for fitting"
            raise invalid("groups", caller, must, type(groups))
        return None
    tested = model.tested(X, y, groups, caller=caller)
    check_groups(model.provenance.groups, tested.independent)
    tested.comparison.refuse_used(f"{caller} needs rows that were not used before.")
    return tested


# -- mean costs ------------------------------------------------------------------------------------


def certify_cost(
    model: Model, rows: Tested | None = None, *, costs: Any = None, delta: float | None = None
) -> MeanCost:
    """Bound the mean cost of a new example, by rows that were not used for fitting.

    By default these are the calibration rows, and the costs are those of ``fit``.
    """
    if model.abstention is not None:
        raise ValueError(
            "A tree that abstains has no mean cost. Hint: certify the one that always predicts."
        )
    tree, evidence, log_share = model.tree, model.evidence, 0.0
    level = evidence.delta if delta is None else delta
    matrix = model.costs if costs is None else cost_matrix(tree.classes, costs)
    if matrix is None:
        must = (
            "a matrix, or a mapping of classes to costs, for a tree that was fitted without costs"
        )
        raise invalid("costs", "certify_cost", must, costs)
    tested = model.held_out_counts()
    note, grouped = "", False
    if rows is not None:
        counts, note, grouped = rows.counts, rows.comparison.note, rows.grouped
    elif evidence.proof is not None:  # as for errors: the bounds of all trees hold together
        counts = rows_at_rest(tree, evidence.proof.counts_b)
        log_share = evidence.proof.log_prior
    elif tested is not None:
        counts, log_share = rows_at_rest(tree, tested[0]), -log(tested[1])
        grouped = evidence.calibration is not None and evidence.calibration.grouped
    else:
        if evidence.calibration is not None:
            raise ValueError(_RAISED)
        raise _needs_certificate("A bound on costs")
    values = np.repeat(matrix.T[tree.label].ravel(), counts.ravel())
    bound = certify_mean_cost(values, float(matrix.max()), level, log_share=log_share)
    return replace(bound, note=note, grouped=grouped)


# -- abstention ------------------------------------------------------------------------------------


def abstain(
    model: Model,
    max_risks: Sequence[float],
    X: Any = None,
    y: Any = None,
    *,
    label: Any = None,
    delta: float | None = None,
    groups: Any = None,
) -> list[Model]:
    """Return for each largest risk the model that predicts only where a bound is that small.

    Its tree has the label of abstention as one more class. The bounds of all sets of leaves hold
    at once with probability ``1 - delta``.
    """
    if model.abstention is not None:
        raise ValueError("This tree abstains already. Hint: call abstain of the fitted tree.")
    new_label = _abstention_label(model.classes, label)
    level = model.evidence.delta if delta is None else delta
    for max_risk in max_risks:
        check("abstain", {"max_risk": max_risk, "delta": level}, CONSTRAINTS)
    return [
        _abstaining(model, replace(abstention, label=new_label))
        for abstention in _abstentions(model, max_risks, X, y, groups, level)
    ]


def _abstaining(model: Model, abstention: Abstention) -> Model:
    return model.with_tree(
        abstention.shown_tree(stops=model.reading.handle_unknown == "stop"),
        abstention=abstention,
        evidence=model.evidence.of_counts(None, f"The tree predicts only some cases. {abstention}"),
    )


def _abstentions(
    model: Model, max_risks: Sequence[float], X: Any, y: Any, groups: Any, delta: float
) -> list[Abstention]:
    """Return the leaves that predict: by calibration rows, by other rows, or by the prior."""
    proof, frontier = model.evidence.proof, model.evidence.frontier
    rows = unused_rows(model, X, y, groups, "abstain")
    if rows is None and proof is not None:
        trees = [CertifiedTree(model.tree, proof, proof.risk(delta))]
        if frontier is not None and model.step is None:
            trees = list(frontier)
        return [abstain_by_prior(trees, max_risk, delta) for max_risk in max_risks]
    shares, note, grouped = 1, "", False
    if rows is not None:
        counts, note, grouped = rows.counts, rows.comparison.note, rows.grouped
        m = int(counts.sum())
    else:
        calibration = model.evidence.calibration
        if calibration is None:
            raise _needs_certificate("Abstention")
        tested = model.held_out_counts()
        if tested is None:
            raise ValueError(_RAISED)
        (counts, shares), m = tested, calibration.m
        grouped = calibration.grouped
    return [
        replace(
            abstain_by_rows(model.tree, counts, m, max_risk, delta, shares),
            note=note,
            grouped=grouped,
        )
        for max_risk in max_risks
    ]


def _abstention_label(classes: NDArray[Any], label: Any = None) -> Any:
    """Return the label of abstention: of the type of the classes and none of them."""
    text = classes.dtype.kind in "UOT"
    label = ("abstain" if text else -1) if label is None else label
    kinds: dict[str, tuple[type, ...]] = {"i": (int,), "u": (int,), "f": (int, float)}
    wanted = (str,) if text else kinds.get(classes.dtype.kind, ())
    if not isinstance(label, wanted) or isinstance(label, bool) or label in classes.tolist():
        must = f"a label of the type of the classes ({classes.dtype}) that is none of them"
        raise invalid("label", "abstain", must, label)
    return label
