from libc.stdint cimport int64_t, uint32_t

from treebound.growing._layout cimport Column, NodeView, Problem, Scratch, Split
from treebound.growing._scan cimport Segment


cdef Split best_split(
    const Column* column, Py_ssize_t index, const NodeView* node, const Problem* problem,
    Scratch* scratch,
) noexcept nogil

cdef Split no_split(Py_ssize_t column) noexcept nogil

cdef void fill_table(
    const Column* column, const uint32_t* rows, Py_ssize_t n_rows, const Problem* problem,
    int64_t* table,
) noexcept nogil

cdef void search_table(
    const Column* column, const NodeView* node, const Problem* problem, Scratch* scratch,
    const int64_t* table, Split* best,
) noexcept nogil

cdef void try_counts(
    const Column* column, const NodeView* node, const Problem* problem, const int64_t* counts,
    Py_ssize_t code, Split* best,
) noexcept nogil

cdef void offer(
    Split* best, double score, double tolerance, Py_ssize_t place, Py_ssize_t follow,
    bint missing_left,
) noexcept nogil

cdef double score_of(
    const int64_t* left, const NodeView* node, const Problem* problem
) noexcept nogil

cdef void keep_heavy(
    Segment* segment, const NodeView* node, const Problem* problem, int64_t weight
) noexcept nogil
