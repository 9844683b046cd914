from libc.stdint cimport int64_t, uint8_t, uint32_t

from treebound.growing._binned cimport Binned
from treebound.growing._bounds cimport Reach
from treebound.growing._layout cimport NodeView, Problem, Scratch, Split
from treebound.growing._pool cimport Pool
from treebound.growing._profile cimport Profile


cdef struct Finder:
    # The state of one thread.
    Profile profile
    Scratch* scratch
    uint8_t* wanted        # by code
    int64_t* counts        # n_classes + 1
    uint32_t* gathered     # rows of the bins being searched
    Py_ssize_t n_gathered  # capacity
    uint32_t* labels
    int64_t* weights
    double floor
    bint failed            # memory ran out


cdef int init_finder(Finder* finder, const Binned* data, Scratch* scratch) except -1 nogil

cdef void free_finder(Finder* finder) noexcept nogil

cdef Reach reach_of_column(
    const Binned* data, Py_ssize_t j, const void* histogram, const NodeView* node, Finder* finder
) noexcept nogil

cdef Split best_of_column(
    const Binned* data, Py_ssize_t j, const void* histogram, const NodeView* node, Finder* finder,
    Pool pool,
) noexcept nogil
