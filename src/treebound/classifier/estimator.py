"""BoundTreeClassifier: grow, prune, predict, as scikit-learn expects it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from treebound.classifier.exports import TreeExports
from treebound.classifier.output import FrameOutput
from treebound.classifier.parameters import check_parameters
from treebound.classifier.weights import class_weights, row_weights, warn_if_light
from treebound.growing.grow import OPTIONS, grow
from treebound.landscape import Landscape
from treebound.tree.columns import Column, Unknown, encode, learn_columns
from treebound.tree.importance import importances
from treebound.tree.model import Tree
from treebound.tree.smoothing import Smoothing, probabilities
from treebound.tree.tables import Table, read_table
from treebound.tree.targets import learn_classes

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from sklearn.utils import Tags

    from treebound.pruning import Certificate, Pruner, PruningPath, PruningResult

__all__ = ["BoundTreeClassifier"]

Criterion = Literal["gini", "entropy", "misclassification"]


class BoundTreeClassifier(TreeExports, FrameOutput, ClassifierMixin, BaseEstimator):
    """A decision tree that prunes itself with a generalization bound.

    One readable tree, grown best-first on real, ordinal and nominal columns as they are, and
    pruned without cross-validation and without held-out data.

    Parameters
    ----------
    criterion : {"entropy", "gini", "misclassification"}
        What a split should decrease.
    growth_order : {"gain", "impurity"}
        Which leaf is expanded next: the one whose split gains most, or, as in the paper, the one
        whose children are purest.
    max_leaves, max_depth : int or None
        Limits of the grown tree; None is no limit.
    min_samples_leaf, min_samples_split : int
        Least number of rows in a leaf, and in a node to be split.
    min_weight_fraction_leaf : float
        Least share of all weight in a leaf, from 0 to 0.5.
    min_gain : float
        A split must gain more than this.
    pruning : {"bound", "kearns-mansour", "cost-complexity", "reduced-error", "pessimistic", \
            "mdl"}, Pruner or None
        How the grown tree is pruned; None keeps it as it is.
    categorical_features : "from_dtype", or a sequence of names, of indices, or a boolean mask
        Columns that are nominal whatever their dtype. The others keep the kind of their dtype:
        unordered categoricals, text and booleans nominal, ordered categoricals and enums ordinal,
        numbers real.
    ordinal_features : sequence of names or indices, or mapping to ordered categories, or None
        Columns that are ordinal whatever their dtype; a mapping declares their categories.
    unknown : {"majority", "stop", "missing", "error"}
        What happens to a category at prediction that training did not know: it goes where more
        training examples went; the node where it is met answers; it counts as missing; or it is
        an error.
    smoothing : {"m-estimate", "laplace"} or None
        How counts become probabilities, see :func:`treebound.tree.smoothing.probabilities`. The
        default has the least log-loss on the paper's 25 data sets.
    class_weight : "balanced", mapping of class to weight, or None
        Multiplies the sample weights.
    delta : float
        The certificate holds with probability ``1 - delta``.
    n_jobs : int or None
        Threads for growing; the tree does not depend on it.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where the table had them.
    target_name_ : str or None
        The name of ``y``, where it had one (a pandas or polars series).
    columns_ : tuple of Column
        Kind, categories and missing values of every column.
    landscape_ : Landscape
        What the columns mean to the theory; undeclared categories count as unbounded.
    tree_ : Tree
        The tree that answers.
    grown_tree_ : Tree
        The tree before pruning.
    pruning_result_ : PruningResult or None
        What the pruner decided and why; None without pruning.

    See Also
    --------
    treebound.from_sklearn : Bring a scikit-learn tree here.
    treebound.prune : Prune a tree that is already grown.

    Notes
    -----
    A missing value in a real or ordinal column goes to the side learned for it at each split; in a
    nominal column it is a category of its own. Where training had none, it goes to the larger
    child.

    Rows of weight zero are left out, and a row of weight two is the same as the row twice; so the
    number of examples in a pruning score is the sum of the weights.

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

    def __init__(
        self,
        *,
        criterion: Criterion = "entropy",
        growth_order: Literal["gain", "impurity"] = "gain",
        max_leaves: int | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        min_samples_split: int = 2,
        min_weight_fraction_leaf: float = 0.0,
        min_gain: float = 0.0,
        pruning: str | Pruner | None = "bound",
        categorical_features: Any = "from_dtype",
        ordinal_features: Sequence[Any] | Mapping[Any, Sequence[Any]] | None = None,
        unknown: Unknown = "majority",
        smoothing: Smoothing | None = "m-estimate",
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        delta: float = 0.05,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.growth_order = growth_order
        self.max_leaves = max_leaves
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_split = min_samples_split
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_gain = min_gain
        self.pruning = pruning
        self.categorical_features = categorical_features
        self.ordinal_features = ordinal_features
        self.unknown = unknown
        self.smoothing = smoothing
        self.class_weight = class_weight
        self.delta = delta
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    # -- learning --------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BoundTreeClassifier:
        """Grow a tree and prune it.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            A data frame of any library that narwhals knows, an array, or nested lists.
        y : array-like of shape (n_rows,)
            The class of every row.
        sample_weight : array-like of shape (n_rows,), optional
            The weight of every row.

        Returns
        -------
        self
        """
        check_parameters(self)
        pruner = self._pruner()
        table, classes, codes, weight = self._training(X, y, sample_weight)
        columns, matrix = learn_columns(
            table,
            categorical_features=self.categorical_features,
            ordinal_features=self.ordinal_features,
        )
        grow_one = partial(_grow, columns=columns, classes=classes, options=self._growth())
        name = getattr(y, "name", None)
        self.target_name_ = name if isinstance(name, str) and name else None
        self.classes_ = classes
        self.columns_ = columns
        self.grown_tree_ = grow_one(matrix, codes, weight)
        self.tree_ = self.grown_tree_
        self.pruning_result_: PruningResult | None = None
        self._weighted = weight is not None
        self._no_certificate: str | None = None
        self._certificate: tuple[Certificate | None, str] | None = None
        if pruner is not None:
            warn_if_light(weight)
            self.pruning_result_ = pruner.prune(
                self.grown_tree_, matrix, codes, sample_weight=weight, grow=grow_one
            )
            self.tree_ = self.pruning_result_.tree
        return self

    def _training(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Table, NDArray[Any], NDArray[np.int64], NDArray[np.float64] | None]:
        """The rows that count, their classes, class codes and weights."""
        table = read_table(X)
        validate_data(self, X, y, skip_check_array=True)
        classes, codes = learn_classes(y)
        if len(codes) != table.shape[0]:
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"{[table.shape[0], len(codes)]}"
            )
        weight = row_weights(sample_weight, len(codes))
        if weight is not None and not weight.all():
            keep = weight > 0
            table, weight = table.rows(keep), row_weights(weight[keep], int(keep.sum()))
            classes, codes = learn_classes(classes[codes[keep]])
        return table, classes, codes, class_weights(self.class_weight, classes, codes, weight)

    def _growth(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in OPTIONS}

    def _pruner(self) -> Pruner | None:
        if self.pruning is None:
            return None
        from treebound.pruning import make_pruner

        return make_pruner(self.pruning)

    # -- answering -------------------------------------------------------------------------

    def _encoded(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        table = read_table(X, narrow=True)
        validate_data(self, X, reset=False, skip_check_array=True)
        return encode(table, self.columns_, unknown=self.unknown)

    def _nodes(self, X: Any) -> NDArray[np.int32]:
        encoded = self._encoded(X)
        return self.tree_.apply(encoded, unknown=self._at_unknown)

    @property
    def _at_unknown(self) -> str:
        """What the tree does where it meets an unknown category; ``encode`` does the rest."""
        return "stop" if self.unknown == "stop" else "majority"

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row of a table.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            The columns of the training table.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        nodes = self._nodes(X)
        return self.classes_[self.tree_.label].take(nodes)

    def predict_proba(self, X: Any) -> Any:
        """The probability of every class, for every row, smoothed as ``smoothing`` says.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The classes in the order of ``classes_``. A frame if :meth:`set_output` said so.
        """
        return self._framed(self._probabilities(X), X)

    def predict_log_proba(self, X: Any) -> Any:
        """The logarithm of :meth:`predict_proba`; minus infinity where that is zero."""
        with np.errstate(divide="ignore"):
            return self._framed(np.log(self._probabilities(X)), X)

    def _probabilities(self, X: Any) -> NDArray[np.float64]:
        nodes = self._nodes(X)
        return probabilities(self.tree_.counts, self.smoothing).take(nodes, axis=0)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """The node of ``tree_`` that answers for every row: a leaf, or where ``unknown`` stops."""
        return self._nodes(X)

    def decision_path(self, X: Any) -> csr_matrix:
        """The nodes every row passes, as a sparse indicator of shape (n_rows, n_nodes)."""
        encoded = self._encoded(X)
        return self.tree_.decision_path(encoded, unknown=self._at_unknown)

    # -- what was learned ------------------------------------------------------------------

    @property
    def landscape_(self) -> Landscape:
        """What the columns mean to the theory; undeclared categories count as unbounded."""
        check_is_fitted(self)
        return self.tree_.landscape

    @property
    def n_leaves_(self) -> int:
        """Number of leaves of the tree."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def depth_(self) -> int:
        """Longest path from the root to a leaf."""
        check_is_fitted(self)
        return self.tree_.height

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The share of each column in the decrease of impurity; they add up to one."""
        check_is_fitted(self)
        return importances(self.tree_, self.criterion)

    @property
    def pruning_path_(self) -> PruningPath | None:
        """Every step of the pruning and its score; None without pruning."""
        check_is_fitted(self)
        return None if self.pruning_result_ is None else self.pruning_result_.path

    @property
    def certificate_(self) -> Certificate | None:
        """An upper bound on the true risk; None where it would not hold.

        Then ``certificate_reason_`` says why.
        """
        return self._certified()[0]

    @property
    def certificate_reason_(self) -> str | None:
        """Why there is no certificate, in words; None where there is one."""
        return self._certified()[1] or None

    def _certified(self) -> tuple[Certificate | None, str]:
        """The certificate or the reason against it, worked out when first asked for."""
        check_is_fitted(self)
        if self._certificate is None:
            from treebound.pruning.certificate import certificate_for

            self._certificate = certificate_for(
                self.tree_, weighted=self._weighted, reason=self._no_certificate, delta=self.delta
            )
        return self._certificate

    def prune_to(
        self, *, leaves: int | None = None, step: int | None = None
    ) -> BoundTreeClassifier:
        """A copy of this classifier at another place of the pruning path, without refitting.

        Parameters
        ----------
        leaves : int
            The largest tree on the path that has at most so many leaves.
        step : int
            The tree at this step of ``pruning_path_``.

        Returns
        -------
        BoundTreeClassifier
            Fitted; this one is not changed.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> import treebound as tb
        >>> clf = tb.BoundTreeClassifier().fit(*load_wine(return_X_y=True))
        >>> clf.prune_to(leaves=2).n_leaves_, clf.prune_to(step=0).n_leaves_
        (2, 8)
        """
        check_is_fitted(self)
        if (leaves is None) == (step is None):
            raise ValueError(
                "prune_to needs one of 'leaves' and 'step'. "
                f"Got leaves={leaves!r} and step={step!r} instead."
            )
        path = self.pruning_path_
        if path is None:
            raise ValueError(
                "There is no pruning path: the classifier was fitted with pruning=None. "
                "Hint: fit it with another 'pruning'."
            )
        moved = copy(self)
        moved.tree_ = path.tree(path.step_with(leaves) if leaves is not None else step)
        moved._certificate = None
        return moved


def _grow(
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    sample_weight: NDArray[np.float64] | None = None,
    *,
    columns: tuple[Column, ...],
    classes: NDArray[Any],
    options: dict[str, Any],
) -> Tree:
    """Grow a tree as the classifier does, also on part of the rows, for pruners that need it."""
    return grow(X, y, columns, classes, sample_weight=sample_weight, **options)
