"""The certificate: how often a tree may be wrong on new examples, and what that rests on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from treebound._validation import Constraint, Number, Whole, check, invalid
from treebound.bounds import log_growth_leaves, tail_inversion
from treebound.bounds.risk import binomial_upper, log_leaves_prior
from treebound.data import Column, landscape_of
from treebound.landscape import Landscape
from treebound.tree.model import Tree

__all__ = ["Assumption", "Certificate", "certify_holdout", "certify_tree", "reason_against"]

# The ghost sample is this many times as large as the training sample; fixed beforehand.
GHOST = 4
_DELTA: dict[str, Constraint] = {"delta": Number(0.0, 1.0, open=True)}
_HELD_OUT = {**_DELTA, "m": Whole(1), "errors": Whole(0)}


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


def certify_tree(
    tree: Tree,
    *,
    errors: int | None = None,
    landscape: Landscape | None = None,
    delta: float = 0.05,
    unknown: str = "other",
) -> Certificate:
    """Certify a tree by hypergeometric tail inversion over all trees with as many leaves.

    Parameters
    ----------
    tree : Tree
        Its counts say how many examples and classes there are.
    errors : int, optional
        Training errors; by default those of the tree.
    landscape : Landscape, optional
        What the tree might have asked; by default that of its columns, in which categories that
        were not declared beforehand count as unbounded.
    delta : float
        Probability with which the bound may fail.
    unknown : str
        What becomes of categories never met in training; see `BoundTreeClassifier`.

    Raises
    ------
    ValueError
        If the tree has no certificate; the message says why.
    """
    check("certify", {"delta": delta}, _DELTA)
    reason = reason_against(tree)
    if reason:
        raise ValueError(f"There is no certificate for this tree. {reason}")
    m = int(tree.rows[0])
    wrong = int(tree.errors) if errors is None else errors
    check("certify", {"errors": wrong}, {"errors": Whole(0)})
    if wrong > m:
        raise invalid("errors", "certify", f"at most {m}, the number of training rows", wrong)
    features = tree.landscape if landscape is None else landscape
    found = _bound(tree, wrong, features, delta)
    declared = None
    observed = landscape_of(tree.columns, observed=True)
    if landscape is None and observed != features:
        declared = _bound(tree, wrong, observed, delta).risk
    return Certificate(
        risk=found.risk,
        delta=float(delta),
        errors=wrong,
        m=m,
        leaves=tree.n_leaves,
        log_growth=found.log_growth,
        log_prior=found.log_prior,
        ghost=found.ghost,
        assumptions=tuple(_assumptions(tree, landscape is not None, unknown)),
        declared_risk=declared,
    )


def reason_against(tree: Tree) -> str:
    """Why a tree can have no certificate; empty where it can."""
    if tree.weighted:
        return (
            "The examples were weighted, and the bound counts examples. Hint: fit without "
            "sample_weight and class_weight."
        )
    if not tree.counted:
        return (
            "Subtrees were moved and not counted again. Hint: give the training rows, so that "
            "they can be counted."
        )
    return "" if tree.rows[0] > 0 else "The tree has no training examples."


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
    check("certify_holdout", {"delta": delta, "m": m, "errors": errors}, _HELD_OUT)
    risk = binomial_upper(m, errors, delta)
    assumptions = (
        Assumption("the held-out examples are independent draws, as the new ones will be", False),
        Assumption("nothing about the tree was chosen by looking at them", False),
    )
    return Certificate(risk, float(delta), int(errors), int(m), assumptions=assumptions)


# -- the parts -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Bound:
    risk: float
    log_growth: float
    log_prior: float
    ghost: int


def _bound(tree: Tree, errors: int, landscape: Landscape, delta: float) -> _Bound:
    m = int(tree.rows[0])
    ghost = GHOST * m
    log_tau = log_growth_leaves(tree.n_leaves, m + ghost, tree.n_classes, landscape)
    log_prior = float(log_leaves_prior(tree.n_leaves))
    risk = tail_inversion(
        m, errors, lambda _: log_tau, delta=delta, ghost=ghost, log_prior=log_prior
    )
    return _Bound(risk, log_tau, log_prior, ghost)


def _assumptions(tree: Tree, given: bool, unknown: str) -> Iterator[Assumption]:
    yield Assumption("every example counts once: there are no weights", True)
    yield Assumption("splits are thresholds and comparisons with one category", True)
    yield Assumption("the examples are independent draws, as the new ones will be", False)
    yield Assumption("an error costs the same whatever the class", False)
    yield Assumption("nothing was done to the columns that looked at the classes", False)
    yield Assumption("new examples have no other classes than the training examples", False)
    if any(not one.missing for one in tree.columns):
        yield Assumption("no value is missing in a column that had none missing in training", False)
    if given:
        yield Assumption("the landscape given was known before the data were seen", False)
        return
    undeclared = [one for one in tree.columns if one.kind != "real" and not one.declared]
    if undeclared:
        yield Assumption(f"categories not declared count as unbounded: {_named(undeclared)}", True)
    elif any(one.kind != "real" for one in tree.columns):
        yield Assumption("the categories were declared before the classes were seen", True)
    # No split of the theory sends an unknown category to the side of a known one.
    new = [one for one in undeclared if unknown != "other" or one.kind == "ordinal"]
    if new:
        yield Assumption(f"no category is new: {_named(new)}", False)


def _named(columns: list[Column]) -> str:
    names = ", ".join(repr(one.name) for one in columns[:5])
    return f"columns {names}{' and others' if len(columns) > 5 else ''}"


def _percent(share: float, *, short: bool = False) -> str:
    """A share in per cent: one digit after the point, or as few as it takes."""
    text = f"{100 * share:.1f}"
    if short:
        text = f"{100 * share:.6g}"
    return f"{text} %"
