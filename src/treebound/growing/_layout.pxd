"""What the kernels share: where values stand, a split, a node's rows, and the criterion.

Weights are integers here. Unit and integer weights are taken as they are; other weights are scaled
by a power of two (see ``grow.py``). So every class count, and every sum over class counts, is exact
and does not depend on the order of the rows.
"""

from libc.math cimport NAN, log2
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint32_t, uint64_t
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

cdef enum Type:
    FLOAT64 = 0
    FLOAT32 = 1
    INT8 = 2
    INT16 = 3
    INT32 = 4

cdef enum Form:
    SORTED = 0  # entries in order of value, moved by every partition
    CODED = 1   # a code per row, which stays where it is


cdef struct Source:
    # A column as it was given: NaN is missing in floats, -1 in codes.
    const char* first
    Py_ssize_t stride
    Type type
    Kind kind
    Py_ssize_t n_categories  # codes are below; 0 for a real column
    bint may_miss            # missing somewhere in the sample, or said to be possible
    double span              # from the least to the greatest value of the sample


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
    double* values      # CODED: the value of a code
    Py_ssize_t n_codes  # distinct values here
    Py_ssize_t offset   # CODED: where its table stands among the tables of a node
    bint has_missing    # missing rows have the code (or rank) n_codes


cdef struct Split:
    double score        # purity of the two children; -inf for no split
    Py_ssize_t column
    Py_ssize_t place    # CODED: last code on the left, or the category; else present rows there
    Py_ssize_t follow   # codes or bins: the first on the right; -1: only missing rows there
    bint missing_left
    # Of nodes with histograms only:
    Py_ssize_t bin      # the last bin on the left
    bint inside         # whether the split parts that bin
    bint known          # whether low and high are set
    double low          # the neighbours of a threshold
    double high
    int64_t left_weight # weight on the left that is not missing


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
    # What one thread writes in while nodes are sorted and scanned.
    Py_ssize_t n_entries   # how many fit
    uint64_t* keys
    uint64_t* entries
    uint64_t* other
    int64_t* left          # n_classes
    int64_t* right         # n_classes
    int64_t* missing       # n_classes + 1
    Py_ssize_t n_cells
    int64_t* table         # all zero between two uses
    double floor           # a score below it cannot be the best of the node being searched
    double floors[2]       # the same for each child of a node that is expanded


cdef inline void* allocate(Py_ssize_t count, size_t size) except NULL nogil:
    """Memory for ``count`` things, not set."""
    cdef void* memory = malloc(max(count, 1) * size)
    if memory == NULL:
        with gil:
            raise MemoryError
    return memory


cdef extern from "_memory.h":
    void* malloc_long(size_t size) nogil


cdef inline void* allocate_long(Py_ssize_t count, size_t size) except NULL nogil:
    """The same for something that has a part for every row."""
    cdef void* memory = malloc_long(max(count, 1) * size)
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


cdef inline double value_at(const Source* source, Py_ssize_t row) noexcept nogil:
    """The value of a row as a float; NaN where it is missing."""
    cdef const char* place = source.first + row * source.stride
    cdef int32_t code
    if source.type == FLOAT64:
        return (<const double*>place)[0]
    if source.type == FLOAT32:
        return <double>(<const float*>place)[0]
    if source.type == INT8:
        code = (<const int8_t*>place)[0]
    elif source.type == INT16:
        code = (<const int16_t*>place)[0]
    else:
        code = (<const int32_t*>place)[0]
    return <double>code if code >= 0 else NAN


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
