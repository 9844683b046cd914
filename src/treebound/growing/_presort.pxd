from libc.stdint cimport uint32_t, uint64_t

from treebound.growing._layout cimport Packing


cdef struct Presorted:
    uint64_t* entries      # one of the two buffers
    Py_ssize_t n_values    # distinct values
    Py_ssize_t n_present   # rows that are not missing


cdef void ordered_keys(
    const char* first, Py_ssize_t stride, Py_ssize_t n, uint64_t* keys
) noexcept nogil

cdef Presorted presort(
    const uint64_t* keys, Py_ssize_t n_rows, const uint32_t* labels, const Packing* packing,
    uint64_t* buffer, uint64_t* other,
) noexcept nogil
