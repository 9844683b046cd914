# Growing in memory: the engine of `Driver` whose rows are arrays of this process.
#
# Used by `_wide`, which searches several candidates at the top of a tree; everybody else calls
# `grow_arrays` and `grow_numbers`. A grower owns the memory of its nodes, histograms and sorted
# rows; the tree does not depend on the number of threads.

from libc.stdint cimport int32_t, int64_t, uint32_t
from treebound._utils._pool cimport Pool, Work
from treebound.growing._driver cimport Driver, GrownNode, Nodes
from treebound.growing._histogram cimport Binned, CodedBins
from treebound.growing._layout cimport KernelSplit, Scratch
from treebound.growing._search cimport ColumnBounds, Finder
from treebound.growing._sorted cimport Search, Task


cdef struct Columns:
    # The columns of a large node that threads search.
    Finder* finders         # one per thread
    ColumnBounds* bounds    # one per column, in the memory of the histogram
    KernelSplit* splits
    int* order              # the columns that may win, the greatest bound first
    int* wave               # those of them that threads search together, one per finder
    int n_wave
    Scratch* scratch        # one per thread


cdef struct Ahead:
    # Results of threads for a leaf before its turn; then its class counts and limits.
    GrownNode node          # the leaf: while it is here its histogram is, too
    double key              # the least priority on the path to it; without order, its rows
    bint gains              # whether there may be a split that gains
    bint counted            # whether its histogram is, if it has one
    bint urgent             # whether its turn comes before that of all leaves that are too large
    bint failed             # memory ran out
    Ahead* left             # its children, if its rows are those of these, one after the other
    Ahead* right
    void* small             # memory for the histogram of the smaller child; or NULL


cdef struct Heap:
    # Leaves or keys, the greatest key first.
    double* keys
    Ahead** leaves
    Py_ssize_t n
    Py_ssize_t capacity


cdef struct Division:
    # The rows of a node that is split.
    Py_ssize_t n_left
    int64_t* left           # counts of the left child
    bint keep_left          # which children may be split
    bint keep_right


cdef class SharedCodes:
    cdef tuple coded            # its bins, and what `code_shard` gives; None: not coded yet
    cdef bint sorts             # whether its codes were uninformative, so that rows are sorted


cdef class Grower(Driver):
    cdef Scratch* scratch       # one per thread
    cdef Search sorted
    cdef object arrays          # keeps the memory of the sources alive
    cdef object numbers         # the same of the channels of numbers; or None
    cdef const uint32_t[::1] part   # the rows to grow on
    cdef const uint32_t* ids    # the same; NULL: all of them
    cdef object spans           # of the columns of a larger sample; None: of these rows
    cdef object progress        # called with leaves and open rows; or None
    cdef Py_ssize_t pauses
    cdef Py_ssize_t root_crossing, crossing, max_bins
    cdef bint sorts_when_needed # False: always use histograms above the crossing
    # large nodes
    cdef Binned* binned         # the coded sample; NULL: all nodes are sorted
    cdef SharedCodes shared
    cdef CodedBins coded        # its memory
    cdef object order           # the memory of its rows and labels
    cdef Columns columns
    cdef void** counters        # one per thread; the first is that of the node
    cdef Py_ssize_t n_histograms, max_histograms    # in use, and at most
    cdef void* spare                # a list of histograms that no node needs
    # nominal columns only
    cdef dict chains            # by leaf: the rows at the beginning, and `Categories`; or None
    cdef uint32_t[::1] rows     # by leaf
    cdef int64_t[::1] place     # of every row in them
    cdef list codes             # by column and row
    # subtrees
    cdef dict options           # as they were given
    cdef Py_ssize_t thread_values   # fewer open values are not shared by threads
    cdef list hands             # a grower for each thread
    cdef void** hand_at         # the same
    cdef int n_hands
    cdef Py_ssize_t offset      # of a hand: where its nodes are in the whole tree
    cdef int64_t next_branch    # that no hand has begun to grow
    cdef Heap waiting           # leaves to be searched or divided before their turn
    cdef Py_ssize_t max_ahead   # larger ones are left to all threads together
    cdef double first_key       # the greatest priority of these: leaves below it are worked on
    cdef Py_ssize_t n_urgent    # only while threads work on some above it,
    cdef Py_ssize_t max_filler  # and only smaller ones
    cdef Heap chosen            # minus the keys of the leaves that are expanded, as far as is known
    cdef long long ahead_since  # when threads began to work ahead
    cdef Binned view            # of a hand: the coded sample
    cdef int32_t[::1] branches  # leaves, the largest first,
    cdef int32_t[::1] hand_of   # the number of the hand that grows each, -1 before it begins,
    cdef int32_t[::1] root_of   # and its node there
    cdef object failure         # what was raised in a thread
    cdef bint failed            # memory ran out in a thread
    cdef int set_sample(
        self, columns, y, weights, kinds, n_categories, may_miss, part, shared
    ) except -1
    cdef Py_ssize_t open_rows(self) noexcept nogil
    cdef int start(self) except -1 nogil
    cdef int set_spans(self) except -1 nogil
    cdef int code(self, Py_ssize_t max_bins) except -1 nogil
    cdef int attach_codes(self, Py_ssize_t max_bins) except -1
    cdef void forget_codes(self) noexcept nogil
    cdef void count_labels(
        self, const uint32_t* rows, Py_ssize_t n_rows, int64_t* counts
    ) noexcept nogil
    cdef void* new_histogram(self) except NULL nogil
    cdef void* take_histogram(self, bint at_once) noexcept nogil
    cdef void give_histogram(self, void* histogram) noexcept nogil
    cdef void free_spare(self) noexcept nogil
    cdef void drop_histogram(self, int32_t index) noexcept nogil
    cdef void count(self, Py_ssize_t start, Py_ssize_t stop, void* histogram) noexcept nogil
    cdef int sort_and_search(self, int32_t index, const uint32_t* ids) except -1 nogil
    cdef bint conclude(self, const Task* task) except -1 nogil
    cdef int search_histogram(self, int32_t index) except -1 nogil
    cdef ColumnBounds bound_columns(self, const Task* task, const GrownNode* node) noexcept nogil
    cdef int search_columns(self, const GrownNode* node) except -1 nogil
    cdef void search_in_waves(self) noexcept nogil
    cdef void score_groups(self) noexcept nogil
    cdef void set_floor(self, double floor) noexcept nogil
    cdef void each_column(self, Work work, bint shared) noexcept nogil
    cdef bint is_uninformative(self, Py_ssize_t live_rows) noexcept nogil
    cdef bint set_children(self, int32_t index, Py_ssize_t middle, bint* may_split) except -1 nogil
    cdef int expand_large(self, int32_t index) except -1 nogil
    cdef void part_rows(
        self, GrownNode* node, const int64_t* counts, Division* division
    ) noexcept nogil
    cdef void count_smaller(
        self, const GrownNode* node, const Division* division, void* whole, void* small
    ) noexcept nogil
    cdef bint is_counted(
        self, const GrownNode* node, const Division* division, bint larger
    ) noexcept nogil
    cdef void hand_on(
        self, const GrownNode* node, const Division* division, void* whole, void* small
    ) noexcept nogil
    cdef bint work_ahead(self, int32_t index) except -1 nogil
    cdef bint may_work_ahead(self, int32_t index) noexcept nogil
    cdef bint is_ready(self, int32_t index) noexcept nogil
    cdef bint choose_leaves(self, int32_t index) except -1 nogil
    cdef int add_ahead(self, int32_t index) except -1 nogil
    cdef void offer(self, Ahead* ahead) noexcept nogil
    cdef void offer_children(self, Ahead* ahead) noexcept nogil
    cdef void note_key(self, double key) noexcept nogil
    cdef bint is_needed(self, double key) noexcept nogil
    cdef Ahead* take_leaf(self) noexcept nogil
    cdef Py_ssize_t finish_leaf(self, Ahead* ahead) noexcept nogil
    cdef void work_on(self, Ahead* ahead) noexcept nogil
    cdef Ahead* new_ahead(self) noexcept nogil
    cdef bint prepare(self, Ahead* ahead) noexcept nogil
    cdef void set_leaf(self, const Ahead* ahead) noexcept nogil
    cdef void look_at(self, Ahead* ahead) noexcept nogil
    cdef void divide_for(self, Ahead* ahead) noexcept nogil
    cdef bint start_child(
        self, const GrownNode* node, Ahead* child, Py_ssize_t start, Py_ssize_t stop
    ) noexcept nogil
    cdef int64_t* counts_ahead(self, const Ahead* ahead) noexcept nogil
    cdef int take_over(self, int32_t index) except -1 nogil
    cdef int expand_divided(self, int32_t index) except -1 nogil
    cdef void release(self, int32_t index) noexcept nogil
    cdef void free_ahead(self, Ahead* ahead) noexcept nogil
    cdef int hire(self, Py_ssize_t n) except -1
    cdef int expand_sorted(self, int32_t index) except -1 nogil
    cdef int grow_branches(self) except -1
    cdef Grower hand(self)
    cdef int grow_below(self, Grower boss, Py_ssize_t branch) except -1 nogil
    cdef int add_nodes(self) except -1
    cdef void put_branch(self, int32_t index, int32_t root) noexcept
    cdef bint in_chains(self) noexcept nogil
    cdef int start_chains(self) except -1
    cdef int search_chain(self, int32_t index) except -1
    cdef object class_weights(self, rows)
    cdef int expand_chain(self, int32_t index) except -1


cdef void copy_nodes(Nodes to, Nodes tree, Py_ssize_t offset) noexcept nogil
