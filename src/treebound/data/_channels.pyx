"""The channels of rows whose target is a number; see ``numeric_target``."""

from libc.math cimport ceil, ldexp
from libc.stdint cimport int64_t


def set_channels(
    int64_t[:, ::1] channels, const double[::1] values, const int64_t[::1] weights, bint times,
    int square_shift,
):
    """Fill in weight, sum, squares and 1 of each row; without ``weights`` each counts once.

    ``values`` are whole numbers: those of rows of weight 1, or the sums if not ``times``. Squares
    are in units of ``2^square_shift`` and rounded up.
    """
    cdef Py_ssize_t i
    cdef int64_t weight = 1, total
    # a little more than rounding of floats may take away
    cdef double unit = ldexp(1.0, -square_shift), more = 1.0 + ldexp(1.0, -48)
    with nogil:
        for i in range(values.shape[0]):
            total = <int64_t>values[i]
            if weights is not None:
                weight = weights[i]
                total *= weight if times else 1
            channels[i, 0] = weight
            channels[i, 1] = total
            if times and square_shift == 0:
                channels[i, 2] = total * <int64_t>values[i]
            else:
                channels[i, 2] = <int64_t>ceil(
                    <double>total * <double>total / <double>weight * more * unit
                )
            channels[i, 3] = 1
