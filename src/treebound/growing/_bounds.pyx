"""Bounds on the score of splits inside a bin, from the counts on both sides of the bin.

The score f is convex in the class weights x of the left side. Inside a bin they lie in a box, from
the weights ``left`` of it to those up to its end, ``right``; so f is at most its value at the best
corner of the box. With two classes there are four corners, and two of them are boundaries between
bins, which are scored anyway. With more classes:

- gini: f is a sum over classes of terms that are convex in (x_k, sum of x), each largest in one of
  four corners; a cheaper bound is tried first: a row that changes sides raises f by at most twice
  its weight;
- entropy: f = sum of g_k(x_k) - h(sum of x) with g and h convex. A line of any slope may be
  subtracted from both; with the slope of h in the middle of the bin, h minus the line is smallest
  there, and g_k minus the line is largest at an end;
- misclassification: the largest count of each side, each in its best corner.

Bounds are compared with a bar that lies a few tolerances below the best score, so rounding errors
do not matter. A skipped bin holds no split that could win, or tie with one that could.
"""

from libc.math cimport INFINITY, log2
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
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
    double greatest(const double* values, Py_ssize_t n) noexcept nogil

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
    for k in range(width):
        sums[k] = 0
    if count_t is uint32_t and n_classes == 2:
        # invariant: ``found`` bins below this one hold rows
        for bin in range(n_bins):
            rows = <int64_t>table[2 * bin] + table[2 * bin + 1]
            zeros += table[2 * bin]
            ones += table[2 * bin + 1]
            sums[3 * found + 3] = zeros
            sums[3 * found + 4] = ones
            sums[3 * found + 5] = zeros + ones
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


# -- inside a bin --------------------------------------------------------------------------


cdef inline int straddles(
    const int64_t* left, const int64_t* right, const int64_t* base, const NodeView* node,
    const Problem* problem,
) noexcept nogil:
    """-1: no split inside leaves enough on both sides; 1: an end of the bin does not; 0: all do.

    With nothing on one side the score is lowest, so such an end does not matter.
    """
    cdef Py_ssize_t n_classes = problem.n_classes
    cdef int64_t first = left[n_classes] + base[n_classes]
    cdef int64_t last = right[n_classes] + base[n_classes]
    cdef int64_t n_rows = node.stop - node.start, most = n_rows - problem.min_leaf
    if last - 1 < problem.min_leaf or first + 1 > most:
        return -1
    if 0 < first < problem.min_leaf or most < last < n_rows:
        return 1
    if problem.min_weight == 0:
        return 0
    return (
        weight_in(left, base, n_classes) < problem.min_weight
        or node.weight - weight_in(right, base, n_classes) < problem.min_weight
    )


cdef double bound_bin(
    const Profile* profile, const Family* family, Py_ssize_t t, double bar, const NodeView* node,
    const Problem* problem,
) noexcept nogil:
    """An upper bound on the splits inside a bin; -inf if none reaches the bar.

    In a bin of one class the score is largest at an end, that is at a boundary, unless that
    boundary is not allowed.
    """
    cdef Py_ssize_t n_classes = problem.n_classes, k, classes = 0
    cdef const int64_t* left = profile.left + t * (n_classes + 1)
    cdef const int64_t* right = left + n_classes + 1
    cdef double bound
    cdef int limits = 0
    if family.first > 0 or family.last < profile.n_bins - 2:
        limits = straddles(left, right, family.base, node, problem)
    if limits < 0:
        return -INFINITY
    if t == 0 and family.base[n_classes] > 0:
        limits = 1  # only missing rows on the left is a split of the other family, at its end
    if limits == 0:
        if family.bounds[t] <= bar:
            return -INFINITY
        if n_classes == 2 and problem.criterion != MISCLASSIFICATION:
            return family.bounds[t]
        for k in range(n_classes):
            classes += right[k] > left[k]
        if classes == 1:
            return -INFINITY
    if problem.criterion == GINI:
        bound = bound_gini(left, right, family.base, node, problem)
    elif problem.criterion == ENTROPY:
        bound = bound_entropy(left, right, family.base, node, problem)
    else:
        bound = bound_errors(left, right, family.base, node, problem)
    return bound if bound > bar else -INFINITY


cdef double bound_gini(
    const int64_t* left, const int64_t* right, const int64_t* base, const NodeView* node,
    const Problem* problem,
) noexcept nogil:
    cdef Py_ssize_t n_classes = problem.n_classes, k
    cdef double before = <double>weight_in(left, base, n_classes)
    cdef double inside = <double>weight_in(right, base, n_classes) - before
    cdef double weight = <double>node.weight, after = before + inside
    cdef double total = 0.0, low, own, whole, part
    # a side without weight has no counts
    cdef double left_first = 1.0 / before if before > 0.0 else 0.0
    cdef double left_last = 1.0 / after
    cdef double right_first = 1.0 / (weight - before)
    cdef double right_last = 1.0 / (weight - after) if after < weight else 0.0
    for k in range(n_classes):
        low = <double>(left[k] + base[k])
        own = <double>(right[k] - left[k])
        whole = <double>node.counts[k]
        if own == 0.0:
            whole -= low
            total += max(
                low * low * left_first + whole * whole * right_first,
                low * low * left_last + whole * whole * right_last,
            )
            continue
        part = low * low * left_first + (whole - low) * (whole - low) * right_first
        part = max(part, gini_part(low, after - own, whole, weight))
        low += own
        part = max(part, gini_part(low, before + own, whole, weight))
        total += max(
            part, low * low * left_last + (whole - low) * (whole - low) * right_last
        )
    return total


cdef inline double gini_part(
    double count, double weight, double all_of_class, double all_weight
) noexcept nogil:
    """The term of a class in the score with this count and this weight on the left."""
    cdef double rest = all_of_class - count, part = 0.0
    if weight > 0.0:
        part = count * count / weight
    if weight < all_weight:
        part += rest * rest / (all_weight - weight)
    return part


cdef double bound_entropy(
    const int64_t* left, const int64_t* right, const int64_t* base, const NodeView* node,
    const Problem* problem,
) noexcept nogil:
    cdef Py_ssize_t k, n_classes = problem.n_classes
    cdef double weight = <double>node.weight
    cdef double middle = 0.5 * (
        <double>weight_in(left, base, n_classes) + <double>weight_in(right, base, n_classes)
    )
    cdef double low = log2(middle), high = log2(weight - middle), slope = low - high
    cdef double total = slope * middle - middle * low - (weight - middle) * high
    cdef int64_t first, last, whole
    for k in range(n_classes):
        first = left[k] + base[k]
        last = right[k] + base[k]
        whole = node.counts[k]
        total += max(
            <double>(xlogx(first, problem) + xlogx(whole - first, problem)) / problem.xlogx_unit
            - slope * <double>first,
            <double>(xlogx(last, problem) + xlogx(whole - last, problem)) / problem.xlogx_unit
            - slope * <double>last,
        )
    return total + node.tolerance


cdef double bound_errors(
    const int64_t* left, const int64_t* right, const int64_t* base, const NodeView* node,
    const Problem* problem,
) noexcept nogil:
    cdef int64_t most_left = 0, most_right = 0
    cdef Py_ssize_t k
    for k in range(problem.n_classes):
        most_left = max(most_left, right[k] + base[k])
        most_right = max(most_right, node.counts[k] - left[k] - base[k])
    return <double>(most_left + most_right)


cdef Reach reach_of(
    const Profile* profile, const uint8_t* single, double bar, const NodeView* node,
    const Problem* problem,
) noexcept nogil:
    """The best boundary of a column, and the bound of its bins above the bar."""
    cdef const Family* family
    cdef Reach reach
    cdef int side
    reach.best = reach.bound = -INFINITY
    reach.live_rows = 0
    for side in range(profile.n_families):
        family = &profile.families[side]
        if family.first <= family.last:
            reach.best = max(
                reach.best,
                greatest(family.scores + family.first, family.last - family.first + 1),
            )
    bar = max(bar, reach.best - 4.0 * node.tolerance)
    for side in range(profile.n_families):
        bound_bins(profile, &profile.families[side], single, bar, node, problem, &reach)
    return reach


cdef void bound_bins(
    const Profile* profile, const Family* family, const uint8_t* single, double bar,
    const NodeView* node, const Problem* problem, Reach* reach,
) noexcept nogil:
    cdef Py_ssize_t width = problem.n_classes + 1, t
    cdef const int64_t* rows = profile.left + problem.n_classes
    cdef bint all_may_stand = (
        family.first == 0
        and family.last >= profile.n_bins - 2
        and family.base[problem.n_classes] == 0
    )
    cdef double bound
    if all_may_stand and greatest(family.bounds, profile.n_bins) <= bar:
        return
    for t in range(profile.n_bins):
        if all_may_stand and family.bounds[t] <= bar:
            continue
        if rows[(t + 1) * width] - rows[t * width] > 1 and not single[profile.bins[t]]:
            bound = bound_bin(profile, family, t, bar, node, problem)
            if bound > -INFINITY:
                reach.live_rows += rows[(t + 1) * width] - rows[t * width]
                reach.bound = max(reach.bound, bound)
