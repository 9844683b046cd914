"""What the kernels share: how a column is kept, a split, a node's rows, and the criterion.

Weights are integers here. Unit and integer weights are taken as they are; other weights are scaled
by a power of two (see ``grow.py``). So every class count, and every sum over class counts, is exact
and does not depend on the order of the rows.
"""

from libc.math cimport log2
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, malloc

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

cdef enum Kind:
    REAL = 0
    ORDINAL = 1
    NOMINAL = 2

cdef enum Form:
    SORTED = 0  # entries in order of value, moved by every partition
    CODED = 1   # a code per row, which stays where it is


cdef struct Packing:
    # An entry of a sorted column is rank | row | label, from the high bits to the low ones.
    int row_shift
    int rank_shift
    uint64_t label_mask
    uint64_t row_mask


cdef struct Column:
    Kind kind
    Form form
    uint64_t* entries   # SORTED: in order of value, missing last
    uint32_t* cells     # CODED: for each row, code * (n_classes + 1) + label
    double* values      # CODED and real: the value of a code
    Py_ssize_t n_codes  # codes of present values; SORTED: distinct values
    Py_ssize_t offset   # CODED: where its table stands among the tables of a node
    bint has_missing    # missing rows have the code (or rank) n_codes
    double span         # thresholds: from the least to the greatest value


cdef struct Split:
    double score        # purity of the two children; -inf for no split
    Py_ssize_t column
    Py_ssize_t place    # SORTED: present rows on the left; CODED: last code there, or the category
    Py_ssize_t follow   # CODED thresholds: first code on the right; -1: only missing rows there
    bint missing_left


cdef struct Problem:
    # What stays the same during growth.
    Py_ssize_t n_rows
    Py_ssize_t n_classes
    Py_ssize_t min_leaf     # rows
    int64_t min_weight      # and weight that every leaf must have; 0 where weights are 1
    Criterion criterion
    bint wide               # total weight of 2^31 or more
    Packing packing
    const uint32_t* labels
    const int64_t* weights  # NULL: every weight is 1
    int64_t max_weight      # of one row
    const int64_t* xlogx    # table of c log2 c in fixed point; NULL: computed
    double xlogx_unit       # the fixed point's one


cdef struct NodeView:
    # The rows of a node, where they stand and what they count.
    Py_ssize_t start
    Py_ssize_t stop
    int64_t weight
    double purity
    const int64_t* counts
    const int64_t* tables  # counts per code of every column that has codes; NULL: not kept
    const uint32_t* rows   # the node's rows, ascending, from start to stop
    double tolerance       # scores closer than this are a tie
    double rise            # a row that changes sides lifts the score by no more


cdef struct Scratch:
    # What one thread writes in.
    uint64_t* entries      # n_rows
    uint64_t* other        # n_rows, only while columns are sorted
    int64_t* left          # n_classes
    int64_t* right         # n_classes
    int64_t* missing       # n_classes
    int64_t* table         # the largest table; all zero between two uses
    double floor           # a score below it cannot be the best of the node being searched
    double floors[2]       # the same for each child of a node that is expanded


cdef inline void* allocate(Py_ssize_t count, size_t size) except NULL nogil:
    """Memory for ``count`` things, not set."""
    cdef void* memory = malloc(max(count, 1) * size)
    if memory == NULL:
        with gil:
            raise MemoryError
    return memory


cdef inline void* zeros(Py_ssize_t count, size_t size) except NULL nogil:
    """Memory for ``count`` things, set to zero."""
    cdef void* memory = calloc(max(count, 1), size)
    if memory == NULL:
        with gil:
            raise MemoryError
    return memory


cdef inline Py_ssize_t row_of(uint64_t entry, const Packing* packing) noexcept nogil:
    return <Py_ssize_t>((entry >> packing.row_shift) & packing.row_mask)


cdef inline Py_ssize_t label_of(uint64_t entry, const Packing* packing) noexcept nogil:
    return <Py_ssize_t>(entry & packing.label_mask)


cdef inline Py_ssize_t rank_of(uint64_t entry, const Packing* packing) noexcept nogil:
    return <Py_ssize_t>(entry >> packing.rank_shift)


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
    """What a split makes as large as it can: the weighted impurity is a constant minus this.

    gini: sum of squares / weight; entropy: sum of c log c - weight log weight;
    misclassification: the greatest count.
    """
    cdef Py_ssize_t k
    cdef int64_t total = 0
    cdef int128_t squares = 0
    if problem.criterion == GINI and problem.wide:
        for k in range(problem.n_classes):
            squares += <int128_t>counts[k] * counts[k]
        return <double>squares / <double>weight
    if problem.criterion == GINI:
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
