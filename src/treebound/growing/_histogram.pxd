from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from treebound.growing._bins cimport Coder, Extent
from treebound.growing._layout cimport Problem, Scratch, Source, Split
from treebound.growing._pool cimport Pool


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
    Py_ssize_t n_columns
    Panel* panels
    Py_ssize_t n_panels
    Counted counted
    char* memory            # of the codes, rows and labels
    uint32_t* rows
    uint32_t* other         # buffer for partitions
    uint16_t* labels
    uint8_t* sides          # by code, for the node that is being split
    Extent* extents         # by thread and column
    Py_ssize_t most_codes   # of a column, missing included
    double signal           # gain of a split in a sample of rows, relative to chance


cdef struct Gathered:
    # Rows of some bins of a column.
    uint32_t* rows
    uint64_t* keys          # of their values
    uint32_t* labels
    int64_t* weights


cdef Binned* new_binned(
    const Problem* problem, Source* sources, Py_ssize_t n_columns, Py_ssize_t most_bins,
    Scratch* scratch,
) except NULL nogil

cdef int code_sample(Binned* data, Pool pool) except -1 nogil

cdef void free_binned(Binned* data) noexcept nogil

cdef void find_bounds(
    const Binned* data, Py_ssize_t start, Py_ssize_t stop, Split* split
) noexcept nogil

cdef Py_ssize_t part_binned(
    Binned* data, Py_ssize_t start, Py_ssize_t stop, const Split* split, Pool pool
) noexcept nogil

cdef void set_sides(const Binned* data, const Split* split) noexcept nogil

cdef void count_classes(
    const Binned* data, Py_ssize_t start, Py_ssize_t stop, int64_t* counts
) noexcept nogil

cdef bint discount_node(
    const Binned* data, Py_ssize_t start, Py_ssize_t stop, void* histogram
) noexcept nogil

cdef void count_node(
    const Binned* data, Py_ssize_t start, Py_ssize_t stop, void** histograms, Pool pool
) noexcept nogil

cdef void gather(
    const Binned* data, Py_ssize_t j, Py_ssize_t start, Py_ssize_t stop, const uint8_t* wanted,
    Py_ssize_t n_rows, const Gathered* to, Pool pool,
) noexcept nogil

cdef size_t size_of(const Counted* counted) noexcept nogil

cdef void count_rows(
    const Panel* panel, const Counted* counted, const uint32_t* rows, Py_ssize_t n_rows,
    void* histogram, bint subtract,
) noexcept nogil

cdef void add_counts(
    const Counted* counted, void* to, const void* what, bint subtract
) noexcept nogil
