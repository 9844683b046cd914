"""``prune`` and ``certify`` for trees of this package and of scikit-learn."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from treebound._utils.choices import CertificateKind
from treebound._utils.validation import invalid
from treebound.certificate.certificate import Certificate, certify_counts
from treebound.certificate.number_certificate import NumberCertificate
from treebound.certificate.row_record import RowComparison
from treebound.data import Sample
from treebound.data.sample import same_length
from treebound.data.streams import in_database
from treebound.exchange.sklearn_tree import SklearnTree, from_sklearn, structure_of, to_sklearn
from treebound.landscape import Landscape
from treebound.model import Model, RegressionModel
from treebound.model.base import BaseModel
from treebound.model.methods import as_model, as_regression_model, is_regression
from treebound.model.model import with_smoothing
from treebound.model.rows import IndependentRows
from treebound.pruning import Pruner, SquaredErrorPruner, make_pruner
from treebound.pruning.weight import default_weight
from treebound.tree.base import BaseTree
from treebound.tree.model import Tree
from treebound.tree.regression import RegressionTree

if TYPE_CHECKING:
    from treebound.estimators.regressor import BoundTreeRegressor

ValidationRows = tuple[Any, Any] | tuple[Any, Any, Any]
M = TypeVar("M")  # what is given is returned, pruned


def prune(
    model: M,
    X: Any = None,
    y: Any = None,
    *unnamed: Any,
    validation: ValidationRows | None = None,
    pruner: Any = "bound",
    sample_weight: ArrayLike | None = None,
    **options: Any,
) -> M:
    """Prune a fitted tree.

    Parameters
    ----------
    model : DecisionTreeClassifier, DecisionTreeRegressor, BoundTreeClassifier, \
            BoundTreeRegressor, model or tree
        A fitted scikit-learn tree, a fitted estimator of this package, its model or its tree. A
        regression tree takes the pruners ``"bound"`` and ``"cost-complexity"``, one of scikit-learn
        only the first, with a fixed weight, and its nodes keep their predictions.
    X, y : table and labels, optional
        The rows that the counts and classes of the tree come from: its training rows, or other
        rows on which it is recounted. Required for a scikit-learn tree, and for pruners that use
        the rows. Columns are found by name if the tree was fitted with names.
    validation : (X, y) or (X, y, sample_weight), optional
        Rows that were not used for growing, for reduced-error pruning, or for the bound pruner to
        choose its weight on.
    pruner : str or Pruner
        ``"bound"`` (the default), ``"kearns-mansour"``, ``"cost-complexity"``,
        ``"reduced-error"``, ``"pessimistic"``, ``"mdl"``, or a pruner object. By name, the bound
        pruner has the weight 0.6; ``weight="auto"`` grows more trees to choose it.
    sample_weight : array-like, optional
        The weights of the rows.
    **options
        Parameters of the pruner, if it is given by name.

    Returns
    -------
    object
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
    if unnamed:
        raise TypeError(
            f"prune takes a model, X and y, all else by name. Got {unnamed[0]!r:.60} as fourth. "
            "Hint: prune(model, X, y, pruner=...)."
        )
    if is_regression(model):
        return _prune_numbers(model, X, y, sample_weight, validation, pruner, options)
    if _is_sklearn_tree(model, "DecisionTreeRegressor"):
        return cast(M, _prune_sklearn_numbers(model, X, y, sample_weight, pruner, options))
    chosen = _pruner(pruner, {**_fitted_costs(model, pruner), **options})
    if _is_sklearn_tree(model):
        return cast(M, _prune_sklearn(model, X, y, sample_weight, validation, chosen))
    source: Any = model
    if isinstance(source, Tree):
        chosen = with_smoothing(chosen, "shrinkage")  # it keeps no other
    pruned: Any = as_model(source, "prune").prune(
        chosen, X, y, sample_weight, validation=validation
    )
    return _as_given(model, pruned)


def _as_given(source: M, pruned: Any) -> M:
    """Return a pruned model as what was given: a tree, a model, or a fitted estimator."""
    given: Any = source
    if isinstance(given, BaseTree):
        return cast(M, pruned.tree)
    return cast(M, pruned if isinstance(given, BaseModel) else given._with_model(pruned))


def _prune_numbers(
    model: M,
    X: Any,
    y: Any,
    sample_weight: Any,
    validation: ValidationRows | None,
    pruner: Any,
    options: dict[str, Any],
) -> M:
    """Prune a regression tree, its model or a fitted regressor."""
    if isinstance(pruner, str):
        if pruner not in ("bound", "cost-complexity"):
            must = "'bound', 'cost-complexity' or a SquaredErrorPruner for a regression tree"
            raise invalid("pruner", "prune", must, pruner)
        pruner = SquaredErrorPruner(**{"price": pruner, **options})
    elif not isinstance(pruner, SquaredErrorPruner):
        raise invalid("pruner", "prune", "a SquaredErrorPruner for a regression tree", pruner)
    source: Any = model
    pruned: Any = as_regression_model(source, "prune").prune(
        pruner, X, y, sample_weight, validation=validation
    )
    return _as_given(model, pruned)


def _fitted_costs(model: Any, pruner: Any) -> dict[str, Any]:
    """The costs that a model was fitted with, for the bound pruner."""
    named = isinstance(pruner, str) and pruner in ("bound", "log-loss")
    if not named or isinstance(model, Tree) or _is_sklearn_tree(model):
        return {}
    costs = as_model(model, "prune").costs
    return {} if costs is None else {"costs": costs}


def _pruner(pruner: Any, options: dict[str, Any]) -> Pruner:
    if isinstance(pruner, str) and pruner == "bound":
        # to choose it would grow more trees
        options.setdefault("weight", default_weight(options.get("score")))
    chosen = make_pruner(pruner, **options)
    if chosen is None:
        raise invalid("pruner", "", "a pruner or its name", None)
    return chosen


# -- scikit-learn's trees ------------------------------------------------------------------------


def _is_sklearn_tree(model: Any, kind: str = "DecisionTreeClassifier") -> bool:
    import sys

    trees = sys.modules.get("sklearn.tree")  # not loaded: it is none of them
    return trees is not None and isinstance(model, getattr(trees, kind))


def _prune_sklearn_numbers(
    model: Any, X: Any, y: Any, sample_weight: Any, pruner: Any, options: dict[str, Any]
) -> Any:
    """Prune a scikit-learn regression tree; its nodes keep their predictions."""
    if pruner == "bound":
        pruner = SquaredErrorPruner(**options)
    if not isinstance(pruner, SquaredErrorPruner) or pruner.price != "bound":
        must = "'bound' or a SquaredErrorPruner with that price for a DecisionTreeRegressor"
        raise invalid("pruner", "prune", must, pruner)
    if X is None or y is None:
        must = "what the scikit-learn tree was fitted on"
        raise invalid("X" if X is None else "y", "prune", must, None)
    tree = from_sklearn(model, X, y, sample_weight)
    path = pruner.prune(tree).result.path
    return to_sklearn(tree.collapsed(path.cuts(path.chosen)), like=model)


def _prune_sklearn(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    validation: ValidationRows | None,
    pruner: Pruner,
) -> Any:
    if X is None or y is None:
        must = "what the scikit-learn tree was fitted on"
        raise invalid("X" if X is None else "y", "prune", must, None)
    source = SklearnTree(model)
    sample = source.read(X, y, sample_weight)
    unseen = None if validation is None else source.read(*validation)
    result = with_smoothing(pruner, "shrinkage").prune(
        source.tree.recounted(sample), sample, validation=unseen, grow=partial(_grow_like, model)
    )
    return to_sklearn(result.tree, like=model)


def _grow_like(estimator: Any, sample: Sample) -> Tree:
    """Grow a tree on part of the rows as a scikit-learn estimator would."""
    from sklearn.base import clone

    again = clone(estimator).set_params(class_weight=None)  # already in the weights
    again.fit(sample.X.dense, sample.y, sample_weight=sample.masses)
    return structure_of(again, sample.columns, sample.classes).recounted(sample)


# -- certificates --------------------------------------------------------------------------------


@overload
def certify(
    model: RegressionTree | RegressionModel | BoundTreeRegressor,
    X: Any = ...,
    y: Any = ...,
    *,
    kind: CertificateKind | None = ...,
    delta: float | None = ...,
    groups: Any = ...,
) -> NumberCertificate: ...
@overload
def certify(
    model: Any,
    X: Any = ...,
    y: Any = ...,
    *,
    kind: CertificateKind | None = ...,
    landscape: Landscape | None = ...,
    delta: float | None = ...,
    groups: Any = ...,
) -> Certificate: ...
def certify(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    kind: CertificateKind | None = None,
    landscape: Landscape | None = None,
    delta: float | None = None,
    groups: Any = None,
) -> Certificate | NumberCertificate:
    """Bound the risk of a tree on new examples.

    Parameters
    ----------
    model : BoundTreeClassifier, Model, Tree, DecisionTreeClassifier, or any classifier
        A regression tree is certified for large errors, see
        :meth:`treebound.BoundTreeRegressor.certify`.
        A fitted classifier of this package, its model or its tree, or a fitted scikit-learn tree.
        From held-out rows, anything with a ``predict``.
    X, y : table and labels, optional
        Rows to certify from; without them those of ``fit``. By giving rows you state that they were
        not used for fitting, unless ``kind`` states otherwise. Every row counts once. The labels of
        a table that is not in memory are named; the rows of a relation are counted in its database.
    kind : {"training", "held-out", "prior"}, optional
        What the rows are: ``"held-out"`` (the default) if they were not used for fitting,
        ``"training"`` for all training rows, ``"prior"`` for all training rows, of which a fifth
        defines a prior over trees.
    landscape : Landscape, optional
        The features to split on, for a certificate from training rows; by default those of the
        columns, where undeclared categories count as unbounded.
    delta : float, optional
        Probability that the bound fails; by default that of the model, or 0.05.
    groups : array-like of shape (n_rows,), optional
        The group of each row, such as a patient: one row of each group is counted, drawn by number,
        and the bound is about a row drawn at random from a random group. Required for a model that
        was fitted with groups.

    Raises
    ------
    ValueError
        If there is no certificate, or more held-out rows equal rows that were used for fitting than
        chance explains. If such rows might not be noticed, the certificate states it.

    See Also
    --------
    treebound.bounds.binomial_upper : The bound from the counts of held-out rows alone.

    Examples
    --------
    >>> import treebound as tb
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = tb.BoundTreeClassifier(max_leaves=15).fit(X[:1300], y[:1300])
    >>> print(tb.certify(clf))
    With probability 95 %, at most 50.8 % of new examples are misclassified
    (20.2 % on the 1,300 training examples, 15 leaves; baseline 89.8 %).
    >>> print(tb.certify(clf, X[1300:], y[1300:]))
    With probability 95 %, at most 33.0 % of new examples are misclassified
    (146 of 497 held-out examples were; baseline 89.7 %).
    """
    if (X is None) != (y is None):
        present, absent = ("X", "y") if y is None else ("y", "X")
        raise ValueError(
            f"certify needs both 'X' and 'y', or none. Got {present!r} without {absent!r}."
        )
    if is_regression(model):
        if landscape is not None:
            raise invalid("landscape", "certify", "None for a regression tree", landscape)
        return _certify_numbers(as_regression_model(model, "certify"), X, y, kind, delta, groups)
    if _is_sklearn_tree(model):
        model = SklearnTree(model).certifiable(X)
    elif not isinstance(model, Model | Tree) and "model_" not in vars(model):
        return _certify_any(model, X, y, kind, delta, groups)
    certified = as_model(model, "certify")
    if in_database(X):
        from treebound.engines.sql import tested

        if kind not in (None, "held-out"):
            raise invalid("kind", "certify", "None or 'held-out' for rows of a database", kind)
        if groups is not None:
            raise invalid("groups", "certify", "None for rows that are not in memory", type(groups))
        return certified.certify_tested(tested(certified, X, y), delta=delta)
    return certified.certify(X, y, kind=kind, landscape=landscape, delta=delta, groups=groups)


def _certify_numbers(
    model: RegressionModel, X: Any, y: Any, kind: str | None, delta: float | None, groups: Any
) -> NumberCertificate:
    """Return the certificate of a regression tree, from its calibration rows or from these rows."""
    if kind not in (None, "held-out", "folds"):
        raise invalid("kind", "certify", "None, 'held-out' or 'folds' for a regression tree", kind)
    return model.certify(X, y, delta=delta, groups=groups)


def _certify_any(
    model: Any, X: Any, y: Any, kind: str | None, delta: float | None, groups: Any
) -> Certificate:
    """Return the certificate of any classifier, from held-out rows."""
    if not hasattr(model, "predict"):
        as_model(model, "certify")
    if X is None:
        raise ValueError(
            "A classifier that is no tree has a certificate from held-out rows only. Hint: give "
            "rows that were not used for fitting as X and y."
        )
    if kind not in (None, "held-out"):
        raise invalid("kind", "certify", "'held-out' for a classifier that is no tree", kind)
    predicted, labels = np.asarray(model.predict(X)), np.asarray(y)
    same_length(len(predicted), len(labels))
    wrong, grouped = predicted != labels, False
    if groups is not None:
        drawn = IndependentRows.of(groups, len(wrong))
        wrong, grouped = wrong[drawn.rows], drawn.grouped
    comparison = RowComparison(len(wrong), not_compared="the model has no record of its rows")
    level = 0.05 if delta is None else delta
    certificate = certify_counts(int(wrong.sum()), len(wrong), level, comparison=comparison)
    return certificate.about_groups() if grouped else certificate
