"""Stable partition by a byte mask: a sorted column stays sorted in both children."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from treebound.tree._layout cimport Packing, row_of


cdef void partition_entries(
    uint64_t* entries, Py_ssize_t start, Py_ssize_t stop, const uint8_t* goes_left,
    const Packing* packing, uint64_t* scratch,
) noexcept nogil:
    cdef Py_ssize_t i, left = start, right = 0
    cdef uint64_t entry
    cdef Packing form = packing[0]
    cdef uint8_t to_left
    # invariant: entries[start:left] and scratch[:right] hold entries[start:i], in their order.
    # Both places are written and one advances: no branch to mispredict.
    for i in range(start, stop):
        entry = entries[i]
        to_left = goes_left[row_of(entry, &form)]
        entries[left] = entry
        scratch[right] = entry
        left += to_left
        right += 1 - to_left
    memcpy(entries + left, scratch, right * sizeof(uint64_t))


cdef void partition_rows(
    uint32_t* rows, Py_ssize_t start, Py_ssize_t stop, const uint8_t* goes_left, uint32_t* scratch,
) noexcept nogil:
    cdef Py_ssize_t i, left = start, right = 0
    cdef uint32_t row
    cdef uint8_t to_left
    for i in range(start, stop):
        row = rows[i]
        to_left = goes_left[row]
        rows[left] = row
        scratch[right] = row
        left += to_left
        right += 1 - to_left
    memcpy(rows + left, scratch, right * sizeof(uint32_t))
