"""BoundTreeClassifier: grow, prune, predict, as scikit-learn expects it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import validate_data

from treebound._utils.progress import Report
from treebound._utils.validation import invalid, parameters_of
from treebound.data.frames import read_table
from treebound.data.roles import ColumnRoles
from treebound.data.sample import LabelledRows, RawRows
from treebound.data.streams import in_database, is_on_dask, is_stream
from treebound.data.targets import class_order
from treebound.estimators.base import TreeEstimator
from treebound.estimators.fitting import fit_table
from treebound.estimators.methods import ModelMethods
from treebound.estimators.not_in_memory import fit_elsewhere
from treebound.estimators.progress import Watch
from treebound.model import Model
from treebound.model.parameters import FitParameters, with_class_order

if TYPE_CHECKING:
    from treebound.estimators.abstaining import AbstainingClassifier
    from treebound.estimators.alternatives import Alternatives


@parameters_of(FitParameters)
class BoundTreeClassifier(
    ModelMethods, TreeEstimator[Model], ClassifierMixin, BaseEstimator, FitParameters
):
    """A decision tree that prunes itself with a generalization bound.

    One readable tree, grown best-first on real, ordinal and nominal columns as they are. It is
    pruned by a score from learning theory, with a weight that is chosen by five folds from 1,000
    rows on and fixed below.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, if the table has any.
    model_ : Model
        The fitted model: what was learned, without scikit-learn's interface.

    See Also
    --------
    treebound.from_sklearn : Import a scikit-learn tree.
    treebound.prune : Prune a fitted tree.

    Notes
    -----
    A missing value in a real or ordinal column goes to the side learned for it at each split; in a
    nominal column it is a category of its own. If no training value was missing, it goes to the
    larger child.

    ``get_params`` and ``set_params`` are those of scikit-learn.

    Rows of weight zero are dropped. If all sample weights are whole numbers, a row of weight two
    counts as two rows. Otherwise only the ratios of the weights matter: they are scaled to mean 1.

    A tie between the classes of a leaf goes to the first class in sorted order. Apart from that,
    the names of the classes change nothing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import treebound as tb
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = tb.BoundTreeClassifier().fit(X, y)
    >>> clf.n_leaves_, clf.grown_tree_.n_leaves
    (7, 9)
    >>> print(f"{clf.score(X, y):.2f}")
    0.99
    """

    # -- learning --------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        columns: Sequence[str] | None = None,
        verbose: int = 0,
        callback: Report | None = None,
        checkpoint: Any = None,
    ) -> Self:
        """Grow a tree and prune it.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            A data frame of any library that narwhals knows, an array, or nested lists; or a
            ``pyarrow.dataset.Dataset`` or a lazy polars frame, which are read batch by batch and
            never stored in memory as a whole; or a DuckDB, PySpark or Ibis relation, which stays in
            its database (:class:`treebound.engines.sql.Relation` has settings); or a Dask DataFrame
            or Array, which stays on its cluster.
        y : array-like of shape (n_rows,), or str
            The class of every row; of a table that is not in memory, the name of its column. On
            Dask, also a Series or an Array in the partitions of X. The categories of an ordered
            categorical (a polars Enum) are the order of the classes for ``monotonic_cst``.
        sample_weight : array-like of shape (n_rows,), or str, optional
            The weight of every row, or the name of its column, as for ``y``.
        groups : array-like of shape (n_rows,), or str, optional
            The group of every row, such as a patient with several rows, or the name of its column,
            as for ``y``. Folds and calibration rows never split a group. Rows of a group are not
            independent, so there is a certificate only with ``certificate="held-out"`` or
            ``"folds"``: it counts one row of each group. Rows that are not in memory have groups in
            a table of at most 10^7 values.
        columns : sequence of str, optional
            The columns to learn from, of a table that is read in batches; by default all others.
        verbose : int
            Print a line after every batch that is read, and every pass of growing.
        callback : callable, optional
            Called with a :class:`treebound.growing.Progress` at these times.
        checkpoint : str or path-like, optional
            A file in which the unfinished tree is saved after every round. If it exists, ``fit`` on
            the same rows goes on from it; it is removed when the tree is grown. With folds, the
            tree without the first fold has a file whose name ends in ``.fold1``, and so on.
        """
        watch = Watch.of(verbose, callback, checkpoint)
        parameters = with_class_order(self, class_order(X, y))
        if is_stream(X) or in_database(X) or is_on_dask(X):
            roles = ColumnRoles(y, sample_weight, groups, columns)
            return self._set_model(fit_elsewhere(parameters, X, roles, watch))
        if columns is not None:
            hint = "choose them before: X[columns]."
            raise invalid("columns", "fit", "None for a table in memory", columns, hint)
        rows = read_table(X)
        if y is None or not (type(X) is np.ndarray or rows.names):  # else there is nothing to find
            # a copy: what was fitted before stays if fitting fails
            validate_data(copy(self), X, y, skip_check_array=True)
        given = RawRows(rows, y, sample_weight, groups)
        return self._set_model(fit_table(parameters, given, watch))

    @classmethod
    def _of_model(cls, model: Model) -> Self:
        """A fitted classifier with the parameters of a model."""
        if model.abstention is not None:
            raise ValueError(
                "This model abstains on some cases. Hint: "
                "treebound.estimators.abstaining.AbstainingClassifier.load."
            )
        return cls(**model.provenance.parameters)._with_model(model)

    # -- prediction ------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """Predict the class of each row of a table.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            The columns of the training table, in memory or as :meth:`fit` takes them: a pyarrow
            dataset or a lazy polars frame is read in batches.

        Returns
        -------
        ndarray of shape (n_rows,)
            For a relation of a database, a lazy frame with the further column ``prediction``; for a
            Dask collection, a lazy collection.
        """
        return self._predict(X, "label", Model.predict)

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class for each row, smoothed by ``smoothing``.

        ``X`` is a table as for :meth:`predict`. The result has the shape (n_rows, n_classes); the
        classes are in the order of ``classes_``.
        """
        return self._predict(X, "proba", Model.predict_proba)

    def predict_log_proba(self, X: Any) -> Any:
        """Predict the log-probability of each class for each row, see :meth:`predict_proba`."""
        if in_database(X):
            raise TypeError(
                "A database gives no logarithms of probabilities. Hint: use predict_proba."
            )
        return self._predict(X, "proba", _log_proba)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on labelled rows.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            As for :meth:`predict`.
        y : array-like of shape (n_rows,), or str
            The labels; of a table that is not in memory, as for :meth:`fit`.
        sample_weight : array-like of shape (n_rows,), or str, optional
            The weight of every row, as for ``y``; not of a table that is read in batches.
        """
        if in_database(X):
            from treebound.engines.sql import accuracy_in_database

            return accuracy_in_database(self._fitted(), X, y, sample_weight)
        if is_on_dask(X):
            from treebound.engines.dask.table import accuracy_on_dask

            return accuracy_on_dask(self._fitted(), X, y, sample_weight)
        if is_stream(X) and sample_weight is not None:
            must = "None for a table that is read in batches"
            raise invalid("sample_weight", "score", must, type(sample_weight))
        return self._fitted().accuracy(self._rows(X), y, sample_weight, n_jobs=self.n_jobs)

    # -- other trees -----------------------------------------------------------------------

    @overload
    def abstain(
        self,
        X: Any = ...,
        y: Any = ...,
        *,
        max_risk: float,
        label: Any = ...,
        delta: Any = ...,
        groups: Any = ...,
    ) -> AbstainingClassifier: ...
    @overload
    def abstain(
        self, X: Any = ..., y: Any = ..., *, max_risk: Sequence[float], label: Any = ...,
        delta: Any = ..., groups: Any = ...,
    ) -> list[AbstainingClassifier]: ...  # fmt: skip
    def abstain(
        self,
        X: Any = None,
        y: Any = None,
        *,
        max_risk: float | Sequence[float],
        label: Any = None,
        delta: float | None = None,
        groups: Any = None,
    ) -> AbstainingClassifier | list[AbstainingClassifier]:
        """Return a classifier that abstains where the risk of a prediction has no small bound.

        The bounds of all sets of leaves hold at once, so ``max_risk`` may be chosen after looking,
        any number of times.

        Parameters
        ----------
        X, y : table and labels, optional
            Rows that were not used for fitting. By default the calibration rows of ``fit`` or, with
            ``certificate="prior"``, the rows that test its trees; of these trees the one that
            predicts most cases is kept.
        max_risk : float or sequence of float
            At most this share of the new cases that get a prediction is misclassified, with
            probability ``1 - delta``.
        label : object, optional
            What ``predict`` gives for the other cases, of the type of the classes; by default
            ``"abstain"``, or -1 if the classes are numbers.
        delta : float, optional
            Probability that a bound is wrong; by default 0.05.
        groups : array-like of shape (n_rows,), optional
            The group of each row, of which one is counted; required if ``fit`` had groups.

        Returns
        -------
        AbstainingClassifier
            A list of them for several values.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> import treebound as tb
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> clf = tb.BoundTreeClassifier(certificate="held-out").fit(X, y)
        >>> print(clf.abstain(max_risk=0.15).abstention_)
        With probability 95 %, at most 14.4 % of the predicted new cases are misclassified. 96.0 %
        of 150 rows get a prediction, 10 of them a wrong one; the tree abstains on the rest.
        """
        from treebound.estimators.abstaining import AbstainingClassifier
        from treebound.model.guarantees import abstain

        many = isinstance(max_risk, Sequence | np.ndarray)
        max_risks: Any = max_risk if many else [max_risk]
        models = abstain(
            self._fitted(), list(max_risks), X, y, label=label, delta=delta, groups=groups
        )
        classifiers = [AbstainingClassifier(model) for model in models]
        return classifiers if many else classifiers[0]

    def alternatives(
        self,
        X: Any,
        y: Any,
        *,
        k: int = 5,
        within: float = 0.01,
        without: str | None = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Alternatives:
        """Find up to k good trees that differ, to choose from: the fitted one and others.

        The others start with one of the best splits, as with ``search="wide"``. Each of them
        predicts other classes than those before it for at least 5 % of the rows, or avoids a column
        that the ones with closer predictions use; a near copy of that column is no difference. Of
        all trees that differ from those before it, each has the lowest score.

        Parameters
        ----------
        X, y : table and array-like
            The rows of ``fit``.
        k : int
            Maximum number of trees, with the fitted one.
        within : float
            How much larger the score of a tree may be than the lowest one, in nats per row.
        without : str, optional
            The name of a column. The result has two trees: the fitted one, and the best one that
            does not use this column, with the difference in error that folds estimate; with costs,
            the difference in mean cost.
        sample_weight, groups : array-like, optional
            The weights and groups of ``fit``.

        Returns
        -------
        Alternatives
            A sequence of models; ``print`` it for a table.

        Notes
        -----
        Training certificates hold for all trees at once. Certificates from calibration rows are
        computed at ``delta`` divided by the number of trees, so that they hold for all of these
        at once: one may be chosen by looking at them. The trees of another call, such as with
        another ``within``, share another ``delta``.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> import treebound as tb
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> clf = tb.BoundTreeClassifier(max_leaves=4).fit(X, y)
        >>> trees = clf.alternatives(X, y, k=3, within=0.02)
        >>> len(trees), [row["leaves"] for row in trees.table()]
        (3, [4, 4, 4])
        """
        from treebound.estimators.alternatives import find_alternatives

        model = self._fitted()
        rows = LabelledRows.of(X, y, sample_weight, groups)
        return find_alternatives(self, model, rows, k=k, within=within, without=without)


def _log_proba(model: Model, X: Any, n_jobs: int | None) -> NDArray[np.float64]:
    """Return the logarithms of the probabilities; minus infinity for zero."""
    with np.errstate(divide="ignore"):
        return np.log(model.predict_proba(X, n_jobs))
