"""A classifier that answers only where the risk can be promised, and refers the other cases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from treebound._validation import invalid
from treebound.certificate import CertifiedTree, RowsSeen, counts_at
from treebound.certificate.referral import Referral, refer_by_prior, refer_by_rows
from treebound.classifier.methods import ModelMethods
from treebound.model import Model
from treebound.tree.model import Tree

__all__ = ["Answered", "ReferringClassifier", "refer_model", "referral_of"]


class Answered(NamedTuple):
    """Risk of the answered rows, and the share of rows that are answered."""

    risk: float
    share: float


class ReferringClassifier(ModelMethods):
    """A tree that answers in some leaves and refers elsewhere; made by ``clf.refer``.

    Exports and figures show the label of referral in the leaves that do not answer.

    Attributes
    ----------
    classes_ : ndarray
        The classes of the classifier; the label of referral is not one of them.
    referral_ : Referral
        The promise, and the leaves that answer.
    label_ : object
        What ``predict`` gives for a referred row.
    model_ : Model
        The tree with the label of referral as one more class.
    """

    def __init__(self, model: Model, referral: Referral, label: Any = None) -> None:
        self._answering = replace(model, tree=referral.tree)
        self.referral_ = referral
        self.label_ = refer_label(model.classes, label)
        self.model_ = refer_model(model, referral, self.label_)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, without the label of referral."""
        return self._answering.classes

    def __repr__(self) -> str:
        return f"<ReferringClassifier: {self.referral_}>"

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row, or the label of referral.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            The columns of the training table.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self.model_.predict(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each class, of referred rows too.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            The columns of the training table.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self._answering.predict_proba(X)

    def score_answered(self, X: Any, y: Any) -> Answered:
        """The risk on the rows that are answered, and their share.

        Parameters
        ----------
        X, y : table and labels
            Rows that had no part in fitting.

        Returns
        -------
        Answered
            ``risk`` is NaN if no row is answered.
        """
        answers, true = self.predict(X), np.asarray(y)
        answered = answers != self.label_
        wrong = float(np.mean(answers[answered] != true[answered])) if answered.any() else np.nan
        return Answered(wrong, float(answered.mean()))

    def score(self, X: Any, y: Any) -> NoReturn:
        """Refused: the accuracy says nothing about a classifier that does not always answer."""
        raise ValueError(
            "A classifier that refers has no accuracy. Hint: score_answered(X, y) gives the risk "
            "of the answered rows and their share."
        )

    def to_sklearn(self, *args: Any, **options: Any) -> NoReturn:
        """Refused: a tree of scikit-learn cannot refer."""
        raise ValueError(
            "A tree of scikit-learn answers every case. Hint: export the classifier that refer was "
            "called on."
        )


def referral_of(
    model: Model, max_risk: float, X: Any = None, y: Any = None, *, delta: float | None = None
) -> Referral:
    """The leaves that answer: by the rows that fit held out, by others, or by the prior."""
    level = model.delta if delta is None else delta
    if X is not None:
        return _by_other_rows(model, max_risk, X, y, level)
    if model.proof is not None:
        own = [CertifiedTree(model.tree, model.proof, model.proof.risk(level))]
        whole = model.frontier is not None and model.step is None
        return refer_by_prior(model.frontier if whole else own, max_risk, level)
    if model.held_out is None:
        raise ValueError(
            "refer needs rows that took no part in fitting. Hint: fit with certify='held-out', "
            "'folds' or 'prior', or give such rows: refer(X, y, max_risk=...)."
        )
    path, shares = model.path, model.held_out.folds
    counts: NDArray[np.int64] | None = model.held_out.counts
    if path is not None:
        step = path.chosen if model.step is None else model.step
        shares *= 1 if step == path.chosen else path.n_considered
        counts = counts_at(path, step, model.held_out.counts)
    if counts is None:
        raise ValueError(
            "The held-out rows were counted on the grown tree; this tree has raised subtrees. "
            "Hint: give rows that took no part in fitting: refer(X, y, max_risk=...)."
        )
    referral = refer_by_rows(model.tree, counts, model.held_out.m, max_risk, level / shares)
    return replace(referral, delta=level)


def _by_other_rows(model: Model, max_risk: float, X: Any, y: Any, delta: float) -> Referral:
    """From rows that must not have had a part in fitting."""
    seen = RowsSeen() if model.rows is None else model.rows.recognise(model.hashes(X, y))
    if seen.significant:
        raise ValueError(
            f"{seen.matches:,} of {seen.comparable:,} rows took part in fitting: they are "
            f"{seen.roles}. Hint: refer needs rows that did not."
        )
    sample = model.read_test(X, y)
    counts, _ = model.tree.counts_on(sample)
    return refer_by_rows(model.tree, counts.astype(np.int64), sample.n_rows, max_risk, delta)


def refer_label(classes: NDArray[Any], label: Any = None) -> Any:
    """The label of referral: of the type of the classes and none of them."""
    text = classes.dtype.kind in "UOT"
    label = ("refer" if text else -1) if label is None else label
    kinds: dict[str, tuple[type, ...]] = {"i": (int,), "u": (int,), "f": (int, float)}
    wanted = (str,) if text else kinds.get(classes.dtype.kind, ())
    if not isinstance(label, wanted) or isinstance(label, bool) or label in classes.tolist():
        must = f"a label of the type of the classes ({classes.dtype}) that is none of them"
        raise invalid("label", "refer", must, label)
    return label


def refer_model(model: Model, referral: Referral, label: Any) -> Model:
    """The model of the tree with the label of referral as one more class."""
    tree = with_refer(referral.tree, referral.answers, label)
    return replace(
        model,
        tree=tree,
        pruning=None,
        step=None,
        held_out=None,
        proof=None,
        frontier=None,
        row_counts=None,
        no_certificate=f"The tree answers only some cases. {referral}",
    )


def with_refer(tree: Tree, answers: NDArray[np.bool_], label: Any) -> Tree:
    """The tree with one more class, which the nodes that do not answer have."""
    classes = np.concatenate([tree.classes, np.array([label], dtype=_dtype(tree.classes))])
    order = np.argsort(classes)
    code = np.argsort(order)  # where each class, and last the new one, has gone
    counts = np.zeros((tree.n_nodes, len(classes)))
    counts[:, code[:-1]] = tree.counts
    factors = tree.factors
    if factors is not None:
        factors = np.ones(len(classes))
        factors[code[:-1]] = tree.factors
    labels = np.where(answers, code[tree.label], code[-1])
    return replace(
        tree, classes=classes[order], counts=counts, label=labels, names=None, factors=factors
    )


def _dtype(classes: NDArray[Any]) -> Any:
    """The type of a label beside these classes; text may be longer."""
    return None if classes.dtype.kind == "U" else classes.dtype
