"""Bounds for each class: the share of its new cases that the tree misclassifies.

Given the labels, the rows of class k are independent draws of its cases, and whether a tree
predicts k or not is a labelling with two classes. So every certificate holds class by class with
the rows of that class alone, each of the n classes at ``delta / n``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.bounds import log_growth_leaves, tail_inversion
from treebound.bounds.risk import log_leaves_prior
from treebound.certificate.certificate import ROW_OF_GROUP, bound_percent
from treebound.certificate.prior import prior_bound
from treebound.landscape import Landscape
from treebound.pruning import merge_equal_leaves
from treebound.tree.model import Tree

# Size of the ghost sample relative to the training sample; fixed beforehand.
GHOST = 4


@dataclass(frozen=True)
class ClassBound:
    """An upper bound on the share of new cases of a class that are misclassified.

    A certificate has one for each class, :attr:`Certificate.by_class`.

    Attributes
    ----------
    label : object
        The class.
    risk : float
        At most this share of its new cases is given another label.
    errors, m : int
        Number of its rows that the tree misclassifies, and of its rows.
    """

    label: Any
    risk: float
    errors: int
    m: int

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self, *, grouped: bool = False) -> str:
        """Return the bound in words; ``grouped``: of a row drawn from a random group."""
        wrong = f"{self.errors:,} of {self.m:,} were"
        share = bound_percent(self.risk)
        if share == bound_percent(1.0):
            return f"{self.label}: too few rows for a guarantee ({wrong} misclassified)"
        cases = f"its new cases{ROW_OF_GROUP if grouped else ''}"
        return f"{self.label}: at most {share} of {cases} are misclassified ({wrong})"


def by_class_on_rows(
    classes: Sequence[Any] | NDArray[Any],
    rows: Sequence[int] | NDArray[np.int64],
    errors: Sequence[int] | NDArray[np.int64],
    log_level: float,
) -> tuple[ClassBound, ...]:
    """Return bounds from rows that the tree does not depend on, or from the rows B of a prior.

    ``log_level``: ``ln delta``, of K folds ``ln(delta / K)``, of a prior ``ln delta + ln pi(h)``.
    """
    level = log_level - log(len(classes))
    return tuple(
        ClassBound(label, prior_bound(int(m), int(wrong), level), int(wrong), int(m))
        for label, m, wrong in zip(classes, rows, errors, strict=True)
    )


def by_class_training(
    tree: Tree,
    rows: NDArray[np.int64],
    errors: NDArray[np.int64],
    delta: float,
    landscape: Landscape | None = None,
) -> tuple[ClassBound, ...]:
    """Return bounds from the training rows, by tail inversion with two classes: k, and not k."""
    features = tree.landscape if landscape is None else landscape
    level = delta / tree.n_classes
    bounds = []
    for k, label in enumerate(tree.classes.tolist()):
        m, wrong = int(rows[k]), int(errors[k])
        leaves = leaves_predicting(tree, k)
        risk = inverted(m, wrong, leaves, 2, features, level)[0] if m else 1.0
        bounds.append(ClassBound(label, risk, wrong, m))
    return tuple(bounds)


def inverted(
    m: int, errors: int, leaves: int, n_classes: int, landscape: Landscape, delta: float
) -> tuple[float, float]:
    """Return the bound by tail inversion for trees with so many leaves, and its price in nats."""
    log_tau = log_growth_leaves(leaves, (1 + GHOST) * m, n_classes, landscape)
    log_prior = float(log_leaves_prior(leaves))
    risk = tail_inversion(
        m, errors, lambda _: log_tau, delta=delta, ghost=GHOST * m, log_prior=log_prior
    )
    return risk, log_tau - log_prior


def leaves_predicting(tree: Tree, k: int) -> int:
    """Return how many leaves remain if leaves predict k or not k and equal siblings are merged."""
    labels = (tree.label != k).astype(np.int32)
    return merge_equal_leaves(replace(tree, label=labels)).n_leaves
