"""The best split of one column at a node that has a histogram.

First `bounds_of_column`: scores between bins, and bounds inside them. Then, if needed,
`best_of_column`: the rows of bins that may hold the best split are gathered, sorted and scanned by
the kernel of small nodes, with the lower bins on the left. Splits are visited in the same order as
in a scan of all rows, so ties are resolved alike.

Bounds on the score of splits inside a bin come from the counts on both sides of the bin.
The score f is convex in the class weights x of the left side. Inside a bin they are in a box, from
the weights ``left`` of it to those up to its end, ``right``; so f is at most its value at the best
corner of the box. With two classes there are four corners, and two of them are boundaries between
bins, which are scored anyway. With more classes:

- gini: f is a sum over classes of terms that are convex in (x_k, sum of x), each largest in one of
  four corners; a cheaper bound is tried first: a row that changes sides raises f by at most twice
  its weight;
- entropy: f = sum of g_k(x_k) - h(sum of x) with g and h convex. A line of any slope may be
  subtracted from both; with the slope of h in the middle of the bin, h minus the line is smallest
  there, and g_k minus the line is largest at an end;
- misclassification: the largest count of each side, each in its best corner;
- numbers: the square root of a gain is a norm, so inside a bin it is at most the greater one of its
  ends plus the root of the spread of the bin, scaled; see `gains_of_bins`.

Bounds are compared with a bar that is a few tolerances below the best score, so rounding errors
do not matter. A skipped bin holds no split that could win, or tie with one that could.
"""

from libc.math cimport INFINITY, ldexp, log2
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset
from treebound.growing._layout cimport (
    ENTROPY, GINI, MISCLASSIFICATION, N_CHANNELS, NOMINAL, SQUARED, SQUARES, STRIDE, SUM, WEIGHT,
    Problem, Source, allocate, c_log_c, gini_of_sides, has_order,
    keeps_order, may_split_on, renew, row_of, score_of, score_of_sides, square, value_at,
    weight_in, xlogx, zeros,
)
from treebound.growing._scan cimport (
    Segment, is_better, keep_heavy, may_stand, no_split, scan, try_categories,
)
from treebound.growing._sorted cimport has_entries, packing_of, presort
from treebound.growing._histogram cimport (
    CodedColumn, MAX_BLOCKS, count_t, gather, gather_groups, rows_in, unpack,
)


cdef extern from "loops.h":
    double greatest(const double* values, Py_ssize_t n) noexcept nogil
    Py_ssize_t sums_of_pairs(
        const int64_t* pairs, Py_ssize_t n_bins, int64_t row_mask, double unit, int64_t* left,
        int32_t* bins, double* a, double* b, double* d,
    ) noexcept nogil
    void gains_of_bins(
        const double* a, const double* b, const double* d, Py_ssize_t n, double whole,
        double total, double* gains, double* bounds,
    ) noexcept nogil
    void gini_of_pairs(
        const double* a, const double* b, Py_ssize_t n, double all_a, double all_b,
        double* scores, double* bounds,
    ) noexcept nogil


cdef enum:
    GATHERED = 262144   # rows searched at a time, or one bin
    SHARED = 1 << 20    # the same by several threads
    GROUP_ROWS = 2048   # of bins that a thread searches, at least


# -- the counts of a column ------------------------------------------------------------------


cdef int init_profile(
    Profile* profile, Py_ssize_t max_bins, Py_ssize_t n_classes
) except -1 nogil:
    cdef Py_ssize_t width = n_classes + 1
    cdef int side
    profile.bins = <int32_t*>allocate(max_bins + 1, sizeof(int32_t))
    profile.left = <int64_t*>allocate((max_bins + 1) * width, sizeof(int64_t))
    profile.missing = <int64_t*>zeros(width, sizeof(int64_t))
    profile.none = <int64_t*>zeros(width, sizeof(int64_t))
    profile.scratch = <int64_t*>zeros(width, sizeof(int64_t))
    profile.a = <double*>allocate(max_bins + 2, sizeof(double))
    profile.b = <double*>allocate(max_bins + 2, sizeof(double))
    profile.bin_squares = <double*>allocate(max_bins + 1, sizeof(double))
    for side in range(2):
        profile.families[side].base = profile.missing if side else profile.none
        profile.families[side].scores = 1 + <double*>allocate(max_bins + 2, sizeof(double))
        profile.families[side].bounds = <double*>allocate(max_bins + 1, sizeof(double))
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
    free(profile.bin_squares)
    for side in range(2):
        if profile.families[side].scores != NULL:
            free(profile.families[side].scores - 1)
        free(profile.families[side].bounds)


cdef void read_profile(
    Profile* profile, Py_ssize_t column, const void* histogram, Py_ssize_t offset,
    Py_ssize_t n_bins, const Counted* counted, const NodeView* node,
) noexcept nogil:
    """Accumulate the counts of a column over its bins, and score the boundaries."""
    # Empty bins are skipped.
    cdef int side
    profile.node = node
    profile.ordered = has_order(column, node.problem)
    profile.has_floats = counted.row_bits > 0
    profile.square_unit = ldexp(1.0, node.problem.square_shift)
    if counted.weights == NULL:
        add_bins(profile, <const uint32_t*>histogram + offset, n_bins, counted.n_classes)
    elif counted.row_bits:
        add_pairs(profile, <const int64_t*>histogram + offset, n_bins, counted)
    else:
        add_bins(profile, <const int64_t*>histogram + offset, n_bins, counted.n_classes)
    profile.n_families = 2 if profile.missing[counted.n_classes] > 0 else 1
    for side in range(profile.n_families):
        limit_boundaries(profile, side)
        score_boundaries(profile, &profile.families[side], column)


cdef inline void add_bins(
    Profile* profile, const count_t* table, Py_ssize_t n_bins, Py_ssize_t n_classes
) noexcept nogil:
    cdef Py_ssize_t width = n_classes + 1, bin, k, n_filled = 0
    cdef int64_t* sums = profile.left
    cdef int64_t rows, zeros = 0, ones = 0
    cdef int32_t* bins = profile.bins
    cdef double* a = profile.a
    cdef double* b = profile.b
    for k in range(width):
        sums[k] = 0
    if count_t is uint32_t and n_classes == 2:
        a[0] = b[0] = 0.0
        # invariant: ``n_filled`` bins below this one hold rows
        for bin in range(n_bins):
            rows = <int64_t>table[2 * bin] + table[2 * bin + 1]
            zeros += table[2 * bin]
            ones += table[2 * bin + 1]
            sums[3 * n_filled + 3] = zeros
            sums[3 * n_filled + 4] = ones
            sums[3 * n_filled + 5] = zeros + ones
            a[n_filled + 1] = <double>zeros
            b[n_filled + 1] = <double>ones
            bins[n_filled] = <int32_t>bin
            n_filled += rows > 0
        table += 2 * n_bins
    else:
        for bin in range(n_bins):
            rows = rows_in(table, n_classes)
            if rows:
                for k in range(n_classes):
                    sums[width + k] = sums[k] + table[k]
                sums[width + n_classes] = sums[n_classes] + rows
                sums += width
                bins[n_filled] = <int32_t>bin
                n_filled += 1
            table += n_classes if count_t is uint32_t else width
        if n_classes == 2:
            for k in range(n_filled + 1):
                a[k] = <double>profile.left[3 * k]
                b[k] = <double>profile.left[3 * k + 1]
    profile.n_bins = n_filled
    for k in range(n_classes):
        profile.missing[k] = table[k]
    profile.missing[n_classes] = rows_in(table, n_classes)


cdef void add_pairs(
    Profile* profile, const int64_t* table, Py_ssize_t n_bins, const Counted* counted
) noexcept nogil:
    # squares are not shifted to their unit: they are for bounds alone
    profile.square_unit = ldexp(
        1.0, counted.pair_shift - counted.row_bits + profile.node.problem.square_shift
    )
    profile.n_bins = sums_of_pairs(
        table, n_bins, (<int64_t>1 << counted.row_bits) - 1, profile.square_unit, profile.left,
        profile.bins, profile.a, profile.b, profile.bin_squares,
    )
    unpack(table + 2 * n_bins, counted, profile.missing)


cdef inline int64_t rows_of(const Profile* profile, Py_ssize_t t) noexcept nogil:
    """The rows of a bin."""
    cdef Py_ssize_t width = profile.node.problem.n_classes + 1
    return profile.left[(t + 2) * width - 1] - profile.left[(t + 1) * width - 1]


# -- boundaries ----------------------------------------------------------------------------


cdef void limit_boundaries(Profile* profile, int side) noexcept nogil:
    """The range of boundaries with enough on both sides; it is contiguous, as counts only grow."""
    # After the last bin only missing rows are left, if any.
    cdef const Problem* problem = profile.node.problem
    cdef Family* family = &profile.families[side]
    cdef Py_ssize_t width = problem.n_classes + 1
    family.first = 0
    family.last = profile.n_bins - 2
    if profile.n_families == 2 and side == 0:
        family.last += 1
    if problem.min_leaf == 1 and problem.min_weight == 0:
        return
    while family.first <= family.last and not may_stand(
        profile.left + (family.first + 1) * width, family.base, profile.node
    ):
        family.first += 1
    while family.first <= family.last and not may_stand(
        profile.left + (family.last + 1) * width, family.base, profile.node
    ):
        family.last -= 1


cdef void score_boundaries(Profile* profile, Family* family, Py_ssize_t column) noexcept nogil:
    """Scores after each bin, and cheap bounds on the splits inside."""
    cdef const NodeView* node = profile.node
    cdef const Problem* problem = profile.node.problem
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
        entropy_of_pairs(profile, family)
    elif problem.criterion == SQUARED:
        score_numbers(profile, family)
    else:
        score_classes(profile, family)
    if profile.ordered:
        drop_boundaries(profile, family, column)


cdef void drop_boundaries(const Profile* profile, Family* family, Py_ssize_t column) noexcept nogil:
    """Of boundaries that break the order the score is none; the last may part missing rows off."""
    cdef const int64_t* left = profile.left
    cdef Py_ssize_t t, k
    for t in range(profile.n_bins):
        left += profile.node.problem.n_classes + 1
        if family.first <= t <= family.last:
            for k in range(profile.node.problem.n_classes):
                profile.scratch[k] = left[k] + family.base[k]
            if not keeps_order(profile.scratch, column, t < profile.n_bins - 1, profile.node):
                family.scores[t] = -INFINITY


cdef void entropy_of_pairs(const Profile* profile, Family* family) noexcept nogil:
    """The same for two classes and entropy, in fixed point; each logarithm is computed once."""
    cdef const NodeView* node = profile.node
    cdef const Problem* problem = profile.node.problem
    cdef const int64_t* left = profile.left
    cdef int64_t a = family.base[0], b = family.base[1], next_a, next_b, weight = node.weight
    cdef int64_t all_a = node.counts[0], all_b = node.counts[1], none = 0
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
        family.scores[t] = unit * score_of_sides(
            next_g_a + next_g_b, next_a + next_b, none, weight - next_a - next_b, problem
        )
        family.bounds[t] = -INFINITY
        if next_a > a and next_b > b:
            family.bounds[t] = unit * max(
                score_of_sides(next_g_a + g_b, next_a + b, none, weight - next_a - b, problem),
                score_of_sides(g_a + next_g_b, a + next_b, none, weight - a - next_b, problem),
            )
        a = next_a
        b = next_b
        g_a = next_g_a
        g_b = next_g_b


cdef void score_classes(const Profile* profile, Family* family) noexcept nogil:
    """Many classes; with gini, `rise_of` a row is twice its weight."""
    cdef const NodeView* node = profile.node
    cdef Py_ssize_t n_classes = profile.node.problem.n_classes, t
    cdef const int64_t* left = profile.left
    cdef double previous = score_of(left, family.base, node), score
    cdef int64_t before = 0, weight
    for t in range(profile.n_bins):
        left += n_classes + 1
        score = score_of(left, family.base, node)
        weight = weight_in(left, NULL, node.problem)
        family.scores[t] = score
        family.bounds[t] = INFINITY
        if node.problem.criterion == GINI:
            family.bounds[t] = 0.5 * (previous + score) + <double>(weight - before)
        previous = score
        before = weight


cdef void score_numbers(Profile* profile, Family* family) noexcept nogil:
    """Numbers: in floats first, and never too small; exact are scores that may be the best."""
    cdef const NodeView* node = profile.node
    cdef Py_ssize_t n = profile.n_bins, n_scores = family.last - family.first + 1, t
    cdef double floor = profile.floor, best
    if not profile.has_floats or family.base != profile.none:
        set_floats(profile, family.base)
    gains_of_bins(
        profile.a, profile.b, profile.bin_squares, n, <double>node.weight,
        <double>node.counts[SUM], family.scores, family.bounds,
    )
    if n_scores <= 0:
        return
    best = greatest(family.scores + family.first, n_scores)
    if best <= floor:
        return
    if not profile.ordered:
        t = family.first
        while family.scores[t] < best:
            t += 1
        best = score_of(profile.left + (t + 1) * STRIDE, family.base, node)
        floor = max(floor, best - 4.0 * node.tolerance)
    for t in range(family.first, family.last + 1):
        if family.scores[t] > floor:
            family.scores[t] = score_of(profile.left + (t + 1) * STRIDE, family.base, node)


cdef void set_floats(Profile* profile, const int64_t* base) noexcept nogil:
    """Set weights, sums and squares of the bins as floats."""
    cdef const int64_t* left = profile.left
    cdef Py_ssize_t n = profile.n_bins, t
    for t in range(n + 1):
        profile.a[t] = <double>(left[WEIGHT] + base[WEIGHT])
        profile.b[t] = <double>(left[SUM] + base[SUM])
        if t < n:
            profile.bin_squares[t] = profile.square_unit * <double>(
                left[STRIDE + SQUARES] - left[SQUARES]
            )
        left += STRIDE
    profile.has_floats = False


# -- bounds inside bins -----------------------------------------------------------------------


cdef inline int straddles(
    const int64_t* left, const int64_t* right, const int64_t* base, const NodeView* node
) noexcept nogil:
    """-1: no split inside leaves enough on both sides; 1: an end of the bin does not; 0: all do."""
    # With nothing on one side the score is lowest, so such an end does not matter.
    cdef const Problem* problem = node.problem
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
        weight_in(left, base, problem) < problem.min_weight
        or node.weight - weight_in(right, base, problem) < problem.min_weight
    )


cdef double bound_bin(
    const Profile* profile, const Family* family, Py_ssize_t t, double bar
) noexcept nogil:
    """An upper bound on the splits inside a bin; -inf if none reaches the bar."""
    # In a bin of one class the score is largest at an end, that is at a boundary, unless that
    # boundary is not allowed.
    cdef const NodeView* node = profile.node
    cdef const Problem* problem = profile.node.problem
    cdef Py_ssize_t n_classes = problem.n_classes, k, classes = 0
    cdef const int64_t* left = profile.left + t * (n_classes + 1)
    cdef const int64_t* right = left + n_classes + 1
    cdef double bound
    cdef int limits = 0
    if family.first > 0 or family.last < profile.n_bins - 2:
        limits = straddles(left, right, family.base, node)
    if limits < 0:
        return -INFINITY
    if problem.criterion == SQUARED:  # holds whether or not the boundaries are allowed
        return family.bounds[t] if family.bounds[t] > bar else -INFINITY
    if t == 0 and family.base[n_classes] > 0:
        limits = 1  # only missing rows on the left is a split of the other family, at its end
    if profile.ordered:
        limits = 1  # a boundary of the bin may break the order, and a split inside may not
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
        bound = bound_gini(left, right, family.base, node)
    elif problem.criterion == ENTROPY:
        bound = bound_entropy(left, right, family.base, node)
    else:
        bound = bound_errors(left, right, family.base, node)
    return bound if bound > bar else -INFINITY


cdef double bound_gini(
    const int64_t* left, const int64_t* right, const int64_t* base, const NodeView* node
) noexcept nogil:
    cdef Py_ssize_t n_classes = node.problem.n_classes, k
    cdef double before = <double>weight_in(left, base, node.problem)
    cdef double after = <double>weight_in(right, base, node.problem)
    cdef double total = 0.0, low, inside, whole, part
    for k in range(n_classes):
        low = <double>(left[k] + base[k])
        inside = <double>(right[k] - left[k])
        whole = <double>node.counts[k]
        part = max(
            gini_of_class(low, before, whole, node), gini_of_class(low + inside, after, whole, node)
        )
        if inside > 0.0:
            part = max(part, gini_of_class(low, after - inside, whole, node))
            part = max(part, gini_of_class(low + inside, before + inside, whole, node))
        total += part
    return total


cdef inline double gini_of_class(
    double count, double weight, double whole, const NodeView* node
) noexcept nogil:
    """The term of a class in the score with this count and this weight on the left."""
    cdef double rest = max(<double>node.weight - weight, 1.0)
    weight = max(weight, 1.0)
    return gini_of_sides(square(count), weight, square(whole - count), rest) / (weight * rest)


cdef double bound_entropy(
    const int64_t* left, const int64_t* right, const int64_t* base, const NodeView* node
) noexcept nogil:
    cdef const Problem* problem = node.problem
    cdef Py_ssize_t k, n_classes = problem.n_classes
    cdef double weight = <double>node.weight
    cdef double middle = 0.5 * (
        <double>weight_in(left, base, problem) + <double>weight_in(right, base, problem)
    )
    cdef double slope = log2(middle) - log2(weight - middle)
    cdef double total = slope * middle - c_log_c(middle) - c_log_c(weight - middle)
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
    const int64_t* left, const int64_t* right, const int64_t* base, const NodeView* node
) noexcept nogil:
    cdef int64_t max_left = 0, max_right = 0
    cdef Py_ssize_t k
    for k in range(node.problem.n_classes):
        max_left = max(max_left, right[k] + base[k])
        max_right = max(max_right, node.counts[k] - left[k] - base[k])
    return <double>(max_left + max_right)


cdef ColumnBounds no_bounds() noexcept nogil:
    cdef ColumnBounds bounds
    bounds.best = bounds.bound = -INFINITY
    bounds.live_rows = 0
    return bounds


cdef ColumnBounds bounds_of(
    const Profile* profile, const uint8_t* single, double bar
) noexcept nogil:
    """The best boundary of a column, and the bound of its bins above the bar."""
    cdef const Family* family
    cdef ColumnBounds bounds = no_bounds()
    cdef int side
    for side in range(profile.n_families):
        family = &profile.families[side]
        if family.first <= family.last:
            bounds.best = max(
                bounds.best,
                greatest(family.scores + family.first, family.last - family.first + 1),
            )
    bar = max(bar, bounds.best - 4.0 * profile.node.tolerance)
    for side in range(profile.n_families):
        bound_bins(profile, &profile.families[side], single, bar, &bounds)
    return bounds


cdef ColumnBounds all_bounds(
    const ColumnBounds* columns, Py_ssize_t n_columns, double floor
) noexcept nogil:
    """The best boundary of all columns, and the bound of the bins that may hold a better split."""
    cdef ColumnBounds bounds = no_bounds()
    cdef Py_ssize_t j
    for j in range(n_columns):
        bounds.best = max(bounds.best, columns[j].best)
        if columns[j].bound > floor:
            bounds.bound = max(bounds.bound, columns[j].bound)
            bounds.live_rows += columns[j].live_rows
    return bounds


cdef void bound_bins(
    const Profile* profile, const Family* family, const uint8_t* single, double bar,
    ColumnBounds* bounds,
) noexcept nogil:
    cdef Py_ssize_t t
    cdef bint all_may_stand = (
        family.first == 0
        and family.last >= profile.n_bins - 2
        and family.base[profile.node.problem.n_classes] == 0
        and not profile.ordered
    )
    cdef double bound
    if all_may_stand and greatest(family.bounds, profile.n_bins) <= bar:
        return
    for t in range(profile.n_bins):
        if all_may_stand and family.bounds[t] <= bar:
            continue
        if rows_of(profile, t) > 1 and not single[profile.bins[t]]:
            bound = bound_bin(profile, family, t, bar)
            if bound > -INFINITY:
                bounds.live_rows += rows_of(profile, t)
                bounds.bound = max(bounds.bound, bound)


cdef bint is_live(
    const Profile* profile, Py_ssize_t t, const uint8_t* single, double bar
) noexcept nogil:
    """Return True if a bin may hold a split above the bar."""
    cdef int side
    if profile.node.problem.criterion == SQUARED and (
        profile.families[0].bounds[t] <= bar
        and (profile.n_families == 1 or profile.families[1].bounds[t] <= bar)
    ):
        return False
    if rows_of(profile, t) < 2 or single[profile.bins[t]]:
        return False
    for side in range(profile.n_families):
        if bound_bin(profile, &profile.families[side], t, bar) > -INFINITY:
            return True
    return False


# -- the search of a column --------------------------------------------------------------------


cdef int init_finder(Finder* finder, const Binned* data, Scratch* scratch) except -1 nogil:
    finder.data = data
    finder.scratch = scratch
    init_profile(&finder.profile, data.max_codes, data.problem.n_classes)
    finder.wanted = <uint8_t*>zeros(data.max_codes + 1, 1)
    finder.ready = -1
    return 0


cdef void free_finder(Finder* finder) noexcept nogil:
    free_profile(&finder.profile)
    free(finder.wanted)
    free(finder.gathered.rows)
    free(finder.gathered.keys)
    free(finder.gathered.labels)
    free(finder.gathered.weights)
    free(finder.gathered.numbers)
    free(finder.groups)
    free(finder.places)


cdef void read_column(Finder* finder, Py_ssize_t j) noexcept nogil:
    cdef const CodedColumn* column = &finder.data.columns[j]
    finder.profile.floor = finder.floor
    read_profile(
        &finder.profile, j, finder.histogram, column.offset, column.coder.n_bins,
        &finder.data.counted, finder.node,
    )


cdef ColumnBounds bounds_of_column(Finder* finder, Py_ssize_t j) noexcept nogil:
    """Best boundary and bounds of a column, from its histogram; raises the floor."""
    cdef ColumnBounds bounds = no_bounds()
    if not may_split_on(j, finder.node):
        return bounds
    if finder.data.sources[j].kind == NOMINAL:
        bounds.best = best_category(finder, j).score
    else:
        read_column(finder, j)
        bounds = bounds_of(
            &finder.profile, finder.data.columns[j].coder.single, finder.floor
        )
    finder.floor = max(finder.floor, bounds.best - 4.0 * finder.node.tolerance)
    return bounds


cdef KernelSplit best_category(Finder* finder, Py_ssize_t j) noexcept nogil:
    """The best split of a nominal column."""
    cdef const CodedColumn* column = &finder.data.columns[j]
    cdef Py_ssize_t n_classes = finder.node.problem.n_classes, n_codes = column.coder.n_bins + 1
    cdef const uint32_t* cell = <const uint32_t*>finder.histogram + column.offset
    cdef const int64_t* table = <const int64_t*>finder.histogram + column.offset
    cdef const int64_t* pairs
    cdef int64_t* counts = finder.profile.left
    cdef Py_ssize_t code, k
    cdef KernelSplit best = no_split(j)
    if finder.data.counted.weights == NULL:
        table = finder.profile.left
        for code in range(n_codes):
            counts[n_classes] = 0
            for k in range(n_classes):
                counts[k] = cell[k]
                counts[n_classes] += cell[k]
            counts += n_classes + 1
            cell += n_classes
    elif finder.data.counted.row_bits:
        pairs, table = table, finder.profile.left
        for code in range(n_codes):
            unpack(pairs + 2 * code, &finder.data.counted, counts + STRIDE * code)
    try_categories(table, n_codes, finder.node, &best)
    return best


# -- inside bins ---------------------------------------------------------------------------


cdef KernelSplit best_of_column(Finder* finder, Py_ssize_t j) noexcept nogil:
    """The best split of a column; score -inf if there is none above the floor."""
    cdef KernelSplit[2] sides
    cdef KernelSplit best
    if finder.data.sources[j].kind == NOMINAL:
        best = best_category(finder, j)
    else:
        sides[0] = sides[1] = no_split(j)
        read_column(finder, j)
        walk_bins(finder, j, sides)
        best = better_side(sides, finder.node)
    finder.floor = max(finder.floor, best.score - 4.0 * finder.node.tolerance)
    return best


# -- a column of a large node, by several threads ----------------------------------------------
# Its wanted bins are groups of neighbours, whose rows are gathered, and whose best scores are found,
# by any thread. These scores raise the floor; then the few groups that hold a split above it are
# searched again, in order, so that ties are resolved as by one thread.


cdef void mark_groups(Finder* finder, Py_ssize_t j) noexcept nogil:
    """Make groups of the bins that may hold the best split of a column."""
    # A column with more rows than one batch is left to `walk_bins`.
    cdef const Profile* profile = &finder.profile
    cdef const uint8_t* single = finder.data.columns[j].coder.single
    cdef Problem local = finder.data.problem[0]
    cdef Py_ssize_t t, rows = 0, size
    cdef BinGroup* group
    finder.n_groups = 0
    finder.ready = -1
    if finder.data.sources[j].kind == NOMINAL:
        return
    read_column(finder, j)
    for t in range(profile.n_bins):
        if is_live(profile, t, single, finder.floor):
            finder.wanted[profile.bins[t]] = 1
            rows += rows_of(profile, t)
    if rows > SHARED or not (
        enlarge_finder(finder, rows, &local) and has_groups(finder)
    ):
        for t in range(profile.n_bins):
            finder.wanted[profile.bins[t]] = 0
        return
    finder.ready = j
    size = max(<Py_ssize_t>GROUP_ROWS, rows // (MAX_GROUPS - 1))
    group = NULL
    # invariant: bins before this one are in groups, all of them but those of the last group full
    for t in range(profile.n_bins):
        if group == NULL or group.n_rows >= size:
            group = &finder.groups[finder.n_groups]
            group.first = t
            group.row = 0 if finder.n_groups == 0 else group[-1].row + group[-1].n_rows
            group.n_rows = 0
            group.best = -INFINITY
            finder.n_groups += 1
        group.stop = t + 1
        if finder.wanted[profile.bins[t]]:
            finder.wanted[profile.bins[t]] = <uint8_t>finder.n_groups
            group.n_rows += rows_of(profile, t)


cdef bint has_groups(Finder* finder) noexcept nogil:
    """Allocate memory for groups; whether there was enough."""
    if finder.groups == NULL:
        finder.groups = <BinGroup*>malloc(MAX_GROUPS * sizeof(BinGroup))
        finder.places = <uint32_t*>malloc(MAX_GROUPS * MAX_BLOCKS * sizeof(uint32_t))
    return finder.groups != NULL and finder.places != NULL


cdef void gather_marked(Finder* finder, Pool pool) noexcept nogil:
    """Gather the rows of all groups."""
    if finder.ready >= 0 and finder.n_groups:
        gather_groups(
            finder.data, finder.ready, finder.node.start, finder.node.stop, finder.wanted,
            finder.n_groups, finder.places, &finder.gathered, pool,
        )


cdef Finder part_of(const Finder* finder, const BinGroup* group, Scratch* scratch) noexcept nogil:
    """A finder for one group."""
    cdef Finder part = finder[0]
    part.scratch = scratch
    part.gathered.rows += group.row
    part.gathered.keys += group.row
    part.gathered.labels += group.row
    if part.gathered.weights != NULL:
        part.gathered.weights += group.row
    if part.gathered.numbers != NULL:
        part.gathered.numbers += STRIDE * group.row
    return part


cdef bint score_group(const Finder* finder, BinGroup* group, Scratch* scratch) noexcept nogil:
    """Find the best score inside the bins of a group; False if memory ran out."""
    cdef Finder part = part_of(finder, group, scratch)
    cdef const Profile* profile = &part.profile
    cdef Problem local = part.data.problem[0]
    cdef NodeView node = part.node[0]
    cdef KernelSplit[2] sides
    cdef const uint64_t* entries
    cdef Py_ssize_t t
    cdef int side
    if group.n_rows == 0:
        return True
    node.problem = &local
    entries = gather_entries(&part, part.ready, group.n_rows, &local)
    if entries == NULL:
        return False
    sides[0] = sides[1] = no_split(part.ready)
    for t in range(group.first, group.stop):
        if part.wanted[profile.bins[t]]:
            for side in range(profile.n_families):
                scan_inside(&part, part.ready, t, entries, side, &node, &sides[side])
            entries += rows_of(profile, t)
    group.best = max(sides[0].score, sides[1].score)
    return True


cdef KernelSplit best_of_groups(Finder* finder) noexcept nogil:
    """The best split of the column whose groups have scores."""
    cdef Py_ssize_t j = finder.ready, g, t, n_rows
    cdef KernelSplit[2] sides
    cdef BinGroup* group
    cdef Finder part
    sides[0] = sides[1] = no_split(j)
    for g in range(finder.n_groups):
        group = &finder.groups[g]
        n_rows = group.n_rows
        if n_rows and group.best <= finder.floor:
            n_rows = 0
            for t in range(group.first, group.stop):
                finder.wanted[finder.profile.bins[t]] = 0
        part = part_of(finder, group, finder.scratch)
        meet_bins(&part, j, group.first, group.stop, n_rows, sides)
        finder.failed |= part.failed
    finder.ready = -1
    return better_side(sides, finder.node)


cdef KernelSplit better_side(const KernelSplit* sides, const NodeView* node) noexcept nogil:
    """The better of the splits with missing rows on the right and on the left."""
    cdef bint left = sides[1].place >= 0 and is_better(
        sides[1].score, sides[1].place, &sides[0], node.tolerance
    )
    return sides[left]


cdef void walk_bins(Finder* finder, Py_ssize_t j, KernelSplit* sides) noexcept nogil:
    """Visit all splits that can be above the floor, in order."""
    # sides has the best one with missing rows on the right, and on the left. Bins are searched in
    # batches, to limit the number of rows sorted at once.
    cdef const Profile* profile = &finder.profile
    cdef Py_ssize_t first = 0, t, rows = 0, size
    cdef const uint8_t* single = finder.data.columns[j].coder.single
    # invariant: bins before ``first`` are done; from there to ``t`` the wanted ones are marked
    for t in range(profile.n_bins):
        if is_live(profile, t, single, finder.floor):
            size = rows_of(profile, t)
            if rows and rows + size > GATHERED:
                meet_bins(finder, j, first, t, rows, sides)
                first = t
                rows = 0
            finder.wanted[profile.bins[t]] = True
            rows += size
    meet_bins(finder, j, first, profile.n_bins, rows, sides)


cdef void meet_bins(
    Finder* finder, Py_ssize_t j, Py_ssize_t first, Py_ssize_t stop, Py_ssize_t n_rows,
    KernelSplit* sides
) noexcept nogil:
    """Visit the splits of the bins from ``first`` to ``stop``; wanted bins hold ``n_rows``."""
    cdef const Profile* profile = &finder.profile
    cdef Problem local = finder.data.problem[0]
    cdef NodeView node = finder.node[0]
    cdef const uint64_t* entries = NULL
    cdef Py_ssize_t t
    cdef int side
    node.problem = &local
    if n_rows:
        entries = gather_entries(finder, j, n_rows, &local)
        if entries == NULL:
            finder.failed = True
            return
    for t in range(first, stop):
        if finder.wanted[profile.bins[t]]:
            for side in range(profile.n_families):
                scan_inside(finder, j, t, entries, side, &node, &sides[side])
            entries += rows_of(profile, t)
            finder.wanted[profile.bins[t]] = 0
        for side in range(profile.n_families):
            try_boundary(profile, t, side, finder.floor, &sides[side])


cdef void try_boundary(
    const Profile* profile, Py_ssize_t t, int side, double floor, KernelSplit* best
) noexcept nogil:
    """The split after a bin."""
    cdef const Family* family = &profile.families[side]
    cdef Py_ssize_t n_classes = profile.node.problem.n_classes
    cdef const int64_t* left = profile.left + (t + 1) * (n_classes + 1)
    if family.scores[t] <= floor or not family.first <= t <= family.last or (
        family.scores[t] <= best.score + profile.node.tolerance
    ):
        return
    best.score = family.scores[t]
    best.place = left[n_classes]
    best.bin = profile.bins[t]
    best.follow = profile.bins[t + 1] if t + 1 < profile.n_bins else -1
    best.inside = False
    best.bounded = best.follow >= 0
    best.has_ends = not best.bounded
    best.missing_left = side
    best.misses = profile.n_families == 2
    best.left_weight = weight_in(left, NULL, profile.node.problem)


cdef void scan_inside(
    Finder* finder, Py_ssize_t j, Py_ssize_t t, const uint64_t* entries, int side,
    const NodeView* node, KernelSplit* best,
) noexcept nogil:
    """The splits between two values of a bin, with the lower bins on the left."""
    cdef const Profile* profile = &finder.profile
    cdef const Problem* local = node.problem
    cdef Py_ssize_t n_classes = local.n_classes, k, n_node = node.stop - node.start
    cdef const int64_t* left = profile.left + t * (n_classes + 1)
    cdef const int64_t* base = profile.families[side].base
    cdef int64_t rows = left[n_classes] + base[n_classes]
    cdef Scratch* scratch = finder.scratch
    cdef const Source* source = &finder.data.sources[j]
    cdef Segment segment
    cdef KernelSplit split = no_split(j)
    for k in range(n_classes):
        scratch.left[k] = left[k] + base[k]
        scratch.right[k] = node.counts[k] - scratch.left[k]
    segment.entries = entries
    segment.present = rows_of(profile, t)
    segment.first = max(1, local.min_leaf - rows)
    segment.last = min(n_node - local.min_leaf - rows, segment.present - 1)
    keep_heavy(&segment, node, weight_in(left, base, local))
    scratch.floor = max(finder.floor, best.score + node.tolerance)
    scan(&segment, node, scratch, &split)
    if split.place < 0:
        return
    best.score = split.score
    best.place = split.place + left[n_classes]
    best.bin = best.follow = profile.bins[t]
    best.inside = best.has_ends = best.bounded = True
    best.missing_left = side
    best.misses = profile.n_families == 2
    k = row_of(entries[split.place - 1], &local.packing)
    best.low = value_at(source, finder.gathered.rows[k])
    k = row_of(entries[split.place], &local.packing)
    best.high = value_at(source, finder.gathered.rows[k])
    best.left_weight = weight_in(left, NULL, local) + split.left_weight


cdef const uint64_t* gather_entries(
    Finder* finder, Py_ssize_t j, Py_ssize_t n_rows, Problem* local
) noexcept nogil:
    """Entries of the rows of wanted bins, sorted by value; NULL if out of memory."""
    cdef Scratch* scratch = finder.scratch
    cdef const NodeView* node = finder.node
    if finder.ready != j:
        if not enlarge_finder(finder, n_rows, local):
            return NULL
        gather(finder.data, j, node.start, node.stop, finder.wanted, n_rows, &finder.gathered)
    if not has_entries(scratch, n_rows):
        return NULL
    local.labels = finder.gathered.labels
    if local.weights != NULL:
        local.weights = finder.gathered.weights
    if local.numbers != NULL:
        local.numbers = finder.gathered.numbers
    local.packing = packing_of(n_rows, local.n_classes)
    return presort(
        finder.gathered.keys, n_rows, local.labels, &local.packing, scratch.entries, scratch.other
    ).entries


cdef bint enlarge_finder(
    Finder* finder, Py_ssize_t n_rows, const Problem* problem
) noexcept nogil:
    """Allocate memory for ``n_rows`` rows; whether there was enough."""
    cdef Gathered* gathered = &finder.gathered
    if n_rows > finder.n_gathered:
        n_rows = max(n_rows, 2 * finder.n_gathered)
        finder.n_gathered = 0
        if not (
            renew(<void**>&gathered.rows, (n_rows + 1) * sizeof(uint32_t))
            and renew(<void**>&gathered.keys, n_rows * sizeof(uint64_t))
            and renew(<void**>&gathered.labels, n_rows * sizeof(uint32_t))
            and (
                problem.weights == NULL
                or renew(<void**>&gathered.weights, n_rows * sizeof(int64_t))
            )
            and (
                problem.numbers == NULL
                or renew(<void**>&gathered.numbers, STRIDE * n_rows * sizeof(int64_t))
            )
        ):
            return False
        finder.n_gathered = n_rows
    return True


# -- for tests ---------------------------------------------------------------------------------


def number_bound(
    const int64_t[::1] node, const int64_t[::1] left, const int64_t[::1] right, int square_shift
):
    """The bound on the gains inside a bin, from sums left of it and to its end, then rows."""
    cdef Problem problem
    cdef NodeView view
    cdef Profile profile
    cdef Family family
    cdef double bound
    cdef double[2] scores, a, b
    cdef double squares
    cdef int64_t[STRIDE] none
    cdef int64_t[2 * STRIDE] sums
    memset(&problem, 0, sizeof(Problem))
    memset(none, 0, sizeof(none))
    problem.criterion = SQUARED
    problem.n_classes = N_CHANNELS
    problem.numbers = none
    problem.square_shift = square_shift
    view.problem = &problem
    view.counts = &node[0]
    view.weight = node[WEIGHT]
    memcpy(sums, &left[0], STRIDE * sizeof(int64_t))
    memcpy(sums + STRIDE, &right[0], STRIDE * sizeof(int64_t))
    # the profile of this bin alone: what is on its left is the base
    family.base = profile.none = none
    family.scores = scores + 1
    family.bounds = &bound
    family.first = 0
    family.last = -1
    profile.a, profile.b = a, b
    profile.bin_squares = &squares
    profile.square_unit = ldexp(1.0, square_shift)
    profile.has_floats = False
    profile.node = &view
    profile.floor = -INFINITY
    profile.n_bins = 1
    profile.left = sums
    score_numbers(&profile, &family)
    return bound
