"""BoundTreeClassifier: grow, prune, predict, as scikit-learn expects it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from treebound._validation import Constraint, Number, OneOf, Whole, check, invalid
from treebound.certificate import Certificate, certify_tree, reason_against
from treebound.classifier.exports import TreeExports
from treebound.classifier.held_out import HeldOut, learn_apart
from treebound.classifier.output import FrameOutput
from treebound.data import Matrix, Sample, Unknown, read_matrix
from treebound.data.columns import UNKNOWNS
from treebound.data.frames import read_table
from treebound.data.oddities import warn_of_oddities
from treebound.data.sample import ClassWeight
from treebound.data.weights import warn_if_light
from treebound.growing import GrowOptions, grow
from treebound.growing.options import GrowthOrder, Thresholds
from treebound.landscape import Landscape
from treebound.pruning import Pruner, PruningPath, PruningResult, make_pruner
from treebound.tree.impurity import Criterion, importances
from treebound.tree.model import Tree
from treebound.tree.smoothing import SMOOTHINGS, Smoothing, probabilities

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from sklearn.utils import Tags

__all__ = ["BoundTreeClassifier"]

# What the parameters may be that are not about growing; those are in GrowOptions.
_CONSTRAINTS: dict[str, Constraint] = {
    "max_leaves": Whole(1, optional=True),
    "max_grown_leaves": Whole(1, optional=True),
    "unknown": OneOf(UNKNOWNS),
    "smoothing": OneOf(SMOOTHINGS),
    "certify": OneOf(("training", "holdout")),
    "delta": Number(0.0, 1.0, open=True),
    "random_state": Whole(0, optional=True),
}


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
    max_leaves : int or None
        Most leaves of the tree that is returned; None is no limit. With pruning, growing goes on
        past it and the best tree on the pruning path with at most so many leaves is kept.
    max_grown_leaves : int or None
        Most leaves of the tree that is grown before it is pruned; None is no limit.
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

    def __init__(
        self,
        *,
        criterion: Criterion = "entropy",
        growth_order: GrowthOrder = "gain",
        max_leaves: int | None = None,
        max_grown_leaves: int | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        min_samples_split: int = 2,
        min_weight_fraction_leaf: float = 0.0,
        min_gain: float = 0.0,
        thresholds: Thresholds = "decimal",
        pruning: str | Pruner | None = "bound",
        categorical_features: Any = "from_dtype",
        ordinal_features: Sequence[Any] | Mapping[Any, Sequence[Any]] | None = None,
        unknown: Unknown = "other",
        smoothing: Smoothing | None = "m-estimate",
        class_weight: ClassWeight = None,
        certify: Literal["training", "holdout"] = "training",
        delta: float = 0.05,
        random_state: int | None = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.growth_order = growth_order
        self.max_leaves = max_leaves
        self.max_grown_leaves = max_grown_leaves
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_split = min_samples_split
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_gain = min_gain
        self.thresholds = thresholds
        self.pruning = pruning
        self.categorical_features = categorical_features
        self.ordinal_features = ordinal_features
        self.unknown = unknown
        self.smoothing = smoothing
        self.class_weight = class_weight
        self.certify = certify
        self.delta = delta
        self.random_state = random_state
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
        with _unchanged_on_error(self):
            pruner, options = self._checked()
            table = read_table(X)
            validate_data(self, X, y, skip_check_array=True)
            learn = partial(
                Sample.learn,
                class_weight=self.class_weight,
                categorical_features=self.categorical_features,
                ordinal_features=self.ordinal_features,
            )
            given, aside = (table, y, sample_weight), None
            if self.certify == "holdout":
                sample, aside = learn_apart(learn, *given, self.random_state, self.unknown)
            else:
                sample = learn(*given)
            warn_of_oddities(sample, stacklevel=3)
            name = getattr(y, "name", None)
            self.target_name_ = name if isinstance(name, str) and name else None
            self.grow_options_ = options
            self._fit_sample(sample, aside, pruner)
        return self

    def _fit_sample(self, sample: Sample, aside: Sample | None, pruner: Pruner | None) -> None:
        """Grow and prune, and count the rows set aside."""
        self._delta, self._unknown = self.delta, self.unknown
        self._held_out = None
        grown = grow(sample, self.grow_options_)
        tree, result = grown, None
        if pruner is not None:
            warn_if_light(sample.weight)
            growing = partial(grow, options=self.grow_options_)
            result = pruner.prune(grown, sample, grow=growing)
            if self.max_leaves is not None:
                result = result.within(self.max_leaves)
            tree, grown = result.tree, result.path.first
        self._set_tree(tree, grown=grown, result=result)
        if aside is not None:
            self._held_out = HeldOut.of(aside, tree, grown, self._routing)

    def _checked(self) -> tuple[Pruner | None, GrowOptions]:
        """The pruner and the options of growing; a ValueError names the parameter that is wrong."""
        check(type(self).__name__, vars(self), _CONSTRAINTS)
        weight = self.class_weight
        if not (weight is None or weight == "balanced" or isinstance(weight, Mapping)):
            must = "'balanced', a mapping of classes or None"
            raise invalid("class_weight", type(self).__name__, must, weight)
        pruner = make_pruner(self.pruning)
        limits = [self.max_grown_leaves] + [self.max_leaves] * (pruner is None)
        most = min((limit for limit in limits if limit is not None), default=None)
        return pruner, GrowOptions.of(self, max_leaves=most)

    def _set_tree(
        self, tree: Tree, *, grown: Tree, result: PruningResult | None, step: int | None = None
    ) -> None:
        """Take a tree, what it was pruned from, and the step of the path if it was moved there."""
        self._step = step
        self.tree_ = tree
        self.grown_tree_ = grown
        self.classes_ = tree.classes
        self.columns_ = tree.columns
        self.pruning_result_ = result
        self._certificate: Certificate | None = None

    # -- answering -------------------------------------------------------------------------

    def _read(self, X: Any) -> Matrix:
        check_is_fitted(self)
        table = read_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return read_matrix(table, self.tree_.columns, unknown=self.unknown)

    @property
    def _routing(self) -> str:
        """What the tree does where it meets an unknown category; reading does the rest."""
        return self.unknown if self.unknown in ("majority", "stop") else "other"

    def _nodes(self, X: Any) -> NDArray[np.int32]:
        matrix = self._read(X)
        return self.tree_.apply(matrix, unknown=self._routing, n_jobs=self.n_jobs)

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
        matrix = self._read(X)
        return self.tree_.decision_path(matrix, unknown=self._routing)

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
        return self.tree_.depth

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The share of each column in the decrease of impurity; they add up to one."""
        check_is_fitted(self)
        return importances(self.tree_, self.grow_options_.criterion)

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
        check_is_fitted(self)
        if self._certificate is None:
            self._certificate = self._certified()
        return self._certificate

    def _certified(self) -> Certificate | None:
        if self._held_out is None:
            if reason_against(self.tree_):
                return None
            return certify_tree(self.tree_, delta=self._delta, unknown=self._unknown)
        path = self.pruning_path_
        if path is None or self._step in (None, path.chosen):
            return self._held_out.certificate(self._delta)
        return self._held_out.certificate_at(path, self._step, self._delta)

    @property
    def certificate_reason_(self) -> str | None:
        """Why there is no certificate, in words; None where there is one."""
        if self.certificate_ is not None:
            return None
        return reason_against(self.tree_) or (
            "The rows set aside were counted on the grown tree; this tree has raised subtrees."
        )

    def prune_to(
        self, leaves: int | None = None, *, step: int | None = None
    ) -> BoundTreeClassifier:
        """A copy of this classifier at another place of the pruning path, without refitting.

        Parameters
        ----------
        leaves : int
            The largest tree on the path that has at most so many leaves. This is the way to a
            small tree: better than to stop growing there.
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
        >>> clf.prune_to(2).n_leaves_, clf.prune_to(step=0).n_leaves_
        (2, 8)
        """
        check_is_fitted(self)
        path = self.pruning_path_
        if path is None:
            raise ValueError(
                "There is no pruning path: the classifier was fitted with pruning=None. "
                "Hint: fit it with another 'pruning'."
            )
        if leaves is not None and step is None:
            at = path.step_with(leaves)
        elif leaves is None and step is not None:
            at = path.step(step)
        else:
            raise ValueError(
                "prune_to needs one of 'leaves' and 'step'. "
                f"Got leaves={leaves!r} and step={step!r} instead."
            )
        moved = copy(self)
        moved._set_tree(path.tree(at), grown=self.grown_tree_, result=self.pruning_result_, step=at)
        return moved


@contextmanager
def _unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Leave an estimator as it was if fitting it fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
