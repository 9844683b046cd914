"""What is a tie, what is a gain, and which leaf comes first: one set of rules for all searches."""

from libc.math cimport ceil, log2
from libc.stdint cimport int64_t

from treebound.growing._layout cimport ENTROPY, MISCLASSIFICATION, Problem

cdef extern from *:
    """
    #define TOLERANCE 0x1p-45
    """
    # Scores closer than this share of a node's weight are tied; a gain below it is a rounding error.
    const double TOLERANCE


cdef inline void set_scale(Problem* problem, int64_t whole) noexcept nogil:
    """The width of sums of squares and the unit of c log c, for a sample of this weight."""
    cdef double largest
    problem.wide = whole >= <int64_t>1 << 31
    problem.xlogx_unit = 1.0
    if problem.criterion == ENTROPY:
        # a sum of c log c is at most whole log2 whole: leave it 60 bits
        largest = <double>whole * max(1.0, log2(<double>whole))
        problem.xlogx_unit = 2.0 ** (60.0 - ceil(log2(largest)))


cdef inline double tolerance_of(int64_t weight, const Problem* problem) noexcept nogil:
    """Scores closer than this are a tie: rounding of floats, and of c log c to integers."""
    cdef double tolerance = TOLERANCE * <double>weight
    if problem.criterion == ENTROPY:
        tolerance += (2 * problem.n_classes + 2) / problem.xlogx_unit
    return tolerance


cdef inline double order_tolerance(int64_t whole, bint by_impurity) noexcept nogil:
    """Priorities closer than this are a tie.

    The paper's priorities are impurities, at most a few units; gains are weights.
    """
    return TOLERANCE * (1.0 if by_impurity else <double>whole)


cdef inline double least_gain(
    double min_gain, int64_t whole, double tolerance, bint by_impurity, const Problem* problem
) noexcept nogil:
    """What a split must gain, in the unit of scores.

    A split without gain may lead to splits that gain (exclusive or); if impurities are not strictly
    concave, or leaves are ordered by impurity, it would only delay them.
    """
    cdef double least = min_gain * <double>whole - tolerance
    if by_impurity or problem.criterion == MISCLASSIFICATION:
        least = max(least, tolerance)
    return least


cdef inline double priority_of(
    double score, int64_t weight, double purity, bint by_impurity, const Problem* problem
) noexcept nogil:
    """The gain, or in the paper's order minus the mean impurity of the children (ERRATA 15)."""
    if not by_impurity:
        return score - purity
    if problem.criterion == ENTROPY:
        return score / <double>weight
    return score / <double>weight - 1.0


cdef inline double most_priority(
    int64_t weight, double purity, bint by_impurity, const Problem* problem
) noexcept nogil:
    """The priority of a node whose children would both be pure."""
    if by_impurity:
        return 0.0
    if problem.criterion == ENTROPY:
        return -purity
    return <double>weight - purity


cdef inline bint left_is_heavier(int64_t left, int64_t weight) noexcept nogil:
    """Where an unseen missing value goes; rounded weights may miss a tie by a few units."""
    return <double>(2 * left - weight) >= -TOLERANCE * <double>weight
