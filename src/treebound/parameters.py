"""The parameters of fitting, declared once: for the classifier and for the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields
from functools import wraps
from typing import Any, Literal, TypeVar, dataclass_transform

from treebound._validation import Constraint, Number, OneOf, Whole, check, invalid
from treebound.certificate import KINDS, CertificateKind
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

# Constraints on the parameters that are not options of growing.
_CONSTRAINTS: dict[str, Constraint] = {
    "max_leaves": Whole(1, optional=True),
    "max_grown_leaves": Whole(1, optional=True),
    "unknown": OneOf(UNKNOWNS),
    "smoothing": OneOf(SMOOTHINGS),
    "size": OneOf((*RULES, None)),
    "certify": OneOf(KINDS),
    "delta": Number(0.0, 1.0, open=True),
    "target_risk": Number(0.0, 1.0, open=True, optional=True),
    "random_state": Whole(0, optional=True),
}
# Parameters of scikit-learn's trees, and what does the same here.
_ELSEWHERE = {
    "max_leaf_nodes": "use 'max_leaves'.",
    "ccp_alpha": "use pruning=treebound.pruning.CostComplexityPruner(alpha=...).",
    "min_impurity_decrease": "use 'min_gain'.",
    "max_features": "every split looks at all columns.",
    "splitter": "every split looks at all columns and thresholds.",
}


T = TypeVar("T")


@dataclass_transform(kw_only_default=True, eq_default=False)
def with_parameters(cls: type[T]) -> type[T]:
    """A class whose fields are parameters; one that does not exist is refused with a hint."""
    cls = dataclass(kw_only=True, eq=False, repr=False)(cls)
    known = [item.name for item in fields(cls)]  # type: ignore[arg-type]
    init = cls.__init__

    @wraps(init)
    def checked_init(self: Any, **parameters: Any) -> None:
        for name in parameters.keys() - known:
            hint = _ELSEWHERE.get(name, f"the parameters are {', '.join(known)}.")
            raise TypeError(f"{type(self).__name__} has no parameter {name!r}. Hint: {hint}")
        init(self, **parameters)

    cls.__init__ = checked_init  # type: ignore[method-assign]
    return cls


@with_parameters
class FitParameters:
    """The parameters of fitting; :class:`~treebound.BoundTreeClassifier` describes them."""

    criterion: Criterion = "entropy"
    growth_order: GrowthOrder = "gain"
    max_leaves: int | None = None
    max_grown_leaves: int | None = None
    max_depth: int | None = None
    min_samples_leaf: int = 1
    min_samples_split: int = 2
    min_weight_fraction_leaf: float = 0.0
    min_gain: float = 0.0
    thresholds: Thresholds = "decimal"
    pruning: str | Pruner | None = "bound"
    size: Literal["accurate", "balanced", "small", "detailed"] | None = None
    categorical_features: Any = "from_dtype"
    ordinal_features: Sequence[Any] | Mapping[Any, Sequence[Any]] | None = None
    unknown: Unknown = "other"
    smoothing: Smoothing | None = "shrinkage"
    class_weight: ClassWeight = None
    certify: CertificateKind = "training"
    delta: float = 0.05
    target_risk: float | None = None
    random_state: int | None = 0
    n_jobs: int | None = None
    monotonic_cst: Any = None
    class_order: Sequence[Any] | None = None
    first: Sequence[str] | None = None
    forbidden: Sequence[Any] | None = None
    interaction_cst: Any = None

    def checked(self) -> tuple[Pruner | None, GrowOptions]:
        """The pruner and the options of growing; a ValueError names an invalid parameter."""
        owner = "BoundTreeClassifier" if type(self) is FitParameters else type(self).__name__
        check(owner, vars(self), _CONSTRAINTS)
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

    def values(self) -> dict[str, Any]:
        """The parameters by name."""
        return {item.name: vars(self)[item.name] for item in fields(FitParameters)}
