"""What the parameters of the classifier may be, in scikit-learn's words."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

__all__ = ["check_parameters"]

_CHOICES: dict[str, tuple[str | None, ...]] = {
    "criterion": ("gini", "entropy", "misclassification"),
    "growth_order": ("gain", "impurity"),
    "thresholds": ("decimal", "midpoint", "observed"),
    "unknown": ("majority", "stop", "missing", "error"),
    "smoothing": ("laplace", "m-estimate", None),
}
# Least value, and whether None is allowed.
_COUNTS = {
    "max_leaves": (1, True),
    "max_depth": (1, True),
    "min_samples_leaf": (1, False),
    "min_samples_split": (2, False),
}


def check_parameters(estimator: Any) -> None:
    """Raise a ValueError that names the first parameter that is wrong, and what it may be."""
    for name, allowed in _CHOICES.items():
        value = getattr(estimator, name)
        if not (value is None or isinstance(value, str)) or value not in allowed:
            raise _wrong(estimator, name, f"one of {', '.join(map(repr, allowed))}")
    for name, (least, optional) in _COUNTS.items():
        value = getattr(estimator, name)
        if (value is None and optional) or (_is_int(value) and value >= least):
            continue
        raise _wrong(estimator, name, f"an int >= {least}" + (" or None" if optional else ""))
    share = estimator.min_weight_fraction_leaf
    if not (_is_real(share) and 0 <= share <= 0.5):
        raise _wrong(estimator, "min_weight_fraction_leaf", "a number from 0 to 0.5")
    if not (_is_real(estimator.min_gain) and 0 <= estimator.min_gain < float("inf")):
        raise _wrong(estimator, "min_gain", "a finite number >= 0")
    if not (_is_real(estimator.delta) and 0 < estimator.delta < 1):
        raise _wrong(estimator, "delta", "a number in the open interval (0, 1)")
    if not (estimator.n_jobs is None or (_is_int(estimator.n_jobs) and estimator.n_jobs != 0)):
        raise _wrong(estimator, "n_jobs", "an int other than 0, or None")
    weight = estimator.class_weight
    if not (weight is None or weight == "balanced" or isinstance(weight, Mapping)):
        raise _wrong(estimator, "class_weight", "'balanced', a mapping of classes or None")


def _is_int(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _wrong(estimator: Any, name: str, allowed: str) -> ValueError:
    return ValueError(
        f"The {name!r} parameter of {type(estimator).__name__} must be {allowed}. "
        f"Got {getattr(estimator, name)!r} instead."
    )
