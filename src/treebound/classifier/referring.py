"""A classifier that answers only where the risk can be promised, and refers the other cases."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from treebound._validation import invalid
from treebound.certificate import CertifiedTree
from treebound.certificate.referral import Referral, refer_by_prior, refer_by_rows
from treebound.classifier.methods import ModelMethods
from treebound.exchange import load
from treebound.model import Model

__all__ = ["Answered", "ReferringClassifier", "refer"]


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

    def __init__(self, model: Model) -> None:
        assert model.referral is not None
        self.model_, self.referral_, self.label_ = model, model.referral, model.referral.label
        self._answering = replace(model, tree=model.referral.tree, referral=None)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model written by :meth:`save`.

        Parameters
        ----------
        path : str or path-like
            The file to read.

        Returns
        -------
        ReferringClassifier
        """
        model = load(path)
        if model.referral is None:
            raise ValueError("This model answers every case. Hint: BoundTreeClassifier.load.")
        return cls(model)

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


def refer(
    model: Model,
    max_risk: float,
    X: Any = None,
    y: Any = None,
    *,
    label: Any = None,
    delta: float | None = None,
) -> Model:
    """The model that answers only where the risk of an answered case can be promised."""
    if model.referral is not None:
        raise ValueError("This tree refers already. Hint: refer with the tree that was fitted.")
    answer = refer_label(model.classes, label)
    referral = _referral(model, max_risk, X, y, model.delta if delta is None else delta)
    return refer_model(model, replace(referral, label=answer))


def _referral(model: Model, max_risk: float, X: Any, y: Any, level: float) -> Referral:
    """The leaves that answer: by the rows that fit held out, by others, or by the prior."""
    if X is not None:
        return _by_other_rows(model, max_risk, X, y, level)
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
        raise ValueError(
            "The held-out rows were counted on the grown tree; this tree has raised subtrees. "
            "Hint: give rows that took no part in fitting: refer(X, y, max_risk=...)."
        )
    counts, shares = tested
    referral = refer_by_rows(model.tree, counts, model.held_out.m, max_risk, level / shares)
    return replace(referral, delta=level)


def _by_other_rows(model: Model, max_risk: float, X: Any, y: Any, delta: float) -> Referral:
    """From rows that must not have had a part in fitting."""
    counts, seen = model.tested(X, y)
    if seen.significant:
        raise ValueError(
            f"{seen.matches:,} of {seen.comparable:,} rows took part in fitting: they are "
            f"{seen.roles}. Hint: refer needs rows that did not."
        )
    return refer_by_rows(model.tree, counts, int(counts.sum()), max_risk, delta)


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


def refer_model(model: Model, referral: Referral) -> Model:
    """The model of the tree with the label of referral as one more class."""
    return replace(
        model,
        tree=referral.shown_tree(),
        referral=referral,
        pruning=None,
        step=None,
        held_out=None,
        proof=None,
        frontier=None,
        row_counts=None,
        no_certificate=f"The tree answers only some cases. {referral}",
    )
