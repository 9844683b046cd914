# The best split of a column by tables of what class counts add to the score of a node.
#
# Used by `_wide`, whose nodes are small and many. `search_tables` finds the split that
# `best_split` finds; it serves unweighted classes with entropy and without rules, for which
# `has_tables` is true.

from libc.stdint cimport int64_t, uint64_t

from treebound.growing._layout cimport (
    KernelColumn, KernelSplit, NodeView, Packing, Problem, Scratch, rank_of,
)


cdef struct NodeTables:
    # Buffers for a node of up to `capacity` rows; `set_tables` fills them.
    Py_ssize_t capacity
    int64_t* classes       # of each class: x log x of 0, 1, ... rows on the left and of the others
    int64_t** starts       # where each class begins
    int64_t** positions    # the same, for a scan
    int64_t* sides         # x log x of 0, 1, ... rows on the left and of the others
    int64_t none           # the sum over the classes with no row on the left


cdef bint has_tables(const Problem* problem) noexcept nogil

cdef int enlarge_tables(NodeTables* tables, const Problem* problem, Py_ssize_t n_rows) except -1 nogil

cdef void free_tables(NodeTables* tables) noexcept nogil

cdef void set_tables(NodeTables* tables, const NodeView* node) noexcept nogil

cdef void search_tables(
    const KernelColumn* column, Py_ssize_t index, const NodeView* node, NodeTables* tables,
    Scratch* scratch, KernelSplit* best,
) noexcept nogil

cdef inline bint is_constant(
    const KernelColumn* column, Py_ssize_t start, Py_ssize_t stop, const Packing* packing
) noexcept nogil:
    """Return True if all rows of a node have the same value of a column, or none."""
    return rank_of(column.entries[start], packing) == rank_of(column.entries[stop - 1], packing)
