# Best-first growing: nodes, the frontier, and the rules that all engines share.
#
# Used by the two engines, which are classes below `Driver` and override its verbs: pause,
# hands_over, search, expand, find_ends and part_first. Which split wins, which leaf is next and where missing values go
# is decided here and nowhere else, so that engines grow equal trees.

from libc.stdint cimport int32_t, int64_t, uint64_t
from treebound._utils._pool cimport Pool
from treebound.tree._thresholds cimport Rule
from treebound.growing._layout cimport KernelSplit, Problem, Rules, Source
from treebound.growing._sorted cimport Sorted, Task

cdef enum State:
    WAITING = 0   # not searched: its priority is a bound from its counts
    BOUNDED = 1   # its priority is a bound from its histogram
    FOUND = 2     # its split is known


cdef struct GrownNode:
    Py_ssize_t start      # its rows
    Py_ssize_t stop
    Py_ssize_t depth
    int64_t weight
    double purity
    double priority       # the frontier's order: the largest first
    KernelSplit split           # column -1: none
    double threshold
    int32_t category
    int32_t left          # children; -1: none
    int32_t right
    int32_t age           # of two leaves that tie the one of lower age comes first
    State state
    bint expanded         # whether it is an inner node
    Sorted* home          # the sorted rows it is in; NULL: it has none
    void* histogram       # of a node in the coded sample; or NULL
    void* ahead           # results of a thread before its turn; or NULL
    int32_t n_first       # of the splits that come first, how many are above it or do not part it
    uint64_t groups       # of columns that it may split on; see `Rules`


cdef class Nodes:
    cdef GrownNode* nodes
    cdef int64_t* counts      # n_classes per node
    cdef double* limits       # n_limits per node: of the shares of the highest classes
    cdef Py_ssize_t n_limits  # 0: shares have no order
    cdef int32_t* frontier    # a heap, or a stack if order does not matter
    cdef Py_ssize_t n_nodes, n_frontier, n_classes, capacity
    cdef double tolerance     # priorities closer than this are tied
    cdef bint in_order
    cdef int32_t add(self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t depth) except -1 nogil
    cdef int enlarge(self, Py_ssize_t capacity) except -1 nogil
    cdef int64_t* counts_of(self, int32_t index) noexcept nogil
    cdef double* limits_of(self, int32_t index) noexcept nogil
    cdef Py_ssize_t rows_in(self, int32_t index) noexcept nogil
    cdef bint before(self, int32_t a, int32_t b) noexcept nogil
    cdef void swap(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil
    cdef void push(self, int32_t index) noexcept nogil
    cdef int32_t pop(self) noexcept nogil
    cdef Py_ssize_t preorder(self, int32_t[::1] order, int32_t[::1] place)


cdef void leave(Sorted* home) noexcept nogil


cdef class Driver:
    cdef Pool pool              # of the engine; None: this thread alone
    cdef Problem problem
    cdef Source* sources
    cdef Py_ssize_t n_columns
    cdef Nodes tree
    cdef int64_t* xlogx_table
    cdef Py_ssize_t max_leaves, max_depth, min_split
    cdef int64_t n_leaves       # other threads may read it to report progress
    cdef double min_gain
    cdef double min_priority  # with a limit of leaves: leaves below it are not expanded
    cdef int64_t whole          # weight of the whole sample, if this is a part of it,
    cdef double whole_spread    # and its sum of squares, of numbers
    cdef Rule thresholds
    cdef bint by_impurity
    cdef long long looked       # for signals, when
    cdef Rules rules
    cdef dict rules_as_given    # keeps the memory of the rules alive
    cdef KernelSplit* firsts          # splits that come first
    cdef Py_ssize_t n_firsts
    cdef int set_options(self, dict options) except -1
    cdef int set_rules(self, dict rules) except -1
    cdef int set_criterion(self) except -1 nogil
    cdef int add_root(self, Py_ssize_t n_rows) except -1 nogil
    cdef int run(self) except -1 nogil
    cdef int pause(self) except -1 nogil
    cdef bint hands_over(self) noexcept nogil
    cdef int search(self, int32_t index) except -1 nogil
    cdef int expand(self, int32_t index) except -1 nogil
    cdef void find_ends(self, const GrownNode* node, KernelSplit* split) noexcept nogil
    cdef int part_first(self, int32_t index, KernelSplit* split, int64_t* left) except -1 nogil
    cdef bint takes_first(self, int32_t index) except -1 nogil
    cdef int check_first(
        self, int32_t index, const int64_t* left, const KernelSplit* split
    ) except -1 nogil
    cdef int pass_rules_on(self, int32_t index) except -1 nogil
    cdef int32_t[::1] attach(self, int32_t index, dict arrays)
    cdef int set_counts(self, int32_t index, const int64_t[::1] counts, int64_t rows) except -1
    cdef int set_known(self, int32_t index) except -1
    cdef bint settle(self, int32_t index) noexcept nogil
    cdef bint may_split(
        self, const int64_t* counts, Py_ssize_t n_rows, Py_ssize_t depth
    ) noexcept nogil
    cdef int add_children(self, int32_t index) except -1 nogil
    cdef void count_right(self, int32_t index) noexcept nogil
    cdef void wait(self, int32_t index) noexcept nogil
    cdef double spread(self, int32_t index) noexcept nogil
    cdef double max_priority(self, int32_t index) noexcept nogil
    cdef double priority_with(self, const GrownNode* node, double score) noexcept nogil
    cdef int set_test(self, GrownNode* node) except -1 nogil
    cdef void set_task(self, Task* task, int32_t index, bint wanted) noexcept nogil
    cdef bint choose(self, GrownNode* node, const Task* task) noexcept nogil
    cdef bint wins(self, GrownNode* node, KernelSplit* split, double tolerance) noexcept nogil
    cdef double gap_of(self, const GrownNode* node, KernelSplit* split) noexcept nogil
