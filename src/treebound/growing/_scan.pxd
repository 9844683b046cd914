from libc.stdint cimport int64_t, uint64_t

from treebound.growing._layout cimport GINI, Column, NodeView, Problem, Scratch, Split, xlogx


cdef struct Segment:
    # The present rows of a node sorted by one column, and the allowed boundaries.
    const uint64_t* entries
    Py_ssize_t present
    Py_ssize_t first       # minimum and
    Py_ssize_t last        # maximum number of present rows on the left


cdef Split best_split(
    const Column* column, Py_ssize_t index, const NodeView* node, Scratch* scratch
) noexcept nogil

cdef Split no_split(Py_ssize_t column) noexcept nogil

cdef void try_counts(
    const NodeView* node, const int64_t* counts, Py_ssize_t code, bint missing, Split* best
) noexcept nogil

cdef double score_of(const int64_t* left, const NodeView* node) noexcept nogil

cdef void keep_heavy(Segment* segment, const NodeView* node, int64_t weight) noexcept nogil

cdef void scan(
    const Segment* segment, const NodeView* node, Scratch* scratch, Split* best
) noexcept nogil


cdef struct Pair:
    # A node of two classes.
    int64_t weight
    int64_t ones       # of its second class,
    double all_weight  # and both as floats
    double all_ones


cdef inline Pair pair_of(const NodeView* node) noexcept nogil:
    cdef Pair pair
    pair.weight = node.weight
    pair.ones = node.counts[1]
    pair.all_weight = <double>pair.weight
    pair.all_ones = <double>pair.ones
    return pair


cdef inline double left_and_right(
    const Pair* node, int64_t left, int64_t ones, const Problem* problem
) noexcept nogil:
    """The score with weight ``left`` on the left, ``ones`` of it of class 1, times ``scale``."""
    cdef double left_all, left_ones, left_zeros, right_all, right_ones, right_zeros
    cdef int64_t right = node.weight - left
    if problem.criterion == GINI:
        # squares_left / left + squares_right / right, without the divisions
        left_all = <double>left
        left_ones = <double>ones
        left_zeros = left_all - left_ones
        right_all = node.all_weight - left_all
        right_ones = node.all_ones - left_ones
        right_zeros = right_all - right_ones
        return (left_zeros * left_zeros + left_ones * left_ones) * right_all + (
            right_zeros * right_zeros + right_ones * right_ones
        ) * left_all
    return <double>(
        xlogx(left - ones, problem) + xlogx(ones, problem) - xlogx(left, problem)
        + xlogx(right - node.ones + ones, problem) + xlogx(node.ones - ones, problem)
        - xlogx(right, problem)
    )


cdef inline double scale(const Pair* node, int64_t left, const Problem* problem) noexcept nogil:
    if problem.criterion == GINI:
        return <double>left * (node.all_weight - <double>left)
    return problem.xlogx_unit


cdef inline bint beats(
    const Pair* node, int64_t left, int64_t ones, double bar, const Problem* problem
) noexcept nogil:
    return left_and_right(node, left, ones, problem) > bar * scale(node, left, problem)
