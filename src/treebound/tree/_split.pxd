from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from treebound.tree._layout cimport Problem, Split, Store


cdef struct ColumnStore:
    Store kind
    uint64_t* entries      # SORTED
    int32_t* codes         # ORDERED and NOMINAL: a code per row
    double* values         # ORDERED: the value of a code
    Py_ssize_t n_codes     # codes of present values; SORTED: distinct values
    bint has_missing       # missing rows have the code (or rank) n_codes


cdef struct Scratch:
    uint64_t* entries      # n_rows
    int64_t* left          # n_classes
    int64_t* right         # n_classes
    int64_t* table         # most codes of a column + 1, times n_classes + 1


cdef struct NodeView:
    # The rows of a node, where they stand and what they count.
    Py_ssize_t start
    Py_ssize_t stop
    int64_t weight
    const int64_t* counts
    const uint32_t* rows   # the node's rows, ascending
    double tolerance       # scores closer than this are a tie


cdef Split best_split(
    const ColumnStore* column, Py_ssize_t index, const NodeView* node, const Problem* problem,
    Scratch* scratch,
) noexcept nogil
