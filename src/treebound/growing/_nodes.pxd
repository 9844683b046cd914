from libc.stdint cimport int32_t, int64_t

from treebound.growing._layout cimport Split
from treebound.growing._ledger cimport Ledger
from treebound.growing._sorted cimport Sorted


cdef enum State:
    WAITING = 0   # not searched: its priority is a bound from its counts
    BOUNDED = 1   # its priority is a bound from its histogram
    FOUND = 2     # its split is known

cdef struct Node:
    Py_ssize_t start      # its rows
    Py_ssize_t stop
    Py_ssize_t depth
    int64_t weight
    double purity
    double priority       # the frontier's order: the largest first
    Split split           # column -1: none
    double threshold
    int32_t category
    int32_t left          # children; -1 for a leaf
    int32_t right
    State state
    Sorted* home          # the sorted rows it is in; NULL: the coded sample
    void* histogram       # of a node in the coded sample; or NULL
    int64_t* tables       # counts per code of a node that is sorted; or NULL
    Ledger* ledger        # instead of tables, in a chain of nodes; or NULL
    int32_t peels         # how many of the last splits above it took few rows away


cdef class Nodes:
    cdef Node* nodes
    cdef int64_t* counts      # n_classes per node
    cdef int32_t* frontier    # a heap, or a stack if order does not matter
    cdef Py_ssize_t n_nodes, n_frontier, n_classes, capacity
    cdef double tolerance     # priorities closer than this are tied
    cdef bint in_order

    cdef int32_t add(self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t depth) except -1 nogil
    cdef int64_t* counts_of(self, int32_t index) noexcept nogil
    cdef Py_ssize_t rows_in(self, int32_t index) noexcept nogil
    cdef void push(self, int32_t index) noexcept nogil
    cdef int32_t pop(self) noexcept nogil

    # private
    cdef int enlarge(self, Py_ssize_t capacity) except -1 nogil
    cdef bint before(self, int32_t a, int32_t b) noexcept nogil
    cdef void swap(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil
    cdef void preorder(self, int32_t[::1] order, int32_t[::1] place)


cdef void leave(Sorted* home) noexcept nogil
