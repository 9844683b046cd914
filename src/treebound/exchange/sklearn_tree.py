"""Conversion from and to scikit-learn's trees.

scikit-learn compares ``float32(x) <= threshold``, we compare ``x <= threshold`` in float64.
Rounding to float32 is monotone, so the float64 numbers that scikit-learn sends left are those up
to some greatest one: with that one as threshold both trees agree on every float64 number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.validation import InWords, invalid
from treebound.data import Column, Sample
from treebound.data.frames import Table
from treebound.data.targets import read_classes
from treebound.data.weights import class_factors, class_totals, snapped
from treebound.exchange.indicators import Indicators, preorder
from treebound.model import Model
from treebound.model.methods import as_model
from treebound.model.options import ReadingOptions
from treebound.tree.base import NO_SPLIT
from treebound.tree.impurity import impurity
from treebound.tree.model import Tree
from treebound.tree.split import SplitTest

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier


def from_sklearn(
    estimator: DecisionTreeClassifier, X: Any, y: Any, sample_weight: Any = None
) -> Tree:
    """Convert a fitted scikit-learn tree to a :class:`Tree`, with counts from the given data.

    Parameters
    ----------
    estimator : DecisionTreeClassifier
        A fitted classification tree with one output.
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
        training and prediction; the counts here are those of prediction).

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
        table = _table(X, [column.name for column in columns] if self.named else ())
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


def _table(X: Any, names: Sequence[str]) -> Table:
    """X as scikit-learn reads it, as numbers; of a data frame, the named columns it has."""
    if type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.size:
        return Table(None, X.shape, X)
    import narwhals as nw
    from sklearn.utils import check_array

    labels = None
    if nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        labels = tuple(name for name in names if name in frame.columns)
        X = frame.select(*labels).to_native() if labels else X
    matrix = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan", input_name="X")
    return Table(labels or None, matrix.shape, matrix)


def to_sklearn(
    model: Any, *, like: DecisionTreeClassifier | None = None, indicators: bool = False
) -> DecisionTreeClassifier:
    """Convert a tree to a fitted ``DecisionTreeClassifier`` with the same splits and counts.

    It is built through scikit-learn's own pickle protocol, with the node type of the installed
    version, so any tool for scikit-learn trees accepts it. Its ordinal columns are codes 0, 1, ...

    Parameters
    ----------
    model : Tree, Model or BoundTreeClassifier
        A tree that predicts the most frequent class of each leaf, or the most probable one;
        without ``indicators``, a tree without splits on nominal columns.
    like : DecisionTreeClassifier, optional
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

    source = as_model(model, "to_sklearn")
    tree = Indicators(source).tree if indicators else source.tree
    shares = _shares(tree, source)
    if like is not None:
        estimator = clone(like)
    else:
        entropy = not isinstance(model, Tree) and source.options.criterion == "entropy"
        estimator = DecisionTreeClassifier(criterion="entropy" if entropy else "gini")
    make, state = _template()
    n_features = len(tree.columns)
    inner = make(n_features, np.array([tree.n_classes], dtype=np.intp), 1)
    inner.__setstate__(
        {
            **state,
            "max_depth": tree.depth,
            "node_count": tree.n_nodes,
            "nodes": _nodes(tree, state["nodes"].dtype, estimator.criterion),
            "values": shares[:, None, :],
        }
    )
    estimator.n_features_in_ = n_features
    names = [column.name for column in tree.columns]
    if source.has_names or indicators:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator.n_outputs_ = 1
    estimator.classes_ = np.array(tree.classes)
    estimator.n_classes_ = np.intp(tree.n_classes)
    estimator.max_features_ = n_features
    estimator.tree_ = inner
    return estimator


# -- from scikit-learn -------------------------------------------------------------------------


def _check_classification_tree(estimator: Any) -> None:
    from sklearn.tree import DecisionTreeClassifier
    from sklearn.utils.validation import check_is_fitted

    if not isinstance(estimator, DecisionTreeClassifier):
        must = "a DecisionTreeClassifier"
        raise TypeError(invalid("estimator", "from_sklearn", must, estimator))
    check_is_fitted(estimator)
    if estimator.n_outputs_ != 1:
        outputs, hint = InWords(f"{estimator.n_outputs_} outputs"), "fit one tree for each output."
        raise invalid("estimator", "from_sklearn", "a tree of one output", outputs, hint)


def structure_of(estimator: Any, columns: tuple[Column, ...], classes: NDArray[Any]) -> Tree:
    """Splits and labels of a scikit-learn tree, with nodes in pre-order and without counts."""
    old = estimator.tree_
    return _bare_tree(
        old.children_left,
        old.children_right,
        columns,
        classes,
        feature=old.feature,
        threshold=float64_threshold(old.threshold),
        category=np.full(old.node_count, -1),
        missing_left=old.missing_go_to_left != 0,
        label=old.value[:, 0].argmax(axis=1),
    )


# -- to scikit-learn ---------------------------------------------------------------------------


def _bare_tree(
    left: NDArray[Any],
    right: NDArray[Any],
    columns: tuple[Column, ...],
    classes: NDArray[Any],
    **splits: NDArray[Any],
) -> Tree:
    """The tree without counts of nodes in any order; what leaves have in ``splits`` is ignored."""
    order, left, right = preorder(left, right)
    leaf = left < 0
    fields: dict[str, Any] = {
        name: np.where(leaf, NO_SPLIT[name], splits[name][order]) for name in SplitTest._fields
    }
    if "label" in splits:
        fields["label"] = splits["label"][order]
    return Tree(
        **fields,
        left=left,
        right=right,
        counts=np.zeros((len(order), len(classes))),
        rows=np.zeros(len(order), dtype=np.int64),
        columns=columns,
        classes=classes,
    )


def float64_threshold(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """The greatest float64 whose float32 rounding is at most the threshold."""
    with np.errstate(over="ignore"):
        low = threshold.astype(np.float32)
        low = np.where(low > threshold, np.nextafter(low, np.float32(-np.inf)), low)
        high = np.nextafter(low, np.float32(np.inf))
        # Halfway between two float32 neighbours; check which of them it rounds to.
        half = low.astype(np.float64) / 2 + high.astype(np.float64) / 2
        half = np.where(half.astype(np.float32) <= threshold, half, np.nextafter(half, -np.inf))
    finite = np.isfinite(low) & np.isfinite(high)
    return np.where(finite, half, threshold)


def _shares(tree: Tree, source: Model) -> NDArray[np.float64]:
    """Return the values whose largest is the prediction of scikit-learn; or raise an error."""
    used = np.unique(tree.feature[~tree.is_leaf])
    nominal = [tree.columns[i].name for i in used if tree.columns[i].kind == "nominal"]
    if nominal:
        raise ValueError(
            f"A scikit-learn tree has no split 'x == category', as on column {nominal[0]!r}. "
            "Hint: to_sklearn(tree, indicators=True) makes a column of zeros and ones for each "
            "category."
        )
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


@cache
def _template() -> tuple[Any, dict[str, Any]]:
    """The constructor and the state of a tiny fitted tree, in the installed version's types."""
    from sklearn.tree import DecisionTreeClassifier

    make, _, state = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]).tree_.__reduce__()
    return make, state


def _nodes(tree: Tree, dtype: np.dtype[Any], criterion: str) -> NDArray[Any]:
    """The nodes, in the record type of the installed scikit-learn."""
    leaf = tree.is_leaf
    nodes = np.zeros(tree.n_nodes, dtype=dtype)
    nodes["left_child"] = tree.left
    nodes["right_child"] = tree.right
    nodes["feature"] = np.where(leaf, -2, tree.feature)  # -2: scikit-learn's mark of a leaf
    nodes["threshold"] = np.where(leaf, -2.0, tree.threshold)
    nodes["impurity"] = impurity(tree.masses, "gini" if criterion == "gini" else "entropy")
    nodes["n_node_samples"] = tree.rows
    nodes["weighted_n_node_samples"] = tree.mass
    nodes["missing_go_to_left"] = tree.missing_left & ~leaf
    return nodes
