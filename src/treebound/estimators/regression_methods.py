"""Files and code of a fitted regressor: each function of a tree as a method."""

from __future__ import annotations

import os
from typing import Any, Self

from treebound.estimators.base import TreeEstimator
from treebound.exchange import (
    load_regression,
    save_regression,
    to_c,
    to_onnx,
    to_python,
    to_sklearn,
    to_sql,
)
from treebound.model import RegressionModel


class RegressionMethods(TreeEstimator[RegressionModel]):
    """The functions of :mod:`treebound.exchange` as methods of a regressor."""

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        pruning_path: bool = True,
        row_record: bool = True,
    ) -> None:
        """Write the fitted regressor as JSON, in the documented format.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        pruning_path : bool
            Keep the pruning path; without it no other size can be chosen, and there is no
            certificate.
        row_record : bool
            Keep the hashes by which rows that were used for fitting are recognised.

        See Also
        --------
        treebound.exchange.save_regression : The same as a function, also for a tree.
        """
        save_regression(self, path, pruning_path=pruning_path, row_record=row_record)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a regressor from a file that ``save`` wrote; loading executes no code.

        Parameters
        ----------
        path : str or path-like
            The file to read.
        """
        model = load_regression(path)
        return cls(**model.provenance.parameters)._set_model(model)

    def to_python(self, *, name: str = "predict") -> str:
        """Return the source of a Python function with the same predictions.

        Parameters
        ----------
        name : str
            Name of the function; it must not begin with an underscore.

        See Also
        --------
        treebound.exchange.to_python : The same as a function, also for a tree.
        """
        return to_python(self, name=name)

    def to_c(self, *, name: str = "predict") -> str:
        """Return C source, ``double predict(const struct predict_row *row)``.

        Parameters
        ----------
        name : str
            Name of the function, and prefix of all other names; it must not begin with ``x_``.

        See Also
        --------
        treebound.exchange.to_c : The same as a function, also for a tree.
        """
        return to_c(self, name=name)

    def to_sql(
        self, *, table: str | None = None, name: str = "prediction", dialect: str | None = None
    ) -> str:
        """Return an SQL ``CASE`` expression with the same predictions.

        Parameters
        ----------
        table : str, optional
            If given, write a whole query, ``SELECT table.*, CASE ... AS prediction FROM table``.
        name : str
            Name of the result.
        dialect : str, optional
            The database, such as ``"sqlite"``, ``"duckdb"`` or ``"postgres"``.

        See Also
        --------
        treebound.exchange.to_sql : The same as a function, also for a tree.
        """
        return to_sql(self, table=table, name=name, dialect=dialect)

    def to_onnx(self, *, missing_text: str = "") -> Any:
        """Return an ONNX model with the same predictions, as doubles.

        Parameters
        ----------
        missing_text : str
            The text that marks a missing value in a string column.

        See Also
        --------
        treebound.exchange.to_onnx : The same as a function, also for a tree.
        """
        return to_onnx(self, missing_text=missing_text)

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
