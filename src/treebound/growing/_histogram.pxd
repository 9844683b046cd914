# The sample as codes, and counts by bin and class.
#
# Used by `_search`, which reads histograms, by the engine in memory, and in Python by shards. Rows of
# a node are in ascending order; counts are exact, so that they may be added and subtracted in any
# order.

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from treebound.growing._layout cimport (
    KernelSplit, N_CHANNELS, Problem, SQUARES, SUM, Source, WEIGHT,
)
from treebound._utils._pool cimport Pool
from treebound.growing._bins cimport Coder, Extent

cdef struct Panel:
    # The codes of up to four columns, by row, and the offsets of their counts.
    int width               # bytes of a code
    void* codes
    int n_columns
    Py_ssize_t columns[4]
    Py_ssize_t offsets[4]


cdef struct Counted:
    # Weight by bin and class, followed by the rows of a bin if weights differ.
    const uint16_t* labels
    const int64_t* weights  # NULL: 32 bits per count, else 64
    const int64_t* numbers  # the channels of each row and 1; NULL: the target is of classes
    int row_bits            # numbers without weights: bits of the rows of a bin in a `Pair`, or 0
    int pair_shift          # the squares of a pair are in units of two to this power
    Py_ssize_t n_classes
    Py_ssize_t stride       # counts of a bin
    Py_ssize_t n_cells      # counts of a histogram


cdef struct CodedColumn:
    # A column as codes: bins in order of value, then the missing rows.
    Coder coder
    int width               # bytes of a code
    Py_ssize_t panel
    int lane
    Py_ssize_t offset       # of its counts in a histogram


cdef struct Binned:
    # The sample as codes, and its rows, grouped by node and ascending within a node.
    const Problem* problem
    Source* sources
    CodedColumn* columns
    Py_ssize_t n_rows
    Py_ssize_t n_columns
    Panel* panels
    Py_ssize_t n_panels
    Py_ssize_t row_bytes    # of the codes of a row
    Counted counted
    uint32_t* rows
    uint32_t* other         # buffer for partitions
    uint8_t* sides          # by code, for the node that is being split
    Extent* extents         # by thread and column
    Py_ssize_t max_codes   # of a column, missing included


cdef struct Gathered:
    # Rows of some bins of a column.
    uint32_t* rows
    uint64_t* keys          # of their values
    uint32_t* labels
    int64_t* weights
    int64_t* numbers


cdef enum:
    MAX_BLOCKS = 256     # of rows
    AHEAD = 64           # rows to prefetch ahead; arrays of rows have so many more


cdef void set_ranges(Binned* data, const void* histogram, Pool pool) noexcept nogil

cdef void find_bounds(
    const Binned* data, Py_ssize_t start, Py_ssize_t stop, KernelSplit* split, Pool pool
) noexcept nogil

cdef Py_ssize_t part_binned(
    Binned* data, Py_ssize_t start, Py_ssize_t stop, const KernelSplit* split, Pool pool
) noexcept nogil

cdef void set_sides(const Binned* data, const KernelSplit* split) noexcept nogil

cdef void count_node(
    const Binned* data, Py_ssize_t start, Py_ssize_t stop, void** histograms, Pool pool
) noexcept nogil

cdef void gather(
    const Binned* data, Py_ssize_t j, Py_ssize_t start, Py_ssize_t stop, const uint8_t* wanted,
    Py_ssize_t n_rows, const Gathered* to,
) noexcept nogil

cdef void gather_groups(
    const Binned* data, Py_ssize_t j, Py_ssize_t start, Py_ssize_t stop, const uint8_t* wanted,
    Py_ssize_t n_groups, uint32_t* places, const Gathered* to, Pool pool,
) noexcept nogil

cdef size_t size_of(const Counted* counted) noexcept nogil


cdef void add_counts(
    const Counted* counted, void* to, const void* what, bint subtract
) noexcept nogil


cdef class CodedBins:
    cdef Binned data
    cdef Source* sources
    cdef tuple arrays       # which are referred to
    cdef Binned* of(self, codes, single=*) except NULL


ctypedef fused count_t:
    uint32_t
    int64_t


cdef inline void unpack(
    const int64_t* pair, const Counted* counted, int64_t* counts
) noexcept nogil:
    """The channels of a pair, then its rows."""
    counts[WEIGHT] = pair[1] & ((<int64_t>1 << counted.row_bits) - 1)
    counts[SUM] = pair[0]
    counts[SQUARES] = (pair[1] >> counted.row_bits) << counted.pair_shift
    counts[N_CHANNELS] = counts[WEIGHT]


cdef inline int64_t rows_in(const count_t* cell, Py_ssize_t n_classes) noexcept nogil:
    cdef int64_t rows = 0
    cdef Py_ssize_t k
    if count_t is int64_t:
        rows = cell[n_classes]
    else:
        for k in range(n_classes):
            rows += cell[k]
    return rows
