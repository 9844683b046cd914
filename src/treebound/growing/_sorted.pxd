from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from treebound.growing._layout cimport Column, Problem, Scratch, Source, Split
from treebound.growing._partition cimport Part


cdef struct Sorted:
    # Rows of the sample, sorted by every column.
    Problem problem         # that of the sample, except for rows, labels, weights and packing
    Source* sources         # of the whole sample
    Column* columns
    Py_ssize_t n_columns
    const uint32_t* ids     # index of each row in the sample; NULL: the same
    uint32_t* rows          # grouped by node; ascending within a node that never had a ledger
    uint8_t* goes_left      # by row, for the node that is being split
    uint32_t* labels
    int64_t* weights
    uint64_t* entries       # of all columns
    Py_ssize_t table_size   # cells of the tables of all columns that have codes
    int64_t* spare          # tables for nodes that are too small to keep their own
    uint32_t* links         # arrays by row of the ledgers of its nodes; NULL: there was none
    Py_ssize_t users        # nodes that may still be expanded


cdef Sorted* new_sorted(
    const Problem* problem, Source* sources, Py_ssize_t n_columns, const uint32_t* ids,
    Py_ssize_t n_rows, Scratch* scratch,
) except NULL nogil

cdef void free_sorted(Sorted* data) noexcept nogil

cdef int enlarge_scratch(Scratch* scratch, const Problem* problem, Py_ssize_t n_rows) except -1 nogil

cdef int enlarge_table(Scratch* scratch, Py_ssize_t n_cells) except -1 nogil

cdef void free_scratch(Scratch* scratch) noexcept nogil

cdef bint ends_of(
    const Sorted* data, Py_ssize_t start, const Split* split, double* low, double* high
) noexcept nogil

cdef int64_t left_weight(
    const Sorted* data, Py_ssize_t start, Py_ssize_t stop, const Split* split
) noexcept nogil

cdef bint has_missing_rows(
    const Sorted* data, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t column
) noexcept nogil

cdef Py_ssize_t category_of(const Sorted* data, const Split* split) noexcept nogil

cdef Py_ssize_t mark(
    Sorted* data, Py_ssize_t start, Py_ssize_t stop, const Split* split, int64_t* left_counts
) noexcept nogil

cdef void part_column(
    Sorted* data, Py_ssize_t j, const Part* part, Scratch* scratch
) noexcept nogil

cdef void part_rows(Sorted* data, const Part* part, Scratch* scratch) noexcept nogil
