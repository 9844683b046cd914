"""How good a split inside a bin can be, from the counts on both sides of the bin.

The score f is convex in the class weights x of the left side. Inside a bin they stay in a box, from
the weights ``left`` of it to those up to its end, ``right``; so f is not greater than in the best
corner of the box. Two classes have four corners, and two of them are boundaries between bins, which
are scored anyway. With more classes:

- gini: f is a sum over classes of terms that are convex in (x_k, sum of x), each greatest in one of
  four corners; before that is tried, a row that changes sides lifts f by at most twice its weight;
- entropy: f = sum of g_k(x_k) - h(sum of x) with g and h convex. A line of any slope may be taken
  from both; with the slope of h in the middle of the bin, h less the line is least there, and g_k
  less the line is greatest at an end;
- misclassification: the greatest count of each side, each in its best corner.

Bounds are compared with a bar that lies a few tolerances below the best score, so rounding needs no
care. A bin that is passed over holds no split that could win, or tie with one that could.
"""

from libc.math cimport INFINITY, log2
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from treebound.growing._counting cimport Counted
from treebound.growing._layout cimport (
    ENTROPY, GINI, MISCLASSIFICATION, NodeView, Problem, xlogx,
)
from treebound.growing._scan cimport Pair, beats, left_and_right, pair_of, scale
from treebound.growing._split cimport score_of

ctypedef fused count_t:
    uint32_t
    int64_t


# -- counts --------------------------------------------------------------------------------


cdef void read_profile(
    Profile* profile, const void* histogram, Py_ssize_t offset, Py_ssize_t n_bins,
    bint has_missing, const Counted* counted,
) noexcept nogil:
    """Add up the counts of a column from the first bin on; empty bins are left out."""
    if counted.weights == NULL:
        add_bins(
            profile, <const uint32_t*>histogram + offset, n_bins, has_missing, counted.n_classes
        )
    else:
        add_bins(
            profile, <const int64_t*>histogram + offset, n_bins, has_missing, counted.n_classes
        )


cdef inline void add_bins(
    Profile* profile, const count_t* table, Py_ssize_t n_bins, bint has_missing,
    Py_ssize_t n_classes,
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
    if count_t is uint32_t and n_classes == 2:
        table += 2 * n_bins
    for k in range(width):
        profile.missing[k] = 0
    if has_missing:
        for k in range(n_classes):
            profile.missing[k] = table[k]
        profile.missing[n_classes] = rows_in(table, n_classes)


cdef inline int64_t rows_in(const count_t* cell, Py_ssize_t n_classes) noexcept nogil:
    cdef int64_t rows = 0
    cdef Py_ssize_t k
    if count_t is int64_t:
        return cell[n_classes]
    for k in range(n_classes):
        rows += cell[k]
    return rows


cdef void add_up(
    int64_t* total, const int64_t* left, const int64_t* base, Py_ssize_t n_classes
) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(n_classes):
        total[k] = left[k] + base[k]


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
    """The score with these counts on the left, by the arithmetic of the scans."""
    cdef Pair pair
    cdef int64_t ones, weight
    if problem.n_classes == 2 and problem.criterion != MISCLASSIFICATION:
        pair = pair_of(node)
        ones = left[1] + base[1]
        weight = left[0] + base[0] + ones
        if not 0 < weight < node.weight:
            return node.purity
        return left_and_right(&pair, weight, ones, problem) / scale(&pair, weight, problem)
    add_up(total, left, base, problem.n_classes)
    weight = weight_in(left, base, problem.n_classes)
    if not 0 < weight < node.weight:
        return node.purity
    return score_of(total, node, problem)


# -- inside a bin --------------------------------------------------------------------------


cdef inline int straddles(
    const int64_t* left, const int64_t* right, const int64_t* base, const NodeView* node,
    const Problem* problem,
) noexcept nogil:
    """-1: no split inside leaves enough on both sides; 1: an end of the bin does not; 0: all do.

    With nothing on one side the score is least, so such an end does not matter.
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


cdef double bound_inside(
    const int64_t* left, const int64_t* right, const int64_t* base, double bar,
    const NodeView* node, const Problem* problem, int64_t* scratch,
) noexcept nogil:
    """No split inside the bin is better than this; -inf where none reaches the bar.

    In a bin of one class the score is greatest at an end, so at a boundary, unless that boundary
    may not be taken.
    """
    cdef Py_ssize_t n_classes = problem.n_classes, k, classes = 0
    cdef int limits = straddles(left, right, base, node, problem)
    cdef double bound
    if limits < 0:
        return -INFINITY
    if n_classes == 2 and problem.criterion != MISCLASSIFICATION:
        if not limits and (left[0] == right[0] or left[1] == right[1]):
            return -INFINITY
        return bound_pair(left, right, base, bar, limits, node, problem)
    for k in range(n_classes):
        classes += right[k] > left[k]
    if classes == 1 and not limits:
        return -INFINITY
    if problem.criterion == GINI:
        bound = bound_gini(left, right, base, bar, node, problem, scratch)
    elif problem.criterion == ENTROPY:
        bound = bound_entropy(left, right, base, node, problem)
    else:
        bound = bound_errors(left, right, base, node, problem)
    return bound if bound > bar else -INFINITY


cdef inline double bound_pair(
    const int64_t* left, const int64_t* right, const int64_t* base, double bar, bint all_corners,
    const NodeView* node, const Problem* problem,
) noexcept nogil:
    cdef Pair pair = pair_of(node)
    cdef int64_t ones[4]
    cdef int64_t weights[4]
    cdef int i
    cdef double bound = -INFINITY, score
    ones[0] = ones[2] = left[1] + base[1]
    ones[1] = ones[3] = right[1] + base[1]
    weights[0] = right[0] + base[0] + ones[0]
    weights[1] = left[0] + base[0] + ones[1]
    weights[2] = left[0] + base[0] + ones[2]
    weights[3] = right[0] + base[0] + ones[3]
    for i in range(4 if all_corners else 2):
        if 0 < weights[i] < node.weight:
            if not beats(&pair, weights[i], ones[i], bar, problem):
                continue
            score = left_and_right(&pair, weights[i], ones[i], problem) / scale(
                &pair, weights[i], problem
            )
        else:
            score = node.purity
        if score > bar:
            bound = max(bound, score)
    return bound


cdef double bound_gini(
    const int64_t* left, const int64_t* right, const int64_t* base, double bar,
    const NodeView* node, const Problem* problem, int64_t* scratch,
) noexcept nogil:
    cdef Py_ssize_t n_classes = problem.n_classes, k
    cdef double before = <double>weight_in(left, base, n_classes)
    cdef double inside = <double>weight_in(right, base, n_classes) - before
    cdef double cheap = 0.5 * (
        score_left(left, base, node, problem, scratch)
        + score_left(right, base, node, problem, scratch)
    ) + inside
    cdef double total = 0.0, low, own, all_of_class, weight = <double>node.weight
    if cheap <= bar:
        return cheap
    for k in range(n_classes):
        low = <double>(left[k] + base[k])
        own = <double>(right[k] - left[k])
        all_of_class = <double>node.counts[k]
        total += max(
            max(
                gini_part(low, before, all_of_class, weight),
                gini_part(low, before + inside - own, all_of_class, weight),
            ),
            max(
                gini_part(low + own, before + own, all_of_class, weight),
                gini_part(low + own, before + inside, all_of_class, weight),
            ),
        )
    return min(cheap, total)


cdef inline double gini_part(
    double count, double weight, double all_of_class, double all_weight
) noexcept nogil:
    """What a class adds to the score with this count and this weight on the left."""
    cdef double part = 0.0
    if weight > 0.0:
        part = count * count / weight
    if weight < all_weight:
        part += (all_of_class - count) * (all_of_class - count) / (all_weight - weight)
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
    const Problem* problem, int64_t* scratch,
) noexcept nogil:
    """The best boundary of a column, and what its bins may hold beyond the bar."""
    cdef Py_ssize_t width = problem.n_classes + 1
    cdef bint missing = profile.missing[problem.n_classes] > 0
    cdef const int64_t* base = profile.none
    cdef Reach reach
    cdef int side
    reach.best = reach.bound = -INFINITY
    reach.live_rows = 0
    for side in range(1 + missing):
        base = profile.missing if side else profile.none
        score_boundaries(profile, base, missing and not side, node, problem, scratch, &reach)
    bar = max(bar, reach.best - 4.0 * node.tolerance)
    for side in range(1 + missing):
        base = profile.missing if side else profile.none
        bound_bins(profile, single, base, bar, node, problem, scratch, &reach)
    return reach


cdef void score_boundaries(
    const Profile* profile, const int64_t* base, bint with_last, const NodeView* node,
    const Problem* problem, int64_t* scratch, Reach* reach,
) noexcept nogil:
    cdef Py_ssize_t width = problem.n_classes + 1, t
    cdef const int64_t* left = profile.left
    cdef Pair pair
    cdef int64_t ones, weight
    if problem.n_classes == 2 and problem.criterion != MISCLASSIFICATION:
        pair = pair_of(node)
        for t in range(profile.n_bins - 1 + with_last):
            left += 3
            ones = left[1] + base[1]
            weight = left[0] + base[0] + ones
            if beats(&pair, weight, ones, reach.best, problem) or reach.best == -INFINITY:
                if may_stand(left, base, node, problem):
                    reach.best = left_and_right(&pair, weight, ones, problem) / scale(
                        &pair, weight, problem
                    )
        return
    for t in range(profile.n_bins - 1 + with_last):
        left += width
        if may_stand(left, base, node, problem):
            reach.best = max(reach.best, score_left(left, base, node, problem, scratch))


cdef void bound_bins(
    const Profile* profile, const uint8_t* single, const int64_t* base, double bar,
    const NodeView* node, const Problem* problem, int64_t* scratch, Reach* reach,
) noexcept nogil:
    cdef Py_ssize_t width = problem.n_classes + 1, rows_at = problem.n_classes, t
    cdef const int64_t* left = profile.left
    cdef const int64_t* right = left + width
    cdef double bound
    for t in range(profile.n_bins):
        if right[rows_at] - left[rows_at] > 1 and not single[profile.bins[t]]:
            bound = bound_inside(left, right, base, bar, node, problem, scratch)
            if bound > -INFINITY:
                reach.live_rows += right[rows_at] - left[rows_at]
                reach.bound = max(reach.bound, bound)
        left = right
        right += width
