"""Files and code of a fitted regressor: each function of a tree as a method."""

from __future__ import annotations

import os
from typing import Any, Self

from treebound.estimators.base import TreeEstimator
from treebound.exchange import load_regression, to_c, to_python, to_sklearn, to_sql
from treebound.model import RegressionModel


class RegressionMethods(TreeEstimator[RegressionModel]):
    """The functions of :mod:`treebound.exchange` as methods of a regressor."""

    @classmethod
    def _of_file(cls, path: str | os.PathLike[str]) -> Self:
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
