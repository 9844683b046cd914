from libc.stdint cimport int64_t, uint32_t

from treebound.growing._layout cimport Column, NodeView, Problem, Scratch, Split


cdef Split best_split(
    const Column* column, Py_ssize_t index, const NodeView* node, const Problem* problem,
    Scratch* scratch,
) noexcept nogil

cdef void fill_table(
    const Column* column, const uint32_t* rows, Py_ssize_t n_rows, const Problem* problem,
    int64_t* table,
) noexcept nogil
