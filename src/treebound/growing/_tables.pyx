"""The best split of a column at a small node, by tables of its class counts.

With entropy the score of a split is a sum of terms x log x of class counts, minus those of the
weights of both sides. The terms of the two sides depend on one number each: the rows of a class on
the left, and all rows on the left. Tables of them take O(rows) for a node and serve all of its
columns: a boundary then costs one lookup for the class of its row and one for its position. The
integers are those of ``_scan.pyx``, so scores, ties and splits are equal.
"""

from libc.stdlib cimport free
from libc.string cimport memcpy
from treebound.growing._layout cimport (
    ENTROPY, NOMINAL, allocate, label_of, rank_of,
)
from treebound.growing._scan cimport Segment, is_better, no_split


cdef bint has_tables(const Problem* problem) noexcept nogil:
    """Return True if tables give the scores of a problem."""
    return (
        problem.criterion == ENTROPY
        and problem.weights == NULL
        and problem.numbers == NULL
        and problem.min_weight == 0
        and problem.rules == NULL
        and problem.xlogx != NULL
    )


cdef int enlarge_tables(
    NodeTables* tables, const Problem* problem, Py_ssize_t n_rows
) except -1 nogil:
    """Make room for the tables of nodes of up to ``n_rows``."""
    if tables.capacity >= n_rows:
        return 0
    free_tables(tables)
    # a class of c rows has c + 1 places
    tables.classes = <int64_t*>allocate(n_rows + problem.n_classes, sizeof(int64_t))
    tables.sides = <int64_t*>allocate(n_rows + 1, sizeof(int64_t))
    tables.starts = <int64_t**>allocate(problem.n_classes, sizeof(int64_t*))
    tables.positions = <int64_t**>allocate(problem.n_classes, sizeof(int64_t*))
    tables.capacity = n_rows
    return 0


cdef void free_tables(NodeTables* tables) noexcept nogil:
    free(tables.classes)
    free(tables.sides)
    free(tables.starts)
    free(tables.positions)
    tables.classes = tables.sides = NULL
    tables.starts = tables.positions = NULL
    tables.capacity = 0


cdef void set_tables(NodeTables* tables, const NodeView* node) noexcept nogil:
    """Fill the tables of a node."""
    cdef const int64_t* terms = node.problem.xlogx
    cdef int64_t* table = tables.classes
    cdef Py_ssize_t k
    tables.none = 0
    for k in range(node.problem.n_classes):
        tables.starts[k] = table
        fill(table, terms, node.counts[k])
        tables.none += table[0]
        table += node.counts[k] + 1
    fill(tables.sides, terms, node.stop - node.start)


cdef inline void fill(int64_t* table, const int64_t* terms, Py_ssize_t n) noexcept nogil:
    """The terms of i and of n - i, for i from 0 to n."""
    cdef Py_ssize_t i
    for i in range(n + 1):
        table[i] = terms[i] + terms[n - i]


cdef void search_tables(
    const KernelColumn* column, Py_ssize_t index, const NodeView* node, NodeTables* tables,
    Scratch* scratch, KernelSplit* best,
) noexcept nogil:
    """The best split of a column; place -1 if it is constant or none is above the floor."""
    cdef Py_ssize_t n = node.stop - node.start, missing = 0
    cdef const uint64_t* entries = column.entries + node.start
    cdef KernelSplit other
    if is_constant(column, node.start, node.stop, &node.problem.packing):
        best.place = -1
        return
    best[0] = no_split(index)
    if has_two_values(column, node):
        search_two_values(column, node, tables, scratch, best)
    elif column.kind == NOMINAL:
        if node.problem.n_classes == 2:
            scan_categories_of_two(column, node, tables, best)
        else:
            scan_categories(column, node, tables, scratch, best)
    else:
        if column.has_missing:
            while rank_of(entries[n - 1 - missing], &node.problem.packing) == column.n_codes:
                missing += 1
        best.misses = missing > 0
        scan_thresholds(entries, 0, n - missing + (missing > 0), node, tables, scratch, best)
        if missing:
            other = no_split(index)
            scan_thresholds(entries, missing, n - missing, node, tables, scratch, &other)
            if other.place >= 0 and is_better(other.score, other.place, best, node.tolerance):
                best[0] = other
                best.missing_left = best.misses = True
    scratch.floor = max(scratch.floor, best.score - 4.0 * node.tolerance)


# -- two values ------------------------------------------------------------------------------


cdef inline bint has_two_values(const KernelColumn* column, const NodeView* node) noexcept nogil:
    """Return True if the rows of a node have two neighbouring values of a column."""
    cdef const Packing* packing = &node.problem.packing
    cdef Py_ssize_t first = rank_of(column.entries[node.start], packing)
    return rank_of(column.entries[node.stop - 1], packing) == first + 1


cdef void search_two_values(
    const KernelColumn* column, const NodeView* node, NodeTables* tables, Scratch* scratch,
    KernelSplit* best,
) noexcept nogil:
    """The one split of a column with two values, one of which may be missing."""
    # A class contributes the same from either side, so the rows of the rarer value are counted.
    cdef const Problem* problem = node.problem
    cdef const Packing* packing = &problem.packing
    cdef const uint64_t* entries = column.entries
    cdef Py_ssize_t low = node.start, high = node.stop, middle
    cdef Py_ssize_t first = rank_of(entries[low], packing), rows
    cdef int64_t total
    cdef double bar = scratch.floor
    while low < high:
        middle = (low + high) // 2
        if rank_of(entries[middle], packing) == first:
            low = middle + 1
        else:
            high = middle
    rows = low - node.start
    if rows <= node.stop - low:
        total = total_of(entries, node.start, low, problem, tables)
    else:
        total = total_of(entries, low, node.stop, problem, tables)
    total -= tables.sides[rows]
    if column.kind == NOMINAL:
        take_category(
            total, rows, column.codes[first], column.codes[column.n_codes], node, best
        )
        return
    best.misses = column.has_missing and first + 1 == column.n_codes
    if problem.min_leaf <= rows <= node.stop - node.start - problem.min_leaf:
        improves(total, rows, &bar, node, best)


cdef inline int64_t total_of(
    const uint64_t* entries, Py_ssize_t start, Py_ssize_t stop, const Problem* problem,
    NodeTables* tables,
) noexcept nogil:
    """The sum over the classes with some rows on one side."""
    cdef int64_t** positions = tables.positions
    cdef uint64_t mask = problem.packing.label_mask
    cdef int64_t total = 0
    cdef Py_ssize_t i, ones = 0, k
    if problem.n_classes == 2:
        for i in range(start, stop):
            ones += entries[i] & 1
        return tables.starts[0][stop - start - ones] + tables.starts[1][ones]
    memcpy(positions, tables.starts, problem.n_classes * sizeof(int64_t*))
    for i in range(start, stop):
        positions[entries[i] & mask] += 1
    for k in range(problem.n_classes):
        total += positions[k][0]
    return total


# -- thresholds ------------------------------------------------------------------------------


cdef void scan_thresholds(
    const uint64_t* entries, Py_ssize_t missing, Py_ssize_t stop, const NodeView* node,
    NodeTables* tables, Scratch* scratch, KernelSplit* best,
) noexcept nogil:
    """Every boundary before a row; missing rows, if there are any, are on the left."""
    cdef Segment segment
    segment.entries = entries
    segment.present = node.stop - node.start - missing
    segment.first = max(1, node.problem.min_leaf - missing)
    segment.last = min(node.stop - node.start - node.problem.min_leaf - missing, stop - 1)
    if node.problem.n_classes == 2:
        scan_two(&segment, missing, node, tables, scratch.floor, best)
    else:
        scan_several(&segment, missing, node, tables, scratch.floor, best)


cdef inline bint is_boundary(
    const Segment* segment, Py_ssize_t i, const NodeView* node
) noexcept nogil:
    """Return True if a row and the one before it have different values."""
    cdef const Packing* packing = &node.problem.packing
    return rank_of(segment.entries[i], packing) != rank_of(segment.entries[i - 1], packing)


cdef inline int64_t whole_part(double bar, const Problem* problem) noexcept nogil:
    """A sum up to this one, which is not above the bar, does not beat it."""
    bar *= problem.xlogx_unit
    return <int64_t>max(min(bar, 2.0**62), -(2.0**62)) - 1


cdef inline bint improves(
    int64_t total, Py_ssize_t place, double* bar, const NodeView* node, KernelSplit* best
) noexcept nogil:
    """Take a boundary if its score beats the bar, and raise the bar."""
    cdef double unit = node.problem.xlogx_unit
    if not <double>total > bar[0] * unit:
        return False
    best.score = <double>total / unit
    best.place = place
    best.left_weight = place
    bar[0] = best.score + node.tolerance
    return True


cdef void scan_two(
    const Segment* segment, Py_ssize_t missing, const NodeView* node, const NodeTables* tables,
    double bar, KernelSplit* best,
) noexcept nogil:
    """Every boundary of a node of two classes."""
    cdef const Problem* problem = node.problem
    cdef const uint64_t* entries = segment.entries
    cdef Py_ssize_t first = segment.first, i
    cdef const int64_t* zeros = tables.starts[0] + missing
    cdef const int64_t* ones = tables.starts[1]
    cdef const int64_t* sides = tables.sides + missing
    cdef int64_t limit = whole_part(bar, problem), total
    cdef Py_ssize_t n_ones = 0
    for i in range(segment.present, segment.present + missing):
        n_ones += entries[i] & 1
    for i in range(1, first):
        n_ones += entries[i - 1] & 1
    for i in range(first, segment.last + 1):
        n_ones += entries[i - 1] & 1
        total = zeros[i - n_ones] + ones[n_ones] - sides[i]
        if total > limit and is_boundary(segment, i, node) and improves(
            total, i, &bar, node, best
        ):
            limit = whole_part(bar, problem)


cdef void scan_several(
    const Segment* segment, Py_ssize_t missing, const NodeView* node, NodeTables* tables,
    double bar, KernelSplit* best,
) noexcept nogil:
    """Every boundary of a node of several classes."""
    cdef const Problem* problem = node.problem
    cdef const uint64_t* entries = segment.entries
    cdef Py_ssize_t i
    cdef uint64_t mask = problem.packing.label_mask
    cdef const int64_t* sides = tables.sides + missing
    cdef int64_t** positions = tables.positions
    cdef int64_t* at
    cdef int64_t limit = whole_part(bar, problem), total = tables.none
    memcpy(positions, tables.starts, problem.n_classes * sizeof(int64_t*))
    for i in range(segment.present, segment.present + missing):
        at = positions[entries[i] & mask]
        positions[entries[i] & mask] = at + 1
        total += at[1] - at[0]
    for i in range(1, segment.last + 1):
        at = positions[entries[i - 1] & mask]
        positions[entries[i - 1] & mask] = at + 1
        total += at[1] - at[0]
        if total - sides[i] > limit and i >= segment.first and (
            is_boundary(segment, i, node)
        ) and improves(total - sides[i], i, &bar, node, best):
            limit = whole_part(bar, problem)


# -- categories ------------------------------------------------------------------------------


cdef inline void take_category(
    int64_t total, Py_ssize_t rows, Py_ssize_t code, Py_ssize_t missing, const NodeView* node,
    KernelSplit* best,
) noexcept nogil:
    """Take a category if it is better than those before."""
    cdef const Problem* problem = node.problem
    cdef double score
    if not problem.min_leaf <= rows <= node.stop - node.start - problem.min_leaf:
        return
    score = <double>total / problem.xlogx_unit
    if is_better(score, code, best, node.tolerance):
        best.score = score
        best.place = code
        best.left_weight = rows
        best.missing_left = code == missing


cdef void scan_categories_of_two(
    const KernelColumn* column, const NodeView* node, const NodeTables* tables, KernelSplit* best
) noexcept nogil:
    """Every category of a node of two classes."""
    cdef const Packing* packing = &node.problem.packing
    cdef uint64_t below_rank = (<uint64_t>1 << packing.rank_shift) - 1, first
    cdef const uint64_t* entries = column.entries
    cdef Py_ssize_t start = node.start, i
    cdef int64_t ones, rows
    while start < node.stop:
        first = entries[start]
        ones = 0
        i = start
        while i < node.stop and entries[i] ^ first <= below_rank:
            ones += <int64_t>(entries[i] & 1)
            i += 1
        rows = i - start
        take_category(
            tables.starts[0][rows - ones] + tables.starts[1][ones] - tables.sides[rows], rows,
            column.codes[rank_of(first, packing)], column.codes[column.n_codes], node, best,
        )
        start = i


cdef void scan_categories(
    const KernelColumn* column, const NodeView* node, const NodeTables* tables, Scratch* scratch,
    KernelSplit* best
) noexcept nogil:
    """Every category of a node of several classes."""
    cdef const Packing* packing = &node.problem.packing
    cdef uint64_t below_rank = (<uint64_t>1 << packing.rank_shift) - 1, first
    cdef const uint64_t* entries = column.entries
    cdef int64_t* counts = scratch.missing
    cdef Py_ssize_t start = node.start, n_classes = node.problem.n_classes, i, k
    cdef int64_t total
    while start < node.stop:
        first = entries[start]
        for k in range(n_classes):
            counts[k] = 0
        i = start
        while i < node.stop and entries[i] ^ first <= below_rank:
            counts[label_of(entries[i], packing)] += 1
            i += 1
        total = 0
        for k in range(n_classes):
            total += tables.starts[k][counts[k]]
        take_category(
            total - tables.sides[i - start], i - start, column.codes[rank_of(first, packing)],
            column.codes[column.n_codes], node, best,
        )
        start = i
