# What all parts of growing share: columns, splits, the rows of a node, the criterion and its rules.
#
# A row has channels, integers that are only ever added: for a target of classes the weight of each
# class, for one of numbers `WEIGHT`, `SUM`
# and `SQUARES`. Whatever counts, adds, subtracts or hands on channels does not
# know which they are; scores, bounds and limits do.
#
# Used by every other module of this package; it knows none of them. It guarantees that class counts
# and the sums of a criterion are exact integers: scores do not depend on the order of the rows, on
# blocks or on threads.

from libc.math cimport NAN
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc

cdef extern from *:
    """
    /* Numbers that other threads may read at any time, such as those of progress. */
    #define relaxed(p) __atomic_load_n(p, __ATOMIC_RELAXED)
    #define set_relaxed(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
    """
    ctypedef long long int128_t "__int128"
    int64_t relaxed(int64_t* place) noexcept nogil
    void set_relaxed(int64_t* place, int64_t value) noexcept nogil
    uint8_t relaxed_flag "relaxed" (uint8_t* place) noexcept nogil
    void set_relaxed_flag "set_relaxed" (uint8_t* place, uint8_t value) noexcept nogil


# Sums of squares: 64 bits where the total weight is below 2^31, else 128.
ctypedef fused square_t:
    int64_t
    int128_t


ctypedef fused label_t:
    uint16_t
    uint32_t


cpdef enum:  # for Python too
    FINE_BINS = 4095        # of a column, if the first bins exclude few splits
    MAX_CATEGORIES = 65534  # codes have 16 bits, and one of them is for missing values
    EXACT = 255             # the shift of an interval whose values are requested
    RIGHT = 0               # sides of the rows of a bin
    LEFT = 1
    LOOK = 2                # the side depends on the value


cdef enum Criterion:
    GINI = 0
    ENTROPY = 1
    MISCLASSIFICATION = 2
    SQUARED = 3  # of a target of numbers


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


cdef struct Source:
    # An input column: NaN is missing in floats, -1 in codes.
    const char* first
    Py_ssize_t stride
    Type type
    Kind kind
    Py_ssize_t n_categories  # codes are below; 0 for a real column
    bint may_miss            # missing somewhere in the sample, or declared so
    double span              # range of the values of the sample


cdef struct Packing:
    # An entry of a sorted column is rank | row | label, from high to low bits.
    int row_shift
    int rank_shift
    uint64_t label_mask
    uint64_t row_mask


cdef struct KernelColumn:
    # A column of sorted rows.
    Kind kind
    uint64_t* entries   # sorted by value, missing last; moved by partitions
    uint32_t* codes     # categories: that of each rank
    Py_ssize_t n_codes  # distinct values
    bint has_missing    # missing rows have the rank n_codes


cdef struct KernelSplit:
    double score        # purity of the two children; -inf for no split
    Py_ssize_t column
    Py_ssize_t place    # present rows on the left, or the category; -1 for no split
    int64_t left_weight # weight on the left that is not missing
    bint missing_left
    bint misses         # thresholds: whether a row of the node is missing
    bint has_ends       # whether the next three are set
    bint bounded        # thresholds: whether there are values on the right, not only missing rows
    double low          # the neighbours of a threshold that is bounded
    double high
    # Of nodes with histograms or in chains only:
    Py_ssize_t bin      # thresholds: the last bin on the left; in chains: the category there
    Py_ssize_t follow   # the first bin on the right; -1: only missing rows there
    bint inside         # whether the split is inside the bin
    bint exact          # whether the threshold is ``low``, as it was forced


cdef inline bint takes(const KernelSplit* split, Py_ssize_t category) noexcept nogil:
    """Return True if a category goes left; the last one is that of missing values."""
    return category == split.place


cdef struct Rules:
    # Which splits are allowed, in addition to the limits of leaves.
    const int32_t* signs    # by column: whether high classes become more probable, 1, or less, -1
    const int32_t* order    # the classes from high to low; NULL: no column has a sign
    const uint64_t* groups  # by column: a bit for each group of columns that may be used together


cdef enum:
    # The channels of a row of weight w and sum s, both integers: s is w times the target, in units.
    WEIGHT = 0
    SUM = 1
    SQUARES = 2         # s^2 / w in larger units, rounded up: for bounds only
    ONE = 3             # always 1
    N_CHANNELS = 3      # before the last
    STRIDE = 4


cdef struct Problem:
    # Constant while growing.
    Py_ssize_t n_rows
    Py_ssize_t n_classes    # channels: classes, or N_CHANNELS
    Py_ssize_t min_leaf     # minimum rows
    int64_t min_weight      # and weight of a leaf; 0 if weights are 1
    Criterion criterion
    bint wide               # total weight of 2^31 or more
    Packing packing
    const uint32_t* labels
    const int64_t* weights  # NULL: every weight is 1
    const int64_t* numbers  # the channels of each row and 1; NULL: the target is of classes
    int square_shift        # the unit of squares is two to this power
    double weight_error     # what weight and
    double row_error        # rows add to four times the squares of rounding; 0 without rounding
    int64_t max_weight      # of one row
    const int64_t* xlogx    # table of c log2 c in fixed point; NULL: computed
    double xlogx_unit       # the fixed point's one
    const Rules* rules      # NULL: all splits are allowed


cdef struct NodeView:
    # The rows of a node and their counts.
    const Problem* problem
    Py_ssize_t start
    Py_ssize_t stop
    int64_t weight
    double purity
    const int64_t* counts
    double tolerance       # scores closer than this are tied
    double rise            # the most that a row can raise the score by changing sides
    uint64_t groups        # the groups of columns that it may split on; see `Rules`
    const double* limits   # of the shares of the highest classes: least and greatest, in turn


cdef struct Scratch:
    # Buffers of one thread for sorting and scanning.
    Py_ssize_t n_entries   # capacity
    uint64_t* keys
    uint64_t* entries
    uint64_t* other
    int64_t* left          # n_classes
    int64_t* right         # n_classes
    int64_t* missing       # n_classes + 1
    double floor           # a score below it cannot be the best of the node being searched
    double floors[2]       # the same for each child of a node that is expanded


cdef inline void* checked(void* memory) except NULL nogil:
    if memory == NULL:
        with gil:
            raise MemoryError
    return memory


cdef inline void* allocate(Py_ssize_t count, size_t size) except NULL nogil:
    """Uninitialised memory for ``count`` items."""
    return checked(malloc(max(count, 1) * size))


cdef inline void* zeros(Py_ssize_t count, size_t size) except NULL nogil:
    """Zeroed memory for ``count`` items."""
    return checked(calloc(max(count, 1), size))


cdef inline void* enlarged(void* memory, size_t size) except NULL nogil:
    """Memory of another size with the same contents."""
    return checked(realloc(memory, size))


cdef inline bint renew(void** memory, size_t size) noexcept nogil:
    """Free memory and allocate other; whether there is enough."""
    free(memory[0])
    memory[0] = malloc(size)
    return memory[0] != NULL


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
    if problem.weights != NULL:
        return problem.weights[row]
    return 1 if problem.numbers == NULL else problem.numbers[STRIDE * row + WEIGHT]


cdef inline int64_t class_weight_of(Py_ssize_t row, const Problem* problem) noexcept nogil:
    """The same where the target is of classes."""
    return 1 if problem.weights == NULL else problem.weights[row]


cdef inline void add_row(
    Py_ssize_t row, Py_ssize_t label, const Problem* problem, int64_t* counts
) noexcept nogil:
    """Add the channels of a row."""
    if problem.numbers == NULL:
        counts[label] += class_weight_of(row, problem)
        return
    counts[WEIGHT] += problem.numbers[STRIDE * row + WEIGHT]
    counts[SUM] += problem.numbers[STRIDE * row + SUM]
    counts[SQUARES] += problem.numbers[STRIDE * row + SQUARES]


cdef inline int64_t weight_in(
    const int64_t* left, const int64_t* base, const Problem* problem
) noexcept nogil:
    """The weight of channels, and of a second set if there is one."""
    cdef int64_t weight = 0
    cdef Py_ssize_t k
    if problem.numbers != NULL:
        return left[WEIGHT] + (0 if base == NULL else base[WEIGHT])
    for k in range(problem.n_classes):
        weight += left[k] + (0 if base == NULL else base[k])
    return weight


cdef void count_classes(
    const label_t* labels, const Problem* problem, const uint32_t* rows, Py_ssize_t n_rows,
    int64_t* counts, Py_ssize_t first,
) noexcept nogil


cdef inline bint may_split_on(Py_ssize_t column, const NodeView* node) noexcept nogil:
    """Return True if a node may be split on a column."""
    return node.problem.rules == NULL or (node.problem.rules.groups[column] & node.groups) != 0


cdef inline bint has_order(Py_ssize_t column, const Problem* problem) noexcept nogil:
    """Return True if high classes must become more or less probable with the values of a column."""
    cdef const Rules* rules = problem.rules
    return rules != NULL and rules.order != NULL and rules.signs[column] != 0


cdef inline bint keeps_order(
    const int64_t* left, Py_ssize_t column, bint by_value, const NodeView* node
) noexcept nogil:
    """Return True if a split by a column with a sign has its sides in order and in limits."""
    # Other splits may lead out of the limits of a node: its probabilities are then clipped.
    cdef const Problem* problem = node.problem
    cdef const Rules* rules = problem.rules
    cdef double weight, left_sum = 0.0, right_sum = 0.0, low, high
    cdef Py_ssize_t i, k
    if not by_value or not has_order(column, problem):
        return True
    weight = <double>weight_in(left, NULL, problem)
    for i in range(problem.n_classes - 1 if problem.numbers == NULL else 1):
        k = rules.order[i]
        left_sum += <double>left[k]
        right_sum += <double>(node.counts[k] - left[k])
        low = left_sum / weight
        high = right_sum / (<double>node.weight - weight)
        if not node.limits[2 * i] <= min(low, high) <= max(low, high) <= node.limits[2 * i + 1]:
            return False
        if rules.signs[column] * (high - low) < 0.0:
            return False
    return True


# -- the criterion ---------------------------------------------------------------------------
cdef extern from "criteria.h":
    int128_t squared(int128_t count) noexcept nogil  # a macro: of the type of its argument
    double square "squared"(double count) noexcept nogil
    double c_log_c(double count) noexcept nogil
    double gini_of_sides(
        double left_sum, double left, double right_sum, double right
    ) noexcept nogil
    double gini_of_pair(double a, double b, double all_a, double all_b) noexcept nogil


cdef inline int64_t xlogx(int64_t count, const Problem* problem) noexcept nogil:
    """``count * log2(count)`` as an integer, so that sums are exact in any order."""
    if problem.xlogx != NULL:
        return problem.xlogx[count]
    return <int64_t>(c_log_c(<double>count) * problem.xlogx_unit)


cdef inline square_t term_of(square_t count, const Problem* problem) noexcept nogil:
    """The term of a class in the sum of a side."""
    if problem.criterion == GINI:
        return <square_t>squared(count)
    return xlogx(<int64_t>count, problem)


cdef inline double score_of_sides(
    square_t left_sum, int64_t left, square_t right_sum, int64_t right, const Problem* problem
) noexcept nogil:
    """The score from the sums of two sides and their weights, times `scale_of` these."""
    if problem.criterion == GINI:
        return gini_of_sides(<double>left_sum, <double>left, <double>right_sum, <double>right)
    return <double>(left_sum + right_sum - xlogx(left, problem) - xlogx(right, problem))


cdef inline double scale_of(int64_t left, int64_t right, const Problem* problem) noexcept nogil:
    return <double>left * <double>right if problem.criterion == GINI else problem.xlogx_unit


cdef inline double difference_of(
    int64_t weight, int64_t total, const NodeView* node
) noexcept nogil:
    """How much a sum on the left is above its share of the node's, times the node's weight."""
    # exact: a sum is below 2^62 and so is that of absolute values, a weight below 2^53
    return <double>(
        <int128_t>total * node.weight - <int128_t>node.counts[SUM] * weight
    )


cdef inline double gain_of_difference(
    double difference, double left, double right
) noexcept nogil:
    """By how much a split lowers the sum of squares."""
    return difference * difference / ((left + right) * (left * right))


cdef inline double gain_of(int64_t weight, int64_t total, const NodeView* node) noexcept nogil:
    """The same, with this weight and sum on the left; 0 if a side is empty."""
    if weight <= 0 or weight >= node.weight:
        return 0.0
    return gain_of_difference(
        difference_of(weight, total, node), <double>weight, <double>(node.weight - weight)
    )


cdef inline double spread_of(
    int64_t weight, int64_t total, int64_t squares, const Problem* problem
) noexcept nogil:
    """At least the sum of squares around the mean; 0 only if there are none."""
    cdef int128_t whole = (<int128_t>squares << problem.square_shift) * weight
    whole -= <int128_t>total * total
    return <double>whole / <double>weight * (1.0 + 1e-14) if whole > 0 else 0.0


cdef inline double score_of(
    const int64_t* left, const int64_t* base, const NodeView* node
) noexcept nogil:
    """The score that splits maximise, with these counts, and a second set if any, on the left."""
    if node.problem.criterion == SQUARED:
        if base == NULL:
            return gain_of(left[WEIGHT], left[SUM], node)
        return gain_of(left[WEIGHT] + base[WEIGHT], left[SUM] + base[SUM], node)
    if node.problem.criterion == GINI and node.problem.wide:
        return score_in(left, base, node, <int128_t>0)
    return score_in(left, base, node, <int64_t>0)


cdef inline double score_in(
    const int64_t* left, const int64_t* base, const NodeView* node, square_t left_sum
) noexcept nogil:
    cdef const Problem* problem = node.problem
    cdef square_t right_sum = 0
    cdef int64_t weight = 0, max_left = 0, max_right = 0, count, rest
    cdef Py_ssize_t k
    for k in range(problem.n_classes):
        count = left[k] + (0 if base == NULL else base[k])
        rest = node.counts[k] - count
        weight += count
        max_left = max(max_left, count)
        max_right = max(max_right, rest)
        if problem.criterion != MISCLASSIFICATION:
            left_sum += term_of(<square_t>count, problem)
            right_sum += term_of(<square_t>rest, problem)
    if problem.criterion == MISCLASSIFICATION:
        return <double>(max_left + max_right)
    rest = max(node.weight - weight, 1)  # of a side without weight, the sum is 0
    weight = max(weight, 1)
    return score_of_sides(left_sum, weight, right_sum, rest, problem) / scale_of(
        weight, rest, problem
    )


cdef double purity_of(
    const int64_t* counts, int64_t weight, const Problem* problem
) noexcept nogil


cdef inline double pure_score(double weight, const Problem* problem) noexcept nogil:
    """The score of classes where each side has one."""
    return 0.0 if problem.criterion == ENTROPY else weight


cdef double rise_of(int64_t weight, const Problem* problem) noexcept nogil


cdef extern from *:
    """
    #define TOLERANCE 0x1p-45
    """
    # Scores closer than this share of a node's weight, or of its squares, are tied; a gain below it
    # is a rounding error.
    const double TOLERANCE


cdef void read_values(
    const Source* source, Py_ssize_t start, Py_ssize_t n, double* values
) noexcept nogil

cdef Source source_of(values, int kind)
