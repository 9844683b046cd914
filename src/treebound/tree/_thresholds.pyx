"""The threshold of a split: any ``t`` with ``low <= t < high`` separates the same rows.

``low`` and ``high`` are neighbouring training values of a node. The decimal rule takes the
decimal with the fewest significant digits whose float is strictly between them; on ties the
nearest to the middle, then the lower one. Zero has no digits, so it comes first.

Decimals of p digits around the middle are k / 10^s (or k * 10^s) for whole k. If k < 2^53 and
s <= 22, both are exact floats and their quotient (or product) is the float that the decimal reads
as. So up to fifteen digits are tried in floats, with products split in two floats if two decimals
are equally near; other cases use exact fractions in Python.
"""

from fractions import Fraction
from math import ceil, floor

from libc.math cimport INFINITY, fabs, floor as floor_c, fma, log10

cdef enum:
    MAX_DIGITS = 15
    MAX_POWER = 22
    PYTHON = -1        # returned by ``nearest`` if floats cannot decide
    NONE = -2

cdef double[23] POWERS
cdef int _i
POWERS[0] = 1.0
for _i in range(1, MAX_POWER + 1):
    POWERS[_i] = 10.0 * POWERS[_i - 1]

RULES = {"decimal": DECIMAL, "midpoint": MIDPOINT, "observed": OBSERVED}


def threshold_between(double low, double high, str rule="decimal"):
    """The threshold for a split between two neighbouring values, ``low < high``."""
    return pick(low, high, RULES[rule])


cdef double pick(double low, double high, Rule rule) except? -1.0 nogil:
    cdef double middle
    if rule == OBSERVED:
        return low
    if rule == DECIMAL and -INFINITY < low and high < INFINITY:
        return shortest(low, high)
    # halfway where floats allow it
    middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low


cdef double shortest(double low, double high) except? -1.0 nogil:
    """The shortest decimal strictly between two finite numbers; ``low`` where no float is."""
    cdef bint mirrored = low < 0.0
    cdef double decimal
    if low < 0.0 < high:
        return 0.0
    decimal = nearest(-high, -low, True) if mirrored else nearest(low, high, False)
    if decimal == PYTHON:
        with gil:
            return _exact(low, high)
    return -decimal if mirrored else decimal


cdef double nearest(double low, double high, bint upper) noexcept nogil:
    """For ``0 <= low < high``; on ties the upper one if ``upper``."""
    cdef double middle = 0.5 * low + 0.5 * high
    cdef double power, scaled, decimal
    cdef int digits, shift, place
    if not low < middle < high or middle < 1e-290:
        return PYTHON
    power = floor_c(log10(middle))
    for digits in range(1, MAX_DIGITS + 1):
        shift = digits - 1 - <int>power
        if not -MAX_POWER <= shift <= MAX_POWER:
            return PYTHON
        scaled = times_power(middle, shift)
        # log10 may be off next to a power of ten
        place = (scaled >= POWERS[digits]) - (scaled < POWERS[digits - 1])
        if place:
            power += place
            shift -= place
            if not -MAX_POWER <= shift <= MAX_POWER:
                return PYTHON
            scaled = times_power(middle, shift)
        decimal = nearest_multiple(low, high, floor_c(scaled), shift, upper)
        if decimal != NONE:
            return decimal
    return PYTHON


cdef inline double times_power(double value, int shift) noexcept nogil:
    return value * POWERS[shift] if shift >= 0 else value / POWERS[-shift]


cdef double nearest_multiple(
    double low, double high, double start, int shift, bint upper
) noexcept nogil:
    """The k / 10^shift nearest to the middle, with k next to ``start`` and inside the gap."""
    cdef double best = NONE, best_k = 0.0, k = start - 1.0, value
    cdef int i, side
    for i in range(4):
        value = k / POWERS[shift] if shift >= 0 else k * POWERS[-shift]
        if low < value < high:
            side = 1
            if best != NONE:
                side = beyond(low, high, best_k, shift)
                if side == PYTHON:
                    return PYTHON
            if best == NONE or side == 1 or (side == 0 and upper):
                best = value
                best_k = k
        k += 1.0
    return best


cdef int beyond(double low, double high, double k, int shift) noexcept nogil:
    """Compare the middle with halfway from k to k + 1: 1 above, 0 equal, 2 below.

    That is the sign of (low + high) * 10^shift - (2 k + 1). Sum and product are exact as two floats
    each; ``PYTHON`` if the result is not larger than the rounding error of the last sums.
    """
    cdef double total = low + high, part = total - low
    cdef double rest = (low - (total - part)) + (high - part)
    cdef double odd = 2.0 * k + 1.0, product, error, first, second, difference
    if shift >= 0:
        product = total * POWERS[shift]
        error = fma(total, POWERS[shift], -product)
        first = product - odd
        second = rest * POWERS[shift]
    else:
        product = odd * POWERS[-shift]
        error = -fma(odd, POWERS[-shift], -product)
        first = total - product
        second = rest
    difference = first + (error + second)
    if error == 0.0 and second == 0.0:
        difference = first
    elif fabs(difference) <= 1e-15 * (fabs(error) + fabs(second)) + 1e-300:
        return PYTHON
    return 1 if difference > 0.0 else (2 if difference < 0.0 else 0)


cdef _exact(low, high):
    """The same in fractions, for any two finite numbers of one sign."""
    if low < 0.0:
        return -_exact_positive(-high, -low, True)
    return _exact_positive(low, high, False)


cdef _exact_positive(low, high, upper):
    middle = (Fraction(low) + Fraction(high)) / 2
    power = len(str(floor(middle))) if middle >= 1 else -len(str(floor(1 / middle))) - 1
    while Fraction(10) ** power > middle:
        power -= 1
    while Fraction(10) ** (power + 1) <= middle:
        power += 1
    for digits in range(1, 18):
        unit = Fraction(10) ** (power - digits + 1)
        multiples = [floor(middle / unit) * unit, ceil(middle / unit) * unit]
        inside = [
            (abs(d - middle), -d if upper else d, as_float(d))
            for d in multiples
            if low < as_float(d) < high
        ]
        if inside:
            return min(inside)[2]
    return high if upper else low


cdef as_float(decimal):
    """The nearest float; infinity on overflow."""
    try:
        return float(decimal)
    except OverflowError:
        return INFINITY
