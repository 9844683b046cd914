"""Best-first growth: the search at a node, and what happens when a leaf is expanded."""

from cython.parallel cimport prange, threadid
from libc.math cimport INFINITY, log2
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memset

from treebound.growing._layout cimport (
    CODED, ENTROPY, GINI, MISCLASSIFICATION, NOMINAL, Column, NodeView, Problem, Scratch, Split, allocate, purity_of,
    weight_of,
)
from treebound.growing._nodes cimport Node, Nodes
from treebound.growing._partition cimport Part
from treebound.growing._sample cimport Sample
from treebound.growing._signals cimport Watch, look_for_signals
from treebound.growing._split cimport best_split, fill_table
from treebound.growing._thresholds cimport Rule

# Scores closer than this share of a node's weight are a tie; a gain below it is rounding.
cdef double TOLERANCE = 2.0**-45
cdef double LOG2_E = 1.4426950408889634


def grow(
    X, y, weights, n_classes, kinds, n_codes, may_miss, *, criterion, by_impurity, max_leaves,
    max_depth, min_samples_leaf, min_weight, min_samples_split, min_gain, thresholds, n_threads,
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
    grower.thresholds = thresholds
    grower.quests[0].splits = <Split*>allocate(sample.n_columns, sizeof(Split))
    grower.quests[1].splits = <Split*>allocate(sample.n_columns, sizeof(Split))
    with nogil:
        bad = sample.prepare()
        if bad < 0:
            grower.grow()
    if bad >= 0:
        raise IndexError(bad)
    missing = [bool(sample.columns[j].has_missing) for j in range(sample.n_columns)]
    return grower.tree.arrays(), missing


cdef struct Quest:
    # A node whose best split is looked for.
    int32_t index
    bint wanted         # whether it may be split at all
    NodeView view
    double least        # the score that a split must beat
    Split* splits       # the best of each column


cdef class Grower:
    cdef Sample sample
    cdef Nodes tree
    cdef Quest[2] quests  # the smaller and the larger child of the node that is expanded
    cdef Py_ssize_t max_leaves, max_depth, min_split, n_leaves
    cdef double min_gain
    cdef Rule thresholds
    cdef Watch watch
    cdef bint by_impurity
    cdef int64_t* spare   # tables of a node that is too small to keep its own

    def __dealloc__(self):
        free(self.spare)
        free(self.quests[0].splits)
        free(self.quests[1].splits)

    cdef int grow(self) except -1 nogil:
        """Expand leaves until none gains or the leaves are as many as allowed."""
        cdef Py_ssize_t n = self.sample.problem.n_rows, i
        cdef int64_t* counts
        cdef bint may_split
        self.tree.add(0, n, 0)
        counts = self.tree.counts_of(0)
        for i in range(n):
            counts[self.sample.y[i]] += weight_of(i, &self.sample.problem)
        may_split = self.settle(0) and self.max_leaves != 1
        self.n_leaves = 1
        # the paper's priorities are impurities, at most a few units; gains are weights
        self.tree.tolerance = TOLERANCE * (1.0 if self.by_impurity else <double>self.total())
        if may_split and 0 < self.sample.table_size <= n:
            self.spare = <int64_t*>allocate(self.sample.table_size, sizeof(int64_t))
            self.quests[0].view.tables = self.tables_for(0)
        self.set_quest(&self.quests[0], 0, may_split)
        self.quests[1].wanted = False
        self.search(NULL, NULL)
        self.conclude(&self.quests[0])
        while self.tree.n_frontier and self.n_leaves != self.max_leaves:
            look_for_signals(&self.watch)
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
        elif middle - start <= stop - middle:
            self.search_children(index, left, right, search_left, search_right)
        else:
            self.search_children(index, right, left, search_right, search_left)
        return 0

    cdef int set_test(self, Node* node) except -1 nogil:
        """Threshold or category, and the row that names it; where no row is missing, missing goes to the heavier child."""
        cdef const Column* column = &self.sample.columns[node.split.column]
        cdef bint learned
        if column.kind == NOMINAL:
            node.category = <int32_t>node.split.place
            learned = column.has_missing
        else:
            node.threshold = self.sample.threshold_of(
                node.start, node.stop, &node.split, self.thresholds
            )
            learned = self.sample.has_missing_rows(node.start, node.stop, node.split.column)
        node.name = self.sample.name_of(node.start, node.stop, &node.split)
        if not learned:
            # weights that were rounded to integers may miss a tie by a few units
            node.split.missing_left = (
                <double>(self.tree.nodes[node.left].weight - self.tree.nodes[node.right].weight)
                >= -TOLERANCE * <double>node.weight
            )
        return 0

    cdef int search_children(
        self, int32_t index, int32_t small, int32_t large, bint search_small, bint search_large
    ) except -1 nogil:
        """Part the rows of a node and search its children.

        Where the node has tables, codes are counted in the smaller child, whether it is searched or
        not; the tables of the larger one are the rest.
        """
        cdef Node* node = &self.tree.nodes[index]
        cdef int64_t* tables = node.tables
        cdef bint keep_small = search_small or tables != NULL
        cdef Part part
        part.start = node.start
        part.stop = node.stop
        part.goes_left = self.sample.goes_left
        part.keep_left = keep_small if small == node.left else search_large
        part.keep_right = keep_small if small == node.right else search_large
        node.tables = NULL
        self.tree.nodes[large].tables = tables
        self.quests[0].view.tables = NULL if tables == NULL else self.tables_for(small)
        self.quests[1].view.tables = tables
        self.set_quest(&self.quests[0], small, search_small)
        self.set_quest(&self.quests[1], large, search_large)
        self.sample.partition_rows(&part)
        self.search(&part, tables)
        self.conclude(&self.quests[0])
        self.conclude(&self.quests[1])
        return 0

    cdef int64_t* tables_for(self, int32_t index) except NULL nogil:
        """Memory for a node's tables, all zero; its own if it is large enough to keep them.

        A node keeps its tables only if it has a row for every cell of them, so the tables of the
        whole frontier never have more cells than the sample has rows.
        """
        cdef int64_t* tables = self.spare
        if self.tree.rows_in(index) >= self.sample.table_size:
            tables = <int64_t*>allocate(self.sample.table_size, sizeof(int64_t))
            self.tree.nodes[index].tables = tables
        memset(tables, 0, self.sample.table_size * sizeof(int64_t))
        return tables

    # -- search ------------------------------------------------------------------------------

    cdef void set_quest(self, Quest* quest, int32_t index, bint wanted) noexcept nogil:
        """Prepare the search of a node; its tables are set already."""
        cdef const Node* node = &self.tree.nodes[index]
        cdef double tolerance = self.tolerance_of(node.weight)
        cdef double least = self.min_gain * <double>self.total() - tolerance
        quest.index = index
        quest.wanted = wanted
        quest.view.start = node.start
        quest.view.stop = node.stop
        quest.view.weight = node.weight
        quest.view.purity = node.purity
        quest.view.counts = self.tree.counts_of(index)
        quest.view.rows = self.sample.rows
        quest.view.tolerance = tolerance
        quest.view.rise = rise_of(node.weight, &self.sample.problem)
        # A split of no gain may lead to splits that gain (exclusive or); where impurities are not
        # strictly concave, or leaves wait for pure children, it would only delay them.
        if self.by_impurity or self.sample.problem.criterion == MISCLASSIFICATION:
            least = max(least, tolerance)
        quest.least = node.purity + least

    cdef double tolerance_of(self, int64_t weight) noexcept nogil:
        """Scores closer than this are a tie: rounding of floats, and of c log c to integers."""
        cdef double tolerance = TOLERANCE * <double>weight
        if self.sample.problem.criterion == ENTROPY:
            tolerance += (2 * self.tree.n_classes + 2) / self.sample.problem.xlogx_unit
        return tolerance

    cdef void search(self, const Part* part, int64_t* tables) noexcept nogil:
        """Find the best split of every column for the nodes in quest, one column a thread.

        A column is parted and searched at once, while it is in the cache.
        """
        cdef Py_ssize_t n_rows = 0, j, t
        cdef int q
        for q in range(2):
            if self.quests[q].wanted:
                n_rows += self.quests[q].view.stop - self.quests[q].view.start
            for t in range(self.sample.n_threads):
                self.sample.scratch[t].floors[q] = self.quests[q].least
        for j in prange(
            self.sample.n_columns, num_threads=self.sample.threads_for(n_rows),
            schedule="dynamic", chunksize=1,
        ):
            self.search_column(j, part, tables, &self.sample.scratch[threadid()])

    cdef void search_column(
        self, Py_ssize_t j, const Part* part, int64_t* tables, Scratch* scratch
    ) noexcept nogil:
        cdef const Column* column = &self.sample.columns[j]
        cdef Quest* quest
        cdef int q
        if part != NULL:
            self.sample.partition_column(j, part, scratch)
        if column.form == CODED and self.quests[0].view.tables != NULL:
            self.count_codes(column, tables)
        for q in range(2):
            quest = &self.quests[q]
            if quest.wanted:
                scratch.floor = scratch.floors[q]
                quest.splits[j] = best_split(
                    column, j, &quest.view, &self.sample.problem, scratch
                )
                scratch.floors[q] = scratch.floor

    cdef void count_codes(self, const Column* column, int64_t* rest) noexcept nogil:
        """Count the codes of the first quest, and take them out of the tables of the second."""
        cdef const NodeView* view = &self.quests[0].view
        cdef int64_t* table = <int64_t*>view.tables + column.offset
        cdef Py_ssize_t size = (column.n_codes + column.has_missing) * (self.tree.n_classes + 1)
        cdef Py_ssize_t cell
        fill_table(
            column, view.rows + view.start, view.stop - view.start, &self.sample.problem, table
        )
        if rest != NULL:
            for cell in range(size):
                rest[column.offset + cell] -= table[cell]

    cdef void conclude(self, const Quest* quest) noexcept nogil:
        """Put a leaf on the frontier if a split gains enough; else it needs no tables."""
        cdef Node* node = &self.tree.nodes[quest.index]
        if quest.wanted and self.choose(node, quest):
            self.tree.push(quest.index)
            if self.tree.rows_in(quest.index) >= self.sample.table_size:
                return
        free(node.tables)
        node.tables = NULL

    cdef bint choose(self, Node* node, const Quest* quest) noexcept nogil:
        """Take the best of the columns' splits; whether it gains enough."""
        cdef Py_ssize_t j
        node.split.score = -INFINITY
        for j in range(self.sample.n_columns):
            if quest.splits[j].place >= 0 and self.wins(
                node, &quest.splits[j], quest.view.tolerance
            ):
                node.split = quest.splits[j]
        if not node.split.score > quest.least:
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


cdef double rise_of(int64_t weight, const Problem* problem) noexcept nogil:
    """The most that a row can lift the score by changing sides (see ``_scan.pyx``)."""
    cdef double heaviest = <double>min(problem.max_weight, weight)
    if problem.criterion == GINI:
        return 2.0 * heaviest
    return heaviest * (log2(<double>weight / heaviest) + LOG2_E)
