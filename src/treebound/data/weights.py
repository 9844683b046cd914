"""Weights of the training rows, also as integers: sums are then exact in any order of the rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ldexp
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treebound._utils.validation import InWords, invalid
from treebound.data.raw import count_of_codes, some_names

# Sums of weights outside this range lose precision.
_LEAST, _MOST = 1e-300, 2.0**52
# So many numbers of 26 bits have a sum below 2^53.
_EXACT_ROWS = 1 << 26


def row_weights(sample_weight: Any, rows: int, *, part: bool = False) -> NDArray[np.float64] | None:
    """The sample weights as an array of floats; None if all are one.

    Those of a ``part`` of the rows may be zero, and :func:`check_total` is for the sum of all.
    """
    if sample_weight is None:
        return None
    from sklearn.utils import check_array

    if isinstance(sample_weight, Real):
        sample_weight = np.full(rows, sample_weight)
    try:
        weight = check_array(
            sample_weight, dtype=np.float64, ensure_2d=False, input_name="sample_weight"
        )
    except (ValueError, OverflowError) as error:
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
            f"Sample weights must not be negative. Got {weight[row]} in row {row:,} instead."
        )
    if not part:
        with np.errstate(over="ignore"):
            check_total(float(weight.sum()))
    return None if bool((weight == 1.0).all()) else weight


def check_total(total: float) -> None:
    """Raise a ValueError for a sum of weights that is zero, or out of range."""
    if not total:
        raise ValueError("Sample weights must contain at least one non-zero number.")
    if not _LEAST <= total <= _MOST:
        raise ValueError(
            f"Sample weights must have a sum from {_LEAST:g} to 2^52. Got {total:g} instead. "
            "Hint: scale them so that their mean is 1."
        )


def check_rows(total: float) -> None:
    """Raise a ValueError if no row has a weight above zero."""
    if not total:
        raise ValueError("Found no rows of a weight above zero while a minimum of 1 is required.")


def exact_sum(weight: NDArray[np.float64]) -> Fraction:
    """The sum without rounding, so that it does not depend on how the rows are cut in parts."""
    return class_totals(np.zeros(len(weight), dtype=np.int32), weight, 1)[0]


def class_totals(
    codes: NDArray[np.int32], weight: NDArray[np.float64] | None, n_classes: int
) -> list[Fraction]:
    """The weight of every class, without rounding."""
    if weight is None:
        return [Fraction(count) for count in count_of_codes(codes, n_classes).tolist()]
    totals = [Fraction(0)] * n_classes
    for start in range(0, len(weight), _EXACT_ROWS):
        rows = slice(start, start + _EXACT_ROWS)
        digits, power = np.frexp(weight[rows])
        whole = np.ldexp(digits, 53).astype(np.int64)
        least, span = int(power.min()), int(np.ptp(power)) + 1
        at = codes[rows].astype(np.int64) * span + (power - least)
        # halves of 27 and 26 bits, so that floats hold their sums
        for half, more in ((whole >> 26, 26), (whole & (2**26 - 1), 0)):
            sums = np.bincount(at, weights=half.astype(np.float64))
            for place in np.flatnonzero(sums).tolist():
                label, shift = divmod(place, span)
                totals[label] += int(sums[place]) * Fraction(2) ** (shift + least - 53 + more)
    return totals


def relative_weights(
    weight: NDArray[np.float64] | None, reference: NDArray[np.float64] | None = None
) -> NDArray[np.float64] | None:
    """Whole weights as they are: rows repeated. Others scaled to mean 1, so only ratios matter.

    The weights of other rows are scaled as those of the ``reference`` rows.
    """
    scale = weight if reference is None else reference
    if weight is None or scale is None or is_whole(scale):
        return weight
    scaled = scaled_weights(weight, float(len(scale) / exact_sum(scale)))
    return None if bool((scaled == 1.0).all()) else scaled


def scaled_weights(weight: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Weights times a factor; none of them vanishes."""
    with np.errstate(over="ignore", under="ignore"):
        return np.maximum(weight * scale, np.finfo(np.float64).tiny)


def sample_sums(
    masses: NDArray[np.float64], factors: NDArray[np.float64] | None, whole: bool
) -> NDArray[np.float64]:
    """Sums of sample weights of each class, from sums of them times the class weights."""
    if factors is None:
        return masses
    counts: NDArray[np.float64] = masses / factors
    return np.rint(counts) if whole else counts


def is_whole(weight: NDArray[np.float64] | None) -> bool:
    """Return True if every weight is a whole number, so that it stands for repeated rows."""
    return weight is None or bool((weight == np.rint(weight)).all())


def class_factors(
    class_weight: Any, classes: NDArray[Any], totals: Sequence[Fraction]
) -> NDArray[np.float64] | None:
    """The factor of the total of each class; None if nothing changes.

    Only ratios of class weights matter: with them, all rows together weigh the effective number
    of rows, ``(sum n c)^2 / sum n c^2`` for n rows of class weight c. ``"balanced"`` gives every
    class the same weight.
    """
    if class_weight is None:
        return None
    counts = np.array([float(total) for total in totals])
    weights = counts.max() / np.where(counts > 0.0, counts, counts.max())
    if isinstance(class_weight, Mapping):
        labels = classes.tolist()
        known = set(labels)
        strange = [label for label in class_weight if label not in known]
        if strange:
            must = f"a mapping with classes of y as keys ({some_names(labels)})"
            raise invalid("class_weight", "", must, InWords(some_names(strange)))
        weights = np.array([float(class_weight.get(label, 1.0)) for label in labels])
        if not (np.isfinite(weights).all() and (weights > 0).all()):
            hint = "leave out the rows of a class instead."
            must = "a mapping of each class to a finite weight > 0"
            raise invalid("class_weight", "", must, dict(class_weight), hint)
    weights = weights / weights.max()  # so that squares neither overflow nor vanish
    factors = scaled_to_effective(weights, counts)
    return None if bool((weights == 1.0).all()) else factors


def scaled_to_effective(
    weights: NDArray[np.float64], counts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Class weights scaled so that they add up to the effective number of rows."""
    heavy = float(counts @ weights**2)
    if heavy <= 0.0:
        return weights
    scaled: NDArray[np.float64] = weights * (float(counts @ weights) / heavy)
    return scaled


def snapped(masses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers rounded to 40 bits, so that those which are equal but for rounding are equal."""
    digits, power = np.frexp(masses)
    return np.asarray(np.ldexp(np.rint(np.ldexp(digits, 40)), power - 40))


def heaviest(masses: NDArray[np.float64]) -> NDArray[np.int32]:
    """The class of each node with the largest mass, the first on ties; rounding decides none."""
    return np.asarray(snapped(masses).argmax(axis=1), dtype=np.int32)


def warn_of_common_factor(weight: NDArray[np.float64] | None, *, stacklevel: int = 4) -> None:
    """Warn of whole weights with a common factor: perhaps they were not meant as repeats."""
    if weight is None or not is_whole(weight):
        return
    common = int(np.gcd.reduce(weight.astype(np.int64)))
    if common > 1:
        warnings.warn(
            f"The sample weights are whole numbers, so they count as repeated rows: "
            f"{weight.sum():,.0f} for {len(weight):,}. All are multiples of {common}. "
            f"Hint: divide them by {common} if each row was seen once.",
            UserWarning,
            stacklevel=stacklevel,
        )


# Weights that are not integers are scaled to integers of this sum: as many bits as a float has.
_BITS = 52


@dataclass(frozen=True)
class WeightTotal:
    """Facts about all weights that are needed to make one of them an integer.

    Those of parts of the rows can be added.
    """

    total: Fraction = Fraction(0)  # the sum of the weights
    ones: bool = True  # whether every weight is one
    whole: bool = True  # whether every weight is an integer

    @classmethod
    def of(cls, weight: NDArray[np.float64] | None, rows: int) -> WeightTotal:
        """Of some rows; None where each counts once."""
        if weight is None or bool((weight == 1.0).all()):
            return cls(Fraction(rows))
        return cls(exact_sum(weight), False, is_whole(weight))

    def __add__(self, other: WeightTotal) -> WeightTotal:
        return WeightTotal(
            self.total + other.total, self.ones and other.ones, self.whole and other.whole
        )

    @property
    def shift(self) -> int:
        """Weights are multiplied by two to this power."""
        if self.ones or (self.whole and self.total <= 2**_BITS):
            return 0
        floor = self.total.numerator.bit_length() - self.total.denominator.bit_length()
        floor -= self.total < Fraction(2) ** floor
        return _BITS - 1 - floor

    @property
    def unit(self) -> float:
        """The weight that the integer one stands for."""
        return ldexp(1.0, -self.shift)

    def integers(self, weight: NDArray[np.float64] | None, rows: int) -> NDArray[np.int64] | None:
        """The weights of some of the rows as integers; None where every weight is one."""
        if self.ones:
            return None
        scaled = np.rint(np.ldexp(np.ones(rows) if weight is None else weight, self.shift))
        return np.maximum(scaled, 1.0).astype(np.int64)
