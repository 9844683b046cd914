from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from treebound.growing._layout cimport Packing


cdef extern from *:
    """
    #define MISSING_KEY (~(uint64_t)0)
    """
    const uint64_t MISSING_KEY  # not the key of a number, but of a NaN


cdef struct Presorted:
    uint64_t* entries      # one of the two buffers
    Py_ssize_t n_values    # distinct values
    Py_ssize_t n_present   # rows that are not missing


cdef inline uint64_t key_of(double value) noexcept nogil:
    """The bits of a float as an integer in the same order; missing is the largest."""
    cdef uint64_t bits
    value += 0.0  # the two zeros are one value
    memcpy(&bits, &value, 8)
    # negative numbers have all bits flipped, others only the sign
    bits ^= (<uint64_t>0 - (bits >> 63)) | (<uint64_t>1 << 63)
    return bits if value == value else MISSING_KEY


cdef inline double value_of(uint64_t key) noexcept nogil:
    """The float that has this key; the key must not be that of a missing value."""
    cdef double value
    key ^= ((key >> 63) - 1) | (<uint64_t>1 << 63)
    memcpy(&value, &key, 8)
    return value


cdef void ordered_keys(
    const char* first, Py_ssize_t stride, Py_ssize_t n, uint64_t* keys
) noexcept nogil

cdef Presorted presort(
    const uint64_t* keys, Py_ssize_t n_rows, const uint32_t* labels, const Packing* packing,
    uint64_t* buffer, uint64_t* other,
) noexcept nogil
