"""The parameters of fitting a regression tree, declared once for regressor and command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from math import inf
from typing import Any, ClassVar, Literal, get_args

from treebound._utils.choices import Unknown
from treebound._utils.validation import (
    OMITTED,
    Folds,
    Number,
    OneOf,
    Parameters,
    Whole,
    check,
    invalid,
    parameter,
    parameters_of,
    with_parameters,
)
from treebound.data.draws import Splitter
from treebound.growing import GrowOptions
from treebound.growing.options import GrowParameters
from treebound.model.parameters import (
    AUTO_ROWS,
    DEFAULT_FOLDS,
    NO_PARAMETERS,
    FitParameters,
    listed_folds,
    refuse_listed_folds,
)
from treebound.pruning.estimate import READABLE_LEAVES
from treebound.pruning.number_choice import DEFAULT_RULE
from treebound.pruning.number_pruner import LEAF_SIZES, SquaredErrorPruner
from treebound.tree.leaf_values import Shrinkage

NumberSize = Literal["accurate", "balanced", "small", "readable"]
NumberCertificateKind = Literal["auto", "held-out", "folds"]


@parameters_of(FitParameters)
@with_parameters
class RegressionParameters(Parameters, GrowParameters):
    """The parameters of fitting a regression tree.

    Parameters
    ----------
    criterion : {"squared_error"}
        The loss that splits lower.
    min_samples_leaf : int or "auto"
        Minimum number of rows in a leaf. ``"auto"``: 1, 5 or 20, chosen by the same folds as the
        size of the tree; 5 if there are no folds.
    monotonic_cst : array-like of int, mapping of column to int, or None
        Columns in which predictions only rise (1) or only fall (-1); 0 for no constraint. Missing
        values are not constrained.
    pruning : {"bound", "cost-complexity"}, SquaredErrorPruner or None
        How to prune the grown tree; None does not prune.
    size : {"accurate", "balanced", "small", "readable"} or None
        Which tree cross-validation chooses: that of the least squared error; the smallest within
        half a standard error of the difference from it (the default); or within one standard error
        of the least squared error. ``"readable"`` is the balanced tree of at most 12 leaves.
    cv : int, splitter or None
        Folds for the size of the tree, its leaf size and shrinkage, and for the estimate of its
        errors (``estimate_``). None fits one tree without folds, with a weight of 0.6, leaves of at
        least 5 rows and shrinkage ``("F", 4.0)`` unless they are set; it has no estimate and no
        intervals. A pruner object has folds of its own.
    smoothing : "auto", None, float or pair
        How leaf values are shrunk towards those of the nodes above them: chosen by the folds, not
        at all, by so many rows, or in units of the F statistic, such as ``("F", 4.0)``; see
        :mod:`treebound.tree.leaf_values`.
    certificate : {"auto", "held-out", "folds"} or None
        The rows that certify errors of new predictions. ``"held-out"``: calibration rows that
        ``fit`` holds out (a tenth, but at least 150 and at most 30 %), and that choose nothing.
        ``"folds"``: the best of 3 folds (4 from 500 rows on), each of which tests a tree that was
        fitted without it. ``"auto"``: calibration rows from 10,000 rows (or groups) on, else no
        certificate. None: no certificate. Bounds from training rows are wider than useful and not
        offered.
    tolerance : float or None
        The certificate bounds the share of new predictions that are off by more than this; None:
        half a standard deviation of the training numbers.
    y_range : pair of float, or None
        The least and the greatest possible number of the target, known without the data. The
        certificate then bounds the mean absolute error and the RMSE too.
    clip : pair of float, or None
        Quantiles such as ``(0.01, 0.99)``: the tree is learned from numbers that are moved into the
        range between these quantiles of y, and its size is chosen by errors on these. It then
        predicts about the mean without outliers. Estimates, intervals and certificates are still
        those of the numbers as they are.
    """

    criterion: Any = parameter(OneOf(("squared_error",)), default="squared_error")
    min_samples_leaf: Any = parameter(OneOf(("auto",), Whole(1)), default="auto")
    pruning: str | SquaredErrorPruner | None = "bound"
    size: NumberSize | None = parameter(OneOf((*get_args(NumberSize), None)), default=None)
    cv: int | Splitter | None = parameter(Folds(optional=True), default=DEFAULT_FOLDS)
    categorical_features: Any = "from_dtype"
    ordinal_features: Sequence[Any] | Mapping[Any, Sequence[Any]] | None = None
    handle_unknown: Unknown = parameter(OneOf(get_args(Unknown)), default="other")
    smoothing: Any = "auto"
    certificate: NumberCertificateKind | None = parameter(
        OneOf((*get_args(NumberCertificateKind), None)), default="auto"
    )
    random_state: int | None = parameter(Whole(0, optional=True), default=0)
    tolerance: float | None = parameter(Number(0.0, open=True, optional=True), default=None)
    y_range: tuple[float, float] | None = None
    clip: tuple[float, float] | None = None
    _elsewhere: ClassVar[dict[str, str]] = {
        **NO_PARAMETERS,
        "ccp_alpha": "use pruning='cost-complexity', which chooses alpha by cross-validation.",
        "search": (
            "growth of numbers is greedy: each split has the largest gain of its node. Only "
            "BoundTreeClassifier has search='wide'."
        ),
        "class_weight": "a target of numbers has no classes; give fit a sample_weight.",
        "costs": "errors of a number cost their square; give fit a sample_weight.",
        "growth_order": "nodes of numbers are split in the order of their gain.",
    }


_NAMES = [attribute.name for attribute in fields(RegressionParameters)]


def parameter_values(parameters: RegressionParameters) -> dict[str, Any]:
    """Return the parameters of the regressor by name."""
    return {name: vars(parameters)[name] for name in _NAMES}


def column_parameters(parameters: RegressionParameters) -> dict[str, Any]:
    """Return the parameters that determine the columns."""
    names = ("categorical_features", "ordinal_features")
    return {name: vars(parameters)[name] for name in names}


def leaf_sizes(parameters: RegressionParameters) -> tuple[int, ...]:
    """Return the minimum leaf sizes to choose from."""
    size = parameters.min_samples_leaf
    return LEAF_SIZES if size == "auto" else (int(size),)


def checked_parameters(
    parameters: RegressionParameters,
) -> tuple[SquaredErrorPruner | None, GrowOptions]:
    """Return the pruner and the options of growing; a ValueError names an invalid parameter."""
    owner = type(parameters).__name__
    owner = "BoundTreeRegressor" if owner.endswith("Parameters") else owner
    if parameters.certificate in ("training", "prior"):
        must = "'auto', 'held-out', 'folds' or None"
        hint = "bounds from training rows are wider than useful for numbers."
        raise invalid("certificate", owner, must, parameters.certificate, hint)
    check(owner, vars(parameters), RegressionParameters._constraints)
    if parameters.smoothing != "auto":
        Shrinkage.of(parameters.smoothing, owner)
    _check_clip(parameters.clip, owner)
    _check_range(parameters.y_range, owner)
    refuse_listed_folds(parameters, owner)
    pruner = _pruner(parameters, owner)
    # with pruning, 'max_leaves' limits the tree that is chosen, not the one that is grown
    limit = parameters.max_leaves if pruner is None else None
    options = GrowOptions.of(parameters, criterion="gini", max_leaves=limit, min_samples_leaf=1)
    return pruner, options


def _check_clip(clip: Any, owner: str) -> None:
    if clip is None:
        return
    pair = isinstance(clip, list | tuple) and len(clip) == 2
    if not pair or not all(Number(0.0, 1.0).allows(end) for end in clip) or clip[0] >= clip[1]:
        raise invalid("clip", owner, "a pair of quantiles such as (0.01, 0.99), or None", clip)


def max_leaves(parameters: RegressionParameters) -> int | None:
    """Return the maximum number of leaves of the pruned tree."""
    if parameters.size != "readable":
        return parameters.max_leaves
    return min(parameters.max_leaves or READABLE_LEAVES, READABLE_LEAVES)


def certificate_kind(parameters: RegressionParameters, rows: int) -> str | None:
    """Return the kind of certificate of a fit on so many rows, or groups.

    Listed folds refer to the rows of the whole table, so ``"auto"`` holds none of them out.
    """
    if parameters.certificate != "auto":
        return parameters.certificate
    return "held-out" if rows >= AUTO_ROWS and not listed_folds(parameters) else None


def _check_range(y_range: Any, owner: str) -> None:
    if y_range is None:
        return
    pair = isinstance(y_range, list | tuple) and len(y_range) == 2
    if not pair or not all(Number(-inf).allows(end) for end in y_range) or y_range[0] >= y_range[1]:
        raise invalid("y_range", owner, "a pair (least, greatest) of numbers, or None", y_range)


def _pruner(parameters: RegressionParameters, owner: str) -> SquaredErrorPruner | None:
    """Return the pruner, with the rule, shrinkage, seed and threads of the regressor."""
    pruning, size = parameters.pruning, parameters.size
    shared: dict[str, Any] = {
        "smoothing": parameters.smoothing,
        "folds": parameters.cv,
        "random_state": parameters.random_state,
        "n_jobs": parameters.n_jobs,
    }
    if size is not None:
        shared["rule"] = DEFAULT_RULE if size == "readable" else size
    if pruning == "bound":
        return SquaredErrorPruner(**shared)
    if pruning == "cost-complexity":
        return SquaredErrorPruner(**{"rule": "accurate", **shared, "price": "cost-complexity"})
    if pruning is None:
        if size is not None:
            raise invalid("size", owner, (OMITTED, " without pruning"), size)
        return None
    if not isinstance(pruning, SquaredErrorPruner):
        must = "'bound', 'cost-complexity', a SquaredErrorPruner or None"
        raise invalid("pruning", owner, must, pruning)
    if size not in (None, "readable"):
        raise invalid("size", owner, (OMITTED, " with a pruner, which has a rule"), size)
    return pruning
