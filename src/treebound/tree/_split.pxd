from libc.stdint cimport int64_t, uint32_t, uint64_t

from treebound.tree._layout cimport Problem, Split, Store


cdef struct ColumnStore:
    Store kind
    uint64_t* entries      # SORTED: in order of value, missing last
    uint32_t* cells        # ORDERED, NOMINAL: for each row, code * (n_classes + 1) + label
    double* values         # ORDERED and real: the value of a code
    Py_ssize_t n_codes     # codes of present values; SORTED: distinct values
    Py_ssize_t offset      # ORDERED, NOMINAL: where its table stands among the tables of a node
    bint has_missing       # missing rows have the code (or rank) n_codes


cdef struct Scratch:
    # What one thread writes in.
    uint64_t* entries      # n_rows
    int64_t* left          # n_classes
    int64_t* right         # n_classes
    int64_t* missing       # n_classes
    int64_t* table         # the largest table; all zero between two uses
    double floor           # a score below it cannot be the node's best


cdef struct NodeView:
    # The rows of a node, where they stand and what they count.
    Py_ssize_t start
    Py_ssize_t stop
    int64_t weight
    double purity
    const int64_t* counts
    const int64_t* tables  # counts per code of every column that has codes; NULL: not kept
    const uint32_t* rows   # the node's rows, ascending, from start to stop
    double tolerance       # scores closer than this are a tie
    double rise            # a row that changes sides lifts the score by no more


cdef Split best_split(
    const ColumnStore* column, Py_ssize_t index, const NodeView* node, const Problem* problem,
    Scratch* scratch,
) noexcept nogil

cdef void fill_table(
    const ColumnStore* column, const uint32_t* rows, Py_ssize_t n_rows, const Problem* problem,
    int64_t* table,
) noexcept nogil
