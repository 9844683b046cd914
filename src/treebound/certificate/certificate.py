"""The certificate: a bound on the risk of a tree, and its assumptions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from math import ceil
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from treebound._utils.choices import CertificateKind
from treebound._utils.html import paragraphs
from treebound._utils.validation import Constraint, Number, Setting, Whole, WordedText, check
from treebound.bounds.risk import binomial_upper
from treebound.pruning.path import count
from treebound.tree.base import rows_at_rest
from treebound.tree.model import Tree

if TYPE_CHECKING:
    from treebound.certificate.by_class import ClassBound
    from treebound.certificate.monitor import Monitor
    from treebound.certificate.row_record import RowComparison

Method = Literal["tail inversion", "compression", "binomial"]
CLASSES_AS_FOUND = "the set of classes was taken from the training examples: there are no others"
DELTA: dict[str, Constraint] = {"delta": Number(0.0, 1.0, open=True)}
_SMALLER: dict[CertificateKind, str] = {  # what would make the bound smaller
    "training": "A certificate from folds or from a prior usually has a much smaller bound.",
    "held-out": "More held-out examples would make it smaller.",
    "folds": "More held-out examples would make it smaller.",
    "prior": "A tree with fewer leaves or more examples would make it smaller.",
}
_HELD_OUT = {**DELTA, "m": Whole(1), "errors": Whole(0)}


@dataclass(frozen=True)
class Assumption:
    """An assumption of the certificate, which the program has checked or only states."""

    text: str
    checked: bool

    def __str__(self) -> str:
        return f"{self.text} ({'checked' if self.checked else 'stated'})"


# What a new example is if rows depend on each other within groups.
ROW_OF_GROUP = ", each a row drawn at random from a random group,"
# Why the rows of groups give no certificate of the kinds that count every row.
DEPENDENT_ROWS = "Rows of one group are not independent, and certificates count independent rows."
NONE_OF_GROUPS = WordedText(
    f"{DEPENDENT_ROWS} Hint: fit with ",
    Setting("certificate", "held-out", of="fit"),
    ", which counts one row of each group.",
)
_GROUPED = Assumption(
    "groups are independent draws, as the new ones will be; an example is a row drawn at random "
    "from a group drawn at random, so that rows of large groups may be misclassified more often",
    False,
)
# Of every certificate from rows that are drawn by number.
DRAWN_APART = tuple(
    Assumption(text, False)
    for text in (
        "every example and every error counts once, weighted or not",
        "no preprocessing of the columns used the classes",
        "fit was not repeated with another seed or other parameters after a certificate was seen",
        CLASSES_AS_FOUND,
        "the kind of each column was taken from all rows: more rows would not change it",
    )
)


@dataclass(frozen=True)
class Certificate:
    """An upper bound on the true risk of a tree that holds with probability ``1 - delta``.

    Attributes
    ----------
    risk : float
        The bound: at most this share of new examples is misclassified.
    delta : float
        Probability that the bound fails.
    kind : {"training", "held-out", "folds", "prior"}
        The rows that it was computed from: those that the tree was fitted on, others, the best of
        several folds, or those that did not define a prior over trees.
    method : {"tail inversion", "compression", "binomial"}
        How it was computed: from the growth function of trees of this size, from the number of
        training rows that determine the tree, or by the exact binomial bound.
    errors, m : int
        Number of misclassified examples, and of examples.
    leaves : int or None
        Number of leaves of the tree; None for a certificate from held-out rows.
    log_price : float
        Price of choosing the tree, in nats: the log growth function of all trees with that many
        leaves on the sample and its ghost, or the length of the message that encodes the tree;
        plus the share of ``delta`` of trees of this size. Sibling leaves with the same class
        count as one leaf.
    ghost : int
        Size of the ghost sample of the tail inversion.
    named_rows : int
        Number of training rows that determine the tree, in a compression certificate.
    folds : int
        Number of trees of which this one has the smallest bound, each at its share of ``delta``.
    assumptions : tuple of Assumption
        The assumptions, each checked or stated.
    declared_risk : float or None
        The risk if the categories found in the data had been declared beforehand; None if all
        of them were.
    constant_error : float or None
        Error of always predicting the most frequent class; None if not known.
    prediction : str or None
        What a tree of one leaf always predicts, as it is printed; None for larger trees.
    grouped : bool
        True if the bound is about a row drawn at random from a random group.
    note : str
        A sentence if rows that were used for fitting might not be noticed among these; else empty.
    """

    risk: float
    delta: float
    errors: int
    m: int
    leaves: int | None = None
    kind: CertificateKind = "training"
    method: Method = "tail inversion"
    log_price: float = 0.0
    ghost: int = 0
    named_rows: int = 0
    folds: int = 1
    assumptions: tuple[Assumption, ...] = ()
    declared_risk: float | None = None
    constant_error: float | None = None
    prediction: str | None = None
    grouped: bool = False
    note: str = ""
    # Computes the bounds of the classes.
    class_source: Callable[[], tuple[ClassBound, ...]] | None = field(default=None, compare=False)

    @property
    def training_error(self) -> float:
        """Share of misclassified examples among those the certificate was computed from."""
        return self.errors / self.m

    @property
    def confidence(self) -> float:
        """Probability that the bound holds."""
        return 1.0 - self.delta

    @property
    def vacuous(self) -> bool:
        """True if the bound is trivial: rounded up, as it is printed, it is 100.0 %."""
        return bound_percent(self.risk) == bound_percent(1.0)

    @property
    def by_class(self) -> tuple[ClassBound, ...]:
        """Bounds on the share of new cases of each class that are misclassified.

        They hold together with probability ``1 - delta``. Empty if they are not known.
        """
        return () if self.class_source is None else self.class_source()

    def of_tree(
        self, tree: Tree, class_source: Callable[[], tuple[ClassBound, ...]] | None
    ) -> Certificate:
        """Return a copy that names the prediction of one leaf and has bounds by class."""
        label = repr(tree.classes.tolist()[int(tree.label[0])]) if tree.n_leaves == 1 else None
        return replace(self, prediction=label, class_source=class_source)

    def about_groups(self) -> Certificate:
        """Return a copy about rows drawn at random from random groups."""
        return replace(self, grouped=True, assumptions=(*self.assumptions, _GROUPED))

    def as_dict(self) -> dict[str, Any]:
        """Return the figures and assumptions as plain values, without the bounds by class."""
        values = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name != "class_source"
        }
        assumptions = [
            {"text": assumption.text, "checked": assumption.checked}
            for assumption in self.assumptions
        ]
        return {**values, "assumptions": assumptions}

    def monitor(self, alpha: float = 0.01) -> Monitor:
        """Watch after deployment whether the error rate stays below the certified one.

        Parameters
        ----------
        alpha : float
            Probability that there is ever a false alarm, if the certificate holds; the classes
            that have a bound share it.
        """
        from treebound.certificate.monitor import error_monitor

        bounds = [(bound.label, bound.risk) for bound in self.by_class if bound.risk < 1.0]
        return error_monitor(self.risk, bounds, alpha=alpha)

    @property
    def useful(self) -> bool:
        """True if the bound is below the error of always predicting the most frequent class."""
        constant = 1.0 if self.constant_error is None else self.constant_error
        return not self.vacuous and self.risk < constant

    def __float__(self) -> float:
        return self.risk

    def __str__(self) -> str:
        return f"{self._sentence} {self.note}" if self.note else self._sentence

    def __repr__(self) -> str:
        return f"<Certificate: {self}>"

    def _repr_html_(self) -> str:
        return paragraphs(self.explain())

    @property
    def _sentence(self) -> str:
        size = count(self.leaves or 0, "leaf")
        if self.kind == "training":
            error = _percent(self.training_error)
            seen = f"{error} on the {self.m:,} training examples, {size}"
        elif self.kind == "prior":
            of = f"of the {self.m:,} training examples that do not define the prior"
            seen = f"{self.errors:,} {of} were, {size}"
        else:
            seen = f"{self.errors:,} of {self.m:,} held-out examples were"
        if self.vacuous:
            return f"Too few examples for a guarantee about new ones ({seen})."
        bound = (
            f"With probability {_percent(self.confidence, short=True)}, at most "
            f"{bound_percent(self.risk)} of new examples{ROW_OF_GROUP if self.grouped else ''} are "
            "misclassified"
        )
        if self.constant_error is None:
            return f"{bound} ({seen})."
        baseline = _percent(self.constant_error)
        if self.prediction is not None:
            right = _percent(1.0 - self.training_error)
            return (
                f"The tree has one leaf and always predicts {self.prediction} ({right} of these "
                f"examples). {bound} ({seen})."
            )
        if not self.useful:
            return (
                "This guarantees no more than always predicting the most frequent class, which is "
                f"wrong on {baseline} of these examples. {self._help} {bound} ({seen})."
            )
        return f"{bound} ({seen}; baseline {baseline})."

    @property
    def _help(self) -> str:
        """How to get a bound below the error of always predicting one class."""
        if self.constant_error is not None and self.errors / self.m >= self.constant_error:
            return "The tree itself is wrong at least as often: see the bounds of the classes."
        if self.kind == "training":
            return "A certificate from held-out rows, folds or a prior guarantees more."
        return "More rows would guarantee more."

    def explain(self, *, by_class: bool = True, proof: bool = True) -> str:
        """Describe the bound, how it was computed, and what it assumes.

        Parameters
        ----------
        by_class : bool
            Whether to list the bounds of the classes.
        proof : bool
            Whether to state what the proof of the bound uses.
        """
        worth = "Any risk up to 100 % is possible."
        if not self.vacuous:
            few = _percent(self.delta, short=True)
            worth = (
                f"This is a bound, not an estimate: expect fewer errors. At most {few} of all "
                "samples of this size give a wrong bound."
            )
        lines = [str(self), worth, f"Kind: {self.kind}."]
        if proof:
            method = self.method if self.kind == "training" else "the exact binomial bound"
            lines[-1] = f"Kind: {self.kind}, by {method}."
            lines.append(f"It rests on {self._grounds}.")
        lines.append(_SMALLER[self.kind])
        lines += self.class_lines() if by_class else []
        declared = None if self.declared_risk is None else bound_percent(self.declared_risk)
        if declared is not None and declared != bound_percent(self.risk):
            lines.append(f"Declaring the categories beforehand would have given {declared}.")
        if self.assumptions:
            lines.append("It holds only if all of this is true:")
            lines += [f"- {assumption}" for assumption in self.assumptions]
        return "\n".join(lines)

    def class_lines(self) -> list[str]:
        """Return the bounds of the classes in words."""
        bounds = self.by_class
        if not bounds:
            return []
        sure = _percent(self.confidence, short=True)
        head = (
            f"By class (all of these hold with probability {sure}, separately from the bound "
            "above):"
        )
        return [head, *(f"- {bound.sentence(grouped=self.grouped)}" for bound in bounds)]

    @property
    def _grounds(self) -> str:
        if self.kind == "held-out":
            return "rows that were not used for fitting"
        if self.kind == "folds":
            return (
                f"the best of {self.folds} trees, each tested on the rows it was not fitted on, at "
                f"delta / {self.folds}"
            )
        if self.kind == "prior":
            return (
                "a prior probability that some of the rows gave every tree, this one "
                f"{self.log_price:.1f} nats; the other {self.m:,} test it, and the bounds of all "
                "trees hold at once"
            )
        if self.method == "compression":
            return (
                f"{count(self.named_rows, 'training row')} and a message that encode the tree, at "
                f"{self.log_price:.1f} nats; the other rows test it"
            )
        return (
            "a bound for all trees of this size at once, at "
            f"{self.log_price:.1f} nats on the {self.m:,} examples and a ghost sample of "
            f"{self.ghost:,}, which only the proof needs"
        )

    def agrees_with(self, errors: int, m: int, *, delta: float = 0.01) -> bool:
        """Return True if errors on held-out examples are consistent with the certificate.

        Parameters
        ----------
        errors, m : int
            Number of misclassified examples among ``m`` new ones.
        delta : float
            Significance level of the test.

        Returns
        -------
        bool
            False if that many errors have a probability below ``delta`` at the certified risk:
            an assumption does not hold (or a rare event occurred).
        """
        from scipy.stats import binom

        return bool(binom.sf(errors - 1, m, min(self.risk, 1.0)) >= delta)


def errors_by_class(
    tree: Tree, counts: NDArray[Any] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of each class, and how many of them are misclassified where they come to rest.

    ``counts`` are those of rows at the nodes of the tree, by default its own. Rows may rest at an
    inner node (``handle_unknown="stop"``).
    """
    node_counts = np.asarray(tree.counts if counts is None else counts)
    wrong = tree.label[:, None] != np.arange(tree.n_classes)
    errors = (rows_at_rest(tree, node_counts) * wrong).sum(axis=0)
    return node_counts[0].round().astype(np.int64), errors.round().astype(np.int64)


def certify_counts(
    errors: int,
    m: int,
    delta: float = 0.05,
    *,
    comparison: RowComparison | None = None,
    constant_error: float | None = None,
) -> Certificate:
    """Return the certificate from held-out examples: the exact binomial (Clopper-Pearson) bound.

    ``comparison`` is that of these rows with the rows of fit, ``constant_error`` the share of these
    examples that are not of the most frequent class of training.
    """
    check("certify", {"delta": delta, "m": m, "errors": errors}, _HELD_OUT)
    assumptions = (
        Assumption("the held-out examples are independent draws, as the new ones will be", False),
        Assumption("these rows were not used for fitting", False),
        Assumption("nothing about the tree was chosen by looking at them", False),
        Assumption("every example and every error counts once, weighted or not", False),
    )
    risk = binomial_upper(m, errors, delta)
    return Certificate(
        risk,
        float(delta),
        int(errors),
        int(m),
        kind="held-out",
        method="binomial",
        assumptions=assumptions,
        constant_error=constant_error,
        note="" if comparison is None else comparison.note,
    )


def bound_percent(bound: float) -> str:
    """Return an upper bound on a share in percent, rounded up: what is printed holds too."""
    return f"{ceil(1000.0 * bound - 1e-6) / 10.0:.1f} %"


def _percent(share: float, *, short: bool = False) -> str:
    """A share in percent with one decimal, or in short form."""
    return f"{100 * share:.6g} %" if short else f"{100 * share:.1f} %"
