"""BoundTreeClassifier: grow, prune, predict, as scikit-learn expects it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import validate_data

from treebound.classifier.model import TreeModel
from treebound.classifier.output import FrameOutput, NotebookOutput
from treebound.data.frames import Table

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from sklearn.utils import Tags

__all__ = ["BoundTreeClassifier"]


class BoundTreeClassifier(NotebookOutput, FrameOutput, ClassifierMixin, BaseEstimator, TreeModel):
    """A decision tree that prunes itself with a generalization bound.

    One readable tree, grown best-first on real, ordinal and nominal columns as they are, and
    pruned without cross-validation and without held-out data.

    Parameters
    ----------
    criterion : {"entropy", "gini", "misclassification"}
        The impurity measure.
    growth_order : {"gain", "impurity"}
        Which leaf to expand next: the one whose split gains most, or, as in the paper, the one
        whose children are purest.
    max_leaves : int or None
        Maximum number of leaves; None means no limit. With pruning it does not limit growing: the
        best tree on the pruning path with at most this many leaves is chosen.
    max_grown_leaves : int or None
        Maximum number of leaves of the tree before it is pruned; None means no limit, or 2^16
        where the rows are not in memory.
    max_depth : int or None
        Maximum depth of the grown tree; None means no limit.
    min_samples_leaf, min_samples_split : int
        Minimum number of rows in a leaf, and in a node to split.
    min_weight_fraction_leaf : float
        Minimum share of the total weight in a leaf, from 0 to 0.5.
    min_gain : float
        Minimum gain of a split.
    thresholds : {"decimal", "midpoint", "observed"}
        Position of a threshold between two neighbouring training values: the decimal with the
        fewest digits, the midpoint, or the lower value. All three route the training rows alike.
    pruning : {"bound", "kearns-mansour", "cost-complexity", "reduced-error", "pessimistic", \
            "mdl"}, Pruner or None
        How to prune the grown tree; None does not prune.
    categorical_features : "from_dtype", or a sequence of names, of indices, or a boolean mask
        Columns to treat as nominal regardless of dtype. The others follow their dtype: unordered
        categoricals, text and booleans are nominal, ordered categoricals and enums ordinal,
        numbers real.
    ordinal_features : sequence of names or indices, or mapping to ordered categories, or None
        Columns to treat as ordinal regardless of dtype; a mapping declares their categories.
    unknown : {"other", "majority", "stop", "missing", "error"}
        How to handle a category that was not seen in training: ``"other"`` treats it as any
        category that the splits do not name; ``"majority"`` sends it to the child with more
        training examples; ``"stop"`` predicts at the node that splits on it; ``"missing"`` treats
        it as missing; ``"error"`` raises an error.
    smoothing : {"m-estimate", "laplace"} or None
        How counts become probabilities, see :func:`treebound.tree.smoothing.probabilities`. The
        default has the lowest log-loss on the paper's 25 data sets.
    class_weight : "balanced", mapping of class to weight, or None
        Multiplies the sample weights.
    certify : {"training", "holdout"}
        Compute the certificate from the training rows, or from rows that ``fit`` holds out (a
        tenth, but at least 150 and at most 30 %; the tree is grown and pruned on the rest). The
        second bound is much smaller; it holds for the fitted tree, and is larger for other steps
        of the pruning path, which share ``delta``.
    delta : float
        The certificate holds with probability ``1 - delta``.
    random_state : int or None
        Seed of the held-out rows. None chooses others at each fit.
    n_jobs : int or None
        Number of threads for growing; the tree does not depend on it.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, if the table has any.
    target_name_ : str or None
        The name of ``y``, if it has one (a pandas or polars series).
    columns_ : tuple of Column
        Kind, categories and missing values of each column.
    tree_ : Tree
        The fitted tree.
    grown_tree_ : Tree
        The tree before pruning.
    pruning_result_ : PruningResult or None
        The result of pruning; None without pruning.
    grow_options_ : GrowOptions
        The options of growing.

    See Also
    --------
    treebound.from_sklearn : Import a scikit-learn tree.
    treebound.prune : Prune a fitted tree.

    Notes
    -----
    A missing value in a real or ordinal column goes to the side learned for it at each split; in a
    nominal column it is a category of its own. If no training value was missing, it goes to the
    larger child.

    ``score`` (the accuracy), ``get_params`` and ``set_params`` are those of scikit-learn.

    Rows of weight zero are dropped, and a row of weight two counts as two rows: the number of
    examples in a pruning score is the sum of the weights.

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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _take(self, X: Any, table: Table, y: Any) -> None:
        if type(X) is np.ndarray and y is not None:  # an array has no names to look for
            super()._take(X, table, y)
        else:
            validate_data(self, X, y, skip_check_array=True)

    def _meet(self, X: Any) -> None:
        validate_data(self, X, reset=False, skip_check_array=True)

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class for each row, smoothed by ``smoothing``.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            The columns of the training table.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The classes in the order of ``classes_``. A frame after :meth:`set_output`.
        """
        return self._framed(self._probabilities(X), X)

    def predict_log_proba(self, X: Any) -> Any:
        """Predict the log-probability of each class for each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            The columns of the training table.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            See :meth:`predict_proba`.
        """
        with np.errstate(divide="ignore"):
            return self._framed(np.log(self._probabilities(X)), X)

    def decision_path(self, X: Any) -> csr_matrix:
        """The nodes on the path of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            The columns of the training table.

        Returns
        -------
        csr_matrix of shape (n_rows, n_nodes)
        """
        matrix = self._read(X)
        return self.tree_.decision_path(matrix, unknown=self._routing)
