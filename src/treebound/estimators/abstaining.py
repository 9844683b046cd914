"""A classifier that abstains where the risk of a prediction has no small bound."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from treebound.estimators.methods import ModelMethods
from treebound.model import Model


class SelectiveRisk(NamedTuple):
    """Error rate among the rows with a prediction, and their share of all rows."""

    risk: float
    coverage: float


class AbstainingClassifier(ModelMethods):
    """A tree that predicts in some leaves and abstains elsewhere; made by ``clf.abstain``.

    Exports and figures show the label of abstention in the leaves that abstain.

    Attributes
    ----------
    abstention_ : Abstention
        The bound on the risk, and the leaves that predict.
    label_ : object
        What ``predict`` gives for a row on which the tree abstains.
    model_ : Model
        The tree with the label of abstention as one more class.
    """

    def __init__(self, model: Model) -> None:
        assert model.abstention is not None
        self.model_, self.abstention_ = model, model.abstention
        self.label_ = model.abstention.label
        self._predicting = model.always_predicting

    @classmethod
    def _of_model(cls, model: Model) -> Self:
        if model.abstention is None:
            raise ValueError("This model never abstains. Hint: BoundTreeClassifier.load.")
        return cls(model)

    def __repr__(self) -> str:
        return f"<AbstainingClassifier: {self.abstention_}>"

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, without the label of abstention."""
        return self.abstention_.tree.classes

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row, or the label of abstention.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            The columns of the training table.
        """
        return self.model_.predict(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each class, also of rows on which the tree abstains.

        ``X`` is a table as for :meth:`predict`. The result has the shape (n_rows, n_classes).
        """
        return self._predicting.predict_proba(X)

    def selective_risk(self, X: Any, y: Any) -> SelectiveRisk:
        """Compute the error rate among the rows that get a prediction, and their share.

        Parameters
        ----------
        X, y : table and labels
            Rows that were not used for fitting.

        Returns
        -------
        SelectiveRisk
            ``risk`` is NaN if no row gets a prediction.
        """
        labels, true = self.predict(X), np.asarray(y)
        predicted = labels != self.label_
        wrong = float(np.mean(labels[predicted] != true[predicted])) if predicted.any() else np.nan
        return SelectiveRisk(wrong, float(predicted.mean()))

    def score(self, X: Any, y: Any) -> NoReturn:
        """Refuse: a classifier that abstains has no accuracy."""
        raise ValueError(
            "A classifier that abstains has no accuracy. Hint: selective_risk(X, y) gives the "
            "error rate among the rows with a prediction, and their share."
        )

    def to_sklearn(self, *args: Any, **options: Any) -> NoReturn:
        """Refuse: a scikit-learn tree cannot abstain."""
        raise ValueError(
            "A scikit-learn tree predicts every case. Hint: export the classifier that abstain was "
            "called on."
        )
