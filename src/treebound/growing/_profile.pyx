"""The profile of a threshold column at a node: counts left of each bin, and boundary scores."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport free

from treebound.growing._counting cimport Counted
from treebound.growing._layout cimport (
    ENTROPY, GINI, MISCLASSIFICATION, NodeView, Problem, allocate, xlogx, zeros,
)
from treebound.growing._scan cimport Pair, left_and_right, pair_of, scale
from treebound.growing._split cimport score_of

cdef extern from "_loops.h":
    void gini_of_pairs(
        const double* a, const double* b, Py_ssize_t n, double all_a, double all_b,
        double* scores, double* bounds,
    ) noexcept nogil

ctypedef fused count_t:
    uint32_t
    int64_t

cdef double EXACT = 2.0**26  # sums of squares of smaller weights are exact in floats


# -- counts --------------------------------------------------------------------------------


cdef int init_profile(
    Profile* profile, Py_ssize_t most_bins, Py_ssize_t n_classes
) except -1 nogil:
    cdef Py_ssize_t width = n_classes + 1
    cdef int side
    profile.bins = <int32_t*>allocate(most_bins + 1, sizeof(int32_t))
    profile.left = <int64_t*>allocate((most_bins + 1) * width, sizeof(int64_t))
    profile.missing = <int64_t*>zeros(width, sizeof(int64_t))
    profile.none = <int64_t*>zeros(width, sizeof(int64_t))
    profile.scratch = <int64_t*>zeros(width, sizeof(int64_t))
    profile.a = <double*>allocate(most_bins + 2, sizeof(double))
    profile.b = <double*>allocate(most_bins + 2, sizeof(double))
    for side in range(2):
        profile.families[side].base = profile.missing if side else profile.none
        profile.families[side].scores = <double*>allocate(most_bins + 1, sizeof(double))
        profile.families[side].bounds = <double*>allocate(most_bins + 1, sizeof(double))
    return 0


cdef void free_profile(Profile* profile) noexcept nogil:
    cdef int side
    free(profile.bins)
    free(profile.left)
    free(profile.missing)
    free(profile.none)
    free(profile.scratch)
    free(profile.a)
    free(profile.b)
    for side in range(2):
        free(profile.families[side].scores)
        free(profile.families[side].bounds)


cdef void read_profile(
    Profile* profile, const void* histogram, Py_ssize_t offset, Py_ssize_t n_bins,
    const Counted* counted, const NodeView* node, const Problem* problem,
) noexcept nogil:
    """Accumulate the counts of a column over its bins, and score the boundaries.

    Empty bins are skipped.
    """
    cdef int side
    if counted.weights == NULL:
        add_bins(profile, <const uint32_t*>histogram + offset, n_bins, counted.n_classes)
    else:
        add_bins(profile, <const int64_t*>histogram + offset, n_bins, counted.n_classes)
    profile.n_families = 2 if profile.missing[counted.n_classes] > 0 else 1
    for side in range(profile.n_families):
        limit_boundaries(profile, side, node, problem)
        score_boundaries(profile, &profile.families[side], node, problem)


cdef inline void add_bins(
    Profile* profile, const count_t* table, Py_ssize_t n_bins, Py_ssize_t n_classes
) noexcept nogil:
    cdef Py_ssize_t width = n_classes + 1, bin, k, found = 0
    cdef int64_t* sums = profile.left
    cdef int64_t rows, zeros = 0, ones = 0
    cdef int32_t* bins = profile.bins
    cdef double* a = profile.a
    cdef double* b = profile.b
    for k in range(width):
        sums[k] = 0
    if count_t is uint32_t and n_classes == 2:
        a[0] = b[0] = 0.0
        # invariant: ``found`` bins below this one hold rows
        for bin in range(n_bins):
            rows = <int64_t>table[2 * bin] + table[2 * bin + 1]
            zeros += table[2 * bin]
            ones += table[2 * bin + 1]
            sums[3 * found + 3] = zeros
            sums[3 * found + 4] = ones
            sums[3 * found + 5] = zeros + ones
            a[found + 1] = <double>zeros
            b[found + 1] = <double>ones
            bins[found] = <int32_t>bin
            found += rows > 0
        table += 2 * n_bins
    else:
        for bin in range(n_bins):
            rows = rows_in(table, n_classes)
            if rows:
                for k in range(n_classes):
                    sums[width + k] = sums[k] + table[k]
                sums[width + n_classes] = sums[n_classes] + rows
                sums += width
                bins[found] = <int32_t>bin
                found += 1
            table += n_classes if count_t is uint32_t else width
        if n_classes == 2:
            for k in range(found + 1):
                a[k] = <double>profile.left[3 * k]
                b[k] = <double>profile.left[3 * k + 1]
    profile.n_bins = found
    for k in range(n_classes):
        profile.missing[k] = table[k]
    profile.missing[n_classes] = rows_in(table, n_classes)


cdef inline int64_t rows_in(const count_t* cell, Py_ssize_t n_classes) noexcept nogil:
    cdef int64_t rows = 0
    cdef Py_ssize_t k
    if count_t is int64_t:
        rows = cell[n_classes]
    else:
        for k in range(n_classes):
            rows += cell[k]
    return rows


cdef int64_t weight_in(
    const int64_t* left, const int64_t* base, Py_ssize_t n_classes
) noexcept nogil:
    cdef int64_t weight = 0
    cdef Py_ssize_t k
    for k in range(n_classes):
        weight += left[k] + base[k]
    return weight


# -- boundaries ----------------------------------------------------------------------------


cdef bint may_stand(
    const int64_t* left, const int64_t* base, const NodeView* node, const Problem* problem
) noexcept nogil:
    """Whether both sides have enough rows and weight."""
    cdef Py_ssize_t n_classes = problem.n_classes
    cdef int64_t rows = left[n_classes] + base[n_classes], weight
    if not problem.min_leaf <= rows <= node.stop - node.start - problem.min_leaf:
        return False
    if problem.min_weight == 0:
        return True
    weight = weight_in(left, base, n_classes)
    return problem.min_weight <= weight <= node.weight - problem.min_weight


cdef double score_left(
    const int64_t* left, const int64_t* base, const NodeView* node, const Problem* problem,
    int64_t* total,
) noexcept nogil:
    """The score with these counts on the left, with the same arithmetic as the scans."""
    cdef Pair pair
    cdef int64_t ones, weight
    cdef Py_ssize_t k
    if problem.n_classes == 2 and problem.criterion != MISCLASSIFICATION:
        pair = pair_of(node)
        ones = left[1] + base[1]
        weight = left[0] + base[0] + ones
        if not 0 < weight < node.weight:
            return node.purity
        return left_and_right(&pair, weight, ones, problem) / scale(&pair, weight, problem)
    weight = 0
    for k in range(problem.n_classes):
        total[k] = left[k] + base[k]
        weight += total[k]
    if not 0 < weight < node.weight:
        return node.purity
    return score_of(total, node, problem)


cdef void limit_boundaries(
    Profile* profile, int side, const NodeView* node, const Problem* problem
) noexcept nogil:
    """The range of boundaries with enough on both sides; it is contiguous, as counts only grow.

    After the last bin only missing rows are left, if any.
    """
    cdef Family* family = &profile.families[side]
    cdef Py_ssize_t width = problem.n_classes + 1
    family.first = 0
    family.last = profile.n_bins - 2
    if profile.n_families == 2 and side == 0:
        family.last += 1
    if problem.min_leaf == 1 and problem.min_weight == 0:
        return
    while family.first <= family.last and not may_stand(
        profile.left + (family.first + 1) * width, family.base, node, problem
    ):
        family.first += 1
    while family.first <= family.last and not may_stand(
        profile.left + (family.last + 1) * width, family.base, node, problem
    ):
        family.last -= 1


cdef void score_boundaries(
    Profile* profile, Family* family, const NodeView* node, const Problem* problem
) noexcept nogil:
    """Scores after each bin, and cheap bounds on the splits inside."""
    cdef Py_ssize_t t
    if problem.n_classes == 2 and problem.criterion == GINI:
        if family.base != profile.none:
            for t in range(profile.n_bins + 1):
                profile.a[t] = <double>(profile.left[3 * t] + family.base[0])
                profile.b[t] = <double>(profile.left[3 * t + 1] + family.base[1])
        gini_of_pairs(
            profile.a, profile.b, profile.n_bins, <double>node.counts[0], <double>node.counts[1],
            family.scores, family.bounds,
        )
    elif problem.n_classes == 2 and problem.criterion == ENTROPY:
        entropy_of_pairs(profile, family, node, problem)
    elif problem.criterion == GINI and <double>node.weight < EXACT:
        score_gini(profile, family, node, problem)
    else:
        for t in range(profile.n_bins):
            family.bounds[t] = INFINITY
            family.scores[t] = score_left(
                profile.left + (t + 1) * (problem.n_classes + 1), family.base, node, problem,
                profile.scratch,
            )


cdef void entropy_of_pairs(
    const Profile* profile, Family* family, const NodeView* node, const Problem* problem
) noexcept nogil:
    """The same for two classes and entropy, in fixed point; each logarithm is computed once."""
    cdef const int64_t* left = profile.left
    cdef int64_t a = family.base[0], b = family.base[1], next_a, next_b, weight = node.weight
    cdef int64_t all_a = node.counts[0], all_b = node.counts[1], low, high
    cdef int64_t g_a = xlogx(a, problem) + xlogx(all_a - a, problem), next_g_a
    cdef int64_t g_b = xlogx(b, problem) + xlogx(all_b - b, problem), next_g_b
    cdef double unit = 1.0 / problem.xlogx_unit  # a power of two
    cdef Py_ssize_t t
    for t in range(profile.n_bins):
        left += 3
        next_a = left[0] + family.base[0]
        next_b = left[1] + family.base[1]
        next_g_a = xlogx(next_a, problem) + xlogx(all_a - next_a, problem)
        next_g_b = xlogx(next_b, problem) + xlogx(all_b - next_b, problem)
        family.scores[t] = unit * <double>(
            next_g_a + next_g_b - xlogx(next_a + next_b, problem)
            - xlogx(weight - next_a - next_b, problem)
        )
        family.bounds[t] = -INFINITY
        if next_a > a and next_b > b:
            low = next_g_a + g_b - xlogx(next_a + b, problem) - xlogx(weight - next_a - b, problem)
            high = g_a + next_g_b - xlogx(a + next_b, problem) - xlogx(weight - a - next_b, problem)
            family.bounds[t] = unit * <double>max(low, high)
        a = next_a
        b = next_b
        g_a = next_g_a
        g_b = next_g_b


cdef void score_gini(
    const Profile* profile, Family* family, const NodeView* node, const Problem* problem
) noexcept nogil:
    """Many classes; a row that changes sides raises the score by at most twice its weight."""
    cdef Py_ssize_t n_classes = problem.n_classes, t, k
    cdef const int64_t* left = profile.left
    cdef double weight, low, high, count, rest, all_weight = <double>node.weight
    cdef double before = <double>weight_in(left, family.base, n_classes)
    cdef double previous = score_left(left, family.base, node, problem, profile.scratch)
    for t in range(profile.n_bins):
        left += n_classes + 1
        weight = low = high = 0.0
        for k in range(n_classes):
            count = <double>(left[k] + family.base[k])
            rest = <double>node.counts[k] - count
            weight += count
            low += count * count
            high += rest * rest
        rest = all_weight - weight
        family.scores[t] = (low * rest + high * weight) / (weight * rest if rest > 0.0 else 1.0)
        if rest <= 0.0:
            family.scores[t] = node.purity
        family.bounds[t] = 0.5 * (previous + family.scores[t]) + (weight - before)
        previous = family.scores[t]
        before = weight
