from libc.stdint cimport uint8_t, uint32_t, uint64_t

from treebound.growing._layout cimport Packing


cdef struct Part:
    # The rows of a node to split, and which of its children are wanted.
    Py_ssize_t start
    Py_ssize_t stop
    bint keep_left
    bint keep_right
    const uint8_t* goes_left  # by row


cdef void partition_entries(
    uint64_t* entries, const Part* part, const Packing* packing, uint64_t* scratch
) noexcept nogil

cdef void partition_rows(uint32_t* rows, const Part* part, uint32_t* scratch) noexcept nogil
