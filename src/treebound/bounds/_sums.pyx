"""Sums of positive numbers that leave the range of a double: over part sizes, chains and series.

Growth functions leave the range of a double at some hundred leaves, so a number is a mantissa in
[1/2, 1) and a power of two. A function of the sample size is an array indexed by it; entry 0 is not
used. Each sum is taken at the largest power of two of its terms, which keeps all digits; whole numbers below
2**53 come out exact. Nothing cancels: a result carries a relative error of at most a few units in the
last place for every factor it is made of, which is added before it is used as a bound.
"""

from libc.math cimport INFINITY, floor, fma, frexp, ldexp
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy

import numpy as np

from treebound.bounds._scaled import NUMBER

cdef extern from *:
    """
    /* The power of two of the number zero: below that of any other. */
    #define NOTHING (-((int64_t) 1 << 40))
    /* The relative error of one operation. */
    #define ROUNDING (1.0 / 9007199254740992.0)
    """
    int64_t NOTHING
    double ROUNDING


cdef struct Number:
    # In [1/2, 1), or 0.
    double mantissa
    int64_t power


cdef inline Number scaled(double value, int64_t power) noexcept nogil:
    """``value * 2**power``."""
    cdef Number result
    cdef int more = 0
    result.mantissa = frexp(value, &more)
    result.power = power + more if value != 0.0 else NOTHING
    return result


cdef inline Number endless() noexcept nogil:
    """More than any other number; its power is -NOTHING."""
    return scaled(0.5, -NOTHING)


cdef inline double below(int64_t by) noexcept nogil:
    """2**-by for by > -1000, by its bits; 0 where it is far below rounding."""
    cdef uint64_t bits
    cdef double value
    if by > 1000:
        return 0.0
    bits = <uint64_t> (1023 - by) << 52
    memcpy(&value, &bits, sizeof(double))
    return value


cdef inline double shrunk(double value, int64_t by) noexcept nogil:
    """value * 2**-by."""
    return value * below(by) if by >= 0 else ldexp(value, <int> -by)


cdef inline double plain(Number number) noexcept nogil:
    """The number as a double."""
    return ldexp(number.mantissa, <int> number.power) if number.mantissa != 0.0 else 0.0


cdef inline void add(Number* total, Number more, double factor = 1.0) noexcept nogil:
    """Add a number times a factor."""
    cdef double value = more.mantissa * factor
    if value == 0.0:
        return
    if more.power > total.power:
        total[0] = scaled(value + total.mantissa * below(more.power - total.power), more.power)
    else:
        total[0] = scaled(total.mantissa + value * below(total.power - more.power), total.power)


cdef inline void times(Number* number, double factor) noexcept nogil:
    number[0] = scaled(number.mantissa * factor, number.power)


cdef inline double over(Number a, Number b, int64_t power) noexcept nogil:
    """The product of two numbers over a power of two that is at least that of the product."""
    return a.mantissa * b.mantissa * below(power - a.power - b.power)


cdef inline Number product_less(Number a, Number b, double n) noexcept nogil:
    """``a b - n``, at least 0."""
    cdef int64_t power = a.power + b.power
    return scaled(max(a.mantissa * b.mantissa - shrunk(n, power), 0.0), power)


cdef inline bint less(Number a, Number b) noexcept nogil:
    return a.power < b.power or (a.power == b.power and a.mantissa < b.mantissa)


cdef inline Number least(Number a, Number b) noexcept nogil:
    return a if less(a, b) else b


include "node.pxi"
include "series.pxi"
