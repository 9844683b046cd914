"""The certificate: how often a tree may be wrong on new examples, and what that rests on."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from treebound.bounds import log_growth_leaves, tail_inversion
from treebound.bounds.risk import binomial_upper, log_leaves_prior
from treebound.landscape import Landscape
from treebound.tree.columns import landscape_of
from treebound.tree.model import Tree

__all__ = ["Assumption", "Certificate", "certificate_for", "certify", "certify_holdout"]

# The ghost sample is this many times as large as the training sample; fixed beforehand.
GHOST = 4


@dataclass(frozen=True)
class Assumption:
    """Something the certificate rests on, and whether it could be checked here."""

    text: str
    checked: bool

    def __str__(self) -> str:
        return f"{self.text} ({'checked' if self.checked else 'stated'})"


@dataclass(frozen=True)
class Certificate:
    """An upper bound on the true risk of a tree that holds with a stated probability.

    Attributes
    ----------
    risk : float
        With probability ``1 - delta`` at most this share of new examples is misclassified.
    delta : float
    errors, m : int
        Misclassified examples, of how many.
    leaves : int or None
        Number of leaves of the tree; None for a certificate from held-out examples.
    log_growth : float
        Natural log of the growth function of all trees with that many leaves, on the sample and
        its ghost.
    log_prior : float
        Natural log of the share of ``delta`` that trees of this size have.
    ghost : int
        Size of the ghost sample.
    assumptions : tuple of Assumption
        What it rests on, each checked or stated.
    declared_risk : float or None
        What the risk would be, had the categories found in the data been declared beforehand;
        None where all of them were.
    """

    risk: float
    delta: float
    errors: int
    m: int
    leaves: int | None = None
    log_growth: float = 0.0
    log_prior: float = 0.0
    ghost: int = 0
    assumptions: tuple[Assumption, ...] = ()
    declared_risk: float | None = None

    @property
    def training_error(self) -> float:
        """Share of errors on the examples the certificate was computed from."""
        return self.errors / self.m

    @property
    def confidence(self) -> float:
        """Probability with which the bound holds."""
        return 1.0 - self.delta

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing: every risk is at most 1."""
        return self.risk >= 1.0

    def __float__(self) -> float:
        return self.risk

    def __str__(self) -> str:
        if self.leaves is None:
            what = f"{self.errors:,} of {self.m:,} held-out examples were"
        else:
            size = "1 leaf" if self.leaves == 1 else f"{self.leaves:,} leaves"
            what = f"{_percent(self.training_error)} on the {self.m:,} training examples, {size}"
        return (
            f"With probability {_percent(self.confidence, short=True)}, at most "
            f"{_percent(self.risk)} of new examples are misclassified ({what})."
        )

    def explain(self) -> str:
        """The certificate with everything it rests on, in words."""
        lines = [str(self)]
        if self.vacuous:
            lines.append("It says nothing: more examples or fewer leaves would make it say more.")
        if self.leaves is not None:
            lines.append(
                f"Growth function: {self.log_growth:.1f} nats on {self.m + self.ghost:,} examples; "
                f"prior of the size: {-self.log_prior:.1f} nats."
            )
        if self.declared_risk is not None:
            lines.append(
                "Declaring the categories beforehand would have given "
                f"{_percent(self.declared_risk)}."
            )
        if self.assumptions:
            lines.append("It rests on:")
            lines += [f"- {one}" for one in self.assumptions]
        return "\n".join(lines)

    def agrees_with(self, errors: int, m: int, *, delta: float = 0.01) -> bool:
        """Whether held-out examples are consistent with the certificate.

        False means that so many errors on ``m`` new examples have a probability below ``delta``
        if the risk is what the certificate allows: one of its assumptions does not hold (or the
        one case in ``1 / delta`` has come).
        """
        from scipy.stats import binom

        return bool(binom.sf(errors - 1, m, min(self.risk, 1.0)) >= delta)


def certify(
    tree: Tree,
    errors: float | None = None,
    landscape: Landscape | None = None,
    delta: float = 0.05,
) -> Certificate:
    """Certify a tree by hypergeometric tail inversion over all trees with as many leaves.

    Parameters
    ----------
    tree : Tree
        Its counts say how many examples and classes there are.
    errors : int, optional
        Training errors; by default those of the tree.
    landscape : Landscape, optional
        What the tree might have tested; by default that of its columns, in which categories that
        were not declared beforehand count as unbounded.
    delta : float
        Probability with which the bound may fail.

    Returns
    -------
    Certificate

    Raises
    ------
    ValueError
        If the examples have weights: then there is no certificate.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_digits
    >>> clf = tb.BoundTreeClassifier(max_leaves=15).fit(*load_digits(return_X_y=True))
    >>> print(tb.certify(clf.tree_))
    With probability 95 %, at most 51.8 % of new examples are misclassified
    (25.0 % on the 1,797 training examples, 15 leaves).
    """
    reason = _refusal(tree)
    if reason:
        raise ValueError(f"There is no certificate for this tree. {reason}")
    wrong = tree.errors if errors is None else errors
    if isinstance(wrong, bool) or not isinstance(wrong, Real) or float(wrong) != int(wrong):
        raise ValueError(
            f"The 'errors' parameter of certify must be a whole number. Got {errors!r} instead."
        )
    given = landscape is not None
    features = tree.landscape if landscape is None else landscape
    found = _bound(tree, int(wrong), features, delta)
    declared = None
    observed = landscape_of(tree.columns, observed=True)
    if not given and observed != features:
        declared = _bound(tree, int(wrong), observed, delta).risk
    return Certificate(
        risk=found.risk,
        delta=float(delta),
        errors=int(wrong),
        m=round(float(tree.weight[0])),
        leaves=tree.n_leaves,
        log_growth=found.log_growth,
        log_prior=found.log_prior,
        ghost=found.ghost,
        assumptions=_assumptions(tree, given),
        declared_risk=declared,
    )


def certificate_for(
    tree: Tree, *, weighted: bool = False, reason: str | None = None, delta: float = 0.05
) -> tuple[Certificate | None, str]:
    """The certificate of a tree, or None and the reason in words.

    Parameters
    ----------
    weighted : bool
        Whether the examples, or the classes, were weighted.
    reason : str, optional
        Another reason, known to the caller, why there can be none.
    """
    why = reason or (_WEIGHTED if weighted else _refusal(tree))
    return (None, why) if why else (certify(tree, delta=delta), "")


def certify_holdout(errors: int, m: int, delta: float = 0.05) -> Certificate:
    """Certify a tree by examples it has never seen: the exact binomial (Clopper-Pearson) bound.

    Parameters
    ----------
    errors, m : int
        How many of ``m`` held-out examples were misclassified.
    delta : float
        Probability with which the bound may fail.

    Examples
    --------
    >>> import treebound as tb
    >>> print(tb.certify_holdout(12, 400))
    With probability 95 %, at most 4.8 % of new examples are misclassified
    (12 of 400 held-out examples were).
    """
    risk = binomial_upper(m, errors, delta)
    assumptions = (
        Assumption("the held-out examples are independent draws, as the new ones will be", False),
        Assumption("nothing about the tree was chosen by looking at them", False),
    )
    return Certificate(risk, float(delta), int(errors), int(m), assumptions=assumptions)


# -- the parts -------------------------------------------------------------------------------------

_WEIGHTED = (
    "The examples were weighted, and the bound counts examples. Hint: fit without sample_weight "
    "and class_weight."
)


@dataclass(frozen=True)
class _Bound:
    risk: float
    log_growth: float
    log_prior: float
    ghost: int


def _bound(tree: Tree, errors: int, landscape: Landscape, delta: float) -> _Bound:
    m = round(float(tree.weight[0]))
    ghost = GHOST * m
    log_tau = log_growth_leaves(tree.n_leaves, m + ghost, tree.n_classes, landscape)
    log_prior = float(log_leaves_prior(tree.n_leaves))
    risk = tail_inversion(
        m, errors, lambda _: log_tau, delta=delta, ghost=ghost, log_prior=log_prior
    )
    return _Bound(risk, log_tau, log_prior, ghost)


def _refusal(tree: Tree) -> str:
    """Why a tree can have no certificate; empty where it can."""
    counts = tree.counts[0]
    if not np.array_equal(counts, np.rint(counts)) or counts.sum() != tree.rows[0]:
        return _WEIGHTED
    if counts.sum() < 1:
        return "The tree has no training examples."
    return ""


def _assumptions(tree: Tree, given: bool) -> tuple[Assumption, ...]:
    found = [
        Assumption("every example counts once: there are no weights", True),
        Assumption("tests are thresholds and comparisons with one category", True),
        Assumption("the examples are independent draws, as the new ones will be", False),
        Assumption("an error costs the same whatever the class", False),
        Assumption("nothing was done to the columns that looked at the classes", False),
    ]
    if given:
        found.append(Assumption("the landscape given was known before the data were seen", False))
        return tuple(found)
    undeclared = [one.name for one in tree.columns if _undeclared(one)]
    if undeclared:
        names = ", ".join(repr(name) for name in undeclared[:5])
        more = " and others" if len(undeclared) > 5 else ""
        found.append(
            Assumption(f"categories not declared count as unbounded: columns {names}{more}", True)
        )
        found.append(
            Assumption("a category never met in training is answered as any other value", False)
        )
    elif any(one.kind != "real" for one in tree.columns):
        found.append(Assumption("the categories were declared before the classes were seen", True))
    return tuple(found)


def _undeclared(column: Any) -> bool:
    return column.kind != "real" and not column.declared


def _percent(share: float, *, short: bool = False) -> str:
    """A share in per cent: one digit after the point, or as few as it takes."""
    text = f"{100 * share:.1f}"
    if short:
        text = f"{100 * share:.6g}"
    return f"{text} %"
