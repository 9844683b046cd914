"""Conversion from and to scikit-learn's trees.

scikit-learn compares ``float32(x) <= threshold``, we compare ``x <= threshold`` in float64.
Rounding to float32 is monotone, so the float64 numbers that scikit-learn sends left are those up
to some greatest one: with that one as threshold both trees agree on every float64 number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.choices import Criterion
from treebound._utils.validation import InWords, invalid
from treebound.data import Column, Sample
from treebound.data.targets import read_classes
from treebound.data.weights import class_factors, class_totals, snapped
from treebound.exchange.indicators import Indicators
from treebound.exchange.sklearn_arrays import (
    check_no_nominal,
    sklearn_table,
    split_arrays,
    with_tree,
)
from treebound.exchange.sklearn_regression import to_regressor, tree_of_regressor
from treebound.model import Model, RegressionModel
from treebound.model.methods import as_any_model
from treebound.model.options import ReadingOptions
from treebound.tree.impurity import impurity
from treebound.tree.model import Tree


def from_sklearn(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """Convert a fitted scikit-learn tree to a :class:`Tree`, with counts from the given data.

    Parameters
    ----------
    estimator : DecisionTreeClassifier or DecisionTreeRegressor
        A fitted tree with one output.
    X, y : array-like
        The training data. With other data the splits are the same, but counts and labels are
        those of the data.
    sample_weight : array-like, optional
        The weight of each row.

    Returns
    -------
    Tree
        With the training data it predicts as ``estimator.predict`` for every float64 input, if that
        predicts the most frequent class of each leaf, as scikit-learn's own trees do (except for a
        bug of scikit-learn 1.6, which routes some missing values differently in
        training and prediction; the counts here are those of prediction). A regressor gives a
        :class:`~treebound.tree.RegressionTree` whose predictions are those of the estimator to the
        last bit, with the weights, means and squared deviations of the data.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import treebound as tb
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = tb.from_sklearn(DecisionTreeClassifier(max_leaf_nodes=3).fit(X, y), X, y)
    >>> tree.n_leaves, tree.errors
    (3, 6.0)
    """
    from sklearn.tree import DecisionTreeRegressor

    if isinstance(estimator, DecisionTreeRegressor):
        return tree_of_regressor(estimator, X, y, sample_weight)
    source = SklearnTree(estimator)
    return source.tree.recounted(source.read(X, y, sample_weight))


class SklearnTree:
    """A fitted scikit-learn tree: its splits and labels as a ``Tree``, and how it reads rows."""

    def __init__(self, estimator: Any) -> None:
        _check_classification_tree(estimator)
        self._estimator = estimator
        names = vars(estimator).get("feature_names_in_")
        self.named = names is not None
        if names is None:
            names = [f"x{i}" for i in range(estimator.n_features_in_)]
        columns = tuple(Column(str(name)) for name in names)
        self.tree = structure_of(estimator, columns, estimator.classes_)

    def read(self, X: Any, y: Any, sample_weight: Any = None) -> Sample:
        """Rows with the weights the estimator was fitted with, class weights included."""
        columns, classes = self.tree.columns, self.tree.classes
        table = sklearn_table(X, [column.name for column in columns] if self.named else ())
        sample = Sample.read(
            table, y, sample_weight, columns=columns, classes=classes, named=self.named
        )
        # "balanced" counts every row once in scikit-learn, whatever its weight
        totals = class_totals(read_classes(y, classes), None, len(classes))
        weights = self._estimator.class_weight
        if isinstance(weights, Mapping):  # scikit-learn accepts weights of classes without rows
            weights = {label: weights[label] for label in classes.tolist() if label in weights}
        return replace(sample, factors=class_factors(weights, classes, totals))

    def certifiable(self, X: Any) -> Model:
        """Return the model to certify; every row counts once."""
        if X is None:
            raise ValueError(
                "A scikit-learn tree keeps no record of its rows. Hint: give rows that were not "
                "used for fitting as X and y, or all training rows with kind='training'."
            )
        return Model(self.tree, reading=ReadingOptions(named=self.named))


def to_sklearn(model: Any, *, like: Any = None, indicators: bool = False) -> Any:
    """Convert a tree to a fitted ``DecisionTreeClassifier`` with the same splits and counts.

    A regression tree becomes a ``DecisionTreeRegressor`` with the same numbers.

    It is built through scikit-learn's own pickle protocol, with the node type of the installed
    version, so any tool for scikit-learn trees accepts it. Its ordinal columns are codes 0, 1, ...

    Parameters
    ----------
    model : Tree, Model, BoundTreeClassifier, or their kinds for regression
        A tree that predicts the most frequent class of each leaf, or the most probable one;
        without ``indicators``, a tree without splits on nominal columns.
    like : DecisionTreeClassifier or DecisionTreeRegressor, optional
        An estimator with the type and parameters of the result. By default its criterion is that
        of the classifier, and Gini for a bare tree and for misclassification, which scikit-learn
        does not have.
    indicators : bool
        Whether to one-hot encode nominal columns; encode tables with
        :meth:`treebound.exchange.Indicators.transform`.

    Raises
    ------
    ValueError
        If scikit-learn cannot represent the tree.

    Notes
    -----
    Its probabilities are the frequencies of the classes, as in scikit-learn's own trees. Where
    shrunk probabilities decide the predictions, in a model pruned for log-loss, they are those.

    scikit-learn rounds its input to float32: predictions agree for every input that is exact in
    float32, and for every float64 input if the tree came from :func:`from_sklearn`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier, export_text
    >>> import treebound as tb
    >>> X, y = load_iris(return_X_y=True)
    >>> stump = DecisionTreeClassifier(max_leaf_nodes=2, random_state=0).fit(X, y)
    >>> tree = tb.from_sklearn(stump, X, y)
    >>> print(export_text(tb.to_sklearn(tree), feature_names=list("abcd")))
    |--- d <= 0.80
    |   |--- class: 0
    |--- d >  0.80
    |   |--- class: 1
    <BLANKLINE>
    """
    from sklearn.base import clone
    from sklearn.tree import DecisionTreeClassifier

    source = as_any_model(model, "to_sklearn")
    if isinstance(source, RegressionModel):
        return to_regressor(source, like=like, indicators=indicators)
    tree = Indicators(source).tree if indicators else source.tree
    shares = _shares(tree, source)
    if like is not None:
        estimator = clone(like)
    else:
        entropy = not isinstance(model, Tree) and source.options.criterion == "entropy"
        estimator = DecisionTreeClassifier(criterion="entropy" if entropy else "gini")
    criterion: Criterion = "gini" if estimator.criterion == "gini" else "entropy"
    with_tree(
        estimator, tree, shares, impurity(tree.masses, criterion),
        named=source.has_names or indicators,
    )  # fmt: skip
    estimator.classes_ = np.array(tree.classes)
    estimator.n_classes_ = np.intp(tree.n_classes)
    return estimator


# -- from scikit-learn -------------------------------------------------------------------------


def _check_classification_tree(estimator: Any) -> None:
    from sklearn.tree import DecisionTreeClassifier
    from sklearn.utils.validation import check_is_fitted

    if not isinstance(estimator, DecisionTreeClassifier):
        must = "a DecisionTreeClassifier or DecisionTreeRegressor"
        raise TypeError(invalid("estimator", "from_sklearn", must, estimator))
    check_is_fitted(estimator)
    if estimator.n_outputs_ != 1:
        outputs, hint = InWords(f"{estimator.n_outputs_} outputs"), "fit one tree for each output."
        raise invalid("estimator", "from_sklearn", "a tree of one output", outputs, hint)


def structure_of(estimator: Any, columns: tuple[Column, ...], classes: NDArray[Any]) -> Tree:
    """Splits and labels of a scikit-learn tree, with nodes in pre-order and without counts."""
    order, splits = split_arrays(estimator.tree_)
    return Tree(
        **splits,
        label=estimator.tree_.value[:, 0].argmax(axis=1)[order],
        counts=np.zeros((len(order), len(classes))),
        rows=np.zeros(len(order), dtype=np.int64),
        columns=columns,
        classes=classes,
    )


# -- to scikit-learn ---------------------------------------------------------------------------


def _shares(tree: Tree, source: Model) -> NDArray[np.float64]:
    """Return the values whose largest is the prediction of scikit-learn; or raise an error."""
    check_no_nominal(tree)
    # ties must be exact
    masses = snapped(tree.masses) if tree.weighted else tree.masses
    unlike = tree.is_leaf & (masses.argmax(axis=1) != tree.label)
    if not unlike.any() and not source.prediction.free_shrinkage:
        return np.asarray(masses / np.maximum(tree.mass, np.finfo(float).tiny)[:, None])
    shares = source.probabilities_of(tree)
    unlike = tree.is_leaf & (shares.argmax(axis=1) != tree.label)
    if unlike.any():
        raise ValueError(
            "A scikit-learn tree predicts the most frequent class, this tree another one "
            f"at node {int(unlike.argmax())}. Hint: give the costs as sample weights."
        )
    return shares
