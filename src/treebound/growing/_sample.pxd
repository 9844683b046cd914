from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from treebound.growing._layout cimport Column, Problem, Scratch, Split
from treebound.growing._partition cimport Part
from treebound.growing._thresholds cimport Rule


cdef class Sample:
    cdef Problem problem
    cdef Column* columns
    cdef Scratch* scratch      # one a thread
    cdef uint32_t* rows        # node after node, ascending inside a node
    cdef uint8_t* goes_left    # by row, for the node that is being split
    cdef int64_t* xlogx_table
    cdef Py_ssize_t n_columns
    cdef Py_ssize_t table_size  # cells of the tables of all columns that have codes
    cdef int n_threads
    cdef const double[:, :] X
    cdef const uint32_t[::1] y
    cdef const int64_t[::1] weights

    cdef int threads_for(self, Py_ssize_t rows) noexcept nogil
    cdef Py_ssize_t prepare(self) except -2 nogil
    cdef double threshold_of(
        self, Py_ssize_t start, Py_ssize_t stop, const Split* split, Rule rule
    ) except? -1.0 nogil
    cdef Py_ssize_t name_of(
        self, Py_ssize_t start, Py_ssize_t stop, const Split* split
    ) noexcept nogil
    cdef bint has_missing_rows(
        self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t column
    ) noexcept nogil
    cdef double gap_of(self, Py_ssize_t start, Py_ssize_t stop, const Split* split) noexcept nogil
    cdef int64_t left_weight(
        self, Py_ssize_t start, Py_ssize_t stop, const Split* split
    ) noexcept nogil
    cdef Py_ssize_t mark(
        self, Py_ssize_t start, Py_ssize_t stop, const Split* split, int64_t* left_counts
    ) noexcept nogil
    cdef void partition_column(
        self, Py_ssize_t j, const Part* part, Scratch* scratch
    ) noexcept nogil
    cdef void partition_rows(self, const Part* part) noexcept nogil

    # used inside only
    cdef bint ends_of(
        self, Py_ssize_t start, Py_ssize_t stop, const Split* split, double* low, double* high
    ) noexcept nogil
    cdef int set_packing(self) except -1
    cdef int set_form(self, Py_ssize_t j) except -1 nogil
    cdef void load_keys(self) noexcept nogil
    cdef void sort_column(self, Py_ssize_t j, Scratch* scratch) noexcept nogil
    cdef bint read_codes(self, Py_ssize_t j) noexcept nogil
    cdef int code_values(self, Py_ssize_t j) except -1 nogil
    cdef int set_criterion(self) except -1 nogil
    cdef int allocate_tables(self) except -1 nogil
    cdef Py_ssize_t mark_sorted(
        self, Py_ssize_t start, Py_ssize_t stop, const Split* split, int64_t* left_counts
    ) noexcept nogil
    cdef Py_ssize_t mark_coded(
        self, Py_ssize_t start, Py_ssize_t stop, const Split* split, int64_t* left_counts
    ) noexcept nogil
