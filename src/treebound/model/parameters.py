"""The parameters of fitting, declared once: for the classifier and for the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import fields
from typing import Any, ClassVar, get_args

import numpy as np

from treebound._utils.choices import (
    CertificateChoice,
    CertificateKind,
    Criterion,
    Size,
    TreeSearch,
    Unknown,
)
from treebound._utils.validation import (
    OMITTED,
    Folds,
    InWords,
    OneOf,
    Parameters,
    Setting,
    Whole,
    WordedError,
    check,
    invalid,
    parameter,
    parameters_of,
    with_parameters,
)
from treebound.data.draws import Splitter
from treebound.data.sample import ClassWeight, LabelledRows
from treebound.growing import GrowOptions
from treebound.growing.options import GROWING_RULES, GrowParameters
from treebound.pruning import BoundPruner, PaperPruner, Pruner, make_pruner
from treebound.pruning.base import BasePruner
from treebound.pruning.estimate import READABLE_LEAVES
from treebound.pruning.weight import default_weight
from treebound.tree.smoothing import ALLOWED, Smoothing

DEFAULT_FOLDS = 5
# From this number of rows of positive weight (or groups) on, certificate="auto" holds out a tenth.
AUTO_ROWS = 10_000
_CALIBRATED = ("held-out", "folds")  # kinds of certificates for which rows are held out
# Up to this number of values (rows x columns) search="auto" is wide: the whole fit with its folds
# then takes about half a second on one core, see benchmarks/search_time.py. A tree that shall be
# small gains most, and may take ten times as long.
WIDE_VALUES = 50_000
WIDE_LEAVES = 16
WIDE_VALUES_FOR_FEW_LEAVES = 10 * WIDE_VALUES
# Parameters of scikit-learn's trees, and what does the same here.
NO_PARAMETERS = {
    "max_leaf_nodes": "use 'max_leaves'.",
    "ccp_alpha": "use pruning=treebound.pruning.CostComplexityPruner(alpha=...).",
    "min_impurity_decrease": "pruning removes splits that gain too little.",
    "min_samples_split": "use 'min_samples_leaf'.",
    "min_weight_fraction_leaf": "use 'min_samples_leaf'.",
    "max_features": "every split looks at all columns.",
    "splitter": "every split looks at all columns and thresholds.",
}


@parameters_of(GrowParameters)
@with_parameters
class FitParameters(Parameters, GrowParameters):
    """The parameters of fitting, described for the classifier and the command line.

    Parameters
    ----------
    max_leaves : int or None
        Maximum number of leaves; None means no limit. With pruning it does not limit growing: the
        best tree on the pruning path with at most this many leaves is chosen.
    pruning : {"bound", "kearns-mansour", "cost-complexity", "reduced-error", "pessimistic", \
            "mdl", "log-loss"}, Pruner or None
        How to prune the grown tree: ``"log-loss"`` is the bound pruner for probabilities; None
        does not prune.
    size : {"accurate", "balanced", "small", "detailed", "readable"} or None
        Which tree the bound pruner chooses by cross-validation: that of the least error, or the
        smallest within half a standard error of it, or within one, or the largest within half.
        None: ``"balanced"`` from 1,000 rows on, or where class weights or costs leave less than
        half of the rows effective; else a fixed weight without cross-validation. ``"readable"`` is
        the best tree of at most 12 leaves, with any pruner.
    cv : int, splitter or None
        Folds for the size of the tree and for the estimate of its error (``estimate_``). Below
        1,000 rows they serve the estimate alone. None fits one tree without folds, which has no
        estimate, and the bound pruner then has a fixed weight of 0.6. A pruner object chooses the
        size by folds of its own.
    search : {"auto", "greedy", "wide"}
        How the top of the tree is found: by the best split alone, or by trying the eight best
        splits at the root and the four best at its children, with greedy growth below, and pruning
        all of these trees together; see :ref:`wide-search`. ``"wide"`` takes about twenty times as
        long for each tree. It needs the bound pruner and at most 10^7 values in memory, and has no
        certificate of the kind ``"prior"``. ``"auto"`` is ``"wide"`` up to 50,000 values (rows
        times columns), and up to 500,000 with ``max_leaves`` of at most 16 or ``size="readable"``;
        it is ``"greedy"`` for more values, for rows that are not in memory, and with options for
        which ``"wide"`` raises an error.
    categorical_features : "from_dtype", or a sequence of names, of indices, or a boolean mask
        Columns to treat as nominal regardless of dtype. The others follow their dtype: unordered
        categoricals, text and booleans are nominal, ordered categoricals and enums ordinal,
        numbers real. An undeclared nominal column that is not named here is not learned from if it
        identifies rows: at least 50 of them, with distinct values in more than 90 %.
    ordinal_features : sequence of names or indices, or mapping to ordered categories, or None
        Columns to treat as ordinal regardless of dtype; a mapping declares their categories.
    handle_unknown : {"other", "majority", "stop", "missing", "error"}
        How to handle a category that was not seen in training: ``"other"`` treats it as any
        category that the splits do not name; ``"majority"`` sends it to the child with more
        training examples; ``"stop"`` predicts at the node that splits on it; ``"missing"`` treats
        it as missing; ``"error"`` raises an error.
    smoothing : {"shrinkage", "m-estimate", "laplace"}, float or None
        How counts become probabilities, see :func:`treebound.tree.smoothing.probabilities`; a
        number shrinks by the rows of both children, and pruning for log-loss chooses it. The
        default has the lowest log-loss on the paper's 25 data sets.
    class_weight : "balanced", mapping of class to weight, or None
        Multiplies the sample weights; only the ratios matter, and classes that a mapping leaves
        out have weight 1. A key that is no class of y is an error. Pruning counts the effective
        number of examples, ``(sum n c)^2 / sum n c^2`` for n rows of each class weight c.
    costs : array of shape (n_classes, n_classes) or (n_classes,), mapping, or None
        Misclassification costs: a matrix (row: true class, column: predicted class), or the cost of
        an error on each true class (1 for classes that a mapping leaves out). Leaves then predict
        the class of least cost, and pruning counts costs instead of errors; see :ref:`costs`. It
        needs the bound pruner or the paper's.
    certificate : {"auto", "training", "held-out", "folds", "prior"}
        What the certificate is computed from. ``"training"``: the training rows. ``"held-out"``:
        calibration rows that ``fit`` holds out (a tenth, but at least 150 and at most 30 %), and
        that choose nothing. ``"auto"``: calibration rows from 10,000 rows of positive weight (or
        groups) on, the training rows below. ``"folds"``: the best of 3 folds (4 from 500 rows on),
        each of which tests a tree that was fitted without it.
        ``"prior"``: a prior over trees that a fifth of the rows defines; the tree is searched for
        with all rows to have a small bound (columns, thresholds, ``max_leaves`` and ``max_depth``
        are as set; the other options of growing and pruning do not matter). The bounds of the
        last three are much smaller; see :ref:`certificate`. All hold with probability 95 %, and
        ``certify`` gives them for another ``delta``.
    random_state : int or None
        Seed of the folds, of the calibration rows, or of the rows of the prior, which are drawn by
        a hash of it and of a summary of the table. None chooses others at each fit.
    """

    criterion: Criterion = parameter(OneOf(get_args(Criterion)), default="entropy")
    pruning: str | Pruner | None = "bound"
    size: Size | None = parameter(OneOf((*get_args(Size), None)), default=None)
    cv: int | Splitter | None = parameter(Folds(optional=True), default=DEFAULT_FOLDS)
    search: TreeSearch = parameter(OneOf(get_args(TreeSearch)), default="greedy")
    categorical_features: Any = "from_dtype"
    ordinal_features: Sequence[Any] | Mapping[Any, Sequence[Any]] | None = None
    handle_unknown: Unknown = parameter(OneOf(get_args(Unknown)), default="other")
    smoothing: Smoothing | None = parameter(ALLOWED, default="shrinkage")
    class_weight: ClassWeight = None
    costs: Any = None
    certificate: CertificateChoice = parameter(OneOf(get_args(CertificateChoice)), default="auto")
    random_state: int | None = parameter(Whole(0, optional=True), default=0)
    _elsewhere: ClassVar[dict[str, str]] = NO_PARAMETERS


_NAMES = [each.name for each in fields(FitParameters)]


@with_parameters
class OrderedParameters(FitParameters):
    """The parameters of fitting, and the order of the classes.

    Parameters
    ----------
    class_order : sequence of classes, or None
        All classes from low to high, as the type of the target declares them.
    """

    class_order: Sequence[Any] | None = None


def with_class_order(parameters: FitParameters, order: Sequence[Any] | None) -> FitParameters:
    """Return the parameters with the order of the classes, if there is one."""
    if order is None:
        return parameters
    return OrderedParameters(**parameter_values(parameters), class_order=order)


def parameter_values(parameters: FitParameters) -> dict[str, Any]:
    """Return the parameters of the classifier by name."""
    return {name: vars(parameters)[name] for name in _NAMES}


def certificate_kind(parameters: FitParameters, rows: int) -> CertificateKind:
    """Return the kind of the certificate for a number of rows of positive weight, or groups.

    Listed folds refer to the rows of the whole table, so ``"auto"`` holds none of them out.
    """
    if parameters.certificate != "auto":
        return parameters.certificate
    return "held-out" if rows >= AUTO_ROWS and not listed_folds(parameters) else "training"


def listed_folds(parameters: Any) -> str:
    """Return the parameter that lists folds by the places of rows, if there is one."""
    if isinstance(parameters.cv, list):
        return "cv"
    return "pruning" if isinstance(getattr(parameters.pruning, "folds", None), list) else ""


def refuse_listed_folds(parameters: Any, owner: str) -> None:
    """Raise a ValueError if folds are listed by places among rows of which some are held out."""
    if not (name := listed_folds(parameters)) or parameters.certificate not in _CALIBRATED:
        return
    counted = "a number of folds or a splitter"
    counted = counted if name == "cv" else f"a pruner whose 'folds' is {counted},"
    must = (counted, " with ", Setting("certificate", parameters.certificate))
    hint = "listed folds count the rows of the whole table, and some of these are held out."
    raise invalid(name, owner, must, InWords("a list of folds"), hint)


def check_fold_count(cv: Any, owner: str, rows: LabelledRows) -> None:
    """Raise a ValueError for more folds than rows or groups; the default is for any table."""
    if isinstance(cv, int | np.integer) and cv > max(rows.n_units, DEFAULT_FOLDS):
        units = "rows" if rows.groups is None else "groups"
        raise invalid("cv", owner, f"at most {rows.n_units:,}, the number of {units}", cv)


def column_parameters(parameters: FitParameters) -> dict[str, Any]:
    """Return the parameters that determine the columns, and the weights of the classes."""
    names = ("categorical_features", "ordinal_features", "class_weight")
    return {name: vars(parameters)[name] for name in names}


def leaf_limit(parameters: FitParameters) -> int | None:
    """Return the maximum number of leaves; None if there is no limit."""
    if parameters.size != "readable":
        return parameters.max_leaves
    limit = parameters.max_leaves
    return READABLE_LEAVES if limit is None else min(limit, READABLE_LEAVES)


# Rules that hold at places of the tree.
_OF_PLACES = ("monotonic_cst", "forced_splits")


def checked_parameters(parameters: FitParameters) -> tuple[Pruner | None, GrowOptions]:
    """Return the pruner and the options of growing; a ValueError names an invalid parameter."""
    owner = type(parameters).__name__
    owner = "BoundTreeClassifier" if owner.endswith("Parameters") else owner
    check(owner, vars(parameters), FitParameters._constraints)
    weight = parameters.class_weight
    if not (weight is None or weight == "balanced" or isinstance(weight, Mapping)):
        must = "'balanced', a mapping of classes or None"
        raise invalid("class_weight", owner, must, weight)
    pruner = _pruner(parameters, owner)
    if parameters.certificate == "prior" and not isinstance(pruner, BoundPruner | None):
        prior = Setting("certificate", "prior")
        only = ("'bound' with ", prior, ", which searches trees")
        hint = "certify the fitted tree from a prior instead: that takes any pruner."
        raise invalid("pruning", owner, (*only, " in its own way"), parameters.pruning, hint)
    if isinstance(pruner, BoundPruner) and pruner.smoothing not in ("auto", parameters.smoothing):
        must = f"'auto' in this classifier, or its own 'smoothing', {parameters.smoothing!r}"
        raise invalid("smoothing", "BoundPruner", must, pruner.smoothing)
    refuse_listed_folds(parameters, owner)
    _check_rules(parameters, pruner)
    if parameters.search == "wide" and (why := _why_greedy(parameters, pruner)):
        raise invalid("search", owner, f"'greedy' {why}", parameters.search)
    # with pruning, 'max_leaves' limits the tree that is chosen, not the one that is grown
    max_leaves = leaf_limit(parameters) if pruner is None else None
    order = parameters.class_order if isinstance(parameters, OrderedParameters) else None
    return pruner, GrowOptions.of(parameters, max_leaves=max_leaves, class_order=order)


def _check_rules(parameters: FitParameters, pruner: Pruner | None) -> None:
    """Raise a ValueError if the rules of growing would not be kept."""
    values = vars(parameters)
    rules = {name: values[name] for name in GROWING_RULES if values[name] is not None}
    if rules and parameters.certificate == "prior":
        name, value = next(iter(rules.items()))
        prior = Setting("certificate", "prior")
        must = (OMITTED, " with ", prior, ", which searches trees in its own way")
        raise invalid(name, "", must, value, ("use another ", Setting("certificate"), "."))
    raises = isinstance(pruner, BasePruner) and pruner.raises_subtrees
    if raises and not rules.keys().isdisjoint(_OF_PLACES):
        name, value = next((name, values[name]) for name in _OF_PLACES if name in rules)
        only = (OMITTED, f" with the pruner {pruner!r}, which puts subtrees in other places")
        hint = ("use a pruner that only cuts, such as ", Setting("pruning", "bound"), ".")
        raise invalid(name, "", only, value, hint)


def _why_greedy(parameters: FitParameters, pruner: Pruner | None) -> str:
    """Return with which options there is no wide search; an empty text if there is one."""
    if not isinstance(pruner, BoundPruner) or not pruner.searches:
        return "unless the pruner is the bound pruner with its code length"
    if parameters.certificate == "prior":
        return "with a certificate of the kind 'prior', which searches trees in its own way"
    return "with observed thresholds" if parameters.thresholds == "observed" else ""


def with_search(parameters: FitParameters, rows: int, columns: int) -> FitParameters:
    """Return the parameters with the search that ``"auto"`` means for a table in memory.

    It depends on the size of the table and the options alone, never on measured times, so that the
    same fit gives the same tree on any machine.
    """
    if parameters.search != "auto":
        return parameters
    leaves = leaf_limit(parameters)
    few = leaves is not None and leaves <= WIDE_LEAVES
    most = WIDE_VALUES_FOR_FEW_LEAVES if few else WIDE_VALUES
    pruner, _ = checked_parameters(parameters)
    wide = rows * columns <= most and not _why_greedy(parameters, pruner)
    return copy(parameters).set_params(search="wide" if wide else "greedy")


def fitted_costs(parameters: Mapping[str, Any]) -> Any:
    """Return the costs among the parameters of a classifier, or those of its pruner, or None."""
    if (costs := parameters.get("costs")) is not None:
        return costs
    pruner = parameters.get("pruning")
    return pruner.costs if isinstance(pruner, BoundPruner | PaperPruner) else None


def _pruner(parameters: FitParameters, owner: str) -> Pruner | None:
    """Return the pruner, with the rule, the seed, the threads and the costs of the classifier."""
    pruner = _without_costs(parameters, owner)
    if parameters.costs is None:
        return pruner
    if not isinstance(pruner, BoundPruner | PaperPruner):
        given = parameters.pruning
        raise WordedError(
            "The ", Setting("costs", python=f"'costs' parameter of {owner}"), " needs ",
            Setting("pruning", "bound"), " or ", Setting("pruning", "log-loss"), ". Got ",
            Setting("pruning", given or "none", python=f"pruning={given!r:.80}"),
            " instead. Hint: use ", Setting("class_weight"), ".",
        )  # fmt: skip
    if pruner.costs is not None:
        raise invalid("costs", owner, "None if the pruner has costs", parameters.costs)
    return copy(pruner).set_params(costs=parameters.costs)


def _without_costs(parameters: FitParameters, owner: str) -> Pruner | None:
    """Return the pruner without the costs of the classifier."""
    seed, jobs, size = parameters.random_state, parameters.n_jobs, parameters.size
    size = None if size == "readable" else size
    if parameters.pruning in ("bound", "log-loss"):
        score = "log-loss" if parameters.pruning == "log-loss" else "code-length"
        bound = BoundPruner(score=score, random_state=seed, n_jobs=jobs)
        if parameters.cv is not None:
            return bound.set_params(rule=size, folds=parameters.cv)
        if size is not None:
            must = (
                "'readable' or ",
                OMITTED,
                " with ",
                Setting("cv", 0, python="cv=None"),
                ", as folds choose the size",
            )
            raise invalid("size", owner, must, size)
        return bound.set_params(weight=default_weight(score))
    pruner = make_pruner(parameters.pruning)
    if size is None:
        return pruner
    if isinstance(pruner, BoundPruner) and pruner.rule is None and pruner.selects_weight:
        return copy(pruner).set_params(rule=size)
    usual = Setting("pruning", "bound")
    hint = ("it chooses the weight of the bound pruner: use ", usual, " with a free weight.")
    raise invalid("size", owner, (OMITTED, " with this pruner"), size, hint)
