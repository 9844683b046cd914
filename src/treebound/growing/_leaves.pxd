from libc.stdint cimport int32_t, int64_t

from treebound.growing._binned cimport Binned
from treebound.growing._layout cimport Problem, Source, Split
from treebound.growing._nodes cimport Node, Nodes
from treebound.growing._search cimport Quest
from treebound.growing._thresholds cimport Rule


cdef class Leaves:
    cdef Problem problem
    cdef Source* sources
    cdef Py_ssize_t n_columns
    cdef Nodes tree
    cdef Binned* binned         # the coded sample; NULL: all nodes are sorted
    cdef int64_t* xlogx_table
    cdef Py_ssize_t max_depth, min_split
    cdef double min_gain
    cdef int64_t whole          # weight of the whole sample, if this is a part of it
    cdef Rule thresholds
    cdef bint by_impurity

    cdef int set_criterion(self) except -1 nogil
    cdef bint settle(self, int32_t index) noexcept nogil
    cdef void wait(self, int32_t index) noexcept nogil
    cdef int set_test(self, Node* node) except -1 nogil
    cdef void set_quest(self, Quest* quest, int32_t index, bint wanted) noexcept nogil
    cdef void conclude(self, const Quest* quest) noexcept nogil
    cdef bint choose(self, Node* node, const Quest* quest) noexcept nogil
    cdef double priority_with(self, const Node* node, double score) noexcept nogil

    # private
    cdef bint ends(self, Node* node, Split* split, double* low, double* high) noexcept nogil
    cdef bint misses(self, const Node* node) noexcept nogil
    cdef bint wins(self, Node* node, Split* split, double tolerance) noexcept nogil
    cdef int64_t weight_left(self, const Node* node, const Split* split) noexcept nogil
    cdef double gap_of(self, Node* node, Split* split) noexcept nogil
