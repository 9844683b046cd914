"""Best-first growth: the search at a node, and what happens when a leaf is expanded."""

from cython.parallel cimport prange, threadid
from libc.math cimport INFINITY, log2
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memset

from treebound.tree._layout cimport (
    CODED, ENTROPY, GINI, NOMINAL, NodeView, Problem, Split, allocate, purity_of, weight_of,
)
from treebound.tree._nodes cimport Node, Nodes
from treebound.tree._sample cimport Sample
from treebound.tree._split cimport best_split, fill_table

# Scores closer than this share of a node's weight are a tie; a gain below it is rounding.
cdef double TOLERANCE = 2.0**-45
cdef double LOG2_E = 1.4426950408889634


def grow(
    X, y, weights, n_classes, kinds, n_codes, may_miss, *, criterion, by_impurity, max_leaves,
    max_depth, min_samples_leaf, min_weight, min_samples_split, min_gain, n_threads,
):
    """The arrays of the grown tree, and which columns have missing values.

    ``max_leaves`` is -1 for no limit. Raises IndexError with the column that holds a code out of
    range.
    """
    cdef Sample sample = Sample(X, y, weights, n_classes, kinds, n_codes, may_miss, n_threads)
    cdef Grower grower = Grower()
    cdef Py_ssize_t bad, j
    sample.problem.criterion = criterion
    sample.problem.min_leaf = min_samples_leaf
    sample.problem.min_weight = min_weight
    grower.sample = sample
    grower.tree = Nodes(n_classes, max_leaves >= 0)
    grower.by_impurity = by_impurity
    grower.max_leaves = max_leaves
    grower.max_depth = max_depth
    grower.min_split = max(min_samples_split, 2 * min_samples_leaf)
    grower.min_gain = min_gain
    with nogil:
        bad = sample.prepare()
        if bad < 0:
            grower.grow()
    if bad >= 0:
        raise IndexError(bad)
    missing = [bool(sample.columns[j].has_missing) for j in range(sample.n_columns)]
    return grower.tree.arrays(), missing


cdef class Grower:
    cdef Sample sample
    cdef Nodes tree
    cdef Py_ssize_t max_leaves, max_depth, min_split, n_leaves
    cdef double min_gain
    cdef bint by_impurity
    cdef int64_t* spare  # tables of a node that is too small to keep its own

    def __dealloc__(self):
        free(self.spare)

    cdef int grow(self) except -1 nogil:
        """Expand leaves until none gains or the leaves are as many as allowed."""
        cdef Py_ssize_t n = self.sample.problem.n_rows, i
        cdef int64_t* counts
        cdef int64_t* tables = NULL
        cdef bint may_split
        self.tree.add(0, n, 0)
        counts = self.tree.counts_of(0)
        for i in range(n):
            counts[self.sample.y[i]] += weight_of(i, &self.sample.problem)
        may_split = self.settle(0) and self.max_leaves != 1
        # the paper's priorities are impurities, at most a few units; gains are weights
        self.tree.tolerance = TOLERANCE * (1.0 if self.by_impurity else <double>self.total())
        if may_split and 0 < self.sample.table_size <= n:
            self.spare = <int64_t*>allocate(self.sample.table_size, sizeof(int64_t))
            tables = self.count_tables(0)
        self.consider(0, may_split, tables)
        self.n_leaves = 1
        while self.tree.n_frontier and self.n_leaves != self.max_leaves:
            self.expand(self.tree.pop())
        return 0

    cdef int64_t total(self) noexcept nogil:
        return self.tree.nodes[0].weight

    cdef bint settle(self, int32_t index) noexcept nogil:
        """Weight and purity from the counts; whether the node may be split at all."""
        cdef Node* node = &self.tree.nodes[index]
        cdef const int64_t* counts = self.tree.counts_of(index)
        cdef Py_ssize_t k, classes = 0
        node.weight = 0
        for k in range(self.tree.n_classes):
            node.weight += counts[k]
            classes += counts[k] > 0
        node.purity = purity_of(counts, node.weight, &self.sample.problem)
        return (
            classes > 1
            and self.tree.rows_in(index) >= self.min_split
            and node.depth < self.max_depth
        )

    # -- search ------------------------------------------------------------------------------

    cdef void consider(self, int32_t index, bint may_split, const int64_t* tables) noexcept nogil:
        """Put a leaf on the frontier if it has a split.

        A node keeps its tables only if it has a row for every cell of them, so the tables of the
        whole frontier never have more cells than the sample has rows.
        """
        if may_split and self.search(index, tables):
            self.tree.push(index)
            if self.tree.rows_in(index) >= self.sample.table_size:
                return
        free(self.tree.nodes[index].tables)
        self.tree.nodes[index].tables = NULL

    cdef bint search(self, int32_t index, const int64_t* tables) noexcept nogil:
        """Find the node's best split; whether it gains enough."""
        cdef Node* node = &self.tree.nodes[index]
        cdef Split* splits = self.sample.splits
        cdef NodeView view
        cdef Py_ssize_t j
        cdef double least
        view.start = node.start
        view.stop = node.stop
        view.weight = node.weight
        view.purity = node.purity
        view.counts = self.tree.counts_of(index)
        view.tables = tables
        view.rows = self.sample.rows
        view.tolerance = TOLERANCE * <double>node.weight
        view.rise = rise_of(node.weight, &self.sample.problem)
        # a split must lower the impurity, and by ``min_gain``
        least = node.purity + max(
            view.tolerance, self.min_gain * <double>self.total() - view.tolerance
        )
        for j in range(self.sample.n_threads):
            self.sample.scratch[j].floor = least
        for j in prange(
            self.sample.n_columns, num_threads=self.sample.threads_for(node.stop - node.start),
            schedule="dynamic", chunksize=1,
        ):
            splits[j] = best_split(
                &self.sample.columns[j], j, &view, &self.sample.problem,
                &self.sample.scratch[threadid()],
            )
        node.split.score = -INFINITY
        for j in range(self.sample.n_columns):
            if splits[j].place >= 0 and self.wins(node, &splits[j], view.tolerance):
                node.split = splits[j]
        if not node.split.score > least:
            node.split.column = -1
            return False
        node.priority = node.split.score - node.purity
        if self.by_impurity:
            node.priority = self.mean_purity(node)
        return True

    cdef bint wins(self, const Node* node, const Split* split, double tolerance) noexcept nogil:
        """Whether a column's split replaces that of the columns before it."""
        if split.score > node.split.score + tolerance:
            return True
        if split.score < node.split.score - tolerance:
            return False
        if self.by_impurity:
            return self.sample.left_weight(node.start, node.stop, split) < self.sample.left_weight(
                node.start, node.stop, &node.split
            )
        return self.sample.gap_of(node.start, node.stop, split) > self.sample.gap_of(
            node.start, node.stop, &node.split
        )

    cdef double mean_purity(self, const Node* node) noexcept nogil:
        """Minus the mean impurity of the two children (ERRATA 15)."""
        if self.sample.problem.criterion == ENTROPY:
            return node.split.score / <double>node.weight
        return node.split.score / <double>node.weight - 1.0

    # -- expansion ---------------------------------------------------------------------------

    cdef int expand(self, int32_t index) except -1 nogil:
        """Turn a leaf into an inner node with two leaves, and search those if any may follow."""
        cdef Py_ssize_t start = self.tree.nodes[index].start, stop = self.tree.nodes[index].stop
        cdef Py_ssize_t depth = self.tree.nodes[index].depth + 1, middle, k
        cdef int32_t left = self.tree.add(start, stop, depth)
        cdef int32_t right = self.tree.add(start, stop, depth)
        cdef Node* node = &self.tree.nodes[index]
        cdef bint search_left, search_right
        middle = start + self.sample.mark(start, stop, &node.split, self.tree.counts_of(left))
        self.tree.nodes[left].stop = self.tree.nodes[right].start = middle
        for k in range(self.tree.n_classes):
            self.tree.counts_of(right)[k] = (
                self.tree.counts_of(index)[k] - self.tree.counts_of(left)[k]
            )
        node.left = left
        node.right = right
        search_left = self.settle(left)
        search_right = self.settle(right)
        self.set_test(node)
        self.n_leaves += 1
        if self.n_leaves == self.max_leaves or not (search_left or search_right):
            free(node.tables)
            node.tables = NULL
            return 0
        # the smaller child is counted where tables are kept, even if it is not searched
        self.sample.partition(
            start, stop,
            search_left or (node.tables != NULL and 2 * (middle - start) <= stop - start),
            search_right or (node.tables != NULL and 2 * (middle - start) > stop - start),
        )
        if 2 * (middle - start) <= stop - start:
            return self.search_children(index, left, right, search_left, search_right)
        return self.search_children(index, right, left, search_right, search_left)

    cdef void set_test(self, Node* node) noexcept nogil:
        """Threshold or category; where no row is missing, missing goes to the heavier child."""
        cdef bint nominal = self.sample.columns[node.split.column].kind == NOMINAL
        if nominal:
            node.category = <int32_t>node.split.place
        else:
            node.threshold = self.sample.threshold_of(node.start, node.stop, &node.split)
        if nominal and self.sample.columns[node.split.column].has_missing:
            return
        if nominal or not self.sample.has_missing_rows(node.start, node.stop, node.split.column):
            # weights that were rounded to integers may miss a tie by a few units
            node.split.missing_left = (
                <double>(self.tree.nodes[node.left].weight - self.tree.nodes[node.right].weight)
                >= -TOLERANCE * <double>node.weight
            )

    cdef int search_children(
        self, int32_t index, int32_t small, int32_t large, bint search_small, bint search_large
    ) except -1 nogil:
        """Search the new leaves; codes are counted in the smaller one, the other is the rest."""
        cdef int64_t* tables = self.tree.nodes[index].tables
        cdef int64_t* small_tables = NULL
        cdef Py_ssize_t cell
        if tables != NULL:
            small_tables = self.count_tables(small)
            if search_large:
                for cell in range(self.sample.table_size):
                    tables[cell] -= small_tables[cell]
            self.tree.nodes[index].tables = NULL
            self.tree.nodes[large].tables = tables
        self.consider(small, search_small, small_tables)
        self.consider(large, search_large, tables)
        return 0

    cdef int64_t* count_tables(self, int32_t index) except NULL nogil:
        """Count the codes of a node's rows, in memory of its own if it is large enough."""
        cdef Node* node = &self.tree.nodes[index]
        cdef int64_t* tables = self.spare
        cdef Py_ssize_t n_rows = node.stop - node.start, j
        if n_rows >= self.sample.table_size:
            tables = <int64_t*>allocate(self.sample.table_size, sizeof(int64_t))
            node.tables = tables
        memset(tables, 0, self.sample.table_size * sizeof(int64_t))
        for j in prange(
            self.sample.n_columns, num_threads=self.sample.threads_for(n_rows),
            schedule="dynamic", chunksize=1,
        ):
            if self.sample.columns[j].form == CODED:
                fill_table(
                    &self.sample.columns[j], self.sample.rows + node.start, n_rows,
                    &self.sample.problem, tables + self.sample.columns[j].offset,
                )
        return tables


cdef double rise_of(int64_t weight, const Problem* problem) noexcept nogil:
    """The most that a row can lift the score by changing sides (see ``_scan.pyx``)."""
    cdef double heaviest = <double>min(problem.max_weight, weight)
    if problem.criterion == GINI:
        return 2.0 * heaviest
    return heaviest * (log2(<double>weight / heaviest) + LOG2_E)
