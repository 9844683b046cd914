"""Weights of the training rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._validation import invalid

__all__ = [
    "balancing_factors",
    "class_factors",
    "class_totals",
    "declared_factors",
    "exact_sum",
    "row_weights",
    "warn_if_light",
    "warn_if_total_is_light",
    "weighted_by_class",
]

# Sums of weights outside this range lose precision.
_LEAST, _MOST = 1e-300, 2.0**52
# So many numbers of 26 bits have a sum below 2^53.
_EXACT_ROWS = 1 << 26


def row_weights(sample_weight: Any, rows: int) -> NDArray[np.float64] | None:
    """The sample weights as an array of floats; None if all are one."""
    if sample_weight is None:
        return None
    from sklearn.utils import check_array

    if isinstance(sample_weight, Real):
        sample_weight = np.full(rows, sample_weight)
    try:
        weight = check_array(
            sample_weight, dtype=np.float64, ensure_2d=False, input_name="sample_weight"
        )
    except ValueError as error:
        if "convert" in str(error):
            raise ValueError(f"Sample weights must be numbers: {error}.") from None
        raise
    if weight.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {weight.ndim}D array.")
    if len(weight) != rows:
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(rows,)}!")
    if (weight < 0).any():
        row = int((weight < 0).argmax())
        raise ValueError(
            f"Sample weights must not be negative. Got {weight[row]} in row {row} instead."
        )
    if not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return None if bool((weight == 1.0).all()) else _in_range(weight)


def _in_range(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if not _LEAST <= total <= _MOST:
        raise ValueError(
            f"Sample weights must have a sum from {_LEAST:g} to 2^52. Got {total:g} instead. "
            "Hint: scale them so that their mean is 1."
        )
    return weight


def exact_sum(weight: NDArray[np.float64]) -> Fraction:
    """The sum without rounding, so that it does not depend on how the rows are cut in parts.

    Examples
    --------
    >>> import numpy as np
    >>> from treebound.data.weights import exact_sum
    >>> exact_sum(np.array([0.1] * 10)) == 1, float(exact_sum(np.array([2.0**60, 1.0, -(2.0**60)])))
    (False, 1.0)
    """
    total = Fraction(0)
    for start in range(0, len(weight), _EXACT_ROWS):
        digits, power = np.frexp(weight[start : start + _EXACT_ROWS])
        whole = np.ldexp(digits, 53).astype(np.int64)
        shift = int(power.min())
        places = power - shift
        # halves of 27 and 26 bits, so that floats hold their sums
        for half, more in ((whole >> 26, 26), (whole & (2**26 - 1), 0)):
            sums = np.bincount(places, weights=half.astype(np.float64))
            for place in np.flatnonzero(sums).tolist():
                total += int(sums[place]) * Fraction(2) ** (place + shift - 53 + more)
    return total


def class_factors(
    class_weight: Any,
    classes: NDArray[Any],
    codes: NDArray[np.int32],
    weight: NDArray[np.float64] | None,
) -> NDArray[np.float64] | None:
    """What class weights multiply the row weights of each class by; None without class weights.

    "balanced" gives every class the same total weight, sample weights included, so that a row of
    weight two counts as two rows.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, Mapping):
        return declared_factors(class_weight, classes)
    return balancing_factors(class_totals(codes, weight, len(classes)))


def weighted_by_class(
    factors: Any, codes: NDArray[np.int32], weight: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    """The row weights times the factors of their classes."""
    if factors is None:
        return weight
    rows: NDArray[np.float64] = np.asarray(factors)[codes]
    return _in_range(rows if weight is None else rows * weight)


def class_totals(codes: NDArray[np.int32], weight: Any, n_classes: int) -> list[Fraction]:
    """The weight of every class, without rounding."""
    if weight is None:
        return [Fraction(count) for count in np.bincount(codes, minlength=n_classes).tolist()]
    return [exact_sum(weight[codes == k]) for k in range(n_classes)]


def balancing_factors(per_class: Sequence[Fraction]) -> NDArray[np.float64]:
    """What to multiply the weights of each class by so that all classes weigh the same."""
    whole = float(sum(per_class))
    return np.array([whole / (len(per_class) * float(one)) for one in per_class])


def declared_factors(class_weight: Mapping[Any, Any], classes: NDArray[Any]) -> NDArray[np.float64]:
    labels = classes.tolist()
    if class_weight and not any(label in class_weight for label in labels):
        must = f"a mapping with classes of y as keys, that is {labels[:10]}"
        raise invalid("class_weight", "", must, list(class_weight)[:10])
    factor = np.array([float(class_weight.get(label, 1.0)) for label in labels])
    if not (np.isfinite(factor).all() and (factor > 0).all()):
        hint = "leave out the rows of a class instead."
        must = "a mapping of each class to a finite weight > 0"
        raise invalid("class_weight", "", must, dict(class_weight), hint)
    return factor


def warn_if_light(weight: NDArray[np.float64] | None) -> None:
    """Warn if the weights sum to far less than the number of rows.

    Pruners use the sum of the weights as the number of examples.
    """
    if weight is not None:
        warn_if_total_is_light(float(weight.sum()), len(weight), stacklevel=4)


def warn_if_total_is_light(total: float, rows: int, *, stacklevel: int) -> None:
    """The same for weights that were added up."""
    if total < 0.5 * rows:
        warnings.warn(
            f"The sample weights add up to {total:.4g}, far below the {rows} rows. "
            "Pruning takes the sum for the number of examples, so it will prune hard. "
            "Hint: scale the weights so that their mean is 1, or use pruning=None.",
            UserWarning,
            stacklevel=stacklevel,
        )
