from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t

from treebound.growing._coder cimport Coder
from treebound.growing._coding cimport Extent
from treebound.growing._counting cimport Counted, Panel
from treebound.growing._layout cimport Problem, Scratch, Source, Split
from treebound.growing._pool cimport Pool


cdef struct Bins:
    # A column as codes: bins in order of value, then the missing rows.
    Coder coder
    int width               # bytes of a code
    Py_ssize_t panel
    int lane
    Py_ssize_t offset       # of its counts in a histogram
    bint exact              # every bin holds one value


cdef struct Binned:
    # The sample as codes, and its rows, grouped by node and ascending within a node.
    const Problem* problem
    Source* sources
    Bins* columns
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


cdef Binned* new_binned(
    const Problem* problem, Source* sources, Py_ssize_t n_columns, Py_ssize_t most_bins,
    Scratch* scratch,
) except NULL nogil

cdef int code_sample(Binned* data, Pool pool) except -1 nogil

cdef void free_binned(Binned* data) noexcept nogil

cdef Py_ssize_t code_at(const Binned* data, Py_ssize_t column, Py_ssize_t row) noexcept nogil

cdef void find_ends(
    const Binned* data, Py_ssize_t start, Py_ssize_t stop, Split* split
) noexcept nogil

cdef Py_ssize_t part_binned(
    Binned* data, Py_ssize_t start, Py_ssize_t stop, const Split* split, Pool pool
) noexcept nogil

cdef void count_classes(
    const Binned* data, Py_ssize_t start, Py_ssize_t stop, int64_t* counts
) noexcept nogil

cdef bint discount_node(
    const Binned* data, Py_ssize_t start, Py_ssize_t stop, void* histogram
) noexcept nogil

cdef void count_node(
    const Binned* data, Py_ssize_t start, Py_ssize_t stop, void** histograms, Pool pool
) noexcept nogil
