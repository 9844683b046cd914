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
        What a split should decrease.
    growth_order : {"gain", "impurity"}
        Which leaf is expanded next: the one whose split gains most, or, as in the paper, the one
        whose children are purest.
    max_leaves : int or None
        Most leaves of the tree that is returned; None is no limit. With pruning, growing goes on
        past it and the best tree on the pruning path with at most so many leaves is kept.
    max_grown_leaves : int or None
        Most leaves of the tree that is grown before it is pruned; None is no limit, or 2^16 where
        the rows are not in memory.
    max_depth : int or None
        Greatest depth of the grown tree; None is no limit.
    min_samples_leaf, min_samples_split : int
        Least number of rows in a leaf, and in a node to be split.
    min_weight_fraction_leaf : float
        Least share of all weight in a leaf, from 0 to 0.5.
    min_gain : float
        Least gain of a split.
    thresholds : {"decimal", "midpoint", "observed"}
        Where between two neighbouring training values a threshold lies: at the decimal with the
        fewest digits, halfway, or at the value on the left. Training rows go the same way.
    pruning : {"bound", "kearns-mansour", "cost-complexity", "reduced-error", "pessimistic", \
            "mdl"}, Pruner or None
        How the grown tree is pruned; None keeps it as it is.
    categorical_features : "from_dtype", or a sequence of names, of indices, or a boolean mask
        Columns that are nominal whatever their dtype. The others keep the kind of their dtype:
        unordered categoricals, text and booleans nominal, ordered categoricals and enums ordinal,
        numbers real.
    ordinal_features : sequence of names or indices, or mapping to ordered categories, or None
        Columns that are ordinal whatever their dtype; a mapping declares their categories.
    unknown : {"other", "majority", "stop", "missing", "error"}
        What happens to a category at prediction that training did not know: it answers no to
        every split, as any other category; it goes where more training examples went; the node
        where it is met answers; it counts as missing; or it is an error.
    smoothing : {"m-estimate", "laplace"} or None
        How counts become probabilities, see :func:`treebound.tree.smoothing.probabilities`. The
        default has the least log-loss on the paper's 25 data sets.
    class_weight : "balanced", mapping of class to weight, or None
        Multiplies the sample weights.
    certify : {"training", "holdout"}
        What the certificate comes from: the training rows, or rows that ``fit`` sets aside (a
        tenth of them, but at least 150 and at most 30 %; the tree is grown and pruned on the
        rest). The second is much smaller and holds for the tree that ``fit`` returned; on other
        steps of the pruning path it pays for all of them.
    delta : float
        The certificate holds with probability ``1 - delta``.
    random_state : int or None
        Seed of the rows set aside; which rows these are depends on nothing else. None draws
        others at every fit.
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
    grow_options_ : GrowOptions
        How the tree was grown.

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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _take(self, X: Any, table: Table, y: Any) -> None:
        validate_data(self, X, y, skip_check_array=True)

    def _meet(self, X: Any) -> None:
        validate_data(self, X, reset=False, skip_check_array=True)

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

    def decision_path(self, X: Any) -> csr_matrix:
        """The nodes every row passes, as a sparse indicator of shape (n_rows, n_nodes)."""
        matrix = self._read(X)
        return self.tree_.decision_path(matrix, unknown=self._routing)
