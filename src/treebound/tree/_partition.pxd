from libc.stdint cimport uint8_t, uint32_t, uint64_t

from treebound.tree._layout cimport Packing


cdef void partition_entries(
    uint64_t* entries, Py_ssize_t start, Py_ssize_t stop, const uint8_t* goes_left,
    const Packing* packing, uint64_t* scratch,
) noexcept nogil

cdef void partition_rows(
    uint32_t* rows, Py_ssize_t start, Py_ssize_t stop, const uint8_t* goes_left, uint32_t* scratch,
) noexcept nogil
