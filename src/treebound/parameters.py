"""The parameters of fitting, declared once: for the classifier and for the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import fields
from typing import Any, ClassVar, Literal

from treebound._validation import (
    Number,
    OneOf,
    Parameters,
    Whole,
    check,
    invalid,
    parameter,
    with_parameters,
)
from treebound.certificate.certificate import KINDS, CertificateKind
from treebound.data import Unknown
from treebound.data.columns import UNKNOWNS
from treebound.data.sample import ClassWeight
from treebound.growing import GrowOptions
from treebound.growing.options import GROWING_RULES, GrowthOrder, Thresholds
from treebound.pruning import BoundPruner, Pruner, make_pruner
from treebound.pruning.base import BasePruner
from treebound.pruning.weight import RULES
from treebound.tree.impurity import Criterion
from treebound.tree.smoothing import SMOOTHINGS, Smoothing

# Parameters of scikit-learn's trees, and what does the same here.
_ELSEWHERE = {
    "max_leaf_nodes": "use 'max_leaves'.",
    "ccp_alpha": "use pruning=treebound.pruning.CostComplexityPruner(alpha=...).",
    "min_impurity_decrease": "use 'min_gain'.",
    "max_features": "every split looks at all columns.",
    "splitter": "every split looks at all columns and thresholds.",
}


@with_parameters
class FitParameters(Parameters):
    """The parameters of fitting; :class:`~treebound.BoundTreeClassifier` describes them."""

    criterion: Criterion = "entropy"
    growth_order: GrowthOrder = "gain"
    max_leaves: int | None = parameter(Whole(1, optional=True), default=None)
    max_grown_leaves: int | None = parameter(Whole(1, optional=True), default=None)
    max_depth: int | None = None
    min_samples_leaf: int = 1
    min_samples_split: int = 2
    min_weight_fraction_leaf: float = 0.0
    min_gain: float = 0.0
    thresholds: Thresholds = "decimal"
    pruning: str | Pruner | None = "bound"
    size: Literal["accurate", "balanced", "small", "detailed"] | None = parameter(
        OneOf((*RULES, None)), default=None
    )
    categorical_features: Any = "from_dtype"
    ordinal_features: Sequence[Any] | Mapping[Any, Sequence[Any]] | None = None
    unknown: Unknown = parameter(OneOf(UNKNOWNS), default="other")
    smoothing: Smoothing | None = parameter(OneOf(SMOOTHINGS), default="shrinkage")
    class_weight: ClassWeight = None
    certify: CertificateKind = parameter(OneOf(KINDS), default="training")
    delta: float = parameter(Number(0.0, 1.0, open=True), default=0.05)
    target_risk: float | None = parameter(Number(0.0, 1.0, open=True, optional=True), default=None)
    random_state: int | None = parameter(Whole(0, optional=True), default=0)
    n_jobs: int | None = None
    monotonic_cst: Any = None
    class_order: Sequence[Any] | None = None
    first: Sequence[str] | None = None
    forbidden: Sequence[Any] | None = None
    interaction_cst: Any = None
    _elsewhere: ClassVar[dict[str, str]] = _ELSEWHERE

    def checked(self) -> tuple[Pruner | None, GrowOptions]:
        """The pruner and the options of growing; a ValueError names an invalid parameter."""
        owner = "BoundTreeClassifier" if type(self) is FitParameters else type(self).__name__
        check(owner, vars(self), self._constraints)
        weight = self.class_weight
        if not (weight is None or weight == "balanced" or isinstance(weight, Mapping)):
            must = "'balanced', a mapping of classes or None"
            raise invalid("class_weight", owner, must, weight)
        if self.target_risk is not None and self.certify != "prior":
            must = "None unless certify='prior'"
            raise invalid("target_risk", owner, must, self.target_risk)
        pruner = self._pruner(owner)
        if self.certify == "prior" and not isinstance(pruner, BoundPruner | None):
            hint = "tb.certify(clf, X, y, kind='prior') certifies a tree of any pruner."
            must = "'bound', or a BoundPruner for its costs, with certify='prior', which searches"
            raise invalid("pruning", owner, f"{must} trees in its own way", self.pruning, hint)
        self._check_rules(pruner)
        limits = [self.max_grown_leaves] + [self.max_leaves] * (pruner is None)
        most = min((limit for limit in limits if limit is not None), default=None)
        return pruner, GrowOptions.of(self, owner, max_leaves=most)

    def _check_rules(self, pruner: Pruner | None) -> None:
        """Raise a ValueError where the rules of growing would not be kept."""
        rules = {name: vars(self)[name] for name in GROWING_RULES if vars(self)[name] is not None}
        if rules and self.certify == "prior":
            raise ValueError(
                f"The {next(iter(rules))!r} parameter must be None with certify='prior', which "
                "searches trees in its own way. Hint: use another 'certify'."
            )
        raises = isinstance(pruner, BasePruner) and pruner.raises_subtrees
        if raises and not rules.keys().isdisjoint(("monotonic_cst", "first")):
            raise ValueError(
                f"The pruner {pruner!r} puts subtrees in other places, where 'monotonic_cst' and "
                "'first' would not hold. Hint: use a pruner that only cuts, such as 'bound'."
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
        return {item.name: vars(self)[item.name] for item in fields(FitParameters)}
