"""A classifier that answers only where the risk can be promised, and refers the other cases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from treebound._utils.validation import parameters_of
from treebound.estimators.methods import ModelMethods
from treebound.model import Model


class Answered(NamedTuple):
    """Risk of the answered rows, and the share of rows that are answered."""

    risk: float
    share: float


class ReferringClassifier(ModelMethods):
    """A tree that answers in some leaves and refers elsewhere; made by ``clf.refer``.

    Exports and figures show the label of referral in the leaves that do not answer.

    Attributes
    ----------
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
    def _of_model(cls, model: Model) -> Self:
        if model.referral is None:
            raise ValueError("This model answers every case. Hint: BoundTreeClassifier.load.")
        return cls(model)

    def __repr__(self) -> str:
        return f"<ReferringClassifier: {self.referral_}>"

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, without the label of referral."""
        return self.referral_.tree.classes

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

    @parameters_of(predict)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each class, of referred rows too.

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
