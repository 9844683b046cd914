"""The certificate: a bound on the risk of a tree, and its assumptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import log
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from treebound._validation import Constraint, Number, Whole, check, invalid
from treebound.bounds import log_growth_leaves, tail_inversion
from treebound.bounds.compression import log_message_weight
from treebound.bounds.risk import binomial_upper, log_leaves_prior, risk_upper
from treebound.data import Column
from treebound.landscape import Landscape
from treebound.pruning import merge_equal_leaves
from treebound.pruning.path import count
from treebound.tree.model import Tree
from treebound.tree.naming import needs_name

if TYPE_CHECKING:
    from treebound.certificate.by_class import ClassLimit
    from treebound.certificate.monitor import Monitor
    from treebound.certificate.row_record import RowsSeen

__all__ = [
    "Assumption",
    "CLASSES_AS_FOUND",
    "Certificate",
    "CertificateKind",
    "KINDS",
    "KINDS_AS_FOUND",
    "certify_counts",
    "certify_tree",
    "reason_against",
]

# What a certificate is computed from, in the words of ``certify=``, ``kind=`` and its ``kind``.
CertificateKind = Literal["training", "held-out", "folds", "prior"]
KINDS: tuple[CertificateKind, ...] = get_args(CertificateKind)
Method = Literal["tail inversion", "compression", "binomial"]
# Size of the ghost sample relative to the training sample; fixed beforehand.
GHOST = 4
CLASSES_AS_FOUND = "the set of classes was taken from the training examples: there are no others"
KINDS_AS_FOUND = "the kind of each column was taken from all rows: more rows would not change it"
# Two fits, each with a limit that fails with probability delta, fail together more often.
CHOSEN_ONCE = (
    "fit was not repeated with other 'thresholds', 'certify' or 'delta' to keep the smaller limit"
)
_DELTA: dict[str, Constraint] = {"delta": Number(0.0, 1.0, open=True)}
_HELD_OUT = {**_DELTA, "m": Whole(1), "errors": Whole(0)}


@dataclass(frozen=True)
class Assumption:
    """An assumption of the certificate, and whether it was checked."""

    text: str
    checked: bool

    def __str__(self) -> str:
        return f"{self.text} ({'checked' if self.checked else 'stated'})"


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
        training rows that determine the tree, or by the exact binomial limit.
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
        Number of trees of which this one has the smallest limit, each at its share of ``delta``.
    assumptions : tuple of Assumption
        The assumptions, each checked or stated.
    declared_risk : float or None
        The risk if the categories found in the data had been declared beforehand; None if all
        of them were.
    constant_error : float or None
        Error of always predicting the most frequent class; None if not known.
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
        """Whether the bound is trivial: it rounds to 100.0 %."""
        return self.risk >= 0.9995

    @cached_property
    def by_class(self) -> tuple[ClassLimit, ...]:
        """For each class a limit on the share of its new cases that are missed.

        They hold together with probability ``1 - delta``. Empty if they are not known.
        """
        source = vars(self).get("_class_limits")
        return () if source is None else source()

    def with_class_limits(self, source: Callable[[], tuple[ClassLimit, ...]]) -> Certificate:
        """A copy that computes its limits by class when they are asked for."""
        other = replace(self)
        vars(other)["_class_limits"] = source
        return other

    def monitor(self, alpha: float = 0.01) -> Monitor:
        """Watch after deployment whether the error rate stays below the certified one.

        Parameters
        ----------
        alpha : float
            Probability that there is ever a false alarm, if the certificate holds; the classes
            that have a limit share it.

        Returns
        -------
        Monitor
        """
        from treebound.certificate.monitor import error_monitor

        limits = [(one.label, one.risk) for one in self.by_class if one.risk < 1.0]
        return error_monitor(self.risk, limits, alpha=alpha)

    @property
    def useful(self) -> bool:
        """Whether the bound is below the error of always predicting the most frequent class."""
        constant = 1.0 if self.constant_error is None else self.constant_error
        return not self.vacuous and self.risk < constant

    def __float__(self) -> float:
        return self.risk

    def __str__(self) -> str:
        if self.kind in ("held-out", "folds"):
            seen = f"{self.errors:,} of {self.m:,} held-out examples were"
        elif self.kind == "prior":
            size = count(self.leaves or 0, "leaf")
            seen = (
                f"{self.errors:,} of the {self.m:,} training examples beside the prior were, {size}"
            )
        else:
            error, size = _percent(self.training_error), count(self.leaves or 0, "leaf")
            seen = f"{error} on the {self.m:,} training examples, {size}"
        if self.vacuous:
            return f"Too few examples to promise anything about new ones ({seen})."
        limit = (
            f"With probability {_percent(self.confidence, short=True)}, at most "
            f"{_percent(self.risk)} of new examples are misclassified"
        )
        if self.constant_error is None:
            return f"{limit} ({seen})."
        baseline = _percent(self.constant_error)
        if self.leaves == 1:
            return f"The tree has one leaf and always gives the same answer. {limit} ({seen})."
        if not self.useful:
            return (
                "This promises no more than always answering the most frequent class, which is "
                f"wrong on {baseline} of these examples. {self._help} {limit} ({seen})."
            )
        return f"{limit} ({seen}; always the most frequent class: {baseline})."

    @property
    def _help(self) -> str:
        """What would give a limit below the error of always predicting one class."""
        if self.constant_error is not None and self.errors / self.m >= self.constant_error:
            return "The tree is wrong as often itself: look at the limits of the classes."
        if self.kind == "training":
            return "A certificate from held-out rows, folds or a prior promises more."
        return "More rows would promise more."

    def explain(self, *, by_class: bool = True) -> str:
        """Describe the bound, how it was computed, and what it assumes.

        Parameters
        ----------
        by_class : bool
            Whether to list the limits of the classes.

        Returns
        -------
        str
        """
        lines = [str(self), *self._worth(), self._how(), self._smaller()]
        lines += self.class_lines() if by_class else []
        if self.declared_risk is not None:
            lines.append(
                "Declaring the categories beforehand would have given "
                f"{_percent(self.declared_risk)}."
            )
        if self.assumptions:
            lines.append("It holds only if all of this is true:")
            lines += [f"- {one}" for one in self.assumptions]
        return "\n".join(lines)

    def class_lines(self) -> list[str]:
        """The limits of the classes in words."""
        if not self.by_class:
            return []
        sure, both = (_percent(1.0 - k * self.delta, short=True) for k in (1, 2))
        head = f"By class, all together with probability {sure}, with the limit above {both}:"
        return [head, *(f"- {limit}" for limit in self.by_class)]

    def _worth(self) -> Iterator[str]:
        """What the bound means, and whether it is useful."""
        if self.vacuous:
            yield "Any risk up to 100 % is possible."
            return
        yield (
            "This is a limit, not an estimate: expect fewer errors. At most "
            f"{_percent(self.delta, short=True)} of all samples of this size give a wrong limit."
        )

    def _smaller(self) -> str:
        """What would make the limit smaller."""
        if self.kind == "training":
            return "certify='folds' or certify='prior' usually gives a much smaller limit."
        if self.kind == "prior":
            return "A tree with fewer leaves or more examples would make it smaller."
        return "More held-out examples would make it smaller."

    def _how(self) -> str:
        if self.kind == "held-out":
            return "Kind: held-out. The tree was not fitted on these rows (exact binomial limit)."
        if self.kind == "folds":
            return (
                f"Kind: folds. The best of {self.folds} trees, each tested on the rows it was not "
                f"fitted on (exact binomial limit at delta / {self.folds})."
            )
        if self.kind == "prior":
            return (
                "Kind: prior. Some of the rows gave every tree a prior probability, this one "
                f"{self.log_price:.1f} nats; the other {self.m:,} test it. The limits of all trees "
                "hold at once."
            )
        if self.method == "compression":
            return (
                "Kind: training, by compression. "
                f"{count(self.named_rows, 'training row')} and a message encode the tree, at "
                f"{self.log_price:.1f} nats; the other rows test it."
            )
        return (
            "Kind: training, by tail inversion. It holds for all trees of this size at once, at "
            f"{self.log_price:.1f} nats on the {self.m:,} examples and a ghost sample of "
            f"{self.ghost:,}, which only the proof needs."
        )

    def agrees_with(self, errors: int, m: int, *, delta: float = 0.01) -> bool:
        """Whether errors on held-out examples are consistent with the certificate.

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


def certify_tree(
    tree: Tree,
    *,
    errors: int | None = None,
    row_counts: NDArray[np.int64] | None = None,
    landscape: Landscape | None = None,
    delta: float = 0.05,
    unknown: str = "other",
) -> Certificate:
    """The smallest certificate of a tree from its training rows.

    By hypergeometric tail inversion over all trees with as many leaves, and by compression if
    the rows that name the splits are known (``thresholds="observed"``).

    Parameters
    ----------
    tree : Tree
        A tree with the counts of its training rows.
    errors : int, optional
        Training errors; by default those of the tree.
    row_counts : ndarray of int64, shape (n_nodes, n_classes), optional
        Training rows of each class at each node, if the rows were weighted: the bound holds
        however the tree was chosen, and counts every row once.
    landscape : Landscape, optional
        The features to split on; by default those of the columns, where undeclared categories
        count as unbounded.
    delta : float
        Probability that the bound fails.
    unknown : str
        Policy for unknown categories; see `BoundTreeClassifier`.

    Returns
    -------
    Certificate

    Raises
    ------
    ValueError
        If the tree has no certificate; the message says why.
    """
    check("certify", {"delta": delta}, _DELTA)
    reason = reason_against(tree, row_counts)
    if reason:
        raise ValueError(f"There is no certificate for this tree. {reason}")
    m = int(tree.rows[0])
    class_rows, class_errors = errors_by_class(tree, row_counts)
    wrong = int(class_errors.sum()) if errors is None else errors
    check("certify", {"errors": wrong}, {"errors": Whole(0)})
    if wrong > m:
        raise invalid("errors", "certify", f"at most {m}, the number of training rows", wrong)
    least = _least(merge_equal_leaves(tree), wrong, landscape, delta)
    if landscape is None and any(map(_undeclared, tree.columns)):
        columns = tuple(replace(one, declared=one.kind != "real") for one in tree.columns)
        declared = _least(merge_equal_leaves(replace(tree, columns=columns)), wrong, None, delta)
        least = replace(least, declared_risk=declared.risk)
    certificate = replace(
        least,
        delta=float(delta),
        leaves=tree.n_leaves,
        assumptions=tuple(_assumptions(tree, least.method, landscape is not None, unknown)),
        constant_error=1.0 - float(class_rows.max()) / m,
    )
    from treebound.certificate.by_class import by_class_training

    return certificate.with_class_limits(
        partial(by_class_training, tree, class_rows, class_errors, float(delta), landscape)
    )


def errors_by_class(
    tree: Tree, counts: NDArray[Any] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of each class, and how many of them are misclassified where they come to rest.

    ``counts`` are those of rows at the nodes of the tree, by default its own. Rows may rest at an
    inner node (``unknown="stop"``).
    """
    own = np.asarray(tree.counts if counts is None else counts)
    wrong = tree.label[:, None] != np.arange(tree.n_classes)
    errors = (rows_at_rest(tree, own) * wrong).sum(axis=0)
    return own[0].round().astype(np.int64), errors.round().astype(np.int64)


def rows_at_rest(tree: Tree, counts: NDArray[Any]) -> NDArray[Any]:
    """The rows that end at each node, of those that come to it."""
    rest, inner = np.array(counts), ~tree.is_leaf
    rest[inner] -= rest[tree.left[inner]] + rest[tree.right[inner]]
    return rest


def reason_against(tree: Tree, row_counts: NDArray[np.int64] | None = None) -> str:
    """Why a tree has no certificate; empty if it can have one."""
    if tree.weighted and row_counts is None:
        return (
            "The examples were weighted, and their number in each class is not known. Hint: give "
            "the training rows."
        )
    if not tree.counted:
        return (
            "Subtrees were moved and not counted again. Hint: give the training rows, so that "
            "they can be counted."
        )
    return "" if tree.rows[0] > 0 else "The tree has no training examples."


def certify_counts(
    errors: int,
    m: int,
    delta: float = 0.05,
    *,
    seen: RowsSeen | None = None,
    constant_error: float | None = None,
) -> Certificate:
    """The certificate from held-out examples: the exact binomial (Clopper-Pearson) limit.

    ``seen`` tells whether the rows were compared with those of ``fit``, ``constant_error`` is the
    share of these examples that are not of the most frequent class of training.
    """
    check("certify", {"delta": delta, "m": m, "errors": errors}, _HELD_OUT)
    checked = seen is not None and seen.checked and not seen.significant
    part = "these rows took no part in fitting"
    assumptions = (
        Assumption("the held-out examples are independent draws, as the new ones will be", False),
        Assumption(part if seen is None else f"{part}{seen.remark}", checked),
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
    )


# -- the parts -------------------------------------------------------------------------------------


def _least(tree: Tree, errors: int, landscape: Landscape | None, delta: float) -> Certificate:
    """The smallest of the certificates that hold simultaneously.

    If thresholds are training values there are two, and each gets half of delta. This holds even
    if subtrees were raised and rows no longer determine the tree: whether they do depends on the
    data, and the share of delta must not.
    """
    if tree.names is None or landscape is not None:
        return _by_tail_inversion(tree, errors, landscape, delta)
    kinds = [_by_tail_inversion(tree, errors, None, delta / 2.0)]
    if (tree.names[needs_name(tree)] >= 0).all():
        kinds.append(_by_compression(tree, errors, delta / 2.0))
    return min(kinds, key=lambda one: one.risk)


def _by_tail_inversion(
    tree: Tree, errors: int, landscape: Landscape | None, delta: float
) -> Certificate:
    """Hypergeometric tail inversion over all trees with as many leaves."""
    m, leaves = int(tree.rows[0]), tree.n_leaves
    ghost = GHOST * m
    features = tree.landscape if landscape is None else landscape
    log_prior = float(log_leaves_prior(leaves))
    log_tau = log_growth_leaves(leaves, m + ghost, tree.n_classes, features)
    risk = tail_inversion(
        m, errors, lambda _: log_tau, delta=delta, ghost=ghost, log_prior=log_prior
    )
    return Certificate(risk, delta, errors, m, log_price=log_tau - log_prior, ghost=ghost)


def _by_compression(tree: Tree, errors: int, delta: float) -> Certificate:
    """The compression bound of a tree whose splits are named by training rows."""
    assert tree.names is not None
    m = int(tree.rows[0])
    named = needs_name(tree)
    rows = len(np.unique(tree.names[named]))
    price = log_message_weight(
        m, tree.n_leaves, tree.n_classes, len(tree.columns), _log_splits(tree, named),
        int(named.sum()), rows,
    )  # fmt: skip
    risk = risk_upper(m - rows, errors, log(delta) - price)
    return Certificate(
        risk, delta, errors, m, method="compression", log_price=price, named_rows=rows
    )


def _log_splits(tree: Tree, named: NDArray[np.bool_]) -> float:
    """Log of the number of possible splits given their columns and rows."""
    # number of names in the subtree of each node
    below = np.concatenate([[0], np.cumsum(named)])
    inside = below[np.arange(tree.n_nodes) + tree.size] - below[:-1]
    total = 0.0
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        column = tree.columns[tree.feature[node]]
        if column.kind == "nominal" and not column.declared:
            # the category is one of those that occur as often among the names
            total += log(int(inside[node]) // (int(inside[tree.left[node]]) + 1))
        else:
            total += log(_ways(column))
    return total


def _ways(column: Column) -> int:
    """Number of different splits of a column, given the row that names a threshold."""
    size = len(column.categories or ())
    if column.kind == "nominal":
        # with two categories, the second is the first with the children swapped
        return 1 if size + column.missing == 2 else size + column.missing
    thresholds = max(size - 1, 1) if column.declared else 1
    # missing goes left or right at each threshold, or is separated from all present values
    return 2 * thresholds + 1 if column.missing else thresholds


def _assumptions(tree: Tree, method: Method, given: bool, unknown: str) -> Iterator[Assumption]:
    if tree.weighted:
        text = "errors are counted by rows, each once: the limit is about new rows without weights"
        yield Assumption(text, True)
    else:
        yield Assumption("every example counts once: there are no weights", True)
    yield Assumption("splits are thresholds and comparisons with one category", True)
    if method == "compression":
        yield Assumption("every threshold is the value of a training example", True)
    yield Assumption("the examples are independent draws, as the new ones will be", False)
    yield Assumption("all errors cost the same", False)
    yield Assumption(CHOSEN_ONCE, False)
    yield Assumption("no preprocessing of the columns used the classes", False)
    yield Assumption(CLASSES_AS_FOUND, False)
    if any(not one.missing for one in tree.columns):
        text = "values are missing only in columns that have missing training values"
        yield Assumption(text, False)
    if given:
        yield Assumption("the landscape given was known before the data were seen", False)
        return
    undeclared = list(filter(_undeclared, tree.columns))
    if undeclared:
        yield Assumption(f"categories not declared count as unbounded: {_named(undeclared)}", True)
    declared = [one for one in tree.columns if one.kind != "real" and one.declared]
    if declared:
        text = "were declared before the data were seen, and there are no others"
        yield Assumption(f"the categories of {_named(declared)} {text}", False)
    yield from new_categories(tree, unknown)


def new_categories(tree: Tree, unknown: str) -> Iterator[Assumption]:
    """Columns where a category that is new would not be covered."""
    # In the theory no split sends an unknown category to the side of a known one.
    undeclared = filter(_undeclared, tree.columns)
    new = [one for one in undeclared if unknown != "other" or one.kind == "ordinal"]
    if new:
        yield Assumption(f"no category is new: {_named(new)}", False)


def _undeclared(column: Column) -> bool:
    return column.kind != "real" and not column.declared


def _named(columns: list[Column]) -> str:
    names = ", ".join(repr(one.name) for one in columns[:5])
    return f"columns {names}{' and others' if len(columns) > 5 else ''}"


def _percent(share: float, *, short: bool = False) -> str:
    """A share in percent with one decimal, or in short form."""
    text = f"{100 * share:.1f}"
    if short:
        text = f"{100 * share:.6g}"
    return f"{text} %"
