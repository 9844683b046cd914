"""What the kernels share: the packed entry of a sorted column, a split, and the criterion's sums.

Weights are integers here. Unit and integer weights are taken as they are; other weights are scaled
by a power of two (see ``grow.py``). So every class count, and every sum over class counts, is exact
and does not depend on the order of the rows.
"""

from libc.math cimport log2
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef extern from *:
    ctypedef long long int128_t "__int128"

# Sums of squares: 64 bits where the total weight is below 2^31, else 128.
ctypedef fused square_t:
    int64_t
    int128_t

cdef enum Criterion:
    GINI = 0
    ENTROPY = 1
    MISCLASSIFICATION = 2

cdef enum Store:
    SORTED = 0   # entries in order of value, moved by every partition
    ORDERED = 1  # a small code per row, thresholds between codes
    NOMINAL = 2  # a code per row, one test per code


cdef struct Packing:
    # An entry is rank | row | label, from the high bits to the low ones.
    int row_shift
    int rank_shift
    uint64_t label_mask
    uint64_t row_mask


cdef struct Split:
    double score        # purity of the two children; -inf for no split
    Py_ssize_t column
    Py_ssize_t place    # SORTED: present rows on the left; else: last code on the left, or category
    Py_ssize_t follow   # ORDERED: first code on the right (-1: only missing rows there)
    bint missing_left


cdef struct Problem:
    # What stays the same during growth.
    Py_ssize_t n_rows
    Py_ssize_t n_classes
    Py_ssize_t min_leaf
    Criterion criterion
    bint wide               # total weight of 2^31 or more
    Packing packing
    const int64_t* weights  # NULL: every weight is 1
    const uint32_t* labels
    const int64_t* xlogx    # table of c log2 c in fixed point; NULL: computed
    double xlogx_unit       # the fixed point's one


cdef inline Py_ssize_t row_of(uint64_t entry, const Packing* packing) noexcept nogil:
    return <Py_ssize_t>((entry >> packing.row_shift) & packing.row_mask)


cdef inline Py_ssize_t label_of(uint64_t entry, const Packing* packing) noexcept nogil:
    return <Py_ssize_t>(entry & packing.label_mask)


cdef inline uint64_t rank_of(uint64_t entry, const Packing* packing) noexcept nogil:
    return entry >> packing.rank_shift


cdef inline int64_t weight_of(Py_ssize_t row, const Problem* problem) noexcept nogil:
    return 1 if problem.weights == NULL else problem.weights[row]


cdef inline int64_t xlogx(int64_t count, const Problem* problem) noexcept nogil:
    """``count * log2(count)`` as an integer, so that sums of it are exact in any order."""
    if problem.xlogx != NULL:
        return problem.xlogx[count]
    if count <= 1:
        return 0
    return <int64_t>(<double>count * log2(<double>count) * problem.xlogx_unit)


cdef inline double purity_of(
    const int64_t* counts, int64_t weight, const Problem* problem
) noexcept nogil:
    """Weight minus weighted impurity, up to a constant: what a split makes as large as it can.

    gini: sum of squares / weight; entropy: sum of c log c - weight log weight;
    misclassification: the greatest count.
    """
    cdef Py_ssize_t k
    cdef int64_t total = 0
    cdef int128_t squares = 0
    if problem.criterion == GINI:
        if problem.wide:
            for k in range(problem.n_classes):
                squares += <int128_t>counts[k] * counts[k]
            return <double>squares / <double>weight
        for k in range(problem.n_classes):
            total += counts[k] * counts[k]
        return <double>total / <double>weight
    if problem.criterion == ENTROPY:
        for k in range(problem.n_classes):
            total += xlogx(counts[k], problem)
        return <double>(total - xlogx(weight, problem)) / problem.xlogx_unit
    for k in range(problem.n_classes):
        total = max(total, counts[k])
    return <double>total
