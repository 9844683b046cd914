"""BoundTreeRegressor: grow, prune and predict numbers, as scikit-learn expects it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from treebound._utils.validation import invalid, parameters_of
from treebound.certificate.number_certificate import NumberCertificate
from treebound.data.frames import read_table
from treebound.data.roles import ColumnRoles
from treebound.data.sample import RawRows
from treebound.data.streams import in_database, is_on_dask, is_stream
from treebound.data.weights import check_rows
from treebound.estimators.base import OF_SKLEARN, TreeEstimator
from treebound.estimators.number_fitting import fit_numbers
from treebound.estimators.numbers_elsewhere import fit_numbers_elsewhere
from treebound.estimators.numbers_in_database import fit_number_relation
from treebound.exchange import load_regression, to_sklearn, write_predictions
from treebound.model import RegressionModel
from treebound.model.number_estimate import NumberEstimate
from treebound.model.number_evidence import NumberSizeEstimate
from treebound.model.regression_parameters import RegressionParameters
from treebound.pruning import PruningPath, PruningResult
from treebound.pruning.number_choice import NumberChoice
from treebound.show import NumberExplanation, explain, to_html
from treebound.tree.regression import RegressionTree

_BY_CLASSIFIERS = "only BoundTreeClassifier has it."
# Attributes of the classifier, and what replaces them.
_OF_CLASSES = {
    "abstain": "it is not offered for numbers; predict_interval shows uncertain predictions.",
    "alternatives": _BY_CLASSIFIERS,
    "certify_cost": "certify with y_range bounds the mean absolute error.",
    "classes_": "a number has no classes.",
    "frontier_": _BY_CLASSIFIERS,
    "predict_proba": "use predict_interval.",
    "search_": "growth of numbers is greedy.",
}


@parameters_of(RegressionParameters)
class BoundTreeRegressor(
    TreeEstimator[RegressionModel], RegressorMixin, BaseEstimator, RegressionParameters
):
    """A regression tree that prunes itself with a score from learning theory.

    One readable tree, grown best-first by squared error on real, ordinal and nominal columns as
    they are. Five folds choose its size, the minimum number of rows in a leaf and how strongly leaf
    values are shrunk.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        See :class:`treebound.BoundTreeClassifier`.
    model_ : RegressionModel
        The fitted model: what was learned, without scikit-learn's interface.

    See Also
    --------
    treebound.BoundTreeClassifier : The same for classes.

    Notes
    -----
    Numbers become integers, exactly if they are decimals of few digits, so that the tree does not
    depend on the order of the rows. Missing values, weights and ties between splits are treated as
    by the classifier. In a table of more than 10^7 values, a tenth of the rows is not grown on and
    chooses the size, with leaves of at least 5 rows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import treebound as tb
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> reg = tb.BoundTreeRegressor(max_leaves=3).fit(X, y)
    >>> print(reg.to_text())
    s5 <= -0.004: 111.8 (218 rows)
    s5 > -0.004
    |   bmi <= 0.015: 164.9 (116 rows)
    |   bmi > 0.015: 219.9 (108 rows)
    >>> print(reg.estimate_.rmse)
    64.64 ± 3
    """

    _instead = OF_SKLEARN | _OF_CLASSES

    def _fitted(self) -> RegressionModel:
        check_is_fitted(self, "model_")
        return self.model_

    # -- learning --------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        columns: Sequence[str] | None = None,
    ) -> Self:
        """Grow a tree and prune it.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            A data frame of any library that narwhals knows, an array, or nested lists; a pyarrow
            dataset or a lazy polars frame, which is read in batches; a Dask DataFrame or Array; or
            a DuckDB, PySpark or Ibis relation.
        y : array-like of shape (n_rows,), or str
            The number of every row; of a table that is not in memory, the name of its column; on
            Dask also a Dask collection.
        sample_weight : array-like of shape (n_rows,), or str, optional
            The weight of every row, or the name of its column, as for ``y``. Whole numbers count
            as repeated rows; of others only the ratios matter.
        groups : array-like of shape (n_rows,), or str, optional
            The group of every row, such as a patient with several rows, or the name of its column,
            as for ``y``. Folds never split a group.
        columns : sequence of str, optional
            The columns to learn from, of a table that is not in memory; by default all others.
        """
        roles = ColumnRoles(y, sample_weight, groups, columns)
        if is_stream(X) or is_on_dask(X):
            return self._set_model(fit_numbers_elsewhere(self, X, roles))
        if in_database(X):
            return self._set_model(fit_number_relation(self, X, roles))
        if columns is not None:
            hint = "choose them before: X[columns]."
            raise invalid("columns", "fit", "None for a table in memory", columns, hint)
        rows = read_table(X)
        if y is None or not (type(X) is np.ndarray or rows.names):  # else there is nothing to find
            # a copy: what was fitted before stays if fitting fails
            validate_data(copy(self), X, skip_check_array=True)
        return self._set_model(fit_numbers(self, RawRows(rows, y, sample_weight, groups)))

    @classmethod
    def _of_file(cls, path: str | os.PathLike[str]) -> Self:
        model = load_regression(path)
        return cls(**model.provenance.parameters)._set_model(model)

    # -- prediction ------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """Predict the number of each row of a table.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            The columns of the training table. A pyarrow dataset or a lazy polars frame is read
            in batches.

        Returns
        -------
        ndarray of float64, shape (n_rows,)
            For a relation of a database, a lazy frame with the further column ``prediction``; for a
            Dask collection, a lazy collection.
        """
        return self._predict(X, "value", RegressionModel.predict)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Any:
        """Predict an interval that contains the number of a new row with some probability.

        Half its width is a quantile of residuals, each divided by the spread of its leaf, times the
        spread of the leaf of the row. With ``certificate="held-out"`` these are the residuals of
        calibration rows (split conformal prediction): the probability is at least ``coverage``, on
        average over new rows, not for each leaf. Otherwise they are cross-validated, and the
        coverage is an estimate.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            The columns of the training table. A pyarrow dataset or a lazy polars frame is read
            in batches.
        coverage : float
            Share of new rows whose number is in their interval.

        Returns
        -------
        ndarray of float64, shape (n_rows, 2)
            The lower and the upper end for each row; for a relation of a database, the further
            columns ``prediction lower`` and ``prediction upper``.
        """
        if is_on_dask(X):  # an error is raised here, not in a task
            self._fitted().node_intervals(coverage)
        return self._predict(X, "interval", RegressionModel.predict_interval, coverage=coverage)

    def write_predictions(
        self, X: Any, path: str | os.PathLike[str], *, keep: bool = False
    ) -> None:
        """Write the predictions for a table to a CSV or Parquet file.

        Parameters
        ----------
        X : table
            The rows; a pyarrow dataset or a lazy polars frame is read in batches.
        path : path-like
            The file, ``.csv`` or ``.parquet``; it appears when it is complete.
        keep : bool
            Write the columns of X too.

        See Also
        --------
        treebound.exchange.write_predictions : The same as a function, also for a tree.
        """
        write_predictions(self, X, path, keep=keep)

    def explain(self, row: Any, *, reach: tuple[float, float] | None = None) -> NumberExplanation:
        """Explain the prediction for a row, and the smallest change that brings it into a range.

        Parameters
        ----------
        row : mapping, sequence, pandas Series, or table of one row
            The values by column name, or in the order of the columns.
        reach : tuple (low, high), optional
            The range of values to reach.

        See Also
        --------
        treebound.show.explain : The same as a function, also for a tree.
        """
        explained: NumberExplanation = explain(self, row, reach=reach)
        return explained

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        rows: Any = None,
        title: str | None = None,
        facts: Mapping[str, str] | None = None,
    ) -> str:
        """Write a report in one HTML file: the tree, its errors and its size.

        Parameters
        ----------
        path : str or path-like, optional
            File to write the report to.
        rows : table, optional
            Rows that describe the columns of the tree, such as those of ``fit``.
        title : str, optional
            The heading; by default it names the target.
        facts : mapping of str to str, optional
            More facts, such as the file that the rows came from.

        See Also
        --------
        treebound.show.to_html : The same as a function, also for a tree.
        """
        return to_html(self, path, rows=rows, title=title, facts=facts)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R2, the share of the variance that the predictions explain.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            The columns of the training table. A pyarrow dataset or a lazy polars frame is read
            in batches.
        y : array-like of shape (n_rows,), or str
            The numbers of the target; of a table that is not in memory, as for :meth:`fit`.
        sample_weight : array-like of shape (n_rows,), or str, optional
            The weight of every row, as for ``y``.

        Returns
        -------
        float
            1 for exact predictions, 0 for those of the mean of ``y``.
        """
        if in_database(X):
            from treebound.engines.sql import errors_in_database

            errors = errors_in_database(self._fitted(), X, y, sample_weight)
        elif is_on_dask(X):
            from treebound.engines.dask.table import errors_on_dask

            errors = errors_on_dask(self._fitted(), X, y, sample_weight)
        else:
            rows = self._rows(X)
            errors = self._fitted().errors_on(rows, y, sample_weight, n_jobs=self.n_jobs)
        check_rows(errors.weight)
        return errors.r2

    # -- attributes ------------------------------------------------------------------------

    @property
    def tree_(self) -> RegressionTree:
        """The fitted tree."""
        return self._fitted().tree

    @property
    def grown_tree_(self) -> RegressionTree:
        """The tree before pruning."""
        return self._fitted().grown

    @property
    def pruning_result_(self) -> PruningResult[RegressionTree, NumberChoice] | None:
        """The result of pruning; None without pruning."""
        return self._fitted().pruning

    @property
    def pruning_path_(self) -> PruningPath[RegressionTree] | None:
        """The candidate steps of pruning with their scores; None without pruning."""
        return self._fitted().path

    @property
    def estimate_(self) -> NumberEstimate | None:
        """Cross-validated RMSE, mean absolute error and R2; None without validation rows."""
        return self._fitted().estimate

    @property
    def sizes_(self) -> tuple[NumberSizeEstimate, ...]:
        """Cross-validated RMSE of trees of several sizes, by their number of leaves."""
        return self._fitted().evidence.sizes

    @property
    def certificate_(self) -> NumberCertificate | None:
        """Bounds on the errors of new predictions; None: see ``certificate_reason_``."""
        return self._fitted().certificate

    def certify(
        self,
        X: Any = None,
        y: Any = None,
        *,
        tolerance: float | None = None,
        y_range: tuple[float, float] | None = None,
        delta: float | None = None,
        groups: Any = None,
    ) -> NumberCertificate:
        """Bound the errors of new predictions by rows that were not used for fitting.

        Parameters
        ----------
        X, y : table and numbers, optional
            Rows that were not used for fitting; each counts once. By default the calibration rows
            of ``fit``, with its ``tolerance`` and ``y_range``.
        tolerance : float, optional
            The largest error that does not count, chosen without looking at these rows; by default
            that of ``fit``, or half a standard deviation of the training numbers.
        y_range : pair of float, optional
            The least and the greatest possible number of the target, for bounds on the mean
            absolute error and the RMSE. Predictions are taken to be in this range.
        delta : float, optional
            Probability that a bound is wrong; by default 0.05.
        groups : array-like of shape (n_rows,), optional
            The group of each row, of which one is counted; required if ``fit`` had groups.

        Raises
        ------
        ValueError
            If the rows were used for fitting, groups are required, or there are no calibration
            rows.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> import treebound as tb
        >>> X, y = load_diabetes(return_X_y=True)
        >>> reg = tb.BoundTreeRegressor().fit(X[:300], y[:300])
        >>> certificate = reg.certify(X[300:], y[300:], tolerance=100)
        >>> print(f"{certificate.share:.3f}", certificate.exceeded, certificate.m)
        0.166 16 142
        """
        return self._fitted().certify(
            X, y, tolerance=tolerance, y_range=y_range, delta=delta, groups=groups
        )

    def summary(self) -> str:
        """Describe the tree, its estimated errors and those of other sizes in a few lines."""
        return self._fitted().summary()

    # -- other libraries -------------------------------------------------------------------

    def to_sklearn(self, *, indicators: bool = False) -> Any:
        """Return a fitted ``DecisionTreeRegressor`` with the same splits and numbers.

        Parameters
        ----------
        indicators : bool
            One-hot encode nominal columns.

        See Also
        --------
        treebound.exchange.to_sklearn : The same as a function, also for a tree.
        """
        return to_sklearn(self, indicators=indicators)
