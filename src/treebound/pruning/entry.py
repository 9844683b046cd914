"""``treebound.prune``: any tree in, the same kind of tree out."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treebound.growing.grow import OPTIONS, grow
from treebound.pruning.base import Grow, Pruner
from treebound.pruning.registry import make_pruner
from treebound.tree.model import Tree
from treebound.tree.sklearn_tree import from_sklearn, to_sklearn

__all__ = ["prune"]


@overload
def prune(
    estimator: Tree, X: Any = ..., y: Any = ..., *, pruner: Any = ...,
    sample_weight: ArrayLike | None = ..., **options: Any,
) -> Tree: ...  # fmt: skip
@overload
def prune(
    estimator: Any, X: Any = ..., y: Any = ..., *, pruner: Any = ...,
    sample_weight: ArrayLike | None = ..., **options: Any,
) -> Any: ...  # fmt: skip
def prune(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    pruner: Any = "bound",
    sample_weight: ArrayLike | None = None,
    **options: Any,
) -> Any:
    """Prune a tree that is already grown, and hand back the same kind of thing.

    Parameters
    ----------
    estimator : DecisionTreeClassifier, BoundTreeClassifier or Tree
        A fitted scikit-learn tree, a fitted classifier of this package, or its tree.
    X, y : table and classes
        What it was fitted on. A Tree, and pruners that do not look at the examples again, can do
        without.
    pruner : str or Pruner
        ``"bound"`` (the default), ``"kearns-mansour"``, ``"cost-complexity"``,
        ``"reduced-error"``, ``"pessimistic"``, ``"mdl"``, or a pruner object.
    sample_weight : array-like, optional
        The weights it was fitted with.
    **options
        Parameters of the pruner, when it is given by name.

    Returns
    -------
    DecisionTreeClassifier, BoundTreeClassifier or Tree
        A new one, of the kind that was given; nothing is refitted. Pruners that cross-validate or
        set a part aside fit clones on parts of the examples. For everything a pruner decided, use
        ``pruner.prune(tree, X, y)``, which returns a
        :class:`~treebound.pruning.PruningResult`.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> grown = DecisionTreeClassifier(random_state=0).fit(X, y)
    >>> pruned = tb.prune(grown, X, y)
    >>> print(type(pruned).__name__, grown.get_n_leaves(), pruned.get_n_leaves())
    DecisionTreeClassifier 22 7
    """
    chosen = make_pruner(pruner, **options)
    if chosen is None:
        raise ValueError("The 'pruner' parameter must be a pruner or its name. Got None instead.")
    if isinstance(estimator, Tree):
        return chosen.prune(estimator, X, y, sample_weight=sample_weight).tree
    if isinstance(getattr(estimator, "tree_", None), Tree):
        return _prune_classifier(estimator, X, y, chosen, sample_weight)
    return _prune_sklearn(estimator, X, y, chosen, sample_weight)


def _prune_sklearn(estimator: Any, X: Any, y: Any, pruner: Pruner, sample_weight: Any) -> Any:
    if X is None or y is None:
        raise ValueError(
            "The 'X' and 'y' parameters of prune must be what the scikit-learn tree was fitted on. "
            "Got None instead."
        )
    weight = _weights(estimator, y, sample_weight)
    tree = from_sklearn(estimator, X, y, weight)
    matrix = np.asarray(X, dtype=np.float64)
    codes = np.searchsorted(estimator.classes_, np.asarray(y).ravel()).astype(np.int64)
    again = _GrowLike(estimator)
    result = pruner.prune(tree, matrix, codes, sample_weight=weight, grow=again)
    return to_sklearn(result.tree)


def _weights(estimator: Any, y: Any, sample_weight: Any) -> Any:
    """The weights the estimator was fitted with, those of its classes included."""
    from sklearn.utils.class_weight import compute_sample_weight

    if getattr(estimator, "class_weight", None) is None:
        return sample_weight
    weight = compute_sample_weight(estimator.class_weight, y)
    return weight if sample_weight is None else weight * np.asarray(sample_weight)


class _GrowLike:
    """Grow a tree on part of the examples as a scikit-learn estimator would."""

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator

    def __call__(
        self, X: NDArray[np.float64], y: NDArray[np.int64], sample_weight: Any = None
    ) -> Tree:
        from sklearn.base import clone

        again = clone(self._estimator).set_params(class_weight=None)  # already in the weights
        fitted = again.fit(X, y, sample_weight=sample_weight)
        part = from_sklearn(fitted, X, y, sample_weight)
        return _with_all_classes(part, fitted.classes_, self._estimator.classes_)


def _with_all_classes(tree: Tree, seen: NDArray[np.int64], classes: NDArray[Any]) -> Tree:
    """The tree with a column of counts for every class, also those not met in this part."""
    from dataclasses import replace

    counts = np.zeros((tree.n_nodes, len(classes)))
    counts[:, seen] = tree.counts
    return replace(tree, counts=counts, classes=classes, label=counts.argmax(axis=1))


def _prune_classifier(classifier: Any, X: Any, y: Any, pruner: Pruner, sample_weight: Any) -> Any:
    """A copy of a fitted classifier of this package, with its grown tree pruned."""
    tree = getattr(classifier, "grown_tree_", classifier.tree_)
    options = {name: getattr(classifier, name) for name in OPTIONS if hasattr(classifier, name)}
    grow_one: Grow = partial(_grow_again, tree=tree, options=options)
    result = pruner.prune(tree, X, y, sample_weight=sample_weight, grow=grow_one)
    moved = copy(classifier)
    moved.tree_ = result.tree
    moved.pruning_result_ = result
    moved._certificate = None
    return moved


def _grow_again(
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    sample_weight: Any = None,
    *,
    tree: Tree,
    options: dict[str, Any],
) -> Tree:
    """A tree on part of the examples, grown as the classifier grows."""
    return grow(X, y, tree.columns, tree.classes, sample_weight=sample_weight, **options)
