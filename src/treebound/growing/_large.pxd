from libc.stdint cimport int64_t

from treebound.growing._binned cimport Binned
from treebound.growing._bounds cimport Reach
from treebound.growing._histogram cimport Finder
from treebound.growing._layout cimport NodeView, Problem, Scratch, Source, Split
from treebound.growing._pool cimport Pool


cdef struct Large:
    # The state of the search of large nodes.
    Binned* data
    Finder* finders         # one per thread
    int n_finders
    Reach* reaches          # one per column
    void** spare            # unused histograms
    Py_ssize_t n_spare
    Py_ssize_t n_histograms
    Py_ssize_t most_histograms
    void** counters         # one per thread; the first is that of the node
    # the node being searched
    const void* histogram
    const NodeView* node
    Split* splits


cdef Large* new_large(
    const Problem* problem, Source* sources, Py_ssize_t n_columns, Py_ssize_t most_bins,
    Scratch* scratch,
) except NULL nogil

cdef int code_large(Large* large, Scratch* scratch, Pool pool) except -1 nogil

cdef void free_large(Large* large) noexcept nogil

cdef void* take_histogram(Large* large, bint at_once) except? NULL nogil

cdef void give_histogram(Large* large, void* histogram) noexcept nogil

cdef void count_into(
    Large* large, Py_ssize_t start, Py_ssize_t stop, void* histogram, Pool pool
) noexcept nogil

cdef Reach reach_node(
    Large* large, const void* histogram, const NodeView* node, double least, Pool pool
) noexcept nogil

cdef int search_node(
    Large* large, const void* histogram, const NodeView* node, Split* splits, Pool pool
) except -1 nogil
