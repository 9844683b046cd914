"""The parameters of fitting, declared once: for the classifier and for the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import fields
from typing import Any, ClassVar, get_args

from treebound._utils.choices import CertificateKind, Criterion, Size, Unknown
from treebound._utils.validation import (
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
from treebound.data.sample import ClassWeight
from treebound.growing import GrowOptions
from treebound.growing.options import GROWING_RULES, GrowParameters
from treebound.pruning import BoundPruner, Pruner, make_pruner
from treebound.pruning.base import BasePruner
from treebound.tree.smoothing import ALLOWED, Smoothing

# Parameters of scikit-learn's trees, and what does the same here.
_ELSEWHERE = {
    "max_leaf_nodes": "use 'max_leaves'.",
    "ccp_alpha": "use pruning=treebound.pruning.CostComplexityPruner(alpha=...).",
    "min_impurity_decrease": "use 'min_gain'.",
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
    max_grown_leaves : int or None
        Maximum number of leaves of the tree before it is pruned; None means no limit, or 2^16
        where the rows are not in memory.
    pruning : {"bound", "kearns-mansour", "cost-complexity", "reduced-error", "pessimistic", \
            "mdl"}, Pruner or None
        How to prune the grown tree; None does not prune.
    size : {"accurate", "balanced", "small", "detailed"} or None
        Which tree the bound pruner chooses by cross-validation: that of the least error, or the
        smallest within half a standard error of it, or within one, or the largest within half.
        None: ``"balanced"`` from 1,000 rows on, or where class weights or costs leave less than
        half of the rows effective; else a fixed weight without cross-validation.
    categorical_features : "from_dtype", or a sequence of names, of indices, or a boolean mask
        Columns to treat as nominal regardless of dtype. The others follow their dtype: unordered
        categoricals, text and booleans are nominal, ordered categoricals and enums ordinal,
        numbers real.
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
        Multiplies the sample weights; only the ratios matter. Pruning counts the effective number
        of examples, ``(sum n c)^2 / sum n c^2`` for n rows of each class weight c.
    certificate : {"training", "held-out", "folds", "prior"}
        What the certificate is computed from: the training rows; rows that ``fit`` holds out (a
        tenth, but at least 150 and at most 30 %); the best of 3 folds (4 from 500 rows on), each of
        which tests a tree that was fitted without it; or a prior over trees that a fifth of the
        rows defines, where the tree is searched for with all rows to have a small limit (columns,
        thresholds, ``max_leaves`` and ``max_depth`` are as set; the other options of growing and
        pruning do not matter). The last three limits are much smaller; see :ref:`certificate`.
    delta : float
        The certificate holds with probability ``1 - delta``.
    target_risk : float or None
        With ``certificate="prior"``: fit the most accurate tree that is certified at this risk or
        below; an error if there is none. None chooses the most accurate of the trees whose limit
        is within 3 points of the least.
    random_state : int or None
        Seed of the folds, of the held-out rows, or of the rows of the prior, which are drawn by a
        hash of it and of a summary of the table. None chooses others at each fit.
    """

    criterion: Criterion = parameter(OneOf(get_args(Criterion)), default="entropy")
    max_grown_leaves: int | None = parameter(Whole(1, optional=True), default=None)
    pruning: str | Pruner | None = "bound"
    size: Size | None = parameter(OneOf((*get_args(Size), None)), default=None)
    categorical_features: Any = "from_dtype"
    ordinal_features: Sequence[Any] | Mapping[Any, Sequence[Any]] | None = None
    handle_unknown: Unknown = parameter(OneOf(get_args(Unknown)), default="other")
    smoothing: Smoothing | None = parameter(ALLOWED, default="shrinkage")
    class_weight: ClassWeight = None
    certificate: CertificateKind = parameter(OneOf(get_args(CertificateKind)), default="training")
    delta: float = parameter(Number(0.0, 1.0, open=True), default=0.05)
    target_risk: float | None = parameter(Number(0.0, 1.0, open=True, optional=True), default=None)
    random_state: int | None = parameter(Whole(0, optional=True), default=0)
    _elsewhere: ClassVar[dict[str, str]] = _ELSEWHERE

    def checked(self) -> tuple[Pruner | None, GrowOptions]:
        """The pruner and the options of growing; a ValueError names an invalid parameter."""
        owner = "BoundTreeClassifier" if type(self) is FitParameters else type(self).__name__
        check(owner, vars(self), self._constraints)
        weight = self.class_weight
        if not (weight is None or weight == "balanced" or isinstance(weight, Mapping)):
            must = "'balanced', a mapping of classes or None"
            raise invalid("class_weight", owner, must, weight)
        if self.target_risk is not None and self.certificate != "prior":
            must = "None unless certificate='prior'"
            raise invalid("target_risk", owner, must, self.target_risk)
        pruner = self._pruner(owner)
        if self.certificate == "prior" and not isinstance(pruner, BoundPruner | None):
            hint = "tb.certify(clf, X, y, kind='prior') certifies a tree of any pruner."
            must = (
                "'bound', or a BoundPruner for its costs, with certificate='prior', which searches"
            )
            raise invalid("pruning", owner, f"{must} trees in its own way", self.pruning, hint)
        if isinstance(pruner, BoundPruner) and pruner.smoothing not in ("auto", self.smoothing):
            must = f"'auto' in this classifier, or its own 'smoothing', {self.smoothing!r}"
            raise invalid("smoothing", "BoundPruner", must, pruner.smoothing)
        self._check_rules(pruner)
        limits = [self.max_grown_leaves] + [self.max_leaves] * (pruner is None)
        most = min((limit for limit in limits if limit is not None), default=None)
        return pruner, GrowOptions.of(self, max_leaves=most)

    def _check_rules(self, pruner: Pruner | None) -> None:
        """Raise a ValueError where the rules of growing would not be kept."""
        rules = {name: vars(self)[name] for name in GROWING_RULES if vars(self)[name] is not None}
        if rules and self.certificate == "prior":
            name, value = next(iter(rules.items()))
            must = "None with certificate='prior', which searches trees in its own way"
            raise invalid(name, "", must, value, "use another 'certificate'.")
        raises = isinstance(pruner, BasePruner) and pruner.raises_subtrees
        if raises and not rules.keys().isdisjoint(("monotonic_cst", "forced_splits")):
            raise ValueError(
                f"The pruner {pruner!r} puts subtrees in other places, where 'monotonic_cst' and "
                "'forced_splits' would not hold. Hint: use a pruner that only cuts, such as "
                "'bound'."
            )

    def _pruner(self, owner: str) -> Pruner | None:
        """The pruner, with the rule, the seed and the threads that it takes from the classifier."""
        if self.pruning == "bound":
            return BoundPruner(rule=self.size, random_state=self.random_state, n_jobs=self.n_jobs)
        pruner = make_pruner(self.pruning)
        if self.size is None:
            return pruner
        if isinstance(pruner, BoundPruner) and pruner.rule is None and pruner.chooses:
            return copy(pruner).set_params(rule=self.size)
        hint = "it chooses the weight of the bound pruner: use pruning='bound', with weight='auto'."
        raise invalid("size", owner, "None with this pruner", self.size, hint)

    def of_columns(self) -> dict[str, Any]:
        """The parameters that say what columns and classes are, and how much classes weigh."""
        names = ("categorical_features", "ordinal_features", "class_weight")
        return {name: vars(self)[name] for name in names}

    def values(self) -> dict[str, Any]:
        """The parameters by name."""
        return {name: vars(self)[name] for name in _NAMES}


_NAMES = [own.name for own in fields(FitParameters)]
