from libc.stdint cimport uint32_t, uint64_t

from treebound.tree._layout cimport Packing


cdef void ordered_keys(
    const char* first, Py_ssize_t stride, Py_ssize_t n, uint64_t* keys
) noexcept nogil

cdef Py_ssize_t presort(
    const uint64_t* keys, Py_ssize_t n_rows, const uint32_t* labels, const Packing* packing,
    uint64_t* entries, uint64_t* scratch,
) noexcept nogil
