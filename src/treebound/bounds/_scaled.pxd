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
    cdef int more = 0
    mantissa[m] = frexp(value, &more)
    exponent[m] = power + more if value != 0.0 else NOTHING


cdef inline double dot(const double* one, const double* other, int count) noexcept nogil:
    """Inner product, in eight sums that do not wait for each other."""
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0, e = 0.0, f = 0.0, g = 0.0, h = 0.0
    cdef int k = 0
    while k + 7 < count:
        a += one[k] * other[k]
        b += one[k + 1] * other[k + 1]
        c += one[k + 2] * other[k + 2]
        d += one[k + 3] * other[k + 3]
        e += one[k + 4] * other[k + 4]
        f += one[k + 5] * other[k + 5]
        g += one[k + 6] * other[k + 6]
        h += one[k + 7] * other[k + 7]
        k += 8
    while k < count:
        a += one[k] * other[k]
        k += 1
    return ((a + e) + (b + f)) + ((c + g) + (d + h))
