"""One-hot encoding of nominal columns, for tools that accept only numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound.data import Column
from treebound.data.raw import MISSING, UNKNOWN
from treebound.model.methods import as_any_model
from treebound.tree.base import arranged
from treebound.tree.model import Tree
from treebound.tree.regression import RegressionTree


class Indicators:
    """A tree and its tables with nominal columns one-hot encoded.

    A nominal column becomes one column of zeros and ones for each category, and one more for
    missing values if training had any. Real columns are unchanged; ordinal ones are codes 0, 1, ...

    Parameters
    ----------
    model : BoundTreeClassifier or Tree
        A fitted classifier, or its tree.

    Attributes
    ----------
    names : tuple of str
        The names of the new columns, such as ``colour = red``.
    source : ndarray of int
        For each new column, the index of the original column.
    tree : Tree
        The same tree on the new columns, without nominal splits, for ``to_sklearn``.

    Notes
    -----
    An unknown category is zero in all of its columns (in an ordinal column, a code past the last
    one), so it matches no category, as with ``handle_unknown="other"``. With
    ``handle_unknown="missing"`` it is missing, with ``"error"`` an error; ``"majority"`` and
    ``"stop"`` cannot be expressed.

    Examples
    --------
    >>> import treebound as tb
    >>> from treebound.exchange import Indicators
    >>> X = [["red", 1.0], ["blue", 2.0], ["green", 3.0], ["red", 4.0]] * 10
    >>> clf = tb.BoundTreeClassifier().fit(X, [0, 1, 1, 0] * 10)
    >>> numeric = Indicators(clf)
    >>> numeric.names
    ('x0 = blue', 'x0 = green', 'x0 = red', 'x1')
    >>> numeric.transform(X[:2]).tolist()
    [[0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 0.0, 2.0]]
    """

    def __init__(self, model: Any) -> None:
        self._model = as_any_model(model, "Indicators")
        tree: Tree | RegressionTree = self._model.tree
        self._columns = tree.columns
        by_column = [_names(column) for column in tree.columns]
        self.names: tuple[str, ...] = tuple(name for names in by_column for name in names)
        sizes = [len(names) for names in by_column]
        self.source: NDArray[np.intp] = np.repeat(np.arange(len(sizes)), sizes)
        self._first = np.cumsum([0, *sizes])[:-1]
        self.tree: Any = self._numeric(tree)

    def _numeric(self, tree: Tree | RegressionTree) -> Tree | RegressionTree:
        """The tree on the new columns: rows with ``= c`` have a one, and go right."""
        inner = ~tree.is_leaf
        nominal = inner & np.array([c.kind == "nominal" for c in tree.columns])[tree.feature]
        first = np.where(inner, self._first[tree.feature], -1)
        order, left, right = preorder(
            np.where(nominal, tree.right, tree.left), np.where(nominal, tree.left, tree.right)
        )
        columns = tuple(
            replace(tree.columns[at], name=name)
            if tree.columns[at].kind != "nominal"
            else Column(name)
            for name, at in zip(self.names, self.source.tolist(), strict=True)
        )
        return arranged(
            tree, order, left, right,
            feature=np.where(nominal, first + tree.category, first),
            threshold=np.where(nominal, 0.5, tree.threshold),
            category=np.full(tree.n_nodes, -1),
            missing_left=np.where(nominal, ~tree.missing_left, tree.missing_left),
            columns=columns, monotone=None, **({"names": None} if isinstance(tree, Tree) else {}),
        )  # fmt: skip

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Encode a table in the new columns.

        Parameters
        ----------
        X : table
            With the columns that the model was fitted on.

        Returns
        -------
        ndarray of shape (n_rows, n_new_columns)
            NaN where a value is missing in a column without missing training values.
        """
        matrix = self._model.read(X, whole=True)
        array = np.empty((matrix.n_rows, len(self.names)))
        for column, first, values in zip(
            self._columns, self._first.tolist(), matrix.values, strict=True
        ):
            if not column.is_read:  # no split uses it
                array[:, first] = 0.0
            elif column.kind == "nominal":
                array[:, first : first + len(_names(column))] = _zeros_and_ones(values, column)
            elif column.kind == "ordinal":  # unknown categories get a code past the last one
                past = np.where(values == UNKNOWN, len(column.categories or ()), values)
                array[:, first] = np.where(values == MISSING, np.nan, past)
            else:
                array[:, first] = values
        return array

    def summed(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum values of the new columns for each original column.

        For SHAP values, which are additive.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_new_columns, ...)
            Values of the new columns, such as SHAP values.

        Returns
        -------
        ndarray of shape (n_rows, n_columns, ...)
        """
        return np.add.reduceat(values, self._first, axis=1)


def _names(column: Column) -> list[str]:
    if column.kind != "nominal" or not column.is_read:
        return [column.name]
    names = [f"{column.name} = {category}" for category in column.categories or ()]
    return names + [f"{column.name} is missing"] * column.missing


def _zeros_and_ones(codes: NDArray[Any], column: Column) -> NDArray[np.float64]:
    size = len(column.categories or ())
    bits: NDArray[np.float64] = (codes[:, np.newaxis] == np.arange(size + column.missing)).astype(
        np.float64
    )
    if column.missing:
        bits[codes == MISSING, size] = 1.0
    else:
        bits[codes == MISSING] = np.nan
    return bits


def preorder(
    left: NDArray[Any], right: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.int32]]:
    """The nodes below node 0 in pre-order, and the links to children in that order; -1 is none."""
    order = []
    stack = [0]
    lefts, rights = left.tolist(), right.tolist()
    while stack:
        node = stack.pop()
        order.append(node)
        if lefts[node] >= 0:
            stack += [rights[node], lefts[node]]
    place = np.full(len(lefts) + 1, -1, dtype=np.int32)  # -1 indexes the last entry
    place[order] = np.arange(len(order))
    return np.array(order), place[left[order]], place[right[order]]
