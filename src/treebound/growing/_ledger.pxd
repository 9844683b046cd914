from libc.stdint cimport int64_t, uint32_t

from treebound.growing._groups cimport Groups
from treebound.growing._layout cimport NodeView, Scratch, Split
from treebound.growing._sorted cimport Sorted


cdef struct Book:
    # A column of codes.
    int64_t* counts         # by slot, or by code in a column of thresholds: weights, then rows
    Groups groups           # nominal: the slots by their counts
    uint32_t* first         # by slot: the first of its rows,
    uint32_t* next          # by row: the next of the same slot,
    uint32_t* previous      # and the previous one
    uint32_t* slot          # by row
    bint full               # too many groups: nothing here is valid


cdef struct Ledger:
    # What a node has of each category. The arrays by row are parts of the home's links.
    Book* books             # one per column; empty for sorted ones
    Py_ssize_t n_columns
    uint32_t* place         # by row: where it is in the rows of the home
    Split split             # the last split


cdef Ledger* new_ledger(
    Sorted* home, Py_ssize_t start, Py_ssize_t stop, Split* split, Scratch* scratch
) except? NULL nogil

cdef void free_ledger(Ledger* ledger) noexcept nogil

cdef Py_ssize_t rows_to_peel(const Ledger* ledger, const Split* split) noexcept nogil

cdef Py_ssize_t peel(
    Ledger* ledger, Sorted* home, Py_ssize_t start, const Split* split, int64_t* left_counts
) noexcept nogil

cdef void strike(
    Ledger* ledger, const Sorted* home, Py_ssize_t j, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil

cdef Split best_in_book(
    const Ledger* ledger, const Sorted* home, Py_ssize_t j, const NodeView* node, Scratch* scratch
) noexcept nogil

cdef bint is_full(const Ledger* ledger) noexcept nogil
