from libc.stdint cimport uint64_t

from treebound.growing._layout cimport NodeView, Problem, Scratch, Split


cdef struct Segment:
    # The present rows of a node in order of one column, and which boundaries may be taken.
    const uint64_t* entries
    Py_ssize_t present
    Py_ssize_t first       # least and
    Py_ssize_t last        # greatest number of present rows on the left


cdef void scan(
    const Segment* segment, const NodeView* node, const Problem* problem, Scratch* scratch,
    Split* best,
) noexcept nogil
