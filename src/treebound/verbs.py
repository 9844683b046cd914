"""``prune`` and ``certify`` for trees of this package and of scikit-learn."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from treebound.certificate import Certificate, certify_tree
from treebound.data import Sample, has_names
from treebound.exchange.sklearn_tree import sklearn_sample, structure_of, to_sklearn
from treebound.growing import grow
from treebound.landscape import Landscape
from treebound.pruning import Pruner, make_pruner
from treebound.tree.model import Tree

__all__ = ["certify", "prune"]

Rows = tuple[Any, Any] | tuple[Any, Any, Any]


@overload
def prune(
    model: Tree,
    X: Any = ...,
    y: Any = ...,
    *,
    validation: Rows | None = ...,
    pruner: Any = ...,
    sample_weight: ArrayLike | None = ...,
    **options: Any,
) -> Tree: ...
@overload
def prune(
    model: Any,
    X: Any = ...,
    y: Any = ...,
    *,
    validation: Rows | None = ...,
    pruner: Any = ...,
    sample_weight: ArrayLike | None = ...,
    **options: Any,
) -> Any: ...
def prune(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    validation: Rows | None = None,
    pruner: Any = "bound",
    sample_weight: ArrayLike | None = None,
    **options: Any,
) -> Any:
    """Prune a fitted tree.

    Parameters
    ----------
    model : DecisionTreeClassifier, BoundTreeClassifier or Tree
        A fitted scikit-learn tree, a fitted classifier of this package, or its tree.
    X, y : table and labels, optional
        The rows that the counts and classes of the tree come from: its training rows, or other
        rows on which it is recounted. Required for a scikit-learn tree, and for pruners that use
        the rows.
    validation : (X, y) or (X, y, sample_weight), optional
        Validation rows for reduced-error pruning.
    pruner : str or Pruner
        ``"bound"`` (the default), ``"kearns-mansour"``, ``"cost-complexity"``,
        ``"reduced-error"``, ``"pessimistic"``, ``"mdl"``, or a pruner object.
    sample_weight : array-like, optional
        The weights of the rows.
    **options
        Parameters of the pruner, if it is given by name.

    Returns
    -------
    DecisionTreeClassifier, BoundTreeClassifier or Tree
        The pruned model, of the same type as ``model``, which is not changed. Pruners that
        cross-validate fit clones on parts of the rows. To see all decisions of a pruner, call
        ``pruner.prune(tree, sample)``, which returns a
        :class:`~treebound.pruning.PruningResult`.

    Raises
    ------
    ValueError
        If a scikit-learn tree is given without its rows, or the pruner needs rows.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> grown = DecisionTreeClassifier(random_state=0).fit(X, y)
    >>> pruned = tb.prune(grown, X, y)
    >>> print(type(pruned).__name__, grown.get_n_leaves(), pruned.get_n_leaves())
    DecisionTreeClassifier 22 9
    """
    chosen = _pruner(pruner, options)
    if isinstance(getattr(model, "tree_", model), Tree):
        return _prune_own(model, X, y, validation, chosen, sample_weight)
    if X is None or y is None:
        raise ValueError(
            "The 'X' and 'y' parameters of prune must be what the scikit-learn tree was fitted on. "
            "Got None instead."
        )
    sample = _sklearn_rows(model, X, y, sample_weight)
    judge = None if validation is None else sklearn_sample(model, *validation)
    tree = structure_of(model, sample.columns, sample.classes).recounted(sample)
    result = chosen.prune(tree, sample, validation=judge, grow=partial(_grow_like, model))
    return to_sklearn(result.tree, like=model)


def _pruner(pruner: Any, options: dict[str, Any]) -> Pruner:
    if pruner == "reduced-error":  # by name it would hold out rows and grow another tree
        options.setdefault("validation_fraction", None)
    chosen = make_pruner(pruner, **options)
    if chosen is None:
        raise ValueError("The 'pruner' parameter must be a pruner or its name. Got None instead.")
    if getattr(chosen, "validation_fraction", None) is not None:
        raise ValueError(
            "A pruner with a 'validation_fraction' grows another tree than the one given. "
            "Hint: give the validation rows as validation=(X, y), with validation_fraction=None."
        )
    return chosen


def _prune_own(
    model: Any, X: Any, y: Any, validation: Rows | None, pruner: Pruner, sample_weight: Any
) -> Any:
    """A tree of this package, or a copy of a fitted classifier, with its grown tree pruned."""
    is_tree = isinstance(model, Tree)
    tree: Tree = model if is_tree else model.grown_tree_
    sample = None if X is None else _rows_of(tree, X, y, sample_weight)
    judge = None if validation is None else _rows_of(tree, *validation)
    if sample is not None:
        tree = tree.recounted(sample)
    again = None if is_tree else partial(grow, options=model.grow_options_)
    result = pruner.prune(tree, sample, validation=judge, grow=again)
    if is_tree:
        return result.tree
    moved = copy(model)
    moved._held_out = None  # the held-out rows were not counted on this tree
    moved._set_tree(result.tree, grown=tree, result=result)
    return moved


def _rows_of(tree: Tree, X: Any, y: Any, sample_weight: Any = None) -> Sample:
    return Sample.read(
        X,
        y,
        sample_weight,
        columns=tree.columns,
        classes=tree.classes,
        named=has_names(tree.columns),
    )


# -- scikit-learn's trees ------------------------------------------------------------------------


def _sklearn_rows(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Sample:
    """The rows with the weights the estimator was fitted with, class weights included."""
    if getattr(estimator, "class_weight", None) is not None:
        from sklearn.utils.class_weight import compute_sample_weight

        weight = compute_sample_weight(estimator.class_weight, y)
        sample_weight = weight if sample_weight is None else weight * np.asarray(sample_weight)
    return sklearn_sample(estimator, X, y, sample_weight)


def _grow_like(estimator: Any, sample: Sample) -> Tree:
    """Grow a tree on part of the rows as a scikit-learn estimator would."""
    from sklearn.base import clone

    again = clone(estimator).set_params(class_weight=None)  # already in the weights
    again.fit(sample.X.dense, sample.y, sample_weight=sample.weight)
    return structure_of(again, sample.columns, sample.classes).recounted(sample)


# -- certificates --------------------------------------------------------------------------------


def certify(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: ArrayLike | None = None,
    errors: int | None = None,
    landscape: Landscape | None = None,
    delta: float = 0.05,
) -> Certificate:
    """Bound the risk of a tree on new examples from its training rows.

    Parameters
    ----------
    model : BoundTreeClassifier, Tree or DecisionTreeClassifier
        A fitted classifier of this package, its tree, or a fitted scikit-learn tree.
    X, y : table and labels, optional
        All rows that were used to fit the tree. Required for a scikit-learn tree; other trees are
        recounted on them if given.
    sample_weight : array-like, optional
        Weights the tree was fitted with; weighted trees have no certificate.
    errors : int, optional
        Training errors; by default those of the tree.
    landscape : Landscape, optional
        The features to split on; by default those of the columns, where undeclared categories
        count as unbounded.
    delta : float
        Probability that the bound fails.

    Returns
    -------
    Certificate

    Raises
    ------
    ValueError
        If the tree has no certificate, for example because rows were weighted.

    See Also
    --------
    certify_holdout : From held-out rows; a smaller bound.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_digits
    >>> clf = tb.BoundTreeClassifier(max_leaves=15).fit(*load_digits(return_X_y=True))
    >>> print(tb.certify(clf))
    With probability 95 %, at most 48.1 % of new examples are misclassified
    (21.9 % on the 1,797 training examples, 15 leaves).
    """
    unknown = getattr(model, "unknown", "other")
    tree = getattr(model, "tree_", model)
    if isinstance(tree, Tree):
        if X is not None:
            tree = _counted_on(tree, _rows_of(tree, X, y, sample_weight))
    elif X is None:
        raise ValueError(
            "The 'X' and 'y' parameters of certify must be what the scikit-learn tree was fitted "
            "on. Got None instead."
        )
    else:
        sample = _sklearn_rows(model, X, y, sample_weight)
        tree = structure_of(model, sample.columns, sample.classes).recounted(sample)
    return certify_tree(tree, errors=errors, landscape=landscape, delta=delta, unknown=unknown)


def _counted_on(tree: Tree, sample: Sample) -> Tree:
    """The tree with the counts of a sample; its labels are kept."""
    again = tree.recounted(sample)
    same = tree.counted and (again.weighted, again.columns) == (tree.weighted, tree.columns)
    if same and np.array_equal(again.counts, tree.counts):
        return tree  # the training rows: which of them name its splits is known
    return replace(again, label=tree.label)
