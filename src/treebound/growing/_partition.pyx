"""Stable partition by a byte mask.

A child that will not be searched is not written: its memory is undefined afterwards.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from treebound.growing._layout cimport Packing, row_of

ctypedef fused item_t:
    uint32_t  # a row
    uint64_t  # an entry


cdef inline Py_ssize_t row_in(item_t item, const Packing* packing) noexcept nogil:
    if item_t is uint32_t:
        return <Py_ssize_t>item
    else:
        return row_of(item, packing)


cdef void partition(
    item_t* items, const Part* part, const Packing* packing, item_t* scratch
) noexcept nogil:
    cdef const uint8_t* goes_left = part.goes_left
    cdef Py_ssize_t i, left = part.start, right = 0
    cdef item_t item
    cdef Packing form = packing[0]
    cdef uint8_t to_left
    if not part.keep_left:
        # from the end, so that no item is overwritten before it is read
        right = part.stop
        for i in range(part.stop - 1, part.start - 1, -1):
            item = items[i]
            items[right - 1] = item
            right -= 1 - goes_left[row_in(item, &form)]
        return
    if not part.keep_right:
        for i in range(part.start, part.stop):
            item = items[i]
            items[left] = item
            left += goes_left[row_in(item, &form)]
        return
    # invariant: items[start:left] and scratch[:right] hold items[start:i], each in their order.
    # Both positions are written and one advances, to avoid a branch.
    for i in range(part.start, part.stop):
        item = items[i]
        to_left = goes_left[row_in(item, &form)]
        items[left] = item
        scratch[right] = item
        left += to_left
        right += 1 - to_left
    memcpy(items + left, scratch, right * sizeof(item_t))


cdef void partition_entries(
    uint64_t* entries, const Part* part, const Packing* packing, uint64_t* scratch
) noexcept nogil:
    partition(entries, part, packing, scratch)


cdef void partition_rows(uint32_t* rows, const Part* part, uint32_t* scratch) noexcept nogil:
    cdef Packing none
    none.row_shift = none.rank_shift = 0
    none.label_mask = none.row_mask = 0
    partition(rows, part, &none, scratch)
