"""Numbers of any magnitude in the kernels: a mantissa and a power of two."""

from libc.math cimport frexp, ldexp
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

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


cdef inline double below(int64_t by) noexcept nogil:
    """2**-by for by >= 0, by its bits; 0 where it is far below rounding."""
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


cdef inline void store(
    double[::1] mantissa, int64_t[::1] exponent, int m, double value, int64_t power,
) noexcept nogil:
    """Set entry ``m`` to ``value * 2**power``."""
    cdef Number number = scaled(value, power)
    mantissa[m], exponent[m] = number.mantissa, number.power


cdef inline double plain(Number number) noexcept nogil:
    """The number as a double."""
    return ldexp(number.mantissa, <int> number.power) if number.mantissa != 0.0 else 0.0


cdef inline void add(Number* total, double value, int64_t power) noexcept nogil:
    """Add ``value * 2**power``."""
    if value == 0.0:
        return
    if power > total.power:
        total[0] = scaled(value + total.mantissa * below(power - total.power), power)
    else:
        total[0] = scaled(total.mantissa + value * below(total.power - power), total.power)
