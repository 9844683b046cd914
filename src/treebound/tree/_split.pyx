"""The best test of one column at one node.

Ties go to the lowest threshold or category, then to missing on the right. Scores that differ by
less than ``NodeView.tolerance`` are ties.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from treebound.tree._layout cimport (
    ENTROPY, GINI, NOMINAL, SORTED, Packing, Problem, Split, int128_t, label_of, purity_of, rank_of,
    row_of, square_t, weight_of, xlogx,
)


cdef Split best_split(
    const ColumnStore* column, Py_ssize_t index, const NodeView* node, const Problem* problem,
    Scratch* scratch,
) noexcept nogil:
    """The best test of a column, with score -inf where there is none."""
    cdef Split best
    best.score = -INFINITY
    best.column = index
    best.place = best.follow = -1
    best.missing_left = False
    if column.kind == SORTED:
        search_sorted(column, node, problem, scratch, &best)
    else:
        fill_table(column, node, problem, scratch.table)
        if column.kind == NOMINAL:
            search_nominal(column, node, problem, scratch, &best)
        else:
            search_ordered(column, node, problem, scratch, &best)
    return best


cdef void start_left(
    const NodeView* node, const Problem* problem, const int64_t* missing, Scratch* scratch
) noexcept nogil:
    """Everything on the right, but the missing rows where their counts are given."""
    cdef Py_ssize_t k
    cdef Py_ssize_t size = problem.n_classes * sizeof(int64_t)
    memcpy(scratch.right, node.counts, size)
    if missing == NULL:
        memset(scratch.left, 0, size)
        return
    memcpy(scratch.left, missing, size)
    for k in range(problem.n_classes):
        scratch.right[k] -= missing[k]


cdef void offer(
    Split* best, double score, double tolerance, Py_ssize_t place, Py_ssize_t follow,
    bint missing_left,
) noexcept nogil:
    """Keep a candidate that is better, or as good and of a lower place."""
    if score > best.score + tolerance or (
        score >= best.score - tolerance and place < best.place
    ):
        best.score = score
        best.place = place
        best.follow = follow
        best.missing_left = missing_left


# -- sorted columns ------------------------------------------------------------------------


cdef Py_ssize_t present_rows(
    const ColumnStore* column, const NodeView* node, const Packing* packing
) noexcept nogil:
    """Rows of the node that are not missing: a binary search, as missing has the last rank."""
    cdef Py_ssize_t low = node.start, high = node.stop, middle
    if not column.has_missing:
        return high - low
    while low < high:
        middle = (low + high) // 2
        if rank_of(column.entries[middle], packing) < <uint64_t>column.n_codes:
            low = middle + 1
        else:
            high = middle
    return low - node.start


cdef void search_sorted(
    const ColumnStore* column, const NodeView* node, const Problem* problem, Scratch* scratch,
    Split* best,
) noexcept nogil:
    cdef const uint64_t* entries = column.entries + node.start
    cdef Py_ssize_t n_rows = node.stop - node.start
    cdef Py_ssize_t present = present_rows(column, node, &problem.packing)
    cdef Py_ssize_t missing = n_rows - present
    cdef Py_ssize_t i
    cdef Split other
    if present == 0 or (
        missing == 0
        and rank_of(entries[0], &problem.packing) == rank_of(entries[present - 1], &problem.packing)
    ):
        return
    start_left(node, problem, NULL, scratch)
    scan(
        entries, present, problem.min_leaf,
        min(n_rows - problem.min_leaf, present if missing else present - 1),
        node, problem, scratch, best,
    )
    if missing == 0:
        return
    other = best[0]
    other.score = -INFINITY
    memset(scratch.table, 0, problem.n_classes * sizeof(int64_t))
    for i in range(present, n_rows):
        scratch.table[label_of(entries[i], &problem.packing)] += weight_of(
            row_of(entries[i], &problem.packing), problem
        )
    start_left(node, problem, scratch.table, scratch)
    scan(
        entries, present, problem.min_leaf - missing,
        min(n_rows - problem.min_leaf - missing, present - 1), node, problem, scratch, &other,
    )
    if other.score > -INFINITY:
        offer(best, other.score, node.tolerance, other.place, -1, True)


cdef void scan(
    const uint64_t* entries, Py_ssize_t present, Py_ssize_t first, Py_ssize_t last,
    const NodeView* node, const Problem* problem, Scratch* scratch, Split* best,
) noexcept nogil:
    """Try every boundary with ``first`` to ``last`` present rows on the left."""
    if first > last:
        return
    if problem.criterion == GINI:
        if problem.wide:
            scan_gini(entries, present, first, last, node, problem, scratch, best, <int128_t>0)
        else:
            scan_gini(entries, present, first, last, node, problem, scratch, best, <int64_t>0)
    elif problem.criterion == ENTROPY:
        scan_entropy(entries, present, first, last, node, problem, scratch, best)
    else:
        scan_errors(entries, present, first, last, node, problem, scratch, best)


cdef void scan_gini(
    const uint64_t* entries, Py_ssize_t present, Py_ssize_t first, Py_ssize_t last,
    const NodeView* node, const Problem* problem, Scratch* scratch, Split* best,
    square_t zero,
) noexcept nogil:
    cdef int64_t* left = scratch.left
    cdef int64_t* right = scratch.right
    cdef Packing packing = problem.packing
    cdef square_t left_squares = zero, right_squares = zero
    cdef int64_t left_weight = 0, right_weight, weight
    cdef double bar = -1.0
    cdef uint64_t entry
    cdef Py_ssize_t i, k
    for k in range(problem.n_classes):
        left_weight += left[k]
        left_squares += <square_t>left[k] * left[k]
        right_squares += <square_t>right[k] * right[k]
    right_weight = node.weight - left_weight
    # invariant: entries[:i] stand on the left, entries[i:] on the right
    i = 0
    while i < last:
        entry = entries[i]
        i += 1
        k = label_of(entry, &packing)
        weight = weight_of(row_of(entry, &packing), problem)
        left_squares += <square_t>weight * (2 * left[k] + weight)
        right_squares -= <square_t>weight * (2 * right[k] - weight)
        left[k] += weight
        right[k] -= weight
        left_weight += weight
        right_weight -= weight
        if i < first or (i < present and rank_of(entries[i], &packing) == rank_of(entry, &packing)):
            continue
        # squares_l / weight_l + squares_r / weight_r > bar, without the divisions
        if (
            <double>left_squares * <double>right_weight + <double>right_squares * <double>left_weight
            > bar * (<double>left_weight * <double>right_weight)
        ):
            best.score = (
                <double>left_squares / <double>left_weight
                + <double>right_squares / <double>right_weight
            )
            best.place = i
            bar = best.score + node.tolerance


cdef void scan_entropy(
    const uint64_t* entries, Py_ssize_t present, Py_ssize_t first, Py_ssize_t last,
    const NodeView* node, const Problem* problem, Scratch* scratch, Split* best,
) noexcept nogil:
    cdef int64_t* left = scratch.left
    cdef int64_t* right = scratch.right
    cdef Packing packing = problem.packing
    cdef int64_t left_weight = 0, right_weight, weight, total = 0, score
    cdef int64_t bar, tolerance = <int64_t>(node.tolerance * problem.xlogx_unit)
    cdef uint64_t entry
    cdef Py_ssize_t i, k
    cdef bint found = False
    for k in range(problem.n_classes):
        left_weight += left[k]
        total += xlogx(left[k], problem) + xlogx(right[k], problem)
    right_weight = node.weight - left_weight
    bar = 0
    i = 0
    while i < last:
        entry = entries[i]
        i += 1
        k = label_of(entry, &packing)
        weight = weight_of(row_of(entry, &packing), problem)
        total -= xlogx(left[k], problem) + xlogx(right[k], problem)
        left[k] += weight
        right[k] -= weight
        total += xlogx(left[k], problem) + xlogx(right[k], problem)
        left_weight += weight
        right_weight -= weight
        if i < first or (i < present and rank_of(entries[i], &packing) == rank_of(entry, &packing)):
            continue
        score = total - xlogx(left_weight, problem) - xlogx(right_weight, problem)
        if not found or score > bar:
            found = True
            best.score = <double>score / problem.xlogx_unit
            best.place = i
            bar = score + tolerance


cdef void scan_errors(
    const uint64_t* entries, Py_ssize_t present, Py_ssize_t first, Py_ssize_t last,
    const NodeView* node, const Problem* problem, Scratch* scratch, Split* best,
) noexcept nogil:
    """Misclassification: a backward pass notes the right side's greatest count at every place."""
    cdef int64_t* left = scratch.left
    cdef int64_t* right = scratch.right
    cdef int64_t* right_most = <int64_t*>scratch.entries
    cdef Packing packing = problem.packing
    cdef int64_t most = 0, score, bar = -1
    cdef int64_t tolerance = <int64_t>node.tolerance
    cdef uint64_t entry
    cdef Py_ssize_t i, k
    # the right side at the end is what is missing there: take the present rows out, then put back
    for i in range(present):
        entry = entries[i]
        right[label_of(entry, &packing)] -= weight_of(row_of(entry, &packing), problem)
    for k in range(problem.n_classes):
        most = max(most, right[k])
    for i in range(present - 1, -1, -1):
        if i + 1 <= last:
            right_most[i] = most
        entry = entries[i]
        k = label_of(entry, &packing)
        right[k] += weight_of(row_of(entry, &packing), problem)
        most = max(most, right[k])
    most = 0
    for k in range(problem.n_classes):
        most = max(most, left[k])
    i = 0
    while i < last:
        entry = entries[i]
        i += 1
        k = label_of(entry, &packing)
        left[k] += weight_of(row_of(entry, &packing), problem)
        most = max(most, left[k])
        if i < first or (i < present and rank_of(entries[i], &packing) == rank_of(entry, &packing)):
            continue
        score = most + right_most[i - 1]
        if score > bar:
            best.score = <double>score
            best.place = i
            bar = score + tolerance


# -- columns of few codes ------------------------------------------------------------------


cdef void fill_table(
    const ColumnStore* column, const NodeView* node, const Problem* problem, int64_t* table
) noexcept nogil:
    """Weight per code and class, and in the last place of each code its number of rows."""
    cdef Py_ssize_t stride = problem.n_classes + 1
    cdef Py_ssize_t n_codes = column.n_codes + column.has_missing
    cdef Py_ssize_t i, row
    cdef int64_t* cell
    memset(table, 0, n_codes * stride * sizeof(int64_t))
    for i in range(node.start, node.stop):
        row = node.rows[i]
        cell = table + column.codes[row] * stride
        cell[problem.labels[row]] += weight_of(row, problem)
        cell[problem.n_classes] += 1


cdef inline double score_of(
    const NodeView* node, const Problem* problem, Scratch* scratch, int64_t left_weight
) noexcept nogil:
    return purity_of(scratch.left, left_weight, problem) + purity_of(
        scratch.right, node.weight - left_weight, problem
    )


cdef inline int64_t move_left(
    const int64_t* cell, Py_ssize_t n_classes, Scratch* scratch
) noexcept nogil:
    cdef Py_ssize_t k
    cdef int64_t weight = 0
    for k in range(n_classes):
        scratch.left[k] += cell[k]
        scratch.right[k] -= cell[k]
        weight += cell[k]
    return weight


cdef void search_nominal(
    const ColumnStore* column, const NodeView* node, const Problem* problem, Scratch* scratch,
    Split* best,
) noexcept nogil:
    """``x == code`` for every code, missing too, that some but not all rows have."""
    cdef Py_ssize_t stride = problem.n_classes + 1
    cdef Py_ssize_t n_rows = node.stop - node.start
    cdef Py_ssize_t code
    cdef int64_t weight, rows
    cdef const int64_t* cell
    for code in range(column.n_codes + column.has_missing):
        cell = scratch.table + code * stride
        rows = cell[problem.n_classes]
        if rows < problem.min_leaf or n_rows - rows < problem.min_leaf:
            continue
        start_left(node, problem, NULL, scratch)
        weight = move_left(cell, problem.n_classes, scratch)
        offer(
            best, score_of(node, problem, scratch, weight), node.tolerance, code, -1,
            column.has_missing and code == column.n_codes,
        )


cdef void search_ordered(
    const ColumnStore* column, const NodeView* node, const Problem* problem, Scratch* scratch,
    Split* best,
) noexcept nogil:
    cdef const int64_t* missing = NULL
    if column.has_missing:
        missing = scratch.table + column.n_codes * (problem.n_classes + 1)
        if missing[problem.n_classes] == 0:
            missing = NULL
    start_left(node, problem, NULL, scratch)
    walk_codes(column, node, problem, scratch, NULL, missing != NULL, best)
    if missing != NULL:
        start_left(node, problem, missing, scratch)
        walk_codes(column, node, problem, scratch, missing, False, best)


cdef void walk_codes(
    const ColumnStore* column, const NodeView* node, const Problem* problem, Scratch* scratch,
    const int64_t* missing, bint missing_right, Split* best,
) noexcept nogil:
    """Move one code after the other to the left, where ``missing`` already stands (or NULL)."""
    cdef Py_ssize_t n_classes = problem.n_classes
    cdef Py_ssize_t n_rows = node.stop - node.start
    cdef Py_ssize_t code, k, last = -1
    cdef int64_t weight = 0, left_rows = 0
    cdef const int64_t* cell
    if missing != NULL:
        left_rows = missing[n_classes]
        for k in range(n_classes):
            weight += missing[k]
    # invariant: codes up to ``last`` stand on the left, and ``last`` is not empty
    for code in range(column.n_codes):
        cell = scratch.table + code * (n_classes + 1)
        if cell[n_classes] == 0:
            continue
        if last >= 0 and problem.min_leaf <= left_rows <= n_rows - problem.min_leaf:
            offer(
                best, score_of(node, problem, scratch, weight), node.tolerance, last, code,
                missing != NULL,
            )
        weight += move_left(cell, n_classes, scratch)
        left_rows += cell[n_classes]
        last = code
    if missing_right and last >= 0 and problem.min_leaf <= left_rows <= n_rows - problem.min_leaf:
        offer(
            best, score_of(node, problem, scratch, weight), node.tolerance, last, -1,
            False,
        )
