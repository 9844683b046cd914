# The best split of one column at one node whose rows are sorted.
#
# Used by `_sorted` for whole nodes, and by `_search` for the rows of single bins. `best_split` and
# `scan` return the same split as scoring every boundary would; ties go to the lowest place, then
# to missing on the right. They write to the scratch of one thread only.

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memset

from treebound.growing._layout cimport (
    KernelColumn, NodeView, Problem, Scratch, KernelSplit, score_of, weight_in,
)


cdef struct Segment:
    # The present rows of a node sorted by one column, and the allowed boundaries.
    const uint64_t* entries
    Py_ssize_t present
    Py_ssize_t first       # minimum and
    Py_ssize_t last        # maximum number of present rows on the left


cdef KernelSplit best_split(
    const KernelColumn* column, Py_ssize_t index, const NodeView* node, Scratch* scratch
) noexcept nogil


cdef void search_categories(
    const KernelColumn* column, const NodeView* node, Scratch* scratch, const uint8_t* excluded,
    KernelSplit* best
) noexcept nogil


cdef inline KernelSplit no_split(Py_ssize_t column) noexcept nogil:
    cdef KernelSplit split
    memset(&split, 0, sizeof(KernelSplit))
    split.score = -INFINITY
    split.column = column
    split.place = split.follow = split.bin = -1
    return split


cdef inline bint is_better(
    double score, Py_ssize_t place, const KernelSplit* best, double tolerance
) noexcept nogil:
    """Return True if a split is better, or equal and of a lower place."""
    return score > best.score + tolerance or (
        score >= best.score - tolerance and place < best.place
    )


cdef void keep_heavy(Segment* segment, const NodeView* node, int64_t weight) noexcept nogil

cdef void try_categories(
    const int64_t* counts, Py_ssize_t n_codes, const NodeView* node, KernelSplit* best
) noexcept nogil


cdef inline void try_category(
    const int64_t* counts, Py_ssize_t code, Py_ssize_t missing, const NodeView* node,
    KernelSplit* best
) noexcept nogil:
    cdef Py_ssize_t n_classes = node.problem.n_classes
    cdef double score
    if counts[n_classes] == 0 or not may_stand(counts, NULL, node):
        return
    score = score_of(counts, NULL, node)
    if is_better(score, code, best, node.tolerance):
        best.score = score
        best.place = code
        best.left_weight = weight_in(counts, NULL, node.problem)
        best.missing_left = code == missing


cdef inline bint may_stand(
    const int64_t* left, const int64_t* base, const NodeView* node
) noexcept nogil:
    """Return True if both sides have enough rows and weight; class counts are followed by rows."""
    cdef const Problem* problem = node.problem
    cdef Py_ssize_t n_classes = problem.n_classes
    cdef int64_t rows = left[n_classes] + (0 if base == NULL else base[n_classes]), weight
    if not problem.min_leaf <= rows <= node.stop - node.start - problem.min_leaf:
        return False
    if problem.min_weight == 0:
        return True
    weight = weight_in(left, base, problem)
    return problem.min_weight <= weight <= node.weight - problem.min_weight


cdef void scan(
    const Segment* segment, const NodeView* node, Scratch* scratch, KernelSplit* best
) noexcept nogil
