"""The best split of one column at one node.

Ties go to the lowest threshold or category, then to missing on the right. Scores that differ by
less than ``NodeView.tolerance`` are ties.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memset

from treebound.growing._layout cimport (
    ENTROPY, GINI, NOMINAL, SORTED, Column, NodeView, Packing, Problem, Scratch, Split, int128_t,
    label_of, rank_of, row_of, weight_of, xlogx,
)
from treebound.growing._scan cimport scan


cdef Split best_split(
    const Column* column, Py_ssize_t index, const NodeView* node, const Problem* problem,
    Scratch* scratch,
) noexcept nogil:
    """The best split of a column; score -inf if there is none above the floor."""
    cdef Split best = no_split(index)
    if column.form == SORTED:
        search_sorted(column, node, problem, scratch, &best)
    elif node.tables != NULL:
        search_table(column, node, problem, scratch, node.tables + column.offset, &best)
    elif column.kind == NOMINAL and node.stop - node.start < column.n_codes:
        search_rows(column, node, problem, scratch, &best)
    else:
        fill_table(
            column, node.rows + node.start, node.stop - node.start, problem, scratch.table
        )
        search_table(column, node, problem, scratch, scratch.table, &best)
        memset(
            scratch.table, 0,
            (column.n_codes + column.has_missing) * (problem.n_classes + 1) * sizeof(int64_t),
        )
    # the first column wins ties, but with threads it may be searched last
    scratch.floor = max(scratch.floor, best.score - 4.0 * node.tolerance)
    return best


cdef Split no_split(Py_ssize_t column) noexcept nogil:
    cdef Split split
    split.score = -INFINITY
    split.column = column
    split.place = split.follow = -1
    split.missing_left = False
    split.known = split.inside = False
    return split


cdef void offer(
    Split* best, double score, double tolerance, Py_ssize_t place, Py_ssize_t follow,
    bint missing_left,
) noexcept nogil:
    """Keep a candidate that is better, or equal and of a lower place."""
    if score > best.score + tolerance or (
        score >= best.score - tolerance and place < best.place
    ):
        best.score = score
        best.place = place
        best.follow = follow
        best.missing_left = missing_left


cdef void start_left(
    const NodeView* node, const Problem* problem, const int64_t* missing, Scratch* scratch
) noexcept nogil:
    """Start with everything on the right, except missing rows if their counts are given."""
    cdef Py_ssize_t k
    for k in range(problem.n_classes):
        scratch.left[k] = 0 if missing == NULL else missing[k]
        scratch.right[k] = node.counts[k] - scratch.left[k]


# -- sorted columns ------------------------------------------------------------------------


cdef void search_sorted(
    const Column* column, const NodeView* node, const Problem* problem, Scratch* scratch,
    Split* best,
) noexcept nogil:
    """Scan with missing on the right and, if rows are missing, with missing on the left."""
    cdef Packing packing = problem.packing
    cdef Py_ssize_t n_rows = node.stop - node.start
    cdef Py_ssize_t i, missing
    cdef int64_t weight, missing_weight = 0
    cdef Segment segment
    cdef Split other = best[0]
    segment.entries = column.entries + node.start
    segment.present = present_rows(column, node, &packing)
    missing = n_rows - segment.present
    if segment.present == 0 or (
        missing == 0
        and rank_of(segment.entries[0], &packing) == rank_of(segment.entries[n_rows - 1], &packing)
    ):
        return
    segment.first = problem.min_leaf
    segment.last = min(n_rows - problem.min_leaf, segment.present - (missing == 0))
    keep_heavy(&segment, node, problem, 0)
    start_left(node, problem, NULL, scratch)
    scan(&segment, node, problem, scratch, best)
    if missing == 0:
        return
    memset(scratch.missing, 0, problem.n_classes * sizeof(int64_t))
    for i in range(segment.present, n_rows):
        weight = weight_of(row_of(segment.entries[i], &packing), problem)
        scratch.missing[label_of(segment.entries[i], &packing)] += weight
        missing_weight += weight
    segment.first = max(1, problem.min_leaf - missing)
    segment.last = min(n_rows - problem.min_leaf - missing, segment.present - 1)
    keep_heavy(&segment, node, problem, missing_weight)
    start_left(node, problem, scratch.missing, scratch)
    scan(&segment, node, problem, scratch, &other)
    if other.place >= 0:
        offer(best, other.score, node.tolerance, other.place, -1, True)


cdef void keep_heavy(
    Segment* segment, const NodeView* node, const Problem* problem, int64_t weight
) noexcept nogil:
    """Drop the boundaries with too little weight on a side; ``weight`` is left of the first.

    The weight on the left is monotone, so the remaining ones are contiguous.
    """
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
    const Column* column, const NodeView* node, const Packing* packing
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


# -- columns of codes ----------------------------------------------------------------------


cdef void fill_table(
    const Column* column, const uint32_t* rows, Py_ssize_t n_rows, const Problem* problem,
    int64_t* table,
) noexcept nogil:
    """Sum the weight per code and class; the last entry of each code is its number of rows."""
    cdef Py_ssize_t n_classes = problem.n_classes
    cdef Py_ssize_t i, row, code, k
    cdef const uint32_t* cells = column.cells
    cdef int64_t* cell
    if problem.weights == NULL:
        for i in range(n_rows):
            table[cells[rows[i]]] += 1
        for code in range(column.n_codes + column.has_missing):
            cell = table + code * (n_classes + 1)
            for k in range(n_classes):
                cell[n_classes] += cell[k]
        return
    for i in range(n_rows):
        row = rows[i]
        cell = table + cells[row]
        cell[0] += problem.weights[row]
        cell[n_classes - <Py_ssize_t>problem.labels[row]] += 1


cdef void search_table(
    const Column* column, const NodeView* node, const Problem* problem, Scratch* scratch,
    const int64_t* table, Split* best,
) noexcept nogil:
    cdef const int64_t* missing = NULL
    cdef Py_ssize_t code
    if column.kind == NOMINAL:
        for code in range(column.n_codes + column.has_missing):
            try_counts(
                column, node, problem, table + code * (problem.n_classes + 1), code, best
            )
        return
    if column.has_missing and (
        table[(column.n_codes + 1) * (problem.n_classes + 1) - 1] > 0
    ):
        missing = table + column.n_codes * (problem.n_classes + 1)
    walk_codes(column, node, problem, scratch.left, table, NULL, missing != NULL, best)
    if missing != NULL:
        walk_codes(column, node, problem, scratch.left, table, missing, False, best)


cdef void search_rows(
    const Column* column, const NodeView* node, const Problem* problem, Scratch* scratch,
    Split* best,
) noexcept nogil:
    """A nominal column with more codes than rows: try only the codes that occur."""
    cdef Py_ssize_t stride = problem.n_classes + 1
    cdef Py_ssize_t i, code, row
    cdef int64_t* cell
    for i in range(node.start, node.stop):
        row = node.rows[i]
        cell = scratch.table + column.cells[row]
        cell[0] += weight_of(row, problem)
        cell[problem.n_classes - <Py_ssize_t>problem.labels[row]] += 1
    # invariant: the codes of rows up to i have been tried and their table is zeroed
    for i in range(node.start, node.stop):
        code = column.cells[node.rows[i]] // stride
        if scratch.table[code * stride + problem.n_classes] == 0:
            continue
        try_counts(column, node, problem, scratch.table + code * stride, code, best)
        memset(scratch.table + code * stride, 0, stride * sizeof(int64_t))


cdef double score_of(
    const int64_t* left, const NodeView* node, const Problem* problem
) noexcept nogil:
    """Purity of the rows counted on the left plus that of all others; see ``purity_of``."""
    cdef const int64_t* counts = node.counts
    cdef int64_t weight = 0, most_left = 0, most_right = 0
    cdef int64_t left_sum = 0, right_sum = 0
    cdef int128_t left_squares = 0, right_squares = 0
    cdef Py_ssize_t k
    for k in range(problem.n_classes):
        weight += left[k]
    if problem.criterion == GINI and problem.wide:
        for k in range(problem.n_classes):
            left_squares += <int128_t>left[k] * left[k]
            right_squares += <int128_t>(counts[k] - left[k]) * (counts[k] - left[k])
        return <double>left_squares / <double>weight + (
            <double>right_squares / <double>(node.weight - weight)
        )
    if problem.criterion == GINI:
        for k in range(problem.n_classes):
            left_sum += left[k] * left[k]
            right_sum += (counts[k] - left[k]) * (counts[k] - left[k])
        return <double>left_sum / <double>weight + (
            <double>right_sum / <double>(node.weight - weight)
        )
    if problem.criterion == ENTROPY:
        for k in range(problem.n_classes):
            left_sum += xlogx(left[k], problem) + xlogx(counts[k] - left[k], problem)
        left_sum -= xlogx(weight, problem) + xlogx(node.weight - weight, problem)
        return <double>left_sum / problem.xlogx_unit
    for k in range(problem.n_classes):
        most_left = max(most_left, left[k])
        most_right = max(most_right, counts[k] - left[k])
    return <double>(most_left + most_right)


cdef inline bint is_heavy(
    const int64_t* left, const NodeView* node, const Problem* problem
) noexcept nogil:
    """Whether both sides have enough weight."""
    cdef int64_t weight = 0
    cdef Py_ssize_t k
    if problem.min_weight == 0:
        return True
    for k in range(problem.n_classes):
        weight += left[k]
    return problem.min_weight <= weight <= node.weight - problem.min_weight


cdef void try_counts(
    const Column* column, const NodeView* node, const Problem* problem, const int64_t* counts,
    Py_ssize_t code, Split* best,
) noexcept nogil:
    """``x == code``; missing is a code too."""
    cdef int64_t rows = counts[problem.n_classes]
    cdef int64_t most = node.stop - node.start - problem.min_leaf
    if problem.min_leaf <= rows <= most and is_heavy(counts, node, problem):
        offer(
            best, score_of(counts, node, problem), node.tolerance, code, -1,
            column.has_missing and code == column.n_codes,
        )


cdef void walk_codes(
    const Column* column, const NodeView* node, const Problem* problem, int64_t* left,
    const int64_t* table, const int64_t* missing, bint missing_right, Split* best,
) noexcept nogil:
    """Move the codes to the left one by one; ``missing`` (or NULL) is already there."""
    cdef Py_ssize_t n_classes = problem.n_classes
    cdef int64_t most = node.stop - node.start - problem.min_leaf
    cdef Py_ssize_t code, k, last = -1
    cdef int64_t rows = 0 if missing == NULL else missing[n_classes]
    cdef const int64_t* cell
    for k in range(n_classes):
        left[k] = 0 if missing == NULL else missing[k]
    # invariant: the codes up to ``last``, which is not empty, are on the left
    for code in range(column.n_codes):
        cell = table + code * (n_classes + 1)
        if cell[n_classes] == 0:
            continue
        if last >= 0 and problem.min_leaf <= rows <= most and is_heavy(left, node, problem):
            offer(
                best, score_of(left, node, problem), node.tolerance, last, code, missing != NULL
            )
        for k in range(n_classes):
            left[k] += cell[k]
        rows += cell[n_classes]
        last = code
    if (
        missing_right and last >= 0 and problem.min_leaf <= rows <= most
        and is_heavy(left, node, problem)
    ):
        offer(best, score_of(left, node, problem), node.tolerance, last, -1, False)
