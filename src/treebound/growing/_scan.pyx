"""The best split of one column at one node whose rows are sorted.

Ties go to the lowest threshold or category, then to missing on the right. Scores that differ by
less than ``NodeView.tolerance`` are ties.

A scan moves rows one by one from the right side to the left and updates the score in O(1),
independent of the number of classes. If the score is far below the best one, not every boundary
is scored: the scan skips rows that cannot make up the distance, and only counts them. At 10^5 rows
this reduces the scans from a half of the growing time to a seventh. How many rows can be skipped:

- two classes: as ``may_beat`` determines from the corners of the reachable counts;
- more: a row of weight w that changes sides raises the score by at most
  ``NodeView.rise``. Gini (sum of squares / weight of each side): 2 w. Entropy (sum of c log c -
  weight log weight): w (log2(weight / w) + log2 e), as only the side a row leaves becomes purer.
"""

from libc.math cimport fabs
from treebound.growing._layout cimport (
    GINI, MISCLASSIFICATION, NOMINAL, SQUARED, STRIDE, SUM, WEIGHT, Packing, add_row,
    class_weight_of, difference_of, gain_of, gini_of_pair, int128_t, keeps_order, label_of,
    may_split_on,
    rank_of, row_of, scale_of, score_of_sides, square_t, term_of, weight_of, xlogx,
)


cdef struct Pair:
    # A node of two classes.
    int64_t weight
    int64_t ones       # of its second class,
    double all_zeros   # and of each as a float
    double all_ones


cdef inline Pair pair_of(const NodeView* node) noexcept nogil:
    cdef Pair pair
    pair.weight = node.weight
    pair.ones = node.counts[1]
    pair.all_zeros = <double>node.counts[0]
    pair.all_ones = <double>node.counts[1]
    return pair


cdef inline double left_and_right(
    const Pair* node, int64_t left, int64_t ones, const Problem* problem
) noexcept nogil:
    """The score with weight ``left`` on the left, ``ones`` of it of class 1, times `scale_of`."""
    cdef int64_t right = node.weight - left
    if problem.criterion == GINI:
        return gini_of_pair(
            <double>(left - ones), <double>ones, node.all_zeros, node.all_ones
        )
    return score_of_sides(
        xlogx(left - ones, problem) + xlogx(ones, problem), left,
        xlogx(right - node.ones + ones, problem) + xlogx(node.ones - ones, problem), right, problem,
    )


cdef inline bint beats(
    const Pair* node, int64_t left, int64_t ones, double bar, const Problem* problem
) noexcept nogil:
    return left_and_right(node, left, ones, problem) > bar * scale_of(
        left, node.weight - left, problem
    )


cdef extern from "loops.h":
    enum:
        SCREENED
    void prefetch(const void* place) noexcept nogil
    int rows_above(
        const uint64_t* entries, int n, double left, double ones, double all_zeros,
        double all_ones, double bar, int64_t* n_ones,
    ) noexcept nogil


cdef enum:
    SHORT_LEAP = 8   # a skip costs about as much as a few boundaries
    FIRST_LEAP = 64
    FIRST_WALK = 16  # boundaries scored before the next skip is tried, doubled
    LAST_WALK = 128  # after each failure up to this
    AHEAD = 16       # rows of numbers to prefetch ahead


cdef KernelSplit best_split(
    const KernelColumn* column, Py_ssize_t index, const NodeView* node, Scratch* scratch
) noexcept nogil:
    """The best split of a column; score -inf if there is none above the floor."""
    cdef KernelSplit best = no_split(index)
    if not may_split_on(index, node):
        return best
    if column.kind == NOMINAL:
        search_categories(column, node, scratch, NULL, &best)
    else:
        search_thresholds(column, node, scratch, &best)
    # the first column wins ties, but with threads it may be searched last
    scratch.floor = max(scratch.floor, best.score - 4.0 * node.tolerance)
    return best


cdef void start_left(const NodeView* node, const int64_t* missing, Scratch* scratch) noexcept nogil:
    """Start with everything on the right, except missing rows if their counts are given."""
    cdef Py_ssize_t k
    for k in range(node.problem.n_classes):
        scratch.left[k] = 0 if missing == NULL else missing[k]
        scratch.right[k] = node.counts[k] - scratch.left[k]


# -- thresholds ----------------------------------------------------------------------------


cdef void search_thresholds(
    const KernelColumn* column, const NodeView* node, Scratch* scratch, KernelSplit* best
) noexcept nogil:
    """Scan with missing on the right and, if rows are missing, with missing on the left."""
    cdef const Problem* problem = node.problem
    cdef Packing packing = problem.packing
    cdef Py_ssize_t n_rows = node.stop - node.start
    cdef Py_ssize_t i, missing
    cdef int64_t missing_weight
    cdef Segment segment
    cdef KernelSplit other = best[0]
    segment.entries = column.entries + node.start
    segment.present = present_rows(column, node, &packing)
    missing = n_rows - segment.present
    best.misses = missing > 0
    if segment.present == 0 or (
        missing == 0
        and rank_of(segment.entries[0], &packing) == rank_of(segment.entries[n_rows - 1], &packing)
    ):
        return
    segment.first = problem.min_leaf
    segment.last = min(n_rows - problem.min_leaf, segment.present - (missing == 0))
    keep_heavy(&segment, node, 0)
    start_left(node, NULL, scratch)
    scan(&segment, node, scratch, best)
    if missing == 0:
        return
    memset(scratch.missing, 0, problem.n_classes * sizeof(int64_t))
    for i in range(segment.present, n_rows):
        add_row(
            row_of(segment.entries[i], &packing), label_of(segment.entries[i], &packing), problem,
            scratch.missing,
        )
    missing_weight = weight_in(scratch.missing, NULL, problem)
    segment.first = max(1, problem.min_leaf - missing)
    segment.last = min(n_rows - problem.min_leaf - missing, segment.present - 1)
    keep_heavy(&segment, node, missing_weight)
    start_left(node, scratch.missing, scratch)
    scan(&segment, node, scratch, &other)
    if other.place >= 0 and is_better(other.score, other.place, best, node.tolerance):
        best[0] = other
        best.missing_left = best.misses = True


cdef void keep_heavy(Segment* segment, const NodeView* node, int64_t weight) noexcept nogil:
    """Drop the boundaries with too little weight on a side; ``weight`` is left of the first."""
    # The weight on the left is monotone, so the remaining ones are contiguous.
    cdef const Problem* problem = node.problem
    cdef Packing packing = problem.packing
    cdef Py_ssize_t i
    if problem.min_weight == 0:
        return
    for i in range(segment.last):
        weight += weight_of(row_of(segment.entries[i], &packing), problem)
        if weight < problem.min_weight:
            segment.first = max(segment.first, i + 2)
        elif node.weight - weight < problem.min_weight:
            segment.last = i
            return


cdef Py_ssize_t present_rows(
    const KernelColumn* column, const NodeView* node, const Packing* packing
) noexcept nogil:
    """Number of present rows of the node, by binary search: missing has the last rank."""
    cdef Py_ssize_t low = node.start, high = node.stop, middle
    if not column.has_missing:
        return high - low
    while low < high:
        middle = (low + high) // 2
        if rank_of(column.entries[middle], packing) < column.n_codes:
            low = middle + 1
        else:
            high = middle
    return low - node.start


# -- categories ----------------------------------------------------------------------------


cdef void search_categories(
    const KernelColumn* column, const NodeView* node, Scratch* scratch, const uint8_t* excluded,
    KernelSplit* best
) noexcept nogil:
    """``x == category`` for every category that occurs and is not excluded; missing is one more."""
    cdef const Problem* problem = node.problem
    cdef Packing packing = problem.packing
    cdef Py_ssize_t n_classes = problem.n_classes, start = node.start, i, k
    cdef uint64_t below_rank = (<uint64_t>1 << packing.rank_shift) - 1, first
    cdef const uint64_t* entries = column.entries
    cdef int64_t* counts = scratch.missing
    cdef int64_t ones
    cdef Py_ssize_t code
    while start < node.stop:
        first = entries[start]
        code = column.codes[rank_of(first, &packing)]
        ones = 0
        for k in range(n_classes):
            counts[k] = 0
        i = start
        if n_classes == 2 and problem.weights == NULL:
            while i < node.stop and entries[i] ^ first <= below_rank:
                ones += <int64_t>(entries[i] & 1)
                i += 1
            counts[0] = i - start - ones
            counts[1] = ones
        else:
            while i < node.stop and entries[i] ^ first <= below_rank:
                add_row(
                    row_of(entries[i], &packing), label_of(entries[i], &packing), problem, counts
                )
                i += 1
        counts[n_classes] = i - start
        if excluded == NULL or not excluded[code]:
            try_category(counts, code, column.codes[column.n_codes], node, best)
        start = i


cdef void try_categories(
    const int64_t* counts, Py_ssize_t n_codes, const NodeView* node, KernelSplit* best
) noexcept nogil:
    """The same from the class counts and rows of each code, the last of which is missing."""
    cdef Py_ssize_t code
    for code in range(n_codes):
        try_category(counts, code, n_codes - 1, node, best)
        counts += node.problem.n_classes + 1


# -- scans ---------------------------------------------------------------------------------


cdef void scan(
    const Segment* segment, const NodeView* node, Scratch* scratch, KernelSplit* best
) noexcept nogil:
    """Try every boundary of a segment; the left side starts with ``scratch.left``."""
    cdef const Problem* problem = node.problem
    if segment.first > segment.last:
        return
    if problem.criterion == SQUARED:
        scan_numbers(segment, node, scratch, best)
    elif problem.criterion == MISCLASSIFICATION:
        scan_errors(segment, node, scratch, best)
    elif problem.n_classes == 2 and problem.weights == NULL:
        scan_pair(segment, node, scratch, best, False)
    elif problem.n_classes == 2:
        scan_pair(segment, node, scratch, best, True)
    elif problem.wide and problem.criterion == GINI:
        scan_sums(segment, node, scratch, best, <int128_t>0)
    else:
        scan_sums(segment, node, scratch, best, <int64_t>0)


cdef inline Py_ssize_t leap_to(
    Py_ssize_t place, double distance, double rise, const Segment* segment
) noexcept nogil:
    """The last boundary that cannot make up a distance, or has too few rows on the left."""
    cdef double rows = min(distance / rise, <double>(segment.last - place))
    return max(place + <Py_ssize_t>rows, segment.first - 1)


# -- two classes ---------------------------------------------------------------------------


cdef inline bint may_beat(
    const Pair* node, int64_t left, int64_t ones, int64_t more, double bar, const Problem* problem
) noexcept nogil:
    """Return True if rows of weight ``more``, or the first of them, can pass the bar."""
    # The score is convex in the weights of the left side, so over the reachable weights it is
    # largest in a corner: no more of a class, or all of it. Moving nothing is a corner too, but
    # more of the class with the larger share on the left never lowers the score.
    cdef int64_t max_ones = min(more, node.ones - ones)
    cdef int64_t max_zeros = min(more, node.weight - left - node.ones + ones)
    return (
        beats(node, left + more, ones + more - max_zeros, bar, problem)
        or beats(node, left + more, ones + max_ones, bar, problem)
        or (max_zeros < more and beats(node, left + max_zeros, ones, bar, problem))
        or (max_ones < more and beats(node, left + max_ones, ones + max_ones, bar, problem))
    )


cdef inline void scan_pair(
    const Segment* segment, const NodeView* node, Scratch* scratch, KernelSplit* best, bint weighted
) noexcept nogil:
    """Double the skip after each success, halve it after a failure, and scan in between."""
    # with gini and without weights, rows are first screened for a score above the bar
    cdef const Problem* problem = node.problem
    cdef const uint64_t* entries = segment.entries
    cdef Packing packing = problem.packing
    cdef uint64_t below_rank = (<uint64_t>1 << packing.rank_shift) - 1
    cdef int64_t heaviest = problem.max_weight if weighted else 1, more
    cdef bint screens = problem.criterion == GINI and not weighted
    cdef int64_t before = scratch.left[0] + scratch.left[1], left = before, weight
    cdef int64_t ones = scratch.left[1]
    cdef Py_ssize_t i = 0, stop, leap = FIRST_LEAP, walk = FIRST_WALK
    cdef double bar = scratch.floor
    cdef Pair pair = pair_of(node)
    pass_rows(entries, i, segment.first - 1, problem, weighted, &left, &ones)
    i = segment.first - 1
    # invariant: ``left`` and ``ones`` count entries[:i] and the initial left side
    while i < segment.last:
        leap = min(leap, segment.last - i, (pair.weight - left - 1) // heaviest)
        if leap >= SHORT_LEAP and not may_beat(&pair, left, ones, leap * heaviest, bar, problem):
            pass_rows(entries, i, i + leap, problem, weighted, &left, &ones)
            i += leap
            leap *= 2
            walk = FIRST_WALK
            continue
        if leap >= 2 * (SCREENED if screens else SHORT_LEAP):
            leap //= 2
            continue
        stop = min(i + (SCREENED if screens else walk), segment.last)
        leap = 2 * SCREENED if screens else 2 * SHORT_LEAP
        if screens and not rows_above(
            entries + i, <int>(stop - i), <double>left, <double>ones, pair.all_zeros,
            pair.all_ones, bar, &more,
        ):
            left += stop - i
            ones += more
            i = stop
            continue
        while i < stop:
            weight = problem.weights[row_of(entries[i], &packing)] if weighted else 1
            left += weight
            ones += weight * <int64_t>(entries[i] & 1)
            i += 1
            if entries[i] ^ entries[i - 1] > below_rank and (
                beats(&pair, left, ones, bar, problem)
                and pair_keeps_order(left, ones, best.column, i < segment.present, node)
            ):
                best.score = left_and_right(&pair, left, ones, problem) / scale_of(
                    left, pair.weight - left, problem
                )
                best.place = i
                best.left_weight = left - before
                bar = best.score + node.tolerance
        walk = min(2 * walk, LAST_WALK)


cdef inline bint pair_keeps_order(
    int64_t left, int64_t ones, Py_ssize_t column, bint by_value, const NodeView* node
) noexcept nogil:
    cdef int64_t[2] counts
    if node.problem.rules == NULL:
        return True
    counts[0] = left - ones
    counts[1] = ones
    return keeps_order(counts, column, by_value, node)


cdef inline void pass_rows(
    const uint64_t* entries, Py_ssize_t start, Py_ssize_t stop, const Problem* problem,
    bint weighted, int64_t* left, int64_t* ones,
) noexcept nogil:
    """Move rows to the left without scoring; the label is the lowest bit."""
    cdef Packing packing = problem.packing
    cdef int64_t all_weight = 0, one_weight = 0, weight
    cdef Py_ssize_t i
    if weighted:
        for i in range(start, stop):
            weight = problem.weights[row_of(entries[i], &packing)]
            all_weight += weight
            one_weight += weight * <int64_t>(entries[i] & 1)
    else:
        for i in range(start, stop):
            one_weight += <int64_t>(entries[i] & 1)
        all_weight = stop - start
    left[0] += all_weight
    ones[0] += one_weight


# -- more classes --------------------------------------------------------------------------


cdef inline int64_t move_rows(
    const Segment* segment, Py_ssize_t start, Py_ssize_t stop, const Problem* problem,
    int64_t* left, int64_t* right,
) noexcept nogil:
    """Move rows to the left, and return their weight."""
    cdef Packing packing = problem.packing
    cdef Py_ssize_t i, k
    cdef int64_t weight, total = 0
    for i in range(start, stop):
        k = label_of(segment.entries[i], &packing)
        weight = class_weight_of(row_of(segment.entries[i], &packing), problem)
        left[k] += weight
        right[k] -= weight
        total += weight
    return total


cdef void scan_sums(
    const Segment* segment, const NodeView* node, Scratch* scratch, KernelSplit* best, square_t zero
) noexcept nogil:
    """Keeps the sum of squares, or of c log c, of each side: exact integers, of 64 or 128 bits."""
    cdef const Problem* problem = node.problem
    cdef const uint64_t* entries = segment.entries
    cdef Packing packing = problem.packing
    cdef uint64_t below_rank = (<uint64_t>1 << packing.rank_shift) - 1
    cdef int64_t* left = scratch.left
    cdef int64_t* right = scratch.right
    cdef square_t left_sum, right_sum
    cdef int64_t before = weight_in(left, NULL, problem)
    cdef int64_t left_weight = before, right_weight, weight
    cdef double bar = scratch.floor, score = node.purity, total, product
    cdef double slack = (SHORT_LEAP + problem.n_classes) * node.rise
    cdef Py_ssize_t i = 0, k, target
    if before:
        score = bar
    while i < segment.last:
        target = leap_to(i, bar - score, node.rise, segment)
        left_weight += move_rows(segment, i, target, problem, left, right)
        right_weight = node.weight - left_weight
        i = target
        left_sum = right_sum = zero
        for k in range(problem.n_classes):
            left_sum += term_of(<square_t>left[k], problem)
            right_sum += term_of(<square_t>right[k], problem)
        # invariant: entries[:i] are on the left, entries[i:] on the right
        while i < segment.last:
            k = label_of(entries[i], &packing)
            weight = class_weight_of(row_of(entries[i], &packing), problem)
            left_sum -= term_of(<square_t>left[k], problem)
            right_sum -= term_of(<square_t>right[k], problem)
            left[k] += weight
            right[k] -= weight
            left_sum += term_of(<square_t>left[k], problem)
            right_sum += term_of(<square_t>right[k], problem)
            left_weight += weight
            right_weight -= weight
            i += 1
            if entries[i] ^ entries[i - 1] <= below_rank:
                continue
            product = scale_of(left_weight, right_weight, problem)
            total = score_of_sides(left_sum, left_weight, right_sum, right_weight, problem)
            if total > bar * product:
                if keeps_order(left, best.column, i < segment.present, node):
                    best.score = total / product
                    best.place = i
                    best.left_weight = left_weight - before
                    bar = best.score + node.tolerance
            elif total < (bar - slack) * product:
                score = total / product
                break


cdef void scan_numbers(
    const Segment* segment, const NodeView* node, Scratch* scratch, KernelSplit* best
) noexcept nogil:
    """Numbers: in floats first, with more than their error, and exactly if a split may win."""
    cdef const Problem* problem = node.problem
    cdef const uint64_t* entries = segment.entries
    cdef const int64_t* numbers = problem.numbers
    cdef Packing packing = problem.packing
    cdef uint64_t below_rank = (<uint64_t>1 << packing.rank_shift) - 1
    cdef int64_t* left = scratch.left
    cdef int64_t before = left[WEIGHT], weight = before, total = left[SUM]
    cdef double bar = scratch.floor, whole = <double>node.weight, difference, product
    cdef double all_sum = <double>node.counts[SUM], all_part = fabs(all_sum)
    cdef Py_ssize_t i, row
    for i in range(1, segment.last + 1):
        row = row_of(entries[min(i + AHEAD, segment.last)], &packing)
        prefetch(numbers + STRIDE * row)
        row = row_of(entries[i - 1], &packing)
        weight += numbers[STRIDE * row + WEIGHT]
        total += numbers[STRIDE * row + SUM]
        if i < segment.first or entries[i] ^ entries[i - 1] <= below_rank:
            continue
        product = whole * (<double>weight * (whole - <double>weight))
        difference = fabs(<double>total * whole - all_sum * <double>weight)
        difference += 1e-15 * (fabs(<double>total) * whole + all_part * <double>weight)
        if difference * difference <= bar * product:
            continue
        difference = difference_of(weight, total, node)
        if difference * difference > bar * product:
            left[WEIGHT] = weight
            left[SUM] = total
            if keeps_order(left, best.column, i < segment.present, node):
                best.score = gain_of(weight, total, node)
                best.place = i
                best.left_weight = weight - before
                bar = best.score + node.tolerance


cdef void scan_errors(
    const Segment* segment, const NodeView* node, Scratch* scratch, KernelSplit* best
) noexcept nogil:
    """Misclassification: the largest count of each side, at every boundary."""
    cdef const Problem* problem = node.problem
    cdef const uint64_t* entries = segment.entries
    cdef Packing packing = problem.packing
    cdef int64_t* left = scratch.left
    cdef int64_t weight = 0, whole
    cdef double bar = scratch.floor, score
    cdef Py_ssize_t i
    for i in range(1, segment.last + 1):
        whole = class_weight_of(row_of(entries[i - 1], &packing), problem)
        left[label_of(entries[i - 1], &packing)] += whole
        weight += whole
        if i < segment.first or rank_of(entries[i], &packing) == rank_of(entries[i - 1], &packing):
            continue
        score = score_of(left, NULL, node)
        if score > bar and keeps_order(left, best.column, i < segment.present, node):
            best.score = score
            best.place = i
            best.left_weight = weight
            bar = best.score + node.tolerance
