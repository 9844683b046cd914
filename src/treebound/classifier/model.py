"""The model behind the estimator: grow, prune, predict, certify, without scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from treebound._params import Parameters
from treebound._validation import Constraint, Number, OneOf, Whole, check, invalid
from treebound.certificate import Certificate, HeldOut, certify_tree, learn_apart, reason_against
from treebound.classifier.exports import TreeExports
from treebound.data import Matrix, Sample, Unknown, read_matrix
from treebound.data.columns import UNKNOWNS
from treebound.data.folds import folds
from treebound.data.frames import Table, read_table
from treebound.data.oddities import warn_of_oddities
from treebound.data.sample import ClassWeight
from treebound.data.streams import open_stream
from treebound.data.weights import warn_of_common_factor
from treebound.growing import GrowOptions, grow
from treebound.growing.options import GrowthOrder, Thresholds
from treebound.landscape import Landscape
from treebound.pruning import Pruner, PruningPath, PruningResult, make_pruner
from treebound.pruning.base import BasePruner
from treebound.tree.impurity import Criterion, importances
from treebound.tree.model import Tree
from treebound.tree.smoothing import SMOOTHINGS, Smoothing, probabilities

__all__ = ["Fold", "TreeModel", "cross_validated", "fit_sample", "unchanged_on_error"]

# Constraints on the parameters that are not options of growing.
_CONSTRAINTS: dict[str, Constraint] = {
    "max_leaves": Whole(1, optional=True),
    "max_grown_leaves": Whole(1, optional=True),
    "unknown": OneOf(UNKNOWNS),
    "smoothing": OneOf(SMOOTHINGS),
    "certify": OneOf(("training", "holdout")),
    "delta": Number(0.0, 1.0, open=True),
    "random_state": Whole(0, optional=True),
}


class Fold(NamedTuple):
    """Results of a tree on a validation fold."""

    rows: int
    errors: int
    leaves: int


class TreeModel(TreeExports, Parameters):
    """A grown and pruned tree, its parameters and its certificate.

    :class:`~treebound.BoundTreeClassifier` adds the interface of scikit-learn, and documents the
    parameters and attributes; the command line uses this class, which is faster to import.
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
        smoothing: Smoothing | None = "shrinkage",
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

    # -- learning --------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow a tree and prune it.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            A data frame of any library that narwhals knows, an array, or nested lists; or a
            ``pyarrow.dataset.Dataset`` or a lazy frame of polars, which are read batch by batch
            and never held in memory as a whole.
        y : array-like of shape (n_rows,), or str
            The class of every row; of a table that is read in batches, the name of its column.
        sample_weight : array-like of shape (n_rows,), or str, optional
            The weight of every row, or the name of its column.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            batches = open_stream(X)
            if batches is not None:
                from treebound.classifier.in_rounds import fit_stream

                fit_stream(self, batches, y, sample_weight)
                return self
            pruner, options = self._checked()
            table = read_table(X)
            self._take(X, table, y)
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

    def _take(self, X: Any, table: Table, y: Any) -> None:
        """Store the column names of a training table."""
        vars(self).pop("feature_names_in_", None)
        self.n_features_in_ = table.shape[1]
        if table.names is not None:
            self.feature_names_in_ = np.array(table.names, dtype=object)

    def _meet(self, X: Any) -> None:
        """Check the columns of another table; reading it does so already."""

    def _fit_sample(self, sample: Sample, aside: Sample | None, pruner: Pruner | None) -> None:
        """Grow and prune, and count the held-out rows."""
        self._delta, self._unknown = self.delta, self.unknown
        self._held_out = None
        warn_of_common_factor(sample.weight)
        validation = None
        if isinstance(pruner, BasePruner):
            sample, validation = pruner.hold_out(sample)
        grown = grow(sample, self.grow_options_)
        tree, result = grown, None
        if pruner is not None:
            growing = partial(grow, options=self.grow_options_)
            result = pruner.prune(grown, sample, validation=validation, grow=growing)
            if self.max_leaves is not None:
                result = result.within(self.max_leaves)
            tree, grown = result.tree, result.path.first
        self._set_tree(tree, grown=grown, result=result)
        if aside is not None:
            self._held_out = HeldOut.of(aside, tree, grown, self._routing)

    def _checked(self) -> tuple[Pruner | None, GrowOptions]:
        """The pruner and the options of growing; a ValueError names an invalid parameter."""
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
        """Set the tree, the grown tree, and the step of the path selected by ``prune_to``."""
        self._step = step
        self.tree_ = tree
        self.grown_tree_ = grown
        self.classes_ = tree.classes
        self.columns_ = tree.columns
        self.pruning_result_ = result
        self._certificate: Certificate | None = None

    # -- prediction ------------------------------------------------------------------------

    def _read(self, X: Any) -> Matrix:
        self._check_fitted()
        table = read_table(X)
        self._meet(X)
        return read_matrix(table, self.tree_.columns, unknown=self.unknown)

    @property
    def _routing(self) -> str:
        """How routing handles unknown categories; reading handles the other policies."""
        return self.unknown if self.unknown in ("majority", "stop") else "other"

    def _nodes(self, X: Any) -> NDArray[np.int32]:
        matrix = self._read(X)
        return self.tree_.apply(matrix, unknown=self._routing, n_jobs=self.n_jobs)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row of a table.

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

    def _probabilities(self, X: Any) -> NDArray[np.float64]:
        nodes = self._nodes(X)
        return probabilities(self.tree_, self.smoothing).take(nodes, axis=0)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """The node of ``tree_`` that each row reaches.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            The columns of the training table.

        Returns
        -------
        ndarray of int32, shape (n_rows,)
            Leaves, or inner nodes with ``unknown="stop"``.
        """
        return self._nodes(X)

    def _check_fitted(self) -> None:
        """Raise scikit-learn's error if there is no tree."""
        if not hasattr(self, "tree_"):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(self)

    # -- learned attributes ----------------------------------------------------------------

    @property
    def landscape_(self) -> Landscape:
        """The landscape of the columns; undeclared categories count as unbounded."""
        self._check_fitted()
        return self.tree_.landscape

    @property
    def n_leaves_(self) -> int:
        """Number of leaves of the tree."""
        self._check_fitted()
        return self.tree_.n_leaves

    @property
    def depth_(self) -> int:
        """Length of the longest path from the root to a leaf."""
        self._check_fitted()
        return self.tree_.depth

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each column in the total decrease of impurity; the shares sum to one."""
        self._check_fitted()
        return importances(self.tree_, self.grow_options_.criterion)

    @property
    def pruning_path_(self) -> PruningPath | None:
        """The candidate steps of pruning with their scores; None without pruning."""
        self._check_fitted()
        return None if self.pruning_result_ is None else self.pruning_result_.path

    @property
    def certificate_(self) -> Certificate | None:
        """An upper bound on the true risk; None if it would not hold.

        If it is None, ``certificate_reason_`` says why.
        """
        self._check_fitted()
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
        """Why there is no certificate, in words; None if there is one."""
        if self.certificate_ is not None:
            return None
        return reason_against(self.tree_) or (
            "The held-out rows were counted on the grown tree; this tree has raised subtrees."
        )

    def prune_to(self, leaves: int | None = None, *, step: int | None = None) -> Self:
        """A copy of this classifier at another step of the pruning path, without refitting.

        Parameters
        ----------
        leaves : int
            The largest tree on the path with at most this many leaves; usually better than a tree
            that was stopped at this size while growing.
        step : int
            The tree at this step of ``pruning_path_``.

        Returns
        -------
        BoundTreeClassifier
            A fitted copy; this classifier is not changed.

        Raises
        ------
        ValueError
            If both or none of ``leaves`` and ``step`` are given, there is no such step, or the
            classifier was fitted with ``pruning=None``.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> import treebound as tb
        >>> clf = tb.BoundTreeClassifier().fit(*load_wine(return_X_y=True))
        >>> clf.prune_to(2).n_leaves_, clf.prune_to(step=0).n_leaves_
        (2, 8)
        """
        self._check_fitted()
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
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Restore the state of an estimator if fitting fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


# -- for the command line --------------------------------------------------------------------------


def fit_sample(model: TreeModel, sample: Sample, *, target_name: str | None = None) -> None:
    """Grow a tree and prune it on a sample of a table with named columns.

    There are no warnings of odd columns and no held-out rows.

    Parameters
    ----------
    model : TreeModel
        Fitted in place.
    sample : Sample
    target_name : str, optional
        The name of the target.
    """
    pruner, model.grow_options_ = model._checked()
    model.n_features_in_ = len(sample.columns)
    model.feature_names_in_ = np.array([c.name for c in sample.columns], dtype=object)
    model.target_name_ = target_name
    model._fit_sample(sample, None, pruner)


def cross_validated(model: TreeModel, sample: Sample, k: int) -> list[Fold]:
    """Cross-validate a model with k folds.

    Parameters
    ----------
    model : TreeModel
        Not changed.
    sample : Sample
    k : int
        Number of folds.
    """
    pruner, options = model._checked()
    found = []
    for outside, inside in folds(sample, k, model.random_state):
        part = copy(model)
        part.grow_options_ = options
        part._fit_sample(outside, None, pruner)
        nodes = part.tree_.apply(inside.X, unknown=model._routing)
        wrong = part.tree_.label[nodes] != inside.y
        found.append(Fold(inside.n_rows, int(wrong.sum()), part.tree_.n_leaves))
    return found
