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
from libc.stdint cimport int64_t, uint8_t

from treebound.growing._layout cimport ENTROPY, GINI, MISCLASSIFICATION, NodeView, Problem, xlogx
from treebound.growing._profile cimport Family, Profile, weight_in

cdef extern from "_loops.h":
    double greatest(const double* values, Py_ssize_t n) noexcept nogil


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
