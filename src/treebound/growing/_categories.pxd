from libc.stdint cimport int64_t, uint8_t, uint32_t

from treebound.growing._layout cimport NodeView, Scratch, Split
from treebound.growing._sorted cimport Sorted


cdef struct Group:
    # The categories with equal counts: a heap of their codes, some of them of other groups now.
    uint32_t* codes
    uint32_t n_codes
    uint32_t capacity


cdef struct Categories:
    # The categories of a column that a node has, by equal counts.
    uint32_t* starts        # of the rows of a category
    uint32_t* rows
    int64_t* counts         # by category: its weight by class, then its rows
    uint32_t* group         # by category
    Group* groups
    int64_t* of_group       # the counts of its categories
    uint32_t n_groups
    uint32_t* table         # hash table of the groups
    uint32_t mask


cdef struct Chain:
    Categories* columns
    Py_ssize_t n_columns
    Py_ssize_t width        # of counts
    uint32_t capacity       # groups of a column
    uint32_t* place         # by row: where it is in the rows of the home
    uint8_t* gone           # by row


cdef Chain* new_chain(Sorted* home, Py_ssize_t start, Py_ssize_t stop) except? NULL nogil

cdef void free_chain(Chain* chain) noexcept nogil

cdef Py_ssize_t rows_to_leave(const Chain* chain, const Split* split) noexcept nogil

cdef Py_ssize_t take_category(
    Chain* chain, Sorted* home, Py_ssize_t start, const Split* split, int64_t* left_counts
) noexcept nogil

cdef bint take_rows(
    Chain* chain, const Sorted* home, Py_ssize_t start, Py_ssize_t stop, const Split* split
) except -1 nogil

cdef Split best_in_chain(
    Chain* chain, const Sorted* home, Py_ssize_t j, const NodeView* node, Scratch* scratch
) noexcept nogil
