# Rows sorted by every column, for small nodes: sorting, partitioning, searching.
#
# Used by the driver, which counts their remaining uses, and by `_memory`; `_bins` and `_search` use
# the sorting alone. Entries of a column stay sorted by value in the rows of every node, missing
# ones last.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
from treebound.growing._layout cimport (
    KernelColumn, NodeView, Packing, Problem, Scratch, Source, KernelSplit, row_of,
)
from treebound._utils._pool cimport Pool

cdef struct Sorted:
    # Rows of the sample, sorted by every column.
    Problem problem         # that of the sample, except for rows, labels, weights and packing
    Source* sources         # of the whole sample
    KernelColumn* columns
    Py_ssize_t n_columns
    const uint32_t* ids     # index of each row in the sample; NULL: the same
    uint8_t* goes_left      # by row, for the node that is being split
    uint32_t* labels
    int64_t* weights
    int64_t* numbers
    uint64_t* entries       # of all columns
    int64_t users           # nodes that may still be expanded, by any thread


cdef struct Task:
    # A node to search for its best split.
    int32_t index
    bint wanted         # whether it may be split at all
    bint every          # whether the best split of every column is wanted, not of the best alone
    NodeView view
    double least        # the score that a split must beat
    KernelSplit* splits       # the best of each column


cdef struct Part:
    # The rows of a node to split, and which of its children are wanted.
    Py_ssize_t start
    Py_ssize_t stop
    bint keep_left
    bint keep_right
    const uint8_t* goes_left  # by row


cdef struct Search:
    # The smaller and the larger child of an expanded node, or a single node.
    Sorted* home
    Task tasks[2]
    const Part* part    # how the rows of the node are partitioned; NULL: they are not
    Scratch* scratch    # one per thread


cdef extern from *:
    """
    #define add_users(home, n) __atomic_add_fetch(&(home)->users, n, __ATOMIC_ACQ_REL)
    #define is_shared(home) (__atomic_load_n(&(home)->users, __ATOMIC_ACQUIRE) > 1)
    """
    int64_t add_users(Sorted* home, int n) noexcept nogil  # how many there are then
    # If it is not shared, all that other users did with it is done.
    bint is_shared(const Sorted* home) noexcept nogil


# -- keys ----------------------------------------------------------------------------------
cdef extern from *:
    """
    #define MISSING_KEY (~(uint64_t)0)
    """
    const uint64_t MISSING_KEY  # not the key of a number, but of a NaN


cdef struct Presorted:
    uint64_t* entries      # one of the two buffers
    Py_ssize_t n_values    # distinct values
    Py_ssize_t n_present   # rows that are not missing


cdef inline uint64_t key_of(double value) noexcept nogil:
    """The bits of a float as an integer in the same order; missing is the largest."""
    cdef uint64_t bits
    value += 0.0  # the two zeros are one value
    memcpy(&bits, &value, 8)
    # negative numbers have all bits flipped, others only the sign
    bits ^= (<uint64_t>0 - (bits >> 63)) | (<uint64_t>1 << 63)
    return bits if value == value else MISSING_KEY


cdef inline double value_of(uint64_t key) noexcept nogil:
    """The float that has this key; the key must not be that of a missing value."""
    cdef double value
    key ^= ((key >> 63) - 1) | (<uint64_t>1 << 63)
    memcpy(&value, &key, 8)
    return value


cdef Sorted* new_sorted(
    const Problem* problem, Source* sources, Py_ssize_t n_columns, const uint32_t* ids,
    Py_ssize_t n_rows, Scratch* scratch, Pool pool,
) except NULL nogil

cdef void free_sorted(Sorted* data) noexcept nogil

cdef Packing packing_of(Py_ssize_t n_rows, Py_ssize_t n_classes) noexcept nogil


cdef inline Py_ssize_t id_of(const Sorted* data, Py_ssize_t row) noexcept nogil:
    return row if data.ids == NULL else <Py_ssize_t>data.ids[row]


cdef int enlarge_scratch(Scratch* scratch, Py_ssize_t n_rows) except -1 nogil

cdef bint has_entries(Scratch* scratch, Py_ssize_t n_rows) noexcept nogil

cdef void free_scratch(Scratch* scratch) noexcept nogil

cdef void find_neighbours(const Sorted* data, Py_ssize_t start, KernelSplit* split) noexcept nogil

cdef Py_ssize_t mark(
    Sorted* data, Py_ssize_t start, Py_ssize_t stop, const KernelSplit* split, int64_t* left_counts
) noexcept nogil

cdef void partition(
    uint64_t* entries, const Part* part, const Packing* packing, uint64_t* scratch
) noexcept nogil

cdef void search_sorted(Search* search, Pool pool) noexcept nogil

cdef Presorted presort(
    const uint64_t* keys, Py_ssize_t n_rows, const uint32_t* labels, const Packing* packing,
    uint64_t* buffer, uint64_t* other,
) noexcept nogil
